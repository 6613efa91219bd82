"""Search for a learning rate: its rule and result, for any network.

A run in which the rate grows depends on its past: a direction that grows at one rate has been
reduced to nearly nothing at the smaller ones. On a quadratic, with a hundred steps over seven
decades, a direction that diverges has regained its initial size only at six times the rate at which
it begins to diverge. So the rate that such a run suggests is tried from the start, and so are
larger rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole._checks import require, whole
from partwhole._types import Real

if TYPE_CHECKING:
    import pandas as pd

SLOWEST, FASTEST = 1e-30, 1e30  # rates that single precision holds
DIVERGED = 4.0  # in units of the least loss so far, or in a trial of the untrained network's
LEAST_FALL = 1e-4  # of the loss, below which rounding of single precision causes falls
MARGIN = 2.0  # between the rate that is tried and the one that is suggested
HALVINGS = 12

# From one rate for each step to the loss before each step and after the last.
Walk = Callable[[Float[np.ndarray, " S"]], Float[np.ndarray, " losses"]]


class RateOutcome(Enum):
    """Outcome of a search for a learning rate; the value names the remedy."""

    FOUND = "found a learning rate"
    AT_LOWEST = (
        "found the steepest fall at the lowest rate; lower `lowest`, since better ones may lie "
        "below"
    )
    NEVER_DIVERGED = (
        "found a learning rate, but the loss did not grow up to the highest; raise `highest` to "
        "see whether larger ones are better"
    )
    UNSTABLE = (
        "found no rate that stays within bounds from the start; lower `lowest`, scale the inputs "
        "down, or take smaller first weights"
    )
    NEVER_FELL = (
        "found no rate that makes the loss fall; lower `lowest` if it grew at once, raise "
        "`highest` if it stayed as it was, or see whether the network has learned already"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class LearningRateSearch:
    r"""Learning rates that a range test suggests, one for each network.

    With losses :math:`\ell_t` before the first step (t = 0) and after step t of rate
    :math:`r_t`, and those :math:`\ell^0_t` of the untrained network on the same batches with the
    same noise,

    .. math::

        L_t = \frac{\sum_{u \le t} \beta^{t-u} \ell_u}{\sum_{u \le t} \beta^{t-u} \ell^0_u},
        \qquad M_t = \min_{u \le t} L_u,
        \qquad
        r^* = \arg\max_{r_t,\ t < T} \frac{M_{t-1} - M_t}{\log r_t - \log r_{t-1}} ,

    where T is the first t with :math:`L_t > 4 M_t`. A rate is sound if at twice that rate L, in as
    many steps from the start, is never above 4 and ends below 1. Let
    :math:`r = \min(r^*, \text{at most})`. If r is not sound, the suggestion is the first sound one
    of :math:`r/2, r/4, \dots`. If it is, the suggestion is the one of :math:`r, 2r, 4r, \dots` at
    which L, in as many steps from the start, ends lowest; the rates double while they are sound,
    the last one limited to the highest rate or `at_most`.

    Parameters
    ----------
    rates : float array, shape (S,)
        From the lowest to the highest, equally far apart in logarithm.
    raw_losses : float array, shape (runs, S)
        After the step at each rate, on the batch that comes next.
    untrained_losses : float array, shape (runs, S)
        Of the untrained network on the same batches.
    losses : float array, shape (runs, S)
        L, smoothed: 1 before anything is learned.
    steepest : float array, shape (runs,)
        r*, before any trial; NaN where the loss never fell.
    suggestions : float array, shape (runs,)
        NaN where no rate made the loss fall and stayed within bounds.
    outcomes : tuple of RateOutcome
        Outcome of the search for each network.

    Notes
    -----
    The range test is that of Smith (WACV 2017). The division by the untrained network's losses
    and the trials from the start are added here. The division prevents hard batches from counting
    as rises. Trials run at twice the rate, because the test alone suggests rates at which training
    diverges if the largest curvature contributes little to the loss: gradient descent on a
    quadratic of largest curvature c diverges above 2 / c, and at twice that within few steps.
    Larger rates are tried because the steepest fall belongs to the largest part of the loss, such
    as an offset of the outputs, which is learned at much smaller rates than the rest. If the loss
    oscillates, as with "adam", its return is not a fall: hence M.
    """

    rates: Float[np.ndarray, " S"]
    raw_losses: Float[np.ndarray, "runs S"]
    untrained_losses: Float[np.ndarray, "runs S"]
    losses: Float[np.ndarray, "runs S"]
    steepest: Float[np.ndarray, " runs"]
    suggestions: Float[np.ndarray, " runs"]
    outcomes: tuple[RateOutcome, ...]

    @property
    def suggestion(self) -> float:
        """Return the rate for the only network there is.

        Raises
        ------
        InputError
            For a search over several networks, or where no rate made the loss fall.
        """
        require(
            len(self.suggestions) == 1,
            "one suggestion is that of a search for one network",
            f"{len(self.suggestions)} networks",
            "read suggestions, which has one for each",
        )
        require(
            bool(np.isfinite(self.suggestions[0])),
            "a suggestion is a rate that makes the loss fall",
            "none",
            "lower `lowest` or raise `highest`, as messages and losses tell",
        )
        return float(self.suggestions[0])

    @property
    def messages(self) -> tuple[str, ...]:
        """Return a sentence on each network: the outcome, and the remedy."""
        return tuple(
            f"run {run} {outcome.value} (suggestion {rate:.3g}, steepest fall at {top:.3g}, rates "
            f"from {self.rates[0]:.3g} to {self.rates[-1]:.3g})"
            for run, (outcome, rate, top) in enumerate(
                zip(self.outcomes, self.suggestions, self.steepest, strict=True)
            )
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each network and rate.

        Returns
        -------
        pandas.DataFrame
            With the columns run, learning_rate, raw_loss, untrained_loss, loss, suggestion (of
            the run) and outcome.
        """
        import pandas as pd

        runs, steps = self.losses.shape
        return pd.DataFrame(
            {
                "run": np.repeat(np.arange(runs), steps),
                "learning_rate": np.tile(self.rates, runs),
                "raw_loss": self.raw_losses.reshape(-1),
                "untrained_loss": self.untrained_losses.reshape(-1),
                "loss": self.losses.reshape(-1),
                "suggestion": np.repeat(self.suggestions, steps),
                "outcome": np.repeat([outcome.name.lower() for outcome in self.outcomes], steps),
            }
        )


