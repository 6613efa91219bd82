"""Derivation: a held-out combination as a weighted sum of few training rows."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole._door import door
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary, conjunction_sets
from partwhole.limits.proofs._indicators import (
    as_sparse,
    distinct,
    require_same_task,
    whole_multiples,
)
from partwhole.limits.proofs.boxes import Corners, box_groups
from partwhole.tasks import Task

PROGRAM_ROWS = 2000
SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class Derivation:
    r"""Training rows that determine a held-out one: :math:`f(x) = \sum_j w_j f(x_j)`.

    Parameters
    ----------
    row : tuple of int
        The held-out combination's value indices.
    rows : int array, shape (q,)
        Training rows of the task.
    weights : float array, shape (q,)
        w; the equation holds for every sum of conjunctions up to the given order.
    """

    row: tuple[int, ...]
    rows: Int[np.ndarray, " q"]
    weights: Float[np.ndarray, " q"]

    @door
    def in_words(self, task: Task) -> str:
        """Return the equation in words, such as ``f(a, c) = f(a, d) - f(b, d) + f(b, c)``.

        Parameters
        ----------
        task : Task
            The task that the rows belong to.

        Returns
        -------
        str

        Raises
        ------
        InputError
            For a task that does not have the rows.
        """
        require_same_task(task, self.rows.tolist(), enumerate(self.row))
        words = []
        for row, weight in zip(self.rows.tolist(), self.weights.tolist(), strict=True):
            size = "" if abs(weight) == 1 else f"{abs(weight):g} "
            words.append(f"{'+' if weight > 0 else '-'} {size}{_output(task, row)}")
        entries = ", ".join(str(task.values[c][v]) for c, v in enumerate(self.row))
        return f"f({entries}) = {' '.join(words).removeprefix('+ ')}"


def _output(task: Task, row: int) -> str:
    """Return the name of the output at a row, such as ``f(a, c)``."""
    entries = enumerate(task.components[row].tolist())
    return f"f({', '.join(str(task.values[c][v]) for c, v in entries)})"


def find_derivation(task: Task, order: int, row: Int[np.ndarray, " C"]) -> Derivation | None:
    """Return few training rows whose weighted sum is a row that training determines.

    Parameters
    ----------
    task : Task
    order : int
        K; the equation must hold for sums of conjunctions of at most K components.
    row : int array, shape (C,)

    Returns
    -------
    Derivation or None
        For two components at order 1, the shortest alternating path. Otherwise a box whose other
        2**(K + 1) - 1 corners were all seen; or else the weights of least total size, by a linear
        program, if there are at most 2,000 training rows and it ends within 2 s. All weights are
        checked in whole numbers.
    """
    dictionary, train, _ = distinct(task, np.flatnonzero(task.is_train))
    where = tuple(int(v) for v in row)
    if order == 0:
        return Derivation(where, train[:1], np.ones(1))
    if task.n_components == 2 and order == 1:
        equation = _path_equation(task, dictionary, train, where)
    else:
        equation = _box_equation(task, train, order, row) or _least_weight(task, train, order, row)
    return None if equation is None else Derivation(where, *equation)


def _path_equation(
    task: Task, dictionary: Dictionary, train: np.ndarray, row: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the shortest path of seen combinations between the row's two values.

    Consecutive combinations share a value, so that with alternating signs all other values cancel.
    """
    left, right = task.n_values
    edge = task.components[train] + [0, left]
    ones = np.ones(len(train), dtype=np.int8)
    graph = sparse.coo_array((ones, (edge[:, 0], edge[:, 1])), (left + right,) * 2).tocsr()
    start, end = row[0], left + row[1]
    _, before = sparse.csgraph.breadth_first_order(graph, start, directed=False)
    steps = []
    while end != start:
        previous = int(before[end])
        if previous < 0:
            return None
        steps.append((min(previous, end), max(previous, end) - left))
        end = previous
    rows = train[dictionary.columns(np.array(steps[::-1]))]
    return rows, np.where(np.arange(len(rows)) % 2 == 0, 1.0, -1.0)


def _box_equation(
    task: Task, train: np.ndarray, order: int, row: Int[np.ndarray, " C"]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the seen corners of a box that has this row as its remaining corner."""
    deadline = process_time() + SECONDS
    components = task.components[train]
    differs = components != row
    # The row itself comes last, after the training rows at the other corners.
    corners = Corners(np.concatenate([components, row[None, :]]), len(train))
    for groups in box_groups(task.n_components, order):
        if process_time() > deadline:
            return None
        rest = [c for c in range(task.n_components) if not any(c in group for group in groups)]
        alive = ~differs[:, rest].any(axis=1)
        for group in groups:
            alive &= differs[:, list(group)].any(axis=1)
        opposite = np.flatnonzero(alive)
        if len(opposite):
            bases = np.full(len(opposite), len(train))
            steps = corners.steps(bases, opposite, groups)
            boxes, signs = corners.boxes(bases, opposite, groups, steps)
            if len(boxes):
                arranged = 1 + np.argsort(signs[1:], kind="stable")
                return train[boxes[0, arranged]], -signs[arranged]
    return None


def _least_weight(
    task: Task, train: np.ndarray, order: int, row: Int[np.ndarray, " C"]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the weights of least total size whose weighted sum of training rows is the row."""
    from scipy.optimize import linprog

    n = len(train)
    if n > PROGRAM_ROWS:
        return None
    sets = [s for s in conjunction_sets(task.n_components, order) if len(s) == order]
    design = ConjunctionDesign.seen(task.components[train], sets, task.n_values)
    phi = as_sparse(design)
    target_row = as_sparse(design.at(row[None, :])).toarray()[0]
    signed_columns = sparse.hstack([phi.T, -phi.T]).tocsr()
    program = linprog(
        np.ones(2 * n),
        A_eq=signed_columns,
        b_eq=target_row,
        method="highs",
        options={"time_limit": SECONDS},
    )
    if program.status != 0:
        return None
    for whole in whole_multiples(program.x[:n] - program.x[n:], 1.0):
        parts = int(whole.sum())
        # All rows have the same number of conjunctions, so the weights of an equation sum to 1.
        if parts > 0 and np.array_equal(phi.T @ whole, target_row * parts):
            places = np.flatnonzero(whole)
            places = places[np.argsort(-whole[places], kind="stable")]
            return train[places], whole[places] / parts
    return None
