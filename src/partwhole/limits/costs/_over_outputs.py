"""The cost of several outputs that share no weights: the sum of their costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.features.design import Design
from partwhole.features.outputs import OutputsDesign
from partwhole.limits.costs._cost import Bounds, Cost, DualTerm, Squares


@dataclass(frozen=True, eq=False)
class SumOverOutputs:
    """Sum of one cost over the outputs of an `OutputsDesign`.

    Parameters
    ----------
    cost : Cost
        Of the coefficients of one output.
    """

    cost: Cost

    def value(self, design: Design, coefficients: Float[np.ndarray, " pk"]) -> float:
        """Return the sum of the outputs' costs."""
        whole = _outputs(design)
        columns = whole.by_output(coefficients).T
        return float(sum(self.cost.value(whole.design, column) for column in columns))

    def dual(self, design: Design, multipliers: Float[np.ndarray, " m"]) -> DualTerm:
        """Return the sum of the conjugates."""
        whole = _outputs(design)
        terms = [self.cost.dual(whole.design, v) for v in whole.of_inputs(multipliers).T]
        bounds = [term.bounds for term in terms if term.bounds is not None]

        def reach(direction: np.ndarray) -> float:
            steps = whole.of_inputs(direction).T
            return min(term.reach(step) for term, step in zip(terms, steps, strict=True))

        return DualTerm(
            float(sum(term.value for term in terms)),
            _of_rows(whole, [term.gradient for term in terms]),
            lambda: whole.between([term.hessian() for term in terms]),
            reach,
            all(term.is_quadratic for term in terms),
            _bounds(whole, bounds) if bounds else None,
        )

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " m"], prices: np.ndarray | None
    ) -> Float[np.ndarray, " pk"]:
        """Return the coefficients of all outputs."""
        whole = _outputs(design)
        rows = whole.of_inputs(multipliers).T
        shares = [None] * len(rows) if prices is None else np.split(prices, len(rows))
        parts = zip(rows, shares, strict=True)
        columns = [self.cost.primal(whole.design, v, share) for v, share in parts]
        return whole.in_order(np.stack(columns, axis=1))


@dataclass(frozen=True, eq=False)
class SquaresOverOutputs(SumOverOutputs):
    """Sum of one quadratic cost over outputs."""

    cost: Squares

    def features(self, design: Design) -> Float[np.ndarray, "m q"] | None:
        """Return the features of all outputs, those of the first before those of the second."""
        whole = _outputs(design)
        features = self.cost.features(whole.design)
        if features is None:
            return None
        columns = whole.contrasts[:, :, None] * features[whole.inputs][:, None]
        return columns.reshape(len(columns), -1)

    def from_features(self, design: Design, x: Float[np.ndarray, " q"]) -> Float[np.ndarray, " pk"]:
        """Return coefficients of the design from those of `features`."""
        whole = _outputs(design)
        parts = np.split(x, whole.n_outputs)
        columns = [self.cost.from_features(whole.design, part) for part in parts]
        return whole.in_order(np.stack(columns, axis=1))


def _outputs(design: Design) -> OutputsDesign:
    assert isinstance(design, OutputsDesign)
    return design


def _of_rows(
    design: OutputsDesign, outputs: Sequence[Float[np.ndarray, "n *j"]]
) -> Float[np.ndarray, "m *j"]:
    """Return the outputs of the rows, from those of the inputs."""
    stacked = np.stack(outputs, axis=1)[design.inputs]
    return np.einsum("mk...,mk->m...", stacked, design.contrasts)


def _bounds(design: OutputsDesign, bounds: Sequence[Bounds]) -> Bounds:
    """Return the domains of all outputs as one: the groups of the first, then of the second."""
    k = len(bounds)

    def outputs(prices: np.ndarray) -> np.ndarray:
        parts = zip(bounds, np.split(prices, k), strict=True)
        return _of_rows(design, [bound.outputs(part) for bound, part in parts])

    def shares() -> np.ndarray:
        columns = zip(bounds, design.contrasts.T, strict=True)
        return np.hstack([bound.shares()[design.inputs] * c[:, None] for bound, c in columns])

    def slope(direction: np.ndarray) -> np.ndarray:
        steps = zip(bounds, design.of_inputs(direction).T, strict=True)
        return np.concatenate([bound.slope(step) for bound, step in steps])

    def curvature(prices: np.ndarray, scalings: np.ndarray) -> np.ndarray:
        parts = zip(bounds, np.split(prices, k), np.split(scalings, k), strict=True)
        return design.between([bound.curvature(price, scaling) for bound, price, scaling in parts])

    def reach(direction: np.ndarray) -> float:
        steps = zip(bounds, design.of_inputs(direction).T, strict=True)
        return min(bound.reach(step) for bound, step in steps)

    room = np.concatenate([bound.room for bound in bounds])
    return Bounds(room, outputs, shares, slope, curvature, reach)
