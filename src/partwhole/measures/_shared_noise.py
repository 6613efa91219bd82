"""Noise that trials share although no runs are declared, from the order of the trials.

Residuals from condition means are independent of the order within a condition if the noise of
trials is. So the products of residuals of trials that are neighbours, or that are the k-th of
their conditions, are compared with those after permutations within conditions, along the directions
of the largest residuals. Of many trials the first thousands are looked at.

Drifts bias saliences only where trials of one condition are nearer in time, or farther apart, than
trials of different conditions are: residuals show them hardly, if at all, where trials of a
condition stand together, but the order itself says how large the bias could be. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import eigh

from partwhole.measures._groups import TupleGroups
from partwhole.measures._rows import averaging
from partwhole.measures._similarity import Samples

DIRECTIONS = 20
# Numbers of permuted trials that are held at once.
AT_ONCE = 500_000
PERMUTATIONS = 200
MOST_TRIALS = 3000
# Standard deviations above the mean over permutations, and the least share that is of interest.
CLEAR, LEAST = 5.0, 0.01
# The share of noise that may drift unseen, and the bias of a salience that is then worth a note.
DRIFTING, MOST_BIAS = 0.1, 0.01


def notes_on_shared_noise(
    samples: Samples, groups: TupleGroups, noise: float, seed: int
) -> list[str]:
    """Return that trials share noise, or what it would do if they did; nothing if nothing much.

    `noise` is that of a trial, in units of the similarity of identical conditions above others'.
    """
    return _shared(samples, groups, noise, seed) or _hidden(groups.index[:MOST_TRIALS], noise)


def _hidden(index: Int[np.ndarray, " n"], noise: float) -> list[str]:
    """Return how far drifts of a share of the noise would shift saliences, if that is far."""
    excess = excess_correlation(index)
    bias = DRIFTING * abs(excess) * noise
    if not bias > MOST_BIAS:
        return []
    where = "nearer to one another" if excess > 0 else "farther apart"
    return [
        f"in the order of rows, trials of one condition stand {where} than those of others: if it "
        f"is their order in time and {100 * DRIFTING:.0f} % of the noise drifted, saliences would "
        f"be off by up to {min(bias, 1.0):.2f}, and it could stay unseen; declare runs or blocks "
        "as groups"
    ]


def excess_correlation(index: Int[np.ndarray, " n"]) -> float:
    """Return by how much a drift correlates trials of one condition more than those of others.

    Drifts forget exponentially, over 1, 2, 4, ... trials; the largest difference counts, from -1
    to 1. 0 where no condition has two trials.
    """
    excess = _excess_by_span(index)[1]
    return float(excess[np.argmax(np.abs(excess))])


def _excess_by_span(
    index: Int[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Return over how many trials drifts forget, and that difference for each."""
    n = len(index)
    spans = 2.0 ** np.arange(max(1, n.bit_length()))
    same = np.zeros(n)
    for condition in np.unique(index):
        at = np.flatnonzero(index == condition)
        rows, columns = np.triu_indices(len(at), 1)
        same += np.bincount(at[columns] - at[rows], minlength=n)
    others = np.arange(n, 0, -1.0) - same
    others[0] = 0.0
    if not (same.any() and others.any()):
        return spans, np.zeros(len(spans))
    correlation = np.exp(-np.arange(n) / spans[:, None])
    return spans, correlation @ (same / same.sum() - others / others.sum())


