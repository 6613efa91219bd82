"""The table of an audit as numbers, and the combinations of one test split."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.audit.occurrences import Occurrences
from partwhole.audit.reading.source import File
from partwhole.features.conjunctions import Dictionary
from partwhole.tasks import Task

TRAIN, LEFT_OUT = 0, -1


@dataclass(frozen=True, eq=False)
class AuditTable:
    """User's table as numbers, with all of its rows.

    Parameters
    ----------
    components : int array, shape (n, C)
        The index of each component's value in `values`.
    targets : float array, shape (n, k)
        Numbers in one column or several; labels as -1 and +1: one column for two labels (+1 is
        the second), else a column for each label.
    label : int array, shape (n,), or None
        The index of each row's label in `labels`, or in `hashed`; None when targets are numbers.
    split : int array, shape (n,)
        0 for training, i for the test split ``split_names[i]``, -1 for rows of splits that
        are left out.
    weights : float array, shape (n,)
        Sample weights; ones by default.
    names : tuple of str, length C
    values : tuple of tuples, length C
    target : tuple of str
        Names of the target's columns; empty without a target, when targets are 0.
    labels : tuple or None
    split_names : tuple of str
        The name of training first.
    features : float array, shape (n, d), or None
        A measured representation, one row for each row of the table.
    source : str
        The file's name, or "table".
    remarks : tuple of str
        Decisions made while reading the table.
    files : tuple of File
        That rows come from in turn; empty if this is unknown.
    occurrences : Occurrences or None
        The components before any was left out, if a shared value occurs several times in a row.
    hashed : tuple or None
        The labels where they are so many that targets are numbers into which they are hashed;
        `labels` is then None.
    positions : tuple of (tuple of float, or None), length C, or ()
        Of an ordered component the increasing positions of its values; empty if none is ordered.
    explained : tuple of str
        Sentences on columns that are no components and explain why repeats differ.
    """

    components: Int[np.ndarray, "n C"]
    targets: Float[np.ndarray, "n k"]
    label: Int[np.ndarray, " n"] | None
    split: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    names: tuple[str, ...]
    values: tuple[tuple[Hashable, ...], ...]
    target: tuple[str, ...]
    labels: tuple[Hashable, ...] | None
    split_names: tuple[str, ...]
    features: Float[np.ndarray, "n d"] | None = None
    source: str = "table"
    remarks: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    occurrences: Occurrences | None = None
    hashed: tuple[Hashable, ...] | None = None
    positions: tuple[tuple[float, ...] | None, ...] = ()
    explained: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Name the table and its size, not every row."""
        return f"AuditTable({self.source}: {len(self.split)} rows of {', '.join(self.names)})"

    @cached_property
    def two_numbers(self) -> tuple[float, float] | None:
        """Return the two numbers that are the only targets, in order; None of others."""
        if self.labels is not None or self.hashed is not None or self.targets.shape[1] != 1:
            return None
        numbers = np.unique(self.targets[self.split >= 0])
        return (float(numbers[0]), float(numbers[1])) if len(numbers) == 2 else None

    @property
    def has_target(self) -> bool:
        """Return whether something is asked for, beside what training determines."""
        return bool(self.target)

    @property
    def is_predicted(self) -> bool:
        """Return whether answers to targets can be predicted: not to those of hashed labels."""
        return self.has_target and self.hashed is None

    @property
    def label_names(self) -> tuple[Hashable, ...] | None:
        """Return the labels, hashed ones too; None when targets are numbers."""
        return self.labels if self.hashed is None else self.hashed

    @property
    def n_components(self) -> int:
        """Return the number of components C."""
        return self.components.shape[1]

    @property
    def n_values(self) -> tuple[int, ...]:
        """Return the number of values of each component."""
        return tuple(len(values) for values in self.values)

    @cached_property
    def _answers(self) -> Float[np.ndarray, "n j"] | Int[np.ndarray, "n j"]:
        """Return numbers that differ where targets do: of labels their index."""
        if self.labels is None or self.targets.shape[1] != len(self.labels):
            return self.targets
        return self.targets.argmax(axis=1)[:, None]

    def case(self, split: int, order: int) -> Case:
        """Merge the rows of training and of one test split into combinations.

        Parameters
        ----------
        split : int
            Index of the test split in `split_names`, from 1.
        order : int
            The audit's order K.

        Returns
        -------
        Case
        """
        train, test = np.flatnonzero(self.split == TRAIN), np.flatnonzero(self.split == split)
        rows = np.concatenate([train, test])
        whole = tuple(range(self.n_components))
        _, coded = Dictionary.of(self.components[rows], whole, self.n_values)
        _, first, combination = np.unique(coded, return_index=True, return_inverse=True)
        # By first occurrence, so that the combinations of training come first.
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        first, combination = np.sort(first), rank[combination]
        is_train = first < len(train)
        # Test rows of a combination that training has seen carry no information on held-out ones.
        counted = (np.arange(len(rows)) < len(train)) | ~is_train[combination]
        weights = np.where(counted, self.weights[rows], 0.0)
        total = np.bincount(combination, weights)
        targets = self.targets[rows[first]]
        row_answers = self._answers[rows]
        differs = counted & np.any(row_answers != row_answers[first[combination]], axis=1)
        conflict = np.zeros(len(first), dtype=bool)
        conflict[combination[differs]] = True
        # Means of equal numbers could differ from them by rounding, and take time.
        repeated = np.flatnonzero(conflict[combination])
        sums = np.zeros_like(targets)
        np.add.at(
            sums, combination[repeated], weights[repeated, None] * self.targets[rows[repeated]]
        )
        targets[conflict] = sums[conflict] / total[conflict, None]
        task = Task(
            self.components[rows[first]],
            targets[:, 0] if targets.shape[1] == 1 else targets,
            is_train,
            self.names,
            self.values,
            self.split_names[split],
        )
        row_combination = np.full(len(self.split), -1)
        row_combination[rows] = combination
        return Case(self, split, order, task, total, conflict, row_combination)


