r"""Finetuning a ReLU unit: how far its weights must move to a new strength and direction.

A unit of input weights of norm x and readout y has strength :math:`\beta = x y`. Its weights
start at the point :math:`(p, \gamma)`, with p the pretrained norm along the new direction; the
nearest with the strength asked is the nearest point on a hyperbola.
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
    r"""Return the squared way of a ReLU unit's weights from where finetuning starts.

    .. math:: R = \min_{m > 0} \left( \frac{\beta}{m} - \gamma \right)^2 + m^2 + m_0^2
              - 2 m m_0 \theta, \qquad m_0^2 = \beta_{aux}

    Parameters
    ----------
    coefficient : float or float array
        :math:`\beta`, strength of the unit after finetuning, at least 0: the norm of its input
        weights times the size of its readout.
    pretrained : float or float array
        :math:`\beta_{aux}`, its strength after pretraining, at least 0, with input weights as
        large as the readout.
    cosine : float or float array, default 1
        Theta, -1..1, between input weights before and after.
    readout_scale : float or float array, keyword-only, default 0
        Gamma, at least 0: what the readout is reset to, of the sign it is to have.

    Returns
    -------
    PenaltyProfile
        With powers by the envelope theorem. `readout_dependence` is that of gamma squared.

    Raises
    ------
    InputError
        For numbers that are not finite or out of range, and shapes that don't broadcast.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), for networks penalised explicitly; powers derived here.
    The norm m is a root of :math:`m^4 - m_0 \theta m^3 + \gamma \beta m - \beta^2`. Of up to
    three positive ones that of the nearest point is bracketed: it lies on the start's side of
    the diagonal, and is the only one there.

    Without readout (:math:`\gamma = 0`) and for the same direction, R goes from
    :math:`\beta^2 / \beta_{aux}` for large :math:`\beta_{aux}` to :math:`2\beta` for small. A
    large unit in another direction has to be turned, which costs
    :math:`\beta_{aux} (1 - \theta^2)`: pretraining then hurts.

    Examples
    --------
    >>> found = relu_penalty(1.0, 1.0, np.array([1.0, 0.9, 0.0]))
    >>> found.penalty.round(6).tolist()
    [0.6695, 0.940211, 3.0]
    >>> found.order.round(6).tolist()
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
    # All is homogeneous in beta, b and r squared, so that the largest can be 1.
    unit = np.maximum(np.maximum(beta, b), r**2)
    unit = np.where(unit > 0, unit, 1.0)
    b, r = b / unit, r / np.sqrt(unit)
    # Powers at 0 are those just above it; without any weights, those of a fresh unit.
    size = np.maximum(beta / unit, np.where(np.maximum(b, r) > 0, 1e-60, 1.0))
    p = np.sqrt(b) * theta
    x = _nearest_norm(size, p, r)
    y = size / x
    # Both ways obey x (x - p) = y (y - r): the longer by subtraction, the shorter from it.
    first, tilt = y - r, y / x
    second = x - p
    along = np.where(x >= y, tilt * first, second)
    out = np.where(x >= y, first, second / tilt)
    turned = b * (1.0 - theta) * (1.0 + theta)
    total = along**2 + out**2 + turned
    nothing = np.where(p > 0, np.minimum(np.abs(p), r), np.abs(p)) ** 2 + turned
    with np.errstate(divide="ignore", invalid="ignore"):
        order, feature, readout = (
            part / total for part in (2.0 * y * out, turned - p * along, 0.0 - r * out)
        )
    return PenaltyProfile(
        penalty=np.asarray(unit * np.where(beta > 0, total, nothing)),
        order=np.asarray(order),
        feature_dependence=np.asarray(feature),
        readout_dependence=np.asarray(readout),
        init_dependence=np.zeros(unit.shape),
    )


def _nearest_norm(beta: Number, p: Number, r: Number) -> np.ndarray:
    """Return x of the point nearest to (p, r) on x y = beta, x > 0; all at most 1 in size."""
    root = np.sqrt(beta)
    with np.errstate(divide="ignore", over="ignore"):
        edge = beta / r
        # Where x is at most this, x (x - p) is at most y^2 / 2, and that at most y (y - r).
        near = np.minimum(np.sqrt(0.5) * root, 0.5 * edge)
        behind = np.minimum(near, np.cbrt(beta) ** 2 / np.cbrt(4.0 * np.abs(p)))
    # Beyond the hyperbola there may be a root near either axis. In the middle of this bracket
    # the difference below has the sign of r - p, so that halving keeps the nearer one.
    beyond = beta < p * r
    low = np.where(p > 0, np.maximum(p, near), behind)
    high = np.minimum(edge, np.maximum(p, 0.0) + root)
    low, high = np.where(beyond, edge, low), np.where(beyond, p, high)
    low, high = np.log(low), np.log(np.maximum(low, high))
    # The bracket spans at most a few hundred e-folds: 2^-64 of it is below rounding.
    for _ in range(64):
        middle = 0.5 * (low + high)
        x = np.exp(middle)
        y = beta / x
        short = x * (x - p) < y * (y - r)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(np.exp(0.5 * (low + high)))
