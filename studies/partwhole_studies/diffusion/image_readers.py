"""Readers of the samples of diffusion models of images: a decoder, a regressor and a classifier.

The latter two are trained, and all are scored, on images with as much noise as is left on samples,
which is that of the schedule of each recorded step: a learned schedule moves it during training.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from partwhole.measures.concepts.calibration import calibration
from partwhole.measures.concepts.decoder import decode_shapes
from partwhole.measures.concepts.regressor import fit_regressor
from partwhole.study import Config
from partwhole.tasks import ConceptSpace
from partwhole.tasks.shapes.attributes import COLUMNS, to_columns
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


class Labelled(NamedTuple):
    """Images with their components, and with the numbers of their attributes."""

    images: np.ndarray
    components: np.ndarray
    numbers: dict[str, np.ndarray]  # of each concept's field


def noisy(space: ConceptSpace, count: int, side: int, levels: np.ndarray, seed: int) -> Labelled:
    """Return images of every class, in equal parts with noise of each level."""
    parts = [
        space.sample(-(-count // len(levels)), side=side, noise=float(level), seed=seed + k)
        for k, level in enumerate(levels)
    ]
    columns = np.concatenate([to_columns(part.attributes) for part in parts])
    return Labelled(
        np.concatenate([part.images for part in parts]),
        np.concatenate([part.components for part in parts]),
        {field: columns[:, COLUMNS[field]] for field in space.fields},
    )


def decoded(space: ConceptSpace, samples: np.ndarray, unsure: float = UNSURE) -> np.ndarray:
    """Return the decoder's coordinates (n, C); `unsure` where it abstains, as on all kinds."""
    ends = space.ends()
    readings = np.full((len(samples), len(ends)), unsure)
    read = [i for i, field in enumerate(ends) if field != "kind"]
    ends.pop("kind", None)
    readings[:, read] = decode_shapes(samples).coordinates(ends, unsure=unsure)
    return readings


def readers(
    config: Config, space: ConceptSpace, side: int, noise_left: np.ndarray
) -> tuple[Reader, np.ndarray]:
    """Return the decoder and, with a classifier, a regressor and it, with their scores.

    Those are on new images, at the noise of the last step: accuracy, Brier score, calibration
    error, and the share of abstentions.
    """
    seed, levels = config["seed"], noise_levels(noise_left)
    functions: list[Reader] = [lambda samples: decoded(space, samples)]
    if config["classifier"]:
        known = noisy(space, config["per_class"], side, levels, seed + READER)
        classifier = train_concept_classifier(
            known.images, known.components, training=CLASSIFIER, seed=seed, progress=False
        )
        regressor = fit_regressor(known.images, known.numbers, seed=seed)
        goal, ends = space.classes[-1], space.ends()
        functions += [
            lambda samples: regressor.coordinates(samples, ends),
            lambda samples: classifier.coordinates(samples, goal),
        ]
    unseen = noisy(space, 100, side, _recorded(noise_left)[-1:], seed + 2 * READER)
    readings = [decoded(space, unseen.images, np.nan)]
    readings += [read(unseen.images) for read in functions[1:]]
    marks = [calibration(values.astype(float), unseen.components) for values in readings]
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
