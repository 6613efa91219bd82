r"""The cost that gradient flow in a diagonal linear network of any depth minimises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, NonNegative, Positive
from partwhole.features.design import Design
from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.costs._product_flow import ProductFlow
from partwhole.limits.costs.conjugate_cost import (
    DOUBLINGS,
    ROOT_TOLERANCE,
    Conjugate,
    ConjugateCost,
)

# Products of twelve weights of a size within these bounds, and their squares, are numbers.
Depth = Annotated[int, Bounds(at_least=2, at_most=12)]
LEAST, LARGEST, LARGEST_COEFFICIENT = 1e-12, 1e12, 1e60
# Share of the way to the end of a pathway's flow that a step of the multipliers may go.
SHARE = 0.9
HALVINGS = 200  # to rounding, from any bracket


@door
@dataclass(frozen=True, eq=False)
class DeepEntropy(ConjugateCost):
    r"""Cost that gradient flow in a diagonal linear network of depth D minimises.

    .. math:: f(x) = \sum_d \beta_d x_d, \qquad
              \beta = w_1^+ \circ \dots \circ w_D^+ - w_1^- \circ \dots \circ w_D^-

    .. math:: R^*(u) = \tfrac12 \sum_d \left[ b_d^+(u_d)^2 - b_d^+(0)^2
                       + b_d^-(-u_d)^2 - b_d^-(0)^2 \right]

    with :math:`b^\pm` the smallest weight of a feature's pathway after the force s:

    .. math:: s = \int_{b(0)}^{b(s)} \prod_{m=2}^{D} (t^2 + \kappa_m)^{-1/2}\, dt, \qquad
              \kappa_m = w_m^2 - b^2 ,

    where weights are those at the start of training.

    Parameters
    ----------
    plus, minus : float arrays, shape (D,) or (D, d)
        Initial weights of the positive and of the negative pathway, layer by layer; the same for
        all features, or one for each. Two layers or more.

    Raises
    ------
    InputError
        For shapes that don't fit, weights that are too small or large, pathways that cannot learn
        because two weights are 0, and coefficients that cannot grow on one side of 0, because the
        smallest weights of both pathways are equal in size to others.

    Notes
    -----
    Exact for any initial weights, when gradient flow ends at a loss of zero: the force
    :math:`s = -\int_0^t \partial L / \partial \beta` stays in the span of the training rows, and
    each coefficient rises with its force, so that :math:`s = A^T v` is the condition for a minimum
    of this cost. For two layers it is `HyperbolicEntropy`. From equal weights of three layers or
    more it is the cost of Woodworth et al. (COLT 2020, theorem 3); for other weights derived here.

    Examples
    --------
    Small weights prefer few features, the more so the deeper the network:

    >>> from partwhole import solve
    >>> sample = np.array([[1.0, 1.5]]), np.array([1.5])
    >>> for depth in (2, 3, 4):
    ...     cost = DeepEntropy.from_scale(0.3, depth=depth)
    ...     print(solve(sample, cost=cost, intercept="none").coefficients.round(3))
    [0.356 0.763]
    [0.162 0.892]
    [0.049 0.967]
    """

    plus: Float[np.ndarray, "D *d"]
    minus: Float[np.ndarray, "D *d"]

    def __post_init__(self) -> None:
        shapes = self.plus.shape, self.minus.shape
        require(
            len(shapes[0]) in (1, 2) and 2 <= shapes[0][0] <= 12,
            "both pathways have weights of shape (D,) or (D, d), in 2 to 12 layers",
            f"shapes {shapes[0]} and {shapes[1]}",
            "stack the layers along the first axis",
        )
        sizes = np.abs(np.stack([self.plus, self.minus]))
        outside = (sizes > LARGEST) | ((sizes < LEAST) & (sizes > 0.0))
        require(
            not outside.any(),
            f"weights are 0 or of a size from {LEAST:g} to {LARGEST:g}",
            f"{int(outside.sum())} that are not",
            "take other units of inputs or targets",
        )
        stuck = sum(
            (np.sort(np.abs(np.atleast_2d(part.T)), axis=1)[:, 1] == 0).sum()
            for part in (self.plus, self.minus)
        )
        require(
            stuck == 0,
            "at most one weight of a pathway is 0, as otherwise nothing is learned",
            f"{stuck} {'pathway' if stuck == 1 else 'pathways'} with more",
            "begin from small weights",
        )
        plus, minus = self._flows
        one_sided = ~((plus.rises | minus.falls) & (plus.falls | minus.rises))
        require(
            not one_sided.any(),
            "coefficients can grow on both sides of 0",
            f"{int(one_sided.sum())} that cannot, because no pathway has their sign",
            "begin from pathways of equal signs, or with one smallest layer",
        )

    @classmethod
    @door
    def from_scale(cls, scale: Positive, *, depth: Depth) -> DeepEntropy:
        """Return the cost of a network whose weights all start from one value.

        Parameters
        ----------
        scale : float
            Alpha, from 1e-12 to 1e12.
        depth : int, keyword-only
            D, from 2 to 12.

        Returns
        -------
        DeepEntropy
        """
        weights = np.full(depth, float(scale))
        return cls(weights, weights.copy())

    @classmethod
    @door
    def after_finetuning(
        cls,
        pretrained: Float[np.ndarray, " d"],
        *,
        depth: Depth,
        readout_scale: NonNegative,
        init_scale: Positive,
        rescale: Positive = 1.0,
    ) -> DeepEntropy:
        r"""Return the cost of finetuning a network whose pretraining ended at zero loss.

        Parameters
        ----------
        pretrained : float array, shape (d,)
            Coefficients of the auxiliary task, :math:`\beta_{aux}`.
        depth : int, keyword-only
            D, from 2 to 12.
        readout_scale : float, keyword-only
            :math:`\gamma`, the value to which the last layer is reset, at least 0.
        init_scale : float, keyword-only
            :math:`\alpha`, from 1e-12 to 1e12: the weights from which pretraining started.
        rescale : float, keyword-only, default 1
            c, above 0: the factor of all other layers between pretraining and finetuning.

        Returns
        -------
        DeepEntropy

        Notes
        -----
        As `HyperbolicEntropy.after_finetuning`, which is the case of two layers.
        """
        pathways = pretrained_weights(pretrained, depth=depth, init_scale=init_scale)
        readout = np.full((1, len(pretrained)), float(readout_scale))
        layers = [np.tile(float(rescale) * w, (depth - 1, 1)) for w in pathways]
        return cls(*(np.vstack([hidden, readout]) for hidden in layers))

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the cost of coefficients."""
        plus, minus = self._of_features(design)

        def excess(u: np.ndarray, wanted: np.ndarray, place: np.ndarray) -> np.ndarray:
            some, others = plus.among(place), minus.among(place)
            return some.at(u).product - others.at(-u).product - wanted

        every, begin = np.arange(len(coefficients)), np.zeros(len(coefficients))
        rises = excess(begin, coefficients, every) < 0.0
        end = np.where(rises, *reversed(_domain(plus, minus)))
        bounded, side = np.isfinite(end), np.where(rises, 1.0, -1.0)
        end, far = np.where(bounded, end, 0.0), begin
        # Half of the way that is left to the end, again and again; without an end twice as far.
        for step in range(DOUBLINGS):
            short = side * excess(far, coefficients, every) < 0.0
            if not short.any():
                break
            nearer = end * (1.0 - 0.5 ** min(step + 1, 52))
            far = np.where(short, np.where(bounded, nearer, side * 2.0 ** (step - 30)), far)
        from scipy.optimize import elementwise

        u = elementwise.find_root(
            excess,
            (np.minimum(begin, far), np.maximum(begin, far)),
            args=(coefficients, every),
            tolerances={"xrtol": ROOT_TOLERANCE},
        ).x
        return float(u @ coefficients - self.conjugate(design, u).value)

    def conjugate(self, design: Design, u: Float[np.ndarray, " p"]) -> Conjugate:
        """Return the conjugate; it is infinite where a pathway would grow beyond every bound."""
        plus, minus = self._of_features(design)
        up, down = plus.at(u), minus.at(-u)
        value = float(np.sum(up.integral + down.integral))
        return Conjugate(value, up.product - down.product, up.slope + down.slope)

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return the conjugate as a function of the multipliers; steps stay in its domain."""
        plus, minus = self._of_features(design)
        low, high = _domain(plus, minus)
        u = design.adjoint(multipliers)

        def reach(direction: np.ndarray) -> float:
            change = design.adjoint(direction)
            room = np.where(change > 0.0, high - u, u - low)
            ratio = np.divide(room, np.abs(change), out=np.full_like(u, np.inf), where=change != 0)
            return SHARE * float(ratio.min(initial=np.inf))

        return replace(super().dual(design, multipliers), reach=reach)

    @cached_property
    def _flows(self) -> tuple[ProductFlow, ProductFlow]:
        """Return the flows of both pathways; of one feature where all have the same weights."""
        plus, minus = (w if w.ndim == 2 else w[:, None] for w in (self.plus, self.minus))
        return ProductFlow.of(plus), ProductFlow.of(minus)

    def _of_features(self, design: Design) -> tuple[ProductFlow, ProductFlow]:
        p = design.shape[1]
        plus, minus = self._flows
        if self.plus.ndim == 1:
            return plus.repeated(p), minus.repeated(p)
        require(
            len(plus.index) == p,
            "weights are one or one for each feature",
            f"{len(plus.index)} for {p} features",
            "give as many as the design has columns",
        )
        return plus, minus


def _domain(
    plus: ProductFlow, minus: ProductFlow
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """Return the smallest and largest force on each coefficient."""
    low, high = plus.ends
    return np.maximum(low, -minus.ends[1]), np.minimum(high, -minus.ends[0])


@door
def pretrained_weights(
    coefficients: Float[np.ndarray, " d"], *, depth: Depth, init_scale: Positive
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    r"""Return the weights of both pathways after pretraining, the same in every layer.

    Parameters
    ----------
    coefficients : float array, shape (d,)
        The coefficients at which gradient flow ended, :math:`\beta_{aux}`, up to 1e60.
    depth : int, keyword-only
        D, from 2 to 12.
    init_scale : float, keyword-only
        :math:`\alpha`, from 1e-12 to 1e12: the value of all weights at the start.

    Returns
    -------
    plus, minus : float arrays, shape (d,)

    Notes
    -----
    Gradient flow from equal weights keeps :math:`w_+^{2-D} + w_-^{2-D} = 2 \alpha^{2-D}`, or
    :math:`w_+ w_- = \alpha^2` for two layers, and ends at :math:`w_+^D - w_-^D = \beta_{aux}`.
    From three layers on the shrinking weight does not fall below :math:`2^{-1/(D-2)} \alpha`,
    however large the coefficient. Derived here.
    """
    scale, size = float(init_scale), np.abs(coefficients)
    largest = float(size.max(initial=0.0))
    require(
        largest <= LARGEST_COEFFICIENT and LEAST <= scale <= LARGEST,
        f"init_scale is from {LEAST:g} to {LARGEST:g}, and coefficients are up to "
        f"{LARGEST_COEFFICIENT:g}",
        f"{scale:g}, and up to {largest:g}",
        "take other units of inputs or targets",
    )

    def shrunk(larger: np.ndarray) -> np.ndarray:
        """Return the smaller weight, in units of the initial ones."""
        if depth == 2:
            return 1.0 / larger
        return (2.0 - larger ** (2.0 - depth)) ** (1.0 / (2.0 - depth))

    # The larger weight lies between those of coefficients that are size and size + alpha^D.
    wanted = size / scale**depth
    low, high = np.maximum(wanted ** (1.0 / depth), 1.0), (wanted + 1.0) ** (1.0 / depth)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = middle**depth - shrunk(middle) ** depth < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    # Both weights of a coefficient of 0 are exactly equal.
    larger = np.where(size > 0.0, scale * low, scale)
    smaller = np.where(size > 0.0, scale * shrunk(low), scale)
    positive = coefficients >= 0.0
    return np.where(positive, larger, smaller), np.where(positive, smaller, larger)
