"""A recording: responses of neurons, voxels or units in trials of known conditions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real, Seed


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

    def __post_init__(self) -> None:
        shape = self.responses.shape
        require(
            self.responses.ndim in (2, 3),
            "responses are trials x neurons, or trials x neurons x times",
            f"shape {shape}",
            "flatten what is measured in a trial into one axis",
        )
        n_times = shape[2] if self.responses.ndim == 3 else None
        require(
            self.times is None or len(self.times) == n_times,
            "times are those of the third axis of responses",
            f"{0 if self.times is None else len(self.times)} for shape {shape}",
            "pass a time for each entry of that axis, or leave times out",
        )
        _require_conditions(self.components, self.names, self.values)
        _require_groups(self.groups, self.sessions)
        _require_responses(self.responses, self.sessions)

    def __repr__(self) -> str:
        """Return the size and the components."""
        n, p, *times = self.responses.shape
        grid = " x ".join(
            f"{name} ({len(values)})" for name, values in zip(self.names, self.values, strict=True)
        )
        parts = [f"{n} trials of {p} neurons"]
        if times:
            parts[0] += f" at {times[0]} times"
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

    def label(self, condition: int) -> str:
        """Return the values of a condition in words, such as "disc, red"."""
        index = self.conditions[condition]
        return ", ".join(str(values[i]) for values, i in zip(self.values, index, strict=True))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Return neurons by the trials in which they were recorded; one block if all were."""
        static = self.responses if self.responses.ndim == 2 else self.responses[..., 0]
        if self.sessions is None or not np.isnan(static).any():
            return (Block(np.arange(self.n_trials), np.arange(self.n_neurons)),)
        sessions, first, of_trial = np.unique(self.sessions, return_index=True, return_inverse=True)
        present = ~np.isnan(static[first])
        patterns, of_neuron = np.unique(present, axis=1, return_inverse=True)
        return tuple(
            Block(
                np.flatnonzero(np.isin(of_trial, np.arange(len(sessions))[pattern])),
                np.flatnonzero(of_neuron.ravel() == i),
            )
            for i, pattern in enumerate(patterns.T)
        )

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

    def at(self, time: int) -> Recording:
        """Return the recording at one time, which is counted from 0."""
        return replace(self, responses=self.responses[..., time], times=None)

    def select(self, trials: np.ndarray) -> Recording:
        """Return the recording with some trials, by their numbers or by a mask."""
        parts = (self.groups, self.sessions)
        groups, sessions = (None if part is None else part[trials] for part in parts)
        return replace(
            self,
            responses=self.responses[trials],
            components=self.components[trials],
            groups=groups,
            sessions=sessions,
        )

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
        rng = np.random.default_rng(seed)
        index, n_conditions = self.condition_of_trial, self.n_conditions
        counts = np.array([
            np.bincount(index[block.trials], minlength=n_conditions) for block in self.blocks
        ])  # fmt: skip
        fewest = counts.min(axis=0)
        require(
            int(np.sum(fewest > 0)) > 1,
            "two conditions or more were shown to all neurons",
            int(np.sum(fewest > 0)),
            "leave out the sessions that lack conditions",
        )
        conditions = np.repeat(np.arange(n_conditions), fewest)
        responses = np.empty((len(conditions), *self.responses.shape[1:]))
        for block in self.blocks:
            drawn = [
                rng.permutation(block.trials[index[block.trials] == condition])[:count]
                for condition, count in enumerate(fewest)
            ]
            rows = np.concatenate(drawn)
            responses[:, block.neurons] = self.responses[np.ix_(rows, block.neurons)]
        missing = int(np.sum(fewest == 0))
        lack = f"{missing} condition{'s' * (missing != 1)} that a session lacks left out"
        return replace(
            self,
            responses=responses,
            components=self.conditions[conditions],
            groups=None,
            sessions=None,
            notes=(*self.notes, *([lack] if missing else [])),
        )


def _require_conditions(
    components: np.ndarray, names: tuple[str, ...], values: tuple[tuple[Hashable, ...], ...]
) -> None:
    n_components = components.shape[1]
    require(
        len(names) == n_components and len(values) == n_components,
        "every component has a name and its values",
        f"{n_components} components, {len(names)} names, {len(values)} lists",
        "pass one name and one list of values for each column of components",
    )
    for name, column, listed in zip(names, components.T, values, strict=True):
        require(
            column.min() >= 0 and column.max() < len(listed),
            f"components are indices into the values of {name!r}",
            f"indices {column.min()}..{column.max()} for {len(listed)} values",
            "number the values from 0",
        )
    require(
        bool(np.any(components != components[0])),
        "a recording has two conditions or more",
        "the same condition in all trials",
        "add trials of others",
    )


def _require_groups(groups: np.ndarray | None, sessions: np.ndarray | None) -> None:
    if groups is None:
        return
    require(
        len(np.unique(groups)) > 1,
        "products across groups need two groups or more",
        "all trials in one",
        "leave groups out if noise is independent between trials",
    )
    if sessions is None:
        return
    pairs = np.unique(np.column_stack([groups, sessions]), axis=0)
    several = np.flatnonzero(np.bincount(pairs[:, 0]) > 1)
    require(
        not len(several),
        "a group is in one session",
        f"group number {several[0] if len(several) else ''} in several",
        "give the groups of each session names of their own, such as day and run together",
    )


def _require_responses(responses: np.ndarray, sessions: np.ndarray | None) -> None:
    missing = np.isnan(responses)
    if missing.any():
        trial, neuron = (int(axis[0]) for axis in np.nonzero(missing)[:2])
        place = f"NaN in trial {trial}, neuron {neuron} (counted from 0)"
        require(
            sessions is not None,
            "responses are numbers, unless sessions say which neurons were recorded when",
            place,
            "pass sessions, or missing='drop' to leave such trials out",
        )
        assert sessions is not None
        by_trial = missing.reshape(*missing.shape[:2], -1)
        partly = by_trial.any(axis=2) & ~by_trial.all(axis=2)
        for session in np.unique(sessions):
            rows = by_trial[sessions == session].any(axis=2)
            partly[sessions == session] |= rows != rows[:1]
        trial, neuron = (int(axis[0]) for axis in np.nonzero(partly)) if partly.any() else (0, 0)
        require(
            not partly.any(),
            "a neuron is recorded in all trials of a session, or in none",
            f"trial {trial} unlike others of its session at neuron {neuron} (counted from 0)",
            "pass missing='drop' to leave such trials out",
        )
        never = missing.reshape(len(missing), missing.shape[1], -1).all(axis=(0, 2))
        require(
            not never.any(),
            "every neuron was recorded in a session",
            f"{int(never.sum())} that never were, the first number {int(never.argmax())}",
            "leave them out",
        )
    with np.errstate(invalid="ignore"):
        varies = np.nanmax(responses, axis=0) > np.nanmin(responses, axis=0)
    require(
        bool(varies.any()),
        "responses vary between trials",
        "the same in all of them",
        "look whether the right array was passed",
    )
