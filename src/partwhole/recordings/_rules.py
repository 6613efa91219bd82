"""What conditions, groups and responses of a recording must be."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from partwhole._checks import require


def require_axes(shape: tuple[int, ...], times: np.ndarray | None) -> None:
    """Require axes of trials, neurons and perhaps times, which increase."""
    require(
        len(shape) in (2, 3),
        "responses are trials x neurons, or trials x neurons x times",
        f"shape {shape}",
        "flatten what is measured in a trial into one axis",
    )
    if times is None:
        return
    require(
        len(shape) == 3 and len(times) == shape[2],
        "times are those of the third axis of responses",
        f"{len(times)} for shape {shape}",
        "pass a time for each entry of that axis, or leave times out",
    )
    require(
        bool(np.all(np.diff(times) > 0)),
        "times increase",
        "times in another order",
        "sort them, and responses with them",
    )


def require_conditions(
    components: np.ndarray, names: tuple[str, ...], values: tuple[tuple[Hashable, ...], ...]
) -> None:
    """Require a name and distinct values of every component, and two conditions or more."""
    n_components = components.shape[1]
    require(
        len(names) == n_components and len(values) == n_components,
        "every component has a name and its values",
        f"{n_components} components, {len(names)} names, {len(values)} lists",
        "pass one name and one list of values for each column of components",
    )
    rule = "components have names of their own"
    require(len({*names}) == len(names), rule, ", ".join(names), "rename one of them")
    for name, column, listed in zip(names, components.T, values, strict=True):
        require(
            len({*listed}) == len(listed),
            "the values of a component differ",
            f"{len(listed) - len({*listed})} repeated of {name!r}",
            "list every value once",
        )
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


def require_labels(name: str, index: np.ndarray | None, values: tuple[Hashable, ...]) -> None:
    """Require that groups or sessions with labels are indices of them."""
    if not values:
        return
    require(
        index is not None and index.min() >= 0 and index.max() < len(values),
        f"{name} with labels are indices of these",
        f"{len(values)} label{'s' * (len(values) != 1)} for "
        + (f"no {name}" if index is None else f"indices {index.min()}..{index.max()}"),
        f"number {name} from 0, or leave their labels out",
    )
    repeated = len(values) - len({*values})
    require(not repeated, f"labels of {name} differ", f"{repeated} repeated", "list each once")


def label_of(number: int, values: tuple[Hashable, ...]) -> Hashable:
    """Return the label of a group or session, which is its number if there are none."""
    return values[number] if values else number


def require_groups(
    groups: np.ndarray | None, sessions: np.ndarray | None, values: tuple[Hashable, ...] = ()
) -> None:
    """Require several groups, each of one session."""
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
    numbers, counts = np.unique(pairs[:, 0], return_counts=True)
    require(
        bool(np.all(counts == 1)),
        "a group is in one session",
        f"group {label_of(int(numbers[counts.argmax()]), values)!r} in {counts.max()}",
        "give the groups of each session names of their own, such as day and run together",
    )


def require_responses(
    responses: np.ndarray, sessions: np.ndarray | None, values: tuple[Hashable, ...] = ()
) -> None:
    """Require finite responses that vary, missing where a session lacks a neuron alone."""
    infinite = int(np.isinf(responses).sum())
    require(
        not infinite,
        "responses are finite",
        f"{infinite} infinite entr{'y' if infinite == 1 else 'ies'}",
        "set them to NaN, and pass missing='drop'",
    )
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
        by_trial = np.reshape(missing, (*missing.shape[:2], -1))
        partly = np.any(by_trial, axis=2) & ~np.all(by_trial, axis=2)
        for session in np.unique(sessions):
            rows = np.any(by_trial[sessions == session], axis=2)
            partly[sessions == session] |= rows != rows[:1]
        trial, neuron = (int(axis[0]) for axis in np.nonzero(partly)) if partly.any() else (0, 0)
        require(
            not partly.any(),
            "a neuron is recorded in all trials of a session, or in none",
            f"trial {trial} unlike others of session {label_of(int(sessions[trial]), values)!r} at "
            f"neuron {neuron} (counted from 0)",
            "pass missing='drop' to leave such trials out",
        )
        never = np.all(by_trial, axis=(0, 2))
        require(
            not never.any(),
            "every neuron was recorded in a session",
            f"{int(never.sum())} that never were, the first number {int(never.argmax())}",
            "leave them out",
        )
    varies = np.nanmax(responses, axis=0) > np.nanmin(responses, axis=0)
    require(
        bool(varies.any()),
        "responses vary between trials",
        "the same in all of them",
        "look whether the right array was passed",
    )
