"""Rows of training and of test splits: by a column's entries, or by a rule."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import islice
from typing import Any, Literal
from warnings import catch_warnings, simplefilter

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import ProperFraction, Seed
from partwhole.audit.case import LEFT_OUT, TRAIN
from partwhole.audit.reading.columns import (
    SPLIT_ENTRY,
    Column,
    counted_as_written,
    filled,
    listing,
    looks_missing,
    missing_in,
    near,
    numbered,
    quoted,
    require_whole,
)
from partwhole.audit.wording import count
from partwhole.features.conjunctions import Dictionary

Unit = Literal["rows", "combinations"]
# Each row's part, the parts' names, and remarks.
Parts = tuple[Int[np.ndarray, " n"], tuple[str, ...], tuple[str, ...]]
MOST_SPLITS = 50
BOOLEANS = frozenset({"true", "false"})


@door
@dataclass(frozen=True)
class HoldOut:
    """Rule that holds out a random share of a table's rows or combinations.

    Parameters
    ----------
    unit : str, default "combinations"
        "combinations": all rows of a combination go to the same side. In an audit the draw does not
        depend on components that others determine, nor on the order in which they are named; of
        those that determine each other the first by name counts. "rows": each row is assigned
        independently, so that test rows may repeat combinations of training.
    share : float, default 0.2
        Share of the distinct combinations, or of the rows, that is held out.
    seed : int, default 0

    Raises
    ------
    InputError
        If `unit` is neither, `share` is not between 0 and 1, or `seed` is negative.

    Examples
    --------
    >>> rule = HoldOut("combinations", share=0.25, seed=1)
    >>> grid = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    >>> len(np.unique(grid[rule.draw(grid, (2, 2)) == 1], axis=0))
    1
    """

    unit: Unit = "combinations"
    share: ProperFraction = 0.2
    seed: Seed = 0

    @door
    def draw(
        self, components: Int[np.ndarray, "n C"], n_values: Sequence[int]
    ) -> Int[np.ndarray, " n"]:
        """Return 0 for training rows and 1 for held-out rows.

        Raises
        ------
        InputError
            If one of the sides would be empty.
        """
        require(
            len(n_values) == components.shape[1] and all(n > 0 for n in n_values),
            "n_values is the number of values of each component",
            f"{list(n_values)} for {components.shape[1]} components",
            "pass table.n_values",
        )
        unit = np.arange(len(components))
        if self.unit == "combinations":
            _, coded = Dictionary.of(components, tuple(range(components.shape[1])), n_values)
            unit = np.unique(coded, return_inverse=True)[1]
        n = int(unit.max()) + 1
        n_held_out = round(self.share * n)
        require(
            0 < n_held_out < n,
            "a hold-out leaves training and test non-empty",
            f"{n_held_out} of {n} {self.unit} held out by a share of {self.share}",
            "change the share, or pass more rows",
        )
        side = np.zeros(n, dtype=np.int64)
        side[np.random.default_rng(self.seed).permutation(n)[:n_held_out]] = 1
        return side[unit]

    def in_words(self) -> str:
        """Return the rule in words."""
        return f"a random {self.share:.4g} of the {self.unit}, drawn with seed {self.seed}"


def is_of_rows(split: Any) -> bool:
    """Return whether a split is given for the rows themselves, and not by a column's name."""
    is_array = isinstance(split, np.ndarray) or hasattr(split, "__array__")
    is_pair = isinstance(split, tuple) and any(not isinstance(part, str) for part in split)
    is_several = isinstance(split, list | Iterator)
    return is_array or is_several or is_pair or hasattr(split, "get_n_splits")


def splits_of_rows(
    split: Any,
    n: int,
    train: Hashable,
    test: Hashable | Sequence[Hashable] | None,
    asked: Callable[[], np.ndarray | None] = lambda: None,
    drop: bool = False,
) -> list[Parts]:
    """Return what `read_split` does, for a split that is given beside the table; one for each fold.

    Parameters
    ----------
    split : bool array, array of entries, pair of index arrays, list of pairs, or splitter
        A mask that marks training rows; each row's entry, as of a split column; the rows of
        training and those of test, or a list or an iterator of such folds; or an object with the
        methods `split` and `get_n_splits` of scikit-learn's.
    n : int
        Number of rows.
    train, test
        As in `read_tables`, for entries.
    asked : callable, optional
        Function that returns the target of each row, for splitters that take it; None without one.
    drop : bool, default False
        Leave out rows without an entry, instead of refusing them.
    """
    if hasattr(split, "get_n_splits"):
        return _of_splitter(split, n, asked)
    if isinstance(split, Iterator):
        return _of_folds(_taken(split), n)
    if isinstance(split, list) and split and _is_fold(split[0]):
        return _of_folds([tuple(fold) for fold in split], n)
    if isinstance(split, tuple) or _is_fold(split):
        return [_of_indices(tuple(split), n)]
    return [_of_entries(split, n, train, test, drop)]


