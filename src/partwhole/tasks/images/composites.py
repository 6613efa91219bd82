"""Composites: the image of each component of a sample, assembled on access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._door import door
from partwhole.tasks._rows import require_rows
from partwhole.tasks._task import Task

Combine = Literal["channels", "maximum", "sum"]
MEETING: dict[str, Callable[..., np.ndarray]] = {"maximum": np.maximum, "sum": np.add}


@door(single=("images",), empty=("image_index", "rows"))
@dataclass(frozen=True, eq=False)
class Composites:
    """Composite images of a task's tuples, stored as indices and assembled on access.

    Index it as an array of shape (n, height, wide, channels): ``composites[:64]`` assembles the
    first 64, ``composites[order]`` those of an index array, ``composites[:]`` all of them, and
    ``composites[3]`` a single one, without the first axis.

    Parameters
    ----------
    task : Task
    images : float array, shape (k, height, width, channels)
    image_index : int array, shape (n, C)
        Which image shows each component.
    rows : int array, shape (n,)
        The row of the task that each composite shows.
    distance : int
        Offset between neighbouring components, in pixels.
    combine : {"channels", "maximum", "sum"}
        Whether each component has channels of its own, or how their pixels meet.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.tasks.images.digits import digit_images
    >>> images, labels = digit_images()
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> seen = tasks.compose_images(task, images, labels, distance=4, seed=0).training(50)
    >>> len(seen), seen.shape, seen[:2].shape, seen.targets[:2].tolist()
    (850, (8, 12, 2), (2, 8, 12, 2), [-4.0, -4.0])
    """

    task: Task
    images: Float[np.ndarray, "k height width channels"]
    image_index: Int[np.ndarray, "n C"]
    rows: Int[np.ndarray, " n"]
    distance: int
    combine: Combine

    def __len__(self) -> int:
        """Return the number of composites n."""
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return height, width and channels of one composite."""
        _, height, width, channels = self.images.shape
        n_components = self.image_index.shape[1]
        total_width = width + self.distance * (n_components - 1)
        return height, total_width, channels * (n_components if self.combine == "channels" else 1)

    @property
    def components(self) -> Int[np.ndarray, "n C"]:
        """Return each composite's value of each component, as the task numbers them."""
        return self.task.components[self.rows]

    @property
    def targets(self) -> Float[np.ndarray, "n *k"]:
        """Return the target of each composite."""
        return self.task.targets[self.rows]

    @door
    def take(self, rows: slice | Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> Composites:
        """Return some of them, in this order, still as indices."""
        require_rows(rows, len(self.rows))
        return replace(self, image_index=self.image_index[rows], rows=self.rows[rows])

    def __getitem__(
        self,
        rows: int | np.integer | slice | list[int] | Int[np.ndarray, " m"] | Bool[np.ndarray, " n"],
    ) -> Float[np.ndarray, "*m height wide channels"]:
        """Return some assembled composites, or one."""
        if isinstance(rows, int | np.integer):
            return self[[int(rows)]][0]
        image_index = self.image_index[rows]
        channels, width = self.images.shape[3], self.images.shape[2]
        meet = MEETING.get(self.combine)
        canvas = np.empty((len(image_index), *self.shape), dtype=self.images.dtype)
        for c in range(image_index.shape[1]):
            layer = np.take(self.images, image_index[:, c], axis=0)
            start = self.distance * c
            at = slice(c * channels, (c + 1) * channels) if meet is None else slice(None)
            parts = (
                (canvas[:, :, :start, at], layer[:, :, :1]),
                (canvas[:, :, start : start + width, at], layer),
                (canvas[:, :, start + width :, at], layer[:, :, -1:]),
            )
            for place, pixels in parts:
                if meet is None or c == 0:
                    place[...] = pixels
                else:
                    meet(place, pixels, out=place)
        return canvas
