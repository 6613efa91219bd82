"""The contract of a cost, checked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from partwhole._checks import require
from partwhole._contract import Contract
from partwhole._door import door
from partwhole._types import Seed
from partwhole.features.checking import check_design
from partwhole.features.design import Block, DenseDesign, Design, dense_features
from partwhole.limits.costs import Concave, Cost, Squares
from partwhole.limits.costs._cost import Bounds, DualTerm
from partwhole.limits.fits import Equal, Fit, Margin, Tube
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.solve import solve

EXACT = 1e-9  # relative error up to which the two sides of an identity count as equal
STEP = 1e-5  # of a difference quotient, relative to the multipliers
# Relative error of a derivative by differences: a central difference is exact to about STEP**2 and
# to 1e-16 / STEP.
DIFFERENCE = 1e-4
GENERIC = 1e-5  # relative error of a least cost that a search without derivatives finds
SLOPE = 1e-4  # of the cost, over the size of the coefficients: a slope that counts as 0
SEARCHED = 3  # most dimensions in which a search without derivatives is reliable
NEARBY = 1e-6  # distance of neighbouring functions, relative to the largest coefficient


@door
def check_cost(cost: Cost | Concave, design: Design | None = None, *, seed: Seed = 0) -> None:
    r"""Check that a cost has the properties that `solve` relies on.

    Parameters
    ----------
    cost : Cost or Concave
    design : Design, optional
        Features on which the cost is defined; 6 inputs in two blocks of 4 Gaussian features by
        default.
    seed : int, keyword-only, default 0
        Seed of the random multipliers and coefficients at which the cost is checked.

    Raises
    ------
    CheckFailed
        With a sentence for each rule that is broken.
    InputError
        For an object that is neither a `Cost` nor a `Concave`.

    Notes
    -----
    For a convex cost R with conjugate :math:`R^*` the checks are that

    - functions return arrays of the stated shapes and leave their arguments as they are;
    - :math:`R(c) + R^*(A^T v) \ge \langle v, A c\rangle`, with equality at the coefficients that
      `primal` returns for v (Fenchel and Young): value, dual and primal belong together;
    - R and its conjugate are convex, and the conjugate depends on rows and multipliers through
      :math:`A^T v` alone;
    - gradient and Hessian agree with difference quotients of the conjugate, and the Hessian is
      positive semidefinite; for a norm, the functions of its `Bounds` agree with differences;
    - the domain ends where `reach` places its boundary;
    - `solve` succeeds for every fit; with `Equal` no neighbouring function that fits costs less,
      and where the functions that fit have up to 3 dimensions, a search of all of them without
      derivatives ends at the same value.

    For a concave cost the checks are that the touching costs lie above it, touch it, and are
    valid costs themselves, and that `within` does not change coefficients if these are also the
    reference.

    Examples
    --------
    >>> from partwhole.limits import GroupNorm
    >>> check_cost(GroupNorm())
    >>> class Doubled(GroupNorm):
    ...     def value(self, design, coefficients):
    ...         return 2.0 * super().value(design, coefficients)
    >>> try:
    ...     check_cost(Doubled())
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[1][:81])
    - value plus dual equals the product with the outputs at the coefficients of prim
    """
    require(
        isinstance(cost, Cost | Concave),
        "a cost has value, dual and primal, or value, touching and within",
        f"{type(cost).__name__} without",
        "write them, or conjugate in a subclass of ConjugateCost",
    )
    rng = np.random.default_rng(seed)
    if design is None:
        blocks = (Block("first", 0, 4), Block("second", 4, 8))
        design = DenseDesign(rng.normal(size=(6, 8)), blocks)
    else:
        check_design(design)
    contract = Contract(f"the cost {type(cost).__name__}")
    with contract.trying("the cost is defined on the design"):
        if isinstance(cost, Concave):
            _check_concave(contract, cost, design, rng)
        else:
            _check_convex(contract, cost, design, rng)
    if not contract.breaches:
        with contract.trying("solve succeeds"):
            _check_limits(contract, cost, design, rng)
    contract.close()


def _check_convex(contract: Contract, cost: Cost, design: Design, rng: np.random.Generator) -> None:
    n, p = design.shape
    coefficients = [size * rng.normal(size=p) for size in (0.1, 1.0, 10.0)]
    multipliers = list(_feasible_multipliers(cost, design, rng))
    for c in coefficients:
        value = contract.pure("value", cost.value, design, c)
        contract.keeps(
            isinstance(value, float) and not np.isnan(value), "value is a float", repr(value)
        )
    for v in multipliers:
        at = contract.pure("dual", cost.dual, design, v)
        shapes = (np.shape(at.gradient), np.shape(at.hessian()))
        contract.keeps(
            shapes == ((n,), (n, n)),
            f"gradient and Hessian have shapes {(n,)} and {(n, n)}",
            shapes,
        )
        points = [*coefficients, *_conjugate_coefficients(cost, design, v)]
        for c in points:
            room = cost.value(design, c) + at.value - float(v @ (design @ c))
            size = (
                abs(cost.value(design, c)) + abs(at.value) + float(np.abs(v) @ np.abs(design @ c))
            )
            contract.keeps(
                room >= -EXACT * size,
                "value plus dual is at least the product of multipliers and outputs",
                f"{room:.3g} less",
            )
        for c in points[len(coefficients) :]:
            contract.keeps(np.shape(c) == (p,), f"primal has shape {(p,)}", np.shape(c))
            contract.agrees(
                "value plus dual equals the product with the outputs at the coefficients of primal",
                cost.value(design, c) + at.value, float(v @ (design @ c)), EXACT,
            )  # fmt: skip
        if at.bounds is None:
            _check_smooth(contract, cost, design, v, at, rng)
        else:
            _check_bounds(contract, cost, design, v, at.bounds, rng)
    for first, second in pairwise(coefficients):
        ends = 0.5 * (cost.value(design, first) + cost.value(design, second))
        middle = cost.value(design, 0.5 * (first + second))
        contract.keeps(
            middle <= ends + EXACT * abs(ends), "value is convex", f"{middle - ends:.3g} above"
        )
    for first, second in pairwise(multipliers):
        ends = 0.5 * (cost.dual(design, first).value + cost.dual(design, second).value)
        middle = cost.dual(design, 0.5 * (first + second)).value
        contract.keeps(
            middle <= ends + EXACT * abs(ends), "the dual is convex", f"{middle - ends:.3g} above"
        )
    if isinstance(design, DenseDesign):
        mixed = rng.normal(size=(n, n))
        recombined = DenseDesign(mixed @ design.matrix, design.blocks)
        for v in multipliers:
            contract.agrees(
                "the dual depends on rows and multipliers through their products alone",
                cost.dual(recombined, v @ np.linalg.inv(mixed)).value, cost.dual(design, v).value,
                1e3 * EXACT,
            )  # fmt: skip
    if isinstance(cost, Squares):
        _check_squares(contract, cost, design, rng)


def _feasible_multipliers(
    cost: Cost, design: Design, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield multipliers in the domain of the conjugate: near 0, and near its boundary."""
    n = design.shape[0]
    for share in (0.13, 0.91, 2.9):
        v = rng.normal(size=n)
        bounds = cost.dual(design, np.zeros(n)).bounds
        if bounds is not None:
            v *= min(share, 1.0) * bounds.reach(v)
        else:
            v *= share / max(float(np.abs(design.adjoint(v)).max(initial=0.0)), 1e-300)
            # A domain that is much wider: near 0 its conjugate differs from 0 by rounding alone.
            reach = cost.dual(design, np.zeros(n)).reach(v)
            if 1.0 < reach < np.inf:
                v *= min(share, 0.9) * reach
        for _ in range(60):
            if np.isfinite(cost.dual(design, v).value):
                break
            v *= 0.5
        yield v


