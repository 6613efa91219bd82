r"""What composite digits teach a ridge regression, and four rungs of theory for it.

Every rung is a ridge regression on some kernel; they differ in what they know of the images:

- ``salience``: one similarity for each number of shared digits, measured; ``noise`` adds the
  variance within a tuple, divided by the images of a tuple, as ridge;
- ``means``: the similarity of every two tuples' mean images;
- ``images``: the images themselves.

Between them stand controls that change one thing at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float, Int
from scipy.fft import dct

from partwhole.features import OverlapKernel
from partwhole.limits import interpolate
from partwhole.measures import Salience, accuracy, salience, slope
from partwhole.study import Arrays, Config
from partwhole.tasks import (
    Task,
    class_assignment,
    compose_images,
    context_dependence,
    digit_images,
    symbolic_addition,
)
from partwhole.tasks.images.composing import Pool

TASKS = ("p = 1", "p = 2", "CD-3")
KINDS = ("pixels", "ReLU")
# Rungs and controls that know no number of images, and those that do.
FIXED = ("salience", "by set", "blind", "apart", "even", "same classes", "means")
COUNTED = ("noise", "means + noise", "isotropic", "rotated", "averaged", "images")
# Everything is fitted with this ridge, relative to the (centred) squared length of a sample.
PENALTY = 1e-6


def make_task(name: str) -> Task:
    """Return symbolic addition of -4..4 with one or two anchors, or CD-3."""
    if name == "CD-3":
        return context_dependence(3)
    return symbolic_addition(range(-4, 5), [0] if name == "p = 1" else [-2, 2])


def represent(
    images: Float[np.ndarray, "n height width"], kind: str, width: int, seed: int
) -> Float[np.ndarray, "n p"]:
    """Return pixels, or one hidden layer of random ReLU units scaled by 1/sqrt(width)."""
    pixels = images.reshape(len(images), -1)
    if kind == "pixels":
        return pixels
    rng = np.random.default_rng([seed, 3])
    # Single precision: its rounding lies far below the ridge that everything is fitted with.
    weights = rng.standard_normal((pixels.shape[1], width)) / np.sqrt(width)
    fields = pixels.astype(np.float32) @ weights.astype(np.float32)
    return np.asarray(np.maximum(fields, np.float32(0.0)))


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
    centre = features.mean(axis=0)
    x, y = features - centre, targets - targets.mean()
    penalty = ridge + PENALTY * float(np.mean(np.sum(x**2, axis=1)))
    n, p = x.shape
    if p < n:
        weights = np.linalg.solve(x.T @ x + penalty * np.eye(p), x.T @ y)
    else:
        weights = x.T @ np.linalg.solve(x @ x.T + penalty * np.eye(n), y)
    return (at - centre) @ weights + targets.mean()


def factor(gram: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Return features with this Gram matrix; negative eigenvalues count as 0."""
    size, basis = np.linalg.eigh(0.5 * (gram + gram.T))
    return basis * np.sqrt(np.maximum(size, 0.0))


def without_negative(kernel: OverlapKernel) -> tuple[OverlapKernel, float]:
    """Set negative saliences to 0; return the kernel and how much was cut, as a salience."""
    whole = kernel.nonnegative()
    return whole, float(np.sum((whole.sigma - kernel.sigma)[1:]) / kernel.range)


def overlap_rung(task: Task, kernel: OverlapKernel, ridge: float = 0.0) -> np.ndarray:
    """Return what the learner with this overlap kernel predicts for every row of the task."""
    kernel, _ = without_negative(kernel)
    ridge = ridge + PENALTY * kernel.range
    return interpolate(task, kernel, intercept="free", ridge=ridge).predictions


def blind_gram(
    means: Float[np.ndarray, "n p"], classes: Int[np.ndarray, "n C"]
) -> Float[np.ndarray, "n n"]:
    """Return the overlap kernel of a representation that doesn't know which digit stood where.

    Two tuples share a digit wherever it stands, so its similarity depends on how many digits
    two tuples have in common as multisets; each count gets the mean similarity of its pairs.
    """
    counts = np.stack([(classes == k).sum(axis=1) for k in range(classes.max() + 1)], axis=1)
    shared = np.minimum(counts[:, None], counts[None]).sum(axis=2)
    gram = means @ means.T
    return np.choose(shared, [gram[shared == k].mean() if np.any(shared == k) else 0.0
                              for k in range(classes.shape[1] + 1)])  # fmt: skip


