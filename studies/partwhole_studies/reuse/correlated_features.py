"""Units close to those of an auxiliary task, and distinct: when ReLU networks gain from them."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.limits import relu_penalty
from partwhole.recommendation.methods import FINETUNING, MULTI, SINGLE
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole_studies.reuse._correlated_claims import UNITS, published, strengths
from partwhole_studies.reuse._correlated_claims import claims as claims
from partwhole_studies.reuse._relu_runs import FULL, SMALL, learned, tuned
from partwhole_studies.reuse._relu_tables import LARGER, SIZES

QUESTION = (
    "What does a ReLU network gain from an auxiliary task whose hidden units point nearly, but "
    "not quite, where those of the main task do?"
)
SOURCE = "Lippl & Lindsey (NeurIPS 2024), figure 4, and its published errors"
ANSWER = (
    "Much if it finetunes: at .9 and 64 samples it has 25 % of the single-task error, multi-task "
    "learning 36 %. With 256 samples, at .8, finetuning has 5 % of it beside units of its own "
    "size, and 5 times it beside units 100 times as large."
)
CAPTION = (
    "Top: test error over the variance of the targets, mean (line) and single networks (hollow); "
    "crosses: published, from six seeds on the left and from one on the right. Left: all six units "
    "correlated .9 with auxiliary ones, of the same size. Right: correlated .8, finetuning where "
    "main units are 1 or 1/100 times as large as auxiliary ones, beside single-task learning. "
    "Bottom: penalty on a pretrained unit that ends at a strength and an angle, by its strength "
    "before. Left: its order; near 0 it hardly depends on the strength, since all goes into "
    "turning. Right: feature dependence; above 0 a stronger pretrained unit costs more. Dots: the "
    "two magnitudes. Networks are small here: 100 hidden units in the quick version, 300 in the "
    "laptop version, where 1,000 were published."
)

ONE = tuned(1.0)
CORRELATIONS = (1.0, 0.9, 0.8)


def _cells(
    scale: Config,
    seeds: int,
    sizes: Sequence[int],
    magnitudes: dict[float, dict[float, tuple[int, ...]]],
    seeds_of_magnitudes: int,
) -> list[Config]:
    """Return cells of tasks as large as the auxiliary one, then those of some magnitudes.

    magnitudes: for each and for each correlation, the numbers of samples.
    """
    found = [
        scale
        | {
            "part": "methods",
            "correlations": [0.9] * UNITS,
            "magnitude": 1.0,
            "aux_magnitude": 1.0,
            "n": n,
            "ways": [SINGLE, MULTI, ONE],
            "seeds": list(range(seeds)),
        }
        for n in sizes
    ]
    # Both teachers are means over their units, the main one times the magnitude. A small task
    # makes single-task learning slow, so that its steps are the larger, and units slow to turn.
    mean = 1.0 / sqrt(UNITS)
    return found + [
        scale
        | {
            "part": "magnitudes",
            "correlations": [correlation] * UNITS,
            "magnitude": magnitude * mean,
            "aux_magnitude": mean,
            "rate": scale["rate"] if magnitude == 1 else scale["rate_if_small"],
            "epochs": scale["epochs"] if magnitude == 1 else scale["epochs_if_small"],
            # Steps in proportion make all magnitudes alike where no unit is pretrained.
            "rate_single": scale["rate"] / (magnitude * mean),
            "epochs_single": scale["epochs"],
            "n": n,
            "ways": [SINGLE, ONE],
            "seeds": list(range(seeds_of_magnitudes)),
        }
        for magnitude, asked in magnitudes.items()
        for correlation, sizes_of_it in asked.items()
        for n in sizes_of_it
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(
        SMALL | {"hidden": 100, "epochs": 4_000, "rate_if_small": 4.0, "epochs_if_small": 8_000},
        3,
        (32, 64),
        {1.0: {0.8: (64, 256)}, 0.01: {1.0: (64,), 0.8: (64, 256)}},
        3,
    ),
    "laptop": _cells(
        SMALL
        | {
            "hidden": 300,
            "epochs": 12_000,
            "epochs_together": 600,
            "threshold": 1e-6,
            "pretrain_steps": 4_000,
            "records": 50,
            "rate_if_small": 2.0,
            "epochs_if_small": 24_000,
        },
        3,
        (32, 64, 128, 256),
        {
            1.0: {0.9: (64, 256), 0.8: (64, 256)},
            0.01: {1.0: (64,), 0.9: (64, 256), 0.8: (64, 256)},
        },
        3,
    ),
    "paper": _cells(
        FULL | {"rate_if_small": 1.0, "epochs_if_small": FULL["epochs"]},
        6,
        SIZES,
        {m: dict.fromkeys(CORRELATIONS, LARGER) for m in (1.0, 0.5, 0.1, 0.05, 0.01)},
        1,
    ),
}


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def gather(cells: Cells) -> xr.Dataset:
    """Lay errors of both parts over sizes, ways and seeds; NaN where there are none."""
    words = {
        "final": "error at the end / variance of the targets",
        "best": "least error along training / variance of the targets",
        "left": "training loss at the end / variance of the targets",
    }
    parts = {
        part: [(config, found) for config, found in cells if config["part"] == part]
        for part in ("methods", "magnitudes")
    }
    data = xr.Dataset(
        attrs={
            "hidden": cells[0][0]["hidden"],
            "pretraining_loss": float(max(found["pretrained"].max() for _, found in cells)),
        }
    )
    for part, some in parts.items():
        axes: dict[str, list] = {
            "magnitude": sorted({_magnitude(config) for config, _ in some}, reverse=True),
            "correlation": sorted({config["correlations"][0] for config, _ in some}, reverse=True),
            "n": sorted({config["n"] for config, _ in some}),
            "way": some[0][0]["ways"],
            "seed": some[0][0]["seeds"],
        }
        laid = {each: np.full([len(axis) for axis in axes.values()], np.nan) for each in words}
        for config, found in some:
            at = tuple(
                axes[axis].index(value)
                for axis, value in (
                    ("magnitude", _magnitude(config)),
                    ("correlation", config["correlations"][0]),
                    ("n", config["n"]),
                )
            )
            for each in words:
                laid[each][at] = found[each]
        dims = tuple(f"{part}_{axis}" for axis in axes)
        for each, told in words.items():
            data[f"{part}_{each}"] = (dims, laid[each], {"long_name": told})
        data = data.assign_coords({f"{part}_{axis}": values for axis, values in axes.items()})
    return data


def _magnitude(config: Config) -> float:
    return round(config["magnitude"] / config["aux_magnitude"], 9)


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD", 6.0)
    _draw_methods(axes["A"], data)
    _draw_magnitudes(axes["B"], data)
    _draw_penalty(axes["C"], "order", "order of the penalty")
    _draw_penalty(axes["D"], "feature_dependence", "feature dependence")
    return drawn


def _draw_methods(ax: Axes, data: xr.Dataset) -> None:
    errors = data.methods_final.isel(methods_magnitude=0, methods_correlation=0)
    words = (SINGLE, MULTI, FINETUNING)
    for i, (way, word) in enumerate(zip((SINGLE, MULTI, ONE), words, strict=True)):
        one = errors.sel(methods_way=way)
        one = one.rename(methods_n="n", methods_seed="seed")
        _draw_one(ax, one, i, published(1.0, way, 0.9), 1.04 ** (i - 1))
        _name(ax, i, word, plots.COLOURS[i])
    ax.set_title("Correlated .9, same magnitude")
    _log(ax, data.methods_n.values)


def _draw_magnitudes(ax: Axes, data: xr.Dataset) -> None:
    shown = (
        (1.0, ONE, "as large, finetuning"),
        (0.01, ONE, "1/100, finetuning"),
        (0.01, SINGLE, "1/100, single-task"),
    )
    for i, (magnitude, way, word) in enumerate(shown):
        look = (3, 4, 0)[i]
        errors = data.magnitudes_final.sel(
            magnitudes_magnitude=magnitude, magnitudes_correlation=0.8, magnitudes_way=way
        )
        errors = errors.rename(magnitudes_n="n", magnitudes_seed="seed")
        told = published(magnitude, way, 0.8, one_seed=True)
        _draw_one(ax, errors, look, told, 1.04 ** (i - 1))
        _name(ax, i, word, plots.COLOURS[look])
    ax.set_title("Correlated .8, two magnitudes")
    _log(ax, data.magnitudes_n.values)
    ax.set_ylabel("")


def _draw_one(
    ax: Axes, errors: xr.DataArray, look: int, told: dict[int, float], aside: float
) -> None:
    there = errors.dropna("n", how="all").transpose("seed", "n")
    ax.plot(aside * there.n, there.mean("seed"), **plots.look(look))
    marks = plots.look(look, line=False, markersize=3.5, markeredgewidth=0.8)
    for each in there:
        ax.plot(aside * there.n, each, **marks)
    kept = {aside * n: error for n, error in told.items() if n in errors.n}
    ax.plot(list(kept), list(kept.values()), "x", color=plots.COLOURS[look], markersize=6)


def _log(ax: Axes, sizes: np.ndarray) -> None:
    ax.set(xscale="log", yscale="log", xlabel="samples", ylabel="test error / variance")
    ax.set(xlim=(min(sizes) / 1.4, max(sizes) * 1.4), ylim=(8e-6, 1.5))
    ax.xaxis.set_ticks(sizes, labels=[str(n) for n in sizes])
    ax.xaxis.set_ticks([], minor=True)


def _name(ax: Axes, row: int, word: str, colour: str) -> None:
    plots.name(ax, 0.05, 0.05 + 0.08 * row, word, colour, transform=ax.transAxes, fontsize=8)


def _draw_penalty(ax: Axes, quantity: str, label: str) -> None:
    """Draw a power of the penalty on a unit of strength 1 against its pretrained strength."""
    before = np.geomspace(1e-2, 1e3, 301)
    for i, cosine in enumerate((1.0, 0.9, 0.8, 0.0)):
        curve = getattr(relu_penalty(1.0, before, cosine), quantity)
        ax.plot(before, curve, **plots.look(i))
        if cosine in (1.0, 0.8):
            for magnitude in (1.0, 0.01):
                end, start = strengths(magnitude)
                value = getattr(relu_penalty(end, start, cosine), quantity)
                ax.plot(start / end, value, "o", color=plots.COLOURS[i], markersize=5)
        if quantity == "order":
            _name_curve(ax, i, cosine)
    ax.set(xscale="log", xlabel="pretrained strength / strength", ylabel=label)


def _name_curve(ax: Axes, row: int, cosine: float) -> None:
    y = 0.44 - 0.13 * row
    words = "same direction" if cosine == 1 else f"correlated {cosine:g}".replace("0.", ".")
    plots.name(ax, 0.011, y, words, plots.COLOURS[row], fontsize=8)
