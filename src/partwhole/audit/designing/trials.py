"""Trials of a design, each around another reference, and the smallest training set of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import islice
from math import prod

import numpy as np
from jaxtyping import Int

from partwhole._checks import InputError, require
from partwhole.audit.designing.audited import MOST_COMBINATIONS, is_learnable, misleading
from partwhole.audit.designing.bound import MOST_ENTRIES, lower_bound
from partwhole.audit.designing.grades import MOST_WEIGHTS, Exchange, start, windows
from partwhole.audit.designing.pull import Pull
from partwhole.audit.designing.split_design import SplitDesign
from partwhole.audit.designing.sums import (
    Blocks,
    blocks_apart,
    codes,
    n_dimensions,
    needed,
    random_blocks,
    weight_matrix,
)
from partwhole.audit.reading.redundant import redundant

# References that are tried, for the smallest training set.
TRIALS = 16
# The best of them, of which the first that can be learned is taken.
MOST_COMPARED = 32
# Partitions of the factors into blocks that are drawn with each.
PARTITIONS = 24
# Exchanges before each choice of grades, as a share of the training combinations, and the most.
EXCHANGES = (0.0, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.4, 0.4, 0.8)
MOST_EXCHANGES = 100
# Rows of each label in a test split with a shortcut, where it has so many.
TWICE = 2


@dataclass(frozen=True)
class Request:
    """What is asked for, once it is valid."""

    names: tuple[str, ...]
    values: tuple[tuple[Hashable, ...], ...]
    n_values: tuple[int, ...]
    order: int
    h: int
    target: str
    pull: Pull | None
    grades: int
    budget: int | None

    def design(
        self,
        reference: Int[np.ndarray, " C"],
        train: Int[np.ndarray, "n C"],
        test: Int[np.ndarray, "h C"],
        blocks: Blocks,
        grade: Int[np.ndarray, " h"] | None = None,
        weights: Int[np.ndarray, "h n"] | None = None,
    ) -> SplitDesign:
        """Return a design without its lower bound."""
        ones = np.ones(len(train), dtype=np.int64)
        copies = ones if self.pull is None else self.pull.copies(train)
        grade = np.ones(len(test), dtype=np.int64) if grade is None else grade
        asked = None if self.pull is None else (self.names[self.pull.factor], self.pull.share)
        return SplitDesign(
            self.names, self.values, self.order, reference, train, copies, test, 0, "",
            self.target, blocks, grade, weights, shortcut=asked,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trial:
    """A design of the trials, and its place among them.

    `ratio` is the least ratio of the noise of a grade to that of the grade before.
    """

    request: Request
    ratio: float
    design: SplitDesign

    @property
    def is_small(self) -> bool:
        """Return whether the design is so small that its rows are audited at once."""
        return len(self.design.train) + len(self.design.test) <= MOST_COMBINATIONS

    @property
    def is_audited(self) -> bool:
        """Return whether its place among the trials depends on an audit."""
        return self.request.pull is not None and self.is_small

    @cached_property
    def key(self) -> tuple[float, ...]:
        """Return numbers that are smaller for better designs."""
        if not self.is_audited:
            return self.least_key
        return self._key(*self.unshown, float(len(self.others)))

    @cached_property
    def least_key(self) -> tuple[float, ...]:
        """Return what the key is at least, whatever an audit finds."""
        return self._key(0.0, 0.0, 0.0)

    def _key(self, unnamed: float, behind: float, n_others: float) -> tuple[float, ...]:
        design, sizes = self.design, np.bincount(self.design.grade)[1:]
        budget = self.request.budget
        return (
            float(self.lacking),
            unnamed,
            float(budget is not None and len(design.train) > budget),
            behind,
            max(1.0, float(np.ptp(sizes))),
            float(len(design.train)),
            -self.ratio,
            float(design.noise_gain.max()) if design.is_graded else 0.0,
            n_others,
            float(design.weights is not None),
            _unasked(self.request, design),
        )

    def is_as_small(self, trial: Trial) -> bool:
        """Return whether its training set and its grades are as good as those of another trial."""
        return self.key[:8] == trial.key[:8]

    @property
    def lacking(self) -> int:
        """Return how many rows lack for each label to be twice in the test splits of a shortcut."""
        pull, design, lacking = self.request.pull, self.design, 0
        if pull is None:
            return 0
        for grade in range(1, int(design.grade.max()) + 1):
            labels = design.test[design.grade == grade, pull.target]
            counts = np.bincount(labels, minlength=self.request.n_values[pull.target])
            possible = min(len(labels), TWICE * len(counts))
            lacking += possible - int(np.minimum(counts, TWICE).sum())
        return lacking

    @cached_property
    def shortcuts(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Return the shortcuts that the audit finds in each test split, the strongest first."""
        return tuple(tuple(item.components for item in split) for split in misleading(self.design))

    @property
    def unshown(self) -> tuple[float, float]:
        """Return in how many splits the shortcut is not found, or another one comes first."""
        assert self.request.pull is not None
        asked = (self.request.pull.factor,)
        return (
            float(sum(asked not in split for split in self.shortcuts)),
            float(sum(split[:1] != (asked,) for split in self.shortcuts)),
        )

    @property
    def has_asked(self) -> bool:
        """Return whether the audit finds the shortcut that is asked for, and all labels."""
        return self.request.pull is None or (self.lacking == 0 and self.unshown[0] == 0.0)

    @property
    def others(self) -> tuple[tuple[int, ...], ...]:
        """Return the shortcuts that are not asked for."""
        pull = self.request.pull
        asked = () if pull is None else ((pull.factor,),)
        every = dict.fromkeys(c for split in self.shortcuts for c in split)
        return tuple(c for c in every if c not in asked)