def effects(
    means: Float[np.ndarray, "n p"], n_values: tuple[int, ...]
) -> Float[np.ndarray, "sets n p"]:
    r"""Split tuple means on the full grid into :math:`\mu(z) = \sum_S g_S(z_S)`, by bitmask.

    The analysis of variance: each g_S averages to 0 over any component of S.
    """
    found = []
    for mask in range(1 << len(n_values)):
        part = means.reshape(*n_values, -1)
        for c in range(len(n_values)):
            middle = part.mean(axis=c, keepdims=True)
            part = part - middle if mask >> c & 1 else np.broadcast_to(middle, part.shape)
        found.append(part.reshape(means.shape))
    return np.array(found)


def evenly(task: Task, mask: int, trace: float) -> Float[np.ndarray, "n n"]:
    """Return an effect's Gram matrix if all classes were equally different from one another."""
    gram = np.ones((len(task.components),) * 2)
    for c, n in enumerate(task.n_values):
        if mask >> c & 1:
            column = task.components[:, c]
            gram = gram * ((column[:, None] == column) - 1.0 / n)
    return gram * trace / np.trace(gram)


def cell(config: Config) -> Arrays:
    """Climb all rungs for one task, distance and seed."""
    task = make_task(config["task"])
    images, labels = digit_images()

    def compose(per_tuple: int, draw: int, *, balanced: bool = False, same: bool = False):
        composed = compose_images(
            task, images, labels, distance=config["distance"], combine="maximum",
            assign="same" if same else "every", seed=config["seed"],
        )  # fmt: skip
        rows = np.arange(len(task.components))
        found = np.empty((len(rows), per_tuple, *composed.draw(1).shape[:2]))
        # Training tuples show other images of a class than held-out ones.
        pools: tuple[tuple[Pool, np.ndarray], ...] = (
            ("training", rows[task.is_train]),
            ("held out", rows[~task.is_train]),
        )
        for pool, which in pools:
            drawn = composed.draw(per_tuple, rows=which, pool=pool, draw=draw, balanced=balanced)
            found[which] = drawn[:].reshape(len(which), per_tuple, *found.shape[2:])
        return found.reshape(-1, *found.shape[2:])

    count = config["averaged"]
    pictures = {
        "fresh": compose(config["measured"], 0),
        "half": compose(count, 1, balanced=True),
        "other half": compose(count, 2, balanced=True),
        "trained": compose(max(config["per_tuple"]), 3),
    }
    if config["task"] == TASKS[0]:
        pictures["same classes"] = compose(count, 1, balanced=True, same=True)

    def features(name: str, kind: str) -> np.ndarray:
        found = represent(pictures[name], kind, config["width"], config["seed"])
        return found.reshape(len(task.components), -1, found.shape[1])

    parts = [_one_kind(config, task, partial(features, kind=kind)) for kind in KINDS]
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}


def _one_kind(config: Config, task: Task, features: Callable[[str], np.ndarray]) -> Arrays:
    seen = task.is_train

    def means_of(name: str) -> np.ndarray:
        return features(name).mean(axis=1, dtype=float)

    fresh = features("fresh").astype(float)
    measured = _measure(task, fresh)
    halves = [means_of("half"), means_of("other half")]
    means = 0.5 * (halves[0] + halves[1])
    kernel, cut = without_negative(measured.count_kernel)

    learned = {"means": means}
    if config["task"] == TASKS[0]:
        learned["same classes"] = means_of("same classes")
    fixed = _fixed_rungs(config, task, measured, learned)
    one, other = (
        _read(task, ridge_readout(half[seen], task.train_targets, half))[0] for half in halves
    )
    trained = features("trained")[seen].astype(float)
    counted = np.array([
        _counted_rungs(config, task, measured, means, fresh, trained[:, :m])
        for m in config["per_tuple"]
    ])  # fmt: skip
    saliences = np.full(3, np.nan)
    saliences[: task.n_components] = measured.count_kernel.salience
    return {
        "fixed": fixed[:, 0],
        "fixed_accuracy": fixed[:, 1],
        "counted": counted[:, :, 0],
        "counted_accuracy": counted[:, :, 1],
        "salience": saliences,
        "structure": np.array(measured.structure),
        "within": np.array(measured.noise / kernel.range),
        "left": np.array(np.sum((halves[0] - halves[1]) ** 2, axis=1).mean() / 4 / kernel.range),
        "cut": np.array(cut),
        "drift": np.array(abs(one - other)),
    }


