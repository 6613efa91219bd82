"""Concept spaces of one's own: attributes with labels as they are, and a renderer of pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import is_whole, require
from partwhole._door import door
from partwhole._types import Positive, Seed
from partwhole.tasks._build import full_grid
from partwhole.tasks._task import Task
from partwhole.tasks.images._rendered import Request, rendered
from partwhole.tasks.images.labelled_images import LabelledImages

RENDERED = 6  # a random stream apart from those of spaces of shapes
NO_WORD = 0  # the token of an attribute that is not named
LISTED = 12  # words in a sentence

Combination = int | np.integer | str | Sequence[Any]


@door
@dataclass(frozen=True, eq=False)
class AttributeSpace:
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
                word = _word(label).casefold()
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
    def n_classes(self) -> int:
        """Return the number of classes k, the product of the numbers of labels."""
        return int(np.prod(self.n_values))

    @cached_property
    def classes(self) -> Int[np.ndarray, "k C"]:
        """Return every combination in lexicographic order: the index of each concept's label."""
        grid = full_grid(self.n_values)
        grid.flags.writeable = False
        return grid

    @cached_property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """Return the word of each concept's labels, in the order of their indices."""
        spelt = [tuple(map(_word, labels)) for labels in self.labels.values()]
        times = Counter(word for words in spelt for word in words)
        return tuple(
            tuple(word if times[word] == 1 else f"{_word(name)}={word}" for word in words)
            for name, words in zip(self.names, spelt, strict=True)
        )

    @property
    def vocabulary(self) -> dict[str, int]:
        """Return the token of each word, from 1; 0 stands for no word."""
        words = (word for words in self.words for word in words)
        return {word: token for token, word in enumerate(words, NO_WORD + 1)}

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """Return the concept and the index of each word."""
        return {
            word: (c, value)
            for c, words in enumerate(self.words)
            for value, word in enumerate(words)
        }

    @door
    def label(self, index: int | np.integer) -> str:
        """Return the words of a class, as in "star light-blue"."""
        row = self.classes[self.index(index)]
        return " ".join(words[value] for words, value in zip(self.words, row, strict=True))

    @door
    def select(self, combination: Combination) -> Bool[np.ndarray, " k"]:
        """Return which classes match a combination.

        Parameters
        ----------
        combination : int, str or sequence
            The number of a class, or words of different concepts in any order, in a text or one
            by one; concepts that are not named may be anything.

        Raises
        ------
        InputError
            For an unknown number or word, or two words of one concept.

        Examples
        --------
        >>> space = AttributeSpace({"shape": ["disc", "star"], "colour": ["red", "blue"]})
        >>> space.select("blue").tolist()
        [False, True, False, True]
        """
        if is_whole(combination):
            require(
                0 <= combination < self.n_classes,
                f"classes are numbered 0..{self.n_classes - 1}",
                combination,
                "or name the class in words",
            )
            return np.arange(self.n_classes) == combination
        is_selected = np.ones(self.n_classes, dtype=bool)
        for c, value in enumerate(self._values(combination)):  # pyright: ignore[reportArgumentType]
            if value is not None:
                is_selected &= self.classes[:, c] == value
        return is_selected

    @door
    def index(self, combination: Combination) -> int:
        """Return the number of a class, which is named by a word of each concept.

        Raises
        ------
        InputError
            As `select`, and when a concept is not named.
        """
        matching = np.flatnonzero(self.select(combination))
        require(
            len(matching) == 1,
            f"a class is identified by a word of each concept, {', '.join(self.names)}",
            f"{combination!r}, which matches {len(matching)} classes",
            "name one word of each",
        )
        return int(matching[0])

    @door
    def tokens(
        self, prompts: int | np.integer | str | Sequence[str] | Sequence[int] | np.ndarray
    ) -> Int[np.ndarray, "n C"]:
        """Return prompts as tokens, a column for each concept: conditions of diffusion models.

        Parameters
        ----------
        prompts : int, str, or sequence of them
            Texts such as "star blue", in which concepts may be missing, or numbers of classes.

        Returns
        -------
        int array, shape (n, C)
            0 for a concept that is not named; one row where prompts is one text or number.

        Raises
        ------
        InputError
            For an unknown word or number, or two words of one concept.
        """
        entries = [prompts] if isinstance(prompts, str) or is_whole(prompts) else list(prompts)  # pyright: ignore[reportArgumentType]
        first = np.cumsum([0, *self.n_values])[:-1] + NO_WORD + 1
        numbers = [int(entry) for entry in entries if is_whole(entry)]
        if len(numbers) == len(entries):
            odd = [number for number in numbers if not 0 <= number < self.n_classes]
            rule = f"classes are numbered 0..{self.n_classes - 1}"
            require(not odd, rule, odd[0] if odd else "", "or name the class in words")
            return self.classes[np.array(numbers, dtype=int)] + first
        rows = np.zeros((len(entries), len(self.names)), dtype=int)
        for row, entry in zip(rows, entries, strict=True):
            values = zip(self._values(str(entry)), first, strict=True)
            row[:] = [NO_WORD if value is None else at + value for value, at in values]
        return rows

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
            f"{name}: {_listed(words)}" for name, words in zip(self.names, self.words, strict=True)
        ]
        heading = f"{n} concept{'s' * (n > 1)}, {self.n_classes:,} classes"
        return "\n".join([heading, *lines])

    def _values(self, prompt: str | Sequence[Any]) -> list[int | None]:
        """Return which label of each concept a prompt names, None where it names none."""
        words = prompt.split() if isinstance(prompt, str) else list(map(_word, prompt))
        values: list[int | None] = [None] * len(self.names)
        for word in words:
            require(
                word in self._places,
                f"combinations are named by the words {_listed(tuple(self._places))}",
                repr(word),
                "use these words",
            )
            c, value = self._places[word]
            require(
                values[c] in (None, value),
                f"a combination has one label of {self.names[c]!r}",
                " ".join(words),
                "leave one of the words out",
            )
            values[c] = value
        return values

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

    def _numbers(self, counts: object, is_train: np.ndarray | None) -> Int[np.ndarray, " k"]:
        """Return the number of pictures of each class."""
        k = self.n_classes
        numbers = np.full(k, counts) if is_whole(counts) else np.asarray(counts)
        require(
            numbers.shape == (k,) and numbers.dtype.kind in "iu" and bool((numbers >= 0).all()),
            f"counts are a whole number, or one for each of the {k} classes",
            f"{numbers.tolist() if numbers.size < 9 else f'shape {numbers.shape}'}",
            "pass 64, say",
        )
        if is_train is not None:
            require(
                len(is_train) == k,
                f"is_train says of each of the {k} classes whether it is seen",
                f"{len(is_train)} entries",
                "pass the result of leave_out, for example",
            )
            numbers = np.where(is_train, numbers, 0)
        require(
            bool(numbers.any()), "at least one picture is drawn", "none", "pass the number of them"
        )
        return numbers


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


def _word(label: Any) -> str:
    """Return a label as one word."""
    return "-".join(str(label).split())


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - LISTED:,} more" if len(words) > LISTED else ""
    return ", ".join(words[:LISTED]) + more
