"""The order of samples in batches, and the steps that are recorded."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

Shuffle = Literal["every epoch", "once"]
RECORDS = 200  # target of the geometric grid
SHUFFLE = 101  # random stream of the order, separate from those of the task


def batch_order(
    batch: int, seed: int, n: int, epochs: int, shuffle: Shuffle = "every epoch"
) -> tuple[Int[np.ndarray, "B batch"], Float[np.ndarray, "B batch"]]:
    """Return the rows of each batch of n samples, and their weights in its mean.

    A smaller last batch of an epoch is filled up with sample 0 at weight 0. With "every epoch"
    there are as many batches as steps, with "once" those of one epoch, which are repeated.
    """
    turns = epochs if shuffle == "every epoch" else 1
    per_epoch = -(-n // batch)
    rng = np.random.default_rng([seed, SHUFFLE])
    order = np.zeros((turns, per_epoch * batch), dtype=np.int32)
    for turn in range(turns):
        order[turn, :n] = rng.permutation(n)
    weights = np.zeros(per_epoch * batch)
    weights[:n] = 1.0
    weights = weights.reshape(per_epoch, batch)
    weights /= weights.sum(axis=1, keepdims=True)
    return order.reshape(-1, batch), np.tile(weights, (turns, 1))


def geometric_steps(last: int) -> Int[np.ndarray, " T"]:
    """Return 0 and about 200 steps in geometric distances, to the last."""
    inner = np.unique(np.round(np.geomspace(1, last, _points(last))).astype(int))
    return np.concatenate([[0], inner])


@cache
def _points(last: int) -> int:
    """Return how many geometric grid points give about 200 distinct steps after rounding."""
    points = np.arange(RECORDS, 4 * RECORDS, 4)
    counts = [len(np.unique(np.round(np.geomspace(1, last, n)))) for n in points]
    distances = np.abs(np.array(counts) - min(RECORDS, last))
    return int(points[int(np.argmin(distances))])
