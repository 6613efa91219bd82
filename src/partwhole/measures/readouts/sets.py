"""The sets of conditions that are held out together."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import require
from partwhole.measures.readouts.targets import present_in
from partwhole.recordings import Recording

MOST_SETS = 20_000
Sets = Literal["each", "pairs"] | Bool[np.ndarray, "..."]


def sets_of(
    held_out: Sets, recording: Recording, conditions: Int[np.ndarray, "T C"]
) -> Bool[np.ndarray, "F T"]:
    """Return the conditions of each set that is held out.

    Parameters
    ----------
    held_out : {"each", "pairs"} or bool array, shape (n,) or (F, n)
        Masks mark the trials of `recording`.
    recording : Recording
    conditions : int array, shape (T, C)
        Those of the recording of which all neurons have responses.

    Returns
    -------
    bool array, shape (F, T)

    Raises
    ------
    InputError
        For masks that mark a part of a condition, no condition, or all but one; and for more than
        20,000 sets.
    """
    if not isinstance(held_out, str):
        return _marked(held_out, recording, conditions)
    n_conditions = len(conditions)
    if held_out == "each":
        return np.eye(n_conditions, dtype=bool)
    count = n_conditions * (n_conditions - 1) // 2
    require(
        count <= MOST_SETS and n_conditions > 3,
        f"pairs are held out of 4 conditions or more, at most {MOST_SETS:,} pairs",
        f"{count:,} pairs of {n_conditions} conditions",
        'pass held_out="each"',
    )
    pairs = np.array(list(combinations(range(n_conditions), 2)))
    sets = np.zeros((count, n_conditions), dtype=bool)
    np.put_along_axis(sets, pairs, True, axis=1)
    return sets


def _marked(
    masks: Bool[np.ndarray, "..."], recording: Recording, conditions: Int[np.ndarray, "T C"]
) -> Bool[np.ndarray, "F T"]:
    """Return the conditions whose trials are marked, of each mask."""
    folds = np.atleast_2d(masks)
    require(
        folds.ndim == 2 and folds.shape[1] == recording.n_trials and len(folds) <= MOST_SETS,
        f"masks of held-out trials have an entry for each of {recording.n_trials} trials, a row "
        f"for each of at most {MOST_SETS:,} sets",
        f"shape {masks.shape}",
        "mark the trials of the recording",
    )
    sets = conditions_marked(folds, recording, conditions)
    count = sets.sum(axis=1)
    worst = int(np.argmax(np.where(count > 0, count, len(conditions))))
    require(
        bool(np.all((count > 0) & (count < len(conditions) - 1))),
        "a mask holds out a condition or more, and leaves two or more for training",
        f"{int(count[worst])} of {len(conditions)} conditions",
        "mark others",
    )
    return sets


def conditions_marked(
    masks: Bool[np.ndarray, "F n"], recording: Recording, conditions: Int[np.ndarray, "T C"]
) -> Bool[np.ndarray, "F T"]:
    """Return the conditions of which each mask marks all trials.

    Raises
    ------
    InputError
        If one marks a part of them.
    """
    index = recording.condition_of_trial
    total = np.bincount(index)
    sets = np.zeros((len(masks), len(total)), dtype=bool)
    for mask, members in zip(masks, sets, strict=True):
        marked = np.bincount(index, mask)
        partly = np.flatnonzero((marked > 0) & (marked < total))
        require(
            not len(partly),
            "a condition is held out with all of its trials",
            f"{int(marked[partly[:1]].sum())} of {int(total[partly[:1]].sum())} trials of "
            f"{recording.label(int(partly[0])) if len(partly) else 'none'}",
            "mark all trials of a condition, or none",
        )
        members[:] = marked > 0
    return sets[:, present_in(recording, conditions)]
