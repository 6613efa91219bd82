"""Pictures of one's own, with the label of each concept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._arrays import as_read
from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, ProperFraction, Seed
from partwhole.tasks._rows import require_rows
from partwhole.tasks._task import Task
from partwhole.tasks.images.composites import Composites
from partwhole.tasks.shapes.pictures import example_grid
from partwhole.tasks.shapes.splits import leave_out
from partwhole.tasks.table import from_frame

if TYPE_CHECKING:
    import pandas as pd

    from partwhole.tasks.images.attribute_space import AttributeSpace
    from partwhole.tasks.shapes.classes import Combination

HELD = 7  # a random stream apart from those of spaces of shapes
LISTED = 12  # combinations in a sentence


@door(single=("images",))
@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Pictures of an `AttributeSpace`, with the label that each has of every concept.

    Made by `from_folder` and by `AttributeSpace.render`. ``images`` and ``components`` go to
    `train_concept_classifier`, one column of ``components`` to `compose_images`, ``images`` and
    ``tokens()`` to the training of a diffusion model, and `composites` to that of an image network.

    Parameters
    ----------
    images : float32 array, shape (n, height, width, channels)
        Levels in 0..1.
    components : int array, shape (n, C)
        The index of each concept's label.
    space : AttributeSpace
    table : pandas.DataFrame
        What is known of each, a row for each.

    Raises
    ------
    InputError
        For arrays or a table of different lengths, and indices that have no label.
    """

    images: Float[np.ndarray, "n height width channels"]
    components: Int[np.ndarray, "n C"]
    space: AttributeSpace
    table: pd.DataFrame

    def __post_init__(self) -> None:
        n, n_values = len(self.images), self.space.n_values
        fit = self.components.shape[1] == len(n_values)
        require(
            fit and bool(((self.components >= 0) & (self.components < n_values)).all()),
            f"components are indices of {' x '.join(map(str, n_values))} labels for each picture",
            f"{self.components.min()}..{self.components.max()} of shape {self.components.shape}",
            "number the labels of each concept from 0",
        )
        is_table = hasattr(self.table, "columns") and hasattr(self.table, "iloc")
        require(
            is_table and len(self.table) == n,
            "a table of pandas has a row for each picture",
            f"{len(self.table)} rows for {n} pictures" if is_table else as_read(self.table),
            "pass one for each",
        )

    def __len__(self) -> int:
        """Return the number of pictures n."""
        return len(self.images)

    def __repr__(self) -> str:
        """Return how many pictures there are, and of which concepts."""
        return f"LabelledImages({self._heading()})"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return height, width and channels of a picture."""
        _, height, width, channels = self.images.shape
        return height, width, channels

    @property
    def classes(self) -> Int[np.ndarray, " n"]:
        """Return the number of each picture's class in the space."""
        return np.asarray(np.ravel_multi_index(tuple(self.components.T), self.space.n_values))

    @property
    def counts(self) -> Int[np.ndarray, " k"]:
        """Return the number of pictures of each class."""
        return np.bincount(self.classes, minlength=self.space.n_classes)

    def tokens(self) -> Int[np.ndarray, "n C"]:
        """Return the condition of each picture, as `AttributeSpace.tokens`."""
        return self.space.tokens(self.classes)

    @door
    def take(self, rows: slice | Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> LabelledImages:
        """Return some of the pictures, in this order."""
        require_rows(rows, len(self))
        return replace(
            self,
            images=self.images[rows],
            components=self.components[rows],
            table=self.table.iloc[rows].reset_index(drop=True),
        )

    @door
    def hold_out(
        self, combinations: Combination | Sequence[Any]
    ) -> tuple[LabelledImages, LabelledImages]:
        """Return the pictures that train, and those of combinations that are held out.

        Parameters
        ----------
        combinations : int, str, or sequence of them or of sequences of str
            As in `leave_out`: words of some of the concepts hold out every class they are true of.

        Returns
        -------
        seen, unseen : LabelledImages

        Raises
        ------
        InputError
            For unknown words, nothing or everything held out, combinations without a picture, and
            those with a label that no picture in training has.

        Examples
        --------
        >>> from partwhole.tasks.images.attribute_space import AttributeSpace
        >>> space = AttributeSpace({"row": ["top", "bottom"], "level": [0.5, 1.0]})
        >>> def draw(row, level, rng):
        ...     return level * np.array([[row == "top"], [row == "bottom"]])
        >>> seen, unseen = space.render(draw, 3, seed=0).hold_out("bottom 1.0")
        >>> seen.counts.tolist(), unseen.counts.tolist()
        ([3, 3, 3, 0], [0, 0, 0, 3])
        """
        is_train = self._is_train(combinations)[self.classes]
        return self.take(is_train), self.take(~is_train)

    @door
    def split(
        self, share: ProperFraction = 0.15, *, seed: Seed
    ) -> tuple[LabelledImages, LabelledImages]:
        """Hold out a share of the pictures of each class, for validation.

        Parameters
        ----------
        share : float, default 0.15
            Of each class, rounded down.
        seed : int, keyword-only

        Returns
        -------
        training, validation : LabelledImages
            In the order they had.

        Raises
        ------
        InputError
            For a share that is not between 0 and 1, or one that holds out nothing.
        """
        rng, classes = np.random.default_rng([seed, HELD]), self.classes
        is_held_out = np.zeros(len(self), dtype=bool)
        for k in np.unique(classes):
            members = rng.permutation(np.flatnonzero(classes == k))
            is_held_out[members[: int(share * len(members) + 1e-9)]] = True
        require(
            bool(is_held_out.any()),
            "a share holds out a picture or more",
            f"{share:g} of at most {int(self.counts.max())} in a class",
            "pass a larger one",
        )
        return self.take(~is_held_out), self.take(is_held_out)

    @door
    def composites(
        self,
        target: str,
        *,
        split: str | None = None,
        held_out: Combination | Sequence[Any] | None = None,
        train: Any = "train",
    ) -> Composites:
        """Return the pictures as samples of a task that has a row for each combination.

        Its ``task`` lists the combinations that have pictures, and each sample is one picture. So
        the samples go to `train`, to `layer_saliences` and, averaged over the pictures of a row,
        to `compare`.

        Parameters
        ----------
        target : str
            A column of the table, as in `from_frame`: numbers, or labels, also those of a concept.
        split : str, keyword-only, default None
            The column that marks rows for training, as in `from_frame`. Pass this or `held_out`.
        held_out : keyword-only, default None
            Combinations, as in `hold_out`.
        train : hashable, keyword-only, default "train"
            The entry of `split` that marks training rows.

        Returns
        -------
        Composites
            In the order of the pictures.

        Raises
        ------
        InputError
            For both or neither of `split` and `held_out`, columns that are not there, entries that
            differ between pictures of a combination, and what `hold_out` and `from_frame` refuse.

        Examples
        --------
        >>> from partwhole.tasks.images.attribute_space import AttributeSpace
        >>> space = AttributeSpace({"width": [1, 2], "height": [1, 2]})
        >>> def draw(width, height, rng):
        ...     return np.pad(np.ones((height, width)), ((0, 3 - height), (0, 3 - width)))
        >>> pictures = space.render(draw, 4, seed=0)
        >>> pictures.table["area"] = pictures.table["width"] * pictures.table["height"]
        >>> samples = pictures.composites("area", held_out="width=2 height=2")
        >>> len(samples), samples.shape, samples.task.targets.tolist(), samples.task.n_test
        (16, (3, 3, 1), [1.0, 2.0, 2.0, 4.0], 1)
        """
        require(
            (split is None) != (held_out is None),
            "combinations are held out by a column of the table or by their names",
            "neither" if split is None else "both",
            "pass split or held_out",
        )
        present, first, rows = np.unique(self.classes, return_index=True, return_inverse=True)
        columns: dict[str, Any] = {
            name: self._column(name, rows, first) for name in (target, split) if name is not None
        }
        names = self.space.names
        # A target may be a concept itself, and a column has one role.
        target_name = f"{target} as a target" if target in (*names, split) else target
        frame = self.table[list(names)].iloc[first].assign(**{target_name: columns[target]})
        split_name = "held out" if split is None else split
        if held_out is not None:
            columns[split_name] = self._is_train(held_out)[present]
        frame[split_name] = columns[split_name]
        task = from_frame(frame, names, target_name, split_name, train=train)
        task = Task(
            self.space.classes[present],
            task.targets,
            task.is_train,
            names,
            self.space.values,
            "pictures",
        )
        index = np.arange(len(self))[:, None]
        return Composites(task, self.images, index, rows.reshape(-1), 0, "channels")

    @door
    def picture(self, per_class: Count = 8, *, gap: int = 1) -> Float[np.ndarray, "height width 3"]:
        """Return one picture of examples, with a row for each class that has some.

        Parameters
        ----------
        per_class : int, default 8
            The first of each class; places of classes that have fewer stay white.
        gap : int, keyword-only, default 1
            Pixels between them.

        Raises
        ------
        InputError
            For pictures of other than 1 or 3 channels.
        """
        return example_grid(self.images, self.classes, per_class, gap)

    def describe(self) -> str:
        """Return how many pictures there are, of which combinations, and the memory they take."""
        counts = self.counts
        present = counts[counts > 0]
        lines = [
            f"{self._heading()}, {self.images.nbytes / 2**20:.1f} MiB",
            f"{len(present):,} of {len(counts):,} combinations have pictures, {present.min():,} to "
            f"{present.max():,} of each",
        ]
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            more = f" and {len(empty) - LISTED:,} more" if len(empty) > LISTED else ""
            lines.append(f"none of {', '.join(map(self.space.label, empty[:LISTED]))}{more}")
        return "\n".join(lines)

    def _heading(self) -> str:
        n_values = zip(self.space.names, self.space.n_values, strict=True)
        concepts = " x ".join(f"{name} ({n})" for name, n in n_values)
        return f"{len(self):,} pictures of {' x '.join(map(str, self.shape))}: {concepts}"

    def _is_train(self, combinations: Any) -> Bool[np.ndarray, " k"]:
        """Return which classes are left when combinations are held out."""
        is_train, has_pictures = leave_out(self.space, combinations), self.counts > 0
        classes = self.space.classes
        unseen = np.flatnonzero(~is_train & has_pictures)
        require(
            len(unseen) > 0,
            "a combination that is held out has pictures",
            f"none of {self.space.label(int(np.argmin(is_train)))!r}",
            "train on all pictures, and ask for it in a prompt",
        )
        for c, words in enumerate(self.space.words):
            left = set(classes[is_train & has_pictures, c].tolist())
            lacking = [value for value in classes[unseen, c].tolist() if value not in left]
            require(
                not lacking,
                "each label of a combination that is held out is also in training",
                f"{words[lacking[0]]!r} in no picture for training" if lacking else "",
                "hold out fewer combinations of it",
            )
        return is_train

    def _column(self, name: str, rows: np.ndarray, first: np.ndarray) -> pd.Series:
        """Return the entry of each class in a column, which must be the same in its pictures."""
        import pandas as pd

        n_columns = int(sum(column == name for column in self.table.columns))
        require(
            n_columns == 1,
            "target and split each name one column of the table",
            f"{name!r}, which {n_columns or 'no'} columns have; columns are "
            f"{', '.join(map(str, self.table.columns[:20]))}",
            "rename the column or the argument",
        )
        column = pd.Series(self.table[name])
        codes, _ = pd.factorize(column)
        different = np.flatnonzero(codes != codes[first][rows.reshape(-1)])
        require(
            len(different) == 0,
            f"{name!r} is the same for all pictures of a combination",
            f"{column.iloc[first[rows.reshape(-1)[different[0]]]]} and {column.iloc[different[0]]} "
            f"for {self.space.label(int(self.classes[different[0]]))!r}"
            if len(different)
            else "",
            "name another column, or train on pairs of images and targets",
        )
        return column.iloc[first]
