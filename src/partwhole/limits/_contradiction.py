"""Proofs that exact rows contradict one another, by least squares or a linear program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from partwhole.features.design import DenseDesign, dense_features
from partwhole.limits._certificate import EPS, infeasible
from partwhole.limits._reduction import ENTRIES
from partwhole.limits.costs._matrices import excluded_columns
from partwhole.limits.fits import Equal
from partwhole.limits.limit import Limit
from partwhole.limits.problem import Problem

SPANNED = 1e-14  # of the largest singular value: directions above it are spanned by the columns
MULTIPLIER_ROUNDING = 1e-12  # of the largest multiplier of a linear program
LARGEST_DESIGN = 50_000_000  # most entries of a dense design, which take 400 MB


def contradiction(problem: Problem) -> Limit | None:
    """Return a proof that no function of the features meets the exact rows, or None.

    The proof is the residual of least squares, first with the rows as they are, then with rows and
    columns scaled to size 1, which helps if their sizes differ widely. Designs that are too large
    for a dense matrix are not examined.
    """
    targets = problem.targets
    n, p = problem.design.shape
    if n * p > ENTRIES:
        return None
    hard = np.flatnonzero(problem.slack == 0)
    problem = without_excluded_columns(problem)
    design = problem.design
    features = columns = dense_features(design)[hard]
    constants = problem.columns[hard]
    columns = np.hstack([columns, constants])
    exact_targets = targets[hard]
    for equilibrated in (False, True):
        rows = np.ones(len(hard))
        if equilibrated:
            largest = np.abs(columns[:, : p or None]).max(axis=1, initial=0.0)
            rows = 1.0 / np.where(largest > 0, largest, 1.0)
        scaled = rows[:, None] * columns
        tops = np.abs(scaled).max(axis=0, initial=0.0)
        scaled = scaled[:, tops > 0] / tops[tops > 0]
        basis, values, _ = np.linalg.svd(scaled, full_matrices=False)
        basis = basis[:, values > 64.0 * EPS * max(scaled.shape) * values.max(initial=0.0)]
        residual = (exact_targets.T * rows).T
        for _ in range(3):
            residual = residual - basis @ (basis.T @ residual)
        proof = np.zeros_like(targets)
        residual = np.where(
            np.abs(residual) > 1e-13 * np.abs(residual).max(initial=0.0), residual, 0.0
        )
        proof[hard] = (residual.T * rows).T
        limit = infeasible(problem, proof, 0)
        if limit is None and targets.ndim == 1:
            proof = _refined(proof, np.hstack([features, constants]), hard)
            limit = infeasible(problem, proof, 0)
        if limit is not None:
            return limit
    return None


def separated(problem: Problem) -> Limit | None:
    r"""Return a proof that no function of the features fits the exact rows, or None.

    A linear program finds the least :math:`t \ge 0` by which all bounds must be relaxed, with rows
    and columns scaled to size 1. Where t is not 0 the multipliers of its constraints have
    :math:`A^T v = 0`; `infeasible` then checks them in the original units.
    """
    from scipy.optimize import linprog

    fit, constants = problem.fit, problem.columns
    assert not isinstance(fit, Equal)
    n, p = problem.design.shape
    if n * p > LARGEST_DESIGN:
        return None
    hard = np.flatnonzero(problem.slack == 0)
    problem = without_excluded_columns(problem)
    design, targets = problem.design, problem.targets
    columns = dense_features(design)[hard]
    largest = np.abs(columns).max(axis=1, initial=0.0)
    rows = 1.0 / np.where(largest > 0, largest, 1.0)
    scaled = rows[:, None] * columns
    tops = np.abs(scaled).max(axis=0, initial=0.0)
    scaled = scaled[:, tops > 0] / tops[tops > 0]
    if scaled.shape[1] > len(hard):
        # As many features as there are rows, from a QR factorisation, span the same functions.
        scaled = np.asarray(qr(scaled.T, mode="r")[0])[: len(hard)].T
    constants = constants[hard]
    scaled = np.hstack([scaled, rows[:, None] * constants / rows.max(initial=1.0)])
    columns = np.hstack([columns, constants])
    sides = fit.one_sided(targets[hard])
    bounds = rows[sides.rows] * sides.bounds
    unit = float(np.abs(bounds).max(initial=0.0)) or 1.0
    q = scaled.shape[1]
    signed_rows = sides.signs[:, None] * scaled[sides.rows]
    program = linprog(
        np.append(np.zeros(q), 1.0),
        A_ub=sparse.csr_array(np.hstack([-signed_rows, -np.ones((len(bounds), 1))])),
        b_ub=-bounds / unit,
        bounds=[(None, None)] * q + [(0.0, None)],
        method="highs",
    )
    if program.status != 0:
        return None
    shares = np.maximum(0.0, -program.ineqlin.marginals) * rows[sides.rows]
    proof = np.zeros(n)
    np.add.at(proof, hard[sides.rows], sides.signs * shares)
    orthogonal = _orthogonal(proof, scaled, rows, hard)
    # Multipliers that are rounding of others leave sums of rounding alone in some columns.
    sizes = np.abs(proof)
    plain = np.where(sizes > MULTIPLIER_ROUNDING * sizes.max(initial=0.0), proof, 0.0)
    for start, refine in ((proof, True), (orthogonal, False), (orthogonal, True), (plain, True)):
        limit = infeasible(problem, _refined(start, columns, hard) if refine else start, 0)
        if limit is not None:
            return limit
    return None


def _refined(proof: np.ndarray, columns: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Return the proof with its multipliers refined until the columns' sums vanish to rounding."""
    support = hard[proof[hard] != 0]
    if not len(support):
        return proof
    place = np.searchsorted(hard, support)
    part = columns[place]
    tops = np.abs(part * proof[support][:, None]).max(axis=0, initial=0.0)
    weighted = (part * proof[support][:, None])[:, tops > 0] / tops[tops > 0]
    # The smallest relative change of the multipliers after which every column's sum is 0.
    factors = np.ones(len(support))
    for _ in range(2):
        factors = factors - np.linalg.lstsq(weighted.T, weighted.T @ factors, rcond=1e-12)[0]
    out = np.array(proof)
    out[support] = proof[support] * factors
    return out


def _orthogonal(
    proof: np.ndarray, scaled: np.ndarray, rows: np.ndarray, hard: np.ndarray
) -> np.ndarray:
    """Return the nearest multipliers of all exact rows that are orthogonal to every column.

    The linear program treats nearly equal rows as equal. It then omits rows whose multipliers are
    small but needed to cancel the difference.
    """
    basis, size, _ = np.linalg.svd(scaled, full_matrices=False)
    basis = basis[:, size > SPANNED * size.max(initial=0.0)]
    v = proof[hard] / rows
    for _ in range(2):
        v = v - basis @ (basis.T @ v)
    out = np.zeros_like(proof)
    out[hard] = v * rows
    return out


def without_excluded_columns(problem: Problem) -> Problem:
    """Return the problem with zeros for the features whose coefficient the cost forces to 0."""
    design, cost = problem.design, problem.convex_cost
    excluded = excluded_columns(design, cost)
    if not excluded.any():
        return problem
    features = np.where(excluded, 0.0, dense_features(design))
    return replace(problem, design=DenseDesign(features, design.blocks))
