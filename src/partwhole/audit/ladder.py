"""The order ladder: at which orders a training split supports its test splits.

Learners of order K have outputs that are sums of conjunctions of at most K components. The higher
the order, the more conjunctions training must show: what is determined at order K is determined
at every lower order, and what is solvable at order K is solvable at every higher one. Derived here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import comb
from time import process_time

import numpy as np
from jaxtyping import Bool

from partwhole._types import Seed
from partwhole.audit.case import Case
from partwhole.audit.costs import determined_in_time, has_time, seconds_to_determine
from partwhole.audit.evidence import Rung
from partwhole.audit.training_fit import fit_of_training
from partwhole.features.conjunctions import Dictionary
from partwhole.limits.proofs._budget import RATE
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.null_functions import CG_WORK
from partwhole.limits.proofs.solvability import Solvability

NAN = float("nan")
# Sets of components at one order.
MOST_SETS = 5000
MOST_LACKING = 12
# Share of training explained, but for rounding all of it.
EXACT = 1.0 - 1e-12


def ladders(
    cases: Sequence[Case],
    determined: Sequence[Determination],
    solved: Sequence[Solvability],
    solve: Callable[[Case], Solvability],
    *,
    deadline: float,
    time_limit: float,
    seed: Seed = 0,
) -> list[tuple[Rung, ...]]:
    """Return the verdicts on each test split at the orders 1 to C - 1.

    Parameters
    ----------
    cases : sequence of Case
        Of one table and order, each with held-out combinations.
    determined, solved : sequences of Determination and of Solvability
        Of each case, at its order.
    solve : function of a Case
        The solvability of a case at its order, asked for only where the verdict depends on it.
    deadline : float, keyword-only
        By `time.process_time`. No order is begun after it, nor a higher one that would take longer,
        as far as the time of the order below says.
    time_limit : float, keyword-only
        Seconds for each case. A higher order that takes more operations than are counted for all of
        them (3e8 a second) is left out, with those above.
    seed : int, keyword-only, default 0
        Of the null functions.

    Returns
    -------
    list of tuple of Rung
        For each case, in ascending order. After an order at which nothing is determined there
        are no more, since nothing is determined at higher ones.
    """
    n, required = cases[0].task.n_components, cases[0].order
    states = [_State.of(case, d, s) for case, d, s in zip(cases, determined, solved, strict=True)]
    decided = {
        case.split: d.seconds + s.seconds
        for case, d, s in zip(cases, determined, solved, strict=True)
    }
    pace = 0.0
    fit = cache(lambda k: fit_of_training(replace(cases[0], order=k), deadline).share)
    # The fit of numbers that stand for labels says nothing of the labels.
    fits_until = n if cases[0].table.hashed is None else 0
    for order in (required, *(k for k in range(1, n) if k != required)):
        if order != required and (process_time() > deadline or comb(n, order) > MOST_SETS):
            break
        before = [r for state in states for r in state.rungs if r.order == order - 1]
        if order > required and not any(rung.possible for rung in before):
            break
        if order != required and not has_time(seconds_to_determine(cases[0].task, order), deadline):
            if order > required:
                break
            continue
        start = process_time()
        counts = [_conjunctions(case, order) for case in cases]
        open_rows = [state.open(order, count) for state, count in zip(states, counts, strict=True)]
        asked = [i for i, is_open in enumerate(open_rows) if is_open.any()]
        seen = max(counts[0].seen, 1)
        if order == required:
            pace = determined[0].seconds / seen
        if asked:
            # The work grows about as the number of conjunctions.
            if order > required and start + pace * seen > deadline:
                break
            verdicts = determined_in_time(
                [cases[i].task for i in asked],
                max_order=order,
                seed=seed,
                deadline=deadline,
                until=deadline,
                work=RATE * time_limit * len(cases) if order > required else CG_WORK,
            )
            if order > required and any(verdict.undecided.any() for verdict in verdicts):
                break
            if order > required:
                pace = verdicts[0].seconds / seen
            for i, verdict in zip(asked, verdicts, strict=True):
                states[i].add(order, verdict.determined, verdict.undecided)
        shared = (process_time() - start) / len(cases)
        for case, state, count in zip(cases, states, counts, strict=True):
            start = process_time()
            state.settle(order, lambda case=case, order=order: solve(replace(case, order=order)))
            # Where training determines nothing it does not matter what it is, and above an order
            # that is too large to fit the others are too.
            is_fitted = state.masks[order][0].any() and order <= fits_until
            # Numbers that are a sum of a lower order are one of the higher. Labels may be right at
            # one, and fewer of them at the next, as long as the outputs are not exact.
            is_exact = cases[0].table.label is None and any(
                rung.order < order and rung.fitted >= EXACT for rung in state.rungs
            )
            fitted = NAN if not is_fitted else 1.0 if is_exact else fit(order)
            if is_fitted and np.isnan(fitted):
                fits_until = order
            seconds = shared + process_time() - start
            if order == required:  # computed before, for the other sections
                seconds += decided[case.split]
            state.rungs.append(state.rung(order, count, fitted, seconds))
    return [tuple(sorted(state.rungs, key=lambda rung: rung.order)) for state in states]


@dataclass(frozen=True, eq=False)
class _Counts:
    """Conjunctions of one order, and which held-out combinations have one that training lacks."""

    seen: int
    in_test: int
    unseen: int
    lacking: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    has_unseen: Bool[np.ndarray, " h"]


def _conjunctions(case: Case, order: int) -> _Counts:
    task = case.task
    held_out = task.test_components
    has_unseen = np.zeros(len(held_out), dtype=bool)
    seen = in_test = unseen = 0
    lacking: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []
    for subset in combinations(range(task.n_components), order):
        dictionary, index = Dictionary.of(task.components, subset, task.n_values)
        in_training = np.zeros(dictionary.size, dtype=bool)
        in_training[index[task.is_train]] = True
        uses = np.bincount(index[~task.is_train], minlength=dictionary.size)
        missing = (uses > 0) & ~in_training
        has_unseen |= missing[index[~task.is_train]]
        seen, in_test = seen + int(in_training.sum()), in_test + int((uses > 0).sum())
        unseen += int(missing.sum())
        if missing.any():
            places = np.flatnonzero(missing)
            places = places[np.argsort(-uses[places], kind="stable")[:MOST_LACKING]]
            values = dictionary.values()[places].tolist()
            lacking += [
                (-int(uses[place]), subset, tuple(value))
                for place, value in zip(places, values, strict=True)
            ]
    lacking = sorted(lacking)[:MOST_LACKING]
    return _Counts(seen, in_test, unseen, tuple((s, v) for _, s, v in lacking), has_unseen)


@dataclass(eq=False)
class _State:
    """Verdicts of one case by order: masks of what is determined and undecided; solvability."""

    masks: dict[int, tuple[Bool[np.ndarray, " h"], Bool[np.ndarray, " h"]]]
    solvable: dict[int, bool | None]
    rungs: list[Rung]

    @classmethod
    def of(cls, case: Case, determined: Determination, solved: Solvability) -> _State:
        masks = {case.order: (determined.determined, determined.undecided)}
        return cls(masks, {case.order: solved.solvable}, [])

    def open(self, order: int, counts: _Counts) -> Bool[np.ndarray, " h"]:
        """Return the rows on which other orders say nothing, and note those on which they do."""
        sure, never = np.zeros_like(counts.has_unseen), counts.has_unseen.copy()
        for other, (determined, undecided) in self.masks.items():
            if other >= order:
                sure |= determined
            if other <= order:
                never |= ~determined & ~undecided
        unknown = ~sure & ~never
        if order in self.masks:
            return np.zeros_like(unknown)
        self.masks[order] = sure & ~never, unknown
        return unknown

    def add(
        self, order: int, determined: Bool[np.ndarray, " h"], undecided: Bool[np.ndarray, " h"]
    ) -> None:
        """Complete the verdicts of an order with those that were computed."""
        known, unknown = self.masks[order]
        self.masks[order] = known | (determined & unknown), undecided & unknown

    def settle(self, order: int, solve: Callable[[], Solvability]) -> None:
        """Find out whether targets are solvable, if training determines all answers."""
        if order in self.solvable:
            return
        verdict = None
        if any(known and other <= order for other, known in self.solvable.items()):
            verdict = True
        elif any(known is False and other >= order for other, known in self.solvable.items()):
            verdict = False
        elif self.masks[order][0].any():
            verdict = solve().solvable
        self.solvable[order] = verdict

    def rung(self, order: int, counts: _Counts, fitted: float, seconds: float) -> Rung:
        determined, undecided = self.masks[order]
        return Rung(
            order,
            counts.seen,
            counts.in_test,
            counts.unseen,
            counts.lacking,
            len(determined),
            int(determined.sum()),
            int(undecided.sum()),
            self.solvable[order],
            fitted,
            seconds,
        )
