"""Transitive ordering: ranks from neighbours, and why far pairs are easier."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import interpolate, max_margin, solvability, transitive_ranks
from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study.plots import QUIET, look, name, panels
from partwhole.tasks import Task, transitive_ordering

QUESTION = (
    "Shown only neighbours in an order, does a learner order distant pairs too, and does it find "
    "them easier, as people and animals do?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), transitive ordering"
ANSWER = (
    "Yes, to both: it orders every unseen pair rightly, and the farther apart two items are, "
    "the larger its margin."
)
CAPTION = (
    "Left: the rank that a kernel learner gives to each of seven items after seeing neighbours "
    "only. Right: its margin on pairs by their distance; distance 1 was trained (filled). Lines: "
    "ridge on the path of neighbours, in closed form. Markers: the solved interpolant."
)

SIZES = (7, 5)
# Mean margins by distance, from an independent computation.
STATED = {
    (7, 0.4): {
        1: 1.0, 2: 0.576744, 3: 0.813953, 4: 1.085271, 5: 1.441860, 6: 1.953488,
    },
    (7, 0.1): {2: 0.049489, 6: 0.224745},
    (5, 0.4): {1: 1.0, 2: 0.848485, 3: 1.272727, 4: 1.818182},
}  # fmt: skip
DRAWN = (0.1, 0.2, 0.3, 0.4, 0.45)


def _cells(saliences: list[float]) -> list[Config]:
    return [{"items": n, "saliences": saliences} for n in SIZES]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells([*DRAWN, 0.5]),
    "laptop": _cells(np.linspace(0.02, 0.5, 49).round(10).tolist()),
    "paper": _cells(np.linspace(0.005, 0.5, 100).round(10).tolist()),
}


def by_distance(task: Task, margins: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the mean margin of pairs at each distance."""
    apart = np.abs(task.components[:, 0] - task.components[:, 1])
    return np.array([margins[apart == distance].mean() for distance in distances])


def cell(config: Config) -> Arrays:
    """Solve the ordering of some items at every salience; read ranks and margins."""
    n = config["items"]
    task = transitive_ordering(n)
    distances = np.arange(1, max(SIZES))
    pairs = np.array([[i, i] for i in range(n)])
    rows: dict[str, list] = {"ranks": [], "margin": [], "right": [], "hard": [], "inner": []}
    for salience in config["saliences"]:
        kernel = OverlapKernel.from_salience([salience])
        limit = interpolate(task, kernel, intercept="free")
        margins = task.targets * limit.predictions
        first, second = limit.parts(pairs)[(0,)], limit.parts(pairs)[(1,)]
        rows["ranks"].append(
            np.pad((first - second) / 2, (0, max(SIZES) - n), constant_values=np.nan)
        )
        mean = by_distance(task, margins, distances[: n - 1])
        rows["margin"].append(np.pad(mean, (0, max(SIZES) - n), constant_values=np.nan))
        rows["right"].append(accuracy(task.test_targets, limit.test_predictions).strict)
        hard = max_margin(task, kernel, intercept="free")
        rows["hard"].append(accuracy(task.test_targets, hard.test_predictions).strict)
        rows["inner"].append(_end_gain(task, margins))
    audit = solvability(task, kind="regression")
    signs = solvability(task, kind="classification")
    return {key: np.array(found) for key, found in rows.items()} | {
        "r_squared": np.array(audit.r_squared),
        "signs": np.array(signs.solvable is True),
    }


def _end_gain(task: Task, margins: np.ndarray) -> float:
    """Return the least gain in margin of unseen pairs with an end item over inner ones."""
    low, high = task.components.min(axis=1), task.components.max(axis=1)
    last = task.components.max()
    gains = []
    for distance in range(2, last - 1):
        chosen = high - low == distance
        end = chosen & ((low == 0) | (high == last))
        gains.append(margins[end].min() - margins[chosen & ~end].max())
    return float(min(gains))


def gather(cells: Cells) -> xr.Dataset:
    """Lay ranks and margins over the number of items and the salience."""
    keys = {
        "ranks": ("items", "salience", "item"),
        "margin": ("items", "salience", "distance"),
        "right": ("items", "salience"),
        "hard": ("items", "salience"),
        "inner": ("items", "salience"),
        "r_squared": ("items",),
        "signs": ("items",),
    }
    return xr.Dataset(
        {key: (dims, np.stack([arrays[key] for _, arrays in cells])) for key, dims in keys.items()},
        coords={
            "items": [config["items"] for config, _ in cells],
            "salience": ("salience", cells[0][0]["saliences"], {"long_name": "salience S(1;2)"}),
            "item": np.arange(max(SIZES)),
            "distance": np.arange(1, max(SIZES)),
        },
    )


