"""Columns of a table that are no components, and yet explain why repeats of a combination differ.

Differences within combinations count as noise. They are none where a further column of the table
accounts for them: alone, or as part of pairs with components.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import InputError
from partwhole.audit.case import LEFT_OUT, TRAIN
from partwhole.audit.reading.columns import Column, Texts, factorized
from partwhole.audit.reading.source import Source
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs._indicators import as_sparse
from partwhole.limits.proofs._least_squares import best_sum

# Rows beyond which no further column is read; columns that are read, and cells in all of them; and
# numbers in the targets of rows to which sums are fitted.
MOST_ROWS, MOST_COLUMNS, MOST_CELLS, MOST_NUMBERS = 1_000_000, 20, 3_000_000, 200_000
# Share of the variance within combinations that a column may leave, at most; degrees of freedom
# that it leaves, at least; and the probability of so small a share by chance.
LEFT, LEAST_DEGREES, LEVEL = 0.1, 8, 0.001
# Seconds for the sums of one column, and for all columns: those that come later are left out.
SECONDS, SECONDS_OF_ALL = 0.5, 2.0


@dataclass(frozen=True, eq=False)
class Further:
    """Column of the table that is no component as it is.

    Parameters
    ----------
    name : str
    codes : int array, shape (n,)
        The value of each row.
    is_named : bool
        Whether it is named as a component, but tied, or spread over its values.
    """

    name: str
    codes: Int[np.ndarray, " n"]
    is_named: bool = False


def further_columns(
    source: Source,
    used: Sequence[Hashable],
    transformed: Sequence[tuple[Column, Hashable]],
    n: int,
) -> Callable[[], list[Further]]:
    """Return a function that reads the columns that are not used, and some that are.

    Parameters
    ----------
    source : Source
    used : sequence of column names
        Those with a role.
    transformed : sequence of (Column, name)
        Components as they are in the table, before values were tied or spread.
    n : int
        Rows; of many fewer columns are read.
    """

    def read() -> list[Further]:
        names = {str(name) for name in used}
        places = [i for i, name in enumerate(source.columns) if str(name) not in names]
        read_places = _read(source, places[: min(MOST_COLUMNS, MOST_CELLS // max(n, 1))])
        columns = [(column, name, True) for column, name in transformed]
        columns += [(read_places[i], source.columns[i], False) for i in read_places]
        further = []
        for column, name, is_named in columns:
            try:
                codes = column.codes if isinstance(column, Texts) else factorized(column, name)[0]
            except (InputError, TypeError):  # lists and raw bytes have no values to compare
                continue
            further.append(Further(str(name), codes, is_named))
        return further

    return read


def _read(source: Source, places: list[int]) -> dict[int, Column]:
    """Return the columns that can be read, all of them in one reading if that succeeds."""
    if not places:
        return {}
    try:
        columns = source.read(places, [])
        return {place: columns[place] for place in places}
    except InputError:  # such as a column that only one of two tables has
        half = len(places) // 2
        return _read(source, places[:half]) | _read(source, places[half:]) if half else {}


def differing(
    components: Int[np.ndarray, "n C"],
    n_values: Sequence[int],
    targets: Float[np.ndarray, "n k"],
    part: Int[np.ndarray, " n"],
) -> tuple[Int[np.ndarray, " r"], Int[np.ndarray, " r"]]:
    """Return the rows of combinations that occur several times in a part of the split.

    Parameters
    ----------
    components : int array, shape (n, C)
    n_values : sequence of int, length C
    targets : float array, shape (n, k)
    part : int array, shape (n,)
        0 for training, -1 for rows that are left out.

    Returns
    -------
    int array, shape (r,)
        Rows; none if the targets of repeats agree.
    int array, shape (r,)
        The combination of each, numbered from 0.
    """
    rows = np.flatnonzero(part != LEFT_OUT)
    none = np.zeros(0, dtype=np.int64)
    if len(part) > MOST_ROWS:
        return none, none
    whole = tuple(range(components.shape[1]))
    group = Dictionary.of(components[rows], whole, n_values)[1].astype(np.int64)
    group = np.unique(2 * group + (part[rows] == TRAIN), return_inverse=True)[1]
    is_repeated = np.bincount(group)[group] > 1
    rows, group = rows[is_repeated], group[is_repeated]
    if not len(rows):
        return none, none
    group = np.unique(group, return_inverse=True)[1]
    # Whole combinations, the first of them, if there are many.
    most = max(1, MOST_NUMBERS // targets.shape[1])
    if len(rows) > most:
        size = np.bincount(group)
        is_kept = (np.cumsum(size) <= most)[group]
        rows, group = rows[is_kept], group[is_kept]
    first = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(len(rows))[::-1]
    if not (targets[rows] != targets[rows[first[group]]]).any():
        return none, none
    return rows, group


def explaining(
    components: Int[np.ndarray, "n C"],
    n_values: Sequence[int],
    targets: Float[np.ndarray, "n k"],
    part: Int[np.ndarray, " n"],
    read: Callable[[], list[Further]],
) -> list[Further]:
    """Return the columns that leave less than a tenth of the variance within combinations.

    Beside the combination, a column enters by itself, also in pairs with the components, and, where
    its values repeat within combinations, with the whole combination. A column with a value for
    nearly every row explains nothing, nor does one that alone gives the target.

    Parameters
    ----------
    components, n_values, targets, part
        As in `differing`.
    read : function
        That reads the columns, only if repeats differ.
    """
    rows, group = differing(components, n_values, targets, part)
    if not len(rows):
        return []
    y = targets[rows]
    within, degrees = _within(group, y)
    listed, until = [], process_time() + SECONDS_OF_ALL
    for column in read():
        if process_time() > until:
            break
        codes = column.codes[rows]
        codes = np.unique(codes, return_inverse=True)[1]
        n_codes = int(codes.max()) + 1
        if n_codes < 2 or len(np.unique(group * n_codes + codes)) == int(group.max()) + 1:
            continue
        alone, _ = _within(np.unique(column.codes, return_inverse=True)[1], targets)
        if alone == 0.0:  # another name of the target
            continue
        pairs = np.unique(group * n_codes + codes, return_inverse=True)[1]
        of_rows = components[rows]
        if (
            _is_less(*_within(pairs, y), within, degrees)
            or _is_less(*_left_by_sums(group, codes, of_rows[:, :0], (), y), within, degrees)
            or _is_less(*_left_by_sums(group, codes, of_rows, n_values, y), within, degrees)
        ):
            listed.append(column)
    return listed


def _within(group: Int[np.ndarray, " r"], y: Float[np.ndarray, "r k"]) -> tuple[float, float]:
    """Return the sum of squares within groups, and its degrees of freedom."""
    size = np.bincount(group)
    means = np.stack([np.bincount(group, column) for column in y.T], axis=1) / size[:, None]
    left = y - means[group]
    # Means of equal numbers differ from them by rounding.
    left[np.abs(left) <= 1e-12 * np.abs(y).max(initial=0.0)] = 0.0
    return float((left**2).sum()), float(len(group) - len(size))


def _left_by_sums(
    group: Int[np.ndarray, " r"],
    codes: Int[np.ndarray, " r"],
    components: Int[np.ndarray, "r C"],
    n_values: Sequence[int],
    y: Float[np.ndarray, "r k"],
) -> tuple[float, float]:
    """Return what combinations, a column and its pairs with components leave, and degrees."""
    n = components.shape[1]
    coded = np.column_stack([group, codes, components])
    sizes = [int(group.max()) + 1, int(codes.max()) + 1, *n_values]
    sets = [(0,), (1,), *((1, 2 + c) for c in range(n))]
    if sizes[1] > len(group) / 2:
        return float("inf"), 0.0
    design = ConjunctionDesign.seen(coded, sets, sizes)
    fit = best_sum(as_sparse(design), y, Budget.of(SECONDS))
    if not fit.settled:
        return float("inf"), 0.0
    rank = fit.rank
    if rank is None:  # at most that of a full table
        pairs = sum((sizes[1] - 1) * (size - 1) for size in sizes[2:])
        rank = min(sizes[0] + sizes[1] - 1 + pairs, design.shape[1])
    left = float((fit.residual**2).sum())
    total = float(((y - y.mean(axis=0)) ** 2).sum())
    return (0.0 if left <= 1e-18 * total else left), float(len(group) - rank)


def _is_less(left: float, degrees: float, within: float, of: float) -> bool:
    """Return whether the variance left is less than a tenth, and not by chance."""
    from scipy.special import fdtr

    if degrees < LEAST_DEGREES:
        return False
    ratio = (left / degrees) / (within / of)
    return ratio < LEFT and float(fdtr(degrees, of, ratio)) < LEVEL


def in_words(columns: Sequence[Further]) -> list[str]:
    """Return a sentence for the columns that explain differences: further ones, then tied ones.

    Examples
    --------
    >>> in_words([Further("lighting", np.zeros(1, dtype=np.int64))])  # doctest: +ELLIPSIS
    ['Repeats of a combination differ by lighting, which is no component: if it is an input, ...']
    """
    sentences = []
    further = [column.name for column in columns if not column.is_named]
    tied = [column.name for column in columns if column.is_named]
    if further:
        which = "which is no component" if len(further) == 1 else "each of which is no component"
        it = "it is an input, name it" if len(further) == 1 else "they are inputs, name them"
        sentences.append(
            f"Repeats of a combination differ by {' or by '.join(further)}, {which}: if {it} "
            "among --components, or the differences count as noise."
        )
    if tied:
        it = "it as a plain component" if len(tied) == 1 else "them as plain components"
        sentences.append(
            f"Repeats of a combination differ by {' or by '.join(tied)}, whose values lose their "
            f"column where they are tied or spread: name {it}, or the differences count as noise."
        )
    return sentences
