"""Many kernels of few orders, against dense kernel matrices and single solves.

Memory is at least .002 where an explicit kernel matrix of at most 700 rows and norm below 700
checks the outputs: its condition is below 1e6, so its solution has 10 digits, and targets are
of order 1.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import tasks

from partwhole import solve
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits import order_sweep
from partwhole.limits.order_sweep import OrderProblem, OrderSweep
from partwhole.limits.solvers import sparse_primal
from partwhole.limits.solvers.sparse_primal import solve_ridge
from partwhole.limits.sweeps import interpolation_sweep
from partwhole.tasks import Task

TOLERANCE = 1e-8


def swept(task, kernels, **options) -> OrderSweep:
    """Interpolate with each kernel."""
    order = kernels[0].order if kernels else 1
    return OrderProblem.of(task, order).sweep(kernels, **options)


def dense(task, kernel, ridge=0.0):
    """Solve ``K a + b = y`` with the kernel matrix written out."""
    train, test = task.train_components, task.test_components
    n = len(train)
    gram, across = np.diag(np.full(n, kernel.memory) + ridge), np.zeros((len(test), n))
    for chosen, weight in kernel.weights.items():
        columns = list(chosen)
        gram += weight * np.all(train[:, None, columns] == train[None][:, :, columns], axis=2)
        across += weight * np.all(test[:, None, columns] == train[None][:, :, columns], axis=2)
    system = np.block([[gram, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    y = task.train_targets
    solved = np.linalg.solve(system, np.concatenate([y, np.zeros((1, *y.shape[1:]))]))
    return across @ solved[:n] + solved[n]


def random_kernel(rng, n_components, order):
    sets = [c for k in range(1, order + 1) for c in combinations(range(n_components), k)]
    shares = rng.dirichlet(np.ones(len(sets) + 1))
    shares = 0.998 * shares + 0.002 * np.eye(len(shares))[-1]
    return OrderKernel(n_components, order, dict(zip(sets, shares[:-1], strict=True)), shares[-1])


def apart(task):
    """Leave no training row that joins an even first value to an odd second one, or the reverse."""
    joins = task.components[:, 0] % 2 != task.components[:, 1] % 2
    return replace(task, is_train=task.is_train & ~joins)


def random_task(rng, n_values, n_train, n_test, outputs=()):
    cells = rng.choice(int(np.prod(n_values)), n_train + n_test, replace=False)
    rows = np.stack(np.unravel_index(cells, n_values), axis=1)
    is_train = rng.permutation(len(rows)) < n_train
    names = tuple(f"part {c}" for c in range(len(n_values)))
    values = tuple(tuple(range(n)) for n in n_values)
    return Task(rows, rng.normal(size=(len(rows), *outputs)), is_train, names, values)


@given(tasks(), st.data())
def test_outputs_equal_an_explicit_kernel_machine(task, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    outputs = data.draw(st.sampled_from([(), (2,), (7,)]))
    task = replace(task, targets=rng.normal(size=(len(task.targets), *outputs)))
    order = data.draw(st.integers(0, task.n_components - 1))
    ridge = data.draw(st.sampled_from(["none", "equal", "by row"]))
    ridge = {"none": 0.0, "equal": 0.1, "by row": rng.uniform(0.05, 1.0, task.n_train)}[ridge]
    kernels = [random_kernel(rng, task.n_components, order) for _ in range(2)]
    before = task.components.copy(), task.targets.copy()
    found = swept(task, kernels, ridge=ridge)
    assert found.outputs.shape == (2, task.n_test, *outputs)
    assert found.converged.all()
    for kernel, got in zip(kernels, found.outputs, strict=True):
        np.testing.assert_allclose(got, dense(task, kernel, ridge), rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(before[0], task.components)
    np.testing.assert_array_equal(before[1], task.targets)


@pytest.mark.parametrize("ridge", [0.0, 0.03])
@pytest.mark.parametrize("outputs", [(), (3,)])
def test_more_conjunctions_than_a_table_holds(ridge, outputs):
    rng = np.random.default_rng(0)
    task = random_task(rng, (12,) * 6, 600, 200, outputs)
    kernels = [OrderKernel.random_network(6, 2, depth) for depth in (1, 2, 20)]
    assert OrderProblem.of(task, 2).n_columns > 1500
    per_row = ridge * rng.uniform(0.2, 1.0, 600)
    sweep = swept(task, kernels, ridge=per_row)
    for kernel, swept_outputs in zip(kernels, sweep.outputs, strict=True):
        np.testing.assert_allclose(
            swept_outputs, dense(task, kernel, per_row), rtol=0, atol=TOLERANCE
        )


@pytest.mark.parametrize("n_components", [2, 3, 4])
def test_below_the_full_conjunction_it_is_the_overlap_kernel_itself(n_components):
    task = random_task(np.random.default_rng(1), (5,) * n_components, 20, 5)
    order, depths = n_components - 1, (1, 3, 9)
    kernels = [OrderKernel.random_network(n_components, order, depth) for depth in depths]
    outputs = swept(task, kernels).outputs
    for depth, swept_outputs in zip(depths, outputs, strict=True):
        whole = OverlapKernel.random_network("relu", n_components, depth)
        expected = solve(task, whole, intercept="free").test_predictions
        np.testing.assert_allclose(swept_outputs, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("columns", "coarse"),
    [(1500, 1500), (0, 1500), (0, 0)],
    ids=["table", "coarse columns eliminated", "conjugate gradients"],
)
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.2, 0.8), (1.0, 0.0)])
def test_without_memory_it_is_least_squares_of_least_norm(monkeypatch, columns, coarse, weights):
    """Singular values of the one-hot matrix are 0 or above .1: its inverse has 13 digits.

    Conjugate gradients take a memory of 1e-9, which changes outputs by 1e-9 / .01 at most,
    and rounding by as much again.
    """
    monkeypatch.setattr(order_sweep, "COARSE_COLUMNS", columns)
    monkeypatch.setattr(order_sweep, "DIRECT_COLUMNS", columns)
    monkeypatch.setattr(sparse_primal, "COARSE_COLUMNS", coarse)
    task = apart(random_task(np.random.default_rng(2), (9, 8), 30, 30, (2,)))
    kernel = OrderKernel(2, 1, {(0,): weights[0], (1,): weights[1]}, 0.0)
    outputs = swept(task, [OrderKernel.from_salience(0.2), kernel]).outputs[1]
    onehot = np.concatenate(
        [w**0.5 * np.eye(n)[c] for w, n, c in zip(weights, (9, 8), task.components.T, strict=True)],
        axis=1,
    )
    mean = onehot[task.is_train].mean(axis=0)
    y = task.train_targets
    inverse = np.linalg.pinv(onehot[task.is_train] - mean, rcond=1e-10)
    expected = (onehot[~task.is_train] - mean) @ inverse @ (y - y.mean(axis=0)) + y.mean(axis=0)
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-10 if columns else 1e-6)


@pytest.mark.parametrize("columns", [1500, 0], ids=["table", "conjugate gradients"])
def test_little_memory_loses_no_digits(monkeypatch, columns):
    """Against one eigendecomposition of the rows' kernel matrix, where memory is a shift.

    What no row carries is divided by memory, so conjugate gradients, which sum without a
    rounding error but multiply with one, keep six digits where memory is 1e-9.
    """
    monkeypatch.setattr(order_sweep, "COARSE_COLUMNS", columns)
    monkeypatch.setattr(order_sweep, "DIRECT_COLUMNS", columns)
    task = apart(random_task(np.random.default_rng(3), (30, 25), 300, 300))
    shares = 0.5 - 10.0 ** -np.arange(2.0, 16.0)
    kernels = [OrderKernel.from_salience(share) for share in (*shares, 0.5)]
    sweep = swept(task, kernels)
    assert sweep.converged.all()
    expected = interpolation_sweep(task, np.append(shares, 0.5))
    np.testing.assert_allclose(sweep.outputs, expected, rtol=0, atol=1e-10 if columns else 1e-6)


def test_long_tables_are_refined_to_the_last_digits(monkeypatch):
    """Both ways end at the rounding of outputs of order 1; a factored table alone, at 1e-11."""
    task = random_task(np.random.default_rng(18), (10,) * 5, 20_000, 500)
    kernels = [OrderKernel.random_network(5, 2, depth) for depth in (1, 4)]
    table = swept(task, kernels).outputs
    monkeypatch.setattr(order_sweep, "COARSE_COLUMNS", 0)
    monkeypatch.setattr(order_sweep, "DIRECT_COLUMNS", 0)
    steps = swept(task, kernels, tolerance=1e-12).outputs
    np.testing.assert_allclose(table, steps, rtol=0, atol=1e-13)


def test_nothing_but_memory_answers_with_the_mean():
    task = random_task(np.random.default_rng(4), (6, 5, 4), 40, 20)
    for kernel in (OrderKernel(3, 2, {}, 1.0), OrderKernel(3, 0, {}, 1.0)):
        outputs = swept(task, [kernel]).outputs[0]
        np.testing.assert_allclose(outputs, task.train_targets.mean(), rtol=0, atol=1e-13)


def test_conjugate_gradients_equal_the_table(monkeypatch):
    task = random_task(np.random.default_rng(5), (10, 9, 8), 300, 100, (2,))
    kernels = [OrderKernel(3, 2, {(0,): 0.5}, 0.5)]
    kernels += [OrderKernel.random_network(3, 2, depth) for depth in (1, 5, 0, 2)]
    kernels += [OrderKernel(3, 2, {}, 1.0)]
    table = swept(task, kernels)
    monkeypatch.setattr(order_sweep, "COARSE_COLUMNS", 0)
    monkeypatch.setattr(order_sweep, "DIRECT_COLUMNS", 0)
    steps = swept(task, kernels)
    assert table.converged.all()
    assert steps.converged.all()
    np.testing.assert_allclose(steps.outputs, table.outputs, rtol=0, atol=TOLERANCE)


def test_a_start_saves_steps_and_changes_nothing():
    task = random_task(np.random.default_rng(6), (60, 60, 60), 4000, 10, (2,))
    problem = OrderProblem.of(task, 2)
    index, sizes = problem.design.index, problem._sizes
    weights = [0.1] * len(sizes)
    cold = solve_ridge(index, sizes, weights, task.train_targets, 0.4)
    warm = solve_ridge(index, sizes, weights, task.train_targets, 0.4, start=cold.coefficients)
    assert warm.steps < cold.steps / 2
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1e9])
def test_the_scale_and_offset_of_targets_change_nothing_else(scale):
    task = random_task(np.random.default_rng(7), (6, 5, 4), 50, 20)
    kernels = [OrderKernel.random_network(3, 2, 1), OrderKernel(3, 2, {(0,): 1.0}, 0.0)]
    plain = swept(task, kernels).outputs
    scaled = replace(task, targets=scale * (task.targets + 100.0))
    outputs = swept(scaled, kernels).outputs
    np.testing.assert_allclose(outputs / scale - 100.0, plain, rtol=0, atol=TOLERANCE)


def test_small_and_one_sided_tasks():
    grid = np.array([[0, 0], [1, 1], [0, 1]])
    names, values = ("a", "b"), ((0, 1), (0, 1))
    kernels = [OrderKernel.from_salience(S) for S in (0.0, 0.25, 0.5)]
    task = Task(grid, np.array([3.0, 1.0, 1.0]), np.array([True, False, False]), names, values)
    np.testing.assert_allclose(swept(task, kernels).outputs, 3.0, rtol=0, atol=1e-13)
    whole = replace(task, is_train=np.ones(3, dtype=bool))
    assert swept(whole, kernels).outputs.shape == (3, 0)
    constant = replace(task, targets=np.ones(3), is_train=np.array([True, True, False]))
    np.testing.assert_allclose(swept(constant, kernels).outputs, 1.0, rtol=0, atol=1e-13)


@settings(max_examples=20)
@given(tasks(components=(3, 4), values=(2, 5)), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_outputs_changes_nothing(task, seed):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(task.targets))
    kernel = OrderKernel.random_network(task.n_components, 2, 2)
    targets = np.stack([task.targets, -2.0 * task.targets], axis=1)
    shuffled = replace(
        task,
        components=task.components[rows],
        targets=targets[rows],
        is_train=task.is_train[rows],
    )
    plain = np.full(len(rows), np.nan)
    plain[~task.is_train] = swept(task, [kernel]).outputs[0]
    found = swept(shuffled, [kernel]).outputs[0]
    expected = plain[rows][~shuffled.is_train]
    np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(found[:, 1], -2.0 * expected, rtol=0, atol=TOLERANCE)


def sentence_task(**changes):
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    task = Task(
        rows, np.arange(4.0), np.array([True, True, True, False]), ("a", "b"), ((0, 1), (0, 1))
    )
    return replace(task, **changes)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: swept(sentence_task(), []),
            "a sweep takes at least one kernel; got none; pass kernels",
        ),
        (
            lambda: OrderProblem.of(sentence_task(), 1).sweep([]),
            "a sweep takes at least one kernel; got none; pass kernels",
        ),
        (
            lambda: swept(
                sentence_task(components=np.array([[0, 0], [0, 1], [0, 0], [1, 1]])),
                [OrderKernel.from_salience(0.1)],
            ),
            "an order sweep takes distinct training rows; got 1 repeated ones; merge them, with "
            "the mean of their targets",
        ),
        (
            lambda: swept(sentence_task(), [OrderKernel(3, 1, {}, 1.0)]),
            "kernels of this sweep have 2 components and order 1; got 3 and 1; build them alike",
        ),
        (
            lambda: swept(
                sentence_task(), [OrderKernel.from_salience(0.1), OrderKernel(2, 0, {}, 1.0)]
            ),
            "kernels of this sweep have 2 components and order 1; got 2 and 0; build them alike",
        ),
        (
            lambda: swept(sentence_task(), [OrderKernel.from_salience(0.1)], ridge=-1.0),
            "a ridge is one penalty for all training rows or one for each, all above 0 or all 0; "
            "got shape (), smallest -1; use 0 to interpolate",
        ),
        (
            lambda: swept(
                sentence_task(), [OrderKernel.from_salience(0.1)], ridge=np.array([0.0, 1.0, 1.0])
            ),
            "a ridge is one penalty for all training rows or one for each, all above 0 or all 0; "
            "got shape (3,), smallest 0; use 0 to interpolate",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence
