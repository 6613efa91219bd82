r"""When each concept is learned: clocks read from the initial matrix, without integrating.

The first concept grows out of its own entry. Every later one grows out of what is left of its
entry once those learned before are accounted for: a pivot of the Cholesky factorisation, not the
entry itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._door import door
from partwhole.flows._inputs import Power, factor, moment, present, signals

if TYPE_CHECKING:
    import pandas as pd

# Of its entry: a smaller pivot is rounding, and the concept not in the initial matrix.
RANK = 1e-13


@dataclass(frozen=True, eq=False)
class LearningClocks:
    """Predicted times at which the concepts are learned.

    Parameters
    ----------
    order : int array, shape (s,)
        The concepts in the order in which they are learned.
    signals : float array, shape (s,)
        Their signals a, in that order.
    pivots : float array, shape (s,)
        What of each concept the initial matrix holds beyond those learned before it.
    times : float array, shape (s,)
        When each is half learned; infinite for a concept that never is.
    clock : {"paper", "gradient"}
    dimension : int
        d, of the initial matrix.
    """

    order: Int[np.ndarray, " s"]
    signals: Float[np.ndarray, " s"]
    pivots: Float[np.ndarray, " s"]
    times: Float[np.ndarray, " s"]
    clock: Literal["paper", "gradient"]
    dimension: int

    def by_concept(self) -> Float[np.ndarray, " d"]:
        """Return the times in the order of the coordinates, infinite for those without a signal.

        Returns
        -------
        float array, shape (d,)
        """
        times = np.full(self.dimension, np.inf)
        times[self.order] = self.times
        return times

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each concept, in the order in which they are learned."""
        import pandas as pd

        rows = {
            "concept": self.order,
            "signal": self.signals,
            "pivot": self.pivots,
            "time": self.times,
        }
        return pd.DataFrame(rows)


@door
def learning_clocks(
    w0: Float[np.ndarray, "d d"],
    second_moment: Float[np.ndarray, "d d"],
    *,
    clock: Literal["paper", "gradient"] = "paper",
    power: Power = 1,
) -> LearningClocks:
    r"""Predict when each concept is half learned by a tied two-layer network.

    Factor :math:`W_0 = L L^\top` with the concepts in the order of learning. With the pivots
    :math:`p_k = L_{kk}^2`, the entry :math:`w_{kk}` reaches 1/2 at

    .. math:: t_k \approx \frac{\ln (1/p_k - 1)}{2 a_k}

    in paper time. The order is found as it goes: next is whichever has the earliest clock with
    what is left. It is that of the signals unless a weaker concept begins with a much larger
    entry. Where the initial matrix lacks rank it is always that of the signals, since what a
    weaker concept holds then goes over to a stronger one in the end. Concepts without a signal
    (a = 0) are left out: they are never learned.

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Initial input-output matrix, symmetric and positive semidefinite.
    second_moment : float array, shape (d, d)
        Diagonal.
    clock : {"paper", "gradient"}, keyword-only, default "paper"
    power : {1, 2}, keyword-only, default 1

    Returns
    -------
    LearningClocks

    Raises
    ------
    InputError
        As `Tied`, and for a second moment that is not diagonal.

    Notes
    -----
    Derived here: det W over the part already learned grows as :math:`e^{2 a_k t}`. Exact for a
    diagonal W_0, within 1 % for pivots near 1e-3 and signals well apart, within 8 % in the
    published examples of `power` 2. Where two concepts are learned at once it is 14 % off in a
    published example, and can be off by half for nearly equal signals. With the entry itself in
    the place of the pivot the time would be early by :math:`-\ln(1 - \rho^2)/(2a_k)`, for a row
    correlation ρ.

    Examples
    --------
    >>> w0 = 0.001 * np.array([[1, 0.5], [0.5, 1]])
    >>> learning_clocks(w0, np.diag([4.5025, 0.5025])).times.round(3)
    array([0.767, 7.159])
    """
    u = factor(w0)
    w = u @ u.T
    a = signals(moment(second_moment, len(w), power))
    order, pivots = _by_signal(w, a)
    if (pivots > 0).all():
        order, pivots = _by_time(w, a, order)
    times = half_time(pivots, a[order]) / (1.0 if clock == "paper" else 2.0)
    return LearningClocks(order, a[order], pivots, times, clock, len(w))


