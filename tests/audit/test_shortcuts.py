"""Shortcuts against loops over rows, and on splits whose shortcuts are known."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from partwhole import audit_split
from partwhole.audit import design_split
from partwhole.audit.case import AuditTable
from partwhole.audit.page.sections import shortcuts as section
from partwhole.audit.scores.alike import is_alike
from partwhole.audit.shortcuts import FREE, RATE, comparison, not_searched, shortcuts


def table(components, split, target, labels=None, weights=None):
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
        np.ones(len(components)) if weights is None else weights,
        tuple(f"part {c}" for c in range(components.shape[1])),
        tuple(tuple(range(n)) for n in n_values),
        tuple(f"y{k}" for k in range(1 if label is not None else y.shape[1])),
        labels,
        ("train", "test"),
    )


def grid(*n_values):
    return np.stack(np.unravel_index(np.arange(np.prod(n_values)), n_values), axis=1)


def compared_rows(given):
    """Return the rows of training, and the held-out ones of the test split if they are half."""
    rows = given.components.tolist()
    train = [i for i in range(len(rows)) if given.split[i] == 0]
    seen = {tuple(rows[i]) for i in train}
    test = [i for i in range(len(rows)) if given.split[i] == 1]
    held_out = [i for i in test if tuple(rows[i]) not in seen]
    return train, held_out if 2 * len(held_out) >= len(test) else test


def labels_by_hand(given, subset):
    """Return accuracy in training, each row left out, in test, and of the commonest label."""
    train, test = compared_rows(given)
    label, k = given.label, len(given.labels)
    test = [i for i in test if label[i] in set(label[train])]
    q = np.bincount(label[test], minlength=k) / len(test)
    size = np.bincount(label[train], minlength=k)
    guessed = (q == q.max()) / (q == q.max()).sum()

    def credit(i, among):
        score = np.zeros(k)
        for j in among:
            if all(given.components[j, c] == given.components[i, c] for c in subset):
                score[label[j]] += q[label[j]] / size[label[j]]
        if score.max() == 0.0:
            return guessed[label[i]]
        best = np.isclose(score, score.max(), rtol=1e-9)
        return (0.5 if best.sum() > 1 else 1.0) if best[label[i]] else 0.0

    left_out = [credit(i, [j for j in train if j != i]) for i in train]
    weight = q[label[train]] / size[label[train]]
    return float(weight @ left_out), np.mean([credit(i, train) for i in test]), q.max()


def numbers_by_hand(given, subset):
    """Return the share explained in training, each row left out, the slope in test, and more."""
    train, test = compared_rows(given)
    y, x = given.targets, given.components
    spread = np.sum((y[train] - y[train].mean(axis=0)) ** 2)

    def mean(i, among):
        alike = [j for j in among if all(x[j, c] == x[i, c] for c in subset)]
        return y[alike].mean(axis=0) if alike else None

    left = 0.0
    for i in train:
        others = mean(i, [j for j in train if j != i])
        left += np.sum((y[i] - (y[train].mean(axis=0) if others is None else others)) ** 2)
    pairs = [(mean(i, train), y[i]) for i in test]
    predicted, true = (np.array(column) for column in zip(*pairs, strict=True))
    predicted, true = predicted - predicted.mean(axis=0), true - true.mean(axis=0)
    # What is predicted may not vary in test.
    varies = np.sum(predicted**2) / len(test) > 1e-3 * spread / len(train)
    return 1.0 - left / spread, np.sum(predicted * true) / np.sum(predicted**2), varies


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_labels_are_counted_as_by_hand(seed, n_labels):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (150, 3))
    split = rng.random(150) < 0.3
    # Part 0 gives the label in training; part 1 always does.
    label = np.where(split, rng.integers(0, n_labels, 150), rows[:, 0] % n_labels)
    label = np.where(rng.random(150) < 0.5, rows[:, 1] % n_labels, label)
    given = table(rows, split, label, tuple("abc"[:n_labels]))
    scores = comparison(given.case(1, 1))
    for subset in ((0,), (1,), (2,), (0, 2)):
        item = next(scores.scores(subset))
        expected = labels_by_hand(given, subset)
        assert (item.train, item.test, item.guess) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_explained_as_by_hand(seed, outputs):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (150, 3))
    split = rng.random(150) < 0.3
    sign = np.where(split, -1.0, 1.0)
    y = (sign * rows[:, 0])[:, None] + rng.normal(size=(150, outputs))
    given = table(rows, split, y)
    scores = comparison(given.case(1, 1))
    for subset in ((0,), (1,), (2,), (0, 2)):
        item = scores.score(subset)
        share, slope, varies = numbers_by_hand(given, subset)
        assert (item is not None) == varies
        if varies:
            assert (item.train, item.test) == pytest.approx((share, slope), abs=1e-10)


def test_the_shortcut_of_exchanged_colours_is_named():
    # Cubes have half of the colours in training and the others in test, cylinders the reverse.
    rows = grid(3, 8, 2, 2)
    shape, colour = rows[:, 0], rows[:, 1]
    split = ((shape == 0) & (colour >= 4)) | ((shape == 1) & (colour < 4))
    case = table(rows, split, shape, ("cube", "cylinder", "sphere")).case(1, 1)
    (only,) = shortcuts(case)
    assert only.components == (1,)
    # With the labels of test, half cubes and half cylinders, each colour has one label.
    assert (only.train, only.test, only.guess) == (1.0, 0.0, 0.5)
    assert only.misleads
    assert only.superfluous
    assert {(v.label, v.train, v.test) for v in only.examples} <= {(0, 0.0, 1.0), (1, 0.0, 1.0)}


def test_a_test_split_of_one_label_has_shortcuts_too():
    # Rings are yes in training and no in test; the other shapes are either in both.
    rows = [(shape, i) for shape in range(4) for i in range(10)]
    label = [shape == 0 or i % 2 == 0 for shape, i in rows]
    rows += [(0, i) for i in range(10, 16)]
    label += [False] * 6
    components = np.array([(shape, i, i % 3) for shape, i in rows])
    split = np.arange(46) >= 40
    given = table(components, split, np.array(label), ("no", "yes"))
    reported = {item.components: item for item in shortcuts(given.case(1, 1))}
    assert reported[0,].misleads
    assert (reported[0,].train, reported[0,].test, reported[0,].guess) == (1.0, 0.0, 1.0)
    label[40:] = [True] * 6
    fair = table(components, split, np.array(label), ("no", "yes"))
    assert not any(item.misleads for item in shortcuts(fair.case(1, 1)))


def birds(counts):
    """Return a table of birds and places with these rows of (label, place) in each split."""
    rows = [((y, p), part) for part, c in enumerate(counts) for (y, p), n in c.items()
            for _ in range(n)]  # fmt: skip
    components = np.array([row for row, _ in rows])
    return table(components, [part for _, part in rows], components[:, 0], ("land", "water"))


def test_a_shortcut_is_named_though_nothing_is_held_out():
    # The published groups of Waterbirds (Sagawa et al., ICLR 2020, section 3).
    train = {(0, 0): 3498, (0, 1): 184, (1, 0): 56, (1, 1): 1057}
    test = {(0, 0): 2255, (0, 1): 2255, (1, 0): 642, (1, 1): 642}
    (place,) = shortcuts(birds([train, test]).case(1, 1))
    assert place.components == (1,)
    q = np.array([4510, 1284]) / 5794
    expected = q @ [3498 / 3682, 1057 / 1113]
    assert place.train == pytest.approx(expected, abs=1e-12)
    assert place.test == pytest.approx(0.5, abs=1e-12)
    assert place.misleads
    groups = {(g.value, g.label): (g.n_train, g.n_test) for g in place.rare}
    assert groups == {(0, 1): (56, 642), (1, 0): (184, 2255)}
    assert place.rare[0].expected == pytest.approx(3554 * 1113 / 4795)


def test_the_same_correlation_in_test_is_another_rule():
    counts = {(0, 0): 350, (0, 1): 18, (1, 0): 6, (1, 1): 106}
    (place,) = shortcuts(birds([counts, counts]).case(1, 1))
    assert place.components == (1,)
    assert not place.misleads
    assert place.superfluous
    assert place.spurious
    assert place.test > 0.9


def test_a_shift_of_labels_or_of_the_mean_is_no_shortcut():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (4000, 3))
    label = (rows[:, 0] + rng.integers(0, 2, 4000)) % 3
    # Test has mostly label 0.
    split = rng.random(4000) < np.where(label == 0, 0.6, 0.1)
    case = table(rows, split, label, tuple("abc")).case(1, 1)
    assert not any(item.misleads for item in shortcuts(case, effect=0.0))
    y = rows[:, 0] + rng.normal(size=4000) + 5.0 * split
    assert not any(item.misleads for item in shortcuts(table(rows, split, y).case(1, 1)))


@pytest.mark.parametrize("labels", [None, ("a", "b", "c")])
def test_random_splits_raise_no_alarm(labels):
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 6, (300, 4))
        split = rng.random(300) < 0.25
        worth = rng.normal(size=(4, 6))
        score = sum(worth[c][rows[:, c]] for c in range(4)) + rng.normal(size=300)
        y = score if labels is None else np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
        reported = shortcuts(table(rows, split, y, labels).case(1, 1))
        alarms += sum(item.misleads for item in reported)
    # Four components, six pairs and four threes in each of 40 splits, at three standard errors.
    assert alarms <= 3


def test_a_pair_is_named_when_it_says_more_than_its_values():
    rng = np.random.default_rng(1)
    rows = np.tile(grid(2, 2, 3), (30, 1))
    split = rng.random(len(rows)) < 0.3
    pair = rows[:, 0] ^ rows[:, 1]
    label = np.where(split, 1 - pair, pair)
    (only,) = shortcuts(table(rows, split, label, ("no", "yes")).case(1, 1))
    assert only.components == (0, 1)
    assert (only.train, only.test) == (1.0, 0.0)


def test_three_are_named_when_they_say_more_than_two_of_them():
    """Training has the exclusive or of three parts, test a fourth part."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (800, 4))
    split = rng.random(800) < 0.3
    label = np.where(split, rows[:, 3], rows[:, 0] ^ rows[:, 1] ^ rows[:, 2])
    (only,) = shortcuts(table(rows, split, label, ("no", "yes")).case(1, 1))
    assert only.components == (0, 1, 2)
    # Of 240 rows, a half has a standard error of .03.
    assert (only.train, only.test) == (pytest.approx(1.0), pytest.approx(0.5, abs=0.1))
    assert only.misleads


