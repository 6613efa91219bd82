"""Symbolic addition: each item has a value, the target is their sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Real, Seed
from partwhole.tasks._build import full_grid, positions, require_distinct, require_size
from partwhole.tasks._task import Task

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def component_names(n_components: int) -> tuple[str, ...]:
    """Return first, second, ... and numbers after the eighth."""
    return tuple(
        ORDINALS[i] if i < len(ORDINALS) else f"component {i + 1}" for i in range(n_components)
    )


def _for_each_component(entries: Sequence[Any], n_components: int, role: str) -> list[list[Any]]:
    """Return a list for each component, from one shared list or one list for each."""
    entries = list(entries)
    separate = [isinstance(entry, Sequence | np.ndarray | range) for entry in entries]
    if not any(separate):
        return [entries] * n_components
    require(
        all(separate) and len(entries) == n_components,
        f"{role} must be one list, or one list for each of the {n_components} components",
        f"{len(entries)} entries, {sum(separate)} of them lists",
        "pass a flat list to share it",
    )
    return [list(entry) for entry in entries]


@door
def symbolic_addition(
    values: Sequence[Real] | Sequence[Sequence[Real]] = range(-4, 5),
    anchors: Sequence[Real] | Sequence[Sequence[Real]] = (0,),
    *,
    n_components: Count = 2,
) -> Task:
    """Return symbolic addition: a combination is seen when it holds an anchor.

    The target is :math:`y(z) = \\sum_c v(z_c)`; a tuple is in the training set when at least
    one component's value is among that component's anchors.

    Parameters
    ----------
    values : sequence of float, or one sequence for each component, default -4..4
        The values; shared by all components when flat.
    anchors : sequence of float, or one sequence for each component, default (0,)
        Anchors, as values (not indices); shared when flat.
    n_components : int, default 2
        Number of summands C.

    Returns
    -------
    Task
        Every tuple in row-major order.

    Raises
    ------
    InputError
        When an anchor is not among the values or a list repeats an entry.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), symbolic addition: the layouts "extrapolation" (anchors
    0), "interpolation" (-4 and 4), "both" (-2 and 2) and "asymmetric" (-4).

    Examples
    --------
    >>> task = symbolic_addition(values=range(-4, 5), anchors=[-4, 4])
    >>> task.n_train, task.n_test
    (32, 49)
    """
    if np.ndim(values[:1]) == 1:
        require_size(len(values) ** n_components, n_components)  # before long lists are copied
    per_values = _for_each_component(values, n_components, "values")
    per_anchors = _for_each_component(anchors, n_components, "anchors")
    for entries in per_values:
        require_distinct(entries, "values")
    components = full_grid([len(entries) for entries in per_values])
    targets = np.zeros(len(components))
    is_train = np.zeros(len(components), dtype=bool)
    for c, (entries, anchor_lists) in enumerate(zip(per_values, per_anchors, strict=True)):
        targets += np.asarray(entries, dtype=float)[components[:, c]]
        is_train |= np.isin(components[:, c], positions(anchor_lists, entries, "anchors"))
    return Task(
        components,
        targets,
        is_train,
        component_names(n_components),
        tuple(tuple(entries) for entries in per_values),
        "symbolic addition",
    )


@door
def dispersed_addition(
    values: Sequence[Real] = range(-4, 5), per_row: int = 2, *, seed: Seed = 0
) -> Task:
    """Return dispersed addition: every item is seen with equally many partners.

    An n x n circulant pattern with `per_row` consecutive seen cells in each row, its rows
    shuffled by ``numpy.random.default_rng(seed)``; so each row and each column has exactly
    `per_row` seen cells. For `per_row` = 2 the graph of items that were seen together is one
    cycle of length 2n; for `per_row` = 1 it is disconnected, and the additive part is not
    determined.

    Parameters
    ----------
    values : sequence of float, default -4..4
        The n values of both components.
    per_row : int, default 2
        Seen partners of each item, 1..n.
    seed : int, keyword-only, default 0
        Seed of the row shuffle.

    Returns
    -------
    Task
        Every pair in row-major order.

    Raises
    ------
    InputError
        When `per_row` is outside 1..n or a value is repeated.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), dispersed training sets (appendix), seeds 1 to 50.

    Examples
    --------
    >>> task = dispersed_addition(range(-4, 5), 2, seed=1)
    >>> task.n_train, task.n_test
    (18, 63)
    """
    n = len(values)
    require_size(n**2, 2)
    entries = list(values)
    require_distinct(entries, "values")
    require(
        1 <= per_row <= n,
        f"per_row must lie in 1..{n}, the number of values",
        per_row,
        "choose the number of partners of each item",
    )
    first = np.arange(n)
    seen = np.zeros((n, n), dtype=bool)
    for step in range(per_row):
        seen[first, (first + step) % n] = True
    np.random.default_rng(seed).shuffle(seen)
    components = full_grid([n, n])
    numbers = np.asarray(entries, dtype=float)
    return Task(
        components,
        numbers[components[:, 0]] + numbers[components[:, 1]],
        seen.ravel(),
        component_names(2),
        cast("tuple[tuple[float, ...], ...]", (tuple(entries),) * 2),
        f"dispersed addition, seed {seed}",
    )
