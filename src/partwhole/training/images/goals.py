"""Targets of image networks: their validation, and scores of outputs against them."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole._device import on_device
from partwhole.networks import ImageNetwork
from partwhole.tasks.images.composites import Composites
from partwhole.training.images.assembly import Images, pictures_of
from partwhole.training.losses import LABELS, LOSSES, Loss
from partwhole.training.problem import SINGLE_LIMIT

LARGEST_PIXEL = 10.0  # standard deviations; 8-bit levels go to 255


@partial(jax.jit, static_argnames=("loss",))
def _loss(outputs: Float[Array, "n k"], targets: Array, *, loss: Loss) -> Float[Array, ""]:
    return LOSSES[loss](outputs, targets)


def judged(
    outputs: Float[np.ndarray, "n k"],
    goal: np.ndarray,
    loss: Loss,
    columns: slice | None = None,
) -> dict[str, float]:
    """Return the loss, and the accuracy or the error as a share of the target variance."""
    with np.errstate(all="ignore"):  # of runs that diverged
        mean = float(_loss(on_device(outputs), on_device(goal), loss=loss))
        if loss == "cross entropy":
            # Of outputs that are no numbers none is the largest.
            number = 1.0 if np.isfinite(outputs).all() else np.nan
            best = outputs.reshape(*goal.shape, -1).argmax(axis=-1)
            scores = {"loss": mean, "accuracy": number * float(np.mean(best == goal))}
            if columns is not None:
                best = outputs[:, columns].argmax(axis=1) + columns.start
                scores["task_accuracy"] = number * float(np.mean(best == goal))
            return scores
        answers = outputs.astype(float)
        targets = goal.reshape(answers.shape).astype(float)
        if np.all(np.abs(targets) == 1.0):
            right = (1.0 + np.sign(answers) * targets) / 2.0
            return {"loss": mean, "accuracy": float(np.mean(right))}
        spread = np.mean((targets - targets.mean(axis=0)) ** 2)
        return {"loss": mean, "error": float(np.mean((answers - targets) ** 2) / spread)}


def require_images(images: Images, network: ImageNetwork, name: str) -> None:
    """Require finite images of the shape that a network takes."""
    shape = tuple(images.shape if isinstance(images, Composites) else images.shape[1:])
    require(
        shape == network.shape,
        f"{name} for this network have height, width and channels {network.shape}",
        f"{shape}",
        "draw a network for their shape",
    )
    require_pixels(pictures_of(images), name)


def require_pixels(pictures: np.ndarray, name: str) -> None:
    """Require finite pixels of order 1: from 0 to 1, or standardised; not 8-bit levels."""
    require_finite(pictures, name)
    low, high = float(pictures.min(initial=0.0)), float(pictures.max(initial=0.0))
    require(
        max(-low, high) <= LARGEST_PIXEL,
        f"{name} have pixels from 0 to 1, or standardised ones up to {LARGEST_PIXEL:g} in size",
        f"{low:g} to {high:g}",
        "divide levels of 0..255 by 255",
    )


def require_finite(numbers: np.ndarray, name: str) -> None:
    """Require finite numbers whose squares single precision holds."""
    largest = float(np.abs(numbers).max(initial=0.0))
    require(np.isfinite(largest), f"{name} are finite", "NaN or infinity", "drop those rows")
    require(
        largest <= SINGLE_LIMIT,
        f"{name} of training in single precision are of size {SINGLE_LIMIT:g} at most",
        f"{largest:.3g}",
        "rescale them to order 1",
    )


def checked_targets(
    images: Images, targets: np.ndarray | None, loss: Loss, outputs: int, name: str
) -> np.ndarray:
    """Validate targets against the images, the loss and a network's outputs; return them."""
    if isinstance(images, Composites):
        require(
            targets is None,
            "composites bring their own targets",
            f"{name} beside them",
            "leave them out",
        )
        targets = images.targets
    require(
        targets is not None and len(targets) == len(images) > 0,
        f"{name} are one for each of some images",
        "none" if targets is None else f"{len(targets)} for {len(images)} images",
        "pass arrays of equal length",
    )
    labels = np.asarray(targets)
    if loss == "cross entropy":
        if labels.dtype.kind == "f" and np.array_equal(labels, np.round(labels)):
            labels = labels.astype(np.int64)
        are_whole = np.issubdtype(labels.dtype, np.integer)
        require(
            labels.ndim in (1, 2) and are_whole and labels.min() >= 0,
            f"with the loss 'cross entropy' {name} are classes numbered from 0",
            f"shape {labels.shape}, {'whole numbers' if are_whole else 'numbers'} from "
            f"{labels.min():g} to {labels.max():g}",
            "take the loss 'squared' for numbers, or 'logistic' for labels -1 and +1",
        )
        questions = labels.shape[1] if labels.ndim == 2 else 1
        require(
            outputs % questions == 0,
            f"{questions} questions share the network's outputs evenly",
            f"{outputs} outputs",
            "draw a network with as many outputs for each question",
        )
        require(
            int(labels.max()) < outputs // questions,
            f"{name} are classes below {outputs // questions}, the number of the network's outputs"
            f"{' for each question' if questions > 1 else ''}",
            f"class {labels.max()}",
            "draw a network with an output for each class",
        )
        return labels.astype(np.int32)
    shapes = (len(labels), outputs), (len(labels),)
    require(
        labels.shape in shapes[: 2 if outputs == 1 else 1],
        f"{name} have a number for each image and each of {outputs} outputs of the network",
        f"shape {labels.shape}",
        "draw a network with outputs for them",
    )
    require_finite(labels, name)
    require(
        loss not in LABELS or bool(np.all(np.abs(labels) == 1)),
        f"with the loss {loss!r} {name} are labels -1 and +1",
        f"{labels.min():g} to {labels.max():g}",
        "take the loss 'squared' for numbers",
    )
    return labels.astype(np.float32)
