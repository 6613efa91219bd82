"""Diffusion models trained without one combination of concepts, and prompted for it."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from partwhole.networks.diffusion import DiffusionModel
from partwhole.study import Arrays, Config
from partwhole.tasks import ConceptSpace
from partwhole.training import Prompt, Sampling, Training
from partwhole.training import train as train_network
from partwhole.training.diffusion.records import DiffusionRecords
from partwhole_studies.diffusion.image_readers import CLEAN, read_all, readers
from partwhole_studies.diffusion.training_sets import (
    SIDES,
    Setting,
    classes,
    concepts,
    images,
    points,
    train_classes,
)

PICTURES = 6  # samples of the unseen class that are kept as pictures
BASE: Config = {
    "size": 0.4, "further": {}, "initial_scale": 1.0, "words": False, "rare": None, "masked": 0.0,
    "over": [], "directions": [], "guidance": [], "classifier": False,
}  # fmt: skip
IMAGES: Config = BASE | {
    "model": "small16", "per_class": 1024, "samples": 64, "checkpoints": 12, "first": 100,
    "steps": 3000, "classifier": True,
    "recipe": {"sampling_steps": 25, "denoise": True},
}  # fmt: skip
# For sweeps over several settings.
SHORT: Config = IMAGES | {"first": 50, "steps": 800, "checkpoints": 9, "samples": 32}
POINTS: Config = BASE | {
    "model": "vector", "per_class": 500, "samples": 100, "checkpoints": 12, "first": 5,
    "steps": 400, "recipe": {"sampling_steps": 25, "denoise": True, "batch": 128},
}  # fmt: skip
PAPER: Config = BASE | {
    "model": "paper", "per_class": 2048, "samples": 32, "checkpoints": 60, "first": 500,
    "steps": 20_000, "classifier": True, "recipe": {"clip": 0.01, "sampling_steps": 50},
}  # fmt: skip
# The limit on gradients, of which the learned schedule takes nearly all; see Training.published.
UNCLIPPED: Config = PAPER | {"recipe": {"clip": None, "sampling_steps": 50}}


def checkpoints(first: int, last: int, n: int) -> list[int]:
    """Return steps whose roots are evenly spaced, as published."""
    roots = np.linspace(np.sqrt(first), np.sqrt(last), n)
    steps = np.floor(roots**2 + 1e-9).astype(int)
    steps[-1] = last
    return np.unique(steps).tolist()


def steps_of(config: Config) -> list[int]:
    return checkpoints(config["first"], config["steps"], config["checkpoints"])


def prompts_of(config: Config, setting: Setting) -> dict[str, Prompt]:
    """Return a prompt for each class, and other prompts for the last class.

    Over-prompts exaggerate the colour; directions move the embedded condition along the way from
    red to blue; guidance exaggerates the condition as a whole.
    """
    prompts = {name: Prompt(conditions=rows) for name, rows in setting.prompts.items()}
    last = list(setting.prompts.values())[-1]
    prompts |= {f"over {a:g}": Prompt(conditions=setting.over(a)) for a in config["over"]}
    red = next(iter(setting.prompts.values()))
    blue = setting.prompts[
        next(name for name in train_classes(len(concepts(config))) if "blue" in name)
    ]
    for amount in config["directions"]:
        prompts[f"direction {amount:g}"] = Prompt(
            conditions=last, toward=blue, away=red, amount=amount
        )
    for weight in config["guidance"]:
        prompts[f"guidance {weight:g}"] = Prompt(conditions=last, guidance=weight)
    return prompts


def scaled(model: DiffusionModel, factor: float) -> DiffusionModel:
    """Return a model with all weights times a factor; biases and gains stay."""
    predictor = jax.tree.map(lambda w: factor * w if jnp.ndim(w) > 1 else w, model.predictor)
    return eqx.tree_at(lambda m: m.predictor, model, predictor)


def train(config: Config, scratch: Path | None = None) -> Arrays:
    """Train one model, and read its samples along the way; a checkpoint lies in `scratch`.

    Returns
    -------
    dict
        coordinates (T, prompts, n, C). For images also scores (readers, 4, C), pictures of the
        last class (T, PICTURES, side, side, 3), and of each step the noise left on samples and
        the scale of an image at time 1, where sampling starts; with a classifier the coordinates
        are its probabilities, `decoded` those of the decoder and `regressed` the regressor's.
    """
    of_points = config["model"] == "vector"
    setting = points(config) if of_points else images(config)
    prompts = prompts_of(config, setting)
    options = {"clip": 1.0} | config["recipe"]
    sampling = Sampling(
        prompts,
        None if isinstance(setting.readers, ConceptSpace) else setting.readers,
        steps=options.pop("sampling_steps"),
        denoise=options.pop("denoise", False),
        keep=not of_points,
    )
    training = Training.published(
        "diffusion", **options, steps=config["steps"], record=steps_of(config), seed=config["seed"]
    )
    model, data = setting.model, (setting.samples, setting.conditions)
    if config["initial_scale"] != 1.0:
        model = scaled(model, config["initial_scale"])
    checkpoint = scratch and scratch / "run.npz"
    runs = train_network(
        model, data, training, read=sampling, checkpoint=checkpoint, progress=False
    )
    assert runs.diffusion is not None
    if isinstance(setting.readers, ConceptSpace):
        return _read(config, setting.readers, runs.diffusion, sampling)
    coordinates = runs.diffusion.coordinates
    return {"coordinates": np.stack([coordinates[name][0] for name in prompts], axis=1)}


def _read(
    config: Config, space: ConceptSpace, records: DiffusionRecords, sampling: Sampling
) -> Arrays:
    """Return the readings of samples of images, by readers of as much noise as they have."""
    noise_left, samples = records.noise_left[0], records.samples
    read, scores = readers(
        config, space, SIDES[config["model"]],
        np.full_like(noise_left, CLEAN) if sampling.denoise else noise_left,
    )  # fmt: skip
    readings = np.stack([read_all(read, samples[name][0]) for name in sampling.prompts], axis=1)
    n_concepts = len(space.concepts)
    pictures = samples[list(classes(n_concepts))[-1]][0, :, :PICTURES]
    arrays = {
        "coordinates": readings[..., -n_concepts:],
        "scores": scores,
        "pictures": np.clip(pictures, 0.0, 1.0).astype(np.float32),
        "noise_left": noise_left,
        "signal_left": records.signal_left[0],
    }
    if config["classifier"]:
        arrays["decoded"] = readings[..., :n_concepts]
        arrays["regressed"] = readings[..., n_concepts:-n_concepts]
    return arrays


def prompt_names(config: Config) -> list[str]:
    """Return the names of a cell's prompts in their order."""
    kinds = (("over", "over"), ("direction", "directions"), ("guidance", "guidance"))
    variants = [f"{kind} {amount:g}" for kind, key in kinds for amount in config[key]]
    return [*classes(len(concepts(config))), *variants]
