"""Two layers in 64 dimensions, linear and ReLU: answers that retreat while the error falls."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from partwhole.measures.swing import retreat, swing
from partwhole.networks import Architecture
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, proportion
from partwhole.study.plots import COLOURS, QUIET, look, panels
from partwhole.training import Runs
from partwhole_studies.dynamics import wide_networks as wide
from partwhole_studies.dynamics.drawing import concept_space
from partwhole_studies.dynamics.wide_networks import AS_RUN, CAPTIONED, EPOCHS, MAIN, SETTINGS

NETWORKS = {"linear": "Two linear layers", "relu": "Two layers, ReLU"}
SHORT = 12  # epochs; the reference implementation's ReLU network has retreated by the ninth
WHOLE = np.arange(SHORT + 1.0)
RETREATS = 0.02  # in units of the mean; the order of the batches moves an answer by about .01
RISES = 0.0025  # half a percent of the plateau, half the squared mean of the weak concept
SPREAD = "means 1 and 2, variance 2"
OTHER = "means 3 and 2, variance 0.05"
PATHS = {MAIN: "variance 0.05", SPREAD: "variance 2", OTHER: "first mean 3"}


def _cells(seeds: dict[str, dict[str, int]], long: list[tuple[str, str]] | None) -> list[Config]:
    """List networks; those of some settings, or all, are trained as long as the published ones."""
    return [
        wide.network(name, EPOCHS if long is None or (kind, name) in long else SHORT, seed)
        | {"nonlinearity": kind}
        for kind in NETWORKS
        for name, n in seeds[kind].items()
        for seed in range(n)
    ]


COMPARED = (MAIN, SPREAD, CAPTIONED, OTHER)
QUICK = {
    "linear": dict.fromkeys(COMPARED, 1),
    "relu": dict.fromkeys((*COMPARED, *AS_RUN), 1),
}
PRESETS = {"quick": _cells(QUICK, [("linear", MAIN)])} | dict.fromkeys(
    ("laptop", "paper"),
    _cells(
        {
            "linear": dict.fromkeys(SETTINGS, 24),
            "relu": dict.fromkeys(SETTINGS, 24) | {MAIN: 80},
        },
        None,
    ),
)


def cell(config: Config) -> Arrays:
    """Train one network; a linear one beside the flow from its own initial weights."""
    steps = wide.records(config["epochs"])
    architecture = Architecture(layers=2, nonlinearity=config["nonlinearity"])
    task = wide.task(config["setting"])
    runs = wide.trained(task, architecture, config["epochs"], config["seed"])
    trained = wide.answers(runs)
    arrays = {
        "trained": wide.padded(trained),
        "error": wide.padded(runs.concepts.losses[0, :, 0]),
        "learned": wide.learned(steps, trained, SETTINGS[config["setting"]].means),
    }
    if config["nonlinearity"] == "linear":
        arrays["theory"] = wide.padded(population_flow(runs))
    return arrays


def population_flow(runs: Runs) -> np.ndarray:
    """Follow the flow on the population from a network's own initial weights.

    Inputs differ along the two concepts alone, so that the first layer's other columns neither
    move nor matter; biases act on a third input of 1. That small a flow is over before
    `beside_theory`, which gives the same, would be compiled.
    """
    task, initial = runs.concepts.task, runs.start
    turn = task.rotation_matrix
    (w1, w2), (b1, b2) = (
        [np.asarray(layer, dtype=float) for layer in layers]
        for layers in (initial.weights, initial.biases)
    )
    below = np.vstack([np.column_stack([(w1 @ turn.T)[:, :2], b1]), [0.0, 0.0, 1.0]])
    above = turn @ np.column_stack([w2, b2])
    moment = np.diag([*task.signals[:2], 1.0])
    moment[:2, 2] = moment[2, :2] = task.mean()[:2]
    target = np.eye(len(above), 3)
    target[2] = 0.0

    def layers(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, second = np.split(state, [below.size])
        return first.reshape(below.shape), second.reshape(above.shape)

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        first, second = layers(state)
        push = (target - second @ first) @ moment
        pull = second.T @ push
        pull[-1] = 0.0  # the input of 1 stays
        return np.concatenate([pull, push @ first.T], axis=None)

    start, times = np.concatenate([below, above], axis=None), wide.STEP * runs.steps
    path = solve_ivp(
        velocity, (0.0, times[-1]), start, method="DOP853", t_eval=times, rtol=1e-8, atol=1e-10
    )
    maps = [second @ first for first, second in map(layers, path.y.T)]
    return np.array(maps)[:, :2] @ [*task.means, 1.0]


def gather(cells: Cells) -> xr.Dataset:
    """Lay networks over kind, setting, seed and epoch; NaN where none was trained."""
    laid = layout(
        cells,
        {
            "trained": "epoch concept", "error": "epoch", "learned": "threshold concept",
            "theory": "epoch concept",
        },
        over=["nonlinearity", "setting", "seed"],
        coords={
            "epoch": wide.records(EPOCHS) / wide.BATCHES, "concept": ["first", "second"],
            "threshold": list(wide.THRESHOLDS),
        },
    )  # fmt: skip
    # The precision in which networks are trained, and half of the stored file.
    return laid.astype(np.float32)


def runs_of(data: xr.Dataset, variable: str, kind: str, setting: str = MAIN) -> xr.DataArray:
    """Return the records that all trained networks have."""
    runs = data[variable].sel(nonlinearity=kind, setting=setting).dropna("seed", how="all")
    return runs.dropna("epoch")


def retreats(data: xr.Dataset, kind: str) -> np.ndarray:
    """Return the retreat of each network's answer along the weak concept, in units of its mean."""
    runs, means = runs_of(data, "trained", kind), np.array(SETTINGS[MAIN].means)
    return np.array([retreat(runs.epoch.values, run, means).amplitude[0] for run in runs.values])


