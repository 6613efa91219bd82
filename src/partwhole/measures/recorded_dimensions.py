r"""Dimensions of noise-free condition means, and those that two recordings share."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, nan, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import stdtrit

from partwhole._door import door
from partwhole._types import ProperFraction, Seed
from partwhole.measures._means import Means, condition_means, degrees_of
from partwhole.measures._squares import Moments, moments
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd

Space = Literal["features", "samples"]
Sample = Literal["trials", "neurons"]


@dataclass(frozen=True, eq=False)
class RecordedDimensions:
    """Participation ratio of the noise-free means of conditions.

    Parameters
    ----------
    value : float
        NaN where the similarities of conditions are not above their noise.
    interval : tuple of two floats
    confidence : float
        Level of the interval.
    uncorrected : float
        Participation ratio of the measured means, whose noise adds dimensions.
    n_conditions, n_neurons : int
    over : {"trials", "neurons"}
        What the interval is over.
    notes : tuple of str
        What was left out or is approximate, and why numbers are NaN.
    """

    value: float
    interval: tuple[float, float]
    confidence: float
    uncorrected: float
    n_conditions: int
    n_neurons: int
    over: Sample
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row: value, low, high, uncorrected, n_conditions, n_neurons."""
        import pandas as pd

        low, high = self.interval
        row = {
            "value": self.value,
            "low": low,
            "high": high,
            "uncorrected": self.uncorrected,
            "n_conditions": self.n_conditions,
            "n_neurons": self.n_neurons,
        }
        return pd.DataFrame([row])


@door
def recorded_dimensions(
    recording: Recording,
    *,
    center: bool = True,
    over: Sample = "trials",
    confidence: ProperFraction = 0.95,
    seed: Seed = 0,
) -> RecordedDimensions:
    r"""Count the dimensions of the noise-free means of a recording's conditions.

    With the true means M of T conditions and :math:`K = H M M^\top H`, where H takes away the mean
    over conditions,

    .. math:: PR = \frac{(\mathrm{tr}\, K)^2}{\mathrm{tr}\, K^2}.

    Numerator and denominator are estimated without bias, from products of four different trials
    (or of four different groups, where the recording has groups). Trials of one condition are
    independent in all, or between groups.

    Parameters
    ----------
    recording : Recording
        Responses are averaged over its times. Conditions need two trials, or trials in two groups;
        from four on, estimates are without bias.
    center : bool, keyword-only, default True
        Subtract every neuron's mean over conditions.
    over : {"trials", "neurons"}, keyword-only, default "trials"
        "trials" for an interval over other trials of these neurons and conditions; "neurons" over
        other samples of as many neurons from their population. In larger samples the number of
        dimensions itself is larger.
    confidence : float, keyword-only, default 0.95
        Level of the interval.
    seed : int, keyword-only, default 0
        For the pseudo-trials of neurons that were not recorded together.

    Returns
    -------
    RecordedDimensions

    Raises
    ------
    InputError
        If fewer than two conditions have two trials, or trials in two groups.

    Notes
    -----
    Products of different trials: Chun et al. (ICLR 2026), who also correct for the sampling of
    conditions and neurons; here both are taken as given. Sums over four different trials, and the
    interval, are derived here: the logarithm plus and minus quantiles of Student's t times the root
    of the sum of squared influences of trials (groups, neurons). Degrees of freedom are
    Satterthwaite's: a condition with few trials has few, however many others have. The influences
    contain noise themselves, so that intervals are wide rather than narrow where there is little
    signal: those of 95 % covered .95 to .99 in simulations, with 2 to 30 trials of a condition,
    over neurons .95 to .99. Where
    conditions have two or three trials, products of a condition with itself are corrected by the
    covariance of the noise in other conditions. No p x p matrix is formed where p exceeds n.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(4) for b in range(4)], 10, axis=0)
    >>> clean = np.hstack([np.eye(4)[rows[:, 0]], np.eye(4)[rows[:, 1]]]) @ rng.normal(size=(8, 50))
    >>> values = (("a", "b", "c", "d"), (1, 2, 3, 4))
    >>> noisy = Recording(clean + rng.normal(0, 2, clean.shape), rows, ("letter", "digit"), values)
    >>> dimensions = recorded_dimensions(noisy)
    >>> from partwhole.measures.dimensions import participation_ratio
    >>> true = participation_ratio(clean, center=True)
    >>> round(true, 1), round(dimensions.uncorrected, 1), round(dimensions.value, 1)
    (5.4, 6.7, 5.2)
    """
    means = condition_means(recording, center=center, seed=seed)
    of = moments(means)
    value, notes = _ratio(of.trace_squared, of.square), [*means.notes]
    if of.note:
        notes.append(of.note)
    y = means.means
    interval = (nan, nan)
    if np.isnan(value) or of.trace <= 0:
        notes.append("similarities of conditions are not above their noise: add trials")
        value = nan
    else:
        if over == "trials":
            gradient = _log_gradient(means, of)
            error = sqrt(float(np.sum(means.influence(gradient) ** 2)))
            degrees = degrees_of(means, gradient)
        else:
            error, degrees = _error_over_neurons(means, of), recording.n_neurons - 1.0
        width = float(stdtrit(degrees, 0.5 + 0.5 * confidence)) * error
        interval = (value * exp(-width), value * exp(width)) if width < 700 else (0.0, np.inf)
    uncorrected = float(np.sum(y**2)) ** 2 / float(np.sum(_narrow(y) ** 2))
    return RecordedDimensions(
        value, interval, float(confidence), uncorrected, len(means.conditions),
        recording.n_neurons, over, tuple(notes),
    )  # fmt: skip


def _ratio(trace_squared: float, square: float) -> float:
    return trace_squared / square if trace_squared > 0 and square > 0 else nan


def _narrow(y: np.ndarray) -> np.ndarray:
    return y.T @ y if y.shape[1] < len(y) else y @ y.T


def _log_gradient(means: Means, of: Moments) -> np.ndarray:
    """Return the gradient of log PR by the means."""
    y = means.means
    return 4.0 * (y / of.trace - means.similarity_times(y) / of.square)


def _error_over_neurons(means: Means, of: Moments) -> float:
    """Return the standard error of log PR over samples of neurons."""
    share = 1.0 - means.center / len(means.conditions)
    unit = np.full(len(means.conditions), share)

    def centred(values: np.ndarray) -> np.ndarray:
        return values - values.mean(axis=0) if means.center else values

    traces = means.quadratic_by_neuron(centred, unit) / of.trace
    squares = means.quadratic_by_neuron(means.similarity_times, means.diagonal)
    # What the ratio loses without a neuron; its products with itself are lost but once.
    influence = 2.0 * traces - traces**2 - 2.0 * squares / of.square
    influence += (traces * of.trace) ** 2 / of.square
    p = len(influence)
    return sqrt(float(np.sum((influence - influence.mean()) ** 2)) * p / (p - 1.0))
