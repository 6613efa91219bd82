"""Held-out combinations, and shortcuts in the training set."""

from __future__ import annotations

from partwhole.audit.case import Case
from partwhole.audit.evidence import Coverage, Evidence, Rung
from partwhole.audit.outputs.machine import MOST_ITEMS
from partwhole.audit.page.cells import grids
from partwhole.audit.page.grid import board
from partwhole.audit.page.words import conjunction, number, share
from partwhole.audit.wording import alone, count, determined_share, further_orders, listed, shifted
from partwhole.page import Html, join, table, tag

VALUES, SHORTCUTS = 60, 20


def remarks(lines: tuple[str, ...], style: str | None = "quiet") -> list[Html]:
    """Return remarks as sentences."""
    return [
        tag("p", line[:1].upper() + line[1:] + ("" if line.endswith(".") else "."), class_=style)
        for line in lines
        if line
    ]


def held_out(evidence: Evidence, anchor: str, n_splits: int) -> Html:
    """Return the grid, the verdict at each order, and the counts of each value."""
    case, coverage = evidence.case, evidence.coverage
    task = case.task
    h = len(case.held_out)
    repeats = len(case.also_seen)
    sentence = (
        f"Training has {count(task.n_train, 'distinct combination')}; this test split has "
        f"{h:,} that training lacks"
    )
    sentence += (
        f", and {count(repeats, 'row')} whose combination training contains; all results below "
        "exclude these rows."
        if repeats
        else "."
    )
    unseen = [
        conjunction(task.names, task.values, [value.component], [value.value])
        for value in coverage.unseen_values
    ]
    return join(
        tag("p", sentence),
        tag(
            "p",
            tag("strong", f"{count(len(unseen), 'value')} never seen in training: "),
            listed(unseen, 12),
            ".",
        )
        if unseen
        else None,
        board(grids(case, n_splits), anchor),
        _ladder(evidence),
        _graph(coverage, case),
        _values(coverage, case),
    )


def _ladder(evidence: Evidence) -> Html:
    """Return what training lacks, determines and can answer at each order."""
    case, words = evidence.case, {True: "yes", False: "no", None: "–"}
    if not case.table.has_target:
        words[True] = "–"
    lines = []
    for rung in evidence.ladder:
        name = {1: "1: parts add up", 2: "2: pairs interact"}.get(
            rung.order, f"{rung.order}: up to {rung.order} parts interact"
        )
        determined = determined_share(rung.share, rung.undecided, rung.held_out, share)
        if rung.undecided:
            determined += f" ({rung.undecided:,} not decided)"
        lines.append(
            [
                join(name, tag("small", "the order of this audit"))
                if rung.order == case.order
                else name,
                f"{rung.seen:,}",
                f"{rung.unseen:,} of {rung.in_test:,}",
                determined,
                words[rung.solvable],
                _fit(case, rung),
                f"{rung.seconds:.1f} s",
            ]
        )
    lacking = next((rung for rung in evidence.ladder if rung.lacking), None)
    named = None
    if lacking is not None:
        words = [conjunction(case.table.names, case.table.values, *one) for one in lacking.lacking]
        words += [f"{lacking.unseen - len(words):,} more"] * (lacking.unseen > len(words))
        named = tag("p", f"Order {lacking.order} lacks: {'; '.join(words)}.")
    return join(
        table(
            [
                "Order",
                "In training",
                "Lacking",
                "Determined",
                "Solvable",
                "Training fitted",
                "Time",
            ],
            lines,
            caption="By order: how many values (order 1), pairs of values (order 2) or larger sets "
            "training has, and how many of those in held-out combinations it lacks. Determined: "
            "held-out combinations to which all learners of the order that fit training give the "
            "same answer. Solvable: whether one of them can answer all. Fitted: the share of "
            "training that they explain; it is not needed where training determines nothing.",
            numbers=(1, 2, 3, 5, 6),
        ),
        named,
        tag("p", words, class_="quiet") if (words := further_orders(evidence)) else None,
    )


def _fit(case: Case, rung: Rung) -> str:
    """Return how well training is fitted, or that it does not matter."""
    if case.table.has_target and not rung.possible:
        return "not needed"
    return share(rung.fitted) if case.table.has_target else "–"


