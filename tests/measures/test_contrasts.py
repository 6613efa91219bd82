"""Contrasts against closed forms, counting by hand and fits of nested sums."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import tasks as random_tasks
from random_tasks import tasks_with_kernels

from partwhole import features, limits, measures, solve, tasks
from partwhole._checks import InputError
from partwhole.features.conjunctions import conjunction_sets
from partwhole.measures.contrasts import Contrasts, contrasts

SMALL = {"components": (2, 3), "values": (2, 5)}


def interpolated(task, salience):
    kernel = features.OverlapKernel.from_salience(salience)
    return solve(task, kernel, intercept="free").predictions


def with_rows(task, rows):
    """Return the task of these rows, in this order."""
    return tasks.Task(
        task.components[rows], task.targets[rows], task.is_train[rows], task.names, task.values
    )


def with_targets(task, targets):
    return tasks.Task(task.components, targets, task.is_train, task.names, task.values)


def seen_columns(task, chosen):
    """Return indicators of the set's seen conjunctions in held-out rows, row by row."""
    seen = sorted({tuple(row) for row in task.train_components[:, list(chosen)].tolist()})
    rows = [tuple(row) for row in task.test_components[:, list(chosen)].tolist()]
    return np.array([[row == value for value in seen] for row in rows], dtype=float)


def nested_fits(task, values, chosen, sets):
    """Return what the set's columns add to the fit by all sets without it, and their rank."""
    columns = {each: seen_columns(task, each) for each in sets}
    without = np.hstack([part for key, part in columns.items() if not set(chosen) <= set(key)])
    together = np.hstack([without, columns[chosen]])

    def fitted(matrix):
        return matrix @ np.linalg.lstsq(matrix, values[~task.is_train], rcond=None)[0]

    rank = np.linalg.matrix_rank
    return fitted(together) - fitted(without), int(rank(together) - rank(without))


def compare(found, other, among=None, relabel=lambda chosen: chosen):
    """Require the same numbers of both, up to rounding."""
    for chosen in found.dof if among is None else among:
        key = relabel(chosen)
        assert found.dof[chosen] == other.dof[key]
        for name in ("size", "target_size", "slope"):
            one, two = getattr(found, name)[chosen], getattr(other, name)[key]
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-9)


def rest(found):
    return [found.remainder, found.target_remainder, found.remainder_slope, found.remainder_dof]


@pytest.mark.parametrize(
    ("anchors", "salience"), [([0], 0.4), ([-2, 2], 0.3), ([-4], 0.2), ([-4, -1, 1, 4], 0.22)]
)
def test_in_addition_every_slope_is_the_leak(anchors, salience):
    task = tasks.symbolic_addition(range(-4, 5), anchors)
    predictions = interpolated(task, [salience])
    found = contrasts(task, predictions)
    leak = limits.memorization_leak(salience, len(anchors))
    assert set(found.slope) == {(0,), (1,)}
    for component in found.slope:
        assert found.slope[component] == pytest.approx(leak, abs=1e-10)
        assert found.slope[component] == pytest.approx(
            measures.slope(task, predictions).value, abs=1e-10
        )
        # Values of as many held-out items as are no anchors, less their mean.
        assert found.dof[component] == 9 - len(anchors) - 1
        items = np.setdiff1d(np.arange(-4, 5), anchors)
        assert found.target_size[component] == pytest.approx(items.std(), abs=1e-12)
        assert found.size[component] == pytest.approx(leak * items.std(), abs=1e-10)
    assert found.remainder < 1e-10
    assert found.remainder_dof == (9 - len(anchors) - 1) ** 2


def test_every_component_has_its_own_slope():
    # G-7: one anchor for the first component and two for the second; then unequal saliences.
    task = tasks.symbolic_addition(range(-4, 5), [[0], [-2, 2]])
    found = contrasts(task, interpolated(task, [0.3]))
    assert list(found.slope.values()) == pytest.approx([0.6, 0.428571], abs=1e-6)
    task = tasks.symbolic_addition(range(-4, 5), [-2, 2])
    kernel = features.OverlapKernel.from_salience({(0,): 0.3, (1,): 0.45})
    found = contrasts(task, solve(task, kernel, intercept="free").predictions)
    assert list(found.slope.values()) == pytest.approx([0.705882, 0.782609], abs=1e-6)


