"""Reading a network, or many of them, into NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.networks.mlp import MLP


def outputs(network: MLP, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "*many n e"]:
    """Return what a network answers.

    Parameters
    ----------
    network : MLP
        One, or many along leading axes.
    inputs : float array, shape (n, d)
        The same for all networks.

    Returns
    -------
    float array, shape (n, e)
        With the leading axes of the network.

    Raises
    ------
    InputError
        If the inputs have another dimension than the network.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> network = mlp(2, layers=2, seed=0, bias=False)
    >>> outputs(network, np.zeros((3, 2))).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    return activations(network, inputs)[-1]


def activations(
    network: MLP, inputs: Float[np.ndarray, "n d"]
) -> tuple[Float[np.ndarray, "*many n _"], ...]:
    """Return what every layer of a network gives, after the nonlinearity.

    Parameters
    ----------
    network : MLP
        One, or many along leading axes.
    inputs : float array, shape (n, d)

    Returns
    -------
    tuple of float arrays, shapes (n, h_l)
        From the first layer to the last, whose activations are the outputs.

    Raises
    ------
    InputError
        If the inputs have another dimension than the network.
    """
    expected, inputs = network.weights[0].shape[-1], np.asarray(inputs)
    require(
        inputs.ndim == 2 and inputs.shape[1] == expected and np.issubdtype(inputs.dtype, np.number),
        f"inputs are points in the network's {expected} dimensions",
        f"shape {inputs.shape} of {inputs.dtype}",
        "pass one row for each",
    )
    read: Callable = jax.vmap(MLP.layers, in_axes=(None, 0))
    for _ in network.weights[0].shape[:-2]:
        read = jax.vmap(read, in_axes=(0, None))
    points = jnp.asarray(inputs, dtype=network.weights[0].dtype)
    return tuple(np.asarray(each) for each in read(network, points))
