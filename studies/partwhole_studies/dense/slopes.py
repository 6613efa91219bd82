"""Slopes of unseen sums: from item to item, and those that a salience predicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partwhole.limits import memorization_leak


def slope_of_ends(values: Sequence[np.ndarray]) -> float:
    """Return the slope from the first to the last item of unseen sums, a mean over components."""
    items = [np.flatnonzero(np.isfinite(value)) for value in values]
    pairs = zip(values, items, strict=True)
    return float(np.mean([(v[i[-1]] - v[i[0]]) / (i[-1] - i[0]) for v, i in pairs]))


def leak(salience: float, anchors: int) -> float:
    """Return the slope at a measured salience; one just above one half counts as one half."""
    return float(memorization_leak(min(max(salience, 0.0), 0.5), anchors))
