"""Attributes of a picture of one shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.tasks._rows import require_rows

Field = Literal["kind", "x", "y", "colour", "size", "background"]
FIELDS: tuple[Field, ...] = get_args(Field)
KINDS = ("circle", "triangle")
# Columns of what is drawn from, and of the published condition, which has the kind one-hot.
COLUMNS: dict[Field, slice] = {
    "kind": slice(0, 1),
    "x": slice(1, 2),
    "y": slice(2, 3),
    "colour": slice(3, 6),
    "size": slice(6, 7),
    "background": slice(7, 10),
}
ENCODED: dict[Field, slice] = {
    "kind": slice(0, 2),
    "x": slice(2, 3),
    "y": slice(3, 4),
    "colour": slice(4, 7),
    "size": slice(7, 8),
    "background": slice(8, 11),
}
N_COLUMNS, N_ENCODED = 10, 11
# What a field may be; the grid goes from -1 to 1.
BOUNDS: dict[Field, tuple[float, float]] = {
    "kind": (0.0, 1.0),
    "x": (-1.0, 1.0),
    "y": (-1.0, 1.0),
    "colour": (0.0, 1.0),
    "size": (0.0, 1.0),
    "background": (0.0, 1.0),
}


@door
@dataclass(frozen=True, eq=False)
class ShapeAttributes:
    """Attributes of pictures of one shape each.

    Lengths are in grid units: a picture goes from -1 to 1 along both sides.

    Parameters
    ----------
    kind : int array, shape (n,)
        0 circle, 1 triangle.
    position : float array, shape (n, 2)
        Centre: x runs along the rows, downwards, and y along the columns, to the right.
    colour : float array, shape (n, 3)
        Of the shape: red, green and blue in 0..1.
    size : float array, shape (n,)
        Radius of the circle, above 0 and at most 1; a triangle has the circle's area, but
        for those of `published_triangles`, which have 1.155 times it.
    background : float array, shape (n, 3)
        Red, green and blue in 0..1.

    Raises
    ------
    InputError
        For arrays of other shapes, an unknown kind, and numbers outside these ranges.

    Examples
    --------
    >>> import numpy as np
    >>> from partwhole.tasks.shapes.attributes import ShapeAttributes
    >>> one = ShapeAttributes(
    ...     kind=np.array([0]), position=np.zeros((1, 2)), colour=np.array([[1.0, 0.0, 0.0]]),
    ...     size=np.array([0.65]), background=np.full((1, 3), 0.9),
    ... )
    >>> len(one), one.encoded().tolist()
    (1, [[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.65, 0.9, 0.9, 0.9]])
    """

    kind: Int[np.ndarray, " n"]
    position: Float[np.ndarray, "n 2"]
    colour: Float[np.ndarray, "n 3"]
    size: Float[np.ndarray, " n"]
    background: Float[np.ndarray, "n 3"]

    def __post_init__(self) -> None:
        n = len(self.kind)
        shapes = {
            "kind": (n,), "position": (n, 2), "colour": (n, 3), "size": (n,), "background": (n, 3),
        }  # fmt: skip
        for name, shape in shapes.items():
            array = getattr(self, name)
            require(
                array.shape == shape,
                f"{name} has a row for each of the {n} shapes, {shape}",
                f"shape {array.shape}",
                "pass arrays of equal length",
            )
        require(
            bool(np.isin(self.kind, (0, 1)).all()),
            "a kind is 0, a circle, or 1, a triangle",
            f"{np.setdiff1d(self.kind, (0, 1))[:1]}",
            "number the kinds so",
        )
        for name, low, high in (
            ("position", -1.0, 1.0), ("colour", 0.0, 1.0), ("size", 0.0, 1.0),
            ("background", 0.0, 1.0),
        ):  # fmt: skip
            array = getattr(self, name)
            fit = (array >= low) & (array <= high) & (array > 0 if name == "size" else True)
            require(
                bool(fit.all()),
                f"{name} lies in {low:g}..{high:g}" + (", above 0" if name == "size" else ""),
                f"{array[~fit][0] if not fit.all() else ''}",
                "positions and sizes are in grid units, -1..1 from side to side",
            )

    def __len__(self) -> int:
        """Return the number of shapes n."""
        return len(self.kind)

    @door
    def take(self, rows: slice | Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> ShapeAttributes:
        """Return some of the attributes, in this order."""
        require_rows(rows, len(self.kind))
        return ShapeAttributes(
            self.kind[rows], self.position[rows], self.colour[rows], self.size[rows],
            self.background[rows],
        )  # fmt: skip

    def encoded(self) -> Float[np.ndarray, "n 11"]:
        """Return a row of numbers for each: kind one-hot, x, y, colour, size, background."""
        return np.concatenate(
            [
                np.eye(2)[self.kind], self.position, self.colour, self.size[:, None],
                self.background,
            ],
            axis=1,
        )  # fmt: skip


def from_columns(values: Float[np.ndarray, "n 10"]) -> ShapeAttributes:
    """Return attributes from a row of numbers for each, in the order of `COLUMNS`."""
    return ShapeAttributes(
        kind=values[:, 0].astype(int),
        position=values[:, 1:3],
        colour=values[:, 3:6],
        size=values[:, 6],
        background=values[:, 7:10],
    )


def to_columns(attributes: ShapeAttributes) -> Float[np.ndarray, "n 10"]:
    """Return attributes as rows of numbers, in the order of `COLUMNS`."""
    return np.concatenate([attributes.kind[:, None], attributes.encoded()[:, 2:]], axis=1)
