"""Certificates: few held-out combinations that prove a task unsolvable."""

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
from partwhole.limits.proofs._indicators import (
    require_same_task,
    whole_multiples,
    whole_proportions,
)
from partwhole.tasks import Task

TOLERANCE = 1e-8
PROGRAM_ROWS = 2000
# Most pivots of a linear program.
PIVOTS = 20_000


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""Weights that prove a task unsolvable: :math:`\Phi^T u = 0` but :math:`u^T y \ne 0`.

    Parameters
    ----------
    rows : int array, shape (q,)
        Held-out rows of the task.
    weights : float array, shape (q,)
        u, whole numbers: every sum over them is exact.
    total : float
        :math:`u^T y`.
    is_rectangle : bool
        Whether four combinations suffice: two settings of some components crossed with two
        settings of the others.
    wanted : float array, shape (q,), optional
        y: the target of f at each row (for labels its sign), so that ``weights @ wanted`` is the
        total.
    output : int, default 0
        Index of the output f, for tasks with several numeric targets.
    labels : tuple of int, optional
        (A, B), for tasks with more than two labels: f is the output for label A minus the output
        for label B, and every row has one of these labels.
    rivals : tuple of pairs of int, default ()
        For proofs with more than two labels: for each row its label and another, where f is the
        output for the first minus the output for the second.
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
        """Return the weighted sum of outputs in words, such as ``f(A, c) - f(A, d)``.

        Parameters
        ----------
        task : Task
            The task that the rows belong to.
        limit : int, keyword-only, optional
            Largest number of terms to write; further terms are counted.
        labels : sequence, keyword-only, optional
            Names of the labels, for certificates with `rivals`.

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
    """Return the name of a label, or its number if there are no names."""
    return f"label {index}" if labels is None else str(labels[index])


def annihilated(phi: sparse.csr_array, weights: np.ndarray) -> bool:
    """Return whether the weighted sum of every column is 0, to 1e-9 of the total weight."""
    return bool(np.abs(phi.T @ weights).max() <= 1e-9 * np.abs(weights).sum())


def signed(
    rows: np.ndarray, y: np.ndarray, places: np.ndarray, weights: np.ndarray, **facts: Any
) -> Certificate:
    """Return a certificate with a positive total; `facts` are further fields of it."""
    total = float(weights @ y[places])
    sign = 1.0 if total >= 0 else -1.0
    return Certificate(
        rows[places],
        weights * sign,
        abs(total),
        len(places) == 4 and "groups" in facts,
        wanted=y[places],
        **facts,
    )


def tidy(weights: np.ndarray, phi: sparse.csr_array) -> np.ndarray | None:
    """Return whole numbers in the proportions of the weights that prove the same exactly, if any.

    Whole numbers up to 1e9 and indicators of 0 and 1 have exact sums in double precision.
    """
    weights = np.where(np.abs(weights) > 1e-9 * np.abs(weights).max(), weights, 0.0)
    smallest = np.abs(weights[weights != 0]).min()
    proportions = whole_proportions(weights)
    multiples = whole_multiples(weights, smallest)
    for whole in multiples if proportions is None else (*multiples, proportions):
        if not np.any(phi.T @ whole):
            return whole.astype(float)
    return None


def from_weights(
    rows: np.ndarray, y: np.ndarray, weights: np.ndarray, phi: sparse.csr_array, **facts: Any
) -> Certificate | None:
    """Return the certificate with whole numbers in these proportions, if they prove the same."""
    whole = tidy(weights, phi)
    if whole is None:
        return None
    places = np.flatnonzero(whole)
    return signed(rows, y, places, whole[places], **facts)


def from_residual(
    rows: np.ndarray,
    y: np.ndarray,
    residual: np.ndarray,
    phi: sparse.csr_array,
    budget: Budget,
    **facts: Any,
) -> Certificate | None:
    """Return a certificate of least total weight, or one from the best sum's residual, if exact.

    A linear program gives the least total weight, and few rows, if there are at most 2,000 rows
    and the budget is not spent. Otherwise the residual of the best sum is a certificate of many
    rows, if it is accurate enough.
    """
    from scipy.optimize import linprog

    n = len(rows)
    if n <= PROGRAM_ROWS and not budget.over:
        _, n_columns = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
        # Targets are scaled so that the contrast of 1 is as large as the deviation of a target.
        level = np.abs(y - y.mean()).max()
        scaled = (y - y.mean()) / level
        signed_columns = sparse.hstack([phi.T, -phi.T]).tocsc()
        contrast = sparse.csc_array(np.concatenate([scaled, -scaled])[None, :])
        program = linprog(
            np.ones(2 * n),
            A_eq=sparse.vstack([signed_columns, contrast]),
            b_eq=np.append(np.zeros(n_columns), 1.0),
            method="highs-ds",
            options={"time_limit": budget.seconds, "maxiter": PIVOTS},
        )
        if program.status == 0:
            weights = program.x[:n] - program.x[n:]
            if annihilated(phi, weights):
                return from_weights(rows, y, weights, phi, **facts)
    if not annihilated(phi, residual):
        return None
    return from_weights(rows, y, residual, phi, **facts)


@door
def rectangles(task: Task) -> Int[np.ndarray, "q 4"]:
    """Return all rectangles of held-out pairs of a two-component task.

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
        When the number of components is not two.

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
    quadruples = []
    for a, b in combinations(range(place.shape[0]), 2):
        shared = np.flatnonzero((place[a] >= 0) & (place[b] >= 0))
        for c, d in combinations(shared, 2):
            quadruples.append([place[i, j] for i, j in product((a, b), (c, d))])
    return np.array(quadruples, dtype=int).reshape(-1, 4)
