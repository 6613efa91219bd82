"""Accuracy and error along training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from partwhole.study.plots import QUIET, look

DASHES = {"unseen": "-", "seen": ":"}


def settled(right: xr.DataArray) -> xr.DataArray:
    """Return the first recorded step from which on all are right; NaN if the last is not."""
    steps = right.step.values
    right = right.transpose(..., "step")
    wrong = ~(right.values >= 1.0)
    after = np.where(wrong.any(axis=-1), wrong.shape[-1] - np.argmax(wrong[..., ::-1], axis=-1), 0)
    values = np.where(after < len(steps), steps[np.minimum(after, len(steps) - 1)], np.nan)
    return right.isel(step=0, drop=True).copy(data=values)


def draw(
    ax: Axes,
    right: xr.DataArray,
    by: str,
    name: Callable[[Any], str | None],
    shift: int = 0,
    over: str = "step",
) -> None:
    """Draw means over seeds from step 1, of unseen tuples (lines) and seen ones (dotted)."""
    ax.axhline(0.5, color=QUIET, linewidth=0.8)
    draw_means(ax, right, by, name, shift, over)
    ax.set(ylim=(-0.03, 1.06), ylabel="share right")


def draw_means(
    ax: Axes,
    values: xr.DataArray,
    by: str,
    name: Callable[[Any], str | None],
    shift: int,
    over: str,
) -> None:
    """Draw means over seeds of any values, as `draw` does."""
    later = values.sel({over: values[over] > 0})
    for i, group in enumerate(values[by].values):
        colour = look(shift + i)["color"]
        for side, dashes in DASHES.items():
            means = later.sel({by: group, "side": side}).mean("seed").dropna(over)
            label = name(group) if side == "unseen" else None
            ax.plot(means[over], means, color=colour, linestyle=dashes, label=label)
    ax.plot([], [], color="0.25", linestyle=DASHES["seen"], label="seen")
    ax.set(xscale="log", xlabel=f"{over}s")
