"""Claims: a claimed number beside a computed one, and the verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index, NonNegative, Real

LEAST_SAMPLES = 5
Relation = Literal["equal", "at least", "at most"]


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "inconclusive"
    ILLUSTRATION = "illustration"
    OUTSIDE = "outside its assumptions"


@door(missing=("reference", "value", "interval"))
@dataclass(frozen=True)
class Claim:
    """A statement about a number, beside the number computed here by another route.

    For a reference r and a tolerance t, the numbers that agree with the claim are those in
    [r - t, r + t] if the relation is "equal", those from r - t upward if it is "at least", and
    those up to r + t if it is "at most". Without an interval the claim holds if `value` agrees.
    With an interval it holds if the whole interval agrees, does not hold if no part of the interval
    agrees, and is inconclusive otherwise. A NaN is inconclusive. A number estimated from fewer than
    five samples, or without an interval, is an illustration: it is shown and decides nothing.

    Parameters
    ----------
    statement : str
        The claim in a sentence.
    paper : str
        The paper that makes the claim, or "derived here".
    reference : float
        The claimed number; NaN if it is not known.
    value : float
        The number computed here, by another route than the reference.
    tolerance : float, default 0
        Largest difference from the reference that agrees with it, in the unit of both; at least 0.
    interval : tuple of two floats, default None
        95 % interval of the value, for statistical claims, low end first.
    applies : bool, default True
        False if the claim's own assumptions are not met.
    relation : {"equal", "at least", "at most"}, default "equal"
        The relation that is claimed between the value and the reference.
    note : str, default ""
        A remark that a reader needs beside the numbers.
    item : str, default ""
        Figure, equation, theorem or section of the paper.
    why : str, default ""
        The reason for this tolerance.
    unit : str, default ""
        Unit of the numbers, such as "times".
    n : int, default None
        Number of samples behind an estimate; None for a number that is computed, not sampled.
    artefact : bool, default False
        True if the published number is due to a known fault in its computation.
    headline : str, default ""
        The finding in one sentence, if a report is to begin with it.

    Raises
    ------
    InputError
        If the tolerance is negative, the reference infinite, or the interval reversed.

    Examples
    --------
    >>> Claim("The slope is 2/3.", "derived here", 2 / 3, 0.6667, 1e-3).verdict.value
    'holds'
    >>> Claim("It helps.", "figure 1", 0, 0.1, relation="at least").verdict.value
    'holds'
    """

    statement: str
    paper: str
    reference: Real
    value: Real
    tolerance: NonNegative = 0
    interval: tuple[Real, Real] | None = None
    applies: bool = True
    relation: Relation = "equal"
    note: str = ""
    item: str = ""
    why: str = ""
    unit: str = ""
    n: Index | None = None
    artefact: bool = False
    headline: str = ""

    def __post_init__(self) -> None:
        require(
            not math.isinf(self.reference),
            "a claim's reference is a finite number, or NaN if it is not known",
            self.reference,
            "state the number that the source claims",
        )
        require(
            self.interval is None or not self.interval[0] > self.interval[1],
            "an interval names its low end first",
            self.interval,
            "swap its ends",
        )

    @property
    def agreeing(self) -> tuple[float, float]:
        """The smallest and the largest number that agree with the claim."""
        low = -math.inf if self.relation == "at most" else self.reference - self.tolerance
        high = math.inf if self.relation == "at least" else self.reference + self.tolerance
        return float(low), float(high)

    @property
    def source(self) -> str:
        """The paper and its item in a phrase."""
        return f"{self.paper}, {self.item}" if self.item else self.paper

    @property
    def remark(self) -> str:
        """A remark if the interval excludes the published number, "" otherwise."""
        if self.interval is None or not self.item or self.relation != "equal":
            return ""
        low, high = self.interval
        if low <= self.reference <= high or math.isnan(low) or math.isnan(high):
            return ""
        return "The published number lies outside our 95 % interval."

    @property
    def verdict(self) -> Verdict:
        if not self.applies:
            return Verdict.OUTSIDE
        if self.n is not None and (self.n < LEAST_SAMPLES or self.interval is None):
            return Verdict.ILLUSTRATION
        left, right = self.interval or (self.value, self.value)
        if any(math.isnan(number) for number in (self.reference, self.value, left, right)):
            return Verdict.OPEN
        low, high = self.agreeing
        if low <= left and right <= high:
            return Verdict.HOLDS
        if right < low or high < left:
            return Verdict.FAILS
        return Verdict.OPEN


@dataclass(frozen=True)
class Estimate:
    """A number estimated from samples, with its 95 % interval.

    Parameters
    ----------
    value : float
        The estimate; NaN without samples.
    low, high : float
        Ends of the interval; NaN if the samples are too few.
    n : int
        Number of independent samples.

    Examples
    --------
    >>> Estimate(0.97, 0.914, 1.0, 5).interval
    (0.914, 1.0)
    >>> Estimate(0.97, math.nan, math.nan, 1).interval is None
    True
    """

    value: float
    low: float
    high: float
    n: int

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if math.isnan(self.low) else (self.low, self.high)


def tally(claims: Iterable[Claim]) -> str:
    """Count claims and their verdicts, in a phrase.

    Examples
    --------
    >>> from partwhole.study.claim import Claim, tally
    >>> tally([Claim("It is one.", "counting", 1, 1, 0), Claim("It is two.", "counting", 2, 1, 0)])
    '2 claims: 1 holds, 1 does not'
    """
    counts = Counter(claim.verdict for claim in claims)
    total = counts.total()
    words = {
        Verdict.HOLDS: ("holds", "hold"),
        Verdict.FAILS: ("does not", "do not")
        if counts[Verdict.HOLDS]
        else ("does not hold", "do not hold"),
        Verdict.OPEN: ("inconclusive", "inconclusive"),
        Verdict.ILLUSTRATION: ("illustration", "illustrations"),
        Verdict.OUTSIDE: ("outside its assumptions", "outside their assumptions"),
    }
    head = f"{total} claim{'s' * (total != 1)}"
    if counts[Verdict.HOLDS] == total:
        return f"{head}: {'all hold' if total > 1 else 'it holds'}" if total else head
    parts = [f"{counts[v]} {words[v][counts[v] > 1]}" for v in Verdict if counts[v]]
    return f"{head}: {', '.join(parts)}"
