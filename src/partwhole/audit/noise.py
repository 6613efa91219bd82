r"""Deviation from every sum of conjunctions that noise explains in a solvable task's targets.

If several rows of one combination differ, their targets contain noise, and so do the means whose
solvability is tested. With the variance :math:`s^2` pooled within combinations and m_i
rows for combination i, residuals of the n means about the best sum (of rank r) have a mean square
near :math:`\overline{s^2/m_i}` if noise is all there is: the lack-of-fit test of regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partwhole._types import Real
from partwhole.audit.case import TRAIN, Case


@dataclass(frozen=True)
class Noise:
    """Noise in held-out means, estimated from repeated rows.

    Parameters
    ----------
    variance : float
        Pooled within combinations, of single rows; summed over outputs.
    of_means : float
        Mean variance of a held-out combination's target.
    spread : float
        Sum of squares of the held-out targets about their mean.
    degrees : int
        Rows beyond one for each combination.
    """

    variance: float
    of_means: float
    spread: float
    degrees: int

    @classmethod
    def of(cls, case: Case) -> Noise | None:
        """Estimate the noise of a case with numeric targets; None if no repeated rows differ."""
        held_out = case.held_out
        if case.has_labels or not len(held_out) or not case.conflict.any():
            return None
        table, size = case.table, len(case.weights)
        combination = case.row_combination
        # A test row whose combination occurs in training does not enter that combination's mean.
        counted = combination >= 0
        counted &= (table.split == TRAIN) | ~case.task.is_train[combination]
        rows = combination[counted]
        targets = case.task.targets.reshape(size, -1)
        deviation = ((table.targets[counted] - targets[rows]) ** 2).sum()
        degrees = len(rows) - len(np.unique(rows))
        weights = table.weights[counted]
        shrink = np.bincount(rows, weights**2, size) / np.bincount(rows, weights, size) ** 2
        variance = float(deviation) / degrees
        about = targets[held_out] - targets[held_out].mean(axis=0)
        return cls(
            variance, variance * float(shrink[held_out].mean()), float((about**2).sum()), degrees
        )

    def unexplained(self, n: int, rank: int, level: Real = 0.001) -> float:
        r"""Return the share of the held-out variance that noise alone leaves unexplained.

        Exceeded with probability `level` by a solvable task:
        :math:`\overline{s^2/m}\,(n - r)\,F_{1 - level}(n - r, degrees)` over the spread.

        Parameters
        ----------
        n, rank : int
            Held-out combinations, and the rank of the seen conjunctions on them.
        level : float, default 0.001
        """
        from scipy.stats import f

        left = max(n - rank, 0)
        if left == 0 or self.spread == 0.0:
            return 0.0
        quantile = float(f.ppf(1.0 - level, left, self.degrees))
        return min(1.0, self.of_means * left * quantile / self.spread)
