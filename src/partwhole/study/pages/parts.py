"""What several pages of a report show: numbers, verdicts, names and links."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from partwhole import __version__, store
from partwhole._checks import InputError
from partwhole.page import Html, join, tag
from partwhole.study.claim import Claim, Verdict
from partwhole.study.declaration import declared
from partwhole.study.execution import Result

FAILED = "Failed. "
SIGNS = {
    Verdict.HOLDS: ("holds", "✓"),
    Verdict.FAILS: ("fails", "✗"),
    Verdict.OPEN: ("open", "?"),
    Verdict.ILLUSTRATION: ("illustration", "◇"),
    Verdict.OUTSIDE: ("outside", "○"),
}
MEANINGS = {
    Verdict.HOLDS: "The number, or its whole 95 % interval, agrees with the claim.",
    Verdict.FAILS: "The number, or its whole 95 % interval, does not agree with the claim.",
    Verdict.OPEN: "The interval crosses the edge of what agrees, or there is no number.",
    Verdict.ILLUSTRATION: "Fewer than five samples: the number is shown and decides nothing.",
    Verdict.OUTSIDE: "What the claim assumes is not the case here, so nothing was decided.",
}


@dataclass(frozen=True)
class NotRun:
    """A study that the report names without a result, and why."""

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


Entry = Result | NotRun


def question(entry: Entry) -> str:
    return entry.question if isinstance(entry, NotRun) else entry.declaration.question


def study_file(name: str) -> str:
    """Return where a study's page is, from the index."""
    return f"studies/{re.sub(r'[^a-zA-Z0-9_]+', '-', name)}.html"


def paper_file(paper: str) -> str:
    """Return where a paper's page is, from the index.

    Examples
    --------
    >>> paper_file("Lippl & Stachenfeld (ICLR 2025)")
    'papers/lippl-stachenfeld-iclr-2025.html'
    """
    return f"papers/{re.sub(r'[^a-z0-9]+', '-', paper.lower()).strip('-')}.html"


def study_link(entry: Entry, text: str | None = None, *, up: str = "") -> Html:
    return tag("a", text or question(entry), href=up + study_file(entry.name))


def navigation(papers: Sequence[str], *, up: str = "") -> Html:
    """Link the index, the papers and the ledger."""
    links = [("Findings", "index.html"), *((paper, paper_file(paper)) for paper in papers)]
    links.append(("All claims", "ledger.html"))
    return tag("ul", [tag("li", tag("a", text, href=up + file)) for text, file in links])


def verdict_mark(verdict: Verdict) -> Html:
    """Show a verdict by its sign, its word and, last of all, its colour."""
    kind, sign = SIGNS[verdict]
    return mark(kind, sign, verdict.value)


def mark(kind: str, sign: str, word: str) -> Html:
    return tag("span", tag("span", sign, aria_hidden="true"), f" {word}", class_=f"verdict {kind}")


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
        # One digit finer than the tolerance; six are as many as anyone reads.
        digits = min(max(4, math.ceil(math.log10(abs(value) / tolerance)) + 1), 6)
    whole = float(value).is_integer() and abs(value) < 1e6
    text = f"{value:.0f}" if whole else f"{value:.{digits}g}"
    return text.replace("-", "−")


def interval(low: float | int, high: float | int) -> str:
    """Write an interval with as many decimals as tell its ends apart to two digits.

    Examples
    --------
    >>> interval(0.74, 0.74711), interval(-3.2, 140), interval(0.5, 0.5)
    ('0.7400 to 0.7471', '−3 to 140', '0.5 to 0.5')
    """
    width = high - low
    if not 1e-9 < width < math.inf:
        return f"{number(low)} to {number(high)}"
    decimals = max(0, 1 - math.floor(math.log10(width)))
    return f"{low:.{decimals}f} to {high:.{decimals}f}".replace("-", "−")


def claimed(claim: Claim) -> str:
    """Return what a claim says of its number, as it is read.

    Examples
    --------
    >>> claimed(Claim("It helps.", "here", 1.1, 2, relation="at least", unit="times"))
    'at least 1.1 times'
    """
    words = "" if claim.relation == "equal" else f"{claim.relation} "
    return f"{words}{number(claim.reference, claim.tolerance)} {claim.unit}".rstrip()


def ours(claim: Claim) -> Html:
    """Return the number of a claim with its unit, its interval and its number of samples."""
    lines = []
    if claim.interval:
        lines.append(interval(*claim.interval))
    if claim.n is not None:
        lines.append(f"n = {claim.n}")
    shown = f"{number(claim.found, claim.tolerance)} {claim.unit}".rstrip()
    return join(shown, [tag("small", line) for line in lines])


def allowance(claim: Claim) -> str:
    """Return how far from the reference still agrees; "" where nothing else does."""
    return f"± {number(claim.tolerance)}" if claim.tolerance else ""


def count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def beside(name: str) -> str:
    """Return the text of a style sheet or script of these pages."""
    return Path(__file__).with_name(name).read_text("utf-8")


def closing(preset: str, seconds: float) -> Html:
    """Say on the first page what wrote the report, and when."""
    commit = store.commit()
    written = datetime.now(UTC).strftime("%-d %B %Y, %H:%M UTC")
    return tag(
        "p",
        f"partwhole {__version__}"
        + (f" (commit {commit[:12]})" if commit else "")
        + f", {written}, preset {preset}, {seconds:.{0 if seconds > 9 else 1}f} s; ",
        tag("code", "partwhole cite"),
        " prints how to cite it.",
    )


def stamp() -> Html:
    """Say on every other page by which version it was written, and when."""
    return tag("p", f"partwhole {__version__}, {datetime.now(UTC):%Y-%m-%d}")
