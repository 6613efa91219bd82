"""The page of a study: question, answer, figure, claims, and folded methods."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from partwhole.page import Html, join, page, picture, table, tag
from partwhole.study.claim import Claim, Verdict
from partwhole.study.declaration import OURS, Check
from partwhole.study.execution import Result
from partwhole.study.pages.parts import (
    FAILED,
    NotRun,
    allowance,
    claimed,
    count,
    navigation,
    number,
    ours,
    paper_file,
    verdict_mark,
)


def study_page(result: Result, figure: bytes, papers: Sequence[str], footer: Html) -> str:
    """Return the page of a study with a result.

    Parameters
    ----------
    result : Result
    figure : bytes
        Its figure as SVG.
    papers : sequence of str
        The papers that have a page.
    footer : Html

    Returns
    -------
    str
    """
    declaration, findings = result.declaration, result.findings
    caption = findings.caption or declaration.question
    return page(
        declaration.question,
        header=join(
            tag("p", result.name, class_="name"),
            tag("h1", declaration.question, class_="question"),
            tag("p", _source(declaration.source, papers), class_="source"),
        ),
        nav=navigation((), up="../"),
        main=join(
            _stored(result),
            tag("p", findings.answer, class_="answer") if findings.answer else None,
            tag(
                "figure",
                tag("div", picture(figure, caption), class_="card"),
                tag("figcaption", caption),
            ),
            _claims(result),
            _checks(findings.checks),
            tag("details", tag("summary", "Methods"), _methods(result)),
        ),
        footer=footer,
    )


def missing_page(entry: NotRun, preset: str, footer: Html) -> str:
    """Return the page of a study without a result."""
    presets = getattr(entry.study, "PRESETS", {})
    runnable = preset if preset in presets else next(iter(presets), preset)
    return page(
        entry.question,
        header=join(
            tag("p", entry.name, class_="name"), tag("h1", entry.question, class_="question")
        ),
        nav=navigation((), up="../"),
        main=tag(
            "div",
            tag("p", tag("strong", FAILED if entry.failed else "Not run. "), entry.reason),
            tag("p", "To run it: ", tag("code", _command(entry.name, runnable))),
            class_="notice",
        ),
        footer=footer,
    )


def _stored(result: Result) -> Html | None:
    """Return a notice on a stored result, with the command that reproduces it."""
    at = result.data.attrs
    if "stored" not in at:
        return None
    return tag(
        "p",
        f"Stored {result.preset} result of {at['stored']} (version {at['version']}, "
        f"{float(at['seconds']):,.0f} s)",
        ", before its source last changed" if at["outdated"] else None,
        ": ",
        tag("code", _command(result.name, result.preset)),
        class_="notice",
    )


def _source(source: str, papers: Sequence[str]) -> Html:
    """Link the paper's name to its page."""
    for paper in papers:
        if source.startswith(paper):
            link = tag("a", paper, href="../" + paper_file(paper))
            return join(link, source.removeprefix(paper))
    return join(source)


def _claims(result: Result) -> Html | None:
    if not result.claims:
        return None
    rows = [
        [
            _statement(claim),
            _verdict(claim),
            join(claimed(claim), tag("small", allowance(claim)) if claim.tolerance else None),
            ours(claim),
            claim.source.removeprefix(f"{result.declaration.paper}, ")
            if claim.source != OURS
            else "ours",
        ]
        for claim in result.claims
    ]
    interval = any(claim.interval for claim in result.claims)
    ledger = f"../ledger.html#{urlencode({'search': result.name})}"
    return join(
        table(
            ["Claim", "Verdict", "Claimed", "Measured", "Where"],
            rows,
            caption="95 % intervals" if interval else "Claims",
        ),
        tag("p", tag("a", "Notes", href=ledger), class_="source"),
    )


def _verdict(claim: Claim) -> Html:
    """Return a verdict; of an illustration also whether its number agrees with the claim."""
    mark = verdict_mark(claim.verdict)
    if claim.verdict is not Verdict.ILLUSTRATION:
        return mark
    low, high = claim.agreeing
    return join(mark, tag("small", f"{'' if low <= claim.value <= high else 'not '}as claimed"))


def _statement(claim: Claim) -> Html:
    """Return the statement of a claim, with its note if it does not hold, and its remark."""
    lines = [claim.note if claim.verdict is Verdict.FAILS else "", claim.remark]
    return join(claim.statement, [tag("small", line) for line in lines if line])


def _checks(checks: Sequence[Check]) -> Html | None:
    """Return the number of numerical checks of a study, with those that failed."""
    if not checks:
        return None
    total = count(sum(check.count for check in checks), "numerical check", "numerical checks")
    failed = [check for check in checks if not check.passed]
    if not failed:
        return tag("p", f"{total}, all passed.")
    words = [
        f"{check.says} differ by {number(check.largest)}, above {number(check.at_most)}"
        for check in failed
    ]
    return tag("p", tag("strong", f"Failed of {total}: "), "; ".join(words), class_="notice")


def _methods(result: Result) -> Html:
    at = result.data.attrs
    facts = {
        "Preset": result.preset,
        "Cells": f"{result.computed + result.read} in {result.seconds:.2f} s",
        "Seeds": at["seeds"],
        "Configuration": at["configuration"],
        "Source": at["source"],
    }
    presets = [preset for preset in result.study.PRESETS if preset != result.preset]
    commands = [tag("div", tag("code", line)) for line in _commands(result.name, presets)]
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", fact)) for name, fact in facts.items()],
        tag("div", tag("dt", "Others"), tag("dd", commands), class_="wide") if commands else None,
    )


def _commands(name: str, presets: Sequence[str]) -> list[str]:
    """Return the command of the first preset, and only the end of those of the others."""
    start = f"partwhole run {name} --preset "
    whole = [_command(name, preset) for preset in presets]
    return whole[:1] + ["… " + line.removeprefix(start) for line in whole[1:]]


def _command(name: str, preset: str) -> str:
    """Return the command that runs a preset; `mnist` needs the folder of its data."""
    return f"partwhole run {name} --preset {preset}" + " --data FOLDER" * (preset == "mnist")
