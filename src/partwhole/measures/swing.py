"""How far a learner swings back: a loss that rises again, an answer that retreats."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.measures.extrema import FLOOR, increasing

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Swing:
    """Hold the largest rise of a loss over an earlier value.

    Parameters
    ----------
    amplitude : float
        In units of the loss; 0 for a loss that never rises.
    relative : float
        The amplitude in units of the plateau; NaN where none was given.
    occurs : bool
        Whether the amplitude is above the threshold.
    minimum_time, minimum : float
        When the rise starts, and the loss there; NaN where it does not occur.
    maximum_time, maximum : float
        When it ends, and the loss there; NaN where it does not occur.
    """

    amplitude: float
    relative: float
    occurs: bool
    minimum_time: float
    minimum: float
    maximum_time: float
    maximum: float

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row, with the fields as columns."""
        import pandas as pd

        return pd.DataFrame([asdict(self)])


@door
def swing(
    times: Float[np.ndarray, " T"],
    loss: Float[np.ndarray, " T"],
    *,
    plateau: Real | None = None,
    threshold: Real = FLOOR,
) -> Swing:
    r"""Find the largest rise of a loss, :math:`\max_{t_2 > t_1} [\ell(t_2) - \ell(t_1)]`.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing, in any unit.
    loss : float array, shape (T,)
        On a new combination, say.
    plateau : float, keyword-only, default None
        What the amplitude is told in units of: the loss of a learner that knows all concepts but
        some, :math:`\frac12 \sum \mu_p^2` over those it lacks; for two concepts
        :math:`\frac12 \mu_w^2` of the weak one.
    threshold : float, keyword-only, default 1e-9
        In units of the loss: the amplitude above which a swing occurs. The default is for smooth
        curves and leaves out rounding; for curves with noise see `noise_threshold`.

    Returns
    -------
    Swing

    Raises
    ------
    InputError
        For losses or times that are not times that don't increase or are not one for
        each loss, a plateau that is not positive, or a negative threshold.

    Notes
    -----
    The phenomenon in Yang et al. (ICLR 2025), figures 2c and 5; the measure is derived here. It
    sees only the records: where they are further apart than the bump is wide, the amplitude comes
    out too small.

    Examples
    --------
    >>> found = swing(np.arange(5.0), np.array([2.0, 0.2, 0.4, 0.3, 0.0]), plateau=0.5)
    >>> found.occurs, found.relative, found.minimum_time, found.maximum_time
    (True, 0.4, 1.0, 2.0)
    """
    y = loss
    t = increasing(times)
    _above(threshold)
    require(
        plateau is None or plateau > 0,
        "the plateau is a positive loss",
        plateau,
        "pass half the sum of the squared means of the concepts not yet learned",
    )
    amplitude, start, end = (each.item() for each in _largest_rise(y))
    occurs = amplitude > threshold
    where = (t[start], y[start], t[end], y[end]) if occurs else (np.nan,) * 4
    relative = np.nan if plateau is None else amplitude / plateau
    return Swing(amplitude, float(relative), occurs, *(float(each) for each in where))


@door
def swing_amplitude(loss: Float[np.ndarray, "*batch T"]) -> float | Float[np.ndarray, "*batch"]:
    r"""Return the largest rise over an earlier value, :math:`\max_{t_2 \ge t_1} [\ell_2 - \ell_1]`.

    Parameters
    ----------
    loss : float array, shape (..., T)
        Time on the last axis; leading axes, of seeds say, are kept.

    Returns
    -------
    float or float array, shape (...)
        In units of the loss; 0 where it never rises.

    Raises
    ------
    InputError
        For losses that are not or without a record.

    Notes
    -----
    Derived here; `swing` tells also when, and whether it is above rounding or noise.

    Examples
    --------
    >>> swing_amplitude(np.array([[3.0, 1.0, 1.5, 0.5], [3.0, 2.0, 1.0, 0.5]])).tolist()
    [0.5, 0.0]
    """
    found, _, _ = _largest_rise(loss)
    return float(found) if loss.ndim == 1 else found


