r"""Linear probing: where learning ends when only the readout is trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.design import DenseDesign, as_design
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.limits.limit import Limit, Outcome

FIXED = "the first layer stays as it is"


def linear_probing(
    inputs: Float[np.ndarray, "n d"] | Sequence[Sequence[Real]],
    targets: Float[np.ndarray, " n"] | Sequence[Real],
    weights: DiagonalWeights,
) -> Limit:
    r"""Return where gradient flow ends if a diagonal network's first layer stays as it is.

    Parameters
    ----------
    inputs : float array, shape (n, d)
    targets : float array, shape (n,)
    weights : DiagonalWeights
        The initial weights, of one task; ``DiagonalWeights.pretrained(...).for_finetuning(...)``
        after pretraining.

    Returns
    -------
    Limit
        Coefficients :math:`\beta`, and as value the cost below.

    Raises
    ------
    InputError
        For inputs and weights in different features, targets of another length, and numbers that
        are not finite.

    Notes
    -----
    With :math:`D = w_+^2 + w_-^2` and :math:`\beta(0) = w_+ v_+ - w_- v_-`, the end minimises
    :math:`\tfrac12 \sum_d (\beta_d - \beta_d(0))^2 / D_d`, so that

    .. math:: \beta = \beta(0) + D X^T (X D X^T)^{-1} (y - X \beta(0)) .

    It is the lazy limit of finetuning for every feature at once. Derived here; the protocol is
    Lippl & Lindsey (NeurIPS 2024).

    Examples
    --------
    >>> start = DiagonalWeights.pretrained([1.0, 0.1], init_scale=1e-3)
    >>> limit = linear_probing([[1.0, 1.0]], [1.1], start.for_finetuning(readout_scale=0.0))
    >>> limit.coefficients.round(4).tolist()
    [1.0, 0.1]
    """
    features = as_design(inputs)
    require(
        isinstance(features, DenseDesign), "inputs are a matrix", type(inputs).__name__, "pass X"
    )
    x = features.matrix  # pyright: ignore[reportAttributeAccessIssue]
    wanted = np.asarray(targets, dtype=float)
    hidden = np.asarray(weights.hidden_plus), np.asarray(weights.hidden_minus)
    begun = np.asarray(weights.coefficients, dtype=float)
    n, d = x.shape
    require(
        wanted.shape == (n,) and bool(np.isfinite(wanted).all()),
        "there is one finite target for each row",
        f"shape {wanted.shape} for {n} rows"
        if wanted.shape != (n,)
        else f"{int(np.sum(~np.isfinite(wanted)))} that are not finite",
        "pass the training rows of both",
    )
    require(
        hidden[0].shape == hidden[1].shape == begun.shape == (d,),
        "weights are of one task in the inputs' features",
        f"hidden layer {hidden[0].shape} and coefficients {begun.shape} for {d} features",
        "pass DiagonalWeights.pretrained(...).for_finetuning(...) with d coefficients",
    )
    root = np.hypot(*hidden)
    require(
        bool(np.isfinite(root).all() and np.isfinite(begun).all()),
        "weights are finite",
        "some that are not",
        "train with a smaller learning rate",
    )
    # In units of the hidden layer the cost is half the squared length.
    scaled, started = x * root, x @ begun
    missing = wanted - started
    moved, dual = _shortest(scaled, missing)
    size = float(np.abs(wanted).max(initial=0.0) + np.abs(started).max(initial=0.0))
    rest = missing - scaled @ moved
    violation = float(np.abs(rest).max(initial=0.0))
    if violation > 1e-8 * size:
        nothing = np.full(d, np.nan)
        return Limit(nothing, rest, 0.0, np.inf, np.inf, violation, 1, Outcome.INFEASIBLE, (FIXED,))
    value = 0.5 * float(moved @ moved)
    pulled = scaled.T @ dual
    gap = value - float(missing @ dual) + 0.5 * float(pulled @ pulled)
    return Limit(
        begun + root * moved, dual, 0.0, value, gap, violation, 1, Outcome.SOLVED, (FIXED,)
    )


def _shortest(
    rows: Float[np.ndarray, "n d"], targets: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    """Return the shortest solution and its multipliers, never squaring the rows."""
    n, d = rows.shape
    if n <= d:
        basis, triangle = np.linalg.qr(rows.T)
        size = np.abs(np.diag(triangle))
        if size.min(initial=np.inf) > 1e-13 * size.max(initial=0.0):
            inner = solve_triangular(triangle, targets, trans=1)
            return basis @ inner, solve_triangular(triangle, inner)
    inverse = np.linalg.pinv(rows, rcond=1e-14)
    moved = inverse @ targets
    return moved, inverse.T @ moved
