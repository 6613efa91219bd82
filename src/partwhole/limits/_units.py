r"""Units in which a dual problem's numbers are about 1, whatever those of its features.

Multipliers are solved for as :math:`v = d\,w`, one factor for each row, and the objective is
multiplied by a number :math:`\kappa`. A row of features of length :math:`\ell_i` and slack
:math:`s_i` moves a cost of about :math:`Y / (\ell_i + s_i / Y)` with Y the largest target, so
that

.. math:: d_i = 1 / (\ell_i + s_i / Y), \qquad \kappa = 1 / \max_i |d_i y_i| .

Neither changes what the problem asks for. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from partwhole.features.design import DenseDesign, Design, weighted_gram
from partwhole.limits.costs._cost import Bounds, DualTerm
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.dual_newton import Border, DualSolution, Term

LEAST = 1e-140  # length of a row below which it has none: its square has no digits


@dataclass(frozen=True, eq=False)
class Units:
    """Factors between multipliers as given and as solved for.

    Parameters
    ----------
    rows : float array, shape (n,)
        d.
    objective : float
        kappa.
    """

    rows: Float[np.ndarray, " n"]
    objective: float

    @classmethod
    def of(
        cls,
        lengths: Float[np.ndarray, " n"],
        slack: Float[np.ndarray, " n"],
        wanted: Float[np.ndarray, " n"],
    ) -> Units:
        """Return the units of rows with these lengths, slacks and targets or bounds."""
        largest = float(np.abs(wanted).max(initial=0.0)) or 1.0
        size = lengths + slack / largest
        usual = float(size.max(initial=0.0))
        rows = 1.0 / np.where(size > LEAST, size, usual if usual > LEAST else 1.0)
        value = float(np.abs(rows * wanted).max(initial=0.0)) or 1.0
        return cls(rows, 1.0 / value)

    @classmethod
    def of_kernel(cls, kernel: Float[np.ndarray, "n n"], wanted: Float[np.ndarray, " n"]) -> Units:
        """Return the units in which a kernel has ones on its diagonal, and bounds are 1."""
        units = cls.of(np.sqrt(np.maximum(np.diagonal(kernel), 0.0)), 0.0 * wanted, wanted)
        return cls(units.rows / units.objective, units.objective**2)

    @property
    def border(self) -> float:
        """Return the factor of the border's columns, the largest of whose entries becomes 1."""
        return 1.0 / float(self.rows.max(initial=0.0) or 1.0)

    def term(self, term: Term) -> Term:
        """Return the term as a function of the multipliers as solved for."""
        d, kappa = self.rows, self.objective

        def scaled(w: np.ndarray) -> DualTerm:
            at = term(d * w)
            bounds = at.bounds
            return DualTerm(
                kappa * at.value,
                kappa * d * at.gradient,
                lambda: at.hessian() * np.multiply.outer(kappa * d, d),
                lambda direction: at.reach(d * direction),
                at.is_quadratic,
                None if bounds is None else self._bounds(bounds),
            )

        return scaled

    def _bounds(self, bounds: Bounds) -> Bounds:
        d = self.rows
        return Bounds(
            bounds.room,
            lambda prices: d * bounds.outputs(prices),
            lambda direction: bounds.moved(d * direction),
            lambda prices, scalings: d[:, None] * bounds.curvature(prices, scalings) * d,
            lambda direction: bounds.reach(d * direction),
        )

    def wanted(self, targets: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return targets as the solver sees them."""
        return self.objective * self.rows * targets

    def one_sided(self, constraints: OneSided) -> OneSided:
        """Return one-sided constraints as the solver sees them."""
        factors = self.objective * self.rows[constraints.rows]
        return replace(constraints, bounds=factors * constraints.bounds)

    def columns(self, border: Border) -> Border:
        """Return the border as the solver sees it."""
        return Border(
            self.border * self.rows[:, None] * border.columns,
            border.penalty * self.border**2 / self.objective,
        )

    def back(self, solution: DualSolution) -> DualSolution:
        """Return a solution in the units as given."""
        prices = solution.prices
        return replace(
            solution,
            multipliers=solution.multipliers * self.rows,
            border_coefficients=solution.border_coefficients * (self.border / self.objective),
            prices=None if prices is None else prices / self.objective,
        )


def row_lengths(design: Design) -> Float[np.ndarray, " n"]:
    """Return the Euclidean lengths of a design's rows."""
    if isinstance(design, DenseDesign):
        return np.linalg.norm(design.matrix, axis=1)
    squares = np.diagonal(weighted_gram(design, np.ones(design.shape[1])))
    return np.sqrt(np.maximum(squares, 0.0))
