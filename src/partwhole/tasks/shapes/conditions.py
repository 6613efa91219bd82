"""Conditions of a model: a picture's attributes in numbers or in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import is_whole, require
from partwhole._door import door
from partwhole.tasks.shapes.attributes import ENCODED, FIELDS, N_ENCODED, Field

if TYPE_CHECKING:
    from partwhole.tasks.shapes.attributes import ShapeAttributes
    from partwhole.tasks.shapes.concept import Concept

Layout = Literal["vector", "published"]
Combination = int | np.integer | str | Sequence[str]
NO_WORD = 0


class Prompted(ABC):
    """Conditions of pictures, a part of `ConceptSpace`."""

    concepts: tuple[Concept, ...]
    noun: str

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]: ...

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]: ...

    @property
    @abstractmethod
    def n_classes(self) -> int: ...

    @property
    @abstractmethod
    def classes(self) -> Int[np.ndarray, "k C"]: ...

    @abstractmethod
    @door
    def mean_attributes(
        self, classes: Sequence[int] | np.ndarray | None = None
    ) -> ShapeAttributes: ...

    @abstractmethod
    @door
    def class_numbers(
        self, classes: Sequence[int] | np.ndarray | None
    ) -> Int[np.ndarray, " n"]: ...

    @abstractmethod
    @door
    def index(self, combination: Combination) -> int: ...

    @abstractmethod
    @door
    def position(self, name: str) -> int: ...

    @door
    def conditions(
        self, attributes: ShapeAttributes, *, layout: Layout = "vector"
    ) -> Float[np.ndarray, "n width"]:
        """Return the conditions of pictures: the attributes that concepts decide.

        Parameters
        ----------
        attributes : ShapeAttributes
        layout : {"vector", "published"}, keyword-only, default "vector"
            "published" has 11 numbers: kind one-hot (2), x, y, colour (3), size, background (3),
            those that no concept decides being 0. "vector" has only those that a concept decides,
            in the same order.

        Returns
        -------
        float array, shape (n, width)

        Raises
        ------
        InputError
            For another layout.

        Notes
        -----
        Park et al. (NeurIPS 2024): their text has colour and size, four numbers; their code
        the eleven. The conditions of training pictures are their attributes, jitter included.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> space = circles(colour_separation=0.8)
        >>> space.conditions(space.mean_attributes([3])).round(2).tolist()
        [[0.1, 0.1, 0.9, 0.25]]
        >>> space.conditions(space.mean_attributes([3]), layout="published").shape
        (1, 11)
        """
        whole_row = attributes.encoded()
        if layout == "vector":
            return whole_row[:, self.condition_columns]
        conditions = np.zeros_like(whole_row)
        conditions[:, self.condition_columns] = whole_row[:, self.condition_columns]
        return conditions

    @door
    def class_conditions(
        self, classes: Sequence[int] | np.ndarray | None = None, *, layout: Layout = "vector"
    ) -> Float[np.ndarray, "n width"]:
        """Return the conditions of classes' exact means, which request held-out classes.

        Parameters
        ----------
        classes : sequence of int, default None
            Numbers of classes; None for all of them in order.
        layout : {"vector", "published"}, keyword-only, default "vector"
            As in `conditions`.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> circles(0.8).class_conditions().round(2).tolist()[1:3]
        [[0.9, 0.1, 0.1, 0.25], [0.1, 0.1, 0.9, 0.65]]
        """
        return self.conditions(self.mean_attributes(classes), layout=layout)

    @property
    def condition_columns(self) -> Int[np.ndarray, " width"]:
        """Return which columns of the published layout concepts decide."""
        columns = [
            np.arange(N_ENCODED)[ENCODED[name]] for name in sorted(self.fields, key=FIELDS.index)
        ]
        return np.concatenate(columns)

    @property
    def vocabulary(self) -> dict[str, int]:
        """Return the index of each word, from 1; 0 stands for no word, an empty condition.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> circles().vocabulary
        {'red': 1, 'blue': 2, 'big': 3, 'small': 4}
        """
        words = [word for concept in self.concepts for word in concept.words]
        return {word: i for i, word in enumerate(words, NO_WORD + 1)}

    @door
    def slots(self, prompt: str | Sequence[str]) -> tuple[int | None, ...]:
        """Return which value of each concept a prompt names, None where it names none.

        Parameters
        ----------
        prompt : str or sequence of str
            Words in any order; the noun of the space may be among them.

        Raises
        ------
        InputError
            For a word that is not in the vocabulary, or two values of one concept.
        """
        words = prompt.split() if isinstance(prompt, str) else list(prompt)
        values: list[int | None] = [None] * len(self.concepts)
        for word in words:
            if word == self.noun:
                continue
            require(
                word in self.vocabulary,
                f"prompts are made of {', '.join(self.vocabulary)}"
                + (f" and {self.noun}" if self.noun else ""),
                repr(word),
                "use these words",
            )
            c = next(i for i, concept in enumerate(self.concepts) if word in concept.words)
            value = self.concepts[c].words.index(word)
            require(
                values[c] in (None, value),
                f"a prompt names one {self.names[c]}",
                " ".join(map(str, words)),
                "leave one of the words out",
            )
            values[c] = value
        return tuple(values)

    @door
    def tokens(
        self, prompts: int | np.integer | str | Sequence[str] | Sequence[int] | np.ndarray
    ) -> Int[np.ndarray, "n C"]:
        """Return prompts as indices into the vocabulary, a column for each concept.

        The order of the words does not matter: each has the place of its concept. A concept that
        is not named has 0, no word.

        Parameters
        ----------
        prompts : int, str, or sequence of them
            Texts such as "small blue circle", or numbers of classes.

        Returns
        -------
        int array, shape (n, C)
            One row where prompts is one text or number.

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
        first = np.cumsum([0, *(concept.n_values for concept in self.concepts)])[:-1] + NO_WORD + 1
        entries = [prompts] if isinstance(prompts, str) or is_whole(prompts) else list(prompts)  # pyright: ignore[reportArgumentType]
        texts = [isinstance(prompt, str) for prompt in entries]
        require(
            all(texts) or not any(texts),
            "prompts are all texts or all numbers of classes",
            f"{sum(texts)} texts among {len(texts)}",
            "turn numbers into texts by label",
        )
        if not any(texts):
            return self.classes[self.class_numbers(np.array(entries))] + first
        rows = np.zeros((len(entries), len(self.concepts)), dtype=int)
        for row, prompt in zip(rows, entries, strict=True):
            values = self.slots(str(prompt))
            row[:] = [
                NO_WORD if value is None else at + value
                for value, at in zip(values, first, strict=True)
            ]
        return rows
