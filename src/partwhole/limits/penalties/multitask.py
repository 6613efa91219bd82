"""The penalty of multi-task learning with weight decay on a coefficient of the main task."""

from __future__ import annotations

import numpy as np

from partwhole._door import door
from partwhole._types import Number
from partwhole.limits.penalties._inputs import together
from partwhole.limits.penalties.profile import PenaltyProfile


@door
def multitask_penalty(coefficient: Number, auxiliary: Number) -> PenaltyProfile:
    r"""Return the penalty that the group norm puts on a coefficient of the main task.

    .. math:: R = \sqrt{\beta^2 + \beta_{aux}^2} - |\beta_{aux}|

    Parameters
    ----------
    coefficient : float or float array
        :math:`\beta`, in the main task.
    auxiliary : float or float array
        :math:`\beta_{aux}`, in the auxiliary task; constant.

    Returns
    -------
    PenaltyProfile
        With order :math:`1 + |\beta_{aux}| / \sqrt{\beta^2 + \beta_{aux}^2}` and feature
        dependence 1 - order.

    Raises
    ------
    InputError
        For numbers that are not finite, and shapes that don't broadcast.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024); powers derived here. The group norm is the least half sum of
    squared weights with which a diagonal network of two readouts computes both coefficients, so
    training with weight decay minimises it. Gradient flow without weight decay does not.

    Examples
    --------
    >>> profile = multitask_penalty(1.0, 0.1)
    >>> profile.order.round(6).item(), profile.degree.round(9).item()
    (1.099504, 1.0)
    """
    beta, b = together(coefficient, auxiliary)
    size, before = np.abs(beta), np.abs(b)
    norm = np.hypot(size, before)
    # The penalty is size * share: written as the difference of norm and |b|, it would cancel.
    share = np.divide(size, norm + before, out=np.zeros(norm.shape), where=norm > 0)
    reuse = np.divide(before, norm, out=np.zeros(norm.shape), where=norm > 0)
    return PenaltyProfile(
        penalty=np.asarray(size * share),
        order=np.asarray(1.0 + reuse),
        feature_dependence=np.asarray(-reuse),
        readout_dependence=np.zeros(norm.shape),
        init_dependence=np.zeros(norm.shape),
    )
