"""Learning times of concepts, their order, and the decline of learning speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, NonNegative, Real
from partwhole.measures.extrema import increasing

if TYPE_CHECKING:
    import pandas as pd

# Of the fastest speed: what is slower has converged, and its speed is rounding.
CONVERGED = 1e-9


@door
def learning_times(
    times: Float[np.ndarray, " T"],
    fractions: Float[np.ndarray, "*batch T s"],
    threshold: Real = 0.5,
    *,
    hold: int = 1,
    interpolate: bool = True,
) -> Float[np.ndarray, "*batch s"]:
    """Return when each concept is learned: the first time its fraction reaches the threshold.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing, in any unit.
    fractions : float array, shape (..., T, s)
        Each concept's answer divided by its target; leading axes, of seeds say, are kept.
    threshold : float, default 0.5
    hold : int, keyword-only, default 1
        Consecutive records that have to be at the threshold or above; 3 for noisy runs.
    interpolate : bool, keyword-only, default True
        Whether to put the time where the line between two records crosses the threshold;
        otherwise it is that of the later record.

    Returns
    -------
    float array, shape (..., s)
        In units of `times`; infinite for a concept that never gets there.

    Raises
    ------
    InputError
        For numbers that are not finite, times that don't increase or a hold not among 1..T.

    Notes
    -----
    Derived here; the rule with three consecutive checkpoints is that of the published code of
    Yang et al. (ICLR 2025), with threshold=0.9, hold=3 and interpolate=False.

    Examples
    --------
    >>> fractions = np.array([[0.0, 0.0], [0.4, 0.8], [0.6, 0.4], [0.9, 1.0]])
    >>> learning_times(np.arange(4.0), fractions).round(3).tolist()
    [1.5, 0.625]
    >>> learning_times(np.arange(4.0), fractions, hold=2).tolist()
    [1.5, inf]
    """
    t, f = increasing(times), fractions
    require(
        1 <= hold <= len(t),
        f"hold is a number of consecutive records among 1..{len(t)}",
        hold,
        "use 1, or 3 for noisy runs",
    )
    windows = np.lib.stride_tricks.sliding_window_view(f >= threshold, hold, axis=-2)
    opens = windows.all(axis=-1)
    first = opens.argmax(axis=-2)
    learned = t[first]
    if interpolate:
        before = np.maximum(first - 1, 0)
        low, high = (
            np.take_along_axis(f, record[..., None, :], axis=-2)[..., 0, :]
            for record in (before, first)
        )
        crosses = (low < threshold) & (high >= threshold)
        share = np.divide(threshold - low, high - low, out=np.ones_like(low), where=crosses)
        learned = t[before] + share * (t[first] - t[before])
    return np.where(np.any(opens, axis=-2), learned, np.inf)


@dataclass(frozen=True, eq=False)
class LearningOrder:
    """Order in which concepts are learned.

    Parameters
    ----------
    times : float array, shape (s,)
        When each is learned, infinite if never.
    groups : tuple of tuples of int
        The learned concepts from first to last; those in one group are learned at the same time.
    unlearned : tuple of int
        The concepts that are not learned within the run.
    """

    times: Float[np.ndarray, " s"]
    groups: tuple[tuple[int, ...], ...]
    unlearned: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """Return the learned concepts from first to last, tied ones by their time or index."""
        return tuple(concept for group in self.groups for concept in group)

    @property
    def ties(self) -> tuple[tuple[int, ...], ...]:
        """Return the groups of more than one concept."""
        return tuple(group for group in self.groups if len(group) > 1)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each concept, and columns concept, time and place.

        The place counts from 1; tied concepts share theirs, one that is not learned has none (NA).
        """
        import pandas as pd

        places = {concept: i + 1 for i, group in enumerate(self.groups) for concept in group}
        concepts = range(len(self.times))
        placed = pd.array([places.get(concept) for concept in concepts], dtype="Int64")
        return pd.DataFrame({"concept": concepts, "time": self.times, "place": placed})


@door
def learning_order(
    times: Float[np.ndarray, " T"],
    fractions: Float[np.ndarray, "T s"],
    threshold: Real = 0.5,
    *,
    hold: int = 1,
    tolerance: NonNegative = 0.0,
) -> LearningOrder:
    """Return the order in which concepts are learned, ties and failures named.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing, in any unit.
    fractions : float array, shape (T, s)
        Each concept's answer divided by its target.
    threshold, hold
        As in `learning_times`.
    tolerance : float, keyword-only, default 0.0
        In units of `times`: concepts whose times follow each other within it are tied.

    Returns
    -------
    LearningOrder

    Raises
    ------
    InputError
        As in `learning_times`, or for a negative tolerance.

    Notes
    -----
    Derived here. In Yang et al. (ICLR 2025), equation 4.1 and figure 2, the concept with the
    larger signal :math:`a_k = \\sigma_k^2 + \\mu_k^2 / s` is learned first.

    Examples
    --------
    >>> t = np.linspace(0.0, 4.0, 81)
    >>> fractions = 1.0 - np.exp(-np.outer(t, [0.5, 2.0, 0.5, 0.1]))
    >>> order = learning_order(t, fractions)
    >>> order.order, order.ties, order.unlearned
    ((1, 0, 2), ((0, 2),), (3,))
    """
    t, f = increasing(times), fractions
    learned_at = learning_times(t, f, threshold, hold=hold)
    learned = [int(k) for k in np.argsort(learned_at, kind="stable") if np.isfinite(learned_at[k])]
    groups: list[tuple[int, ...]] = []
    for k in learned:
        if groups and learned_at[k] - learned_at[groups[-1][-1]] <= tolerance:
            groups[-1] = (*groups[-1], k)
        else:
            groups.append((k,))
    unlearned = tuple(int(k) for k in np.flatnonzero(np.isinf(learned_at)))
    return LearningOrder(learned_at, tuple(groups), unlearned)


