"""Transfer from an auxiliary classification task to a main one.

One function with a mode, not four: all modes start from a network, take the same settings and
return the same table, so that they can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from partwhole._checks import require
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Real
from partwhole.networks import ImageNetwork
from partwhole.networks.network import n_outputs
from partwhole.tasks.images.class_split import ClassSplit, Part
from partwhole.training.checkpoints import checked_checkpoint
from partwhole.training.devices import here
from partwhole.training.following import Follower
from partwhole.training.images.assembly import Layout, Samples
from partwhole.training.images.goals import require_pixels
from partwhole.training.images.problem import ImageProblem, ScoredSet, require_options
from partwhole.training.images.step import Kind
from partwhole.training.images.two_tasks import Half, TwoTasks
from partwhole.training.problem import require_finite_weights
from partwhole.training.rescaling import rescale_after_pretraining
from partwhole.training.results import Runs
from partwhole.training.train import train_problem
from partwhole.training.training import Training

Mode = Literal["pretraining", "finetuning", "multitask", "singletask"]
Way = Literal["corrected", "published"]
LARGEST_WEIGHT = 1e6  # of a loss in single precision
SCORED: dict[str, tuple[Part, ...]] = {
    "pretraining": ("auxiliary",),
    "finetuning": ("main", "test"),
    "multitask": ("main", "test", "auxiliary"),
    "singletask": ("main", "test"),
}


@door(single=("auxiliary_weight", "rescale"))
def train_transfer(
    network: ImageNetwork,
    split: ClassSplit,
    training: Training,
    *,
    mode: Mode,
    rescale: Real = 1.0,
    protocol: Way = "corrected",
    auxiliary_weight: Real = 1.0,
    checkpoint: Path | str | None = None,
    resume: bool | None = None,
    follow: Follower | Sequence[Follower] = (),
    progress: bool = True,
) -> Runs:
    r"""Train an image network on a main task of few images, an auxiliary one of many, or both.

    Both are learned by one readout with a column for each class. The loss of every sample is the
    cross entropy over all columns, those of the other task too.

    Parameters
    ----------
    network : ImageNetwork
        It is not modified. For finetuning, one that was pretrained.
    split : ClassSplit
        See `tasks.split_classes`.
    training : Training
        With the loss "cross entropy"; `Training.published` has those of the paper. Batches have
        `training.batch` samples, or all samples of a task that has fewer.
    mode : {"pretraining", "finetuning", "multitask", "singletask"}, keyword-only
        On the auxiliary task; on the main task, after rescaling; on both; on the main task, from
        the network as it is.
    rescale : float, keyword-only, default 1
        Applies only to finetuning: c, which multiplies every parameter once: weights, biases,
        gains and shifts of normalisation, embeddings and the readout. Running statistics stay, and
        no column is redrawn.
    protocol : {"corrected", "published"}, keyword-only, default "corrected"
        Applies only to multi-task learning.

        "corrected": every step takes a batch of each task, in one pass through the network, and
        their losses are added. An epoch passes through the task with more batches once, and through
        the other as often as needed. Training stops when both mean losses have reached
        the threshold.

        "published": every epoch takes steps on all batches of the main task, then on all of the
        auxiliary task, whose loss is multiplied by
        :math:`(n / \min(n, 128)) / (n_\text{aux} / 128)`, with the training's batch for 128.
        Training stops by the main loss alone.
    auxiliary_weight : float, keyword-only, default 1
        Factor of the auxiliary loss, up to 1e6; applies only to the corrected protocol.
    checkpoint : Path or str, keyword-only, default None
        A file from which to resume after an interruption, or to go on, as in `train`.
    resume : bool, keyword-only, default None
    follow : callable, or sequence of callables, keyword-only, default ()
        As in `train`.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    Runs
        Of one network, with scores of "main", "test" and "auxiliary" as far as the mode has them.

    Raises
    ------
    InputError
        For a network of other images or another number of outputs, another loss, an option of
        another mode, and a c that is not above 0.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), networks on CIFAR-100, c from 0.125 to 2. Their weight of the
    auxiliary loss is .0026 for 10 main images of a ResNet-18, and .0204 for 1000; at the
    end 1 to 12 % of the auxiliary images are classified correctly, with chance at 1 %. Hence the
    corrected protocol.

    Scores are taken in inference, with running statistics. Directly after rescaling these are those
    of the network before it; they adapt in training, by a tenth with each step.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.networks.images.convnet import convnet
    >>> from partwhole.tasks.images.digits import digit_images
    >>> split = tasks.split_classes(*digit_images(), n_main=20, seed=0)
    >>> network = convnet(
    ...     split.shape, outputs=split.n_outputs, channels=(4,), kernel=3, dense=(), seed=0
    ... )
    >>> training = Training(loss="cross entropy", epochs=2, batch=128, optimiser="adam")
    >>> before = train_transfer(network, split, training, mode="pretraining")
    >>> runs = train_transfer(before.network(0), split, training, mode="finetuning", rescale=0.5)
    >>> list(runs.scores), runs.outputs["test"].shape
    (['main', 'test'], (1, 200, 10))
    """
    _require_fit(network, split, training)
    require_options(training)
    file = checked_checkpoint(checkpoint, training.restarts, 1)
    require_finite_weights([network])
    require(
        mode == "finetuning" or rescale == 1,
        "rescale is of finetuning",
        f"{rescale!r} for {mode!r}",
        "leave it out",
    )
    require(
        mode == "multitask" or protocol == "corrected",
        "protocol is of multitask, the other modes have one only",
        f"{protocol!r} for {mode!r}",
        "leave it out",
    )
    require(
        0 < auxiliary_weight <= LARGEST_WEIGHT,
        f"auxiliary_weight is a number above 0, up to {LARGEST_WEIGHT:g}",
        auxiliary_weight,
        'pass 1, or mode="singletask" for none of it',
    )
    corrected = mode == "multitask" and protocol == "corrected"
    require(
        corrected or auxiliary_weight == 1,
        "auxiliary_weight is of multitask, corrected",
        f"{auxiliary_weight!r} for {mode!r}, {protocol}",
        "leave it out",
    )
    start = _rescaled(network, rescale) if mode == "finetuning" else network
    sets = _scored_sets(split, SCORED[mode], Layout(crop=training.crop, flip=training.flip))
    trained_on, course = ("auxiliary" if mode == "pretraining" else "main",), None
    if mode == "multitask":
        trained_on = ("main", "auxiliary")
        weight = float(auxiliary_weight) if corrected else None
        course = partial(_two_tasks, sets, training, weight, corrected)
    problem = ImageProblem(
        start, 1, start.shape, (), mode == "multitask", None, None, None, training, sets,
        file, trained_on, course,
    )  # fmt: skip
    return train_problem(problem, progress, resume=resume, follow=follow)


def _two_tasks(
    sets: dict[str, ScoredSet], training: Training, weight: float | None, together: bool,
    learning_rate: float, seed: int,
) -> TwoTasks:  # fmt: skip
    """Return the composition of an epoch of both tasks."""
    main, auxiliary = (
        here(Half(sets[name].samples, on_device(sets[name].goal))) for name in ("main", "auxiliary")
    )
    batch = training.batch or len(main.goal) + len(auxiliary.goal)
    kind = Kind.of(training, learning_rate)
    return TwoTasks((main, auxiliary), kind, batch, sets["main"].layout, seed, weight, together)


def _require_fit(network: ImageNetwork, split: ClassSplit, training: Training) -> None:
    require(
        training.loss == "cross entropy",
        "classes are learned by the loss 'cross entropy'",
        repr(training.loss),
        "pass loss='cross entropy'",
    )
    require(
        split.shape == network.shape,
        f"images for this network have height, width and channels {network.shape}",
        f"{split.shape}",
        "draw a network for their shape",
    )
    outputs = n_outputs(network)
    require(
        outputs == split.n_outputs,
        f"the network has an output for each of {split.n_outputs} classes",
        f"{outputs}",
        "draw one with outputs=split.n_outputs",
    )
    require_pixels(split.images, "images")
    require_pixels(split.test_images, "test images")


def _rescaled(network: ImageNetwork, c: Real) -> ImageNetwork:
    """Multiply every parameter by c, but no running statistics."""
    parameters, rest = network.partition()
    return eqx.combine(rescale_after_pretraining(parameters, c, "all"), rest)


def _scored_sets(
    split: ClassSplit, parts: tuple[Part, ...], layout: Layout
) -> dict[str, ScoredSet]:
    """Return the samples of some parts; images that parts share are stored once."""
    held_images: dict[int, jax.Array] = {}
    scored_sets = {}
    for part in parts:
        images, columns, rows = split.source(part)
        if id(images) not in held_images:
            held_images[id(images)] = jnp.asarray(images, jnp.float32)
        samples = Samples(held_images[id(images)], on_device(rows[:, None], np.int32))
        goal = columns[rows].astype(np.int32)
        ends = (split.main_classes, split.n_outputs) if part == "auxiliary" else (
            0, split.main_classes
        )  # fmt: skip
        scored_sets[part] = ScoredSet(samples, layout, goal, slice(*ends))
    return scored_sets
