"""Samples for measures of representations: blocks of a recording, centred and whitened."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole.measures._groups import TupleGroups
from partwhole.measures._similarity import Samples
from partwhole.measures.readouts.noise import NoiseSpectrum
from partwhole.recordings import Recording

Whiten = Literal["none", "diagonal", "full"]


def blocks_of(
    features: Recording | Float[np.ndarray, "n p"],
    components: Int[np.ndarray, "n C"] | None,
    groups: Int[np.ndarray, " n"] | None,
) -> list[Samples]:
    """Return the samples of each block of features that were measured together.

    Raises
    ------
    InputError
        For components or groups beside a recording, which has its own, or for an array without
        components.
    """
    if isinstance(features, Recording):
        require(
            components is None and groups is None,
            "a recording has its own conditions and groups",
            "others beside it",
            "leave them out",
        )
        recording = features.averaged()
        blocks = []
        for block in recording.blocks:
            rows, columns = block.trials, block.neurons
            chosen = None if recording.groups is None else recording.groups[rows]
            values = recording.responses[np.ix_(rows, columns)]
            blocks.append(Samples(values, recording.components[rows], chosen))
        return blocks
    require(
        components is not None,
        "components say which tuple each sample shows",
        "none",
        "pass a row for each sample, or a Recording",
    )
    assert components is not None
    return [Samples(features, components, groups)]


def prepared(
    blocks: list[Samples], by_tuple: list[TupleGroups], whiten: Whiten
) -> tuple[list[Samples], float]:
    """Return samples without the mean over tuples, and the squared length of that mean.

    By this length the mean square of tuples is lower without their mean, whether or not it is
    corrected for noise. Whitened, noise has variance 1 in all directions.
    """
    centred, level = [], 0.0
    for samples, groups in zip(blocks, by_tuple, strict=True):
        features = samples.features
        if whiten != "none":
            features = _whitened(features, groups.index, samples.groups, whiten)
        means = groups.averaging(np.ones(len(features))) @ features
        grand = means.mean(axis=0)
        centred.append(Samples(features - grand, samples.components, samples.groups))
        level += float(grand @ grand)
    return centred, level


def centred_by_group(samples: Samples) -> Samples:
    """Return the mean of every tuple in every group, less that of the tuples that groups share.

    They stand for single samples whose noise is independent.
    """
    assert samples.groups is not None
    _, index = np.unique(samples.components, axis=0, return_inverse=True)
    _, group = np.unique(samples.groups, return_inverse=True)
    cells, cell = np.unique(np.column_stack([group, index.ravel()]), axis=0, return_inverse=True)
    means = _means(samples.features, cell.ravel())
    _, first = np.unique(cell.ravel(), return_index=True)
    of_group = cells[:, 0]
    counts = np.bincount(cells[:, 1])
    shared = counts[cells[:, 1]] == of_group.max() + 1
    if not shared.any():
        shared[:] = True
    for g in range(of_group.max() + 1):
        inside = of_group == g
        base = inside & shared if (inside & shared).any() else inside
        means[inside] -= means[base].mean(axis=0)
    return Samples(means, samples.components[first], None)


def _means(features: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the mean of the rows with each index."""
    order = np.argsort(index, kind="stable")
    counts = np.bincount(index)
    sums = np.add.reduceat(features[order], np.cumsum(counts) - counts, axis=0)
    return sums / counts[:, None]


def _whitened(
    features: np.ndarray, index: np.ndarray, groups: np.ndarray | None, whiten: Whiten
) -> np.ndarray:
    """Return features whose noise within tuples has variance 1 in all directions."""
    residuals, degrees = features, len(features) - int(index.max()) - 1
    if groups is not None:
        _, group = np.unique(groups, return_inverse=True)
        residuals = residuals - _means(residuals, group)[group]
        degrees -= int(group.max())
    residuals = residuals - _means(residuals, index)[index]
    require(
        degrees > 1,
        "noise is whitened by its variance within tuples",
        f"{len(features)} samples of {int(index.max()) + 1} tuples",
        'add repeats, or pass whiten="none"',
    )
    if whiten == "diagonal":
        spread = np.sqrt((residuals**2).sum(axis=0) / degrees)
        # A feature without noise would count without bound.
        return np.divide(features, spread, out=np.zeros_like(features), where=spread > 0)
    noise = NoiseSpectrum.of_residuals(residuals, degrees)
    along = features @ noise.directions.T
    rest = 1.0 / np.sqrt(noise.rest) if noise.rest > 0 else 0.0
    scale = np.divide(
        1.0, np.sqrt(noise.variances), out=np.zeros_like(noise.variances), where=noise.variances > 0
    )
    return rest * features + (along * (scale - rest)) @ noise.directions
