"""Training sets without one combination of concepts: circles, or points in their place.

Concepts of two values make classes. Training has those that differ from the first class in one
concept at most; the last class differs in all of them. Points lie as far apart in each coordinate
as the values of a concept.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np

from partwhole.measures.concepts.calibration import calibration
from partwhole.measures.concepts.decoder import decode_shapes
from partwhole.networks.diffusion import DiffusionModel, diffusion_model
from partwhole.study import Config
from partwhole.tasks import ConceptSpace, circles
from partwhole.training import Training, train_concept_classifier

VALUES = {"colour": ("red", "blue"), "size": ("big", "small"), "background": ("light", "dark")}
SIDES = {"small16": 16, "small32": 32, "paper": 32}
POINT, PROMPT, READER = 113, 114_000, 115_000  # separate streams of random numbers
JITTER = 0.15  # of points, as a share of the separation
UNSURE = 0.5  # the coordinates of an image on which the decoder abstains
LEFT = 0.08  # noise that is left on samples at the end of the published schedule
MASK = -1.0  # stands for a masked concept in a condition
CLASSIFIER = Training(
    loss="cross entropy", optimiser="adam", learning_rate=1e-3, batch=64, epochs=6
)


class Setting(NamedTuple):
    """A model with its training set, the conditions of its prompts, and its reader of samples."""

    model: DiffusionModel
    samples: np.ndarray
    conditions: np.ndarray
    prompts: dict[str, np.ndarray]  # of each class
    over: Callable[[float], np.ndarray]  # for the last class with its colour exaggerated
    read: Callable[[np.ndarray], np.ndarray]
    scores: np.ndarray | None  # of the readers, shape (readers, 4, concepts)


def concepts(config: Config) -> tuple[str, ...]:
    """Return the concepts; the first one varies slowest in the order of classes."""
    return tuple(VALUES)[: 2 if config["background"] is None else 3]


def classes(n_concepts: int = 2) -> dict[str, tuple[int, ...]]:
    """Return the corner in concept space of each class."""
    words = list(VALUES.values())[:n_concepts]
    corners = product((0, 1), repeat=n_concepts)
    return {" ".join(w[v] for w, v in zip(words, c, strict=True)): c for c in corners}


def train_classes(n_concepts: int = 2) -> list[str]:
    return [name for name, corner in classes(n_concepts).items() if sum(corner) <= 1]


UNSEEN = list(classes())[-1]


def images(config: Config) -> Setting:
    """Return circles. As published, prompts of training classes vary as in training."""
    separations = [config[name] for name in ("colour", "size")]
    space = circles(*separations, background_separation=config["background"])
    n, seed, side = config["samples"], config["seed"], SIDES[config["model"]]
    names = classes(len(space.concepts))
    is_train = np.array([sum(corner) <= 1 for corner in names.values()])
    rare = None if config["rare"] is None else {"blue": config["rare"]}
    counts = space.counts(config["per_class"], rare, is_train=is_train)
    pictures = space.sample(counts, is_train=is_train, side=side, seed=seed)
    attributes, drawn = space.draw(n, seed=seed + PROMPT)
    if config["words"]:
        conditions = space.tokens(pictures.classes)
        prompts = [np.repeat(space.tokens([k]), n, axis=0) for k in range(len(names))]
        model = diffusion_model(config["model"], vocabulary=len(space.vocabulary) + 1, seed=seed)
    else:
        conditions = space.conditions(pictures.attributes).astype(np.float32)
        means = space.class_conditions().astype(np.float32)
        varied = space.conditions(attributes).astype(np.float32)
        prompts = [
            varied[drawn == k] if is_train[k] else np.repeat(means[k : k + 1], n, axis=0)
            for k in range(len(names))
        ]
        model = diffusion_model(config["model"], condition=conditions.shape[1], seed=seed)
    if config["masked"]:
        conditions = space.mask_conditions(
            conditions, "colour", rows=pictures.components[:, 0] == 0, share=config["masked"],
            value=0.0 if config["words"] else MASK, seed=seed,
        )  # fmt: skip

    def over(amount: float) -> np.ndarray:
        return space.over_prompts(list(names)[-1], [amount]).repeat(n, axis=0).astype(np.float32)

    read, scores = _readers(config, space, side)
    by_class = dict(zip(names, prompts, strict=True))
    return Setting(model, pictures.images, conditions, by_class, over, read, scores)


def _readers(
    config: Config, space: ConceptSpace, side: int
) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """Return the decoder and, where there is one, the classifier, with their scores on new images.

    Scores: accuracy, Brier score, calibration error, and the share of abstentions.
    """
    ends, seed = space.ends(), config["seed"]
    noise = 1e-3 if config["recipe"].get("denoise", False) else LEFT
    readers = [lambda samples: decode_shapes(samples).coordinates(ends, unsure=UNSURE)]
    if config["classifier"]:
        labelled = space.sample(config["per_class"], side=side, noise=noise, seed=seed + READER)
        classifier = train_concept_classifier(
            labelled.images, labelled.components, training=CLASSIFIER, seed=seed, progress=False
        )
        goal = space.classes[-1]
        readers.append(lambda samples: classifier.coordinates(samples, goal))
    new = space.sample(100, side=side, noise=noise, seed=seed + 2 * READER)
    decoded = decode_shapes(new.images).coordinates(ends, unsure=float("nan"))
    readings = [decoded, *(read(new.images) for read in readers[1:])]
    marks = [calibration(values.astype(float), new.components) for values in readings]
    scores = [[m.accuracy, m.brier, m.error, m.abstained] for m in marks]
    return lambda samples: np.hstack([read(samples) for read in readers]), np.array(scores)


def points(config: Config) -> Setting:
    """Return points around the corners of a box."""
    sides = np.array([config[name] for name in concepts(config)]) * 2.0
    rng = np.random.default_rng([config["seed"], POINT])
    n, names, per_class = config["samples"], classes(len(sides)), config["per_class"]

    def around(corner: tuple[int, ...], count: int) -> np.ndarray:
        jitter = JITTER * rng.uniform(-1.0, 1.0, (count, len(sides)))
        return ((np.array(corner) + jitter) * sides).astype(np.float32)

    corners = [names[name] for name in train_classes(len(sides))]
    counts = [per_class if config["rare"] is None or not c[0] else config["rare"] for c in corners]
    samples = np.concatenate([around(c, k) for c, k in zip(corners, counts, strict=True)])
    conditions = samples.copy()
    red = rng.permutation(np.flatnonzero(np.repeat([not c[0] for c in corners], counts)))
    conditions[red[: round(config["masked"] * len(red))], 0] = MASK
    prompts = {
        name: around(corner, n)
        if corner in corners
        else np.tile(corner * sides, (n, 1)).astype(np.float32)
        for name, corner in names.items()
    }
    last = prompts[list(names)[-1]]

    def over(amount: float) -> np.ndarray:
        return (last + np.eye(len(sides))[0] * amount).astype(np.float32)

    def read(samples: np.ndarray) -> np.ndarray:
        # Like a classifier: all training samples of a value read as that value.
        return np.clip((samples / sides - JITTER) / (1.0 - 2.0 * JITTER), 0.0, 1.0)

    model = diffusion_model("vector", condition=len(sides), size=len(sides), seed=config["seed"])
    return Setting(model, samples, conditions, prompts, over, read, None)
