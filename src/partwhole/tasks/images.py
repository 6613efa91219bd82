"""Composite images: one picture for each component, laid over one another on one canvas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole.tasks._task import Task

COMBINE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "maximum": np.maximum,
    "sum": np.add,
}


def digit_images() -> tuple[Float[np.ndarray, "n 8 8"], Int[np.ndarray, " n"]]:
    """Load the real handwritten digits that come with scikit-learn.

    Returns
    -------
    images : float array, shape (1797, 8, 8)
        Grey levels scaled to 0..1.
    labels : int array, shape (1797,)
        The digits 0..9.

    Examples
    --------
    >>> images, labels = digit_images()
    >>> images.shape, float(images.max())
    ((1797, 8, 8), 1.0)
    """
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return np.asarray(pixels, dtype=float).reshape(-1, 8, 8) / 16.0, np.asarray(labels, dtype=int)


def class_assignment(
    task: Task, n_classes: int, *, seed: int, same_classes: bool = False
) -> tuple[Int[np.ndarray, " v"], ...]:
    """Draw which class shows each value, anew for each component among all classes.

    Parameters
    ----------
    task : Task
    n_classes : int
        Available classes.
    seed : int, keyword-only
    same_classes : bool, keyword-only, default False
        Let a value index be shown by the same class in every component.

    Returns
    -------
    tuple of int arrays
        For each component the class of each of its values, all different.

    Raises
    ------
    InputError
        When a component has more values than there are classes.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.partial_exposure()
    >>> [classes.tolist() for classes in class_assignment(task, 10, seed=0)]
    [[4, 6], [2, 9]]
    """
    most = max(task.n_values)
    require(
        most <= n_classes,
        "every value of a component needs a class of its own",
        f"{most} values and {n_classes} classes",
        "pass images of more classes",
    )
    rng = np.random.default_rng([seed, 0])
    drawn = [rng.permutation(n_classes) for _ in task.n_values]
    return tuple(
        (drawn[0] if same_classes else order)[:n]
        for order, n in zip(drawn, task.n_values, strict=True)
    )


def compose_images(
    task: Task,
    images: Float[np.ndarray, "k height width"],
    labels: Int[np.ndarray, " k"],
    per_tuple: int,
    *,
    distance: int,
    combine: str = "maximum",
    disjoint: bool = False,
    balanced: bool = False,
    same_classes: bool = False,
    seed: int,
    draw: int = 0,
) -> tuple[Float[np.ndarray, "n height wide"], Int[np.ndarray, " n"]]:
    r"""Show each tuple of a task by composite images.

    Each component value stands for a class (`class_assignment`), shown by one image of that
    class, drawn at random. Component c lies at the horizontal offset c * `distance` on a
    canvas of width ``width + distance * (C - 1)``; left and right of it its border pixels are
    repeated (edge padding), and the components are combined pixel by pixel.

    Parameters
    ----------
    task : Task
    images : float array, shape (k, height, width)
    labels : int array, shape (k,)
        The class of each image, from 0.
    per_tuple : int
        Composites for each row of the task.
    distance : int, keyword-only
        Offset between neighbouring components, in pixels; 0 superimposes them.
    combine : {"maximum", "sum"}, keyword-only, default "maximum"
        How the components' pixels meet, in one channel.
    disjoint : bool, keyword-only, default False
        Split the images of every class in two halves: training tuples are composed of the
        one, held-out tuples of the other.
    balanced : bool, keyword-only, default False
        Spread a tuple's draws evenly over the images at hand, so that means over its
        composites come close to those over all of them; single draws are then no longer
        independent.
    same_classes : bool, keyword-only, default False
        As in `class_assignment`.
    seed : int, keyword-only
        Fixes classes, halves and draws.
    draw : int, keyword-only, default 0
        Another number draws other images for the same classes and halves.

    Returns
    -------
    composites : float array, shape (n, height, wide)
        `per_tuple` for each row of the task, in its order.
    rows : int array, shape (n,)
        The row of the task that each composite shows.

    Raises
    ------
    InputError
        For labels that don't match, a class without (enough) images, more values than
        classes, a negative distance or an unknown `combine`.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), composite digits, there with a channel for each component
    and classes permuted among the first values only.

    Examples
    --------
    >>> from partwhole import tasks
    >>> images, labels = digit_images()
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> composites, rows = compose_images(task, images, labels, 2, distance=4, seed=0)
    >>> composites.shape, rows[:4].tolist()
    ((162, 8, 12), [0, 0, 1, 1])
    """
    require(
        len(images) == len(labels) and len(labels) > 0 and labels.min() >= 0,
        "every image needs a class from 0",
        f"{len(images)} images and {len(labels)} labels",
        "pass arrays of equal length",
    )
    require(per_tuple >= 1, "per_tuple counts composites from 1", per_tuple, "ask for some")
    require(distance >= 0, "distance is at least 0 pixels", distance, "use 0 to superimpose")
    require(
        combine in COMBINE,
        f"combine is one of {', '.join(COMBINE)}",
        repr(combine),
        "choose one of them",
    )
    n_classes = int(labels.max()) + 1
    smallest = int(np.bincount(labels, minlength=n_classes).min())
    require(
        smallest >= 1 + disjoint,
        f"every class needs at least {1 + disjoint} images",
        f"one with {smallest}",
        "number the classes without gaps" if not disjoint else "or use disjoint=False",
    )
    # Images sorted by class in a seeded order: a class is a run, a half the start or end of it.
    shuffled = np.random.default_rng([seed, 1]).permutation(len(labels))
    shuffled = shuffled[np.argsort(labels[shuffled], kind="stable")]
    size = np.bincount(labels, minlength=n_classes)
    start = np.cumsum(size) - size

    rows = np.repeat(np.arange(len(task.components)), per_tuple)
    seen = task.is_train[rows]
    classes = class_assignment(task, n_classes, seed=seed, same_classes=same_classes)
    rng = np.random.default_rng([seed, 2, draw])
    height, width = images.shape[1:]
    wide = width + distance * (task.n_components - 1)
    canvas = np.empty((len(rows), height, wide))
    for c, assigned in enumerate(classes):
        shown = assigned[task.components[rows, c]]
        low, high = np.zeros_like(rows), size[shown]
        if disjoint:
            half = size[shown] // 2
            low, high = np.where(seen, 0, half), np.where(seen, half, high)
        chance = rng.random((len(task.components), per_tuple))
        if balanced:
            order = rng.permuted(np.tile(np.arange(per_tuple), (len(chance), 1)), axis=1)
            chance = (order + chance) / per_tuple
        place = low + (chance.ravel() * (high - low)).astype(int)
        columns = np.clip(np.arange(wide) - distance * c, 0, width - 1)
        layer = images[shuffled[start[shown] + place]][:, :, columns]
        canvas = layer if c == 0 else COMBINE[combine](canvas, layer)
    return canvas, rows
