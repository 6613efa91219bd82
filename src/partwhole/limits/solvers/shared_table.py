"""Ridge regressions on one set of indicators that differ in their columns' weights.

How often two conjunctions meet in training does not depend on the kernel. This table is made
once; each kernel scales and factors it (p^3 / 3 operations), and refines the solution on the
rows. All outputs are solved together. For up to about 1,500 columns;
`sparse_primal.solve_ridge` solves single problems of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh

from partwhole.limits.solvers.sparse_primal import EPS, ROUNDING, STALL, cross_table

# With less slack than this share of the table's trace, rounding along directions that no row
# carries would be divided by slack and seen, so these are left out by eigenvalue.
IDLE = 1e-8
# Directions this much weaker than the strongest are rounding.
CARRIED = 1e-11
REFINEMENTS = 8


@dataclass(frozen=True, eq=False)
class SharedSolution:
    """Hold the minimiser for one kernel and how well it is known.

    Parameters
    ----------
    coefficients : float array, shape (p, k)
    intercept : float array, shape (k,)
    converged : bool
        Whether the last refinement moved every output by less than the tolerance, or by no
        more than rounding does.
    error : float
        Estimated largest error of any output, in the targets' unit.
    """

    coefficients: Float[np.ndarray, "p k"]
    intercept: Float[np.ndarray, " k"]
    converged: bool
    error: float


class SharedTable:
    r"""Minimise :math:`\sum_i (y_i - b - (A c)_i)^2 / s_i + \sum_j c_j^2 / w_j` for many w.

    Parameters
    ----------
    blocks : sequence of int arrays, each of shape (n,)
        Column number of every row within its block.
    sizes : sequence of int
        Columns of each block.
    targets : float array, shape (n, k)
    relative : float array, shape (n,)
        Weights of the rows, 1/s up to a factor. Inputs are trusted; the caller checks them.

    Examples
    --------
    Two components, anchors {0}: memorization leak ``S / (1 - S)`` at ``S = 0.4``.

    >>> rows = np.array([[1, 0], [1, 1], [1, 2], [0, 1], [2, 1]])
    >>> sums = (rows - 1.0).sum(1, keepdims=True)
    >>> found = SharedTable(list(rows.T), [3, 3], sums, np.ones(5)).solve([0.4, 0.4], 0.2)
    >>> round(float(found.coefficients[2, 0] + found.coefficients[5, 0]), 6)
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
        self.turned = self.rows.T.tocsr()
        self.total = float(relative.sum())
        sums = self.turned @ relative
        self.table = cross_table(blocks, sizes, relative) - np.outer(sums, sums) / self.total
        self.centred = self._centre(targets)
        self.load = self._sums(self.centred)

    def _centre(self, q: np.ndarray) -> np.ndarray:
        return q - self.relative @ q / self.total

    def _sums(self, r: np.ndarray) -> np.ndarray:
        return self.turned @ (self.relative[:, None] * r)

    def solve(
        self, weights: Sequence[float], slack: float, tolerance: float = 1e-9
    ) -> SharedSolution:
        """Solve for one kernel.

        Parameters
        ----------
        weights : sequence of float
            w of each block, at least 0.
        slack : float
            The factor s0 in ``s = s0 / relative``. At 0 the solution is the limit: of the
            least-squares fits that of least norm.
        tolerance : float, default 1e-9
            Largest error of an output, in units of the targets' root mean square about b.

        Returns
        -------
        SharedSolution
        """
        roots = np.repeat(np.sqrt(np.asarray(weights, dtype=float)), self.sizes)[:, None]
        gram = roots * self.table * roots.T
        trace = float(np.trace(gram))
        # The jitter is the rounding of the table itself; refinement removes its effect.
        invert = (
            _carried(gram, slack)
            if slack <= IDLE * trace
            else _factored(gram, slack + 4 * EPS * trace)
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
        unit = max(slack, CARRIED * trace, EPS)
        return SharedSolution(
            c,
            self.relative @ (self.targets - self.rows @ c) / self.total,
            bool(settled.all()),
            float(np.sqrt(reach * drop.max(initial=0.0) / unit)),
        )


def _factored(gram: np.ndarray, shift: float) -> Callable[[np.ndarray], np.ndarray]:
    if not gram.size:
        return lambda g: g
    gram[np.diag_indices_from(gram)] += shift
    factor = cho_factor(gram, overwrite_a=True, check_finite=False)
    return lambda g: cho_solve(factor, g, check_finite=False)


def _carried(gram: np.ndarray, shift: float) -> Callable[[np.ndarray], np.ndarray]:
    """Invert on the directions that training rows carry."""
    if not gram.any():
        return np.zeros_like
    size, basis = eigh(gram, overwrite_a=True, check_finite=False)
    carried = size > CARRIED * size[-1]
    size, basis = size[carried, None] + shift, basis[:, carried]
    return lambda g: basis @ ((basis.T @ g) / size)
