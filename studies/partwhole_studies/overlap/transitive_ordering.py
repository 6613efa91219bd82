"""Transitive ordering: ranks from neighbours, and why far pairs are easier."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import solvability
from partwhole.limits.ordering import transitive_ranks
from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Config, key, layout, series
from partwhole.study.plots import QUIET, panels
from partwhole.tasks import Task, transitive_ordering

SIZES = (7, 5)
# Mean margins by distance, computed independently of this package, by items and salience.
KNOWN = {
    (7, 0.4): {
        1: 1.0, 2: 0.576744, 3: 0.813953, 4: 1.085271, 5: 1.441860, 6: 1.953488,
    },
    (7, 0.1): {2: 0.049489, 6: 0.224745},
    (5, 0.4): {1: 1.0, 2: 0.848485, 3: 1.272727, 4: 1.818182},
}  # fmt: skip
SALIENCE = 0.4  # of the answer
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
    of_row = np.abs(task.components[:, 0] - task.components[:, 1])
    return np.array([margins[of_row == distance].mean() for distance in distances])


def cell(config: Config) -> Arrays:
    """Solve the ordering of some items at every salience; return ranks and margins."""
    n = config["items"]
    task = transitive_ordering(n)
    distances = np.arange(1, max(SIZES))
    pairs = np.array([[i, i] for i in range(n)])
    rows: dict[str, list] = {"ranks": [], "margin": [], "right": [], "hard": [], "inner": []}
    for salience in config["saliences"]:
        kernel = OverlapKernel.from_salience([salience])
        limit = solve(task, kernel, intercept="free")
        margins = task.targets * limit.predictions
        first, second = limit.parts(pairs)[(0,)], limit.parts(pairs)[(1,)]
        rows["ranks"].append(
            np.pad((first - second) / 2, (0, max(SIZES) - n), constant_values=np.nan)
        )
        mean = by_distance(task, margins, distances[: n - 1])
        rows["margin"].append(np.pad(mean, (0, max(SIZES) - n), constant_values=np.nan))
        rows["right"].append(accuracy(task.test_targets, limit.test_predictions).strict)
        hard = solve(task, kernel, fit="margin", intercept="free")
        rows["hard"].append(accuracy(task.test_targets, hard.test_predictions).strict)
        rows["inner"].append(_end_gain(task, margins))
    audit = solvability(task, kind="regression")
    signs = solvability(task, kind="classification")
    return {name: np.array(values) for name, values in rows.items()} | {
        "r_squared": np.array(audit.r_squared),
        "signs": np.array(signs.solvable is True),
    }


def _end_gain(task: Task, margins: np.ndarray) -> float:
    """Return the least gain in margin of unseen pairs with an end item over inner ones."""
    low, high = task.components.min(axis=1), task.components.max(axis=1)
    last = task.components.max()
    gains = []
    for distance in range(2, last - 1):
        pairs = high - low == distance
        end = pairs & ((low == 0) | (high == last))
        gains.append(margins[end].min() - margins[pairs & ~end].max())
    return float(min(gains))


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {
            "ranks": "salience item",
            "margin": "salience distance",
            "right": "salience",
            "hard": "salience",
            "inner": "salience",
            "r_squared": "",
            "signs": "",
        },
        over=["items"],
        coords={
            "salience": cells[0][0]["saliences"],
            "item": np.arange(1, max(SIZES) + 1),
            "distance": np.arange(1, max(SIZES)),
        },
        labels={"ranks": "rank", "margin": "margin", "distance": "distance of the pair"},
    )


def margins_in_closed_form(n_items: int, salience: float) -> np.ndarray:
    """Return the mean of g_i - g_(i+d) over pairs at d = 2..n-1, after the trained margin 1."""
    ranks = transitive_ranks(n_items, salience)
    far = [np.mean(ranks[:-d] - ranks[d:]) for d in range(2, n_items)]
    return np.array([1.0, *far])


def best_share(n_items: int) -> float:
    """Return R² of sign(j - i) on unseen pairs, fitted by g_i - g_j: Laplacian least squares."""
    distance = np.abs(np.subtract.outer(np.arange(n_items), np.arange(n_items)))
    unseen = (distance >= 2).astype(float)
    targets = unseen * np.sign(np.subtract.outer(-np.arange(n_items), -np.arange(n_items)))
    laplacian = np.diag(unseen.sum(axis=1)) - unseen
    ranks = np.linalg.pinv(laplacian) @ targets.sum(axis=1)
    misfit = unseen * (targets - np.subtract.outer(ranks, ranks))
    return 1.0 - float(np.sum(misfit**2) / np.sum(targets**2))


def law(saliences: np.ndarray, n_items: int) -> xr.Dataset:
    """Return ranks and margins by the closed form, as the data lays them out."""
    ranks = np.stack([transitive_ranks(n_items, salience) for salience in saliences])
    margins = np.stack([margins_in_closed_form(n_items, salience) for salience in saliences])
    return xr.Dataset(
        {"ranks": (("salience", "item"), ranks), "margin": (("salience", "distance"), margins)},
        {
            "salience": saliences,
            "item": np.arange(1, n_items + 1),
            "distance": np.arange(1, n_items),
        },
    )


def numbers(data: xr.Dataset) -> dict[str, float | str | np.ndarray]:
    seven = data.sel(items=7)
    unseen = seven.margin.sel(distance=slice(2, None))
    solved = seven.sel(salience=SALIENCE, method="nearest")
    gain = float(unseen.diff("distance").min())
    least_accuracy = float(min(data.right.min(), data.hard.min()))
    laws = [data.sel(items=n) - law(data.salience.to_numpy(), n) for n in SIZES]
    expected = [
        float(data.margin.sel(items=n, distance=d).sel(salience=s, method="nearest")) - value
        for (n, s), margins in KNOWN.items()
        for d, value in margins.items()
    ]
    return {
        "verdict": "Yes" if least_accuracy == 1 and gain > 0 else "Not always",
        "accuracy": least_accuracy,
        "gain": gain,
        "near": float(solved.margin.sel(distance=2)),
        "far": float(solved.margin.sel(distance=6)),
        "salience": SALIENCE,
        "ranks_law": np.concatenate([part.ranks.to_numpy().ravel() for part in laws]),
        "margins_law": np.concatenate([part.margin.to_numpy().ravel() for part in laws]),
        "known": np.array(expected),
        "share": float(seven.r_squared) - best_share(7),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(1, 2, 3.7)
    seven = data.sel(items=7).sel(salience=list(DRAWN), method="nearest")
    seven = seven.assign_coords(salience=list(DRAWN))
    theory, words = law(np.array(DRAWN), 7), {"theory": "closed form", "measured": "solved"}
    names = {s: f"S(1;2) = {s:g}" for s in DRAWN}
    series(
        axes[0, 0], "item", by="salience", theory=theory.ranks, measured=seven.ranks,
        names=names, words=words,
    )  # fmt: skip
    unseen = slice(2, None)
    series(
        axes[0, 1], "distance", by="salience", theory=theory.margin.sel(distance=unseen),
        measured=seven.margin.sel(distance=unseen), names=names, words=words,
    )  # fmt: skip
    axes[0, 1].plot(1, 1, "o", color="black", markersize=6, label="trained pairs")
    for ax in axes[0]:
        ax.axhline(0, color=QUIET, linewidth=1, zorder=0)
    axes[0, 0].set(title="Ranks of items", xticks=range(1, 8))
    axes[0, 1].set(title="Margins of pairs", xticks=range(1, 7))
    return key(drawn)
