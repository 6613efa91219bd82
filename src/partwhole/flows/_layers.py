"""Layers of deep linear networks: their maps and gradients, and directions they cannot learn."""

from __future__ import annotations

from itertools import pairwise

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from partwhole._device import on_device
from partwhole.flows._inputs import SYMMETRY
from partwhole.flows._population import Population

# A layer is its matrix and, for networks with biases, its bias.
Layer = tuple[Array, ...]
Layers = tuple[Layer, ...]


def maps(layers: Layers, inputs: Array) -> list[Array]:
    """Return the maps from the input, or from (x, 1), to every layer."""
    reached = [inputs]
    for weight, *bias in layers:
        out = weight @ reached[-1]
        reached.append(out.at[:, -1].add(bias[0]) if bias else out)
    return reached


def identity(layers: Layers, m: Array) -> Array:
    """Return the identity of the inputs, on (x, 1) where there are biases."""
    return jnp.eye(layers[0][0].shape[1], m.shape[0], dtype=m.dtype)


def end_to_end(layers: Layers, m: Array) -> tuple[Array, ...]:
    """Return the matrix of the whole network and, where there are biases, its offset."""
    d = layers[0][0].shape[1]
    last = maps(layers, identity(layers, m))[-1]
    return (last,) if len(layers[0]) == 1 else (last[:, :d], last[:, d])


def gradients(layers: Layers, m: Array, best: Array | None = None) -> Layers:
    """Return the gradient of the loss for every layer, by backpropagation.

    `best` is the map at which all are zero; None stands for the identity.
    """
    inputs = identity(layers, m)
    reached = maps(layers, inputs)
    back, slopes = (reached[-1] - (inputs if best is None else best)) @ m, []
    for (weight, *bias), below in zip(reversed(layers), reversed(reached[:-1]), strict=True):
        slopes.append((back @ below.T, back[:, -1]) if bias else (back @ below.T,))
        back = weight.T @ back
    return tuple(reversed(slopes))


def without_rounding(weights: list[np.ndarray], biases: list[np.ndarray] | None) -> Layers:
    """Turn hidden layers so that a direction in which nothing starts is a unit of zeros.

    The columns of W_l and b_l and the rows of W_{l+1} span what hidden layer l ever uses: no
    gradient leaves it. Were what lies outside rounding, it would grow and be learned in the end.
    """
    w, b = [layer.copy() for layer in weights], None if biases is None else list(biases)
    d = w[0].shape[-1]
    for k in range(len(w) - 1):
        parts = [w[k], w[k + 1].swapaxes(-1, -2)] + ([] if b is None else [b[k][..., None]])
        basis, size, _ = np.linalg.svd(np.concatenate(parts, axis=-1), full_matrices=True)
        rounding = 8.0 * sum(part.shape[-1] for part in parts) * np.finfo(float).eps
        nonzero = np.zeros((len(basis), basis.shape[-1]), dtype=bool)
        nonzero[:, : size.shape[-1]] = size > rounding * np.maximum(size[:, :1], 1e-300)
        # Layers that use at least as many directions as the inputs have hold nothing back.
        thin = nonzero.sum(axis=1) < min(d, nonzero.shape[1])
        turn = basis[thin] * nonzero[thin][:, None, :]
        w[k][thin] = turn.swapaxes(-1, -2) @ w[k][thin]
        w[k + 1][thin] = w[k + 1][thin] @ turn
        if b is not None:
            b[k] = b[k].copy()
            b[k][thin] = (turn.swapaxes(-1, -2) @ b[k][thin][..., None])[..., 0]
    if b is None:
        return tuple((on_device(weight),) for weight in w)
    pairs = zip(w, b, strict=True)
    return tuple((on_device(weight), on_device(bias)) for weight, bias in pairs)


def bottleneck_notes(layers: Layers, population: Population) -> tuple[str, ...]:
    """Note how many directions narrow layers, or the initial weights, keep from being learned."""
    needed = _rank(population)
    of = "inputs" if population.is_identity else "teacher"
    width = min(layer[0].shape[-2] for layer in layers)
    if width < needed:
        return (
            f"a layer of {width} units bounds the rank of the end-to-end map: {needed - width} "
            f"direction(s) of the {of} are never learned",
        )
    pairs = pairwise(layers)
    used = np.min([_units(layer, above) for layer, above in pairs] or [[needed]], axis=0)
    thin = np.flatnonzero(used < needed)
    if not len(thin):
        return ()
    subject = "the initial weights lack" if len(used) == 1 else f"{len(thin)} of {len(used)} lack"
    first = "" if len(used) == 1 else f", for the first of them, at index {thin[0]}"
    return (
        f"{subject} rank: {needed - int(used[thin[0]])} direction(s) of the {of} are never "
        f"learned{first}",
    )


def _rank(population: Population) -> int:
    """Return the rank that the end-to-end map must have; biases learn the mean by themselves."""
    spread = population.centred_moment
    if population.is_identity:
        # Beside the moment of (x, 1) where there are biases.
        tol = SYMMETRY * population.moment.max()
        return int(np.linalg.matrix_rank(spread, tol=tol, hermitian=True))
    slope = population.best[:, : population.n_inputs] @ spread
    return int(np.linalg.matrix_rank(slope, tol=SYMMETRY * np.abs(slope).max(initial=1e-300)))


def _units(layer: Layer, above: Layer) -> np.ndarray:
    """Return for each network how many units of a hidden layer have any weight."""
    weight, *bias = (np.asarray(part) for part in layer)
    used = (weight != 0).any(axis=-1) | (np.asarray(above[0]) != 0).any(axis=-2)
    for part in bias:
        used |= part != 0
    return used.sum(axis=-1)
