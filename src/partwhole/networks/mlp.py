"""A plain multilayer network."""

from __future__ import annotations

from typing import Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole._door import door


@door
class MLP(eqx.Module):
    r"""Multilayer network, with a nonlinearity after every layer except the last.

    .. math:: h_0 = x, \quad h_l = \phi(W_l h_{l-1} + b_l), \quad f(x) = W_L h_{L-1} + b_L

    Many networks at once have leading axes on all their arrays; `jax.vmap` maps over them.

    Parameters
    ----------
    weights : tuple of float arrays, shapes (out, in)
        From the first layer to the last.
    biases : tuple of float arrays, shapes (out,), or None
        One for each layer, or None for a network without biases.
    nonlinearity : {"linear", "relu"}

    Raises
    ------
    InputError
        For no layer, and a number of biases other than that of layers.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> network = mlp(2, layers=3, width=4, seed=0)
    >>> network(jax.numpy.ones(2)).shape, network.n_layers
    ((2,), 3)
    """

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...] | None
    nonlinearity: Literal["linear", "relu"] = eqx.field(static=True)

    def __check_init__(self) -> None:
        counts = len(self.weights), len(self.weights if self.biases is None else self.biases)
        require(
            counts[0] == counts[1] > 0,
            "a network has at least one layer, and biases for each or none",
            f"{counts[0]} weights and {counts[1]} biases",
            "pass as many of both, or None for biases",
        )

    @property
    def n_layers(self) -> int:
        """Return the number of layers L."""
        return len(self.weights)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the layers: "layer 1", "layer 2", ... and "output"."""
        return (*(f"layer {place}" for place in range(1, self.n_layers)), "output")

    @property
    def shape(self) -> tuple[int]:
        """Return the shape of one input, (d,)."""
        return (self.weights[0].shape[-1],)

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs e."""
        return self.weights[-1].shape[-2]

    @property
    def lead(self) -> tuple[int, ...]:
        """Return the leading axes along which there are many networks."""
        return tuple(self.weights[0].shape[:-2])

    def contexts(self, inputs: Float[Array | np.ndarray, "n d"]) -> tuple[()]:
        """Return (): a layer depends only on the layer before."""
        return ()

    def layer(self, place: int, x: Float[Array, "*n _"], contexts: tuple[()] = (), /) -> Array:
        """Return the outputs of one layer, after the nonlinearity, for one row or many."""
        x = x @ self.weights[place].T
        if self.biases is not None:
            x = x + self.biases[place].reshape((1,) * (x.ndim - 1) + (-1,))
        return jax.nn.relu(x) if self.nonlinearity == "relu" and place < self.n_layers - 1 else x

    def partition(self) -> tuple[MLP, MLP]:
        """Return the weights and biases, all of which training changes, and the rest."""
        return eqx.partition(self, eqx.is_inexact_array)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " e"]:
        """Return the output for one input."""
        for place in range(self.n_layers):
            x = self.layer(place, x)
        return x

    def end_to_end(self) -> tuple[Float[Array, "*n e d"], Float[Array, "*n e"] | None]:
        r"""Return W and b of a linear network as an affine map, :math:`f(x) = W x + b`.

        Returns
        -------
        tuple of float arrays, shapes (e, d) and (e,)
            With the leading axes of the network; b is None for a network without biases.

        Raises
        ------
        InputError
            For a network that is not linear.
        """
        require(
            self.nonlinearity == "linear",
            "only a linear network is one matrix from end to end",
            f"a network with {self.nonlinearity}",
            "read it at probes with outputs(network, probes)",
        )
        matrix = self.weights[0]
        for weight in self.weights[1:]:
            matrix = weight @ matrix
        if self.biases is None:
            return matrix, None
        offset = self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            offset = (weight @ offset[..., None])[..., 0] + bias
        return matrix, offset
