"""Composite digits: how far overlap saliences carry on real images, and where they stop.

Four rungs of theory lead from a single number to the images: the saliences measured on the
composites; the same, with the variance of images of one tuple, divided by their number, as ridge;
the kernel of the tuples' mean images; and ridge regression on the images themselves.

Two causes part the rungs. At distance 0 the pixelwise maximum does not tell which digit is where:
the mean image of (3, 7) resembles that of (7, 3), which no overlap knows of, so tuple means
answer far less than their saliences say, and the gap closes once components are kept apart. From
distance 4 saliences and tuple means agree, and what is left is the direction in which images of
one class differ: turned at random, or made isotropic, the same amount of variation costs little;
as it is, it lies where classes differ too, and takes a third of the slope. More images of a tuple
help little against that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.limits import memorization_leak
from partwhole.studies import COLOURS, Arrays, Cells, Claim, Config
from partwhole.studies._claim import Relation
from partwhole.studies.overlap import _composites as composites
from partwhole.studies.overlap import _plots as plots
from partwhole.studies.overlap._composites import COUNTED, FIXED, KINDS, TASKS
from partwhole.tasks.images import class_assignment, compose_images, digit_images

QUESTION = (
    "On pairs of real handwritten digits, does theory that knows only overlap saliences predict "
    "what a ridge regression on the images answers to unseen pairs?"
)
SOURCE = (
    "Lippl & Stachenfeld (ICLR 2025), section on vision networks, with ridge regression in place "
    "of trained networks; controls derived here"
)
CAPTION = (
    "Top: one pair of digits at five distances. Below, leak slope on unseen sums (one anchor) and "
    "mean margin on CD-3, for pixels and for random ReLU features, 20 images a tuple: three rungs "
    "of theory and ridge regression on the images; dots are seeds, lines their means. Bottom: "
    "the same slopes at distances 0 and 4 with the controls between the rungs. At distance 0 "
    "composites do not tell which digit is where; farther apart, what remains is that images of "
    "one class differ in the same directions as classes do."
)
REVISION = 1
BUDGET = 25.0

DISTANCES = (0, 2, 4, 6, 8)
PER_TUPLE = 20  # the number of images a tuple that figure and claims show
THEORY = ("salience", "noise", "means")
NAMES = {
    "salience": "overlap saliences",
    "noise": "saliences, noise as ridge",
    "means": "kernel of tuple means",
    "images": "ridge on the images",
    "blind": "saliences, order-blind",
    "apart": "tuple means, components kept apart",
    "same classes": "tuple means, same classes in both",
    "means + noise": "tuple means, noise as ridge",
    "isotropic": "images, noise made isotropic",
    "rotated": "images, noise rotated",
    "averaged": "averages of 20 images",
}


def _preset(seeds: int, distances: tuple[int, ...], **sizes: Any) -> list[Config]:
    return [
        {"task": task, "distance": distance, "seed": seed, **sizes}
        for task in TASKS
        for distance in distances
        for seed in range(seeds)
    ]


# width: ReLU units; measured: images a tuple for saliences; averaged: those for each of two draws
# of its mean, no fewer than the images of a class in either half.
PRESETS = {
    "quick": _preset(4, DISTANCES, width=1500, measured=20, averaged=90, per_tuple=[5, 20]),
    "laptop": _preset(10, DISTANCES, width=4000, measured=60, averaged=180, per_tuple=[5, 20, 60]),
    "paper": _preset(
        30, tuple(range(9)), width=6000, measured=60, averaged=360, per_tuple=[5, 20, 80]
    ),
}


def cell(config: Config) -> Arrays:
    from threadpoolctl import threadpool_limits

    # These matrices are small: threads cost more than they give, above all beside other cells.
    with threadpool_limits(1):
        return composites.cell(config)


def gather(cells: Cells) -> xr.Dataset:
    keys = [(config["task"], config["distance"], config["seed"]) for config, _ in cells]
    axes = [list(dict.fromkeys(key[i] for key in keys)) for i in range(3)]
    first = cells[0][1]
    filled = {name: np.full((*map(len, axes), *a.shape), np.nan) for name, a in first.items()}
    for key, (_, found) in zip(keys, cells, strict=True):
        place = tuple(axis.index(entry) for axis, entry in zip(axes, key, strict=True))
        for name, array in found.items():
            filled[name][place] = array
    tails = {
        "fixed": ("rung",),
        "fixed_accuracy": ("rung",),
        "counted": ("per_tuple", "counted_rung"),
        "counted_accuracy": ("per_tuple", "counted_rung"),
        "salience": ("order",),
    }
    head = ("task", "distance", "seed", "kind")
    names = {"fixed": "fixed_value", "counted": "counted_value"}
    data = xr.Dataset(
        {
            names.get(name, name): ((*head, *tails.get(name, ())), array)
            for name, array in filled.items()
        },
        coords={
            "task": axes[0],
            "distance": axes[1],
            "seed": axes[2],
            "kind": list(KINDS),
            "rung": list(FIXED),
            "counted_rung": list(COUNTED),
            "per_tuple": list(cells[0][0]["per_tuple"]),
            "order": [1, 2, 3],
        },
    )
    return data.assign(example=(("distance", "row", "column"), _examples(axes[1])))


def _examples(distances: list[int]) -> np.ndarray:
    """Compose one pair of digits at every distance, NaN right of the canvas."""
    images, labels = digit_images()
    task = composites.make_task("p = 1")
    left, right = class_assignment(task, 10, seed=0)
    row = int(np.argmax((left[task.components[:, 0]] == 3) & (right[task.components[:, 1]] == 7)))
    found = np.full((len(distances), 8, 8 + max(distances)), np.nan)
    for i, distance in enumerate(distances):
        drawn, _ = compose_images(task, images, labels, 1, distance=distance, seed=0)
        found[i, :, : drawn.shape[2]] = drawn[row]
    return found


def values(data: xr.Dataset, rung: str, per_tuple: int = PER_TUPLE, **where: Any) -> xr.DataArray:
    """Return a rung's slopes (or margins), by whatever `where` leaves open and by seed."""
    if rung in FIXED:
        return data.fixed_value.sel(rung=rung, **where)
    return data.counted_value.sel(counted_rung=rung, per_tuple=per_tuple, **where)


