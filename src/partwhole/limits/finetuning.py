r"""Linear probing: where learning ends when only the readout is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import qr, solve_triangular

from partwhole._checks import require
from partwhole._door import door
from partwhole.limits._certificate import ACCURACY
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.limits.limit import Limit, Outcome

# Of a feature's largest entry: what arithmetic of a few hundred rows leaves of nothing.
ROUNDING = 1e-13
# Of a feature's size: below it, samples leave next to nothing of a feature to each other, and
# rounding of that counts beside features many decades smaller.
APART = 1e-3
MISFIT = 1e-8  # of a row's terms: more is no rounding
FIXED = "the first layer stays as it is"


@door
def linear_probing(
    inputs: Float[np.ndarray, "n d"], targets: Float[np.ndarray, " n"], weights: DiagonalWeights
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
        For inputs and weights in different features, targets of another length, and weights that
        are not finite.

    Notes
    -----
    With :math:`D = w_+^2 + w_-^2` and :math:`\beta(0) = w_+ v_+ - w_- v_-`, the end minimises
    :math:`\tfrac12 \sum_d (\beta_d - \beta_d(0))^2 / D_d`, so that

    .. math:: \beta = \beta(0) + D X^T (X D X^T)^{-1} (y - X \beta(0)) .

    The coefficients keep their digits however small the weights of unlearned features are. The
    multipliers span the squares of these sizes: from initial weights of about 1e-13 on down, double
    precision can't hold them, so that they prove nothing and the outcome is INACCURATE.

    It is the lazy limit of finetuning for every feature at once. Derived here; the protocol is
    Lippl & Lindsey (NeurIPS 2024).

    Examples
    --------
    >>> start = DiagonalWeights.pretrained([1.0, 0.1], init_scale=1e-3)
    >>> limit = linear_probing([[1.0, 1.0]], [1.1], start.for_finetuning(readout_scale=0.0))
    >>> limit.coefficients.round(4).tolist()
    [1.0, 0.1]
    """
    weights = weights.checked()
    hidden, begun = (weights.hidden_plus, weights.hidden_minus), weights.coefficients
    d = inputs.shape[1]
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
    scaled, started = inputs * root, inputs @ begun
    missing = targets - started
    moved, dual = _shortest(inputs, root, missing)
    coefficients = begun + root * moved
    rest = missing - scaled @ moved
    size = np.abs(targets) + np.abs(inputs) @ np.maximum(np.abs(begun), np.abs(coefficients))
    if (np.abs(rest) > MISFIT * size).any():
        # Rows of one length, so that what is left does not depend on their units.
        nothing, unit = np.full(d, np.nan), _units(inputs)
        seen, wanted = inputs[:, root > 0] / unit[:, None], missing / unit
        left = wanted - seen @ np.linalg.lstsq(seen, wanted)[0]
        violation = float(np.abs(left * unit).max())
        proof = left / unit * unit.max() ** 2  # least squares' own, where units are alike
        return Limit(
            nothing, proof, 0.0, np.inf, np.inf, violation, 1, Outcome.INFEASIBLE, (FIXED,)
        )
    value = 0.5 * float(moved @ moved)
    pulled = scaled.T @ dual
    gap = value - float(missing @ dual) + 0.5 * float(pulled @ pulled)
    known = bool((np.abs(missing) <= ROUNDING * size).all())
    proved = known or abs(gap) <= ACCURACY * value
    outcome = Outcome.SOLVED if proved else Outcome.INACCURATE
    violation = float(np.abs(rest).max())
    return Limit(coefficients, dual, 0.0, value, gap, violation, 1, outcome, (FIXED,))


def _shortest(
    inputs: Float[np.ndarray, "n d"],
    sizes: Float[np.ndarray, " d"],
    targets: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    """Return the shortest solution for inputs times sizes, and its multipliers.

    Sizes may lie many decades apart, as those of learned and unlearned features do. Each feature
    keeps its own digits where the rows are never squared and the largest come first.
    """
    unit = _units(inputs)
    rows, wanted = inputs / unit[:, None], targets / unit
    if len(rows) > len(sizes):
        spanned, rows = np.linalg.qr(rows)
        moved, dual = _in_few_rows(rows, sizes, wanted @ spanned)
        return moved, spanned @ dual / unit
    moved, dual = _in_few_rows(rows, sizes, wanted)
    return moved, dual / unit


def _units(inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """Return the rows' sizes as powers of two, which round nothing, and 1 for a row of zeros."""
    largest = np.abs(inputs).max(axis=1)
    return np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1.0))))


def _in_few_rows(
    rows: Float[np.ndarray, "n d"], sizes: Float[np.ndarray, " d"], targets: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    n, d = rows.shape
    order = np.argsort(-sizes, kind="stable")
    columns = (rows * sizes)[:, order].T
    found: Any = qr(columns, mode="economic", pivoting=True)
    basis, triangle, sample = found
    if bool((np.abs(np.diag(triangle)) <= APART * sizes[order[:n]]).any()):
        return _eliminated(rows, sizes, targets)
    inner = solve_triangular(triangle, targets[sample], trans=1)
    moved, dual = np.empty(d), np.empty(n)
    moved[order], dual[sample] = basis @ inner, solve_triangular(triangle, inner)
    return moved, dual


def _eliminated(
    rows: Float[np.ndarray, "n d"], sizes: Float[np.ndarray, " d"], targets: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    """Return the same where samples depend on each other, by elimination with complete pivoting.

    The rows are then a triangle times pivots, however far apart, times rows of entries up to 1.
    """
    n, d = rows.shape
    floor = ROUNDING * np.abs(rows).max(axis=0, initial=0.0)
    left, lower = rows.copy(), np.zeros((n, min(n, d)))
    upper, pivots, chosen = [], [], []
    while len(pivots) < min(n, d):
        left[np.abs(left) <= floor] = 0.0
        at, feature = np.unravel_index(np.argmax(np.abs(left) * sizes), left.shape)
        pivot = left[at, feature] * sizes[feature]
        if pivot == 0.0:
            break
        row, part = left[at].copy(), left[:, feature] / left[at, feature]
        upper.append(row * sizes / pivot)
        lower[:, len(pivots)] = part
        pivots.append(pivot)
        chosen.append(at)
        left -= np.outer(part, row)
        left[at] = left[:, feature] = 0.0
    dual = np.zeros(n)
    if not pivots:
        return np.zeros(d), dual
    size, triangle = np.array(pivots), lower[chosen, : len(pivots)]
    inner = solve_triangular(triangle, targets[chosen], lower=True, unit_diagonal=True) / size
    # The smallest first: where their rows hold nothing of large features, the basis doesn't either.
    order = np.argsort(sizes, kind="stable")
    basis, short = np.linalg.qr(np.array(upper[::-1])[:, order].T)
    inner = solve_triangular(short, inner[::-1], trans=1)
    moved = np.empty(d)
    moved[order] = basis @ inner
    inner = solve_triangular(short, inner)[::-1] / size
    dual[chosen] = solve_triangular(triangle, inner, trans=1, lower=True, unit_diagonal=True)
    return moved, dual