def best_design(request: Request, rng: np.random.Generator) -> SplitDesign:
    """Return the smallest design of the trials, of those with the most equal grades.

    Of as small ones, that in which the hardest grade has the least noise gain, and then that in
    which factors predict the target least, unless that is asked for. The first one within the
    budget of which the audit predicts more than guesses, if it does so of one of the best. With a
    shortcut, of those that the audit finds to have it.

    Raises
    ------
    InputError
        If no trial has a design, or none has the shortcut.
    """
    n_values = request.n_values
    grid = np.stack(np.unravel_index(np.arange(prod(n_values)), n_values), axis=1)
    n_weights = request.h * n_dimensions(n_values, request.order)
    require(
        request.grades == 1 or n_weights <= MOST_WEIGHTS,
        f"graded splits have at most {MOST_WEIGHTS:,} weights, of each held-out combination one "
        "for each dimension",
        f"{n_weights:,}",
        "hold out less, or lower the order",
    )
    kinds = (_graded,)
    if request.grades == 1:
        kinds = (_plain,) if request.pull is None else (_plain, _exchanged)
    trials, n_tried = _tried(request, grid, kinds, rng)
    if trials:
        chosen = _chosen(request, trials)
        if request.pull is None and request.grades == 1 and chosen.is_small and chosen.others:
            trials += _tried(request, grid, (_exchanged,), rng)[0]
            chosen = _chosen(request, trials)
        names = (tuple(request.names[c] for c in components) for components in chosen.others)
        return replace(chosen.design, others=tuple(names))
    require(
        not n_tried,
        "factors vary in the split, and none is a function of another",
        f"{request.h} held-out combinations of which that is not so, in {TRIALS} trials",
        "hold out a larger share",
    )
    kept = ", and training, whose weights are unique, shows the shortcut" if request.pull else ""
    raise InputError(
        f"every noise gain in a grade is above those in the grade before{kept}; got no such "
        f"training set for {request.grades} grades of {request.h} held-out combinations in "
        f"{TRIALS} trials; ask for fewer grades or hold out a smaller share"
        + (", or leave out the shortcut" if kept else "")
    )


def _tried(
    request: Request,
    grid: Int[np.ndarray, "N C"],
    kinds: Sequence[Callable[..., Iterator[tuple[float, SplitDesign]]]],
    rng: np.random.Generator,
) -> tuple[list[Trial], int]:
    """Return the trials that can be among the best, and the number of designs."""
    audited: list[Trial] = []
    others: list[Trial] = []
    n_tried = 0
    for _ in range(TRIALS):
        reference = np.array([rng.integers(n) for n in request.n_values])
        pairs = (pair for kind in kinds for pair in kind(request, grid, reference, rng))
        for ratio, design in pairs:
            n_tried += 1
            if not _is_varied(np.r_[design.train, design.test], request.n_values):
                continue
            trial = Trial(request, ratio, design)
            if trial.is_audited:
                audited.append(trial)
            elif len(others) < MOST_COMPARED or trial.key < others[-1].key:
                others = sorted([*others, trial], key=lambda trial: trial.key)[:MOST_COMPARED]
    return audited + others, n_tried


