"""Diagnosis of a run: learned, slow, failed or broken down."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative, ProperFraction, Real
from partwhole.measures.extrema import increasing

if TYPE_CHECKING:
    import pandas as pd

# A matrix of entries near 1 has its eigenvalues to 1e-15; the first lost ones are near -1e-8.
NEGATIVE = -1e-10


class Diagnosis(Enum):
    """State of a concept, or of a run, at the end; the value is a sentence with the remedy."""

    LEARNED = "learned"
    SLOW = "still being learned when the run ended; train longer"
    FAILED = (
        "failed: it stopped changing before it was learned; start from a matrix of higher rank, "
        "wider layers or larger weights, or look whether the inputs vary along this concept"
    )
    BROKE_DOWN = (
        "the numbers broke down, so that what follows is an artefact of the step and no property "
        "of the task; take a smaller step, or integrate the factors instead of their product"
    )


@dataclass(frozen=True, eq=False)
class RunDiagnosis:
    """State of a run at its end, for each concept and as a whole.

    Parameters
    ----------
    run : Diagnosis
        The worst that holds: broke down, failed, slow, learned.
    concepts : tuple of Diagnosis
        After a breakdown, a concept counts as learned only if it was learned before.
    remaining : float array, shape (s,)
        How much longer each concept takes at its present pace, in units of the times: 0 when
        learned, infinite where it stopped or moves away, NaN after a breakdown.
    breakdown_time : float
        The first record at which the numbers can't be trusted; NaN without one.
    evidence : str
        The number that broke down there, or the size of the largest remaining error.
    """

    run: Diagnosis
    concepts: tuple[Diagnosis, ...]
    remaining: Float[np.ndarray, " s"]
    breakdown_time: float
    evidence: str

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each concept, and columns diagnosis and remaining."""
        import pandas as pd

        names = pd.Series([concept.name.lower() for concept in self.concepts], dtype="str")
        return pd.DataFrame({"diagnosis": names, "remaining": self.remaining})


@door(
    missing=("training_loss", "fractions", "least_eigenvalue"),
    infinite=("clocks", "rise"),
)
def diagnose(
    times: Float[np.ndarray, " T"],
    training_loss: Float[np.ndarray, " T"],
    fractions: Float[np.ndarray, "T s"],
    *,
    least_eigenvalue: Float[np.ndarray, " T"] | None = None,
    clocks: Float[np.ndarray, " s"] | None = None,
    threshold: ProperFraction = 0.9,
    noise: NonNegative = 1e-6,
    rise: NonNegative = 1e-6,
) -> RunDiagnosis:
    r"""Diagnose each concept of a run: learned, slow, failed, or numbers that broke down.

    In this order:

    * *Broke down*, from the first record where a number is not finite, the training loss has
      risen by more than `rise` of its first value over an earlier one (along gradient flow it
      can't), or the least eigenvalue of the input-output map is negative.
    * *Learned*, where :math:`|1 - f_k| \le 1 - \text{threshold}` at the end.
    * *Failed*, where the fraction stopped: over the last half of the time it changed by `noise` at
      most; or where its clock is infinite.
    * *Slow* otherwise.

    What remains is extrapolated from the last half, since the fraction was furthest from 1 in it:
    along a logistic curve if the fraction gathers speed, as in a network of two layers,
    :math:`\ln \frac{f}{1-f}` rising evenly; otherwise with a residual that falls exponentially, as
    in a single layer.

    Parameters
    ----------
    times : float array, shape (T,)
        Increasing, in any unit; at least 2.
    training_loss : float array, shape (T,)
        May hold NaN or infinity, like the next two.
    fractions : float array, shape (T, s)
        Each concept's answer divided by its target.
    least_eigenvalue : float array, shape (T,), keyword-only, default None
        Of the symmetric input-output map of a tied network, which is never negative; below -1e-10
        counts. Without it a breakdown shows only once the training loss rises.
    clocks : float array, shape (s,), keyword-only, default None
        When theory has each concept learned, in the order of the fractions and in units of the
        times; infinite for never. From theory: `learning_clocks(...).by_concept()`, whose `times`
        alone are in the order of learning. A concept whose clock is past the end is slow.
    threshold : float, keyword-only, default 0.9
        Between 0 and 1.
    noise : float, keyword-only, default 1e-6
        In units of the fraction: the range within which it counts as unchanged. The default is
        for flows; for networks trained on batches it is the range of a fraction at rest.
    rise : float, keyword-only, default 1e-6
        In units of the first training loss. For stochastic training pass what its noise
        reaches (`noise_threshold`), or `math.inf` to leave the loss out.

    Returns
    -------
    RunDiagnosis

    Raises
    ------
    InputError
        For shapes that don't agree, fewer than two records, times that don't increase, or
        settings out of range.

    Notes
    -----
    Derived here. The "failure of learning" of Yang et al. (ICLR 2025), figure 10, is a breakdown
    by this reading: its matrix loses an eigenvalue at update 31, and integrated with care
    the concept is learned. From curves alone, a concept whose fraction is still below `noise`
    looks like one that failed; pass clocks to distinguish them.

    Examples
    --------
    >>> t = np.linspace(0.0, 10.0, 101)
    >>> fractions = np.stack([1 - np.exp(-t), 1 - np.exp(-0.1 * t), 0.0 * t], axis=1)
    >>> diagnosis = diagnose(t, ((1 - fractions) ** 2).sum(axis=1), fractions)
    >>> [concept.name for concept in diagnosis.concepts], diagnosis.remaining.round(3).tolist()
    (['LEARNED', 'SLOW', 'FAILED'], [0.0, 13.026, inf])
    """
    f, loss = fractions, training_loss
    t = increasing(times)
    eigenvalue = np.zeros(len(t)) if least_eigenvalue is None else least_eigenvalue
    expected = np.full(f.shape[1], np.nan) if clocks is None else clocks
    require(len(t) >= 2, "a diagnosis needs at least 2 records", len(t), "record more often")
    broken, evidence = _breakdown(loss, f, eigenvalue, rise)
    if broken is not None:
        missing = np.full(f.shape[1], np.nan)
        before = f[broken - 1] if broken else missing
        concepts = tuple(
            Diagnosis.LEARNED if abs(1 - last) <= 1 - threshold else Diagnosis.BROKE_DOWN
            for last in before
        )
        return RunDiagnosis(Diagnosis.BROKE_DOWN, concepts, missing, float(t[broken]), evidence)
    diagnoses = [
        _diagnose_concept(t, f[:, k], float(expected[k]), float(threshold), float(noise))
        for k in range(f.shape[1])
    ]
    concepts = tuple(diagnosis for diagnosis, _ in diagnoses)
    worst = (state for state in (Diagnosis.FAILED, Diagnosis.SLOW) if state in concepts)
    remaining = np.array([duration for _, duration in diagnoses], dtype=float)
    residual = np.abs(1 - f[-1]).max(initial=0.0)
    evidence = f"the largest residual at the end is {residual:.3g} of its target"
    return RunDiagnosis(next(worst, Diagnosis.LEARNED), concepts, remaining, np.nan, evidence)


