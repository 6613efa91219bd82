"""What is learned: numbers, or labels as one-vs-rest signs; and rows that disagree."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole.audit.case import TRAIN
from partwhole.audit.reading.columns import Column, listing, numbered, shown
from partwhole.audit.reading.numeric import is_numbers, numbers, unfit
from partwhole.features.conjunctions import Dictionary

MOST_LABELS = 1_000
MOST_SIGNS = 1 << 24  # each is solved for, at every representation
SMALLEST_SPREAD = 1e-100
EXACT_INTEGERS = 2.0**53
AS_LABELS = "name labels with target_kind 'labels', or mend the cell"


def read_target(
    columns: Sequence[tuple[Column, Hashable]], used: Bool[np.ndarray, " n"], kind: str
) -> tuple[
    Float[np.ndarray, "n k"],
    Int[np.ndarray, " n"] | None,
    tuple[Hashable, ...] | None,
    tuple[str, ...],
]:
    """Return targets, each row's label, the labels and remarks (see `AuditTable`).

    Parameters
    ----------
    columns : sequence of (column, name)
    used : bool array, shape (n,)
        The rows of training and of the test splits, in which targets must vary.
    kind : str
        "auto", "numbers" or "labels".

    Raises
    ------
    InputError
        When entries are neither numbers nor labels or a mix of both, do not vary, or are too
        many or too large.

    Examples
    --------
    >>> from partwhole.audit.reading.columns import Texts
    >>> entries = Texts(np.array([0, 1, 0, 2]), ("no", "yes", "perhaps"))
    >>> targets, label, labels, _ = read_target([(entries, "y")], np.ones(4, dtype=bool), "auto")
    >>> labels, label.tolist(), targets[0].tolist()
    (('no', 'perhaps', 'yes'), [0, 2, 0, 1], [1.0, -1.0, -1.0])
    """
    as_numbers = [_are_numbers(column, name, kind) for column, name in columns]
    if all(as_numbers):
        return _numbers(columns, used)
    _, name = columns[as_numbers.index(False)]
    require(
        len(columns) == 1,
        "labels are in one column, and several target columns are numbers",
        f"labels in {name!r}",
        "name that column alone, or leave it out",
    )
    return _labels(*columns[0], used)


def _are_numbers(column: Column, name: Hashable, kind: str) -> bool:
    if kind != "auto":
        return kind == "numbers"
    odd = unfit(column)
    require(
        not odd,
        "targets are real numbers or labels",
        f"{odd} in {name!r}",
        "turn them into numbers, or name labels with target_kind 'labels'",
    )
    found = is_numbers(column, name)
    require(
        isinstance(found, bool),
        "a target column holds numbers or labels, not both",
        f"{found} in {name!r}",
        AS_LABELS,
    )
    return bool(found)


def _numbers(
    columns: Sequence[tuple[Column, Hashable]], used: Bool[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "n k"], None, None, tuple[str, ...]]:
    targets = np.column_stack(
        [numbers(column, name, "target", remedy=AS_LABELS) for column, name in columns]
    )
    names = [name for _, name in columns]
    spread = np.ptp(targets[used], axis=0)
    require(
        bool(spread.max() > 0),
        "targets vary, or there is nothing to learn",
        f"{targets[used][0, 0]:.6g} in every row of {names[0]!r}",
        "check the target column",
    )
    require(
        bool(spread.max() >= SMALLEST_SPREAD),
        "targets differ by 1e-100 or more",
        f"at most {spread.max():.3g} in {listing(names)}",
        "scale them up",
    )
    what = "Target" if len(names) == 1 else "Targets"
    remarks = [f"{what} {listing(names)}: taken as numbers."]
    low, high = targets[used].min(), targets[used].max()
    if len(names) == 1 and np.isin(targets[used], (low, high)).all():
        remarks = [
            f"Target {names[0]!r} has two values, {low:.6g} and {high:.6g}: taken as numbers; to "
            "take them as labels set target_kind to 'labels'."
        ]
    if np.abs(targets).max() > EXACT_INTEGERS:
        remarks.append("Targets beyond 2^53 are kept to 16 digits.")
    return targets, None, None, tuple(remarks)


def _labels(
    column: Column, name: Hashable, used: Bool[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, " n"], tuple[Hashable, ...], tuple[str, ...]]:
    label, labels = numbered(column, name)
    require(
        bool((label[used] != label[used][0]).any()),
        "labels are two or more",
        f"only {shown(str(labels[label[used][0]]))} in {name!r}",
        "check the target column",
    )
    require(
        len(labels) <= MOST_LABELS and len(label) * len(labels) <= MOST_SIGNS,
        f"labels are at most {MOST_LABELS:,}, and rows times labels at most {MOST_SIGNS:,}",
        f"{len(labels):,} labels in {len(label):,} rows of {name!r}",
        "group the labels, or give numbers",
    )
    remarks = (f"Target {name!r}: taken as {len(labels)} labels, {listing(labels)}.",)
    if len(labels) == 2:
        return 2.0 * label[:, None] - 1.0, label, labels, remarks
    targets = np.full((len(label), len(labels)), -1.0)
    targets[np.arange(len(label)), label] = 1.0
    return targets, label, labels, remarks


def conflicts(
    coded: Int[np.ndarray, "n C"],
    values: Sequence[Sequence[Hashable]],
    targets: Float[np.ndarray, "n k"],
    label: Int[np.ndarray, " n"] | None,
    labels: Sequence[Hashable] | None,
    part: Int[np.ndarray, " n"],
    names: Sequence[str],
    duplicates: str,
) -> tuple[str, ...]:
    """Say how many combinations have rows, in one part of the split, with different targets.

    Raises
    ------
    InputError
        When `duplicates` is "refuse" and there is one, or a test row has another target than
        training gives its combination.
    """
    rows = np.flatnonzero(part >= 0)
    _, group = Dictionary.of(coded, tuple(range(coded.shape[1])), [len(v) for v in values])
    whole = group[rows].astype(np.int64)
    _, group = np.unique(whole * len(names) + part[rows], return_inverse=True)
    first = _firsts(group, np.arange(len(rows)))[group]
    given = targets[rows] if label is None else label[rows, None]
    differs = (given != given[first]).any(axis=1)

    def named(row: int) -> str:
        value = _named(row, targets, label, labels)
        return f"{value} in row {row}"

    def refuse(
        rule: str, bad: Bool[np.ndarray, " m"], first: Int[np.ndarray, " m"], remedy: str
    ) -> None:
        if not bad.any():
            return
        other = int(bad.argmax())
        combination = [v[i] for v, i in zip(values, coded[rows[other]], strict=True)]
        one, two = int(rows[first[other]]), int(rows[other])
        require(
            False,
            rule,
            f"({listing(combination, len(combination))}) with {named(one)} and {named(two)} "
            "(counted from 0)",
            f"mend the table, or {remedy} with duplicates 'average'",
        )

    if duplicates == "refuse":
        refuse("rows of one combination have one target", differs, first, "average them")
        _, whole = np.unique(whole, return_inverse=True)
        train = np.flatnonzero(part[rows] == TRAIN)
        known = _firsts(whole, train)[whole]
        seen = known < len(rows)
        other = seen & (given != given[np.where(seen, known, 0)]).any(axis=1)
        refuse(
            "test rows of a combination have the target it has in training",
            other,
            known,
            "have them reported",
        )
    if not differs.any():
        return ()
    clashing = np.bincount(part[rows][np.unique(first[differs])], minlength=len(names))
    where = [f"{n:,} of {name!r}" for n, name in zip(clashing, names, strict=True) if n]
    return (
        f"Rows with different targets: {' and '.join(where)} are combinations that have them; "
        "each counts with its rows' weighted mean.",
    )


def _firsts(group: Int[np.ndarray, " m"], places: Int[np.ndarray, " r"]) -> Int[np.ndarray, " g"]:
    """Return each group's first of these places, or how many places there could be."""
    first = np.full(int(group.max()) + 1, len(group))
    np.minimum.at(first, group[places], places)
    return first


def _named(
    row: int,
    targets: Float[np.ndarray, "n k"],
    label: Int[np.ndarray, " n"] | None,
    labels: Sequence[Hashable] | None,
) -> str:
    if label is not None and labels is not None:
        return shown(str(labels[label[row]]))
    return ", ".join(f"{y:.6g}" for y in targets[row])
