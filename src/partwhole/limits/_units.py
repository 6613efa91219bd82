r"""Units in which the numbers of a dual problem are about 1, whatever the units of its features.

The solvers work on scaled multipliers w with :math:`v = d\,w`, one factor for each row, and on an
objective that is multiplied by a number :math:`\kappa`. A row of features of length
:math:`\ell_i` and slack :math:`s_i` has a multiplier of about :math:`1 / (\ell_i + s_i / Y)`, up
to a factor that all rows share, with Y the largest target. So

.. math:: d_i = 1 / (\ell_i + s_i / Y), \qquad \kappa = 1 / \max_i |d_i y_i| .

Neither factor changes the solution. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from partwhole.features.design import DenseDesign, Design, weighted_gram
from partwhole.limits.costs._cost import Bounds, DualTerm
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.dual_newton import Border, DualSolution, Term

SMALLEST_LENGTH = 1e-140  # a shorter row counts as zero, because its square underflows


@dataclass(frozen=True, eq=False)
class Units:
    """Factors between the multipliers of a problem and the scaled ones of a solver.

    Parameters
    ----------
    rows : float array, shape (n,)
        d, the multipliers over the scaled multipliers.
    objective : float
        kappa, the scaled objective over the objective.
    """

    rows: Float[np.ndarray, " n"]
    objective: float

    @classmethod
    def of(
        cls,
        lengths: Float[np.ndarray, " n"],
        slack: Float[np.ndarray, " n"],
        targets: Float[np.ndarray, " n"],
    ) -> Units:
        """Return the units of rows with these lengths, slacks, and targets (or bounds)."""
        largest = float(np.abs(targets).max(initial=0.0)) or 1.0
        size = lengths + slack / largest
        largest_size = float(size.max(initial=0.0))
        rows = 1.0 / np.where(
            size > SMALLEST_LENGTH, size, largest_size if largest_size > SMALLEST_LENGTH else 1.0
        )
        value = float(np.abs(rows * targets).max(initial=0.0)) or 1.0
        return cls(rows, 1.0 / value)

    @classmethod
    def of_kernel(cls, kernel: Float[np.ndarray, "n n"], bounds: Float[np.ndarray, " n"]) -> Units:
        """Return the units in which a kernel has a diagonal of ones and the largest bound is 1."""
        units = cls.of(np.sqrt(np.maximum(np.diagonal(kernel), 0.0)), 0.0 * bounds, bounds)
        return cls(units.rows / units.objective, units.objective**2)

    @property
    def border(self) -> float:
        """Return the factor of the border's columns that makes their largest entry 1."""
        return 1.0 / float(self.rows.max(initial=0.0) or 1.0)

    def term(self, term: Term) -> Term:
        """Return the term as a function of the scaled multipliers."""
        d, kappa = self.rows, self.objective

        def scaled(w: np.ndarray) -> DualTerm:
            at = term(d * w)
            bounds = at.bounds

            def hessian() -> np.ndarray:
                curvature = at.hessian()
                # That of a norm is 0 within its bounds.
                return curvature * np.multiply.outer(kappa * d, d) if curvature.any() else curvature

            return DualTerm(
                kappa * at.value,
                kappa * d * at.gradient,
                hessian,
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
            lambda: d[:, None] * bounds.shares(),
            lambda direction: bounds.slope(d * direction),
            lambda prices, scalings: d[:, None] * bounds.curvature(prices, scalings) * d,
            lambda direction: bounds.reach(d * direction),
        )

    def targets(self, targets: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the targets of the scaled problem."""
        return self.objective * self.rows * targets

    def one_sided(self, constraints: OneSided) -> OneSided:
        """Return the one-sided constraints of the scaled problem."""
        factors = self.objective * self.rows[constraints.rows]
        return replace(constraints, bounds=factors * constraints.bounds)

    def columns(self, border: Border) -> Border:
        """Return the border of the scaled problem."""
        return Border(
            self.border * self.rows[:, None] * border.columns,
            border.penalty * self.border**2 / self.objective,
        )

    def unscaled(self, solution: DualSolution) -> DualSolution:
        """Return a solution of the scaled problem in the units of the problem."""
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
        return euclidean_lengths(design.matrix)
    squares = np.diagonal(weighted_gram(design, np.ones(design.shape[1])))
    return np.sqrt(np.maximum(squares, 0.0))


def euclidean_lengths(rows: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " n"]:
    """Return the Euclidean lengths of rows, without overflow or underflow of the squares."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    if len(squares) and squares.min() > 1e-200 and squares.max() < 1e200:
        return np.sqrt(squares)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
    return largest * np.linalg.norm(unit, axis=1)
