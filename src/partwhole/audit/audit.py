"""The audit: read the table, collect the evidence of every test split, judge it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb
from pathlib import Path
from time import monotonic, process_time
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from partwhole._checks import require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Index, NonNegative, Real, Seed
from partwhole.audit.additions.search import additions
from partwhole.audit.additions.support import TrainingInverse
from partwhole.audit.case import AuditTable, Case
from partwhole.audit.costs import determined_in_time, has_time, seconds_to_predict
from partwhole.audit.coverage import coverage
from partwhole.audit.evidence import Evidence
from partwhole.audit.judging.judge import judge
from partwhole.audit.ladder import MOST_SETS, ladders
from partwhole.audit.noise import noise_in_words, solve_up_to_noise
from partwhole.audit.predicted import Prediction
from partwhole.audit.prediction.measured_readout import measured_readout
from partwhole.audit.prediction.prediction import predict_splits
from partwhole.audit.prediction.representation import Representation, measure
from partwhole.audit.prediction.salience_sweep import salience_sweep, saliences_of
from partwhole.audit.reading.measured import features_of_kernel
from partwhole.audit.reading.ordered import Ordered
from partwhole.audit.reading.table import Duplicates, Missing, TargetKind, read_tables
from partwhole.audit.remainder import remainder
from partwhole.audit.report import AuditReport
from partwhole.audit.settings import NoiseSource, Settings
from partwhole.audit.shortcuts import search
from partwhole.features import OverlapKernel
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.solvability import Solvability

Fit = Literal["regression", "margin"]
# Seconds for the search of additions, which uses all of them on large tables: for one test split,
# and for all together.
SEARCH, SEARCH_OF_ALL = 2.0, 10.0
# Shares of the time limit; a step leaves unused time to the next. The search of additions has its
# share even if no time is left.
DETERMINED, PREDICTED, SOLVED, ADDED = 0.4, 0.2, 0.4, 0.1
# From this order on the one below is asked first whether targets are solvable.
LARGE_ORDER = 3
# Of the whole time, what is kept for the verdicts at other orders.
OTHER_ORDERS = 0.2
STEPS = ("coverage", "additions", "shortcuts", "solvable")


@door
def audit_split(
    table: Any,
    components: Sequence[Hashable],
    target: Hashable | Sequence[Hashable] | None = None,
    split: Any = None,
    *,
    train: Hashable = "train",
    test: Hashable | Sequence[Hashable] | None = None,
    require_order: int = 1,
    weights: Hashable | None = None,
    features: str | Path | Float[np.ndarray, "n d"] | Sequence[Hashable] | None = None,
    kernel: str | Path | OverlapKernel | Float[np.ndarray, "n n"] | None = None,
    fit: Fit = "regression",
    target_kind: TargetKind = "auto",
    duplicates: Duplicates = "average",
    noise: NoiseSource | NonNegative = "repeats",
    missing: Missing = "refuse",
    bins: Mapping[Hashable, int] | None = None,
    multi_hot: Sequence[Hashable] = (),
    tied: Sequence[Sequence[Hashable]] = (),
    ordered: Ordered = (),
    salience: Mapping[Hashable, Real] | None = None,
    add: Index = 5,
    settings: Settings | None = None,
    time_limit: NonNegative = 10.0,
    seed: Seed = 0,
) -> AuditReport:
    """Return whether a training split supports the combinations on which it will be tested.

    Learners of order K have outputs that are sums of conjunctions of at most K components:
    kernel machines, linear readouts and networks in the lazy regime on a representation in
    which the similarity of two inputs depends on the components they share. A network that
    learns its features may do better.

    Parameters
    ----------
    table : path, table, or mapping of tables
        A .csv, .tsv, .txt or .jsonl (or any of them with .gz) or .parquet file, of at most 512 MiB,
        unpacked, 5,000,000 rows and 10,000 columns; or a table of pandas, polars, Arrow or
        datasets, or columns by name. Or a mapping from the names of splits to such tables.
    components : sequence of column names
        Two or more; one is enough if its cells have several values.
    target : column name, or several, optional
        Numbers or labels. Several columns of numbers are asked for together, columns of labels
        each by itself: every test split is then audited for each. A component may be the target
        too. Without one the report says what training determines, whatever is asked.
    split : column name, HoldOut, array, pair of arrays, list of pairs or splitter, optional
        The column that says which rows are for training; a rule that draws them; a mask that marks
        them, or an entry for each row; the row numbers of training and of test, or a list of such
        folds; or a splitter of scikit-learn, which receives the target as y (of one that needs
        groups, pass the list of its folds). Every fold is audited. Left out if there is a table for
        each split.
    train : hashable, keyword-only, default "train"
        The entry of the split column that marks training rows.
    test : hashable or sequence, keyword-only, optional
        The entries that mark test splits; by default every entry except that of training.
    require_order : int, keyword-only, default 1
        K, from 1 to C - 1: the order at which training has to support its tests; the ladder has the
        verdict at every other one for which there is time. 1 asks least of training: learners whose
        outputs add up the parts.
    weights : column name, keyword-only, optional
        Positive sample weights. Whole ones are how many rows each row stands for, as in a table of
        counts: so many are counted for shortcuts and for noise in labels.
    features : path, array or column names, keyword-only, optional
        A measured representation, one row for each row of the table. Predictions at it are the
        reference, and the verdict counts them. Where rows of a combination differ in features, they
        are those of `measures.predict_readout` for a ridge readout or, for a margin of two labels,
        a support vector machine, with errors and accuracies on single rows. For over 1,200
        combinations (650 of a margin) or 20,000 rows of 850 features (rows times features times the
        smaller of the two), for unequal weights of training rows, and where targets of a
        combination differ, such a readout is trained instead: up to 100,000 rows of 1,000 features,
        or 20,000 of 850 for a margin. Beyond these, and for margins of several labels, noise is a
        ridge, or the point is left out, and a remark says so. A readout takes up to about 10 s more
        for each test split (15 s for a margin), and 250 MB beside seven times the memory of the
        features; with a time limit below 10 s these sizes are smaller, and it takes less. Where
        nothing is repeated, predictions are of the kernel of saliences.
    kernel : path, array or OverlapKernel, keyword-only, optional
        In place of features, the learner's kernel: the similarities of all rows of the table, such
        as a network's tangent kernel, of at most 4,000 rows; or an overlap kernel.
    fit : {"regression", "margin"}, keyword-only, default "regression"
        Predictions of minimum-norm interpolation, or of the hard-margin classifier of labels.
    target_kind : {"auto", "numbers", "labels"}, keyword-only, default "auto"
    duplicates : {"average", "refuse"}, keyword-only, default "average"
        Treatment of rows of one combination with different targets.
    noise : {"repeats", "estimate"} or float, keyword-only, default "repeats"
        The noise up to which held-out targets have to be solvable: of rows of one combination; an
        estimate from what learners of this order leave unexplained in training, which must be noise
        alone; or the standard deviation of a row, of labels the share of wrong ones.
    missing : {"refuse", "drop", "value"}, keyword-only, default "refuse"
        Treatment of missing entries: refuse the table, drop the rows, or count them as a value of
        their component.
    bins : mapping from column name to int, keyword-only, optional
        Components that are numbers, and how many bins of about equal counts to put them in.
    multi_hot : sequence of column names, keyword-only, default ()
        Components with several values in a cell: a list, or text separated by bars, semicolons,
        commas or spaces. Each of at most 100 values becomes a component: whether it occurs.
    tied : sequence of sequences of column names, keyword-only, default ()
        Groups of components with a shared vocabulary, as of a learner with one embedding for each
        value. Each of at most 100 values becomes a component: in how many of the columns it occurs.
        Each number of columns counts as a value of its own, so what training determines here, it
        determines for sums of embeddings too, in which twice is two times once; where these
        determine more (order 1), the findings say so.
    ordered : sequence of components, or mapping from component to values, keyword-only, default ()
        Components whose values have an order: that of numbers or bins (a value of None in a
        mapping), or of a list of labels. They are listed in it, and predictions over the range are
        for learners to which near values are more alike; what training determines is the same.
    salience : mapping from component to float, keyword-only, optional
        Saliences of components, 1 by default: learners receive them one-hot, scaled by their
        salience. For at most 10 components. For labels the report also says how much more or less
        salient each one may be before held-out combinations are predicted wrong.
    add : int, keyword-only, default 5
        Largest number of combinations recommended for addition to training; 0 for none. None are
        looked for where training determines all. The search ends after about 2 seconds for one
        test split and 10 seconds for all of them.
    settings : Settings, keyword-only, optional
        Thresholds, and rules silenced with a reason.
    time_limit : float, keyword-only, default 10
        Seconds of processor time for each test split, so that results do not depend on the load of
        the machine. What has not finished when the time is over is left undecided, and a finding
        reports this; representations, orders of the ladder and saliences for which no time is left
        are left out, and named. No matrix is begun whose size says that it takes longer than what
        is left. What has begun may end later: the reference of the predictions, a single dense
        factorisation (at most 6,000 conjunctions) and the first addition. Shortcuts take as long
        again at most, counted in rows and sets of components; a finding says how many sets are
        left. Reading takes additional time, in proportion to rows and labels.
    seed : int, keyword-only, default 0
        Of the random null functions and the samples of candidates.

    Returns
    -------
    AuditReport

    Raises
    ------
    InputError
        If the table or an argument breaks a rule; the message names the rule.

    Notes
    -----
    Solvable: theorem 4.2 of Lippl & Stachenfeld (ICLR 2025). Determined, and the predictions for
    orders below C - 1: derived here. Training rows of one combination count once.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(a, b, a + b, "train" if 0 in (a, b) else "test")
    ...         for a in range(-2, 3) for b in range(-2, 3)]
    >>> frame = pd.DataFrame(rows, columns=["first", "second", "sum", "split"])
    >>> report = audit_split(frame, ["first", "second"], "sum", "split")
    >>> report.verdict, report.solvable, report.determined
    ('supported', True, 1.0)
    """
    start = monotonic()
    settings = settings or Settings()
    require(
        features is None or kernel is None,
        "a representation is given by features or by a kernel",
        "both",
        "leave out one of them",
    )
    overlap = None
    if isinstance(kernel, OverlapKernel):
        overlap = kernel
    elif kernel is not None:
        features = features_of_kernel(kernel)
    tables = read_tables(
        table,
        components,
        target,
        split,
        train=train,
        test=test,
        weights=weights,
        features=features,
        target_kind=target_kind,
        duplicates=duplicates,
        missing=missing,
        bins=bins,
        multi_hot=multi_hot,
        tied=tied,
        ordered=ordered,
    )
    for audited in tables:
        _check_order(require_order, audited.n_components, len(components))
        require(
            fit == "regression" or audited.labels is not None,
            "fit 'margin' is for labels",
            "numbers",
            "use fit 'regression'",
        )
    saliences = [None if salience is None else saliences_of(salience, t.names) for t in tables]
    asked = _Asked(settings, require_order, fit, overlap, add, noise, float(time_limit), int(seed))
    n_steps = sum(5 + (len(audited.split_names) - 1) * len(STEPS) for audited in tables)
    evidence: list[Evidence] = []
    measured: Representation | None = None
    # At these sizes a second thread of linear algebra gains little, and waits on a busy machine.
    with bar("", n_steps, shown=True) as advance, threadpool_limits(1, "blas"):

        def step(stage: str) -> None:
            advance(1, stage)

        for audited, of_components in zip(tables, saliences, strict=True):
            step("Measuring the representation")
            measured = measure(audited, require_order, overlap)
            evidence += _evidence(audited, measured, of_components, asked, step)
    remarks = dict.fromkeys(remark for audited in tables for remark in audited.remarks)
    of_noise = filter(None, (noise_in_words(item.case, noise) for item in evidence))
    remarks |= dict.fromkeys((*(measured.remarks if measured else ()), *of_noise))
    return AuditReport(
        replace(tables[0], remarks=tuple(remarks)),
        require_order,
        settings,
        tuple(evidence),
        judge(evidence, settings, noise=noise),
        monotonic() - start,
        fit,
    )


@dataclass(frozen=True)
class _Asked:
    """What is asked of every table of an audit."""

    settings: Settings
    order: int
    fit: Fit
    overlap: OverlapKernel | None
    add: int
    noise: NoiseSource | float
    time_limit: float
    seed: int


def _evidence(
    audited: AuditTable,
    measured: Representation | None,
    saliences: Sequence[float] | None,
    asked: _Asked,
    step: Callable[[str], None],
) -> list[Evidence]:
    """Return the evidence of every test split of a table."""
    settings, noise, limit = asked.settings, asked.noise, asked.time_limit
    cases = [audited.case(i, asked.order) for i in range(1, len(audited.split_names))]
    tested = [case for case in cases if len(case.held_out)]
    # Processor time, which does not depend on what else the machine does.
    begin, whole = process_time(), len(tested) * limit
    step("Computing what training determines")
    determined = determined_in_time(
        [case.task for case in tested],
        max_order=asked.order,
        seed=asked.seed,
        deadline=begin + DETERMINED * whole,
        until=begin + whole,
    )
    step("Predicting over the range of representations")
    until = begin + (DETERMINED + PREDICTED) * whole
    predicted: list[Prediction | None] = [None] * len(tested)
    placed = measured.kernel if measured is not None else None
    # With features the verdict depends on the predictions, whatever they take.
    seconds = max((seconds_to_predict(case.task, asked.order) for case in tested), default=0.0)
    if tested and audited.is_predicted and (placed or has_time(seconds, begin + whole)):
        predicted = _predicted(tested, measured, asked, saliences, until)
    results = iter(zip(predicted, determined, strict=True))
    shared, left = TrainingInverse(), len(tested)
    evidence = []
    for case in cases:
        if not len(case.held_out):
            candidates, left_out = search(case, settings, limit)
            item = Evidence(case, coverage(case), None, None, candidates, None, None, 0.0)
            evidence.append(replace(item, not_searched=left_out))
            continue
        current_time = process_time()
        looks = _Looks(
            settings,
            asked.add,
            noise,
            limit,
            current_time
            + min(
                max(SOLVED * limit, (begin + whole - current_time) / left),
                max(0.0, begin + (1.0 - OTHER_ORDERS) * whole - current_time),
            ),
            min(SEARCH, SEARCH_OF_ALL / len(tested), limit),
            asked.seed,
            shared,
        )
        evidence.append(_look_at(case, *next(results), looks, step))
        left -= 1
    step("Computing the verdict at other orders")
    evidence = _with_ladders(evidence, settings, noise, limit, begin + whole, asked.seed)
    step("Changing the salience of components")
    return [
        replace(
            item,
            sweep=salience_sweep(item.case, base=saliences, measured=placed, deadline=begin + whole)
            if len(item.case.held_out)
            else None,
        )
        for item in evidence
    ]


def _predicted(
    cases: Sequence[Case],
    measured: Representation | None,
    asked: _Asked,
    saliences: Sequence[float] | None,
    deadline: float,
) -> list[Prediction | None]:
    facts: dict[str, Any] = {"saliences": saliences}
    if measured is not None and measured.kernel is not None:
        facts |= {
            "measured": measured.kernel,
            "noise": measured.noise,
            "structure": measured.structure,
        }
        facts["readouts"] = [measured_readout(case, asked.fit, asked.time_limit) for case in cases]
    return predict_splits(cases, fit=asked.fit, deadline=deadline, **facts)


@dataclass(frozen=True)
class _Looks:
    """Settings, time limits and shared results for the evidence of one test split."""

    settings: Settings
    add: int
    noise: NoiseSource | float
    time_limit: float
    deadline: float
    search: float
    seed: int
    shared: TrainingInverse


def _look_at(
    case: Case,
    predicted: Prediction | None,
    determined: Determination,
    looks: _Looks,
    step: Callable[[str], None],
) -> Evidence:
    """Collect the evidence of one test split."""
    start = monotonic()

    def at(stage: str) -> None:
        step(f"{case.name}: {stage}")

    at("counting held-out values and conjunctions")
    covered = coverage(case)
    at("searching for an answer or a proof that none exists")
    solved = _solved(case, looks)
    at("searching for combinations to add")
    added = None
    if looks.add and not determined.determined.all():
        left = max(ADDED * looks.time_limit, looks.deadline - process_time())
        added = additions(
            case,
            determined,
            add=looks.add,
            seed=looks.seed,
            time_limit=min(looks.search, left),
            shared=looks.shared,
        )
    at("searching for shortcuts")
    candidates, left_out = search(case, looks.settings, looks.time_limit)
    seconds = monotonic() - start
    item = Evidence(case, covered, solved, determined, candidates, predicted, added, seconds)
    return replace(item, not_searched=left_out)


def _solved(case: Case, looks: _Looks) -> Solvability:
    """Decide whether targets can be answered, from the answer of a lower order if it has one."""
    solve = partial(
        solve_up_to_noise,
        unexplained=float(looks.settings.unexplained),
        noise=looks.noise,
        time_limit=looks.time_limit,
    )
    if case.order >= LARGE_ORDER:
        # A learner of the lower order is one of the higher, and is found in a fraction of the time.
        half = 0.5 * (process_time() + looks.deadline)
        lower = solve(replace(case, order=case.order - 1), deadline=half)
        if lower.solvable:
            return replace(lower, order=case.order)
    return solve(case, deadline=looks.deadline)


def _with_ladders(
    evidence: Sequence[Evidence],
    settings: Settings,
    noise: NoiseSource | float,
    time_limit: float,
    deadline: float,
    seed: int,
) -> list[Evidence]:
    """Return the evidence with the verdicts at other orders, and without unseen values."""
    tested = {
        i: (item.case, item.determination, item.solvability)
        for i, item in enumerate(evidence)
        if item.determination is not None and item.solvability is not None
    }
    if not tested:
        return list(evidence)
    cases, determined, solved = zip(*tested.values(), strict=True)
    solve = partial(
        solve_up_to_noise,
        unexplained=float(settings.unexplained),
        noise=noise,
        time_limit=time_limit,
        deadline=deadline,
    )
    rests = [remainder(case, s, solve) for case, s in zip(cases, solved, strict=True)]
    rungs_of_cases = ladders(
        cases, determined, solved, solve, deadline=deadline, time_limit=time_limit, seed=seed
    )
    completed = list(evidence)
    for i, rungs, rest in zip(tested, rungs_of_cases, rests, strict=True):
        completed[i] = replace(completed[i], ladder=rungs, remainder=rest)
    return completed


def _check_order(order: int, n_components: int, n_named: int) -> None:
    without = " that no other determines" if n_named > n_components else ""
    highest = n_components - 1
    require(
        1 <= order <= highest,
        "require_order is at least 1 and below the number of components",
        f"{order} for {n_components} components{without}",
        "use 1" if highest == 1 else f"choose from 1 to {highest}",
    )
    sets = sum(comb(n_components, k) for k in range(order + 1))
    require(
        sets <= MOST_SETS,
        f"an audit covers at most {MOST_SETS:,} sets of components",
        f"{sets:,} sets of at most {order} of {n_components} components",
        "choose a smaller order, which concerns other learners, or name fewer components",
    )
