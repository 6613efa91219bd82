"""Two-layer gated networks beside their limits by three norms, and the published programs."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from partwhole.measures import decision_agreement, inconsistency
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole_studies.gated import _two_layer_claims as on_digits
from partwhole_studies.gated import _two_layer_mnist as mnist
from partwhole_studies.gated import _two_layer_published as published
from partwhole_studies.gated._mnist import require_files
from partwhole_studies.gated._two_layer_claims import by_selection
from partwhole_studies.gated._two_layer_runs import (
    CODED,
    FUNCTION,
    GROUP,
    LEARNERS,
    LINEAR,
    LONGER,
    NETWORK,
    NUMBERS,
    UNITS,
    Split,
    run,
)

QUESTION = (
    "Where does training of a two-layer gated network end, and does the norm of its architecture "
    "tell that better than other norms?"
)
SOURCE = (
    "Lippl, Abbott & Chung (2022), figure 2; here on scikit-learn's digits, 0 to 4 against 5 to "
    "9, and with the preset mnist on MNIST"
)
ANSWER = (
    "At the limit by its group norm: with 10 units and 200 of scikit-learn's digits decisions "
    "agree with it beyond chance by .67 after 3,200 steps, at 35 % of the margin, and by .82 at "
    "93 %; with the function-space l2 limit by .55 and .61."
)
CAPTION = (
    "a: error of limits by three norms against that of the trained network. b: share of images "
    "that network and limit decide differently, after 3,200 steps (hollow) and, of scikit-learn's "
    "digits, after 4,000 more of the normalised flow (filled); dotted: two learners with "
    "independent errors p. c: error of the width and number of hyperplanes that are best on other "
    "images, with 95 % intervals; crosses: best on the images reported. d: mean error against "
    "width, and of scikit-learn's digits that of the published program of the function-space norm, "
    "which mixed contexts of different units. Of MNIST with the most images and, where there are "
    "any, thresholds at the median."
)

UNITS_TRIED, HYPERPLANES = (10, 20, 50), (1, 2)
PARTS = ("all", "report", "selection")
ENDS = (NETWORK, LONGER)
LIMITS = (GROUP, UNITS, FUNCTION)
BASELINES = (LINEAR, UNITS, FUNCTION)  # what the agreement of a limit is compared with
READ = (
    "agreement", "low", "high", "baseline", "baseline_low", "baseline_high", "above", "above_low",
    "above_high", "inconsistency", "by_chance",
)  # fmt: skip
# Axes that a number has beside those of its setting and seed, and what lies along them.
TOLD = {
    "learner": LEARNERS, "part": PARTS, "end": ENDS, "limit": LIMITS, "baseline": BASELINES,
    "reading": READ,
}  # fmt: skip
AXES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(NUMBERS, ()),
    "errors": ("learner", "part"),
    "apart": ("learner", "end"),
    "agreed": ("limit", "end", "baseline", "reading"),
}


def _cell(
    n_units: int, k: int, seeds: int, *, steps: int = 3200, more: int = 4000, coded: int = 1
) -> Config:
    return {
        "n_train": 200, "n_units": n_units, "hyperplanes": k, "seeds": list(range(seeds)),
        "max_steps": steps, "flow_steps": more, "coded": coded,
    }  # fmt: skip


PRESETS: dict[str, list[Config]] = {
    "quick": [_cell(10, 1, 3), _cell(20, 1, 3, steps=0, more=0)],
    "laptop": [
        _cell(10, 1, 8), _cell(20, 1, 8), _cell(50, 1, 6, more=0),
        _cell(10, 2, 6), _cell(20, 2, 6, more=0),
    ],
    "paper": [_cell(h, k, 12) for h in UNITS_TRIED for k in HYPERPLANES],
    "mnist": mnist.configurations(),
}  # fmt: skip


def cell(config: Config) -> Arrays:
    """Return errors, inconsistencies and norms of all splits, and how far decisions agree."""
    if "images" in config:
        split, mark = mnist.run(config)
        return _weigh([split]) | {"mark": np.asarray(mark)}
    return _weigh(
        [
            run(
                seed, config["n_train"], config["n_units"], config["hyperplanes"],
                config["max_steps"], config["flow_steps"], bool(config["coded"]),
            )
            for seed in config["seeds"]
        ]
    )  # fmt: skip


def _weigh(splits: list[Split]) -> Arrays:
    found = {name: np.array([each.numbers[name] for each in splits]) for name in NUMBERS}
    shape = (len(splits), len(LEARNERS))
    errors = np.full((*shape, len(PARTS)), np.nan)
    apart = np.full((*shape, len(ENDS)), np.nan)
    for i, each in enumerate(splits):
        wrong = 0.5 * (1.0 - np.sign(each.outputs) * each.labels)
        parts = wrong, wrong[:, : each.reported], wrong[:, each.reported :]
        errors[i] = np.stack([part.mean(axis=1) for part in parts], axis=-1)
        for j in range(len(LEARNERS)):
            for end, name in enumerate(ENDS):
                one, other = each.outputs[LEARNERS.index(name)], each.outputs[j]
                if np.isfinite(one).all() and np.isfinite(other).all():
                    apart[i, j, end] = inconsistency(one, other)
    return found | {"errors": errors, "apart": apart, "agreed": _agreement(splits)}


def _agreement(splits: list[Split]) -> np.ndarray:
    """Compare decisions in all splits together, in which images recur."""
    labels = np.concatenate([each.labels for each in splits])
    outputs = np.concatenate([each.outputs for each in splits], axis=1)
    by_name = dict(zip(LEARNERS, outputs, strict=True))
    agreed = np.full((len(LIMITS), len(ENDS), len(BASELINES), len(READ)), np.nan)
    for i, limit in enumerate(LIMITS):
        for j, end in enumerate(ENDS):
            for k, baseline in enumerate(BASELINES):
                asked = (by_name[each] for each in (end, limit, baseline))
                if limit == baseline or not all(np.isfinite(each).all() for each in asked):
                    continue
                told = decision_agreement(
                    by_name[end], by_name[limit], labels, linear=by_name[baseline], resamples=1000
                )
                agreed[i, j, k] = (
                    told.agreement, *told.agreement_interval, told.linear_agreement,
                    *told.linear_interval, told.above_linear, *told.above_linear_interval,
                    told.inconsistency, told.by_chance,
                )  # fmt: skip
    return agreed


def gather(cells: Cells) -> xr.Dataset:
    """Lay numbers over units, hyperplanes and seed; NaN where none was computed.

    Those of MNIST lie over the training size and the thresholds, too.
    """
    if "images" in cells[0][0]:
        return _gather_published(cells)
    seeds = sorted({seed for config, _ in cells for seed in config["seeds"]})
    shape = (len(UNITS_TRIED), len(HYPERPLANES), len(seeds))
    laid = {
        name: np.full((*shape, *(len(TOLD[each]) for each in more)), np.nan)
        for name, more in AXES.items()
    }
    laid["agreed"] = np.full((*shape[:2], *laid["agreed"].shape[3:]), np.nan)
    for config, found in cells:
        at = UNITS_TRIED.index(config["n_units"]), HYPERPLANES.index(config["hyperplanes"])
        rows = [seeds.index(seed) for seed in config["seeds"]]
        for name, values in laid.items():
            if name == "agreed":
                values[at] = found[name]
            else:
                values[at][rows] = found[name]
    dims = {"n_units": list(UNITS_TRIED), "hyperplanes": list(HYPERPLANES), "seed": seeds}
    return _dataset(laid, dims, pooled=True)


def _gather_published(cells: Cells) -> xr.Dataset:
    """Lay out cells of one network each, whose agreements are of that network."""
    require_files({float(found["mark"]) for _, found in cells}, "gated.two_layers")
    places = [(*(config[name] for name in mnist.AXES), *config["seeds"]) for config, _ in cells]
    axes = [sorted(set(each)) for each in zip(*places, strict=True)]
    shape = tuple(len(each) for each in axes)
    laid = {
        name: np.full((*shape, *(len(TOLD[each]) for each in more)), np.nan)
        for name, more in AXES.items()
    }
    for place, (_, found) in zip(places, cells, strict=True):
        at = tuple(axis.index(each) for axis, each in zip(axes, place, strict=True))
        for name, values in laid.items():
            values[at] = found[name] if name == "agreed" else found[name][0]
    dims: dict[str, list] = dict(zip(("n", *mnist.AXES[1:], "seed"), axes, strict=True))
    return _dataset(laid, dims, pooled=False).assign_attrs(images="mnist")


def _dataset(laid: dict[str, np.ndarray], dims: dict[str, list], *, pooled: bool) -> xr.Dataset:
    """Name axes; agreements are over all seeds where they are pooled."""
    every = tuple(dims)
    without = tuple(each for each in dims if each != "seed")
    words = NUMBERS | {
        "errors": "error, ties half",
        "apart": "share of images on which a trained network decides differently",
        "agreed": "agreement beyond chance with a trained network" + ", all splits" * pooled,
    }
    return xr.Dataset(
        {
            name: (
                (*(without if name == "agreed" and pooled else every), *AXES[name]),
                values,
                {"long_name": words[name]},
            )
            for name, values in laid.items()
        },
        coords=dims | {name: list(values) for name, values in TOLD.items()},
    )


def claims(data: xr.Dataset) -> list[Claim]:
    return published.claims(data) if _of_mnist(data) else on_digits.claims(data)


def _of_mnist(data: xr.Dataset) -> bool:
    return data.attrs.get("images") == "mnist"


NAMES = {
    NETWORK: "trained",
    LONGER: "longer",
    GROUP: "group norm",
    UNITS: "unit-wise l2",
    FUNCTION: "function l2",
    LINEAR: "linear",
    CODED: "function l2,\nas published",
}
SHOWN = (NETWORK, LONGER, *LIMITS, LINEAR)
# Places in the palette, the same in every panel.
PLACES = {NETWORK: 3, LONGER: 4, GROUP: 0, UNITS: 2, FUNCTION: 1, CODED: 5, LINEAR: 6}


def figure(data: xr.Dataset) -> Figure:
    """Draw what was found; of MNIST, with the most images and thresholds at the median."""
    if _of_mnist(data):
        data = data.isel(n=-1).sel(thresholds="median" if "median" in data.thresholds else "zero")
    drawn, axes = plots.mosaic("AB;CD", 6.2)
    _draw_pairs(axes["A"], data, "errors")
    _draw_pairs(axes["B"], data, "apart")
    axes["A"].set(title="a  Errors", ylabel="error of the limit")
    axes["B"].set(title="b  Unlike decisions", ylabel="inconsistency")
    handles = [
        Line2D([], [], **plots.look(PLACES[each], line=False), label=NAMES[each]) for each in LIMITS
    ]
    drawn.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8)
    full = {"color": plots.QUIET, "marker": "o", "linestyle": "none", "markersize": 5}
    kinds = [
        Line2D([], [], **full, markerfacecolor="white", label="3,200 steps"),
        Line2D([], [], **full, label="trained on"),
    ][: 1 + int(data.share_longer.notnull().any())]
    axes["B"].legend(handles=kinds, loc="upper left", fontsize=8)
    _draw_selected(axes["C"], data)
    axes["C"].set(title="c  Best of each", ylabel="error")
    _draw_widths(axes["D"], data.sel(hyperplanes=1))
    axes["D"].set(title="d  By width, k = 1", xlabel="gated units H", ylabel="error")
    return drawn


def _draw_pairs(ax: Axes, data: xr.Dataset, name: str) -> None:
    """Draw every limit against the network that it is the limit of."""
    ends = (NETWORK,) if name == "errors" else ENDS
    for learner in LIMITS:
        for end in ends:
            p = data.errors.sel(learner=end, part="all").values.ravel()
            other = data.errors.sel(part="all") if name == "errors" else data.apart.sel(end=end)
            look = plots.look(PLACES[learner], line=False, markersize=4)
            if end == LONGER:
                look["markerfacecolor"] = look["color"]
            ax.plot(p, other.sel(learner=learner).values.ravel(), **look)
    p = np.linspace(0.0, 1.0)
    line = p if name == "errors" else 2 * p * (1 - p)
    ax.plot(p, line, color=plots.QUIET, linestyle=":", linewidth=1)
    known = data.errors.sel(learner=[NETWORK, LONGER, *LIMITS], part="all").values
    known = known[np.isfinite(known)]
    low, high = min(0.06, known.min()) - 0.005, max(0.13, known.max()) + 0.005
    ax.set(xlim=(low, high), xlabel="error of the trained network")
    every = 0.02 if high - low < 0.1 else 0.04
    ax.xaxis.set_major_locator(MultipleLocator(every))
    if name == "errors":
        ax.set(ylim=(low, high))
        ax.yaxis.set_major_locator(MultipleLocator(every))
    else:
        apart, end = data.apart.sel(learner=list(LIMITS)), 2 * high * (1 - high)
        ax.set(ylim=(0, max(0.25, 1.05 * end, 1.05 * float(apart.max()))))
        plots.name(ax, high - 0.002, 0.7 * end, "$2p(1-p)$", plots.QUIET, ha="right")


def _draw_selected(ax: Axes, data: xr.Dataset) -> None:
    shown = [each for each in SHOWN if data.errors.sel(learner=each).notnull().any()]
    for i, learner in enumerate(shown):
        chosen, least = by_selection(data, learner)
        if len(chosen) < 2:
            continue
        centre, low, high = plots.mean_interval(chosen)
        ends = [[centre - low], [high - centre]]
        look = plots.look(PLACES[learner], line=False)
        if learner == LINEAR:
            look["marker"] = "p"
        ax.errorbar([i], [centre], ends, **look, elinewidth=1)
        cross = {"color": plots.QUIET, "markersize": 5, "zorder": 4}
        ax.plot([i + 0.25], [least.mean()], "x", **cross)
    names = [NAMES[each] for each in shown]
    ax.set_xticks(range(len(shown)), labels=names, rotation=40, ha="right", fontsize=8)
    ax.set(ylim=(0, max(0.3, ax.get_ylim()[1])))
    cross_handle = Line2D([], [], color=plots.QUIET, marker="x", linestyle="none")
    ax.legend([cross_handle], ["chosen on the\nimages reported"], loc="upper left", fontsize=8)


def _draw_widths(ax: Axes, data: xr.Dataset) -> None:
    shown = (GROUP, FUNCTION, CODED, NETWORK)
    for learner in shown:
        errors = data.errors.sel(learner=learner, part="all")
        use = errors.notnull().any("seed").values
        if not use.any():
            continue
        mean = errors.isel(n_units=use).mean("seed")
        look = plots.look(PLACES[learner]) | {
            "marker": plots.MARKERS[PLACES[learner]], "markersize": 5
        }  # fmt: skip
        if learner == NETWORK:
            look |= {"linestyle": "none", "markerfacecolor": "white", "markersize": 8}
        ax.plot(mean.n_units.values, mean.values, **look, label=NAMES[learner])
    known = data.errors.sel(part="all").notnull().any(("seed", "learner")).values
    shown_units = data.n_units.values[known]
    ax.set(xscale="log", xlim=(shown_units[0] / 1.2, shown_units[-1] * 1.2))
    ax.set(ylim=(0, max(0.35, ax.get_ylim()[1])))
    ax.minorticks_off()
    ax.set_xticks(shown_units, labels=[str(each) for each in shown_units])
    ax.legend(loc="upper right", fontsize=8)