def _in_order(trials: Sequence[Trial]) -> Iterator[Trial]:
    """Yield trials by their keys, of equal ones the first; audited is what could be the next."""
    heap = [(trial.least_key, not trial.is_audited, i) for i, trial in enumerate(trials)]
    heapify(heap)
    while heap:
        _, is_known, i = heappop(heap)
        if is_known:
            yield trials[i]
        else:
            heappush(heap, (trials[i].key, True, i))


def _chosen(request: Request, trials: Sequence[Trial]) -> Trial:
    """Return the first trial within the budget that can be learned, and has what is asked for."""
    budget = request.budget

    def best() -> Iterator[Trial]:
        return islice(_in_order(trials), MOST_COMPARED)

    def within() -> Iterator[Trial]:
        return (trial for trial in best() if budget is None or len(trial.design.train) <= budget)

    fits = (trial for trial in within() if trial.has_asked and is_learnable(trial.design))
    chosen = next(fits, None) or next((trial for trial in best() if trial.has_asked), None)
    if chosen is None:
        grades = "" if request.grades == 1 else f" in {request.grades} grades"
        raise InputError(
            "a test split with a shortcut has each label twice where it can, and an audit of it "
            f"finds the shortcut; got no such split of {request.h} held-out combinations{grades} "
            f"in {TRIALS} trials; hold out a larger share, give factors more values, or raise the "
            "share of the shortcut"
        )
    if request.pull is None and chosen.is_small:
        # Another one that is as good but for shortcuts.
        as_small = filter(chosen.is_as_small, within())
        fits = (trial for trial in as_small if not trial.others and is_learnable(trial.design))
        chosen = next(fits, chosen)
    return chosen


def _is_varied(rows: Int[np.ndarray, "n C"], n_values: tuple[int, ...]) -> bool:
    """Return whether each factor is one for the audit, which leaves out what others determine."""
    return bool(np.ptp(rows, axis=0).all()) and not redundant(rows, n_values)


def _unasked(request: Request, design: SplitDesign) -> float:
    """Return by how much a factor predicts the target though no shortcut of it is asked for."""
    target = request.names.index(request.target)
    asked = {target} if request.pull is None else {target, request.pull.factor}
    gains = [0.0]
    for c in set(range(len(request.names))) - asked:
        counts = np.zeros((request.n_values[target], request.n_values[c]))
        np.add.at(counts, (design.train[:, target], design.train[:, c]), design.copies)
        counts = counts[counts.any(axis=1)]
        shares = counts / counts.sum(axis=1, keepdims=True)
        gains.append(float((shares.max(axis=0).sum() - 1.0) / len(shares)))
    return max(gains)


