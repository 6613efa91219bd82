"""Which rows are for training and which for a test: a column's entries, or a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.audit.case import LEFT_OUT, TRAIN
from partwhole.audit.reading.columns import Column, listing, near, numbered, shown
from partwhole.features.conjunctions import Dictionary

MOST_SPLITS = 50
BOOLEANS = frozenset({"true", "false"})


@door
@dataclass(frozen=True)
class HoldOut:
    """State a rule that holds out a random share of a table's rows or combinations.

    Parameters
    ----------
    unit : str, default "combinations"
        "combinations": all rows of a combination go to the same side. "rows": each row goes by
        itself, so that test rows may repeat combinations of training.
    share : float, default 0.2
        Of the distinct combinations, or of the rows, to hold out; rounded to a whole number.
    seed : int, default 0

    Raises
    ------
    InputError
        When `unit` is neither, `share` is not between 0 and 1, or `seed` is negative.

    Examples
    --------
    >>> rule = HoldOut("combinations", share=0.25, seed=1)
    >>> grid = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    >>> len(np.unique(grid[rule.draw(grid, (2, 2)) == 1], axis=0))
    1
    """

    unit: str = "combinations"
    share: Real = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        require(
            self.unit in ("rows", "combinations"),
            "a hold-out's unit is 'rows' or 'combinations'",
            repr(self.unit),
            "choose one",
        )
        require(
            0 < self.share < 1,
            "a hold-out's share lies between 0 and 1",
            self.share,
            "0.2 holds out a fifth",
        )
        require(
            self.seed >= 0,
            "a hold-out's seed is a whole number from 0",
            self.seed,
            "choose another",
        )

    @door
    def draw(
        self, components: Int[np.ndarray, "n C"], n_values: Sequence[int]
    ) -> Int[np.ndarray, " n"]:
        """Return 0 for the rows of training and 1 for those held out.

        Raises
        ------
        InputError
            When one of the sides would be empty.
        """
        require(
            len(n_values) == components.shape[1] and all(n > 0 for n in n_values),
            "n_values has the number of values of each component",
            f"{list(n_values)} for {components.shape[1]} components",
            "pass table.n_values",
        )
        unit = np.arange(len(components))
        if self.unit == "combinations":
            _, coded = Dictionary.of(components, tuple(range(components.shape[1])), n_values)
            unit = np.unique(coded, return_inverse=True)[1]
        n = int(unit.max()) + 1
        held = round(self.share * n)
        require(
            0 < held < n,
            "a hold-out leaves something on both sides",
            f"{held} of {n} {self.unit} held out by a share of {self.share}",
            "change the share, or give more rows",
        )
        side = np.zeros(n, dtype=np.int64)
        side[np.random.default_rng(self.seed).permutation(n)[:held]] = 1
        return side[unit]

    def in_words(self) -> str:
        """Say the rule."""
        return f"a random {self.share:.4g} of the {self.unit}, drawn with seed {self.seed}"


def read_split(
    column: Column, name: Hashable, train: Hashable, test: Hashable | Sequence[Hashable] | None
) -> tuple[Int[np.ndarray, " n"], tuple[str, ...], tuple[str, ...]]:
    """Return each row's part, the parts' names and remarks (the arguments of `read_table`)."""
    codes, entries = numbered(column, name)
    texts = [str(entry) for entry in entries]
    text, times = Counter(texts).most_common(1)[0]
    require(
        times == 1,
        "entries of the split column differ as text",
        f"{shown(text)} of different types in {name!r}",
        "write them alike",
    )
    require(
        len(entries) >= 2,
        "the split column needs two entries or more, for training and for test",
        f"only {shown(texts[0])} in {name!r}",
        "mark the test rows, or state a rule with HoldOut",
    )
    chosen = _training_entry(texts, train)
    require(
        chosen is not None,
        "the split column marks the training rows",
        f"no row {str(train)!r} in {name!r}, whose entries are {listing(texts)}",
        near(str(train), texts, "name the entry with train="),
    )
    assert chosen is not None
    others = [i for i in range(len(entries)) if i != chosen]
    wanted = others if test is None else _test_entries(texts, chosen, test, name)
    require(
        len(wanted) <= MOST_SPLITS,
        f"test splits are at most {MOST_SPLITS}",
        f"{len(wanted):,} from {name!r}",
        "name those you mean with test=",
    )
    part = np.full(len(entries), LEFT_OUT)
    part[chosen] = TRAIN
    part[wanted] = np.arange(1, len(wanted) + 1)
    left_out = [i for i in others if i not in wanted]
    rows = np.bincount(codes, minlength=len(entries))
    remarks: list[str] = []
    if left_out:
        remarks.append(
            f"Left out: {rows[left_out].sum():,} of {len(codes):,} rows, in splits not asked for "
            f"({listing([texts[i] for i in left_out])})."
        )
    if train == "train" and {text.lower() for text in texts} == BOOLEANS:
        remarks.append(
            f"{name}: {texts[chosen]} is taken as training ({rows[chosen]:,} rows of "
            f"{len(codes):,}); if it marks the test, pass train=False (--train False)."
        )
    plain = texts[chosen].strip().casefold()
    odd = [i for i in others if texts[i].strip().casefold() == plain]
    if odd:
        remarks.append(
            f"Entries {listing([texts[i] for i in odd])} of {name!r} ({rows[odd].sum():,} rows) "
            f"are not taken as training, which is {shown(texts[chosen])}; if they mean it, write "
            "them alike."
        )
    return part[codes], tuple(texts[i] for i in [chosen, *wanted]), tuple(remarks)


def _training_entry(texts: list[str], train: Hashable) -> int | None:
    """Return the place of training's entry; True marks training in a column of booleans."""
    if str(train) in texts:
        return texts.index(str(train))
    if {text.lower() for text in texts} != BOOLEANS:
        return None
    wanted = "true" if train == "train" else str(train).lower()
    return next((i for i, text in enumerate(texts) if text.lower() == wanted), None)


def _test_entries(texts: list[str], chosen: int | None, test: Any, name: Hashable) -> list[int]:
    asked = [test] if isinstance(test, str) or not isinstance(test, Sequence) else list(test)
    asked = [str(entry) for entry in asked]
    require(
        len(asked) >= 1,
        "test names a test split or more",
        "an empty list",
        "leave it out to take every other entry",
    )
    for entry in asked:
        require(
            entry in texts,
            "every test split named is an entry of the split column",
            f"{entry!r}, not in {name!r}, whose entries are {listing(texts)}",
            near(entry, texts, "name one of them"),
        )
        require(
            texts.index(entry) != chosen,
            "training is not also a test split",
            f"{entry!r} for both",
            "name another entry in test=",
        )
    entry, times = Counter(asked).most_common(1)[0]
    require(times == 1, "each test split is named once", f"{entry!r} more often", "name it once")
    return [texts.index(entry) for entry in asked]
