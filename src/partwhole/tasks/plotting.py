"""Pictures of tasks: the grid of two components, with what is held out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._figures import COLOURS, canvas
from partwhole.tasks._task import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_VALUES = 60  # of a component that a grid has room for
MOST_NAMES = 14  # beside an axis
SIDE, LEAST, MOST = 0.32, 2.6, 7.0  # inches: a cell, and the sides of a picture


def is_grid(task: Task) -> bool:
    """Return whether a task is a grid: two components of at most 60 values, no tuple twice."""
    return (
        task.n_components == 2
        and max(task.n_values) <= MOST_VALUES
        and len(np.unique(task.components, axis=0)) == len(task.components)
    )


def plot_task(task: Task, ax: Axes | None) -> Axes:
    """Draw the targets of a task of two components and one output; see `Task.plot`."""
    require(
        is_grid(task) and task.targets.ndim == 1,
        f"a picture has two components of at most {MOST_VALUES} values, each combination once, "
        "and one output",
        repr(task),
        "read describe() or to_frame()",
    )
    return grid(task, task.targets, "target", ax, "Task.plot")


def grid(
    task: Task, values: Float[np.ndarray, " n"], label: str, ax: Axes | None, part: str
) -> Axes:
    """Draw a number for each combination of two components, those held out with a dot.

    Parameters
    ----------
    task : Task
    values : float array, shape (n,)
        Of each row of the task.
    label : str
        What they are.
    ax : Axes or None
        None for a new figure.
    part : str
        The method, as users call it.
    """
    rows, columns = task.n_values
    size = (np.clip(SIDE * columns, LEAST, MOST) + 1.6, np.clip(SIDE * rows, LEAST, MOST) + 0.7)
    with canvas(part, ax, size=size) as ax:
        picture = np.full((rows, columns), np.nan)
        picture[tuple(task.components.T)] = values
        if not task.is_classification and np.nanmin(picture) < 0 < np.nanmax(picture):
            most = float(np.nanmax(np.abs(picture)))
            image = ax.imshow(picture, cmap="RdBu_r", vmin=-most, vmax=most)
        else:
            image = ax.imshow(picture)
        held_out = task.test_components
        ax.scatter(
            held_out[:, 1], held_out[:, 0], s=16, color="white", edgecolor="black", linewidth=0.8,
            label="held out",
        )  # fmt: skip
        for axis, name, names in zip((ax.yaxis, ax.xaxis), task.names, task.values, strict=True):
            axis.set_label_text(name)
            step = -(-len(names) // MOST_NAMES)
            axis.set_ticks(range(0, len(names), step), list(map(_short, names[::step])))
        if any(len(_short(name)) > 3 for name in task.values[1]):
            ax.tick_params("x", rotation=40, rotation_mode="xtick")
        ax.spines[:].set_visible(False)
        ax.figure.colorbar(image, ax=ax, label=label)
        if len(held_out):
            ax.set_title("dots: held out", fontsize="small", loc="right")
    return ax


def against(
    x: Float[np.ndarray, "n *k"],
    y: Float[np.ndarray, "n *k"],
    is_train: Bool[np.ndarray, " n"],
    words: tuple[str, str],
    ax: Axes | None,
    part: str,
) -> Axes:
    """Draw one number of each row against another, with the diagonal.

    Parameters
    ----------
    x, y : float array, shape (n,) or (n, k)
    is_train : bool array, shape (n,)
        Which rows are hollow: those of training.
    words : pair of str
        What x and y are.
    ax : Axes or None
        None for a new figure.
    part : str
        The method, as users call it.
    """
    with canvas(part, ax, size=(3.9, 3.4)) as ax:
        place = max(x.min(), y.min())
        ax.axline((place, place), slope=1.0, color="0.7", linewidth=1.0, zorder=0)
        looks: dict[str, Any] = {
            "training": {"facecolor": "none", "edgecolor": COLOURS[0]},
            "held out": {"color": COLOURS[1]},
        }
        for (name, look), chosen in zip(looks.items(), (is_train, ~is_train), strict=True):
            if chosen.any():
                ax.scatter(
                    x[chosen].ravel(), y[chosen].ravel(), s=22, linewidth=1.2, label=name, **look
                )
        ax.set_xlabel(words[0])
        ax.set_ylabel(words[1])
        ax.legend()
    return ax


def _short(name: Hashable) -> str:
    text = f"{name:.4g}" if isinstance(name, float) else str(name)
    return text if len(text) <= 12 else f"{text[:11]}\u2026"
