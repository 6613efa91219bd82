"""Composite digits: how far overlap saliences carry on real images, and where they stop.

Four rungs of theory lead from a single number to the images: the saliences measured on the
composites; the same, with the variance of images of one tuple, divided by their number, as ridge;
the kernel of the tuples' mean images; and ridge regression on the images themselves.

Two causes part the rungs on sums with one anchor. At distance 0 the pixelwise maximum does not
tell which digit is where: the mean image of (3, 7) resembles that of (7, 3), which no overlap
knows of, so tuple means answer less than their saliences say, and the gap closes once
components are kept apart. For ReLU features saliences and tuple means agree on average over
distances from 4 on, and what is left is the direction in which images of one class differ: turned
at random, the same variation costs little; made equal in all directions, it costs what a ridge of
its size does; as it is, it lies where classes differ too, and costs more than .2 of the slope.
Twenty images of a tuple instead of five make up for less than .15 of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.limits import memorization_leak
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.study.claim import Relation
from partwhole.tasks import class_assignment, compose_images, digit_images
from partwhole_studies.overlap import _composites as composites
from partwhole_studies.overlap._composite_figure import (
    DISTANCES,
    NAMES,
    PER_TUPLE,
    computed,
    draw,
    values,
)
from partwhole_studies.overlap._composites import COUNTED, FIXED, KINDS, TASKS

QUESTION = (
    "On pairs of real handwritten digits, does theory that knows only overlap saliences predict "
    "what a ridge regression on the images answers to unseen pairs?"
)
SOURCE = (
    "Lippl & Stachenfeld (ICLR 2025), section on vision networks, with ridge regression in place "
    "of trained networks; controls derived here"
)
ANSWER = (
    "Only in part: saliences say what tuple means answer once the digits lie apart, but not "
    "what regression on single images answers, since images of one digit differ where digits "
    "differ."
)
CAPTION = (
    "Top: one pair of digits at several distances. Below, leak slope on unseen sums (one anchor) "
    "and mean margin on CD-3, for pixels and for random ReLU features, 20 images a tuple: three "
    "rungs of theory and ridge regression on the images; dots are seeds (arrows: seeds beyond the "
    "axis), lines their means. Bottom, for ReLU features only: the same slopes at distances 0 and "
    "4 with the controls between the rungs. Sides told apart: without the likeness of a left to a "
    "right digit. Noise: what varies between images of one pair, turned in random directions or "
    "made isotropic, alike in all. At distance 0 "
    "composites do not tell which digit is where; farther apart, what remains is that images of "
    "one class differ in the same directions as classes do."
)

HELD = {"p = 1": "one anchor", "p = 2": "two anchors", "CD-3": "CD-3"}
LOOK = {"pixels": "pixels", "ReLU": "ReLU features"}
THEORY = ("salience", "noise", "means")


def _preset(plan: dict[str, tuple[int, tuple[int, ...]]], **sizes: Any) -> list[Config]:
    """List the cells of each task's number of seeds and distances."""
    return [
        {"task": task, "distance": distance, "seed": seed, **sizes}
        for task, (seeds, distances) in plan.items()
        for distance in distances
        for seed in range(seeds)
    ]


# width: ReLU units; measured: images a tuple for saliences; averaged: those for each of two draws
# of its mean, no fewer than the images of a class in either half.
PRESETS = {
    # More units than training images, whose number differs between tasks.
    "quick": [
        config
        for task, seeds, distances, width, measured in (
            ("p = 1", 8, (0, 4, 8), 800, 20),
            ("p = 2", 3, (0, 8), 1000, 20),
            ("CD-3", 4, (0, 4, 8), 1500, 10),
        )
        for config in _preset(
            {task: (seeds, distances)},
            width=width, measured=measured, averaged=90, per_tuple=[5, 20],
        )
    ],
    "laptop": _preset(
        dict.fromkeys(TASKS, (10, DISTANCES)),
        width=4000, measured=60, averaged=180, per_tuple=[5, 20, 60],
    ),
    "paper": _preset(
        dict.fromkeys(TASKS, (30, tuple(range(9)))),
        width=6000, measured=60, averaged=360, per_tuple=[5, 20, 80],
    ),
}  # fmt: skip


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
        composed = compose_images(
            task, images, labels, distance=distance, combine="maximum", seed=0
        )
        drawn = composed.draw(1)[[row]]
        found[i, :, : drawn.shape[2]] = drawn[0, :, :, 0]
    return found


