r"""Shortcut bias: context dependence with a whole quadrant left out (CD-3), in closed form.

In training the context alone predicts the response in two of three trials. A learner that relies
on the context answers every held-out combination wrongly; one that relies on the conjunctions of
context and feature answers all of them correctly. There is no case in between.

With :math:`P = n^2 S_1`, :math:`Q = n S_2`, :math:`R = 2 n S_1 + S_2` and
:math:`s = 1 - 3 S_1 - 3 S_2`, the dual variables of the three classes of training trials (A:
congruent, relevant feature in the half that is left out; B: conflict; D: the other congruent
trials) solve a 3 x 3 system; derived here.
"""

from __future__ import annotations

from typing import Annotated, Literal, overload

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Number, Real
from partwhole.limits.penalties._inputs import together

PerHalf = Annotated[int, Bounds(at_least=2)]
Fit = Literal["margin", "regression"]


@overload
def shortcut_margin(
    order_1: Real, order_2: Real, *, values_per_half: PerHalf = 3, fit: Fit = "margin"
) -> float: ...
@overload
def shortcut_margin(
    order_1: np.ndarray, order_2: np.ndarray, *, values_per_half: PerHalf = 3, fit: Fit = "margin"
) -> np.ndarray: ...
@door
def shortcut_margin(
    order_1: Number, order_2: Number, *, values_per_half: PerHalf = 3, fit: Fit = "margin"
) -> Number:
    r"""Return the margin that every held-out tuple of CD-3 shares.

    With :math:`P = n^2 S_1`, :math:`Q = n S_2`, :math:`R = 2 n S_1 + S_2` and
    :math:`s = 1 - 3 S_1 - 3 S_2`, interpolation reaches

    .. math:: M = \frac{2Q(P+Q) - P s}{2Q(P+Q) + s(3P + 4Q + s)}.

    The hard-margin classifier has the same margin if :math:`s(2P + 3Q + s) \ge 2R(P+Q)`.
    Otherwise the congruent trials whose relevant feature lies outside the half that is left out
    are not support vectors, and

    .. math:: M = \frac{Q(2P + 3Q + s) - P R}{(P + R + 2Q + s)(P + 2Q + s) - (P+Q)^2}.

    Parameters
    ----------
    order_1, order_2 : float or float array
        The saliences S(1; 3) and S(2; 3), at least 0, with :math:`3S_1 + 3S_2 \le 1`.
    values_per_half : int, keyword-only, default 3
        n, the number of values of each feature with the same response.
    fit : {"margin", "regression"}, keyword-only, default "margin"

    Returns
    -------
    float or float array
        Positive where the learner generalises; NaN for regression at S_2 = s = 0, where no
        function fits the training set.

    Raises
    ------
    InputError
        For saliences out of range or an unknown fit.

    Notes
    -----
    The task is that of Lippl & Stachenfeld (ICLR 2025), which sweeps it numerically; the closed
    forms are derived here. "margin" and "regression" are the fits "margin" and "equal" of `solve`.
    They hold with and without an intercept, which is 0 because labels are balanced.

    Examples
    --------
    >>> round(shortcut_margin(0.1, 0.05, values_per_half=3, fit="margin"), 6)
    -0.073998
    >>> round(shortcut_margin(0.15, 0.10, fit="regression"), 6)
    0.275899
    """
    P, Q, R, s = _terms(order_1, order_2, values_per_half, fit)
    regression = _ratio(2 * Q * (P + Q) - P * s, 2 * Q * (P + Q) + s * (3 * P + 4 * Q + s))
    if fit == "regression":
        return regression
    spare = _ratio(
        Q * (2 * P + 3 * Q + s) - P * R, (P + R + 2 * Q + s) * (P + 2 * Q + s) - (P + Q) ** 2
    )
    margin = np.where(s * (2 * P + 3 * Q + s) >= 2 * R * (P + Q), regression, spare)
    return float(margin) if margin.ndim == 0 else margin


@door
def shortcut_boundary(order_1: Real, *, values_per_half: PerHalf = 3, fit: Fit = "margin") -> float:
    r"""Return the salience S(2; 3) above which CD-3 generalises.

    The sign changes where :math:`2 S_2 (n S_1 + S_2) = S_1 s` for regression and for the
    margin with all trials in support, and where :math:`Q(2P + 3Q + s) = P R` otherwise.

    Parameters
    ----------
    order_1 : float
        S(1; 3), in [0, 1/3).
    values_per_half : int, keyword-only, default 3
    fit : {"margin", "regression"}, keyword-only, default "margin"

    Returns
    -------
    float
        NaN when no admissible S(2; 3) suffices.

    Notes
    -----
    Derived here. Both conditions are quadratic in S(2; 3) with one nonnegative root.

    Examples
    --------
    >>> round(shortcut_boundary(0.1), 6), round(shortcut_boundary(0.1, fit="regression"), 6)
    (0.068879, 0.067617)
    """
    _terms(order_1, 0.0, values_per_half, fit)
    n, S1 = values_per_half, float(order_1)
    room = (1.0 - 3.0 * S1) / 3.0

    def root(a: float, b: float, c: float) -> float:
        """Return the nonnegative root of a x^2 + b x - c with a > 0, c >= 0."""
        return (-b + np.sqrt(b * b + 4.0 * a * c)) / (2.0 * a)

    # 2 S2 (n S1 + S2) = S1 (1 - 3 S1 - 3 S2)
    boundary = root(2.0, 2.0 * n * S1 + 3.0 * S1, S1 * (1.0 - 3.0 * S1))
    if fit == "margin":
        P, Q, R, s = _terms(S1, min(boundary, room), n, fit)
        if s * (2 * P + 3 * Q + s) < 2 * R * (P + Q):
            # n S2 (2 n^2 S1 + 3 n S2 + 1 - 3 S1 - 3 S2) = n^2 S1 (2 n S1 + S2)
            boundary = root(
                3.0 * (n - 1.0),
                2.0 * n * n * S1 + 1.0 - 3.0 * S1 - n * S1,
                2.0 * n * n * S1 * S1,
            )
    return float(boundary) if boundary <= room else float("nan")


def _terms(
    order_1: Number, order_2: Number, n: int, fit: Fit
) -> tuple[Number, Number, Number, Number]:
    S1, S2 = together(order_1, order_2)
    s = 1.0 - 3.0 * S1 - 3.0 * S2
    require(
        bool(np.all(S1 >= 0) and np.all(S2 >= 0) and np.all(s >= -1e-9)),
        "saliences S(1;3), S(2;3) are at least 0 and three times their sum at most 1",
        f"S1 in {S1.min(initial=np.inf):g}..{S1.max(initial=-np.inf):g}, "
        f"S2 in {S2.min(initial=np.inf):g}..{S2.max(initial=-np.inf):g}",
        "lower them",
    )
    return n * n * S1, n * S2, 2.0 * n * S1 + S2, np.maximum(s, 0.0)


def _ratio(above: Number, below: Number) -> Number:
    above, below = np.asarray(above), np.asarray(below)
    ratio = np.divide(above, below, out=np.full_like(below, np.nan), where=below > 0)
    return float(ratio) if ratio.ndim == 0 else ratio
