r"""Solvability up to the noise in the targets: of numbers, or of labels.

Targets with noise are no exact sums of conjunctions. With the variance :math:`s^2` of a single
row and m_i rows for combination i, residuals of the n means about the best sum (of rank r) have a
mean square near :math:`\overline{s^2/m_i}` if noise is all there is: the lack-of-fit test of
regression. The variance is that within repeated rows, or what sums of conjunctions of at most K
components leave in training (of K + 1, if these fit better than noise allows), or given. Labels
have to be separated where they are certain (`label_noise`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from partwhole._types import Real
from partwhole.audit.case import TRAIN, Case
from partwhole.audit.costs import has_time, seconds_to_solve
from partwhole.audit.label_noise import LEVEL, LabelNoise, require_rate
from partwhole.audit.many_labels import of_largest_output
from partwhole.audit.settings import NoiseSource
from partwhole.audit.training_fit import fit_of_training
from partwhole.audit.wording import count
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.limits.proofs.solvability import Solvability, solvability
from partwhole.tasks import Task

# Share of the held-out variance that noise may be, at most, for a verdict.
MOST_NOISE = 0.95
# Share of held-out combinations whose labels may be uncertain, at most, for a favourable verdict.
MOST_UNCERTAIN = 0.5


@dataclass(frozen=True)
class Noise:
    """Noise in held-out means.

    Parameters
    ----------
    variance : float
        Of single rows; summed over outputs.
    of_means : float
        Mean variance of a held-out combination's target.
    spread : float
        Sum of squares of the held-out targets about their mean.
    degrees : float
        Degrees of freedom of the variance; infinite for one that is given.
    source : str
        Where the variance comes from, in words.
    """

    variance: float
    of_means: float
    spread: float
    degrees: float
    source: str

    @classmethod
    def of(cls, case: Case, source: NoiseSource | Real = "repeats") -> Noise | None:
        """Return the noise of a case with numeric targets; None without a sign of it.

        Parameters
        ----------
        case : Case
        source : {"repeats", "estimate"} or float, default "repeats"
            "repeats": the variance within combinations, for which some must have rows that
            differ. "estimate": what the best sum of conjunctions of at most K components leaves
            in the rows of training, or the best of K + 1 if that is significantly less. A number
            is the standard deviation of a single row, the same for every output.
        """
        held_out = case.held_out
        if case.has_labels or not len(held_out):
            return None
        n_outputs = case.table.targets.shape[1]
        if not isinstance(source, str):
            words = f"The noise of a single row was given as {float(source):.3g}."
            variance, degrees = n_outputs * float(source) ** 2, float("inf")
        elif source == "repeats":
            if not case.conflict.any():
                return None
            variance, degrees = _within_combinations(case)
            words = (
                "Rows of the same combination differ with a standard deviation of "
                f"{variance**0.5:.3g}."
            )
        else:
            order, variance, degrees, is_tested = _left_by_sums(case)
            # Sums that fit every row leave no sign of noise.
            if not degrees >= 1:
                return None
            words = (
                f"The best sum of at most {count(order, 'component')} leaves a standard deviation "
                f"of {variance**0.5:.3g} in training, taken as the noise of a single row"
                f"{'' if is_tested else '; training cannot tell it from an interaction'}."
            )
        rows, _, weights = _counted(case)
        size = len(case.weights)
        shrink = np.bincount(rows, weights**2, size) / np.bincount(rows, weights, size) ** 2
        targets = case.task.targets.reshape(size, -1)[held_out]
        spread = float(((targets - targets.mean(axis=0)) ** 2).sum())
        return cls(variance, variance * float(shrink[held_out].mean()), spread, degrees, words)

    def unexplained(self, n: int, rank: int, level: Real = LEVEL) -> float:
        r"""Return the share of the held-out variance that noise alone leaves unexplained.

        Exceeded with probability `level` by a solvable task:
        :math:`\overline{s^2/m}\,(n - r)\,F_{1 - level}(n - r, degrees)` over the spread.

        Parameters
        ----------
        n, rank : int
            Held-out combinations, and the rank of the seen conjunctions on them.
        level : float, default 0.001
        """
        # Of scipy.special: scipy.stats takes half a second to import.
        from scipy.special import chdtri, fdtri

        left = max(n - rank, 0)
        if left == 0 or self.spread == 0.0:
            return 0.0
        # F with infinitely many degrees below is a chi-square over its own.
        quantile = (
            float(fdtri(left, self.degrees, 1.0 - level))
            if np.isfinite(self.degrees)
            else float(chdtri(left, level)) / left
        )
        return min(1.0, self.of_means * left * quantile / self.spread)


def _counted(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return combination, targets and weight of the rows that enter the means."""
    combination = case.row_combination
    # A test row whose combination occurs in training does not enter that combination's mean.
    counted = combination >= 0
    counted &= (case.table.split == TRAIN) | ~case.task.is_train[combination]
    return combination[counted], case.table.targets[counted], case.table.weights[counted]


def _within_combinations(case: Case) -> tuple[float, float]:
    """Return the variance pooled within combinations, and its degrees of freedom."""
    rows, targets, _ = _counted(case)
    deviation = targets - case.task.targets.reshape(len(case.weights), -1)[rows]
    degrees = len(rows) - len(np.unique(rows))
    return float((deviation**2).sum()) / degrees, float(degrees)


