"""Which unseen combinations to add to training first."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._types import Real
from partwhole.audit.additions.candidates import unseen_combinations
from partwhole.audit.additions.support import (
    CoarseSupport,
    Support,
    TrainingInverse,
    Unsupported,
)
from partwhole.audit.case import Case
from partwhole.audit.evidence import Addition, Additions
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.determination import determination as determine
from partwhole.tasks import Task

MOST_CANDIDATES = 2000
MOST_COLUMNS = 1500
MOST_GROUPS = 64
# Values of null functions below this share of what they were have been eliminated.
TOLERANCE = 1e-7
# Of candidates that determine nothing more; no held-out combination has it.
NO_GROUP = -2
# Numbers closer than this, relatively, are equal but for rounding.
TIE = 1e-9

OBJECTIVE = (
    "First, the share of held-out combinations that training determines (one that is itself "
    "added counts). Among equals, the eigenvalue e that governs the leak: the contrast of "
    "determined held-out combinations that training supports least is predicted at e / (e + m) "
    "of its size, m being the memory, and e should be large. Among equals still, the expected "
    "squared error of the held-out combinations' sums, which should be small. The last two are "
    "for a random ReLU network with one hidden layer. Labels are not used."
)


def additions(
    case: Case,
    determination: Determination,
    *,
    add: int = 5,
    seed: int = 0,
    time_limit: Real = 3.0,
    kernel: OrderKernel | None = None,
    shared: TrainingInverse | None = None,
) -> Additions:
    r"""Choose unseen combinations for training, one at a time, each the best for what is held out.

    The objective is `OBJECTIVE`, in its order; it needs no labels. Adding x leaves the null
    functions that vanish at x, so it determines the held-out combinations whose values under
    the random null functions are parallel to x's. With the scatter M of training's scaled
    indicators about their mean and the memory m, and v running over the span of the determined
    held-out combinations less the mean of training as it stands,

    .. math:: \frac{e}{e + m} = \min_v \frac{v^T M (M + m)^{-1} v}{v^T v}.

    Parameters
    ----------
    case : Case
    determination : Determination
        Of the case's task, at its order. Each addition that determines something uses up one
        of its probes; when they run out it is computed anew, with what was added.
    add : int, keyword-only, default 5
        Most combinations to choose.
    seed : int, keyword-only, default 0
        Of the candidates' sample.
    time_limit : float, keyword-only, default 3
        Seconds after which no further addition is looked for; one is chosen in any case.
    kernel : OrderKernel, keyword-only, optional
        Weights of conjunctions and memory; by default those of a random ReLU network with one
        hidden layer.
    shared : TrainingInverse, keyword-only, optional
        What other test splits of this training, kernel and order have computed.

    Returns
    -------
    Additions
        Candidates are all unseen combinations of values that training or the held-out
        combinations have, at most 2,000 of them: the held-out ones first, then others at
        random. Where there are over 1,500 conjunctions the eigenvalue is NaN, and the error is
        that of each conjunction by itself. Candidates that determine as many others, but not
        the same ones, are compared by their eigenvalue in the order of their error, 64 kinds at
        most. `remarks` say what was sampled or cut.

    Raises
    ------
    InputError
        When `add` is negative.

    Notes
    -----
    Derived here. For two components of equal salience S and held-out combinations that connect
    all values, e is S times the smallest positive eigenvalue of the bipartite graph's signless
    Laplacian :math:`B^T B`, once the constant is projected out, :math:`B^T (I - 11^T/n) B`. The
    search is greedy: the best pair may contain neither best single one.

    Examples
    --------
    >>> from partwhole.audit.case import AuditTable
    >>> from partwhole.limits.proofs.determination import determination
    >>> rows = np.array([[a, c] for a in range(4) for c in range(4)])
    >>> split = np.where(rows[:, 0] // 2 == rows[:, 1] // 2, 0, 1)
    >>> table = AuditTable(rows, np.zeros((16, 1)), None, split, np.ones(16), ("a", "c"),
    ...                    ((0, 1, 2, 3),) * 2, ("y",), None, ("train", "test"))
    >>> case = table.case(1, 1)
    >>> found = additions(case, determination(case.task, max_order=1), add=1)
    >>> found.determined, [(step.values, step.determined) for step in found.steps]
    (0.0, [((0, 2), 1.0)])
    """
    start = monotonic()
    require(add >= 0, "add counts combinations from 0", add, "leave it out for 5")
    task = case.task
    order = min(case.order, task.n_components - 1)
    if kernel is None:
        kernel = OrderKernel.random_network(task.n_components, order, depth=1)
    rows, of = unseen_combinations(case, most=MOST_CANDIDATES, seed=seed)
    if determination.determined.all() and (many := _n_columns(task, order)) > MOST_COLUMNS:
        remark = (
            "Training determines every held-out combination. What else an addition would gain is "
            f"not computed for {many:,} conjunctions (over {MOST_COLUMNS:,})."
        )
        nothing = (float("nan"), 0, of, 0, monotonic() - start, (remark,))
        return Additions((), float(determination.share), *nothing)
    search = _Search.of(
        case, determination, kernel, rows, start + time_limit, shared or TrainingInverse()
    )
    before, steps = (search.share, search.eigenvalue), []
    if len(rows) < of:
        search.remarks.append(
            f"{len(rows):,} of {of:,} unseen combinations were tried, held-out ones first."
        )
    while len(steps) < add:
        reason = search.over()
        if reason:
            search.remarks.append(f"{reason}; {len(steps)} of {add} additions were chosen.")
            break
        place = search.step(add - len(steps))
        values = tuple(int(value) for value in rows[place])
        held_out = place < min(task.n_test, len(rows))
        steps.append(Addition(values, search.share, search.eigenvalue, held_out))
    if search.compared:
        search.remarks.append(
            "Of the candidates that determine as many, only those of least expected error were "
            f"compared by their eigenvalue: {', then '.join(search.compared)}."
        )
    return Additions(
        tuple(steps),
        *before,
        len(rows),
        of,
        search.evaluations,
        monotonic() - start,
        tuple(search.remarks),
    )


def _n_columns(task: Task, order: int) -> int:
    sets = conjunction_sets(task.n_components, order)[1:]
    return ConjunctionDesign.seen(task.train_components, sets, task.n_values).shape[1]


@dataclass(eq=False)
class _Search:
    """Hold the state of the search.

    `probes` are the values of the null functions that are left, at held-out combinations and
    then at candidates; `followed` says whether there are no other null functions than these
    span. `seconds` is what drawing new ones costs.
    """

    task: Task
    order: int
    seconds: float
    rows: Int[np.ndarray, "c C"]
    n_train: int
    n_held_out: int
    probes: Float[np.ndarray, "r m"]
    followed: bool
    determined: Bool[np.ndarray, " h"]
    free: Bool[np.ndarray, " c"]
    support: Support | None
    coarse: CoarseSupport | None
    eigenvalue: float
    deadline: float
    evaluations: int = 0
    last: tuple[np.ndarray, np.ndarray, Unsupported | None] | None = None
    remarks: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        case: Case,
        determination: Determination,
        kernel: OrderKernel,
        rows: Int[np.ndarray, "c C"],
        deadline: float,
        shared: TrainingInverse,
    ) -> _Search:
        """Start it."""
        task = case.task
        train, held_out = task.train_components, task.test_components
        probes = np.concatenate([determination.probes, determination.values(rows)])
        remarks: list[str] = []
        support = coarse = None
        if len(held_out) and kernel.order:
            sets = conjunction_sets(task.n_components, kernel.order)[1:]
            every = np.concatenate([train, held_out, rows])
            design = ConjunctionDesign.seen(every, sets, task.n_values)
            if design.shape[1] <= MOST_COLUMNS:
                support = Support.of(kernel, design, len(train), len(held_out), shared)
            else:
                coarse = CoarseSupport.of(kernel, design, len(train), len(held_out))
                remarks.append(
                    f"With {design.shape[1]:,} conjunctions (over {MOST_COLUMNS:,}) the eigenvalue "
                    "is not computed, and the expected error neglects how conjunctions overlap."
                )
        search = cls(
            task,
            determination.order,
            determination.seconds,
            rows,
            len(train),
            len(held_out),
            probes,
            _rank(probes) < probes.shape[1],
            determination.determined.copy(),
            np.ones(len(rows), dtype=bool),
            support,
            coarse,
            float("nan"),
            deadline,
            remarks=remarks,
        )
        if support is not None:
            search.eigenvalue = support.eigenvalue(search._unsupported(search.determined))
        return search

    @property
    def share(self) -> float:
        """Return the determined share of the held-out combinations."""
        return float(self.determined.mean()) if len(self.determined) else float("nan")

    def over(self) -> str:
        """Return why no further addition can be chosen, or nothing."""
        # Candidates start with the held-out combinations, in their order.
        if not self.n_held_out:
            return "Nothing is held out"
        if not self.free.any():
            return "No unseen combination of known values is left"
        if not self.free[: self.n_held_out].any() and len(self.free) >= self.n_held_out:
            return "Every held-out combination has been added"
        if self.support is None and self.coarse is None:
            return "There are no conjunctions to support"
        if self.evaluations and monotonic() + self.lost * self.seconds > self.deadline:
            return "The time allowed was over"
        return ""

    @property
    def lost(self) -> bool:
        """Return whether the probes that are left cannot tell combinations apart."""
        return not (self.followed or self.determined.all() or self.probes.shape[1] > 1)

    def _renew(self) -> None:
        """Draw new null functions, with what was added in training."""
        task, added = self.task, self.rows[~self.free]
        parts = [task.train_components, added, task.test_components]
        components = np.concatenate(parts)
        is_train = np.arange(len(components)) < len(parts[0]) + len(added)
        grown = Task(components, np.zeros(len(components)), is_train, task.names, task.values)
        found = determine(grown, max_order=self.order, seed=len(added))
        self.probes = np.concatenate([found.probes, found.values(self.rows)])
        self.followed = _rank(self.probes) < self.probes.shape[1]
        self.determined |= found.determined

    def step(self, left: int) -> int:
        """Choose a candidate and add it; return its place. So many are left to choose."""
        until = monotonic() + (self.deadline - monotonic()) / left
        if self.lost:
            self._renew()
        label = _parallel(self.probes)
        asked, offered = label[: self.n_held_out], label[self.n_held_out :]
        size = np.bincount(asked[asked >= 0], minlength=len(label) + 1)
        # The last entry, which label -1 meets, is 0.
        gain = np.where(self.free, size[offered], -1)
        tied = np.flatnonzero(gain == gain.max())
        self.evaluations += int(self.free.sum())
        if self.support is not None:
            group = offered[tied] if gain.max() > 0 else np.full(len(tied), NO_GROUP)
            place = self._by_eigenvalue(tied, group, asked, until)
        else:
            assert self.coarse is not None
            place = int(tied[_first_least(self.coarse.errors_with(tied))])
        self._add(place, asked == offered[place] if offered[place] >= 0 else None)
        return place

    def _by_eigenvalue(
        self,
        tied: Int[np.ndarray, " t"],
        group: Int[np.ndarray, " t"],
        asked: Int[np.ndarray, " h"],
        until: float,
    ) -> int:
        """Return the one of equal gain with the largest eigenvalue, then the least error.

        Those that determine the same combinations are compared on the same space; such groups
        are taken in the order of their least error, at most 64 and for as long as time allows.
        """
        support = self.support
        assert support is not None
        x = support.columns(self.n_train + self.n_held_out + tied)
        groups = np.unique(group).tolist()
        if len(groups) > 1:
            by_error = np.argsort(support.errors_with(x), kind="stable")
            groups = list(dict.fromkeys(group[by_error].tolist()))
        best, equal = -np.inf, np.zeros(len(tied), dtype=bool)
        for count, one in enumerate(groups):
            if count == MOST_GROUPS or (count and monotonic() > until):
                n = int(np.sum(np.isin(group, groups[:count])))
                self.compared.append(f"{n:,} of {len(tied):,}")
                break
            these = np.flatnonzero(group == one)
            left = self._unsupported(self.determined | (asked == one))
            value, reaching = support.best_eigenvalue(x[these], left, TIE)
            if value < best * (1.0 - TIE):
                continue
            if value > best * (1.0 + TIE) or count == 0:
                best, equal[:] = value, False
            equal[these[reaching]] = True
        chosen = np.flatnonzero(equal)
        self.eigenvalue = best if best > -np.inf else float("nan")
        return int(tied[chosen[_first_least(support.errors_with(x[chosen]))]])

    def _unsupported(self, determined: Bool[np.ndarray, " h"]) -> Unsupported | None:
        """Resolve what these held-out combinations leave unsupported; the last is kept."""
        assert self.support is not None
        if self.last is not None and np.array_equal(self.last[0], determined):
            _, basis, left = self.last
        else:
            basis, left = self.support.span(determined), None
        if left is None:
            left = self.support.unsupported(basis)
        self.last = determined.copy(), basis, left
        return left

    def _add(self, place: int, new: Bool[np.ndarray, " h"] | None) -> None:
        """Put a candidate into training."""
        self.free[place] = False
        if new is not None:
            probe = self.probes[self.n_held_out + place]
            size = np.linalg.norm(self.probes, axis=1)
            # The null functions that are left are those that vanish there.
            rest = np.linalg.qr(probe[:, None], mode="complete")[0][:, 1:]
            self.probes = self.probes @ rest
            self.probes[np.linalg.norm(self.probes, axis=1) <= TOLERANCE * size] = 0.0
            self.determined |= new | ~self.probes[: self.n_held_out].any(axis=1)
        if self.support is not None:
            x = self.support.columns(np.array([self.n_train + self.n_held_out + place]))
            self.support = self.support.add(x[0])
            if self.last is not None:
                self.last = (*self.last[:2], None)
        if self.coarse is not None:
            self.coarse.add(place)


def _rank(probes: Float[np.ndarray, "r m"]) -> int:
    """Return the rank of the rows, each scaled to unit length."""
    size = np.linalg.norm(probes, axis=1)
    unit = probes[size > 0] / size[size > 0, None]
    if not len(unit):
        return 0
    return int(np.sum(np.linalg.svd(unit, compute_uv=False) > TOLERANCE * np.sqrt(len(unit))))


def _parallel(probes: Float[np.ndarray, "r m"]) -> Int[np.ndarray, " r"]:
    """Number the rows so that parallel ones, in either direction, share a number; zeros get -1.

    A unit row t is told by its products (t.a)(t.b) with fixed axes a and b in general position.
    """
    label = np.full(len(probes), -1)
    size = np.linalg.norm(probes, axis=1)
    rows = np.flatnonzero(size > 0)
    if not len(rows) or not probes.shape[1]:
        return label
    m = probes.shape[1]
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(m, m)))[0]
    along = probes[rows] / size[rows, None] @ axes
    found = np.zeros(len(rows), dtype=np.int64)
    for product in (along * along[:, :1]).T:
        order = np.lexsort((product, found))
        apart = np.diff(found[order]) + (np.diff(product[order]) > TOLERANCE)
        found[order] = np.concatenate([[0], np.cumsum(apart > 0)])
    label[rows] = found
    return label


def _first_least(numbers: Float[np.ndarray, " n"]) -> int:
    """Return the first of the smallest numbers, equal up to rounding."""
    least = numbers.min()
    return int(np.flatnonzero(numbers <= least + TIE * abs(least))[0])
