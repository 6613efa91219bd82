"""Dispersed sums of composed images, where each item was seen with two partners."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.study import Arrays, Cells, Config, Estimate, key, mean, series
from partwhole.study.plots import QUIET, WIDTH, look
from partwhole_studies import along
from partwhole_studies.costs import of_images, seconds_of
from partwhole_studies.images import networks
from partwhole_studies.images.composites import draw_examples, lay_out
from partwhole_studies.images.networks import DIGITS, FEW, MNIST, PLACES, STAGES, cells_of
from partwhole_studies.network_tasks import DISPERSED, make_task

LAYOUTS = tuple(DISPERSED)
FEWEST = FEW | {"samples": 1080}
PRESETS = {
    "quick": cells_of(FEWEST, "convnet-small", "squared", LAYOUTS[:1], (8,), 1, epochs=18),
    "laptop": cells_of(DIGITS, "convnet-small", "squared", LAYOUTS, (0, 4, 8), 5),
    "paper": cells_of(MNIST, "convnet", "squared", LAYOUTS, (0, 5, 10, 15, 20), 10),
}
ITEMS = 9
SALIENCES = np.arange(51) / 100
VARIABLES = {
    "error": "",
    "theory": "stage place",
    "salience": "stage place",
    "readout": "",
    "implied": "",
    "pattern": "",
    "answer": "first second",
    "expected": "first second",
}
LABELS = {"error": "mean squared error", "salience": "salience S(1;2)"}
seconds = seconds_of(of_images)
ON_GPU = True


def cell(config: Config) -> Arrays:
    """Train one network on one layout at one distance."""
    return networks.train(config)


def gather(cells: Cells) -> xr.Dataset:
    coords = {"stage": STAGES, "place": PLACES, "first": range(ITEMS), "second": range(ITEMS)}
    return lay_out(cells, _read, VARIABLES, coords, LABELS)


def _read(config: Config, arrays: Arrays) -> dict[str, Any]:
    name, answered = config["task"], arrays["answered"]
    unseen = ~make_task(name).is_train
    saliences = arrays["salience"][..., 0].clip(0.0, 0.5)
    late = answers(name, float(saliences[0, PLACES.index("late")]))
    right = make_task(name).targets
    wrong, expected, readout = (
        values[unseen] - right[unseen] for values in (answered, late, arrays["predicted"])
    )
    apart = [np.mean((answers(name, float(s)) - answered)[unseen] ** 2) for s in SALIENCES]
    return {
        "error": np.mean(wrong**2),
        "theory": [[error(name, float(s)) for s in stage] for stage in saliences],
        "salience": saliences,
        "readout": np.mean(readout**2),
        "implied": SALIENCES[np.argmin(apart)],
        "pattern": np.corrcoef(wrong, expected)[0, 1],
        "answer": answered.reshape(ITEMS, ITEMS),
        "expected": late.reshape(ITEMS, ITEMS),
    }


@cache
def answers(name: str, salience: float) -> np.ndarray:
    """Return a kernel machine's answers to every sum at a salience."""
    kernel = OverlapKernel.from_salience([salience])
    return solve(make_task(name), kernel, intercept="free").predictions


def error(name: str, salience: float) -> float:
    """Return the mean squared error of a kernel machine on unseen sums."""
    task = make_task(name)
    return float(np.mean((answers(name, salience) - task.targets)[~task.is_train] ** 2))


def by_seed(values: xr.DataArray) -> xr.DataArray:
    """Return the mean over layouts and distances."""
    return values.mean([dim for dim in ("task", "distance") if dim in values.dims])


def numbers(data: xr.Dataset) -> dict[str, float | str | Estimate]:
    first = data.isel(network=0)
    before = first.sel(stage="before", place="late")
    near, far = (first.error.isel(distance=end) for end in (0, -1))
    return {
        "near": mean(by_seed(near)),
        "far": mean(by_seed(far)),
        "gain": mean(by_seed(near - far)),
        "pattern": mean(by_seed(first.pattern), within=(-1.0, 1.0)),
        "predicted": mean(by_seed(before.theory)),
        "readout": mean(by_seed(first.readout)),
        "measured": mean(by_seed(before.salience)),
        "implied": mean(by_seed(first.implied)),
        "not_learned": data.attrs["not_learned"],
    }


def figure(data: xr.Dataset) -> Figure:
    drawn = Figure(figsize=(WIDTH, 7.8), layout="constrained")
    rows: Any = drawn.subfigures(3, 1, height_ratios=[0.7, 2.3, 2.3])
    draw_examples(rows[0], data)
    first = data.isel(network=0)
    upper, lower = rows[1].subplots(1, 2), rows[2].subplots(1, 2)
    _draw_over_distances(upper[0], first.error, first.theory, "Errors on unseen sums")
    upper[0].set_ylim(0, None)
    _draw_over_distances(upper[1], first.implied, first.salience, "Salience that answers imply")
    upper[1].set(ylim=(0, 0.52), ylabel=LABELS["salience"])
    _draw_sums(lower[0], first.isel(distance=-1).mean("seed"))
    _draw_along(lower[1], first.along.mean("task"))
    return key(drawn, columns=4)


def _draw_over_distances(
    ax: Axes, measured: xr.DataArray, theory: xr.DataArray, title: str
) -> None:
    before = theory.sel(stage="before", place="late").mean("seed")
    words = {"theory": "theory, salience"}
    series(ax, "distance", by="task", measured=measured, theory=before, words=words)
    ax.set(xlim=(-0.1, 1.1), title=title)


def _draw_sums(ax: Axes, data: xr.Dataset) -> None:
    """Draw answers to single sums, beside those that are expected of them."""
    ax.axline((0, 0), slope=1, color=QUIET, linewidth=0.8)
    for i, name in enumerate(data.task.values):
        unseen = ~make_task(str(name)).is_train
        part = data.sel(task=name)
        measured, expected = (part[v].values.ravel()[unseen] for v in ("answer", "expected"))
        ax.plot(expected, measured, **look(i, line=False, markersize=3))
    ax.set(xlabel="expected answer", ylabel="mean answer", title="Unseen sums, farthest apart")


def _draw_along(ax: Axes, error: xr.DataArray) -> None:
    ends = error.isel(distance=sorted({0, error.sizes["distance"] - 1}))
    along.draw_means(ax, ends, "distance", lambda at: f"distance {at:g}", 3, "epoch")
    ax.set(ylim=(0, None), ylabel="share of variance", title="Error along training")