def half_time(
    pivots: Float[np.ndarray, " s"], signals: Float[np.ndarray, " s"]
) -> Float[np.ndarray, " s"]:
    """Return when entries that grow from pivots as logistic curves reach 1/2, in paper time."""
    with np.errstate(divide="ignore"):
        odds = np.log(np.maximum(1.0 / pivots - 1.0, 1e-300))
    return np.maximum(odds, 0.0) / (2.0 * signals)


def _by_signal(w: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the concepts that have a signal, strongest first, and their pivots."""
    order = np.argsort(-a, kind="stable")
    order = order[a[order] > 0]
    return order, cholesky_pivots(w[np.ix_(order, order)])


def _by_time(w: np.ndarray, a: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Take at each turn the concept that is learned first with what is left of the matrix."""
    order, pivots, remainder = [], [], w.copy()
    while len(left):
        entries = np.maximum(np.diagonal(remainder)[left], 1e-300)
        first = left[int(np.argmin(half_time(entries, a[left])))]
        order.append(first)
        pivots.append(max(remainder[first, first], 1e-300))
        remainder = remainder - np.outer(remainder[first], remainder[first]) / pivots[-1]
        left = left[left != first]
    return np.array(order, dtype=int), np.array(pivots)


def cholesky_pivots(w: Float[np.ndarray, "s s"]) -> Float[np.ndarray, " s"]:
    """Return the squared diagonal of the Cholesky factor; 0 from where rank is lacking.

    Works where the matrix is singular, as `numpy.linalg.cholesky` does not.
    """
    return np.diagonal(cholesky(w)) ** 2


def cholesky(w: Float[np.ndarray, "s s"]) -> Float[np.ndarray, "s s"]:
    """Return the lower Cholesky factor; its columns are zero where rank is lacking."""
    n = len(w)
    lower = np.zeros((n, n))
    size, basis = np.linalg.eigh(w) if n else (np.zeros(0), np.zeros((0, 0)))
    nonzero = present(size) if n else size > 0
    if nonzero.all():
        for k in range(n):
            remainder = w[k:, k] - lower[k:, :k] @ lower[k, :k]
            lower[k:, k] = remainder / np.sqrt(max(remainder[0], RANK * w[k, k]))
        return lower
    # Rows of a thin factor: whether one adds a direction shows far above rounding, where pivots
    # of a singular matrix would not tell.
    rows = basis[:, nonzero] * np.sqrt(size[nonzero])
    directions = np.zeros((0, rows.shape[1]))
    for k in range(n):
        remainder = rows[k]
        for _ in range(2):  # once more, against cancellation
            remainder = remainder - directions.T @ (directions @ remainder)
        length = np.linalg.norm(remainder)
        if length > np.sqrt(RANK) * np.linalg.norm(rows[k]) and len(directions) < rows.shape[1]:
            directions = np.vstack([directions, remainder / length])
            lower[k:, k] = rows[k:] @ directions[-1]
    return lower


def never_learned(w0: np.ndarray, second_moment: np.ndarray) -> tuple[str, ...]:
    """Name the concepts that the initial matrix can never learn, in a note each kind.

    A second moment that is not diagonal has no concepts to name; then the directions are counted.
    """
    a = np.diagonal(second_moment)
    if np.abs(second_moment - np.diag(a)).max(initial=0.0) > 1e-10 * max(a.max(initial=0), 1e-300):
        missing = len(w0) - int(np.linalg.matrix_rank(w0, hermitian=True))
        if not missing:
            return ()
        return (f"the initial matrix lacks rank: {missing} direction(s) are never learned",)
    order, pivots = _by_signal(w0, a)
    unlearned = order[pivots == 0]
    if not len(unlearned):
        return ()
    return (lacking(sorted(unlearned.tolist())),)


def lacking(concepts: Sequence[int]) -> str:
    """Return a note that concepts, counted from 0, are never learned."""
    numbers = ", ".join(str(k + 1) for k in concepts)
    if len(concepts) == 1:
        return f"the initial matrix lacks rank: concept {numbers} (counted from 1) is never learned"
    return f"the initial matrix lacks rank: concepts {numbers} (counted from 1) are never learned"
