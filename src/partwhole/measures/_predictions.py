"""The door for predictions: one finite number for each row of a task."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.tasks import Task


def one_for_each_row(
    task: Task, predictions: Float[np.ndarray, "n *k"]
) -> Float[np.ndarray, " rows"]:
    """Return predictions, once they are seen to be for the task's rows."""
    found = predictions
    n = len(task.components)
    require(
        found.shape == (n,),
        "predictions must be one number for each row of the task",
        f"{len(found)} for {n} rows" if found.ndim == 1 else f"an array of shape {found.shape}",
        "pass limit.predictions, one output at a time",
    )
    return found


def require_one_output(task: Task, what: str) -> None:
    """Require targets of shape (n,)."""
    require(
        task.targets.ndim == 1,
        f"{what} are read for one output",
        f"targets of shape {task.targets.shape}",
        "take one at a time, dataclasses.replace(task, targets=task.targets[:, 0])",
    )
