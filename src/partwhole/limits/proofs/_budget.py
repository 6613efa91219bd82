"""How much a search may still do: counted work, and a clock as its outer bound."""

from __future__ import annotations

from time import monotonic

from partwhole._types import Real

# Numbers read and multiplied one after another, a second: what half an idle processor of 2020
# does, so that the clock seldom decides.
RATE = 3e8
# Dense linear algebra multiplies so many in the time of one of those.
DENSE = 40.0


class Budget:
    """Work that may still be done.

    What a time limit allows is counted, at a fixed rate, so that a verdict does not depend on how
    busy a machine is; the clock ends only what is slower than that.

    Parameters
    ----------
    work : float
        Numbers that may be read and multiplied.
    deadline : float, default infinity
        By `time.monotonic`.
    whole : Budget, optional
        What this is a part of; it is charged too.

    Examples
    --------
    >>> budget = Budget(10.0)
    >>> part = budget.part(0.5)
    >>> part.spend(5.0)
    >>> part.over, budget.over, budget.work
    (True, False, 5.0)
    """

    def __init__(self, work: Real, deadline: Real = float("inf"), whole: Budget | None = None):
        self.work, self.deadline, self.whole = float(work), float(deadline), whole

    @classmethod
    def of(cls, seconds: Real, deadline: Real = float("inf")) -> Budget:
        """Return what so many seconds from now allow, ended by an earlier deadline."""
        return cls(RATE * float(seconds), min(monotonic() + float(seconds), float(deadline)))

    @property
    def over(self) -> bool:
        """Return whether nothing more may be done."""
        return self.work <= 0 or monotonic() > self.deadline

    @property
    def seconds(self) -> float:
        """Return the seconds left on the clock, at least 0."""
        return max(0.0, self.deadline - monotonic())

    def spend(self, work: Real) -> None:
        """Charge work that is done or about to be."""
        self.work -= float(work)
        if self.whole is not None:
            self.whole.spend(work)

    def part(self, share: Real) -> Budget:
        """Return a budget of this share of the work that is left."""
        return Budget(float(share) * max(0.0, self.work), self.deadline, self)
