"""Similarities of hidden layers, by how many components two inputs share.

They are normalised as published: inputs without a common component have a mean of 0, and each input
with itself has a mean of 1.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from matplotlib.axes import Axes

from partwhole.study.plots import look

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
WORDS = ("before training", "after training")


def quantiles(
    features: Float[np.ndarray, "n h"], components: Int[np.ndarray, "n C"]
) -> Float[np.ndarray, "C+1 Q"]:
    """Return quantiles of the similarities of inputs that share 0 to C components."""
    features = np.asarray(features, dtype=float)
    gram, most = features @ features.T, components.shape[1]
    shared = (components[:, None] == components).sum(axis=-1)
    low, high = gram[shared == 0].mean(), gram[shared == most].mean()
    similar = (gram - low) / (high - low)
    return np.array([np.quantile(similar[shared == k], QUANTILES) for k in range(most + 1)])


def span(similar: xr.DataArray, shared: int = 1) -> xr.DataArray:
    """Return the width of the range that holds 95 % of the pairs with so many common components."""
    return similar.sel(shared=shared).sel(quantile=[QUANTILES[0], QUANTILES[-1]]).diff("quantile")


def draw(ax: Axes, before: xr.DataArray, after: xr.DataArray) -> None:
    """Draw the median, half and 95 % of the pairs, by common components; means over seeds."""
    for i, similar in enumerate((before, after)):
        rows = similar.mean("seed").transpose("quantile", "shared").values
        style = look(5 + i, line=False)
        x = similar.shared.values + 0.3 * i - 0.15
        ax.vlines(x, rows[0], rows[-1], color=style["color"], linewidth=1)
        ax.vlines(x, rows[1], rows[-2], color=style["color"], linewidth=3)
        ax.plot(x, rows[2], label=WORDS[i], **style)
    ax.plot([], [], color="0.25", linewidth=1, label="95 % of pairs (thick: half)")
    ax.set(xlabel="common components", ylabel="similarity", xticks=before.shared.values)
