"""Transitive equivalence and associative inference: not solvable by any overlap kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import solvability
from partwhole.limits.proofs.certificates import rectangles
from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, mean, series
from partwhole.study.plots import QUIET, look, panels
from partwhole.tasks import Task, associative_inference, transitive_equivalence

EQUAL = (((2, 2), (1, 1)), ((3, 3), (2, 2)), ((5, 5), (4, 4)), ((5, 5), (1, 1)))
UNEQUAL = (((3, 3), (2, 1)), ((4, 4), (3, 1)), ((5, 5), (1, 3)))
DRAWN = UNEQUAL[0]
READINGS = ("free", "none", "margin", "sum", "worst", "contrast", "half", "ties")
PAIRS = ("first class", "second class", "across")
CURVE = np.linspace(0.02, 0.48, 12).round(10).tolist()


def _cells(kernels: int) -> list[Config]:
    sets = [{"sizes": list(a), "anchors": list(b), "saliences": CURVE} for a, b in EQUAL + UNEQUAL]
    runs = [*sets, {"sizes": [], "anchors": [], "saliences": CURVE}]
    return [config | {"kernels": kernels, "seed": 0} for config in runs]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(20),
    "laptop": _cells(200),
    "paper": _cells(1000),
}


def build(config: Config) -> Task:
    """Return the task of a configuration; the one without sizes is associative inference."""
    if not config["sizes"]:
        return associative_inference()
    return transitive_equivalence(config["sizes"], config["anchors"])


def contradictory(task: Task) -> np.ndarray:
    """Return rectangles of held-out pairs, equivalent on exactly one diagonal."""
    corners = rectangles(task)
    return corners[np.abs(task.targets[corners] @ [1, -1, -1, 1]) == 4]


def cell(config: Config) -> Arrays:
    """Solve one task with random overlap kernels in several ways, and read the unseen pairs."""
    task = build(config)
    random = np.random.default_rng(config["seed"])
    corners = contradictory(task)
    certificate = solvability(task).certificate
    assert certificate is not None
    rows: dict[str, list[float]] = {name: [] for name in READINGS}
    # The full conjunction weighs at least .02, so that every training set can be separated.
    for shares in 0.98 * random.dirichlet(np.ones(3), size=config["kernels"]):
        kernel = OverlapKernel.from_salience({(0,): shares[0], (1,): shares[1]})
        limits = {name: solve(task, kernel, intercept=name) for name in ("free", "none")}
        limits["margin"] = solve(task, kernel, fit="margin", intercept="free")
        margins = np.stack([task.targets * limit.predictions for limit in limits.values()])
        for name, limit in limits.items():
            rows[name].append(float(np.abs(limit.test_predictions).max()))
        rows["sum"].append(float(np.abs(margins[:, corners].sum(axis=2)).max()))
        rows["worst"].append(float(margins[:, corners].min(axis=2).max()))
        outputs = limits["margin"].predictions[certificate.rows]
        rows["contrast"].append(abs(float(certificate.weights @ outputs)))
        half = accuracy(task.test_targets, limits["free"].test_predictions, tie=1e-9)
        rows["half"].append(half.value)
        # What a plain solver of the kernel equations answers: 0, but for rounding errors.
        weights = np.linalg.solve(kernel.gram(task.train_components), task.train_targets)
        noisy = kernel.gram(task.test_components, task.train_components) @ weights
        rows["ties"].append(accuracy(task.test_targets, noisy, tie=1e-9).ties / task.n_test)
    return {name: np.array(values) for name, values in rows.items()} | {
        "curve": np.array([_by_pair(task, S) for S in config["saliences"]]),
        "wanted": np.array(certificate.total),
        "r_squared": np.array(solvability(task).r_squared),
    }


def _by_pair(task: Task, salience: float) -> list[float]:
    """Return the interpolant's mean margin within the first class, the last one, and across."""
    limit = solve(task, OverlapKernel.from_salience([salience]), intercept="free")
    same, first = task.test_targets > 0, task.test_components[:, 0] < task.n_values[0] / 2
    groups = (same & first, same & ~first, ~same)
    return [float(limit.test_margins[rows].mean()) for rows in groups]


def margins_in_closed_form(size: int, p: int, q: int, salience: np.ndarray) -> xr.DataArray:
    r"""Return margins within the first class, within the second, and across.

    Two classes of `size` items with p and q anchors, interpolation with a free intercept. With
    :math:`r = (1 - 2S)/S`, P = p + q and :math:`h = -(p-q)^2 / (P(2n(P+r)/r + 2n - P))` the
    intercept is :math:`b = h(1 + 2n/r)` and items that are no anchors weigh
    :math:`(\pm(p-q) - Ph)/(P+r)`; derived here.
    """
    r, total, n = (1 - 2 * salience) / salience, p + q, size
    shift = -((p - q) ** 2) / (total * (2 * n * (total + r) / r + 2 * n - total))
    constant = shift * (1 + 2 * n / r)
    first, second = (((sign * (p - q)) - total * shift) / (total + r) for sign in (1, -1))
    margins = [constant + 2 * first, constant + 2 * second, -(constant + first + second)]
    return xr.DataArray(np.stack(margins), {"pair": list(PAIRS), "salience": salience})