@pytest.mark.parametrize("as_numbers", [False, True])
def test_what_others_have_in_common_with_a_held_out_component_is_no_shortcut(as_numbers):
    # Training lacks the held-out rows, and so what the others of a row have in common with its
    # target, a component.
    n_fail = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = np.tile(grid(2, 4, 2, 2), (5, 1))
        split = (rng.permutation(32) < 8)[np.tile(np.arange(32), 5)]
        y = 3.0 * rows[:, 0] if as_numbers else rows[:, 0]
        labels = None if as_numbers else ("no", "yes")
        case = table(rows, split, y, labels).case(1, 1)
        scores = comparison(case).scores((1, 2, 3))
        n_fail += any(score.misleads() and score.gain >= 0.1 for score in scores)
        reported = shortcuts(case)
        assert not any(item.misleads for item in reported if len(item.components) > 1)
    assert n_fail >= 2


def test_a_chosen_pair_is_named_beside_what_held_out_rows_have_in_common():
    # Colour and size together say the shape in training, and another in test.
    rows = np.tile(grid(2, 2, 2, 4), (5, 1))
    split = (rows[:, 1] ^ rows[:, 2]) != rows[:, 0]
    reported = shortcuts(table(rows, split, rows[:, 0], ("no", "yes")).case(1, 1))
    assert [(item.components, item.misleads) for item in reported] == [((1, 2), True)]
    assert (reported[0].train, reported[0].test) == (1.0, 0.0)


