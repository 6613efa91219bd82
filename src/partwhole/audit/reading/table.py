"""Reading of an audit's table, with the roles of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.audit.case import LEFT_OUT, AuditTable
from partwhole.audit.reading.bins import binned
from partwhole.audit.reading.columns import (
    COMPONENT_VALUES,
    SPLIT_ENTRY,
    Column,
    Texts,
    as_number,
    counted_as_written,
    filled,
    is_missing_value,
    is_writable,
    listing,
    looks_missing,
    missing_in,
    near,
    near_duplicates,
    numbered,
    quoted,
    require_whole,
    with_missing_value,
)
from partwhole.audit.reading.decimals import require_clear_commas
from partwhole.audit.reading.explained import explaining, further_columns, in_words
from partwhole.audit.reading.joined import OF_TABLE
from partwhole.audit.reading.kept import independent, trivial, varying
from partwhole.audit.reading.measured import read_features, read_weights
from partwhole.audit.reading.ordered import Ordered, in_their_order, positions_of
from partwhole.audit.reading.redundant import distinguishing
from partwhole.audit.reading.several import occurrences, spread
from partwhole.audit.reading.source import File, Source, n_rows, with_lines
from partwhole.audit.reading.sources import frame_of_columns, is_of_columns, open_source
from partwhole.audit.reading.splits import (
    HoldOut,
    Parts,
    is_of_rows,
    read_split,
    require_defaults,
    require_one_order,
    splits_of_rows,
)
from partwhole.audit.reading.targets import conflicts, read_targets, target_of_rows
from partwhole.audit.wording import count

__all__ = ["HoldOut", "read_tables"]

TargetKind = Literal["auto", "numbers", "labels"]
Duplicates = Literal["average", "refuse"]
Missing = Literal["refuse", "drop", "value"]
PART_NAMES = {
    "component": COMPONENT_VALUES,
    "target": "target",
    "split": SPLIT_ENTRY,
    "weight": "weight",
    "feature": "features",
}

# With more rows than this, a remark reports a column whose values hardly repeat.
MOST_NAMED = 20
OWN_VALUE = 0.9


@door
def read_tables(
    table: Any,
    components: Iterable[Hashable],
    target: Hashable | Sequence[Hashable] | None = None,
    split: Any = None,
    *,
    train: Hashable = "train",
    test: Hashable | Sequence[Hashable] | None = None,
    weights: Hashable | None = None,
    features: Any = None,
    target_kind: TargetKind = "auto",
    duplicates: Duplicates = "average",
    missing: Missing = "refuse",
    bins: Mapping[Hashable, int] | None = None,
    multi_hot: Sequence[Hashable] = (),
    tied: Sequence[Sequence[Hashable]] = (),
    ordered: Ordered = (),
) -> tuple[AuditTable, ...]:
    """Read a table for an audit; row i of the results is row i of the table.

    Arguments are those of `partwhole.audit_split`. In a CSV file component values are text exactly
    as written: ``01`` and ``1`` differ and ``NA`` is a value. Only an empty cell is missing; quotes
    around nothing are empty text. Row i is line i + 2 of a file without blank lines and line breaks
    in cells. The cells of a column of a CSV file are numbers if all of them are; more than 1,000
    labels, or 16,777,216 rows times labels, are hashed to a few numbers each.

    Returns
    -------
    tuple of AuditTable
        One, or one for each fold and each column of labels. `remarks` report the decisions made
        while reading.

    Raises
    ------
    InputError
        If the table or an argument breaks a rule; the message names the rule.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"shape": list("ccss"), "colour": list("rbrb"), "label": ["no", "yes", "yes", "no"],
    ...      "split": ["train", "train", "train", "test"]}
    ... )
    >>> (found,) = read_tables(frame, ["shape", "colour"], "label", "split")
    >>> found.n_values, found.labels, found.split.tolist()
    ((2, 2), ('no', 'yes'), [0, 0, 0, 1])
    >>> read_tables(frame, ["shape", "color"], "label", "split")
    Traceback (most recent call last):
    ...
    partwhole._checks.InputError: each named column is a column of the table; got 'color' for a
    component, columns are 'shape', 'colour', 'label', 'split'; did you mean 'colour'?
    """
    if isinstance(table, Mapping) and is_of_columns(table):
        table = frame_of_columns(table)
    require(
        split is None or not isinstance(table, Mapping),
        "several tables are the split",
        f"another, {split!r}" if isinstance(split, str) else "another one",
        "leave it out, or pass one table",
    )
    require_one_order(table, split)
    parts = _parts(components, target, split, train, test, weights, features, bool(multi_hot))
    source = open_source(table)
    columns = _read(source, parts)
    files = _files(source, columns)
    with with_lines(files):
        remarks = list(source.remarks)
        changed = {str(name) for name in [*multi_hot, *(n for group in tied for n in group)]}
        plain = [pair for pair in columns["component"] if str(pair[1]) in changed]
        in_roles = [name for names in parts.values() for name in names]
        further = further_columns(source, in_roles, plain, n_rows(columns["component"][0][0]))
        columns["component"] = spread(columns["component"], multi_hot, tied, remarks)
        in_bins = [
            pair for pair in columns["component"] if str(pair[1]) in set(map(str, bins or {}))
        ]
        lists = ordered if isinstance(ordered, Mapping) else dict.fromkeys(ordered)
        in_order = {str(name) for name, listed in lists.items() if listed is None}
        in_bins += [pair for pair in columns["component"] if str(pair[1]) in in_order]
        as_numbers = [*in_bins, *columns["weight"], *columns["feature"]]
        if target_kind != "labels":
            as_numbers += columns["target"]
        remarks += require_clear_commas(as_numbers, ", or read a target as labels")
        binned(columns["component"], bins or {}, remarks)
        kept = _without_missing(columns, missing, remarks)
        coded, values = _components(columns["component"], ordered, remarks)
        asked = partial(target_of_rows, columns["target"], target_kind)
        # Before values are in an order that was asked for, on which no draw depends.
        splits = _splits(split, columns, coded, values, kept, train, test, asked, missing)
        arranged = in_their_order(columns["component"], coded, values, ordered)
        coded, values = arranged.coded, arranged.values
        used = np.logical_or.reduce([part >= 0 for part, _, _ in splits]) & kept
        heads = read_targets(columns["target"], used, target_kind)
        names_of_components = tuple(str(name) for _, name in columns["component"])
        shared = {
            "weights": read_weights(columns["weight"], len(coded)),
            "features": read_features(features, columns["feature"], len(coded)),
            "source": source.name,
            "files": files,
            "occurrences": occurrences(coded, values, names_of_components, tied) if tied else None,
        }
        tables = []
        explained: dict[int, tuple[str, ...]] = {}
        for (part, names, of_split), head in product(splits, heads):
            part = np.where(kept, part, LEFT_OUT)
            here = [*remarks, *of_split]
            codes, of_values, of_names = varying(coded, values, names_of_components, part, here)
            codes, of_values, of_names = independent(codes, of_values, of_names, part, here)
            here += head.remarks
            of_head = "the target" if len(heads) == 1 else ", ".join(head.names)
            here += trivial(codes, of_values, of_names, part, head.targets, head.label, of_head)
            if len(heads) > 1:
                names = (names[0], *(f"{name} ({of_head})" for name in names[1:]))
            here += conflicts(
                codes,
                of_values,
                head.targets,
                head.label,
                head.labels or head.hashed,
                part,
                names,
                duplicates,
            )
            if id(head) not in explained:  # of folds the first one
                n_values = [len(v) for v in of_values]
                explained[id(head)] = tuple(
                    in_words(explaining(codes, n_values, head.targets, part, further))
                )
            here += explained[id(head)]
            tables.append(
                AuditTable(
                    components=codes,
                    targets=head.targets,
                    label=head.label,
                    split=part,
                    names=of_names,
                    values=of_values,
                    target=head.names,
                    labels=head.labels,
                    split_names=names,
                    remarks=tuple(here),
                    hashed=head.hashed,
                    positions=positions_of(arranged.positions, of_names, of_values),
                    explained=explained[id(head)],
                    **shared,
                )
            )
        return tuple(tables)


def _splits(
    split: Any,
    columns: dict[str, list[tuple[Column, Hashable]]],
    coded: Int[np.ndarray, "n C"],
    values: Sequence[Sequence[Hashable]],
    kept: Bool[np.ndarray, " n"],
    train: Hashable,
    test: Any,
    asked: Callable[[], np.ndarray | None],
    missing: Missing,
) -> list[Parts]:
    """Return each row's part, the parts' names, and remarks; several of them for folds."""
    if columns["table"]:
        return [read_split(*columns["table"][0], train, test)]
    if isinstance(split, HoldOut):
        part = np.full(len(coded), LEFT_OUT)
        # Combinations are numbered by components in the order of their names, however given, and
        # without those that others determine, so that naming these as well changes no draw.
        by_name = np.argsort([str(name) for _, name in columns["component"]], kind="stable")
        if split.unit == "combinations":
            n_values = [len(values[c]) for c in by_name]
            by_name = by_name[distinguishing(coded[kept][:, by_name], n_values)]
        part[kept] = split.draw(coded[kept][:, by_name], [len(values[c]) for c in by_name])
        return [(part, ("train", "test"), (f"The test split is {split.in_words()}.",))]
    if columns["split"]:
        return [read_split(*columns["split"][0], train, test)]
    require(
        split is not None,
        "an audit needs a split",
        "none",
        "name a column, or pass a HoldOut, a mask, row numbers or two tables",
    )
    return splits_of_rows(split, len(coded), train, test, asked, missing == "drop")


def _parts(
    components: Any,
    target: Any,
    split: Any,
    train: Any,
    test: Any,
    weights: Any,
    features: Any,
    has_several: bool,
) -> dict[str, list[Hashable]]:
    """Return the names of columns by their role."""
    components = list(components)
    apart = ", one by one, without commas" * any("," in str(name) for name in components)
    require(
        len(components) >= (1 if has_several else 2),
        "a combination has at least two components",
        f"{len(components)}" + "".join(f", {name!r}" for name in components),
        f"name the columns of the components{apart}",
    )
    targets = list(target) if isinstance(target, list | tuple) else [target]
    targets = [] if target is None else targets
    require(
        targets or target is None,
        "target names at least one column",
        "an empty list",
        "name a column",
    )
    if isinstance(split, HoldOut):
        require_defaults(train, test, "a HoldOut rule, which has no entries")
    by_column = not (isinstance(split, HoldOut) or split is None or is_of_rows(split))
    parts = {
        "component": components,
        "target": targets,
        "split": [split] if by_column else [],
        "weight": [] if weights is None else [weights],
        "feature": list(features) if isinstance(features, list | tuple) else [],
    }
    played: dict[str, list[str]] = {}
    for part, names in parts.items():
        for name in names:
            played.setdefault(str(name), []).append(part)
    # A target may be one of the components, as where an attribute is asked for.
    apart = {name: roles for name, roles in played.items() if roles != ["component", "target"]}
    twice = next((name for name, roles in apart.items() if len(roles) > 1), "")
    require(
        not twice,
        "each column has one role",
        f"{twice!r} as {' and as '.join(played.get(twice, []))}",
        "name it once, or copy the column under another name",
    )
    return parts


def _read(
    source: Source, parts: dict[str, list[Hashable]]
) -> dict[str, list[tuple[Column, Hashable]]]:
    """Return the named columns, each once in the table and without missing entries."""
    as_text = [str(name) for name in source.columns]
    number_of = Counter(as_text)
    place: dict[str, int] = {}
    for part, names in parts.items():
        for name in map(str, names):
            require(
                number_of[name] > 0,
                "each named column is a column of the table",
                f"{name!r} for a {part}, columns are {listing(as_text)}",
                near(name, as_text, "name one of them"),
            )
            require(
                number_of[name] == 1,
                "the name of each named column is unique",
                f"{number_of[name]} columns {name!r}",
                "rename the others",
            )
            require(
                is_writable(name),
                "names of columns are text that UTF-8 can encode",
                repr(name),
                "rename the column",
            )
            place[name] = as_text.index(name)
    numeric = {place[str(name)] for part in ("weight", "feature") for name in parts[part]}
    columns = source.read(sorted({*place.values()} - numeric), sorted(numeric))
    by_part: dict[str, list[tuple[Column, Hashable]]] = {}
    for part, names in parts.items():
        by_part[part] = [(columns[place[name]], name) for name in map(str, names)]
    by_part["table"] = [(columns[OF_TABLE], "table")] if OF_TABLE in columns else []
    n = n_rows(by_part["component"][0][0])
    require(n > 0, "the table has rows", f"none below {len(as_text)} columns", "check the table")
    return by_part


def _files(source: Source, by_part: dict[str, list[tuple[Column, Hashable]]]) -> tuple[File, ...]:
    """Return the files that rows come from, with the number of rows of each."""
    counts = [n_rows(by_part["component"][0][0])]
    if by_part["table"]:
        of_table = by_part["table"][0][0]
        assert isinstance(of_table, Texts)
        counts = np.bincount(of_table.codes, minlength=len(of_table.texts)).tolist()
    if len(counts) != len(source.texts):
        return ()
    return tuple(text.with_rows(n) for text, n in zip(source.texts, counts, strict=True))


def _without_missing(
    by_part: dict[str, list[tuple[Column, Hashable]]], missing: Missing, remarks: list[str]
) -> Bool[np.ndarray, " n"]:
    """Fill missing entries as asked, and return which rows are kept."""
    n = n_rows(by_part["component"][0][0])
    kept = np.ones(n, dtype=bool)
    for part, pairs in by_part.items():
        for place, (column, name) in enumerate(pairs):
            if part == "table":
                continue
            absent = missing_in(column, name)
            if missing == "drop" and not absent.all():
                kept &= ~absent
                pairs[place] = filled(column, absent), name
            elif missing == "value" and part == "component" and not absent.all():
                pairs[place] = with_missing_value(column, absent), name
                if n_absent := int(absent.sum()):
                    entries = count(n_absent, "missing entry", "missing entries")
                    counts = "counts" if n_absent == 1 else "count"
                    remarks.append(f"{entries} of {name!r} {counts} as a value.")
            else:
                require_whole(column, name, PART_NAMES[part])
    require(
        kept.any(),
        "some row has no missing entry",
        f"missing ones in each of {n:,} rows",
        "leave out columns that are mostly empty",
    )
    if not kept.all():
        remarks.append(
            f"Left out: {n - int(kept.sum()):,} of {n:,} rows, which have missing entries."
        )
    return kept


def _components(
    columns: list[tuple[Column, Hashable]], ordered: Ordered, remarks: list[str]
) -> tuple[Int[np.ndarray, "n C"], tuple[tuple[Hashable, ...], ...]]:
    """Return the components' values as numbers; remarks list suspicious values."""
    coded = [numbered(column, name) for column, name in columns]
    empty: dict[tuple[str, bool], tuple[Column, list[str]]] = {}
    for (column, name), (codes, values) in zip(columns, coded, strict=True):
        pairs = near_duplicates(values)
        if pairs:
            first, second = pairs[0]
            ending = f" ({len(pairs)} such pairs in all)" if len(pairs) > 1 else ""
            remarks.append(
                f"Values {quoted(first)} and {quoted(second)} of {name!r} count as "
                f"different{ending}."
            )
        if odd := looks_missing(values):
            alike = listing(odd), isinstance(column, Texts)
            empty.setdefault(alike, (column, []))[1].append(str(name))
        number = column.number if isinstance(column, Texts) else as_number
        present = [value for value in values if not is_missing_value(value)]
        if (
            len(present) > MOST_NAMED
            and str(name) not in set(map(str, ordered))
            and all(number(str(value)) is not None for value in present)
        ):
            advice = f"bins put them in groups (--bins {name}=10)"
            if len(present) == len(values):
                advice += (
                    ", and learners to which near ones are alike are predicted with "
                    f"--ordered {name}"
                )
            remarks.append(
                f"{name} has {len(present):,} numbers as values, which have nothing in common; if "
                f"they are quantities, {advice}."
            )
        if len(codes) > MOST_NAMED and np.sum(np.bincount(codes) == 1) >= OWN_VALUE * len(codes):
            remarks.append(
                f"{name} has a different value in nearly every row, so it seems to identify rows "
                "rather than parts; leave it out of the components."
            )
    for (text, _), (column, names) in empty.items():
        remarks.append(counted_as_written(names, text, "a value", column))
    return np.stack([codes for codes, _ in coded], axis=1), tuple(v for _, v in coded)
