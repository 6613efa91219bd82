"""The opening of the page: the verdict, the learners it covers, and the facts of the table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from partwhole.audit.case import TRAIN, AuditTable
from partwhole.audit.headline import doubted_at_the_measured, headline
from partwhole.audit.page.words import number, share
from partwhole.audit.predictions_in_words import representation_name
from partwhole.audit.remainder import without_unseen
from partwhole.audit.wording import count, listed, printable, terms_of
from partwhole.page import Html, join, tag

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport
    from partwhole.audit.rules import Finding

# Warnings beside which a verdict is not green.
DOUBTFUL = ("shortcut", "failed-value")
# No line break between a number and its noun.
NUMBERED = r"(\border \d+|>?\d+ %|\b(?:\d[\d,]*(?<!,)|no) \w+)"


def kind(order: int) -> str:
    """Return the description of the learners that the verdict covers."""
    return f"that add up one number for each {terms_of(order)}"


def between(order: int, n_components: int) -> str:
    """Return the numbers of components of the conjunctions that an order leaves out.

    Examples
    --------
    >>> between(1, 3), between(2, 6)
    ('2', '3 to 5')
    """
    first, last = order + 1, n_components - 1
    return f"{first}" if first == last else f"{first} to {last}"


def sentences(report: AuditReport, failing: Sequence[Finding] = ()) -> list[str]:
    """Return the headline, after the rules of warnings that fail a supported split."""
    said = list(headline(report))
    if not failing or report.errors:
        return said
    return [f"Fails on warnings of {_rules_of(failing)}, as asked (fail_on)", *said]


def _rules_of(findings: Sequence[Finding]) -> str:
    """Return the rules of findings, each with how many there are."""
    rules = Counter(item.rule for item in findings)
    return listed([f"{rule} ({n:,})" if n > 1 else rule for rule, n in rules.items()], 12)


def standing(report: AuditReport, failing: Sequence[Finding] = ()) -> tuple[str, str, str]:
    """Return the style, the sign and the sentence of the verdict."""
    style, sign, sentence = _verdict(report)
    return ("fails", "✗", sentence) if failing else (style, sign, sentence)


def _verdict(report: AuditReport) -> tuple[str, str, str]:
    whom = f"for learners with fixed features {kind(report.order)}"
    if report.verdict == "undecided":
        sentence = f"Whether training supports the tested combinations was not decided, {whom}."
        return "open", "○", sentence
    if report.errors:
        sentence = f"Training does not support the tested combinations, {whom}."
        return "fails", "✗", sentence
    if not any(len(item.case.held_out) for item in report.evidence):
        return "open", "○", "No combination is held out, so none was tested."
    silenced = [
        item for item in report.findings if item.severity == "error" and item.silenced is not None
    ]
    if silenced:
        sentence = (
            f"Supported with {count(len(silenced), 'error')} silenced: {_rules_of(silenced)}. If "
            f"{'it' if len(silenced) == 1 else 'they'} counted, training would not support the "
            f"tested combinations, {whom}."
        )
        return "open", "○", sentence
    doubtful = list(dict.fromkeys(item.rule for item in report.warnings if item.rule in DOUBTFUL))
    if any(doubted_at_the_measured(report)):
        doubtful.append("strong-leak at the measured representation")
    if doubtful:
        rules = listed(doubtful, 12)
        return "open", "!", f"Training supports the tested combinations, {whom}; but see {rules}."
    warned = f", with {count(len(report.warnings), 'warning')}" if report.warnings else ""
    return "holds", "✓", f"Training supports the tested combinations, {whom}{warned}."


def opening(report: AuditReport, failing: Sequence[Finding] = ()) -> Html:
    """Return the verdict, the learners it covers, and the facts of the table."""
    audited = report.table
    style, sign, lead = standing(report, failing)
    first, *further = sentences(report, failing)
    tested = any(len(item.case.held_out) for item in report.evidence)
    return join(
        tag(
            "p",
            f"partwhole audit · {printable(audited.source)}",
            class_="name",
        ),
        tag(
            "h1",
            tag("span", f"{sign} ", aria_hidden="true"),
            _unbroken(first),
            class_=style,
        ),
        [tag("p", _unbroken(f"{sentence}."), class_="lead") for sentence in further],
        tag("p", lead),
        _learners(report) if tested else None,
        _tiles(report) if tested else None,
        _facts(report),
    )


def _unbroken(sentence: str) -> list[Html | str]:
    """Return a sentence in which numbers stay with their nouns."""
    parts = re.split(NUMBERED, sentence)
    return [tag("span", part) if i % 2 else part for i, part in enumerate(parts)]


def _learners(report: AuditReport) -> Html:
    order, n = report.order, report.table.n_components
    cut = ""
    if order < n - 1:
        cut = (
            f" In deep networks {between(order, n)} values may interact too: the table of each "
            f"test split has the verdict for them, and --require-order {order + 1} makes the next "
            "order count."
        )
    return tag(
        "p",
        "Such learners are a linear layer or a kernel on fixed features, and very wide networks."
        f"{cut} ",
        tag("a", "A network that learns its features may do better", href="#learners"),
        ".",
    )


def _tiles(report: AuditReport) -> Html:
    h = sum(len(evidence.case.held_out) for evidence in report.evidence)
    solved = {True: "yes", False: "no", None: "not decided"}[report.solvable]
    rests = [without_unseen(item, 1.0).solvability for item in report.evidence]
    if report.solvable is False and all(rest is None or rest.solvable for rest in rests):
        solved = "no (yes without unseen values)"
    scores = "–"
    points = [p for e in report.evidence if e.prediction for p in [e.prediction]]
    at = ""
    if points:
        point = points[0].points[points[0].reference]
        at = f"at {representation_name(point)}"
    of_labels = [e.prediction for e in report.evidence if e.prediction and e.case.has_labels]
    if of_labels:
        least = min(p.points[p.reference].accuracy for p in of_labels)
        given = [e.sweep for e in report.evidence if e.sweep and not e.sweep.are_equal]
        worst = min((float(np.nanmin(sweep.unchanged)) for sweep in given), default=1.0)
        if worst < least:
            least, at = worst, "at the given saliences, of the worst learner tried"
        scores = share(least)
    tiles = [
        (f"{h:,}", "held-out combinations", "in test and not in training"),
        (solved, "solvable", "one of such learners can answer all of them"),
        (share(report.determined), "determined", "all such learners that fit training agree there"),
    ]
    if not report.table.has_target:
        del tiles[1]
    if any(item.case.has_labels for item in report.evidence):
        tiles.append((scores, "predicted accuracy by rows", at))
    elif points:
        slopes = [p.points[p.reference].leak_slope for p in points]
        meaning = f"{at}: by how much predictions differ where targets differ by 1; 1 is exact"
        # min() would return NaN if it comes first.
        slopes_known = [slope for slope in slopes if slope == slope]
        tiles.append(
            (number(min(slopes_known), 2) if slopes_known else "–", "slope of predictions", meaning)
        )
    if len(report.evidence) > 1:
        tiles = [
            (value, name, meaning + ("" if i == 0 else "; the worst of the test splits"))
            for i, (value, name, meaning) in enumerate(tiles)
        ]
    return tag(
        "ul",
        [
            tag("li", tag("strong", value), tag("span", name), tag("small", meaning))
            for value, name, meaning in tiles
        ],
        class_="tiles",
    )


def _facts(report: AuditReport) -> Html:
    audited = report.table
    sizes = [
        f"{printable(name, 30)} ({count(n, 'value')})"
        for name, n in zip(audited.names, audited.n_values, strict=True)
    ]
    splits = dict.fromkeys(part for of in report.tables for part in _parts(of))
    facts = {
        "Table": f"{printable(audited.source)}, {count(len(audited.split), 'row')}",
        "Components": listed(sizes, 16),
        "Target": "; ".join(dict.fromkeys(_target(of) for of in report.tables)),
        "Splits": listed(list(splits), 16),
        "Order": f"{report.order}, of {count(audited.n_components, 'component')}",
        "Fit": {"regression": "least squares", "margin": "largest margin"}.get(
            report.fit, report.fit
        ),
    }
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items()],
        class_="facts",
    )


def _target(audited: AuditTable) -> str:
    """Return the target's columns, with its labels."""
    if audited.labels is not None:
        return (
            f"{printable(audited.target[0])}, with {count(len(audited.labels), 'label')}: "
            + listed([printable(label, 24) for label in audited.labels], 8)
        )
    names = listed([printable(label) for label in audited.target])
    return f"{names} (numbers)" if names else "none"


def _parts(audited: AuditTable) -> Iterator[str]:
    """Yield the parts of the split, with their rows."""
    for i, name in enumerate(audited.split_names):
        n_rows = count(int((audited.split == i).sum()), "row")
        yield f"{printable(name)} ({'training, ' if i == TRAIN else ''}{n_rows})"
    left = int((audited.split < 0).sum())
    if left:
        yield f"not selected ({count(left, 'row')})"
