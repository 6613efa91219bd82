"""Similarity by the number of shared components, for more components than sets can be listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Seed
from partwhole.measures._samples import grid_weights


@dataclass(frozen=True, eq=False)
class CountSalience:
    """Mean similarity of tuples by their number of shared components.

    Parameters
    ----------
    similarity : float array, shape (C + 1,)
        Mean similarity for 0..C shared components; NaN where no pair of tuples shares as many.
    n_pairs : int array, shape (C + 1,)
        Pairs of tuples for each; at C all tuples.
    noise : float
        Variance of single samples about their tuple's mean, summed over features; NaN when no
        tuple has two samples.
    structure : float
        Share of the variance of similarity, over pairs of different tuples, that their number
        of shared components explains, features centred; noise is not taken out. NaN where nothing
        varies.
    n_tuples : int
        Tuples whose pairs were compared.
    n_available : int
        Different tuples among the samples.
    """

    similarity: Float[np.ndarray, " orders"]
    n_pairs: Int[np.ndarray, " orders"]
    noise: float
    structure: float
    n_tuples: int
    n_available: int


@door
def count_salience(
    features: Float[np.ndarray, "n p"],
    components: Int[np.ndarray, "n C"],
    *,
    self_pairs: bool = False,
    max_tuples: Annotated[int, Bounds(at_least=2)] = 2000,
    seed: Seed = 0,
) -> CountSalience:
    r"""Measure similarity by the number of shared components, without listing their sets.

    :math:`\kappa_C` is the mean over tuples of their squared length :math:`q_t`, from products of
    different samples, and :math:`\kappa_o` is this less half the mean squared distance of different
    tuples that share o components, as in `salience`.

    Parameters
    ----------
    features : float array, shape (n, p)
        One row for each sample.
    components : int array, shape (n, C)
        The sample's tuple.
    self_pairs : bool, keyword-only, default False
        Count a sample's similarity with itself, so that a tuple with one sample counts too.
    max_tuples : int, keyword-only, default 2000
        Most tuples whose pairs are compared; of more, these many are drawn at random.
    seed : int, keyword-only, default 0
        For the draw.

    Returns
    -------
    CountSalience

    Raises
    ------
    InputError
        When rows disagree in number, there are fewer than two tuples, or none has two samples
        (unless `self_pairs`).

    Notes
    -----
    Equal to `salience` averaged over sets of one size, where all tuples are used. Saliences:
    Lippl & Stachenfeld (ICLR 2025), definition 3.1.

    Examples
    --------
    >>> rows = np.array([[a, b] for a in range(3) for b in range(3)])
    >>> clean = np.hstack([np.eye(3)[rows[:, 0]], np.eye(3)[rows[:, 1]]])
    >>> count_salience(clean, rows, self_pairs=True).similarity.tolist()
    [0.0, 1.0, 2.0]
    """
    rows, index, counts = np.unique(components, axis=0, return_inverse=True, return_counts=True)
    index = index.ravel()
    require(len(rows) >= 2, "pairs need two tuples", len(rows), "add others")
    repeated = counts >= 2
    require(
        self_pairs or bool(repeated.any()),
        "the similarity of identical tuples needs a tuple with two samples",
        f"one sample for each of {len(rows)} tuples",
        "add repeats, or pass self_pairs=True if the features carry no noise",
    )
    drawn = np.arange(len(rows))
    if len(rows) > max_tuples:
        drawn = np.sort(np.random.default_rng(seed).choice(len(rows), max_tuples, replace=False))
    order = np.argsort(index, kind="stable")
    sums = np.add.reduceat(features[order], np.cumsum(counts) - counts, axis=0)
    squares = np.bincount(index, np.einsum("ij,ij->i", features, features))
    squared_norms = np.einsum("ij,ij->i", sums, sums)
    noise = float("nan")
    if repeated.any():
        deviation = squares - squared_norms / counts
        noise = float(np.mean(deviation[repeated] / (counts[repeated] - 1)))

    if self_pairs:
        squared = squared_norms / counts**2
    else:
        products = (squared_norms - squares) / np.maximum(counts * (counts - 1.0), 1.0)
        # A tuple with one sample takes the noise of the others.
        squared = np.where(repeated, products, squared_norms / counts**2 - noise)
    n_components = rows.shape[1]
    means, tuples, lengths = sums[drawn] / counts[drawn, None], rows[drawn], squared[drawn]
    centred = means - grid_weights(rows) @ (sums / counts[:, None])
    half, total, square = (np.zeros(n_components + 1) for _ in range(3))
    pairs = np.zeros(n_components + 1, dtype=np.int64)
    for i in range(0, len(tuples), 256):
        shared = np.zeros((len(tuples[i : i + 256]), len(tuples)), dtype=np.int64)
        for column in tuples.T:
            shared += column[i : i + 256, None] == column[None, :]
        inner = means[i : i + 256] @ means.T
        distance = 0.5 * (lengths[i : i + 256, None] + lengths) - inner
        similarity = (centred[i : i + 256] @ centred.T).ravel()
        shared = shared.ravel()
        pairs += np.bincount(shared, minlength=n_components + 1)
        half += np.bincount(shared, distance.ravel(), n_components + 1)
        total += np.bincount(shared, similarity, n_components + 1)
        square += np.bincount(shared, similarity**2, n_components + 1)
    # Different tuples never share all; every pair was met twice.
    similarity = np.full(n_components + 1, np.nan)
    np.divide(half, pairs, out=similarity, where=pairs > 0)
    similarity = float(np.mean(squared)) - similarity
    similarity[-1] = float(np.mean(squared))
    different = slice(0, n_components)
    mean = total[different].sum() / pairs[different].sum()
    spread = square[different].sum() - pairs[different].sum() * mean**2
    present = pairs[different] > 0
    explained = np.sum(
        pairs[different][present]
        * (total[different] / np.maximum(pairs[different], 1) - mean)[present] ** 2
    )
    structure = (
        float(explained / spread) if spread > 1e-12 * square[different].sum() else float("nan")
    )
    n_pairs = pairs // 2
    n_pairs[-1] = len(rows)
    return CountSalience(similarity, n_pairs, noise, structure, len(tuples), len(rows))
