"""A task: a finite table of combinations, some of them seen."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@door
@dataclass(frozen=True, eq=False)
class Task:
    """Finite table of combinations with targets, some seen and some held out.

    Parameters
    ----------
    components : int array, shape (n, C)
        One row for each combination: the index of each component's value in `values`.
    targets : float array, shape (n,) or (n, k)
        What is learned: a number, a label -1 or +1, or k outputs.
    is_train : bool array, shape (n,)
        Whether the combination is seen in training; the others are held out.
    names : tuple of str, length C
        The components' names.
    values : tuple of tuples, length C
        The values of each component, in the order of their indices.
    title : str, default ""
        A name for people.

    Raises
    ------
    InputError
        When shapes disagree, an index has no value, a target is not finite or nothing is seen.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(values=range(-4, 5), anchors=[0])
    >>> task.n_train, task.n_test
    (17, 64)
    """

    components: Int[np.ndarray, "n C"]
    targets: Float[np.ndarray, "n *k"]
    is_train: Bool[np.ndarray, " n"]
    names: tuple[str, ...]
    values: tuple[tuple[Hashable, ...], ...]
    title: str = ""

    def __post_init__(self) -> None:
        require(
            self.targets.ndim in (1, 2),
            "targets are one number for each combination, or one row of numbers",
            f"shape {self.targets.shape}",
            "pass shape (n,) or (n, k)",
        )
        n_components = self.n_components
        require(
            len(self.names) == n_components and len(self.values) == n_components,
            "every component needs a name and its values",
            f"{n_components} components, {len(self.names)} names, {len(self.values)} lists",
            "pass one name and one list of values for each column of components",
        )
        for name, column, values in zip(self.names, self.components.T, self.values, strict=True):
            require(
                column.min() >= 0 and column.max() < len(values),
                f"components must hold indices into the values of {name!r}",
                f"indices {column.min()}..{column.max()} for {len(values)} values",
                "number the values from 0",
            )
        require(
            bool(self.is_train.any()),
            "a task needs at least one training combination",
            "none",
            "mark the seen combinations in is_train",
        )

    @property
    def n_components(self) -> int:
        """Return the number of components C."""
        return self.components.shape[1]

    @property
    def n_values(self) -> tuple[int, ...]:
        """Return the number of values of each component."""
        return tuple(len(values) for values in self.values)

    @property
    def n_train(self) -> int:
        """Return the number of training rows."""
        return int(self.is_train.sum())

    @property
    def n_test(self) -> int:
        """Return the number of held-out rows."""
        return len(self.is_train) - self.n_train

    @property
    def train_components(self) -> Int[np.ndarray, "m C"]:
        """Return the components of the training rows."""
        return self.components[self.is_train]

    @property
    def test_components(self) -> Int[np.ndarray, "m C"]:
        """Return the components of the held-out rows."""
        return self.components[~self.is_train]

    @property
    def train_targets(self) -> Float[np.ndarray, "m *k"]:
        """Return the targets of the training rows."""
        return self.targets[self.is_train]

    @property
    def test_targets(self) -> Float[np.ndarray, "m *k"]:
        """Return the targets of the held-out rows."""
        return self.targets[~self.is_train]

    @cached_property
    def is_classification(self) -> bool:
        """Return whether every target is a label, -1 or +1."""
        return bool(np.all(np.abs(self.targets) == 1.0))

    def __repr__(self) -> str:
        """Return the task's name and size."""
        sizes = " x ".join(map(str, self.n_values))
        return (
            f"Task({self.title or 'untitled'}: {self.n_components} components of {sizes} values, "
            f"{self.n_train} rows seen, {self.n_test} held out)"
        )

    def one_hot(self) -> Float[np.ndarray, "n d"]:
        """Return the inputs of a dense network: for each component a 1 at its value, side by side.

        Examples
        --------
        >>> from partwhole.tasks import symbolic_addition
        >>> symbolic_addition([-1, 1], [1]).one_hot()[1].tolist()
        [1.0, 0.0, 0.0, 1.0]
        """
        columns = zip(self.n_values, self.components.T, strict=True)
        return np.hstack([np.eye(n)[column] for n, column in columns])

    def to_frame(self) -> pd.DataFrame:
        """Return the task as a table: a column for each component, the targets and the split."""
        import pandas as pd

        columns: dict[str, object] = {
            name: [values[index] for index in column]
            for name, column, values in zip(self.names, self.components.T, self.values, strict=True)
        }
        if self.targets.ndim == 1:
            columns["target"] = self.targets
        else:
            flat = self.targets.reshape(len(self.targets), -1)
            columns |= {f"target_{k}": flat[:, k] for k in range(flat.shape[1])}
        columns["split"] = np.where(self.is_train, "train", "test")
        return pd.DataFrame(columns)

    @door
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the targets of a task of two components; held-out combinations have a dot.

        Parameters
        ----------
        ax : Axes, optional
            Of matplotlib; by default of a new figure.

        Returns
        -------
        Axes

        Raises
        ------
        InputError
            For other than two components, several outputs, or a combination in several rows.
        MissingExtraError
            Without matplotlib, of the extra "plot".

        Examples
        --------
        >>> from partwhole import tasks
        >>> tasks.symbolic_addition(anchors=[0]).plot().get_ylabel()
        'first'
        """
        from partwhole.tasks.plotting import plot_task

        return plot_task(self, ax)

    def _repr_html_(self) -> str:
        from partwhole._notebook import card

        return card(self, "", self.to_frame())

    def describe(self) -> str:
        """Return the grid of seen and unseen cells.

        Returns
        -------
        str
            A heading with the sizes, then a grid of the first two components: ``#`` every
            combination of the cell is seen, ``+`` some are, ``.`` none is (held out), and a
            blank where the task has no such combination. Values that are held out and never seen
            are named below.

        Examples
        --------
        >>> from partwhole import tasks
        >>> print(tasks.symbolic_addition(values=range(-1, 2), anchors=[0]).describe())
        symbolic addition: 2 components, 5 combinations seen, 4 held out
        first \\ second  (# seen, . held out)
             -1  0  1
         -1   .  #  .
          0   #  #  #
          1   .  #  .
        """
        seen_rows, held_rows = self.train_components, self.test_components
        heading = (
            f"{self.title or 'task'}: {self.n_components} component"
            f"{'s' if self.n_components != 1 else ''}, "
            f"{_counted(seen_rows)} seen, {_counted(held_rows, short=True)} held out"
        )
        no_split = [
            f"never seen: {name} {values[index]}"
            for name, values, seen_values, held_values in zip(
                self.names, self.values, seen_rows.T, held_rows.T, strict=True
            )
            for index in np.setdiff1d(held_values, seen_values)
        ]
        rows = self.components[:, 0]
        columns = self.components[:, 1] if self.n_components > 1 else np.zeros_like(rows)
        row_values = [str(value) for value in self.values[0]]
        column_values = [str(value) for value in self.values[1]] if self.n_components > 1 else [""]
        shape = (len(row_values), len(column_values))
        count, seen = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
        np.add.at(count, (rows, columns), 1)
        np.add.at(seen, (rows, columns), self.is_train.astype(int))
        marks = np.where(seen == count, "#", np.where(seen == 0, ".", "+"))
        marks = np.where(count == 0, " ", marks)
        legend = "# seen, . held out" + (", + some of each" if "+" in marks else "")
        axes = " \\ ".join(self.names[:2])
        if self.n_components > 2:
            axes += f", over {', '.join(self.names[2:])}"
        side = max(map(len, row_values))
        cell = max(2, *map(len, column_values))
        head = " " * (side + 1) + "".join(f" {value:>{cell}}" for value in column_values)
        body = [
            f" {value:>{side}}" + "".join(f" {mark:>{cell}}" for mark in line)
            for value, line in zip(row_values, marks, strict=True)
        ]
        lines = [heading, f"{axes}  ({legend})", head, *body, *no_split]
        return "\n".join(line.rstrip() for line in lines)


def _counted(rows: Int[np.ndarray, "m C"], *, short: bool = False) -> str:
    """Return the number of combinations, and of rows if there are more."""
    distinct = len(np.unique(rows, axis=0))
    words = f"{distinct}" if short else f"{distinct} combinations"
    return words if distinct == len(rows) else f"{words} ({len(rows)} rows)"
