"""The page of a paper: its figures and theorems in order, with the status of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from partwhole.page import Html, join, page, table, tag
from partwhole.study.claim import Claim
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


def paper_page(paper: Paper, results: Sequence[Result], footer: Html) -> str:
    """Return the page of a paper.

    Parameters
    ----------
    paper : Paper
    results : sequence of Result
        Results of the studies.
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
    first_item: dict[Claim, str] = {}
    for i, row in enumerate(entries):
        first = i == 0 or entries[i - 1].item != row.item
        item = first_item.setdefault(row.claim, row.item) if row.claim else row.item
        statement = f"As for {item}." if item != row.item else None
        # The statement of a claim already describes its item.
        is_stated = row.claim is not None and statement is None
        shows = tag("small", row.shows) if first and row.shows and not is_stated else None
        name = join(row.item if first else f"{row.item}, also", shows)
        lines.append([name, *_cells(row, statement)])
    return page(
        paper.name,
        header=join(
            tag("h1", paper.name, class_="question"),
            tag("p", paper.title, class_="lead") if paper.title else None,
            tag("p", "; ".join(tallies), class_="source"),
        ),
        nav=navigation((), up="../"),
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


def _cells(row: Row, statement: str | None = None) -> list[Html | str]:
    """Return the cells of a row, with `statement` in place of a claim that an earlier row has."""
    status = mark(*_MARKS[row.status], row.status)
    claim, result = row.claim, row.result
    if result is None:
        return [status, "", "", "", ""]
    link = join(study_link(result, result.name, up="../"), tag("small", _preset(result)))
    if claim is None:
        return [status, "Drawn.", "", "", link]
    return [status, statement or claim.statement, claimed(claim), ours(claim), link]


def _preset(result: Result) -> str:
    return result.preset + (", stored" if "stored" in result.data.attrs else "")


def _words(paper: Paper) -> Html | None:
    if not paper.words:
        return None
    lines = [tag("div", tag("dt", word), tag("dd", meaning)) for word, meaning in paper.words]
    return tag("details", tag("summary", "Words"), tag("dl", lines, class_="words"))
