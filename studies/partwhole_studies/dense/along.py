"""Accuracy of dense networks along training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from partwhole.study.plots import QUIET, look
from partwhole_studies.dense.networks import SIDES


def settled(right: xr.DataArray) -> xr.DataArray:
    """Return the first recorded step from which on all are right; NaN if the last is not."""
    steps = right.step.values
    right = right.transpose(..., "step")
    wrong = ~(right.values >= 1.0)
    after = np.where(wrong.any(axis=-1), wrong.shape[-1] - np.argmax(wrong[..., ::-1], axis=-1), 0)
    values = np.where(after < len(steps), steps[np.minimum(after, len(steps) - 1)], np.nan)
    return right.isel(step=0, drop=True).copy(data=values)


def draw(
    ax: Axes, right: xr.DataArray, by: str, name: Callable[[Any], str], shift: int = 0
) -> None:
    """Draw means over seeds from step 1, of unseen tuples (lines) and seen ones (dotted)."""
    ax.axhline(0.5, color=QUIET, linewidth=0.8)
    later = right.sel(step=right.step > 0)
    for i, group in enumerate(right[by].values):
        colour = look(shift + i)["color"]
        for side, dashes in zip(SIDES, ("-", ":"), strict=True):
            values = later.sel({by: group, "side": side}).mean("seed")
            label = name(group) if side == "unseen" else None
            ax.plot(later.step, values, color=colour, linestyle=dashes, label=label)
    ax.plot([], [], color="0.25", linestyle=":", label="seen")
    ax.set(xscale="log", ylim=(-0.03, 1.06), xlabel="steps", ylabel="share right")