def _left_by_sums(case: Case) -> tuple[int, float, float, bool]:
    """Return the order of the sums that leave noise in training, its variance and degrees.

    Sums of a higher order that fit significantly better show that what is left by those of the
    order is no noise. The last value is whether that could be tested.
    """
    from scipy.special import fdtri

    fit = fit_of_training(case)
    if not fit.degrees >= 1:
        return case.order, fit.variance, fit.degrees, False
    higher = fit_of_training(replace(case, order=case.order + 1))
    gained = fit.degrees - higher.degrees
    is_tested = higher.degrees >= 1 and gained >= 1
    if is_tested:
        better = fit.variance * fit.degrees - higher.variance * higher.degrees
        bound = float(fdtri(gained, higher.degrees, 1.0 - LEVEL))
        if better > bound * gained * higher.variance:
            return case.order + 1, higher.variance, higher.degrees, True
    return case.order, fit.variance, fit.degrees, is_tested


def solve_up_to_noise(
    case: Case,
    *,
    unexplained: float,
    noise: NoiseSource | Real = "repeats",
    time_limit: float = 10.0,
    deadline: float = float("inf"),
) -> Solvability:
    """Decide whether held-out targets can be answered, up to the noise in them.

    Parameters
    ----------
    case : Case
    unexplained : float, keyword-only
        Share of the held-out variance that may stay unexplained in any case.
    noise : {"repeats", "estimate"} or float, keyword-only, default "repeats"
        As in `Noise.of`.
    time_limit, deadline : float, keyword-only
        As in `solvability`.
    """

    if case.table.labels is not None:
        require_rate(noise, len(case.table.labels))

    def ask(share: float, task: Task = case.task, *, labels: bool = case.has_labels) -> Solvability:
        kind = "classification" if labels else "regression"
        if not has_time(seconds_to_solve(task, case.order), deadline):
            why = (
                "the table of the values and sets of values that training has takes longer than "
                "the time left. Raise the time limit."
            )
            nan = float("nan")
            return Solvability(task, kind, case.order, None, None, nan, None, 0.0, 0.0, (why,))
        return solvability(
            task,
            kind=kind,
            max_order=case.order,
            time_limit=time_limit,
            unexplained=share,
            deadline=deadline,
        )

    solved = ask(unexplained)
    if solved.solvable is not False:
        return solved
    if case.table.hashed is not None:
        return of_largest_output(case, solved, lambda task: ask(0.0, task, labels=True))
    if case.has_labels:
        return _of_certain_labels(case, solved, noise, lambda task: ask(unexplained, task))
    estimate = Noise.of(case, noise)
    if estimate is None:
        return solved
    n_held_out = len(case.held_out)
    # Where the rank is unknown it is at most the number of combinations.
    rank = solved.rank
    if rank is None:
        rank = min(n_held_out, _n_conjunctions(case))
    allowed = estimate.unexplained(n_held_out, rank)
    remark = (
        f"{estimate.source} In 999 of 1,000 cases, noise of this size leaves at most "
        f"{100.0 * allowed:.3g} % of the held-out variance unexplained"
    )
    if allowed <= unexplained or np.isnan(solved.unexplained):
        return solved
    if solved.unexplained > allowed:
        # Sums of a few noisy targets prove nothing.
        exceeded = f"{remark}, and {100.0 * solved.unexplained:.3g} % is more."
        remarks = (*solved.remarks, exceeded)
        return replace(solved, certificate=None, tolerated=allowed, remarks=remarks)
    if allowed > MOST_NOISE:
        vacuous = f"{remark}, so that noise may be all there is. Add rows, or repeat combinations."
        return replace(solved, solvable=None, certificate=None, remarks=(vacuous,))
    solved = ask(allowed)
    remarks = (*solved.remarks, f"{remark}, so this share still counts as solvable.")
    return replace(solved, remarks=remarks)


def _of_certain_labels(
    case: Case,
    solved: Solvability,
    noise: NoiseSource | Real,
    ask: Callable[[Task], Solvability],
) -> Solvability:
    """Return the verdict on the held-out combinations whose labels are certain."""
    estimate = LabelNoise.of(case, noise)
    if estimate is None or estimate.certain.all():
        return solved
    n, n_open = len(case.held_out), int((~estimate.certain).sum())
    remark = (
        f"{estimate.source} With so much noise the labels of {n_open:,} of "
        f"{count(n, 'held-out combination')} are less certain than 99.9 %"
    )
    targets = case.task.targets.copy()
    # Combinations that are evenly divided between all labels need not be separated.
    assert case.table.labels is not None
    targets[case.held_out[~estimate.certain]] = 2.0 / len(case.table.labels) - 1.0
    again = ask(replace(case.task, targets=targets))
    if again.solvable and n_open > MOST_UNCERTAIN * n:
        vacuous = f"{remark}, so that noise may be all there is. Add rows of each combination."
        return replace(solved, solvable=None, certificate=None, remarks=(vacuous,))
    return replace(again, task=case.task, remarks=(f"{remark}, and need not be answered.",))


def noise_in_words(case: Case, noise: NoiseSource | Real) -> str | None:
    """Return what is taken as the noise in targets; None without a sign of it."""
    if not case.table.has_target or case.table.hashed is not None or not len(case.held_out):
        return None
    estimate = (LabelNoise if case.has_labels else Noise).of(case, noise)
    return estimate.source if estimate else None


def _n_conjunctions(case: Case) -> int:
    """Return the number of conjunctions of exactly K components in training."""
    task = case.task
    sets = [s for s in conjunction_sets(task.n_components, case.order) if len(s) == case.order]
    return ConjunctionDesign.seen(task.train_components, sets, task.n_values).shape[1]
