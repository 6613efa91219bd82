"""Splits of image classes into a main task and an auxiliary one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Count, Seed
from partwhole.tasks.images._pictures import known_pictures

CLASSES, MAIN, TEST = 3, 4, 5  # keep what is drawn apart from one another
Part = Literal["main", "test", "auxiliary"]


@door(
    single=(
        "images",
        "test_images",
    )
)
def split_classes(
    images: Float[np.ndarray, "k height width *channels"],
    labels: Int[np.ndarray, " k"],
    *,
    n_main: Count,
    main_classes: Annotated[int, Bounds(at_least=2)] = 2,
    n_test: Count = 200,
    test_images: Float[np.ndarray, "q *_"] | None = None,
    test_labels: Int[np.ndarray, " q"] | None = None,
    seed: Seed,
) -> ClassSplit:
    """Split classes at random into a main task, of which few images train, and an auxiliary one.

    Parameters
    ----------
    images : float array, shape (k, height, width) or (k, height, width, channels)
    labels : int array, shape (k,)
        The class of each image; any whole numbers.
    n_main : int, keyword-only
        How many images of the main classes train, drawn without regard to their class.
    main_classes : int, keyword-only, default 2
        How many classes are the main task's; the others are the auxiliary one's.
    n_test : int, keyword-only, default 200
        How many images of the main classes test.
    test_images, test_labels : arrays as images and labels, keyword-only, default None
        Where test images are drawn from. None takes them from images, before those that train.
    seed : int, keyword-only
        Fixes the classes and all draws. With the same seed a smaller n_main is a subset of a
        larger one, and the test images are the same.

    Returns
    -------
    ClassSplit

    Raises
    ------
    InputError
        For images that are not finite, labels that are not one whole number for each image, too few
        classes, and more images asked for than there are.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024): CIFAR-100, two main classes with 10 to 1000 of their 1000
    images, 98 auxiliary classes with all their 49,000, and the main classes' 200 images of the test
    file. Grey levels there are from -1 to 1: pass ``2 * images - 1``.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.tasks.images.digits import digit_images
    >>> split = split_classes(*digit_images(), n_main=50, seed=0)
    >>> split.classes.tolist(), [len(split.samples(part)[0]) for part in split.parts]
    ([2, 7, 8, 3, 4, 9, 1, 6, 5, 0], [50, 200, 1441])
    """
    images, labels = known_pictures("images", images, "labels", labels)
    classes = np.unique(labels)
    require(
        main_classes < len(classes),
        "an auxiliary task has at least one class",
        f"{len(classes)} classes, {main_classes} of them the main task's",
        "pass fewer main_classes, or images of more classes",
    )
    require(
        (test_images is None) == (test_labels is None),
        "test images come with their labels",
        "only one of test_images and test_labels",
        "pass both, or neither",
    )
    order = np.random.default_rng([seed, CLASSES]).permutation(len(classes))
    column = np.argsort(order)[np.searchsorted(classes, labels)]  # of the outputs, for each image
    main_columns = np.flatnonzero(column < main_classes)
    drawn = np.random.default_rng([seed, MAIN]).permutation(main_columns)
    if test_images is None or test_labels is None:
        _require_images(n_main + n_test, len(main_columns), f"n_main={n_main} and n_test={n_test}")
        tested, answers = images, column
        test, main = drawn[:n_test], drawn[n_test : n_test + n_main]
    else:
        tested, other_classes = known_pictures(
            "test_images", test_images, "test_labels", test_labels
        )
        require(
            tested.shape[1:] == images.shape[1:],
            f"test images have the shape of the others, {images.shape[1:]}",
            f"{tested.shape[1:]}",
            "cut or pad them",
        )
        new = np.setdiff1d(other_classes, classes)
        require(
            len(new) == 0,
            "test images are of the classes of the others",
            f"class {new[0]}" if len(new) else "",
            "leave those images out",
        )
        answers = np.argsort(order)[np.searchsorted(classes, other_classes)]
        open_to = np.flatnonzero(answers < main_classes)
        _require_images(n_main, len(main_columns), f"n_main={n_main}")
        _require_images(n_test, len(open_to), f"n_test={n_test}", "test images")
        main = drawn[:n_main]
        test = np.random.default_rng([seed, TEST]).permutation(open_to)[:n_test]
    return ClassSplit(
        images=images,
        columns=column,
        test_images=tested,
        test_columns=answers,
        classes=classes[order],
        main_classes=int(main_classes),
        main=main,
        test=test,
        auxiliary=np.flatnonzero(column >= main_classes),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassSplit:
    """Images of two tasks, with an output column for each class.

    Made by `split_classes`. The pictures are held once, and which of them belong to a task as
    indices.

    Parameters
    ----------
    images : float array, shape (k, height, width, channels)
    columns : int array, shape (k,)
        The column of each image's class: the main task's come first.
    test_images : float array, shape (q, height, width, channels)
        The same array as images where test images are drawn from these.
    test_columns : int array, shape (q,)
    classes : int array, shape (outputs,)
        Which class each column stands for.
    main_classes : int
        How many columns are the main task's.
    main : int array, shape (n_main,)
        Which of images train the main task.
    test : int array, shape (n_test,)
        Which of test_images test it.
    auxiliary : int array, shape (m,)
        Which of images are the auxiliary task's: all of its classes.
    """

    images: Float[np.ndarray, "k height width channels"]
    columns: Int[np.ndarray, " k"]
    test_images: Float[np.ndarray, "q height width channels"]
    test_columns: Int[np.ndarray, " q"]
    classes: Int[np.ndarray, " outputs"]
    main_classes: int
    main: Int[np.ndarray, " n_main"]
    test: Int[np.ndarray, " n_test"]
    auxiliary: Int[np.ndarray, " m"]

    @property
    def n_outputs(self) -> int:
        """Return the number of columns, one for each class of both tasks."""
        return len(self.classes)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the names of the sets of samples: "main", "test" and "auxiliary"."""
        return get_args(Part)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return height, width and channels of an image."""
        _, height, width, channels = self.images.shape
        return height, width, channels

    @door
    def samples(
        self, part: Part
    ) -> tuple[Float[np.ndarray, "n height width channels"], Int[np.ndarray, " n"]]:
        """Return a copy of the images of a set of samples, and the column of each.

        Parameters
        ----------
        part : {"main", "test", "auxiliary"}

        Raises
        ------
        InputError
            For another name.
        """
        images, columns, rows = self.source(part)
        return images[rows], columns[rows]

    @door
    def source(
        self, part: Part
    ) -> tuple[
        Float[np.ndarray, "k height width channels"], Int[np.ndarray, " k"], Int[np.ndarray, " n"]
    ]:
        """Return what a set of samples is taken from, the columns there, and which it takes."""
        if part == "test":
            return self.test_images, self.test_columns, self.test
        return self.images, self.columns, self.main if part == "main" else self.auxiliary


def _require_images(requested: int, available: int, description: str, noun: str = "images") -> None:
    require(
        requested <= available,
        f"the main classes have enough {noun}",
        f"{available} for {description}",
        "request fewer, or pass more images",
    )