@dataclass(frozen=True, eq=False)
class Slowing:
    r"""Speed of an answer, and its decline towards the end of learning.

    Parameters
    ----------
    times, speed : float arrays, shape (T,)
        The speed at each record.
    ratio : float
        First speed over last.
    rate, rate_r2, exponent, exponent_r2 : float
        Of the best exponential and the best power of time through the last part, each with its
        :math:`R^2` in the logarithm of the speed; NaN where fewer than three records are left.
    since, n : float, int
        When the last part starts, and the records in it.
    """

    times: Float[np.ndarray, " T"]
    speed: Float[np.ndarray, " T"]
    ratio: float
    rate: float
    rate_r2: float
    exponent: float
    exponent_r2: float
    since: float
    n: int

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each record, and columns time, speed and fitted."""
        import pandas as pd

        last = np.flatnonzero(self.times >= self.since)[: self.n]
        fitted = np.isin(np.arange(len(self.times)), last)
        return pd.DataFrame({"time": self.times, "speed": self.speed, "fitted": fitted})


@door
def slowing(
    times: Float[np.ndarray, " T"],
    outputs: Float[np.ndarray, "T s"],
    *,
    share: Annotated[Real, Bounds(above=0, at_most=1)] = 0.5,
) -> Slowing:
    r"""Measure how an answer slows down towards the end of learning.

    The speed is :math:`v = \|df/dt\|`, by differences of second order between records and of
    first order at both ends. The ratio is the first speed over the last, so it compares the mean
    pace between the first two records with that between the last two. Through the last part

    .. math:: \ln v = c - \text{rate} \cdot t \qquad \text{and} \qquad
              \ln v = c - \text{exponent} \cdot \ln t

    are fitted by least squares.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing from 0 or later, evenly spaced or not; at least 3.
    outputs : float array, shape (T, s)
        Coordinates of the answer.
    share : float, keyword-only, default 0.5
        Above 0 and at most 1: the share of the records, the last ones, that are fitted. The two
        ends of the run, whose speeds are one-sided, are left out, and so is all that follows the
        first record at which the speed has fallen below 1e-9 of its largest.

    Returns
    -------
    Slowing

    Raises
    ------
    InputError
        For numbers that are not finite, fewer than three records, times below 0 or not
        increasing, or a share out of range.

    Notes
    -----
    Derived here; the speed is that of Yang et al. (ICLR 2025), figure 6. Close to the end a
    single concept is left, at :math:`v \propto e^{-a_k t}` for one linear layer. Probabilities of
    a classifier saturate, so that late speeds are noise: pass its logits.

    Examples
    --------
    >>> t = np.linspace(0.0, 10.0, 201)
    >>> pace = slowing(t, 1.0 - np.exp(-np.outer(t, [0.5, 2.0])))
    >>> round(pace.rate, 3), round(pace.ratio, 1), pace.rate_r2 > pace.exponent_r2
    (0.5, 576.4, True)
    """
    t, f = increasing(times), outputs
    require(len(t) >= 3, "a speed is read off at least 3 records", len(t), "record more often")
    require(t[0] >= 0, "times count from the start of learning", f"{t[0]:g}", "start at 0")
    speed = np.sqrt((np.gradient(f, t, axis=0) ** 2).sum(axis=1))
    moving = speed > CONVERGED * speed.max()
    end = len(t) if moving.all() else int(np.argmin(moving))
    inner = slice(max(1, int(np.floor(end * (1 - share)))), min(end, len(t) - 1))
    late = t[inner]
    log_speed = np.log(speed[inner])
    # Inner times are above 0.
    rate, rate_r2 = _fit(late, log_speed)
    exponent, exponent_r2 = _fit(np.log(late), log_speed)
    ratio = speed[0] / speed[-1] if speed[-1] > 0 else np.inf if speed[0] > 0 else np.nan
    since = float(late[0]) if len(late) else np.nan
    return Slowing(t, speed, float(ratio), rate, rate_r2, exponent, exponent_r2, since, len(late))


def _fit(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return how fast y falls in x along its best line, and the line's R^2."""
    if len(x) < 3:
        return np.nan, np.nan
    u, v = x - x.mean(), y - y.mean()
    slope = (u @ v) / (u @ u)
    # A speed that does not change leaves nothing to explain but rounding.
    total = v @ v
    explained = np.nan if total <= 1e-24 * len(y) else 1 - ((v - slope * u) ** 2).sum() / total
    return float(-slope), float(explained)
