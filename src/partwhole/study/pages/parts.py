"""Common parts of the pages of a report: numbers, verdicts, names and links."""

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
    Verdict.OPEN: "The interval is only partly within the tolerance, or there is no number.",
    Verdict.ILLUSTRATION: "Fewer than five samples: the number is shown and decides nothing.",
    Verdict.OUTSIDE: "The assumptions of the claim are not met here, so nothing is decided.",
}


@dataclass(frozen=True)
class NotRun:
    """A study without a result in the report, with the reason."""

    name: str
    study: ModuleType | None
    reason: str
    failed: bool = False

    @property
    def question(self) -> str:
        """The study's question, or its name if the question can't be read."""
        with suppress(InputError):
            if self.study is not None:
                return declared(self.study).question
        return self.name


Entry = Result | NotRun


def question(entry: Entry) -> str:
    return entry.question if isinstance(entry, NotRun) else entry.declaration.question


def study_file(name: str) -> str:
    """Return the path of a study's page, relative to the index."""
    return f"studies/{re.sub(r'[^a-zA-Z0-9_]+', '-', name)}.html"


def paper_file(paper: str) -> str:
    """Return the path of a paper's page, relative to the index.

    Examples
    --------
    >>> paper_file("Lippl & Stachenfeld (ICLR 2025)")
    'papers/lippl-stachenfeld-iclr-2025.html'
    """
    return f"papers/{re.sub(r'[^a-z0-9]+', '-', paper.lower()).strip('-')}.html"


def study_link(entry: Entry, text: str | None = None, *, up: str = "") -> Html:
    return tag("a", text or question(entry), href=up + study_file(entry.name))


def navigation(papers: Sequence[str], *, up: str = "") -> Html:
    """Return links to the index, the papers and the ledger."""
    links = [("Findings", "index.html"), *((paper, paper_file(paper)) for paper in papers)]
    links.append(("Ledger", "ledger.html"))
    return tag("ul", [tag("li", tag("a", text, href=up + file)) for text, file in links])


def verdict_mark(verdict: Verdict) -> Html:
    """Return a verdict as a sign and a word, so that colour is not needed to read it."""
    kind, sign = SIGNS[verdict]
    return mark(kind, sign, verdict.value)


def mark(kind: str, sign: str, word: str) -> Html:
    return tag("span", tag("span", sign, aria_hidden="true"), f" {word}", class_=f"verdict {kind}")


def number(value: float | int, tolerance: float | int = 0.0) -> str:
    """Return a number as text: a minus sign, four digits or more if its tolerance needs them.

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
        # One digit finer than the tolerance, six at most.
        digits = min(max(4, math.ceil(math.log10(abs(value) / tolerance)) + 1), 6)
    whole = float(value).is_integer() and abs(value) < 1e6
    text = f"{value:.0f}" if whole else f"{value:.{digits}g}"
    return text.replace("-", "−")


def interval(low: float | int, high: float | int) -> str:
    """Return an interval as text, with decimals that resolve its width to two digits.

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
    """Return the claimed number as text, with its relation and unit.

    Examples
    --------
    >>> claimed(Claim("It helps.", "here", 1.1, 2, relation="at least", unit="times"))
    'at least 1.1 times'
    """
    words = "" if claim.relation == "equal" else f"{claim.relation} "
    return f"{words}{number(claim.reference, claim.tolerance)} {claim.unit}".rstrip()


def ours(claim: Claim) -> Html:
    """Return the computed number of a claim with its unit, interval and number of samples."""
    lines = []
    if claim.interval:
        lines.append(interval(*claim.interval))
    if claim.n is not None:
        lines.append(f"n = {claim.n}")
    value = f"{number(claim.value, claim.tolerance)} {claim.unit}".rstrip()
    return join(value, [tag("small", line) for line in lines])


def allowance(claim: Claim) -> str:
    """Return the tolerance of a claim as text; "" if it has none."""
    return f"± {number(claim.tolerance)}" if claim.tolerance else ""


def count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def beside(name: str) -> str:
    """Return the text of a style sheet or script of these pages."""
    return Path(__file__).with_name(name).read_text("utf-8")


def closing(preset: str, seconds: float) -> Html:
    """Return the footer of the first page: version, date, preset and duration."""
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
    """Return the footer of the other pages: version and date."""
    return tag("p", f"partwhole {__version__}, {datetime.now(UTC):%Y-%m-%d}")
