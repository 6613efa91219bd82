"""Which tasks a fixed compositional representation can solve in principle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.limits import solvability
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study.plots import QUIET, look, name, panels
from partwhole.tasks import (
    Task,
    associative_inference,
    context_dependence,
    context_substitution,
    dispersed_addition,
    stimulus_composition,
    symbolic_addition,
    transitive_equivalence,
    transitive_ordering,
)

QUESTION = (
    "Before anything is learned: which tasks can a sum over familiar parts and pairs answer at "
    "all, whatever the representation's strengths?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), theorem 4.2 and the partition of tasks (Fig. 2d)"
ANSWER = (
    "Sums over seen parts and pairs can answer every addition and context dependence (CD-1 to "
    "CD-3) exactly, and can order items; equivalence, associative inference and products are out "
    "of "
    "reach of any such sum."
)
CAPTION = (
    "How much of the wanted answers' variance on unseen combinations the best sum over seen "
    "conjunctions explains (filled dots: all of it; hollow squares: less), and whether such a sum "
    "can get every sign right (–: the answers are numbers, not yes or no). Solvable in principle "
    "does not yet mean solved."
)

VALUES = range(-4, 5)


def product_of_values(anchors: list[int]) -> Task:
    """Return symbolic addition's combinations with the product of both values as the target."""
    task = symbolic_addition(VALUES, anchors)
    numbers = np.array(list(VALUES), dtype=float)[task.components]
    return replace(task, targets=numbers.prod(axis=1), title="product of values")


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
    """Write out, tuple by tuple, which unseen tuples hold each conjunction of a seen one."""
    train, test = task.train_components.tolist(), task.test_components.tolist()
    columns = [[1.0] * len(test)]
    for size in range(1, task.n_components + 1):
        for chosen in combinations(range(task.n_components), size):
            for seen in {tuple(row[c] for c in chosen) for row in train}:
                columns.append([float(tuple(row[c] for c in chosen) == seen) for row in test])
    return np.array(columns).T


def cell(config: Config) -> Arrays:
    """Audit one task: for exact answers, for signs, and by an explicit matrix."""
    task = BUILD[config["task"]]()
    numbers = solvability(task, kind="regression")
    signs, sentence = np.nan, numbers.explain()
    if task.is_classification:
        audit = solvability(task, kind="classification")
        signs = np.nan if audit.solvable is None else float(audit.solvable)
        sentence = audit.explain()
    return {
        "rank": np.array(np.nan if numbers.rank is None else float(numbers.rank)),
        "explicit_rank": np.array(float(np.linalg.matrix_rank(indicators(task)))),
        "r_squared": np.array(numbers.r_squared),
        "exact": np.array(np.nan if numbers.solvable is None else float(numbers.solvable)),
        "signs": np.array(signs),
        "sentence": np.array(sentence),
    }


def gather(cells: Cells) -> xr.Dataset:
    """Lay the audits over tasks."""
    keys = ("rank", "explicit_rank", "r_squared", "exact", "signs", "sentence")
    columns = {key: ("task", np.stack([arrays[key] for _, arrays in cells])) for key in keys}
    return xr.Dataset(columns, coords={"task": [config["task"] for config, _ in cells]})


def additive_share(unseen: np.ndarray) -> float:
    r"""Return R² of the best additive fit of u v on a square grid of unseen values.

    What is left is :math:`(u - \bar u)(v - \bar v)`, so
    :math:`R^2 = 1 - (\sum (u - \bar u)^2)^2 / ((\sum u^2)^2 - q^2 \bar u^4)`.
    """
    middle, q = unseen.mean(), len(unseen)
    left = np.sum((unseen - middle) ** 2) ** 2
    return float(1 - left / (np.sum(unseen**2) ** 2 - q**2 * middle**4))


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh ranks, shares of variance and signs against what counting gives."""
    weighed = []

    def add(task: str, what: str, column: str, reference: float | int, tolerance: float | int):
        one = data.sel(task=task)
        weighed.append(
            Claim(
                f"{task}: {what}.",
                "derived here" if column == "rank" else "theorem 4.2",
                reference,
                float(one[column]),
                tolerance,
                note=str(one.sentence.item()) if column == "signs" and not reference else "",
            )
        )

    # An additive function on a q x q grid has 2q - 1 dimensions.
    ranks = dict(zip(BUILD, (15, 15, 13, 13, 17), strict=False))
    ranks |= {f"context dependence CD-{r}": 2 * (2 * r - 1) for r in (1, 2, 3)}
    for task, rank in ranks.items():
        add(task, "dimensions that sums of seen conjunctions have on unseen ones", "rank", rank, 0)
        add(task, "share of the unseen answers' variance within reach", "r_squared", 1, 1e-9)
    layouts = {
        "anchor 0": [0],
        "anchor −4": [-4],
        "anchors −4, 4": [-4, 4],
        "anchors −2, 2": [-2, 2],
    }
    shares = {
        f"product, {words}": additive_share(np.setdiff1d(np.array(VALUES, dtype=float), anchors))
        for words, anchors in layouts.items()
    }
    shares |= {
        "ordering of 7 items": 0.882494,
        "equivalence, 2 + 2 items": 0.0,
        "equivalence, 2 + 3 items": 0.2,
    }
    for task, share in shares.items():
        add(task, "share of the unseen answers' variance within reach", "r_squared", share, 1e-6)
    signs = {f"context dependence CD-{r}": 1 for r in (1, 2, 3)} | {
        "ordering of 7 items": 1,
        "context substitution": 0,
        "equivalence, 2 + 2 items": 0,
        "equivalence, 2 + 3 items": 0,
        "associative inference": 0,
    }
    for task, reach in signs.items():
        add(task, "signs of all unseen answers within reach (1 yes, 0 no)", "signs", reach, 0)
    away = np.abs(data["rank"] - data.explicit_rank).max(skipna=False)
    statement = "Ranks agree with those of the explicit indicator matrices (largest difference)."
    return [*weighed, Claim(statement, "derived here", 0, float(away), 0)]


def figure(data: xr.Dataset) -> Figure:
    """Draw for each task the share within reach, and whether its signs are."""
    drawn, axes = panels(1, 1, 5.2)
    ax = axes[0, 0]
    tasks = data.task.to_numpy()
    place = np.arange(float(len(tasks)))[::-1]
    ax.hlines(place, 0, 1, color="#dddddd", linewidth=1)
    for y, task in zip(place, tasks, strict=True):
        one = data.sel(task=task)
        solved = bool(one.exact == 1)
        fill = {"markerfacecolor": "C2" if solved else "white", "color": "C2" if solved else "C1"}
        marks = look(0 if solved else 1, line=False, markersize=7) | fill
        ax.plot(float(one.r_squared), y, **marks, clip_on=False)
        word = "" if np.isnan(one.signs) else "yes" if one.signs == 1 else "no"
        name(ax, 1.2, y, word or "–", ha="center", weight="bold" if word == "no" else "normal")
    name(ax, 1.2, float(len(tasks)), "signs", ha="center", colour=QUIET)
    ax.set_yticks(place, tasks)
    ax.set(xlim=(-0.03, 1.3), xlabel="share of the unseen answers' variance within reach")
    ax.set_xticks([0, 0.5, 1])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return drawn
