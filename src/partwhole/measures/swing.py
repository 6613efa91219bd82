"""Swings: a loss that rises again, an answer that goes back."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative, Positive, Real
from partwhole.measures.extrema import FLOOR, increasing

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Swing:
    """Largest rise of each curve over an earlier value of it.

    Numbers for a single curve; for several, arrays of the shape of the curves' leading axes.

    Parameters
    ----------
    amplitude : float or float array
        In units of the curve; 0 for a curve that never rises.
    relative : float or float array
        The amplitude in units of the plateau; NaN where none was given.
    occurs : bool or bool array
        Whether the amplitude is above the threshold.
    minimum_time, minimum : float or float array
        When the rise starts, and the value there; NaN where it does not occur.
    maximum_time, maximum : float or float array
        When it ends, and the value there; NaN where it does not occur.
    """

    # A number or an array, by the shape of the curves, which no type checker knows.
    amplitude: Any
    relative: Any
    occurs: Any
    minimum_time: Any
    minimum: Any
    maximum_time: Any
    maximum: Any

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each curve, and the fields as columns."""
        import pandas as pd

        return pd.DataFrame(
            {field.name: np.ravel(getattr(self, field.name)) for field in fields(self)}
        )


@door
def swing(
    times: Float[np.ndarray, " T"],
    losses: Float[np.ndarray, "*batch T"],
    *,
    plateau: Positive | None = None,
    threshold: NonNegative = FLOOR,
) -> Swing:
    r"""Find the largest rise of a loss, :math:`\max_{t_2 > t_1} [\ell(t_2) - \ell(t_1)]`.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing, in any unit.
    losses : float array, shape (..., T)
        On a new combination, say. Leading axes, such as seeds, are kept.
    plateau : float, keyword-only, default None
        Unit of the relative amplitude: the loss of a learner that knows all concepts but some,
        :math:`\frac12 \sum \mu_p^2` over those it lacks; for two concepts
        :math:`\frac12 \mu_w^2` of the weak one.
    threshold : float, keyword-only, default 1e-9
        In units of the loss: the amplitude above which a swing occurs. The default is for smooth
        curves and leaves out rounding; for curves with noise see `extrema.noise_threshold`.

    Returns
    -------
    Swing

    Raises
    ------
    InputError
        For losses or times that are not finite, times that do not increase or that differ from
        the losses in number, a plateau that is not positive, or a negative threshold.

    Notes
    -----
    The phenomenon in Yang et al. (ICLR 2025), figures 2c and 5; the measure is derived here. It
    uses only the records: where they are further apart than the bump is wide, the amplitude is
    too small.

    Examples
    --------
    >>> rise = swing(np.arange(5.0), np.array([2.0, 0.2, 0.4, 0.3, 0.0]), plateau=0.5)
    >>> rise.occurs, rise.relative, rise.minimum_time, rise.maximum_time
    (True, 0.4, 1.0, 2.0)
    >>> swing(np.arange(4.0), [[3.0, 1.0, 1.5, 0.5], [3.0, 2.0, 1.0, 0.5]]).amplitude.tolist()
    [0.5, 0.0]
    """
    return _largest_rise(increasing(times), losses, plateau, threshold)


@door
def retreat(
    times: Float[np.ndarray, " T"],
    outputs: Float[np.ndarray, "T s"],
    targets: Float[np.ndarray, " s"],
    *,
    threshold: NonNegative = 1e-3,
) -> Swing:
    r"""Find the largest retreat of each coordinate of an answer from its target.

    .. math:: \max_{t_1 < t_2} \frac{f_k(t_1) - f_k(t_2)}{\mu_k}

    This is the swing of the curves :math:`-f_k / \mu_k`. Answers may retreat without a bump in
    the loss, where another coordinate gains as much, so report both. An answer that comes back
    from beyond its target retreats too.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing, in any unit.
    outputs : float array, shape (T, s)
        The coordinates of the answer along the concepts.
    targets : float array, shape (s,)
        μ, none of them 0; it may be negative.
    threshold : float, keyword-only, default 1e-3
        In units of the target: the amplitude above which a retreat occurs.

    Returns
    -------
    Swing
        For each coordinate: the retreat as the amplitude, in units of the target, and the times
        between which it happens.

    Raises
    ------
    InputError
        For numbers that are not finite, shapes that do not agree, a target of 0, times that do
        not increase, or a negative threshold.

    Notes
    -----
    The trajectories of Yang et al. (ICLR 2025), figures 2, 11 and 12; the measure is derived
    here.

    Examples
    --------
    >>> outputs = np.array([[0.0, 0.0], [0.4, 1.5], [0.3, 1.9], [0.9, 2.0]])
    >>> back = retreat(np.arange(4.0), outputs, np.array([1.0, 2.0]))
    >>> back.amplitude.round(3).tolist(), back.minimum_time.tolist()
    ([0.1, 0.0], [1.0, nan])
    """
    require(
        bool((targets != 0).all()),
        "a retreat is in units of the target, which is not 0",
        f"0 at coordinate {np.argmin(targets != 0)}",
        "pass only the coordinates of the concepts",
    )
    return _largest_rise(increasing(times), -(outputs / targets).T, None, threshold)


def _largest_rise(
    times: Float[np.ndarray, " T"],
    curves: Float[np.ndarray, "*batch T"],
    plateau: Real | None,
    threshold: Real,
) -> Swing:
    lowest = np.minimum.accumulate(curves, axis=-1)
    rises = curves - lowest
    end = rises.argmax(axis=-1)[..., None]
    # The first record as low as the lowest before the end.
    start = (curves <= np.take_along_axis(lowest, end, axis=-1)).argmax(axis=-1)[..., None]
    amplitude = np.take_along_axis(rises, end, axis=-1)[..., 0]
    occurs = amplitude > threshold

    def at(records: Int[np.ndarray, "..."]) -> tuple[np.ndarray, np.ndarray]:
        values = np.take_along_axis(curves, records, axis=-1)[..., 0]
        return np.where(occurs, times[records[..., 0]], np.nan), np.where(occurs, values, np.nan)

    relative = np.full(amplitude.shape, np.nan) if plateau is None else amplitude / plateau
    numbers = (amplitude, relative, occurs, *at(start), *at(end))
    return Swing(*(np.asarray(n).item() if curves.ndim == 1 else np.asarray(n) for n in numbers))
