"""Classes of a space: combinations of its concepts' values, numbered, and named in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import is_whole, require
from partwhole._door import door
from partwhole.tasks._build import full_grid

Combination = int | np.integer | str | Sequence[Any]
NO_WORD = 0  # the token of a concept that is not named
LISTED = 12  # words in a sentence


class Classes(ABC):
    """Classes of a space, a part of `ConceptSpace` and of `AttributeSpace`.

    A class is a combination of values, one of each concept. Classes are numbered in lexicographic
    order, the first concept slowest. Every value has a word that no other value has.
    """

    noun: str = ""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]: ...

    @property
    @abstractmethod
    def n_values(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def words(self) -> tuple[tuple[str, ...], ...]: ...

    @property
    def n_classes(self) -> int:
        """Return the number of classes k, the product of the numbers of values."""
        return int(np.prod(self.n_values))

    @cached_property
    def classes(self) -> Int[np.ndarray, "k C"]:
        """Return every combination in lexicographic order: the index of each concept's value."""
        grid = full_grid(self.n_values)
        grid.flags.writeable = False
        return grid

    @property
    def vocabulary(self) -> dict[str, int]:
        """Return the token of each word, from 1; 0 stands for no word, an empty condition.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> circles().vocabulary
        {'red': 1, 'blue': 2, 'big': 3, 'small': 4}
        """
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
        """Return the words of a class, and the noun of the space: "blue small circle"."""
        row = self.classes[self.index(index)]
        words = [words[value] for words, value in zip(self.words, row, strict=True)]
        return " ".join([*words, *([self.noun] if self.noun else [])])

    @door
    def slots(self, prompt: str | Sequence[Any]) -> tuple[int | None, ...]:
        """Return which value of each concept a prompt names, None where it names none.

        Parameters
        ----------
        prompt : str or sequence
            Words in any order, in a text or one by one; the noun of the space may be among them.

        Raises
        ------
        InputError
            For a word that is not in the vocabulary, or two values of one concept.
        """
        words = prompt.split() if isinstance(prompt, str) else list(map(one_word, prompt))
        values: list[int | None] = [None] * len(self.names)
        for word in words:
            if self.noun and word == self.noun:
                continue
            require(
                word in self._places,
                f"prompts are made of {listed(tuple(self._places))}"
                + (f" and {self.noun}" if self.noun else ""),
                repr(word),
                "use these words",
            )
            c, value = self._places[word]
            require(
                values[c] in (None, value),
                f"a prompt names one {self.names[c]}",
                " ".join(words),
                "leave one of the words out",
            )
            values[c] = value
        return tuple(values)

    @door
    def select(self, combination: Combination) -> Bool[np.ndarray, " k"]:
        """Return which classes match a combination.

        Parameters
        ----------
        combination : int, str or sequence
            The number of a class, or words of different concepts in any order; concepts that are
            not named may be anything, so that "blue" is true of all blue classes.

        Raises
        ------
        InputError
            For an unknown number or word, or two words of one concept.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> circles().select("blue").tolist()
        [False, False, True, True]
        """
        if is_whole(combination):
            return np.arange(self.n_classes) == self.class_numbers([int(combination)])  # pyright: ignore[reportArgumentType]
        is_selected = np.ones(self.n_classes, dtype=bool)
        for c, value in enumerate(self.slots(combination)):  # pyright: ignore[reportArgumentType]
            if value is not None:
                is_selected &= self.classes[:, c] == value
        return is_selected

    @door
    def index(self, combination: Combination) -> int:
        """Return the number of a class.

        Parameters
        ----------
        combination : int, str or sequence
            The number itself, or a word of each concept in any order: "small blue circle".

        Raises
        ------
        InputError
            As `select`, and when a concept is not named.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> circles().index("small blue circle"), circles().index(("blue", "small"))
        (3, 3)
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
    def class_numbers(self, classes: Sequence[int] | np.ndarray | None) -> Int[np.ndarray, " n"]:
        """Return the validated numbers of classes as an array; None for all of them in order."""
        if classes is None:
            return np.arange(self.n_classes)
        numbers = np.asarray(classes)
        are_whole = numbers.ndim == 1 and (numbers.dtype.kind in "iu" or numbers.size == 0)
        require(
            are_whole,
            "classes are a list of whole numbers",
            f"{numbers.tolist()}",
            "pass a list of them",
        )
        unknown = numbers[(numbers < 0) | (numbers >= self.n_classes)]
        require(
            len(unknown) == 0,
            f"classes are numbered 0..{self.n_classes - 1}",
            unknown[0] if len(unknown) else "",
            "or name the class in words",
        )
        return numbers.astype(int)

    @door
    def tokens(
        self, prompts: int | np.integer | str | Sequence[str] | Sequence[int] | np.ndarray
    ) -> Int[np.ndarray, "n C"]:
        """Return prompts as tokens, a column for each concept: conditions of diffusion models.

        The order of the words does not matter: each has the place of its concept. A concept that
        is not named has 0, no word.

        Parameters
        ----------
        prompts : int, str, or sequence of them
            Texts such as "small blue circle", or numbers of classes.

        Returns
        -------
        int array, shape (n, C)
            Indices into the vocabulary; one row where prompts is one text or number.

        Raises
        ------
        InputError
            For an unknown word or number, or two values of one concept.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> circles().tokens(["small blue circle", "blue", ""]).tolist()
        [[2, 4], [2, 0], [0, 0]]
        >>> circles().tokens([0, 3]).tolist()
        [[1, 3], [2, 4]]
        """
        entries = [prompts] if isinstance(prompts, str) or is_whole(prompts) else list(prompts)  # pyright: ignore[reportArgumentType]
        texts = [isinstance(prompt, str) for prompt in entries]
        require(
            all(texts) or not any(texts),
            "prompts are all texts or all numbers of classes",
            f"{sum(texts)} texts among {len(texts)}",
            "turn numbers into texts by label",
        )
        first = np.cumsum([0, *self.n_values])[:-1] + NO_WORD + 1
        if not any(texts):
            return self.classes[self.class_numbers(np.array(entries))] + first
        rows = np.zeros((len(entries), len(self.names)), dtype=int)
        for row, prompt in zip(rows, entries, strict=True):
            values = zip(self.slots(str(prompt)), first, strict=True)
            row[:] = [NO_WORD if value is None else at + value for value, at in values]
        return rows

    def _numbers(self, counts: object, is_train: np.ndarray | None) -> Int[np.ndarray, " k"]:
        """Return the number of pictures of each class, from one number or one for each."""
        k = self.n_classes
        numbers = np.full(k, counts) if is_whole(counts) else np.asarray(counts)
        require(
            numbers.shape == (k,) and numbers.dtype.kind in "iu" and bool((numbers >= 0).all()),
            f"counts are a whole number, or one for each of the {k} classes",
            f"{numbers.tolist() if numbers.size < 9 else f'shape {numbers.shape}'}",
            "pass 64, say",
        )
        numbers = np.where(self._flags(is_train), numbers, 0)
        require(
            bool(numbers.any()), "at least one picture is drawn", "none", "pass the number of them"
        )
        return numbers

    def _flags(self, is_train: np.ndarray | None) -> Bool[np.ndarray, " k"]:
        """Return which classes are seen."""
        if is_train is None:
            return np.ones(self.n_classes, dtype=bool)
        require(
            len(is_train) == self.n_classes,
            f"is_train says of each of the {self.n_classes} classes whether it is seen",
            f"{len(is_train)} entries",
            "pass the result of leave_out, for example",
        )
        return is_train


def one_word(label: Any) -> str:
    """Return a label as one word."""
    return "-".join(str(label).split())


def listed(words: Sequence[str]) -> str:
    """Return the first words in a sentence, and how many more there are."""
    more = f" and {len(words) - LISTED:,} more" if len(words) > LISTED else ""
    return ", ".join(words[:LISTED]) + more
