"""Width and tilt of the penalty of finetuning, from the weights at its start."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from partwhole._types import Number
from partwhole.limits.penalties._inputs import above_zero, at_least_zero, together

Formula = Literal["exact", "published"]


class Widths(NamedTuple):
    """Width and tilt of the penalty, float64 arrays of the same shape."""

    width: np.ndarray
    tilt: np.ndarray


class Elasticities(NamedTuple):
    """Derivatives of ln width, and of the tilt, in the logarithm of each strength or scale."""

    width: np.ndarray
    tilt: np.ndarray


def widths(
    pretrained: Number,
    *,
    readout_scale: Number,
    init_scale: Number,
    rescale: Number,
    formula: Formula,
) -> Widths:
    r"""Return width k and tilt delta of the penalty of finetuning.

    The exact formula is that of weights that gradient flow takes from alpha to
    :math:`\beta_{aux}`, whose first layer is then multiplied by c and whose readout is reset to
    gamma:

    .. math:: k = \sqrt{c^4 \beta_{aux}^2 + 4 (\gamma^2 + c^2 \alpha^2)^2}, \qquad
              \sinh \delta = \frac{2 \gamma c\, \beta_{aux}}{k \sqrt{S + 2 \alpha^2}}, \qquad
              S = \sqrt{\beta_{aux}^2 + 4 \alpha^4} .

    The published formula is :math:`k = 2 (c^2 |\beta_{aux}| + \gamma^2)` without a tilt. It is
    exact if both pathways of a feature have equal weights,
    :math:`w_\pm = c \sqrt{|\beta_{aux}|}`.

    Parameters
    ----------
    pretrained : float or float array
        :math:`\beta_{aux}`.
    readout_scale, init_scale : float or float array, keyword-only
        Gamma and alpha, at least 0. The published formula does not contain alpha.
    rescale : float or float array, keyword-only
        c, above 0.
    formula : {"exact", "published"}, keyword-only

    Returns
    -------
    Widths

    Raises
    ------
    InputError
        For numbers that are not finite or out of range, and for an unknown formula.

    Notes
    -----
    The published form is that of Lippl & Lindsey (NeurIPS 2024), with c = 1; the exact one is
    derived here. Neither form subtracts, so both hold to rounding at all scales. The tilt is at
    most asinh 1 = 0.88, where :math:`c^2 |\beta_{aux}| = 2 \gamma^2` and alpha is 0.

    Examples
    --------
    >>> width, tilt = widths(
    ...     1.0, readout_scale=0.1, init_scale=0.0, rescale=1.0, formula="exact"
    ... )
    >>> round(float(width), 6), round(float(tilt), 6)
    (1.0002, 0.198651)
    """
    b, gamma, alpha, c = start(pretrained, readout_scale, init_scale, rescale, formula)
    if formula == "published":
        return Widths(2.0 * (c**2 * np.abs(b) + gamma**2), np.zeros(b.shape))
    width = np.hypot(c**2 * b, 2.0 * (gamma**2 + (c * alpha) ** 2))
    # hidden_plus + hidden_minus, before rescaling.
    pathway_sum = np.sqrt(np.hypot(b, 2.0 * alpha**2) + 2.0 * alpha**2)
    sinh = 2.0 * gamma * c * _quotient(_quotient(b, pathway_sum), width)
    return Widths(np.asarray(width), np.asarray(np.arcsinh(sinh)))


def elasticities(
    pretrained: Number,
    *,
    readout_scale: Number,
    init_scale: Number,
    rescale: Number,
    formula: Formula,
) -> Elasticities:
    r"""Return the derivatives of ln width and tilt in ln of the strength and of the two scales.

    The strength and the scales are :math:`|\beta_{aux}|`, :math:`\gamma^2` and :math:`\alpha^2`.

    Parameters
    ----------
    pretrained, readout_scale, init_scale, rescale, formula
        As in `widths`.

    Returns
    -------
    Elasticities
        Arrays with a leading axis of 3. Those of the width sum to 1 and those of the tilt to 0,
        because the width is proportional to all three together, and the tilt does not change.
    """
    b, gamma, alpha, c = start(pretrained, readout_scale, init_scale, rescale, formula)
    k, delta = widths(b, readout_scale=gamma, init_scale=alpha, rescale=c, formula=formula)
    zero = np.zeros(b.shape)
    if formula == "published":
        rising = np.stack([2.0 * c**2 * np.abs(b), 2.0 * gamma**2, zero])
        return Elasticities(_quotient(rising, k), np.zeros_like(rising))
    fresh = _quotient(2.0 * (gamma**2 + (c * alpha) ** 2), k)
    of_width = np.stack(
        [
            _quotient(c**2 * b, k) ** 2,
            fresh * _quotient(2.0 * gamma**2, k),
            fresh * _quotient(2.0 * (c * alpha) ** 2, k),
        ]
    )
    unlearned = _quotient(alpha**2, np.hypot(b, 2.0 * alpha**2))
    of_start = np.stack([0.5 + unlearned, zero + 0.5, -unlearned])
    return Elasticities(of_width, np.tanh(delta) * (of_start - of_width))


def start(
    pretrained: Number, readout_scale: Number, init_scale: Number, rescale: Number, formula: Formula
) -> tuple[np.ndarray, ...]:
    """Return beta_aux, gamma, alpha and c, validated and broadcast against each other."""
    return together(
        pretrained,
        at_least_zero("readout_scale", readout_scale),
        at_least_zero("init_scale", init_scale),
        above_zero("rescale", rescale),
    )


def _quotient(above: Number, below: Number) -> np.ndarray:
    """Return the quotient, and 0 where the denominator is 0."""
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)
