"""Whether exact rows contradict one another: what least squares leaves, or a linear program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from partwhole.features.design import DenseDesign
from partwhole.limits._certificate import EPS, infeasible
from partwhole.limits._reduction import ENTRIES
from partwhole.limits.costs import Cost
from partwhole.limits.costs._matrices import dense_features, left_out
from partwhole.limits.fits import Equal
from partwhole.limits.limit import Limit
from partwhole.limits.problem import Intercept, Problem

CARRIED = 1e-14  # of the largest singular value: directions that the columns span
LARGEST = 50_000_000  # entries of a design that is written out, in memory of 400 MB


def contradiction(problem: Problem) -> Limit | None:
    """Return a proof that no function of the features meets the exact rows, if there is one.

    It is what least squares leaves of the targets, with rows and columns of length 1 where they
    are of very unlike size. A design too large to be written out is not looked at.
    """
    targets, intercept = problem.targets, problem.intercept
    n, p = problem.design.shape
    if n * p > ENTRIES:
        return None
    hard = np.flatnonzero(problem.slack == 0)
    problem = without_left_out(problem)
    design = problem.design
    given = columns = dense_features(design)[hard]
    if intercept != "none":
        columns = np.hstack([columns, np.ones((len(hard), 1))])
    wanted = targets[hard]
    for evenly in (False, True):
        rows = np.ones(len(hard))
        if evenly:
            largest = np.abs(columns[:, : p or None]).max(axis=1, initial=0.0)
            rows = 1.0 / np.where(largest > 0, largest, 1.0)
        scaled = rows[:, None] * columns
        tops = np.abs(scaled).max(axis=0, initial=0.0)
        scaled = scaled[:, tops > 0] / tops[tops > 0]
        basis, values, _ = np.linalg.svd(scaled, full_matrices=False)
        basis = basis[:, values > 64.0 * EPS * max(scaled.shape) * values.max(initial=0.0)]
        rest = (wanted.T * rows).T
        for _ in range(3):
            rest = rest - basis @ (basis.T @ rest)
        proof = np.zeros_like(targets)
        rest = np.where(np.abs(rest) > 1e-13 * np.abs(rest).max(initial=0.0), rest, 0.0)
        proof[hard] = (rest.T * rows).T
        limit = infeasible(problem, proof, 0)
        if limit is None and targets.ndim == 1:
            proof = _exact(proof, given, intercept, hard)
            limit = infeasible(problem, proof, 0)
        if limit is not None:
            return limit
    return None


def separated(problem: Problem) -> Limit | None:
    r"""Return a proof that no function of the features fits the exact rows, if there is one.

    The least :math:`t \ge 0` by which all bounds must be moved is sought, in rows and columns of
    size 1. Where it is not 0 the rows' multipliers have :math:`A^T v = 0`; `infeasible` then
    checks them in the units as given.
    """
    from scipy.optimize import linprog

    intercept, fit = problem.intercept, problem.fit
    assert not isinstance(fit, Equal)
    n, p = problem.design.shape
    if n * p > LARGEST:
        return None
    hard = np.flatnonzero(problem.slack == 0)
    problem = without_left_out(problem)
    design, targets = problem.design, problem.targets
    columns = dense_features(design)[hard]
    largest = np.abs(columns).max(axis=1, initial=0.0)
    rows = 1.0 / np.where(largest > 0, largest, 1.0)
    scaled = rows[:, None] * columns
    tops = np.abs(scaled).max(axis=0, initial=0.0)
    scaled = scaled[:, tops > 0] / tops[tops > 0]
    if scaled.shape[1] > len(hard):
        # As many orthonormal features as there are rows span the same functions.
        scaled = np.asarray(qr(scaled.T, mode="r")[0])[: len(hard)].T
    if intercept != "none":
        scaled = np.hstack([scaled, rows[:, None] / rows.max(initial=1.0)])
    sides = fit.one_sided(targets[hard])
    bounds = rows[sides.rows] * sides.bounds
    unit = float(np.abs(bounds).max(initial=0.0)) or 1.0
    q = scaled.shape[1]
    seen = sides.signs[:, None] * scaled[sides.rows]
    program = linprog(
        np.append(np.zeros(q), 1.0),
        A_ub=sparse.csr_array(np.hstack([-seen, -np.ones((len(bounds), 1))])),
        b_ub=-bounds / unit,
        bounds=[(None, None)] * q + [(0.0, None)],
        method="highs",
    )
    if program.status != 0:
        return None
    shares = np.maximum(0.0, -program.ineqlin.marginals) * rows[sides.rows]
    proof = np.zeros(n)
    np.add.at(proof, hard[sides.rows], sides.signs * shares)
    unseen = _unseen(proof, scaled, rows, hard)
    for nearest in (_exact(proof, columns, intercept, hard), unseen):
        limit = infeasible(problem, nearest, 0)
        if limit is not None:
            return limit
    nearest = _exact(unseen, columns, intercept, hard)
    return infeasible(problem, nearest, 0)


def _exact(
    proof: np.ndarray, columns: np.ndarray, intercept: Intercept, hard: np.ndarray
) -> np.ndarray:
    """Return the proof with its support's null vector to the last digit."""
    support = hard[proof[hard] != 0]
    if not len(support):
        return proof
    place = np.searchsorted(hard, support)
    part = columns[place]
    if intercept != "none":
        part = np.hstack([part, np.ones((len(place), 1))])
    tops = np.abs(part * proof[support][:, None]).max(axis=0, initial=0.0)
    weighted = (part * proof[support][:, None])[:, tops > 0] / tops[tops > 0]
    # The nearest shares, as factors about 1, that every column's sum gives 0.
    factors = np.ones(len(support))
    for _ in range(2):
        factors = factors - np.linalg.lstsq(weighted.T, weighted.T @ factors, rcond=1e-12)[0]
    out = np.array(proof)
    out[support] = proof[support] * factors
    return out


def _unseen(
    proof: np.ndarray, scaled: np.ndarray, rows: np.ndarray, hard: np.ndarray
) -> np.ndarray:
    """Return the nearest proof that no column sees, of all exact rows.

    Where rows are nearly alike the program takes them for equal, and leaves out what other rows
    add to make up for their difference.
    """
    basis, size, _ = np.linalg.svd(scaled, full_matrices=False)
    basis = basis[:, size > CARRIED * size.max(initial=0.0)]
    v = proof[hard] / rows
    for _ in range(2):
        v = v - basis @ (basis.T @ v)
    out = np.zeros_like(proof)
    out[hard] = v * rows
    return out


def without_left_out(problem: Problem) -> Problem:
    """Return the problem with features of 0 where the cost allows no coefficient."""
    design, cost = problem.design, problem.cost
    assert isinstance(cost, Cost)
    out = left_out(design, cost)
    if not out.any():
        return problem
    features = np.where(out, 0.0, dense_features(design))
    return replace(problem, design=DenseDesign(features, design.blocks))