def test_three_summands_have_no_contrast_of_pairs():
    # G-8; 4 items of each component are held out, in all combinations.
    task = tasks.symbolic_addition(range(-2, 3), [0], n_components=3)
    found = contrasts(task, interpolated(task, [0.2, 0.05]))
    singles, pairs = [(0,), (1,), (2,)], [(0, 1), (0, 2), (1, 2)]
    assert [found.slope[chosen] for chosen in singles] == pytest.approx([0.809160] * 3, abs=1e-6)
    assert [found.dof[chosen] for chosen in singles + pairs] == [3, 3, 3, 9, 9, 9]
    assert np.isnan([found.slope[chosen] for chosen in pairs]).all()
    assert max(found.size[chosen] for chosen in pairs) < 1e-10
    assert found.remainder_dof == 27


def test_cd_3_by_hand():
    # Held out are 2 contexts x 3 values x 3 values; every conjunction of them is seen but those
    # of both features. The response is that of the context: -1 in one, +1 in the other.
    task = tasks.context_dependence(3)
    context, first, second = task.components.T
    kernel = interpolated(task, [0.1, 0.05])
    expected = {(0,): 1, (1,): 2, (2,): 2, (0, 1): 2, (0, 2): 2, (1, 2): 0}
    found = contrasts(task, kernel)
    assert found.dof == expected
    assert found.remainder_dof == 18 - 1 - sum(expected.values())
    margin = limits.shortcut_margin(0.1, 0.05, fit="regression")
    assert found.slope[(0,)] == pytest.approx(margin, abs=1e-10)
    assert found.slope[(0,)] == pytest.approx(-0.073998, abs=1e-6)
    assert found.target_size[(0,)] == pytest.approx(1.0, abs=1e-12)
    assert np.isnan([found.slope[chosen] for chosen in expected if chosen != (0,)]).all()
    assert found.remainder < 1e-10
    # An answer of known parts. Features are 0, 1, 2 and 3, 4, 5, of spread sqrt(2/3) and mean 1
    # and 4; the sign of the context has mean 0.
    sign = np.where(context == 0, -1.0, 1.0)
    one, two = first - 1.0, second - 4.0
    answer = 7.0 + 0.6 * sign + 0.3 * one - 0.5 * sign * two + 0.2 * one * two
    found = contrasts(task, answer)
    assert found.slope[(0,)] == pytest.approx(0.6, abs=1e-12)
    spread = np.sqrt(2 / 3)
    sizes = {
        (0,): 0.6, (1,): 0.3 * spread, (2,): 0.0, (0, 1): 0.0, (0, 2): 0.5 * spread, (1, 2): 0.0
    }  # fmt: skip
    assert found.size == pytest.approx(sizes, abs=1e-12)
    assert found.remainder == pytest.approx(0.2 * spread**2, abs=1e-12)
    assert found.target_remainder == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(found.remainder_slope)


def test_what_no_kernel_can_say_is_in_the_remainder():
    # Solving equivalence takes an interaction of items that no seen conjunction has.
    task = tasks.transitive_equivalence([3, 3], [2, 2])
    learned = contrasts(task, 0.25 * task.targets)
    assert learned.remainder_slope == pytest.approx(0.25, abs=1e-12)
    assert learned.target_remainder > 0.5
    assert contrasts(task, interpolated(task, [0.3])).remainder < 1e-10


