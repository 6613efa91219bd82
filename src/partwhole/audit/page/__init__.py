"""The HTML page of an audit: one file to read, print and share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from partwhole import __version__
from partwhole.audit.evidence import Evidence
from partwhole.audit.page.additions import additions, none_is_needed
from partwhole.audit.page.determined import determined
from partwhole.audit.page.findings import findings, rules
from partwhole.audit.page.opening import between, kind, opening, sentences
from partwhole.audit.page.predictions import predictions
from partwhole.audit.page.proof import solvable
from partwhole.audit.page.salience import salience
from partwhole.audit.page.sections import held_out, remarks, shortcuts
from partwhole.audit.page.words import share
from partwhole.audit.predictions_in_words import NO_SWEEP
from partwhole.audit.wording import ORDERS, count, printable, share_of, terms
from partwhole.page import Html, join, page, section, table, tag

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport
    from partwhole.audit.rules import Finding

__all__ = ["to_html"]

# Test splits with all evidence on the page, and further ones in the table.
FULL, MOST_FURTHER = 10, 300
PARTS = (
    ("held-out", "What is held out"),
    ("solvable", "Can the held-out combinations be answered at all?"),
    ("determined", "Does training determine the answers?"),
    ("shortcuts", "Shortcuts in the training set"),
    ("predicted", "Predictions for learners"),
    ("salience", "How salient may a component be?"),
    ("add", "Combinations to add first"),
)


def to_html(report: AuditReport, failing: Sequence[Finding] = ()) -> str:
    """Return the HTML page of an audit.

    Parameters
    ----------
    report : AuditReport
    failing : sequence of Finding, default ()
        Warnings that fail, as was asked.

    Returns
    -------
    str
        A complete document that loads nothing from the network. All text from the table is
        escaped.
    """
    folder = Path(__file__)
    document = page(
        f"{'. '.join(sentences(report, failing))} · {printable(report.table.source)}",
        header=opening(report, failing),
        nav=tag("ol", _links(report)),
        main=join(
            section(
                "findings",
                "Findings",
                tag("p", ORDERS, class_="quiet"),
                _rows_are_counted(report),
                findings(report.findings, report.table, several=len(report.evidence) > 1),
            ),
            [_split(report, i, evidence) for i, evidence in enumerate(report.evidence[:FULL], 1)],
            _further(report),
            section("learners", "Which learners the verdict covers", _learners(report)),
            section("rules", "Rules and settings", rules(report.settings, report.settings.silence)),
            section("remarks", "How the table was read", _remarks(report)),
        ),
        footer=_closing(report),
        style=folder.with_name("audit.css").read_text("utf-8"),
        script=folder.with_name("audit.js").read_text("utf-8"),
    )
    # UTF-8 cannot encode a lone surrogate.
    return document.encode("utf-8", "replace").decode("utf-8")


def _links(report: AuditReport) -> list[Html]:
    def link(anchor: str, words: str) -> Html:
        return tag("li", tag("a", words, href=f"#{anchor}"))

    links = [link("findings", "Findings")]
    if len(report.evidence) == 1:
        only = report.evidence[0]
        parts = [link(f"s1-{anchor}", words) for anchor, words in _parts(only)]
        links += parts or [link("s1", f"Test split “{printable(only.case.name)}”")]
    else:
        links += [
            link(f"s{i}", f"Test split “{printable(evidence.case.name)}”")
            for i, evidence in enumerate(report.evidence[:FULL], 1)
        ]
        if len(report.evidence) > FULL:
            links.append(link("further", "Further test splits"))
    return [
        *links,
        link("learners", "Which learners the verdict covers"),
        link("rules", "Rules and settings"),
        link("remarks", "How the table was read"),
    ]


def _rows_are_counted(report: AuditReport) -> Html | None:
    if not any(len(finding.rows) for finding in report.findings):
        return None
    places, row = [], 0
    for file in report.table.files:
        if file.first_line is not None and file.path:
            places.append(f"row {row:,} is on line {file.first_line} of {printable(file.name)}")
        row += file.n_rows
    said = "; ".join(["Rows of the table are counted from 0", *places])
    return tag("p", f"{said}.", class_="quiet")


def _parts(evidence: Evidence) -> list[tuple[str, str]]:
    if not len(evidence.case.held_out):
        return []
    left = set() if evidence.case.table.has_target else {"solvable", "shortcuts"}
    if evidence.prediction is None:
        left.add("predicted")
    if evidence.sweep is None and (not evidence.case.has_labels or "predicted" in left):
        left.add("salience")
    if evidence.additions is None and not none_is_needed(evidence):
        left.add("add")
    return [part for part in PARTS if part[0] not in left]


def _split(report: AuditReport, i: int, evidence: Evidence) -> Html:
    bodies = {
        "held-out": lambda: held_out(evidence, f"s{i}", min(FULL, len(report.evidence))),
        "solvable": lambda: solvable(evidence),
        "determined": lambda: determined(evidence),
        "shortcuts": lambda: shortcuts(evidence),
        "predicted": lambda: evidence.prediction and predictions(evidence, evidence.prediction),
        "salience": lambda: (
            salience(evidence.case, evidence.sweep)
            if evidence.sweep
            else tag("p", NO_SWEEP, class_="answer")
        ),
        "add": lambda: additions(evidence),
    }
    of_split = section(
        f"s{i}",
        f"Test split “{printable(evidence.case.name)}”",
        [
            join(tag("h3", words, id=f"s{i}-{anchor}", class_="part"), bodies[anchor]())
            for anchor, words in _parts(evidence)
        ]
        or _nothing(evidence),
    )
    # A screen reader cannot distinguish regions of the same name.
    numbered = rf"\g<0>, test split {i}"
    return Html(re.sub(r'role="region" aria-label="[^"]*', numbered, of_split.text))


def _nothing(evidence: Evidence) -> Html:
    case = evidence.case
    rows = count(len(case.also_seen), "row")
    return tag(
        "p",
        f"No combination is held out: training contains the combination of each of the {rows} of "
        "this test split, so nothing was tested or predicted.",
    )


def _further(report: AuditReport) -> Html | None:
    """Return a table of the test splits without a section on the page."""
    further_evidence = report.evidence[FULL:]
    if not further_evidence:
        return None
    words = {True: "yes", False: "no", None: "not decided"}
    lines = [
        [
            printable(evidence.case.name),
            f"{len(evidence.case.held_out):,}",
            words[evidence.solvability.solvable] if evidence.solvability else "–",
            share_of(evidence.determination, share) if evidence.determination else "–",
        ]
        for evidence in further_evidence[:MOST_FURTHER]
    ]
    left = len(further_evidence) - len(lines)
    return section(
        "further",
        "Further test splits",
        tag(
            "p",
            f"The first {FULL} test splits have their own sections above. The JSON output contains "
            f"the evidence for the other {len(further_evidence):,}"
            + (f", of which {left:,} are not in this table." if left else "."),
        ),
        table(
            ["Test split", "Held-out combinations", "Solvable", "Determined"],
            lines,
            caption="Summary of further test splits",
            numbers=(1, 3),
        ),
    )


def _learners(report: AuditReport) -> Html:
    order, n = report.order, report.table.n_components
    if order == n - 1:
        kernels = (
            "They include kernel machines whose similarity depends on which components two inputs "
            "share: on a held-out combination, the term for the whole combination, which "
            "training lacks, is 0."
        )
    else:
        kernels = (
            "They include kernel machines whose similarity depends on which components two inputs "
            f"share, without terms for sets of {between(order, n)} components: on a held-out "
            "combination, the term for the whole of it, which training lacks, is 0."
        )
    return join(
        tag(
            "p",
            "All verdicts on this page apply to learners with a fixed representation of order "
            f"K = {order}: those {kind(order)}. {kernels} They also include linear readouts of "
            "such features, and networks in the lazy regime, whose features hardly change during "
            "training.",
        ),
        tag(
            "p",
            f"Deep networks and most kernels on {n} components are of higher order: the table of "
            "each test split has the verdict for them. The predictions on this page are for "
            f"learners that generalise by {terms(order)}: whatever depends on more is memorized, "
            "which does not carry over to held-out combinations.",
        )
        if order < n - 1
        else None,
        tag(
            "p",
            "A network that learns its features may do better. Transitive equivalence is a known "
            "case: training shows that A is equivalent to B and B to C, and the test asks whether "
            "A is equivalent to C. No sum of parts is correct on all such pairs, so the audit "
            "reports the task as not solvable; networks that start from small weights learn the "
            "same features for all items of a class, and then answer correctly.",
        ),
        tag(
            "p",
            "To check this for a network, train it and pass its predictions for all rows to ",
            tag("code", "partwhole.measures.additivity(task, predictions, max_order=K)"),
            ". A value near 1 means that its held-out outputs are sums of numbers for values "
            "of training, so this page applies to it; a value clearly below 1 means that it does "
            "not.",
        ),
    )


def _remarks(report: AuditReport) -> Html:
    lines = remarks(report.table.remarks)
    conflicts = sum(int(evidence.case.conflict.sum()) for evidence in report.evidence)
    if conflicts:
        lines += remarks(
            (
                f"{count(conflicts, 'combination')} had rows with different targets; the audit "
                "uses their weighted mean",
            )
        )
    weights = report.table.weights
    if len(weights) and weights.min() != weights.max():
        lines += remarks(("rows have sample weights, which enter means and errors",))
    if report.table.features is not None:
        lines += remarks((f"measured features: {count(report.table.features.shape[1], 'column')}",))
    return join(lines or tag("p", "The table was read without changes."))


def _closing(report: AuditReport) -> Html:
    return tag(
        "p",
        f"Made by partwhole {__version__} in {max(report.seconds, 0.1):.1f} s. This page is one "
        "file and loads nothing from the network. The theory is that of Lippl and Stachenfeld, "
        "“When does compositional structure yield compositional generalization? A kernel theory” "
        "(ICLR 2025).",
    )