def _conjugate_coefficients(cost: Cost, design: Design, v: np.ndarray) -> Iterator[np.ndarray]:
    """Yield coefficients at which value and dual are conjugate; for a norm, on its bounds."""
    bounds = cost.dual(design, v).bounds
    if bounds is None:
        yield cost.primal(design, v, None)
        return
    sizes, basis = np.linalg.eigh(bounds.room)
    prices = np.zeros_like(bounds.room)
    for group, place in zip(*np.nonzero(np.abs(sizes) < EXACT), strict=True):
        direction = basis[group, :, place]
        prices[group] += np.outer(direction, direction)
    yield cost.primal(design, v, prices)


def _check_smooth(
    contract: Contract,
    cost: Cost,
    design: Design,
    v: np.ndarray,
    at: DualTerm,
    rng: np.random.Generator,
) -> None:
    hessian = at.hessian()
    contract.agrees(
        "the gradient of the dual is the outputs of the coefficients of primal",
        at.gradient, design @ cost.primal(design, v, None), EXACT,
    )  # fmt: skip
    contract.agrees("the Hessian is symmetric", hessian, hessian.T, EXACT)
    sizes = np.linalg.eigvalsh(hessian)
    contract.keeps(
        sizes[0] >= -EXACT * abs(sizes[-1]),
        "the Hessian is positive semidefinite", f"an eigenvalue of {sizes[0]:.3g}",
    )  # fmt: skip
    step = STEP * float(np.abs(v).max()) * rng.normal(size=len(v))
    up, down = cost.dual(design, v + step), cost.dual(design, v - step)
    contract.agrees(
        "the gradient is that of the dual's value, by differences",
        (up.value - down.value) / 2.0, float(at.gradient @ step), DIFFERENCE,
    )  # fmt: skip
    contract.agrees(
        "the Hessian is that of the dual's value, by differences of the gradient",
        (up.gradient - down.gradient) / 2.0, hessian @ step, DIFFERENCE,
    )  # fmt: skip
    if at.is_quadratic:
        contract.agrees(
            "is_quadratic is said of a dual whose Hessian is the same everywhere",
            cost.dual(design, 2.0 * v).hessian(), hessian, EXACT,
        )  # fmt: skip
    contract.keeps(
        at.reach(step) > 0.0, "reach is a length above 0 along any direction", at.reach(step)
    )


