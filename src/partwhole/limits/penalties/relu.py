r"""The penalty of finetuning a ReLU unit: the distance of its weights to a new strength.

A unit with input weights of norm x and readout y has strength :math:`\beta = x y`. Its weights
start at the point :math:`(p, \gamma)`, with p the pretrained norm along the new direction. The
nearest weights of a given strength are the nearest point on a hyperbola.
"""

from __future__ import annotations

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number
from partwhole.limits.penalties._inputs import at_least_zero, together
from partwhole.limits.penalties.profile import PenaltyProfile


@door
def relu_penalty(
    coefficient: Number,
    pretrained: Number,
    cosine: Number = 1.0,
    *,
    readout_scale: Number = 0.0,
) -> PenaltyProfile:
    r"""Return the squared distance of a ReLU unit's weights from the start of finetuning.

    .. math:: R = \min_{m > 0} \left( \frac{\beta}{m} - \gamma \right)^2 + m^2 + m_0^2
              - 2 m m_0 \theta, \qquad m_0^2 = \beta_{aux}

    Parameters
    ----------
    coefficient : float or float array
        :math:`\beta`, strength of the unit after finetuning, at least 0: the norm of its input
        weights times the size of its readout.
    pretrained : float or float array
        :math:`\beta_{aux}`, its strength after pretraining, at least 0, with equal norms of
        input weights and readout.
    cosine : float or float array, default 1
        Theta, -1..1, the cosine between the input weights before and after finetuning.
    readout_scale : float or float array, keyword-only, default 0
        Gamma, at least 0: the value to which the readout is reset, with the sign that it has
        after finetuning.

    Returns
    -------
    PenaltyProfile
        With powers by the envelope theorem; `readout_dependence` is the power of gamma squared.

    Raises
    ------
    InputError
        For numbers that are not finite or out of range, and shapes that don't broadcast.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), for networks with an explicit penalty; powers derived here.
    The norm m is a root of :math:`m^4 - m_0 \theta m^3 + \gamma \beta m - \beta^2`. Of up to
    three positive roots, that of the nearest point lies on the start's side of the diagonal, and
    is the only one there; it is computed by bisection.

    Without readout (:math:`\gamma = 0`) and for the same direction, R goes from
    :math:`\beta^2 / \beta_{aux}` for large :math:`\beta_{aux}` to :math:`2\beta` for small. A
    large unit in another direction must be turned, which costs
    :math:`\beta_{aux} (1 - \theta^2)`: pretraining is then harmful.

    Examples
    --------
    >>> profile = relu_penalty(1.0, 1.0, np.array([1.0, 0.9, 0.0]))
    >>> profile.penalty.round(6).tolist()
    [0.6695, 0.940211, 3.0]
    >>> profile.order.round(6).tolist()
    [1.568003, 1.207115, 0.666667]
    """
    beta, b, theta, r = together(
        at_least_zero("coefficient", coefficient),
        at_least_zero("pretrained", pretrained),
        cosine,
        at_least_zero("readout_scale", readout_scale),
    )
    steepest = np.abs(theta).max(initial=0.0)
    require(steepest <= 1, "cosine is between -1 and 1", f"{steepest:g}", "divide by the norms")
    # R is homogeneous in beta, b and r squared, so the largest of them can be scaled to 1.
    unit = np.maximum(np.maximum(beta, b), r**2)
    unit = np.where(unit > 0, unit, 1.0)
    b, r = b / unit, r / np.sqrt(unit)
    # Powers at beta = 0 are limits from above; without any pretrained weight, those of a new unit.
    size = np.maximum(beta / unit, np.where(np.maximum(b, r) > 0, 1e-60, 1.0))
    p = np.sqrt(b) * theta
    x = _nearest_norm(size, p, r)
    y = size / x
    # The two legs of the distance satisfy x (x - p) = y (y - r). The longer leg is computed by
    # subtraction; the shorter, whose subtraction might cancel, follows from this equation.
    first, tilt = y - r, y / x
    second = x - p
    along = np.where(x >= y, tilt * first, second)
    out = np.where(x >= y, first, second / tilt)
    turning = b * (1.0 - theta) * (1.0 + theta)
    total = along**2 + out**2 + turning
    at_zero = np.where(p > 0, np.minimum(np.abs(p), r), np.abs(p)) ** 2 + turning
    with np.errstate(divide="ignore", invalid="ignore"):
        order, feature, readout = (
            part / total for part in (2.0 * y * out, turning - p * along, 0.0 - r * out)
        )
    return PenaltyProfile(
        penalty=np.asarray(unit * np.where(beta > 0, total, at_zero)),
        order=np.asarray(order),
        feature_dependence=np.asarray(feature),
        readout_dependence=np.asarray(readout),
        init_dependence=np.zeros(unit.shape),
    )


def _nearest_norm(beta: Number, p: Number, r: Number) -> np.ndarray:
    """Return x of the point nearest to (p, r) on x y = beta with x > 0; inputs are at most 1."""
    root = np.sqrt(beta)
    with np.errstate(divide="ignore", over="ignore"):
        edge = beta / r
        # For x up to this bound, x (x - p) <= y^2 / 2 <= y (y - r).
        small_x = np.minimum(np.sqrt(0.5) * root, 0.5 * edge)
        smaller_x = np.minimum(small_x, np.cbrt(beta) ** 2 / np.cbrt(4.0 * np.abs(p)))
    # A start beyond the hyperbola may have a root near either axis. In the middle of this bracket
    # the difference below has the sign of r - p, so that bisection keeps the nearer root.
    beyond = beta < p * r
    low = np.where(p > 0, np.maximum(p, small_x), smaller_x)
    high = np.minimum(edge, np.maximum(p, 0.0) + root)
    low, high = np.where(beyond, edge, low), np.where(beyond, p, high)
    low, high = np.log(low), np.log(np.maximum(low, high))
    # The bracket spans at most a few hundred e-folds: 2^-64 of it is below rounding.
    for _ in range(64):
        middle = 0.5 * (low + high)
        x = np.exp(middle)
        y = beta / x
        below_root = x * (x - p) < y * (y - r)
        low, high = np.where(below_root, middle, low), np.where(below_root, high, middle)
    return np.asarray(np.exp(0.5 * (low + high)))