def claims(data: xr.Dataset) -> list[Claim]:
    return [*_rungs(data), *_superimposed(data), *_beside(data), *_shortcut(data)]


def _compared(
    data: xr.Dataset, statement: str, one: str, other: str, tolerance: float, *,
    reference: float = 0.0, relation: Relation = "equal", source: str = "derived here",
    note: str = "", pooled: bool = False, **where: Any,
) -> Claim:  # fmt: skip
    """Claim something of one rung less another, over seeds: at every distance, or pooled."""
    gap = values(data, one, **where) - values(data, other, **where)
    if pooled:
        means = gap.mean("seed").values
        each = [f"{g:.3f} at {d}" for g, d in zip(means, gap.distance.values, strict=True)]
        note = f"{note} By distance: {', '.join(each)}.".strip()
        gap = gap.mean("distance")
    return _everywhere(gap, statement, tolerance, reference, relation, source, note)


def _everywhere(
    gap: xr.DataArray, statement: str, tolerance: float, reference: float, relation: Relation,
    source: str, note: str,
) -> Claim:  # fmt: skip
    """Claim something of the mean over seeds at every distance, at 95 % for all of them together.

    Each of k distances gets a 1 - .05/k interval (Bonferroni). The claim holds where all intervals
    agree with it, and does not where one of them lies outside; shown is the distance that decides.
    """
    if "distance" not in gap.dims:
        gap = gap.expand_dims("distance")
    k = gap.sizes["distance"]
    bands = plots.mean_interval(gap.transpose("seed", "distance").values, 1 - 0.05 / k)
    claims_ = [
        Claim(
            statement, source, reference, float(mean), tolerance, (float(low), float(high)),
            relation=relation, note=note,
        )
        for mean, low, high in bands.T
    ]  # fmt: skip

    def against(claim: Claim) -> tuple[float, float]:
        """Say how far the interval is sure to be outside, and how far it may be."""
        low, high = claim.agreeing
        left, right = claim.interval or (claim.found, claim.found)
        return max(0.0, left - high, low - right), max(right - high, low - left)

    worst = max(range(k), key=lambda i: against(claims_[i]))
    if k == 1:
        return claims_[worst]
    where = f"Shown is distance {int(gap.distance[worst])}, which decides; the interval is 95 % "
    return replace(claims_[worst], note=f"{note} {where}for all {k} distances together.".strip())


def _interval(samples: xr.DataArray) -> tuple[float, float, float]:
    """Return mean, low and high end over seeds."""
    mean, low, high = map(float, plots.mean_interval(computed(samples).values))
    return mean, low, high


def _ladder(data: xr.Dataset, rungs: tuple[str, ...], **where: Any) -> str:
    """Tell several rungs' means in a sentence."""
    parts = [f"{NAMES[r]} {float(values(data, r, **where).mean()):.2f}" for r in rungs]
    return "Means: " + ", ".join(parts) + "."


def _rungs(data: xr.Dataset) -> list[Claim]:
    """Weigh each rung as a forecast of what the regression on images does."""
    found = []
    for task, forms in (("p = 1", 1), ("p = 2", 2)):
        measured = computed(data.salience.sel(task=task, order=1)).values.clip(0.0, 0.5)
        law = memorization_leak(measured, forms)
        found.append(
            Claim(
                "What overlap saliences say of digits (rung 1) is the memorization leak, "
                f"{HELD[task]}: "
                "largest difference, all distances and seeds.",
                "Lippl & Stachenfeld (ICLR 2025), proposition 5.1",
                0.0,
                float(np.abs(values(data, "salience", task=task).values - law).max()),
                1e-3,
            )
        )
    source = "Lippl & Stachenfeld (ICLR 2025), proposition 5.1, taken to images"
    for task in TASKS:
        what = "mean margin on CD-3" if task == "CD-3" else f"leak slope with {HELD[task]}"
        for kind in KINDS:
            found += [
                _compared(
                    data, f"Rung {i + 1} of the theory ({NAMES[rung]}) predicts the {what} of "
                    "ridge "
                    f"regression on images as {LOOK[kind]} within .05: how far it is off.",
                    rung, "images", 0.05, source=source, task=task, kind=kind,
                )
                for i, rung in enumerate(THEORY)
            ]  # fmt: skip
    for task in TASKS:
        drift = computed(data.drift.sel(task=task)).max("kind")
        left = float(data.left.sel(task=task).max())
        found.append(
            _everywhere(
                drift,
                f"The kernel of tuple means (rung 3) is well determined, {HELD[task]}: answers "
                "from two "
                "draws differ by at most .05 on average, at every distance.",
                0.0, 0.05, "at most", "derived here",
                f"Draws that use every image equally often leave at most {left:.3f} of the "
                "similarity range as noise in a mean; directions in which means hardly differ "
                "still amplify it.",
            )
        )  # fmt: skip
    return found