class Found(NamedTuple):
    """Result of the search for one network."""

    raw: Float[np.ndarray, " S"]
    untrained: Float[np.ndarray, " S"]
    losses: Float[np.ndarray, " S"]
    steepest: float
    suggestion: float
    outcome: RateOutcome


def gathered(rates: Float[np.ndarray, " S"], results: list[Found]) -> LearningRateSearch:
    """Return the results for several networks as one."""
    return LearningRateSearch(
        rates=rates,
        raw_losses=np.stack([result.raw for result in results]),
        untrained_losses=np.stack([result.untrained for result in results]),
        losses=np.stack([result.losses for result in results]),
        steepest=np.array([result.steepest for result in results]),
        suggestions=np.array([result.suggestion for result in results]),
        outcomes=tuple(result.outcome for result in results),
    )


def grid(lowest: Real, highest: Real, steps: int, at_most: Real | None) -> Float[np.ndarray, " S"]:
    """Validate the range of a search; return its learning rates."""
    require(
        SLOWEST <= lowest < highest <= FASTEST,
        f"lowest and highest are learning rates from {SLOWEST:g} to {FASTEST:g}, "
        "the lower one first",
        f"{lowest!r} and {highest!r}",
        "pass 1e-6 and 1, say",
    )
    require(
        at_most is None or at_most >= SLOWEST,
        f"at_most is a learning rate of at least {SLOWEST:g}",
        repr(at_most),
        "leave it out for no bound",
    )
    whole("steps", steps, 10, "pass 100, say")
    return np.geomspace(lowest, highest, steps)


