"""Readers of the samples of diffusion models of images: a decoder and a classifier.

Both are trained and scored on images with as much noise as is left on samples, which is that of the
schedule of each recorded step: a learned schedule moves it during training.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partwhole.measures.concepts.calibration import calibration
from partwhole.measures.concepts.decoder import decode_shapes
from partwhole.study import Config
from partwhole.tasks import ConceptSpace
from partwhole.training import Training, train_concept_classifier

READER = 115_000  # stream of random numbers
UNSURE = 0.5  # the coordinates of an image on which the decoder abstains
CLEAN = 1e-3  # noise on images, also on samples without noise of their schedule
LEVELS = 8  # of noise, on which a classifier is trained where steps differ in it
CLASSIFIER = Training(
    loss="cross entropy", optimiser="adam", learning_rate=1e-3, batch=64, epochs=6
)
Reader = Callable[[np.ndarray], np.ndarray]


def noise_levels(noise_left: np.ndarray) -> np.ndarray:
    """Return up to eight levels over the noise left on samples at the recorded steps, in order."""
    return np.unique(np.quantile(_recorded(noise_left), np.linspace(0.0, 1.0, LEVELS)))


def _recorded(noise_left: np.ndarray) -> np.ndarray:
    """Return the noise until a run diverged, or that of clean images if none was recorded."""
    recorded = noise_left[np.isfinite(noise_left)]
    return recorded if len(recorded) else np.array([CLEAN])


def noisy(
    space: ConceptSpace, count: int, side: int, levels: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return images and components of every class, in equal parts with noise of each level."""
    parts = [
        space.sample(-(-count // len(levels)), side=side, noise=float(level), seed=seed + k)
        for k, level in enumerate(levels)
    ]
    images = np.concatenate([part.images for part in parts])
    return images, np.concatenate([part.components for part in parts])


def readers(
    config: Config, space: ConceptSpace, side: int, noise_left: np.ndarray
) -> tuple[Reader, np.ndarray]:
    """Return the decoder and, where there is one, the classifier, with their scores on new images.

    Scores, at the noise of the last step: accuracy, Brier score, calibration error, and the share
    of abstentions.
    """
    ends, seed, levels = space.ends(), config["seed"], noise_levels(noise_left)
    functions: list[Reader] = [
        lambda samples: decode_shapes(samples).coordinates(ends, unsure=UNSURE)
    ]
    if config["classifier"]:
        labelled = noisy(space, config["per_class"], side, levels, seed + READER)
        classifier = train_concept_classifier(
            *labelled, training=CLASSIFIER, seed=seed, progress=False
        )
        goal = space.classes[-1]
        functions.append(lambda samples: classifier.coordinates(samples, goal))
    images, components = noisy(space, 100, side, _recorded(noise_left)[-1:], seed + 2 * READER)
    decoded = decode_shapes(images).coordinates(ends, unsure=float("nan"))
    readings = [decoded, *(read(images) for read in functions[1:])]
    marks = [calibration(values.astype(float), components) for values in readings]
    scores = [[m.accuracy, m.brier, m.error, m.abstained] for m in marks]
    return lambda samples: np.hstack([read(samples) for read in functions]), np.array(scores)


def read_all(read: Reader, samples: np.ndarray) -> np.ndarray:
    """Return the coordinates of samples (..., side, side, 3), NaN for those that are no numbers."""
    flat = samples.reshape(-1, *samples.shape[-3:]).astype(np.float32)
    finite = np.isfinite(flat).all(axis=(1, 2, 3))
    readings = read(flat[finite] if finite.any() else np.zeros_like(flat[:1]))
    coordinates = np.full((len(flat), readings.shape[1]), np.nan, np.float32)
    coordinates[finite] = readings[: finite.sum()]
    return coordinates.reshape(*samples.shape[:-3], -1)
