"""Decoders that are trained on trials of some conditions and tested on those of others."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.measures._means import joined_groups
from partwhole.measures.abstraction.decoder import Clouds
from partwhole.measures.abstraction.dichotomies import Dichotomies, Near, held_out_sets

# More folds of groups take longer, and leave little more for training.
MOST_FOLDS = 8


@dataclass(frozen=True, eq=False)
class Split:
    """Conditions of training and of test, and the dichotomies that they serve."""

    train: Int[np.ndarray, " a"]
    test: Int[np.ndarray, " b"]
    dichotomies: Int[np.ndarray, " d"]


def splits_of(
    listed: Dichotomies,
    size: int,
    most: int,
    seed: int,
    near: Near | None = None,
) -> tuple[list[Split], Int[np.ndarray, " D"]]:
    """Return the splits of all dichotomies, and how many every dichotomy has."""
    served: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
    for number, labels in enumerate(listed.labels):
        included = tuple(np.flatnonzero(labels).tolist())
        for held in held_out_sets(labels, size, most, seed, near):
            served[included, held].append(number)
    splits = [
        Split(np.setdiff1d(included, held), np.array(held), np.array(numbers))
        for (included, held), numbers in served.items()
    ]
    counts = np.zeros(len(listed.labels), dtype=np.int64)
    for split in splits:
        counts[split.dichotomies] += 1
    return splits, counts


def transfer(
    clouds: Clouds, labels: Int[np.ndarray, "D T"], splits: list[Split]
) -> Float[np.ndarray, "R D"]:
    """Return sums over splits of the mean accuracy on held-out conditions."""
    total = np.zeros((len(clouds.positions), len(labels)))
    for split in splits:
        train, test = (
            np.flatnonzero(np.isin(clouds.index, conditions))
            for conditions in (split.train, split.test)
        )
        hits = clouds.hits(train, test, labels[split.dichotomies])
        shares = hits[..., split.test] / clouds.counts[split.test]
        total[:, split.dichotomies] += shares.mean(axis=2)
    return total


def folds_of_groups(
    group: Int[np.ndarray, " n"], index: Int[np.ndarray, " n"], labels: Int[np.ndarray, "D T"]
) -> Int[np.ndarray, "D R"]:
    """Return the fold of every group, for each dichotomy; all 0 where no two folds are possible.

    Groups that have one side alone are joined with others, so that every fold has both: training
    then has as many groups of both sides, as far as there are. Else what few groups share would
    put the threshold nearer to their side, and decoders without a signal were wrong too often.
    """
    n_groups = int(group.max()) + 1
    counts = np.zeros((n_groups, labels.shape[1]))
    np.add.at(counts, (group, index), 1.0)
    folds = np.empty((len(labels), n_groups), dtype=np.int64)
    known: dict[bytes, np.ndarray] = {}
    for row, label in zip(folds, labels, strict=True):
        present = np.column_stack([counts[:, label == side].any(axis=1) for side in (-1, 1)])
        key = present.tobytes()
        if key not in known:
            known[key] = joined_groups(present) % MOST_FOLDS
        row[:] = known[key]
    return folds


def transfer_between_groups(
    clouds: Clouds,
    labels: Int[np.ndarray, "D T"],
    splits: list[Split],
    group: Int[np.ndarray, " n"],
    folds: Int[np.ndarray, "D G"],
) -> tuple[Float[np.ndarray, "R D"], Int[np.ndarray, " D"]]:
    """Return sums as `transfer`, of decoders trained on trials of other groups, and the splits.

    Trials that lack such a decoder are not tested, and a split with a condition of which none is
    tested is left out.
    """
    total = np.zeros((len(clouds.positions), len(labels)))
    n_splits = np.zeros(len(labels), dtype=np.int64)
    alike, kind = np.unique(folds, axis=0, return_inverse=True)
    for split in splits:
        for k in np.unique(kind.ravel()[split.dichotomies]):
            chosen = split.dichotomies[kind.ravel()[split.dichotomies] == k]
            shares, tested = _between_folds(clouds, labels[chosen], split, alike[k][group])
            total[:, chosen[tested]] += shares[:, tested]
            n_splits[chosen[tested]] += 1
    return total, n_splits


def _between_folds(
    clouds: Clouds, labels: Int[np.ndarray, "L T"], split: Split, fold: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "R L"], Bool[np.ndarray, " L"]]:
    """Return the mean accuracy on held-out conditions, and whether all of them were tested."""
    index = clouds.index
    in_train, in_test = np.isin(index, split.train), np.isin(index, split.test)
    hits = np.zeros((len(clouds.positions), *labels.shape))
    tested = np.zeros(labels.shape)
    for left_out in np.unique(fold[in_test]):
        train = np.flatnonzero(in_train & (fold != left_out))
        test = np.flatnonzero(in_test & (fold == left_out))
        sides = labels[:, np.unique(index[train])]
        both = np.any(sides < 0, axis=1) & np.any(sides > 0, axis=1)
        if both.any():
            hits[:, both] += clouds.hits(train, test, labels[both])
            tested[both] += np.bincount(index[test], minlength=labels.shape[1])
    of_test = tested[:, split.test]
    shares = hits[..., split.test] / np.maximum(of_test, 1.0)
    return shares.mean(axis=2), np.all(of_test > 0.0, axis=1)
