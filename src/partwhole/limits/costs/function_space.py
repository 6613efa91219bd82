r"""The norm of the function itself: the l2 norm over all joint contexts of gated units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.features.design import Design
from partwhole.features.gates.design import GatedDesign
from partwhole.limits.costs._cost import DualTerm

LARGEST = 1000.0  # largest H log2 C: beyond it the number of joint contexts overflows


@dataclass(frozen=True, eq=False)
class FunctionSpaceL2:
    r"""Squared norm of the function: the sum of its squared weights over all joint contexts.

    H units of C contexts each have :math:`C^H` joint contexts :math:`\gamma`, and in each of
    them the function is linear, with weights :math:`\beta_\gamma = \sum_h \zeta_{h, \gamma_h}`:

    .. math:: R(\zeta) = \tfrac12 \sum_\gamma \|\beta_\gamma\|^2
              = \tfrac12 C^{H-2} \Big( C \sum_{h, c} \|\zeta_{h,c}\|^2 - \sum_h \|S_h\|^2
              + \|S\|^2 \Big), \quad S_h = \sum_c \zeta_{h,c}, \ S = \sum_h S_h .

    It does not depend on which units produce the weights. Its kernel is
    :math:`K = (C m - H + 1)\, C^{-H} \langle x, x' \rangle`, with m the number of units that have
    both inputs in the same context.

    Raises
    ------
    InputError
        On a design without gated units, with units that are off for some inputs, or with more
        joint contexts than double precision can represent.

    Notes
    -----
    Derived here: :math:`(C m - H + 1) C^{-H}` projects functions of the joint context onto sums
    of functions of one unit's context each. Many coefficients give the same function; `primal`
    returns those whose sums :math:`S_h` are all equal.

    Examples
    --------
    >>> from partwhole import solve
    >>> contexts = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> design = GatedDesign(np.ones((4, 1)), contexts, 2)
    >>> labels = np.array([1.0, 1.0, -1.0, -1.0])
    >>> limit = solve((design, labels), cost=FunctionSpaceL2(), fit="margin", intercept="none")
    >>> round(limit.value, 6), (limit.coefficients.round(6) + 0.0).tolist()
    (2.0, [1.0, -1.0, 0.0, 0.0])
    """

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return half the sum of squares over all joint contexts."""
        gated = _gated(design)
        units, contexts = gated.n_units, gated.n_contexts
        weights = coefficients.reshape(units, contexts, -1)
        sums = weights.sum(axis=1)
        squares = contexts * np.sum(weights**2) - np.sum(sums**2) + np.sum(sums.sum(axis=0) ** 2)
        return float(0.5 * float(contexts) ** (units - 2) * squares)

    def kernel(self, design: Design) -> Float[np.ndarray, "n n"]:
        """Return K."""
        gated = _gated(design)
        units, contexts = gated.n_units, gated.n_contexts
        shared = contexts * gated.agreement() - units + 1.0
        return shared * gated.products * float(contexts) ** -units

    def features(self, design: Design) -> Float[np.ndarray, "n p"]:
        r"""Return features of the kernel: :math:`A T`, with T a multiple of :math:`I - a P`.

        P averages over all contexts of all units, and :math:`a = 1 - 1 / \sqrt H`.
        """
        gated = _gated(design)
        parts = gated.dense().matrix.reshape(len(gated.inputs), -1, gated.inputs.shape[1])
        return self._mixed(gated, parts).reshape(design.shape)

    def from_features(self, design: Design, x: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Return coefficients of the design from those of `features`."""
        gated = _gated(design)
        parts = x.reshape(1, gated.n_units * gated.n_contexts, -1)
        return self._mixed(gated, parts).ravel()

    def _mixed(
        self, gated: GatedDesign, parts: Float[np.ndarray, "n g d"]
    ) -> Float[np.ndarray, "n g d"]:
        """Return the product with T, which mixes the contexts of all units."""
        units, contexts = gated.n_units, gated.n_contexts
        share = 1.0 - 1.0 / np.sqrt(units)
        mean = parts.mean(axis=1, keepdims=True)
        return (parts - share * mean) * float(contexts) ** (0.5 * (1 - units))

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return half the quadratic form of the kernel."""
        return DualTerm.of_kernel(self.kernel(design), multipliers)

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " n"], prices: np.ndarray | None = None
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients of the kernel machine."""
        gated = _gated(design)
        units, contexts = gated.n_units, gated.n_contexts
        pulled = gated.adjoint(multipliers).reshape(units, contexts, -1)
        shared = pulled.sum(axis=1, keepdims=True) * (units - 1.0) / units
        return ((contexts * pulled - shared) * float(contexts) ** -units).ravel()


def _gated(design: Design) -> GatedDesign:
    require(
        isinstance(design, GatedDesign),
        "the function-space norm is of gated units",
        type(design).__name__,
        "pass gates.design(inputs)",
    )
    assert isinstance(design, GatedDesign)
    require(
        bool((design.contexts >= 0).all()),
        "every unit has a context for every input",
        "units that are off",
        "use half-space gates, or GroupNorm",
    )
    size = design.n_units * np.log2(design.n_contexts)
    require(
        size <= LARGEST,
        f"there are at most 2^{LARGEST:g} joint contexts",
        f"2^{size:.0f}",
        "take fewer units; Quadratic() is the norm of their weights",
    )
    return design
