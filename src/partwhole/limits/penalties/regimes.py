"""Lazy, nested or rich: the regime of a penalty by its order and feature dependence."""

from __future__ import annotations

from typing import overload

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number, Real
from partwhole.limits.penalties._inputs import together


@overload
def regime(
    order: Real,
    feature_dependence: Real,
    *,
    lazy_above: Real = 1.9,
    rich_below: Real = 1.1,
    reuse_below: Real = -0.1,
) -> str: ...
@overload
def regime(
    order: Float[np.ndarray, "..."],
    feature_dependence: Float[np.ndarray, "..."],
    *,
    lazy_above: Real = 1.9,
    rich_below: Real = 1.1,
    reuse_below: Real = -0.1,
) -> np.ndarray: ...
@door
def regime(
    order: Number,
    feature_dependence: Number,
    *,
    lazy_above: Real = 1.9,
    rich_below: Real = 1.1,
    reuse_below: Real = -0.1,
) -> str | np.ndarray:
    r"""Return the name of the regime of a penalty.

    Parameters
    ----------
    order, feature_dependence : float or float array
        The fields of a `PenaltyProfile`.
    lazy_above : float, keyword-only, default 1.9
        Lazy above this order: features are reused, and few features are not preferred.
    rich_below : float, keyword-only, default 1.1
        Rich below this order, unless features are reused: few features are preferred, and
        pretrained ones are not reused.
    reuse_below : float, keyword-only, default -0.1
        Features count as reused at or below this dependence.

    Returns
    -------
    {"lazy", "nested", "rich"}, or array of str
        Nested is everything in between: features are reused, and few of them are preferred. Where
        a larger pretrained feature costs more (a ReLU unit that must change its direction),
        nothing is reused and the regime is rich.

    Raises
    ------
    InputError
        For numbers that are not finite, as at the coefficient from which finetuning starts; for
        shapes that don't broadcast; and for bounds in the wrong order.

    Notes
    -----
    The regimes are those of Lippl & Lindsey (NeurIPS 2024); the bounds are ours.

    Examples
    --------
    >>> regime(1.4, -0.4)
    'nested'
    """
    low, high = float(rich_below), float(lazy_above)
    require(low < high, "rich_below is less than lazy_above", f"{low:g} and {high:g}", "swap them")
    powers = together(order, feature_dependence)
    fresh = (powers[0] < low) & (powers[1] > float(reuse_below))
    regimes = np.where(powers[0] > high, "lazy", np.where(fresh, "rich", "nested"))
    return str(regimes) if regimes.ndim == 0 else regimes
