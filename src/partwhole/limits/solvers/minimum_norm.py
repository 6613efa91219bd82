"""Minimum-norm fits without slack, for kernels without a salient full conjunction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from jaxtyping import Float
from scipy.sparse.linalg import LinearOperator, lsmr

from partwhole.features.conjunctions import ConjunctionDesign


@dataclass(frozen=True, eq=False)
class MinimumNorm:
    """Coefficients of least norm, and the residual that they leave.

    Parameters
    ----------
    coefficients : float array, shape (p, k)
    intercept : float array, shape (k,)
    multipliers : float array, shape (n, k)
    rest : float array, shape (n, k)
        The residual: 0 up to rounding where some coefficients meet the targets; otherwise
        orthogonal to every column.
    """

    coefficients: Float[np.ndarray, "p k"]
    intercept: Float[np.ndarray, " k"]
    multipliers: Float[np.ndarray, "n k"]
    rest: Float[np.ndarray, "n k"]


def solve_minimum_norm(
    design: ConjunctionDesign,
    root_weights: Float[np.ndarray, " p"],
    targets: Float[np.ndarray, "n k"],
    *,
    free_intercept: bool,
) -> MinimumNorm:
    r"""Return the least-squares fit of ``A diag(root_weights) u + b`` with the least :math:`\|u\|`.

    Parameters
    ----------
    design : ConjunctionDesign
        n rows, p columns.
    root_weights : float array, shape (p,)
        Square roots of the columns' weights.
    targets : float array, shape (n, k)
    free_intercept : bool, keyword-only

    Returns
    -------
    MinimumNorm

    Notes
    -----
    By LSMR, to about 1e-10, for designs that are too large for a dense matrix.
    """
    n, p = design.shape

    def centre(q: np.ndarray) -> np.ndarray:
        return q - q.mean(axis=0) if free_intercept else q

    centred_targets = centre(targets)
    # The class is a factory, which its type stubs do not declare.
    forward = cast("Any", LinearOperator)(
        (n, p),
        matvec=lambda u: centre(design @ (root_weights * u.ravel())),
        rmatvec=lambda v: root_weights * design.adjoint(centre(v.ravel())),
        dtype=float,
    )

    def pseudo(operator: LinearOperator, right: np.ndarray) -> np.ndarray:
        limit = 20 * max(n, p)
        return np.stack(
            [lsmr(operator, y, atol=1e-14, btol=1e-14, maxiter=limit)[0] for y in right.T],
            axis=1,
        )

    u = pseudo(forward, centred_targets)
    v = pseudo(forward.T, u)
    coefficients = root_weights[:, None] * u
    outputs = design @ coefficients
    intercept = (targets - outputs).mean(axis=0) if free_intercept else np.zeros(targets.shape[1])
    return MinimumNorm(coefficients, intercept, v, targets - outputs - intercept)
