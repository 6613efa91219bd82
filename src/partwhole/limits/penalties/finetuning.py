r"""The penalty that finetuning a diagonal network puts on a coefficient.

With :math:`u = \operatorname{asinh}(2\beta/k)`, :math:`h = (u - \delta)/2` and
:math:`m = (u + \delta)/2`, the Bregman divergence of :math:`\phi` from the coefficient
:math:`\beta_0 = \tfrac{k}{2} \sinh \delta` that finetuning starts from is

.. math:: \phi(\beta) - \phi(\beta_0)
          = \tfrac12 (\beta - \beta_0) \left[ h + (h \coth h - 1) \tanh m \right] ,

which neither cancels nor overflows. Derived here.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole._types import Number
from partwhole.limits.penalties._inputs import together
from partwhole.limits.penalties._widths import Formula, elasticities, widths
from partwhole.limits.penalties.hyperbolic import coth_excess, hyperbolic_price, log_growth
from partwhole.limits.penalties.profile import PenaltyProfile


@door
def finetuning_penalty(
    coefficient: Number,
    pretrained: Number,
    *,
    readout_scale: Number = 0.0,
    init_scale: Number = 0.0,
    rescale: Number = 1.0,
    formula: Formula = "exact",
) -> PenaltyProfile:
    r"""Return the penalty that finetuning puts on a coefficient.

    .. math:: R = 4 \left[ \phi(\beta) - \min \phi \right], \qquad
              \phi(\beta) = \tfrac{k}{8}\, q(4\beta/k) - \tfrac12 \delta \beta ,

    with q of `hyperbolic_entropy` and, exactly,
    :math:`k^2 = c^4 \beta_{aux}^2 + 4 (\gamma^2 + c^2 \alpha^2)^2` and
    :math:`\delta = \operatorname{asinh}(2\beta_0/k)`, where :math:`\beta_0` is the coefficient
    that finetuning starts from.

    Parameters
    ----------
    coefficient : float or float array
        :math:`\beta`, in the main task.
    pretrained : float or float array
        :math:`\beta_{aux}`, in the auxiliary task.
    readout_scale : float or float array, keyword-only, default 0
        Gamma, at least 0: the value to which the readout is reset before finetuning.
    init_scale : float or float array, keyword-only, default 0
        Alpha, at least 0: the weights before pretraining.
    rescale : float or float array, keyword-only, default 1
        c, above 0: the factor of the first layer before finetuning.
    formula : {"exact", "published"}, keyword-only, default "exact"
        "published" is :math:`\kappa\, q(2\beta/\kappa)` with
        :math:`\kappa = c^2 |\beta_{aux}| + \gamma^2`, that is :math:`k = 2\kappa` and no tilt.

    Returns
    -------
    PenaltyProfile
        With arrays of the shape to which all arguments broadcast. The penalty is infinite where
        all weights of a feature are 0, because they cannot grow: pretrained, readout_scale and
        init_scale are 0.

    Raises
    ------
    InputError
        For numbers that are not finite or out of range, for shapes that don't broadcast, and
        for an unknown formula.

    Notes
    -----
    The published penalty is that of Lippl & Lindsey (NeurIPS 2024); it is exact if both
    pathways of a feature have equal weights. After pretraining only one of them is large, which
    halves the width of learned features and tilts the penalty towards the sign of
    :math:`\beta_{aux}`; derived here. The factor 4 puts both formulas on the published scale:
    the slope of R is four times `finetuning_price`.

    With a readout scale finetuning starts from a coefficient other than 0. R is 0 at this start,
    so near it the order goes to infinity on the side away from 0, and to minus infinity on the
    side towards 0.

    Assumes gradient flow on squared error to zero loss, in pretraining and in finetuning.

    Examples
    --------
    >>> profile = finetuning_penalty(1.0, 1e-3, readout_scale=1e-3, formula="published")
    >>> profile.penalty.round(7).item(), profile.order.round(6).item()
    (13.2018074, 1.151343)
    """
    # `widths` validates the ranges of the other arguments.
    beta, b, gamma, alpha, c = together(coefficient, pretrained, readout_scale, init_scale, rescale)
    scales = {"readout_scale": gamma, "init_scale": alpha, "rescale": c, "formula": formula}
    k, delta = widths(b, **scales)
    u = log_growth(beta, k)
    grows = np.isfinite(u)
    u = np.where(grows, u, 1.0)
    h, m = 0.5 * (u - delta), np.tanh(0.5 * (u + delta))
    excess = coth_excess(h)
    below = h + m * excess
    begin = 0.5 * k * np.sinh(delta)
    penalty = np.where(grows, 2.0 * (beta - begin) * below, np.inf)
    # At the start itself the powers are 0/0; if it is 0 they have limits, -1 for the width and 2
    # for the order.
    with np.errstate(divide="ignore", invalid="ignore"):
        by_width = np.where(below != 0, -m / below, np.where(delta == 0, -1.0, np.nan))
        by_tilt = np.where(below != 0, -1.0 / below, np.where(delta == 0, 0.0, np.nan))
    # For a width of 0 the power is its limit, that of the rich regime.
    by_width = np.where(grows & (k > 0), by_width, 0.0)
    of_width, of_tilt = elasticities(b, **scales)
    feature, readout, init = by_width * of_width + by_tilt * of_tilt
    return PenaltyProfile(
        penalty=np.asarray(penalty),
        order=np.asarray(1.0 - by_width),
        feature_dependence=np.asarray(feature),
        readout_dependence=np.asarray(readout),
        init_dependence=np.asarray(init),
    )


@door
def finetuning_price(
    coefficient: Number,
    pretrained: Number,
    *,
    readout_scale: Number = 0.0,
    init_scale: Number = 0.0,
    rescale: Number = 1.0,
    formula: Formula = "exact",
) -> Float[np.ndarray, "..."]:
    r"""Return the marginal price of a coefficient in finetuning, a quarter of the slope of R.

    .. math:: s = \tfrac12 \left[ \operatorname{asinh}(2\beta/k) - \delta \right]

    Parameters
    ----------
    coefficient, pretrained, readout_scale, init_scale, rescale, formula
        As in `finetuning_penalty`.

    Returns
    -------
    float array
        Positive where the coefficient is above that at the start of finetuning, negative below.

    Raises
    ------
    InputError
        As in `finetuning_penalty`.

    Notes
    -----
    Derived here.

    Examples
    --------
    Pretrained features are cheaper than others:

    >>> finetuning_price(0.2, np.array([0.158114, 0.0]), readout_scale=1e-3).round(4).tolist()
    [0.8266, 6.4496]
    """
    beta, b, gamma, alpha, c = together(coefficient, pretrained, readout_scale, init_scale, rescale)
    k, delta = widths(b, readout_scale=gamma, init_scale=alpha, rescale=c, formula=formula)
    return hyperbolic_price(beta, k, delta)
