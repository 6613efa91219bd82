"""Which tasks a fixed compositional representation can solve in principle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.limits import solvability
from partwhole.study import Arrays, Cells, Config, layout
from partwhole.study.plots import QUIET, look, name, panels
from partwhole.tasks import (
    Task,
    associative_inference,
    context_dependence,
    dispersed_addition,
    symbolic_addition,
    transitive_equivalence,
    transitive_ordering,
)
from partwhole.tasks.context import context_substitution, stimulus_composition

VALUES = range(-4, 5)


def product_of_values(anchors: list[int]) -> Task:
    """Return symbolic addition's combinations with the product of both values as the target."""
    task = symbolic_addition(VALUES, anchors)
    values = np.array(list(VALUES), dtype=float)[task.components]
    return replace(task, targets=values.prod(axis=1), title="product of values")


BUILD: dict[str, Callable[[], Task]] = {
    "addition, anchor 0": lambda: symbolic_addition(VALUES, [0]),
    "addition, anchor −4": lambda: symbolic_addition(VALUES, [-4]),
    "addition, anchors −4, 4": lambda: symbolic_addition(VALUES, [-4, 4]),
    "addition, anchors −2, 2": lambda: symbolic_addition(VALUES, [-2, 2]),
    "dispersed addition": lambda: dispersed_addition(VALUES, 2, seed=1),
    "context dependence CD-1": lambda: context_dependence(1),
    "context dependence CD-2": lambda: context_dependence(2),
    "context dependence CD-3": lambda: context_dependence(3),
    "stimulus composition": stimulus_composition,
    "context substitution": context_substitution,
    "ordering of 7 items": lambda: transitive_ordering(7),
    "product, anchor 0": lambda: product_of_values([0]),
    "product, anchor −4": lambda: product_of_values([-4]),
    "product, anchors −4, 4": lambda: product_of_values([-4, 4]),
    "product, anchors −2, 2": lambda: product_of_values([-2, 2]),
    "equivalence, 2 + 2 items": lambda: transitive_equivalence([2, 2], [1, 1]),
    "equivalence, 2 + 3 items": lambda: transitive_equivalence([2, 3], [1, 1]),
    "associative inference": associative_inference,
}
_CELLS: list[Config] = [{"task": title} for title in BUILD]
PRESETS: dict[str, list[Config]] = {"quick": _CELLS, "laptop": _CELLS, "paper": _CELLS}


def indicators(task: Task) -> np.ndarray:
    """Return an explicit matrix: which unseen tuples have each conjunction of a seen tuple."""
    train, test = task.train_components.tolist(), task.test_components.tolist()
    columns = [[1.0] * len(test)]
    for size in range(1, task.n_components + 1):
        for subset in combinations(range(task.n_components), size):
            for seen in {tuple(row[c] for c in subset) for row in train}:
                columns.append([float(tuple(row[c] for c in subset) == seen) for row in test])
    return np.array(columns).T


def cell(config: Config) -> Arrays:
    """Audit one task: for exact answers, for signs, and by an explicit matrix."""
    task = BUILD[config["task"]]()
    audit = solvability(task, kind="regression")
    exact, rank = audit.solvable, audit.rank
    r_squared, signs, sentence = audit.r_squared, np.nan, audit.explain()
    if task.is_classification:
        audit = solvability(task, kind="classification")
        signs = np.nan if audit.solvable is None else float(audit.solvable)
        sentence = audit.explain()
    return {
        "rank": np.array(np.nan if rank is None else float(rank)),
        "explicit_rank": np.array(float(np.linalg.matrix_rank(indicators(task)))),
        "r_squared": np.array(r_squared),
        "exact": np.array(np.nan if exact is None else float(exact)),
        "signs": np.array(signs),
        "sentence": np.array(sentence),
    }


def gather(cells: Cells) -> xr.Dataset:
    names = ("rank", "explicit_rank", "r_squared", "exact", "signs", "sentence")
    return layout(cells, dict.fromkeys(names, ""), over=["task"])


def additive_share(unseen: np.ndarray) -> float:
    r"""Return R² of the best additive fit of u v on a square grid of unseen values.

    What is left is :math:`(u - \bar u)(v - \bar v)`, so
    :math:`R^2 = 1 - (\sum (u - \bar u)^2)^2 / ((\sum u^2)^2 - q^2 \bar u^4)`.
    """
    middle, q = unseen.mean(), len(unseen)
    left = np.sum((unseen - middle) ** 2) ** 2
    return float(1 - left / (np.sum(unseen**2) ** 2 - q**2 * middle**4))


def known_ranks() -> dict[str, int]:
    """Return dimensions counted by hand: an additive function on a q x q grid has 2q - 1."""
    additions = dict(zip(list(BUILD)[:5], (15, 15, 13, 13, 17), strict=True))
    return additions | {f"context dependence CD-{r}": 2 * (2 * r - 1) for r in (1, 2, 3)}


def known_shares() -> dict[str, float]:
    """Return shares of variance within reach: of products, and of classes of 2 + 2 and 2 + 3."""
    layouts = {
        "anchor 0": [0],
        "anchor −4": [-4],
        "anchors −4, 4": [-4, 4],
        "anchors −2, 2": [-2, 2],
    }
    values = np.array(VALUES, dtype=float)
    products = {
        f"product, {words}": additive_share(np.setdiff1d(values, anchors))
        for words, anchors in layouts.items()
    }
    return products | {"equivalence, 2 + 2 items": 0.0, "equivalence, 2 + 3 items": 0.2}


def numbers(data: xr.Dataset) -> dict[str, int | float | np.ndarray]:
    ranks, shares = known_ranks(), known_shares()
    equivalence = [task for task in BUILD if "equivalence" in task or "inference" in task]
    return {
        "tasks": data.sizes["task"],
        "exact": int((data.exact == 1).sum()),
        "signs_only": int(((data.signs == 1) & (data.exact != 1)).sum()),
        "listed": int((data.exact.sel(task=list(ranks)) == 1).sum()),
        "least_share": float(data.r_squared.sel(task=list(ranks)).min(skipna=False)),
        "ordering": float(data.signs.sel(task="ordering of 7 items")),
        "equivalence": float(data.signs.sel(task=equivalence).max(skipna=False)),
        "ranks": (data["rank"] - data.explicit_rank).to_numpy(),
        "counted": data["rank"].sel(task=list(ranks)).to_numpy() - list(ranks.values()),
        "shares": data.r_squared.sel(task=list(shares)).to_numpy() - list(shares.values()),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(1, 1, 5.2)
    ax = axes[0, 0]
    tasks = data.task.to_numpy()
    place = np.arange(float(len(tasks)))[::-1]
    ax.hlines(place, 0, 1, color="#dddddd", linewidth=1)
    for y, task in zip(place, tasks, strict=True):
        audit = data.sel(task=task)
        solved = bool(audit.exact == 1)
        fill = {"markerfacecolor": "C2" if solved else "white", "color": "C2" if solved else "C1"}
        marks = look(0 if solved else 1, line=False, markersize=7) | fill
        ax.plot(float(audit.r_squared), y, **marks, clip_on=False)
        word = "" if np.isnan(audit.signs) else "yes" if audit.signs == 1 else "no"
        name(ax, 1.2, y, word or "–", ha="center", weight="bold" if word == "no" else "normal")
    name(ax, 1.2, float(len(tasks)), "signs", ha="center", colour=QUIET)
    ax.set_yticks(place, tasks)
    ax.set(xlim=(-0.03, 1.3), xlabel="variance of unseen answers within reach (share)")
    ax.set_xticks([0, 0.5, 1])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return drawn
