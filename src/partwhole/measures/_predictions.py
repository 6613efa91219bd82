"""Shapes of predictions: a row for each row of a task, and one output or several."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.tasks import Task


def require_rows(task: Task, predictions: Float[np.ndarray, "n *k"]) -> None:
    """Require a row of predictions for each row of the task."""
    n = len(task.components)
    require(
        predictions.ndim in (1, 2) and len(predictions) == n and predictions.size > 0,
        f"predictions have a row for each of the task's {n} rows",
        f"shape {predictions.shape}",
        f"pass shape ({n},) or ({n}, k), such as limit.predictions",
    )


def require_outputs(task: Task, predictions: Float[np.ndarray, "n *k"]) -> None:
    """Require predictions of the shape of the task's targets."""
    require(
        predictions.shape == task.targets.shape,
        f"predictions have the shape of the task's targets, {task.targets.shape}",
        f"shape {predictions.shape}",
        "pass one prediction for each target, such as limit.predictions",
    )


def outputs_of(values: Float[np.ndarray, "n *k"]) -> list[Float[np.ndarray, " n"]]:
    """Return each output's column."""
    return [values] if values.ndim == 1 else list(values.T)
