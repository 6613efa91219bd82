"""Shared steps of the task makers: full grids and the rows that a rule leaves out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod

import numpy as np
from jaxtyping import Bool, Int

from partwhole._arrays import as_read
from partwhole._checks import require

MOST = 50_000_000  # entries of a table of combinations, 400 MB


def full_grid(n_values: Sequence[int]) -> Int[np.ndarray, "n C"]:
    """Return every combination in row-major order, the first component slowest."""
    require_size(prod(n_values), len(n_values))
    axes = np.indices(tuple(n_values))
    return np.ascontiguousarray(axes.reshape(len(n_values), -1).T)


def require_size(rows: int, n_components: int) -> None:
    """Require a table of combinations that fits into memory."""
    require(
        rows * n_components <= MOST,
        f"a task lists at most {MOST // n_components:,} combinations of {n_components} components",
        as_read(rows),
        "take fewer values or components, or read a table of some combinations by from_frame",
    )


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
            beyond = sorted(set(allowed) - set(range(int(components[:, component].max()) + 1)))
            require(
                not beyond,
                f"a left-out conjunction names values of component {component} by their index",
                beyond[:1],
                f"use indices up to {int(components[:, component].max())}",
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
    if isinstance(values, range):
        return
    require(
        len(set(values)) == len(values),
        f"{role} must be distinct",
        f"{len(values)} entries, {len(set(values))} different ones",
        "name each once",
    )
