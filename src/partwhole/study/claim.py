"""A claim, what was found, and the verdict."""

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
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "inconclusive"
    ILLUSTRATION = "illustration"
    OUTSIDE = "outside its assumptions"


@door(missing=("reference", "found", "interval"))
@dataclass(frozen=True)
class Claim:
    """A statement with a number in it, beside the number that was found by another route.

    The numbers that agree with the claim are, for a reference r and a tolerance t, those within
    [r - t, r + t] when the relation is "equal", from r - t upward when it is "at least", and up to
    r + t when it is "at most". Without an interval the claim holds when `found` is among them.
    With one it holds when the whole interval is, does not hold when none of the interval is, and
    is inconclusive otherwise. A NaN is inconclusive. A number estimated from fewer than
    five samples, or without an interval, is an illustration: it is shown and decides nothing.

    Parameters
    ----------
    statement : str
        What is claimed, in a sentence.
    paper : str
        The paper that makes the claim, or "derived here".
    reference : float
        The number claimed; NaN where it is not known.
    found : float
        The number found; computed by another route than the reference.
    tolerance : float, default 0
        How far from the reference still agrees with it, in the unit of both; at least 0.
    interval : tuple of two floats, default None
        95 % interval of the number found, for statistical claims, low end first.
    applies : bool, default True
        False where the claim's own assumptions are not met.
    relation : {"equal", "at least", "at most"}, default "equal"
        What the claim says of the number.
    note : str, default ""
        What a reader must know beside the numbers.
    item : str, default ""
        Figure, equation, theorem or section of the paper.
    why : str, default ""
        Why this tolerance.
    unit : str, default ""
        Unit of the numbers, such as "times".
    n : int, default None
        Number of samples behind an estimate; None for a number that is computed, not sampled.
    artefact : bool, default False
        True where the published number rests on a known fault of how it was computed.
    headline : str, default ""
        The finding in one sentence, where it is one of those that a report begins with.

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
    found: Real
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
            "a claim's reference is a finite number, or NaN where it is not known",
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
        """The lowest and the highest number that agree with the claim."""
        low = -math.inf if self.relation == "at most" else self.reference - self.tolerance
        high = math.inf if self.relation == "at least" else self.reference + self.tolerance
        return float(low), float(high)

    @property
    def source(self) -> str:
        """The paper and its item in a phrase."""
        return f"{self.paper}, {self.item}" if self.item else self.paper

    @property
    def remark(self) -> str:
        """What the interval says about a published number, beside the verdict."""
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
        left, right = self.interval or (self.found, self.found)
        if any(math.isnan(number) for number in (self.reference, self.found, left, right)):
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
        Ends of the interval; NaN where the samples are too few for one.
    n : int
        Number of independent samples.
    """

    value: float
    low: float
    high: float
    n: int

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if math.isnan(self.low) else (self.low, self.high)


def tally(claims: Iterable[Claim]) -> str:
    """Count claims and what became of them, in a phrase.

    Examples
    --------
    >>> from partwhole.study import Claim, tally
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
