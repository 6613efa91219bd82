"""Samples for measures of representations: blocks of a recording, centred and whitened."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole._checks import require
from partwhole.measures._groups import TupleGroups
from partwhole.measures._offsets import group_offsets
from partwhole.measures._rows import averaging
from partwhole.measures._similarity import Samples
from partwhole.measures.readouts.noise import NoiseSpectrum
from partwhole.recordings import Recording

Whiten = Literal["none", "diagonal", "full"]
# Values of all components together, above which the grid's mean is not estimated.
MOST_VALUES = 2000
# Noise over the size of a feature below which it is rounding.
FEW_DIGITS = 1e-12


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
            values = recording.responses
            if len(recording.blocks) > 1:
                values = values[np.ix_(rows, columns)]
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
    """Return centred samples, and by how much mean squares of tuples are larger without centring.

    The centre is the mean over the grid of all combinations, as sums of parts give it. Whitened,
    noise has variance 1 in all directions.
    """
    centred, level = [], 0.0
    for samples, groups in zip(blocks, by_tuple, strict=True):
        features = samples.features
        if whiten != "none":
            features = _whitened(features, groups.index, samples.groups, whiten)
        means = groups.means(features)
        first = groups.order[np.cumsum(groups.counts) - groups.counts]
        centre = grid_weights(samples.components[first]) @ means
        centred.append(Samples(features - centre, samples.components, samples.groups))
        level += float(centre @ (2.0 * means.mean(axis=0) - centre))
    return centred, level


def grid_weights(tuples: Int[np.ndarray, "T C"]) -> Float[np.ndarray, " T"]:
    """Return weights of tuples whose sum is the mean over the grid of all combinations.

    Where combinations are missing, that of the sum of parts with the least squared error; the plain
    mean would prefer values that occur with many others.
    """
    codes = [np.unique(column, return_inverse=True)[1] for column in tuples.T]
    n_values = np.array([int(code.max()) + 1 for code in codes])
    if n_values.sum() > MOST_VALUES:
        return np.full(len(tuples), 1.0 / len(tuples))
    starts = np.cumsum(n_values) - n_values
    ones = np.ones(len(tuples))
    columns = [
        sparse.csr_array((ones, (np.arange(len(tuples)), column)), shape=(len(tuples), size))
        for column, size in zip(codes, n_values, strict=True)
    ]
    design = sparse.hstack([sparse.csr_array(ones[:, None]), *columns]).tocsr()
    # Of all sums of parts with the same fit, that whose parts add up to 0 within each component.
    products = (design.T @ design).toarray()
    for start, size in zip(starts + 1, n_values, strict=True):
        products[start : start + size, start : start + size] += 1.0
    intercept = np.zeros(len(products))
    intercept[0] = 1.0
    return design @ (np.linalg.pinv(products, hermitian=True) @ intercept)


def centred_by_group(samples: Samples) -> tuple[Samples, Int[np.ndarray, " cells"]]:
    """Return the mean of every tuple in every group less the group's offset, and its group.

    They stand for single samples whose noise is independent. Offsets are fitted together with means
    of tuples, so that tuples which a group lacks are no offset of it.
    """
    assert samples.groups is not None
    by_tuple = TupleGroups.of(samples.components)
    _, group = np.unique(samples.groups, return_inverse=True)
    pairs = np.column_stack([group.ravel(), by_tuple.index])
    cells, first, cell = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    of_group, of_tuple = cells.T
    means = _means(samples.features, cell.ravel())
    present = np.zeros(cells.max(axis=0) + 1)
    present[of_group, of_tuple] = 1.0
    table = np.zeros((*present.shape, means.shape[1]))
    table[of_group, of_tuple] = means
    means -= group_offsets(table, present)[of_group]
    components = samples.components[first]
    tuples = by_tuple.order[np.cumsum(by_tuple.counts) - by_tuple.counts]
    means -= grid_weights(samples.components[tuples]) @ _means(means, of_tuple)
    return Samples(means, components, None), of_group


def _means(features: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the mean of the rows with each index."""
    return averaging(index, np.bincount(index)) @ features


def _whitened(
    features: np.ndarray, index: np.ndarray, groups: np.ndarray | None, whiten: Whiten
) -> np.ndarray:
    """Return features whose noise within tuples has variance 1 in all directions."""
    # Rounding of features without noise should not grow with their offset.
    shifted = features - features[0]
    residuals, degrees = shifted, len(features) - int(index.max()) - 1
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
        # A feature without noise, but for rounding, would count without bound.
        noisy = spread > FEW_DIGITS * np.sqrt((shifted**2).mean(axis=0))
        return np.divide(features, spread, out=np.zeros_like(features), where=noisy)
    noise = NoiseSpectrum.of_residuals(residuals, degrees)
    along = features @ noise.directions.T
    rest = 1.0 / np.sqrt(noise.rest) if noise.rest > 0 else 0.0
    scale = np.divide(
        1.0, np.sqrt(noise.variances), out=np.zeros_like(noise.variances), where=noise.variances > 0
    )
    return rest * features + (along * (scale - rest)) @ noise.directions
