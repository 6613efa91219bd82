"""What the studies of concept-space diffusion share: a cell trains one model and reads it.

Concepts of two values make classes; those are shown that differ from the first one in one concept
at most, and the last class, which differs in all of them, is the one that models are asked for.
Images are of circles; of the vector model they are points, as far from 0 in each coordinate as the
values of a concept are apart.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole.measures import calibration, decode_shapes
from partwhole.networks.diffusion import DiffusionModel, diffusion_model
from partwhole.study import Arrays, Config
from partwhole.tasks import ConceptSpace, circles
from partwhole.training import (
    DiffusionRecipe,
    Prompt,
    Recipe,
    train_concept_classifier,
    train_diffusion,
)

WORDS = {"colour": ("red", "blue"), "size": ("big", "small"), "background": ("light", "dark")}
SIDES = {"small16": 16, "small32": 32, "paper": 32}
KEPT = 6  # samples of the unseen class that are kept as pictures
POINT, PROMPT, JUDGED = 113, 114_000, 115_000  # keep streams apart from those of images
JITTER = 0.15  # of points, as a share of what concepts are apart
UNSURE = 0.5  # the coordinates of an image on which the decoder abstains
LEFT = 0.08  # noise that is left on samples at the end of the published schedule
NOTHING = -1.0  # takes the place of what is not told
PER_JUDGED = 100  # images of each class on which readers are calibrated
CLASSIFIER = Recipe(loss="cross entropy", batch=64, epochs=6)  # enough to tell all but a few

Rows = np.ndarray

# What a cell is told beside which model it trains, for how long, and what sets it apart.
BASE: Config = {
    "size": 0.4, "background": None, "words": False, "rare": None, "masked": 0.0,
    "over": [], "directions": [], "guidance": [], "classifier": False,
}  # fmt: skip
IMAGES: Config = BASE | {
    "model": "small16", "per_class": 1024, "samples": 64, "checkpoints": 12, "first": 100,
    "steps": 3000, "classifier": True,
    "recipe": {"sampling_steps": 25, "denoise": True},
}  # fmt: skip
# Drawn by weights averaged over steps: what swings from checkpoint to checkpoint is steadied.
STEADY: Config = {"recipe": IMAGES["recipe"] | {"average": 0.98}}
# For sweeps of several settings, within a few minutes.
SHORT: Config = IMAGES | {"first": 50, "steps": 800, "checkpoints": 9, "samples": 32}
POINTS: Config = BASE | {
    "model": "vector", "per_class": 500, "samples": 100, "checkpoints": 12, "first": 5,
    "steps": 400, "recipe": {"sampling_steps": 25, "denoise": True, "batch": 128},
}  # fmt: skip
PAPER: Config = BASE | {
    "model": "paper", "per_class": 2048, "samples": 32, "checkpoints": 60, "first": 500,
    "steps": 20_000, "classifier": True, "recipe": {"clip": 0.01, "sampling_steps": 50},
}  # fmt: skip


class Setting(NamedTuple):
    """Hold what a model is trained on, how it is asked, and how its samples are read."""

    model: DiffusionModel
    samples: Float[np.ndarray, "n *shape"]
    conditions: Rows
    asked: dict[str, Rows]  # of each class
    over: Callable[[float], Rows]  # for the last class with its colour overstated
    read: Callable[[np.ndarray], Float[np.ndarray, "n C"]]
    judged: Float[np.ndarray, "reader 4 concept"] | None  # how well readers do


def concepts(config: Config) -> tuple[str, ...]:
    """Return the concepts, the first one slowest in the order of classes."""
    return tuple(WORDS)[: 2 if config["background"] is None else 3]


def classes(n_concepts: int = 2) -> dict[str, tuple[int, ...]]:
    """Return the classes by their words, and their corners in concept space."""
    words = list(WORDS.values())[:n_concepts]
    corners = product((0, 1), repeat=n_concepts)
    return {" ".join(w[v] for w, v in zip(words, each, strict=True)): each for each in corners}


def shown(n_concepts: int = 2) -> list[str]:
    """Return the classes that models are trained on."""
    return [name for name, corner in classes(n_concepts).items() if sum(corner) <= 1]


CLASSES = tuple(classes())
UNSEEN = CLASSES[3]


def images(config: Config) -> Setting:
    """Return circles: asked for as they vary where they were seen, as published, else at means."""
    apart = [config[name] for name in ("colour", "size")]
    space = circles(*apart, background_separation=config["background"])
    n, seed, side = config["samples"], config["seed"], SIDES[config["model"]]
    names = classes(len(space.concepts))
    seen = np.array([sum(corner) <= 1 for corner in names.values()])
    rare = None if config["rare"] is None else {"blue": config["rare"]}
    counts = space.counts(config["per_class"], rare, is_train=seen)
    pictures = space.sample(counts, is_train=seen, side=side, seed=seed)
    drawn, of = space.draw(n, seed=seed + PROMPT)
    if config["words"]:
        told = space.tokens(pictures.classes)
        asked = [np.repeat(space.tokens([k]), n, axis=0) for k in range(len(names))]
        model = diffusion_model(config["model"], vocabulary=len(space.vocabulary) + 1, seed=seed)
    else:
        told = space.conditions(pictures.attributes).astype(np.float32)
        means = space.class_conditions().astype(np.float32)
        varied = space.conditions(drawn).astype(np.float32)
        asked = [
            varied[of == k] if seen[k] else np.repeat(means[k : k + 1], n, axis=0)
            for k in range(len(names))
        ]
        model = diffusion_model(config["model"], condition=told.shape[1], seed=seed)
    if config["masked"]:
        told = space.mask_conditions(
            told, "colour", rows=pictures.components[:, 0] == 0, share=config["masked"],
            value=0.0 if config["words"] else NOTHING, seed=seed,
        )  # fmt: skip

    def over(amount: float) -> Rows:
        return space.over_prompts(list(names)[-1], [amount]).repeat(n, axis=0).astype(np.float32)

    read, judged = _readers(config, space, side)
    return Setting(
        model, pictures.images, told, dict(zip(names, asked, strict=True)), over, read, judged
    )


def _readers(
    config: Config, space: ConceptSpace, side: int
) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """Return what reads images, the decoder and maybe a classifier, and how well they do.

    Of each reader and concept: accuracy, Brier score, calibration error and share abstained, on
    images that neither has seen.
    """
    ends = space.ends()
    # Samples keep some noise unless they are freed of it in the end.
    noise = 1e-3 if config["recipe"].get("denoise", False) else LEFT
    readers = [lambda found: decode_shapes(found).coordinates(ends, unsure=UNSURE)]
    if config["classifier"]:
        known = space.sample(
            config["per_class"], side=side, noise=noise, seed=config["seed"] + JUDGED
        )
        classifier = train_concept_classifier(
            known.images,
            known.components,
            recipe=CLASSIFIER,
            seed=config["seed"],
            progress=False,
        )
        goal = space.classes[-1]
        readers.append(lambda found: classifier.coordinates(found, goal))
    new = space.sample(PER_JUDGED, side=side, noise=noise, seed=config["seed"] + 2 * JUDGED)
    sure = decode_shapes(new.images).coordinates(ends, unsure=float("nan"))  # abstentions count
    found = [sure, *(read(new.images) for read in readers[1:])]
    told = [calibration(each.astype(float), new.components) for each in found]
    judged = [[each.accuracy, each.brier, each.error, each.abstained] for each in told]
    return lambda found: np.hstack([read(found) for read in readers]), np.array(judged)


def points(config: Config) -> Setting:
    """Return points at corners of a box, whose sides are how far concepts are apart."""
    apart = np.array([config[name] for name in concepts(config)]) * 2.0
    rng = np.random.default_rng([config["seed"], POINT])
    n, names = config["samples"], classes(len(apart))

    def drawn(corner: tuple[int, ...], count: int) -> np.ndarray:
        jitter = JITTER * rng.uniform(-1.0, 1.0, (count, len(apart)))
        return ((np.array(corner) + jitter) * apart).astype(np.float32)

    seen = [names[name] for name in shown(len(apart))]
    most = config["per_class"]
    counts = [most if config["rare"] is None or not c[0] else config["rare"] for c in seen]
    shown_points = np.concatenate([drawn(c, k) for c, k in zip(seen, counts, strict=True)])
    told = shown_points.copy()
    red = rng.permutation(np.flatnonzero(np.repeat([not c[0] for c in seen], counts)))
    told[red[: round(config["masked"] * len(red))], 0] = NOTHING
    asked = {
        name: drawn(corner, n)
        if corner in seen
        else np.tile(corner * apart, (n, 1)).astype(np.float32)
        for name, corner in names.items()
    }
    last = asked[list(names)[-1]]

    def over(amount: float) -> Rows:
        return (last + np.eye(len(apart))[0] * amount).astype(np.float32)

    model = diffusion_model("vector", condition=len(apart), size=len(apart), seed=config["seed"])

    def read(found: np.ndarray) -> np.ndarray:
        # As a classifier does: as far from the other value as samples shown are is right.
        return np.clip((found / apart - JITTER) / (1.0 - 2.0 * JITTER), 0.0, 1.0)

    return Setting(model, shown_points, told, asked, over, read, None)


def checkpoints(first: int, last: int, n: int) -> list[int]:
    """Return steps whose roots are evenly spaced, as published."""
    roots = np.linspace(np.sqrt(first), np.sqrt(last), n)
    found = np.floor(roots**2 + 1e-9).astype(int)
    found[-1] = last
    return np.unique(found).tolist()


def prompts_of(config: Config, given: Setting) -> dict[str, Prompt]:
    """Return what a model is asked for: every class, and the last one in other ways.

    Over-prompts overstate the colour; directions move what the model makes of the condition along
    the way from red to blue; guidance overstates the condition as a whole.
    """
    found = {name: Prompt(conditions=rows) for name, rows in given.asked.items()}
    last = list(given.asked.values())[-1]
    found |= {f"over {a:g}": Prompt(conditions=given.over(a)) for a in config["over"]}
    red = next(iter(given.asked.values()))
    blue = given.asked[next(name for name in shown(len(concepts(config))) if "blue" in name)]
    for amount in config["directions"]:
        found[f"direction {amount:g}"] = Prompt(
            conditions=last, toward=blue, away=red, amount=amount
        )
    for weight in config["guidance"]:
        found[f"guidance {weight:g}"] = Prompt(conditions=last, guidance=weight)
    return found


def train(config: Config) -> Arrays:
    """Train one model on what is shown, and read what it draws on the way.

    Returns
    -------
    dict
        steps (T,), coordinates (T, prompts, n, C), bits (L, 3); of images judged (readers, 4, C)
        and pictures, the first few of the last class, (T, KEPT, side, side, 3) in 256 levels; and
        with a classifier what it reads, classified, as coordinates.
    """
    given = points(config) if config["model"] == "vector" else images(config)
    prompts = prompts_of(config, given)
    run = train_diffusion(
        given.model,
        given.samples,
        given.conditions,
        DiffusionRecipe(**(config["recipe"] | {"steps": config["steps"]})),
        seed=config["seed"],
        at=checkpoints(config["first"], config["steps"], config["checkpoints"]),
        prompts=prompts,
        read=given.read,
        keep_samples=given.judged is not None,
        progress=False,
    )
    n_concepts = len(concepts(config))
    read = np.stack([run.coordinates[name] for name in prompts], axis=1)
    found = {"steps": run.steps, "coordinates": read[..., :n_concepts], "bits": run.bits}
    if given.judged is not None:
        drawn = run.samples[list(given.asked)[-1]][:, :KEPT].astype(float)
        levels = np.rint(255.0 * np.clip(drawn, 0.0, 1.0)).astype(np.uint8)
        found |= {"judged": given.judged, "pictures": levels}
    if config["classifier"]:
        found["classified"] = read[..., n_concepts:]
    return found


def names_of(config: Config) -> list[str]:
    """Return the names of a cell's prompts in their order."""
    others = [
        f"{kind} {amount:g}"
        for kind, key in (("over", "over"), ("direction", "directions"), ("guidance", "guidance"))
        for amount in config[key]
    ]
    return [*classes(len(concepts(config))), *others]
