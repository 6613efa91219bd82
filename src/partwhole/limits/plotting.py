"""Pictures of limits: predictions on the grid of a task, or against targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._figures import COLOURS, canvas
from partwhole.limits.fits import Margin
from partwhole.limits.limit import PRESENT, Limit
from partwhole.tasks import Task
from partwhole.tasks.plotting import against, grid, is_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 40  # held-out combinations that are named


def plot_limit(
    limit: Limit, ax: Axes | None, kind: Literal["auto", "grid", "margins", "scatter"]
) -> Axes:
    """Draw the predictions of a limit; see `Limit.plot`."""
    predictions, task = limit.predictions, limit.task
    require(
        bool(np.isfinite(predictions).all()),
        "a picture is of a function that fits",
        f"a limit that is {limit.outcome.name.lower()}",
        "read describe()",
    )
    has_grid = task is not None and is_grid(task) and predictions.ndim == 1
    has_margins = task is not None and limit.test_margins.ndim == 1
    if kind == "auto":
        is_short = isinstance(limit.problem.fit, Margin) and 0 < len(limit.test_margins) <= MOST
        kind = "grid" if has_grid else "margins" if has_margins and is_short else "scatter"
    if kind == "margins":
        require(
            has_margins,
            "margins by combination are of a task with one output, or classes",
            repr(limit),
            'leave it to kind="scatter"',
        )
        assert task is not None
        return _plot_margins(task, limit.test_margins, ax)
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


def _plot_margins(task: Task, margins: Float[np.ndarray, " m"], ax: Axes | None) -> Axes:
    """Draw a point for each held-out combination, in its own colour where it is wrong."""
    places = np.arange(len(margins))
    names = [
        ", ".join(str(values[i]) for values, i in zip(task.values, row, strict=True))
        for row in task.test_components
    ]
    with canvas("Limit.plot", ax, size=(4.6, 0.9 + 0.24 * len(margins))) as ax:
        ax.axvline(0.0, color="0.7", linewidth=1.0, zorder=0)
        right = margins > PRESENT
        for chosen, name, colour in ((right, "right", COLOURS[0]), (~right, "wrong", COLOURS[1])):
            if chosen.any():
                ax.plot(margins[chosen], places[chosen], "o", color=colour, label=name)
        ax.set_yticks(places, names)
        ax.set_ylim(len(margins) - 0.5, -0.5)
        ax.set_xlabel("margin of held-out combinations")
        ax.set_ylabel(", ".join(task.names))
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax
