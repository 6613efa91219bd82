"""What is added to all responses in a group, apart from what its conditions add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from partwhole._types import Seed
from partwhole.measures._rows import averaging
from partwhole.recordings import Recording


def group_offsets(
    means: Float[np.ndarray, "R T p"], counts: Float[np.ndarray, "R T"]
) -> Float[np.ndarray, "R p"]:
    """Return the offset of each group, fitted together with the means of conditions.

    By least squares, so that conditions that a group lacks, or has more often, are no offset of it.
    Groups without common conditions are compared with none of the others; offsets of those that
    are linked add up to 0.

    Parameters
    ----------
    means : float array, shape (R, T, p)
        Of each condition in each group; anything where there are no trials.
    counts : float array, shape (R, T)
        Their trials.
    """
    weighted = np.where(counts[..., None] > 0.0, counts[..., None] * means, 0.0)
    totals = np.maximum(counts.sum(axis=0), 1e-300)
    of_conditions = weighted.sum(axis=0) / totals[:, None]
    # Normal equations of the offsets, with the means of conditions eliminated.
    system = np.diag(counts.sum(axis=1)) - (counts / totals) @ counts.T
    return np.linalg.pinv(system, hermitian=True) @ (weighted.sum(axis=1) - counts @ of_conditions)


def pseudo_trials(recording: Recording, seed: Seed = 0) -> Recording:
    """Return trials combined of several sessions, less what their groups add to all responses.

    A combined trial is of different groups, which it cannot keep. The recording itself, if all
    neurons were recorded in all trials.
    """
    if len(recording.blocks) == 1:
        return recording
    if recording.groups is not None:
        recording = without_offsets(recording)
    return recording.pseudo_trials(seed)


def without_offsets(recording: Recording) -> Recording:
    """Return a recording without groups, whose responses are less the offsets of its groups.

    Each session's groups have offsets of their own.
    """
    assert recording.groups is not None
    responses = recording.responses.copy()
    n_conditions = recording.n_conditions
    for block in recording.blocks:
        rows, columns = block.trials, block.neurons
        group = np.unique(recording.groups[rows], return_inverse=True)[1].ravel()
        n_groups = int(group.max()) + 1
        cell = group * n_conditions + recording.condition_of_trial[rows]
        counts = np.bincount(cell, minlength=n_groups * n_conditions)
        of_cells = averaging(cell, np.maximum(counts, 1)) @ responses[np.ix_(rows, columns)]
        offsets = group_offsets(
            of_cells.reshape(n_groups, n_conditions, -1),
            counts.reshape(n_groups, n_conditions).astype(float),
        )
        responses[np.ix_(rows, columns)] -= offsets[group]
    return replace(recording, responses=responses, groups=None, group_values=())
