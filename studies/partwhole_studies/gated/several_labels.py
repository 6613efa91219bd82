"""ReLU networks that tell ten digits apart, beside the limits of their gates and of random gates.

Units share their readouts, so that the limit is the largest margin over other labels by the sum of
the units' nuclear norms. Agreement is counted beyond what errors bring that are independent given
the label: 0 is chance, 1 the same decisions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import ReLUGates
from partwhole.limits import Limit, Outcome, Quadratic
from partwhole.networks import LearnedGates, outputs
from partwhole.networks.gated_classifier import GatedClassifier
from partwhole.study import Arrays, Cells, Config, key, layout, mean, series
from partwhole.study.declaration import Number
from partwhole.study.plots import panels
from partwhole.tasks.images.digits import digit_images
from partwhole.training import Training
from partwhole.training import train as train_networks

LIMITS = ("learned gates", "random gates", "linear")
NAMES = ("learned", "random", "linear")
# Steps of full batches; the first are as many as published for two labels.
PUBLISHED, LONG = 3200, 51_200
TRAINING = Training(steps=PUBLISHED, loss="cross entropy", learning_rate=0.04, momentum=0.9,
                    precision="float64")  # fmt: skip


def _cells(n: int, widths: tuple[int, ...], seeds: int, steps: list[int]) -> list[Config]:
    return [
        {"n": n, "units": units, "seed": seed, "steps": steps}
        for units in widths
        for seed in range(seeds)
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(40, (8,), 1, [PUBLISHED]),
    "laptop": _cells(100, (10, 20), 6, [PUBLISHED, LONG]),
    "paper": _cells(200, (10, 20, 50, 100), 12, [PUBLISHED, LONG, 16 * LONG]),
}


def cell(config: Config) -> Arrays:
    """Train a network, solve for the limits, and compare their decisions."""
    images, classes = digit_images()
    every = np.column_stack([2.0 * images.reshape(len(images), -1) - 1.0, np.ones(len(images))])
    order = np.random.RandomState(config["seed"]).permutation(len(every))
    train, test = order[: config["n"]], order[config["n"] :]
    inputs, labels = every[train], classes[train]
    one_hot, d = np.eye(10)[labels], every.shape[1]
    start = GatedClassifier.draw(
        d, [LearnedGates(config["units"]), 10], seed=config["seed"], initial="he"
    )
    drawn = ReLUGates.random(
        d, n_units=config["units"], thresholds="median", inputs=every, always_on=True,
        seed=config["seed"],
    )  # fmt: skip
    random = solve((inputs, one_hot), drawn, fit="margin", intercept="none")
    linear = solve((inputs, one_hot), cost=Quadratic(), fit="margin", intercept="none")
    rows = []
    for steps in config["steps"]:
        training = replace(TRAINING, steps=steps, record=[steps])
        network = train_networks([start], (inputs, labels), training, progress=False).networks[0]
        gates = network.units.with_frozen_gates().gates[0]
        learned = solve((inputs, one_hot), gates, fit="margin", intercept="none")
        answers = [network.predict(every[test])]
        answers += [_decisions(limit, every[test]) for limit in (learned, random, linear)]
        smallest = _margin(outputs(network, inputs), labels)
        # Of margin 1, the limit has twice its cost as the sum of squared weights.
        share = 2.0 * learned.value * smallest / network.squared_norm
        rows.append({
            "error": [_error(answer, classes[test]) for answer in answers],
            "agreement": [agreement(answers[0], a, classes[test]) for a in answers[1:]],
            "share": share,
            "missed": _error(network.predict(inputs), labels),
        })  # fmt: skip
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _decisions(limit: Limit, inputs: Float[np.ndarray, "m d"]) -> Int[np.ndarray, " m"]:
    """Return the label of the largest output; -1 where there is no limit."""
    if limit.outcome is not Outcome.SOLVED:
        return np.full(len(inputs), -1)
    return limit.predict(inputs).argmax(axis=1)


def _margin(answers: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]) -> float:
    """Return by how much the right output exceeds all others, at least."""
    rows = np.arange(len(labels))
    others = answers.copy()
    others[rows, labels] = -np.inf
    return float((answers[rows, labels] - others.max(axis=1)).min())


def _error(answers: Int[np.ndarray, " m"], labels: Int[np.ndarray, " m"]) -> float:
    return float(np.mean(answers != labels)) if (answers >= 0).all() else np.nan


def agreement(
    first: Int[np.ndarray, " m"], second: Int[np.ndarray, " m"], labels: Int[np.ndarray, " m"]
) -> float:
    """Return agreement beyond that of answers which are independent given the label."""
    if min(first.min(), second.min()) < 0:
        return np.nan
    by_chance = 0.0
    for label in np.unique(labels):
        here = labels == label
        shares = [
            np.bincount(answers[here], minlength=10) / here.sum() for answers in (first, second)
        ]
        by_chance += here.mean() * float(shares[0] @ shares[1])
    return 1.0 - float(np.mean(first != second)) / (1.0 - by_chance) if by_chance < 1 else np.nan


def gather(cells: Cells) -> xr.Dataset:
    variables = {"error": "step kind", "agreement": "step limit", "share": "step", "missed": "step"}
    coords = {"kind": ["network", *LIMITS], "limit": LIMITS, "step": cells[0][0]["steps"]}
    labels = {"step": "training step", "agreement": "agreement beyond chance", "error": "error"}
    return layout(cells, variables, over=["units", "seed"], coords=coords, labels=labels)


def numbers(data: xr.Dataset) -> dict[str, Number]:
    of = data.agreement.mean("units")
    first, last = of.isel(step=0), of.isel(step=-1)
    means = {name: mean(first.sel(limit=limit)) for name, limit in zip(NAMES, LIMITS, strict=True)}
    learned = first.sel(limit="learned gates")
    late, times = mean(last.sel(limit="learned gates")), int(data.step[-1] / data.step[0])
    later = f" After {times} times as many steps the first is {late.value:.2f}."
    return means | {
        "later": later if times > 1 else "",
        "learned_random": mean(learned - first.sel(limit="random gates")),
        "learned_linear": mean(learned - first.sel(limit="linear")),
        "longer": mean(last.sel(limit="learned gates") - learned),
        "share": mean(data.share.isel(step=0).mean("units")),
        "missed": data.missed.to_numpy(),
        "missing": data.error.isnull().to_numpy().astype(float),
        "bound": np.maximum(data.share.to_numpy() - 1.0, 0.0),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, (axes,) = panels(1, 2, 3.6)
    series(axes[0], "units", by="kind", measured=data.error.isel(step=0))
    axes[0].set(title=f"After {PUBLISHED:,} steps", ylim=(0, None), ylabel="test error")
    series(axes[1], "step", by="limit", shift=1, measured=data.agreement.mean("units"))
    axes[1].set(title="Decisions as the network's", ylim=(0, 1))
    for ax, name in zip(axes, ("units", "step"), strict=True):
        ax.set_xscale("log")
        ax.set_xticks([], minor=True)
        places = data[name].values.tolist()
        ax.set_xticks(places, labels=[f"{place:,}" for place in places])
        ax.set_xlim(places[0] / 1.3, places[-1] * 1.3)
    return key(drawn, columns=3)
