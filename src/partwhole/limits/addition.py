r"""Memorization leak: symbolic addition in closed form.

A kernel learner answers unseen sums with a compressed copy of the truth: part of each training
target is stored in the memorization unit, which no unseen combination can use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Number, Real
from partwhole.features.overlap import OverlapKernel
from partwhole.limits.penalties._inputs import together
from partwhole.limits.problem import Intercept, require_intercept


@overload
def memorization_leak(
    salience: Real, n_anchors: Count, *, memorization: Real | None = None
) -> float: ...
@overload
def memorization_leak(
    salience: np.ndarray, n_anchors: Count, *, memorization: Number | None = None
) -> np.ndarray: ...
@door
def memorization_leak(
    salience: Number, n_anchors: Count, *, memorization: Number | None = None
) -> Number:
    r"""Return the slope of unseen sums in symbolic addition with two components.

    .. math:: m = \frac{p\,S}{p\,S + S_{12}} = \frac{p\,S}{1 + (p - 2)\,S}

    Parameters
    ----------
    salience : float or float array
        S(1; 2), the salience of the component whose slope is returned; 0..1/2 when both
        components have the same salience.
    n_anchors : int
        p, the number of anchors of the other component; at least 1.
    memorization : float or float array, keyword-only, optional
        :math:`S_{12}`, the salience of the full pair; :math:`1 - 2S` by default.

    Returns
    -------
    float or float array
        m; the prediction for an unseen pair is m times the true sum if values and anchors have
        mean 0, and has this slope for any means.

    Raises
    ------
    InputError
        When `n_anchors` is below 1 or a salience is outside its range.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), proposition 5.1 and equation 3; unequal saliences and
    unequal numbers of anchors derived here.

    Examples
    --------
    >>> round(memorization_leak(salience=0.4, n_anchors=1), 4)
    0.6667
    """
    single = np.asarray(salience, dtype=float)
    single, top = together(single, 1.0 - 2.0 * single if memorization is None else memorization)
    require(
        bool(np.all(single >= 0)) and bool(np.all(top >= -1e-12)),
        "with two components saliences are at least 0 and S(1;2) at most 1/2",
        _span(single),
        "pass the salience of a single component",
    )
    seen_salience = n_anchors * single
    below = seen_salience + top
    slope = np.divide(seen_salience, below, out=np.zeros_like(below), where=below > 0)
    return float(slope) if np.ndim(slope) == 0 else slope


@overload
def effective_salience(slope: Real, n_anchors: Count) -> float: ...
@overload
def effective_salience(slope: np.ndarray, n_anchors: Count) -> np.ndarray: ...
@door(missing=("slope",), empty=("slope",))
def effective_salience(slope: Number, n_anchors: Count) -> Number:
    r"""Return the salience S(1; 2) of which a measured slope is the memorization leak.

    .. math:: S = \frac{m}{p + 2m - p\,m}

    Parameters
    ----------
    slope : float or float array
        m, 0..1; NaN (for runs that did not learn) stays NaN.
    n_anchors : int
        p, at least 1.

    Returns
    -------
    float or float array

    Raises
    ------
    InputError
        When `n_anchors` is below 1 or a slope is outside 0..1, which no salience explains.

    See Also
    --------
    partwhole.measures.runs.over_runs : mean and interval over runs that differ in their seed.

    Notes
    -----
    Derived here from equation 3 of Lippl & Stachenfeld (ICLR 2025).

    Examples
    --------
    >>> round(effective_salience(0.553, n_anchors=1), 3)
    0.356
    """
    m = np.asarray(slope, dtype=float)
    require(
        not np.any((m < 0) | (m > 1)),
        "a leak slope lies in 0..1; a fixed representation only compresses",
        _span(m[~np.isnan(m)]),
        "look at networks that learn their features",
    )
    salience = m / (n_anchors + 2.0 * m - n_anchors * m)
    return float(salience) if salience.ndim == 0 else salience


def _span(numbers: np.ndarray) -> str:
    """Return the range of numbers in words."""
    return f"{numbers.min():g}..{numbers.max():g}" if numbers.size else "none"


@dataclass(frozen=True, eq=False)
class AdditionLaw:
    r"""Answers of a kernel learner to unseen sums: :math:`\sum_c m_c v_c + const`.

    Parameters
    ----------
    slopes : float array, shape (C,)
        m_c for each component.
    intercept : float
        The constant; 0 when values and anchors have mean 0.
    anchor_slopes : float array, shape (C,)
        Slope of the component's additive part (f_S with S = {c}) over its anchors.
    """

    slopes: Float[np.ndarray, " C"]
    intercept: float
    anchor_slopes: Float[np.ndarray, " C"]

    @door(empty=("values",))
    def __call__(self, values: Float[np.ndarray, "n C"]) -> Float[np.ndarray, " n"]:
        """Return the predictions for unseen combinations of non-anchor values."""
        require(
            values.shape[1] == len(self.slopes),
            f"a row has a value of each of {len(self.slopes)} components",
            f"shape {values.shape}",
            "pass one column for each component",
        )
        return values @ self.slopes + self.intercept


@door
def addition_law(
    values: Sequence[Sequence[Real]],
    anchors: Sequence[Sequence[Real]],
    kernel: OverlapKernel,
    *,
    intercept: Intercept,
) -> AdditionLaw:
    r"""Return the law of symbolic addition for any number of components, anchors and saliences.

    Every tuple with at least one anchor is seen. The *type* t of a tuple is the set of its
    components that are anchors. The dual coefficients are
    :math:`a(z) = \sum_c (v_c - \bar v_c(t)) h_c(t) + h_0(t)`, because deviations from a type's
    mean sum to 0 over every set of tuples that shares the other components. So only
    :math:`2^C - 1` numbers are unknown for each slope, one for each seen type: with
    :math:`N_d(t)` the number of values of component d that are (or are not) anchors,

    .. math:: \sum_{S \ni c} \sigma_S \sum_{t'_S = t_S} h_c(t') \prod_{d \notin S} N_d(t') = 1,
              \qquad
              m_c = \sum_{S \ni c} \sigma_S \sum_{t'_S = u_S} h_c(t') \prod_{d \notin S} N_d(t')

    over seen types t', with u the type without anchors. The types' means obey

    .. math:: \sum_S \sigma_S \sum_{t'_S = t_S} h_0(t') \prod_{d \notin S} N_d(t') + b
              = \sum_c \bar v_c(t), \qquad
              \sum_{t'} h_0(t') \prod_d N_d(t') = \lambda b

    (:math:`\lambda = 0` for a free intercept, no b for none).

    Parameters
    ----------
    values : sequence of C sequences of float
        Values of each component.
    anchors : sequence of C sequences of float
        Anchors of each component, among its values.
    kernel : OverlapKernel
        With nonzero top coefficient; saliences may differ between sets.
    intercept : {"free", "none"} or float, keyword-only
        As in `solve`.

    Returns
    -------
    AdditionLaw

    Raises
    ------
    InputError
        When an anchor is not a value, every value is an anchor, or the full conjunction has no
        salience (then the additive fit is exact and the slopes are 1).

    Notes
    -----
    Derived here; for two components the slopes are those of proposition 5.1 of Lippl &
    Stachenfeld (ICLR 2025) and its generalisations.

    Examples
    --------
    >>> five = [-2, -1, 0, 1, 2]
    >>> kernel = OverlapKernel.from_salience([0.2, 0.05])
    >>> law = addition_law([five] * 3, [[0]] * 3, kernel, intercept="free")
    >>> law.slopes.round(6).tolist()
    [0.80916, 0.80916, 0.80916]
    """
    n_components = kernel.n_components
    require(
        len(values) == n_components and len(anchors) == n_components,
        "values and anchors need one list for each component of the kernel",
        f"{len(values)} and {len(anchors)} for {n_components} components",
        "repeat shared lists",
    )
    require(
        kernel.top > 1e-14 * kernel.range,
        "the law needs a salient full conjunction",
        f"a top coefficient of {kernel.top:g}",
        "without one unseen sums are exact where the additive part is determined",
    )
    require_intercept(intercept)
    groups = []
    for own_values, own_anchors in zip(values, anchors, strict=True):
        numbers, chosen = np.asarray(own_values, float), np.asarray(own_anchors, float)
        is_anchor = np.isin(numbers, chosen)
        require(
            bool(np.isin(chosen, numbers).all()) and not is_anchor.all(),
            "anchors must be among the values, and leave a value that is none",
            f"anchors {list(own_anchors)}, values {list(own_values)}",
            "choose anchors from the values",
        )
        groups.append((numbers[~is_anchor], numbers[is_anchor]))
    counts = np.array(
        [[len(other_values), len(anchor_values)] for other_values, anchor_values in groups],
        dtype=float,
    )
    means = np.array([[g.mean() if len(g) else 0.0 for g in pair] for pair in groups])

    types = np.arange(1 << n_components)
    bits = types[:, None] >> np.arange(n_components) & 1
    size = counts[np.arange(n_components), bits]
    # share[S] is the weight of S where two types agree on S, times the number of tuples of the
    # second type that have the same values on S.
    share = np.empty((len(types), len(types), len(types)))
    for mask in types:
        agree = ((types[:, None] ^ types[None, :]) & mask) == 0
        outside = np.prod(np.where(mask >> np.arange(n_components) & 1, 1.0, size), axis=1)
        share[mask] = kernel.sigma[mask] * agree * outside
    seen_types = np.array([t for t in types if t > 0 and np.prod(size[t]) > 0], dtype=int)
    require(
        len(seen_types) > 0,
        "some component needs an anchor",
        "none",
        "without anchors no sum is seen",
    )

    slopes, anchor_slopes = np.zeros(n_components), np.zeros(n_components)
    for c in range(n_components):
        with_c = (types >> c & 1).astype(bool)
        system = share[with_c].sum(axis=0)
        h = np.linalg.solve(system[np.ix_(seen_types, seen_types)], np.ones(len(seen_types)))
        slopes[c] = float(system[0, seen_types] @ h)
        alone = share[1 << c]
        anchor_slopes[c] = float(alone[1 << c, seen_types] @ h)

    everything = share[1:].sum(axis=0)
    if intercept == "free":
        total = np.zeros_like(everything)
    else:
        constant = kernel.sigma[0]
        if not isinstance(intercept, str):
            constant = constant + 1.0 / float(intercept)
        total = constant * np.prod(size, axis=1)[None, :] * np.ones((len(types), 1))
    level = means[np.arange(n_components), bits].sum(axis=1)
    system = (everything + total)[np.ix_(seen_types, seen_types)]
    right = level[seen_types]
    if intercept == "free":
        weights = np.prod(size, axis=1)[seen_types]
        system = np.block(
            [[system, np.ones((len(seen_types), 1))], [weights[None, :], np.zeros((1, 1))]]
        )
        solved = np.linalg.solve(system, np.append(right, 0.0))
        h, b = solved[:-1], float(solved[-1])
    else:
        h, b = np.linalg.solve(system, right), 0.0
    at_rest = float((everything + total)[0, seen_types] @ h) + b
    return AdditionLaw(slopes, at_rest - float(slopes @ means[:, 0]), anchor_slopes)
