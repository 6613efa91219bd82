"""How much of the similarity of tuples their overlap explains."""

from __future__ import annotations

import numpy as np

from partwhole.measures._groups import TupleGroups, over_supersets
from partwhole.measures._samples import blocks_of, centred_by_group, prepared
from partwhole.measures._similarity import Samples
from partwhole.recordings import Recording


def structure_of(
    features: Recording | np.ndarray, blocks: list[Samples], self_pairs: bool
) -> tuple[float, str]:
    """Return the structure score; of several blocks, that of trials combined from all of them."""
    if len(blocks) > 1:
        assert isinstance(features, Recording)
        (block,) = blocks_of(features.averaged().pseudo_trials(), None, None)
        blocks, _ = prepared([block], [TupleGroups.of(block.components)], "none")
    block = blocks[0].reduced()
    if block.groups is not None:
        block = centred_by_group(block)
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
        features, components = features[repeated], components[repeated]
        if len(np.unique(components, axis=0)) < 2:
            return np.nan, "fewer than two conditions have two trials"
        groups = TupleGroups.of(components)
    if np.sum(groups.n_pairs > 0) < 2:
        return np.nan, "all pairs of conditions share the same components"
    counts, index = groups.counts, groups.index
    means = groups.means(features)
    sq_norms = np.einsum("ij,ij->i", means, means)
    if correct:
        pairs = counts * (counts - 1.0)
        scaled = features / np.sqrt(pairs)[index, None]
        sums = means * counts[:, None]
        lengthened = means * np.sqrt(counts / (counts - 1.0))[:, None]
        whole = lengthened.T @ lengthened - scaled.T @ scaled
        along = np.einsum("ij,ij->i", features, sums[index]) ** 2
        crossed = np.array([
            float(np.sum((features[rows] @ features[rows].T) ** 2))
            for rows in np.split(groups.order, np.cumsum(counts)[:-1])
        ])  # fmt: skip
        diagonal = (counts**4 * sq_norms**2 - 2 * np.bincount(index, along) + crossed) / pairs**2
    else:
        whole, diagonal = means.T @ means, sq_norms**2
    n_pairs = 2.0 * groups.n_pairs
    square = (float(np.sum(whole**2)) - float(diagonal.sum())) / n_pairs.sum()

    # For each tuple the sum of the others' means, by exact overlap with it.
    partners = np.stack([shared.T @ (shared @ means) - means for shared in groups.sharing])
    partners = over_supersets(np.concatenate([partners, np.zeros_like(partners[:1])]))
    present = np.flatnonzero(n_pairs > 0)

    def squared(partners: np.ndarray, count: float) -> float:
        product = float(np.sum(means * partners)) / count
        if not correct:
            return product**2
        influence = 2.0 / count * np.einsum("ij,ij->i", features, partners[index])
        spread = (
            np.bincount(index, influence**2) - counts * groups.means(influence[:, None])[:, 0] ** 2
        )
        return product**2 - float(np.sum(spread / (counts * (counts - 1.0))))

    by_set = sum(n_pairs[s] * squared(partners[s], n_pairs[s]) for s in present) / n_pairs.sum()
    grand = squared(partners[present].sum(axis=0), n_pairs.sum())
    if square - grand <= 1e-12 * abs(square):
        return np.nan, "the similarity of different conditions doesn't vary beyond its noise"
    return float((by_set - grand) / (square - grand)), ""