def _breakdown(
    loss: np.ndarray, f: np.ndarray, eigenvalue: np.ndarray, rise: Real
) -> tuple[int | None, str]:
    """Return the first record that can't be trusted, and why."""
    whole = np.isfinite(loss) & np.isfinite(f).all(axis=1) & np.isfinite(eigenvalue)
    n = len(whole) if whole.all() else int(np.argmin(whole))
    risen = loss[:n] - np.minimum.accumulate(loss[:n])
    rises = risen > rise * max(abs(loss[0]), np.finfo(float).tiny)
    negative = eigenvalue[:n] < NEGATIVE
    if (rises | negative).any():
        i = int(np.argmax(rises | negative))
        if negative[i]:
            return i, f"the least eigenvalue of the map is {eigenvalue[i]:.3g}"
        return i, f"the training loss has risen by {risen[i]:.3g} to {loss[i]:.3g}"
    return (None, "") if n == len(whole) else (n, "a number is no longer finite")


def _diagnose_concept(
    t: np.ndarray, f: np.ndarray, clock: float, threshold: float, noise: float
) -> tuple[Diagnosis, float]:
    """Return how far one concept has come, and how much longer it takes."""
    residual = np.abs(1 - f)
    goal = 1 - threshold
    if residual[-1] <= goal:
        return Diagnosis.LEARNED, 0.0
    half = min(int(np.searchsorted(t, 0.5 * (t[0] + t[-1]))), len(t) - 2)
    furthest = half + int(residual[half:].argmax())
    still = np.ptp(f[half:]) <= noise
    if np.isinf(clock) or (still and not clock > t[-1]):
        return Diagnosis.FAILED, np.inf
    if still or residual[furthest] - residual[-1] <= noise:
        return Diagnosis.SLOW, np.inf
    span = t[-1] - t[furthest]
    middle = np.interp(t[-1] - 0.5 * span, t, f)
    if 0 < f[furthest] < f[-1] < threshold and middle < 0.5 * (f[furthest] + f[-1]):
        start, end, goal_logit = (np.log(y / (1 - y)) for y in (f[furthest], f[-1], threshold))
        return Diagnosis.SLOW, float((goal_logit - end) / (end - start) * span)
    fall = np.log(residual[furthest] / residual[-1])
    return Diagnosis.SLOW, float(np.log(residual[-1] / goal) / fall * span)
