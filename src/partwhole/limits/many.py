"""Many least-cost problems at once, over seeds and settings."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._threads import cores
from partwhole.features.design import Design
from partwhole.limits.costs import Cost
from partwhole.limits.fits import Fit
from partwhole.limits.least_cost import Intercept, least_cost
from partwhole.limits.limit import Limit


@door
def least_costs(
    designs: Design | Sequence[Design | Float[np.ndarray, "_ _"]] | Float[np.ndarray, "... n p"],
    targets: Sequence[Float[np.ndarray, " _"]] | Float[np.ndarray, "... n"],
    costs: Cost | Sequence[Cost],
    fit: Fit,
    *,
    intercept: Intercept,
    workers: int | None = None,
    **options: Any,
) -> tuple[Limit, ...]:
    """Find the least-cost functions of many training sets, side by side on all cores.

    Parameters
    ----------
    designs : sequence of Design or float arrays, shapes (n, p)
        The features of each problem, of any sizes; a single one, also as a table or nested lists,
        serves all problems.
    targets : sequence of float arrays, shapes (n,)
        A single one serves all problems too.
    costs : Cost or sequence of Cost
        One for all, or one for each.
    fit : Equal, Margin or Tube
    intercept : {"free", "none"} or float, keyword-only
        As in `least_cost`.
    workers : int, keyword-only, default None
        Problems solved at a time; None for the number of cores this process may use.
    **options
        `solver`, `max_steps` and `tolerance` of `least_cost`.

    Returns
    -------
    tuple of Limit
        In the order of the problems; the same whatever the number of workers.

    Raises
    ------
    InputError
        For numbers of designs, targets and costs that differ and are not 1, and as `least_cost`.

    Examples
    --------
    >>> from partwhole.limits import Equal, HyperbolicEntropy
    >>> inputs, targets = np.array([[1.0, 2.0]]), np.array([2.0])
    >>> costs = [HyperbolicEntropy(width) for width in (100.0, 1e-9)]
    >>> limits = least_costs([inputs], [targets], costs, Equal(), intercept="none")
    >>> [limit.coefficients.round(3).tolist() for limit in limits]
    [[0.4, 0.8], [0.0, 1.0]]
    """
    from threadpoolctl import threadpool_limits

    given = [
        _listed(designs, 2),
        _listed(targets, 1),
        [costs] if isinstance(costs, Cost) else list(costs),
    ]
    sizes = [len(each) for each in given]
    count = max(sizes)
    require(
        all(size in (1, count) for size in sizes) and min(sizes) > 0,
        "there are as many designs, targets and costs, or a single one for all",
        f"{sizes[0]}, {sizes[1]} and {sizes[2]}",
        "pass sequences of one length",
    )
    if workers is None:
        workers = cores()
    whole("workers", workers, 1, "leave it out to use all cores")
    problems = zip(*(each * (count // len(each)) for each in given), strict=True)

    def solve(problem: tuple[Any, Any, Cost]) -> Limit:
        design, wanted, cost = problem
        return least_cost(design, wanted, cost, fit, intercept=intercept, **options)

    # A core for each problem: on sizes like these a product gains nothing from two.
    with threadpool_limits(1), ThreadPoolExecutor(min(workers, count)) as pool:
        return tuple(pool.map(solve, problems))


def _listed(given: Any, axes: int) -> list[Any]:
    """Return several problems' parts as a list, and a single one's in a list."""
    if isinstance(given, Design) or getattr(given, "ndim", 0) == axes:
        return [given]
    return list(given)
