"""Held-out combinations, and shortcuts in the training set."""

from __future__ import annotations

from partwhole.audit.case import Case
from partwhole.audit.evidence import Coverage, Evidence
from partwhole.audit.outputs.machine import MOST_ITEMS
from partwhole.audit.page.cells import grids
from partwhole.audit.page.grid import board
from partwhole.audit.page.words import conjunction, listed, number, share
from partwhole.audit.wording import count, printable
from partwhole.page import Html, join, table, tag

VALUES, SHORTCUTS = 60, 40


def remarks(lines: tuple[str, ...], style: str | None = "quiet") -> list[Html]:
    """Return remarks as sentences."""
    return [
        tag("p", line[:1].upper() + line[1:] + ("" if line.endswith(".") else "."), class_=style)
        for line in lines
        if line
    ]


def held_out(evidence: Evidence, anchor: str, n_splits: int) -> Html:
    """Return the grid, and the counts of seen and unseen conjunctions by order and by value."""
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
        _orders(coverage, case),
        _graph(coverage, case),
        _values(coverage, case),
    )


def _orders(coverage: Coverage, case: Case) -> Html:
    n = case.task.n_components
    lines = []
    for row in coverage.orders:
        name = {1: "Single values", 2: "Pairs"}.get(row.order, f"Sets of {row.order}")
        if row.order == n:
            name = "Whole combinations"
        lines.append(
            [
                name,
                f"{row.seen:,}",
                f"{row.in_test:,}",
                f"{row.unseen:,}",
                share(row.unseen / row.in_test) if row.in_test else "–",
            ]
        )
    return table(
        [
            "Conjunctions",
            "In training",
            "In held-out combinations",
            "Of these, not in training",
            "Share",
        ],
        lines,
        caption="Distinct conjunctions by the number of their components",
        numbers=(1, 2, 3, 4),
    )


def _graph(coverage: Coverage, case: Case) -> Html:
    n = coverage.n_graph_components
    sentence = (
        "Link two values if a training combination has both: then all values of training form one "
        "connected group."
    )
    if n > 1:
        sentence = (
            f"Link two values if a training combination has both: then the values of training form "
            f"{n:,} groups without links between them."
        )
        if case.task.n_components == 2 and case.order == 1:
            sentence += " A combination of values from different groups is not determined."
    return tag("p", sentence)


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


def shortcuts(evidence: Evidence) -> Html:
    """Return the values and conjunctions whose targets differ between training and test."""
    case, candidates = evidence.case, evidence.shortcuts
    task, pairs = case.task, case.order > 1
    if not candidates:
        return tag(
            "p",
            f"None found: no value{' or pair of values' if pairs else ''} has targets in test that "
            "differ from those in training by more than chance explains."
            + (" Pairs are tested from order 2." if not pairs and task.n_components > 2 else ""),
        )
    labels = case.has_labels
    lines = []
    for candidate in candidates[:SHORTCUTS]:
        name = conjunction(task.names, task.values, candidate.components, candidate.values)
        write = share if labels else number
        lines.append(
            [name]
            + ([printable(candidate.label, 24)] if labels else [])
            + [
                join(write(candidate.train), tag("small", f"of {candidate.n_train:,}")),
                join(write(candidate.test), tag("small", f"of {candidate.n_test:,}")),
                f"{number(candidate.effect, 2)}" + ("" if labels else " sd"),
                "< 0.001" if candidate.p_value < 0.001 else number(candidate.p_value, 2),
            ]
        )
    left = len(candidates) - SHORTCUTS
    caption = "Shortcut candidates, strongest first"
    if left > 0:
        caption += f" ({SHORTCUTS} of {len(candidates):,}; the JSON output contains all)"
    return join(
        tag(
            "p",
            "For these values, targets in training differ from targets in the test split: a "
            "learner that relies on the value alone is misled. The table compares "
            + (
                "the share of a label among the combinations that have the value."
                if labels
                else "the mean target of the combinations that have the value."
            ),
        ),
        table(
            ["Value or pair" if pairs else "Value"]
            + (["Label"] if labels else [])
            + ["In training", "In test", "Effect", "p"],
            lines,
            caption=caption,
            numbers=range(1 + labels, 5 + labels),
        ),
    )