def test_two_numbers_have_the_shortcuts_of_two_labels():
    # Colour says the shape in 95 of 100 rows of training, in 3 of 5 of test.
    counts = {(0, 0): 105, (0, 1): 5, (1, 0): 5, (1, 1): 95}, {(0, 0): 25, (0, 1): 20, (1, 0): 12,
                                                              (1, 1): 30}  # fmt: skip
    rows = np.array([(*key, i % 3) for part in counts for key, n in part.items() for i in range(n)])
    split = np.arange(len(rows)) >= 210
    of_labels = shortcuts(table(rows, split, rows[:, 0], ("no", "yes")).case(1, 1))
    of_numbers = shortcuts(table(rows, split, 3.0 * rows[:, 0]).case(1, 1))
    for reported in (of_labels, of_numbers):
        assert [(item.components, item.misleads) for item in reported] == [((1,), True)]
    # By numbers: the slope of targets on the two means.
    low, high = 15 / 110, 285 / 100
    assert of_numbers[0].test == pytest.approx((90 / 50 - 36 / 37) / (high - low), rel=0.02)


def test_sets_that_predict_a_single_number_are_not_named():
    # As SCAN's jump: alone in training, where all others have the number 0.
    rows = np.array([(0, 0, 0, 0)] * 30 + [(1, *rest) for rest in grid(3, 3, 3)] * 4
                    + [(0, *rest) for rest in grid(3, 3, 3) if min(rest)])  # fmt: skip
    y = np.where(rows[:, 0] == 0, 1.0 + rows[:, 1:].sum(axis=1), 0.0)
    case = table(rows, np.arange(len(rows)) >= 30 + 108, y).case(1, 1)
    assert all(len(item.components) == 1 for item in shortcuts(case))


