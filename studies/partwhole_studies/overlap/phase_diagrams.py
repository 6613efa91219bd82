"""Phase diagrams of context dependence over the saliences, with random networks laid over."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import interpolate, margin_sweep, shortcut_boundary, shortcut_margin
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study.plots import QUIET, look, name, panels
from partwhole.tasks import context_dependence
from partwhole_studies.overlap.published_grid import (
    FITS,
    GRID,
    REPRESENTATIONS,
    grid_axes,
    published_grid,
    saliences_at,
    sigmas,
    solved_boundary,
    solved_corner,
    solved_margins,
)
from partwhole_studies.overlap.random_networks import NETWORKS

QUESTION = (
    "When the context says which feature counts, which representations let a learner answer "
    "unseen combinations rightly, and which lead it to lean on the context alone?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), phase diagram of context dependence (panel 3d)"
ANSWER = (
    "Those in which pairs are salient and single parts not too much so: otherwise the learner "
    "leans on the context alone and gets the hardest unseen combinations wrong."
)
CAPTION = (
    "Above: every point is a representation, and its shade tells which tasks a hard-margin "
    "classifier solves with it. Lines are the closed-form boundaries of the hardest task, CD-3: "
    "solid for classification, dotted for regression. Paths are random networks with 1 to 10 "
    "layers. Below: the margin on CD-3 against depth, closed form as lines, solved as markers."
)

LAYERS = 20
# Behind a name that stands on lines or shades.
PLATE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
TASKS = (3, 2, 1)
EDGES = (0.05, 0.10, 0.15)
PUBLISHED = {
    "CD-1, CD-2 and CD-3": 827,
    "CD-2 and CD-1 only": 596,
    "CD-1 only": 183,
    "none of CD-1 to CD-3": 122,
}
HOW = {"margin": "hard-margin classification", "regression": "regression"}
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
# First and last of 20 layers that solve CD-3, and how many do.
DEPTHS = {
    "relu": (8, 20, 13),
    "leaky_relu": (12, 20, 9),
    "step": (0, 0, 0),
    "rectified_quadratic": (2, 6, 5),
    "gaussian": (1, 20, 20),
}


def _cells(every: int) -> list[Config]:
    return [
        *({"work": "margins", "left_out": r} for r in TASKS),
        *({"work": "network", "nonlinearity": network} for network in NETWORKS),
        {"work": "boundary"},
        {"work": "probes"},
        {"work": "regression", "every": every},
    ]


PRESETS: dict[str, list[Config]] = {"quick": _cells(4), "laptop": _cells(1), "paper": _cells(1)}


def cell(config: Config) -> Arrays:
    """Do one piece of work: a phase diagram, a network's path, boundaries, or single solves."""
    order_1, order_2, valid = published_grid()
    task = context_dependence(config.get("left_out", 3))
    match config["work"]:
        case "margins":
            margins = task.test_targets * margin_sweep(task, sigmas(order_1, order_2)[valid])
            return {"mean": margins.mean(axis=1), "spread": np.ptp(margins, axis=1)}
        case "network":
            kernels = [
                OverlapKernel.random_network(config["nonlinearity"], 3, depth)
                for depth in range(1, LAYERS + 1)
            ]
            mean = (task.test_targets * margin_sweep(task, kernels)).mean(axis=1)
            return {"saliences": np.stack([kernel.salience for kernel in kernels]), "mean": mean}
        case "boundary":
            found = [[solved_boundary(S1, fit) for S1 in EDGES] for fit in FITS]
            return {"order_2": np.array(found), "corner": np.array(solved_corner())}
        case "probes":
            places = (*REPRESENTATIONS.values(), (0.3, 0.0))
            easier = [[solved_margins(r, at) for r in (1, 2)] for at in places]
            probes = [solved_margins(n, (a, b), n) for a, b, n in PROBES]
            return {"probes": np.array(probes), "easier": np.array(easier)}
    found = np.full(valid.size, np.nan)
    for point in np.flatnonzero(valid)[:: config["every"]]:
        kernel = OverlapKernel(3, sigmas(order_1, order_2).reshape(-1, 8)[point])
        found[point] = interpolate(task, kernel, intercept="free").test_margins.mean()
    return {"mean": found.reshape(valid.shape)}