@dataclass(frozen=True, eq=False)
class Case:
    """One test split and training, with one row for each distinct combination.

    Parameters
    ----------
    table : AuditTable
    split : int
        Index of the test split.
    order : int
        The audit's order K.
    task : Task
        The m combinations, those of training first; a test combination that occurs in training
        belongs to training. Targets are weighted means over a combination's rows.
    weights : float array, shape (m,)
        Summed sample weights of each combination's rows (in its own part of the split).
    conflict : bool array, shape (m,)
        Whether the rows of a combination have different targets.
    row_combination : int array, shape (n,)
        The combination of each row of the table, -1 for rows of other splits.
    """

    table: AuditTable
    split: int
    order: int
    task: Task
    weights: Float[np.ndarray, " m"]
    conflict: Bool[np.ndarray, " m"]
    row_combination: Int[np.ndarray, " n"]

    @property
    def name(self) -> str:
        """Return the test split's name."""
        return self.table.split_names[self.split]

    @property
    def has_labels(self) -> bool:
        """Return whether targets are labels."""
        return self.table.labels is not None

    def __repr__(self) -> str:
        """Name the split and its size, not every row."""
        return (
            f"Case({self.name}: {len(self.held_out)} combinations held out, {self.task.n_train} "
            f"in training, order {self.order})"
        )

    @cached_property
    def held_out(self) -> Int[np.ndarray, " h"]:
        """Return the combinations that only the test split has."""
        return np.flatnonzero(~self.task.is_train)

    @cached_property
    def also_seen(self) -> Int[np.ndarray, " r"]:
        """Return the table's rows of this test split whose combination training has seen."""
        test = np.flatnonzero(self.table.split == self.split)
        return test[self.task.is_train[self.row_combination[test]]]

    @cached_property
    def compared(self) -> Int[np.ndarray, " r"]:
        """Return the table's rows of this test split with which training is compared.

        The held-out ones, if they are half of the test split or more; else all. Of a few that are
        held out little can be said, and by itself: which ones are depends on every component, and
        where a component goes with the target they are those in which it does not.
        """
        held_out = self.rows_of(self.held_out)
        test = np.flatnonzero(self.table.split == self.split)
        weights = self.table.weights
        return held_out if 2.0 * weights[held_out].sum() >= weights[test].sum() else test

    @cached_property
    def label(self) -> Int[np.ndarray, " m"] | None:
        """Return each combination's label, -1 where its rows are evenly divided."""
        if self.table.labels is None:
            return None
        y = self.task.targets
        scores = np.stack([-y, y], axis=1) if y.ndim == 1 else y
        best = scores.argmax(axis=1)
        top = scores.max(axis=1, keepdims=True)
        return np.where((scores >= top - 1e-12).sum(axis=1) == 1, best, -1)

    @cached_property
    def determined_by_counts(self) -> Bool[np.ndarray, " h"] | None:
        """Return which held-out combinations training determines for sums of shared embeddings.

        None if no value occurs several times in a row, at higher orders than 1, and for many
        values.
        """
        if self.table.occurrences is None or self.order != 1:
            return None
        numbers, first = np.unique(self.row_combination, return_index=True)
        first = first[numbers >= 0]
        return self.table.occurrences.determined(first[self.task.is_train], first[self.held_out])

    @door(empty=("combinations",))
    def rows_of(self, combinations: Int[np.ndarray, " c"]) -> Int[np.ndarray, " r"]:
        """Return the table's rows of the test split that have one of these combinations."""
        for combination in (combinations.min(initial=0), combinations.max(initial=0)):
            self._require_known(int(combination))
        is_listed = np.zeros(len(self.weights), dtype=bool)
        is_listed[combinations] = True
        test = np.flatnonzero(self.table.split == self.split)
        return test[is_listed[self.row_combination[test]]]

    @door
    def in_words(self, combination: int) -> str:
        """Return a combination as its values, such as ``(circle, red)``."""
        self._require_known(combination)
        values = zip(self.task.values, self.task.components[combination], strict=True)
        return f"({', '.join(str(names[i]) for names, i in values)})"

    def _require_known(self, combination: int) -> None:
        last = len(self.weights) - 1
        rule = f"combinations are numbered from 0 to {last}"
        require(0 <= combination <= last, rule, combination, "pass rows of case.task")
