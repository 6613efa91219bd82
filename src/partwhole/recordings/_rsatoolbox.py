"""A recording as rsatoolbox takes it: a data set for each block of neurons."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole._checks import require
from partwhole.recordings._rules import label_of
from partwhole.recordings.blocks import Block

if TYPE_CHECKING:
    from partwhole.recordings.recording import Recording

CONDITION = "condition"


def dataset_of(recording: Recording) -> Any:
    """Return the data set of a recording, or a list of those of its blocks of neurons."""
    require(
        find_spec("rsatoolbox") is not None,
        "to_rsatoolbox needs the package rsatoolbox",
        "an installation without it",
        "install it: pip install rsatoolbox",
    )
    columns = _columns(recording)
    datasets = [_of_block(recording, block, columns) for block in recording.blocks]
    return datasets[0] if len(datasets) == 1 else datasets


def _columns(recording: Recording) -> dict[str, list[Any]]:
    """Return the descriptors of trials by name: components, condition, groups and sessions."""
    columns = {
        name: [values[i] for i in codes]
        for name, values, codes in zip(
            recording.names, recording.values, recording.components.T, strict=True
        )
    }
    parts = (
        ("groups", recording.groups, recording.group_values),
        ("sessions", recording.sessions, recording.session_values),
    )
    added: dict[str, list[Any]] = {
        name: [label_of(number, values) for number in index.tolist()]
        for name, index, values in parts
        if index is not None
    }
    # A single component of that name is the condition, with its labels as they are.
    if recording.names != (CONDITION,):
        added[CONDITION] = _labels(recording)
    taken = [name for name in recording.names if name in added]
    require(
        not taken,
        f"components have other names than what stands beside them: {', '.join(added)}",
        ", ".join(map(repr, taken)),
        "rename these columns of the conditions",
    )
    return columns | added


def _labels(recording: Recording) -> list[str]:
    """Return the condition of each trial in words, numbered where two have the same words."""
    labels = [recording.label(i) for i in range(recording.n_conditions)]
    if len({*labels}) < len(labels):
        labels = [f"{label} ({i})" for i, label in enumerate(labels)]
    return [labels[i] for i in recording.condition_of_trial]


def _of_block(recording: Recording, block: Block, columns: dict[str, list[Any]]) -> Any:
    from rsatoolbox.data.dataset import Dataset, TemporalDataset

    responses = recording.responses[np.ix_(block.trials, block.neurons)]
    descriptors = {
        "obs_descriptors": {
            name: [column[i] for i in block.trials] for name, column in columns.items()
        },
        "channel_descriptors": {"neuron": block.neurons.tolist()},
    }
    if responses.ndim == 2:
        return Dataset(responses, **descriptors)
    times = np.arange(responses.shape[2]) if recording.times is None else recording.times
    return TemporalDataset(responses, time_descriptors={"time": times.tolist()}, **descriptors)
