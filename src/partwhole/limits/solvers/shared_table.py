"""Many ridge regressions on the same indicators, with different weights of the columns.

How often two conjunctions occur together in training does not depend on the kernel. The table of
these counts is computed once. For each kernel it is scaled and factored (p^3 / 3 operations), and
the solution is refined on the rows. All outputs are solved together. For up to about 1,500
columns; `sparse_primal.solve_ridge` solves single problems of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh

from partwhole.limits.solvers.sparse_primal import EPS, ROUNDING, STALL, cross_table

# With less slack than this share of the table's trace, null directions of the table are left out
# by their eigenvalue. Otherwise rounding along them, divided by the slack, would be noticeable.
IDLE = 1e-8
# Eigenvalues below this share of the largest are rounding.
SMALLEST_EIGENVALUE = 1e-11
REFINEMENTS = 8


@dataclass(frozen=True, eq=False)
class SharedSolution:
    """Solution of the ridge regression for one kernel, with its estimated error.

    Parameters
    ----------
    coefficients : float array, shape (p, k)
    intercept : float array, shape (k,)
    converged : bool
        Whether the last refinement changed every output by less than the tolerance, or only by
        rounding.
    error : float
        Estimated largest error of any output, in the targets' unit.
    """

    coefficients: Float[np.ndarray, "p k"]
    intercept: Float[np.ndarray, " k"]
    converged: bool
    error: float


class SharedTable:
    r"""Minimiser of :math:`\sum_i (y_i - b - (A c)_i)^2 / s_i + \sum_j c_j^2 / w_j` for any w.

    Parameters
    ----------
    blocks : sequence of int arrays, each of shape (n,)
        Column number of every row within its block.
    sizes : sequence of int
        Number of columns of each block.
    targets : float array, shape (n, k)
    relative : float array, shape (n,)
        Weights of the rows, 1/s up to a common factor. The caller validates all inputs.

    Examples
    --------
    Two components, anchors {0}: memorization leak ``S / (1 - S)`` at ``S = 0.4``.

    >>> rows = np.array([[1, 0], [1, 1], [1, 2], [0, 1], [2, 1]])
    >>> sums = (rows - 1.0).sum(1, keepdims=True)
    >>> table = SharedTable(list(rows.T), [3, 3], sums, np.ones(5))
    >>> solution = table.solve([0.4, 0.4], 0.2)
    >>> round(float(solution.coefficients[2, 0] + solution.coefficients[5, 0]), 6)
    1.333333
    """

    def __init__(
        self,
        blocks: Sequence[Int[np.ndarray, " n"]],
        sizes: Sequence[int],
        targets: Float[np.ndarray, "n k"],
        relative: Float[np.ndarray, " n"],
    ):
        self.sizes, self.targets, self.relative = list(sizes), targets, relative
        starts = np.cumsum([0, *sizes])
        columns = [b + np.int32(start) for b, start in zip(blocks, starts, strict=False)]
        flat = np.stack(columns, axis=1).ravel() if columns else np.zeros(0, dtype=np.int32)
        ends = np.arange(len(targets) + 1, dtype=np.int64) * len(columns)
        shape = (len(targets), int(starts[-1]))
        self.rows = sparse.csr_array((np.ones(len(flat)), flat, ends), shape=shape)
        self.transpose = self.rows.T.tocsr()
        self.total = float(relative.sum())
        sums = self.transpose @ relative
        self.table = cross_table(blocks, sizes, relative) - np.outer(sums, sums) / self.total
        self.centred = self._centre(targets)
        self.load = self._sums(self.centred)

    def _centre(self, q: np.ndarray) -> np.ndarray:
        return q - self.relative @ q / self.total

    def _sums(self, r: np.ndarray) -> np.ndarray:
        return self.transpose @ (self.relative[:, None] * r)

    def solve(
        self, weights: Sequence[float], slack: float, tolerance: float = 1e-9
    ) -> SharedSolution:
        """Return the solution for one kernel.

        Parameters
        ----------
        weights : sequence of float
            w of each block, at least 0.
        slack : float
            The factor s0 in ``s = s0 / relative``. At 0 the solution is the limit of small slack:
            the least-squares fit of least norm.
        tolerance : float, default 1e-9
            Largest error of an output, in units of the targets' root mean square about b.

        Returns
        -------
        SharedSolution
        """
        roots = np.repeat(np.sqrt(np.asarray(weights, dtype=float)), self.sizes)[:, None]
        gram = roots * self.table * roots.T
        trace = float(np.trace(gram))
        # A shift as large as the table's rounding keeps it positive definite; refinement on the
        # rows removes the effect of the shift.
        invert = (
            _inverse_on_carried(gram, slack)
            if slack <= IDLE * trace
            else _inverse_by_factor(gram, slack + 4 * EPS * trace)
        )
        size = np.sqrt(self.relative @ self.centred**2)
        reach = 2.0 * float(sum(weights))
        goal = slack * (tolerance * size) ** 2 / (len(self.targets) * max(reach, EPS))
        goal = np.maximum(goal, (16 * EPS * size) ** 2)
        x = invert(roots * self.load)
        last = drop = np.full(len(size), np.inf)
        for _ in range(REFINEMENTS):
            r = self._centre(self.centred - self.rows @ (roots * x))
            g = roots * self._sums(r) - slack * x
            u = invert(g)
            x += u
            last, drop = drop, np.abs(np.sum(g * u, axis=0))
            if np.all((drop <= goal) | (drop > STALL * last)):
                break
        c = roots * x
        settled = drop <= np.maximum(goal, (ROUNDING * EPS * size) ** 2)
        unit = max(slack, SMALLEST_EIGENVALUE * trace, EPS)
        return SharedSolution(
            c,
            self.relative @ (self.targets - self.rows @ c) / self.total,
            bool(settled.all()),
            float(np.sqrt(reach * drop.max(initial=0.0) / unit)),
        )


def _inverse_by_factor(gram: np.ndarray, shift: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the inverse of a shifted matrix by its Cholesky factor; the matrix is overwritten."""
    if not gram.size:
        return lambda g: g
    gram[np.diag_indices_from(gram)] += shift
    factor = cho_factor(gram, overwrite_a=True, check_finite=False)
    return lambda g: cho_solve(factor, g, check_finite=False)


def _inverse_on_carried(gram: np.ndarray, shift: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the inverse on the range of the matrix, by its eigenvectors."""
    if not gram.any():
        return np.zeros_like
    size, basis = eigh(gram, overwrite_a=True, check_finite=False)
    carried = size > SMALLEST_EIGENVALUE * size[-1]
    size, basis = size[carried, None] + shift, basis[:, carried]
    return lambda g: basis @ ((basis.T @ g) / size)
