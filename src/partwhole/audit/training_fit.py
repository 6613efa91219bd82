"""Is training itself a sum of conjunctions of at most K components?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.costs import has_time, seconds_to_fit
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs._indicators import as_sparse
from partwhole.limits.proofs._least_squares import GRAM_SIDE, BestSum, best_sum, best_sum_of
from partwhole.limits.proofs._partial_sums import partial_sums

# Seconds for the fit, and numbers in the targets beyond which none is tried.
SECONDS, MOST_NUMBERS = 1.0, 2_000_000
# Differences of scores up to it are rounding: targets are -1 and +1.
ROUNDING = 1e-9


@dataclass(frozen=True)
class TrainingFit:
    """Fit of the rows of training by the best sum of conjunctions.

    Parameters
    ----------
    share : float
        Of the variance explained; for labels, of the rows' weight whose label has the highest
        output, of which several share it equally. NaN if the fit was too large.
    variance : float
        What it leaves of a row, summed over outputs: the sum of squares over its degrees of
        freedom; NaN without any.
    degrees : float
        Degrees of freedom: rows minus independent conjunctions.
    """

    share: float
    variance: float
    degrees: float


def fit_of_training(case: Case, deadline: float = float("inf")) -> TrainingFit:
    """Return how well sums of conjunctions of at most K components fit the rows of training.

    Parameters
    ----------
    case : Case
        Its order is K.
    deadline : float, default infinity
        By `time.process_time`; the fit takes about a second at most in any case, and is not begun
        if its indicators take longer than what is left.

    Returns
    -------
    TrainingFit
    """
    table = case.table
    rows = np.flatnonzero(table.split == TRAIN)
    components, targets = table.components[rows], table.targets[rows]
    nan = float("nan")
    is_early = has_time(seconds_to_fit(case.task, len(rows), case.order), deadline)
    if targets.size > MOST_NUMBERS or not is_early:
        return TrainingFit(nan, nan, nan)
    sets = conjunction_sets(case.task.n_components, case.order)
    design = ConjunctionDesign.seen(components, sets, case.task.n_values)
    fit = _fit(design, components, targets, case, deadline)
    if not fit.settled:
        return TrainingFit(nan, nan, nan)
    # Without a rank, the number of independent conjunctions is at most that of a full table.
    full = sum(float(np.prod([case.task.n_values[c] - 1.0 for c in subset])) for subset in sets)
    rank = min(full, design.shape[1]) if fit.rank is None else fit.rank
    degrees = float(len(rows) - rank)
    variance = float((fit.residual**2).sum()) / degrees if degrees >= 1 else nan
    share = 1.0 if np.isnan(fit.r_squared) else max(fit.r_squared, 0.0)
    if table.label is not None and table.hashed is None:
        outputs = targets - fit.residual
        weights = table.weights[rows]
        if np.ptp(weights) > 0:
            # The mean of a combination whose rows differ is weighted, as everywhere in the audit.
            means = _weighted_means(targets, case.row_combination[rows], weights)
            best = _fit(design, components, means, case, deadline)
            outputs = means - best.residual
            if not best.settled:
                return TrainingFit(nan, variance, degrees)
        scores = np.hstack([-outputs, outputs]) if outputs.shape[1] == 1 else outputs
        share = float(
            np.average(_credit(scores, case.row_combination[rows], table.label[rows]),
                       weights=weights)
        )  # fmt: skip
    return TrainingFit(share, variance, degrees)


def _fit(
    design: ConjunctionDesign,
    components: Int[np.ndarray, "n C"],
    targets: Float[np.ndarray, "n k"],
    case: Case,
    deadline: float,
) -> BestSum:
    """Return the best sum; of many conjunctions by those of K components, which span the others."""
    budget = Budget.of(SECONDS, deadline)
    if min(design.shape) <= GRAM_SIDE:
        return best_sum(as_sparse(design), targets, budget)
    pairs = zip(design.dictionaries, design.index, strict=True)
    dictionaries, index = zip(
        *((d, i) for d, i in pairs if len(d.components) == case.order), strict=True
    )
    largest = ConjunctionDesign(dictionaries, index, design.n_rows)
    return best_sum_of(partial_sums(largest, components, case.task.n_values), targets, budget)


def _credit(
    scores: Float[np.ndarray, "n k"], place: Int[np.ndarray, " n"], label: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return 1 for rows whose label has the highest score; labels with equal ones share it.

    Rows of a combination have the same scores but for rounding, of which labels are not to depend.
    """
    n = np.bincount(place)
    means = np.stack([np.bincount(place, column) for column in scores.T], axis=1)
    means = means[place] / n[place, None]
    highest = means >= means.max(axis=1, keepdims=True) - ROUNDING
    return highest[np.arange(len(label)), label] / highest.sum(axis=1)


def _weighted_means(
    targets: Float[np.ndarray, "n k"],
    place: Int[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "n k"]:
    """Return for each row the weighted mean of the rows of its combination."""
    total = np.bincount(place, weights)
    sums = [np.bincount(place, weights * column) for column in targets.T]
    return np.stack(sums, axis=1)[place] / total[place, None]
