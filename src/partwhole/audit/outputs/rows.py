"""Every test row: whether training determines it, why not, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import Evidence
from partwhole.audit.outputs.fixes import Fixes
from partwhole.audit.wording import conjunction, printable
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets

if TYPE_CHECKING:
    import pandas as pd

SEEN, DETERMINED, NOT_DETERMINED, UNDECIDED = "seen", "determined", "not determined", "undecided"
# Conjunctions that training lacks that are named.
MOST_NAMED = 3
# Outputs beyond which only the predicted label is written: of 413 labels the table had 70 MB.
MOST_OUTPUTS = 20


def rows_to_frame(evidence: Evidence, time_limit: float = 10.0) -> pd.DataFrame:
    """Return a row for each test row of a split.

    Parameters
    ----------
    evidence : Evidence
    time_limit : float, default 10
        Seconds, as counted, in which training rows that would help are looked for.

    Returns
    -------
    pandas.DataFrame
        The row's number in the table, its split and values; ``status`` ("seen" in training,
        "determined", "not determined" or "undecided"); ``why`` a row is not determined, or its
        label is one that training lacks, so that no prediction is right; the training row that
        would ``help``: added to training, it determines this one; and the predictions of
        `Evidence.to_frame`, of several outputs with the name of each label, or of each column of
        the target; of more than 20 labels only the predicted one.
    """
    case = evidence.case
    test = np.flatnonzero(case.table.split == case.split)
    combinations = case.row_combination[test]
    place = np.full(len(case.weights), -1)
    place[case.held_out] = np.arange(len(case.held_out))
    held_out = place[combinations]
    # Names may repeat: a component may be called "row".
    columns: list[tuple[str, object]] = [("row", test), ("split", [case.name] * len(test))]
    for name, values, column in zip(
        case.task.names, case.task.values, case.task.components[combinations].T, strict=True
    ):
        columns.append((name, [values[value] for value in column]))
    status, why, helps = _reasons(evidence, time_limit)
    for name, entries in (("status", status), ("why", why), ("help", helps)):
        beyond = SEEN if name == "status" else ""
        of_rows = [entries[i] if i >= 0 else beyond for i in held_out]
        if name == "why":
            of_rows = [
                "; ".join(filter(None, reasons))
                for reasons in zip(of_rows, _unseen_labels(case, test), strict=True)
            ]
        columns.append((name, of_rows))
    if not case.table.is_predicted:
        return _named(columns)
    predicted = evidence.to_frame()
    n_values = len(case.task.names)
    is_long = case.has_labels and case.task.targets[0].size > MOST_OUTPUTS
    for name, column in list(predicted.items())[n_values:]:
        kinds = ("predicted label",) if is_long else ("prediction", "predicted label")
        if str(name).startswith(kinds):
            entries = [column.iloc[i] if i >= 0 else None for i in held_out]
            columns.append((_output_name(case, str(name)), entries))
    return _named(columns)


def _unseen_labels(case: Case, test: Int[np.ndarray, " r"]) -> list[str]:
    """Return for each test row whether training lacks its label, in words; else nothing."""
    table = case.table
    names = table.label_names
    if table.label is None or names is None:
        return [""] * len(test)
    seen = np.unique(table.label[table.split == TRAIN])
    is_seen = np.isin(table.label[test], seen)
    return [
        "" if known else f"no training row has the label {printable(names[label])}"
        for label, known in zip(table.label[test], is_seen, strict=True)
    ]


def _output_name(case: Case, name: str) -> str:
    """Return the name of an output, with its label or column in place of its number."""
    kind, _, number = name.partition(" ")
    outputs = case.table.target if case.table.labels is None else case.table.labels
    if kind != "prediction" or not number or len(outputs) != case.task.targets[0].size:
        return name
    return f"{kind} {outputs[int(number)]}"


def _named(columns: list[tuple[str, object]]) -> pd.DataFrame:
    """Return a table of columns, whose names may repeat."""
    import pandas as pd

    frame = pd.DataFrame(dict(enumerate(column for _, column in columns)))
    return frame.set_axis([name for name, _ in columns], axis=1)


def _reasons(evidence: Evidence, time_limit: float) -> tuple[list[str], list[str], list[str]]:
    """Return the status of each held-out combination, why it is not determined, and what helps."""
    case, determination = evidence.case, evidence.determination
    n = len(case.held_out)
    if determination is None:
        return [UNDECIDED] * n, [""] * n, [""] * n
    status = np.where(
        determination.undecided,
        UNDECIDED,
        np.where(determination.determined, DETERMINED, NOT_DETERMINED),
    ).tolist()
    lacking = _lacking(case)
    fixes = Fixes(case, determination, time_limit)
    why, helps = [""] * n, [""] * n
    for i, word in enumerate(status):
        if word != NOT_DETERMINED:
            continue
        why[i] = _why(case, fixes.rows[i], lacking[i])
        # A row that determines it has all that training lacks, at the largest size.
        largest = [chosen for chosen in lacking[i] if len(chosen) == determination.order]
        parts = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *largest])).astype(np.int64)
        helps[i] = fixes.help_for(i, parts)
    return status, why, helps


def _why(case: Case, row: Int[np.ndarray, " C"], lacking: Sequence[tuple[int, ...]]) -> str:
    """Name the smallest conjunctions of a held-out combination that training lacks."""
    smallest = [
        chosen for chosen in lacking if not any(set(smaller) < set(chosen) for smaller in lacking)
    ]
    if not smallest:
        return "the training rows leave it open"
    names = [conjunction(case, chosen, row[list(chosen)].tolist()) for chosen in smallest]
    if len(names) > MOST_NAMED:
        names[MOST_NAMED:] = [f"{len(names) - MOST_NAMED:,} more pairs or larger sets"]
    return f"no training row has {'; none has '.join(names)}"


def _lacking(case: Case) -> list[list[tuple[int, ...]]]:
    """Return the components of each held-out combination's conjunctions that training lacks."""
    task = case.task
    lacking: list[list[tuple[int, ...]]] = [[] for _ in range(task.n_test)]
    sets = conjunction_sets(task.n_components, case.order)[1:]
    design = ConjunctionDesign.seen(task.train_components, sets, task.n_values)
    for chosen, index in zip(sets, design.at(task.test_components).index, strict=True):
        for i in np.flatnonzero(index < 0):
            lacking[i].append(chosen)
    return lacking