def _check_bounds(
    contract: Contract,
    cost: Cost,
    design: Design,
    v: np.ndarray,
    bounds: Bounds,
    rng: np.random.Generator,
) -> None:
    n = len(v)
    groups, rows, _ = bounds.room.shape

    def room(v: np.ndarray) -> np.ndarray:
        at_v = cost.dual(design, v).bounds
        assert at_v is not None
        return at_v.room

    roots = rng.normal(size=(2, groups, rows, rows))
    prices, scalings = roots @ roots.swapaxes(-1, -2)
    contract.agrees(
        "the outputs of prices are those of primal",
        bounds.outputs(prices), design @ cost.primal(design, v, prices), EXACT,
    )  # fmt: skip
    step = STEP * float(np.abs(v).max()) * rng.normal(size=n)
    change = 0.5 * (room(v + step) - room(v - step))
    contract.agrees(
        "slope is that of the room, by differences", bounds.slope(step), change, DIFFERENCE
    )
    contract.agrees(
        "outputs are the slope of the priced room, by differences",
        float(bounds.outputs(prices) @ step), -float(np.sum(prices * change)), DIFFERENCE,
    )  # fmt: skip
    forward = cost.dual(design, v + step).bounds
    backward = cost.dual(design, v - step).bounds
    assert forward is not None
    assert backward is not None
    contract.agrees(
        "curvature holds the second derivatives of the priced room, by differences",
        bounds.curvature(prices, 0.0 * prices) @ step,
        0.5 * (forward.outputs(prices) - backward.outputs(prices)), DIFFERENCE,
    )  # fmt: skip
    slopes = [bounds.slope(direction) for direction in np.eye(n)]
    products = [
        [float(np.sum((scalings @ row_slope @ scalings) * column_slope)) for column_slope in slopes]
        for row_slope in slopes
    ]
    contract.agrees(
        "curvature adds the scaled products of the room's slopes",
        bounds.curvature(0.0 * prices, scalings), products, EXACT,
    )  # fmt: skip
    end, beyond = bounds.reach(step), 1e-3 * float(np.abs(v).max() / np.abs(step).max())
    if end <= beyond or float(np.linalg.eigvalsh(bounds.room).min()) < EXACT:
        return  # at the bounds already
    inside, outside = (cost.dual(design, v + t * step) for t in (end - beyond, end + beyond))
    contract.keeps(
        inside.value == 0.0 and outside.value == np.inf,
        "the domain ends where reach says: the dual is 0 before and infinite beyond",
        f"{inside.value:g} before, {outside.value:g} beyond",
    )


