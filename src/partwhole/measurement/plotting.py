"""Pictures of measurements: readouts of held-out conditions, measured against predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partwhole._checks import require
from partwhole._figures import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from partwhole.measurement.measurement import Measurement


def plot_measurement(measurement: Measurement, ax: Axes | None) -> Axes:
    """Draw the share of right trials of each held-out condition; see `Measurement.plot`."""
    readouts = measurement.held_out
    require(
        readouts is not None,
        "a picture has a point for each held-out condition",
        "a measurement without them",
        'pass held_out="each", or draw measurement.saliences.plot()',
    )
    assert readouts is not None
    table = measurement.to_frame()
    with canvas("Measurement.plot", ax, size=(3.9, 3.4)) as ax:
        ax.axline((0.5, 0.5), slope=1.0, color="0.7", linewidth=1.0, zorder=0)
        for name in readouts.labels:
            predicted, low, high, measured = (
                table[f"accuracy of {name}, {kind}"].to_numpy(dtype=float)
                for kind in ("predicted", "low", "high", "measured")
            )
            ends = np.maximum([predicted - low, high - predicted], 0.0)
            ax.errorbar(
                predicted, measured, xerr=ends, fmt="o", elinewidth=0.8, alpha=0.8, label=str(name)
            )
        ax.set_xlabel("right trials, predicted")
        ax.set_ylabel("right trials, measured")
        ax.set_xlim(-0.04, 1.04)
        ax.set_ylim(-0.04, 1.04)
        ax.legend()
    return ax