def numbers(data: xr.Dataset) -> dict[str, float | int | Estimate]:
    relu = retreats(data, "relu")
    errors = [runs_of(data, "error", kind) for kind in NETWORKS]
    rises = np.concatenate([swing(error.epoch.values, error.values).amplitude for error in errors])
    rising = int((rises > RISES).sum())
    settings = [name for name in data.setting.values if wide.stronger(name) is not None]
    strong = xr.DataArray([wide.stronger(name) for name in settings], dims="setting")
    half = data.learned.sel(threshold=0.5, setting=settings)
    wrong = half.isel(concept=strong) > half.isel(concept=1 - strong)
    right = int((~wrong.any(["setting", "nonlinearity"])).sum())
    scale = [SETTINGS[name].means for name in data.setting.values]
    gap = np.abs(data.trained - data.theory) / xr.DataArray(scale, dims=("setting", "concept"))
    return {
        "least": RETREATS,
        "retreating": int((relu > RETREATS).sum()),
        "relu_networks": len(relu),
        "relu_retreat": float(relu.mean()),
        "trained": len(rises),
        "rising": rising,
        "relu_share": proportion(int((relu > RETREATS).sum()), len(relu)),
        "rising_share": proportion(rising, len(rises)),
        "order": proportion(right, data.sizes["seed"]),
        "gap": float(gap.max(["nonlinearity", "setting", "epoch", "concept"]).mean()),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(3, 2, 7.8)
    for kind, (paths, weak, errors) in zip(NETWORKS, axes.T, strict=True):
        _draw_paths(paths, data, kind)
        back = retreats(data, kind) > RETREATS
        trained = runs_of(data, "trained", kind).sel(concept="first")
        for ax, runs in ((weak, trained), (errors, runs_of(data, "error", kind))):
            for run, retreated in zip(runs, back, strict=True):
                _draw_run(ax, run, bool(retreated))
        weak.set(ylabel="weak concept", ylim=(-0.35, 0.8))
        errors.set(xlabel="epoch", ylabel="error", ylim=(0, 3.5))
    return key(drawn, 3)


def _draw_paths(ax: Axes, data: xr.Dataset, kind: str) -> None:
    for i, (name, label) in enumerate(PATHS.items()):
        run = runs_of(data, "theory" if kind == "linear" else "trained", kind, name).isel(seed=0)
        concept_space(ax, run.epoch.values, run.values, SETTINGS[name].means, index=i, label=label)
        marks = runs_of(data, "trained", kind, name).isel(seed=0).sel(epoch=WHOLE).values
        ax.plot(*marks.T, **look(i, line=False, markersize=3, markeredgewidth=0.8))
    ax.set_title(NETWORKS[kind])


def _draw_run(ax: Axes, run: xr.DataArray, retreated: bool) -> None:
    colour, label = (COLOURS[6], "retreats") if retreated else (QUIET, "does not retreat")
    ax.plot(run.epoch, run, color=colour, linewidth=1.6 if retreated else 0.8, label=label)
    ax.set(xlim=(0, SHORT), xticks=(0, 4, 8, 12))
