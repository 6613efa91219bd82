"""Means of a recording's conditions, over its trials or its groups."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._types import Seed
from partwhole.measures._group_means import GroupMeans
from partwhole.measures._offsets import pseudo_trials
from partwhole.measures._rows import averaging, coordinates
from partwhole.measures._trial_means import TrialMeans
from partwhole.recordings import Recording

# More sets of groups add little precision, and products of all pairs of them cost their square.
MOST_SETS = 12

Means = TrialMeans | GroupMeans


def condition_means(recording: Recording, *, center: bool = True, seed: Seed = 0) -> Means:
    """Return the means of a recording's conditions, over times and over trials or groups.

    Conditions that no two trials have, or no two groups, are left out with a note.
    """
    recording = pseudo_trials(recording.averaged(), seed)
    repeated = repeated_conditions(recording)
    unit = "trial" if recording.groups is None else "group"
    lack = int(np.sum(~repeated))
    require(
        len(repeated) - lack > 1,
        f"products of different {unit}s need two conditions or more with two {unit}s each",
        len(repeated) - lack,
        "add repeats of conditions" + " in other groups" * (unit == "group"),
    )
    notes = recording.notes
    if lack:
        notes += (f"{lack} condition{'s' * (lack != 1)} with one {unit} left out",)
    kept = repeated[recording.condition_of_trial]
    index = (np.cumsum(repeated) - 1)[recording.condition_of_trial[kept]]
    conditions = recording.conditions[repeated]
    columns, scale = _scaled(recording.responses[kept], index, center)
    if recording.groups is None:
        trials = coordinates(columns)
        return TrialMeans(conditions, trials, index, columns, scale, center, notes)
    groups = np.unique(recording.groups[kept], return_inverse=True)[1].ravel()
    return _group_means(conditions, columns, index, groups, scale, center, notes)


def degrees_of(means: Means, gradient: Float[np.ndarray, "T q"]) -> float:
    """Return the degrees of freedom of the error of a function of means, by Satterthwaite.

    A condition with few trials has few, however many the others have. Two trials may be alike by
    chance, as if their part in the error were small: the fewer degrees count of those by measured
    parts, and by parts under equal noise. Of groups that each have all conditions they are one
    less than there are groups.
    """
    if not isinstance(means, TrialMeans):
        return float(means.degrees)
    parts = (
        np.bincount(means.index, means.influence(gradient) ** 2),
        np.sum(gradient**2, axis=1) / means.counts,
    )
    squares = [float(np.sum(of**2 / (means.counts - 1.0))) for of in parts]
    # Without noise any number will do.
    return min(
        float(of.sum()) ** 2 / square if square > 0.0 else float(means.degrees)
        for of, square in zip(parts, squares, strict=True)
    )


def repeated_conditions(recording: Recording) -> Bool[np.ndarray, " T"]:
    """Return which conditions have two trials, or trials in two groups."""
    index = recording.condition_of_trial
    if recording.groups is not None:
        index = np.unique(np.column_stack([index, recording.groups]), axis=0)[:, 0]
    return np.bincount(index, minlength=recording.n_conditions) > 1


def _group_means(
    conditions: np.ndarray,
    columns: np.ndarray,
    index: np.ndarray,
    groups: np.ndarray,
    scale: float,
    center: bool,
    notes: tuple[str, ...],
) -> GroupMeans:
    present = np.zeros((int(groups.max()) + 1, len(conditions)), dtype=bool)
    present[groups, index] = True
    joined = joined_groups(present)
    n_sets = int(joined.max()) + 1
    require(
        n_sets > 1,
        "groups can be joined into two sets or more that each have all conditions",
        f"{len(present)} groups of which no two sets do",
        "leave out conditions that few groups have",
    )
    if n_sets < len(present):
        notes += (f"{len(present)} groups joined into {n_sets} sets with all conditions",)
    place = joined[groups] * len(conditions) + index
    by_set = averaging(place, np.bincount(place)) @ columns
    by_set = by_set.reshape(n_sets, len(conditions), -1)
    if center:
        by_set = by_set - by_set.mean(axis=1, keepdims=True)
    counts = np.bincount(index)
    within = columns - (averaging(index, counts) @ columns)[index]
    noise = np.bincount(index, np.einsum("ij,ij->i", within, within)) / (counts - 1)
    together = coordinates(by_set.reshape(n_sets * len(conditions), -1))
    return GroupMeans(
        conditions, together.reshape(n_sets, len(conditions), -1), by_set, scale, center,
        float(noise.mean()), notes,
    )  # fmt: skip


def joined_groups(present: Bool[np.ndarray, "R T"]) -> Int[np.ndarray, " R"]:
    """Join groups that lack conditions into sets that have all of them, as many as greed gives.

    Parameters
    ----------
    present : bool array, shape (R, T)
        Which group has trials of which condition.

    Returns
    -------
    int array, shape (R,)
        The set of each group, from 0.
    """
    joined = np.full(len(present), -1)
    left = list(range(len(present)))
    n_sets = 0
    while left:
        missing = np.ones(present.shape[1], dtype=bool)
        chosen: list[int] = []
        while missing.any() and left:
            gains = [int(np.sum(present[group] & missing)) for group in left]
            best = left[int(np.argmax(gains))]
            if max(gains) == 0:
                break
            chosen.append(best)
            left.remove(best)
            missing &= ~present[best]
        if missing.any():
            # What is left makes no whole set: it goes to those that there are.
            for place, group in enumerate([*chosen, *left]):
                joined[group] = place % max(n_sets, 1)
            break
        joined[chosen] = n_sets
        n_sets += 1
    return joined % MOST_SETS


def _scaled(
    responses: np.ndarray, index: np.ndarray, center: bool
) -> tuple[Float[np.ndarray, "n p"], float]:
    """Return responses less the mean over conditions, in units of the largest."""
    counts = np.bincount(index)
    if center:
        responses = responses - np.mean(averaging(index, counts) @ responses, axis=0)
    scale = float(np.abs(responses).max(initial=0.0))
    require(
        scale > 0,
        "responses differ between conditions or trials",
        "the same in all that are repeated",
        "look whether the right array was passed",
    )
    return responses / scale, scale
