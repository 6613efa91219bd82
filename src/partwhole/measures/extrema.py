"""Where a curve turns: minima, maxima and descents, without those of rounding and noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.special import stdtrit

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, NonNegative, ProperFraction, Real

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["minimum", "maximum"]

# A loss that has converged wanders by its rounding, and every step of that is a turn.
FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class Extrema:
    """Inner minima and maxima of a curve, in order of time.

    Parameters
    ----------
    indices : int array, shape (m,)
        Records at which the curve turns.
    times, values : float arrays, shape (m,)
        Between the records when `refined`, at them otherwise.
    kinds : tuple of {"minimum", "maximum"}
        They alternate.
    refined : bool
        Whether a parabola through three neighbouring records was used.
    descents : int
        How often the curve falls: 1 for an ordinary loss, 3 for "triple descent", 0 for a curve
        that never falls. A loss that starts and ends by falling has one descent more than maxima.
    """

    indices: Int[np.ndarray, " m"]
    times: Float[np.ndarray, " m"]
    values: Float[np.ndarray, " m"]
    kinds: tuple[Kind, ...]
    refined: bool
    descents: int

    def __len__(self) -> int:
        return len(self.indices)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each, and columns kind, time, value and index."""
        import pandas as pd

        return pd.DataFrame(
            {
                "kind": pd.Series(self.kinds, dtype="str"),
                "time": self.times,
                "value": self.values,
                "index": self.indices,
            }
        )


@door
def extrema(
    times: Float[np.ndarray, " T"],
    values: Float[np.ndarray, " T"],
    *,
    threshold: NonNegative | None = None,
    relative: Annotated[Real, Bounds(at_least=0, below=1)] = 0.0,
    floor: NonNegative = FLOOR,
    refine: bool | None = None,
) -> Extrema:
    r"""Find where a curve turns, counting only turns between two large enough moves.

    A minimum is the lowest record between a fall and a rise that both count, a maximum the
    highest between a rise and a fall. A move from u to v counts when

    .. math:: |u - v| \ge \max(\text{threshold}, \text{floor}, \text{relative} \max(|u|, |v|)).

    So the kinds alternate, and the ends of the curve are never among them. The reversed curve has
    turns of the same kinds and values in reversed order, unless several records tie for a turn,
    of which the first is taken.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing, evenly spaced or not, in any unit.
    values : float array, shape (T,)
        In any unit.
    threshold : float, keyword-only, default None
        In units of the values. None is for smooth curves: any move above the floor counts. For
        curves with noise see `noise_threshold`.
    relative : float, keyword-only, default 0.0
        A share of the larger of the two values, at least 0 and below 1; for trained networks
        threshold=1e-3, relative=5e-3.
    floor : float, keyword-only, default 1e-9
        In units of the values: smaller moves are rounding, whatever the other two thresholds.
    refine : bool, keyword-only, default None
        Whether to put times and values at the vertex of the parabola through the turn and its two
        neighbours. By default on smooth curves, that is with neither threshold nor relative;
        through noise a parabola gains nothing.

    Returns
    -------
    Extrema

    Raises
    ------
    InputError
        For values that are not finite, times that do not increase or that differ from the values
        in number, and negative thresholds.

    Notes
    -----
    Derived here; descents are named as in Yang et al. (ICLR 2025), figures 8 and 9. Errors of
    refined times are of the size of the curve's third derivative times the square of the spacing.

    Examples
    --------
    >>> times = np.linspace(0.0, 6.0, 100)
    >>> turns = extrema(times, np.cos(times))
    >>> turns.kinds, turns.times.round(4).tolist(), turns.values.round(4).tolist()
    (('minimum',), [3.1416], [-1.0])
    >>> loss = np.array([3.0, 1.2, 1.4, 0.4, 0.5, 0.0])
    >>> [extrema(np.arange(6), loss, threshold=least).descents for least in (0.0, 0.15)]
    [3, 2]
    """
    t, y = increasing(times), values
    turns, direction = _turns(y, float(max(threshold or 0.0, floor)), float(relative))
    smooth = threshold is None and relative == 0
    refined = smooth if refine is None else refine
    records = np.array(turns, dtype=int)
    turn_t, turn_y = _vertices(t, y, records) if refined else (t[records], y[records])
    names: tuple[Kind, Kind] = ("minimum", "maximum")
    kinds: tuple[Kind, ...] = tuple(names[(i + (direction > 0)) % 2] for i in range(len(records)))
    # A move up follows every move down, and the reverse.
    n_moves = len(turns) + 1 if direction else 0
    descents = n_moves // 2 if direction > 0 else (n_moves + 1) // 2
    return Extrema(records, turn_t, turn_y, kinds, refined, descents)