def claims(data: xr.Dataset) -> list[Claim]:
    return [*_rungs(data), *_superimposed(data), *_beside(data), *_shortcut(data)]


def _compared(
    data: xr.Dataset, statement: str, one: str, other: str, tolerance: float, *,
    reference: float = 0.0, relation: Relation = "equal", source: str = "derived here",
    note: str = "", **where: Any,
) -> Claim:  # fmt: skip
    """Claim something of one rung less another, over seeds, where they differ most."""
    gap = values(data, one, **where) - values(data, other, **where)
    if "distance" in gap.dims:
        worst = int(np.argmax(np.abs(gap.mean("seed").values)))
        note = f"{note} Widest at distance {int(gap.distance[worst])}.".strip()
        gap = gap.isel(distance=worst)
    mean, low, high = map(float, plots.mean_interval(gap.values))
    return Claim(
        statement, source, reference, mean, tolerance, (low, high),
        relation=relation, note=note,
    )  # fmt: skip


def _ladder(data: xr.Dataset, rungs: tuple[str, ...], **where: Any) -> str:
    """Tell several rungs' means in a sentence."""
    parts = [f"{NAMES[r]} {float(values(data, r, **where).mean()):.2f}" for r in rungs]
    return "Means: " + ", ".join(parts) + "."