def require_one_order(table: Any, split: Any) -> None:
    """Refuse entries of pandas whose rows are named as those of the table, in another order."""
    # Who passes tables of pandas has imported it; small files are read without.
    pd = sys.modules.get("pandas")
    if pd is None or not isinstance(table, pd.DataFrame) or not isinstance(split, pd.Series):
        return
    ours, theirs = table.index, split.index
    is_same = len(ours) == len(theirs) and ours.is_unique and set(ours) == set(theirs)
    require(
        not is_same or ours.equals(theirs),
        "a split has its entries in the order of the table's rows",
        "the same index in another order",
        "pass split.loc[table.index]",
    )


def _is_fold(part: Any) -> bool:
    """Return whether an object is a pair: two arrays or lists of row numbers."""
    if isinstance(part, tuple):
        return True
    return (
        isinstance(part, list)
        and len(part) == 2
        and all(isinstance(rows, list | np.ndarray) and np.ndim(rows[:1]) == 1 for rows in part)
    )


def _of_splitter(splitter: Any, n: int, asked: Callable[[], np.ndarray | None]) -> list[Parts]:
    """Return the folds of a splitter, which receives the target as y if it takes one."""
    takes_target = "y" in signature(splitter.split).parameters
    y = asked() if takes_target else None
    with catch_warnings(record=True) as warned:
        simplefilter("always")
        try:
            folds = list(splitter.split(np.zeros((n, 1)), **({} if y is None else {"y": y})))
        except (TypeError, ValueError) as error:
            got = f"{type(splitter).__name__}{_lacks(splitter, str(error), y)}"
            raise InputError(
                f"a splitter makes its folds from the rows and their target alone; got {got}; "
                "pass the list of its folds, list(splitter.split(X, y, groups)), as the split"
            ) from error
    said = dict.fromkeys(f"{type(splitter).__name__}: {item.message}" for item in warned)
    parts = _of_folds(folds, n)
    part, names, remarks = parts[0]
    return [(part, names, (*said, *remarks)), *parts[1:]]


def _lacks(splitter: Any, message: str, y: np.ndarray | None) -> str:
    """Return in words why a splitter makes no folds."""
    if "groups" in message and "Group" in type(splitter).__name__:
        return ", which needs the group of each row"
    if y is None and "'y'" in message:
        return ", which needs a target, and none is named"
    return f", which says {message[:160]!r}"


def _taken(folds: Iterator[Any]) -> list[tuple[Any, ...]]:
    """Return the folds of an iterator, which is read as far as an audit can use it."""
    rule = "an iterator given as the split yields folds, pairs of row numbers of training and test"
    try:
        taken = list(islice(folds, MOST_SPLITS + 1))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{rule}; got one that fails with {str(error)[:160]!r}; pass the list of its folds"
        ) from error
    require(taken, rule, "one that yields nothing, or nothing more", "make it anew, or pass a list")
    others = [fold for fold in taken if not (isinstance(fold, tuple | list) and len(fold) == 2)]
    require(
        not others,
        rule,
        f"one that yields entries of type {type(others[0]).__name__}" if others else "",
        "pass a list if it has an entry for each row",
    )
    require(
        len(taken) <= MOST_SPLITS,
        f"an audit has at most {MOST_SPLITS} test splits",
        "an iterator of more folds",
        "pass fewer folds",
    )
    return [tuple(fold) for fold in taken]


