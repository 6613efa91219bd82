"""Phase diagrams of context dependence over the saliences, with random networks."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features.overlap import OverlapKernel, OverlapKernels
from partwhole.limits import shortcut_margin
from partwhole.limits.shortcut import shortcut_boundary
from partwhole.study import Arrays, Cells, Config, key, layout, series
from partwhole.study.plots import QUIET, look, name, panels
from partwhole.tasks import context_dependence
from partwhole_studies.overlap.published_grid import (
    FITS,
    REPRESENTATIONS,
    margin_law,
    on_grid,
    published_grid,
    sigmas,
    solved_boundary,
    solved_corner,
    solved_margins,
)
from partwhole_studies.overlap.random_networks import NETWORKS

LAYERS = 20
TASKS = (3, 2, 1)
COLOURS = {"CD-1 to CD-3": "#94cba9", "CD-1, CD-2": "#cfe4f0", "CD-1": "#f2c14e", "none": "#c8452f"}
EDGES = (0.05, 0.10, 0.15)
# Points of the published grid by tasks solved, all three to none, by a standard classifier.
COUNTS = {3: 827, 2: 596, 1: 183, 0: 122}
# S(1;3), S(2;3) and values in each half, for single solves of the hardest task.
PROBES = (
    *((*saliences, 3) for saliences in REPRESENTATIONS.values()),
    *((0.10, 0.05, n) for n in (2, 3, 5)),
    (0.05, 0.02, 3),
    (0.15, 0.10, 3),
)
# Margins on CD-1 and CD-2 at Rep. 1, Rep. 2 and S = (.3, 0), from an independent solver.
EASIER = {
    "margin": [[0.672203, 0.553115], [0.785018, 0.595683], [-0.029557, -0.238152]],
    "regression": [[0.672203, 0.553115], [0.785018, 0.692402], [-0.028302, -0.123711]],
}
# How many of 20 layers solve CD-3, computed independently of this package.
DEPTHS = {"relu": 13, "leaky_relu": 9, "step": 0, "rectified_quadratic": 5, "gaussian": 20}


def _cells(stride: int) -> list[Config]:
    return [
        *({"work": "margins", "left_out": r} for r in TASKS),
        *({"work": "network", "nonlinearity": network} for network in NETWORKS),
        {"work": "boundary"},
        {"work": "probes"},
        {"work": "regression", "every": stride},
    ]


PRESETS: dict[str, list[Config]] = {"quick": _cells(4), "laptop": _cells(1), "paper": _cells(1)}


def cell(config: Config) -> Arrays:
    """Compute one part: a phase diagram, a network's path, boundaries, or single solutions."""
    order_1, order_2, valid = published_grid()
    task = context_dependence(config.get("left_out", 3))
    match config["work"]:
        case "margins":
            kernels = OverlapKernels(3, sigmas(order_1, order_2)[valid])
            margins = solve(task, kernels, fit="margin", intercept="free").test_margins
            spread = np.ptp(margins, axis=1)
            return {"margin": on_grid(margins.mean(axis=1)), "spread": on_grid(spread)}
        case "network":
            kernels = [
                OverlapKernel.random_network(config["nonlinearity"], 3, depth)
                for depth in range(1, LAYERS + 1)
            ]
            limits = solve(task, kernels, fit="margin", intercept="free")
            mean = limits.test_margins.mean(axis=1)
            saliences = np.stack([kernel.salience for kernel in kernels])
            return {"network_salience": saliences, "network_margin": mean}
        case "boundary":
            order_2s = [[solved_boundary(S1, fit) for S1 in EDGES] for fit in FITS]
            return {"boundary": np.array(order_2s), "corner": np.array(solved_corner())}
        case "probes":
            places = (*REPRESENTATIONS.values(), (0.3, 0.0))
            easier = [[solved_margins(r, at) for r in (1, 2)] for at in places]
            probes = [solved_margins(n, (a, b), n) for a, b, n in PROBES]
            return {"probe": np.array(probes), "easier": np.array(easier)}
    solved = np.full(valid.size, np.nan)
    for point in np.flatnonzero(valid)[:: config["every"]]:
        kernel = OverlapKernel(3, sigmas(order_1, order_2).reshape(-1, 8)[point])
        solved[point] = solve(task, kernel, intercept="free").test_margins.mean()
    return {"regression": solved.reshape(valid.shape)}


def gather(cells: Cells) -> xr.Dataset:
    grid = "similarity ratio"
    data = layout(
        cells,
        {
            "margin": grid,
            "spread": grid,
            "regression": grid,
            "network_salience": "layer order",
            "network_margin": "layer",
            "boundary": "fit edge",
            "corner": "",
            "probe": "representation fit",
            "easier": "at task fit",
        },
        over=["left_out", "nonlinearity"],
        coords={"layer": np.arange(1, LAYERS + 1), "order": [1, 2, 3], "fit": list(FITS)},
        labels={"network_margin": "margin on unseen CD-3", "layer": "layers of random network"},
    )
    order_1, order_2, valid = published_grid()
    stride = next(config["every"] for config, _ in cells if "every" in config)
    regressed = np.zeros(valid.shape, dtype=bool)
    regressed.flat[np.flatnonzero(valid)[::stride]] = True
    at = tuple(grid.split())
    return data.assign_coords(
        order_1=(at, order_1), order_2=(at, order_2), valid=(at, valid), regressed=(at, regressed)
    )


