"""Concept spaces of one's own: attributes with labels as they are, and a renderer of pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Positive, Seed
from partwhole.tasks._build import full_grid
from partwhole.tasks._task import Task
from partwhole.tasks.images._rendered import Request, rendered
from partwhole.tasks.images.labelled_images import LabelledImages
from partwhole.tasks.shapes.classes import Classes, listed, one_word

RENDERED = 6  # a random stream apart from those of spaces of shapes


@door
@dataclass(frozen=True, eq=False)
class AttributeSpace(Classes):
    """Space of pictures of one's own: the attributes that concepts are, and their labels.

    What `ConceptSpace` is for shapes that this library draws. A class is a combination of labels,
    one of each concept; classes are numbered in lexicographic order, the first concept slowest.
    Every label has a word, by which combinations are named: its text, with hyphens for blanks, and
    with the concept before it (``size=2``) where another concept has the same.

    Parameters
    ----------
    labels : mapping of str to sequence
        For each concept its labels, two or more: text, numbers, booleans.

    Raises
    ------
    InputError
        For no concept, less than two labels, labels that come twice, are missing, or differ only
        in capitals or blanks, and more than 50 million classes times concepts.

    Examples
    --------
    >>> space = AttributeSpace({"shape": ["disc", "star"], "colour": ["red", "light blue", "grey"]})
    >>> space.n_classes, space.label(1), space.index("light-blue star")
    (6, 'disc light-blue', 4)
    >>> space.tokens(["grey star", "grey"]).tolist()
    [[2, 5], [0, 5]]
    """

    labels: Mapping[str, Sequence[Any]]

    def __post_init__(self) -> None:
        require(self.labels, "a space has at least one concept", "none", "name its labels")
        plain = {name: tuple(map(_plain, labels)) for name, labels in self.labels.items()}
        object.__setattr__(self, "labels", plain)
        for name, labels in plain.items():
            missing = [label for label in labels if not _is_label(label)]
            require(
                not missing,
                "labels are text, numbers or booleans, none of them missing or empty",
                f"{missing[0]!r} in {name!r}" if missing else "",
                "fill it in, or drop those rows",
            )
            require(
                len(labels) >= 2,
                "a concept has two labels or more",
                f"{len(labels)} of {name!r}" + (f", {labels[0]!r}" if labels else ""),
                "leave out a concept that never changes",
            )
            alike: dict[str, Hashable] = {}
            for label in labels:
                word = one_word(label).casefold()
                require(
                    word not in alike,
                    "labels of a concept differ in more than capitals and blanks",
                    f"{alike.get(word)!r} and {label!r} in {name!r}",
                    "write one label in one way",
                )
                alike[word] = label
        full_grid(self.n_values)
        require(
            len(self._places) == sum(self.n_values),
            "each label has a word of its own",
            f"{len(self._places)} words for {sum(self.n_values)} labels",
            "leave '=' out of labels",
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the concepts' names."""
        return tuple(self.labels)

    @property
    def values(self) -> tuple[tuple[Hashable, ...], ...]:
        """Return the labels of each concept, as a task has them."""
        return tuple(map(tuple, self.labels.values()))

    @property
    def n_values(self) -> tuple[int, ...]:
        """Return the number of labels of each concept."""
        return tuple(map(len, self.labels.values()))

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """Return the word of each concept's labels, in the order of their indices."""
        return self._words

    @cached_property
    def _words(self) -> tuple[tuple[str, ...], ...]:
        spelt = [tuple(map(one_word, labels)) for labels in self.labels.values()]
        times = Counter(word for words in spelt for word in words)
        return tuple(
            tuple(word if times[word] == 1 else f"{one_word(name)}={word}" for word in words)
            for name, words in zip(self.names, spelt, strict=True)
        )

    @door
    def task(self, is_train: Bool[np.ndarray, " k"]) -> Task:
        """Return the classes as a task: a row for each, a component for each concept.

        Targets are the labels in columns of 0 and 1, each of which rests on one concept alone.

        Parameters
        ----------
        is_train : bool array, shape (k,)
            Which classes are seen, as `leave_out` and others say.

        Examples
        --------
        >>> from partwhole.tasks.shapes.splits import leave_out
        >>> space = AttributeSpace({"shape": ["disc", "star"], "colour": ["red", "blue"]})
        >>> space.task(leave_out(space, "star blue")).n_test
        1
        """
        blank = np.zeros((self.n_classes, 1))
        rows = Task(self.classes, blank, is_train, self.names, self.values)
        return Task(rows.components, rows.one_hot(), is_train, rows.names, rows.values)

    @door
    def render(
        self,
        renderer: Callable[..., Any],
        counts: int | np.integer | Int[np.ndarray, " k"] | Sequence[int],
        *,
        is_train: Bool[np.ndarray, " k"] | None = None,
        seed: Seed,
        memory: Positive = 8.0,
        progress: bool = True,
    ) -> LabelledImages:
        """Draw pictures by a renderer of one's own, class by class.

        Parameters
        ----------
        renderer : callable
            Called as ``renderer(*labels, rng)`` with a label of each concept and a generator of
            random numbers, by which pictures of a class may differ. It returns one picture, floats
            in 0..1 of shape (height, width) or (height, width, channels), the same for all.
        counts : int, or int array, shape (k,)
            How many of each class.
        is_train : bool array, shape (k,), keyword-only, default None
            Of which classes there are pictures, as `leave_out` says; None for all.
        seed : int, keyword-only
            Each class has a random stream of its own, from which more pictures begin with the
            fewer.
        memory : float, keyword-only, default 8.0
            The GiB that the pictures may take, at 4 bytes a number.
        progress : bool, keyword-only, default True
            Whether to show a bar on the error stream once this takes over two seconds.

        Returns
        -------
        LabelledImages
            Class after class.

        Raises
        ------
        InputError
            For pictures of several shapes, levels outside 0..1 or not finite, counts that are not
            one whole number for each class, nothing to draw, and too little memory.

        Examples
        --------
        >>> space = AttributeSpace({"half": ["left", "right"], "level": [0.5, 1.0], "side": [2, 3]})
        >>> def draw(half, level, side, rng):
        ...     image = np.zeros((6, 6))
        ...     start = rng.integers(3 - side + 1) + (3 if half == "right" else 0)
        ...     image[:side, start : start + side] = level
        ...     return image
        >>> pictures = space.render(draw, 5, seed=0)
        >>> pictures.images.shape, round(float(pictures.images[-1].sum()), 2)
        ((40, 6, 6, 1), 9.0)
        """
        numbers = self._numbers(counts, is_train)
        images = rendered(renderer, self._requests(numbers, seed), memory, progress)
        import pandas as pd

        components = np.repeat(self.classes, numbers, axis=0)
        columns = zip(self.labels.items(), components.T, strict=True)
        table = {name: [labels[value] for value in column] for (name, labels), column in columns}
        return LabelledImages(images, components, self, pd.DataFrame(table))

    def describe(self) -> str:
        """Return the concepts with their labels.

        Examples
        --------
        >>> print(AttributeSpace({"shape": ["disc", "star"], "size": [1, 2, 3]}).describe())
        2 concepts, 6 classes
        shape: disc, star
        size: 1, 2, 3
        """
        n = len(self.names)
        lines = [
            f"{name}: {listed(words)}" for name, words in zip(self.names, self.words, strict=True)
        ]
        heading = f"{n} concept{'s' * (n > 1)}, {self.n_classes:,} classes"
        return "\n".join([heading, *lines])

    def _requests(self, numbers: Int[np.ndarray, " k"], seed: int) -> list[Request]:
        """Return what a renderer is asked for: the labels of each class, and how often."""
        return [
            Request(
                self.label(k),
                [labels[v] for labels, v in zip(self.values, self.classes[k], strict=True)],
                int(numbers[k]),
                np.random.default_rng([seed, RENDERED, int(k)]),
            )
            for k in np.flatnonzero(numbers)
        ]


def _plain(label: Any) -> Any:
    """Return a label of NumPy as one of Python."""
    return label.item() if isinstance(label, np.generic) else label


def _is_label(label: Any) -> bool:
    """Return whether a label is there, and can be told from others."""
    try:
        hash(label)
    except TypeError:
        return False
    return label is not None and label == label and bool(str(label).strip())
