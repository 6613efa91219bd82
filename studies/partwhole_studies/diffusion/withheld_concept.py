"""Prompts that leave a concept out, and how a diffusion model completes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from partwhole.study import Cells, Config, key, mean
from partwhole.study.plots import panels
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import PAPER, POINTS, SHORT
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.training_sets import UNSEEN

OVER = 0.25
EXAGGERATED = f"over {OVER:g}"
COLOUR = 0.358
RED = "red big"
COMPLETE = ("blue big",)  # the class whose conditions are never masked
PROMPTS = {
    UNSEEN: "Blue small",
    EXAGGERATED: "Blue small, exaggerated",
    RED: "Red big",
}


def _cells(kind: Config, shares: Sequence[float], seeds: int) -> list[Config]:
    kind = kind | {"colour": COLOUR, "over": [OVER]}
    return [kind | {"masked": share, "seed": seed} for seed in range(seeds) for share in shares]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, (0.0, 1.0), 1),
    "laptop": _cells(SHORT, (0.0, 1.0), 8),
    "paper": _cells(PAPER, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    return readings.gather(cells, "masked")


def blue(data: xr.Dataset, prompt: str) -> xr.DataArray:
    """Return the mean colour coordinate of a prompt's samples, (masked, seed, step)."""
    path = readings.means(data, prompt).sel(concept="colour", drop=True)
    return path.transpose("masked", "seed", "step")


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data, COMPLETE)
    labelled, withheld = {"masked": 0}, {"masked": -1}
    plain, over, red = (
        readings.ends(runs, prompt).sel(concept="colour", drop=True) for prompt in PROMPTS
    )
    times = readings.settled(blue(runs, UNSEEN))
    masked, complete = (float(plain.isel(part).mean()) for part in (withheld, labelled))
    return {
        "loss": mean(plain.isel(labelled) - plain.isel(withheld), within=(-1.0, 1.0)),
        "delay": readings.later(times.isel(withheld), times.isel(labelled), data),
        "elicited": mean(over.isel(withheld), within=(0.0, 1.0)),
        "red_gain": mean(red.isel(withheld) - red.isel(labelled), within=(-1.0, 1.0)),
        "share": float(data.masked[-1]),
        "plain": masked,
        "complete": complete,
        "redder": "redder" if round(masked, 2) < round(complete, 2) else "no redder",
        "readers": readings.differences(data),
        **readings.counts(runs),
    }


def figure(data: xr.Dataset) -> Figure:
    runs = readings.learned(data, COMPLETE)
    drawn, axes = panels(1, 3, 3.2, sharey=True)
    for ax, (prompt, title) in zip(axes[0], PROMPTS.items(), strict=True):
        for k, share in enumerate(map(float, data.masked.values)):
            label = f"{share:.0%} of red samples masked"
            readings.curves(ax, blue(runs, prompt).sel(masked=share), k, label)
        ax.set_title(title, fontsize=9)
        ax.set(xlabel=data.step.long_name, ylim=(-0.03, 1.03))
    axes[0, 0].set_ylabel("how blue samples are")
    return key(drawn, columns=3)
