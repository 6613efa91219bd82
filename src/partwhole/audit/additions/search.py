"""Greedy search for the unseen combinations to add to training first."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import process_time

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._types import Real, Seed
from partwhole.audit.additions.candidates import unseen_combinations
from partwhole.audit.additions.support import (
    CoarseSupport,
    Support,
    TrainingInverse,
    Unsupported,
)
from partwhole.audit.case import Case
from partwhole.audit.evidence import Addition, Additions
from partwhole.audit.wording import SETS
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.determination import determination as determine
from partwhole.tasks import Task

MOST_CANDIDATES = 2000
MOST_COLUMNS = 1500
MOST_GROUPS = 64
# Values of null functions that fall below this share of their size have been eliminated.
TOLERANCE = 1e-7
# The group of candidates that determine nothing more; no held-out combination has it.
NO_GROUP = -2
# Numbers closer than this, relatively, are equal but for rounding.
TIE = 1e-9

OBJECTIVE = (
    "The first criterion is the share of held-out combinations that training determines, added "
    "ones included. Ties are broken by the eigenvalue e that governs the leak: the contrast of "
    "determined held-out combinations that training supports least is predicted at e / (e + m) "
    "of its size, with m the memory, so e should be large. Remaining ties are broken by the "
    "expected squared error of the held-out combinations' sums, which should be small. The last "
    "two criteria are computed for a random ReLU network with one hidden layer. Labels are not "
    "used."
)


def additions(
    case: Case,
    determination: Determination,
    *,
    add: int = 5,
    seed: Seed = 0,
    time_limit: Real = 3.0,
    kernel: OrderKernel | None = None,
    shared: TrainingInverse | None = None,
) -> Additions:
    r"""Choose unseen combinations for training greedily, each the best for the held-out ones.

    The criteria are those of `OBJECTIVE`, in its order; they need no labels. After x is added,
    the null functions that vanish at x remain, so x determines the held-out combinations whose
    values under the random null functions are parallel to those of x. With the scatter M of
    training's scaled indicators about their mean and the memory m, and v in the span of the
    determined held-out combinations minus the current mean of training,

    .. math:: \frac{e}{e + m} = \min_v \frac{v^T M (M + m)^{-1} v}{v^T v}.

    Parameters
    ----------
    case : Case
    determination : Determination
        Of the case's task, at its order. Each addition that determines something uses up one
        of its probes; when none remain it is computed again, with the additions in training.
    add : int, keyword-only, default 5
        Largest number of combinations to choose.
    seed : int, keyword-only, default 0
        Of the sample of candidates.
    time_limit : float, keyword-only, default 3
        Seconds after which the search ends; it chooses at least one.
    kernel : OrderKernel, keyword-only, optional
        Weights of conjunctions and memory; by default those of a random ReLU network with one
        hidden layer.
    shared : TrainingInverse, keyword-only, optional
        Results shared with other test splits of this training set, kernel and order.

    Returns
    -------
    Additions
        Candidates are the unseen combinations of values that occur in training or in held-out
        combinations, at most 2,000 of them: the held-out ones first, then a random sample. With
        over 1,500 conjunctions the eigenvalue is NaN, and the error treats each conjunction
        separately. Candidates that determine equally many, but different, combinations are
        compared by their eigenvalue in the order of their error, at most 64 groups. `remarks`
        report sampling and omissions.

    Raises
    ------
    InputError
        If `add` is negative.

    Notes
    -----
    Derived here. For two components of equal salience S and held-out combinations that connect
    all values, e is S times the smallest positive eigenvalue of the bipartite graph's signless
    Laplacian :math:`B^T B`, once the constant is projected out, :math:`B^T (I - 11^T/n) B`. The
    search is greedy: the best pair may contain neither of the best single combinations.

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
    start = process_time()
    require(add >= 0, "add is a number of combinations, 0 or more", add, "leave it out for 5")
    task = case.task
    order = min(case.order, task.n_components - 1)
    if kernel is None:
        kernel = OrderKernel.random_network(task.n_components, order, depth=1)
    rows, of = unseen_combinations(case, limit=MOST_CANDIDATES, seed=seed)
    remark = ""
    if determination.undecided.any():
        remark = (
            f"No addition was looked for, as it was not decided whether training determines "
            f"{int(determination.undecided.sum()):,} held-out combinations."
        )
    elif determination.determined.all() and (n_columns := _n_columns(task, order)) > MOST_COLUMNS:
        remark = (
            "Training determines every held-out combination. Further gains of an addition are not "
            f"computed for {n_columns:,} {SETS} (more than {MOST_COLUMNS:,})."
        )
    if remark:
        empty = (float("nan"), 0, of, 0, process_time() - start, (remark,))
        return Additions((), float(determination.share), *empty)
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
            "Among candidates that determine equally many combinations, only those with the "
            "smallest expected error were compared by their eigenvalue: "
            f"{', then '.join(search.compared)}."
        )
    return Additions(
        tuple(steps),
        *before,
        len(rows),
        of,
        search.evaluations,
        process_time() - start,
        tuple(search.remarks),
    )


