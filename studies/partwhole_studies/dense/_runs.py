"""What the dense studies share: a cell trains networks of one size and initial scale on one task.

As published: one-hot inputs, weights of standard deviation :math:`s \\sqrt{2/n}` and biases from
:math:`U(-s/\\sqrt n, s/\\sqrt n)` in a layer of n inputs, all samples in each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from partwhole.measures import kernel_drift, salience
from partwhole.networks import MLP, Architecture, activations, outputs, tangent_kernel
from partwhole.study import Arrays, Config
from partwhole.tasks import Task, context_dependence, symbolic_addition, transitive_equivalence
from partwhole.training import kernel_regime, train_dense
from partwhole_studies._trained import CONTEXTS, LAYOUTS

EQUIVALENCE = "equivalence"
# Training has succeeded when every label has its sign, or errors are this share of the variance.
EXPLAINED = 0.05


def make_task(name: str) -> Task:
    """Return a task by its name in the studies."""
    if name in LAYOUTS:
        return symbolic_addition(range(-4, 5), LAYOUTS[name])
    if name in CONTEXTS:
        return context_dependence(int(name[-1]))
    return transitive_equivalence((2, 2), (1, 1))


def has_learned(task: Task, predictions: Float[np.ndarray, "n"]) -> bool:
    """Return whether the training tuples are learned, so that a network counts."""
    found, wanted = predictions[task.is_train], task.train_targets
    if task.is_classification:
        return bool(np.all(found * wanted > 0))
    return bool(np.mean((found - wanted) ** 2) <= EXPLAINED * np.var(wanted))


def of_learned(found: Arrays, read: Callable[[np.ndarray], float]) -> Float[np.ndarray, " seeds"]:
    """Read the answers of each network that has learned; NaN for the others."""
    both = zip(found["predictions"], found["learned"], strict=True)
    return np.array([read(each) if learned else np.nan for each, learned in both])


class Trained(NamedTuple):
    """Hold the networks of a cell before and after training, along a leading axis."""

    task: Task
    start: MLP
    end: MLP
    found: Arrays


def train(config: Config) -> Trained:
    """Train a network for each seed; find what it answers, and its hidden layers' saliences."""
    task = make_task(config["task"])
    inputs, seen = task.one_hot(), task.is_train
    start = Architecture(
        config["depth"] + 1, config["width"], "relu", initial="he", scale=config["scale"],
        initial_bias="spread",
    ).networks(inputs.shape[1], seeds=config["seeds"], outputs=1)  # fmt: skip
    runs = train_dense(
        inputs[seen],
        task.train_targets,
        start,
        max_steps=config["steps"],
        loss=config["loss"],
        optimizer=config["optimizer"],
        learning_rate=config["rate"],
        threshold=config["stop"],
        record=config["steps"],
        restarts=3,
        progress=False,
    )
    predictions = outputs(runs.networks, inputs)[..., 0].astype(float)
    found = {
        "predictions": predictions,
        "loss": runs.training_loss[:, -1],
        "steps": runs.end_steps,
        "rate": runs.learning_rates,
        "learned": np.array([has_learned(task, each) for each in predictions]),
        "salience_before": _hidden(task, start),
        "salience_after": _hidden(task, runs.networks),
    }
    if config["kernels"]:
        found |= _kernel_regimes(config, task, start, runs.networks)
    return Trained(task, start, runs.networks, found)


def _hidden(task: Task, networks: MLP) -> Float[np.ndarray, "seeds layers C"]:
    """Measure S(1; C) to S(C; C) of every hidden layer of every network."""
    layers = activations(networks, task.one_hot())[:-1]
    return np.array([
        [salience(layer[run], task.components, self_pairs=True).count_kernel.salience
         for layer in layers]
        for run in range(len(layers[0]))
    ])  # fmt: skip


def _kernel_regimes(config: Config, task: Task, start: MLP, end: MLP) -> Arrays:
    """Return what the first networks would answer if their tangent kernels stayed.

    And how far these moved.
    """
    inputs, predictions, drift = task.one_hot(), [], []
    for run in range(min(config["kernels"], len(config["seeds"]))):
        before, after = (jax.tree.map(lambda leaf, r=run: leaf[r], each) for each in (start, end))
        regime = kernel_regime(before, inputs, task.targets, task.is_train, loss=config["loss"])
        predictions.append(regime.predictions)
        drift.append(kernel_drift(regime.kernel, tangent_kernel(after, inputs, progress=False)))
    return {"regime": np.array(predictions), "drift": np.array(drift)}
