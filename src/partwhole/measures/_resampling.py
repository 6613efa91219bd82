"""Similarities by overlap for other trials, groups or neurons."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.measures._group_errors import group_errors
from partwhole.measures._groups import TupleGroups
from partwhole.measures._similarity import Products, Samples
from partwhole.measures._trial_errors import student, trial_errors

Resample = Literal["trials", "groups", "neurons", "both"]


def chosen_resampling(resample: Resample | None, grouped: bool) -> Resample:
    """Return what is drawn anew, by default groups if there are any."""
    require(
        grouped or resample != "groups",
        "groups are resampled where there are some",
        "none",
        "pass groups, or resample trials",
    )
    require(
        not grouped or resample != "trials",
        "trials of one group may share noise, so that they are not resampled alone",
        'resample="trials" beside groups',
        'pass resample="groups", or leave groups out',
    )
    return resample or ("groups" if grouped else "trials")


def replicates_of(
    blocks: list[Samples],
    by_tuple: list[TupleGroups],
    products: list[Products],
    centred: np.ndarray,
    resample: Resample,
    self_pairs: bool,
    count: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return similarities by overlap set for other trials, groups, neurons, or both."""
    alone = all(groups.counts.max() < 2 for groups in by_tuple)
    if not count or (alone and resample != "neurons"):
        return np.empty((0, len(centred)))
    drawn = np.zeros((count, len(centred)))
    if resample in ("neurons", "both"):
        by_neuron = np.concatenate([block.kappa() for block in products], axis=1)
        drawn += _neuron_errors(by_neuron, count, rng)
    if resample == "neurons":
        return centred + drawn
    for block, groups, of_block in zip(blocks, by_tuple, products, strict=True):
        if block.groups is None:
            errors = trial_errors(block, groups, count, rng, self_pairs=self_pairs)
        else:
            errors = group_errors(_summed(of_block), count, rng)
        # Features are less their measured mean: what all similarities have in common is not theirs.
        shares = np.append(2.0 * groups.n_pairs[:-1], len(groups.counts)) / len(groups.counts) ** 2
        met = shares > 0
        drawn += errors - (errors[:, met] @ shares[met])[:, None]
    return centred + drawn


def _summed(products: Products) -> Products:
    return products if products.half.ndim == 2 else products.summed()


def _neuron_errors(
    by_neuron: Float[np.ndarray, "sets p"], count: int, rng: np.random.Generator
) -> Float[np.ndarray, "B sets"]:
    """Return deviations of neurons that are drawn with replacement; NaN of a single neuron.

    Neurons that were drawn vary less than their population, by (p - 1) / p, and so few tell their
    variance badly, as in Student's distribution.
    """
    n_neurons = by_neuron.shape[1]
    if n_neurons < 2:
        return np.full((count, len(by_neuron)), np.nan)
    even = np.full(n_neurons, 1.0 / n_neurons)
    drawn = (rng.multinomial(n_neurons, even, size=count) - 1.0) @ by_neuron.T
    widen = np.sqrt(n_neurons / (n_neurons - 1.0))
    return widen * student(count, n_neurons - 1.0, rng) * drawn
