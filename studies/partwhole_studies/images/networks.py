"""Networks trained on composed images: a cell trains one of them on one task at one distance.

Each value of a component is a class of images, shown by one of them drawn at random; components
lie side by side at a distance, in channels of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.measures import predict_readout, salience
from partwhole.networks import ImageNetwork, activations, image_network
from partwhole.study import Arrays, Config
from partwhole.tasks import compose_images
from partwhole.tasks.images.cifar import cifar_images
from partwhole.tasks.images.composites import Composites
from partwhole.tasks.images.digits import digit_images
from partwhole.tasks.images.mnist import mnist_images
from partwhole.training import Training
from partwhole.training import train as train_networks
from partwhole_studies.network_tasks import make_task

# Where networks are measured: the pixels, two layers between (of the ConvNet the published one is
# the later), and what the readout reads.
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
# Networks are scored on these after some epochs, and after the last.
SAMPLES = ("training", "seen", "unseen")
SCORED = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135)


# Of images: the small digits, fewer of them, and the published sets.
DIGITS: Config = {"images": "digits", "training_images": 0.5, "samples": 2550, "evaluated": 20}
FEW: Config = DIGITS | {"samples": 1280, "evaluated": 10}
# As published, values stand for the first classes only.
MNIST: Config = {
    "images": "mnist", "training_images": 200, "samples": 20_000, "evaluated": 100,
    "assign": "first",
}  # fmt: skip
CIFAR: Config = MNIST | {"images": "cifar-10", "training_images": 4000, "samples": 40_000}
ADAM: Config = {"optimiser": "adam", "learning_rate": 1e-3, "batch": 128}
SMALL: dict[str, Config] = {
    "convnet-small": ADAM | {"epochs": 30},
    "resnet-small": ADAM | {"epochs": 60},
    "vit-small": ADAM | {"epochs": 45},
}


def cells_of(
    images: Config,
    network: str,
    loss: str,
    tasks: Sequence[str],
    distances: Sequence[int],
    seeds: int,
    **training: Any,
) -> list[Config]:
    """Return a cell for each task, seed and distance.

    Distances vary fastest, so that of two processes each mostly compiles one network.
    """
    training = {"loss": loss} | SMALL.get(network, {}) | training
    return [
        images
        | {
            "network": network,
            "training": training,
            "task": task,
            "distance": distance,
            "seed": seed,
        }
        for task in tasks
        for seed in range(seeds)
        for distance in distances
    ]


def pictures(source: str) -> tuple[Float[np.ndarray, "k h w c"], np.ndarray]:
    """Return images, normalised as networks see them, and their classes."""
    if source == "digits":
        images, classes = digit_images()
        return np.asarray((images - images.mean()) / images.std(), np.float32)[..., None], classes
    if source == "mnist":
        images, classes = mnist_images()
        return np.asarray((images - 0.1307) / 0.3081, np.float32)[..., None], classes
    images, classes = cifar_images(10)
    centre, spread = np.array([0.4914, 0.4822, 0.4465]), np.array([0.2023, 0.1994, 0.2010])
    return np.asarray((images - centre) / spread, np.float32), classes


def training_of(config: Config) -> Training:
    """Return the settings of a cell's training: those of the paper for its networks."""
    settings, name = config["training"] | {"seed": config["seed"]}, config["network"]
    return Training(**settings) if name in SMALL else Training.published(name, **settings)


