"""Trials of which some train a readout, from arrays or from a recording."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._types import Seed
from partwhole.features.conjunctions import Dictionary
from partwhole.measures._offsets import pseudo_trials
from partwhole.measures.readouts.sets import conditions_marked
from partwhole.measures.readouts.targets import single_targets, targets_of
from partwhole.recordings import Recording


@dataclass(frozen=True, eq=False)
class TrialsOfReadout:
    """Trials of conditions with one target each.

    Parameters
    ----------
    features : float array, shape (n, p)
    index : int array, shape (n,)
        The condition of each trial.
    conditions : int array, shape (A, C)
    targets : float array, shape (A, k)
    is_train : bool array, shape (n,)
    names : tuple of str, length C; or empty
        Of the components, if they have some.
    values : tuple of tuples, length C; or empty
    outputs : tuple of str, length k; or empty
    """

    features: Float[np.ndarray, "n p"]
    index: Int[np.ndarray, " n"]
    conditions: Int[np.ndarray, "A C"]
    targets: Float[np.ndarray, "A k"]
    is_train: Bool[np.ndarray, " n"]
    names: tuple[str, ...] = ()
    values: tuple[tuple[Hashable, ...], ...] = ()
    outputs: tuple[str, ...] = ()


def trials_of_arrays(
    features: Float[np.ndarray, "n p"],
    components: Int[np.ndarray, "n C"] | None,
    targets: Any,
    is_train: Bool[np.ndarray, " n"] | None,
) -> TrialsOfReadout:
    """Return the trials of arrays.

    Raises
    ------
    InputError
        If one of them is missing, targets are a name, values are not numbered from 0, or targets of
        a condition differ.
    """
    given = {"components": components, "targets": targets, "is_train": is_train}
    missing = [name for name, value in given.items() if value is None or isinstance(value, str)]
    require(
        not missing,
        "features in an array come with components, numbers as targets, and is_train",
        f"no {missing[0] if missing else ''}",
        "pass all of them, or a Recording",
    )
    assert components is not None
    assert is_train is not None
    require(
        components.min(initial=0) >= 0,
        "components are value indices from 0",
        components.min(initial=0),
        "renumber them",
    )
    n_values = [int(column.max()) + 1 for column in components.T]
    _, index = Dictionary.of(components, tuple(range(components.shape[1])), n_values)
    _, first, index = np.unique(index, return_index=True, return_inverse=True)
    y = single_targets(targets.reshape(len(targets), -1), index)
    return TrialsOfReadout(features, index, components[first], y, is_train)


def trials_of_recording(
    recording: Recording,
    components: object,
    targets: str | Float[np.ndarray, " n"] | Float[np.ndarray, "n k"] | None,
    is_train: Bool[np.ndarray, " n"] | None,
    seed: Seed,
) -> TrialsOfReadout:
    """Return the trials of a recording, averaged over times and combined over sessions.

    Raises
    ------
    InputError
        For components beside it, no mask or one of other trials, targets that `targets_of` refuses,
        and, of neurons of several sessions, a mask that divides the trials of a condition.
    """
    require(
        components is None,
        "a recording has its own conditions",
        "components beside it",
        "leave them out",
    )
    require(
        is_train is not None and len(is_train) == recording.n_trials,
        f"is_train marks those of the recording's {recording.n_trials} trials that are for "
        "training",
        "none" if is_train is None else f"{len(is_train)} entries",
        "pass an entry for each trial, or use held_out_readouts to hold out every condition",
    )
    assert is_train is not None
    whole = pseudo_trials(recording.averaged(), seed)
    if len(recording.blocks) > 1:
        (held_out,) = conditions_marked(~is_train[None], recording, whole.conditions)
        of_whole = ~held_out[whole.condition_of_trial]
    else:
        of_whole = is_train
    described = targets_of(targets, recording, whole.conditions)
    return TrialsOfReadout(
        whole.responses,
        whole.condition_of_trial,
        whole.conditions,
        described.by_condition,
        of_whole,
        whole.names,
        whole.values,
        described.outputs,
    )
