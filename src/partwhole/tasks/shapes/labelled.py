"""Pictures with attributes, class and condition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._door import door
from partwhole._types import Count, ProperFraction, Seed
from partwhole.tasks._rows import require_rows
from partwhole.tasks.shapes.attributes import ShapeAttributes
from partwhole.tasks.shapes.classes import Combination
from partwhole.tasks.shapes.conditions import Layout
from partwhole.tasks.shapes.pictures import example_grid

if TYPE_CHECKING:
    from partwhole.tasks.shapes.space import ConceptSpace

HELD = 4  # a random stream of its own


@door(single=("images",))
@dataclass(frozen=True, eq=False)
class LabelledShapes:
    """Pictures of a concept space, with the attributes and class of each.

    Parameters
    ----------
    images : float32 array, shape (n, side, side, 3)
        Red, green and blue in 0..1.
    classes : int array, shape (n,)
        Numbers of classes in the space.
    attributes : ShapeAttributes
        What was drawn for each.
    space : ConceptSpace
    """

    images: Float[np.ndarray, "n side side 3"]
    classes: Int[np.ndarray, " n"]
    attributes: ShapeAttributes
    space: ConceptSpace

    def __len__(self) -> int:
        """Return the number of pictures n."""
        return len(self.classes)

    @property
    def components(self) -> Int[np.ndarray, "n C"]:
        """Return each picture's value of each concept."""
        return self.space.classes[self.classes]

    @door
    def conditions(self, *, layout: Layout = "vector") -> Float[np.ndarray, "n width"]:
        """Return the condition of each, as `ConceptSpace.conditions`, jitter included."""
        return self.space.conditions(self.attributes, layout=layout)

    def tokens(self) -> Int[np.ndarray, "n C"]:
        """Return the condition of each in words, as `ConceptSpace.tokens`."""
        return self.space.tokens(self.classes)

    @door
    def has(self, words: Combination) -> Bool[np.ndarray, " n"]:
        """Return which pictures words are true of, as `ConceptSpace.select`.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> circles().sample(1, seed=0).has("blue").tolist()
        [False, False, True, True]
        """
        return self.space.select(words)[self.classes]

    @door
    def take(self, rows: slice | Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> LabelledShapes:
        """Return some of the pictures, in this order."""
        require_rows(rows, len(self.classes))
        return replace(
            self,
            images=self.images[rows],
            classes=self.classes[rows],
            attributes=self.attributes.take(rows),
        )

    @door
    def split(
        self, share: ProperFraction = 0.15, *, seed: Seed
    ) -> tuple[LabelledShapes, LabelledShapes]:
        """Hold out a share of each class for validation.

        Parameters
        ----------
        share : float, default 0.15
            Of each class, rounded down; the published one by default.
        seed : int, keyword-only

        Returns
        -------
        training, validation : LabelledShapes
            In the order they had.

        Raises
        ------
        InputError
            For a share that is not between 0 and 1.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> [len(part) for part in circles().sample(100, seed=0, side=8).split(seed=0)]
        [340, 60]
        """
        rng = np.random.default_rng([seed, HELD])
        is_held_out = np.zeros(len(self), dtype=bool)
        for c in np.unique(self.classes):
            members = rng.permutation(np.flatnonzero(self.classes == c))
            is_held_out[members[: int(share * len(members) + 1e-9)]] = True
        return self.take(~is_held_out), self.take(is_held_out)

    @door
    def picture(self, per_class: Count = 8, *, gap: int = 1) -> Float[np.ndarray, "height width 3"]:
        """Return one picture of examples, with a row for each class.

        Parameters
        ----------
        per_class : int, default 8
            The first of each class; places of classes that have fewer stay white.
        gap : int, keyword-only, default 1
            Pixels between them.
        """
        return example_grid(self.images, self.classes, per_class, gap)
