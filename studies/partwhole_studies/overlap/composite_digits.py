"""Composite digits: overlap saliences against ridge regression on images of several digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from partwhole.limits import memorization_leak
from partwhole.measures import accuracy, salience
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, mean, series
from partwhole.study.estimates import finite_values
from partwhole.study.plots import QUIET, WIDTH, name
from partwhole.tasks import Task
from partwhole_studies.overlap import composites
from partwhole_studies.overlap.composites import held_out_score

ANCHORS = {"p = 1": 1, "p = 2": 2}
TASKS = (*ANCHORS, "CD-3")
KINDS = {"pixels": "pixels", "ReLU": "ReLU features"}
FEW, MANY = 5, 20  # images of a tuple that every preset trains on; claims are of many
NAMES = {
    "predicted": "overlap saliences",
    "with_ridge": "saliences, variation as ridge",
    "apart": "mean images, sides distinguished",
    "means": "mean images",
    "rotated": "single images, variation rotated",
    "isotropic": "single images, variation isotropic",
    "equivalent": "single images, predicted",
    "images": "single images",
}
WORDS = {"theory": "prediction", "measured": "mean, 95 % interval"}


def _preset(tasks: tuple, seeds: int, distances: tuple, **sizes: Any) -> list[Config]:
    return [
        {"task": task, "distance": distance, "seed": seed, **sizes}
        for task in tasks
        for distance in distances
        for seed in range(seeds)
    ]


# width: ReLU units, more than training images; measured: images a tuple for saliences; averaged:
# those for each of two draws of its mean, no fewer than the images of a class in either half.
QUICK = {"averaged": 90, "per_tuple": [FEW, MANY]}
PRESETS: dict[str, list[Config]] = {
    "quick": [
        *_preset(("p = 1",), 8, (0, 4, 8), width=800, measured=20, **QUICK),
        *_preset(("p = 2",), 1, (0, 8), width=1000, measured=20, **QUICK),
        *_preset(("CD-3",), 5, (0, 8), width=1500, measured=10, **QUICK),
    ],
    "laptop": _preset(
        TASKS, 10, (0, 2, 4, 6, 8), width=4000, measured=60, averaged=180, per_tuple=[FEW, MANY, 60]
    ),
    "paper": _preset(
        TASKS, 30, tuple(range(9)), width=6000, measured=60, averaged=360, per_tuple=[FEW, MANY, 80]
    ),
}  # fmt: skip


def cell(config: Config) -> Arrays:
    """Fit one task, distance and seed, on pixels and on ReLU features."""
    task = composites.make_task(config["task"])
    pictures = composites.draw_pictures(config, task)

    def features(name: str, kind: str) -> np.ndarray:
        return composites.represent(pictures[name], kind, config["width"], config["seed"])

    # These matrices are small: threads cost more than they give.
    with threadpool_limits(1):
        parts = [_fit(config, task, partial(features, kind=kind)) for kind in KINDS]
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}


def _fit(config: Config, task: Task, features: Callable[[str], np.ndarray]) -> Arrays:
    """Return predictions from saliences, and slopes by regression on mean images and on images."""
    seen, targets, readout = task.is_train, task.train_targets, composites.ridge_readout
    fresh = features("fresh").astype(float)
    repeated = np.repeat(task.components, fresh.shape[1], axis=0)
    measured = salience(fresh.reshape(len(repeated), -1), repeated)
    halves = [features(half).mean(axis=1, dtype=float) for half in ("half", "other half")]
    means = 0.5 * (halves[0] + halves[1])
    trained = features("trained")[seen].astype(float)

    def predicted(ridge: float = 0.0) -> float:
        answers = composites.overlap_answers(task, measured.count_kernel, ridge)
        return held_out_score(task, answers)

    def of_tuples(rows: np.ndarray) -> float:
        return held_out_score(task, readout(rows[seen], targets, rows))

    def of_images(per_tuple: int) -> dict[str, float]:
        images = trained[:, :per_tuple].reshape(-1, trained.shape[2])
        labels = np.repeat(targets, per_tuple)
        middle = np.repeat(means[seen], per_tuple, axis=0)
        sets = {"images": images}
        if config["task"] == "p = 1":  # the controls cost most
            rng = np.random.default_rng([config["seed"], 4])
            size = np.sqrt(measured.noise / images.shape[1])
            sets["isotropic"] = middle + size * rng.standard_normal(images.shape)
            sets["rotated"] = middle + composites.rotate(images - middle, rng)
        scores = {n: held_out_score(task, readout(x, labels, means)) for n, x in sets.items()}
        if task.is_classification:
            # Accuracy on single fresh images of unseen tuples, not on their mean.
            single = readout(images, labels, fresh[~seen].reshape(-1, images.shape[1]))
            unseen = np.repeat(task.test_targets, fresh.shape[1])
            scores["accuracy"] = accuracy(unseen, single).value
        return scores | {"with_ridge": predicted(measured.noise / per_tuple)}

    sampled = [of_images(per_tuple) for per_tuple in config["per_tuple"]]
    scores: dict[str, Any] = {
        "salience": measured.count_kernel.salience[0],
        "predicted": predicted(),
        "apart": of_tuples(np.hstack(list(composites.effects(means, task.n_values)))),
        "means": of_tuples(means),
        "drift": abs(of_tuples(halves[0]) - of_tuples(halves[1])),
        **{name: [row[name] for row in sampled] for name in sampled[0]},
    }
    if config["task"] == "p = 1":
        trials = trained[:, :MANY], fresh[~seen][:, :FEW]
        scores["equivalent"] = composites.equivalent_score(task, *trials)
    return {name: np.array(value) for name, value in scores.items()}


def gather(cells: Cells) -> xr.Dataset:
    arrays = {name: array for _, scores in cells for name, array in scores.items()}
    return layout(
        cells,
        {name: "kind per_tuple" if array.ndim > 1 else "kind" for name, array in arrays.items()},
        over=["task", "distance", "seed"],
        coords={"kind": list(KINDS), "per_tuple": cells[0][0]["per_tuple"]},
    )


def numbers(data: xr.Dataset) -> dict[str, str | Estimate | np.ndarray]:
    sums = data.sel(task="p = 1", kind="ReLU", per_tuple=MANY)
    near, half = sums.sel(distance=0), sums.sel(distance=4)
    right = data.accuracy.sel(task="CD-3", kind="ReLU", per_tuple=MANY)
    leaks = [
        finite_values(data.predicted.sel(task=task))
        - memorization_leak(finite_values(data.salience.sel(task=task)).clip(0.0, 0.5), anchors)
        for task, anchors in ANCHORS.items()
    ]
    slopes = {name: mean(half[name]) for name in ("predicted", "means", "images", "equivalent")}
    errors = [slopes[name].value - slopes["predicted"].value for name in ("means", "images")]
    extent = "For mean images, not for single ones" if abs(errors[0]) < 0.1 else "No"
    return {
        **slopes,
        "extent": "Yes" if max(np.abs(errors)) < 0.1 else extent,
        "miss": mean(near.predicted - near.images),
        "beside": mean((sums.predicted - sums.means).sel(distance=slice(4, None)).mean("distance")),
        "noise": mean(half.equivalent - half.images),
        "context": mean(right.sel(distance=8) - right.sel(distance=0), within=(-1, 1)),
        "leaks": np.concatenate(leaks),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn = Figure(figsize=(WIDTH, 9), layout="constrained")
    rows: Any = drawn.subfigures(3, 1, height_ratios=[0.6, 3.6, 2.2])
    composites.draw_examples(rows[0].subplots(), (0, 4, 8))
    scores = data[["predicted", "means", "images"]].sel(per_tuple=MANY).to_array("score")
    draw = partial(series, x="distance", by="score", names=NAMES, words=WORDS)
    axes = rows[1].subplots(2, 2, sharex=True, sharey="row")
    for (upper, lower), (kind, title) in zip(axes.T, KINDS.items(), strict=True):
        sums, contexts = (scores.sel(kind=kind, task=task) for task in ("p = 1", "CD-3"))
        draw(upper, theory=sums.sel(score=["predicted"]).mean("seed"))
        draw(upper, measured=sums.sel(score=["means", "images"]), shift=1)
        draw(lower, measured=contexts.sel(score=["predicted"]))
        draw(lower, measured=contexts.sel(score=["images"]), shift=2)
        upper.set(title=f"Sums, one anchor: {title}", ylabel="slope of unseen sums")
        lower.set(title=f"CD-3: {title}", ylabel="margin on unseen tuples")
        lower.set(xticks=data.distance, xlim=(-0.7, 8.7), xlabel="distance of the digits (pixels)")
        lower.axhline(0, color=QUIET, linewidth=1, zorder=0)
    for ax in axes.flat:
        ax.label_outer()
    _draw_controls(rows[2].subplots(), data.sel(task="p = 1", kind="ReLU", per_tuple=MANY))
    return key(drawn, 3)


def _draw_controls(ax: Axes, sums: xr.Dataset) -> None:
    rows = np.arange(len(NAMES))[::-1]
    for distance, fill, shift in ((0, "black", 0.12), (4, "white", -0.12)):
        estimates = [mean(sums[row].sel(distance=distance)) for row in NAMES]
        values = [estimate.value for estimate in estimates]
        widths = [estimate.high - estimate.value for estimate in estimates]
        ax.errorbar(values, rows + shift, xerr=widths, fmt="o", color="black", mfc=fill, ms=5)
        name(ax, values[0], rows[0] + 0.65, f"{distance} pixels", ha="center")
    ax.set_yticks(rows, NAMES.values())
    ax.grid(axis="y", color="#e8e8e8")
    ax.set(xlabel="slope of unseen sums", xlim=(0, 1.08), ylim=(-0.5, len(rows)))
    ax.set_title("Sums, one anchor: ReLU features, two distances", loc="right")