def train(config: Config) -> Arrays:
    """Train one network; return its scores, its answers to tuples, and its saliences."""
    task = make_task(config["task"])
    composed = compose_images(
        task, *pictures(config["images"]), distance=config["distance"],
        training_images=config["training_images"], assign=config.get("assign", "every"),
        seed=config["seed"],
    )  # fmt: skip
    samples = composed.training(max(1, config["samples"] // task.n_train))
    sets = {
        "seen": composed.in_distribution(config["evaluated"]),
        "unseen": composed.compositional(config["evaluated"]),
    }
    start = image_network(config["network"], samples.shape, outputs=1, seed=config["seed"])
    training = training_of(config)
    assert training.epochs is not None
    scored = [epoch for epoch in SCORED if epoch <= training.epochs]
    recorded = replace(training, record=scored)
    runs = train_networks(start, samples, recorded, test=sets, progress=False)
    assert runs.scores is not None
    assert runs.outputs is not None
    assert runs.epoch_loss is not None
    outputs = {part: outputs[0] for part, outputs in runs.outputs.items()}
    composites = composed.draw(MEASURED, pool="held out", draw=3)
    layers = LAYERS[config["network"]]
    scores = [runs.scores[part] for part in SAMPLES]
    quality = [score.error if score.accuracy is None else score.accuracy for score in scores]
    arrays = {
        "trained": by_tuple(samples, outputs["training"]),
        "answered": np.where(
            task.is_train,
            by_tuple(sets["seen"], outputs["seen"]),
            by_tuple(sets["unseen"], outputs["unseen"]),
        ),
        "quality": np.array([values[0] for values in quality if values is not None]),
        "epochs": np.union1d(scored, training.epochs),
        "learned": runs.has_learned[0],
        "loss": runs.epoch_loss[0],
        "salience": np.array(
            [_saliences(net, composites, layers) for net in (start, runs.network(0))]
        ),
    }
    if config["images"] != "digits":  # whose files may be elsewhere when a figure is drawn
        arrays["example"] = samples[:1][0].max(axis=-1)
    if training.loss == "squared":
        rows, at = (_last_hidden(start, shown) for shown in (samples, sets["unseen"]))
        arrays["regime"] = readout_alone(rows, samples, at, sets["unseen"])
        arrays["predicted"] = readout_predicted(rows, samples, at, sets["unseen"])
    return arrays


def _last_hidden(network: ImageNetwork, shown: Composites) -> Float[np.ndarray, "n p"]:
    """Return what the readout of a network reads."""
    return activations(network, shown, layers=network.names[-2:-1])[0].astype(float)


def _saliences(
    network: ImageNetwork, composites: Composites, layers: tuple[str, ...]
) -> Float[np.ndarray, "layers C"]:
    """Measure S(1; C) to S(C; C) of layers, all read in one go, which is compiled once."""
    pixels, *within = layers
    rows = [composites[:], *activations(network, composites, layers=within)]
    assert pixels == "input"
    flat = [layer.reshape(len(layer), -1) for layer in rows]
    return np.array([salience(layer, composites.components).salience for layer in flat])


def readout_alone(
    rows: Float[np.ndarray, "n p"],
    samples: Composites,
    at: Float[np.ndarray, "m p"],
    unseen: Composites,
) -> Float[np.ndarray, " rows"]:
    """Return the answers to unseen tuples if the readout alone is trained, to the end.

    There are more samples than units, so that this is the fit of least squares.
    """
    fit = np.linalg.lstsq(_with_ones(rows), samples.targets, rcond=1e-7)[0]
    return by_tuple(unseen, (_with_ones(at) @ fit)[:, None])


def readout_predicted(
    rows: Float[np.ndarray, "n p"],
    samples: Composites,
    at: Float[np.ndarray, "m p"],
    unseen: Composites,
) -> Float[np.ndarray, " rows"]:
    """Return what theory says of these answers, from the means and the noise of a layer."""
    task = samples.task
    of = np.concatenate([samples.rows, unseen.rows])
    readout = predict_readout(
        np.concatenate([rows, at]), task.components[of], task.targets[of],
        np.arange(len(of)) < len(rows), ridge=0.0,
    )  # fmt: skip
    answers = np.full(len(task.targets), np.nan)
    present = np.unique(of)
    answers[present] = readout.predicted[readout.rows_of(task.components[present]), 0]
    return answers


def _with_ones(rows: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n q"]:
    return np.column_stack([rows, np.ones(len(rows))])


def by_tuple(samples: Composites, outputs: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " rows"]:
    """Average outputs over the composites of each tuple; NaN where there are none."""
    rows = len(samples.task.components)
    total = np.bincount(samples.rows, outputs[:, 0].astype(float), minlength=rows)
    count = np.bincount(samples.rows, minlength=rows)
    return np.divide(total, count, out=np.full(rows, np.nan), where=count > 0)