@dataclass(frozen=True, eq=False)
class Retreat:
    """Hold how far each coordinate of the answer goes back.

    Parameters
    ----------
    amounts : float array, shape (s,)
        The largest loss of ground, in units of the coordinate's target.
    occurs : bool array, shape (s,)
        Whether the amount is above the threshold.
    starts, ends : float arrays, shape (s,)
        The times between which it happens; NaN where it does not occur.
    """

    amounts: Float[np.ndarray, " s"]
    occurs: Bool[np.ndarray, " s"]
    starts: Float[np.ndarray, " s"]
    ends: Float[np.ndarray, " s"]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each coordinate."""
        import pandas as pd

        return pd.DataFrame(
            {
                "amount": self.amounts,
                "occurs": self.occurs,
                "start": self.starts,
                "end": self.ends,
            }
        )


@door
def retreat(
    times: Float[np.ndarray, " T"],
    outputs: Float[np.ndarray, "T s"],
    targets: Float[np.ndarray, " s"],
    *,
    threshold: Real = 1e-3,
) -> Retreat:
    r"""Find how far each coordinate of an answer goes back on its way.

    .. math:: \max_{t_1 < t_2} \frac{f_k(t_1) - f_k(t_2)}{\mu_k}

    Answers may retreat without a bump in the loss, where another coordinate gains as much, so
    report both. An answer that comes back from beyond its target retreats too.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing, in any unit.
    outputs : float array, shape (T, s)
        The coordinates of the answer along the concepts.
    targets : float array, shape (s,)
        μ, none of them 0; it may be negative.
    threshold : float, keyword-only, default 1e-3
        In units of the target: the amount above which a retreat occurs.

    Returns
    -------
    Retreat

    Raises
    ------
    InputError
        For numbers that are not shapes that don't agree, a target of 0, times that don't
        increase, or a negative threshold.

    Notes
    -----
    The trajectories of Yang et al. (ICLR 2025), figures 2, 11 and 12; the measure is derived
    here.

    Examples
    --------
    >>> outputs = np.array([[0.0, 0.0], [0.4, 1.5], [0.3, 1.9], [0.9, 2.0]])
    >>> found = retreat(np.arange(4.0), outputs, np.array([1.0, 2.0]))
    >>> found.amounts.round(3).tolist(), found.starts.tolist()
    ([0.1, 0.0], [1.0, nan])
    """
    t, f = increasing(times), outputs
    mu = targets
    require(
        bool((mu != 0).all()),
        "a retreat is told in units of the target, which is not 0",
        f"0 at coordinate {np.argmin(mu != 0)}",
        "pass only the coordinates of the concepts",
    )
    _above(threshold)
    amounts, start, end = _largest_rise(-(f / mu).T)
    occurs = amounts > threshold
    starts, ends = (np.where(occurs, t[each], np.nan) for each in (start, end))
    return Retreat(amounts, occurs, starts, ends)


def _above(threshold: Real) -> None:
    require(
        threshold >= 0,
        "threshold is at least 0",
        threshold,
        "pass 0 to count every rise",
    )


def _largest_rise(
    y: Float[np.ndarray, "*batch T"],
) -> tuple[Float[np.ndarray, "*batch"], Int[np.ndarray, "*batch"], Int[np.ndarray, "*batch"]]:
    """Return the largest later rise along the last axis, and the records it lies between."""
    lowest = np.minimum.accumulate(y, axis=-1)
    rise = y - lowest
    end = rise.argmax(axis=-1)[..., None]
    # The first record as low as the lowest before the end.
    start = (y <= np.take_along_axis(lowest, end, axis=-1)).argmax(axis=-1)
    amount = np.take_along_axis(rise, end, axis=-1)[..., 0]
    return np.asarray(amount), np.asarray(start), np.asarray(end[..., 0])