def _rungs(data: xr.Dataset) -> list[Claim]:
    """Weigh each rung as a forecast of what the regression on images does."""
    found = []
    for task, forms in (("p = 1", 1), ("p = 2", 2)):
        measured = data.salience.sel(task=task, order=1).values.clip(0.0, 0.5)
        law = memorization_leak(measured, forms)
        found.append(
            Claim(
                f"The first rung is the memorization leak at the measured salience, {task}: "
                "largest difference, all distances and seeds.",
                "Lippl & Stachenfeld (ICLR 2025), proposition 5.1",
                0.0,
                float(np.abs(values(data, "salience", task=task).values - law).max()),
                1e-3,
            )
        )
    source = "Lippl & Stachenfeld (ICLR 2025), proposition 5.1, taken to images"
    for task in TASKS:
        what = "mean margin on CD-3" if task == "CD-3" else f"leak slope, {task}"
        for kind in KINDS:
            found += [
                _compared(
                    data, f"Rung {i + 1}, {NAMES[rung]}, predicts the {what}, of ridge regression "
                    f"on {kind} within .05: how far it is off.",
                    rung, "images", 0.05, source=source, task=task, kind=kind,
                )
                for i, rung in enumerate(THEORY)
            ]  # fmt: skip
    for task in TASKS:
        drift = data.drift.sel(task=task).mean("seed").max("kind")
        left = float(data.left.sel(task=task).max())
        found.append(
            Claim(
                f"The third rung is well determined, {task}: two draws of tuple means agree within "
                ".05; mean difference where it is largest.",
                "derived here",
                0.0,
                float(drift.max()),
                0.05,
                relation="at most",
                note=f"At distance {int(drift.distance[int(np.argmax(drift.values))])}. Draws that "
                f"use every image equally often leave at most {left:.3f} of the similarity range "
                "as noise in a mean; directions in which means hardly differ still amplify it.",
            )
        )
    return found


def _superimposed(data: xr.Dataset) -> list[Claim]:
    """Explain the fall from saliences to tuple means at distance 0."""
    found = []
    for kind in KINDS:
        at: dict[str, Any] = {"task": "p = 1", "kind": kind, "distance": 0}
        mean, low, high = map(float, plots.mean_interval(data.structure.sel(**at).values))
        ladder = _ladder(data, ("salience", "blind", "apart", "same classes", "means"), **at)
        shared = values(data, "same classes", **at).values
        law = memorization_leak(data.salience.sel(order=1, **at).values.clip(0.0, 0.5), 2)
        gap = plots.mean_interval(shared - law)
        found += [
            Claim(
                f"Superimposed {kind} hardly depend on overlap: share of the variance of tuple "
                "similarity that the overlap explains, distance 0.",
                "derived here", 0.1, mean, 0.0, (low, high), relation="at most",
            ),
            _compared(
                data, "The cause is that composites don't tell which digit is where. Without the "
                f"similarity between parts of different components, tuple means of {kind} give the "
                "slope that saliences predict: difference.",
                "apart", "salience", 0.1, note=ladder, **at,
            ),
            Claim(
                "With the same classes in both components, order-blindness turns (v, 0) and "
                f"(0, v) into one, and one anchor into two. Slope of tuple means of {kind} less "
                "the leak of two anchors at the measured salience.",
                "derived here", 0.0, float(gap[0]), 0.1, (float(gap[1]), float(gap[2])),
            ),
            _compared(
                data, "An order-blind overlap kernel, which counts shared digits wherever they "
                f"stand, predicts the slope of tuple means of {kind}: difference.",
                "blind", "means", 0.1, note=ladder, **at,
            ),
        ]  # fmt: skip
    return found


def _beside(data: xr.Dataset) -> list[Claim]:
    """Explain the fall from tuple means to images where digits lie side by side."""
    found = []
    far = [int(d) for d in data.distance if d >= 4]
    for kind in KINDS:
        side: dict[str, Any] = {"task": "p = 1", "kind": kind}
        at: dict[str, Any] = side | {"distance": 4}
        ladder = _ladder(
            data, ("means", "means + noise", "isotropic", "rotated", "averaged", "images"), **at
        )
        found += [
            _compared(
                data, f"From distance 4 on, saliences give the slope of tuple means of {kind}.",
                "salience", "means", 0.05, distance=far, **side,
            ),
            _compared(
                data, "Variance within a tuple acts on the kernel of tuple means as a ridge of "
                f"variance / m does on the overlap kernel: slopes for {kind} from distance 4 on.",
                "noise", "means + noise", 0.1, distance=far, **side,
            ),
            _compared(
                data, "Noise of the same size in all directions alike is that ridge: slopes for "
                f"{kind}, distance 4.",
                "isotropic", "means + noise", 0.05, note=ladder
                + (" 96 pixels are fewer dimensions than images." if kind == "pixels" else ""),
                **at,
            ),
            _compared(
                data, f"The images' own noise, turned in random directions, costs {kind} no slope, "
                "distance 4: it fills few dimensions, and the regression avoids them.",
                "rotated", "means", 0.1, note=ladder, **at,
            ),
            _compared(
                data, "So its direction is what costs: images of a class differ where classes do. "
                f"Slope on {kind} less that with rotated noise, distance 4.",
                "images", "rotated", 0.0, reference=-0.1, relation="at most", note=ladder, **at,
            ),
        ]  # fmt: skip
        most, least = int(data.per_tuple.max()), int(data.per_tuple.min())
        gain = values(data, "images", most, **at) - values(data, "images", least, **at)
        mean, low, high = map(float, plots.mean_interval(gain.values))
        found.append(
            Claim(
                f"More images close little of the gap: slope on {kind} with {most} images a tuple "
                f"less that with {least}, distance 4, at most .15.",
                "derived here", 0.15, mean, 0.0, (low, high), note=ladder, relation="at most",
            )
        )  # fmt: skip
        rise = values(data, "images", distance=8, **side) - values(
            data, "images", distance=0, **side
        )
        mean, low, high = map(float, plots.mean_interval(rise.values))
        found.append(
            Claim(
                f"The slope grows with distance: ridge regression on {kind}, distance 8 less 0.",
                "Lippl & Stachenfeld (ICLR 2025), figure 5c, there for a convolutional network",
                0.0, mean, 0.0, (low, high), relation="at least",
            )
        )  # fmt: skip
    return found


