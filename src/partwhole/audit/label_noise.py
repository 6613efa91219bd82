r"""Noise in labels: which held-out combinations have a label that is certain.

A row has the label of its combination, or with probability q another one, all of them alike. For k
labels, two rows of a combination then differ with probability

.. math:: d = 2 q - \frac{k}{k - 1} q^2,

which gives q from pairs of rows. Where :math:`n_l` rows of a combination have label l, the odds of
l against m are :math:`r^{n_m - n_l}` with :math:`r = q / ((k - 1)(1 - q))`. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._types import Real
from partwhole.audit.case import TRAIN, Case
from partwhole.audit.scores.score import numbers_of_rows
from partwhole.audit.settings import NoiseSource
from partwhole.audit.training_fit import fit_of_training
from partwhole.audit.wording import percent

# Probability of another label up to which the label of a combination is certain; and with which
# the noise in numbers exceeds what is put down to it.
LEVEL = 0.001
# Share of pairs of rows below which those that differ are mistakes, which another rule reports.
LEAST_DIFFERENT = 0.05


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """Noise in the labels of rows, and what it leaves certain.

    Parameters
    ----------
    rate : float
        q, the share of rows whose label is not that of their combination.
    certain : bool array, shape (h,)
        Held-out combinations of which any other label has a probability of at most 0.001, if all
        labels are alike before any row is read.
    source : str
        Where the rate comes from, in words.
    """

    rate: float
    certain: Bool[np.ndarray, " h"]
    source: str

    @classmethod
    def of(cls, case: Case, source: NoiseSource | Real = "repeats") -> LabelNoise | None:
        """Return the noise of a case with labels; None without a sign of it.

        Parameters
        ----------
        case : Case
        source : {"repeats", "estimate"} or float, default "repeats"
            "repeats": from rows of a combination, of which at least 5 % of pairs must differ.
            "estimate": the share of training that the best sum of conjunctions of at most K
            components labels wrong. A number is q.
        """
        assert case.table.labels is not None
        k = len(case.table.labels)
        place, count = _counts(case)
        if source == "repeats":
            different = _share_of_pairs(place, count)
            if different < LEAST_DIFFERENT:
                return None
            rate = _rate(different, k)
            words = f"Of two rows of a combination {percent(different)} differ in their label."
        elif source == "estimate":
            rate = 1.0 - fit_of_training(case).share
            words = f"The best sum labels {percent(rate)} of training wrong."
        else:
            rate = float(source)
            words = f"The share of rows with a wrong label was given as {rate:.3g}."
        if not rate > 0.0:
            return None
        doubt = _doubt(place, count, rate, k, len(case.weights))
        return cls(rate, doubt[case.held_out] <= LEVEL, words)


def require_rate(source: NoiseSource | Real, k: int) -> None:
    """Refuse a share of wrong labels that leaves the right one of k no commoner than others."""
    require(
        isinstance(source, str) or float(source) < 1.0 - 1.0 / k,
        f"noise in labels is the share of rows with a wrong one, below {1.0 - 1.0 / k:.3g} of {k} "
        "labels",
        source,
        "pass such as 0.05, 'repeats' or 'estimate'",
    )


def _counts(case: Case) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """Return the combination of each label that it has, and the number of these rows.

    Whole weights are numbers of rows; of other weights each row counts once.
    """
    table, place = case.table, case.row_combination
    assert table.label is not None
    # A test row whose combination occurs in training says nothing of held-out ones.
    rows = np.flatnonzero((place >= 0) & ((table.split == TRAIN) | ~case.task.is_train[place]))
    sizes = numbers_of_rows(table.weights[rows])
    k = int(table.label.max()) + 1
    pairs, index = np.unique(place[rows] * k + table.label[rows], return_inverse=True)
    return pairs // k, np.bincount(index, sizes)


def _share_of_pairs(place: Int[np.ndarray, " p"], count: Float[np.ndarray, " p"]) -> float:
    """Return which share of pairs of rows of one combination has different labels; 0 of none."""
    total = np.bincount(place, count)
    pairs = float((total * (total - 1.0)).sum())
    alike = float((count * (count - 1.0)).sum())
    return 1.0 - alike / pairs if pairs > 0.0 else 0.0


def _rate(different: float, k: int) -> float:
    """Return the share of wrong labels of which pairs of rows differ so often."""
    most = k / (k - 1.0)
    return (1.0 - float(np.sqrt(max(0.0, 1.0 - most * different)))) / most


def _doubt(
    place: Int[np.ndarray, " p"], count: Float[np.ndarray, " p"], rate: float, k: int, size: int
) -> Float[np.ndarray, " m"]:
    """Return the probability that a combination has another than its commonest label."""
    ratio = rate / ((k - 1.0) * (1.0 - rate))
    top = np.zeros(size)
    np.maximum.at(top, place, count)
    # Labels that no row of the combination has count as well.
    with np.errstate(over="ignore"):
        odds = np.bincount(place, ratio ** (top[place] - count), size)
        odds += (k - np.bincount(place, minlength=size)) * ratio**top
    return 1.0 - 1.0 / odds
