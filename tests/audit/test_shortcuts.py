"""Shortcut candidates against loops over conjunctions and scipy's own tests."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from partwhole import tasks
from partwhole.audit import shortcuts as module
from partwhole.audit.case import AuditTable
from partwhole.audit.shortcuts import shortcuts


def table(components, split, target, labels=None):
    target = np.asarray(target)
    if labels is None:
        label, y = None, target.reshape(len(target), -1).astype(float)
    else:
        label, y = target.astype(int), 2.0 * np.eye(len(labels))[target.astype(int)] - 1.0
        y = y[:, 1:] if len(labels) == 2 else y
    n_values = components.max(axis=0) + 1
    return AuditTable(
        components,
        y,
        label,
        np.asarray(split).astype(int),
        np.ones(len(components)),
        tuple(f"part {c}" for c in range(components.shape[1])),
        tuple(tuple(range(n)) for n in n_values),
        tuple(f"y{k}" for k in range(1 if label is not None else y.shape[1])),
        labels,
        ("train", "test"),
    )


def grid(*n_values):
    return np.stack(np.unravel_index(np.arange(np.prod(n_values)), n_values), axis=1)


def fisher(k, whole, with_label, drawn):
    """Double the smaller tail, counting the ways of drawing in whole numbers."""
    k, whole, with_label, drawn = (int(n) for n in (k, whole, with_label, drawn))
    ways = [
        comb(with_label, j) * comb(whole - with_label, drawn - j) if drawn - j >= 0 else 0
        for j in range(drawn + 1)
    ]
    return min(1.0, 2 * min(sum(ways[: k + 1]), sum(ways[k:])) / comb(whole, drawn))


def by_hand(case, threshold):
    """Return all effects, p-values and least possible p-values, keyed by conjunction and column."""
    components, seen = case.task.components, case.task.is_train
    if case.has_labels:
        n = len(case.table.labels)
        columns = {o - (n == 2): (case.label == o).astype(float) for o in range(n == 2, n)}
        kept = case.label >= 0
    else:
        raw = case.task.targets.reshape(len(seen), -1)
        columns, kept = dict(enumerate(raw.T)), np.ones(len(seen), dtype=bool)
    found, least = {}, []
    for size in range(1, min(case.order, 2) + 1):
        for chosen in combinations(range(components.shape[1]), size):
            for values in {tuple(row) for row in components[:, chosen].tolist()}:
                inside = np.all(components[:, chosen] == values, axis=1) & kept
                a, b = inside & seen, inside & ~seen
                for o, y in columns.items():
                    if case.has_labels:
                        if not a.any() or not b.any():
                            continue
                        gap = y[b].mean() - y[a].mean()
                        whole, with_label, drawn = inside.sum(), y[inside].sum(), b.sum()
                        p = fisher(y[b].sum(), whole, with_label, drawn)
                        can = range(
                            int(max(0, with_label - whole + drawn)), int(min(with_label, drawn)) + 1
                        )
                        bound = min(fisher(k, whole, with_label, drawn) for k in can)
                    else:
                        if a.sum() < 2 or b.sum() < 2:
                            continue
                        gap = (y[b].mean() - y[a].mean()) / y.std()
                        student = stats.ttest_ind(y[a], y[b]).pvalue
                        bound = min(1.0, 2.0 / comb(int(inside.sum()), int(b.sum())))
                        p = max(student, bound)
                    least.append(bound)
                    if abs(gap) >= threshold:
                        found[chosen, values, o] = gap, p, y[a], y[b]
    least = np.array(least)
    result = {}
    for key, (gap, p, train, test) in found.items():
        corrected = p * np.sum(least <= p * (1 + 1e-9))
        if not case.has_labels and corrected <= 0.01:
            p = counted(train, test, p)
            corrected = p * np.sum(least <= p * (1 + 1e-9))
        result[key] = gap, min(1.0, corrected)
    return result


def counted(train, test, otherwise):
    """Double the smaller tail over all assignments, where these are few."""
    y = [*test, *train]
    if comb(len(y), len(test)) > 20_000:
        return otherwise
    sums = np.array([sum(chosen) for chosen in combinations(y, len(test))])
    more = np.sum(sums >= test.sum() - 1e-9)
    return min(1.0, 2 * min(more, np.sum(sums <= test.sum() + 1e-9)) / len(sums))


def planted(rng, labels):
    """Make a split by chance in which value 0 of part 0 and one pair change with the split."""
    components = grid(4, 4, 5, 5)
    split = rng.random(len(components)) < 0.3
    shift = (components[:, 0] == 0) * split + ((components[:, 1:3] == 1).all(axis=1)) * split
    if labels is None:
        return table(components, split, rng.normal(size=len(split)) + 2.0 * shift)
    label = rng.integers(0, len(labels), len(split))
    return table(components, split, np.where(shift, 0, label), labels)


@pytest.mark.parametrize("labels", [None, ("no", "yes"), ("p", "q", "r")])
@pytest.mark.parametrize("seed", range(4))
def test_everything_is_as_by_hand(labels, seed):
    case = planted(np.random.default_rng(seed), labels).case(1, 2)
    threshold = 0.5 if labels is None else 0.2
    hand = by_hand(case, threshold)
    strong = {key: found for key, found in hand.items() if found[1] <= 0.01}
    expected = {}
    for (chosen, values, o), (gap, p) in strong.items():
        singles = [strong.get(((c,), (v,), o)) for c, v in zip(chosen, values, strict=True)]
        explained = len(chosen) == 2 and any(
            one and one[0] * gap > 0 and abs(gap) < abs(one[0]) + threshold / 2 for one in singles
        )
        best = max(abs(g) for (c, v, _), (g, _) in strong.items() if (c, v) == (chosen, values))
        if not explained and abs(gap) >= best - 1e-12:
            expected.setdefault((chosen, values), []).append((o, gap, p))
    found = shortcuts(case)
    assert len(found) > 0
    assert {(s.components, s.values) for s in found} == set(expected)
    assert [s.effect for s in found] == sorted((s.effect for s in found), reverse=True)
    for shortcut in found:
        inside = np.all(
            case.task.components[:, list(shortcut.components)] == shortcut.values, axis=1
        )
        seen, asked = inside & case.task.is_train, inside & ~case.task.is_train
        assert (shortcut.n_train, shortcut.n_test) == (seen.sum(), asked.sum())
        options = expected[shortcut.components, shortcut.values]
        if labels is None:
            y = case.task.targets
            assert shortcut.label is None
        else:
            y = case.label == labels.index(shortcut.label)
            options = [
                x for x in options if x[0] == labels.index(shortcut.label) - (len(labels) == 2)
            ]
        (_, gap, p), *_ = options
        # Sums in another order, and logs of factorials of at most a few hundred.
        assert shortcut.effect == pytest.approx(abs(gap), rel=1e-10)
        assert shortcut.p_value == pytest.approx(p, rel=1e-8)
        assert shortcut.train == pytest.approx(y[seen].mean(), rel=1e-10, abs=1e-12)
        assert shortcut.test == pytest.approx(y[asked].mean(), rel=1e-10, abs=1e-12)


def test_few_assignments_are_counted():
    components = grid(2, 14)
    split = (components[:, 1] + 3 * components[:, 0]) % 14 < 4
    rng = np.random.default_rng(2)
    y = rng.normal(size=28) + 4.0 * (split & (components[:, 0] == 0))
    # One combination in training lies among the held-out ones.
    y[13] = np.sort(y[:14][split[:14]])[0] + 1e-3
    (found,) = shortcuts(table(components, split, y).case(1, 1), p_value=0.02)
    assert (found.components, found.values) == ((0,), (0,))
    own = y[:14][split[:14]].sum()
    sums = [sum(y[i] for i in chosen) for chosen in combinations(range(14), 4)]
    extreme = sum(total >= own - 1e-9 for total in sums)
    assert extreme > 1
    # Both values of the first part have 14 combinations, those of the second part only two.
    assert found.p_value == pytest.approx(2 * 2 * extreme / len(sums))


def test_context_dependence_gives_its_contexts_away():
    task = tasks.context_dependence(3)
    given = table(task.components, ~task.is_train, task.targets > 0, ("left", "right"))
    found = shortcuts(given.case(1, 2))
    assert {(s.components, s.values) for s in found} == {((0,), (0,)), ((0,), (1,))}
    # Nine held-out combinations, all of one response, of 36 with 18 of either.
    p = 2 * stats.hypergeom.pmf(0, 36, 18, 9)
    # Only the two contexts have enough combinations for so small a p.
    assert [s.p_value for s in found] == pytest.approx([2 * p, 2 * p], rel=1e-9)
    assert sorted((round(s.train, 12), s.test) for s in found) == [
        (round(1 / 3, 12), 1.0),
        (round(2 / 3, 12), 0.0),
    ]


@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_random_splits_raise_no_alarm(kind):
    """The chance of any report is at most 1 % a split; over 200, more than 7 are unlikely."""
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        components = grid(5, 6, 4)
        target = rng.normal(size=5)[components[:, 0]] + rng.normal(size=6)[components[:, 1]]
        target += rng.normal(size=4)[components[:, 2]]
        split = rng.random(len(target)) < rng.uniform(0.2, 0.8)
        if kind == "labels":
            given = table(components, split, target > np.median(target), (0, 1))
        else:
            given = table(components, split, target)
        alarms += bool(shortcuts(given.case(1, 2), effect=0.0, effect_sd=0.0))
    most = stats.binom.ppf(0.999, 200, 0.01)
    assert alarms <= most


def test_a_pair_is_named_when_it_says_more_than_its_values():
    """Exclusive or: either value alone is balanced, and the pair is not."""
    components = grid(2, 2, 60)
    split = components[:, 2] % 3 == 0
    odd = components[:, 0] ^ components[:, 1]
    label = np.where(split, odd, components[:, 2] % 2)
    found = shortcuts(table(components, split, label, ("a", "b")).case(1, 2))
    assert {(s.components, s.values) for s in found} == {
        ((0, 1), (a, b)) for a in range(2) for b in range(2)
    }
    assert all(s.effect == pytest.approx(0.5) for s in found)
    singles = shortcuts(table(components, split, label, ("a", "b")).case(1, 1))
    assert singles == ()


def test_limit_thresholds_and_targets_that_do_not_vary():
    rng = np.random.default_rng(1)
    case = planted(rng, ("no", "yes")).case(1, 2)
    every = shortcuts(case)
    assert [s.values for s in shortcuts(case, limit=1)] == [every[0].values]
    assert shortcuts(case, effect=every[0].effect + 1e-6) == ()
    assert shortcuts(case, p_value=0.0) == ()
    components = grid(3, 4)
    split = np.arange(12) % 2
    assert shortcuts(table(components, split, np.ones(12)).case(1, 1), effect_sd=0.0) == ()


def test_nothing_held_out_gives_nothing():
    components = np.array([[0, 0], [0, 1], [0, 0]])
    assert shortcuts(table(components, [0, 0, 1], [1.0, 2.0, 1.0]).case(1, 1)) == ()


@pytest.mark.parametrize(("terms", "chunk"), [(2048, 1 << 20), (4, 1 << 20), (2048, 16)])
def test_long_tails_are_summed_or_bounded(monkeypatch, terms, chunk):
    monkeypatch.setattr(module, "TERMS", terms)
    monkeypatch.setattr(module, "CHUNK", chunk)
    rng = np.random.default_rng(0)
    whole = rng.integers(2, 400, 60)
    with_label, drawn = rng.integers(1, whole), rng.integers(1, whole)
    k = np.array(
        [
            rng.integers(max(0, a + b - n), min(a, b) + 1)
            for n, a, b in zip(whole, with_label, drawn, strict=True)
        ]
    )
    exact = [fisher(*one) for one in zip(k, whole, with_label, drawn, strict=True)]
    found = module._fisher(k, whole, with_label, drawn)
    if terms == 4:
        # A bound from above, close where the tail falls fast.
        assert np.all(found >= np.array(exact) * (1 - 1e-9))
        assert np.median(found / exact) < 1.5
    else:
        np.testing.assert_allclose(found, exact, rtol=1e-8)