def _shortcut(data: xr.Dataset) -> list[Claim]:
    """Weigh CD-3: why the rungs leave it open, and what regression on images does."""
    found = []
    for kind in KINDS:
        where: dict[str, Any] = {"task": "CD-3", "kind": kind}
        single = 3.0 * data.salience.sel(order=1, **where).mean("seed")
        cut = float(data.cut.sel(**where).mean("seed").max())
        found.append(
            Claim(
                f"On CD-3 single digits carry nearly all similarity between {kind}, 3 S(1;3) at "
                "least .8 at every distance: the margin hangs on the rest, pairs against triples.",
                "derived here",
                0.8,
                float(single.min()),
                0.0,
                relation="at least",
                note=f"That rest is measured as negative in places; up to {cut:.3f} was set to 0.",
            )
        )
        far = values(data, "salience", **where).sel(distance=slice(4, None)).values
        ends = np.minimum(np.abs(far - 1.0), np.abs(far + 1.0 / 3.0))
        found.append(
            Claim(
                f"So the first rung tosses a coin on CD-3: for {kind} from distance 4 on its "
                "margin is 1, where triples come out as 0, or -1/3, where pairs do (within .05); "
                "share of distances and seeds, at least half.",
                "the law for the CD-3 margin, derived here",
                0.5,
                float(np.mean(ends < 0.05)),
                0.0,
                relation="at least",
                note=f"{int(np.sum(np.abs(far - 1) < 0.05))} times 1 and "
                f"{int(np.sum(np.abs(far + 1 / 3) < 0.05))} times -1/3 of {far.size}.",
            )
        )
        found.append(
            _compared(
                data, "One similarity for each number of shared digits is too few on CD-3, where "
                f"context and features differ in kind: margin for {kind} with one for each set, "
                "less that with one for each count, above .1 in size.",
                "by set", "salience", 0.0, reference=0.1, relation="at least", **where,
            )
        )  # fmt: skip
        for distance in (0, 8):
            margins = values(data, "images", distance=distance, **where).values
            mean, low, high = map(float, plots.mean_interval(margins))
            found.append(
                Claim(
                    f"Ridge regression on {kind} takes the context shortcut at distance "
                    f"{distance}: mean margin of unseen tuples at most 0.",
                    "Lippl & Stachenfeld (ICLR 2025), CD-3",
                    0.0, mean, 0.0, (low, high), relation="at most",
                )
            )  # fmt: skip
        right = data.counted_accuracy.sel(counted_rung="images", per_tuple=PER_TUPLE, **where)
        fall = plots.mean_interval((right.sel(distance=8) - right.sel(distance=0)).values)
        found.append(
            Claim(
                f"Accuracy on CD-3 falls as digits move apart: {kind}, distance 8 less 0.",
                "Lippl & Stachenfeld (ICLR 2025), there .504 to .229 for a convolutional network",
                0.0, float(fall[0]), 0.0, (float(fall[1]), float(fall[2])), relation="at most",
                note=f"From {float(right.sel(distance=0).mean()):.2f} to "
                f"{float(right.sel(distance=8).mean()):.2f}.",
            )
        )  # fmt: skip
    return found


