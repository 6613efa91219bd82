"""The certificate of a designed split, for a reader who checks it without this package."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from partwhole._checks import require

if TYPE_CHECKING:
    from partwhole.audit.design import SplitDesign

MOST_WEIGHTS = 1_000_000
STATEMENT = (
    "The answer at each held-out combination is the sum of weight times answer of training "
    "combinations (counted from 0 in train) for every function that is a sum of functions of at "
    "most `order` factors: for each set of `order` factors and each of its values, the weights of "
    "training combinations that have them add up to 1 if the held-out one has them, and to 0 if "
    "not."
)
GRADES = (
    "Training combinations are linearly independent, so no other weights do this, and with "
    "independent noise of variance 1 in training answers a held-out answer has the variance "
    "noise_gain, the sum of squared weights. The sums of each grade have a larger one than those "
    "of the grade before."
)


def certificate_of(design: SplitDesign) -> dict[str, object]:
    """Return a design's certificate, as plain lists and numbers."""
    n_weights = int(design.terms.sum())
    require(
        n_weights <= MOST_WEIGHTS,
        f"a certificate has at most {MOST_WEIGHTS:,} weights",
        f"{n_weights:,} for {len(design.test):,} held-out combinations",
        "hold out less, or choose a lower order",
    )
    values = [[_plain(value) for value in factor] for factor in design.values]
    require(
        all(len(set(factor)) == len(factor) for factor in values),
        "values in a certificate are told apart by their text",
        "two values with one text",
        "pass strings",
    )

    def words(row: np.ndarray) -> list[object]:
        return [of[i] for of, i in zip(values, row.tolist(), strict=True)]

    graded = design.is_graded
    gains, splits = design.noise_gain.tolist(), design.splits
    held_out: list[dict[str, object]] = []
    for i, row in enumerate(design.test):
        rows, weights = design.derivation(i)
        held_out.append(
            {
                "split": splits[i],
                "combination": words(row),
                "train": rows.tolist(),
                "weights": weights.tolist(),
                **({"noise_gain": gains[i]} if graded else {}),
            }
        )
    return {
        "statement": STATEMENT,
        **({"grades": GRADES} if graded else {}),
        "factors": dict(zip(design.names, values, strict=True)),
        "order": design.order,
        "reference": words(design.reference),
        "n_train": len(design.train),
        "n_held_out": len(design.test),
        "lower_bound": design.lower_bound,
        "lower_bound_reason": design.bound_reason,
        "train": [words(row) for row in design.train],
        "held_out": held_out,
    }


def _plain(value: Hashable) -> str | int | float | bool:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, (str, int)) or (isinstance(plain, float) and math.isfinite(plain)):
        return plain
    return str(plain)
