"""Targets: numbers, or labels as one-vs-rest signs; and rows with conflicting targets."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import sha512

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole.audit.case import TRAIN
from partwhole.audit.reading.columns import (
    Column,
    counted_as_written,
    listing,
    looks_missing,
    numbered,
    quoted,
)
from partwhole.audit.reading.numeric import is_numbers, numbers, unfit
from partwhole.features.conjunctions import Dictionary

MOST_LABELS = 1_000
# Numbers into which each of more labels is hashed.
HASHED = 8
MOST_SIGNS = 1 << 24  # each sign is a right-hand side at every representation
SMALLEST_SPREAD = 1e-100
EXACT_INTEGERS = 2.0**53
AS_LABELS = "set target_kind to 'labels', or correct the cell"


@dataclass(frozen=True, eq=False)
class Head:
    """Targets that learners are asked for together: columns of numbers, or one of labels.

    Parameters
    ----------
    names : tuple of str
        Of the target's columns; empty without a target.
    targets, label, labels
        As in `AuditTable`.
    remarks : tuple of str
    hashed : tuple, optional
        As in `AuditTable`.
    """

    names: tuple[str, ...]
    targets: Float[np.ndarray, "n k"]
    label: Int[np.ndarray, " n"] | None = None
    labels: tuple[Hashable, ...] | None = None
    remarks: tuple[str, ...] = ()
    hashed: tuple[Hashable, ...] | None = None


def read_targets(
    columns: Sequence[tuple[Column, Hashable]], used: Bool[np.ndarray, " n"], kind: str
) -> list[Head]:
    """Return all columns of numbers together, and each column of labels by itself.

    Parameters
    ----------
    columns : sequence of (column, name)
        None if nothing is asked for: then targets are zeros.
    used : bool array, shape (n,)
        The rows of training and of the test splits, whose targets must vary.
    kind : str
        "auto", "numbers" or "labels".

    Raises
    ------
    InputError
        If entries are neither numbers nor labels or a mixture of both, do not vary, or are too
        many or too large.

    Examples
    --------
    >>> from partwhole.audit.reading.columns import Texts
    >>> entries = Texts(np.array([0, 1, 0, 2]), ("no", "yes", "perhaps"))
    >>> (head,) = read_targets([(entries, "y")], np.ones(4, dtype=bool), "auto")
    >>> head.labels, head.label.tolist(), head.targets[0].tolist()
    (('no', 'perhaps', 'yes'), [0, 2, 0, 1], [1.0, -1.0, -1.0])
    """
    if not columns:
        return [Head((), np.zeros((len(used), 1)))]
    as_numbers = [_are_numbers(column, name, kind) for column, name in columns]
    together = [pair for pair, is_number in zip(columns, as_numbers, strict=True) if is_number]
    heads = [_numbers(together, used)] if together else []
    heads += [
        _labels(*pair, used)
        for pair, is_number in zip(columns, as_numbers, strict=True)
        if not is_number
    ]
    return heads


def target_of_rows(
    columns: Sequence[tuple[Column, Hashable]], kind: str
) -> Float[np.ndarray, "n *k"] | Int[np.ndarray, "n *k"] | None:
    """Return the target of each row for a splitter: numbers, or the numbers of labels.

    Parameters
    ----------
    columns, kind
        As in `read_targets`.

    Returns
    -------
    array, shape (n,) or (n, k)
        A column for each of several targets; None if nothing is asked for.

    Examples
    --------
    >>> from partwhole.audit.reading.columns import Texts
    >>> target_of_rows([(Texts(np.array([0, 1, 0]), ("yes", "no")), "y")], "auto").tolist()
    [1, 0, 1]
    """
    asked = [
        numbers(column, name, "target", remedy=AS_LABELS)
        if _are_numbers(column, name, kind)
        else numbered(column, name)[0]
        for column, name in columns
    ]
    return None if not asked else asked[0] if len(asked) == 1 else np.column_stack(asked)


def _are_numbers(column: Column, name: Hashable, kind: str) -> bool:
    if kind != "auto":
        return kind == "numbers"
    odd = unfit(column)
    require(
        not odd,
        "targets are real numbers or labels",
        f"{odd} in {name!r}",
        "convert them to numbers, or set target_kind to 'labels'",
    )
    is_number = is_numbers(column, name)
    require(
        isinstance(is_number, bool),
        "a target column holds numbers or labels, not both",
        f"{is_number} in {name!r}",
        AS_LABELS,
    )
    return bool(is_number)


def _numbers(columns: Sequence[tuple[Column, Hashable]], used: Bool[np.ndarray, " n"]) -> Head:
    targets = np.column_stack(
        [numbers(column, name, "target", remedy=AS_LABELS) for column, name in columns]
    )
    names = [name for _, name in columns]
    spread = np.ptp(targets[used], axis=0)
    require(
        bool(spread.max() > 0),
        "targets vary between rows",
        f"{targets[used][0, 0]:.6g} in every row of {names[0]!r}",
        "check the target column",
    )
    require(
        bool(spread.max() >= SMALLEST_SPREAD),
        "targets differ by 1e-100 or more",
        f"at most {spread.max():.3g} in {listing(names)}",
        "scale them up",
    )
    noun = "Target" if len(names) == 1 else "Targets"
    remarks = [f"{noun} {listing(names)}: read as numbers."]
    low, high = targets[used].min(), targets[used].max()
    if len(names) == 1 and np.isin(targets[used], (low, high)).all():
        remarks = [
            f"Target {names[0]!r} has two values, {low:.6g} and {high:.6g}: read as numbers; to "
            "read them as labels, set target_kind to 'labels'."
        ]
    if np.abs(targets).max() > EXACT_INTEGERS:
        remarks.append("Targets above 2^53 are rounded to 16 digits.")
    return Head(tuple(map(str, names)), targets, remarks=tuple(remarks))


def _labels(column: Column, name: Hashable, used: Bool[np.ndarray, " n"]) -> Head:
    label, labels = numbered(column, name)
    require(
        bool((label[used] != label[used][0]).any()),
        "a target has at least two labels",
        f"only {quoted(str(labels[label[used][0]]))} in {name!r}",
        "check the target column",
    )
    if len(labels) > MOST_LABELS or len(label) * len(labels) > MOST_SIGNS:
        return _hashed(label, labels, name)
    remarks = (f"Target {name!r}: read as {len(labels)} labels, {listing(labels)}.",)
    if empty := looks_missing(labels):
        remarks += (counted_as_written([str(name)], listing(empty), "a label", column),)
    if len(labels) == 2:
        return Head((str(name),), 2.0 * label[:, None] - 1.0, label, labels, remarks)
    targets = np.full((len(label), len(labels)), -1.0)
    targets[np.arange(len(label)), label] = 1.0
    return Head((str(name),), targets, label, labels, remarks)


def _hashed(
    label: Int[np.ndarray, " n"],
    labels: tuple[Hashable, ...],
    name: Hashable,
) -> Head:
    """Return a few numbers for each label, which depend on its text alone.

    The indicators of all labels are sums of conjunctions where these random projections of them
    are, and with probability 1 only there.
    """
    codes = np.array(
        [
            np.frombuffer(sha512(str(one).encode("utf-8", "replace")).digest(), dtype=">u8")
            for one in labels
        ]
    )
    targets = (codes[:, :HASHED] / 2.0**63 - 1.0)[label]
    remark = (
        f"Target {name!r} has {len(labels):,} labels, too many for one output each: each is hashed "
        f"to {HASHED} numbers. Nothing is predicted, and no shortcut looked for."
    )
    return Head((str(name),), targets, label, remarks=(remark,), hashed=labels)


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
    """Return remarks on combinations with different targets within one part of the split.

    Raises
    ------
    InputError
        If `duplicates` is "refuse" and such a combination exists, or a test row has a target that
        differs from its combination's target in training.
    """
    rows = np.flatnonzero(part >= 0)
    _, group = Dictionary.of(coded, tuple(range(coded.shape[1])), [len(v) for v in values])
    whole = group[rows].astype(np.int64)
    _, group = np.unique(whole * len(names) + part[rows], return_inverse=True)
    first = _firsts(group, np.arange(len(rows)))[group]
    row_targets = targets[rows] if label is None else label[rows, None]
    differs = (row_targets != row_targets[first]).any(axis=1)

    def described(row: int) -> str:
        value = _target_text(row, targets, label, labels)
        return f"{value} in row {row}"

    def refuse(
        rule: str, conflicting: Bool[np.ndarray, " m"], first: Int[np.ndarray, " m"], remedy: str
    ) -> None:
        if not conflicting.any():
            return
        place = int(conflicting.argmax())
        combination = [v[i] for v, i in zip(values, coded[rows[place]], strict=True)]
        first_row, other_row = int(rows[first[place]]), int(rows[place])
        require(
            False,
            rule,
            f"({listing(combination, len(combination))}) with {described(first_row)} and "
            f"{described(other_row)} (counted from 0)",
            f"correct the table, or {remedy} with duplicates 'average'",
        )

    if duplicates == "refuse":
        refuse("rows of one combination have one target", differs, first, "average them")
        _, whole = np.unique(whole, return_inverse=True)
        train = np.flatnonzero(part[rows] == TRAIN)
        first_in_training = _firsts(whole, train)[whole]
        seen = first_in_training < len(rows)
        changed = seen & (row_targets != row_targets[np.where(seen, first_in_training, 0)]).any(
            axis=1
        )
        refuse(
            "test rows of a combination have the same target as in training",
            changed,
            first_in_training,
            "report them",
        )
    if not differs.any():
        return ()
    clashing = np.bincount(part[rows][np.unique(first[differs])], minlength=len(names))
    listed = [f"{n:,} of {name!r}" for n, name in zip(clashing, names, strict=True) if n]
    return (
        f"Combinations whose rows have different targets: {' and '.join(listed)}; the audit uses "
        "their weighted mean.",
    )


def _firsts(group: Int[np.ndarray, " m"], places: Int[np.ndarray, " r"]) -> Int[np.ndarray, " g"]:
    """Return the first of these places in each group, or the number of rows without one."""
    first = np.full(int(group.max()) + 1, len(group))
    np.minimum.at(first, group[places], places)
    return first


def _target_text(
    row: int,
    targets: Float[np.ndarray, "n k"],
    label: Int[np.ndarray, " n"] | None,
    labels: Sequence[Hashable] | None,
) -> str:
    if label is not None and labels is not None:
        return quoted(str(labels[label[row]]))
    return ", ".join(f"{y:.6g}" for y in targets[row])
