"""Many deep linear networks with biases at once, trained by the second moments of their batches.

The gradient of a linear network needs no more of a batch than its second moment, so that stochastic
gradient descent is that of samples. Networks lie in the frame of the concepts; each layer has its
bias as last column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from partwhole.networks import MLP
from partwhole.tasks import StructuredIdentity
from partwhole.training.concepts import in_concept_frame
from partwhole.training.order import batch_order

BATCH, EPOCH = 128, 118  # samples, and batches of 15,000
LONGEST = 0.05  # step of Runge-Kutta in gradient time; signals are at most about 5

Layers = list[Float[np.ndarray, "n _ _"]]


def layers_of(networks: MLP, task: StructuredIdentity) -> Layers:
    """Return the layers of networks."""
    weights, biases = in_concept_frame(networks, task)
    assert biases is not None
    parts = zip(weights, biases, strict=True)
    return [np.concatenate([w, b[..., None]], axis=-1).astype(float) for w, b in parts]


def batch_moments(
    task: StructuredIdentity, seeds: Sequence[int]
) -> Float[np.ndarray, "n batches m m"]:
    """Return the second moments of (x, 1) of each seed's batches, which repeat in every epoch."""
    rows = []
    for seed in seeds:
        inputs = task.sample(seed).inputs @ task.rotation_matrix.T
        order, weights = batch_order(BATCH, seed, len(inputs), 1, "once")
        points = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)[order]
        rows.append(np.einsum("bi,bij,bik->bjk", weights, points, points))
    return np.array(rows)


def population_moment(task: StructuredIdentity) -> Float[np.ndarray, "m m"]:
    """Return the second moment of (x, 1)."""
    mean = task.mean()
    return np.block([[task.second_moment(), mean[:, None]], [mean[None], np.ones((1, 1))]])


def descend(
    layers: Layers, moments: np.ndarray, steps: np.ndarray, size: float
) -> Float[np.ndarray, "T n d m"]:
    """Return the maps from (x, 1) after steps of stochastic gradient descent, of a size in time."""
    maps, recorded = [], set(steps.tolist())
    for step in range(int(steps[-1]) + 1):
        if step in recorded:
            maps.append(_below(layers)[-1])
        slopes = velocity(layers, moments[:, step % moments.shape[1]])
        layers = [layer + size * slope for layer, slope in zip(layers, slopes, strict=True)]
    return np.array(maps)


def flow(layers: Layers, moment: np.ndarray, times: np.ndarray) -> Float[np.ndarray, "T n d m"]:
    """Return the same maps along gradient flow, by Runge-Kutta in steps of at most .05."""
    maps = []
    for span in np.diff(times, prepend=0.0):
        n = int(np.ceil(span / LONGEST))
        for _ in range(n):
            layers = _runge_kutta(layers, moment, span / n)
        maps.append(_below(layers)[-1])
    return np.array(maps)


def _below(layers: Layers) -> list[np.ndarray]:
    """Return the maps from (x, 1) to the input of each layer, with its 1, and to the output."""
    n, size = len(layers[0]), layers[0].shape[-1]
    constant = np.broadcast_to(np.eye(size)[-1:], (n, 1, size))
    maps = [np.broadcast_to(np.eye(size), (n, size, size))]
    for layer in layers:
        maps.append(np.concatenate([layer @ maps[-1], constant], axis=1))
    return [*maps[:-1], maps[-1][:, :-1]]


def velocity(layers: Layers, moment: np.ndarray) -> Layers:
    """Return minus the gradient of half the squared error, for each layer."""
    below = _below(layers)
    back = (np.eye(*below[-1].shape[1:]) - below[-1]) @ moment
    slopes = []
    for layer, under in zip(layers[::-1], below[-2::-1], strict=True):
        slopes.append(back @ under.swapaxes(1, 2))
        back = layer[..., :-1].swapaxes(1, 2) @ back
    return slopes[::-1]


def _runge_kutta(layers: Layers, moment: np.ndarray, step: float) -> Layers:
    total, slopes = [np.zeros_like(layer) for layer in layers], layers
    for reach, weight in ((0.0, 1), (0.5, 2), (0.5, 2), (1.0, 1)):
        there = [layer + reach * step * s for layer, s in zip(layers, slopes, strict=True)]
        slopes = velocity(there, moment)
        total = [sum_ + weight / 6 * s for sum_, s in zip(total, slopes, strict=True)]
    return [layer + step * slope for layer, slope in zip(layers, total, strict=True)]
