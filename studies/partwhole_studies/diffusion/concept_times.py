"""When each concept is learned, for how strongly it shows in the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import kendalltau

from partwhole.study import Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.study.estimates import by_seed, estimate, known
from partwhole.tasks.shapes import CONCEPT_SIGNALS
from partwhole_studies.diffusion import _reading as reading
from partwhole_studies.diffusion._runs import PAPER, POINTS, SHORT, UNSEEN
from partwhole_studies.diffusion._runs import train as train

QUESTION = "How much sooner does a diffusion model learn a concept that shows more in its data?"
SOURCE = "Park et al. (NeurIPS 2024), learning times over the concept signal"
ANSWER = (
    "Of points, the sooner the further colours are apart, far less steeply than with the square of "
    "their separation as in a linear network; size comes first where colours are weak. Small "
    "models of images do so in the mean, not one by one."
)
CAPTION = (
    "Steps until half of the way is covered for good, over how far colours are apart: the colour "
    "of the combination that was not shown, of a class that was, and the unseen one's size; "
    "geometric mean of the models that learn it. Numbers at the top: models that do not."
)

LATER = float(np.log(1.1))
SEEN = "blue big"
SHOWN = ("red big", "red small")
KINDS = {"unseen": "colour, not shown", "seen": "colour, shown", "size": "size, not shown"}


def _cells(kind: Config, colours: Sequence[float], seeds: int) -> list[Config]:
    return [kind | {"colour": c, "seed": seed} for seed in range(seeds) for c in colours]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, CONCEPT_SIGNALS[1:17:7], 2),
    "laptop": _cells(SHORT, CONCEPT_SIGNALS[4:17:6], 3),
    "paper": _cells(PAPER, CONCEPT_SIGNALS, 5),
}
cell = train


def gather(cells: Cells) -> xr.Dataset:
    """Lay what every sample was read as over signals, seeds, steps and prompts."""
    return reading.gather(cells, "colour")


def times(data: xr.Dataset) -> xr.DataArray:
    """Return when half of the way is gone for good, (kind, colour, seed); infinite if never."""
    asked = {"unseen": (UNSEEN, "colour"), "seen": (SEEN, "colour"), "size": (UNSEEN, "size")}
    found = [
        reading.settled(reading.means(data, prompt).sel(concept=concept, drop=True))
        for prompt, concept in asked.values()
    ]
    laid = xr.concat(found, xr.DataArray(list(asked), dims="kind"))
    return laid.assign_coords(kind=list(asked)).transpose("kind", "colour", "seed")


def falls(found: xr.DataArray) -> xr.DataArray:
    """Return Kendall's correlation of signal and time for each seed; those never learned last."""
    return _by_seed(found, _kendall, 2)


def _kendall(one: np.ndarray, other: np.ndarray) -> float:
    tau, _ = kendalltau(one, other)
    return float(np.asarray(tau))


def slopes(found: xr.DataArray, last: float) -> xr.DataArray:
    """Return for each seed how the log of the time falls with that of the signal.

    What is never learned counts as learned at the last record, so that slopes are too shallow.
    """
    return _by_seed(
        found.where(~(found > last), last), lambda c, t: np.polyfit(np.log(c), np.log(t), 1)[0], 3
    )


def _by_seed(
    found: xr.DataArray, read: Callable[[np.ndarray, np.ndarray], float], least: int
) -> xr.DataArray:
    values = []
    for row in found.transpose("seed", "colour").values:
        there = ~np.isnan(row)
        row = np.where(np.isinf(row), 1e12, row)
        known = there.sum() >= least
        values.append(read(found.colour.values[there], row[there]) if known else np.nan)
    return xr.DataArray(np.array(values, float), dims="seed")


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh whether strong concepts are learned first, and how steeply times fall."""
    kept, trained = reading.trained(data, of=SHOWN)
    found = times(kept)
    unseen, seen, size = (found.sel(kind=kind, drop=True) for kind in KINDS)
    last = float(data.step.values[-1])
    centre, ends = estimate(by_seed(falls(unseen)))
    steep, bounds = estimate(by_seed(slopes(unseen, last)))
    never = int(np.isinf(unseen.values).sum())
    return [
        trained,
        Claim(
            "The stronger the colour signal, the sooner colour is right where it was not shown: "
            "Kendall's correlation of signal and learning time.",
            SOURCE,
            -0.3,
            centre,
            0.0,
            ends,
            relation="at most",
            note=f"{never} of {unseen.size} models never learn it; they count as last.",
        ),
        Claim(
            "Times fall with the square of the signal, as in the exact flow of a linear network: "
            "slope of log time over log signal.",
            "derived here, from the exact flow of one layer",
            -2.0,
            steep,
            0.3,
            bounds,
            note="Where it is never learned, the last step stands for the time.",
        ),
        reading.at_least(
            "Colour is learned later where it was not shown: log of how many times later, mean "
            "over signals.",
            "Park et al. (NeurIPS 2024), learning times",
            LATER,
            reading.later(unseen, seen, data).mean("colour"),
            "",
        ),
        reading.at_least(
            "At the weakest colour signal size comes first: log of how many times later colour is "
            "learned.",
            "Park et al. (NeurIPS 2024), learning times",
            LATER,
            reading.later(unseen, size, data).isel(colour=0),
            "",
        ),
        *reading.readers(data),
    ]


def figure(data: xr.Dataset) -> Figure:
    """Draw learning times over the signal."""
    kept, _ = reading.trained(data, of=SHOWN)
    drawn, axes = plots.mosaic("A", 3.2)
    _draw(axes["A"], times(kept))
    return drawn


def _draw(ax: Axes, found: xr.DataArray) -> None:
    for k, (kind, label) in enumerate(KINDS.items()):
        each = found.sel(kind=kind).transpose("colour", "seed").values
        logs = [np.log(known(row)) for row in each]
        centres = [np.exp(log.mean()) if len(log) else np.nan for log in logs]
        ax.plot(found.colour, centres, label=label, **plots.look(k))
        for colour, row in zip(found.colour.values, each, strict=True):
            if np.isinf(row).any():
                told = f"{int(np.isinf(row).sum())} never"
                ax.annotate(
                    told, (colour, 1.0 - 0.05 * k), xycoords=("data", "axes fraction"),
                    color=plots.COLOURS[k], fontsize=7, ha="center",
                )  # fmt: skip
    ax.set(xscale="log", yscale="log", xlabel="how far colours are apart", ylabel="steps")
    ax.set_xticks(found.colour.values, labels=[f"{c:g}" for c in found.colour.values])
    low, high = (float(each) for each in ax.get_ylim())
    steps = [n * 10**k for k in range(5) for n in (1, 2, 3, 5) if low <= n * 10**k <= high]
    ax.set_yticks(steps, labels=[f"{n}" for n in steps])
    ax.minorticks_off()
    reading.legend(ax)