def gather(cells: Cells) -> xr.Dataset:
    """Lay the diagrams, the networks' paths and the single solves beside the closed forms."""
    order_1, order_2, valid = published_grid()
    law = np.full((len(FITS), *valid.shape), np.nan)
    for row, fit in zip(law, FITS, strict=True):
        row[valid] = shortcut_margin(order_1[valid], order_2[valid].clip(0), fit=fit)
    work: dict[str, list[Arrays]] = {}
    for config, arrays in cells:
        work.setdefault(config["work"], []).append(arrays)
    solved = np.full((2, len(TASKS), *valid.shape), np.nan)
    for i, arrays in enumerate(work["margins"]):
        solved[0, i][valid], solved[1, i][valid] = arrays["mean"], arrays["spread"]
    saliences = np.stack([arrays["saliences"] for arrays in work["network"]])
    networks = np.stack([arrays["mean"] for arrays in work["network"]])
    every = next(config["every"] for config, _ in cells if config["work"] == "regression")
    regressed = np.zeros(valid.shape, dtype=bool)
    regressed.flat[np.flatnonzero(valid)[::every]] = True
    grid, path = ("similarity_2", "ratio"), ("network", "layer")
    return xr.Dataset(
        {
            "margin": (("task", *grid), solved[0], {"long_name": "mean margin, hard margin"}),
            "spread": (("task", *grid), solved[1], {"long_name": "range of margins over tuples"}),
            "law": (("fit", *grid), law, {"long_name": "margin on CD-3, closed form"}),
            "regression": (grid, work["regression"][0]["mean"]),
            "network_order_1": (path, saliences[..., 0], {"long_name": "salience S(1;3)"}),
            "network_order_2": (path, saliences[..., 1], {"long_name": "salience S(2;3)"}),
            "network_margin": (path, networks, {"long_name": "margin on CD-3, hard margin"}),
            "network_law": (path, shortcut_margin(saliences[..., 0], saliences[..., 1])),
            "boundary": (("fit", "edge"), work["boundary"][0]["order_2"]),
            "corner": ((), work["boundary"][0]["corner"]),
            "probe_margin": (("probe", "fit"), work["probes"][0]["probes"]),
            "easier_margin": (("at", "easier", "fit"), work["probes"][0]["easier"]),
        },
        coords={
            "task": [f"CD-{r}" for r in TASKS],
            "fit": list(FITS),
            "network": list(NETWORKS),
            "layer": np.arange(1, LAYERS + 1),
            "edge": list(EDGES),
            "at": [*REPRESENTATIONS, "(.3, 0)"],
            "easier": ["CD-1", "CD-2"],
            "order_1": (grid, order_1, {"long_name": "salience S(1;3)"}),
            "order_2": (grid, order_2, {"long_name": "salience S(2;3)"}),
            "valid": (grid, valid),
            "regressed": (grid, regressed),
        },
    )


