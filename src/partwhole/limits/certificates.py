"""Certificates: few held-out combinations that prove what no sum of seen conjunctions can do."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from time import monotonic

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole._checks import require
from partwhole.features.conjunctions import Dictionary
from partwhole.tasks import Task

TOLERANCE = 1e-8


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
    """

    rows: Int[np.ndarray, " q"]
    weights: Float[np.ndarray, " q"]
    total: float
    is_rectangle: bool

    def sum_in_words(self, task: Task) -> str:
        """Write the weighted sum of outputs, such as ``f(A, c) - f(A, d)``.

        Parameters
        ----------
        task : Task
            The task that the rows belong to.

        Returns
        -------
        str
        """
        words = []
        for row, weight in sorted(zip(self.rows, self.weights, strict=True), key=lambda p: -p[1]):
            entries = ", ".join(
                str(task.values[c][index]) for c, index in enumerate(task.components[row])
            )
            size = "" if abs(weight) == 1 else f"{abs(weight):g} "
            words.append(("+ " if weight > 0 else "- ") + f"{size}f({entries})")
        return " ".join(words).removeprefix("+ ")


def _annihilated(phi: sparse.csr_array, weights: np.ndarray) -> bool:
    return bool(np.abs(phi.T @ weights).max() <= 1e-9 * np.abs(weights).sum())


def find_rectangle(
    task: Task,
    rows: np.ndarray,
    y: np.ndarray,
    phi: sparse.csr_array,
    signs: bool,
    deadline: float,
) -> Certificate | None:
    """Search two settings of some components crossed with two settings of the others."""
    components = task.components[rows]
    n_components = task.n_components
    for k in range(1, n_components // 2 + 1):
        for one in combinations(range(n_components), k):
            other = tuple(c for c in range(n_components) if c not in one)
            if 2 * k == n_components and 0 not in one:
                continue
            _, a = Dictionary.of(components, one, task.n_values)
            _, b = Dictionary.of(components, other, task.n_values)
            found = _rectangle_in_grid(a, b, y, phi, signs, deadline)
            if found is not None:
                weights = np.array([1.0, -1.0, -1.0, 1.0])
                total = float(weights @ y[found])
                return Certificate(rows[found], weights * np.sign(total), abs(total), True)
    return None


def _rectangle_in_grid(
    a: np.ndarray,
    b: np.ndarray,
    y: np.ndarray,
    phi: sparse.csr_array,
    signs: bool,
    deadline: float,
    tries: int = 200,
) -> np.ndarray | None:
    """Return the rows of a rectangle whose contrast the seen conjunctions can't make."""
    n_a, n_b = int(a.max()) + 1, int(b.max()) + 1
    if n_a < 2 or n_b < 2 or n_a * n_b > 4_000_000:
        return None
    place = np.full((n_a, n_b), -1)
    place[a, b] = np.arange(len(y))
    target = np.where(place >= 0, y[place], np.nan)
    least = TOLERANCE * np.ptp(y) + 64.0 * np.finfo(float).eps * np.abs(y).max()
    for i in range(n_a):
        if monotonic() > deadline or tries <= 0:
            return None
        difference = target[i] - target[i + 1 :]
        known = ~np.isnan(difference)
        low = np.where(known, difference, np.inf).argmin(axis=1)
        high = np.where(known, difference, -np.inf).argmax(axis=1)
        each = np.arange(len(difference))
        gap = np.where(known.any(axis=1), difference[each, high] - difference[each, low], 0.0)
        wanted = gap == 4.0 if signs else gap > least
        for j in np.flatnonzero(wanted):
            corners = place[[i, i, i + 1 + j, i + 1 + j], [high[j], low[j], high[j], low[j]]]
            weights = np.zeros(len(y))
            weights[corners] = [1.0, -1.0, -1.0, 1.0]
            if _annihilated(phi, weights):
                return corners
            tries -= 1
            if tries <= 0:
                break
    return None


def _tidy(weights: np.ndarray, phi: sparse.csr_array) -> np.ndarray:
    """Scale to whole numbers where a small factor does it and the proof still stands."""
    weights = np.where(np.abs(weights) > 1e-9 * np.abs(weights).max(), weights, 0.0)
    smallest = np.abs(weights[weights != 0]).min()
    for factor in range(1, 13):
        scaled = weights / smallest * factor
        whole = np.round(scaled)
        if np.abs(scaled - whole).max() < 1e-6 and not np.any(phi.T @ whole):
            return whole
    return weights / smallest


def _certificate(
    rows: np.ndarray, y: np.ndarray, weights: np.ndarray, phi: sparse.csr_array
) -> Certificate:
    tidy = _tidy(weights, phi)
    used = np.flatnonzero(tidy)
    total = float(tidy @ y)
    tidy = tidy * (1.0 if total >= 0 else -1.0)
    return Certificate(rows[used], tidy[used], abs(total), False)


def from_residual(
    rows: np.ndarray, y: np.ndarray, residual: np.ndarray, phi: sparse.csr_array
) -> Certificate:
    """Find few combinations whose contrast the sums can't make: least total weight."""
    from scipy.optimize import linprog

    n = len(rows)
    if n <= 2000:
        columns = phi.T @ np.ones(n)
        both = sparse.hstack([phi.T, -phi.T]).tocsc()
        contrast = sparse.csc_array(np.concatenate([y, -y])[None, :])
        right = np.append(np.zeros(len(columns)), 1.0)
        found = linprog(
            np.ones(2 * n),
            A_eq=sparse.vstack([both, contrast]),
            b_eq=right,
            method="highs-ds",
            options={"time_limit": 5.0},
        )
        if found.status == 0:
            weights = found.x[:n] - found.x[n:]
            if _annihilated(phi, weights):
                return _certificate(rows, y, weights, phi)
    return _certificate(rows, y, residual, phi)


def separate(
    rows: np.ndarray, y: np.ndarray, phi: sparse.csr_array, time_limit: float
) -> tuple[bool | None, Certificate | None]:
    """Solve the bounded max-margin problem; believe only what its solution proves."""
    from scipy.optimize import linprog

    n, p = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
    signed = phi * y[:, None]
    found = linprog(
        np.append(np.zeros(p), -1.0),
        A_ub=sparse.hstack([-signed, np.ones((n, 1))]).tocsr(),
        b_ub=np.zeros(n),
        bounds=[(-1.0, 1.0)] * p + [(None, 1.0)],
        method="highs",
        options={"time_limit": time_limit},
    )
    if found.x is None:
        return None, None
    if (signed @ found.x[:p]).min() > TOLERANCE:
        return True, None
    if found.status == 0:
        shares = np.maximum(0.0, -found.ineqlin.marginals)
        if shares.sum() > 0 and _annihilated(phi, y * shares):
            return False, _certificate(rows, y, y * shares, phi)
    return None, None


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
