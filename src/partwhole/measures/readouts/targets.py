"""What readouts of a recording answer with: the values of components, or numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole.measures.readouts.labels import label_columns
from partwhole.recordings import Recording

# The columns of a component, and its value at each condition.
Labelled = list[tuple[slice, Int[np.ndarray, " T"]]]


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of conditions.

    Parameters
    ----------
    by_condition : float array, shape (T, k)
    outputs : tuple of str, length k
    labels : tuple of str
        The components whose values are the targets; none for numbers.
    labelled : list
        Of each of them the columns, and its value at each condition.
    """

    by_condition: Float[np.ndarray, "T k"]
    outputs: tuple[str, ...]
    labels: tuple[str, ...]
    labelled: Labelled


def targets_of(
    targets: str | Float[np.ndarray, " n"] | Float[np.ndarray, "n k"] | None,
    recording: Recording,
    conditions: Int[np.ndarray, "T C"],
) -> Targets:
    """Return the targets of some conditions of a recording.

    Parameters
    ----------
    targets : str; or float array, shape (n,) or (n, k); or None
        The name of a component, for its values; numbers, the same for all trials of a condition;
        None for the values of all components.
    recording : Recording
    conditions : int array, shape (T, C)
        In their order; those of which all neurons have responses.

    Raises
    ------
    InputError
        For a name that no component has, and numbers that are not those of the trials or differ
        within a condition.
    """
    if targets is None:
        return _of_components(recording, conditions, range(recording.n_components))
    if isinstance(targets, str):
        require(
            targets in recording.names,
            "targets are numbers, or name a component",
            repr(targets),
            f"choose from {', '.join(map(repr, recording.names))}",
        )
        return _of_components(recording, conditions, [recording.names.index(targets)])
    y = targets.reshape(len(targets), -1)
    require(
        len(y) == recording.n_trials,
        "targets have an entry for each trial",
        f"{len(y)} for {recording.n_trials}",
        "pass the number that each trial's condition asks for",
    )
    kept = present_in(recording, conditions)
    names = ("answer",) if y.shape[1] == 1 else tuple(f"answer {j}" for j in range(y.shape[1]))
    return Targets(single_targets(y, recording.condition_of_trial)[kept], names, (), [])


def single_targets(
    y: Float[np.ndarray, "n k"], index: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "T k"]:
    """Return the target of each condition, the same in all of its trials.

    Raises
    ------
    InputError
        If it differs between them.
    """
    _, first = np.unique(index, return_index=True)
    odd = np.flatnonzero((y != y[first][index]).any(axis=1))
    require(
        not len(odd),
        "all trials of a condition have one target",
        f"{y[odd[:1]].ravel().tolist()} in trial {odd[0] if len(odd) else 0}, and others",
        "average them",
    )
    return y[first]


def present_in(recording: Recording, conditions: Int[np.ndarray, "T C"]) -> np.ndarray:
    """Return which conditions of a recording are among some; a session may lack others."""
    present = {tuple(row) for row in conditions.tolist()}
    return np.array([tuple(row) in present for row in recording.conditions.tolist()])


def _of_components(
    recording: Recording, conditions: Int[np.ndarray, "T C"], chosen: range | list[int]
) -> Targets:
    columns, names, labelled, start = [], [], [], 0
    for c in chosen:
        name, values = recording.names[c], recording.values[c]
        present, labels = np.unique(conditions[:, c], return_inverse=True)
        if len(present) < 2:
            columns.append(np.ones((len(labels), 1)))
            names.append(f"{name} = {values[present[0]]}")
        else:
            columns.append(label_columns(labels, len(present)))
            listed = present[1:] if len(present) == 2 else present
            names += [f"{name} = {values[i]}" for i in listed]
        stop = start + columns[-1].shape[1]
        labelled.append((slice(start, stop), labels))
        start = stop
    labels_of = tuple(recording.names[c] for c in chosen)
    return Targets(np.hstack(columns), tuple(names), labels_of, labelled)
