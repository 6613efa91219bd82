"""Neurons that were recorded together, and trials combined of several recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require


@dataclass(frozen=True, eq=False)
class Block:
    """Neurons that were recorded in the same trials.

    Parameters
    ----------
    trials : int array, shape (m,)
    neurons : int array, shape (q,)
    """

    trials: Int[np.ndarray, " m"]
    neurons: Int[np.ndarray, " q"]


def blocks_of(
    responses: Float[np.ndarray, "n p *t"], sessions: Int[np.ndarray, " n"] | None
) -> tuple[Block, ...]:
    """Return neurons by the trials in which they were recorded; one block if all were."""
    static = responses if responses.ndim == 2 else responses[..., 0]
    if sessions is None or not np.isnan(static).any():
        return (Block(np.arange(static.shape[0]), np.arange(static.shape[1])),)
    numbers, first, of_trial = np.unique(sessions, return_index=True, return_inverse=True)
    patterns, of_neuron = np.unique(~np.isnan(static[first]), axis=1, return_inverse=True)
    return tuple(
        Block(
            np.flatnonzero(np.isin(of_trial, np.arange(len(numbers))[pattern])),
            np.flatnonzero(of_neuron.ravel() == i),
        )
        for i, pattern in enumerate(patterns.T)
    )


def combined(
    responses: Float[np.ndarray, "n p *t"],
    condition_of_trial: Int[np.ndarray, " n"],
    blocks: Sequence[Block],
    rng: np.random.Generator,
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, "m p *t"]]:
    """Return the conditions and responses of trials that combine one trial of each block.

    Trials of a block are drawn without replacement among those of the condition; there are as many
    as in the block with fewest.
    """
    n_conditions = int(condition_of_trial.max()) + 1
    counts = [np.bincount(condition_of_trial[b.trials], minlength=n_conditions) for b in blocks]
    fewest = np.min(counts, axis=0)
    require(
        int(np.sum(fewest > 0)) > 1,
        "all neurons were recorded in two conditions or more",
        int(np.sum(fewest > 0)),
        "leave out the sessions that lack conditions",
    )
    conditions = np.repeat(np.arange(n_conditions), fewest)
    trials = np.empty((len(conditions), *responses.shape[1:]))
    for block in blocks:
        shuffled = rng.permutation(block.trials)
        of_condition = condition_of_trial[shuffled]
        rows = np.concatenate([
            shuffled[of_condition == condition][:count] for condition, count in enumerate(fewest)
        ])  # fmt: skip
        trials[:, block.neurons] = responses[np.ix_(rows, block.neurons)]
    return conditions, trials
