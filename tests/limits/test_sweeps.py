"""Sweeps equal the single solves they stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import kernels
from random_tasks import tasks as random_tasks

from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.subsets import kernel_spectrum, moebius, overlap_sets, set_sizes
from partwhole.limits import (
    Equal,
    Outcome,
    shortcut_margin,
)
from partwhole.limits.sweeps import equitable_cells, interpolation_sweep, margin_sweep


def published_grid():
    """Return the Möbius coefficients of the admissible points of the 50 x 50 grid."""
    high = np.linspace(0, 2 / 3, 50)[:, None]
    low = high * np.linspace(0, 1 / 2, 50)
    high = np.broadcast_to(high, low.shape)
    by_count = np.stack([np.zeros_like(low), low, high, np.ones_like(low)], axis=-1).reshape(-1, 4)
    sigma = moebius(by_count[:, set_sizes(3)])
    return sigma[kernel_spectrum(sigma, (2, 6, 6)).min(axis=1) >= -1e-8]


def test_phase_diagram_counts():
    """G-16: 1728 points; all, 2 & 1, 1, none = 827, 596, 183, 122, each within 5."""
    grid = published_grid()
    assert len(grid) == 1728
    solved = []
    for r in (1, 2, 3):
        task = tasks.context_dependence(r)
        solved.append((margin_sweep(task, grid) * task.test_targets).mean(axis=1) > 0)
    one, two, three = solved
    counts = [
        (three & two & one).sum(), (~three & two & one).sum(), (~three & ~two & one).sum(),
        (~one & ~two & ~three).sum(),
    ]  # fmt: skip
    assert np.abs(np.array(counts) - [827, 596, 183, 122]).max() <= 5
    assert sum(counts) == 1728
    closed = shortcut_margin(grid[:, 1], np.maximum(grid[:, 3], 0.0))
    task = tasks.context_dependence(3)
    np.testing.assert_allclose(
        (margin_sweep(task, grid) * task.test_targets).mean(axis=1), closed, atol=1e-9
    )


@settings(max_examples=30)
@given(random_tasks(components=(2, 3), values=(2, 5), labels=True), st.data())
def test_margin_sweep_equals_single_solves(task, data):
    several = [data.draw(kernels(task.n_components)) for _ in range(3)]
    swept = margin_sweep(task, several)
    for kernel, found in zip(several, swept, strict=True):
        expected = solve(task, kernel, fit="margin", intercept="free").test_predictions
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("r", [1, 2])
def test_points_that_separate_nothing_are_nan(r):
    task = tasks.context_dependence(r)
    swept = margin_sweep(task, [OverlapKernel.from_salience([1 / 3, 0.0])])
    assert np.isnan(swept).all()


@pytest.mark.parametrize("salience", [{(0,): 0.6482021419, (1,): 0.3516600640}, {(0,): 0.4999995}])
@pytest.mark.parametrize(("classes", "anchors"), [([4, 4], [3, 1]), ([5, 5], [1, 3])])
def test_barely_salient_memory_is_still_solved(salience, classes, anchors):
    """Multipliers of 1e4 to 1e6 cancel; both routes stop at their rounding, not at NaN."""
    task = tasks.transitive_equivalence(classes, anchors)
    kernel = OverlapKernel.from_salience({(0,): 0.5, (1,): 0.499999} | salience)
    limit = solve(task, kernel, fit="margin", intercept="free")
    assert limit.outcome is Outcome.SOLVED
    assert (limit.predictions * task.targets)[task.is_train].min() > 1 - 1e-6
    swept = margin_sweep(task, [kernel])[0]
    np.testing.assert_allclose(swept, limit.test_predictions, atol=1e-6)


@given(random_tasks(components=(2, 2), values=(2, 8)), st.floats(0.001, 0.499))
def test_interpolation_sweep_equals_single_solves(task, salience):
    swept = interpolation_sweep(task, np.array([salience, 0.25]))
    expected = solve(task, OverlapKernel.from_salience([salience]), intercept="free")
    np.testing.assert_allclose(swept[0], expected.test_predictions, atol=1e-9)


@pytest.mark.parametrize("rest", [1e-3, 1e-6, 1e-9, 0.0])
def test_interpolation_sweep_near_one_half(rest):
    """Targets that are not additive: what no component carries must not leak by rounding."""
    rng = np.random.default_rng(0)
    full = tasks.symbolic_addition()
    task = replace(full, targets=rng.normal(size=81), is_train=rng.random(81) < 0.7)
    predictions = interpolation_sweep(task, np.array([0.5 - rest]))[0]
    train, test = task.train_components, task.test_components
    one_hot = [np.hstack([np.eye(9)[rows[:, 0]], np.eye(9)[rows[:, 1]]]) for rows in (train, test)]
    # The ridge of the additive form, written out: penalty (1 - 2S)/S, centred.
    penalty = 2 * rest / (0.5 - rest)
    mean, level = one_hot[0].mean(axis=0), task.train_targets.mean()
    centred = one_hot[0] - mean
    system = np.vstack([centred, np.sqrt(penalty) * np.eye(18)])
    right = np.append(task.train_targets - level, np.zeros(18))
    weights = np.linalg.lstsq(system, right, rcond=1e-12)[0]
    expected = level + (one_hot[1] - mean) @ weights
    np.testing.assert_allclose(predictions, expected, atol=1e-9)


def test_interpolation_sweep_reaches_the_additive_fit():
    task = tasks.symbolic_addition(anchors=[-2, 2])
    predictions = interpolation_sweep(task, np.array([0.5]))[0]
    np.testing.assert_allclose(predictions, task.test_targets, atol=1e-10)


def test_dispersed_means():
    """G-9: means over seeds 1 to 50, to 1e-3."""
    saliences = np.array([0.1, 0.2, 0.3, 0.4, 0.49])
    errors = []
    for seed in range(1, 51):
        task = tasks.dispersed_addition(seed=seed)
        predictions = interpolation_sweep(task, saliences)
        errors.append(((predictions - task.test_targets) ** 2).mean(axis=1))
    stated = [9.563902, 7.052914, 5.063567, 3.079513, 0.243260]
    np.testing.assert_allclose(np.mean(errors, axis=0), stated, atol=1e-3)


@given(random_tasks(components=(2, 3), values=(2, 4), labels=True))
def test_cells_are_equitable(task):
    """Every tuple of a cell sees equally many of every cell in every colour; brute force."""
    overlap = overlap_sets(task.components, task.components)
    colours = 2 * overlap + (task.targets[:, None] * task.targets[None] > 0)
    cells = equitable_cells(colours)
    for cell in range(cells.max() + 1):
        members = np.flatnonzero(cells == cell)
        for other in range(cells.max() + 1):
            seen = [sorted(colours[i, cells == other]) for i in members]
            assert all(row == seen[0] for row in seen)


def test_context_dependence_shrinks_to_few_cells():
    task = tasks.context_dependence(3)
    rows, y = task.train_components, task.train_targets
    colours = 2 * overlap_sets(rows, rows) + (y[:, None] * y[None] > 0)
    # Congruent with and without the half that is left out, and conflict, in each context.
    assert equitable_cells(colours).max() + 1 == 6


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: margin_sweep(tasks.symbolic_addition(), np.ones((1, 4))),
            "a margin needs labels -1 and +1, one for each training tuple; got targets in -8..8; "
            "use interpolation_sweep for numbers",
        ),
        (
            lambda: margin_sweep(tasks.context_dependence(3), np.ones((1, 4))),
            "kernels of a task with 3 components have 8 coefficients; got 4; build them with "
            "n_components of the task",
        ),
        (
            lambda: margin_sweep(
                tasks.context_dependence(3), [OverlapKernel.from_salience([0.4, 0.2])]
            ),
            "kernels must be positive semidefinite on the task's grid; got 1 with a negative "
            "eigenvalue; drop them; see OverlapKernel.is_positive_semidefinite",
        ),
        (
            lambda: margin_sweep(tasks.context_dependence(3), []),
            "a sweep takes at least one kernel; got none; pass kernels",
        ),
        (
            lambda: interpolation_sweep(tasks.context_dependence(3), np.array([0.1])),
            "a salience sweep takes two components; got 3; solve for each kernel by itself",
        ),
        (
            lambda: interpolation_sweep(tasks.symbolic_addition(), np.array([0.6])),
            "S(1;2) lies in 0..1/2 and ridge is at least 0; got S in 0.6..0.6, ridge 0; pass the "
            "salience of a single component",
        ),
        (
            lambda: margin_sweep(replace(MANY, targets=np.ones(4096)), np.ones((1, 4))),
            "a sweep takes at most 4000 distinct training tuples; got 4096; solve for each kernel "
            "by itself",
        ),
        (
            lambda: interpolation_sweep(
                tasks.Task(
                    np.zeros((2, 2), int), np.zeros(2), np.ones(2, bool), ("a", "b"), ((0,),) * 2
                ),
                np.array([0.1]),
            ),
            "a salience sweep takes distinct training tuples; got 2 rows with repeats; "
            "solve for each kernel by itself",
        ),
        (
            lambda: interpolation_sweep(tasks.symbolic_addition(), np.array([0.1]), ridge=-0.5),
            "S(1;2) lies in 0..1/2 and ridge is at least 0; got S in 0.1..0.1, ridge -0.5; pass "
            "the salience of a single component",
        ),
        (
            lambda: interpolation_sweep(tasks.symbolic_addition(), np.array([-0.1])),
            "S(1;2) lies in 0..1/2 and ridge is at least 0; got S in -0.1..-0.1, ridge 0; pass "
            "the salience of a single component",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_interpolation_sweep_takes_a_ridge_and_several_outputs(ridge):
    task = tasks.dispersed_addition(range(5), 2, seed=3)
    two_outputs = replace(task, targets=np.stack([task.targets, task.targets**2], axis=1))
    saliences = [0.1, 0.3, 0.45]
    swept = interpolation_sweep(two_outputs, np.array(saliences), ridge=ridge)
    assert swept.shape == (3, two_outputs.n_test, 2)
    for salience, outputs in zip(saliences, swept, strict=True):
        kernel = OverlapKernel.from_salience([salience])
        expected = solve(
            two_outputs, kernel, fit=Equal(slack=ridge), intercept="free"
        ).test_predictions
        np.testing.assert_allclose(outputs, expected, atol=1e-9)


@pytest.mark.parametrize("left_out", [1, 2, 3])
def test_weak_saliences_are_told_apart(left_out):
    """Similarities of shared parts that are small but not 0 still decide the cells."""
    task = tasks.context_dependence(left_out)
    several = [OverlapKernel.from_salience(s) for s in ([0.02, 0.01], [0.03, 0.02])]
    swept = margin_sweep(task, several)
    for kernel, outputs in zip(several, swept, strict=True):
        expected = solve(task, kernel, fit="margin", intercept="free").test_predictions
        np.testing.assert_allclose(outputs, expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_kernels_with_and_without_memory_share_a_batch(seed):
    """Some supports are guessed at once, others need the interior point; labels are unbalanced."""
    rows = np.array([[i, j] for i in range(4) for j in range(4)])
    targets = np.where(rows.sum(axis=1) >= 2, 1.0, -1.0)
    is_train = np.random.default_rng(seed).random(16) < 0.75
    task = tasks.Task(rows, targets, is_train, ("a", "b"), (tuple(range(4)),) * 2)
    several = [OverlapKernel.from_salience([s]) for s in (0.1, 0.3, 0.5 - 1e-13, 0.5)]
    swept = margin_sweep(task, several)
    for kernel, outputs in zip(several, swept, strict=True):
        expected = solve(task, kernel, fit="margin", intercept="free").test_predictions
        np.testing.assert_allclose(outputs, expected, atol=1e-8)


MANY = tasks.symbolic_addition(range(64), range(64))