def _check_squares(
    contract: Contract, cost: Squares, design: Design, rng: np.random.Generator
) -> None:
    features = cost.features(design)
    if features is None:
        return
    x = features.T @ rng.normal(size=len(features))
    coefficients = cost.from_features(design, x)
    contract.agrees(
        "coefficients from other features have their outputs",
        design @ coefficients, features @ x, EXACT,
    )  # fmt: skip
    contract.agrees(
        "the cost is half the squared length in other features",
        cost.value(design, coefficients), 0.5 * float(x @ x), EXACT,
    )  # fmt: skip


def _check_concave(
    contract: Contract, cost: Concave, design: Design, rng: np.random.Generator
) -> None:
    p = design.shape[1]
    first = cost.touching(design, None)
    contract.keeps(isinstance(first, Cost), "the first touching cost is a Cost", repr(first))
    for turn in range(2):
        c = rng.normal(size=p)
        touching = contract.pure("touching", cost.touching, design, c, turn)
        contract.agrees(
            "within leaves coefficients as they are beside themselves",
            contract.pure("within", cost.within, design, c, c), c, EXACT,
        )  # fmt: skip
        _check_convex(contract, touching, design, rng)
        for size in (1e-6, 0.1, 1.0, 10.0):
            nearby = c + size * rng.normal(size=p)
            rise = touching.value(design, nearby) - touching.value(design, c)
            least = cost.value(design, nearby) - cost.value(design, c)
            total = abs(rise) + abs(least) + abs(cost.value(design, c))
            contract.keeps(
                rise >= least - EXACT * total,
                "a touching cost lies above the cost", f"{least - rise:.3g} below",
            )  # fmt: skip


def _check_limits(
    contract: Contract, cost: Cost | Concave, design: Design, rng: np.random.Generator
) -> None:
    targets = design @ rng.normal(size=design.shape[1])
    fits: tuple[Fit, ...] = (Equal(), Equal(0.1), Margin(), Margin(0.1), Tube(0.1), Tube(0.1, 0.1))
    success = Outcome.STATIONARY if isinstance(cost, Concave) else Outcome.SOLVED
    for fit in fits:
        values = np.sign(targets) if isinstance(fit, Margin) else targets
        limit = solve((design, values), cost=cost, fit=fit, intercept="none")
        contract.keeps(
            limit.outcome is success, f"solve with {fit} ends {success.name}", limit.outcome.name
        )
    limit = solve((design, targets), cost=cost, intercept="none")
    if limit.outcome is success:
        _check_generic(contract, cost, design, limit, rng)


def _check_generic(
    contract: Contract,
    cost: Cost | Concave,
    design: Design,
    limit: Limit,
    rng: np.random.Generator,
) -> None:
    """Check the least cost against functions that fit, compared without any derivative."""
    features = dense_features(design)
    _, sizes, basis = np.linalg.svd(features)
    free = basis[int(np.sum(sizes > 1e-10 * sizes[0])) :]
    if not len(free):
        return
    size = float(np.abs(limit.coefficients).max(initial=0.0)) or 1.0
    sure = not isinstance(cost, Concave) and len(free) <= SEARCHED

    def value(z: np.ndarray) -> float:
        return cost.value(design, limit.coefficients + size * (z @ free))

    best = min(value(NEARBY * direction) for direction in rng.normal(size=(100, len(free))))
    contract.keeps(
        best >= limit.value - SLOPE * NEARBY * abs(limit.value),
        "no function nearby that fits costs less than the one that solve returns",
        f"{best:.12g} where it returns {limit.value:.12g}",
    )
    if not sure:
        return
    start, best = rng.normal(size=len(free)), np.inf
    for _ in range(20):
        from scipy.optimize import minimize

        search = minimize(
            value, start, method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12 * abs(limit.value), "maxiter": 2000},
        )  # fmt: skip
        if search.fun >= best - 1e-9 * abs(best):
            break
        best, start = float(search.fun), search.x
    contract.agrees(
        "a search without derivatives ends at the least cost", best, limit.value, GENERIC
    )
