"""A recording: responses of neurons, voxels or units in trials of known conditions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index, Real, Seed
from partwhole.recordings._parts import with_trials, without_component
from partwhole.recordings._rsatoolbox import dataset_of
from partwhole.recordings._rules import (
    require_axes,
    require_conditions,
    require_groups,
    require_labels,
    require_responses,
)
from partwhole.recordings.blocks import Block, blocks_of, combined


@door(missing=("responses",))
@dataclass(frozen=True, eq=False)
class Recording:
    """Responses in trials of known conditions.

    `from_trials` makes one of arrays and tables with labels as they are, `read` of files.

    Parameters
    ----------
    responses : float array, shape (n, p) or (n, p, t)
        A row for each trial (or image), a column for each neuron (voxel, unit), and a third axis
        for time. NaN in all trials of a session in which a neuron was not recorded.
    components : int array, shape (n, C)
        The condition of each trial: the index of each component's value in `values`.
    names : tuple of str, length C
    values : tuple of tuples, length C
    groups : int array, shape (n,), optional
        The run or block of each trial. Trials of one group may share noise, so that measures with
        groups multiply trials of different groups alone.
    sessions : int array, shape (n,), optional
        The session of each trial, where neurons were not all recorded together.
    times : float array, shape (t,), optional
    notes : tuple of str, default ()
        What was left out in reading.
    group_values, session_values : tuples, default ()
        Labels of groups and sessions, which are then indices of them; else they are numbers.

    Raises
    ------
    InputError
        For shapes that disagree, indices without a value, a response that is missing in a part of
        a session, fewer than two conditions, neurons that were never recorded, responses that
        don't vary, and groups that belong to several sessions.

    Examples
    --------
    >>> responses = np.random.default_rng(0).normal(size=(8, 5))
    >>> rows = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 2, axis=0)
    >>> Recording(responses, rows, ("shape", "colour"), (("disc", "star"), ("red", "blue")))
    Recording(8 trials of 5 neurons, 4 conditions: shape (2) x colour (2))
    """

    responses: Float[np.ndarray, "n p *t"]
    components: Int[np.ndarray, "n C"]
    names: tuple[str, ...]
    values: tuple[tuple[Hashable, ...], ...]
    groups: Int[np.ndarray, " n"] | None = None
    sessions: Int[np.ndarray, " n"] | None = None
    times: Float[np.ndarray, " _"] | None = None
    notes: tuple[str, ...] = ()
    group_values: tuple[Hashable, ...] = ()
    session_values: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        require_axes(self.responses.shape, self.times)
        require_conditions(self.components, self.names, self.values)
        require_labels("groups", self.groups, self.group_values)
        require_labels("sessions", self.sessions, self.session_values)
        require_groups(self.groups, self.sessions, self.group_values)
        require_responses(self.responses, self.sessions, self.session_values)

    def __repr__(self) -> str:
        """Return the size and the components."""
        n, p, *times = self.responses.shape
        grid = " x ".join(
            f"{name} ({len(values)})" for name, values in zip(self.names, self.values, strict=True)
        )
        parts = [f"{n} trials of {p} neuron{'s' * (p != 1)}"]
        if times:
            parts[0] += f" at {times[0]} time{'s' * (times[0] != 1)}"
        for word, index in (("group", self.groups), ("session", self.sessions)):
            if index is not None:
                count = len(np.unique(index))
                parts.append(f"{count} {word}{'s' * (count != 1)}")
        return f"Recording({', '.join(parts)}, {self.n_conditions} conditions: {grid})"

    @property
    def n_trials(self) -> int:
        """Return the number of trials."""
        return len(self.responses)

    @property
    def n_neurons(self) -> int:
        """Return the number of neurons, voxels or units."""
        return self.responses.shape[1]

    @property
    def n_components(self) -> int:
        """Return the number of components C."""
        return self.components.shape[1]

    @property
    def n_conditions(self) -> int:
        """Return the number of different conditions."""
        return len(self.conditions)

    @cached_property
    def _conditions(self) -> tuple[np.ndarray, np.ndarray]:
        conditions, index = np.unique(self.components, axis=0, return_inverse=True)
        return conditions, index.ravel()

    @property
    def conditions(self) -> Int[np.ndarray, "T C"]:
        """Return the different conditions, in the order of their values."""
        return self._conditions[0]

    @property
    def condition_of_trial(self) -> Int[np.ndarray, " n"]:
        """Return each trial's condition, as a row of `conditions`."""
        return self._conditions[1]

    @door
    def label(self, condition: Index) -> str:
        """Return the values of a condition in words, such as "disc, red".

        Parameters
        ----------
        condition : int
            A row of `conditions`.

        Returns
        -------
        str

        Raises
        ------
        InputError
            If there is no such condition.
        """
        require(
            condition < self.n_conditions,
            f"conditions are numbered from 0 to {self.n_conditions - 1}",
            condition,
            "choose one of them",
        )
        index = self.conditions[condition]
        return ", ".join(str(values[i]) for values, i in zip(self.values, index, strict=True))

    @door
    def split_off(self, name: str) -> tuple[Recording, tuple[Hashable, ...]]:
        """Return the recording without a component, and the value of that component in each trial.

        Parameters
        ----------
        name : str

        Returns
        -------
        Recording
        tuple, length n

        Raises
        ------
        InputError
            For a name that no component has, and for the only one.
        """
        return without_component(self, name)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Return neurons by the trials in which they were recorded; one block if all were."""
        return blocks_of(self.responses, self.sessions)

    @door(infinite=("start", "stop"))
    def averaged(self, start: Real = -np.inf, stop: Real = np.inf) -> Recording:
        """Return the recording with responses averaged over the times from start to stop.

        Parameters
        ----------
        start, stop : float, default all times
            In the unit of `times`, which are 0, 1, ... if there are none.

        Returns
        -------
        Recording
            Itself, if it has no times.

        Raises
        ------
        InputError
            If there is no time between them.
        """
        if self.responses.ndim == 2:
            return self
        times = np.arange(self.responses.shape[2]) if self.times is None else self.times
        inside = (times >= start) & (times <= stop)
        require(
            bool(inside.any()),
            "a window contains a time of the recording",
            f"{start:g} to {stop:g}, of times from {times.min():g} to {times.max():g}",
            "choose a window between them",
        )
        return replace(self, responses=self.responses[..., inside].mean(axis=2), times=None)

    @door
    def at(self, time: Index) -> Recording:
        """Return the recording at one time.

        Parameters
        ----------
        time : int
            The place of the time, counted from 0.

        Returns
        -------
        Recording

        Raises
        ------
        InputError
            If there are no times, or fewer.
        """
        n_times = self.responses.shape[2] if self.responses.ndim == 3 else 0
        require(
            time < n_times,
            "a time is a place on the third axis of responses, counted from 0",
            f"{time} for {n_times} times",
            "choose one of them" if n_times else "leave it out: the recording has no times",
        )
        return replace(self, responses=self.responses[..., time], times=None)

    @door
    def select(self, trials: Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> Recording:
        """Return the recording with some of its trials.

        Parameters
        ----------
        trials : int array, shape (m,); or bool array, shape (n,)
            Their numbers, counted from 0, or a mask of all trials.

        Returns
        -------
        Recording
            Components keep all their values.

        Raises
        ------
        InputError
            For a mask of another length, numbers out of range, and trials that are no recording,
            such as those of a single condition.
        """
        return with_trials(self, trials)

    @door
    def pseudo_trials(self, seed: Seed = 0) -> Recording:
        """Return a recording in which every neuron has a response in every trial.

        A trial combines one of each block of neurons that were recorded together, drawn without
        replacement among those of its condition, as is usual for neurons of several sessions.
        Correlations of noise between blocks are lost.

        Parameters
        ----------
        seed : int, default 0
            For the draw.

        Returns
        -------
        Recording
            Itself, if all neurons were recorded in all trials. Else one without groups and
            sessions, with as many trials of each condition as the block with fewest has; conditions
            that a block lacks are left out, and noted.

        Raises
        ------
        InputError
            If fewer than two conditions are in all blocks.
        """
        if len(self.blocks) == 1:
            return self
        conditions, responses = combined(
            self.responses, self.condition_of_trial, self.blocks, np.random.default_rng(seed)
        )
        missing = self.n_conditions - len(np.unique(conditions))
        lack = f"{missing} condition{'s' * (missing != 1)} that a session lacks left out"
        return replace(
            self,
            responses=responses,
            components=self.conditions[conditions],
            groups=None,
            sessions=None,
            notes=(*self.notes, *([lack] if missing else [])),
            group_values=(),
            session_values=(),
        )

    def to_rsatoolbox(self) -> Any:
        """Return the recording as a data set of rsatoolbox, for what that package measures.

        Returns
        -------
        rsatoolbox.data.Dataset
            With a descriptor of trials for each component, and for "groups" and "sessions" if there
            are any, their labels as they are; and for the "condition", in words. Channels have the
            number of their "neuron". With times, a TemporalDataset. Of neurons that were not all
            recorded together, a list with a data set for each block of them.

        Raises
        ------
        InputError
            If rsatoolbox is not installed, or a component has the name of another descriptor.

        Notes
        -----
        In `rsatoolbox.rdm.calc_rdm`, method "crossnobis" with the conditions as `descriptor` and
        the groups as `cv_descriptor` divides squared distances by the number of channels. Where all
        groups have all conditions equally often, saliences stand on the same distances.

        Examples
        --------
        >>> rows, runs = np.tile([[0], [1], [2]], (2, 1)), np.repeat([0, 1], 3)
        >>> responses = np.array([[0.0, 1.0], [2.0, 1.0], [2.0, 5.0]] * 2)
        >>> pictures = Recording(responses, rows, ("picture",), (("cat", "dog", "eel"),), runs)
        >>> dataset = pictures.to_rsatoolbox()
        >>> dataset.n_obs, dataset.n_channel, list(dataset.obs_descriptors)
        (6, 2, ['picture', 'groups', 'condition'])
        """
        return dataset_of(self)
