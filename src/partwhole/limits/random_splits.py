r"""Random training sets: how many combinations determine the others.

Learners of order K add up one number for each conjunction of K of C components, and a combination
has :math:`b = \binom{C}{K}` of these. Training has a share p of all combinations, drawn at random.
A row with a conjunction that no other row has only sets that number, and says nothing of its
others: taking such rows away, again and again, leaves a core. Of a set S of K components, a
conjunction is in :math:`m_S` combinations, and one of its rows is tied to the core by others with
the probability

.. math:: \alpha_S = 1 - (1 - q_S)^{m_S - 1}, \qquad q_S = p \prod_{T \ne S} \alpha_T,

the largest solution. So the core has the share :math:`\prod_S \alpha_S` of training's rows, and the
share :math:`1 - (1 - q_S)^{m_S} - m_S q_S (1 - q_S)^{m_S - 1}` of the conjunctions. Sums of fewer
components are sums of conjunctions in several ways, by which those have more numbers than sums have
dimensions. The core's sums are determined once it has as many rows as conjunctions, less these.
Below this critical number of rows training determines hardly any held-out combination, above it
:math:`\prod_S \alpha_S` of them. For two components this is the giant component of a bipartite
graph, which grows from nothing; for more the share jumps.

With many values the critical ratio of rows to dimensions depends on b alone: with
:math:`\alpha = 1 - e^{-x}` and :math:`x = b\,r\,\alpha^{b-1}`, it is r of
:math:`r\,\alpha^b = 1 - e^{-x}(1 + x)`, as in random systems with b unknowns in a row (Dubois &
Mandler, FOCS 2002; Pittel & Sorkin, CPC 2016) and, for C = K + 1, in shadows of random complexes
(Linial & Peled, Annals of Mathematics 2016). That it holds for conjunctions of any order, and the
formulas for few values: derived here, not proved; the study ``overlap.random_splits`` tests them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb, prod

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, NonNegative

CONVERGED, STEPS, NOTHING, SMALLEST = 1e-13, 20_000, 1e-9, 1e-12


@door
def critical_ratio(n_components: Count, order: Count) -> float:
    """Return the critical ratio of training rows to dimensions in the limit of many values.

    Parameters
    ----------
    n_components : int
        C, at least 2.
    order : int
        K, below C.

    Returns
    -------
    float
        1/2 for two components; nearer to 1 the more conjunctions a combination has.

    Raises
    ------
    InputError
        If the order is not below the number of components.

    Examples
    --------
    >>> [round(critical_ratio(*learner), 4) for learner in ((2, 1), (3, 1), (3, 2), (4, 2))]
    [0.5, 0.9179, 0.9179, 0.9974]
    """
    from scipy.optimize import root_scalar  # half of the time of the room's import

    _check(n_components, order)
    b = comb(n_components, order)
    if b == 2:
        return 0.5
    x = root_scalar(
        lambda x: b * (-np.expm1(-x) - x * np.exp(-x)) + x * np.expm1(-x), bracket=(1e-3, 2.0 * b)
    ).root
    return float(x / b / (-np.expm1(-x)) ** (b - 1))


@door
def dimensions(n_values: Sequence[Count], order: Count) -> int:
    r"""Return the dimensions of sums of conjunctions of at most K components.

    .. math:: D = \sum_{|S| \le K} \prod_{c \in S} (n_c - 1)

    Parameters
    ----------
    n_values : sequence of int, length C
    order : int
        K, below C.

    Returns
    -------
    int
        No training set with fewer rows determines all other combinations.

    Raises
    ------
    InputError
        If the order is not below the number of components.

    Examples
    --------
    >>> dimensions((12, 12, 12), 2)
    397
    """
    _check(len(n_values), order)
    return sum(
        prod(n - 1 for n in chosen)
        for k in range(order + 1)
        for chosen in combinations(map(int, n_values), k)
    )


@door
def determined_share(rows: NonNegative, n_values: Sequence[Count], order: Count) -> float:
    """Return the share of held-out combinations that random training rows determine.

    Parameters
    ----------
    rows : float
        Distinct training combinations, drawn at random; at most all.
    n_values : sequence of int, length C
        Numbers of values.
    order : int
        K, below C.

    Returns
    -------
    float
        0 below the critical number of rows.

    Raises
    ------
    InputError
        If the order is not below the number of components, or there are more rows than
        combinations.

    Examples
    --------
    >>> [round(determined_share(rows, (12, 12, 12), 2), 2) for rows in (346, 518, 691)]
    [0.0, 0.93, 0.99]
    """
    _check(len(n_values), order)
    whole = prod(n_values)
    require(
        rows <= whole,
        "training has distinct combinations",
        f"{rows:g} rows of {whole:,} combinations",
        "pass at most all of them",
    )
    return _share(float(rows), tuple(map(int, n_values)), order)


@door
def critical_rows(n_values: Sequence[Count], order: Count) -> int:
    """Return the number of random training rows from which others follow.

    Parameters
    ----------
    n_values : sequence of int, length C
        Numbers of values.
    order : int
        K, below C.

    Returns
    -------
    int
        The smallest number at which `determined_share` is above 1/1000.

    Raises
    ------
    InputError
        If the order is not below the number of components.

    Examples
    --------
    >>> critical_rows((40, 40, 40), 2), dimensions((40, 40, 40), 2), 40**3
    (4278, 4681, 64000)
    """
    _check(len(n_values), order)
    values = tuple(map(int, n_values))
    low, high = 0, prod(values)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _share(float(middle), values, order) > 1e-3 else (middle, high)
    return high


def _check(n_components: int, order: int) -> None:
    require(
        1 <= order < n_components,
        "the order is at least 1 and below the number of components",
        f"{order} for {n_components}",
        "pass such as 1 for two components",
    )


def _share(rows: float, n_values: tuple[int, ...], order: int) -> float:
    sizes = np.array([prod(chosen) for chosen in combinations(n_values, order)], dtype=float)
    whole = float(prod(n_values))
    p, per_conjunction = rows / whole, whole / sizes
    alpha = _tied(p, per_conjunction)
    share = float(alpha.prod())
    if share < NOTHING:
        return 0.0
    q = p * share / alpha
    without = _none_of(per_conjunction, q)
    single = per_conjunction * q * _none_of(per_conjunction - 1.0, q)
    conjunctions = float(sizes @ (1.0 - without - single))
    repeated = float(sizes.sum()) - dimensions(n_values, order)
    return share if rows * share >= conjunctions - repeated else 0.0


def _tied(p: float, per_conjunction: Float[np.ndarray, " b"]) -> Float[np.ndarray, " b"]:
    """Return the largest solution, to which steps from 1 fall."""
    alpha = np.ones(len(per_conjunction))
    for _ in range(STEPS):
        q = p * alpha.prod() / np.maximum(alpha, SMALLEST)
        tied = 1.0 - _none_of(per_conjunction - 1.0, q)
        if np.abs(tied - alpha).max() < CONVERGED or tied.prod() < NOTHING:
            return tied
        alpha = tied
    return alpha


def _none_of(n: Float[np.ndarray, " b"], q: Float[np.ndarray, " b"]) -> Float[np.ndarray, " b"]:
    """Return the probability (1 - q)**n, also where q is less than the rounding of 1."""
    return np.exp(n * np.log1p(-np.minimum(q, 1.0 - SMALLEST)))
