"""The ledger: every claim and check of a report, to search, filter, sort and download."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from partwhole.page import Html, data, join, page, tag
from partwhole.study.claim import Claim, Verdict
from partwhole.study.declaration import Check
from partwhole.study.execution import Result
from partwhole.study.pages.parts import (
    SIGNS,
    allowance,
    beside,
    claimed,
    count,
    interval,
    navigation,
    number,
    study_file,
)

CSV = "ledger.csv"
COLUMNS: tuple[str, ...] = (
    "claim", "verdict", "kind", "paper", "item", "relation", "reference", "unit", "tolerance",
    "why", "value", "low", "high", "n", "note", "study", "preset", "version", "configuration",
)  # fmt: skip
HEADINGS = ("Claim", "Verdict", "Claimed", "Measured", "Paper", "Study")


def ledger_page(results: Sequence[Result], papers: Sequence[str], footer: Html) -> str:
    """Return the page of all claims and numerical checks.

    A script of the page draws its rows, a hundred at a time, so that a long ledger opens quickly.
    """
    entries = [entry for result in results for entry in _entries(result)]
    claims = sum(len(result.claims) for result in results)
    checks = len(entries) - claims
    verdicts = [verdict.value for verdict in SIGNS]
    return page(
        "Ledger",
        header=join(
            tag("h1", "Ledger", class_="question"),
            tag(
                "p",
                f"{count(claims, 'claim', 'claims')} and "
                f"{count(checks, 'kind of check', 'kinds of checks')} in "
                f"{count(len(results), 'study', 'studies')}, also as ",
                tag("a", "a table for spreadsheets", href=CSV, download=CSV),
                ".",
                class_="source",
            ),
        ),
        nav=navigation(papers),
        main=join(
            tag(
                "form",
                _field("Search", tag("input", type="search", id="search", autocomplete="off")),
                _choice("Paper", "paper", sorted({entry["paper"] for entry in entries} - {""})),
                _choice("Verdict", "verdict", verdicts),
                _choice("Kind", "kind", ["published", "ours", "check"]),
                role="search",
            ),
            tag("p", "", id="shown", role="status", class_="source"),
            tag(
                "div",
                tag(
                    "table",
                    tag("caption", "Claims with their verdicts; a heading sorts by its column"),
                    tag("thead", tag("tr", [_heading(i) for i in range(len(HEADINGS))])),
                    tag("tbody", id="rows"),
                ),
                class_="scroll",
                role="region",
                aria_label="Claims",
                tabindex=0,
            ),
            tag("button", "Show more", id="more", type="button", hidden=True),
            tag(
                "noscript",
                tag(
                    "p", "Search and filters need scripts; ", tag("a", CSV, href=CSV), " does not."
                ),
            ),
            data(entries, id="claims"),
            data({verdict.value: list(sign) for verdict, sign in SIGNS.items()}, id="signs"),
        ),
        footer=footer,
        style=beside("ledger.css"),
        script=beside("ledger.js"),
    )


def ledger_csv(results: Sequence[Result]) -> str:
    """Return a CSV file with a line for each claim."""
    text = StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for result in results:
        at = result.data.attrs
        for claim in result.claims:
            low, high = claim.interval or ("", "")
            row = {name: getattr(claim, name, None) for name in COLUMNS}
            row |= {
                "claim": claim.statement, "verdict": claim.verdict.value, "low": low, "high": high,
                "kind": "published" if claim.item else "ours", "study": result.name,
                "n": "" if claim.n is None else claim.n, "preset": result.preset,
                "version": at["version"], "configuration": at["configuration"],
            }  # fmt: skip
            writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Return a cell that a spreadsheet does not read as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def _entries(result: Result) -> list[dict[str, Any]]:
    """Return the rows of a study: its claims, then its numerical checks."""
    common = {
        "study": result.name,
        "preset": result.preset,
        "link": study_file(result.name),
    }
    claims = [_claim(claim) for claim in result.claims]
    return [row | common for row in (*claims, *map(_check, result.findings.checks))]


def _check(check: Check) -> dict[str, Any]:
    return {
        "claim": f"{check.says[:1].upper()}{check.says[1:]}.",
        "notes": [],
        "verdict": (Verdict.HOLDS if check.passed else Verdict.FAILS).value,
        "claimed": f"at most {number(check.at_most)}",
        "allowed": "",
        "measured": number(check.largest),
        "spread": [f"{check.count:,} checked"],
        "paper": "",
        "item": "",
        "kind": "check",
    }


def _claim(claim: Claim) -> dict[str, Any]:
    spread = interval(*claim.interval) if claim.interval else ""
    return {
        "claim": claim.statement,
        "notes": [line for line in (claim.note, claim.remark) if line],
        "verdict": claim.verdict.value,
        "claimed": claimed(claim),
        "allowed": ": ".join(text for text in (allowance(claim), claim.why) if text),
        "measured": f"{number(claim.value, claim.tolerance)} {claim.unit}".rstrip(),
        "spread": [spread] * bool(spread) + [f"n = {claim.n}"] * (claim.n is not None),
        "paper": claim.paper,
        "item": claim.item,
        "kind": "published" if claim.item else "ours",
    }


def _field(label: str, control: Html) -> Html:
    return tag("label", label, control)


def _choice(label: str, name: str, values: Sequence[str]) -> Html:
    options = [tag("option", "all", value=""), *(tag("option", value) for value in values)]
    return _field(label, tag("select", options, id=name))


def _heading(column: int) -> Html:
    name = HEADINGS[column]
    return tag("th", tag("button", name, type="button", data_column=name.lower()), scope="col")
