"""Limits of learners that are known by the similarities of their inputs alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.limits._certificate import Intercept
from partwhole.limits.costs import Quadratic
from partwhole.limits.fits import Fit
from partwhole.limits.least_cost import least_cost
from partwhole.limits.limit import Limit


@dataclass(frozen=True, eq=False)
class GramLimit:
    """Hold what a kernel machine answers to all inputs, and its limit.

    Parameters
    ----------
    predictions : float array, shape (n,)
    limit : Limit
        Of the training inputs, with its certificate.
    """

    predictions: Float[np.ndarray, " n"]
    limit: Limit


@door(missing=("targets",))
def gram_limit(
    gram: Float[np.ndarray, "n n"],
    targets: Float[np.ndarray, " n"],
    is_train: Bool[np.ndarray, " n"],
    fit: Fit,
    *,
    intercept: Intercept = "none",
    rounding: Real = 1e-12,
) -> GramLimit:
    r"""Find what a kernel machine answers, given the similarities of all inputs.

    Any kernel will do: a network's tangent kernel, that of a wide one, or one that was measured.

    Parameters
    ----------
    gram : float array, shape (n, n)
        Similarity of every two inputs, those to be predicted among them.
    targets : float array, shape (n,)
        Only those of training inputs are used.
    is_train : bool array, shape (n,)
    fit : Equal, Margin or Tube
    intercept : {"none", "free"} or float, keyword-only, default "none"
        As in `least_cost`.
    rounding : float, keyword-only, default 1e-12
        Eigenvalues that are no larger, as a share of the largest, count as 0, once similarities
        are divided by those of inputs with themselves: single precision leaves 1e-7.

    Returns
    -------
    GramLimit

    Raises
    ------
    InputError
        For arrays that don't fit together or aren't finite, a matrix that is not symmetric or
        has negative eigenvalues beyond rounding, and as `least_cost`.

    Examples
    --------
    >>> from partwhole.limits import Equal
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> seen = np.array([True, True, False])
    >>> found = gram_limit(rows @ rows.T, np.array([1.0, 2.0, 0.0]), seen, Equal())
    >>> found.predictions.round(6).tolist()
    [1.0, 2.0, 3.0]
    """
    n = len(gram)
    require(bool(is_train.any()), "some input is trained on", "none", "mark training inputs True")
    # In units in which every input is as similar to itself: no row counts as rounding of others.
    own = np.diagonal(gram)
    unit = np.sqrt(np.where(own > 0.0, own, 1.0))
    alike = gram / unit[:, None] / unit
    largest = float(np.abs(alike).max())
    uneven = float(np.abs(alike - alike.T).max())
    share = max(float(rounding), 64.0 * np.finfo(float).eps)
    require(
        uneven <= share * largest * n,
        "similarities are symmetric",
        f"entries that differ by {float(np.abs(gram - gram.T).max()):.2g}",
        "pass the mean of the matrix and its transpose, or more rounding",
    )
    size, basis = np.linalg.eigh(0.5 * (alike + alike.T))
    require(
        size[0] >= -share * n * max(size[-1], 0.0) - 1e-300,
        "similarities have no negative eigenvalues",
        f"{size[0]:.2g} beside {size[-1]:.2g}, once divided by those with themselves",
        "check the kernel, or pass more rounding",
    )
    kept = size > share * size[-1]
    features = unit[:, None] * basis[:, kept] * np.sqrt(size[kept])
    limit = least_cost(features[is_train], targets[is_train], Quadratic(), fit, intercept=intercept)
    return GramLimit(features @ limit.coefficients + float(limit.intercept), limit)