@settings(max_examples=15)
@given(random_tasks(**SMALL), st.integers(0, 2**32 - 1), st.booleans())
def test_contrasts_are_what_a_set_adds_to_the_fit_without_it(task, seed, singles):
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(task.targets), size=min(60, 2 * len(task.targets)))
    rows = np.concatenate([np.flatnonzero(task.is_train)[:1], rows])
    task = with_rows(task, rows)
    task = with_targets(task, rng.normal(size=len(rows)))
    if not task.n_test:
        return
    predictions, max_order = rng.normal(size=len(rows)), 1 if singles else None
    sets = conjunction_sets(task.n_components, max_order or task.n_components)
    found = contrasts(task, predictions, max_order=max_order)
    assert {(), *found.dof} | {sets[-1]} == set(sets)
    n = task.n_test
    for chosen in found.dof:
        f, rank = nested_fits(task, predictions, chosen, sets)
        y, _ = nested_fits(task, task.targets, chosen, sets)
        assert found.dof[chosen] == rank
        # Sums of at most 61 terms of size 1; ranks are decided, so conditions are mild.
        assert found.size[chosen] == pytest.approx(np.sqrt(f @ f / n), abs=1e-9)
        assert found.target_size[chosen] == pytest.approx(np.sqrt(y @ y / n), abs=1e-9)
        if rank:
            assert found.slope[chosen] == pytest.approx(f @ y / (y @ y), rel=1e-7, abs=1e-9)
        else:
            assert np.isnan(found.slope[chosen])
    everything = np.hstack([seen_columns(task, each) for each in sets])
    held_out = predictions[~task.is_train]
    left = held_out - everything @ np.linalg.lstsq(everything, held_out, rcond=None)[0]
    assert found.remainder == pytest.approx(np.sqrt(left @ left / n), abs=1e-9)
    assert found.remainder_dof == n - np.linalg.matrix_rank(everything)