def _of_folds(folds: Sequence[tuple[Any, ...]], n: int) -> list[Parts]:
    if len(folds) == 1:
        return [_of_indices(folds[0], n)]
    require(
        len(folds) <= MOST_SPLITS,
        f"an audit has at most {MOST_SPLITS} test splits",
        f"{len(folds):,} folds",
        "pass fewer folds",
    )
    parts = []
    for i, fold in enumerate(folds, 1):
        part, _, remarks = _of_indices(fold, n)
        names = (f"training of fold {i}", f"fold {i}")
        parts.append((part, names, tuple(f"Fold {i}: {remark}" for remark in remarks)))
    return parts


def _of_entries(
    split: Any, n: int, train: Hashable, test: Hashable | Sequence[Hashable] | None, drop: bool
) -> Parts:
    entries = _array(split)
    if entries.dtype.kind == "U" and isinstance(split, list):
        # As text, NaN would be an entry.
        entries = np.array(split, dtype=object)
    require(
        entries.shape == (n,),
        "a split has an entry for each row of the table",
        f"shape {entries.shape} for {n:,} rows",
        "pass a mask of the rows, or two arrays of row numbers as a tuple",
    )
    if entries.dtype == bool:
        require_defaults(train, test, "a mask, which marks training by True")
        return _of_mask(entries)
    is_number = entries.dtype.kind in "iuf"
    require(
        train != "train" or not (is_number and np.isin(entries, (0, 1)).all()),
        "a mask marks training rows by True, and row numbers are those of training and of test",
        f"{n:,} numbers that are 0 or 1",
        "write a mask as booleans, such as numpy.array(mask, dtype=bool), or name the entry of "
        "training with train=",
    )
    import pandas as pd

    column = pd.Series(entries)
    absent = missing_in(column, "split")
    if not drop or not absent.any() or absent.all():
        require_whole(column, "split", SPLIT_ENTRY)
        return read_split(column, "split", train, test)
    part, names, remarks = read_split(filled(column, absent), "split", train, test)
    remark = f"Left out: {int(absent.sum()):,} of {n:,} rows, which have no entry of the split."
    return np.where(absent, LEFT_OUT, part), names, (remark, *remarks)


def _array(entries: Any) -> np.ndarray:
    """Return entries as an array, which is empty where they have no shape."""
    try:
        return np.asarray(entries)
    except ValueError:
        return np.zeros((0, 0))


def _of_mask(training: Bool[np.ndarray, " n"]) -> Parts:
    require(
        training.any() and not training.all(),
        "a mask marks rows of training and leaves rows for test",
        "one side alone",
        "mark training rows by True",
    )
    return np.where(training, TRAIN, 1), ("train", "test"), ()


def _of_indices(split: tuple[Any, ...], n: int) -> Parts:
    require(
        len(split) == 2,
        "row numbers are those of training and those of test",
        f"{len(split)} arrays",
        "pass (train, test)",
    )
    part = np.full(n, LEFT_OUT)
    for place, side in enumerate(("training", "test")):
        rows = _array(split[place])
        # As row numbers, so many of 0 and 1 would name a row several times.
        is_short = rows.dtype.kind in "iu" and n > 2 and np.isin(rows, (0, 1)).all()
        require(
            rows.shape != (n,) or not (is_short or rows.dtype == bool),
            "a split of two arrays has the row numbers of training and of test",
            f"for {side} a mask, which has an entry for each row",
            "pass one mask of the training rows alone, as booleans",
        )
        is_rows = rows.ndim == 1 and rows.size > 0 and np.issubdtype(rows.dtype, np.integer)
        low, high = (int(rows.min()), int(rows.max())) if is_rows else (0, 0)
        require(
            is_rows and low >= 0 and high < n,
            f"the rows of {side} are numbers from 0 to {n - 1}",
            f"{low} to {high}" if is_rows else f"shape {rows.shape} of {rows.dtype}",
            "pass an array of whole numbers",
        )
        named = part[rows] != LEFT_OUT
        require(
            not named.any(),
            "a row is of training or of test",
            f"row {int(rows[int(named.argmax())])} in both",
            "take it out of one of them",
        )
        part[rows] = place
    left_out = int(np.sum(part == LEFT_OUT))
    remark = f"Left out: {left_out:,} of {n:,} rows, which the split does not name."
    return part, ("train", "test"), (remark,) if left_out else ()


def require_defaults(train: Hashable, test: Any, got: str) -> None:
    """Refuse names of entries beside a split that has none."""
    require(
        train == "train" and test is None,
        "train and test name entries of a split column",
        got,
        "leave them out, or name a column in split",
    )


