"""A ridge readout of measured features: its answers to held-out combinations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError
from partwhole.audit.case import TRAIN, Case

# Combinations, outputs and multiplications for which the prediction takes less than a few seconds.
MOST_COMBINATIONS, MOST_OUTPUTS, LARGEST = 750, 50, 1e10


@dataclass(frozen=True, eq=False)
class MeasuredReadout:
    """Predicted readout of a table's features, in the order of a case's held-out combinations.

    Parameters
    ----------
    outputs : float array, shape (h,) or (h, k)
        Mean predicted answers.
    accuracy : float array, shape (h,), or None
        Predicted accuracy on single rows; None for numbers, and where rows of a combination have
        different labels.
    difference : float
        Root mean square of the difference from the readout that is trained on the same rows.
    """

    outputs: Float[np.ndarray, "h *k"]
    accuracy: Float[np.ndarray, " h"] | None
    difference: float


def measured_readout(case: Case) -> MeasuredReadout | None:
    """Return the predicted readout of the features of a case's rows.

    Parameters
    ----------
    case : Case
        With held-out combinations.

    Returns
    -------
    MeasuredReadout or None
        None without features, for sample weights, for more than 750 combinations or 50 outputs,
        for large features (20,000 rows of 700, say), and where combinations are not repeated.
    """
    table, task = case.table, case.task
    targets = task.targets.reshape(len(task.targets), -1)
    is_large = len(targets) > MOST_COMBINATIONS or targets.shape[1] > MOST_OUTPUTS
    is_weighted = bool(np.ptp(table.weights) > 0.0)
    if table.features is None or is_large or is_weighted or not table.has_target:
        return None
    rows = np.flatnonzero(np.isin(table.split, (TRAIN, case.split)))
    if (
        float(len(rows)) * table.features.shape[1] * min(len(rows), table.features.shape[1])
        > LARGEST
    ):
        return None
    from partwhole.measures.readouts import predict_readout  # see `representation`

    index = case.row_combination[rows]
    try:
        readout = predict_readout(
            table.features[rows],
            table.components[rows],
            targets[index],
            table.split[rows] == TRAIN,
        )
    except InputError:
        return None
    held_out = readout.rows_of(task.test_components)
    accuracy = None
    if case.has_labels and not case.conflict.any():
        accuracy = readout.accuracy[held_out]
    predicted, trained = readout.predicted[held_out], readout.trained[held_out]
    return MeasuredReadout(
        predicted.reshape(task.test_targets.shape),
        accuracy,
        float(np.sqrt(np.mean((predicted - trained) ** 2))),
    )