def _superimposed(data: xr.Dataset) -> list[Claim]:
    """Explain the fall from saliences to tuple means at distance 0."""
    found = []
    for kind in KINDS:
        at: dict[str, Any] = {"task": "p = 1", "kind": kind, "distance": 0}
        mean, low, high = _interval(data.structure.sel(**at))
        ladder = _ladder(data, ("salience", "blind", "apart", "same classes", "means"), **at)
        shared = values(data, "same classes", **at).values
        measured = computed(data.salience.sel(order=1, **at)).values.clip(0.0, 0.5)
        gap = plots.mean_interval(shared - memorization_leak(measured, 2))
        found += [
            Claim(
                f"Superimposed {LOOK[kind]} hardly depend on overlap: share of the variance of "
                "tuple "
                "similarity that the overlap explains, distance 0.",
                "derived here", 0.1, mean, 0.0, (low, high), relation="at most",
            ),
            _compared(
                data, f"Tuple means of superimposed {LOOK[kind]} answer less than their "
                "saliences say: slope less that of saliences, distance 0, at most -.1.",
                "means", "salience", 0.0, reference=-0.1, relation="at most", note=ladder, **at,
            ),
            _compared(
                data, "Superimposed digits don't tell which is where. Once the likeness of a left "
                "to a "
                f"right digit is taken out, tuple means of {LOOK[kind]} give the slope that "
                "saliences predict: difference.",
                "apart", "salience", 0.1, note=ladder, **at,
            ),
            Claim(
                "With the same classes on both sides of superimposed digits, order-blindness "
                "turns (v, 0) and "
                f"(0, v) into one, and one anchor into two. Slope of tuple means of {LOOK[kind]} "
                "less "
                "the leak of two anchors at the measured salience.",
                "derived here", 0.0, float(gap[0]), 0.1, (float(gap[1]), float(gap[2])),
            ),
            _compared(
                data, "An order-blind overlap kernel, which counts shared digits wherever they "
                f"stand, predicts the slope of tuple means of superimposed {LOOK[kind]}: "
                "difference.",
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
                data, "From distance 4 on, saliences give the slope of tuple means of "
                f"{LOOK[kind]}, on average over distances: difference.",
                "salience", "means", 0.05, pooled=True, distance=far, **side,
            ),
            _compared(
                data, "Variance within a tuple acts on the kernel of tuple means as a ridge of "
                f"variance / m does on the overlap kernel: slopes for {LOOK[kind]}, "
                "mean difference over distances from 4 on.",
                "noise", "means + noise", 0.1, pooled=True, distance=far, **side,
            ),
            _compared(
                data, "Noise of the images' size, alike in all directions, acts as a ridge on the "
                "kernel of tuple means: slopes for ReLU features, distance 4.",
                "isotropic", "means + noise", 0.05, note=ladder, **at,
            )
            if kind == "ReLU"
            else _compared(
                data, "Noise of the images' size, alike in all directions, costs pixels more than "
                "a ridge of that size does: slope less that with the ridge, distance 4, at most "
                "-.1.",
                "isotropic", "means + noise", 0.0, reference=-0.1, relation="at most",
                note=f"{ladder} 96 pixels are fewer dimensions than training images.", **at,
            ),
            _compared(
                data, f"The images' own noise, turned in random directions, costs {LOOK[kind]} no "
                "slope, "
                "distance 4: it fills few dimensions, and the regression avoids them.",
                "rotated", "means", 0.1, note=ladder, **at,
            ),
            _compared(
                data, "The direction of the images' noise is what costs slope: images of a class "
                "differ "
                f"where classes do. Slope on {LOOK[kind]} less that with the noise turned at "
                "random, distance 4, at most -.2.",
                "images", "rotated", 0.0, reference=-0.2, relation="at most", note=ladder, **at,
            ),
        ]  # fmt: skip
        most, least = int(data.per_tuple.max()), int(data.per_tuple.min())
        gain = values(data, "images", most, **at) - values(data, "images", least, **at)
        mean, low, high = _interval(gain)
        found.append(
            Claim(
                f"More images bring regression little closer to theory: slope on {LOOK[kind]} "
                f"with {most} images a tuple "
                f"less that with {least}, distance 4, at most .15.",
                "derived here", 0.15, mean, 0.0, (low, high), note=ladder, relation="at most",
            )
        )  # fmt: skip
        rise = values(data, "images", distance=8, **side) - values(
            data, "images", distance=0, **side
        )
        mean, low, high = _interval(rise)
        found.append(
            Claim(
                f"The leak slope grows as digits move apart: ridge regression on {LOOK[kind]}, "
                "distance 8 less 0.",
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
        single = 3.0 * computed(data.salience.sel(order=1, **where)).mean("seed")
        cut = float(data.cut.sel(**where).mean("seed").max())
        found.append(
            Claim(
                f"On CD-3 single digits carry nearly all similarity between {LOOK[kind]}, 3 "
                "S(1;3) at "
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
                f"Overlap saliences of {LOOK[kind]} (rung 1) can't decide CD-3 from distance 4 on: "
                "the margin they give is 1 where the salience of triples is measured as 0, and "
                "-1/3 where that of pairs is (within .05); share of distances and seeds, at least "
                "half.",
                "the law for the CD-3 margin, derived here",
                0.5,
                float(np.mean(ends < 0.05)),
                0.0,
                relation="at least",
                note=f"{int(np.sum(np.abs(far - 1) < 0.05))} times 1 and "
                f"{int(np.sum(np.abs(far + 1 / 3) < 0.05))} times -1/3 of {far.size}.",
            )
        )
        size = abs(values(data, "by set", **where) - values(data, "salience", **where))
        mean, low, high = _interval(size.mean("distance"))
        found.append(
            Claim(
                "One similarity for each number of shared digits is too few on CD-3, where "
                "context and features differ in kind: size of the difference of margins for "
                f"{LOOK[kind]} with one for each set and with one for each count, mean over "
                "distances, at least .1.",
                "derived here", 0.1, mean, 0.0, (low, high), relation="at least",
            )
        )  # fmt: skip
        for distance in (0, 8):
            mean, low, high = _interval(values(data, "images", distance=distance, **where))
            found.append(
                Claim(
                    f"Ridge regression on {LOOK[kind]} takes the context shortcut at distance "
                    f"{distance}: mean margin of unseen tuples at most 0.",
                    "Lippl & Stachenfeld (ICLR 2025), CD-3",
                    0.0, mean, 0.0, (low, high), relation="at most",
                )
            )  # fmt: skip
        right = computed(
            data.counted_accuracy.sel(counted_rung="images", per_tuple=PER_TUPLE, **where)
        )
        fall = plots.mean_interval((right.sel(distance=8) - right.sel(distance=0)).values)
        found.append(
            Claim(
                f"Accuracy on CD-3 falls as digits move apart: {LOOK[kind]}, distance 8 less 0.",
                "Lippl & Stachenfeld (ICLR 2025), there .504 to .229 for a convolutional network",
                0.0, float(fall[0]), 0.0, (float(fall[1]), float(fall[2])), relation="at most",
                note=f"From {float(right.sel(distance=0).mean()):.2f} to "
                f"{float(right.sel(distance=8).mean()):.2f}.",
            )
        )  # fmt: skip
    return found


def figure(data: xr.Dataset) -> Figure:
    return draw(data)
