"""Concept spaces: the attributes of pictures of shapes, in words, and their combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.tasks._task import Task
from partwhole.tasks.shapes.altered import Altered
from partwhole.tasks.shapes.attributes import (
    COLUMNS,
    FIELDS,
    N_COLUMNS,
    Field,
    ShapeAttributes,
    from_columns,
)
from partwhole.tasks.shapes.concept import Concept, Law, law_in_words, require_law
from partwhole.tasks.shapes.sampling import Sampled

# How fields vary that no concept decides.
FREE: dict[Field, Law] = {
    "kind": Law.about(0),
    "x": Law.about(0.0, 0.5),
    "y": Law.about(0.0, 0.5),
    "colour": Law.about((0.5, 0.5, 0.5)),
    "size": Law.about(0.45),
    "background": Law.about((0.9, 0.9, 0.9), 0.1),
}


@door
@dataclass(frozen=True)
class ConceptSpace(Altered, Sampled):
    """Space of pictures of shapes: their concepts, and the variation within a class.

    A class is a combination of values, one of each concept. Classes are numbered in
    lexicographic order, the first concept slowest: with colours red and blue and sizes big and
    small, class 2 * colour + size.

    Parameters
    ----------
    concepts : tuple of Concept
        With different names, fields and words.
    free : mapping of field to Law, default {}
        How fields vary that no concept decides, where it is not the published way: circles,
        centres uniform in -0.5..0.5, background channels in 0.8..1; beside these a grey of 0.5 and
        size 0.45.
    noun : str, default "shape"
        What all of them are, a word that prompts may hold without meaning.

    Raises
    ------
    InputError
        For no concept, names, fields or words that come twice, a free field that is a concept's,
        or a law that does not fit its field.

    Examples
    --------
    >>> from partwhole.tasks import ConceptSpace
    >>> from partwhole.tasks.shapes.concept import Concept
    >>> space = ConceptSpace((
    ...     Concept.around("size", {"small": 0.2, "medium": 0.4, "big": 0.6}, jitter=0.05),
    ...     Concept.around("place", {"left": -0.4, "right": 0.4}, field="y"),
    ... ))
    >>> print(space.describe())
    shapes: 2 concepts, 6 classes
    size: small 0.2 in 0.15..0.25, medium 0.4 in 0.35..0.45, big 0.6 in 0.55..0.65
    place: left -0.4, right 0.4
    else: circle, x 0 in -0.5..0.5, colour (0.5, 0.5, 0.5), background (0.9, 0.9, 0.9)
    in (0.8, 0.8, 0.8)..(1, 1, 1)
    """

    concepts: tuple[Concept, ...]
    free: Mapping[Field, Law] = field(default_factory=dict, hash=False)
    noun: str = "shape"

    def __post_init__(self) -> None:
        require(
            len(self.concepts) > 0,
            "a space has at least one concept",
            "none",
            "make one by Concept.around",
        )
        for role, all_of_them in (
            ("name", self.names),
            ("field", tuple(concept.field for concept in self.concepts)),
            ("word", (*sum(self.words, ()), *([self.noun] if self.noun else []))),
        ):
            twice = [item for item in all_of_them if all_of_them.count(item) > 1]
            require(
                not twice,
                f"every {role} of a space belongs to one concept",
                f"{twice[0]!r} more than once" if twice else "",
                "rename one of them, or leave it out",
            )
        for name, law in self.free.items():
            require(
                name in FIELDS and name not in self.fields,
                "a free field is one that no concept decides",
                repr(name),
                f"choose from {', '.join(item for item in FIELDS if item not in self.fields)}",
            )
            require_law(law, name, f"the free field {name!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the concepts' names."""
        return tuple(concept.name for concept in self.concepts)

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """Return the words of each concept's values, in the order of their indices."""
        return tuple(concept.words for concept in self.concepts)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Return the field of a picture that each concept decides."""
        return tuple(concept.field for concept in self.concepts)

    @property
    def n_values(self) -> tuple[int, ...]:
        """Return the number of values of each concept."""
        return tuple(concept.n_values for concept in self.concepts)

    @door
    def concept(self, name: str) -> Concept:
        """Return the concept of a name.

        Raises
        ------
        InputError
            If there is none.
        """
        return self.concepts[self.position(name)]

    @door
    def position(self, name: str) -> int:
        """Return the index of the concept with this name."""
        require(
            name in self.names,
            f"the concepts are {', '.join(self.names)}",
            repr(name),
            "name one of them",
        )
        return self.names.index(name)

    @door
    def mean_attributes(self, classes: Sequence[int] | np.ndarray | None = None) -> ShapeAttributes:
        """Return the means of classes: the published test conditions, centred.

        Parameters
        ----------
        classes : sequence of int, default None
            Numbers of classes; None for all of them in order.

        Returns
        -------
        ShapeAttributes
            One for each, with the means of all fields: background .9 and centre 0 where no
            concept decides them.
        """
        return from_columns(self.laws[0][self.class_numbers(classes)])

    def ends(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the means of each concept's first and last value, the ends of its coordinate.

        Returns
        -------
        dict of fields to two arrays
            Colours and backgrounds of shape (3,), sizes, x and y of shape (), kinds as their
            number; one for each concept, in their order. A decoder of pixels reads all but kinds.

        Examples
        --------
        >>> from partwhole.measures.concepts import decode_shapes
        >>> from partwhole.tasks import circles
        >>> space = circles(0.8)
        >>> shown = space.sample(1, side=16, jitter=False, seed=0)
        >>> decode_shapes(shown.images).coordinates(space.ends()).round(1).tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
        """
        mean, ends = self.mean_attributes(), {}
        for place, concept in enumerate(self.concepts):
            axis = {"x": 0, "y": 1}.get(concept.field)
            values = getattr(mean, concept.field) if axis is None else mean.position[:, axis]
            indices = self.classes[:, place]
            first, last = values[indices.argmin()], values[indices.argmax()]
            ends[concept.field] = np.asarray(first), np.asarray(last)
        return ends

    @property
    def laws(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return means, lower and upper ends of each class, a column for each number drawn."""
        mean, low, high = self._table
        return mean, low, high

    @cached_property
    def _table(self) -> Float[np.ndarray, "3 k 10"]:
        table = np.empty((3, self.n_classes, N_COLUMNS))
        for name in FIELDS:
            law = self.free.get(name, FREE[name])
            table[:, :, COLUMNS[name]] = np.array([law.mean, law.low, law.high])[:, None]
        for c, concept in enumerate(self.concepts):
            ends = np.array([[law.mean, law.low, law.high] for law in concept.laws])
            table[:, :, COLUMNS[concept.field]] = ends[self.classes[:, c]].swapaxes(0, 1)
        table.flags.writeable = False
        return table

    @door
    def task(self, is_train: Bool[np.ndarray, " k"]) -> Task:
        """Return the classes as a task: a row for each, a component for each concept.

        Targets are the mean attributes that the concepts decide, `class_conditions()`: each rests
        on one concept alone, so that a learner which adds up what it knows of the concepts gives
        all of them.

        Parameters
        ----------
        is_train : bool array, shape (k,)
            Which classes are seen, as `leave_out` and others say.

        Returns
        -------
        Task

        Raises
        ------
        InputError
            As `Task`, when none is seen, say.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> from partwhole.tasks.shapes.splits import leave_out
        >>> space = circles()
        >>> print(space.task(leave_out(space, "blue small")).describe())
        circle: 2 components, 3 combinations seen, 1 held out
        colour \\ size  (# seen, . held out)
                big small
          red     #     #
         blue     #     .
        """
        return Task(
            self.classes,
            self.class_conditions(),
            is_train,
            self.names,
            self.words,
            self.noun or "shapes",
        )

    def describe(self) -> str:
        """Return a description of the values, by their means and the ends of their laws.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> print(circles(0.2).describe())
        circles: 2 concepts, 4 classes
        colour: red (0.6, 0.4, 0.4) in (0.575, 0.375, 0.375)..(0.625, 0.425, 0.425), blue
        (0.4, 0.4, 0.6) in (0.375, 0.375, 0.575)..(0.425, 0.425, 0.625)
        size: big 0.65 in 0.5..0.8, small 0.25 in 0.1..0.4
        else: circle, x 0 in -0.5..0.5, y 0 in -0.5..0.5, background (0.9, 0.9, 0.9)
        in (0.8, 0.8, 0.8)..(1, 1, 1)
        """
        n = len(self.concepts)
        lines = [
            f"{concept.name}: "
            + ", ".join(
                f"{word} {law_in_words(law, concept.field)}".removesuffix(f" {word}")
                for word, law in zip(concept.words, concept.laws, strict=True)
            )
            for concept in self.concepts
        ]
        free_fields = [
            f"{name} {law_in_words(self.free.get(name, FREE[name]), name)}".removeprefix("kind ")
            for name in FIELDS
            if name not in self.fields
        ]
        heading = (
            f"{self.noun or 'shape'}s: {n} concept{'s' if n > 1 else ''}, {self.n_classes} classes"
        )
        return "\n".join(
            [heading, *lines, *([f"else: {', '.join(free_fields)}"] if free_fields else [])]
        )
