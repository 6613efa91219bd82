"""Two by two inputs in closed form: invariance and partial exposure."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number, Real

Intercept = Literal["none", "free"]


@overload
def invariance_margin(salience: Real) -> float: ...
@overload
def invariance_margin(salience: np.ndarray) -> np.ndarray: ...
@door
def invariance_margin(salience: Number) -> Number:
    """Return the margin k / (1 - k) at the unseen background, with k = S(1; 2).

    Parameters
    ----------
    salience : float or float array
        k, 0..1/2.

    Returns
    -------
    float or float array

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), figure "partial". The margin is the same with and without an
    intercept, for interpolation and for the hard margin.

    Examples
    --------
    >>> round(invariance_margin(0.4), 6)
    0.666667
    """
    k = _checked(salience)
    return _plain(k / (1.0 - k))


@overload
def partial_exposure_margin(salience: Real, *, intercept: Intercept = "none") -> float: ...
@overload
def partial_exposure_margin(
    salience: np.ndarray, *, intercept: Intercept = "none"
) -> np.ndarray: ...
@door
def partial_exposure_margin(salience: Number, *, intercept: Intercept = "none") -> Number:
    r"""Return the margin at the unseen pair of partial exposure, with k = S(1; 2).

    :math:`2k^2/(1 - 2k^2)` without an intercept, :math:`(4k - 1)/(3 - 4k)` with a free one,
    which is negative for k < 1/4: the constant learns that most pairs are negative.

    Parameters
    ----------
    salience : float or float array
        k, 0..1/2.
    intercept : {"none", "free"}, keyword-only, default "none"

    Returns
    -------
    float or float array

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), figure "partial", without intercept; with a free
    intercept derived here. Interpolation and hard margin agree.

    Examples
    --------
    >>> round(partial_exposure_margin(0.2), 6)
    0.086957
    >>> round(partial_exposure_margin(0.2, intercept="free"), 6)
    -0.090909
    """
    k = _checked(salience)
    if intercept == "free":
        return _plain((4.0 * k - 1.0) / (3.0 - 4.0 * k))
    return _plain(2.0 * k**2 / (1.0 - 2.0 * k**2))


def _checked(salience: Number) -> np.ndarray:
    """Return saliences as an array; refuse any outside 0..1/2."""
    k = np.asarray(salience, dtype=float)
    require(
        bool(np.all((k >= 0) & (k <= 0.5))),
        "S(1;2) lies in 0..1/2",
        f"{k.min(initial=np.inf):g}..{k.max(initial=-np.inf):g}",
        "pass the salience of a single component",
    )
    return k


def _plain(margin: Number) -> Number:
    """Return a margin without axes as a float, and others as they are."""
    return float(margin) if np.ndim(margin) == 0 else margin
