r"""Separation: is :math:`B w > 0` for some w, or do some weights prove that it is for none?

By Gordan's theorem either B w > 0 for some w, or :math:`B^T a = 0` for some a >= 0 that is not
0. The minimum of the squared hinge loss :math:`|(1 - B w)_+|^2` decides between them. If it is 0,
its w separates; otherwise the hinge :math:`a = (1 - B w)_+` is a proof, because the gradient
:math:`-2 B^T a` vanishes. Small problems are solved by a linear program instead, whose vertices
are proofs of few rows.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy import linalg, sparse

from partwhole.limits.proofs._budget import DENSE, Budget
from partwhole.limits.proofs.certificates import TOLERANCE, annihilated

PROGRAM_WORK = 3e5
DIRECT_COLUMNS = 2500
VERTEX_WORK = 2e6
# Most pivots of a linear program.
PIVOTS = 20_000
NEWTON_STEPS = 200
CG_STEPS = 300
# Weight of the squared step in each Newton step. It fixes w in directions that do not change the
# loss, and causes no bias, because it penalises the step and not w.
PROXIMAL = 1e-8
LONGEST_STEP = 64.0

Verdict = tuple[bool | None, Float[np.ndarray, " n"] | None, Float[np.ndarray, " p"] | None]


def separate(rows: sparse.csr_array, budget: Budget) -> Verdict:
    """Return whether rows @ w > 0 for some w, with w or a proof that there is none.

    Parameters
    ----------
    rows : sparse array, shape (n, p)
        B: the features of each row, times its sign.
    budget : Budget

    Returns
    -------
    bool or None
        None if neither is proved within the budget.
    float array, shape (n,), or None
        If False, the proof: weights a >= 0 with rows.T @ a = 0, some of them positive.
    float array, shape (p,), or None
        The last w; it separates if the verdict is True.
    """
    n, p = rows.shape  # pyright: ignore[reportGeneralTypeIssues]
    if float(n) * p <= PROGRAM_WORK:
        verdict = program(rows, budget)
        if verdict[0] is not None:
            return verdict
    w = None
    if n > 6 * p:
        # If there are many more rows than columns, a part of them often suffices for a proof.
        part = np.sort(np.random.default_rng(0).choice(n, 3 * p, replace=False))
        solvable, shares, w = hinge(rows[part], budget)
        if shares is not None:
            whole = np.zeros(n)
            whole[part] = shares
            return False, whole, w
        if solvable is None:
            return None, None, w
    return hinge(rows, budget, w)


def program(rows: sparse.csr_array, budget: Budget) -> Verdict:
    """Return the verdict by a linear program: max t with rows @ w >= t and abs(w) <= 1."""
    from scipy.optimize import linprog

    n, p = rows.shape  # pyright: ignore[reportGeneralTypeIssues]
    if budget.over:
        return None, None, None
    solution = linprog(
        np.append(np.zeros(p), -1.0),
        A_ub=sparse.hstack([-rows, np.ones((n, 1))]).tocsr(),
        b_ub=np.zeros(n),
        bounds=[(-1.0, 1.0)] * p + [(None, 1.0)],
        method="highs",
        options={"time_limit": budget.seconds, "maxiter": PIVOTS},
    )
    budget.spend(solution.nit * float(n + p))
    if solution.x is None:
        return None, None, None
    w = solution.x[:p]
    if (rows @ w).min() > TOLERANCE:
        return True, None, w
    if solution.status == 0:
        shares = np.maximum(0.0, -solution.ineqlin.marginals)
        if shares.sum() > 0 and annihilated(rows, shares):
            return False, shares, w
    return None, None, w


def hinge(
    rows: sparse.csr_array, budget: Budget, start: Float[np.ndarray, " p"] | None = None
) -> Verdict:
    """Return the verdict by the minimum of the squared hinge loss, with Newton's method."""
    n, p = rows.shape  # pyright: ignore[reportGeneralTypeIssues]
    sizes = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=0)).ravel())
    scale = 1.0 / np.where(sizes > 0, sizes, 1.0)
    scaled = sparse.csr_array(rows.multiply(scale[None, :]))
    w = np.zeros(p) if start is None else start / scale
    margin = scaled @ w
    for _ in range(NEWTON_STEPS):
        if margin.min() > TOLERANCE * max(float(np.abs(w * scale).max()), 1e-300):
            return True, None, w * scale
        if budget.over:
            break
        shortfall = np.maximum(0.0, 1.0 - margin)
        if not shortfall.any():
            break
        pull = scaled.T @ shortfall
        if annihilated(rows, shortfall) and np.linalg.norm(pull) <= 1e-9 * np.linalg.norm(
            shortfall
        ):
            return False, _proof_of_few_rows(rows, shortfall, budget), w * scale
        active = scaled[np.flatnonzero(shortfall > 0)]
        if p <= DIRECT_COLUMNS:
            budget.spend(p**3 / 3 / DENSE)
            direction = _direct(active, pull)
        else:
            direction = _by_conjugate_gradients(active, pull, budget)
        slope = scaled @ direction
        step = _exact_step(margin, slope)
        w = w + step * direction
        margin = scaled @ w
        # The line search computes each row's margin about 60 times.
        budget.spend(4 * scaled.nnz + 60 * n)
    return None, None, w * scale