def test_the_accuracy_that_is_compared_is_the_one_that_is_printed():
    # Few rows of training are red, all of them cubes; test is red. Others are of either shape.
    rng = np.random.default_rng(5)
    red = np.arange(1000) < 60
    shape = np.where(red, 0, rng.integers(0, 2, 1000))
    train = np.stack([shape, np.where(red, 0, rng.integers(1, 4, 1000)), rng.integers(0, 3, 1000)])
    test = np.stack([np.arange(40) % 8 < 3, np.zeros(40, dtype=int), rng.integers(0, 3, 40)])
    rows, split = np.concatenate([train.T, test.T]), np.arange(1040) >= 1000
    (only,) = shortcuts(table(rows, split, rows[:, 0], ("cube", "ball")).case(1, 1))
    assert only.components == (1,)
    assert only.at_values
    assert only.train == pytest.approx(1.0)
    # Of 40 rows, 25 are cubes.
    assert only.test == pytest.approx(0.625)


def test_a_component_that_matters_is_not_superfluous():
    rows = np.tile(grid(3, 3, 2), (5, 1))
    y = rows[:, 0] + 3.0 * rows[:, 1]
    split = np.arange(len(rows)) % 5 == 0
    assert shortcuts(table(rows, split, y).case(1, 1)) == ()
    # Without the first part's effect, correlated with the second, it is.
    kept = (rows[:, 0] == rows[:, 1]) | (np.arange(len(rows)) % 7 == 0)
    given = table(rows[kept], split[kept], rows[kept, 1].astype(float))
    assert [(i.components, i.superfluous) for i in shortcuts(given.case(1, 1))] == [((0,), True)]


@pytest.mark.parametrize("unit", [1e-140, 1.0, 1e140])
def test_units_of_numbers_do_not_matter(unit):
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, (200, 3))
    split = rng.random(200) < 0.3
    y = np.where(split, -1.0, 1.0) * rows[:, 0]
    one, other = (shortcuts(table(rows, split, scale * y).case(1, 1)) for scale in (1.0, unit))
    assert [item.components for item in one] == [item.components for item in other]
    for a, b in zip(one, other, strict=True):
        assert (a.train, a.test) == pytest.approx((b.train, b.test), rel=1e-9)
        for x, z in zip(a.examples, b.examples, strict=True):
            assert (unit * x.train, unit * x.test) == pytest.approx((z.train, z.test), rel=1e-9)


def test_sets_are_singles_and_pairs_but_not_the_whole():
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (100, 2))
    split = rng.random(100) < 0.4
    label = np.where(split, 0, 1) ^ rows[:, 0] ^ rows[:, 1]
    assert shortcuts(table(rows, split, label, ("no", "yes")).case(1, 1)) == ()


def one_colour(shapes, repeats=1):
    """Return a grid of shapes, colours and sizes whose red ones in training have these shapes."""
    rows = np.tile(grid(3, 3, 3), (repeats, 1))
    return rows, (rows[:, 1] == 0) & ~np.isin(rows[:, 0], shapes)


@pytest.mark.parametrize("repeats", [1, 40])
def test_a_colour_of_one_shape_is_a_shortcut_though_test_lacks_the_shape(repeats):
    # Training has red cubes only; test red cylinders and spheres.
    rows, split = one_colour([0], repeats)
    given = table(rows, split, rows[:, 0], ("cube", "cylinder", "sphere"))
    (only,) = shortcuts(given.case(1, 1))
    assert only.components == (1,)
    assert (only.train, only.test, only.guess) == (1.0, 0.0, 0.5)
    assert only.misleads
    assert only.at_values
    assert [(v.values, v.label, v.train, v.test) for v in only.examples] == [((0,), 0, 1.0, 0.0)]


