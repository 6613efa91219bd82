"""All files of a report, by their paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from partwhole.study.execution import Result
from partwhole.study.pages.index_page import index_page
from partwhole.study.pages.ledger_page import CSV, ledger_csv, ledger_page
from partwhole.study.pages.paper_page import paper_page
from partwhole.study.pages.parts import FAILED as FAILED
from partwhole.study.pages.parts import Entry as Entry
from partwhole.study.pages.parts import NotRun as NotRun
from partwhole.study.pages.parts import closing, paper_file, stamp, study_file
from partwhole.study.pages.study_page import missing_page, study_page
from partwhole.study.papers import papers_of, registered_papers


def site(
    entries: Sequence[Entry], figures: Mapping[str, bytes], *, preset: str, seconds: float
) -> dict[str, str]:
    """Return all files of a report.

    Parameters
    ----------
    entries : sequence of Result or NotRun
        All studies, in their order.
    figures : mapping of str to bytes
        The figure of each study that was run, as SVG, by its name.
    preset : str
    seconds : float
        Duration of the report.

    Returns
    -------
    dict of str to str
        The text of each file, by its path from the folder of the report.
    """
    results = [entry for entry in entries if isinstance(entry, Result)]
    papers = papers_of(results, registered_papers())
    names = [paper.name for paper in papers]
    footer, whole = stamp(), closing(preset, seconds)
    index = index_page(entries, figures, names, preset=preset, seconds=seconds, footer=whole)
    pages = {"index.html": index, "ledger.html": ledger_page(results, names, footer)}
    pages[CSV] = ledger_csv(results)
    for paper in papers:
        pages[paper_file(paper.name)] = paper_page(paper, results, footer)
    for entry in entries:
        pages[study_file(entry.name)] = (
            study_page(entry, figures[entry.name], names, footer)
            if isinstance(entry, Result)
            else missing_page(entry, preset, footer)
        )
    return pages
