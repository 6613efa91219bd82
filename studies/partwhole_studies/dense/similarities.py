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
EDGES = np.linspace(-1.0, 2.0, 61)  # of the bins of a histogram
WORDS = ("before training", "after training")


def by_shared(
    features: Float[np.ndarray, "n h"], components: Int[np.ndarray, "n C"]
) -> list[np.ndarray]:
    """Return the similarities of inputs that share 0 to C components."""
    features = np.asarray(features, dtype=float)
    gram, most = features @ features.T, components.shape[1]
    shared = (components[:, None] == components).sum(axis=-1)
    low, high = gram[shared == 0].mean(), gram[shared == most].mean()
    similar = (gram - low) / (high - low)
    return [similar[shared == k] for k in range(most + 1)]


def quantiles(similar: list[np.ndarray]) -> Float[np.ndarray, "kinds Q"]:
    """Return quantiles of similarities, by common components."""
    return np.array([np.quantile(pairs, QUANTILES) for pairs in similar])


def shares(similar: list[np.ndarray]) -> Float[np.ndarray, "kinds B"]:
    """Return the shares of pairs in each bin; those beyond the last are in it."""
    inside = [np.clip(pairs, EDGES[0], EDGES[-1]) for pairs in similar]
    return np.array([np.histogram(pairs, EDGES)[0] / len(pairs) for pairs in inside])


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


def draw_shares(ax: Axes, before: xr.DataArray, after: xr.DataArray) -> None:
    """Draw histograms of similarities by common components; means over seeds."""
    for shared in before.shared.values:
        color = look(4 + int(shared))["color"]
        for pairs, style in ((before, ":"), (after, "-")):
            heights = pairs.sel(shared=shared).mean("seed")
            label = f"{shared} common components" if style == "-" else None
            ax.stairs(heights, EDGES, color=color, linestyle=style, label=label)
    ax.plot([], [], color="0.25", linestyle=":", label="before training")
    ax.set(xlabel="similarity", ylabel="share of pairs", xlim=(-0.7, 1.7), ylim=(0, 0.6))
