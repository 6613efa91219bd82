"""Conditions of a model: a picture's attributes in numbers or in words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._door import door
from partwhole.tasks.shapes.attributes import ENCODED, FIELDS, N_ENCODED, Field
from partwhole.tasks.shapes.classes import Classes

if TYPE_CHECKING:
    from partwhole.tasks.shapes.attributes import ShapeAttributes
    from partwhole.tasks.shapes.concept import Concept

Layout = Literal["vector", "published"]


class Prompted(Classes):
    """Conditions of pictures, a part of `ConceptSpace`."""

    concepts: tuple[Concept, ...]

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]: ...

    @abstractmethod
    @door
    def mean_attributes(
        self, classes: Sequence[int] | np.ndarray | None = None
    ) -> ShapeAttributes: ...

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
