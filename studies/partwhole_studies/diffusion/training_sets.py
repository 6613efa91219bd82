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

from partwhole.networks.diffusion import DiffusionModel, diffusion_model
from partwhole.study import Config
from partwhole.tasks import ConceptSpace, circles
from partwhole.tasks.shapes.concept import Concept

VALUES = {
    "colour": ("red", "blue"), "size": ("big", "small"), "background": ("light", "dark"),
    "kind": ("circle", "triangle"), "row": ("upper", "lower"), "column": ("left", "right"),
}  # fmt: skip
AXES = {"row": "x", "column": "y"}  # the fields of a picture
SIDES = {"small16": 16, "small32": 32, "paper": 32}
POINT, PROMPT = 113, 114_000  # separate streams of random numbers
JITTER = 0.15  # of points, as a share of the separation
MASK = -1.0  # stands for a masked concept in a condition


class Setting(NamedTuple):
    """A model with its training set, the conditions of its prompts, and what reads samples.

    Points have a function that does; images have their space, from which readers are trained.
    """

    model: DiffusionModel
    samples: np.ndarray
    conditions: np.ndarray
    prompts: dict[str, np.ndarray]  # of each class
    over: Callable[[float], np.ndarray]  # for the last class with its colour exaggerated
    readers: Callable[[np.ndarray], np.ndarray] | ConceptSpace


def concepts(config: Config) -> tuple[str, ...]:
    """Return the concepts; the first one varies slowest in the order of classes."""
    return "colour", "size", *config["further"]


def classes(n_concepts: int = 2) -> dict[str, tuple[int, ...]]:
    """Return the corner in concept space of each class."""
    words = list(VALUES.values())[:n_concepts]
    corners = product((0, 1), repeat=n_concepts)
    return {" ".join(w[v] for w, v in zip(words, c, strict=True)): c for c in corners}


def train_classes(n_concepts: int = 2) -> list[str]:
    return [name for name, corner in classes(n_concepts).items() if sum(corner) <= 1]


UNSEEN = list(classes())[-1]


def space_of(config: Config) -> ConceptSpace:
    """Return circles, or circles and triangles, with the concepts of a configuration.

    Rows and columns vary within a class as sizes do, by three eighths of their separation.
    """
    further = config["further"]
    space = circles(
        config["colour"], config["size"], background_separation=further.get("background")
    )
    if set(further) <= {"background"}:
        return space
    added = {"kind": Concept.around("kind", dict(zip(VALUES["kind"], (0, 1), strict=True)))}
    for name, field in AXES.items():
        half = further[name] / 2
        places = dict(zip(VALUES[name], (-half, half), strict=True))
        added[name] = Concept.around(name, places, field=field, jitter=0.75 * half)  # pyright: ignore[reportArgumentType]
    more = [added[name] for name in further if name in added]
    return ConceptSpace((*space.concepts, *more), noun="")


def images(config: Config) -> Setting:
    """Return pictures. As published, prompts of training classes vary as in training."""
    space = space_of(config)
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

    by_class = dict(zip(names, prompts, strict=True))
    return Setting(model, pictures.images, conditions, by_class, over, space)


def points(config: Config) -> Setting:
    """Return points around the corners of a box."""
    separations = config["further"] | {name: config[name] for name in ("colour", "size")}
    sides = np.array([separations[name] for name in concepts(config)]) * 2.0
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
    return Setting(model, samples, conditions, prompts, over, read)
