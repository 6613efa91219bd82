"""Sums over groups of tuples: similarity by exact overlap, without a tuples x tuples matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from scipy import sparse

from partwhole.features.conjunctions import Dictionary
from partwhole.features.subsets import moebius, set_of


@dataclass(frozen=True, eq=False)
class TupleGroups:
    """Samples grouped by tuple, and tuples grouped by shared conjunction."""

    index: Int[np.ndarray, " n"]
    counts: Int[np.ndarray, " T"]
    order: Int[np.ndarray, " n"]
    sharing: tuple[sparse.csr_matrix, ...]
    n_pairs: Int[np.ndarray, " sets"]

    @classmethod
    def of(cls, components: np.ndarray) -> TupleGroups:
        n_components = components.shape[1]
        n_values = [int(column.max()) + 1 for column in components.T]
        dictionary, index = Dictionary.of(components, tuple(range(n_components)), n_values)
        counts = np.bincount(index, minlength=dictionary.size)
        tuples = dictionary.values()
        sharing = []
        for mask in range((1 << n_components) - 1):
            _, group = Dictionary.of(tuples, set_of(mask), n_values)
            sharing.append(
                sparse.csr_matrix((np.ones(len(tuples)), (group, np.arange(len(tuples)))))
            )
        at_least = [
            int(np.sum(np.asarray(shared.sum(axis=1)).ravel() ** 2)) - len(tuples)
            for shared in sharing
        ]
        # Ordered pairs of different tuples; each is counted twice.
        pairs = np.rint(over_supersets(np.array([*at_least, 0])) / 2).astype(int)
        return cls(index, counts, np.argsort(index, kind="stable"), tuple(sharing), pairs)

    def averaging(self, weights: np.ndarray) -> sparse.csr_matrix:
        """Return the (T, n) matrix that takes weighted means within tuples."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        totals = np.bincount(self.index, weights)
        return sparse.csr_matrix(
            ((weights / totals[self.index])[self.order], self.order, starts),
            shape=(len(self.counts), len(self.index)),
        )

    def similarity(
        self, features: np.ndarray, squares: np.ndarray, weights: np.ndarray, self_pairs: bool
    ) -> np.ndarray:
        """Return kappa by overlap set, each sample counted with its weight."""
        means = self.averaging(weights) @ features
        sq_norms = np.einsum("ij,ij->i", means, means)
        at_least = [
            float(np.sum((shared @ means) ** 2) - sq_norms.sum()) for shared in self.sharing
        ]
        exactly = over_supersets(np.array([*at_least, 0.0]))
        kappa = np.full(len(exactly), np.nan)
        np.divide(exactly, 2 * self.n_pairs, out=kappa, where=self.n_pairs > 0)
        if self_pairs:
            kappa[-1] = sq_norms.mean()
            return kappa
        total = np.bincount(self.index, weights)
        self_weight = np.bincount(self.index, weights**2)
        left = total**2 - self_weight
        usable = left > 0.5
        inner = total**2 * sq_norms - np.bincount(self.index, weights**2 * squares)
        kappa[-1] = np.mean(inner[usable] / left[usable]) if usable.any() else np.nan
        return kappa

    def resampled(self, rng: np.random.Generator) -> np.ndarray:
        """Return how often each sample is drawn when every tuple resamples its samples."""
        starts = np.cumsum(self.counts) - self.counts
        place = (rng.random(len(self.index)) * self.counts[self.index]).astype(int)
        drawn = self.order[starts[self.index] + place]
        return np.bincount(drawn, minlength=len(self.index)).astype(float)


def over_supersets(numbers: np.ndarray) -> np.ndarray:
    """Invert the sum over supersets (the Möbius form, with complements for sets)."""
    return np.asarray(moebius(numbers[::-1].astype(float))[::-1])


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
            return np.nan, "fewer than two tuples have two samples"
        groups = TupleGroups.of(components)
    if np.sum(groups.n_pairs > 0) < 2:
        return np.nan, "all pairs of tuples share the same components"
    counts, index = groups.counts, groups.index
    mean_of = groups.averaging(np.ones(len(index)))
    means = mean_of @ features
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
    partners = _supersets_first(np.concatenate([partners, np.zeros_like(partners[:1])]))
    present = np.flatnonzero(n_pairs > 0)

    def squared(partners: np.ndarray, count: float) -> float:
        product = float(np.sum(means * partners)) / count
        if not correct:
            return product**2
        influence = 2.0 / count * np.einsum("ij,ij->i", features, partners[index])
        spread = np.bincount(index, influence**2) - counts * (mean_of @ influence) ** 2
        return product**2 - float(np.sum(spread / (counts * (counts - 1.0))))

    by_set = sum(n_pairs[s] * squared(partners[s], n_pairs[s]) for s in present) / n_pairs.sum()
    grand = squared(partners[present].sum(axis=0), n_pairs.sum())
    if square - grand <= 1e-12 * abs(square):
        return np.nan, "the similarity of different tuples doesn't vary beyond its noise"
    return float((by_set - grand) / (square - grand)), ""


def _supersets_first(numbers: np.ndarray) -> np.ndarray:
    """Invert the sum over supersets along the first axis."""
    flat = np.moveaxis(numbers[::-1], 0, -1)
    return np.moveaxis(moebius(flat), -1, 0)[::-1]