def test_a_mostly_red_shape_misleads_and_labels_left_out_of_test_do_not():
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 3, (3000, 3))
    shape, red = rows[:, 0], rows[:, 1] == 0
    # Nine in ten red rows of training are cubes, the others cylinders.
    split = red & (shape > 0) & ((shape == 2) | (rng.random(3000) < 0.9))
    given = table(rows, split, shape, ("cube", "cylinder", "sphere"))
    reported = {item.components: item for item in shortcuts(given.case(1, 1))}
    train = np.mean(shape[red & ~split] == 0)
    assert reported[1,].train == pytest.approx(train, abs=1e-12)
    assert reported[1,].misleads
    assert reported[1,].at_values
    # Red goes with cubes everywhere; test has no cubes, and otherwise rows as training has them.
    label = np.where(rng.random(3000) < np.where(red, 0.9, 0.1), 0, 1 + (rows[:, 2] > 0))
    split = (label > 0) & (rng.random(3000) < 0.3)
    given = table(rows, split, label, ("cube", "cylinder", "sphere"))
    assert not any(item.misleads for item in shortcuts(given.case(1, 1), effect=0.0))


@pytest.mark.parametrize("shapes", [[0], [2]])
@pytest.mark.parametrize("repeats", [1, 40])
def test_means_are_compared_where_test_has_one_colour(shapes, repeats):
    rows, split = one_colour(shapes, repeats)
    y = 1.5 * rows[:, 0]
    (only,) = shortcuts(table(rows, split, y).case(1, 1))
    assert only.components == (1,)
    assert only.misleads
    assert only.at_values
    centre = y[~split].mean()
    red = rows[:, 1] == 0
    predicted, actual = y[red & ~split].mean(), y[split].mean()
    assert only.train == pytest.approx(1.0, abs=1e-12)
    assert only.test == pytest.approx((actual - centre) / (predicted - centre), abs=1e-12)
    (example,) = only.examples
    assert (example.values, example.train, example.test) == ((0,), predicted, actual)


@pytest.mark.parametrize("n_test", [1, 2])
def test_means_are_compared_in_a_test_of_few_rows(n_test):
    rows, split = one_colour([0], 10)
    used = ~split | (np.cumsum(split) <= n_test)
    rows, split = rows[used], split[used]
    given = table(rows, split, 3.0 * rows[:, 0])
    reported = shortcuts(given.case(1, 1))
    assert [(item.components, item.misleads) for item in reported] == [((1,), True)]
    # The part that matters predicts test as it did training.
    (score,) = comparison(given.case(1, 1)).scores((0,))
    assert score.test == pytest.approx(1.0)
    assert not score.misleads()


@pytest.mark.parametrize("pairs", [[(0, 1)], [(0, 1), (1, 0)]])
def test_differences_are_compared_in_a_test_of_rare_groups(pairs):
    # In 95 % of training the second part is as the first; in test, of one or two rows, it is not.
    first = np.repeat([0, 1], 100)
    rows = np.column_stack([first, first ^ (np.arange(200) % 20 == 0)])
    rows, split = np.vstack([rows, pairs]), np.repeat([False, True], [200, len(pairs)])
    given = table(rows, split, 1.5 * rows[:, 0])
    reported = shortcuts(given.case(1, 1))
    assert [(item.components, item.misleads) for item in reported] == [((1,), True)]
    assert reported[0].test == pytest.approx(-1.0 / 0.9)


def test_single_random_rows_raise_no_alarm():
    alarms = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 6, (300, 4))
        split = np.arange(300) >= 299 - seed % 2
        worth = rng.normal(size=(4, 6))
        y = sum(worth[c][rows[:, c]] for c in range(4)) + rng.normal(size=300)
        alarms += sum(item.misleads for item in shortcuts(table(rows, split, y).case(1, 1)))
    assert alarms <= 3


def test_a_correlation_is_spurious_only_where_test_is_alike_to_training():
    train = {(0, 0): 350, (0, 1): 18, (1, 0): 6, (1, 1): 106}
    # As strong a correlation, of other birds in other places.
    test = {(0, 0): 80, (0, 1): 4, (1, 0): 20, (1, 1): 360}
    (place,) = shortcuts(birds([train, test]).case(1, 1))
    assert (place.misleads, place.superfluous, place.spurious) == (False, True, False)
    # It is listed for its rare groups alone.
    assert place.rare
    # Without rare groups it is not; nor where a third part is another in test.
    counts = {(0, 0): 240, (0, 1): 60, (1, 0): 60, (1, 1): 240}
    given = birds([counts, counts])
    for season, spurious in ((np.arange(1200) % 2, True), (given.split, False)):
        rows = np.column_stack([given.components, season])
        reported = shortcuts(table(rows, given.split, rows[:, 0], given.labels).case(1, 1))
        assert [item.components for item in reported if item.spurious] == [(1,)] * spurious
        assert len(reported) == spurious


