"""Derivation: how training settles a held-out combination, as a weighted sum of few rows."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

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
from partwhole.limits.proofs.boxes import box_groups, corners
from partwhole.tasks import Task

PROGRAM_ROWS = 2000
SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class Derivation:
    r"""Hold training rows that settle a held-out one: :math:`f(x) = \sum_j w_j f(x_j)`.

    Parameters
    ----------
    row : tuple of int
        The held-out combination's value indices.
    rows : int array, shape (q,)
        Training rows of the task.
    weights : float array, shape (q,)
        w; the equation holds for every sum of conjunctions up to the order asked for.
    """

    row: tuple[int, ...]
    rows: Int[np.ndarray, " q"]
    weights: Float[np.ndarray, " q"]

    @door
    def in_words(self, task: Task) -> str:
        """Write the equation, such as ``f(a, c) = f(a, d) - f(b, d) + f(b, c)``.

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
    entries = enumerate(task.components[row].tolist())
    return f"f({', '.join(str(task.values[c][v]) for c, v in entries)})"


def find_derivation(task: Task, order: int, row: Int[np.ndarray, " C"]) -> Derivation | None:
    """Find few training rows whose weighted sum is a row that training determines.

    Parameters
    ----------
    task : Task
    order : int
        K; the equation is to hold for sums of conjunctions of at most so many components.
    row : int array, shape (C,)

    Returns
    -------
    Derivation or None
        The shortest alternating path for two components at order 1; a box, whose other
        2**(K + 1) - 1 corners were all seen; else the weights of least total size by a linear
        program, where there are at most 2,000 training rows and it ends within 2 s. Checked in
        whole numbers.
    """
    known, train, _ = distinct(task, np.flatnonzero(task.is_train))
    where = tuple(int(v) for v in row)
    if order == 0:
        return Derivation(where, train[:1], np.ones(1))
    if task.n_components == 2 and order == 1:
        found = _path(task, known, train, where)
    else:
        found = _box(task, known, train, order, row) or _least_weight(task, train, order, row)
    return None if found is None else Derivation(where, *found)


def _path(
    task: Task, known: Dictionary, train: np.ndarray, row: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Walk from one value to the other over combinations seen; signs alternate."""
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
    rows = train[known.columns(np.array(steps[::-1]))]
    return rows, np.where(np.arange(len(rows)) % 2 == 0, 1.0, -1.0)


def _box(
    task: Task, known: Dictionary, train: np.ndarray, order: int, row: Int[np.ndarray, " C"]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Search a training row opposite whose other corners with this row were all seen."""
    deadline = monotonic() + SECONDS
    components = task.components[train]
    differs = components != row
    # The row itself comes last, beyond the training rows that the dictionary numbers.
    everything = np.concatenate([components, row[None, :]])
    for groups in box_groups(task.n_components, order):
        if monotonic() > deadline:
            return None
        rest = [c for c in range(task.n_components) if not any(c in group for group in groups)]
        alive = ~differs[:, rest].any(axis=1)
        for group in groups:
            alive &= differs[:, list(group)].any(axis=1)
        opposite = np.flatnonzero(alive)
        if len(opposite):
            one = np.full(len(opposite), len(train))
            found, signs = corners(everything, known, one, opposite, groups)
            if len(found):
                arranged = 1 + np.argsort(signs[1:], kind="stable")
                return train[found[0, arranged]], -signs[arranged]
    return None


def _least_weight(
    task: Task, train: np.ndarray, order: int, row: Int[np.ndarray, " C"]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve min |w| with the row the sum of weighted training rows."""
    from scipy.optimize import linprog

    n = len(train)
    if n > PROGRAM_ROWS:
        return None
    sets = [s for s in conjunction_sets(task.n_components, order) if len(s) == order]
    design = ConjunctionDesign.seen(task.components[train], sets, task.n_values)
    phi = as_sparse(design)
    wanted = as_sparse(design.at(row[None, :])).toarray()[0]
    both = sparse.hstack([phi.T, -phi.T]).tocsr()
    found = linprog(
        np.ones(2 * n), A_eq=both, b_eq=wanted, method="highs", options={"time_limit": SECONDS}
    )
    if found.status != 0:
        return None
    for whole in whole_multiples(found.x[:n] - found.x[n:], 1.0):
        parts = int(whole.sum())
        # Each row has the same number of conjunctions, so the weights of an equation add up to 1.
        if parts > 0 and np.array_equal(phi.T @ whole, wanted * parts):
            used = np.flatnonzero(whole)
            used = used[np.argsort(-whole[used], kind="stable")]
            return train[used], whole[used] / parts
    return None
