"""Shared steps of the task makers: full grids and the rows that a rule leaves out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import require


def full_grid(n_values: Sequence[int]) -> Int[np.ndarray, "n C"]:
    """Return every combination in row-major order, the first component slowest."""
    axes = np.indices(tuple(n_values))
    return np.ascontiguousarray(axes.reshape(len(n_values), -1).T)


def matches(
    components: Int[np.ndarray, "n C"], conjunctions: Sequence[Mapping[int, Sequence[int]]]
) -> Bool[np.ndarray, " n"]:
    """Return which rows satisfy any of the conjunctions {component: allowed value indices}."""
    hit = np.zeros(len(components), dtype=bool)
    for conjunction in conjunctions:
        within = np.ones(len(components), dtype=bool)
        for component, allowed in conjunction.items():
            require(
                0 <= component < components.shape[1],
                "a left-out conjunction names components by position",
                f"component {component} of {components.shape[1]}",
                "use positions from 0",
            )
            within &= np.isin(components[:, component], list(allowed))
        hit |= within
    return hit


def positions(
    selected: Sequence[Hashable], values: Sequence[Hashable], role: str
) -> Int[np.ndarray, " k"]:
    """Return the index of each chosen value, or raise for a value that is not among them."""
    index = {value: i for i, value in enumerate(values)}
    missing = [value for value in selected if value not in index]
    require(
        not missing,
        f"{role} must be among the values",
        f"{missing[0] if missing else None}, values are {span(values)}",
        "choose from the values",
    )
    return np.array([index[value] for value in selected], dtype=int)


def span(values: Sequence[Hashable]) -> str:
    """Return a short name for a list of values."""
    if len(values) > 6:
        return f"{values[0]}..{values[-1]}"
    return ", ".join(map(str, values))


def require_distinct(values: Sequence[Hashable], role: str) -> None:
    """Require a list without repeated entries."""
    require(
        len(set(values)) == len(values),
        f"{role} must be distinct",
        f"{len(values)} entries, {len(set(values))} different ones",
        "name each once",
    )
