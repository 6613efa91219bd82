"""A training problem of image networks: samples, sets to be scored, and epochs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from partwhole._arrays import as_read
from partwhole._checks import require, whole
from partwhole.flows._inputs import recorded_steps
from partwhole.networks import ImageNetwork
from partwhole.networks.network import n_outputs
from partwhole.tasks.images.composites import Composites
from partwhole.training.checkpoints import checked_checkpoint
from partwhole.training.images.assembly import Images, Layout, Samples
from partwhole.training.images.goals import checked_targets, require_images
from partwhole.training.images.step import Course
from partwhole.training.order import geometric_steps
from partwhole.training.problem import Problem, require_finite_weights
from partwhole.training.training import FLOW, Training

TRAINING = "training"  # name of the training samples among the scored sets


class ScoredSet(NamedTuple):
    """Samples on which a network is scored."""

    samples: Samples
    layout: Layout
    goal: np.ndarray
    columns: slice | None = None  # of the outputs, those of the samples' own task


@dataclass(frozen=True, eq=False)
class ImageProblem(Problem):
    """Image networks with their training samples and the sets to be scored, validated.

    Parameters
    ----------
    sets : dict of str to ScoredSet
    checkpoint : Path or None
        Also those of `Problem`; `tasks` is empty, as images are assembled in each step.
    trained_on : tuple of str
        The sets that are trained on, one for each task.
    course : callable, optional
        From a learning rate and a seed to the composition of epochs of several tasks.
    """

    sets: dict[str, ScoredSet]
    checkpoint: Path | None
    trained_on: tuple[str, ...] = (TRAINING,)
    course: Callable[[float, int], Course] | None = None

    @property
    def count(self) -> int:
        """Return the number of samples, over all tasks."""
        return sum(len(self.sets[name].goal) for name in self.trained_on)

    @property
    def shares(self) -> Float[np.ndarray, " k"]:
        """Return the weight of each task in the loss, its share of all samples."""
        return np.array([len(self.sets[name].goal) for name in self.trained_on]) / self.count

    @property
    def per_epoch(self) -> int:
        """Return the number of steps of an epoch; an incomplete last batch is left out."""
        if self.course is not None:
            return self.course(1.0, 0).per_epoch
        return self.count // min(self.training.batch or self.count, self.count)

    @property
    def steps(self) -> int:
        """Return the number of training steps."""
        assert self.training.epochs is not None
        return self.training.epochs * self.per_epoch

    @property
    def stops(self) -> Int[np.ndarray, " T"]:
        """Return the recorded steps, ends of epochs."""
        return recorded_epochs(self.training) * self.per_epoch


def recorded_epochs(training: Training) -> Int[np.ndarray, " T"]:
    """Return the epochs after which networks are recorded, including the last."""
    record, last = training.record, training.epochs
    assert last is not None
    if record is None:
        return np.array([last])
    if isinstance(record, int):
        whole("record", record, 1, "pass 5 for every 5 epochs")
        return np.union1d(np.arange(0, last, record), [last])
    if isinstance(record, str):
        return geometric_steps(last)
    return np.union1d(recorded_steps(record, last), [last])


def checked_image_problem(
    networks: ImageNetwork | Sequence[ImageNetwork],
    data: Any,
    training: Training,
    probes: Float[np.ndarray, "m h w c"] | None,
    test: Any,
    checkpoint: Path | str | None,
) -> ImageProblem:
    """Validate that image networks, samples and training fit together; return the problem."""
    several = tuple(networks) if isinstance(networks, Sequence) else (networks,)
    require_options(training)
    shape, outputs = several[0].shape, n_outputs(several[0])
    require(
        all(network.shape == shape and n_outputs(network) == outputs for network in several),
        "networks that train together take images of one shape and have as many outputs",
        ", ".join(f"shape {net.shape} and {n_outputs(net)} outputs" for net in several),
        "train them in several calls",
    )
    file = checked_checkpoint(checkpoint, training.restarts, len(several))
    require_finite_weights(several)
    images, targets = _parts(data)
    sets = {TRAINING: _checked_set(images, targets, training, several[0], "images", "targets")}
    shared = images, sets[TRAINING].samples
    for name, scored in _named(test).items():
        require(
            name != TRAINING,
            f"the training samples are scored under the name {TRAINING!r}, others under names of "
            "their own",
            f"{TRAINING!r} in test",
            "name the set otherwise",
        )
        sets[name] = _checked_set(
            *_parts(scored), training, several[0], f"images of {name}", f"targets of {name}", shared
        )
    if probes is not None:
        require_images(probes, several[0], "images to read")
    return ImageProblem(
        networks if isinstance(networks, ImageNetwork) else several,
        len(several), shape, (), False, probes, None, None, training, sets, file,
    )  # fmt: skip


def require_options(training: Training) -> None:
    """Refuse options that only other networks have."""
    others = (
        ("steps", training.steps is not None),
        (f"the optimiser {FLOW!r}", training.optimiser == FLOW),
        ("a late factor", training.late_factor != 1),
        ("a readout alone", training.trained != "all"),
        ("the parametrisation 'ntk'", training.parametrisation != "standard"),
        ("double precision", training.precision == "float64"),
        ("one order for all epochs", training.shuffle == "once"),
    )
    option = next((word for word, chosen in others if chosen), None)
    require(
        option is None,
        "image networks train for epochs, all parameters, in single precision",
        option,
        "pass epochs=100, say" if option == "steps" else "leave it out",
    )


def _parts(data: Any) -> tuple[Any, Any]:
    """Return images and targets; composites bring their own."""
    if isinstance(data, Composites):
        return data, None
    require(
        isinstance(data, tuple) and len(data) == 2,
        "data of image networks is composites, or a pair of images and targets",
        as_read(data),
        "pass (images, targets)",
    )
    return data


def _named(test: Any) -> dict[str, Any]:
    """Return the sets to be scored by name; a single one is called test."""
    if test is None:
        return {}
    return dict(test) if isinstance(test, Mapping) else {"test": test}


def _checked_set(
    images: Images,
    targets: np.ndarray | None,
    training: Training,
    network: ImageNetwork,
    images_name: str,
    targets_name: str,
    shared: tuple[Composites | Float[np.ndarray, "m h w c"], Samples] | None = None,
) -> ScoredSet:
    """Return a set of samples, validated; images that it shares are stored once."""
    require_images(images, network, images_name)
    goal = checked_targets(images, targets, training.loss, n_outputs(network), targets_name)
    samples, layout = Samples.of(images, shared)
    return ScoredSet(samples, augmented(layout, training), goal)


def augmented(layout: Layout, training: Training) -> Layout:
    """Return a layout with the augmentation of a training."""
    return layout._replace(crop=training.crop, flip=training.flip)