def network_law(data: xr.Dataset) -> xr.DataArray:
    order_1, order_2, _ = np.moveaxis(data.network_salience.values, -1, 0)
    return data.network_margin.copy(data=shortcut_margin(order_1, order_2))


def solved_tasks(data: xr.Dataset) -> xr.DataArray:
    """Return 3 if all tasks are solved, 2 for CD-2 and CD-1, 1 for CD-1 only, else 0."""
    three, two, single = (data.margin.sel(left_out=r) > 0 for r in TASKS)
    return xr.where(three & two & single, 3, xr.where(two & single, 2, xr.where(single, 1, 0)))


def numbers(data: xr.Dataset) -> dict[str, int | float | np.ndarray]:
    hardest, level = data.margin.sel(left_out=3), solved_tasks(data).where(data.valid)
    law = {fit: data.regression.copy(data=margin_law(fit)) for fit in FITS}
    counts = [int((level == solved).sum()) for solved in COUNTS]
    # Where nothing can be fitted (S(2;3) = S(3;3) = 0) the law says so and no solve is expected.
    compared = data.regressed & ~(np.isnan(data.regression) & np.isnan(law["regression"]))
    edges = np.array([[shortcut_boundary(S1, fit=fit) for S1 in EDGES] for fit in FITS])
    law_at = [[shortcut_margin(a, b, values_per_half=n, fit=f) for f in FITS] for a, b, n in PROBES]
    by_regression, by_margin = law["regression"] > 0, hardest > 0
    depths = (data.network_margin > 0).sum("layer").sel(nonlinearity=list(DEPTHS))
    corner = (np.sqrt(97.0) - 1) / 48  # the boundary meets S2 = 1/3 - S1 where 24 S1^2 + S1 = 1
    return {
        "points": int(data.valid.sum()),
        "all_three": counts[0],
        "edge": float(data.boundary.sel(fit="margin")[EDGES.index(0.1)]),
        "rep_2": float(data.probe[1].sel(fit="margin")),
        "regression_only": int((by_regression & ~by_margin & data.valid).sum()),
        "differing": int(((by_regression != by_margin) & data.valid).sum()),
        "grid": (hardest - law["margin"]).where(data.valid, 0).to_numpy(),
        "regressed": (data.regression - law["regression"]).where(compared, 0).to_numpy(),
        "networks": (data.network_margin - network_law(data)).to_numpy(),
        "probes": data.probe.to_numpy() - law_at,
        "easier": data.easier.to_numpy() - np.stack([EASIER[fit] for fit in FITS], axis=-1),
        "edges": np.append(data.boundary.to_numpy() - edges, float(data.corner) - corner),
        "counts": np.array(counts) - list(COUNTS.values()),
        "depths": depths.to_numpy() - list(DEPTHS.values()),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(2, 1, 8.0, height_ratios=[1.35, 1])
    _draw_phases(axes[0, 0], data)
    series(
        axes[1, 0], "layer", by="nonlinearity", theory=network_law(data),
        measured=data.network_margin, names=NETWORKS,
        words={"theory": "closed form", "measured": "solved"},
    )  # fmt: skip
    axes[1, 0].axhline(0, color=QUIET, linewidth=1, zorder=0)
    axes[1, 0].set(xlim=(0.5, 20.5), xticks=[1, 5, 10, 15, 20])
    return key(drawn, 3)


def _draw_phases(ax: Axes, data: xr.Dataset) -> None:
    level = solved_tasks(data).where(data.valid)
    for value, (tasks, shade) in zip(COUNTS, COLOURS.items(), strict=True):
        at = (level == value).values
        marks = {"color": shade, "markersize": 4.5, "label": f"solves {tasks}", "zorder": 0}
        ax.plot(data.order_1.values[at], data.order_2.values[at], "s", **marks)
    x = np.linspace(0, 1 / 3 - 1e-9, 400)
    for fit, dashes, word in zip(FITS, "-:", ("classification", "regression"), strict=True):
        boundary = [shortcut_boundary(S1, fit=fit) for S1 in x]
        ax.plot(x, boundary, color="black", linestyle=dashes, label=f"boundary, {word}")
    for i, nonlinearity in enumerate(NETWORKS):
        path = data.network_salience.sel(nonlinearity=nonlinearity, layer=slice(1, 10)).values
        marks = look(i, line=False, markersize=3.5, linestyle="-", linewidth=1)
        ax.plot(path[:, 0], path[:, 1], **marks)
    shifts = ((0.006, 0.018), (-0.04, -0.024))
    for (text, (S1, S2)), (right, up) in zip(REPRESENTATIONS.items(), shifts, strict=True):
        ax.plot(S1, S2, "*", color="black", markersize=11, markeredgecolor="white", zorder=5)
        name(ax, S1 + right, S2 + up, text, weight="bold")
    ax.set(xlabel="salience of single parts, S(1;3)", ylabel="salience of pairs, S(2;3)")
    ax.set(xlim=(-0.005, 0.34), ylim=(-0.008, 0.34))
