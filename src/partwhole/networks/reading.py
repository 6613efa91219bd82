"""Reading a network, or many of them, into NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.networks.images.network import ImageNetwork
from partwhole.networks.mlp import MLP
from partwhole.tasks.images.composites import Composites

AT_ONCE = 256  # images read in one call
Inputs = Composites | Float[np.ndarray, "n d"] | Float[np.ndarray, "n h w c"]


@door(single=("inputs",))
def outputs(network: MLP | ImageNetwork, inputs: Inputs) -> Float[np.ndarray, "*many n e"]:
    """Return what a network answers.

    Parameters
    ----------
    network : MLP or ImageNetwork
        One, or many of MLP along leading axes.
    inputs : float array, shape (n, d), or (n, h, w, c) for images; or Composites
        The same for all networks.

    Returns
    -------
    float array, shape (n, e)
        With the leading axes of the network.

    Raises
    ------
    InputError
        If the inputs have another shape than the network is for.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> network = mlp(2, layers=2, seed=0, bias=False)
    >>> outputs(network, np.zeros((3, 2))).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    if isinstance(network, ImageNetwork):
        return activations(network, inputs, layers=network.names[-1:])[0]
    return activations(network, inputs)[-1]


@door(single=("inputs",))
def activations(
    network: MLP | ImageNetwork, inputs: Inputs, *, layers: Sequence[str] | None = None
) -> tuple[Float[np.ndarray, "..."], ...]:
    """Return what layers of a network give: of an MLP after the nonlinearity, else in inference.

    Parameters
    ----------
    network : MLP or ImageNetwork
        One, or many of MLP along leading axes.
    inputs : float array, shape (n, d), or (n, h, w, c) for images; or Composites
        Composites are assembled as they are read.
    layers : sequence of str, keyword-only, default None
        Which layers of an ImageNetwork, by `names`; None for all, which may take much memory.

    Returns
    -------
    tuple of float arrays, shapes (n, ...)
        From the first layer to the last, whose activations are the outputs.

    Raises
    ------
    InputError
        If the inputs have another shape than the network is for, or layers are not its own.
    """
    if isinstance(network, ImageNetwork):
        return _of_images(network, inputs, network.names if layers is None else tuple(layers))
    require(layers is None, "layers are named by image networks", repr(layers), "leave them out")
    require(
        not isinstance(inputs, Composites),
        "composites are read by image networks",
        "an MLP",
        "pass rows of numbers",
    )
    expected, inputs = network.weights[0].shape[-1], np.asarray(inputs)
    require(
        inputs.ndim == 2 and inputs.shape[1] == expected,
        f"inputs are points in the network's {expected} dimensions",
        f"shape {inputs.shape}",
        "pass one row for each",
    )
    read: Callable = jax.vmap(MLP.layers, in_axes=(None, 0))
    for _ in network.weights[0].shape[:-2]:
        read = jax.vmap(read, in_axes=(0, None))
    points = jnp.asarray(inputs, dtype=network.weights[0].dtype)
    return tuple(np.asarray(each) for each in read(network, points))


@eqx.filter_jit
def _read(network: ImageNetwork, images: jax.Array, places: tuple[int, ...]) -> list[jax.Array]:
    found = network.layers(images)
    return [found[place] for place in places]


def _of_images(
    network: ImageNetwork, inputs: Inputs, layers: tuple[str, ...]
) -> tuple[Float[np.ndarray, "n *_"], ...]:
    """Read layers in chunks of one size, so that reading is compiled once."""
    missing = [name for name in layers if name not in network.names]
    require(
        not missing,
        f"a layer of this network is one of {', '.join(network.names)}",
        ", ".join(map(repr, missing)),
        "choose from them",
    )
    shape = inputs.shape if isinstance(inputs, Composites) else inputs.shape[1:]
    require(
        tuple(shape) == network.shape and len(inputs) > 0,
        f"images for this network have height, width and channels {network.shape}",
        f"{tuple(shape)}" if len(inputs) else "no images",
        "draw a network for their shape",
    )
    places = tuple(network.names.index(name) for name in layers)
    parts = [_read(network, images, places) for images in _chunks(inputs)]
    joined = (
        np.concatenate([np.asarray(each) for each in layer]) for layer in zip(*parts, strict=True)
    )
    return tuple(each[: len(inputs)] for each in joined)


def _chunks(inputs: Inputs) -> Iterator[jax.Array]:
    """Return all images, as many at a time; the last chunk is filled up with the last image."""
    n = len(inputs)
    size = min(n, AT_ONCE)
    for first in range(0, n, size):
        which = np.minimum(np.arange(first, first + size), n - 1)
        yield jnp.asarray(inputs[which], dtype=jnp.float32)