@pytest.mark.parametrize("labels", [None, ("none", "some")])
def test_the_cause_of_a_count_is_no_spurious_correlation(labels):
    # A verb, how often, and where to: only jumps count, and of these two occur often.
    rng = np.random.default_rng(6)
    others = grid(4, 4, 100)
    again = others[rng.random(1600) < 0.4]
    rows = np.vstack([np.tile([[0, 0, 0], [0, 0, 1]], (700, 1)), others, again])
    count = (rows[:, 0] == 0) * ((rows[:, 1] == 0) & (rows[:, 2] < 2))
    split = np.repeat([False, True, False, True], [1000, 400, 1600, len(again)])
    case = table(rows, split, count, labels).case(1, 1)
    assert is_alike(case)
    # A prediction from where to or how often is as good by rows.
    scores = [next(iter(comparison(case).scores((c,)))) for c in range(3)]
    assert all(score.gain > 0.1 for score in scores)
    assert shortcuts(case) == ()


def test_a_strong_predictor_comes_before_a_weak_one_with_a_steeper_slope():
    rng = np.random.default_rng(7)
    rows = rng.integers(0, 2, (4000, 2))
    split = np.arange(4000) >= 2000
    sign = np.where(split, -1.0, 1.0)
    y = 2.0 * sign * rows[:, 0] + np.where(split, -12.0, 1.0) * rows[:, 1]
    # A third part, of no effect, so that pairs are not the whole.
    given = table(np.column_stack([rows, np.arange(4000) % 2]), split, y)
    reported = [item for item in shortcuts(given.case(1, 1)) if len(item.components) == 1]
    assert [item.components for item in reported] == [(0,), (1,)]
    assert reported[0].train > 3.0 * reported[1].train
    assert reported[0].test > reported[1].test + 5.0


def test_labels_are_ranked_by_the_accuracy_that_is_lost():
    rng = np.random.default_rng(8)
    rows = rng.integers(0, 2, (4000, 3))
    split = np.arange(4000) >= 3000
    label = rng.integers(0, 2, 4000)
    for part, share in enumerate((0.7, 0.95)):
        follows = rng.random(4000) < np.where(split, 0.5, share)
        rows[:, part] = np.where(follows, label, 1 - label)
    reported = shortcuts(table(rows, split, label, ("no", "yes")).case(1, 1))
    assert [item.components for item in reported if item.misleads] == [(1,), (0,)]
    lost = [item.train - item.test for item in reported]
    assert lost == sorted(lost, reverse=True)


def test_random_rows_are_alike_and_held_out_pairs_are_not():
    differing = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 2 + seed % 5, (60 + 10 * seed, 4))
        split = rng.random(len(rows)) < 0.3
        differing += not is_alike(table(rows, split, rows[:, 0]).case(1, 1))
        held_out = (rows[:, 0] == 0) & (rows[:, 1] == 0)
        assert not is_alike(table(rows, held_out, rows[:, 0]).case(1, 1))
        # The same values, in other pairs.
        rows = np.tile(grid(2, 2, 2, 2), (10, 1))
        apart = rows[:, 0] == rows[:, 1]
        assert not is_alike(table(rows, apart, rows[:, 0]).case(1, 1))
    assert differing <= 2
    rows = grid(3, 3, 3)
    held_out = (rows[:, 0] == 0) & (rows[:, 1] == 0)
    assert not is_alike(table(rows, held_out, rows[:, 0]).case(1, 1))
    # Whole combinations, each of several rows, whose values and pairs are as in training.
    combinations = np.tile(grid(4, 4, 4), (20, 1))
    chosen = (combinations.sum(axis=1) % 4) == 0
    assert not is_alike(table(combinations, chosen, combinations[:, 0]).case(1, 1))