def solved_tasks(data: xr.Dataset) -> xr.DataArray:
    """Return 3 where all tasks are solved, 2 for CD-2 and CD-1, 1 for CD-1 only, else 0."""
    three, two, one = (data.margin.sel(task=f"CD-{r}") > 0 for r in TASKS)
    return xr.where(three & two & one, 3, xr.where(two & one, 2, xr.where(one, 1, 0)))


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh counts, boundaries, the two marked representations and the networks' depths."""
    here, panel = "derived here", "panel 3d"
    kernels = int(data.valid.sum())
    weighed = [
        Claim(
            "How many points of the 50 x 50 grid are representations (kernels).",
            panel,
            1728,
            kernels,
            0,
        )
    ]
    level = solved_tasks(data).where(data.valid)
    for value, (which, count) in zip((3, 2, 1, 0), PUBLISHED.items(), strict=True):
        statement = (
            f"Representations on the grid with which a hard-margin classifier solves {which}."
        )
        note = "reference: the published grid, run again with a standard classifier"
        found = int((level == value).sum())
        weighed.append(Claim(statement, panel, count, found, 5, note=note))
    hardest, regression = data.margin.sel(task="CD-3"), data.law.sel(fit="regression")
    classified = hardest - data.law.sel(fit="margin")
    probes = [
        [shortcut_margin(a, b, values_per_half=n, fit=fit) for fit in FITS] for a, b, n in PROBES
    ]
    easier = np.stack([np.array(EASIER[fit]) for fit in FITS], axis=-1)
    # Where nothing can be fitted (S(2;3) = S(3;3) = 0) the law says so and no solve is expected.
    compared = data.regressed & ~(np.isnan(data.regression) & np.isnan(regression))
    differences = {
        "on the grid, classification": classified.where(data.valid, 0),
        "on the grid, regression": (data.regression - regression).where(compared, 0),
        "along the random networks": data.network_margin - data.network_law,
        "at 7 representations, 2 to 5 values in each half, both fits": data.probe_margin - probes,
    }
    for where, difference in differences.items():
        statement = f"Closed form and solved margin of CD-3 agree {where} (largest difference)."
        largest = float(np.abs(difference).max(skipna=False))  # a solve that failed is NaN
        weighed.append(Claim(statement, here, 0, largest, 1e-6))
    away = float(np.abs(data.easier_margin - easier).max(skipna=False))
    statement = "Margins on CD-1 and CD-2 agree with an independent solver (largest difference)."
    weighed.append(Claim(statement, here, 0, away, 1e-4))
    spread = float(data.spread.sel(task="CD-3").where(data.valid, 0).max(skipna=False))
    statement = "All unseen combinations of CD-3 share one margin: all or none are right (spread)."
    weighed.append(Claim(statement, panel, 0, spread, 1e-6))
    for fit in FITS:
        for S1 in EDGES:
            statement = (
                f"Salience of pairs, S(2;3), above which unseen CD-3 is answered rightly at "
                f"S(1;3) = {S1:g}, {HOW[fit]}."
            )
            found = float(data.boundary.sel(fit=fit, edge=S1))
            weighed.append(Claim(statement, here, shortcut_boundary(S1, fit=fit), found, 1e-5))
    # The closed-form boundary meets the edge S2 = 1/3 - S1 where 24 S1^2 + S1 = 1.
    corner = (np.sqrt(97.0) - 1) / 48
    statement = "Salience of single parts, S(1;3), above which CD-3 fails where S(3;3) = 0."
    weighed.append(Claim(statement, here, float(corner), float(data.corner), 1e-5))
    return weighed + _representation_claims(data) + _depth_claims(data)


def _representation_claims(data: xr.Dataset) -> list[Claim]:
    weighed = []
    for i, representation in enumerate(REPRESENTATIONS):
        for fit in FITS:
            law = float(shortcut_margin(*PROBES[i][:2], fit=fit))
            found = float(data.probe_margin[i].sel(fit=fit))
            statement = f"{representation} of panel 3d: margin on unseen CD-3, {HOW[fit]}."
            weighed.append(Claim(statement, "derived here", law, found, 1e-4))
    for fit in FITS:
        statement = (
            "With Rep. 2 of panel 3d a learner answers the unseen combinations of CD-3 wrongly: "
            "its "
            f"margin is at most 0 ({HOW[fit]})."
        )
        note = (
            ""
            if fit == "margin"
            else "In regression Rep. 2 answers them rightly; the published diagram is of "
            "hard-margin "
            "classifiers."
        )
        found = float(data.probe_margin[1].sel(fit=fit))
        weighed.append(Claim(statement, "panel 3d", 0, found, 0, relation="at most", note=note))
    differ = (data.law.sel(fit="regression") > 0) != (data.margin.sel(task="CD-3") > 0)
    statement = (
        "The representations that solve CD-3 in classification are those that solve it in "
        "regression (grid points that differ)."
    )
    note = "in classification congruent trials drop out of the support, and the shortcut grows"
    found = int((differ & data.valid).sum())
    weighed.append(Claim(statement, "a reading of panel 3d", 0, found, 0, note=note))
    return weighed


def _depth_claims(data: xr.Dataset) -> list[Claim]:
    weighed = []
    for network, expected in DEPTHS.items():
        solving = data.layer.where(data.network_margin.sel(network=network) > 0)
        found = (int(solving.min().fillna(0)), int(solving.max().fillna(0)), int(solving.count()))
        words = (
            "first layer that solves CD-3",
            "last of 20 layers that solves CD-3",
            "how many of 20 layers solve CD-3",
        )
        for word, reference, number in zip(words, expected, found, strict=True):
            statement = f"Random {NETWORKS[network]} network: {word} (0: none)."
            weighed.append(Claim(statement, "derived here", reference, number, 0))
    return weighed


