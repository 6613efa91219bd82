"""The toy law of multiplicative emergence: a combination needs all of its concepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import ProperFraction, Real
from partwhole.measures.concepts._readings import Share, unit_readings
from partwhole.measures.extrema import increasing

if TYPE_CHECKING:
    import pandas as pd

Number = Real | Float[np.ndarray, "..."] | Int[np.ndarray, "..."]
MOST_CONCEPTS = 1e3
FLAT = 1e-8  # of a squared accuracy: less is no reason for one rate rather than another


@door
def emergence_law(
    t: Number, rate: ProperFraction, n: Number, *, chance: Share = 0.0
) -> float | Float[np.ndarray, "..."]:
    r"""Return the accuracy of a combination of n concepts after t steps.

    .. math:: P_n(t) = \big(q + (1 - q) (1 - (1 - p)^t)\big)^n

    Each concept is learned at each step with probability p, independently of the others; before,
    it is right with the chance q.

    Parameters
    ----------
    t : float or float array
        Steps, at least 0.
    rate : float
        p, between 0 and 1.
    n : float or float array
        Concepts to be learned, above 0; its shape and that of `t` broadcast.
    chance : float, keyword-only, default 0.0
        q, at least 0 and below 1; 0.5 for accuracies of two values.

    Returns
    -------
    float or float array

    Raises
    ------
    InputError
        For numbers out of range.

    Notes
    -----
    Okawa et al. (NeurIPS 2023), with q = 0 there; chance is added here.

    Examples
    --------
    >>> emergence_law(np.array([69, 158, 200]), 0.01, 3).round(3).tolist()
    [0.125, 0.504, 0.65]
    """
    _require_above_zero(n)
    time = np.asarray(t, dtype=float)
    require(
        bool((time >= 0).all()),
        "steps are at least 0",
        f"{time.min(initial=0.0):g}",
        "count from 0",
    )
    learned = chance + (1.0 - chance) * -np.expm1(time * np.log1p(-float(rate)))
    all_learned = learned ** np.asarray(n, dtype=float)
    return float(all_learned) if np.ndim(all_learned) == 0 else all_learned


@door
def emergence_time(
    rate: ProperFraction, n: Number, threshold: ProperFraction, *, chance: Share = 0.0
) -> float | Float[np.ndarray, "..."]:
    r"""Return the first step at which a combination of n concepts has reached an accuracy.

    .. math:: t^* = \left\lceil \frac{\ln(1 - u)}{\ln(1 - p)} \right\rceil, \qquad
              u = \frac{P^{1/n} - q}{1 - q},

    or 0 where chance alone is enough.

    Parameters
    ----------
    rate, n, chance
        As in `emergence_law`.
    threshold : float
        The accuracy P, between 0 and 1.

    Returns
    -------
    float or float array, of the shape of `n`
        A whole number of steps.

    Raises
    ------
    InputError
        For numbers out of range.

    Notes
    -----
    Okawa et al. (NeurIPS 2023): the more concepts, the later, as ln n for many.

    Examples
    --------
    >>> emergence_time(0.01, np.array([1, 3]), 0.5).tolist(), emergence_time(0.001, 3, 0.9)
    ([69.0, 158.0], 3365.0)
    """
    _require_above_zero(n)
    deficit = -np.expm1(np.log(float(threshold)) / np.asarray(n, dtype=float)) / (1.0 - chance)
    exact = np.maximum(np.log(np.minimum(deficit, 1.0)) / np.log1p(-float(rate)), 0.0)
    # A whole number of steps stays one in spite of rounding.
    nearest = np.round(exact)
    time = np.where(
        np.abs(exact - nearest) <= 1e-9 * np.maximum(nearest, 1.0), nearest, np.ceil(exact)
    )
    return float(time) if np.ndim(time) == 0 else time


@dataclass(frozen=True, eq=False)
class EmergenceFit:
    """Law that fits measured accuracies best.

    Parameters
    ----------
    rate : float
        p, per step, common to all curves.
    n : float array, shape (D,)
        Concepts of each curve: as given, or fitted.
    chance : float
    fitted : float array, shape (D, T)
        The law's accuracies.
    error : float array, shape (D,)
        Root of the mean square residual.
    r2 : float array, shape (D,)
        Share of each curve's variance that the law explains; NaN for a flat curve.
    at_bound : bool array, shape (D + 1,)
        Whether the rate, and each n, ended at the bound of the search: then the curve does not
        fix it.
    """

    rate: float
    n: Float[np.ndarray, " D"]
    chance: float
    fitted: Float[np.ndarray, "D T"]
    error: Float[np.ndarray, " D"]
    r2: Float[np.ndarray, " D"]
    at_bound: Bool[np.ndarray, " D1"]

    @door
    def emergence_times(self, threshold: ProperFraction = 0.8) -> Float[np.ndarray, " D"]:
        """Return when each curve reaches an accuracy by the law."""
        return np.asarray(emergence_time(self.rate, self.n, threshold, chance=self.chance))

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each curve, and columns n, rate, error and r2."""
        import pandas as pd

        return pd.DataFrame({"n": self.n, "rate": self.rate, "error": self.error, "r2": self.r2})


