"""The line through predictions of combinations that were not seen."""

from __future__ import annotations

import numpy as np

from partwhole.tasks import Task


def held_out_line(task: Task, predictions: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Fit held-out predictions by a line in the components' values.

    Returns
    -------
    slopes : float array, shape (C,)
    intercept : float
    residual : float
        Largest distance of a held-out prediction from the line.
    """
    columns = [
        np.asarray(values, dtype=float)[index]
        for values, index in zip(task.values, task.test_components.T, strict=True)
    ]
    design = np.column_stack([*columns, np.ones(task.n_test)])
    held_out = predictions[~task.is_train]
    coefficients = np.linalg.lstsq(design, held_out, rcond=None)[0]
    distances = np.abs(design @ coefficients - held_out)
    return coefficients[:-1], float(coefficients[-1]), float(distances.max())