def _measure(task: Task, samples: Float[np.ndarray, "n m p"]) -> Salience:
    repeated = np.repeat(task.components, samples.shape[1], axis=0)
    return salience(samples.reshape(len(repeated), -1), repeated)


def _read(task: Task, predictions: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Return slope and NaN for addition, mean margin and accuracy for labels."""
    if not task.is_classification:
        return slope(task, predictions).value, np.nan
    held_out = predictions[~task.is_train]
    margin = float(np.mean(task.test_targets * held_out))
    return margin, accuracy(task.test_targets, held_out).value


def _fixed_rungs(
    config: Config, task: Task, measured: Salience, means: dict[str, np.ndarray]
) -> Float[np.ndarray, "rungs 2"]:
    seen, full = task.is_train, (1 << task.n_components) - 1
    assigned = class_assignment(task, 10, seed=config["seed"])
    classes = np.stack([a[c] for a, c in zip(assigned, task.components.T, strict=True)], axis=1)
    grams = [part @ part.T for part in effects(means["means"], task.n_values)]
    even = [
        evenly(task, mask, float(np.trace(gram))) if mask < full else gram
        for mask, gram in enumerate(grams)
    ]
    learned = means | {
        "blind": factor(blind_gram(means["means"], classes)),
        "apart": factor(np.sum(grams, axis=0)),
        "even": factor(np.sum(even, axis=0)),
    }
    predictions = {
        "salience": overlap_rung(task, measured.count_kernel),
        "by set": overlap_rung(task, measured.kernel),
        **{
            rung: ridge_readout(features[seen], task.train_targets, features)
            for rung, features in learned.items()
        },
    }
    nothing = (np.nan, np.nan)
    return np.array([
        _read(task, predictions[rung]) if rung in predictions else nothing for rung in FIXED
    ])  # fmt: skip


def _counted_rungs(
    config: Config,
    task: Task,
    measured: Salience,
    means: Float[np.ndarray, "n p"],
    fresh: Float[np.ndarray, "n k p"],
    trained: Float[np.ndarray, "t m p"],
) -> Float[np.ndarray, "rungs 2"]:
    seen, targets = task.is_train, task.train_targets
    per_tuple, width = trained.shape[1:]
    ridge = measured.noise / per_tuple
    repeated = np.repeat(targets, per_tuple)
    images = trained.reshape(-1, width)
    middle = np.repeat(means[seen], per_tuple, axis=0)

    def outputs(rows: np.ndarray, labels: np.ndarray, penalty: float = 0.0) -> np.ndarray:
        return ridge_readout(rows, labels, means, penalty)

    found = {
        "noise": overlap_rung(task, measured.count_kernel, ridge),
        "means + noise": outputs(means[seen], targets, ridge),
        "images": outputs(images, repeated),
    }
    if config["task"] == TASKS[0]:  # the controls cost most, and are read on this task alone
        rng = np.random.default_rng([config["seed"], 4])
        even = np.sqrt(measured.noise / width) * rng.standard_normal(images.shape)
        turned = _rotate(images - middle, rng)
        found |= {
            "isotropic": outputs(middle + even, repeated),
            "rotated": outputs(middle + turned, repeated),
            "averaged": outputs(trained.mean(axis=1), targets),
        }
    nothing = (np.nan, np.nan)
    scores = np.array([_read(task, found[rung]) if rung in found else nothing for rung in COUNTED])
    if task.is_classification:
        # Accuracy on single fresh images of held-out tuples, not on their mean.
        single = ridge_readout(images, repeated, fresh[~seen].reshape(-1, width))
        labels = np.repeat(task.test_targets, fresh.shape[1])
        scores[COUNTED.index("images"), 1] = accuracy(labels, single).value
    return scores


def _rotate(rows: Float[np.ndarray, "n p"], rng: np.random.Generator) -> Float[np.ndarray, "n p"]:
    """Turn all rows by one random rotation: inner products stay, directions do not.

    Random signs and an orthonormal cosine transform, three times over, cost far less than a
    random orthogonal matrix and mix directions as well.
    """
    for _ in range(3):
        signs = rng.choice([-1.0, 1.0], rows.shape[1])
        rows = np.asarray(dct(rows * signs, axis=1, norm="ortho"))
    return rows
