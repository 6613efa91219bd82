"""Where an attribute lies between the two values of a concept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Real

Mean = Real | Sequence[Real] | Float[np.ndarray, " k"]
# As a share of the way: a law of a smaller spread is a step.
Spread = Annotated[Real, Bounds(at_least=1e-6)]


@door(missing=("attribute",))
def between(
    attribute: Float[np.ndarray, "*batch k"],
    first: Mean,
    second: Mean,
    *,
    law: Literal["linear", "logistic"] = "linear",
    spread: Spread = 0.15,
) -> Float[np.ndarray, "*batch"]:
    r"""Return where attributes lie between a concept's two values, 0 at the first, 1 at the second.

    With the attribute a and the means :math:`m_0, m_1` of the values,

    .. math::
        t = \frac{\langle a - m_0, m_1 - m_0 \rangle}{\|m_1 - m_0\|^2}, \qquad
        C = \min(\max(t, 0), 1) \quad \text{or} \quad
        C = \frac{1}{1 + e^{-(t - 1/2) / \text{spread}^2}}.

    The second is the probability of the second value where both are equally frequent and t is
    normal about 0 and 1 with the deviation `spread`.

    Parameters
    ----------
    attribute : float array, shape (..., k)
        A colour has k=3 entries, a size has one.
    first, second : float arrays, shape (k,), or floats
        The two means.
    law : {"linear", "logistic"}, keyword-only, default "linear"
        "linear" measures how far an image has moved, "logistic" which value it has.
    spread : float, keyword-only, default 0.15
        In units of the distance between the means; only for the logistic law.

    Returns
    -------
    float array, shape (...)
        In 0..1.

    Raises
    ------
    InputError
        For means that are equal or not finite or have another length than the attribute, a spread
        that is not positive, or a law that does not exist.

    Notes
    -----
    Derived here. A classifier's probabilities serve as well; saturated ones contain little
    information on speed, for which the linear law is better.

    Examples
    --------
    >>> sizes = np.array([[0.65], [0.45], [0.35], [0.2]])
    >>> between(sizes, 0.65, 0.25).round(2).tolist()
    [0.0, 0.5, 0.75, 1.0]
    >>> between(sizes, 0.65, 0.25, law="logistic", spread=0.25).round(3).tolist()
    [0.0, 0.5, 0.982, 1.0]
    """
    values = np.asarray(attribute, dtype=float)
    low, high = (np.atleast_1d(np.asarray(mean, dtype=float)) for mean in (first, second))
    require(
        low.shape == high.shape == values.shape[-1:],
        "the two means have the entries of the attribute",
        f"shapes {low.shape} and {high.shape} for {values.shape[-1:]}",
        "pass three numbers for a colour and one for a size",
    )
    difference = high - low
    square = difference @ difference
    require(
        np.isfinite(square) and square > 0,
        "the two means differ, and are finite",
        f"{low.tolist()} and {high.tolist()}",
        "pass the means of the concept's two values",
    )
    place = (values - low) @ difference / square
    if law == "linear":
        return np.asarray(np.clip(place, 0.0, 1.0))
    return np.asarray(expit((place - 0.5) / float(spread) ** 2))
