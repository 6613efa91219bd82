"""Numbers of seen and held-out combinations of each pair of values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from jaxtyping import Int

from partwhole.audit.case import Case
from partwhole.audit.wording import printable

# Values of one component and of all, cells of all boards together, and entries counted for them.
MOST_VALUES, MOST_LABELS, MOST_CELLS, MOST_WORK = 400, 3000, 480_000, 1e8
NEVER, ALL, SOME, HELD = range(4)
STATES = ("in neither", "all seen", "some held out", "held out only")


@dataclass(frozen=True, eq=False)
class Grids:
    """Numbers of combinations in each cell, for every pair of components.

    Parameters
    ----------
    case : Case
    values : tuple of int arrays
        The indices of the values on the board, for each component that can be chosen.
    """

    case: Case
    values: tuple[Int[np.ndarray, "..."], ...]

    @cached_property
    def counts(self) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
        """Return the numbers of seen and held-out combinations for pairs i < j of components."""
        task = self.case.task
        place = []
        for c, values in enumerate(self.values):
            position = np.full(task.n_values[c], -1)
            position[values] = np.arange(len(values))
            place.append(position[task.components[:, c]])
        counts = {}
        for i, j in combinations(range(len(self.values)), 2):
            sizes = len(self.values[i]), len(self.values[j])
            is_shown = (place[i] >= 0) & (place[j] >= 0)
            code = place[i] * sizes[1] + place[j]
            seen, held_out = (
                np.bincount(code[is_shown & part], minlength=sizes[0] * sizes[1]).reshape(sizes)
                for part in (task.is_train, ~task.is_train)
            )
            counts[i, j] = seen, held_out
        return counts

    @property
    def names(self) -> list[str]:
        """Return the names of the components that can be chosen."""
        return [printable(name) for name in self.case.task.names[: len(self.values)]]

    def labels(self, component: int) -> list[str]:
        """Return the names of a component's values on the board."""
        values = self.case.task.values[component]
        return [printable(values[v], 40) for v in self.values[component]]

    @property
    def left_out(self) -> list[str]:
        """Return sentences on the omitted values and components."""
        task, words = self.case.task, []
        for c, values in enumerate(self.values):
            if len(values) < task.n_values[c]:
                words.append(
                    f"{printable(task.names[c])}: the {len(values):,} most frequent of "
                    f"{task.n_values[c]:,} values are shown."
                )
        if len(self.values) < task.n_components:
            words.append(
                f"The first {len(self.values)} of {task.n_components} components can be chosen."
            )
        return words


def grids(case: Case, n_splits: int = 1) -> Grids:
    """Return the values for the board: all, or as many of the most frequent as fit on the page.

    Parameters
    ----------
    case : Case
    n_splits : int, default 1
        Number of test splits that share the page.

    Returns
    -------
    Grids
    """
    task, room = case.task, MOST_CELLS / n_splits
    n = task.n_components
    work = MOST_WORK / n_splits
    while n > 2 and n * (n - 1) / 2 * max(len(task.components), 1000) > work:
        n -= 1
    sizes = np.array(task.n_values[:n])

    def cells(most_values: int) -> int:
        capped = np.minimum(sizes, most_values).astype(np.int64)
        return int((capped.sum() ** 2 - (capped**2).sum()) // 2)

    limit = min(MOST_VALUES, int(sizes.max()))
    labels = MOST_LABELS / n_splits
    while limit > 2 and (cells(limit) > room or np.minimum(sizes, limit).sum() > labels):
        limit -= max(1, limit // 20)
    frequent = []
    for c in range(n):
        frequency = np.bincount(task.components[:, c], minlength=sizes[c])
        frequent.append(np.sort(np.argsort(-frequency, kind="stable")[:limit]))
    return Grids(case, tuple(frequent))


def states(
    seen: Int[np.ndarray, "r c"], held_out: Int[np.ndarray, "r c"]
) -> Int[np.ndarray, "r c"]:
    """Return each cell's state.

    Examples
    --------
    >>> states(np.array([[0, 2, 1, 0]]), np.array([[0, 0, 3, 1]])).tolist()
    [[0, 1, 2, 3]]
    """
    return np.where(
        seen > 0, np.where(held_out > 0, SOME, ALL), np.where(held_out > 0, HELD, NEVER)
    )
