"""The rescaling of pretrained weights that gives the penalty of finetuning a chosen order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number, Real
from partwhole.limits.penalties._inputs import at_least_zero, together
from partwhole.limits.penalties._widths import widths
from partwhole.limits.penalties.hyperbolic import coth_excess, log_growth
from partwhole.limits.penalties.transitions import Order, growth_at_order, log_sinh


@dataclass(frozen=True, eq=False)
class Rescaling:
    """Factor of a first layer that gives a penalty the target order.

    Parameters
    ----------
    rescale : float array
        c; where no c within `reach` gives the order, the nearest one within it.
    order : float array
        Order of the penalty with this c, without its tilt.
    reached : bool array
        Whether this is the target order.
    target_order : float
    message : str
        Remedies where the target is not reached; empty if it is reached everywhere.
    """

    rescale: Float[np.ndarray, "*shape"]
    order: Float[np.ndarray, "*shape"]
    reached: Bool[np.ndarray, "*shape"]
    target_order: float
    message: str


@door
def suggest_rescaling(
    pretrained: Number,
    coefficient: Number,
    target_order: Order = 1.4,
    *,
    readout_scale: Number = 0.0,
    init_scale: Number = 0.0,
    reach: tuple[Real, Real] = (1e-4, 1e4),
) -> Rescaling:
    r"""Return the c by which to multiply the first layer before finetuning.

    Solves :math:`\mathrm{order}(\beta, k(c)) = o` for c, with the exact width
    :math:`k^2 = c^4 \beta_{aux}^2 + 4 (\gamma^2 + c^2 \alpha^2)^2`.

    Parameters
    ----------
    pretrained : float or float array
        :math:`\beta_{aux}`, the size of coefficients after pretraining.
    coefficient : float or float array
        :math:`\beta`, the expected size of coefficients in the main task; not 0.
    target_order : float, default 1.4
        o, between 1 and 2, both excluded; nested regimes have about 1.3 to 1.6. A smaller order
        prefers fewer features and reuses less.
    readout_scale, init_scale : float or float array, keyword-only, default 0
        Gamma and alpha, at least 0.
    reach : pair of floats, keyword-only, default (1e-4, 1e4)
        The least and the largest c to consider.

    Returns
    -------
    Rescaling
        With arrays of the shape to which all arguments broadcast.

    Raises
    ------
    InputError
        For a target out of range, coefficients of 0, numbers that are not finite or out of
        range, and shapes that don't broadcast.

    Notes
    -----
    The rescaling is that of Lippl & Lindsey (NeurIPS 2024); the choice of c is derived here. The
    tilt of the penalty that a readout scale causes is neglected, so keep gamma well below
    :math:`c \sqrt{|\beta_{aux}|}`; see `finetuning_penalty`.

    Examples
    --------
    >>> round(suggest_rescaling(0.158, 0.2, 1.4).rescale.item(), 4)
    0.4468
    >>> suggest_rescaling(0.158, 0.2, 1.4, readout_scale=0.5).reached.item()
    False
    """
    growth = growth_at_order(target_order)
    low, high = reach
    require(
        0 < low < high,
        "reach is two numbers above 0, the smaller first",
        f"{low!r} and {high!r}",
        "pass (1e-4, 1e4), say",
    )
    b, beta, gamma, alpha = together(
        pretrained,
        coefficient,
        at_least_zero("readout_scale", readout_scale),
        at_least_zero("init_scale", init_scale),
    )
    require(bool(np.all(beta != 0)), "coefficient is not 0", "0", "give the size you expect")
    k = 2.0 * np.abs(beta) * math.exp(-log_sinh(growth))
    # A quadratic equation in c^2: (b^2 + 4 alpha^4) c^4 + 8 gamma^2 alpha^2 c^2 = k^2 - 4 gamma^4,
    # homogeneous in (k, b, gamma^2, alpha^2): in units of the largest nothing overflows.
    unit = np.maximum.reduce([k, np.abs(b), gamma**2, alpha**2])
    wide, learned, readout, initial = (part / unit for part in (k, b, gamma**2, alpha**2))
    spare = (wide - 2.0 * readout) * (wide + 2.0 * readout)
    half = 4.0 * readout * initial
    feature_scale = np.hypot(learned, 2.0 * initial)
    below = half + np.sqrt(half**2 + feature_scale**2 * np.maximum(spare, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.sqrt(np.where(spare > 0, spare / below, 0.0))
    reached = (c >= low) & (c <= high)
    c = np.clip(c, low, high)
    width = widths(b, readout_scale=gamma, init_scale=alpha, rescale=c, formula="exact").width
    return Rescaling(
        rescale=np.asarray(c),
        order=np.asarray(_order(np.abs(beta), width)),
        reached=np.asarray(reached),
        target_order=float(target_order),
        message=_message(
            reached=np.asarray(reached),
            unmoved=np.asarray((b == 0) & (alpha == 0)),
            too_wide=np.asarray((spare <= 0) & (gamma > 0)),
            too_narrow=np.asarray((spare <= 0) & (gamma == 0)),
            target=float(target_order),
            reach=f"{low:g}..{high:g}",
        ),
    )


def _order(beta: Number, width: Number) -> np.ndarray:
    """Return the order of the untilted penalty, u / (u - tanh(u/2))."""
    u = log_growth(beta, width)
    h = np.where(np.isfinite(u), 0.5 * u, 1.0)
    order = 1.0 + np.tanh(h) / (h + np.tanh(h) * coth_excess(h))
    return np.asarray(np.where(np.isfinite(u), order, 1.0))


def _message(
    *,
    reached: np.ndarray,
    unmoved: np.ndarray,
    too_wide: np.ndarray,
    too_narrow: np.ndarray,
    target: float,
    reach: str,
) -> str:
    """Return the message: how many cases miss the target, and a remedy for each reason."""
    missed = ~reached
    if not np.any(missed):
        return ""
    cases = f"{int(np.sum(missed))} of {reached.size}"
    remedies = {
        "where pretrained and init_scale are 0 a rescaling changes nothing, pass the init_scale "
        "that pretraining began with": unmoved,
        "the readout scale alone makes the penalty too wide, lower it": too_wide & ~unmoved,
        "so near 1 the order takes a rescaling too small for double precision, ask for a larger "
        "order": too_narrow & ~unmoved,
        "widen the reach, or ask for another order": ~(unmoved | too_wide | too_narrow),
    }
    advice = [remedy for remedy, where in remedies.items() if np.any(missed & where)]
    return "; ".join([f"no rescaling in {reach} gives order {target:g} to {cases}", *advice])
