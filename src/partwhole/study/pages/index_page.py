"""The first page of a report: the main findings, the amount of work, and a list of studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from partwhole.page import Html, join, page, picture, tag
from partwhole.study.claim import Claim, Verdict, tally
from partwhole.study.execution import Result
from partwhole.study.pages.parts import (
    FAILED,
    MEANINGS,
    SIGNS,
    Entry,
    NotRun,
    beside,
    count,
    mark,
    navigation,
    study_link,
    verdict_mark,
)


def index_page(
    entries: Sequence[Entry],
    figures: Mapping[str, bytes],
    papers: Sequence[str],
    *,
    preset: str,
    seconds: float,
    footer: Html,
) -> str:
    """Return the first page.

    Parameters
    ----------
    entries : sequence of Result or NotRun
        All studies, in their order.
    figures : mapping of str to bytes
        The figure of each study that was run, as SVG, by its name.
    papers : sequence of str
        The papers that have a page.
    preset : str
    seconds : float
        Duration of the report.
    footer : Html

    Returns
    -------
    str
    """
    results = [entry for entry in entries if isinstance(entry, Result)]
    return page(
        "partwhole: what a learner does with unseen combinations",
        header=join(
            tag("p", "partwhole", class_="name"),
            tag("h1", "What will a learner do with a combination it has never seen?"),
            tag(
                "p",
                "Published claims about compositional generalization, each beside a computation "
                "of our own. A claim that does not hold is a finding, and its note says what holds "
                "instead; some findings are ours.",
            ),
            _amount(results, preset, seconds),
        ),
        nav=navigation(papers),
        main=join(
            _missing([entry for entry in entries if isinstance(entry, NotRun)], len(entries)),
            _findings(results, figures),
            _studies(entries),
        ),
        footer=footer,
        style=beside("index.css"),
    )


def _missing(missing: Sequence[NotRun], studies: int) -> Html | None:
    """List the studies without a result at the top of the page, with the reasons."""
    if not missing:
        return None
    lines = [
        tag(
            "li",
            tag("strong", FAILED) if entry.failed else None,
            study_link(entry),
            f" ({entry.name}): {entry.reason}",
        )
        for entry in missing
    ]
    return tag(
        "section",
        tag("h2", f"{len(missing)} of {studies} studies have no result here", id="missing-title"),
        tag("ul", lines),
        class_="notice",
        id="missing",
        aria_labelledby="missing-title",
    )


def _findings(results: Sequence[Result], figures: Mapping[str, bytes]) -> Html | None:
    cards = [
        _card(claim, result, figures[result.name])
        for result in results
        for claim in result.claims
        if claim.headline
    ]
    if not cards:
        return None
    return tag(
        "section",
        tag("h2", "Findings", id="findings-title"),
        tag("ul", cards, class_="findings"),
        id="findings",
        aria_labelledby="findings-title",
    )


def _card(claim: Claim, result: Result, figure: bytes) -> Html:
    caption = result.findings.caption or result.declaration.question
    return tag(
        "li",
        picture(figure, caption, loading="lazy"),
        tag("p", study_link(result, claim.headline)),
        tag("small", verdict_mark(claim.verdict), f" · {claim.source}"),
    )


def _amount(results: Sequence[Result], preset: str, seconds: float) -> Html:
    """Count the studies, the numerical checks, and the claims by verdict."""
    if not results:
        return tag("p", "No study has been run for this page yet.")
    claims = [claim for result in results for claim in result.claims]
    counts = Counter(claim.verdict for claim in claims)
    checks = [check for result in results for check in result.findings.checks]
    failed = sum(not check.passed for check in checks)
    total = count(sum(check.count for check in checks), "numerical check", "numerical checks")
    n_stored = sum("stored" in result.data.attrs for result in results)
    stored = f" ({n_stored} of them from stored results)" if n_stored else ""
    passed = f"{count(failed, 'of them fails', 'of them fail')}" if failed else "all passed"
    lines = [
        tag("li", f"{counts[verdict]} ", _several(verdict, counts[verdict]), title=meaning)
        for verdict, meaning in MEANINGS.items()
        if counts[verdict]
    ]
    return tag(
        "div",
        tag(
            "p",
            f"{count(len(results), 'study', 'studies')}{stored} with the preset {preset} in "
            f"{seconds:.0f} s; {total}, {passed}; ",
            tag("a", count(len(claims), "claim", "claims"), href="ledger.html"),
            ":",
        ),
        tag("ul", lines),
        class_="amount",
    )


def _several(verdict: Verdict, number: int) -> Html:
    plural = {
        Verdict.HOLDS: "hold",
        Verdict.FAILS: "do not hold",
        Verdict.ILLUSTRATION: "illustrations",
        Verdict.OUTSIDE: "outside their assumptions",
    }
    return mark(*SIGNS[verdict], plural.get(verdict, verdict) if number > 1 else verdict.value)


def _studies(entries: Sequence[Entry]) -> Html | None:
    """List the studies by folder, with their verdicts."""
    if not entries:
        return None
    groups = [
        join(
            tag("h3", folder.replace("_", " ").capitalize()) if folder else None,
            tag("ul", [tag("li", study_link(entry), " ", _outcome(entry)) for entry in group]),
        )
        for folder, group in groupby(entries, lambda entry: entry.name.rpartition(".")[0])
    ]
    return tag(
        "section",
        tag("h2", "All studies", id="studies-title"),
        groups,
        class_="studies",
        id="studies",
        aria_labelledby="studies-title",
    )


def _outcome(entry: Entry) -> Html:
    if isinstance(entry, NotRun):
        return tag("small", "failed" if entry.failed else "not run")
    if any(not check.passed for check in entry.findings.checks):
        return tag("small", tag("strong", "a numerical check failed"))
    counts = Counter(claim.verdict for claim in entry.claims)
    signs = [f"{counts[verdict]} {SIGNS[verdict][1]}" for verdict in Verdict if counts[verdict]]
    return tag("small", ", ".join(signs), title=tally(entry.claims))
