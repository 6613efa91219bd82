"""Composites of digits as features of tuples, and ridge regression on them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from scipy.fft import dct
from sklearn.linear_model import Ridge

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import Equal
from partwhole.measures import predict_readout, slope
from partwhole.study import Config
from partwhole.study.plots import name
from partwhole.tasks import Task, compose_images, context_dependence, symbolic_addition
from partwhole.tasks.images.composing import ComposedImages, Pool
from partwhole.tasks.images.digits import digit_images

# Everything is fitted with this ridge, relative to the (centred) squared length of a sample.
PENALTY = 1e-6


def make_task(name: str) -> Task:
    """Return symbolic addition of -4..4 with one or two anchors, or CD-3."""
    if name == "CD-3":
        return context_dependence(3)
    return symbolic_addition(range(-4, 5), [0] if name == "p = 1" else [-2, 2])


def _compose(task: Task, distance: int, seed: int) -> ComposedImages:
    images, labels = digit_images()
    return compose_images(task, images, labels, distance=distance, combine="maximum", seed=seed)


def draw_pictures(config: Config, task: Task) -> dict[str, np.ndarray]:
    """Draw composites of every tuple: new ones, two balanced halves, and those for training."""
    composed = _compose(task, config["distance"], config["seed"])
    rows = np.arange(len(task.components))
    size = composed.draw(1).shape[:2]
    # Unseen tuples show other images of a class than seen ones.
    pools: tuple[tuple[Pool, np.ndarray], ...] = (
        ("training", rows[task.is_train]),
        ("held out", rows[~task.is_train]),
    )

    def draw(per_tuple: int, number: int, *, balanced: bool = False) -> np.ndarray:
        pictures = np.empty((len(rows), per_tuple, *size))
        for pool, part in pools:
            drawn = composed.draw(per_tuple, rows=part, pool=pool, draw=number, balanced=balanced)
            pictures[part] = drawn[:].reshape(len(part), per_tuple, *size)
        return pictures

    return {
        "fresh": draw(config["measured"], 0),
        "half": draw(config["averaged"], 1, balanced=True),
        "other half": draw(config["averaged"], 2, balanced=True),
        "trained": draw(max(config["per_tuple"]), 3),
    }


def draw_examples(ax: Axes, distances: Iterable[int]) -> None:
    """Draw composites of one pair of digits."""
    task, left = make_task("p = 1"), 0.0
    for distance in distances:
        picture = _compose(task, distance, 0).draw(1)[:1][0, :, :, 0]
        height, width = picture.shape
        place = (left, left + width, height, 0)
        ax.imshow(picture, cmap="Greys", vmin=-0.15, extent=place)
        name(ax, left, -1.5, f"{distance} pixels apart")
        left += width + 12
    ax.set(xlim=(0, left - 12))
    ax.set_axis_off()


def represent(
    images: Float[np.ndarray, "n m height width"], kind: str, width: int, seed: int
) -> Float[np.ndarray, "n m p"]:
    """Return pixels, or one hidden layer of random ReLU units scaled by 1/sqrt(width)."""
    pixels = images.reshape(*images.shape[:2], -1)
    if kind == "pixels":
        return pixels
    rng = np.random.default_rng([seed, 3])
    # Single precision: its rounding lies far below the ridge that everything is fitted with.
    weights = rng.standard_normal((pixels.shape[-1], width)) / np.sqrt(width)
    fields = pixels.astype(np.float32) @ weights.astype(np.float32)
    return np.maximum(fields, np.float32(0.0))


def ridge_readout(
    features: Float[np.ndarray, "n p"],
    targets: Float[np.ndarray, " n"],
    at: Float[np.ndarray, "k p"],
    ridge: float = 0.0,
) -> Float[np.ndarray, " k"]:
    r"""Fit a linear readout with a free intercept and return its outputs elsewhere.

    .. math:: \min_{w, b} \sum_i (y_i - b - w \cdot x_i)^2 + (\rho + \epsilon) |w|^2

    with :math:`\epsilon` the mean squared length of the centred features times `PENALTY`.
    """
    centred = features - features.mean(axis=0)
    penalty = ridge + PENALTY * float(np.mean(np.sum(centred**2, axis=1)))
    return Ridge(penalty, solver="cholesky").fit(features, targets).predict(at)


def equivalent_score(
    task: Task, trained: Float[np.ndarray, "seen m p"], fresh: Float[np.ndarray, "unseen k p"]
) -> float:
    """Predict the score of the same readout of single samples, from these samples."""
    seen = task.is_train
    samples = np.concatenate([rows.reshape(-1, rows.shape[2]) for rows in (trained, fresh)])
    rows = np.concatenate([
        np.repeat(np.flatnonzero(among), len(part[0]))
        for among, part in ((seen, trained), (~seen, fresh))
    ])  # fmt: skip
    x = samples[seen[rows]]
    penalty = PENALTY * float(np.mean(np.sum((x - x.mean(axis=0)) ** 2, axis=1)))
    readout = predict_readout(
        samples, task.components[rows], task.targets[rows], seen[rows], ridge=penalty
    )
    return held_out_score(task, readout.predicted[readout.rows_of(task.components), 0])


def overlap_answers(task: Task, kernel: OverlapKernel, ridge: float = 0.0) -> np.ndarray:
    """Return the answers of regression with an overlap kernel; saliences below 0 count as 0."""
    kernel = kernel.nonnegative()
    ridge = ridge + PENALTY * kernel.range
    return solve(task, kernel, fit=Equal(slack=ridge), intercept="free").predictions


def held_out_score(task: Task, answers: Float[np.ndarray, " n"]) -> float:
    """Return the slope of unseen sums, or the mean margin of unseen labels."""
    if not task.is_classification:
        return slope(task, answers).value
    return float(np.mean(task.test_targets * answers[~task.is_train]))


def effects(means: Float[np.ndarray, "n p"], n_values: tuple[int, ...]) -> np.ndarray:
    r"""Split tuple means on the full grid into :math:`\mu(z) = \sum_S g_S(z_S)`, by bitmask.

    The analysis of variance: each g_S averages to 0 over any component of S.
    """
    parts = []
    for mask in range(1 << len(n_values)):
        part = means.reshape(*n_values, -1)
        for c in range(len(n_values)):
            middle = part.mean(axis=c, keepdims=True)
            part = part - middle if mask >> c & 1 else np.broadcast_to(middle, part.shape)
        parts.append(part.reshape(means.shape))
    return np.array(parts)


def rotate(rows: Float[np.ndarray, "n p"], rng: np.random.Generator) -> Float[np.ndarray, "n p"]:
    """Rotate all rows at random, by signs and a cosine transform, three times."""
    for _ in range(3):
        signs = rng.choice([-1.0, 1.0], rows.shape[1])
        rows = np.asarray(dct(rows * signs, axis=1, norm="ortho"))
    return rows
