r"""Leave-one-out error of a largest margin, and bounds on it from the one fit of all rows.

Let :math:`w = \sum_i \lambda_i y_i \phi_i` have the largest margin through the origin on n rows,
:math:`y_i f(x_i) \ge 1`, with multipliers :math:`\lambda \ge 0` and inner products K of features.
Without row i, the largest margin on the others answers it with

.. math:: y_i f_{-i}(x_i) \ge y_i f(x_i) - \lambda_i K_{ii}

(Jaakkola & Haussler, AISTATS 1999). A row without a multiplier is answered as before, and one with
a multiplier has :math:`y_i f(x_i) = 1`, so that it can be wrong only if
:math:`\lambda_i K_{ii} \ge 1`. The number of errors is therefore at most

.. math:: \#\{\lambda_i K_{ii} \ge 1\} \;\le\; \#\{\lambda_i > 0\}, \qquad
          \#\{\lambda_i K_{ii} \ge 1\} \;\le\; \sum_i \lambda_i K_{ii}
          \;\le\; \sum_c R_c^2\, \|w_c\|^2,

over blocks c of rows that share no feature with other blocks, with the length :math:`R_c` of the
longest feature vector among a block's support vectors and its part :math:`w_c` of the weights,
:math:`\|w_c\|^2 = \sum_{i \in c} \lambda_i`. The contexts of a gated network with one layer of
joint contexts are such blocks: each has a support vector machine of its own.

:math:`R_c` is measured from the origin. The radius of the smallest ball around the rows, with a
centre anywhere, bounds errors where an intercept without a penalty moves the hyperplane along; here
it does not: of a single row it is 0, and that row is not answered once it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse.csgraph import connected_components

from partwhole._checks import require
from partwhole._door import door
from partwhole.limits.costs import Quadratic
from partwhole.limits.fits import Margin
from partwhole.limits.limit import PRESENT, Limit, Outcome

if TYPE_CHECKING:
    import pandas as pd

# Of the largest eigenvalue of a block's inner products, below which one is rounding.
ROUNDING = 1e-12
# By which a product that is 1 on paper can be smaller: the accuracy of a solved limit.
SLIGHTLY = 1e-6


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Errors of a largest margin at rows that are left out, and bounds on them.

    Parameters
    ----------
    margins : float array, shape (n,), or None
        Label times the answer to each row by the largest margin on all others; positive if it is
        right, and 0 where these say nothing. None if nothing was fitted again.
    multipliers : float array, shape (n,)
        :math:`\\lambda_i`, not negative.
    squares : float array, shape (n,)
        :math:`K_{ii}`, the squared lengths of feature vectors.
    block : int array, shape (n,)
        The block of each row, from 0.
    """

    margins: Float[np.ndarray, " n"] | None
    multipliers: Float[np.ndarray, " n"]
    squares: Float[np.ndarray, " n"]
    block: Int[np.ndarray, " n"]

    @property
    def error(self) -> float:
        """Return the share of rows that are answered wrongly, or not at all; NaN if not fitted."""
        return np.nan if self.margins is None else float(np.mean(self.margins <= SLIGHTLY))

    @property
    def is_support(self) -> Bool[np.ndarray, " n"]:
        """Return which rows have a multiplier."""
        return self.multipliers > PRESENT * self.multipliers.max()

    @property
    def by_support(self) -> float:
        """Return the share of support vectors."""
        return float(np.mean(self.is_support))

    @property
    def by_multiplier(self) -> float:
        """Return the share of rows with a multiplier of one over their squared length or more."""
        products = self.multipliers * self.squares
        return float(np.mean(self.is_support & (products >= 1.0 - SLIGHTLY)))

    @property
    def by_radius(self) -> float:
        """Return squared radius times squared length of the weights, over rows; it can exceed 1."""
        radius = np.zeros(int(self.block.max()) + 1)
        np.maximum.at(radius, self.block, np.where(self.is_support, self.squares, 0.0))
        return float(radius @ np.bincount(self.block, self.multipliers)) / len(self.block)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each training row.

        Returns
        -------
        DataFrame
            Columns block, multiplier, square and margin (NaN if nothing was fitted again).
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "block": self.block,
                "multiplier": self.multipliers,
                "square": self.squares,
                "margin": np.nan if self.margins is None else self.margins,
            }
        )