def _direct(active: sparse.csr_array, pull: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """Return the Newton step by a Cholesky factor."""
    hessian = (active.T @ active).toarray()
    hessian.flat[:: len(pull) + 1] += PROXIMAL
    factor = linalg.cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    return linalg.cho_solve(factor, pull, check_finite=False)


def _by_conjugate_gradients(
    active: sparse.csr_array, pull: Float[np.ndarray, " p"], budget: Budget
) -> Float[np.ndarray, " p"]:
    back = active.T.tocsr()
    direction, residual = np.zeros_like(pull), pull.copy()
    search, square = residual.copy(), float(residual @ residual)
    enough = 1e-12 * square
    for _ in range(CG_STEPS):
        if square <= enough or square == 0 or budget.over:
            break
        budget.spend(2 * active.nnz)
        image = back @ (active @ search) + PROXIMAL * search
        length = square / float(search @ image)
        direction += length * search
        residual -= length * image
        previous, square = square, float(residual @ residual)
        search = residual + (square / previous) * search
    return direction


def _exact_step(margin: Float[np.ndarray, " n"], slope: Float[np.ndarray, " n"]) -> float:
    """Return the step of the least loss along a direction; the loss is piecewise quadratic."""

    def rise(t: float) -> float:
        return -float(slope @ np.maximum(0.0, 1.0 - margin - t * slope))

    low, high = 0.0, 1.0
    while rise(high) < 0 and high < LONGEST_STEP:
        low, high = high, 4.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if rise(middle) < 0:
            low = middle
        else:
            high = middle
        if high - low <= 1e-14 * high:
            break
    violated = 1.0 - margin - high * slope > 0
    square = float(slope[violated] @ slope[violated])
    exact = float(slope[violated] @ (1.0 - margin[violated])) / square if square > 0 else high
    return exact if abs(exact - high) <= 1e-6 * high else high


def _proof_of_few_rows(
    rows: sparse.csr_array, shares: Float[np.ndarray, " n"], budget: Budget
) -> Float[np.ndarray, " n"]:
    """Return a proof with few of the rows that a proof uses: a vertex, if it is affordable."""
    from scipy.optimize import linprog

    support = np.flatnonzero(shares > 1e-12 * shares.max())
    part = rows[support]
    part = part[:, np.flatnonzero(np.diff(part.tocsc().indptr))]
    if float(len(support)) * part.shape[1] > VERTEX_WORK or budget.over:
        return shares
    solution = linprog(
        np.ones(len(support)),
        A_eq=sparse.vstack([part.T, np.ones((1, len(support)))]).tocsr(),
        b_eq=np.append(np.zeros(part.shape[1]), 1.0),
        method="highs-ds",
        options={"time_limit": budget.seconds, "maxiter": PIVOTS},
    )
    budget.spend(solution.nit * float(len(support) + part.shape[1]))
    if solution.status == 0:
        vertex = np.zeros(len(shares))
        vertex[support] = np.maximum(solution.x, 0.0)
        if annihilated(rows, vertex):
            return vertex
    return shares
