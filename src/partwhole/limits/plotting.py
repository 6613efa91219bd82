"""Pictures of limits: predictions on the grid of a task, or against targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from partwhole._checks import require
from partwhole.limits.limit import Limit
from partwhole.tasks.plotting import against, grid, is_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_limit(limit: Limit, ax: Axes | None, kind: Literal["auto", "grid", "scatter"]) -> Axes:
    """Draw the predictions of a limit; see `Limit.plot`."""
    predictions, task = limit.predictions, limit.task
    require(
        bool(np.isfinite(predictions).all()),
        "a picture is of a function that fits",
        f"a limit that is {limit.outcome.name.lower()}",
        "read describe()",
    )
    has_grid = task is not None and is_grid(task) and predictions.ndim == 1
    if kind == "auto":
        kind = "grid" if has_grid else "scatter"
    if kind == "grid":
        require(
            has_grid,
            "a grid is of two components, each combination once, and one output",
            repr(limit),
            'leave it to kind="scatter"',
        )
        assert task is not None
        return grid(task, predictions, "prediction", ax, "Limit.plot")
    rows = limit._rows
    words = "target", "prediction"
    return against(rows.targets, predictions, rows.is_train, words, ax, "Limit.plot")