def _n_columns(task: Task, order: int) -> int:
    sets = conjunction_sets(task.n_components, order)[1:]
    return ConjunctionDesign.seen(task.train_components, sets, task.n_values).shape[1]


@dataclass(eq=False)
class _Search:
    """State of the search.

    `probes` are the values of the remaining null functions, at held-out combinations and then at
    candidates; `followed` is true if they span all null functions. `seconds` is the cost of
    drawing new ones.
    """

    task: Task
    order: int
    seconds: float
    rows: Int[np.ndarray, "c C"]
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
        """Return the state before the first addition."""
        task = case.task
        train, held_out = task.train_components, task.test_components
        probes = np.concatenate([determination.probes, determination.values(rows)])
        remarks: list[str] = []
        support = coarse = None
        if len(held_out) and kernel.order:
            sets = conjunction_sets(task.n_components, kernel.order)[1:]
            rows_of_all = np.concatenate([train, held_out, rows])
            design = ConjunctionDesign.seen(rows_of_all, sets, task.n_values)
            if design.shape[1] <= MOST_COLUMNS:
                support = Support.of(kernel, design, len(train), len(held_out), shared)
            else:
                coarse = CoarseSupport.of(kernel, design, len(train), len(held_out))
                remarks.append(
                    f"With {design.shape[1]:,} {SETS} (more than {MOST_COLUMNS:,}) the "
                    "eigenvalue is not computed, and the expected error ignores that they overlap."
                )
        search = cls(
            task,
            determination.order,
            determination.seconds,
            rows,
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
        """Return the reason why no further addition can be chosen; empty if one can."""
        # Candidates start with the held-out combinations, in their order.
        if not self.n_held_out:
            return "Nothing is held out"
        if not self.free.any():
            return "No unseen combination of known values remains"
        if not self.free[: self.n_held_out].any() and len(self.free) >= self.n_held_out:
            return "Every held-out combination has been added"
        if self.support is None and self.coarse is None:
            return "There is nothing to support"
        if self.evaluations and process_time() + self.lost * self.seconds > self.deadline:
            return "The time limit was reached"
        return ""

    @property
    def lost(self) -> bool:
        """Return whether the remaining probes cannot distinguish combinations."""
        return not (self.followed or self.determined.all() or self.probes.shape[1] > 1)

    def _renew(self) -> None:
        """Draw new null functions, with the additions in training."""
        task, added = self.task, self.rows[~self.free]
        parts = [task.train_components, added, task.test_components]
        n_train, n = len(parts[0]) + len(added), sum(map(len, parts))
        is_train = np.arange(n) < n_train
        grown = Task(np.concatenate(parts), np.zeros(n), is_train, task.names, task.values)
        del parts
        renewed = determine(grown, max_order=self.order, seed=len(added))
        self.probes = np.concatenate([renewed.probes, renewed.values(self.rows)])
        self.followed = _rank(self.probes) < self.probes.shape[1]
        self.determined |= renewed.determined

    def step(self, left: int) -> int:
        """Choose a candidate, add it and return its index; `left` additions remain."""
        until = process_time() + (self.deadline - process_time()) / left
        if self.lost:
            self._renew()
        group_of = _parallel(self.probes)
        held_out_group, offered_group = group_of[: self.n_held_out], group_of[self.n_held_out :]
        size = np.bincount(held_out_group[held_out_group >= 0], minlength=len(group_of) + 1)
        # The last entry, which label -1 meets, is 0.
        gain = np.where(self.free, size[offered_group], -1)
        tied = np.flatnonzero(gain == gain.max())
        self.evaluations += int(self.free.sum())
        if self.support is not None:
            tied_group = offered_group[tied] if gain.max() > 0 else np.full(len(tied), NO_GROUP)
            place = self._by_eigenvalue(tied, tied_group, held_out_group, until)
        else:
            assert self.coarse is not None
            place = int(tied[_first_least(self.coarse.errors_with(tied))])
        self._add(
            place, held_out_group == offered_group[place] if offered_group[place] >= 0 else None
        )
        return place

    def _by_eigenvalue(
        self,
        tied: Int[np.ndarray, " t"],
        group: Int[np.ndarray, " t"],
        held_out_group: Int[np.ndarray, " h"],
        until: float,
    ) -> int:
        """Return the candidate of equal gain with the largest eigenvalue, then smallest error.

        Candidates that determine the same combinations are compared on the same space; such
        groups are visited in the order of their smallest error, at most 64 within the time limit.
        """
        support = self.support
        assert support is not None
        x = support.columns(self.n_held_out + tied)
        groups = np.unique(group).tolist()
        if len(groups) > 1:
            by_error = np.argsort(support.errors_with(x), kind="stable")
            groups = list(dict.fromkeys(group[by_error].tolist()))
        best, equal = -np.inf, np.zeros(len(tied), dtype=bool)
        for count, label in enumerate(groups):
            if count == MOST_GROUPS or (count and process_time() > until):
                n = int(np.sum(np.isin(group, groups[:count])))
                self.compared.append(f"{n:,} of {len(tied):,}")
                break
            members = np.flatnonzero(group == label)
            left = self._unsupported(self.determined | (held_out_group == label))
            value, reaching = support.best_eigenvalue(x[members], left, TIE)
            if value < best * (1.0 - TIE):
                continue
            if value > best * (1.0 + TIE) or count == 0:
                best, equal[:] = value, False
            equal[members[reaching]] = True
        best_places = np.flatnonzero(equal)
        self.eigenvalue = best if best > -np.inf else float("nan")
        return int(tied[best_places[_first_least(support.errors_with(x[best_places]))]])

    def _unsupported(self, determined: Bool[np.ndarray, " h"]) -> Unsupported | None:
        """Return the unsupported part of these held-out combinations' span; the last is cached."""
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
            # The remaining null functions are those that vanish at the candidate.
            complement = np.linalg.qr(probe[:, None], mode="complete")[0][:, 1:]
            self.probes = self.probes @ complement
            self.probes[np.linalg.norm(self.probes, axis=1) <= TOLERANCE * size] = 0.0
            self.determined |= new | ~self.probes[: self.n_held_out].any(axis=1)
        if self.support is not None:
            x = self.support.columns(np.array([self.n_held_out + place]))
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

    A unit row t is identified by its products (t.a)(t.b) with fixed axes a, b in general position.
    """
    label = np.full(len(probes), -1)
    size = np.linalg.norm(probes, axis=1)
    rows = np.flatnonzero(size > 0)
    if not len(rows) or not probes.shape[1]:
        return label
    m = probes.shape[1]
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(m, m)))[0]
    along = probes[rows] / size[rows, None] @ axes
    classes = np.zeros(len(rows), dtype=np.int64)
    for product in (along * along[:, :1]).T:
        order = np.lexsort((product, classes))
        steps = np.diff(classes[order]) + (np.diff(product[order]) > TOLERANCE)
        classes[order] = np.concatenate([[0], np.cumsum(steps > 0)])
    label[rows] = classes
    return label


def _first_least(numbers: Float[np.ndarray, " n"]) -> int:
    """Return the index of the first of the smallest numbers, equal up to rounding."""
    smallest = numbers.min()
    return int(np.flatnonzero(numbers <= smallest + TIE * abs(smallest))[0])
