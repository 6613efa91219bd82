"""The work that a search may still do: counted operations, with a clock as the outer bound."""

from __future__ import annotations

from time import process_time

from partwhole._types import Real

# Operations a second (numbers read and multiplied one after another): half the speed of an idle
# processor of 2020, so that the clock is seldom the limit.
RATE = 3e8
# Number of operations of dense linear algebra that take the time of one of these.
DENSE = 40.0


class Budget:
    """Work that a search may still do.

    A time limit is converted to operations at a fixed rate, so that a verdict does not depend on
    the load of the machine; the clock stops only searches that are slower than this rate.

    Parameters
    ----------
    work : float
        Number of operations that may still be done.
    deadline : float, default infinity
        Latest time, by `time.process_time`.
    whole : Budget, optional
        The budget of which this is a part; it is charged too.

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
        """Return the budget of a number of seconds from now, or up to an earlier deadline."""
        return cls(RATE * float(seconds), min(process_time() + float(seconds), float(deadline)))

    @property
    def over(self) -> bool:
        """Return whether the budget is spent."""
        return self.work <= 0 or process_time() > self.deadline

    @property
    def seconds(self) -> float:
        """Return the seconds left on the clock, at least 0."""
        return max(0.0, self.deadline - process_time())

    def spend(self, work: Real) -> None:
        """Subtract work that was done, or is about to be done."""
        self.work -= float(work)
        if self.whole is not None:
            self.whole.spend(work)

    def part(self, share: Real) -> Budget:
        """Return a budget of this share of the remaining work."""
        return Budget(float(share) * max(0.0, self.work), self.deadline, self)
