"""The opening of the page: the verdict, for whom it is meant, and the facts of the table."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from partwhole.audit.case import TRAIN
from partwhole.audit.page.words import count, listed, number, share
from partwhole.audit.wording import shown, where
from partwhole.page import Html, join, tag

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport

# A number stays with what it counts.
NUMBERED = r"(\border \d+|\b(?:\d[\d,]*(?<!,)|no) \w+)"


def kind(order: int) -> str:
    """Say which learners are meant."""
    what = "single values" if order == 1 else f"conjunctions of at most {order} components"
    return f"whose outputs are sums of {what}"


def between(order: int, n_components: int) -> str:
    """Name the numbers of components of the conjunctions that an order leaves out.

    Examples
    --------
    >>> between(1, 3), between(2, 6)
    ('2', '3 to 5')
    """
    first, last = order + 1, n_components - 1
    return f"{first}" if first == last else f"{first} to {last}"


def standing(report: AuditReport) -> tuple[str, str, str]:
    """Return how the verdict stands: its style, its sign, and what is the case in words."""
    whom = f"for learners with a fixed representation {kind(report.order)}"
    if report.errors:
        what = f"Training does not support the combinations that are tested, {whom}."
        return "fails", "✗", what
    if not any(len(each.case.held_out) for each in report.evidence):
        return "open", "○", "Nothing is held out, so nothing was tested."
    silenced = [
        each for each in report.findings if each.severity == "error" and each.silenced is not None
    ]
    undecided = [
        shown(each.case.name)
        for each in report.evidence
        if each.solvability is not None and each.solvability.solvable is None
    ]
    words = []
    if silenced:
        rules = Counter(each.rule for each in silenced)
        named = listed([f"{rule} ({n:,})" if n > 1 else rule for rule, n in rules.items()], 12)
        words.append(
            f"Supported with {count(len(silenced), 'error')} silenced: {named}. If "
            f"{'it' if len(silenced) == 1 else 'they'} counted, training would not support the "
            f"combinations that are tested, {whom}."
        )
    if undecided:
        words.append(
            f"Whether any such learner can answer {listed(undecided)} at all was not decided in "
            "the time allowed."
        )
        if not silenced:
            words.append(f"Nothing else speaks against the split, {whom}.")
    if words:
        return "open", "○", " ".join(words)
    return "holds", "✓", f"Training supports the combinations that are tested, {whom}."


def opening(report: AuditReport) -> Html:
    """Open the page: the verdict, for whom it is meant, and the facts of the table."""
    held = report.table
    style, sign, lead = standing(report)
    tested = any(len(each.case.held_out) for each in report.evidence)
    return join(
        tag(
            "p", f"partwhole audit · {shown(held.source)} · order K = {report.order}", class_="name"
        ),
        tag(
            "h1",
            tag("span", f"{sign} ", aria_hidden="true"),
            [
                tag("span", each) if i % 2 else each
                for i, each in enumerate(re.split(NUMBERED, report.headline))
            ],
            class_=style,
        ),
        tag("p", lead, class_="lead"),
        _learners(report) if tested else None,
        _tiles(report) if tested else None,
        _facts(report),
    )


def _learners(report: AuditReport) -> Html:
    order, n = report.order, report.table.n_components
    cut = ""
    if order < n - 1:
        cut = (
            f" They are cut off at order {order}: conjunctions of more than "
            f"{count(order, 'component')} count as memory. Learners that use those of "
            f"{between(order, n)}, as deep networks and most kernels on {n} components do, are "
            f"asked about with order {n - 1}."
        )
    return tag(
        "p",
        "These are kernel machines, linear readouts of fixed features and networks that are "
        f"trained without changing their features much.{cut} ",
        tag("a", "A network that learns its features may do better", href="#learners"),
        ".",
    )


def _tiles(report: AuditReport) -> Html:
    h = sum(len(each.case.held_out) for each in report.evidence)
    solved = {True: "yes", False: "no", None: "not decided"}[report.solvable]
    scores = "–"
    points = [p for e in report.evidence if e.prediction for p in [e.prediction]]
    at = ""
    if points:
        at = f"at {where(points[0].points[points[0].reference], report.table.n_components)}"
    if points and report.table.labels is not None:
        best = [p.points[p.reference].balanced_accuracy for p in points]
        scores = share(min(best))
    tiles = [
        (f"{h:,}", "held-out combinations", "in test and not in training"),
        (solved, "solvable", "some sum of seen conjunctions answers them all"),
        (share(report.determined), "determined", "training settles what such sums say of them"),
    ]
    if report.table.labels is not None:
        tiles.append((scores, "predicted balanced accuracy", at))
    elif points:
        slopes = [p.points[p.reference].leak_slope for p in points]
        what = f"{at}: of predicted on true held-out targets; 1 is without leak"
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
