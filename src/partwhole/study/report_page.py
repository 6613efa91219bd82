"""The page of a report: every study, its figure, and its claims with their verdicts."""

from __future__ import annotations

import inspect
import math
import platform
import re
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from types import ModuleType

from partwhole import __version__, store
from partwhole._checks import InputError
from partwhole.page import Html, join, page, picture, prose, table, tag
from partwhole.study.claim import Claim, Verdict, tally
from partwhole.study.declaration import Check, declared
from partwhole.study.execution import Result
from partwhole.study.figure import render
from partwhole.study.words import glossary

FAILED = "Failed. "

_SIGNS = {
    Verdict.HOLDS: ("holds", "✓"),
    Verdict.FAILS: ("fails", "✗"),
    Verdict.OPEN: ("open", "?"),
    Verdict.ILLUSTRATION: ("illustration", "◇"),
    Verdict.OUTSIDE: ("outside", "○"),
}
_MEANING = {
    Verdict.HOLDS: "The number found, or its whole 95 % interval, is within the tolerance.",
    Verdict.FAILS: "The number found, or its whole 95 % interval, is outside the tolerance.",
    Verdict.OPEN: "The interval crosses the edge of the tolerance, or no number was found.",
    Verdict.ILLUSTRATION: "Fewer than five samples: the number is shown and decides nothing.",
    Verdict.OUTSIDE: "What the claim assumes is not the case here, so nothing was decided.",
}


@dataclass(frozen=True)
class NotRun:
    """A study that the page names without a result, and why."""

    name: str
    study: ModuleType | None
    why: str
    failed: bool = False

    @property
    def question(self) -> str:
        """Return the study's question, or its name where it has none that can be read."""
        with suppress(InputError):
            if self.study is not None:
                return declared(self.study).question
        return self.name


def compose(entries: Sequence[Result | NotRun], *, preset: str, seconds: float) -> str:
    """Write the page of studies that were run and of those that were not."""
    results = [entry for entry in entries if isinstance(entry, Result)]
    return page(
        "partwhole: what a learner does with unseen combinations",
        header=_opening(),
        nav=_contents(entries),
        main=join(
            _left_out([entry for entry in entries if isinstance(entry, NotRun)], len(entries)),
            _ledger(results),
            [
                _section(each) if isinstance(each, Result) else _missing(each, preset)
                for each in entries
            ],
            _verdicts(results, entries),
        ),
        footer=_closing(preset, seconds),
    )


def _left_out(missing: Sequence[NotRun], studies: int) -> Html | None:
    """Name at the top what the page lacks, and why."""
    if not missing:
        return None
    return tag(
        "section",
        tag("h2", f"{len(missing)} of {studies} studies have no result here", id="missing-title"),
        tag("ul", [tag("li", _link(entry), f" ({entry.name}): {entry.why}") for entry in missing]),
        class_="notice",
        id="missing",
        aria_labelledby="missing-title",
    )


def verdict_mark(verdict: Verdict) -> Html:
    """Show a verdict by its sign, its word and, last of all, its colour."""
    kind, sign = _SIGNS[verdict]
    return tag(
        "span", tag("span", sign, aria_hidden="true"), f" {verdict.value}", class_=f"verdict {kind}"
    )


def number(value: float | int, tolerance: float | int = 0.0) -> str:
    """Write a number with a true minus sign, to four digits or as many as its tolerance needs.

    Examples
    --------
    >>> number(-0.66666), number(1e-9), number(1728), number(float("nan"))
    ('−0.6667', '1e−09', '1728', 'not a number')
    >>> number(144.0382, 0.05)
    '144.04'
    """
    if math.isnan(value):
        return "not a number"
    digits = 4
    if tolerance > 0 and math.isfinite(value) and abs(value) > tolerance:
        # One digit finer than the tolerance; eight are as many as anyone reads.
        digits = min(max(4, math.ceil(math.log10(abs(value) / tolerance)) + 1), 8)
    whole = float(value).is_integer() and abs(value) < 1e6
    text = f"{value:.0f}" if whole else f"{value:.{digits}g}"
    return text.replace("-", "−")


def wording(claim: Claim) -> str:
    """Return what a claim says of its number, as it is read.

    Examples
    --------
    >>> wording(Claim("It helps.", "here", 1.1, 2, relation="at least", unit="times"))
    'at least 1.1 times'
    """
    words = "" if claim.relation == "equal" else f"{claim.relation} "
    return f"{words}{number(claim.reference, claim.tolerance)} {claim.unit}".rstrip()


