"""Learning times of two concepts in diffusion models, against their signals in the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import kendalltau

from partwhole.study import Cells, Config, key, mean
from partwhole.study.plots import QUIET, look, mosaic
from partwhole.tasks.shapes.published import CONCEPT_SIGNALS
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import PAPER, POINTS
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.training_sets import UNSEEN

TRAINED = "blue big"
REFERENCES = ("red big", "red small")  # classes that every model here must have learned
KINDS = {
    "unseen": "colour, unseen combination",
    "trained": "colour, training class",
    "size": "size, unseen combination",
}
SIZE, SMALLER = 0.4, 0.2  # separations of sizes; the sweep over colours has the first
SIZES = (0.1, SMALLER, 0.3, SIZE)
# The published grid: colours .2 to .8 apart, sizes .2 to .4.
PUBLISHED_COLOURS = [round(0.1 * k, 1) for k in range(2, 9)]
PUBLISHED_SIZES = (SMALLER, 0.233, 0.266, 0.3, 0.333, 0.366)  # and .4


def _cells(
    kind: Config, colours: Sequence[float], seeds: int, sizes: Sequence[float] = (SIZE,)
) -> list[Config]:
    settings = [{"colour": c, "size": size} for c in colours for size in sizes]
    return [kind | setting | {"seed": seed} for seed in range(seeds) for setting in settings]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, CONCEPT_SIGNALS[1:17:7], 1, (SMALLER, SIZE)),
    "laptop": _cells(POINTS, CONCEPT_SIGNALS[1::3], 10, SIZES),
    "paper": [
        *_cells(PAPER, CONCEPT_SIGNALS, 5),
        *_cells(PAPER, PUBLISHED_COLOURS, 5, PUBLISHED_SIZES),
        *_cells(PAPER, PUBLISHED_COLOURS[:-1], 5),
    ],
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    data = readings.averaged(readings.gather(cells, "colour", "size"))
    return data.assign_attrs(models=len(cells))


def times(data: xr.Dataset) -> xr.DataArray:
    """Return the step from which more than half of the way is covered, by kind and setting."""
    paths = {"unseen": (UNSEEN, "colour"), "trained": (TRAINED, "colour"), "size": (UNSEEN, "size")}
    settled = [
        readings.settled(readings.means(data, prompt).sel(concept=concept, drop=True))
        for prompt, concept in paths.values()
    ]
    return xr.concat(settled, xr.DataArray(list(paths), dims="kind", name="kind"))


def by_seed(times: xr.DataArray, summary: Callable[..., float], minimum: int) -> np.ndarray:
    """Return a summary of signals and times for each seed; NaN with fewer than `minimum` times."""
    values = []
    for row in times.transpose("seed", "colour").values:
        finite = np.isfinite(row)
        enough = finite.sum() >= minimum
        values.append(summary(times.colour.values[finite], row[finite]) if enough else np.nan)
    return np.array(values, float)


def rank_correlation(signals: np.ndarray, times: np.ndarray) -> float:
    return float(np.asarray(kendalltau(signals, times)[0]))


def exponent(signals: np.ndarray, times: np.ndarray) -> float:
    return float(np.polyfit(np.log(signals), np.log(times), 1)[0])


def typical(times: xr.DataArray) -> xr.DataArray:
    """Return the geometric mean over models."""
    return xr.apply_ufunc(np.exp, xr.apply_ufunc(np.log, times).mean("seed"))


def sweep(times: xr.DataArray) -> xr.DataArray:
    """Return the times of the sweep over colours, with sizes .4 apart."""
    return times.sel(size=SIZE, drop=True).dropna("colour", how="all")


def delays(times: xr.DataArray) -> xr.DataArray:
    """Return logs of colour's time with sizes .4 apart over .2, mean over colours, by seed."""
    both = times.sel(kind="unseen", drop=True).reindex(size=[SMALLER, SIZE])
    smaller, larger = (both.sel(size=size, drop=True) for size in (SMALLER, SIZE))
    return xr.apply_ufunc(np.log, larger / smaller).mean("colour")


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data, REFERENCES)
    measured = times(runs)
    capped = readings.capped(measured, data)
    unseen, trained = (sweep(capped).sel(kind=kind, drop=True) for kind in ("unseen", "trained"))
    slope = mean(by_seed(unseen, exponent, 3))
    ends = typical(unseen).isel(colour=[0, -1]).values.tolist()
    unlearned = (sweep(measured).sel(kind="unseen") == np.inf).any("seed").isel(colour=[0, -1])
    first, last = (
        f"at least {time:.0f}" if censored else time
        for time, censored in zip(ends, unlearned.values, strict=True)
    )
    return {
        "correlation": mean(by_seed(unseen, rank_correlation, 2), within=(-1.0, 1.0)),
        "slope": slope,
        "delay": readings.later(unseen, trained, data),
        "delayed": readings.ratio(delays(capped)),
        "first": first,
        "last": last,
        **readings.counts(runs),
        "models": data.models,
    }


def figure(data: xr.Dataset) -> Figure:
    runs = readings.learned(data, REFERENCES)
    drawn, axes = mosaic("AB", 3.9, sharey=True, sharex=True)
    capped = readings.capped(times(runs), data)
    _draw(axes["A"], sweep(capped))
    axes["A"].set(title=f"Sizes {SIZE:g} apart", ylabel="training steps to half of the value")
    _draw_sizes(axes["B"], typical(capped.sel(kind="unseen")))
    axes["B"].set(title="Colour, unseen combination")
    for ax in axes.values():
        ax.set(xlabel="separation of the colours")
    return key(drawn, columns=2)


def _draw(ax: Axes, times: xr.DataArray) -> None:
    colours = times.colour.values
    for k, (kind, label) in enumerate(KINDS.items()):
        values = times.sel(kind=kind).transpose("colour", "seed")
        places = colours * 1.015 ** (k - 1)  # so that models of different kinds do not overlap
        ax.plot(places, values, **look(k, line=False, markersize=4))
        style = {**look(k), "marker": look(k, line=False)["marker"], "markerfacecolor": "white"}
        ax.plot(places, typical(values), label=label, **style)
    square = float(typical(times.sel(kind="unseen"))[0]) * (colours / colours[0]) ** -2.0
    ax.plot(colours, square, color=QUIET, linewidth=1, label="one linear layer: power −2")
    ax.set(xscale="log", yscale="log")
    ticks = colours[:: -(-len(colours) // 4)]
    ax.set_xticks(ticks, labels=[f"{c:g}" for c in ticks])
    low, high = (float(end) for end in ax.get_ylim())
    ticks = [n * 10**k for k in range(5) for n in (1, 2, 5) if low <= n * 10**k <= high]
    ax.set_yticks(ticks, labels=[f"{n:,}" for n in ticks])
    ax.minorticks_off()


def _draw_sizes(ax: Axes, times: xr.DataArray) -> None:
    for k, size in enumerate(times["size"].values, 3):
        of_size = times.sel(size=size).dropna("colour")
        ax.plot(of_size.colour, of_size, label=f"sizes {size:g} apart", **look(k))
