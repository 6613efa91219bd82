r"""Problems of several outputs, written out as problems of one for the oracles.

With coefficients in the order block, output, feature, the row of input i and weights w of its
outputs has the features :math:`w \otimes A_{i g}` of each block g. A penalised intercept of the
quadratic cost is a block of k columns more. Costs of shared units become those of matrices with a
row for each output.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from problems import Problem

from partwhole.limits import Limit


def several(rng: np.random.Generator, case: Problem) -> Problem:
    """Return a problem of two or three outputs; those of a margin may be classes."""
    case = _with_equal_blocks(case)
    n, k = len(case.targets), int(rng.integers(2, 4))
    outputs = case.matrix @ rng.normal(size=(case.matrix.shape[1], k))
    outputs = outputs / (np.abs(outputs).max() or 1.0) * np.abs(case.targets).max(initial=0.0)
    if rng.random() < 0.3:
        outputs = rng.normal(size=(n, k))
    classes = case.fit == "margin" and rng.random() < 0.5
    if classes:
        targets = np.eye(k)[outputs.argmax(axis=1)]
    elif case.fit == "margin":
        targets = np.where(outputs >= np.median(outputs), 1.0, -1.0)
    else:
        targets = np.column_stack([case.targets, outputs[:, 1:]])
    if case.intercept == "free" or case.cost != "quadratic":
        case = replace(case, intercept="none")
    return _as_one(replace(case, targets=targets), targets, classes)


def _with_equal_blocks(case: Problem) -> Problem:
    """Return a problem whose blocks are features, or of one size where they become matrices."""
    p = case.matrix.shape[1]
    if case.cost in ("nuclear", "schatten"):
        return case
    if case.cost in ("group", "chain") and p % 2 == 0 and case.sizes != (1,) * p:
        return replace(case, sizes=(2,) * (p // 2), weights=np.ones(p // 2))
    return replace(case, sizes=(1,) * p, weights=np.resize(case.weights, p))


def _as_one(posed: Problem, targets: np.ndarray, classes: bool) -> Problem:
    """Return the problem of one output that says the same."""
    (n, k), matrix = targets.shape, posed.matrix
    if classes:
        inputs, other = np.nonzero(targets == 0.0)
        weights = targets[inputs] - np.eye(k)[other]
        labels = np.ones(len(inputs))
    else:
        inputs, weights, labels = (
            np.repeat(np.arange(n), k),
            np.tile(np.eye(k), (n, 1)),
            targets.ravel(),
        )
    whole, sizes = [], [k * size for size in posed.sizes]
    for start, size in zip(posed.starts, posed.sizes, strict=True):
        part = matrix[inputs, start : start + size]
        whole.append((weights[:, :, None] * part[:, None]).reshape(len(inputs), -1))
    sigma, intercept = posed.weights, posed.intercept
    if not isinstance(intercept, str):
        whole, sizes = [*whole, weights], [*sizes, k]
        sigma, intercept = np.append(sigma, 1.0 / intercept), "none"
    cost, rows = posed.cost, posed.rows
    if cost in ("group", "chain") and max(posed.sizes) > 1:
        cost, rows = {"group": "nuclear", "chain": "schatten"}[cost], k
    elif cost in ("nuclear", "schatten"):
        rows = k * rows
    order = _order(posed, k)
    return replace(
        posed,
        cost=cost,
        matrix=np.hstack(whole),
        sizes=tuple(sizes),
        targets=labels,
        slack=posed.slack[inputs],
        one_slack=False,
        intercept=intercept,
        weights=sigma,
        width=np.repeat(posed.width, k)[order],
        tilt=np.repeat(posed.tilt, k)[order],
        rows=rows,
        posed=posed,
    )


def _order(posed: Problem, k: int) -> np.ndarray:
    """Return the place of each coefficient, in the order above, in a flat array (p, k)."""
    places = np.arange(posed.matrix.shape[1] * k).reshape(-1, k)
    parts = [
        places[start : start + size].T.ravel()
        for start, size in zip(posed.starts, posed.sizes, strict=True)
    ]
    return np.concatenate(parts)


def as_one(problem: Problem, limit: Limit) -> Limit:
    """Return the limit of the problem as posed, with the coefficients of the problem of one."""
    posed = problem.posed
    assert posed is not None
    coefficients = limit.coefficients.ravel()[_order(posed, limit.coefficients.shape[1])]
    if not isinstance(posed.intercept, str):
        coefficients = np.append(coefficients, limit.intercept)
    return replace(limit, coefficients=coefficients, intercept=0.0)
