"""Decoders that are trained on trials of some conditions and tested on those of others."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.measures.abstraction.decoder import Clouds
from partwhole.measures.abstraction.dichotomies import Dichotomies, Near, held_out_sets


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
