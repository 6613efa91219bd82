"""What the cells of large studies cost: steps from their settings, operations, seconds of a step.

A step is one of Adam on a batch, and reading samples counts as steps: a network that is only
evaluated does a third of a step's operations. Trainings that end at a loss count to their cap, so
that costs are bounds from above. Steps of images were timed with `benchmarks/bench_device.py`, of
convolutional networks on a core with `bench_image_training.py`, of U-Nets on a device in training
itself, and those of points as a difference of two trainings.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import NamedTuple

from partwhole.study import Config
from partwhole_studies.diffusion.concept_models import prompt_names
from partwhole_studies.images.networks import training_of
from partwhole_studies.network_tasks import make_task

SAMPLES = 64  # in a step of a diffusion model
EVALUATED = 3  # a step costs as much as so many evaluations
AUXILIARY = {"digits": 900, "cifar-100": 49_000}  # images of the other classes, about


class Step(NamedTuple):
    """Operations of a step, its seconds on one core, and on an H200 where it was timed there."""

    operations: float
    core: float
    device: float


# Batches of 128 images and of 64 samples, of the published sizes and the small ones.
STEPS = {
    "convnet": Step(52.0e9, 0.76, 1.25e-3),
    "resnet": Step(24.0e9, 0.54, 2.57e-3),
    "vit": Step(29.6e9, 0.64, 1.56e-3),
    "resnet-18": Step(16.4e9, 0.34, 4.19e-3),
    "vit-finetuning": Step(645e9, 9.3, 7.24e-3),
    "convnet-small": Step(1.1e9, 0.02, 0.7e-3),
    "resnet-small": Step(0.5e9, 0.013, nan),
    "vit-small": Step(1.5e9, 0.07, nan),
    "paper": Step(412e9, 7.6, 7.5e-3),
    "small32": Step(16.5e9, 0.46, nan),
    "small16": Step(3.0e9, 0.1, 1.9e-3),
    "vector": Step(0.01e9, 0.0011, nan),
}


class Work(NamedTuple):
    """So many steps of a network, or as many evaluations as take that long."""

    network: str
    steps: float

    @property
    def operations(self) -> float:
        """Return the operations."""
        return self.steps * STEPS[self.network].operations

    @property
    def seconds(self) -> float:
        """Return the seconds on one core."""
        return self.steps * STEPS[self.network].core

    @property
    def on_device(self) -> float:
        """Return the seconds on an H200 that does nothing else."""
        return self.steps * STEPS[self.network].device


def of_images(config: Config) -> Work:
    """Return the work of a network on composed images."""
    task, training = make_task(config["task"]), training_of(config)
    samples = task.n_train * max(1, config["samples"] // task.n_train)
    assert training.epochs is not None
    assert training.batch is not None
    return Work(config["network"], training.epochs * (samples // training.batch))


def of_model(config: Config) -> Work:
    """Return the work of a diffusion model, and of its samples."""
    prompts = len(prompt_names(config)) + len(config["guidance"])  # guided ones are asked twice
    sampled = config["checkpoints"] * config["samples"] * config["recipe"]["sampling_steps"]
    return Work(config["model"], config["steps"] + prompts * sampled / SAMPLES / EVALUATED)


def of_finetuning(config: Config) -> Work:
    """Return the work of all trainings on some classes, before others or with them, to their caps.

    With others an epoch has as many batches of either.
    """
    setting, caps, sizes = config["training"], config["fewer"], config["sizes"]
    epochs = setting["epochs"] if config["images"] == "digits" else 1000
    batches = sum(max(1, n // setting["batch"]) for n in sizes)
    others = AUXILIARY[config["images"]] // setting["batch"]
    together = sum(way != "single-task" for way in config["ways"])
    alone = len(config["ways"]) - together + len(config["rescalings"])
    steps = others * (
        caps.get("pretraining", epochs) + caps.get("multitask", epochs) * together * len(sizes)
    )
    return Work(config["network"], steps + epochs * alone * batches)


def seconds_of(work: Callable[[Config], Work]) -> Callable[[Config], float]:
    """Return what a study calls `seconds`: those of a cell on one core."""
    return lambda config: work(config).seconds