def _opening() -> Html:
    return join(
        _emblem(),
        tag("p", "partwhole", class_="name"),
        tag("h1", "What will a learner do with a combination it has never seen?"),
        tag(
            "p",
            "A learner has met parts, and some of their combinations: a few sums of two numbers, "
            "some shapes in some colours. What it meets later is made of the same parts, put "
            "together in new ways. Will it carry over what it learned, and if not, how will it go "
            "wrong?",
            class_="lead",
        ),
        tag(
            "p",
            "For many learners the answer can be computed without training any of them. This page "
            "puts such theory to work: each section asks one question, draws the answer, and lists "
            "what has been claimed beside what was found by another route.",
        ),
        tag("details", tag("summary", "A few words that recur, in plain English"), glossary()),
    )


def _contents(entries: Sequence[Result | NotRun]) -> Html:
    """List the questions, folded under the body of work each belongs to."""
    groups = []
    for theme, group in groupby(entries, _theme):
        questions = tag("ol", [tag("li", _link(entry)) for entry in group])
        groups.append(tag("details", tag("summary", theme), questions) if theme else questions)
    return join(groups, tag("p", tag("a", "All verdicts, study by study", href="#verdicts")))


def _theme(entry: Result | NotRun) -> str:
    """Return what the folder of a study says it is about."""
    folder = getattr(entry.study, "__name__", "").rpartition(".")[0]
    package = sys.modules.get(folder)
    return (getattr(package, "__doc__", "") or "").partition("\n")[0].rstrip(".")


def _emblem() -> Html:
    """Draw the question: a grid whose first row and column are seen, and the rest is not."""
    cells = []
    for row in range(4):
        for column in range(4):
            seen = row == 0 or column == 0
            look = {"fill": "currentColor"} if seen else {"fill": "none", "stroke": "currentColor"}
            place = {"x": 2 + 24 * column, "y": 2 + 24 * row, "width": 19, "height": 19, "rx": 3}
            cells.append(tag("rect", **place, **look, stroke_width=None if seen else 1.6))
    return tag("svg", cells, viewBox="0 0 97 97", aria_hidden="true", focusable="false")


def _ledger(results: list[Result]) -> Html:
    """Show how many claims met which verdict; each card leads down to what it counts."""
    claims = [claim for result in results for claim in result.claims]
    counts = Counter(claim.verdict for claim in claims)
    tiles = []
    for each in Verdict:
        down = "exceptions" if each is not Verdict.HOLDS and counts[each] else "verdicts"
        tiles.append(
            tag(
                "li",
                tag("strong", counts[each]),
                tag("a", verdict_mark(each), href=f"#{down}"),
                tag("small", _MEANING[each]),
            )
        )
    return tag(
        "section",
        tag("h2", "What was claimed, and what was found", id="ledger-title"),
        tag(
            "p",
            f"{_count(len(results), 'study', 'studies')} weighed "
            f"{_count(len(claims), 'claim', 'claims')}. A claim names a number; the number found "
            "comes from another computation. A claim that does not hold is a finding, not a fault "
            "of the run: the note beneath it says what was the case instead.",
        )
        if results
        else tag("p", "No study has been run for this page yet."),
        tag("ul", tiles, class_="tiles"),
        id="ledger",
        aria_labelledby="ledger-title",
    )


def _verdicts(results: list[Result], entries: Sequence[Result | NotRun]) -> Html:
    """Close the page: verdicts by study, and every claim that does not simply hold."""
    rows = []
    for entry in entries:
        if isinstance(entry, NotRun):
            word = "failed" if entry.failed else "not run"
            rows.append([_link(entry), *["–"] * len(Verdict), word])
            continue
        of = Counter(claim.verdict for claim in entry.claims)
        seconds = f"{entry.seconds:.1f} s"
        rows.append([_link(entry), *[of[verdict] or "·" for verdict in Verdict], seconds])
    claims = [(claim, result) for result in results for claim in result.claims]
    counts = Counter(claim.verdict for claim, _ in claims)
    total = ["Together", *[counts[each] for each in Verdict]]
    total.append(f"{sum(result.seconds for result in results):.1f} s")
    exceptions = [
        [_told(claim), verdict_mark(claim.verdict), _link(result)]
        for claim, result in claims
        if claim.verdict is not Verdict.HOLDS
    ]
    return tag(
        "section",
        tag("h2", "All verdicts, study by study", id="verdicts-title"),
        table(
            ["Question", *[each.value.capitalize() for each in Verdict], "Time"],
            rows,
            caption="Verdicts by study",
            numbers=range(1, 6),
            foot=total,
        )
        if entries
        else tag("p", "There are none yet."),
        join(
            tag("h3", "The claims that do not simply hold", id="exceptions"),
            table(
                ["Claim", "Verdict", "Asked"], exceptions, caption="All claims but those that hold"
            ),
        )
        if exceptions
        else None,
        id="verdicts",
        aria_labelledby="verdicts-title",
    )


def _link(entry: Result | NotRun) -> Html:
    question = entry.question if isinstance(entry, NotRun) else entry.declaration.question
    return tag("a", question, href=f"#{_anchor(entry.name)}")


def _told(claim: Claim) -> Html:
    notes = [note for note in (claim.note, claim.remark) if note]
    return join(claim.statement, [tag("small", note) for note in notes])


