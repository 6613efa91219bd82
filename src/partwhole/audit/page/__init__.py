"""The page of an audit: one file that can be read, printed and sent around."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from partwhole import __version__
from partwhole.audit.evidence import Evidence
from partwhole.audit.page.adding import additions
from partwhole.audit.page.findings import findings, rules
from partwhole.audit.page.opening import between, kind, opening
from partwhole.audit.page.predictions import predictions
from partwhole.audit.page.proof import solvable
from partwhole.audit.page.sections import held_out, remarks, shortcuts
from partwhole.audit.page.settled import settled
from partwhole.audit.page.words import count, share
from partwhole.audit.wording import shown
from partwhole.page import Html, join, page, table, tag

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport

__all__ = ["to_html"]

# Test splits that are shown with all evidence.
FULL, MOST_FURTHER = 10, 300
PARTS = (
    ("held-out", "What is held out"),
    ("solvable", "Can it be answered at all?"),
    ("determined", "Is it settled by training?"),
    ("shortcuts", "Shortcuts that training offers"),
    ("predicted", "What learners will do"),
    ("add", "What to add first"),
)


def to_html(report: AuditReport) -> str:
    """Write the page of an audit.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
        A whole document that asks nothing of the network. Everything from the table is escaped.
    """
    here = Path(__file__)
    made = page(
        f"{report.headline} · {shown(report.table.source)}",
        header=opening(report),
        nav=tag("ol", _links(report)),
        main=join(
            _section(
                "findings",
                "Findings",
                _rows_are_counted(report),
                findings(report.findings, report.table),
            ),
            [_split(report, i, each) for i, each in enumerate(report.evidence[:FULL], 1)],
            _further(report),
            _section("learners", "For whom this is meant", _learners(report)),
            _section(
                "rules", "Rules and settings", rules(report.settings, report.settings.silence)
            ),
            _section("remarks", "What was done on the way in", _done(report)),
        ),
        footer=_closing(report),
        style=here.with_name("audit.css").read_text("utf-8"),
        script=here.with_name("audit.js").read_text("utf-8"),
    )
    # A lone surrogate can't be written as UTF-8.
    return made.encode("utf-8", "replace").decode("utf-8")


def _links(report: AuditReport) -> list[Html]:
    def link(anchor: str, words: str) -> Html:
        return tag("li", tag("a", words, href=f"#{anchor}"))

    links = [link("findings", "Findings")]
    if len(report.evidence) == 1:
        only = report.evidence[0]
        parts = [link(f"s1-{anchor}", words) for anchor, words in _parts(only)]
        links += parts or [link("s1", f"Test split “{shown(only.case.name)}”")]
    else:
        links += [
            link(f"s{i}", f"Test split “{shown(each.case.name)}”")
            for i, each in enumerate(report.evidence[:FULL], 1)
        ]
        if len(report.evidence) > FULL:
            links.append(link("further", "Further test splits"))
    return [
        *links,
        link("learners", "For whom this is meant"),
        link("rules", "Rules and settings"),
        link("remarks", "What was done on the way in"),
    ]


def _section(anchor: str, title: str, *children: object) -> Html:
    return tag(
        "section",
        tag("h2", title, id=f"{anchor}-title"),
        children,
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )


def _rows_are_counted(report: AuditReport) -> Html | None:
    if not any(len(each.rows) for each in report.findings):
        return None
    first = report.table.first_line
    line = "" if first is None else f"; row 0 is on line {first} of {shown(report.table.source)}"
    return tag("p", f"Rows of the table are counted from 0{line}.", class_="quiet")


def _parts(evidence: Evidence) -> list[tuple[str, str]]:
    if not len(evidence.case.held_out):
        return []
    left = set()
    if evidence.prediction is None:
        left.add("predicted")
    if evidence.additions is None:
        left.add("add")
    return [part for part in PARTS if part[0] not in left]


def _split(report: AuditReport, i: int, evidence: Evidence) -> Html:
    bodies = {
        "held-out": lambda: held_out(evidence, f"s{i}", min(FULL, len(report.evidence))),
        "solvable": lambda: solvable(evidence),
        "determined": lambda: settled(evidence),
        "shortcuts": lambda: shortcuts(evidence),
        "predicted": lambda: evidence.prediction and predictions(evidence, evidence.prediction),
        "add": lambda: evidence.additions and additions(evidence, evidence.additions),
    }
    section = _section(
        f"s{i}",
        f"Test split “{shown(evidence.case.name)}”",
        [
            join(tag("h3", words, id=f"s{i}-{anchor}", class_="part"), bodies[anchor]())
            for anchor, words in _parts(evidence)
        ]
        or _nothing(evidence),
    )
    # Regions of the same name can't be told apart by ear.
    named = rf"\g<0>, test split {i}"
    return Html(re.sub(r'role="region" aria-label="[^"]*', named, section.text))


def _nothing(evidence: Evidence) -> Html:
    case = evidence.case
    rows = count(len(case.also_seen), "row")
    return tag(
        "p",
        f"Nothing is held out: training has the combination of each of the {rows} of this test "
        "split, so there is nothing to answer, to settle or to predict.",
    )


def _further(report: AuditReport) -> Html | None:
    """Sum up the test splits beyond those that the page has room for."""
    rest = report.evidence[FULL:]
    if not rest:
        return None
    words = {True: "yes", False: "no", None: "not decided"}
    lines = [
        [
            shown(each.case.name),
            f"{len(each.case.held_out):,}",
            words[each.solvability.solvable] if each.solvability else "–",
            share(each.determination.share) if each.determination else "–",
        ]
        for each in rest[:MOST_FURTHER]
    ]
    left = len(rest) - len(lines)
    return _section(
        "further",
        "Further test splits",
        tag(
            "p",
            f"The first {FULL} test splits are shown above with all evidence. The JSON output has "
            f"the main facts of the other {len(rest):,}"
            + (f", of which {left:,} are not in this table." if left else "."),
        ),
        table(
            ["Test split", "Held-out combinations", "Solvable", "Determined"],
            lines,
            caption="Further test splits in short",
            numbers=(1, 3),
        ),
    )


def _learners(report: AuditReport) -> Html:
    order, n = report.order, report.table.n_components
    if order == n - 1:
        kernels = (
            "A kernel machine whose similarity depends on which components two inputs share is "
            "one on all held-out combinations: what it adds for a conjunction that it never saw "
            "is 0."
        )
    else:
        kernels = (
            "A kernel machine whose similarity depends on which components two inputs share is "
            f"one only if it has no conjunctions of {between(order, n)} components; what it adds "
            "for the whole combination, that it never saw, is 0."
        )
    return join(
        tag(
            "p",
            "Every verdict here is about learners with a fixed representation at order "
            f"K = {order}: those {kind(order)}. {kernels} So are linear readouts of fixed "
            "features of this kind, and networks in the lazy regime, whose features hardly change "
            "in training.",
        ),
        tag(
            "p",
            f"Learners with higher orders, as deep networks and most kernels on {n} components, "
            f"are asked about with order {n - 1}. What is predicted here is for a learner cut off "
            f"at order {order}: its conjunctions of more than {count(order, 'component')} count "
            "as memory, which carries nothing over.",
        )
        if order < n - 1
        else None,
        tag(
            "p",
            "A network that learns its features may do better. Transitive equivalence is the known "
            "case: told that A goes with B and B with C, the question is whether A goes with C. No "
            "sum of parts is right on all such pairs, so the audit calls it not solvable; networks "
            "that start from small weights come to give the items of one class the same features, "
            "and then answer rightly.",
        ),
        tag(
            "p",
            "To check whether that happens, train the network and give its predictions for all "
            "rows to ",
            tag("code", "partwhole.measures.additivity(task, predictions, max_order=K)"),
            ". A value near 1 says that its held-out outputs are a sum of seen conjunctions, and "
            "all of this page applies to it; a value clearly below 1 says that it does something "
            "else.",
        ),
    )


def _done(report: AuditReport) -> Html:
    lines = remarks(report.table.remarks)
    conflicts = sum(int(each.case.conflict.sum()) for each in report.evidence)
    if conflicts:
        lines += remarks(
            (
                f"{count(conflicts, 'combination')} had rows with different targets; their "
                "weighted mean is used",
            )
        )
    weights = report.table.weights
    if len(weights) and weights.min() != weights.max():
        lines += remarks(("rows have sample weights, which means and errors use",))
    if report.table.features is not None:
        lines += remarks((f"measured features: {count(report.table.features.shape[1], 'column')}",))
    return join(lines or tag("p", "The table was taken as it is."))


def _closing(report: AuditReport) -> Html:
    return tag(
        "p",
        f"Made by partwhole {__version__} in {max(report.seconds, 0.1):.1f} s. This page is one "
        "file and asks nothing of the network. The theory is that of Lippl and Stachenfeld, "
        "“When does compositional structure yield compositional generalization? A kernel theory” "
        "(ICLR 2025).",
    )