@door
def leave_one_out(limit: Limit, *, refit: bool = True) -> LeaveOneOut:
    """Return the leave-one-out error of a largest margin, and bounds on it.

    Parameters
    ----------
    limit : Limit
        Solved, with the cost `Quadratic`, the fit `Margin` without slack, one output and no
        intercept.
    refit : bool, keyword-only, default True
        Whether to find the error itself, by a fit without each row that the bounds leave open;
        of n rows these are at most as many as support vectors.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    InputError
        For other limits, and if rounding keeps a fit without a row from its margins.

    Notes
    -----
    Bounds by the module's inequalities: the multipliers' by Jaakkola & Haussler (AISTATS 1999);
    by support vectors and by radius, Vapnik (Statistical Learning Theory, 1998). Contexts of gated
    networks as blocks: Lippl, Abbott & Chung (2022).

    Examples
    --------
    >>> from partwhole import solve
    >>> rng = np.random.default_rng(0)
    >>> inputs = rng.normal(size=(40, 5))
    >>> labels = np.sign(inputs[:, 0] + 0.3 * inputs[:, 1])
    >>> of_rows = leave_one_out(solve((inputs, labels), fit="margin", intercept="none"))
    >>> of_rows.error <= of_rows.by_multiplier <= of_rows.by_support
    True
    """
    kernel, labels, multipliers = _machine(limit)
    block = connected_components(kernel != 0.0, directed=False)[1].astype(int)
    result = LeaveOneOut(None, multipliers, np.diag(kernel).copy(), block)
    if not refit:
        return result
    # Without a multiplier a row is answered as by all; with a small one, at least so well.
    margins = labels * (kernel @ (multipliers * labels))
    is_open = result.is_support & (multipliers * result.squares >= 1.0 - SLIGHTLY)
    for of_block in np.unique(block[is_open]):
        rows = np.flatnonzero(block == of_block)
        # Answers do not depend on the unit of features, and rounding does.
        unit = result.squares[rows].max()
        features = labels[rows, None] * _coordinates(kernel[np.ix_(rows, rows)] / unit)
        for place in np.flatnonzero(is_open[rows]):
            others = np.delete(features, place, axis=0)
            margins[rows[place]] = features[place] @ _largest_margin(others)
    return LeaveOneOut(margins, multipliers, result.squares, block)


def _coordinates(kernel: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n q"]:
    """Return rows with these inner products, in as few dimensions as they have."""
    values, vectors = np.linalg.eigh(kernel)
    kept = values > ROUNDING * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def _largest_margin(rows: Float[np.ndarray, "m q"]) -> Float[np.ndarray, " q"]:
    """Return the shortest weights by which all rows are 1 or more; 0 if there is no row.

    From the residual of non-negative least squares, by least distance programming (Lawson & Hanson,
    Solving Least Squares Problems, 1974, chapter 23): many times faster than a general solver for
    some hundred rows.
    """
    from scipy.optimize import nnls

    if not len(rows):
        return np.zeros(rows.shape[1])
    system = np.vstack([rows.T, np.ones(len(rows))])
    right = np.append(np.zeros(rows.shape[1]), 1.0)
    residual = system @ nnls(system, right, maxiter=100 * len(rows))[0] - right
    weights = -residual[:-1] / residual[-1]
    least = float((rows @ weights).min())
    require(
        least >= 1.0 - SLIGHTLY,
        "the largest margin without a row meets all margins of 1",
        f"{least:.6g}",
        "rescale features",
    )
    return weights


def _machine(
    limit: Limit,
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return inner products, labels and multipliers of a largest margin through the origin."""
    problem = limit.problem
    cost, fit = problem.cost, problem.fit
    require(
        isinstance(cost, Quadratic) and isinstance(fit, Margin) and not np.any(fit.slack),
        "bounds on leave-one-out errors are of the cost Quadratic and a margin without slack",
        f"{type(cost).__name__} and {fit}",
        'call solve(..., cost=Quadratic(), fit="margin")',
    )
    assert isinstance(cost, Quadratic)
    require(
        problem.targets.ndim == 1 and problem.constants is None and problem.intercept == "none",
        "bounds on leave-one-out errors are of one output without an intercept",
        f"targets of shape {problem.targets.shape} and intercept {problem.intercept!r}",
        'pass intercept="none", and a constant feature for a penalised one',
    )
    require(
        limit.outcome is Outcome.SOLVED,
        "bounds on leave-one-out errors are of a limit that is solved",
        limit.outcome.value,
        "look at its outcome",
    )
    design = problem.design
    kernel = sum(cost.weight(block.label) * design.gram(block) for block in design.blocks)
    return np.asarray(kernel), np.sign(problem.targets), np.abs(limit.multipliers)
