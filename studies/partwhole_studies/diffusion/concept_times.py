"""Learning time of a concept in diffusion models, against its signal in the data."""

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


def _cells(kind: Config, colours: Sequence[float], seeds: int) -> list[Config]:
    return [kind | {"colour": c, "seed": seed} for seed in range(seeds) for c in colours]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, CONCEPT_SIGNALS[1:17:7], 1),
    "laptop": _cells(POINTS, CONCEPT_SIGNALS[1::3], 10),
    "paper": _cells(PAPER, CONCEPT_SIGNALS, 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    return readings.gather(cells, "colour")


def times(data: xr.Dataset) -> xr.DataArray:
    """Return the step after which more than half of the way is covered, (kind, colour, seed)."""
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


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data, REFERENCES)
    measured = times(runs)
    capped = readings.capped(measured, data)
    unseen, trained = (capped.sel(kind=kind, drop=True) for kind in ("unseen", "trained"))
    slope = mean(by_seed(unseen, exponent, 3))
    ends = typical(unseen).isel(colour=[0, -1]).values.tolist()
    unlearned = (measured.sel(kind="unseen") == np.inf).any("seed").isel(colour=[0, -1])
    first, last = (
        f"at least {time:.0f}" if censored else time
        for time, censored in zip(ends, unlearned.values, strict=True)
    )
    return {
        "correlation": mean(by_seed(unseen, rank_correlation, 2), within=(-1.0, 1.0)),
        "slope": slope,
        "delay": readings.later(unseen, trained, data),
        "steepness": "less steeply than"
        if slope.low > -2
        else "more steeply than"
        if slope.high < -2
        else "neither clearly more nor less steeply than",
        "first": first,
        "last": last,
        **readings.counts(runs),
    }


def figure(data: xr.Dataset) -> Figure:
    runs = readings.learned(data, REFERENCES)
    drawn, axes = mosaic("A", 3.6)
    _draw(axes["A"], readings.capped(times(runs), data))
    axes["A"].set(xlabel="separation of the colours", ylabel="training steps to half of the value")
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
    ax.plot(colours, square, color=QUIET, linewidth=1, label="linear network: power −2")
    ax.set(xscale="log", yscale="log")
    ticks = colours if len(colours) < 6 else colours[:: len(colours) // 5]
    ax.set_xticks(ticks, labels=[f"{c:g}" for c in ticks])
    low, high = (float(end) for end in ax.get_ylim())
    ticks = [n * 10**k for k in range(5) for n in (1, 2, 5) if low <= n * 10**k <= high]
    ax.set_yticks(ticks, labels=[f"{n:,}" for n in ticks])
    ax.minorticks_off()