def figure(data: xr.Dataset) -> Figure:
    """Draw the phase diagram with the networks' paths, and their margins against depth."""
    drawn, axes = panels(2, 1, 7.4, height_ratios=[1.3, 1])
    _draw_areas(axes[0, 0], data)
    _draw_paths(axes[0, 0], data)
    ax = axes[1, 0]
    ax.axhline(0, color=QUIET, linewidth=1)
    places = ((14.3, 0.13), (2.5, -0.47), (2.25, -0.08), (4.4, 0.22), (1.5, 0.38))
    for i, (network, title) in enumerate(NETWORKS.items()):
        one = data.sel(network=network)
        ax.plot(one.layer, one.network_law, **look(i))
        ax.plot(one.layer, one.network_margin, **look(i, line=False))
        name(ax, *places[i], title, bbox=PLATE)
    ax.set(xlabel="layers of the random network", ylabel="margin on unseen CD-3", xlim=(0.5, 20.5))
    ax.set_xticks([1, 5, 10, 15, 20])
    return drawn


def _draw_areas(ax: Axes, data: xr.Dataset) -> None:
    """Shade each cell of the grid by what is solved, and draw the closed-form boundaries."""
    level = solved_tasks(data).to_numpy().astype(float)
    for row in range(1, GRID):  # a cell cut by the edge takes the shade of the one inside
        outside = ~data.valid.to_numpy()[row]
        level[row, outside] = level[row - 1, outside]
    corners = saliences_at(
        *(np.concatenate([[0], (axis[1:] + axis[:-1]) / 2, axis[-1:]]) for axis in grid_axes())
    )
    shades = ListedColormap(["#c8452f", "#f2c14e", "#cfe4f0", "#94cba9"])
    norm = BoundaryNorm([-0.5, 0.5, 1.5, 2.5, 3.5], 4)
    mesh = ax.pcolormesh(*corners, level, cmap=shades, norm=norm, rasterized=True)
    third = 1 / 3
    edge = ax.fill([0, third, 0], [0, 0, third], fill=False, edgecolor=QUIET, linewidth=1)[0]
    mesh.set_clip_path(edge)
    x = np.linspace(0, third - 1e-9, 400)
    for fit, dashes, verb in zip(FITS, "-:", ("classification", "regression"), strict=True):
        boundary = [shortcut_boundary(S1, fit=fit) for S1 in x]
        ax.plot(x, boundary, color="black", linestyle=dashes, label=f"CD-3 in {verb}")
    ax.legend(loc="upper right", title="solved above the line", fontsize=9, title_fontsize=9)
    name(ax, 0.008, 0.235, "solves all three")
    name(ax, 0.034, 0.052, "CD-2 and CD-1 only")
    arrow = {"arrowstyle": "-", "color": QUIET}
    for text, point, shade in (("CD-1 only", (0.05, 0.01), 1), ("none", (0.29, 0.001), 0)):
        place = (point[0], -0.03)
        box = {"facecolor": shades(shade), "edgecolor": "none", "alpha": 0.5, "pad": 2}
        ax.annotate(
            text, point, place, ha="center", va="center", fontsize=9, arrowprops=arrow, bbox=box
        )
    ax.set(xlabel="salience of single parts, S(1;3)", ylabel="salience of pairs, S(2;3)")
    ax.set(xlim=(-0.004, 0.375), ylim=(-0.042, 0.345))


def _draw_paths(ax: Axes, data: xr.Dataset) -> None:
    """Draw the networks' paths and the two marked representations."""
    places = ((0.276, 0.066), (0.293, 0.046), (0.165, 0.0245), (0.225, 0.124), (0.08, 0.196))
    for i, (network, title) in enumerate(NETWORKS.items()):
        one = data.sel(network=network, layer=slice(1, 10))
        ax.plot(one.network_order_1, one.network_order_2, **look(i, linewidth=1))
        ax.plot(one.network_order_1, one.network_order_2, **look(i, line=False, markersize=3.5))
        name(ax, *places[i], title, bbox=PLATE)
    shifts = (0.014, -0.022)
    for (representation, (S1, S2)), shift in zip(REPRESENTATIONS.items(), shifts, strict=True):
        ax.plot(S1, S2, "*", color="black", markersize=11, markeredgecolor="white", zorder=5)
        name(ax, S1, S2 + shift, representation, weight="bold", ha="center")