def search(
    walk: Walk, rates: Float[np.ndarray, " S"], at_most: Real | None, smoothing: Real
) -> Found:
    """Search for the rate of one network, by walks that all begin at its start.

    Parameters
    ----------
    walk : function
        Takes a rate for each step; gives the loss before each step and after the last.
    rates : float array, shape (S,)
    at_most : float or None
    smoothing : float
        Beta.
    """
    steps = len(rates)
    untrained, raw = walk(np.zeros(steps)), walk(rates)
    losses = _relative(raw, untrained, float(smoothing))
    place, diverged = _steepest(losses)
    top, suggestion = float("nan"), float("nan")
    outcome = RateOutcome.NEVER_FELL

    @cache
    def end(rate: float) -> float:
        """Return the last loss of a trial; infinity if it learns nothing or diverges."""
        trial = _relative(walk(np.full(steps, rate)), untrained, float(smoothing))
        return float(trial[-1]) if _learns(trial) else float("inf")

    if place is not None:
        top = float(rates[place])
        largest = float(rates[-1]) if at_most is None else min(float(rates[-1]), float(at_most))
        first = min(top, largest)
        suggestion = _tried(end, first, largest)
        outcome = RateOutcome.UNSTABLE
        if np.isfinite(suggestion):
            # A rate that was halved diverged at twice its size, whatever the range.
            bounded = suggestion < first or suggestion == at_most
            outcome = _outcome(place, diverged, bounded, suggestion > first)
    return Found(raw[1:], untrained[1:], losses[1:], top, suggestion, outcome)


def _tried(end: Callable[[float], float], first: float, largest: float) -> float:
    """Return the rate to suggest, by trials that begin at a first one; NaN if none is sound."""

    def is_sound(rate: float) -> bool:
        return end(MARGIN * rate) < float("inf")

    if not is_sound(first):
        smaller = (first / 2.0**halvings for halvings in range(1, HALVINGS + 1))
        return next(filter(is_sound, smaller), float("nan"))
    best = rate = first
    while rate < largest and is_sound(min(2.0 * rate, largest)):
        rate = min(2.0 * rate, largest)
        if end(rate) < end(best):
            best = rate
    return best


def _relative(
    raw: Float[np.ndarray, " losses"], untrained: Float[np.ndarray, " losses"], smoothing: float
) -> Float[np.ndarray, " losses"]:
    """Return smoothed losses as shares of the untrained network's; NaN where that has none."""
    shares, above, below = [], 0.0, 0.0
    for loss, start in zip(raw.tolist(), untrained.tolist(), strict=True):
        above, below = smoothing * above + loss, smoothing * below + start
        shares.append(above / below if below > 0.0 else float("nan"))
    return np.array(shares)


def _steepest(losses: Float[np.ndarray, " losses"]) -> tuple[int | None, bool]:
    """Return the step at which the loss falls most steeply, if any, and whether it diverges."""
    least = np.minimum.accumulate(losses)
    within = losses <= DIVERGED * least  # False for NaN
    end = len(losses) if within.all() else int(np.argmin(within))
    diverged = end < len(losses)
    if end < 2 or 1.0 - least[end - 1] < LEAST_FALL:
        return None, diverged
    # Rates lie equally far apart in logarithm.
    return int(np.argmax(-np.diff(least[:end]))), diverged


def _learns(losses: Float[np.ndarray, " losses"]) -> bool:
    """Return whether a trial lowers the loss without diverging on the way."""
    return bool(np.all(losses <= DIVERGED) and losses[-1] < 1.0)


def _outcome(place: int, diverged: bool, bounded: bool, raised: bool) -> RateOutcome:
    if bounded:
        return RateOutcome.FOUND
    if place == 0 and not raised:
        return RateOutcome.AT_LOWEST
    return RateOutcome.FOUND if diverged else RateOutcome.NEVER_DIVERGED
