"""Digits 0 to 4 against 5 to 9, split for training, selection and report; and gates on them."""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole import solve
from partwhole.features import HalfspaceGates
from partwhole.limits import Limit, Margin, Outcome, Quadratic
from partwhole.networks import GatedNetwork
from partwhole.networks.paths import path_weights
from partwhole.tasks.images.digits import digit_images

SELECTION = 400  # digits for selection
SLACK = 1.0  # of the linear baseline where no hyperplane separates: a misfit of 1 costs 1/2


class Digits(NamedTuple):
    """Images of one split, with a constant, and their labels -1 and +1."""

    every: Float[np.ndarray, "N d"]
    inputs: Float[np.ndarray, "n d"]
    labels: Float[np.ndarray, " n"]
    test_inputs: Float[np.ndarray, "m d"]
    test_labels: Float[np.ndarray, " m"]
    selection_inputs: Float[np.ndarray, "s d"]
    selection_labels: Float[np.ndarray, " s"]
    stream: np.random.RandomState


_images = cache(digit_images)


def digits(seed: int, n_train: int = 200, n_selection: int = 0) -> Digits:
    """Split scikit-learn's digits; the stream goes on to the gates.

    Pixels are scaled to -1..1. Those for selection are the last of the permutation, so that
    they are neither trained on nor reported on.
    """
    images, classes = _images()
    pixels = 2.0 * images.reshape(len(images), -1) - 1.0
    every = np.column_stack([pixels, np.ones(len(pixels))])
    labels = np.where(classes < 5, 1.0, -1.0)
    stream = np.random.RandomState(seed)
    order = stream.permutation(len(every))
    train, test = order[:n_train], order[n_train : len(order) - n_selection]
    selected = order[len(order) - n_selection :]
    return Digits(
        every, every[train], labels[train], every[test], labels[test], every[selected],
        labels[selected], stream,
    )  # fmt: skip


def gates_of(
    data: Digits,
    n_units: int,
    n_hyperplanes: int = 1,
    thresholds: Literal["median", "zero"] = "median",
) -> HalfspaceGates:
    """Draw gates from the stream of the split; medians are over all images, without labels."""
    d = data.every.shape[1]
    normals = data.stream.randn(n_units, n_hyperplanes, d)
    if thresholds == "zero":
        return HalfspaceGates(normals, np.zeros((n_units, n_hyperplanes)))
    return HalfspaceGates.at_quantile(normals, data.every)


def linear_baseline(data: Digits) -> Limit:
    """Return the largest margin of a hyperplane, or with slack where none separates."""
    hard = solve((data.inputs, data.labels), cost=Quadratic(), fit="margin", intercept="none")
    if hard.outcome is Outcome.SOLVED:
        return hard
    return solve((data.inputs, data.labels), cost=Quadratic(), fit=Margin(SLACK), intercept="none")


def answers(network: GatedNetwork, inputs: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
    """Return a network's outputs by what its gated units compute, which needs no compilation."""
    return network.gates[0].design(inputs) @ path_weights(network).ravel()