def title(sizes: Sequence[int], anchors: Sequence[int]) -> str:
    if not sizes:
        return "associative inference"
    return f"{'+'.join(map(str, sizes))} items, {'+'.join(map(str, anchors))} anchors"


def gather(cells: Cells) -> xr.Dataset:
    titled = [(c | {"task": title(c["sizes"], c["anchors"])}, arrays) for c, arrays in cells]
    data = layout(
        titled,
        dict.fromkeys(READINGS, "kernel")
        | {"curve": "salience pair", "wanted": "", "r_squared": ""},
        over=["task"],
        coords={"salience": CURVE, "pair": list(PAIRS)},
        labels={"curve": "margin", "salience": "salience of items, S(1;2)"},
    )
    return data.assign_coords(equal=("task", [len(set(c["anchors"])) < 2 for c, _ in cells]))


def numbers(data: xr.Dataset) -> dict[str, int | float | str | Estimate | np.ndarray]:
    equal = data.sel(task=data.task[data.equal])
    small = data.sel(task=title((2, 2), (1, 1)))
    laws = [
        data.curve.sel(task=title(sizes, anchors))
        - margins_in_closed_form(sizes[0], *anchors, data.salience.to_numpy())
        for sizes, anchors in UNEQUAL
    ]
    inference = data.sel(task="associative inference")
    solved = int((data.worst > 1e-8).sum())
    return {
        "answer": float(max(equal[fit].max(skipna=False) for fit in ("free", "none", "margin"))),
        "solved": solved,
        "cases": data.worst.size,
        "verdict": "Yes" if solved else "No",
        "accuracy": mean(small.half, within=(0.0, 1.0)),
        "sums": data["sum"].to_numpy(),
        "contrast": data.contrast.to_numpy(),
        "wanted": float(inference.wanted) - 4,
        "r_squared": float(inference.r_squared),
        "laws": np.stack(laws),
        "ties": 1 - small.ties.to_numpy(),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(1, 2, 3.9, width_ratios=[1, 1.15])
    _grid(axes[0, 0])
    ax = axes[0, 1]
    solved = data.curve.sel(task=title(*DRAWN))
    ax.axhline(0, color=QUIET, linewidth=1)
    names = dict(zip(PAIRS, ("class of 2 anchors", "class of 1 anchor", "across"), strict=True))
    law = margins_in_closed_form(DRAWN[0][0], *DRAWN[1], np.linspace(0.005, 0.495, 200))
    series(
        ax, "salience", by="pair",
        theory=law, measured=solved, names=names,
        words={"theory": "closed form", "measured": "solved"},
    )  # fmt: skip
    total = (solved * np.array([1, 1, 2])).sum("pair")
    ax.plot(data.salience, total, **look(6, line=False, marker="*", label="sum of the four"))
    ax.set(title="unequal anchors", ylabel="margin", ylim=(-0.85, 0.65))
    return key(drawn, 3)


def _grid(ax: Axes) -> None:
    """Draw associative inference, the unseen pairs as corners of a rectangle."""
    task = associative_inference()
    ax.add_patch(Rectangle((1.5, 0.5), 2, 2, fill=False, linewidth=1.5, zorder=2))
    pairs = zip(task.components, task.targets, task.is_train, strict=True)
    for (row, column), target, seen in pairs:
        shade = "#cfe3f2" if target > 0 else "#f6d9c8"
        square = {"facecolor": shade, "edgecolor": "white", "linewidth": 2}
        ax.add_patch(Rectangle((column, row), 1, 1, **square))
        if not seen:
            box = {"facecolor": "white", "edgecolor": "black", "zorder": 3}
            ax.add_patch(Rectangle((column + 0.12, row + 0.12), 0.76, 0.76, **box))
        ax.text(
            column + 0.5, row + 0.5, "+" if target > 0 else "−", ha="center", va="center",
            color=QUIET if seen else "black", fontsize=10 if seen else 14, zorder=4,
            bbox={"facecolor": shade if seen else "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    places = np.arange(4) + 0.5
    ax.set(xlim=(0, 4), ylim=(4, 0), aspect="equal", xlabel="second item", ylabel="first item")
    ax.set(xticks=places, yticks=places, xticklabels=task.values[0], yticklabels=task.values[0])
    ax.set_title("f(A,B) + f(C,D) = f(A,D) + f(C,B)", fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