def _graph(coverage: Coverage, case: Case) -> Html | None:
    n = coverage.n_graph_components
    sentence = ""
    if n > 1:
        sentence = (
            f"Link two values if a training combination has both: then the values of training form "
            f"{n:,} groups without links between them."
        )
        if case.task.n_components == 2 and case.order == 1:
            sentence += " A combination of values from different groups is not determined."
    return tag("p", sentence) if sentence else None


def _values(coverage: Coverage, case: Case) -> Html:
    task = case.task
    # Tested values with the least coverage come first.
    arranged = sorted(coverage.values, key=lambda v: (v.n_test == 0, v.n_train, -v.n_test))
    lines = [
        [
            conjunction(task.names, task.values, [v.component], [v.value]),
            f"{v.n_train:,}",
            f"{v.n_test:,}",
            f"{v.partners:,}",
            "never seen" if v.graph_component < 0 else f"{v.graph_component + 1:,}",
        ]
        for v in arranged[:VALUES]
    ]
    summary = "Training coverage of each value"
    caption = "Values, tested ones with the least coverage first"
    if len(arranged) > VALUES:
        extent = "all" if len(arranged) <= MOST_ITEMS else f"the first {MOST_ITEMS:,} of the table"
        caption += f" ({VALUES} of {len(arranged):,}; the JSON output contains {extent})"
    return tag(
        "details",
        tag("summary", summary),
        table(
            [
                "Value",
                "Training combinations",
                "Held-out combinations",
                "Values seen with it",
                "Group",
            ],
            lines,
            caption=caption,
            numbers=(1, 2, 3, 4),
        ),
    )


_NO_SHORTCUT = (
    "no component alone predicts the targets of training and fails in test, or predicts them "
    "though the others suffice, in a test split like training"
)


def shortcuts(evidence: Evidence) -> Html:
    """Return the components that alone predict the target in training, and how they do in test."""
    case, candidates = evidence.case, evidence.shortcuts
    left, n_sets = evidence.not_searched
    rest = f" {left:,} of {count(n_sets, 'set')} of components were not looked at in time." * (
        left > 0
    )
    if not candidates:
        among = f" Of the others, {_NO_SHORTCUT}." if n_sets > left else ""
        return tag("p", f"{rest[1:]}{among}" if left else f"None found: {_NO_SHORTCUT}.")
    labels = case.has_labels
    lines = []
    for candidate in candidates[:SHORTCUTS]:
        what = "cannot be told apart in test" if candidate.spurious else "has rare groups"
        what = "misleads" if candidate.misleads else what
        shifts = "; ".join(shifted(case, candidate, item) for item in candidate.examples)
        lines.append(
            [
                join(alone(case, candidate), tag("small", shifts) if shifts else None),
                share(candidate.train) + "*" * candidate.at_values,
                share(candidate.test) if labels else number(candidate.test, 3),
                *([share(candidate.guess)] if labels else []),
                what + (", superfluous" if candidate.superfluous else ""),
            ]
        )
    return join(
        tag(
            "p",
            "Each of these components alone predicts the targets of training. It misleads if the "
            "prediction fails in test; it is superfluous if the other components predict training "
            "as well without it. "
            + (
                "Each value predicts its most probable label, with labels in their shares of the "
                "test split; training rows are predicted from the others, without copies."
                if labels
                else "Each value predicts its mean; training rows are predicted from the others, "
                "without copies. The slope in test is by how much targets rise there where it "
                "predicts that they rise by 1."
            )
            + (
                " Of some, marked with a star, the training rows are those with the values of the "
                "test split"
                + ("." if labels else ", and differences from the mean of training are compared.")
                if any(candidate.at_values for candidate in candidates)
                else ""
            )
            + rest,
        ),
        table(
            [
                "Component alone",
                "Correct in training" if labels else "Variance explained in training",
                "Correct in test" if labels else "Slope in test",
                *(["Commonest label"] if labels else []),
                "So it",
            ],
            lines,
            caption="Components that alone predict the targets of training",
            numbers=range(1, 3 + labels),
        ),
    )