def read_split(
    column: Column, name: Hashable, train: Hashable, test: Hashable | Sequence[Hashable] | None
) -> Parts:
    """Return each row's part, the parts' names, and remarks (arguments as in `read_tables`)."""
    codes, entries = numbered(column, name)
    texts = [str(entry) for entry in entries]
    text, times = Counter(texts).most_common(1)[0]
    require(
        times == 1,
        "different entries of the split column differ as text",
        f"{quoted(text)} of different types in {name!r}",
        "write them in the same type",
    )
    require(
        len(entries) >= 2,
        "the split column needs at least two entries, for training and for test",
        f"only {quoted(texts[0])} in {name!r}",
        "mark the test rows, or hold some out: --hold-out, or a HoldOut for split",
    )
    training = _training_entry(texts, train)
    require(
        training is not None,
        "the split column marks the training rows",
        f"no row {str(train)!r} in {name!r}, whose entries are {listing(texts)}",
        near(str(train), texts, "name the entry with train="),
    )
    assert training is not None
    other_entries = [i for i in range(len(entries)) if i != training]
    tests = other_entries if test is None else _test_entries(texts, training, test, name)
    require(
        len(tests) <= MOST_SPLITS,
        f"an audit has at most {MOST_SPLITS} test splits",
        f"{len(tests):,} from {name!r}",
        "name the test splits with test=",
    )
    part = np.full(len(entries), LEFT_OUT)
    part[training] = TRAIN
    part[tests] = np.arange(1, len(tests) + 1)
    left_out = [i for i in other_entries if i not in tests]
    rows = np.bincount(codes, minlength=len(entries))
    remarks: list[str] = []
    if left_out:
        remarks.append(
            f"Left out: {rows[left_out].sum():,} of {len(codes):,} rows, in splits that were not "
            f"selected ({listing([texts[i] for i in left_out])})."
        )
    if train == "train" and {text.lower() for text in texts} == BOOLEANS:
        remarks.append(
            f"{name}: {texts[training]} marks training ({rows[training]:,} of {len(codes):,} "
            "rows); if it marks the test split, pass train=False (--train False)."
        )
    plain = texts[training].strip().casefold()
    odd = [i for i in other_entries if texts[i].strip().casefold() == plain]
    if odd:
        remarks.append(
            f"Entries {listing([texts[i] for i in odd])} of {name!r} "
            f"({count(int(rows[odd].sum()), 'row')}) do not mark training, which is "
            f"{quoted(texts[training])}; if they should, write them identically."
        )
    if empty := looks_missing(entries[i] for i in tests):
        n_empty = int(sum(rows[texts.index(entry)] for entry in empty))
        role = f"a test split, of {n_empty:,} row{'s' * (n_empty != 1)}"
        remarks.append(counted_as_written([str(name)], listing(empty), role, column))
    return part[codes], tuple(texts[i] for i in [training, *tests]), tuple(remarks)


def _training_entry(texts: list[str], train: Hashable) -> int | None:
    """Return the index of training's entry; True marks training in a column of booleans."""
    if str(train) in texts:
        return texts.index(str(train))
    if {text.lower() for text in texts} != BOOLEANS:
        return None
    text_of_training = "true" if train == "train" else str(train).lower()
    return next((i for i, text in enumerate(texts) if text.lower() == text_of_training), None)


def _test_entries(texts: list[str], training: int | None, test: Any, name: Hashable) -> list[int]:
    names = [test] if isinstance(test, str) or not isinstance(test, Sequence) else list(test)
    names = [str(entry) for entry in names]
    require(
        len(names) >= 1,
        "test names at least one test split",
        "an empty list",
        "leave it out to use all other entries",
    )
    for entry in names:
        require(
            entry in texts,
            "test names entries of the split column",
            f"{entry!r}, not in {name!r}, whose entries are {listing(texts)}",
            near(entry, texts, "name one of them"),
        )
        require(
            texts.index(entry) != training,
            "a test split is not training",
            f"{entry!r} for both",
            "name another entry in test=",
        )
    entry, times = Counter(names).most_common(1)[0]
    require(times == 1, "each test split is named once", f"{entry!r} twice or more", "name it once")
    return [texts.index(entry) for entry in names]
