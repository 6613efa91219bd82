"""Pictures of paths: the entries of a network's map over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partwhole._checks import require
from partwhole._figures import COLOURS, canvas
from partwhole.flows._path import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMED = 9  # entries; more are lines without names
UNITS = {"paper": "time (paper)", "gradient": "time (gradient flow)", "steps": "step"}


def plot_path(path: Path, ax: Axes | None) -> Axes:
    """Draw the entries of a map over time; see `Path.plot`."""
    require(
        path.states.ndim == 3,
        "a picture is of one path",
        f"states of shape {path.states.shape}",
        "pick one path of the batch",
    )
    outputs, inputs = path.states.shape[1:]
    names = outputs * inputs <= MOST_NAMED
    with canvas("Path.plot", ax) as ax:
        for i in range(outputs):
            for j in range(inputs):
                look = {"linewidth": 1.8 if names else 0.9, "linestyle": "-" if i == j else "--"}
                if not names:
                    look |= {"color": COLOURS[0] if i == j else "0.6", "zorder": 2 + (i == j)}
                label = f"w{i + 1}{j + 1}" if names else None
                ax.plot(path.times, path.states[:, i, j], label=label, **look)
        ax.set_xlabel(UNITS[path.clock])
        ax.set_ylabel("entry of the map")
        if names:
            ax.legend(fontsize="small", ncols=max(1, inputs // 3), loc="center left",
                      bbox_to_anchor=(1.0, 0.5))  # fmt: skip
        else:
            ax.set_title("blue: diagonal, grey: others", fontsize="small", loc="right")
    return ax
