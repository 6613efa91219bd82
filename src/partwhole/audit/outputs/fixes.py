"""The training row that would determine a held-out combination, verified by null functions."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, isqrt, prod

import numpy as np
from jaxtyping import Bool, Int

from partwhole.audit.case import Case
from partwhole.audit.wording import conjunction, tuple_of
from partwhole.features.conjunctions import conjunction_sets
from partwhole.limits.proofs.determination import Determination

# Values of a component that are tried, those of the most training combinations first.
MOST_VALUES = 20
# Rows tried for one combination that have all that training lacks, and others.
MOST_COMPLETIONS, MOST_PAIRS = 256, 400
# Seconds of a processor of 2020 for rows that are tried together, and for each conjunction of each.
# They are counted, so that what is looked for does not depend on the load of the machine.
TOGETHER, EACH = 2e-4, 1e-7
NOWHERE = ", in no row of training or test"
# Parts of null functions' values below this share of them are rounding.
TOLERANCE = 1e-7


class Fixes:
    r"""Search for single training rows that determine a held-out combination.

    A row r determines the combination t where every sum that is 0 on training and at r is 0 at t:
    the values of random null functions at r are then parallel to those at t, and otherwise with
    probability 0. Conjunctions of t that training lacks are in each such r.

    Parameters
    ----------
    case : Case
    determination : Determination
        Of the case's task.
    time_limit : float, default 10
        Seconds, as counted, after which no others than the combination itself are looked for.
    """

    def __init__(self, case: Case, determination: Determination, time_limit: float = 10.0) -> None:
        self.case, self.determination = case, determination
        self.rows = case.task.test_components
        self.held_out = {tuple(row) for row in self.rows.tolist()}
        self.common = [_by_frequency(column) for column in case.task.train_components.T]
        sets = conjunction_sets(case.task.n_components, determination.order)
        self.each, self.left = EACH * len(sets), time_limit

    def help_for(self, i: int, lacking: Int[np.ndarray, " u"]) -> str:
        """Return in words a training row that would determine a held-out combination.

        Parameters
        ----------
        i : int
            Its place among them.
        lacking : int array, shape (u,)
            The components of conjunctions that training lacks.
        """
        case = self.case
        row = self.rows[i]
        itself = f"a training row {tuple_of(case, row)}: this combination itself"
        if self.left <= 0.0:
            return f"{itself}; others were not looked for in the time"
        free = [c for c in range(len(row)) if c not in set(lacking.tolist())]
        if len(lacking) and free and self._any_completion(row, free):
            values = [int(row[c]) for c in lacking]
            return f"a training row with {conjunction(case, lacking.tolist(), values)}"
        nearest = self._nearest(row, free)
        if nearest is None:
            return itself
        nowhere = "" if tuple(nearest.tolist()) in self.held_out else NOWHERE
        return f"a training row {tuple_of(case, nearest)}{nowhere}"

    def _any_completion(self, row: Int[np.ndarray, " C"], free: list[int]) -> bool:
        """Return whether every row of the table's values with what training lacks determines it."""
        values = [range(self.case.table.n_values[c]) for c in free]
        if prod(map(len, values)) > MOST_COMPLETIONS:
            return False
        rows = _with_values(row, free, list(product(*values)))
        return bool(self._determine(row, rows).all())

    def _nearest(self, row: Int[np.ndarray, " C"], free: list[int]) -> Int[np.ndarray, " C"] | None:
        """Return a row other than this one that determines it, with few other values."""
        for n_changed in (1, 2):
            if n_changed > len(free):
                break
            n = MOST_VALUES
            if n_changed == 2:
                n = max(2, min(n, isqrt(MOST_PAIRS // comb(len(free), 2))))
            changes = [
                _with_values(row, places, list(product(*values)))
                for places in combinations(free, n_changed)
                if all(values := [self._others(row, c)[:n] for c in places])
            ]
            if not changes:
                continue
            rows = np.concatenate(changes)
            rows = rows[self._determine(row, rows)]
            if len(rows):
                new = [tuple(values) not in self.held_out for values in rows.tolist()]
                return rows[int(np.argmax(new))]
        return None

    def _others(self, row: Int[np.ndarray, " C"], component: int) -> list[int]:
        return [value for value in self.common[component] if value != row[component]]

    def _determine(
        self, row: Int[np.ndarray, " C"], rows: Int[np.ndarray, "r C"]
    ) -> Bool[np.ndarray, " r"]:
        """Return which rows, added to training, determine a combination."""
        self.left -= TOGETHER + self.each * len(rows)
        values = self.determination.values(np.concatenate([row[None], rows]))
        size = np.linalg.norm(values, axis=1)
        unit = values / np.where(size > 0, size, 1.0)[:, None]
        across = unit[1:] - np.outer(unit[1:] @ unit[0], unit[0])
        return (size[1:] > 0) & (np.linalg.norm(across, axis=1) <= TOLERANCE)


def _by_frequency(column: Int[np.ndarray, " d"]) -> list[int]:
    values, counts = np.unique(column, return_counts=True)
    return values[np.argsort(-counts, kind="stable")].tolist()


def _with_values(
    row: Int[np.ndarray, " C"], places: tuple[int, ...] | list[int], values: list[tuple[int, ...]]
) -> Int[np.ndarray, "r C"]:
    """Return copies of a row with other values at these places."""
    rows = np.tile(row, (len(values), 1))
    rows[:, list(places)] = values
    return rows