def margins_in_closed_form(n_items: int, salience: float) -> np.ndarray:
    """Return the mean of g_i - g_(i+d) over pairs at d = 2..n-1, after the trained margin 1."""
    ranks = transitive_ranks(n_items, salience)
    far = [np.mean(ranks[:-d] - ranks[d:]) for d in range(2, n_items)]
    return np.array([1.0, *far])


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh the closed form, stated margins, and the effects of distance and of ends."""
    here = "derived here"
    saliences = data.salience.to_numpy()
    weighed = []
    for n in SIZES:
        one = data.sel(items=n)
        ranks = np.stack([transitive_ranks(n, S) for S in saliences])
        law = np.stack([margins_in_closed_form(n, S) for S in saliences])
        for what, away in {
            "Ranks": np.abs(one.ranks[:, :n] - ranks),
            "Mean margins by distance": np.abs(one.margin[:, : n - 1] - law),
        }.items():
            statement = f"{what} of {n} items: closed form and solved (largest difference)."
            weighed.append(Claim(statement, here, 0, float(away.max(skipna=False)), 1e-6))
    for (n, S), stated in STATED.items():
        one = data.margin.sel(items=n).sel(salience=S, method="nearest")
        for distance, value in stated.items():
            if distance > 1:
                found = float(one.sel(distance=distance))
                statement = f"Margin at distance {distance}, {n} items, S(1;2) = {S:g}."
                weighed.append(Claim(statement, here, value, found, 1e-5))
    seven = data.sel(items=7)
    growth = seven.margin.sel(distance=slice(2, None)).diff("distance")
    weighed += [
        Claim(
            "Symbolic distance effect: unseen pairs gain margin with distance (least gain).",
            "transitive ordering",
            0,
            float(growth.min(skipna=False)),
            0,
            relation="at least",
        ),
        Claim(
            "End-anchor effect: at one distance, pairs with an end item have the larger margin "
            "(least gain, S(1;2) = 0.4).",
            "transitive ordering",
            0,
            float(seven.inner.sel(salience=0.4, method="nearest")),
            0,
            relation="at least",
        ),
        Claim(
            "Every unseen pair of an order is told rightly (least accuracy, regression).",
            "transitive ordering",
            1,
            float(data.right.min(skipna=False)),
            0,
        ),
        Claim(
            "Every unseen pair of an order is told rightly (least accuracy, hard margin).",
            "transitive ordering",
            1,
            float(data.hard.min(skipna=False)),
            0,
        ),
        Claim(
            "The right sign of every unseen pair of an order is within reach (1: yes).",
            here,
            1,
            int(seven.signs),
            0,
        ),
        Claim(
            "The exact answers -1 and +1 to unseen pairs of an order are out of reach: best share "
            "of "
            "their variance that ranks explain.",
            here,
            best_share(7),
            float(seven.r_squared),
            1e-6,
            note="so an ordering is scored by signs and margins, never by regression error",
        ),
    ]
    return weighed


def best_share(n_items: int) -> float:
    """Return R² of sign(j - i) on unseen pairs, fitted by g_i - g_j: Laplacian least squares."""
    apart = np.abs(np.subtract.outer(np.arange(n_items), np.arange(n_items)))
    unseen = (apart >= 2).astype(float)
    wanted = unseen * np.sign(np.subtract.outer(-np.arange(n_items), -np.arange(n_items)))
    laplacian = np.diag(unseen.sum(axis=1)) - unseen
    ranks = np.linalg.pinv(laplacian) @ wanted.sum(axis=1)
    misfit = unseen * (wanted - np.subtract.outer(ranks, ranks))
    return 1.0 - float(np.sum(misfit**2) / np.sum(wanted**2))


def figure(data: xr.Dataset) -> Figure:
    """Draw ranks and margins for a few saliences."""
    drawn, axes = panels(1, 2, 3.5)
    left, right = axes[0]
    for ax in (left, right):
        ax.axhline(0, color=QUIET, linewidth=1)
    for i, S in enumerate(DRAWN):
        one = data.sel(items=7).sel(salience=S, method="nearest")
        left.plot(np.arange(1, 8), transitive_ranks(7, S), **look(i))
        left.plot(np.arange(1, 8), one["ranks"], **look(i, line=False))
        law = margins_in_closed_form(7, S)
        right.plot(data.distance[1:], law[1:], **look(i))
        right.plot(data.distance[1:], one.margin[1:], **look(i, line=False))
        name(right, 6.2, float(law[-1]), f"{S:g}")
    right.plot(1, 1, "o", color="black", markersize=6)
    name(right, 0.7, 1.15, "trained")
    name(right, 6.2, 3.35, "S(1;2)")
    left.set(xlabel="item", ylabel="rank g", xticks=range(1, 8), title="what is learned")
    right.set(xlabel="distance of the pair", ylabel="margin", title="what follows for pairs")
    right.set(xticks=range(1, 7), xlim=(0.6, 7.2))
    return drawn
