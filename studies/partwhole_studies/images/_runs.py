"""What the studies of composed images share: a cell trains one network on one task.

Each value of a component is a class of images, shown by one of them drawn at random; components
lie side by side at a distance, in channels of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.measures import salience
from partwhole.networks import ImageNetwork, activations, image_network
from partwhole.study import Arrays, Config
from partwhole.tasks import (
    Composites,
    Task,
    cifar_images,
    compose_images,
    context_dependence,
    digit_images,
    mnist_images,
    symbolic_addition,
    transitive_equivalence,
)
from partwhole.training import Recipe, train_images
from partwhole_studies._trained import CONTEXTS, LAYOUTS

EQUIVALENCES = {"1 anchor": (1, 1), "4 anchors": (4, 4)}
# What networks of each kind are read at: the pixels, two layers between (of the ConvNet the
# published one is the later), and what the readout reads.
STAGES = ("before", "after")
PLACES = ("pixels", "early", "late", "last")
LAYERS = {
    "convnet": ("input", "relu 2", "relu 4", "relu 6"),
    "resnet": ("input", "stage 1, block 2", "stage 4, block 2", "flat"),
    "vit": ("input", "block 1", "block 4", "first token"),
    "convnet-small": ("input", "relu 2", "relu 4", "relu 5"),
    "resnet-small": ("input", "relu", "stage 2, block 1", "flat"),
    "vit-small": ("input", "block 1", "block 2", "first token"),
}
MEASURED = 6  # composites a tuple that saliences are measured on


# Of images: the small digits, fewer of them, and the published sets.
DIGITS: Config = {"images": "digits", "training_images": 0.5, "samples": 2550, "evaluated": 20}
FEW: Config = DIGITS | {"samples": 1280, "evaluated": 10}
# As published, values stand for the first classes only.
MNIST: Config = {
    "images": "mnist", "training_images": 200, "samples": 20_000, "evaluated": 100,
    "assign": "first",
}  # fmt: skip
CIFAR: Config = MNIST | {"images": "cifar-10", "training_images": 4000, "samples": 40_000}
RECIPES: dict[str, Config] = {
    "convnet-small": {"epochs": 30},
    "resnet-small": {"epochs": 60},
    "vit-small": {"epochs": 45},
    "convnet": {"optimizer": "sgd", "learning_rate": 1e-4, "momentum": 0.9},
    "resnet": {"crop": 4, "flip": True},
    "vit": {"learning_rate": 1e-4, "epochs": 200, "crop": 4, "flip": True},
}


def cells_of(
    images: Config,
    network: str,
    loss: str,
    tasks: Sequence[str],
    distances: Sequence[int],
    seeds: int,
    **recipe: Any,
) -> list[Config]:
    """Return a cell for each task, seed and distance.

    Distances vary fastest, so that of two processes each mostly compiles one network.
    """
    trained = {"loss": loss} | RECIPES[network] | recipe
    return [
        images
        | {"network": network, "recipe": trained, "task": task, "distance": distance, "seed": seed}
        for task in tasks
        for seed in range(seeds)
        for distance in distances
    ]


def make_task(name: str) -> Task:
    """Return a task by its name in the studies."""
    if name in LAYOUTS:
        return symbolic_addition(range(-4, 5), LAYOUTS[name])
    if name in CONTEXTS:
        return context_dependence(int(name[-1]))
    return transitive_equivalence((5, 5), EQUIVALENCES[name])


def pictures(source: str) -> tuple[Float[np.ndarray, "k h w c"], np.ndarray]:
    """Return images as the networks are to see them, and their classes."""
    if source == "digits":
        images, classes = digit_images()
        return np.asarray((images - images.mean()) / images.std(), np.float32)[..., None], classes
    if source == "mnist":
        images, classes = mnist_images()
        return np.asarray((images - 0.1307) / 0.3081, np.float32)[..., None], classes
    images, classes = cifar_images(10)
    centre, spread = np.array([0.4914, 0.4822, 0.4465]), np.array([0.2023, 0.1994, 0.2010])
    return np.asarray((images - centre) / spread, np.float32), classes


def cell(config: Config) -> Arrays:
    """Train one network; return what it answers to tuples seen and unseen, and its saliences."""
    task = make_task(config["task"])
    images, classes = pictures(config["images"])
    composed = compose_images(
        task, images, classes, distance=config["distance"],
        training_images=config["training_images"], assign=config.get("assign", "every"),
        seed=config["seed"],
    )  # fmt: skip
    samples = composed.training(max(1, config["samples"] // task.n_train))
    sets = {
        "seen": composed.in_distribution(config["evaluated"]),
        "unseen": composed.compositional(config["evaluated"]),
    }
    start = image_network(config["network"], samples.shape, outputs=1, seed=config["seed"])
    run = train_images(
        start, samples, Recipe(**config["recipe"]), seed=config["seed"], evaluate=sets,
        progress=False,
    )  # fmt: skip
    shown = composed.draw(MEASURED, pool="held out", draw=3)
    saliences = [
        _saliences(network, shown, LAYERS[config["network"]]) for network in (start, run.network)
    ]
    told = [run.scores[name] for name in ("training", "seen", "unseen")]
    quality = [each.error if each.accuracy is None else each.accuracy for each in told]
    found = {
        "trained": _by_tuple(samples, run.outputs["training"]),
        "answered": np.where(
            task.is_train,
            _by_tuple(sets["seen"], run.outputs["seen"]),
            _by_tuple(sets["unseen"], run.outputs["unseen"]),
        ),
        "quality": np.array([each[-1] for each in quality if each is not None]),
        "learned": np.array(run.has_learned),
        "loss": run.training_loss,
        "salience": np.array(saliences),
    }
    if config["images"] != "digits":  # whose files may be elsewhere when a figure is drawn
        found["example"] = samples[:1][0].max(axis=-1)
    if run.recipe.loss == "squared":
        found["regime"] = _readout(start, samples, sets["unseen"])
    return found


def _saliences(
    network: ImageNetwork, shown: Composites, layers: tuple[str, ...]
) -> Float[np.ndarray, "layers C"]:
    """Measure S(1; C) to S(C; C) of layers, all read in one go, which is compiled once."""
    pixels, *within = layers
    rows = [shown[:], *activations(network, shown, layers=within)]
    assert pixels == "input"
    flat = [each.reshape(len(each), -1) for each in rows]
    return np.array([salience(each, shown.components).salience for each in flat])


def _readout(
    network: ImageNetwork, samples: Composites, unseen: Composites
) -> Float[np.ndarray, " rows"]:
    """Return what the last layer says of unseen tuples if the readout alone is trained, to the end.

    There are more samples than units, so that this is the fit of least squares.
    """
    layer = network.names[-2:-1]
    rows, at = (activations(network, each, layers=layer)[0].astype(float)
                for each in (samples, unseen))  # fmt: skip
    fit = np.linalg.lstsq(_with_ones(rows), samples.targets, rcond=1e-7)[0]
    return _by_tuple(unseen, (_with_ones(at) @ fit)[:, None])


def _with_ones(rows: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n q"]:
    return np.column_stack([rows, np.ones(len(rows))])


def _by_tuple(samples: Composites, outputs: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " rows"]:
    """Average outputs over the composites of each tuple; NaN where there are none."""
    rows = len(samples.task.components)
    total = np.bincount(samples.rows, outputs[:, 0].astype(float), minlength=rows)
    count = np.bincount(samples.rows, minlength=rows)
    return np.divide(total, count, out=np.full(rows, np.nan), where=count > 0)