@door
def fit_emergence(
    steps: Float[np.ndarray, " T"] | Int[np.ndarray, " T"],
    accuracies: Float[np.ndarray, "D T"],
    *,
    n: Float[np.ndarray, " D"] | Int[np.ndarray, " D"] | None = None,
    chance: Share = 0.0,
) -> EmergenceFit:
    r"""Fit the law of multiplicative emergence to accuracies of several distances at once.

    Least squares over all curves, with one rate p for all of them and each curve's number n of
    concepts given or fitted.

    Parameters
    ----------
    steps : float array, shape (T,)
        Increasing, at least 0.
    accuracies : float array, shape (D, T)
        Multiplicative accuracies in 0..1, a curve for each distance to the training set.
    n : int or float array, shape (D,), keyword-only, default None
        How many concepts each has to bring together; None to fit them.
    chance : float, keyword-only, default 0.0
        As in `emergence_law`.

    Returns
    -------
    EmergenceFit

    Raises
    ------
    InputError
        For accuracies outside 0..1, steps below 0 or not increasing, or an n that doesn't fit.

    Notes
    -----
    The law is that of Okawa et al. (NeurIPS 2023), the fit derived here: local searches from
    rates spread over the whole range of steps, of which the best is kept. With n given it is a
    test: one number for all distances. With n fitted, a curve that stays below one half hardly
    tells n from the rate.

    Examples
    --------
    >>> steps = np.arange(0.0, 1001.0, 50.0)
    >>> measured = np.stack([emergence_law(steps, 0.004, k) for k in (1, 2, 3)])
    >>> fit = fit_emergence(steps, measured)
    >>> round(fit.rate, 5), fit.n.round(3).tolist(), fit.emergence_times(0.8).tolist()
    (0.004, [1.0, 2.0, 3.0], [402.0, 561.0, 658.0])
    """
    y = unit_readings(accuracies, "accuracies")
    require(
        y.ndim == 2,
        "accuracies have a row for each distance and a column for each checkpoint",
        f"shape {y.shape}",
        "pass accuracies[None] of a single curve",
    )
    t = increasing(steps)
    require(t[0] >= 0, "steps count from the start of training", f"{t[0]:g}", "start at 0")
    require(t[-1] > 0, "there is a step above 0", f"{t[-1]:g}", "pass later checkpoints")
    counts = np.ones(len(y)) if n is None else np.asarray(n, dtype=float)
    require(
        counts.shape == (len(y),),
        "n has one number for each curve",
        f"shape {counts.shape} for {len(y)} curves",
        "pass the distances",
    )
    _require_above_zero(counts)
    # The logarithm of -ln(1 - p): from far too slow for these steps to learned at the first one.
    first = t[t > 0][0]
    low, high = np.log(1e-4 / t[-1]), np.log(50.0 / first)
    largest = np.log(MOST_CONCEPTS)

    def law(parameters: np.ndarray) -> np.ndarray:
        learned = chance + (1.0 - chance) * -np.expm1(-np.exp(parameters[0]) * t)
        powers = counts if n is not None else np.exp(parameters[1:])
        return learned ** powers[:, None]

    free = 0 if n is not None else len(y)
    lower = np.array([low, *np.full(free, -largest)])
    upper = np.array([high, *np.full(free, largest)])
    best = None
    for start in np.linspace(low, high, 12)[1:-1]:
        from scipy.optimize import least_squares

        search = least_squares(
            lambda parameters: (law(parameters) - y).ravel(),
            np.array([start, *np.full(free, np.log(2.0))]),
            bounds=(lower, upper),
            xtol=1e-12,
            ftol=1e-12,
            gtol=1e-12,
        )
        if best is None or search.cost < best.cost:
            best = search
    assert best is not None
    # A curve without a rise fits as well at the end of the search as anywhere.
    solution = best.x
    for end in (low, high):
        at_end = np.array([end, *best.x[1:]])
        if 0.5 * ((law(at_end) - y) ** 2).sum() <= best.cost + FLAT * y.size:
            solution = at_end
    fitted = law(solution)
    square = ((y - fitted) ** 2).mean(axis=1)
    variance = y.var(axis=1)
    r2 = 1.0 - np.divide(square, variance, out=np.full(len(y), np.nan), where=variance > 0)
    is_close = np.minimum(solution - lower, upper - solution) < 1e-3
    at_bound = np.concatenate([is_close, np.zeros(len(y) - free, dtype=bool)])
    powers = counts if n is not None else np.exp(solution[1:])
    rate = float(-np.expm1(-np.exp(solution[0])))
    return EmergenceFit(rate, powers, float(chance), fitted, np.sqrt(square), r2, at_bound)


def _require_above_zero(n: Number) -> None:
    numbers = np.asarray(n, dtype=float)
    require(
        numbers.size > 0 and bool((numbers > 0).all()),
        "n is a number of concepts above 0",
        numbers.tolist(),
        "pass 1 or more",
    )