@door
def noise_threshold(values: Float[np.ndarray, " T"], *, rate: ProperFraction = 0.05) -> float:
    r"""Return the reversal that noise on a curve without turns rarely reaches.

    The size of the noise is read off the second differences
    :math:`d_i = y_{i-1} - 2 y_i + y_{i+1}`, in which a smooth curve nearly vanishes and
    independent noise has :math:`\sqrt 6` times its deviation:

    .. math::
        \hat\sigma = \frac{1.4826}{\sqrt 6} \, \mathrm{med} |d_i - \mathrm{med}\, d|, \qquad
        \text{threshold} = \sqrt 2 \, \hat\sigma \,
        \bar t_{T/4}^{\,-1} \Big(\frac{\text{rate}}{T (T - 1)}\Big),

    with the upper quantile of Student's t: the estimate varies by :math:`\sqrt{2/T}` of itself,
    as one from T/4 degrees of freedom does. By the sum over all pairs of records, the probability
    that any two differ by more is at most `rate`. The bound is a loose one: of 4,000 flat curves
    each of 20, 100 and 300 records, shares of 0, 0.001 and 0.002 were given a turn at a rate of
    0.05, and 0.007, 0.019 and 0.031 at one of 0.5.

    Parameters
    ----------
    values : float array, shape (T,)
        At least 8 records.
    rate : float, keyword-only, default 0.05
        Between 0 and 1: a bound on how often a curve that is constant or monotone beneath its
        noise is given a turn.

    Returns
    -------
    float
        In units of the values; for `extrema` and `swing`.

    Raises
    ------
    InputError
        For fewer than 8 records, values that are not finite, a rate out of range, or a curve of
        which more than half of the second differences are equal, as on values that are rounded
        coarsely or mostly constant: their median is no estimate of the noise then.

    Notes
    -----
    Derived here. It takes for granted noise that is normal, independent from record to record
    and of one size throughout, on a curve that bends little between three records. Running
    means, and losses recorded at every step of stochastic descent, have dependent noise: then
    the threshold comes out too small. A loss whose noise shrinks with it has the noise of its
    middle; take the logarithm first.

    Examples
    --------
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(1000)
    >>> threshold = noise_threshold(noise)
    >>> round(threshold, 2), len(extrema(np.arange(1000), noise, threshold=threshold))
    (0.78, 0)
    """
    y = values
    require(len(y) >= 8, "noise is read off at least 8 records", len(y), "record more often")
    bends = np.diff(y, 2)
    spread = np.abs(bends - np.median(bends))
    # Rounding of values and differences moves each second difference by up to 6 eps max |y|.
    equal = spread <= 12 * np.finfo(float).eps * np.abs(y).max()
    require(
        2 * equal.sum() <= len(bends),
        "noise is read off second differences, of which at most half are equal",
        f"{equal.sum()} of {len(bends)} that are",
        "pass a threshold of your own, twice the unit of rounded values or more, or none for a "
        "curve without noise",
    )
    deviation = 1.4826 / np.sqrt(6.0) * np.median(spread)
    quantile = -stdtrit(len(y) / 4, rate / (len(y) * (len(y) - 1)))
    return float(np.sqrt(2.0) * deviation * quantile)


def increasing(
    times: Float[np.ndarray, " T"] | Int[np.ndarray, " T"],
) -> Float[np.ndarray, " T"]:
    """Check that the times of records increase and return them."""
    steps = np.diff(times)
    require(
        bool((steps > 0).all()),
        "times increase from record to record",
        f"{times[steps.argmin()]:g} before {times[steps.argmin() + 1]:g}" if steps.size else "",
        "sort the records by time and leave out repeated ones",
    )
    return times.astype(float, copy=False)


def _turns(values: np.ndarray, floor: float, share: float) -> tuple[list[int], int]:
    """Return the records at which a curve turns, and the direction of its first move or 0.

    A move counts that is at least the floor, and at least a share of the larger value.
    """
    y = values.tolist()

    def counts(low: float, high: float) -> bool:
        move = high - low
        return move > 0 and move >= max(floor, share * max(abs(low), abs(high)))

    turns: list[int] = []
    first = direction = low = high = 0
    for i, value in enumerate(y):
        if value < y[low]:
            low = i
        if value > y[high]:
            high = i
        if direction <= 0 and counts(y[low], value):
            turns += [low] if direction else []
            direction, high = 1, i
        elif direction >= 0 and counts(value, y[high]):
            turns += [high] if direction else []
            direction, low = -1, i
        first = first or direction
    return turns, first


def _vertices(t: np.ndarray, y: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return time and value at the vertices of the parabolas through records and neighbours."""
    before, after = t[turns] - t[turns - 1], t[turns + 1] - t[turns]
    rise, fall = (y[turns] - y[turns - 1]) / before, (y[turns + 1] - y[turns]) / after
    slope = (rise * after + fall * before) / (before + after)
    # A turn is strictly above, or below, the record before it, so rise and fall differ.
    shift = 0.5 * slope * (before + after) / (rise - fall)
    return t[turns] + shift, y[turns] + 0.5 * slope * shift
