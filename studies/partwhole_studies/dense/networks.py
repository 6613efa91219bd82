"""Dense networks of one size and initial scale, trained on one task.

As published: one-hot inputs, weights of standard deviation :math:`s \\sqrt{2/n}` and biases from
:math:`U(-s/\\sqrt n, s/\\sqrt n)` in a layer of n inputs, all samples in each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from partwhole.measures import salience
from partwhole.measures.drift import kernel_drift
from partwhole.networks import MLP, Architecture, activations, tangent_kernel
from partwhole.study import Arrays, Cells, Config, layout
from partwhole.tasks import Task
from partwhole.training import Training, kernel_regime
from partwhole.training import train as train_networks
from partwhole_studies.dense.similarities import QUANTILES, by_shared, quantiles, shares
from partwhole_studies.network_tasks import make_task

# A sum is learned when errors are at most this share of the variance, a label with its sign.
EXPLAINED = 0.05
RECORDS = 40  # steps at which networks are read
SIDES = ("unseen", "seen")
# Dimensions of what is read of a network, by name.
WITHIN = {
    "similarity_before": "shared quantile", "similarity_after": "shared quantile",
    "right": "step side", "deep_right": "deep_step side",
}  # fmt: skip


class Trained(NamedTuple):
    """Trained networks along a leading axis, with measures before and after training."""

    networks: MLP
    arrays: Arrays


def train(config: Config) -> Trained:
    """Train a network for each seed; return its answers, and its hidden layers' saliences."""
    task = make_task(config["task"])
    inputs, seen = task.one_hot(), task.is_train
    start = Architecture(
        config["depth"] + 1, config["width"], "relu", initial="he", scale=config["scale"],
        initial_bias="spread",
    ).networks(inputs.shape[1], seeds=config["seeds"], outputs=1)  # fmt: skip
    training = Training(
        steps=config["steps"],
        loss=config["loss"],
        optimiser=config["optimizer"],
        learning_rate=config["rate"],
        threshold=config["stop"],
        record=recorded(config["steps"]),
        restarts=3,
    )
    data = inputs[seen], task.train_targets
    runs = train_networks(start, data, training, read=inputs, progress=False)
    assert runs.answers is not None
    along = runs.answers[..., 0].astype(float)
    predictions = along[:, -1]
    arrays = {
        "predictions": predictions,
        "loss": runs.training_loss[:, -1],
        "steps": runs.end_steps,
        "rate": runs.learning_rates,
        "learned": np.array([has_learned(task, answers) for answers in predictions]),
    }
    for name, these in (("before", start), ("after", runs.networks)):
        layers = activations(these, inputs)[:-1]
        arrays[f"salience_{name}"] = _saliences(task, layers)
        similar = [by_shared(features, task.components) for features in layers[-1]]
        arrays[f"similarity_{name}"] = np.array([quantiles(pairs) for pairs in similar])
        arrays[f"pairs_{name}"] = np.array([shares(pairs) for pairs in similar])
    if task.is_classification:
        arrays["right"] = _right(task, along)
    if config["kernels"]:
        arrays |= _kernel_regimes(config, task, start, runs.networks)
    return Trained(runs.networks, arrays)


def has_learned(task: Task, predictions: Float[np.ndarray, "n"]) -> bool:
    """Return whether the training tuples are learned, so that a network counts."""
    answers, targets = predictions[task.is_train], task.train_targets
    if task.is_classification:
        return bool(np.all(answers * targets > 0))
    return bool(np.mean((answers - targets) ** 2) <= EXPLAINED * np.var(targets))


def recorded(steps: int) -> Int[np.ndarray, " T"]:
    """Return the steps at which networks are read: 0, and about 40 in geometric distances."""
    return np.unique(np.append(0, np.geomspace(1, steps, RECORDS).round())).astype(int)


def _right(task: Task, along: Float[np.ndarray, "seeds T n"]) -> Float[np.ndarray, "seeds T 2"]:
    """Return the shares of unseen and of seen tuples that are right; an answer of 0 is half so."""
    right = 0.5 * (1.0 + np.sign(along * task.targets))
    sides = ~task.is_train, task.is_train
    return np.stack([right[..., side].mean(axis=-1) for side in sides], axis=-1)


def _saliences(
    task: Task, layers: Sequence[Float[np.ndarray, "seeds n h"]]
) -> Float[np.ndarray, "seeds layers C"]:
    """Measure S(1; C) to S(C; C) of every hidden layer of every network."""
    return np.array([
        [salience(layer[run], task.components, self_pairs=True).count_kernel.salience
         for layer in layers]
        for run in range(len(layers[0]))
    ])  # fmt: skip


def _kernel_regimes(config: Config, task: Task, start: MLP, end: MLP) -> Arrays:
    """Return answers of the first networks with frozen tangent kernels, and the kernels' drift."""
    inputs, predictions, drift = task.one_hot(), [], []
    for run in range(min(config["kernels"], len(config["seeds"]))):
        before, after = (
            jax.tree.map(lambda leaf, r=run: leaf[r], networks) for networks in (start, end)
        )
        regime = kernel_regime(before, inputs, task.targets, task.is_train, loss=config["loss"])
        predictions.append(regime.predictions)
        drift.append(kernel_drift(regime.kernel, tangent_kernel(after, inputs, progress=False)))
    return {"regime": np.array(predictions), "drift": np.array(drift)}


def separate(
    cells: Cells, keys: Sequence[str], read: Callable[[Config, Arrays], dict[str, Any]]
) -> Cells:
    """Return a cell of what `read` returns for each network that has learned.

    It is placed by keys of its configuration and by its seed.
    """
    separated = []
    for config, arrays in cells:
        place = {name: config[name] for name in keys}
        for i in np.flatnonzero(arrays["learned"]):
            network = {name: values[i] for name, values in arrays.items() if i < len(values)}
            values = {name: np.asarray(value) for name, value in read(config, network).items()}
            separated.append((place | {"seed": config["seeds"][i]}, values))
    return separated


def lay_out(separated: Cells, within: Mapping[str, str], **options: Any) -> xr.Dataset:
    """Lay the cells of networks out; an array has the dimensions in `within`, or is a number."""
    names = dict.fromkeys(name for _, arrays in separated for name in arrays)
    return layout(separated, {name: within.get(name, "") for name in names}, **options)


def coords_of(wide: Cells, deep: Cells) -> dict[str, Any]:
    """Return the coordinates of `WITHIN`, of networks with one hidden layer and with several."""
    components = make_task(wide[0][0]["task"]).components.shape[1]
    coords = {"shared": range(components + 1), "quantile": QUANTILES, "side": SIDES}
    several = {"deep_step": recorded(deep[0][0]["steps"])} if deep else {}
    return coords | {"step": recorded(wide[0][0]["steps"])} | several


def not_learned(cells: Cells) -> str:
    """Return a sentence on the number of trained networks that have not learned."""
    learned = np.concatenate([arrays["learned"] for _, arrays in cells])
    return f"{np.sum(~learned) or 'none'} of {len(learned)}"
