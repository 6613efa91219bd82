"""The published images, 0 to 4 against 5 to 9, split as the digits are."""

from __future__ import annotations

import os

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.study import Cells, Config
from partwhole.tasks.images._files import VARIABLE
from partwhole.tasks.images.mnist import mnist_images
from partwhole_studies.gated.digits import SELECTION, Digits, digits

VALIDATION = 12_000  # images that the published errors are of
ROUNDING = 1e-11  # of a mean of pixels, which processors add up in orders of their own
SPLIT = 1  # the same in all published runs


def mnist(seed: int, n_train: int = 500, n_selection: int = 0, n_test: int = VALIDATION) -> Digits:
    """Split MNIST's training images; the stream goes on to the gates.

    Pixels are scaled to -1..1. Those to be reported on follow those of the training set in a
    permutation, those for selection are its last, which the published experiments left aside.
    """
    images, classes = mnist_images()
    needed = n_train + n_test + n_selection
    require(
        len(images) >= needed,
        f"a split of {n_train} to train on, {n_test} to report on and {n_selection} to select by "
        f"takes {needed} images",
        len(images),
        "name the folder of MNIST's whole training files",
    )
    every = _scaled(images)
    labels = np.where(classes < 5, 1.0, -1.0)
    stream = np.random.RandomState(seed)
    order = stream.permutation(len(every))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    selected = order[len(order) - n_selection :]
    return Digits(
        every, every[train], labels[train], every[test], labels[test], every[selected],
        labels[selected], stream,
    )  # fmt: skip


def _scaled(images: Float[np.ndarray, "n h w"]) -> Float[np.ndarray, "n d"]:
    every = np.ones((len(images), images[0].size + 1))
    every[:, :-1] = images.reshape(len(images), -1)
    every[:, :-1] *= 2.0
    every[:, :-1] -= 1.0
    return every


def published_split(seed: int, n_train: int, n_test: int = VALIDATION) -> Digits:
    """Split MNIST as all runs with gates are; only what is drawn of the stream has the seed."""
    data = mnist(SPLIT, n_train, n_test, n_test)
    return data._replace(stream=np.random.RandomState([SPLIT, seed]))


def split_of(config: Config, seed: int, n_train: int, n_selection: int = SELECTION) -> Digits:
    """Split the images that a configuration names: MNIST's as published, or the digits."""
    if config.get("images") == "mnist":
        return published_split(seed, n_train, config["n_test"])
    return digits(seed, n_train, n_selection)


def images_of(cells: Cells, study: str) -> str:
    """Return the name of the images that all cells are of; refuse cells of different files."""
    marks = {float(arrays["mark"]) for _, arrays in cells}
    require(
        len(marks) == 1,
        "all cells come from the same images",
        f"{len(marks)} different sets",
        f"clear the store of cells from other files: partwhole store clear --study {study}",
    )
    if cells[0][0].get("images") != "mnist":
        return "scikit-learn's digits"
    _require_named_files(marks.pop(), study)
    return "MNIST"


def _require_named_files(mark: float, study: str) -> None:
    """Refuse cells of other files than those in the folder that is named, if one is."""
    if os.environ.get(VARIABLE):
        require(
            abs(_scaled(mnist_images()[0]).mean() - mark) < ROUNDING,
            "cells in the store come from the files in the folder that is named",
            f"cells of other images than those in {os.environ[VARIABLE]}",
            f"clear the store of cells from other files: partwhole store clear --study {study}",
        )
