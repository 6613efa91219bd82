"""ReLU networks beside the limits of their readout, of their gates, and of gates drawn anew.

A ReLU network whose gates stay where they are is linear in what it learns, and the end of its
training is a convex program: the largest margin by the sum of its units' norms. With the gates
that training has left, the program is the published theory of the whole network; with gates drawn
at random it tells what the architecture alone explains; with the trained hidden layer as features
it tells of the readout only.

Two learners that err rarely agree often. So agreement is counted beyond what independent errors
would bring: 0 is chance, 1 the same decisions. A linear machine is beside them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.study.estimates import by_seed
from partwhole_studies.gated._digits import digits
from partwhole_studies.gated._mnist import SPLIT, VALIDATION, mnist, require_files, require_same
from partwhole_studies.gated._relu_claims import claims as claims
from partwhole_studies.gated._relu_published import AGREEMENT, SIZES, WIDTHS
from partwhole_studies.gated._relu_runs import (
    ENDS,
    GATES,
    HIDDEN,
    KINDS,
    LEARNED,
    LINEAR,
    NETWORK,
    PARTS,
    RANDOM,
    weigh,
)

QUESTION = "How much of what a trained ReLU network decides do the limits of frozen gates foretell?"
SOURCE = (
    "Lippl, Abbott & Chung (2022), figure 3; here on scikit-learn's digits, and with the preset "
    "mnist on MNIST; agreement beyond chance as derived here"
)
ANSWER = (
    "With 20 units and 200 of scikit-learn's digits the limit of its own gates agrees with it "
    "beyond chance by .65, of random gates by .42, a linear machine by .40. After 3,200 steps the "
    "network has .42 of the margin."
)
CAPTION = (
    "Digits 0 to 4 against 5 to 9, of scikit-learn or of MNIST. a: error of each limit against "
    "that of the trained network. b: how often the two decide differently; line: what independent "
    "errors of that size would bring. c: agreement beyond chance, mean of the seeds with 95 % "
    "intervals, filled for momentum 0.9, hollow for 0; crosses: published for MNIST, with 500 "
    "images or more. d: error against hidden units, with the most images, with 95 % intervals. "
    "Where programs have no solution, the number of those that have one is told. a, b and d: "
    "momentum 0.9."
)

FLOW = 4000


def _digit_cells(
    widths: tuple[int, ...], momenta: tuple[float, ...], seeds: int, flow: int
) -> list[Config]:
    return [
        {"images": "digits", "n": 200, "units": h, "momentum": m, "seed": seed, "flow": flow}
        for h in widths
        for m in momenta
        for seed in range(seeds)
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _digit_cells((20,), (0.9,), 4, 0),
    "laptop": _digit_cells((10, 20, 50, 100), (0.9, 0.0), 6, FLOW),
    "paper": _digit_cells((10, 20, 50, 100), (0.9, 0.0), 12, FLOW),
    "mnist": [
        {
            "images": "mnist", "n": n, "units": h, "momentum": m, "seed": seed, "flow": FLOW,
            "n_test": VALIDATION,
        }
        for n in SIZES
        for h in WIDTHS
        for m in (0.9, 0.0)
        for seed in (1, 2, 3)
    ],
}  # fmt: skip


def cell(config: Config) -> Arrays:
    """Return errors, agreements and margins of one network and its limits."""
    seed, n = config["seed"], config["n"]
    if config["images"] == "mnist":
        data = mnist(SPLIT, n, config["n_test"], config["n_test"])
    else:
        data = digits(seed, n, n_selection=400)
    return weigh(data, config["units"], config["momentum"], seed, config["flow"])


def gather(cells: Cells) -> xr.Dataset:
    """Lay what was found over size, width, momentum and seed; NaN where none was solved."""
    names = ("n", "units", "momentum", "seed")
    axes = {name: sorted({config[name] for config, _ in cells}) for name in names}
    require_here = require_files if cells[0][0]["images"] == "mnist" else require_same
    require_here({float(found["mark"]) for _, found in cells}, "gated.relu_networks")
    shape = tuple(len(each) for each in axes.values())
    dims: dict[str, tuple[str, ...]] = {
        "error": ("part", "kind"),
        "apart_from_network": ("kind",),
        "agreement": ("kind",),
        "low": ("kind",),
        "high": ("kind",),
        "solved": ("kind",),
        "share": ("end",),
        "apart": ("end",),
        "flipped": (),
        "training_error": (),
        "gap": ("program",),
        "doubled": (),
        "hard": (),
    }
    first = cells[0][1]
    laid = {name: np.full((*shape, *first[name].shape), np.nan) for name in dims}
    for config, found in cells:
        at = tuple(axes[name].index(config[name]) for name in names)
        for name, values in laid.items():
            values[at] = found[name]
    return xr.Dataset(
        {name: ((*names, *dims[name]), laid[name]) for name in dims},
        coords=axes
        | {
            "kind": list(KINDS),
            "part": list(PARTS),
            "end": list(ENDS),
            "program": [LEARNED, RANDOM],
        },
        attrs={"images": cells[0][0]["images"]},
    )


SHOWN = (HIDDEN, LEARNED, RANDOM)
LOOKS = {HIDDEN: 0, LEARNED: 1, RANDOM: 2, LINEAR: 3, GATES: 4, NETWORK: 6}
LINE: dict[str, Any] = {"color": plots.QUIET, "linewidth": 1, "zorder": 0}


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD", 6.4)
    here = data.sel(momentum=float(data.momentum.max()))
    _draw_errors(axes["A"], here)
    _draw_apart(axes["B"], here)
    _draw_agreement(axes["C"], data)
    _draw_widths(axes["D"], here.isel(n=-1))
    titles = ("Error", "Different decisions", "Agreement beyond chance", "Error by width")
    for letter, title in zip("ABCD", titles, strict=True):
        axes[letter].set_title(f"{letter.lower()}  {title}")
    handles = [Line2D([], [], **_marks(kind, label=f"limit, {kind}")) for kind in SHOWN]
    handles += [Line2D([], [], **_marks(NETWORK, label="ReLU network"))]
    handles += [Line2D([], [], **_marks(LINEAR, label="linear machine"))]
    drawn.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8)
    return drawn


def _marks(kind: str, **changes: Any) -> dict[str, Any]:
    solid = {"markerfacecolor": "black", "markersize": 4.5} if kind == NETWORK else {}
    return plots.look(LOOKS[kind], line=False, **solid, **changes)


def _report(data: xr.Dataset, kind: str) -> np.ndarray:
    return data.error.sel(part="report", kind=kind).values.ravel()


def _reach(errors: np.ndarray) -> np.ndarray:
    return np.linspace(0.9 * np.nanmin(errors), 1.1 * np.nanmax(errors), 50)


def _draw_errors(ax: Axes, data: xr.Dataset) -> None:
    p = _report(data, NETWORK)
    ax.plot(_reach(p), _reach(p), **LINE)
    for kind in SHOWN:
        ax.plot(p, _report(data, kind), **_marks(kind))
    ax.set(xlabel="error of the network", ylabel="error of the limit")


def _draw_apart(ax: Axes, data: xr.Dataset) -> None:
    p = _report(data, NETWORK)
    line = _reach(p)
    ax.plot(line, 2 * line * (1 - line), **LINE)
    at = line[30]
    plots.name(ax, at, 2 * at * (1 - at), "by chance ", plots.QUIET, ha="right", va="bottom")
    for kind in SHOWN:
        ax.plot(p, data.apart_from_network.sel(kind=kind).values.ravel(), **_marks(kind))
    ax.set(xlabel="error of the network", ylabel="share of images")
    ax.set_ylim(-0.05 * ax.get_ylim()[1], None)


def _draw_agreement(ax: Axes, data: xr.Dataset) -> None:
    order = (*SHOWN, LINEAR, GATES)
    for momentum, side in ((0.9, -0.15), (0.0, 0.15)):
        if momentum not in data.momentum:
            continue
        for place, kind in enumerate(order):
            agreement = data.agreement.sel(momentum=momentum, kind=kind)
            look = _marks(kind)
            if momentum == 0.9:
                look["markerfacecolor"] = look["color"]
            _draw_mean(ax, place + side, by_seed(agreement), look)
            told = AGREEMENT[momentum].get(kind)
            if told is not None:
                ax.plot([place + side], [told], "x", color="black", markersize=5, zorder=4)
    for place, kind in enumerate(order):
        solved, ran = data.solved.sel(kind=kind), int(np.isfinite(data.solved.sel(kind=kind)).sum())
        count = int((solved == 1.0).sum())
        if count < ran:
            words = f"{count} of {ran}\nsolved"
            plots.name(ax, float(place), 0.3, words, plots.QUIET, ha="center", fontsize=7.5)
    ax.axhline(0.0, color=plots.QUIET, linewidth=0.8, linestyle=":")
    ax.set_xticks(range(len(order)), labels=[kind.replace(" ", "\n") for kind in order])
    ax.tick_params(axis="x", labelsize=7)
    ax.set(ylabel="agreement", ylim=(-0.08, 1.04), xlim=(-0.5, len(order) - 0.5))


def _draw_mean(ax: Axes, x: float, found: np.ndarray, look: dict[str, Any]) -> None:
    if not len(found):
        return
    told = plots.mean_interval(found) if len(found) > 1 else np.repeat(found, 3)
    ends = [[told[0] - told[1]], [told[2] - told[0]]]
    ax.errorbar([x], [told[0]], ends, **look, elinewidth=1)


def _draw_widths(ax: Axes, data: xr.Dataset) -> None:
    widths, seeds = data.units.values, data.sizes["seed"]
    kinds = (NETWORK, *SHOWN, LINEAR)
    for place, kind in enumerate(kinds):
        for width in widths:
            found = by_seed(data.error.sel(part="report", kind=kind, units=width))
            x = width * 1.09 ** (place - 2)
            _draw_mean(ax, x, found, _marks(kind))
            if len(found) < seeds:
                at = (x, float(found.mean()) if len(found) else 0.06)
                words = f" {len(found)} of {seeds}"
                ax.annotate(words, at, fontsize=7, rotation=90, ha="center", va="bottom")
    ax.set(xscale="log", xlabel="hidden units", ylabel="error", ylim=(0.0, None))
    ax.set_xlim(widths[0] / 1.4, widths[-1] * 1.4)
    ax.minorticks_off()
    ax.set_xticks(widths, labels=[str(width) for width in widths])
