"""The opening of the page: the verdict, for whom it is meant, and the facts of the table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from partwhole.audit.case import TRAIN
from partwhole.audit.page.words import count, listed, number, share
from partwhole.audit.wording import shown
from partwhole.page import Html, join, tag

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport


def verdict(report: AuditReport) -> str:
    """Write the verdict in a line."""
    counts = [count(len(report.errors), "error"), count(len(report.warnings), "warning")]
    if report.verdict == "unsupported":
        return f"Unsupported: {counts[0]}, {counts[1]}"
    return f"Supported: no errors, {counts[1] if report.warnings else 'no warnings'}"


def kind(order: int) -> str:
    """Say which learners are meant."""
    what = "single values" if order == 1 else f"conjunctions of at most {order} components"
    return f"whose outputs are sums of {what}"


def opening(report: AuditReport) -> Html:
    """Open the page: the verdict, for whom it is meant, and the facts of the table."""
    held, good = report.table, report.verdict == "supported"
    lead = (
        f"Training supports the combinations that are tested, for learners with a fixed "
        f"representation {kind(report.order)}."
        if good
        else "Training does not support the combinations that are tested, for learners with a "
        f"fixed representation {kind(report.order)}."
    )
    return join(
        tag(
            "p", f"partwhole audit · {shown(held.source)} · order K = {report.order}", class_="name"
        ),
        tag(
            "h1",
            tag("span", "✓ " if good else "✗ ", aria_hidden="true"),
            # A number stays with what it counts.
            [join(tag("span", each), " ") for each in re.split(r"(?<=[:,]) ", verdict(report))],
            class_="holds" if good else "fails",
        ),
        tag("p", lead, class_="lead"),
        tag(
            "p",
            "These are kernel machines, linear readouts of fixed features and networks that are "
            "trained without changing their features much. ",
            tag("a", "A network that learns its features may do better", href="#learners"),
            ".",
        ),
        _tiles(report),
        _facts(report),
    )


def _tiles(report: AuditReport) -> Html:
    h = sum(len(each.case.held_out) for each in report.evidence)
    solved = {True: "yes", False: "no", None: "not decided"}[report.solvable]
    if not h:
        solved = "–"
    scores = "–"
    points = [p for e in report.evidence if e.prediction for p in [e.prediction]]
    if points and report.table.labels is not None:
        best = [p.points[p.reference].balanced_accuracy for p in points]
        scores = share(min(best))
    tiles = [
        (f"{h:,}", "held-out combinations", "in test and not in training"),
        (solved, "solvable", "some sum of seen conjunctions answers them all"),
        (share(report.determined), "determined", "training settles what such sums say of them"),
    ]
    if report.table.labels is not None:
        tiles.append((scores, "predicted balanced accuracy", "at the reference representation"))
    elif points:
        slopes = [p.points[p.reference].leak_slope for p in points]
        what = "of predicted on true held-out targets; 1 is without leak"
        # min() would keep a NaN that comes first.
        known = [slope for slope in slopes if slope == slope]
        tiles.append((number(min(known), 2) if known else "–", "leak slope", what))
    if len(report.evidence) > 1:
        tiles = [
            (value, name, what + ("" if i == 0 else "; the worst of the test splits"))
            for i, (value, name, what) in enumerate(tiles)
        ]
    return tag(
        "ul",
        [
            tag("li", tag("strong", value), tag("span", name), tag("small", what))
            for value, name, what in tiles
        ],
        class_="tiles",
    )


def _facts(report: AuditReport) -> Html:
    held = report.table
    sizes = [
        f"{shown(name, 30)} ({count(n, 'value')})"
        for name, n in zip(held.names, held.n_values, strict=True)
    ]
    if held.labels is not None:
        target = f"{shown(held.target[0])}, with {count(len(held.labels), 'label')}: " + listed(
            [shown(each, 24) for each in held.labels], 8
        )
    else:
        target = f"{listed([shown(each) for each in held.target])} (numbers)"
    splits = [
        f"{shown(name)} ({'training, ' if i == TRAIN else ''}"
        f"{count(int((held.split == i).sum()), 'row')})"
        for i, name in enumerate(held.split_names)
    ]
    left = int((held.split < 0).sum())
    if left:
        splits.append(f"not asked for ({count(left, 'row')})")
    facts = {
        "Table": f"{shown(held.source)}, {count(len(held.split), 'row')}",
        "Components": listed(sizes, 16),
        "Target": target,
        "Splits": listed(splits, 16),
        "Order": f"K = {report.order} of {count(held.n_components, 'component')}",
        "Fit": {"regression": "regression", "margin": "largest margin"}.get(report.fit, report.fit),
    }
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items()],
        class_="facts",
    )
