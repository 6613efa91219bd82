"""Composing images: a class for each component value, an image of that class for each component."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import is_whole, require
from partwhole._door import door
from partwhole._types import Count, Index, Real, Seed
from partwhole.tasks._task import Task
from partwhole.tasks.images._pictures import known_pictures
from partwhole.tasks.images.composites import Combine, Composites

Assignment = Literal["every", "first", "same"]
# Keeps the stream apart: from those of pools, draws and glyphs (1 to 3), and from that of the seed
# alone, which NumPy has for 0 too.
ASSIGNED = 4
Pool = Literal["every", "training", "held out"]


@door
def class_assignment(
    task: Task, n_classes: Count, *, seed: Seed, assign: Assignment = "every"
) -> tuple[Int[np.ndarray, " _"], ...]:
    """Draw the class that represents each value, independently for each component.

    Parameters
    ----------
    task : Task
    n_classes : int
        Available classes.
    seed : int, keyword-only
        At least 0.
    assign : {"every", "first", "same"}, keyword-only, default "every"
        "every" permutes all classes and takes as many as there are values; "first", as
        published, permutes only the first of them, as many as there are values; "same" lets a
        value index be shown by the same class in every component.

    Returns
    -------
    tuple of int arrays
        For each component the class of each of its values, all different.

    Raises
    ------
    InputError
        When a component has more values than there are classes, `assign` is unknown, or the seed is
        below 0.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.toys.partial_exposure()
    >>> [classes.tolist() for classes in class_assignment(task, 10, seed=0)]
    [[9, 5], [6, 0]]
    >>> [classes.tolist() for classes in class_assignment(task, 10, seed=0, assign="first")]
    [[0, 1], [0, 1]]
    """
    largest = max(task.n_values)
    require(
        largest <= n_classes,
        "every value of a component needs a separate class",
        f"{largest} values and {n_classes} classes",
        "pass images of more classes",
    )
    rng = np.random.default_rng([seed, ASSIGNED])
    if assign == "first":
        return tuple(rng.permutation(n) for n in task.n_values)
    drawn = [rng.permutation(n_classes) for _ in task.n_values]
    return tuple(
        (drawn[0] if assign == "same" else order)[:n]
        for order, n in zip(drawn, task.n_values, strict=True)
    )


@door(single=("images",))
def compose_images(
    task: Task,
    images: Float[np.ndarray, "k height width *channels"],
    labels: Int[np.ndarray, " k"],
    *,
    distance: Index,
    combine: Combine = "channels",
    assign: Assignment = "every",
    training_images: int | Real = 0.5,
    seed: Seed,
) -> ComposedImages:
    r"""Return a source of composite images of a task's tuples.

    Each component value stands for a class (`class_assignment`), shown by an image of that
    class, drawn at random. Component c lies at the horizontal offset c * `distance` on a
    canvas of width ``width + distance * (C - 1)``; left and right of it its border pixels are
    repeated (edge padding). Nothing is assembled yet: draw samples by the methods of what is
    returned.

    Parameters
    ----------
    task : Task
    images : float array, shape (k, height, width) or (k, height, width, channels)
        Composites have its type: pass float32 for training.
    labels : int array, shape (k,)
        The class of each image, from 0.
    distance : int, keyword-only
        Offset between neighbouring components, in pixels; 0 superimposes them.
    combine : {"channels", "maximum", "sum"}, keyword-only, default "channels"
        "channels" gives each component channels of its own, as published, so that superimposed
        components stay apart; else how their pixels meet.
    assign : {"every", "first", "same"}, keyword-only, default "every"
        As in `class_assignment`; published is "first".
    training_images : int or float, keyword-only, default 0.5
        How many images of each class are for training, the others being held out: a number of
        them, or a share between 0 and 1 of each class, rounded down. Published are 200 of MNIST and
        4000 of CIFAR.
    seed : int, keyword-only
        Fixes classes, pools and draws; at least 0, and as in `class_assignment`.

    Returns
    -------
    ComposedImages

    Raises
    ------
    InputError
        For images that are not finite, labels that don't match, a class without images, more values
        than classes, a distance or seed below 0, or an unknown option.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), composite images. There a class's training images are drawn
    for each component apart, so that an image held out in one may train another; here an image
    is in the same pool wherever it stands.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.tasks.images.digits import digit_images
    >>> images, labels = digit_images()
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> composed = compose_images(task, images, labels, distance=4, seed=0)
    >>> [len(part) for part in (composed.training(50), composed.compositional(10))]
    [850, 640]
    """
    images, labels = known_pictures("images", images, "labels", labels)
    require(
        labels.min() >= 0,
        "classes are numbered from 0",
        f"label {labels.min()}",
        "number them without gaps",
    )
    counted = is_whole(training_images) and training_images >= 1
    require(
        counted or 0.0 < training_images < 1.0,
        "training_images is a number of images of each class, or a share of them between 0 and 1",
        repr(training_images),
        "pass 200 or 0.5, say",
    )
    n_classes = int(labels.max()) + 1
    size = np.bincount(labels, minlength=n_classes)
    require(
        size.min() > 0,
        "every class from 0 to the last needs images",
        f"none of class {int(np.argmin(size))}",
        "number the classes without gaps",
    )
    # A share such as .29 of 100 comes out below 29 by rounding.
    share = np.floor(size * float(training_images) + 1e-9)
    training = np.minimum(size, training_images) if counted else share
    return ComposedImages(
        task,
        images,
        labels,
        class_assignment(task, n_classes, seed=seed, assign=assign),
        int(distance),
        combine,
        training.astype(int),
        seed,
    )


@dataclass(frozen=True, eq=False)
class ComposedImages:
    """Source of composite images of a task's tuples.

    Made by `compose_images`. Four kinds of samples are those a learner is read at:

    ===================  ==============  =================================
    method               tuples          images
    ===================  ==============  =================================
    `training`           seen            for training
    `recombined`         seen            for training, drawn anew
    `in_distribution`    seen            held out
    `compositional`      held out        held out
    ===================  ==============  =================================

    Parameters
    ----------
    task : Task
    images : float array, shape (k, height, width, channels)
    labels : int array, shape (k,)
    classes : tuple of int arrays
        For each component the class of each of its values.
    distance : int
    combine : {"channels", "maximum", "sum"}
    training_images : int array, shape (classes,)
        How many of each class are for training.
    seed : int
    """

    task: Task
    images: Float[np.ndarray, "k height width channels"]
    labels: Int[np.ndarray, " k"]
    classes: tuple[Int[np.ndarray, " _"], ...]
    distance: int
    combine: Combine
    training_images: Int[np.ndarray, " classes"]
    seed: int

    @cached_property
    def _sorted(self) -> tuple[Int[np.ndarray, " k"], np.ndarray, np.ndarray]:
        """Return images in a seeded order by class, where each begins, and how many it has.

        A class is a run of it, and its training images the start of that run.
        """
        shuffled = np.random.default_rng([self.seed, 1]).permutation(len(self.labels))
        order = shuffled[np.argsort(self.labels[shuffled], kind="stable")]
        size = np.bincount(self.labels, minlength=len(self.training_images))
        return order, np.cumsum(size) - size, size

    @door
    def pool(self, pool: Pool) -> Int[np.ndarray, " m"]:
        """Return the indices of a pool's images, of all classes.

        Parameters
        ----------
        pool : {"every", "training", "held out"}
        """
        order, start, size = self._sorted
        low, high = self._ends(pool, size)
        return np.concatenate([
            order[a + i : a + j] for a, i, j in zip(start, low, high, strict=True)
        ])  # fmt: skip

    @door(empty=("rows",))
    def draw(
        self,
        per_tuple: Count,
        *,
        rows: Bool[np.ndarray, " rows"] | Int[np.ndarray, " m"] | None = None,
        pool: Pool = "every",
        draw: Seed = 0,
        balanced: bool = False,
    ) -> Composites:
        """Draw composites.

        Parameters
        ----------
        per_tuple : int
            Composites for each row of the task.
        rows : bool or int array, keyword-only, default None
            Which rows of the task, by one bool for each or by their numbers; None for all of them.
            What is drawn for a row does not depend on the others.
        pool : {"every", "training", "held out"}, keyword-only, default "every"
            Which images of each class.
        draw : int, keyword-only, default 0
            Another number, at least 0, draws other images.
        balanced : bool, keyword-only, default False
            Spread a tuple's draws evenly over the images at hand, so that means over its
            composites come close to those over all of them; single draws are then no longer
            independent.

        Returns
        -------
        Composites
            `per_tuple` for each row, in the task's order.

        Raises
        ------
        InputError
            For `per_tuple` below 1, `draw` below 0, rows that the task does not have, or a class
            without images in the pool.
        """
        order, start, size = self._sorted
        low, high = self._ends(pool, size)
        members = np.unique(np.concatenate(self.classes))
        empty = members[high[members] <= low[members]]
        require(
            len(empty) == 0,
            f"every class that is shown needs an image that is {_POOLS[pool]}",
            f"class {empty[0]} of {size[empty[0]]} images, {self.training_images[empty[0]]} of "
            "them for training"
            if len(empty)
            else "",
            "pass more images, or change training_images",
        )
        n = len(self.task.components)
        tuples = np.arange(n) if rows is None else _rows(np.asarray(rows), n)
        index = np.empty((len(tuples), per_tuple, self.task.n_components), dtype=np.intp)
        rng = np.random.default_rng([self.seed, 2, draw])
        for c, assigned in enumerate(self.classes):
            chance = rng.random((n, per_tuple))
            if balanced:
                spread = rng.permuted(np.tile(np.arange(per_tuple), (n, 1)), axis=1)
                chance = (spread + chance) / per_tuple
            of = assigned[self.task.components[tuples, c]][:, None]
            place = low[of] + (chance[tuples] * (high[of] - low[of])).astype(int)
            index[:, :, c] = order[start[of] + place]
        return Composites(
            self.task, self.images, index.reshape(-1, index.shape[2]), np.repeat(tuples, per_tuple),
            self.distance, self.combine,
        )  # fmt: skip

    @door
    def training(self, per_tuple: int) -> Composites:
        """Draw seen tuples, of training images."""
        return self.draw(per_tuple, rows=self.task.is_train, pool="training")

    @door
    def recombined(self, per_tuple: int) -> Composites:
        """Draw seen tuples, of training images once more: other combinations of them."""
        return self.draw(per_tuple, rows=self.task.is_train, pool="training", draw=1)

    @door
    def in_distribution(self, per_tuple: int) -> Composites:
        """Draw seen tuples, of held-out images."""
        return self.draw(per_tuple, rows=self.task.is_train, pool="held out", draw=2)

    @door
    def compositional(self, per_tuple: int) -> Composites:
        """Draw held-out tuples, of held-out images."""
        return self.draw(per_tuple, rows=~self.task.is_train, pool="held out", draw=2)

    def _ends(self, pool: Pool, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where a pool begins and ends within each class."""
        split = self.training_images
        low = split if pool == "held out" else np.zeros_like(size)
        return low, split if pool == "training" else size


_POOLS = {"every": "there", "training": "for training", "held out": "held out"}


def _rows(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the validated row numbers of a task."""
    marks = rows.dtype == bool
    numbers = np.issubdtype(rows.dtype, np.integer) and bool(np.all((rows >= -n) & (rows < n)))
    require(
        rows.ndim == 1 and (len(rows) == n if marks else numbers or len(rows) == 0),
        f"rows are numbers below {n}, the rows of the task, or a bool for each",
        f"shape {rows.shape} of {rows.dtype}"
        if marks or rows.ndim != 1 or not rows.size
        else f"{rows.min()} to {rows.max()}",
        "pass task.is_train, say",
    )
    return np.arange(n)[rows if marks else rows.astype(int)]
