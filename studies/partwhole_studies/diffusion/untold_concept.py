"""Prompts that leave a concept out: what a diffusion model takes from what it was not told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole_studies.diffusion import _reading as reading
from partwhole_studies.diffusion._runs import PAPER, POINTS, SHORT, UNSEEN
from partwhole_studies.diffusion._runs import train as train

QUESTION = (
    "The prompts of red samples often leave red out. Does a diffusion model then draw a small one "
    "red, also when it is asked for a blue one, and can blue still be drawn out of it?"
)
SOURCE = "Park et al. (NeurIPS 2024), underspecified prompts"
ANSWER = (
    "No, not here: what is asked to be blue comes out at least as blue. A model that was never "
    "told of red takes any colour that it is told for blue: asked for red, it tends to blue as "
    "well."
)
CAPTION = (
    "How blue a model draws what it is asked to draw small and blue, over training, for the share "
    "of red samples that are not told to be red. Solid: plain prompts; dashed: an overstated one; "
    "dotted: how blue it draws what it is asked to draw red and big. Means of the models that "
    "learned to draw big blue ones."
)

OVER = 0.25
OVERSTATED = f"over {OVER:g}"
COLOUR = 0.358
RED = "red big"
TOLD_RIGHT = ("blue big",)  # the one class shown whose conditions always say all


def _cells(kind: Config, shares: Sequence[float], seeds: int) -> list[Config]:
    told = kind | {"colour": COLOUR, "over": [OVER]}
    return [told | {"masked": share, "seed": seed} for seed in range(seeds) for share in shares]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, (0.0, 1.0), 3),
    "laptop": _cells(SHORT, (0.0, 1.0), 3),
    "paper": _cells(PAPER, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), 5),
}
cell = train


def gather(cells: Cells) -> xr.Dataset:
    """Lay what every sample was read as over shares, seeds, steps and prompts."""
    return reading.gather(cells, "masked")


def blue(data: xr.Dataset, prompt: str) -> xr.DataArray:
    """Return how blue samples of a prompt are, (masked, seed, step)."""
    return reading.means(data, prompt).sel(concept="colour").transpose("masked", "seed", "step")


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh what is lost by what is not told, and what an overstated prompt brings back."""
    kept, trained = reading.trained(data, of=TOLD_RIGHT)
    late = {"step": reading.late(kept)}
    plain, over, red = (
        blue(kept, name).isel(late).mean("step", skipna=False) for name in (UNSEEN, OVERSTATED, RED)
    )
    table = "; ".join(
        f"{float(share):g}: {float(a):.2f} and {float(b):.2f}"
        for share, a, b in zip(kept.masked, plain.mean("seed"), over.mean("seed"), strict=True)
    )
    when, share = reading.settled(blue(kept, UNSEEN)), float(kept.masked[1])
    return [
        trained,
        reading.at_least(
            "What is not told goes with what is: the less often red is told, the redder what is "
            "asked to be small and blue; late mean of blue if red is always told, less that if "
            "it never is.",
            SOURCE,
            0.05,
            plain.isel(masked=0) - plain.isel(masked=-1),
            f"Plain and overstated by share: {table}. If it never is, what takes its place tells "
            "red as well as a word would.",
        ),
        reading.at_least(
            "It slows blue down too: log of how many times later what is asked to be small and "
            f"blue is blue in one half for good, with a share of {share:g} not told than with "
            f"{float(kept.masked[0]):g}.",
            SOURCE,
            float(np.log(1.1)),
            reading.later(when.isel(masked=1), when.isel(masked=0), data),
            "",
        ),
        reading.at_least(
            "The ability is there still: late mean of blue by an overstated prompt, if red is "
            "never told.",
            "Park et al. (NeurIPS 2024), over-prompting",
            0.5,
            over.isel(masked=-1),
            f"By a plain one {float(plain.isel(masked=-1).mean()):.2f}.",
        ),
        reading.at_least(
            "Where one colour only is ever told, any colour that is told means that one: late "
            "mean of blue in what is asked to be red and big, if red is never told, less that if "
            "it always is.",
            "derived here",
            0.25,
            red.isel(masked=-1) - red.isel(masked=0),
            "By share "
            + ", ".join(
                f"{float(k):g}: {float(v):.2f}"
                for k, v in zip(kept.masked, red.mean("seed"), strict=True)
            )
            + ".",
        ),
        *reading.readers(data),
    ]


def figure(data: xr.Dataset) -> Figure:
    """Draw how blue samples are over training."""
    kept, _ = reading.trained(data, of=TOLD_RIGHT)
    drawn, axes = plots.mosaic("A", 3.0)
    _draw(axes["A"], kept)
    return drawn


def _draw(ax: Axes, data: xr.Dataset) -> None:
    for k, share in enumerate(map(float, data.masked.values)):
        for name, line in ((UNSEEN, "-"), (OVERSTATED, "--"), (RED, ":")):
            found = blue(data, name).isel(masked=k).mean("seed")
            style: dict[str, Any] = plots.look(k) | {"linestyle": line}
            label = f"{100 * share:g} % not told" if name == UNSEEN else None
            ax.plot(data.step, found, label=label, **style)
    ax.set(xlabel="steps", ylabel="blue", ylim=(-0.03, 1.03))
    reading.legend(ax)
