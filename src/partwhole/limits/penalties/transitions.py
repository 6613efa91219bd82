"""The width of the transition from rich to lazy, in decades of pretrained over new coefficient."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Real

Kind = Literal["multitask", "finetuning", "finetuning-published", "relu"]
Order = Annotated[Real, Bounds(above=1, below=2)]  # no finite ratio has another


@door
def ratio_at_order(kind: Kind, order: Order) -> float:
    r"""Return :math:`|\beta_{aux}| / |\beta|` at which a penalty has this order.

    Parameters
    ----------
    kind : {"multitask", "finetuning", "finetuning-published", "relu"}
        The penalty: `multitask_penalty`, `finetuning_penalty` with either formula, or
        `relu_penalty` for the same direction; readouts and initial weights are 0.
    order : float
        Between 1 and 2, both excluded.

    Returns
    -------
    float
        0 where it underflows, as for finetuning close to order 1.

    Raises
    ------
    InputError
        For an unknown kind, and an order out of range.

    Notes
    -----
    With order o, :math:`(o - 1)/\sqrt{o (2 - o)}` for multi-task learning and
    :math:`4 (o - 1)^2 / \sqrt{o^3 (2 - o)}` for the ReLU unit. For finetuning
    :math:`2 / \sinh u` with :math:`(o - 1) u = o \tanh(u/2)`, and half of it as published.
    Derived here.

    Examples
    --------
    >>> round(ratio_at_order("relu", 1.1), 5), round(ratio_at_order("relu", 1.9), 3)
    (0.03655, 3.912)
    """
    return 10.0 ** _decades(kind, order)


@door
def transition_width(kind: Kind, low: Order = 1.1, high: Order = 1.9) -> float:
    r"""Return the number of decades of :math:`|\beta_{aux}|/|\beta|` over which the order rises.

    Parameters
    ----------
    kind : {"multitask", "finetuning", "finetuning-published", "relu"}
        As in `ratio_at_order`; both formulas of finetuning have the same width.
    low, high : float, default 1.1 and 1.9
        Orders between 1 and 2, both excluded.

    Returns
    -------
    float
        Decades.

    Raises
    ------
    InputError
        For an unknown kind, and for orders out of range or not rising.

    Notes
    -----
    Derived here.

    Examples
    --------
    >>> [round(transition_width(kind), 4) for kind in ("multitask", "relu", "finetuning")]
    [1.3127, 2.0296, 4.5139]
    """
    decades = _decades(kind, high) - _decades(kind, low)
    require(low < high, "low is less than high", f"{low:g} and {high:g}", "swap them")
    return decades


def growth_at_order(order: Real) -> float:
    """Return u, the asinh of twice the coefficient over the width, at which q has the order."""
    o = float(order)
    # tanh < 1 bounds u from above, and tanh(u/2) > u/2 - u^3/24 from below.
    most = o / (o - 1.0)
    least = 0.5 * min(most, math.sqrt(6.0 * (2.0 - o)))

    def excess(u: float) -> float:
        return o * math.tanh(0.5 * u) - (o - 1.0) * u

    from scipy.optimize import root_scalar

    solution = root_scalar(excess, bracket=(least, most), method="brentq", xtol=1e-300, rtol=1e-15)
    return float(solution.root)


def log_sinh(u: float) -> float:
    """Return ln sinh u for u > 0, also where sinh overflows."""
    return u + math.log(-0.5 * math.expm1(-2.0 * u))


def _decades(kind: Kind, order: Real) -> float:
    """Return the logarithm to base 10 of the ratio."""
    o = float(order)
    if kind == "multitask":
        return math.log10(o - 1.0) - 0.5 * math.log10(o * (2.0 - o))
    if kind == "relu":
        return 2.0 * math.log10(2.0 * (o - 1.0)) - 0.5 * math.log10(o**3 * (2.0 - o))
    half = kind == "finetuning-published"
    return (math.log(1.0 if half else 2.0) - log_sinh(growth_at_order(o))) / math.log(10.0)
