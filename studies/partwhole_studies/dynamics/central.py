"""Two concepts in a tied two-layer network: the time and the size of the error's rise."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import Path, Tied, descend, flow, learning_clocks
from partwhole.flows.assumptions import check_assumptions
from partwhole.flows.field import field_parts
from partwhole.flows.stages import stages
from partwhole.flows.tied import identity_losses
from partwhole.measures import extrema, learning_times, swing
from partwhole.study import Arrays, Cells, Config, Estimate, layout, proportion, published
from partwhole.study.plots import COLOURS, look, mosaic, name
from partwhole.tasks import StructuredIdentity
from partwhole_studies.dynamics.drawing import concept_space
from partwhole_studies.dynamics.published_settings import CENTRAL, STEP

POWERS = (2, 1)
ROUTES = ("flow", "matrix", "factor")
# First record that the reference numbers count: after an update for the recurrence on the map.
FIRST = {"flow": 0, "matrix": 1, "factor": 0}
WEAK, STRONG = 0, 1
# The published training loss is over samples whose scale was used as a variance.
SAMPLED = StructuredIdentity((1.0, 1.5), (0.05, 0.05), 3, samples=1000, scales_are="variances")


def _cells(seeds: int) -> list[Config]:
    return [{"power": power} for power in POWERS] + [{"seed": seed} for seed in range(seeds)]


# The figure's own scale takes seconds; the presets differ in how many training sets they draw.
PRESETS: dict[str, list[Config]] = {
    "quick": _cells(20),
    "laptop": _cells(100),
    "paper": _cells(500),
}


def cell(config: Config) -> Arrays:
    """Train at one power in three ways, or draw one training set."""
    if "seed" in config:
        return {"moment": SAMPLED.sample(config["seed"]).second_moment()}
    power = config["power"]
    w0, a = CENTRAL.w0, CENTRAL.second_moment
    times = STEP * np.arange(CENTRAL.updates + 1)
    steps = partial(descend, Tied(w0, a, power), CENTRAL.updates, STEP)
    paths = [flow(Tied(w0, a, power), times), steps(on="matrix"), steps(on="factor")]
    clocks = learning_clocks(w0, a, power=power)
    return {
        "state": np.stack([path.states for path in paths]),
        "clock": clocks.times[:2],
        "pivot": clocks.pivots[:2],
    }


def gather(cells: Cells) -> xr.Dataset:
    """Lay maps over power, route and time; add errors, and those over the drawn training sets."""
    data = layout(
        cells,
        {
            "state": "route time row column", "clock": "rank", "pivot": "rank",
            "moment": "row column",
        },
        over=["power", "seed"],
        coords={"route": list(ROUTES), "time": STEP * np.arange(CENTRAL.updates + 1)},
    )  # fmt: skip
    path = Path(data.time.values, data.state.values, "paper")
    data["error"] = data.state.dims[:3], path.probe_losses(CENTRAL.probe)
    losses = identity_losses(path.states, CENTRAL.second_moment)
    data["training_error"] = data.state.dims[:3], losses
    # Along the published recurrence, with each sample's own second moment.
    gap = data.state.sel(power=2, route="matrix").values - np.eye(3)
    errors = 0.5 * np.einsum("tij,njk,tik->nt", gap, data.moment.values, gap, optimize=True)
    data["sample_error"] = ("seed", "time"), errors
    return data


def path_of(data: xr.Dataset, power: int) -> Path:
    return Path(data.time.values, data.state.sel(power=power, route="flow").values, "paper")


def readings(data: xr.Dataset) -> xr.Dataset:
    """Return the quantities of the CSV file, computed here; NaN if an error does not turn twice."""
    rows = [[_reading(data, power, route) for route in ROUTES] for power in POWERS]
    names = list(published(__file__, ["power", "route"]).data_vars)
    array = xr.DataArray(
        rows, {"power": list(POWERS), "route": list(ROUTES), "what": names},
        ("power", "route", "what"),
    )  # fmt: skip
    return array.to_dataset("what")


def _reading(data: xr.Dataset, power: int, route: str) -> list[float]:
    run, is_flow, first = data.sel(power=power, route=route), route == "flow", FIRST[route]
    times = data.time.values if is_flow else np.arange(data.sizes["time"]) - 1.0 * first
    turns = extrema(times[first:], run.error.values[first:], refine=is_flow)
    extremes = [*turns.times, *turns.values] if len(turns) == 2 else [np.nan] * 4
    majors = np.diagonal(run.state.values, axis1=1, axis2=2)[:, [WEAK, STRONG]]
    records = times[(majors >= 0.5).argmax(axis=0)]
    return [*extremes, *(learning_times(times, majors) if is_flow else records)]


def numbers(data: xr.Dataset) -> dict[str, float | int | Estimate | np.ndarray]:
    times, a = data.time.values, CENTRAL.second_moment
    rises = swing(times, data.error.sel(route="flow", power=list(POWERS)).values).amplitude
    rise = dict(zip(POWERS, rises.tolist(), strict=True))
    block = np.s_[:2, :2]
    conditions = check_assumptions(CENTRAL.w0[block], a[block], STEP).conditions
    (separation,) = (c for c in conditions if c.statement.startswith("a_i - 3 a_j"))
    falls = swing(times, data.sample_error.values).amplitude < 1e-12
    path = path_of(data, 2)
    weak_mean = path.probe_losses(CENTRAL.probe * (np.arange(3) == WEAK))
    parts = field_parts(path.states, a @ a)
    slope = np.gradient(path.states[:, WEAK, STRONG], times, edge_order=2)
    away = readings(data) - published(__file__, ["power", "route"])
    turn_times = away[["minimum_time", "maximum_time"]].to_array()
    half_times = away[["weak_half", "strong_half"]].to_array()
    steps = ["matrix", "factor"]
    return {
        "rise_square": rise[2],
        "rise_defined": rise[1],
        "separation": separation.value,
        "falling": proportion(int(np.sum(falls)), len(data.seed)),
        "weak_mean_descents": extrema(times, weak_mean).descents,
        "times": np.stack([turn_times.sel(route="flow"), half_times.sel(route="flow")]),
        "updates": np.append(turn_times.sel(route=steps), half_times.sel(route="matrix")),
        "errors": away[["minimum", "maximum"]].to_array().to_numpy(),
        "velocity": slope - parts.velocity[:, WEAK, STRONG],
        "training_rises": swing(times, data.training_error.values).amplitude,
    }


LAST = 12.0
SHADES = ("#eef3f8", "#dfe8f1")  # of stages, by turns


def figure(data: xr.Dataset) -> Figure:
    """Draw entries, error and answers, with the square and without it."""
    drawn, axes = mosaic("AB;CD;EF", 7.4, height_ratios=[1, 0.8, 1.15])
    for power, (top, middle, bottom) in zip(POWERS, ("ACE", "BDF"), strict=True):
        path = path_of(data, power)
        for k, stage in enumerate(stages(path, CENTRAL.second_moment).stages):
            span = {"color": SHADES[k % 2], "linewidth": 0, "zorder": 0}
            axes[top].axvspan(stage.start, stage.stop, **span)
            axes[middle].axvspan(stage.start, stage.stop, **span)
        _draw_entries(axes[top], path)
        title = "squared second moment" if power == 2 else "second moment as defined"
        axes[top].set(title=title, xlim=(0, LAST), ylim=(-0.03, 1.05))
        axes[top].tick_params(labelbottom=False)
        _draw_error(axes[middle], data, power)
        _draw_answers(axes[bottom], path)
    for ax, label in zip("ACE", ("entry of the map", "error", "second concept"), strict=True):
        axes[ax].set_ylabel(label)
    for ax in "BDF":
        axes[ax].tick_params(labelleft=False)
    for place, text, colour in zip(((6.9, 0.3), (0.85, 0.7), (2.55, 0.25)), ("11", "22", "12"),
                                   COLOURS, strict=False):  # fmt: skip
        name(axes["A"], *place, f"$w_{{{text}}}$", colour)
    name(axes["C"], 4.3, 0.31, "unseen combination", COLOURS[0])
    name(axes["C"], 2.0, 0.045, "training", "#555555")
    name(axes["E"], 0.98, 1.36, "unseen\ncombination", COLOURS[0], ha="right", va="top")
    name(axes["E"], 0.98, 0.16, "first mean", COLOURS[1], ha="right")
    name(axes["E"], 0.0, 1.08, "second\nmean", COLOURS[2])
    return drawn


def _draw_entries(ax: Axes, path: Path) -> None:
    for concept in (WEAK, STRONG):
        ax.plot(path.times, path.states[:, concept, concept], **look(0, color=COLOURS[concept]))
    ax.plot(path.times, path.states[:, WEAK, STRONG], **look(1, color=COLOURS[2], linewidth=1.5))


def _draw_error(ax: Axes, data: xr.Dataset, power: int) -> None:
    run = data.sel(power=power)
    ax.plot(data.time, run.error.sel(route="flow"), **look(0))
    ax.plot(data.time, run.error.sel(route="matrix"), **look(1, linewidth=1.4))
    training = run.training_error.sel(route="flow")
    ax.plot(data.time, training, color="#555555", linewidth=1.1, linestyle=":")
    turns = extrema(data.time.values, run.error.sel(route="flow").values)
    ax.plot(turns.times, turns.values, **look(0, line=False, color="black", markersize=4))
    ax.set(xlim=(0, LAST), ylim=(-0.02, 0.65), xlabel="time (paper)")


def _draw_answers(ax: Axes, path: Path) -> None:
    means = CENTRAL.probe[:2].tolist()
    for index, point in enumerate(CENTRAL.probe * np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0]])):
        spacing = 1.0 if index == 0 else None
        concept_space(ax, path.times, path.outputs(point)[:, :2], means, every=spacing, index=index)
    ax.set(xlim=(-0.06, 1.12), ylim=(-0.06, 1.68), xlabel="first concept", ylabel="")
    ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1, 1.5])
