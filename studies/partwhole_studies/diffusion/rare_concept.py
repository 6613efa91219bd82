"""A concept value with few training samples: in its training class, and in a new combination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.study import Cells, Config, key, mean
from partwhole.study.plots import look, mosaic
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import PAPER, POINTS, SHORT
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.training_sets import UNSEEN

TRAINED = "blue big"
REFERENCES = ("red big", "red small")  # classes whose samples are not rare
COLOUR = 0.6


def _cells(kind: Config, counts: Sequence[int], seeds: int) -> list[Config]:
    kind = kind | {"colour": COLOUR}
    return [kind | {"rare": k, "seed": seed} for seed in range(seeds) for k in counts]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, (4, 40, 400), 1),
    "laptop": _cells(SHORT, (8, 64, 512), 10),
    "paper": _cells(PAPER, (8, 32, 128, 512, 2048), 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    return readings.gather(cells, "rare")


def late(data: xr.Dataset, prompt: str) -> xr.DataArray:
    """Return the multiplicative accuracy late in training, (rare, seed)."""
    accuracy = readings.accuracy(data, prompt).isel(step=readings.late(data))
    return accuracy.mean("step", skipna=False).transpose("rare", "seed")


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data, REFERENCES)
    trained, unseen = late(runs, TRAINED), late(runs, UNSEEN)
    gap = trained - unseen
    blue = readings.means(runs, UNSEEN).sel(concept="colour", drop=True)
    times = readings.settled(blue)
    rare, frequent = {"rare": 0}, {"rare": -1}
    gain = mean(unseen.isel(frequent) - unseen.isel(rare), within=(-1.0, 1.0))
    return {
        "gain": gain,
        "help": "helps" if gain.low > 0 else "harms" if gain.high < 0 else "has no clear effect",
        "excess": mean(gap.isel(rare) - gap.isel(frequent), within=(-2.0, 2.0)),
        "delay": readings.later(times.isel(rare), times.isel(frequent), data),
        "at_least": "at least " if np.isinf(times.isel(rare)).any() else "",
        "few": int(data.rare[0]),
        "many": int(data.rare[-1]),
        "unseen_few": float(unseen.isel(rare).mean()),
        "unseen_many": float(unseen.isel(frequent).mean()),
        **readings.counts(runs),
    }


def figure(data: xr.Dataset) -> Figure:
    runs = readings.learned(data, REFERENCES)
    drawn, axes = mosaic("AB", 3.5, sharey=True)
    accuracy = readings.accuracy(runs, UNSEEN)
    for k, count in enumerate(data.rare.values):
        readings.curves(axes["A"], accuracy.sel(rare=count), k, f"{count} blue samples")
    axes["A"].set(title="Blue small, not in training", xlabel=data.step.long_name)
    axes["A"].set(ylabel="product of accuracies", ylim=(-0.03, 1.06))
    places = list(range(data.sizes["rare"]))
    for k, (prompt, label) in enumerate(((TRAINED, "blue big"), (UNSEEN, "blue small"))):
        values, shift = late(runs, prompt), 0.24 * (k - 0.5)
        marker = look(k + 3, line=False)
        shifted = [place + shift for place in places]
        axes["B"].plot(shifted, values, ".", color=marker["color"], markersize=4)
        axes["B"].plot(shifted, values.mean("seed"), label=label, **marker)
    axes["B"].set(title="Late in training", xlabel="blue samples", xlim=(-0.5, len(places) - 0.5))
    axes["B"].set_xticks(places, labels=[str(count) for count in data.rare.values])
    return key(drawn, columns=3)