def _section(result: Result) -> Html:
    study, anchor = result.declaration, _anchor(result.name)
    answer, caption = result.findings.answer, result.findings.caption or study.question
    return tag(
        "section",
        tag("p", result.name, class_="name"),
        tag("h2", study.question, id=f"{anchor}-title"),
        tag("p", study.source, class_="source"),
        tag("p", answer, class_="answer") if answer else None,
        tag(
            "figure",
            tag("div", picture(render(result), caption), class_="card"),
            tag("figcaption", caption),
        ),
        prose(_account(result.study)),
        tag(
            "details",
            tag("summary", tally(result.claims)),
            _claims_table(result),
            open=any(claim.verdict is not Verdict.HOLDS for claim in result.claims),
        )
        if result.claims
        else None,
        _checks(result.findings.checks),
        _provenance(result),
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )


def _checks(checks: Sequence[Check]) -> Html | None:
    """Say in a line how many numerical checks stand behind a study, and name those that failed."""
    if not checks:
        return None
    total = sum(check.count for check in checks)
    failed = [check for check in checks if not check.passed]
    line = f"{_count(total, 'numerical check', 'numerical checks')}: "
    if not failed:
        return tag("p", line, "; ".join(check.says for check in checks), ". All passed.")
    words = [
        f"{check.says}: {number(check.largest)}, above {number(check.at_most)}" for check in failed
    ]
    return tag("p", tag("strong", f"{line}failed "), "; ".join(words), class_="notice")


def _claims_table(result: Result) -> Html:
    rows = []
    for claim in result.claims:
        spread = None
        if claim.interval:
            low, high = claim.interval
            n = f" (n = {claim.n})" if claim.n else ""
            spread = tag("small", f"{number(low)} to {number(high)}{n}")
        rows.append(
            [
                _told(claim),
                verdict_mark(claim.verdict),
                wording(claim),
                join(number(claim.found, claim.tolerance), f" {claim.unit}".rstrip(), spread),
                join(
                    f"± {number(claim.tolerance)}" if claim.tolerance else "exact",
                    tag("small", claim.why) if claim.why else None,
                ),
                claim.source,
            ]
        )
    interval = any(claim.interval for claim in result.claims)
    return table(
        ["Claim", "Verdict", "Claimed", "Found", "Tolerance", "Source"],
        rows,
        caption=f"Claims of {result.name}" + (", with 95 % intervals" if interval else ""),
        numbers=(2, 3, 4),
    )


def _provenance(result: Result) -> Html:
    at = result.data.attrs
    facts = {
        "Time": f"{result.seconds:.2f} s",
        "Cells": f"{result.computed} computed, {result.read} read from the store",
        "Preset": result.preset,
        "Configuration": at["configuration"],
        "Version": f"{at['version']}, source {at['source']}",
        "Seeds": at["seeds"],
    }
    further = [each for each in result.study.PRESETS if each != result.preset]
    commands = [tag("div", tag("code", _command(result.name, each))) for each in further]
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items()],
        tag("div", tag("dt", "To go further"), tag("dd", commands), class_="wide")
        if commands
        else None,
    )


def _command(name: str, preset: str) -> str:
    """Return what to type for a preset; one of data that is not shipped names their folder."""
    return f"partwhole run {name} --preset {preset}" + " --data FOLDER" * (preset == "mnist")


def _missing(entry: NotRun, preset: str) -> Html:
    anchor = _anchor(entry.name)
    presets = getattr(entry.study, "PRESETS", {})
    shown = preset if preset in presets else next(iter(presets), preset)
    return tag(
        "section",
        tag("p", entry.name, class_="name"),
        tag("h2", entry.question, id=f"{anchor}-title"),
        tag(
            "div",
            tag("p", tag("strong", FAILED if entry.failed else "Not run. "), entry.why),
            tag("p", "To run it: ", tag("code", _command(entry.name, shown))),
            class_="notice",
        ),
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )


def _closing(preset: str, seconds: float) -> Html:
    commit = store.commit()
    made = datetime.now(UTC).strftime("%-d %B %Y, %H:%M UTC")
    return tag(
        "p",
        f"Made by partwhole {__version__}"
        + (f" (commit {commit[:12]})" if commit else "")
        + f" on {made}, with the {preset} preset, in {seconds:.{0 if seconds > 9 else 1}f} s, "
        f"under Python {platform.python_version()}. This page is one file and asks nothing of the "
        "network; ",
        tag("code", "partwhole cite"),
        " tells how to cite what it shows.",
    )


def _account(study: ModuleType) -> str:
    """Return a study's own words: its docstring up to the first example or heading."""
    paragraphs = []
    for paragraph in inspect.cleandoc(study.__doc__ or "").split("\n\n"):
        if ">>>" in paragraph or re.search(r"^-{3,}$", paragraph, flags=re.MULTILINE):
            break
        paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
