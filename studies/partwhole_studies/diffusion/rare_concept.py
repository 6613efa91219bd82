"""A concept value of which there are few samples: where it was shown, and where it was not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole_studies.diffusion import _reading as reading
from partwhole_studies.diffusion._runs import PAPER, POINTS, SHORT, UNSEEN, classes
from partwhole_studies.diffusion._runs import train as train

QUESTION = (
    "How many samples of a concept value does a diffusion model need to draw it where it was "
    "shown, and how many to combine it with what it was never shown with?"
)
SOURCE = "Okawa et al. (NeurIPS 2023), frequency of a concept value"
ANSWER = (
    "A few do for points, whose conditions say where they lie. Of circles 8 among 2,000 teach "
    "nothing, 64 a little, and 512 most of what was shown and less of what was not."
)
CAPTION = (
    "How right both concepts are late in training (product), over how many samples are blue, all "
    "of them big: for the class that is shown and for the small blue one, which is not. Lines: "
    "means; dots: models that learned the red classes."
)

SEEN = "blue big"
COLOUR = 0.6


def _cells(kind: Config, counts: Sequence[int], seeds: int) -> list[Config]:
    told = kind | {"colour": COLOUR}
    return [told | {"rare": k, "seed": seed} for seed in range(seeds) for k in counts]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, (4, 40, 400), 2),
    "laptop": _cells(SHORT, (8, 64, 512), 3),
    "paper": _cells(PAPER, (8, 32, 128, 512, 2048), 5),
}
cell = train


def gather(cells: Cells) -> xr.Dataset:
    """Lay what every sample was read as over counts, seeds, steps and classes."""
    return reading.gather(cells, "rare")


def late(data: xr.Dataset, prompt: str) -> xr.DataArray:
    """Return the multiplicative accuracy late in training, (rare, seed)."""
    each = reading.accuracy(data, prompt, classes()[prompt])
    return each.isel(step=reading.late(data)).mean("step", skipna=False).transpose("rare", "seed")


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh how both classes depend on the count, and whether the unseen one needs more."""
    kept, trained = reading.trained(data, of=("red big", "red small"))
    seen, unseen = late(kept, SEEN), late(kept, UNSEEN)
    when = reading.settled(reading.means(kept, UNSEEN).sel(concept="colour", drop=True))
    few, many = (f"{int(kept.rare[k])}" for k in (0, -1))
    table = "; ".join(
        f"{int(k)}: {float(a):.2f} and {float(b):.2f}"
        for k, a, b in zip(kept.rare, seen.mean("seed"), unseen.mean("seed"), strict=True)
    )
    return [
        trained,
        reading.at_least(
            f"The more samples are blue, the better the combination that was not shown: accuracy "
            f"with {many} of them less that with {few}.",
            SOURCE,
            0.1,
            unseen.isel(rare=-1) - unseen.isel(rare=0),
            f"Shown and not shown by count: {table}.",
        ),
        reading.at_least(
            f"Few samples are enough where the value was shown: accuracy with {few}.",
            "Okawa et al. (NeurIPS 2023), memorised first",
            0.7,
            seen.isel(rare=0),
            "",
        ),
        reading.at_least(
            "What is not shown takes more samples: accuracy where blue was shown less that where "
            f"it was not, with {few} samples, less the same with {many}.",
            SOURCE,
            0.05,
            (seen - unseen).isel(rare=0) - (seen - unseen).isel(rare=-1),
            "",
        ),
        reading.at_least(
            "With few samples it takes longer: log of how many times later blue is right in one "
            f"half for good where it was not shown, with {few} samples than with {many}.",
            SOURCE,
            float(np.log(1.1)),
            reading.later(when.isel(rare=0), when.isel(rare=-1), data),
            "",
        ),
        *reading.readers(data),
    ]


def figure(data: xr.Dataset) -> Figure:
    """Draw late accuracies over counts."""
    kept, _ = reading.trained(data, of=("red big", "red small"))
    drawn, axes = plots.mosaic("A", 3.0)
    for k, name in enumerate((SEEN, UNSEEN)):
        _draw(axes["A"], late(kept, name), k, f"{name}, {'shown' if k == 0 else 'not shown'}")
    counts = [int(c) for c in data.rare.values]
    axes["A"].set(
        xscale="log", xlabel="blue samples", ylabel="both concepts right", ylim=(-0.03, 1.03)
    )
    axes["A"].set_xticks(counts, labels=map(str, counts))
    axes["A"].minorticks_off()
    reading.legend(axes["A"])
    return drawn


def _draw(ax: Axes, found: xr.DataArray, k: int, label: str) -> None:
    ax.plot(found.rare, found.mean("seed"), label=label, **plots.look(k))
    for each in found.transpose("seed", "rare").values:
        ax.plot(found.rare, each, "o", color=plots.COLOURS[k], markersize=2.5, alpha=0.6)
