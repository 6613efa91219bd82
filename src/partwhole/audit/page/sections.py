"""What is held out, and which shortcuts training offers."""

from __future__ import annotations

from partwhole.audit.case import Case
from partwhole.audit.evidence import Coverage, Evidence
from partwhole.audit.outputs.machine import MOST_ITEMS
from partwhole.audit.page.cells import grids
from partwhole.audit.page.grid import board
from partwhole.audit.page.words import (
    conjunction,
    count,
    listed,
    number,
    share,
)
from partwhole.audit.wording import shown
from partwhole.page import Html, join, table, tag

VALUES, SHORTCUTS = 60, 40


def remarks(lines: tuple[str, ...], style: str | None = "quiet") -> list[Html]:
    """Show remarks as sentences."""
    return [
        tag("p", line[:1].upper() + line[1:] + ("" if line.endswith(".") else "."), class_=style)
        for line in lines
        if line
    ]


def held_out(evidence: Evidence, anchor: str, n_splits: int) -> Html:
    """Draw the grid, and count what is seen and unseen by order and by value."""
    case, coverage = evidence.case, evidence.coverage
    task = case.task
    h = len(case.held_out)
    repeats = len(case.also_seen)
    told = (
        f"Training has {count(task.n_train, 'distinct combination')}; this test split has "
        f"{h:,} that training lacks"
    )
    told += (
        f", and {count(repeats, 'row')} whose combination training has: these are left out of all "
        "that follows."
        if repeats
        else "."
    )
    unseen = [
        conjunction(task.names, task.values, [each.component], [each.value])
        for each in coverage.unseen_values
    ]
    return join(
        tag("p", told),
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
    for each in coverage.orders:
        name = {1: "Single values", 2: "Pairs"}.get(each.order, f"Sets of {each.order}")
        if each.order == n:
            name = "Whole combinations"
        lines.append(
            [
                name,
                f"{each.seen:,}",
                f"{each.in_test:,}",
                f"{each.unseen:,}",
                share(each.unseen / each.in_test) if each.in_test else "–",
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
    told = (
        "Join two values when a training combination has both: all values that training has hang "
        "together."
    )
    if n > 1:
        told = (
            f"Join two values when a training combination has both: they fall into {n:,} groups "
            "that nothing in training connects."
        )
        if case.task.n_components == 2 and case.order == 1:
            told += " A combination of values from different groups is not determined."
    return tag("p", told)


def _values(coverage: Coverage, case: Case) -> Html:
    task = case.task
    # What is tested and least covered comes first.
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
    summary = "How well training covers each value"
    caption = "Values, the least covered of those tested first"
    if len(arranged) > VALUES:
        kept = "all" if len(arranged) <= MOST_ITEMS else f"the first {MOST_ITEMS:,} of the table"
        caption += f" ({VALUES} of {len(arranged):,}; the JSON output has {kept})"
    return tag(
        "details",
        tag("summary", summary),
        table(
            ["Value", "Training combinations", "Held-out combinations", "Values met", "Group"],
            lines,
            caption=caption,
            numbers=(1, 2, 3, 4),
        ),
    )


def shortcuts(evidence: Evidence) -> Html:
    """List the values and conjunctions whose targets differ between training and test."""
    case, found = evidence.case, evidence.shortcuts
    task, pairs = case.task, case.order > 1
    if not found:
        return tag(
            "p",
            f"None found: no value{' or pair of values' if pairs else ''} goes with other "
            "targets in test than in training, beyond what chance would do."
            + (" Pairs are looked at from order 2." if not pairs and task.n_components > 2 else ""),
        )
    labels = case.has_labels
    lines = []
    for each in found[:SHORTCUTS]:
        name = conjunction(task.names, task.values, each.components, each.values)
        told = share if labels else number
        lines.append(
            [name]
            + ([shown(each.label, 24)] if labels else [])
            + [
                join(told(each.train), tag("small", f"of {each.n_train:,}")),
                join(told(each.test), tag("small", f"of {each.n_test:,}")),
                f"{number(each.effect, 2)}" + ("" if labels else " sd"),
                "< 0.001" if each.p_value < 0.001 else number(each.p_value, 2),
            ]
        )
    left = len(found) - SHORTCUTS
    caption = "Shortcut candidates, strongest first"
    if left > 0:
        caption += f" ({SHORTCUTS} of {len(found):,}; the JSON output has all)"
    return join(
        tag(
            "p",
            "Here training points another way than the test split: a learner that goes by the "
            "value alone will be misled. "
            + (
                "Compared is the share of a label among the combinations that have the value."
                if labels
                else "Compared is the mean target of the combinations that have the value."
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
