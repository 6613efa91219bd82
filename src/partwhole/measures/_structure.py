"""How much of the similarity of tuples their overlap explains."""

from __future__ import annotations

import numpy as np

from partwhole.measures._groups import TupleGroups, over_supersets
from partwhole.measures._offsets import pseudo_trials
from partwhole.measures._samples import blocks_of, centred_by_group, prepared
from partwhole.measures._similarity import Samples
from partwhole.recordings import Recording


def structure_of(
    features: Recording | np.ndarray, blocks: list[Samples], self_pairs: bool
) -> tuple[float, str]:
    """Return the structure score; of several blocks, that of trials combined from all of them."""
    if len(blocks) > 1:
        assert isinstance(features, Recording)
        (block,) = blocks_of(pseudo_trials(features.averaged()), None, None)
        blocks, _ = prepared([block], [TupleGroups.of(block.components)], "none")
    block = blocks[0].reduced()
    if block.groups is not None:
        block, _ = centred_by_group(block)
    return structure_score(block.features, block.components, correct=not self_pairs)


def structure_score(
    features: np.ndarray, components: np.ndarray, *, correct: bool
) -> tuple[float, str]:
    r"""Return the share of the variance of tuple similarity that overlap sets explain.

    Where it is NaN the second entry says why; else that is empty.

    The mean square of :math:`\mu_t \cdot \mu_{t'}` over pairs is estimated without bias from
    :math:`D_t = \sum_{i \ne j} x_i x_j^T / (m_t (m_t - 1))`, as
    :math:`|\sum_t D_t|^2 - \sum_t |D_t|^2`; squares of mean similarities are lowered by their
    sampling variance, from each sample's influence on them.
    """
    groups = TupleGroups.of(components)
    if correct:
        repeated = groups.counts[groups.index] >= 2
        if not repeated.all():
            features, components = features[repeated], components[repeated]
            groups = TupleGroups.of(components)
        if len(groups.counts) < 2:
            return np.nan, "fewer than two conditions have two trials"
    if np.sum(groups.n_pairs > 0) < 2:
        return np.nan, "all pairs of conditions share the same components"
    counts, means = groups.counts, groups.means(features)
    sq_norms = np.einsum("ij,ij->i", means, means)
    n_pairs = 2.0 * groups.n_pairs
    present = np.flatnonzero(n_pairs > 0)
    n_pairs = n_pairs[present]
    # For each tuple the sum of the others' means, by exact overlap with it.
    partners = np.stack([shared.T @ (shared @ means) - means for shared in groups.sharing])
    partners = over_supersets(np.concatenate([partners, np.zeros_like(partners[:1])]))[present]
    similarity = np.einsum("tp,stp->s", means, partners)
    spread = np.zeros(len(present) + 1)
    if correct:
        pairs = counts * (counts - 1.0)
        lengthened = means * np.sqrt(counts / (counts - 1.0))[:, None]
        whole = lengthened.T @ lengthened - groups.weighted_products(features, 1.0 / pairs)
        # Of products within a condition: squares of each, and of their sums over its trials.
        crossed, along = np.empty(len(counts)), np.empty(len(counts))
        for t, rows in enumerate(np.split(groups.order, np.cumsum(counts)[:-1])):
            x = features[rows]
            products = x @ x.T
            crossed[t], along[t] = np.sum(products**2), np.sum(products.sum(axis=1) ** 2)
            influence = x @ partners[:, t].T
            influence = np.column_stack([influence, influence.sum(axis=1)])
            spread += 4.0 * np.var(influence, axis=0) / (counts[t] - 1.0)
        diagonal = (counts**4 * sq_norms**2 - 2.0 * along + crossed) / pairs**2
    else:
        whole, diagonal = means.T @ means, sq_norms**2
    # Of similarities summed over all pairs, and by the set that these share.
    square = (float(np.sum(whole**2)) - float(diagonal.sum())) / n_pairs.sum()
    by_set = float(np.sum((similarity**2 - spread[:-1]) / n_pairs)) / n_pairs.sum()
    grand = (similarity.sum() ** 2 - spread[-1]) / n_pairs.sum() ** 2
    if square - grand <= 1e-12 * abs(square):
        return np.nan, "the similarity of different conditions doesn't vary beyond its noise"
    return float((by_set - grand) / (square - grand)), ""
