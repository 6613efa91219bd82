"""Parts of a recording: without a component, or with some of its trials."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from partwhole._checks import require

if TYPE_CHECKING:
    from partwhole.recordings.recording import Recording


def without_component(recording: Recording, name: str) -> tuple[Recording, tuple[Hashable, ...]]:
    """Return the recording without a component, and its value in each trial."""
    names, listed = recording.names, recording.values
    require(
        name in names and len(names) > 1,
        "one of several components is split off",
        f"{name!r} of {', '.join(map(repr, names))}",
        "name another",
    )
    c = names.index(name)
    rest = replace(
        recording,
        components=np.delete(recording.components, c, axis=1),
        names=(*names[:c], *names[c + 1 :]),
        values=(*listed[:c], *listed[c + 1 :]),
    )
    return rest, tuple(listed[c][index] for index in recording.components[:, c])


def with_trials(recording: Recording, trials: np.ndarray) -> Recording:
    """Return the recording with the trials of a mask, or of some numbers."""
    n = recording.n_trials
    if trials.dtype == bool:
        rule = "a mask has an entry for each trial"
        lengths = f"{len(trials)} for {n} trials"
        require(len(trials) == n, rule, lengths, "pass a mask of all trials")
        trials = np.flatnonzero(trials)
    require(
        len(trials) > 0 and trials.min() >= 0 and trials.max() < n,
        f"trials are numbers from 0 to {n - 1}",
        f"numbers from {trials.min()} to {trials.max()}" if len(trials) else "none",
        "choose some of them",
    )
    parts = (recording.groups, recording.sessions)
    groups, sessions = (None if part is None else part[trials] for part in parts)
    return replace(
        recording,
        responses=recording.responses[trials],
        components=recording.components[trials],
        groups=groups,
        sessions=sessions,
    )
