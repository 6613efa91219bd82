"""Labels: signs -1 and +1, or one of k classes in k columns."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def are_classes(targets: Float[np.ndarray, "n *k"]) -> bool:
    """Return whether each row has 1 in the column of its class, and 0 (or -1) in all others."""
    if targets.ndim != 2 or targets.shape[1] < 2:
        return False
    in_class = targets == 1.0
    off = targets[~in_class]
    one_class = bool((in_class.sum(axis=1) == 1).all())
    return one_class and (bool((off == 0.0).all()) or bool((off == -1.0).all())) and off.size > 0


def are_labels(targets: Float[np.ndarray, "n *k"]) -> bool:
    """Return whether targets are signs or classes."""
    return bool((np.abs(targets) == 1.0).all()) or are_classes(targets)


def label_margins(
    targets: Float[np.ndarray, "n *k"],
    predictions: Float[np.ndarray, "n *k"],
    classes: bool | None = None,
) -> Float[np.ndarray, "n *entries"]:
    """Return how far each prediction lies on the side of its label; 1 for the label itself.

    Whether the targets are classes is seen in them, or given by `classes` for a few of them.

    For signs that is label times prediction, shape (n,) or (n, k). For classes, shape (n,), it is
    the prediction for the right class less the largest of the others, divided by the same
    difference of the targets. Two classes in columns (1 + y) / 2 and (1 - y) / 2, or y and -y,
    so have the margins of the sign y.
    """
    if not (are_classes(targets) if classes is None else classes):
        return targets * predictions
    in_class = targets == 1.0
    right = predictions[in_class]
    largest = np.where(in_class, -np.inf, predictions).max(axis=1)
    with np.errstate(invalid="ignore"):
        lead = np.where(right == largest, 0.0, right - largest)
    return lead / (1.0 - targets.min(initial=0.0))
