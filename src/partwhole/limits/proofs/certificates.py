"""Certificates: few held-out combinations that prove what no sum of seen conjunctions can do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole._checks import require
from partwhole._door import door
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs._indicators import require_same_task, whole_multiples
from partwhole.tasks import Task

TOLERANCE = 1e-8
PROGRAM_ROWS = 2000
# Pivots of a linear program.
PIVOTS = 20_000


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""Hold weights that prove a task unsolvable: :math:`\Phi^T u = 0` but :math:`u^T y \ne 0`.

    Parameters
    ----------
    rows : int array, shape (q,)
        Held-out rows of the task.
    weights : float array, shape (q,)
        u; whole numbers where possible.
    total : float
        :math:`u^T y`.
    is_rectangle : bool
        Whether four combinations suffice: two settings of some components crossed with two
        settings of the others.
    wanted : float array, shape (q,), optional
        y: what f should be at each row (for labels its sign), so that ``weights @ wanted`` is
        the total.
    output : int, default 0
        Which output f is, where a task has several numbers as targets.
    labels : tuple of int, optional
        (A, B): f is the output for label A minus the output for label B, and every row has one
        of them. For tasks with more than two labels.
    rivals : tuple of pairs of int, default ()
        For each row its label and another: f is there the output for the first minus the output
        for the second. For proofs that take more than two labels together.
    groups : tuple of tuples of int, default ()
        The components that change together along each side of a box (a rectangle has two).
    """

    rows: Int[np.ndarray, " q"]
    weights: Float[np.ndarray, " q"]
    total: float
    is_rectangle: bool
    wanted: Float[np.ndarray, " q"] | None = None
    output: int = 0
    labels: tuple[int, int] | None = None
    rivals: tuple[tuple[int, int], ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()

    @door
    def sum_in_words(
        self, task: Task, *, limit: int | None = None, labels: Sequence[Hashable] | None = None
    ) -> str:
        """Write the weighted sum of outputs, such as ``f(A, c) - f(A, d)``.

        Parameters
        ----------
        task : Task
            The task that the rows belong to.
        limit : int, keyword-only, optional
            Write so many terms and count the others.
        labels : sequence, keyword-only, optional
            The labels' names, used where each term has two labels of its own.

        Returns
        -------
        str

        Raises
        ------
        InputError
            For a task that does not have the rows.
        """
        require_same_task(task, self.rows.tolist())
        words = []
        arranged = np.argsort(-self.weights, kind="stable")
        for place in arranged[:limit].tolist():
            weight = float(self.weights[place])
            entries = ", ".join(
                str(task.values[c][index])
                for c, index in enumerate(task.components[self.rows[place]])
            )
            size = "" if abs(weight) == 1 else f"{abs(weight):g} "
            index = ""
            if self.rivals:
                index = "[{} - {}]".format(*(label_name(j, labels) for j in self.rivals[place]))
            words.append(("+ " if weight > 0 else "- ") + f"{size}f{index}({entries})")
        if limit is not None and len(arranged) > limit:
            words.append(f"+ ... ({len(arranged) - limit} more terms)")
        return " ".join(words).removeprefix("+ ")


def label_name(index: int, labels: Sequence[Hashable] | None) -> str:
    """Return a label's name, or its number where names are not known."""
    return f"label {index}" if labels is None else str(labels[index])


def annihilated(phi: sparse.csr_array, weights: np.ndarray) -> bool:
    """Return whether every column adds up to 0, to 1e-9 of the total weight."""
    return bool(np.abs(phi.T @ weights).max() <= 1e-9 * np.abs(weights).sum())


def signed(
    rows: np.ndarray, y: np.ndarray, used: np.ndarray, weights: np.ndarray, **facts: Any
) -> Certificate:
    """Return a certificate whose total is positive, with an interpretation in `facts`."""
    total = float(weights @ y[used])
    sign = 1.0 if total >= 0 else -1.0
    return Certificate(
        rows[used],
        weights * sign,
        abs(total),
        len(used) == 4 and "groups" in facts,
        wanted=y[used],
        **facts,
    )


def tidy(weights: np.ndarray, phi: sparse.csr_array) -> np.ndarray:
    """Scale to whole numbers where a small factor does it and the proof still stands."""
    weights = np.where(np.abs(weights) > 1e-9 * np.abs(weights).max(), weights, 0.0)
    smallest = np.abs(weights[weights != 0]).min()
    for whole in whole_multiples(weights, smallest):
        if not np.any(phi.T @ whole):
            return whole.astype(float)
    return weights / smallest


def from_weights(
    rows: np.ndarray, y: np.ndarray, weights: np.ndarray, phi: sparse.csr_array, **facts: Any
) -> Certificate:
    """Return the certificate that these weights are, tidied."""
    whole = tidy(weights, phi)
    used = np.flatnonzero(whole)
    return signed(rows, y, used, whole[used], **facts)


def from_residual(
    rows: np.ndarray,
    y: np.ndarray,
    residual: np.ndarray,
    phi: sparse.csr_array,
    budget: Budget,
    **facts: Any,
) -> Certificate | None:
    """Find few combinations whose contrast the sums can't make: least total weight.

    A linear program finds it where there are at most 2,000 rows and the budget is not spent; else
    the residual of the best sum is one, of many rows, if it is accurate enough.
    """
    from scipy.optimize import linprog

    n = len(rows)
    if n <= PROGRAM_ROWS and not budget.over:
        _, n_columns = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
        # In units in which the contrast asked for is of the size of a target's deviation.
        level = np.abs(y - y.mean()).max()
        scaled = (y - y.mean()) / level
        both = sparse.hstack([phi.T, -phi.T]).tocsc()
        contrast = sparse.csc_array(np.concatenate([scaled, -scaled])[None, :])
        found = linprog(
            np.ones(2 * n),
            A_eq=sparse.vstack([both, contrast]),
            b_eq=np.append(np.zeros(n_columns), 1.0),
            method="highs-ds",
            options={"time_limit": budget.seconds, "maxiter": PIVOTS},
        )
        if found.status == 0:
            weights = found.x[:n] - found.x[n:]
            if annihilated(phi, weights):
                return from_weights(rows, y, weights, phi, **facts)
    if not annihilated(phi, residual):
        return None
    return from_weights(rows, y, residual, phi, **facts)


@door
def rectangles(task: Task) -> Int[np.ndarray, "q 4"]:
    """List all rectangles of held-out pairs of a two-component task.

    Parameters
    ----------
    task : Task
        Two components.

    Returns
    -------
    int array, shape (q, 4)
        Rows (a, c), (a, d), (b, c), (b, d), on which every sum of seen conjunctions has
        f(a, c) - f(a, d) - f(b, c) + f(b, d) = 0.

    Raises
    ------
    InputError
        When the task has other than two components.

    Examples
    --------
    >>> from partwhole import tasks
    >>> rectangles(tasks.associative_inference()).tolist()
    [[1, 3, 9, 11]]
    """
    require(
        task.n_components == 2,
        "rectangles are listed for two components",
        task.n_components,
        "use solvability(task)",
    )
    place = np.full(task.n_values, -1)
    held_out = np.flatnonzero(~task.is_train)
    place[tuple(task.components[held_out].T)] = held_out
    found = []
    for a, b in combinations(range(place.shape[0]), 2):
        both = np.flatnonzero((place[a] >= 0) & (place[b] >= 0))
        for c, d in combinations(both, 2):
            found.append([place[i, j] for i, j in product((a, b), (c, d))])
    return np.array(found, dtype=int).reshape(-1, 4)