def test_rows_of_a_held_out_combination_are_one_draw():
    """Of four held-out combinations two may be exceptions; of two hundred half are no chance."""
    for n, misleads in ((6, False), (300, True)):
        cells = grid(2, n)
        held_out = cells[:, 1] >= n - n // 3
        odd = held_out & (cells[:, 1] % 2 == 0)
        target = np.where(odd, 1 - cells[:, 0], cells[:, 0])
        rows = np.repeat(np.arange(2 * n), 360 // n)
        every = table(cells[rows], held_out[rows], target[rows], ("no", "yes"))
        misleading = [item.components for item in shortcuts(every.case(1, 1)) if item.misleads]
        assert misleading == [(0,)] * misleads
    # Numbers: a slope over three combinations with many rows each.
    rng = np.random.default_rng(0)
    cells, held_out = grid(4, 4), np.isin(np.arange(16), [0, 5, 10])
    y = cells[:, 0] + 0.0
    y[[0, 5, 10]] = [0.5, -0.5, 1.5]
    rows = np.repeat(np.arange(16), 60)
    many = table(cells[rows], held_out[rows], y[rows] + 0.1 * rng.normal(size=960))
    assert not [item for item in shortcuts(many.case(1, 1)) if item.misleads]


@pytest.mark.parametrize("n_values", [6, 40])
def test_a_column_of_noise_changes_no_figure(n_values):
    """With it few combinations are held out, those in which a correlation is broken."""
    rng = np.random.default_rng(1)
    core = rng.integers(0, 2, 3000)
    ground = np.where(rng.random(3000) < 0.95, core, 1 - core)
    split = rng.random(3000) < 0.3
    noise = rng.integers(0, n_values, 3000)
    plain, wider = (
        table(np.column_stack(columns), split, core, ("no", "yes")).case(1, 1)
        for columns in ((core, ground), (core, ground, noise))
    )
    assert not len(plain.held_out)
    n_held_out = len(wider.rows_of(wider.held_out))
    assert (n_values == 40) == (n_held_out > 0)
    assert n_held_out < 20
    first, second = (shortcuts(case) for case in (plain, wider))
    assert [item.components for item in first] == [item.components for item in second] == [(1,)]
    assert (first[0].train, first[0].test) == (second[0].train, second[0].test)
    assert first[0].test > 0.9
    assert second[0].spurious
    assert not second[0].misleads


def test_most_rows_that_are_held_out_are_compared_alone():
    rows, split = one_colour([0])
    # Two thirds of the test split are held out; of the others colours have the shape of training.
    again = np.flatnonzero(~split & (rows[:, 1] == 0))
    given = table(
        np.vstack([rows, rows[again]]), np.concatenate([split, [True] * len(again)]),
        np.concatenate([rows[:, 0], rows[again, 0]]), ("cube", "cylinder", "sphere"),
    )  # fmt: skip
    case = given.case(1, 1)
    assert len(case.compared) == split.sum() == 6
    (only,) = shortcuts(case)
    assert (only.components, only.train, only.test) == ((1,), 1.0, 0.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_where_all_targets_lie_beyond_those_of_training_this_is_said(sign):
    """Lengths of two phrases, each a product: commands are short in training and long in test."""
    grid = np.array([(a, b, c, d) for a in (1, 2, 8) for b in (1, 2, 3) for c in (1, 2, 8)
                     for d in (1, 2, 3) for _ in range(9)])  # fmt: skip
    names = ["a", "b", "c", "d", "verb"]
    frame = pd.DataFrame(np.column_stack([grid, np.arange(len(grid)) % 9]), columns=names)
    length = grid[:, 0] * grid[:, 1] + grid[:, 2] * grid[:, 3]
    frame["y"] = sign * length
    frame["split"] = np.where(length > 25, "test", "train")
    report = audit_split(frame, names, "y", "split", add=0, time_limit=2)
    side = "above those of training, which are at most 25"
    side = side if sign > 0 else "below those of training, which are at least -25"
    assert f"All targets of test are {side}: what goes with" in report.headline
    finding = next(item for item in report.findings if item.rule == "shortcut")
    assert f"But all targets of test are {side}" in finding.message
    assert "Add training rows with such targets" in finding.message
    # With one training row as large as those of test, values can have other targets.
    frame.loc[frame["y"].abs().idxmax(), "split"] = "train"
    report = audit_split(frame, names, "y", "split", add=0, time_limit=2)
    assert "ll targets of test are" not in report.headline


def copied(given, n_copies):
    """Return the table with so many copies of its rows."""
    i = np.repeat(np.arange(len(given.split)), n_copies)
    target = given.targets if given.label is None else given.label
    return table(given.components[i], given.split[i], target[i], given.labels)


def noise(seed, labels, *n_values):
    """Return random combinations and targets of 300 rows, a third of which are for test."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(grid(*n_values))[:300]
    target = rng.normal(size=300) if labels is None else rng.integers(0, len(labels), 300)
    return table(rows, np.arange(300) >= 200, target, labels)


@pytest.mark.parametrize("labels", [None, ("a", "b"), tuple("abcde")])
@pytest.mark.parametrize("n_values", [(30, 30, 30), (50, 60)])
def test_copies_of_random_rows_are_no_shortcut(n_values, labels):
    for seed in range(2):
        given = noise(seed, labels, *n_values)
        train = given.split == 0
        varied = np.where(train, np.random.default_rng(seed).integers(2, 6, 300), 1)
        for n_copies in (np.where(train, 3, 1), varied):
            assert shortcuts(copied(given, n_copies).case(1, 1)) == ()
        several = comparison(copied(given, np.where(train, 3, 1)).case(1, 1))
        single = comparison(given.case(1, 1))
        for subset in ((0,), (1,)) + ((0, 1),) * (len(n_values) > 2):
            a, b = (next(iter(scores.scores(subset)), None) for scores in (several, single))
            assert (a is None) == (b is None)
            if a is not None and b is not None:
                assert a.train == pytest.approx(b.train, abs=1e-12)


@pytest.mark.parametrize("n_copies", [1, 4])
def test_a_shortcut_stays_where_rows_are_copied(n_copies):
    # Five colours of twenty go with each label in training; in test they are mixed.
    rng = np.random.default_rng(8)
    rows = np.stack([np.arange(600) % 20, rng.integers(0, 400, 600)], axis=1)
    split = np.arange(600) >= 400
    label = np.where(split, rng.integers(0, 4, 600), rows[:, 0] // 5)
    given = copied(table(rows, split, label, tuple("abcd")), np.where(split, 1, n_copies))
    (colour,) = shortcuts(given.case(1, 1))
    assert (colour.components, colour.misleads, colour.train) == ((0,), True, 1.0)


def many_rows(n_rows):
    """Return a table whose last pair of three components gives the label in training alone."""
    rng = np.random.default_rng(9)
    rows = rng.integers(0, 2, (n_rows, 3))
    split = np.arange(n_rows) % 4 == 0
    pair = rows[:, 1] ^ rows[:, 2]
    return table(rows, split, np.where(split, rng.integers(0, 2, n_rows), pair), ("a", "b"))


def test_sets_that_are_not_looked_at_in_time_are_counted():
    case = many_rows(4000).case(1, 1)
    n_rows = 3000 + len(case.compared)
    (pair,) = shortcuts(case)
    assert pair.components == (1, 2)
    assert not_searched(case, time_limit=0.0) == (0, 6)
    frame = pd.DataFrame(case.table.components, columns=["a", "b", "c"])
    frame = frame.assign(y=case.table.label, split=np.where(case.table.split, "test", "train"))
    several = pd.concat([frame] * (int(5 * FREE * RATE / n_rows / 6) + 1), ignore_index=True)
    several["y"] = several["y"].map({0: "no", 1: "yes"})
    short, long = (
        audit_split(several, ["a", "b", "c"], "y", "split", add=0, time_limit=seconds)
        for seconds in (0.0, 10.0)
    )
    (finding,) = [item for item in short.findings if "shortcuts of" in item.message]
    n_left, n_sets = short.evidence[0].not_searched
    assert 0 < n_left < n_sets == 6
    assert (finding.rule, finding.severity) == ("not-decided", "warning")
    assert finding.message.startswith(f"Whether {n_left} of 6 sets of components are shortcuts of ")
    text = section(short.evidence[0]).text
    assert f"{n_left} of 6 sets of components were not looked at in time." in text
    assert "None found" not in text
    assert json.loads(short.to_json())["splits"][0]["sets_not_searched"] == n_left
    assert not [item for item in short.findings if item.rule == "shortcut"]
    (item,) = [item for item in long.findings if item.rule == "shortcut"]
    assert "b and c together" in item.message
    assert long.evidence[0].not_searched == (0, 6)


@pytest.mark.parametrize("labels", [None, ("a", "b")])
def test_a_shortcut_stays_where_rows_of_few_combinations_are_drawn(labels):
    # Of 1,000 rows of a label 800 have its colour, as in a table of counts with a common factor.
    counts = np.array([[800, 200], [200, 800]])
    cells = grid(2, 2)
    rows = np.vstack([np.repeat(cells, counts.ravel(), axis=0), np.repeat(cells, 500, axis=0)])
    split = np.repeat([False, True], 2000)
    (colour,) = shortcuts(table(rows, split, rows[:, 0], labels).case(1, 1))
    assert (colour.components, colour.misleads) == ((1,), True)
    assert colour.train == pytest.approx(0.8 if labels else 0.36, abs=2e-3)


def test_a_spurious_correlation_is_right_more_often_than_guesses():
    # Of few rows a component can be right at the values of test alone.
    correlations = []
    for seed in range(112, 124):
        frame = design_split({"shape": 6, "colour": 5, "size": 6}, test_share=0.1, seed=seed)
        report = audit_split(frame.to_frame(), ["shape", "colour", "size"], "target", "split")
        correlations += [s for item in report.evidence for s in item.shortcuts if s.spurious]
    assert all(s.train - s.guess >= 0.1 for s in correlations)
