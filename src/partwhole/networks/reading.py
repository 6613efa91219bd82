"""Activations and outputs of one network or many, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from partwhole._device import on_device
from partwhole._door import door
from partwhole.networks.network import (
    Inputs,
    Network,
    each_layer,
    lead,
    precision,
    require_fit,
    require_layers,
)

AT_ONCE = 256  # inputs read in one call


@door(single=("inputs",))
def outputs(network: Network, inputs: Inputs) -> Float[np.ndarray, "*many n e"]:
    """Return the outputs of a network, in inference.

    Parameters
    ----------
    network : Network
        One, or many along leading axes.
    inputs : float array, shape (n, ...) with the network's `shape`; or Composites
        The same for all networks.

    Returns
    -------
    float array, shape (n, e)
        With the leading axes of the network.

    Raises
    ------
    InputError
        If the inputs have another shape than the network's.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> network = mlp(2, layers=2, seed=0, bias=False)
    >>> outputs(network, np.zeros((3, 2))).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    return activations(network, inputs, layers=network.names[-1:])[0]


@door(single=("inputs",))
def activations(
    network: Network, inputs: Inputs, *, layers: Sequence[str] | None = None
) -> tuple[Float[np.ndarray, "..."], ...]:
    """Return the activations of a network's layers, in inference.

    Parameters
    ----------
    network : Network
        One, or many along leading axes.
    inputs : float array, shape (n, ...) with the network's `shape`; or Composites
        Composites are assembled chunk by chunk.
    layers : sequence of str, keyword-only, default None
        Names of layers, from the network's `names`; None for all, which may take much memory.

    Returns
    -------
    tuple of float arrays, shapes (n, ...)
        In the order of `layers`, with the leading axes of the network.

    Raises
    ------
    InputError
        If the inputs have another shape than the network's, or a layer doesn't exist.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> network = mlp(2, layers=3, width=4, seed=0)
    >>> network.names
    ('layer 1', 'layer 2', 'output')
    >>> [layer.shape for layer in activations(network, np.ones((5, 2)), layers=["layer 2"])]
    [(5, 4)]
    """
    chosen = require_layers(network.names, layers)
    require_fit(network, inputs)
    places = tuple(network.names.index(name) for name in chosen)

    def read(rows: np.ndarray) -> list[Array]:
        return _layers(
            network, on_device(rows, precision(network)), _contexts(network, rows), places
        )

    return _in_chunks(network, read, inputs)


def layer_by_layer(
    network: Network, inputs: Inputs, *, in_batch: bool = False
) -> Iterator[tuple[str, Float[np.ndarray, "n *_"]]]:
    """Yield the layers of one network, each computed from the one before; only two are in memory.

    Parameters
    ----------
    network : Network
    inputs : as in `activations`
    in_batch : bool, keyword-only, default False
        Whether batch normalisation takes the statistics of all these inputs, which then pass
        through each layer in one call.
    """
    require_fit(network, inputs)
    x = np.asarray(inputs[:])
    contexts = _contexts(network, x)
    for place, name in enumerate(network.names):

        def read(rows: np.ndarray, place: int = place, x: np.ndarray = x) -> list[Array]:
            at = jax.tree.map(lambda codes: codes[rows], contexts)
            return [_layer(network, on_device(x[rows], precision(network)), at, place, in_batch)]

        (x,) = _in_chunks(network, read, np.arange(len(x)), len(x) if in_batch else None)
        yield name, x


def _contexts(network: Network, rows: np.ndarray) -> Any:
    # Gates are compared in double precision.
    return network.contexts(np.asarray(rows, dtype=float))


def _in_chunks(
    network: Network, read: Callable[[np.ndarray], list[Array]], inputs: Any,
    size: int | None = None,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Compute activations in chunks of one size, so that they are compiled once."""
    n, axis = len(inputs), len(lead(network))
    size = min(n, AT_ONCE) if size is None else size
    parts = []
    with jax.enable_x64(precision(network) == np.float64):
        for first in range(0, n, size):
            # The last chunk is padded with the last input.
            rows = np.minimum(np.arange(first, first + size), n - 1)
            parts.append([np.asarray(layer) for layer in read(inputs[rows])])
    joined = (np.concatenate(layer, axis=axis) for layer in zip(*parts, strict=True))
    return tuple(layer[(slice(None),) * axis + (slice(n),)] for layer in joined)


@eqx.filter_jit
def _layers(network: Network, x: Array, contexts: Any, places: tuple[int, ...]) -> list[Array]:
    def read(single: Network, x: Array, contexts: Any) -> list[Array]:
        layers = list(each_layer(single, x, contexts))
        return [layers[place] for place in places]

    mapped: Callable = read
    for _ in lead(network):
        mapped = jax.vmap(mapped, in_axes=(0, None, None))
    return mapped(network, x, contexts)


@eqx.filter_jit
def _layer(network: Any, x: Array, contexts: Any, place: int, in_batch: bool) -> Array:
    layer = getattr(network, "in_batch", network.layer) if in_batch else network.layer
    return layer(place, x, contexts)