@settings(max_examples=15)
@given(random_tasks(**SMALL), st.integers(0, 2**32 - 1))
def test_functions_of_other_sets_change_nothing(task, seed):
    if not task.n_test:
        return
    rng = np.random.default_rng(seed)
    predictions = rng.normal(size=len(task.targets))
    before = contrasts(task, predictions)
    for chosen in before.dof:
        changed = predictions + 100.0
        for other in conjunction_sets(task.n_components, task.n_components - 1):
            if set(chosen) <= set(other):
                continue
            columns = seen_columns(task, other)
            changed[~task.is_train] += columns @ rng.normal(size=columns.shape[1])
        after = contrasts(task, changed)
        compare(after, before, among=[chosen])
        assert after.remainder == pytest.approx(before.remainder, abs=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_large_functions_of_others_leave_digits_in_a_long_chain(seed):
    # Held out: (0, 0), (0, 1), (1, 1), (1, 2), ..., where items of one component nearly depend on
    # those of the other.
    n, rng = 150, np.random.default_rng(seed)
    item = np.arange(n)
    chain = np.concatenate([item[:, None] + [0, 0], item[:-1, None] + [0, 1]])
    seen = np.stack([item, (item + n // 2) % n], axis=1)
    rows = np.concatenate([chain, seen])
    is_train = np.arange(len(rows)) >= len(chain)
    task = tasks.Task(
        rows, rng.normal(size=len(rows)), is_train, ("one", "two"), (tuple(range(n)),) * 2
    )
    predictions = rng.normal(size=len(rows))
    found = contrasts(task, predictions)
    changed = contrasts(task, predictions + 1e6 * rng.normal(size=n)[rows[:, 1]])
    assert found.dof == changed.dof == {(0,): n - 1, (1,): n - 1}
    # No more is lost than the sum's own rounding.
    rounding = 1e6 * np.finfo(float).eps
    assert changed.size[(0,)] == pytest.approx(found.size[(0,)], abs=rounding)


@settings(max_examples=15)
@given(random_tasks(**SMALL), st.integers(0, 2**32 - 1))
def test_order_and_labels_do_not_matter(task, seed):
    if not task.n_test:
        return
    rng = np.random.default_rng(seed)
    predictions = rng.normal(size=len(task.targets))
    found = contrasts(task, predictions)
    shuffled = rng.permutation(len(predictions))
    same = contrasts(with_rows(task, shuffled), predictions[shuffled])
    compare(found, same)
    assert rest(found) == pytest.approx(rest(same), abs=1e-9, nan_ok=True)
    values = [rng.permutation(n) for n in task.n_values]
    turned = np.stack(
        [value[column] for value, column in zip(values, task.components.T, strict=True)], axis=1
    )
    mirrored = tasks.Task(
        turned[:, ::-1], task.targets, task.is_train, task.names[::-1], task.values[::-1]
    )
    last = task.n_components - 1
    other = contrasts(mirrored, predictions)
    compare(found, other, relabel=lambda chosen: tuple(sorted(last - c for c in chosen)))
    assert rest(found) == pytest.approx(rest(other), abs=1e-9, nan_ok=True)


@settings(max_examples=20)
@given(tasks_with_kernels(**SMALL))
def test_kernels_leave_no_remainder(drawn):
    task, kernel = drawn
    if not task.n_test:
        return
    predictions = solve(task, kernel, intercept="free").predictions
    found = contrasts(task, predictions)
    # Saliences are .002 or more, so solves keep 1e-10 of answers of size 1 to 10.
    assert found.remainder < 1e-8 * max(1.0, np.abs(predictions).max())
    report = measures.additivity(task, predictions)
    if report.rank is not None:
        assert found.remainder_dof == report.n_held_out - report.rank


def test_training_rows_and_constants_do_not_matter():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    rng = np.random.default_rng(0)
    predictions = rng.normal(size=81)
    found = contrasts(task, predictions)
    compare(found, contrasts(task, np.where(task.is_train, 1e3, predictions)))
    # 1e6 has 1e-10 of a number of size 1 left.
    far = contrasts(with_targets(task, task.targets + 1e6), predictions - 1e6)
    compare(found, far)
    assert rest(found) == pytest.approx(rest(far), abs=1e-9, nan_ok=True)


def test_constants_have_no_contrasts():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    found = contrasts(with_targets(task, np.full(81, 0.1)), np.full(81, 0.3))
    assert set(found.size.values()) == set(found.target_size.values()) == {0.0}
    assert np.isnan([*found.slope.values(), found.remainder_slope]).all()
    assert found.remainder == 0.0


def test_the_whole_is_reported_where_it_was_seen():
    task = tasks.symbolic_addition(range(-1, 2), [0])
    # Held out once more: a combination of the training set, with an answer of its own.
    rows = np.concatenate([np.arange(9), [4]])
    again = with_rows(task, rows)
    again = tasks.Task(
        again.components, again.targets, np.append(task.is_train, False), task.names, task.values
    )
    answers = np.zeros(10)
    answers[-1] = 5.0
    found = contrasts(again, answers)
    # No other held-out row has an anchor, so items and whole are one column.
    assert found.dof == {(0,): 1, (1,): 1, (0, 1): 0}
    assert found.remainder < 1e-12
    assert set(contrasts(task, answers[:9]).dof) == {(0,), (1,)}


def test_frame_names_the_components():
    task = tasks.context_dependence(3)
    frame = contrasts(task, 0.5 * task.targets).to_frame()
    assert frame["conjunction"].tolist() == [
        "context", "feature 1", "feature 2", "context x feature 1", "context x feature 2",
        "feature 1 x feature 2", "remainder",
    ]  # fmt: skip
    assert frame["order"].iloc[:-1].tolist() == [1, 1, 1, 2, 2, 2]
    assert frame["order"].isna().tolist() == [False] * 6 + [True]
    assert frame["dof"].tolist() == [1, 2, 2, 2, 2, 0, 8]
    assert frame.loc[0, ["size", "target_size", "slope"]].tolist() == pytest.approx([0.5, 1.0, 0.5])


def test_errors_say_rule_got_remedy():
    task = tasks.toys.partial_exposure()
    with pytest.raises(InputError) as caught:
        contrasts(task, np.ones(3))
    assert str(caught.value) == (
        "predictions have the shape of the task's targets, (4,); got shape (3,); pass one "
        "prediction for each target, such as limit.predictions"
    )
    with pytest.raises(InputError, match="got 1 that is NaN, at 0; drop or fill missing"):
        contrasts(task, np.array([np.nan, 1.0, 1.0, 1.0]))
    with pytest.raises(InputError, match=r"targets, \(4, 2\); got shape \(4,\); pass one"):
        contrasts(with_targets(task, np.ones((4, 2))), np.ones(4))
    for order in (0, 3):
        with pytest.raises(InputError) as caught:
            contrasts(task, np.ones(4), max_order=order)
        assert str(caught.value) == (
            f"max_order lies in 1..2, the number of components; got {order}; use 1 for single items"
        )
    with pytest.raises(InputError) as caught:
        contrasts(with_rows(task, np.flatnonzero(task.is_train)), np.ones(task.n_train))
    assert str(caught.value) == (
        "contrasts are read on held-out rows; got none; mark them False in is_train"
    )


@pytest.mark.parametrize(
    ("limit", "least", "said"),
    [("CELL_LIMIT", 64 * 17, "1e+03"), ("WORK_LIMIT", 64 * 17 * 17 * 4, "7e+04")],
)
def test_large_tasks_are_refused(limit, least, said, monkeypatch):
    # 64 rows, a constant and 8 + 8 items, 4 sets.
    task = tasks.symbolic_addition(range(-4, 5), [0])
    monkeypatch.setattr(sys.modules[Contrasts.__module__], limit, least)
    assert contrasts(task, task.targets).n == 64
    monkeypatch.setattr(sys.modules[Contrasts.__module__], limit, least - 1)
    with pytest.raises(InputError) as caught:
        contrasts(task, task.targets)
    cells, work = (said, "4e+11") if limit == "CELL_LIMIT" else ("2e+07", said)
    assert str(caught.value) == (
        f"contrasts are for tasks of at most {cells} held-out combinations x columns, and of at "
        f"most {work} of these x the lesser of the two x sets; got 64 combinations, 17 columns and "
        "4 sets: 1.1e+03 and 7.4e+04; lower max_order, or take fewer of the held-out rows"
    )


def noisy_rows(task, predictions, count, seed=0):
    """Return the task with every row repeated, and predictions with independent noise."""
    rows = np.repeat(np.arange(len(task.targets)), count)
    noise = 0.5 * np.random.default_rng(seed).normal(size=len(rows))
    return with_rows(task, rows), predictions[rows] + noise


def test_noise_of_repeats_is_left_out_of_sizes():
    task = tasks.symbolic_addition(range(-3, 4), [0])
    predictions = np.random.default_rng(0).normal(size=49) + 0.5 * task.targets
    exact = contrasts(task, predictions)
    squares, slopes = [], []
    for seed in range(300):
        result = contrasts(*noisy_rows(task, predictions, 3, seed), repeats="noise")
        squares.append([*(size**2 for size in result.size.values()), result.remainder**2])
        slopes.append([*result.slope.values()])
    true = [*(size**2 for size in exact.size.values()), exact.remainder**2]
    for values, numbers in ((squares, true), (slopes, [*exact.slope.values()])):
        error = np.std(values, axis=0) / np.sqrt(300)
        np.testing.assert_array_less(np.abs(np.mean(values, axis=0) - numbers), 4 * error)
    assert min(min(row) for row in squares) > 0
    counted = contrasts(*noisy_rows(task, predictions, 3))
    assert counted.remainder**2 > exact.remainder**2 + 0.15
    assert counted.notes[0].startswith("predictions differ between rows of a combination, which")
    assert result.notes[0].startswith("predictions differ between rows of a combination: what")
    assert result.dof == exact.dof
    compare_targets = [result.target_size[key] for key in exact.target_size]
    assert compare_targets == pytest.approx([*exact.target_size.values()], rel=1e-9)


def test_repeats_without_noise_are_as_ever():
    task = tasks.symbolic_addition(range(-2, 3), [0])
    predictions = np.random.default_rng(0).normal(size=25)
    rows = np.repeat(np.arange(25), 3)
    again = contrasts(with_rows(task, rows), predictions[rows], repeats="noise")
    compare(again, contrasts(task, predictions))
    assert again.notes == ()
    assert again.remainder == pytest.approx(contrasts(task, predictions).remainder, rel=1e-9)


def test_sizes_below_noise_are_zero():
    task = tasks.symbolic_addition(range(-2, 3), [0])
    results = [
        contrasts(*noisy_rows(task, np.zeros(25), 2, seed), repeats="noise") for seed in range(20)
    ]
    assert any(result.remainder == 0.0 for result in results)
    assert all(np.isfinite([*result.size.values()]).all() for result in results)
