"""The page of a paper: its figures and theorems in their order, and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from partwhole.page import Html, join, page, table, tag
from partwhole.study.execution import Result
from partwhole.study.pages.parts import beside, claimed, mark, navigation, ours, study_link
from partwhole.study.papers import Paper, Row, rows

_MARKS = {
    "reproduced": ("holds", "✓"),
    "differs": ("fails", "✗"),
    "artefact": ("fails", "⚠"),
    "not decided here": ("open", "?"),
    "not tested": ("outside", "–"),
}


def paper_page(paper: Paper, results: Sequence[Result], papers: Sequence[str], footer: Html) -> str:
    """Write the page of a paper.

    Parameters
    ----------
    paper : Paper
    results : sequence of Result
        The studies that were run.
    papers : sequence of str
        The papers that have a page.
    footer : Html

    Returns
    -------
    str
    """
    entries = rows(paper, results)
    counts = Counter(row.status for row in entries)
    tallies = [
        f"{counts[status]} {status}{'s' * (status == 'artefact' and counts[status] > 1)}"
        for status in _MARKS
        if counts[status]
    ]
    lines = []
    for i, row in enumerate(entries):
        first = i == 0 or entries[i - 1].item != row.item
        shows = tag("small", row.shows) if first and row.shows else None
        lines.append([join(row.item if first else f"{row.item}, also", shows), *_cells(row)])
    return page(
        paper.name,
        header=join(
            tag("h1", paper.name, class_="question"),
            tag("p", paper.title, class_="lead") if paper.title else None,
            tag("p", "; ".join(tallies), class_="source"),
        ),
        nav=navigation(papers, up="../"),
        main=join(
            table(
                ["Item", "Status", "Claim", "Published", "Ours", "Study"],
                lines,
                caption="What the paper shows, item by item",
            ),
            _words(paper),
        ),
        footer=footer,
        style=beside("paper.css"),
    )


def _cells(row: Row) -> list[Html | str]:
    status = mark(*_MARKS[row.status], row.status)
    claim, result = row.claim, row.result
    if result is None:
        return [status, "", "", "", ""]
    link = join(study_link(result, result.name, up="../"), tag("small", _preset(result)))
    if claim is None:
        return [status, "Drawn, without a claim.", "", "", link]
    return [status, claim.statement, claimed(claim), ours(claim), link]


def _preset(result: Result) -> str:
    return result.preset + (", stored" if "stored" in result.data.attrs else "")


def _words(paper: Paper) -> Html | None:
    if not paper.words:
        return None
    lines = [tag("div", tag("dt", word), tag("dd", meaning)) for word, meaning in paper.words]
    return tag("details", tag("summary", "Words"), tag("dl", lines, class_="words"))
