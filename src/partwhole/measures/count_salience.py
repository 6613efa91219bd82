"""Similarity by the number of shared components, for more components than sets can be listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Seed
from partwhole.measures._count_pairs import CountedTuples
from partwhole.measures._offsets import pseudo_trials
from partwhole.measures._samples import blocks_of, centred_by_group
from partwhole.recordings import Recording


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
    features: Recording | Float[np.ndarray, "n p"],
    components: Int[np.ndarray, "n C"] | None = None,
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
    features : Recording; or float array, shape (n, p)
        Trials of known conditions. Times are averaged; neurons of different sessions add up; of
        groups, only products of different ones count. Or one row for each sample.
    components : int array, shape (n, C), default None
        Of an array, the sample's tuple.
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
        When rows disagree in number, there are fewer than two tuples, none has two samples (unless
        `self_pairs`) or is in two groups, for components beside a recording, and for an array
        without them.

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
    blocks = blocks_of(features, components, None)
    grouped = blocks[0].groups is not None
    require(
        not (grouped and self_pairs),
        "a sample's similarity with itself is no product across groups",
        "self_pairs for a recording with groups",
        "leave self_pairs out",
    )
    by_block = [CountedTuples.of(block, max_tuples, seed) for block in blocks]
    parts = [_similarity(tuples, self_pairs) for tuples in by_block]
    if isinstance(features, Recording) and len(blocks) > 1:
        (samples,) = blocks_of(pseudo_trials(features.averaged(), seed), None, None)
        together = CountedTuples.of(samples, max_tuples, seed)
    elif grouped:
        together = CountedTuples.of(centred_by_group(blocks[0])[0], max_tuples, seed)
    else:
        together = by_block[0]
    n_pairs = np.min([part[1] for part in parts], axis=0)
    return CountSalience(
        np.sum([part[0] for part in parts], axis=0),
        n_pairs,
        float(np.sum([part[2] for part in parts])),
        together.structure,
        min(len(tuples.drawn) for tuples in by_block),
        int(n_pairs[-1]),
    )


def _similarity(
    tuples: CountedTuples, self_pairs: bool
) -> tuple[Float[np.ndarray, " orders"], Int[np.ndarray, " orders"], float]:
    """Return the similarity of a block of features by count, pairs of tuples, and noise."""
    index, counts, features = tuples.index, tuples.counts, tuples.features
    repeated = counts >= 2
    require(
        self_pairs or bool(repeated.any()),
        "the similarity of identical tuples needs a tuple with two samples",
        f"one sample for each of {len(counts)} tuples",
        "add repeats, or pass self_pairs=True if the features carry no noise",
    )
    sums = tuples.means * counts[:, None]
    squares = np.bincount(index, np.einsum("ij,ij->i", features, features))
    lengths = np.einsum("ij,ij->i", sums, sums)
    noise = float("nan")
    if repeated.any():
        deviation = squares - lengths / counts
        noise = float(np.mean(deviation[repeated] / (counts[repeated] - 1)))
    squared = lengths / counts**2
    if not self_pairs:
        products = (lengths - squares) / np.maximum(counts * (counts - 1.0), 1.0)
        # A tuple with one sample takes the noise of the others.
        squared = np.where(repeated, products, squared - noise)
    half, n_pairs = tuples.half_distances(squared)
    pairs, mean_square = n_pairs, float(np.mean(squared))
    if tuples.groups is not None:
        mean_square, half, pairs = tuples.across_groups()
    # Every pair was met twice.
    n_pairs = np.where(pairs > 0, n_pairs // 2, 0)
    n_pairs[-1] = len(counts)
    similarity = np.full(len(pairs), np.nan)
    np.divide(half, pairs, out=similarity, where=pairs > 0)
    similarity = mean_square - similarity
    # Different tuples never share all.
    similarity[-1] = mean_square
    return similarity, n_pairs, noise