def _shared(samples: Samples, groups: TupleGroups, noise: float, seed: int) -> list[str]:
    """Return that trials share noise, how much, and the remedy; nothing if none measurably do."""
    kept, residuals = _residuals(samples.features[:MOST_TRIALS], groups.index[:MOST_TRIALS])
    if not len(kept):
        return []
    pairs = _Pairs.of(kept, groups.index[kept])
    rng = np.random.default_rng(seed)
    along = _largest(residuals)
    sums = pairs.sums(along)
    permuted = pairs.permuted_sums(along, PERMUTATIONS, rng)
    high = sums > np.maximum(
        permuted.max(axis=0), permuted.mean(axis=0) + CLEAR * permuted.std(axis=0)
    )
    if not high.any():
        return []
    expected = pairs.permuted_sums(residuals, 10, rng).mean(axis=0)
    of_trial = float(np.mean(np.einsum("ij,ij->i", residuals, residuals)))
    shares = (pairs.sums(residuals) - expected) / (pairs.counts * of_trial)
    if not (high & (shares > LEAST)).any():
        return []
    largest = int(np.argmax(np.where(high, shares, -np.inf)))
    share = f"about {100 * shares[largest]:.0f} % of their noise"
    passes = "and it passes for similarity: declare runs or blocks as groups"
    if largest:
        of_others = "the first trials of different conditions"
        return [f"{of_others} share {share}, as do the second and later ones, {passes}"]
    spans, excess = _excess_by_span(groups.index[:MOST_TRIALS])
    drifts = np.minimum(shares[0] * np.exp(1.0 / spans), 1.0)
    if noise * np.max(drifts * np.abs(excess)) <= MOST_BIAS:
        passes = f"which in this order shifts saliences by no more than {MOST_BIAS:g}"
    return [f"in the order of rows, neighbouring trials share {share}, {passes}"]


def _residuals(
    features: Float[np.ndarray, "n p"], index: Int[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, "m p"]]:
    """Return the trials of repeated conditions, and their residuals scaled to the noise."""
    counts = np.bincount(index)
    kept = np.flatnonzero(counts[index] > 1)
    means = averaging(index, np.maximum(counts, 1)) @ features
    m = counts[index[kept]].astype(float)
    return kept, (features[kept] - means[index[kept]]) * np.sqrt(m / (m - 1.0))[:, None]


def _largest(rows: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n d"]:
    """Return rows along their largest principal directions."""
    n, p = rows.shape
    d = min(DIRECTIONS, n, p)
    if p <= n:
        return rows @ eigh(rows.T @ rows, subset_by_index=[p - d, p - 1])[1]
    values, vectors = eigh(rows @ rows.T, subset_by_index=[n - d, n - 1])
    return vectors * np.sqrt(np.maximum(values, 0.0))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of trials: neighbours of any conditions, and those of one place in their conditions."""

    index: Int[np.ndarray, " n"]
    by_condition: Int[np.ndarray, " n"]
    first: Int[np.ndarray, " k"]
    by_place: Int[np.ndarray, " n"]
    starts: Int[np.ndarray, " m"]
    counts: Float[np.ndarray, "2"]

    @classmethod
    def of(cls, rows: Int[np.ndarray, " n"], index: Int[np.ndarray, " n"]) -> _Pairs:
        by_condition = np.argsort(index, kind="stable")
        sizes = np.bincount(index)
        place = np.empty_like(index)
        place[by_condition] = np.arange(len(index)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at_place = np.bincount(place)
        first = np.flatnonzero(np.diff(rows) == 1)
        counts = np.array([len(first), 0.5 * np.sum(at_place * (at_place - 1.0))])
        return cls(
            index,
            by_condition,
            first,
            np.argsort(place, kind="stable"),
            np.cumsum(at_place) - at_place,
            np.maximum(counts, 1.0),
        )

    def permuted_sums(
        self, rows: Float[np.ndarray, "n d"], repeats: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "repeats 2"]:
        """Return the sums for trials in orders that are drawn anew within each condition."""
        step = max(1, AT_ONCE // rows.size)
        return np.concatenate(
            [
                self.sums(rows[self._permuted(min(step, repeats - start), rng)])
                for start in range(0, repeats, step)
            ]
        )

    def _permuted(self, repeats: int, rng: np.random.Generator) -> Int[np.ndarray, "r n"]:
        drawn = np.argsort(self.index + rng.random((repeats, len(self.index))), axis=1)
        order = np.empty_like(drawn)
        order[:, self.by_condition] = drawn
        return order

    def sums(self, rows: Float[np.ndarray, "*r n d"]) -> Float[np.ndarray, "*r 2"]:
        """Return the sums of products over both kinds of pairs."""
        of_trials = rows[..., self.first, :] * rows[..., self.first + 1, :]
        totals = np.add.reduceat(rows[..., self.by_place, :], self.starts, axis=-2)
        same_place = (totals**2).sum(axis=(-2, -1)) - (rows**2).sum(axis=(-2, -1))
        return np.stack([of_trials.sum(axis=(-2, -1)), 0.5 * same_place], axis=-1)
