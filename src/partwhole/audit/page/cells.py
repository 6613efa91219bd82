"""How many combinations of each two values were seen, and how many are held out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from jaxtyping import Int

from partwhole.audit.case import Case
from partwhole.audit.wording import shown

# Values of one component and of all, cells of all boards together, and entries counted for them.
MOST_VALUES, MOST_LABELS, MOST_CELLS, MOST_WORK = 400, 3000, 480_000, 1e8
NEVER, ALL, SOME, HELD = range(4)
STATES = ("in neither", "all seen", "some held out", "held out only")


@dataclass(frozen=True, eq=False)
class Grids:
    """Count the combinations of each cell, for every two components.

    Parameters
    ----------
    case : Case
    shown : tuple of int arrays
        For each component that can be chosen the values shown, as their indices.
    """

    case: Case
    shown: tuple[Int[np.ndarray, "..."], ...]

    @cached_property
    def counts(self) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
        """Return seen and held-out combinations for each pair i < j of components."""
        task = self.case.task
        place = []
        for c, chosen in enumerate(self.shown):
            where = np.full(task.n_values[c], -1)
            where[chosen] = np.arange(len(chosen))
            place.append(where[task.components[:, c]])
        found = {}
        for i, j in combinations(range(len(self.shown)), 2):
            sizes = len(self.shown[i]), len(self.shown[j])
            known = (place[i] >= 0) & (place[j] >= 0)
            code = place[i] * sizes[1] + place[j]
            seen, held = (
                np.bincount(code[known & part], minlength=sizes[0] * sizes[1]).reshape(sizes)
                for part in (task.is_train, ~task.is_train)
            )
            found[i, j] = seen, held
        return found

    @property
    def names(self) -> list[str]:
        """Return the names of the components that can be chosen."""
        return [shown(name) for name in self.case.task.names[: len(self.shown)]]

    def labels(self, component: int) -> list[str]:
        """Return the names of a component's values that are shown."""
        values = self.case.task.values[component]
        return [shown(values[v], 40) for v in self.shown[component]]

    @property
    def left_out(self) -> list[str]:
        """Say which values and components are not shown."""
        task, words = self.case.task, []
        for c, chosen in enumerate(self.shown):
            if len(chosen) < task.n_values[c]:
                words.append(
                    f"{shown(task.names[c])}: the {len(chosen):,} most frequent of "
                    f"{task.n_values[c]:,} values are shown."
                )
        if len(self.shown) < task.n_components:
            words.append(
                f"The first {len(self.shown)} of {task.n_components} components can be chosen."
            )
        return words


def grids(case: Case, n_splits: int = 1) -> Grids:
    """Choose which values can be shown: all, or the most frequent that the page has room for.

    Parameters
    ----------
    case : Case
    n_splits : int, default 1
        How many test splits share the page.

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

    def cells(most: int) -> int:
        capped = np.minimum(sizes, most).astype(np.int64)
        return int((capped.sum() ** 2 - (capped**2).sum()) // 2)

    most = min(MOST_VALUES, int(sizes.max()))
    labels = MOST_LABELS / n_splits
    while most > 2 and (cells(most) > room or np.minimum(sizes, most).sum() > labels):
        most -= max(1, most // 20)
    chosen = []
    for c in range(n):
        frequency = np.bincount(task.components[:, c], minlength=sizes[c])
        chosen.append(np.sort(np.argsort(-frequency, kind="stable")[:most]))
    return Grids(case, tuple(chosen))


def states(seen: Int[np.ndarray, "r c"], held: Int[np.ndarray, "r c"]) -> Int[np.ndarray, "r c"]:
    """Return each cell's state.

    Examples
    --------
    >>> states(np.array([[0, 2, 1, 0]]), np.array([[0, 0, 3, 1]])).tolist()
    [[0, 1, 2, 3]]
    """
    return np.where(seen > 0, np.where(held > 0, SOME, ALL), np.where(held > 0, HELD, NEVER))