def figure(data: xr.Dataset) -> Figure:
    shown = [d for d in DISTANCES if d in data.distance]
    drawn = Figure(figsize=(plots.WIDTH, 9.4), layout="constrained")
    rows: Any = drawn.subfigures(4, 1, height_ratios=[0.66, 1.75, 1.75, 2.4])
    examples = rows[0].subplots(1, len(shown), width_ratios=[8 + d for d in shown])
    for ax, distance in zip(np.atleast_1d(examples), shown, strict=True):
        picture = data.example.sel(distance=distance).values
        ax.imshow(picture[:, : 8 + distance], cmap="Greys", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"distance {distance}" if distance == shown[0] else f"{distance}", fontsize=9)
        ax.spines[["right", "top"]].set_visible(True)
    for row, task, label in ((rows[1], "p = 1", "slope"), (rows[2], "CD-3", "mean margin")):
        axes = row.subplots(1, 2, sharey=True)
        for ax, kind in zip(axes, KINDS, strict=True):
            _draw_rungs(ax, data, task, kind)
            ax.set_title(f"{'Sums, one anchor' if task == 'p = 1' else 'CD-3'}: {kind}")
            ax.set_xlabel("distance between digits, pixels")
        axes[0].set_ylabel(label)
        if task == "p = 1":
            axes[1].legend(fontsize=8, loc="lower right", handlelength=2.6, labelspacing=0.25)
    _draw_ladder(rows[3].subplots(), data)
    return drawn


def _draw_rungs(ax: Axes, data: xr.Dataset, task: str, kind: str) -> None:
    names = {
        "salience": "saliences",
        "noise": "with noise as ridge",
        "means": "tuple means",
        "images": "images",
    }
    ax.axhline(0 if task == "CD-3" else 1, color=plots.QUIET, linestyle=":", linewidth=1)
    for i, (rung, name) in enumerate(names.items()):
        found = values(data, rung, task=task, kind=kind).transpose("seed", "distance").values
        x = data.distance.values + 0.22 * (i - 1.5)
        for single in found:
            ax.plot(x, single, ".", color=COLOURS[i], markersize=3, alpha=0.45)
        style: dict[str, Any] = plots.look(i)
        if rung == "images":
            style = plots.look(i, line=False) | {"linestyle": "-"}
        ax.plot(x, found.mean(axis=0), **style, label=name)
    limits = (-1.25, 1.25) if task == "CD-3" else (-0.1, 1.2)
    ax.set(ylim=limits, xticks=[d for d in DISTANCES if d in data.distance])


LADDER = (
    "salience", "blind", "apart", "same classes", "means", "means + noise", "isotropic",
    "rotated", "averaged", "images",
)  # fmt: skip


def _draw_ladder(ax: Axes, data: xr.Dataset) -> None:
    """Draw slopes of rungs and controls for ReLU features, a row for each."""
    y = np.arange(len(LADDER))[::-1]
    for i, distance in enumerate((0, 4)):
        height = y + (0.15 if i == 0 else -0.15)
        for row, rung in zip(height, LADDER, strict=True):
            if rung == "blind" and distance:
                continue  # digits side by side are not order-blind
            found = values(data, rung, task="p = 1", kind="ReLU", distance=distance).values
            ax.plot(found, np.full(len(found), row), ".", color=COLOURS[i], markersize=3, alpha=0.5)
            label = f"distance {distance}" if rung == "salience" else None
            ax.plot(found.mean(), row, **plots.look(i, line=False), label=label)
    bold = ("salience", "means", "images")
    ax.set_yticks(y, [NAMES[rung] for rung in LADDER], fontsize=8.5)
    for label, rung in zip(ax.get_yticklabels(), LADDER, strict=True):
        label.set_fontweight("bold" if rung in bold else "normal")
    ax.grid(color="#e8e8e8", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set(xlim=(-0.1, 1.2), xlabel="slope", title="Between the rungs: ReLU, one anchor")
    ax.legend(
        fontsize=8, loc="upper right", bbox_to_anchor=(-0.02, 0.0), handletextpad=0.2, ncols=2
    )