def bound_of(design: SplitDesign) -> tuple[int, str]:
    """Return the lower bound on the training set of a design, and its reason."""
    n_values = tuple(len(values) for values in design.values)
    weights = design.weights
    if weights is None:
        single = _single(n_values)
        basis = needed(design.test, n_values, design.reference, design.order, single)
        # The rank of some of them is a bound too.
        h, most = len(design.test), max(1, MOST_ENTRIES // len(basis))
        some = design.test[np.linspace(0, h - 1, min(h, most)).astype(int)]
        weights = weight_matrix(some, basis, n_values, design.reference, design.order, single)
    n_needed = int(weights.any(axis=0).sum()) if design.weights is not None else weights.shape[1]
    return lower_bound(design.test, design.names, n_values, design.order, n_needed, weights)


def _single(n_values: tuple[int, ...]) -> Blocks:
    return tuple((c,) for c in range(len(n_values)))


def _require_free(free: int, request: Request) -> None:
    require(
        free >= request.h,
        f"of {prod(request.n_values):,} combinations at most those can be held out that training "
        "does not need",
        f"{request.h:,} of them, where {free:,} are free at order {request.order}",
        "choose a smaller test share or a lower order",
    )


def _plain(
    request: Request,
    grid: Int[np.ndarray, "N C"],
    reference: Int[np.ndarray, " C"],
    rng: np.random.Generator,
) -> Iterator[tuple[float, SplitDesign]]:
    """Yield designs whose training lies around the reference, for one random test split."""
    order, pull, n_values = request.order, request.pull, request.n_values
    near = np.sum(grid != reference, axis=1) <= order
    extra = np.zeros((0, len(reference)), dtype=np.int64) if pull is None else pull.rows(reference)
    is_extra = np.isin(codes(grid, n_values), codes(extra, n_values))
    free = np.flatnonzero(~near & ~is_extra)
    _require_free(int(np.count_nonzero(~near)), request)
    if len(free) < request.h:
        return
    drawn = rng.permutation(free) if pull is None else pull.arranged(grid, free, request.h, rng)
    test = grid[np.sort(drawn[: request.h])]
    held_out = codes(test, n_values)
    tried: list[Blocks] = [_single(n_values)]
    # Of larger blocks more combinations are needed where more are held out.
    if request.h <= len(needed(test, n_values, reference, order, tried[0])):
        tried += sorted(random_blocks(len(n_values), order + 1, rng, PARTITIONS))
    for blocks in tried:
        if (blocks_apart(test, reference, blocks) <= order).any():
            continue
        train = needed(test, n_values, reference, order, blocks)
        if np.isin(codes(train, n_values), held_out).any():
            continue
        if pull is not None:
            train = np.unique(np.r_[train, extra[pull.is_missing(train, extra)]], axis=0)
        yield 1.0, request.design(reference, train, test, blocks)


def _graded(
    request: Request,
    grid: Int[np.ndarray, "N C"],
    reference: Int[np.ndarray, " C"],
    rng: np.random.Generator,
) -> Iterator[tuple[float, SplitDesign]]:
    """Yield designs of graded test splits, each after more exchanges."""
    exchange = start(grid, request.n_values, reference, request.order, rng)
    _require_free(len(exchange.others), request)
    if request.pull is not None and not exchange.keep_shortcut(request.pull, rng):
        return
    for share in EXCHANGES:
        exchange.exchange(rng, min(MOST_EXCHANGES, round(share * len(exchange.basis))))
        choice = _choice(request, exchange, rng)
        if choice is None:
            continue
        ratio, rows, grade = choice
        yield ratio, _of_weights(request, exchange, reference, rows, grade)


def _exchanged(
    request: Request,
    grid: Int[np.ndarray, "N C"],
    reference: Int[np.ndarray, " C"],
    rng: np.random.Generator,
) -> Iterator[tuple[float, SplitDesign]]:
    """Yield designs of one test split whose training lies around no reference.

    Where all but one of the factors interact, what is far from a reference lacks all its values.
    """
    exchange = start(grid, request.n_values, reference, request.order, rng)
    pull = request.pull
    if pull is not None and not exchange.keep_shortcut(pull, rng):
        return
    for share in EXCHANGES:
        exchange.exchange(rng, min(MOST_EXCHANGES, round(share * len(exchange.basis))))
        beyond = np.flatnonzero(exchange.is_beyond(request.order, request.n_values))
        if len(beyond) < request.h:
            continue
        drawn = (
            rng.permutation(beyond)
            if pull is None
            else pull.arranged(exchange.others, beyond, request.h, rng)
        )
        rows = np.sort(drawn[: request.h])
        yield 1.0, _of_weights(request, exchange, reference, rows, None)


def _of_weights(
    request: Request,
    exchange: Exchange,
    reference: Int[np.ndarray, " C"],
    rows: Int[np.ndarray, " h"],
    grade: Int[np.ndarray, " h"] | None,
) -> SplitDesign:
    """Return the design of which the basis that these combinations need is the training set."""
    weights = exchange.table[rows]
    used = np.flatnonzero(weights.any(axis=0))
    if request.pull is not None:
        kept = np.setdiff1d(np.flatnonzero(exchange.is_kept), used)
        missing = request.pull.is_missing(exchange.basis[used], exchange.basis[kept])
        used = np.union1d(used, kept[missing])
    basis, test = exchange.basis[used], exchange.others[rows]
    single = _single(request.n_values)
    return request.design(reference, basis, test, single, grade, weights[:, used])


def _choice(
    request: Request, exchange: Exchange, rng: np.random.Generator
) -> tuple[float, Int[np.ndarray, " h"], Int[np.ndarray, " h"]] | None:
    """Return the least ratio of noise between grades, what is held out, and its grades."""
    beyond = np.flatnonzero(exchange.is_beyond(request.order, request.n_values))
    of_grades = windows(np.sum(exchange.table[beyond] ** 2, axis=1), request.h, request.grades)
    if of_grades is None:
        return None
    rows = []
    for places, size in of_grades[1]:
        free = beyond[places]
        drawn = (
            rng.permutation(free)
            if request.pull is None
            else request.pull.arranged(exchange.others, free, size, rng)
        )
        rows.append(np.sort(drawn[:size]))
    grade = np.repeat(np.arange(len(rows)) + 1, [len(chosen) for chosen in rows])
    return of_grades[0], np.concatenate(rows), grade
