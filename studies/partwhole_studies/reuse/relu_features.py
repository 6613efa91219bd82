"""Hidden units shared with an auxiliary task: ReLU networks that reuse them, or don't."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole_studies.reuse._relu_claims import claims as claims
from partwhole_studies.reuse._relu_claims import published
from partwhole_studies.reuse._relu_runs import (
    FULL,
    LONG,
    MEDIUM,
    ROOT,
    SMALL,
    TANGENT,
    UNIT,
    learned,
    named,
    of_unit_readouts,
    tuned,
)
from partwhole_studies.reuse._relu_tables import ALL, BY_CORRELATIONS, HALF, NONE, SIZES
from partwhole_studies.reuse._tables import SCRATCH

QUESTION = (
    "Do ReLU networks, too, learn from fewer samples when they reuse hidden units of an auxiliary "
    "task, and does it matter how many they need?"
)
SOURCE = (
    "Lippl & Lindsey (NeurIPS 2024), figures 2b, 2d, 2f, 3e, 3f and 9b, and their published errors"
)
ANSWER = (
    "Yes: with all six units shared and 64 samples finetuning has 1/14 of the single-task error, "
    "multi-task learning 1/60; with none, 1.3 and 1.2 times it. At c = .1 six units err 220 times "
    "as much as one, at c = 10 alike."
)
CAPTION = (
    "Test error over the variance of the targets, against samples of the main task: mean (line) "
    "and single networks (hollow) at the end of training; crosses: published means of six seeds. "
    "Top: main tasks of six units, of which the auxiliary task shares none, three or all. Bottom: "
    "finetuning on main tasks of one or six units, all shared, after the first layer was "
    "multiplied by c; their readouts are one over the number of units. Probing has no intercept "
    "here; published errors where little is shared are those of regression with one. The quick "
    "version is small: 64 hidden units, where the laptop version and the published networks have "
    "1,000. Both take steps of .3 and fewer of them; the published ones took 1 or .1."
)

ONE = tuned(1.0)
WAYS = [SINGLE, MULTI, ONE, PROBING, TANGENT, SCRATCH]
DRAWN = (SINGLE, MULTI, ONE, PROBING)
SHORT = {SINGLE: SINGLE, MULTI: MULTI, ONE: FINETUNING, PROBING: PROBING}


def _cells(
    scale: Config,
    seeds: int,
    mixes: Sequence[Sequence[Real]],
    sizes: Sequence[int],
    units: Sequence[int],
    rescalings: Sequence[Real],
    fewer: Sequence[int],
    *,
    new: bool = False,
    together: bool = False,
) -> list[Config]:
    """Return a cell for each main task and number of samples; those of few units at sizes fewer."""
    common = scale | {"seeds": list(range(seeds))}
    found = [
        common
        | {
            "entries": ROOT,
            "correlations": list(mix),
            "magnitude": 1.0,
            "n": n,
            "ways": [*WAYS, LONG] if tuple(mix) == ALL and scale["rate"] < 1 else WAYS,
        }
        for mix in mixes
        for n in sizes
    ]
    ways = [SINGLE, *([MULTI] if together else []), *map(tuned, rescalings), PROBING]
    return found + [
        common
        | {
            "entries": UNIT,
            "correlations": [correlation] * count,
            "magnitude": of_unit_readouts(count),
            "n": n,
            "ways": ways,
        }
        for correlation in ((1, 0) if new else (1,))
        for count in units
        for n in fewer
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(SMALL, 3, (NONE, HALF, ALL), (32, 64), (1, 6), (0.1, 1.0, 10.0), (32, 64)),
    "laptop": _cells(
        MEDIUM, 3, (NONE, HALF, ALL), (32, 64, 128), (1, 6), (0.1, 1.0, 10.0), (32, 64, 128)
    ),
    "paper": _cells(
        FULL,
        6,
        list(dict.fromkeys(mix for mix, _ in BY_CORRELATIONS)),
        SIZES,
        (),
        (),
        (),
    )
    + _cells(
        # As published: steps of .1 where one task is learned.
        FULL | {"rate": 0.1},
        6,
        (),
        (),
        (1, 2, 3, 4, 5, 6),
        (0.01, 0.1, 1.0, 10.0, 100.0),
        SIZES,
        new=True,
        together=True,
    ),
}


def _task(config: Config) -> str:
    return named(config["correlations"], config["entries"])


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def gather(cells: Cells) -> xr.Dataset:
    """Lay errors over tasks, sizes, ways and seeds; NaN where there are none."""
    tasks = list(dict.fromkeys(_task(config) for config, _ in cells))
    sizes = sorted({config["n"] for config, _ in cells})
    ways = list(dict.fromkeys(way for config, _ in cells for way in config["ways"]))
    seeds = cells[0][0]["seeds"]
    words = {
        "final": "error at the end / variance of the targets",
        "best": "least error along training / variance of the targets",
        "left": "training loss of the main task at the end / variance of the targets",
    }
    laid = {
        each: np.full((len(tasks), len(sizes), len(ways), len(seeds)), np.nan) for each in words
    }
    for config, found in cells:
        for i, way in enumerate(config["ways"]):
            at = (tasks.index(_task(config)), sizes.index(config["n"]), ways.index(way))
            for each in words:
                laid[each][at] = found[each][i]
    dims = ("task", "n", "way", "seed")
    pretrained = [found["pretrained"].max() for _, found in cells]
    data = xr.Dataset(
        {each: (dims, laid[each], {"long_name": told}) for each, told in words.items()},
        coords={"task": tasks, "n": sizes, "way": ways, "seed": seeds},
    )
    return data.assign_attrs(
        hidden=cells[0][0]["hidden"],
        full=int(all(config["epochs"] >= FULL["epochs"] for config, _ in cells)),
        pretraining_loss=float(np.max(pretrained)),
    )


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("ABC;DEF", 5.6, sharey=True)
    for letter, mix, title in zip(
        "ABC", (NONE, HALF, ALL), ("No unit shared", "Three of six", "All six"), strict=True
    ):
        _draw_ways(axes[letter], data, named(mix, ROOT))
        axes[letter].set_title(title)
    for letter, c in zip("DEF", (1.0, 0.1, 10.0), strict=True):
        _draw_units(axes[letter], data, c)
        axes[letter].set_title(f"Reused, c = {f'{c:g}'.removeprefix('0')}")
    for letter, ax in axes.items():
        ax.set(xscale="log", yscale="log", ylim=(5e-7, 4), xlim=(data.n[0] / 1.3, data.n[-1] * 1.3))
        ax.set_yticks([1e-6, 1e-4, 1e-2, 1])
        ax.yaxis.set_ticks([], minor=True)
        ax.xaxis.set_ticks(data.n.values, labels=[str(n) for n in data.n.values])
        ax.xaxis.set_ticks([], minor=True)
        ax.set_xlabel("samples" if letter in "DEF" else "")
    for letter in "AD":
        axes[letter].set_ylabel("test error / variance")
    _name_series(axes["A"], [SHORT[way] for way in DRAWN], range(len(DRAWN)))
    counts = sorted({len(task.split()) - 1 for task in data.task.values if task.endswith(UNIT)})
    words = [f"{a} unit{'s' * (a > 1)}" for a in counts]
    _name_series(axes["D"], words, range(4, 4 + len(counts)))
    return drawn


def _draw_ways(ax: Axes, data: xr.Dataset, task: str) -> None:
    for i, way in enumerate(DRAWN):
        _draw_errors(ax, data, task, way, i, 1.04 ** (i - 1.5))


def _draw_units(ax: Axes, data: xr.Dataset, c: Real) -> None:
    tasks = [t for t in data.task.values if t.endswith(UNIT) and t.startswith("1")]
    for i, task in enumerate(sorted(tasks, key=len)):
        _draw_errors(ax, data, task, tuned(c), 4 + i, 1.04 ** (i - 0.5))


def _draw_errors(ax: Axes, data: xr.Dataset, task: str, way: str, look: int, aside: float) -> None:
    """Draw the mean of errors at the end, single networks, and published means a bit aside."""
    errors = data.final.sel(task=task, way=way).dropna("n", how="all").transpose("seed", "n")
    style = plots.look(look)
    n = aside * errors.n
    ax.plot(n, errors.mean("seed"), **style)
    for one in errors:
        ax.plot(n, one, **plots.look(look, line=False, markersize=3.5, markeredgewidth=0.8))
    told = {aside * n: error for n, error in published(task, way).items() if n in data.n}
    ax.plot(list(told), list(told.values()), "x", color=style["color"], markersize=6)


def _name_series(ax: Axes, words: Sequence[str], looks: Sequence[int]) -> None:
    """Name series at the bottom left, from below upward."""
    at = {"transform": ax.transAxes, "fontsize": 8}
    for k, (word, look) in enumerate(zip(words, looks, strict=True)):
        colour = plots.look(look)["color"]
        plots.name(ax, 0.05, 0.05 + 0.08 * (len(words) - 1 - k), word, colour, **at)
