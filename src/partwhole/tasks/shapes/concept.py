"""A concept: one attribute of a picture, with the words for its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative, Real
from partwhole.tasks.shapes.attributes import BOUNDS, COLUMNS, FIELDS, KINDS, Field


@dataclass(frozen=True)
class Law:
    """Law of a field: each of its numbers is uniform and independent about a mean.

    Parameters
    ----------
    mean, low, high : tuple of float
        One number for each of the field's, three for a colour; low <= mean <= high.

    Examples
    --------
    >>> Law.about(0.25, 0.15, lowest=0.1)
    Law(mean=(0.25,), low=(0.1,), high=(0.4,))
    """

    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def about(
        cls,
        mean: Real | Sequence[Real],
        jitter: Real = 0.0,
        *,
        lowest: Real = -1.0,
        highest: Real = 1.0,
    ) -> Law:
        """Return the uniform law within `jitter` of a mean, clipped to `lowest` and `highest`.

        Parameters
        ----------
        mean : float or sequence of float
        jitter : float, default 0
            Half the width of the law.
        lowest, highest : float, keyword-only, default -1 and 1
        """
        centre = np.atleast_1d(np.asarray(mean, dtype=float))
        low, high = np.maximum(centre - jitter, lowest), np.minimum(centre + jitter, highest)
        return cls(*(tuple(float(number) for number in value) for value in (centre, low, high)))


@door
@dataclass(frozen=True)
class Concept:
    """Attribute of pictures, with its values.

    Parameters
    ----------
    name : str
    words : tuple of str
        Two or more values, by different words without blanks.
    laws : tuple of Law
        How the field varies in pictures of each value.
    field : {"kind", "x", "y", "colour", "size", "background"}
        What it is in a picture.

    Raises
    ------
    InputError
        For fewer than two values, words that are not such, and laws that don't fit the field.

    Examples
    --------
    >>> size = Concept.around("size", {"small": 0.2, "medium": 0.4, "big": 0.6}, jitter=0.05)
    >>> size.words, size.laws[2].mean
    (('small', 'medium', 'big'), (0.6,))
    """

    name: str
    words: tuple[str, ...]
    laws: tuple[Law, ...]
    field: Field

    @classmethod
    @door
    def around(
        cls,
        name: str,
        means: Mapping[str, Real | Sequence[Real]],
        *,
        jitter: NonNegative = 0.0,
        lowest: Real | None = None,
        field: Field | None = None,
    ) -> Concept:
        """Return a concept from the mean of each value.

        Parameters
        ----------
        name : str
        means : mapping of str to float or sequence of float
            The word of each value and its mean attribute: three numbers for a colour or
            background, one for the others; a kind is 0, a circle, or 1, a triangle.
        jitter : float, keyword-only, default 0
            Half the width of the uniform law about the mean, the same for all.
        lowest : float, keyword-only, default None
            Where the law is cut off below; None for the field's own bound: 0 for colours, .01 for
            sizes, -1 for positions. Above it is cut off at 1.
        field : str, keyword-only, default None
            What it is in a picture; None when it is the name.

        Returns
        -------
        Concept

        Raises
        ------
        InputError
            As `Concept`, and for a negative jitter or a name that is no field.
        """
        field_name = name if field is None else field
        require(
            field_name in FIELDS,
            f"a concept is one of the fields {', '.join(FIELDS)}",
            repr(field_name),
            "name it so, or pass field",
        )
        known_field = FIELDS[FIELDS.index(field_name)]  # pyright: ignore[reportArgumentType]
        require(
            known_field != "kind" or jitter == 0,
            "a kind does not vary within a value",
            f"jitter {jitter}",
            "leave jitter out",
        )
        bound = 0.01 if known_field == "size" else BOUNDS[known_field][0]
        floor = bound if lowest is None else lowest
        laws = tuple(
            Law.about(mean, jitter, lowest=floor, highest=BOUNDS[known_field][1])
            for mean in means.values()
        )
        return cls(name, tuple(means), laws, known_field)

    def __post_init__(self) -> None:
        require(
            len(self.words) >= 2 and len(set(self.words)) == len(self.words),
            f"the concept {self.name!r} has two or more different values",
            ", ".join(map(repr, self.words)) or "none",
            "name each once, and leave out a concept that never changes",
        )
        odd = [word for word in self.words if word.split() != [word]]
        require(
            not odd,
            f"values of the concept {self.name!r} are words without blanks",
            repr(odd[0]) if odd else "",
            "write light-blue, say",
        )
        require(
            len(self.laws) == len(self.words),
            f"every value of the concept {self.name!r} has a law",
            f"{len(self.words)} values and {len(self.laws)} laws",
            "give one for each",
        )
        for word, law in zip(self.words, self.laws, strict=True):
            require_law(law, self.field, f"{self.name} {word!r}")

    @property
    def n_values(self) -> int:
        """Return the number of values."""
        return len(self.words)


def require_law(law: Law, field: Field, role: str) -> None:
    """Raise for a law outside the range of a field."""
    columns = COLUMNS[field]
    width = columns.stop - columns.start
    lengths = {len(law.mean), len(law.low), len(law.high)}
    require(
        lengths == {width},
        f"the law of {role} has {width} number{'s' if width > 1 else ''} for its {field}",
        f"{sorted(lengths)}",
        "pass red, green and blue for a colour, one number for the others",
    )
    lowest, highest = BOUNDS[field]
    numbers = list(zip(law.low, law.mean, law.high, strict=True))
    require(
        all(lowest <= low <= mean <= high <= highest for low, mean, high in numbers)
        and (field != "size" or min(law.low) > 0),
        f"the law of {role} lies in {lowest:g}..{highest:g}"
        + (", above 0," if field == "size" else "")
        + " with its mean between its ends",
        f"mean {list(law.mean)} in {list(law.low)}..{list(law.high)}",
        "move the mean, or pass less jitter",
    )
    require(
        field != "kind" or (law.low == law.high and law.mean[0] in (0.0, 1.0)),
        f"the kind of {role} is 0, a circle, or 1, a triangle",
        f"mean {law.mean[0]:g} in {law.low[0]:g}..{law.high[0]:g}",
        "choose one of them",
    )


def law_in_words(law: Law, field: Field) -> str:
    """Return a law as text: its mean, and its ends if it varies."""
    if field == "kind":
        return KINDS[int(law.mean[0])]
    ends = "" if law.low == law.high else f" in {_in_digits(law.low)}..{_in_digits(law.high)}"
    return _in_digits(law.mean) + ends


def _in_digits(numbers: tuple[float, ...]) -> str:
    value = ", ".join(f"{round(number, 4):g}" for number in numbers)
    return value if len(numbers) == 1 else f"({value})"
