"""Networks of any family: named layers, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole.tasks.images.composites import Composites

Inputs = Composites | Float[np.ndarray, "n *shape"]


@runtime_checkable
class Network(Protocol):
    """A network of any family: named layers, one after another, on batches of inputs.

    Networks are read, trained and saved through these members. A family may have many networks
    along leading axes of all its arrays: its property `lead` then has their lengths, and
    `n_outputs` the number of outputs of each, which any family may define to save tracing.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> network = mlp(3, 2, 8, seed=0)
    >>> isinstance(network, Network), isinstance(eqx.nn.Identity(), Network)
    (True, False)
    >>> inputs = np.ones((5, 3), np.float32)
    >>> layers = each_layer(network, jax.numpy.asarray(inputs), network.contexts(inputs))
    >>> {name: layer.shape for name, layer in zip(network.names, layers, strict=True)}
    {'layer 1': (5, 8), 'output': (5, 3)}
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the layers; the last is the output."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one input."""
        ...

    def contexts(self, inputs: Float[np.ndarray, "n *shape"], /) -> Any:
        """Return what layers need of inputs in addition to the layer before, or ().

        It depends on no parameter, so that it is computed once. Arrays have a row for each input.
        """
        ...

    def layer(self, place: int, x: Float[Array, "n *_"], contexts: Any, /) -> Float[Array, "n *_"]:
        """Return the outputs of the layer at a place, from 0, given the layer before or inputs."""
        ...

    def partition(self) -> tuple[Any, Any]:
        """Return the arrays that training changes, and the rest, for `equinox.combine`."""
        ...


def each_layer(
    network: Network, x: Float[Array, "n *shape"], contexts: Any
) -> Iterator[Float[Array, "n *_"]]:
    """Yield the outputs of each layer of one network for a batch."""
    for place in range(len(network.names)):
        x = network.layer(place, x, contexts)
        yield x


def answers(network: Network, x: Float[Array, "n *shape"], contexts: Any) -> Float[Array, "n e"]:
    """Return the outputs of one network for a batch."""
    *_, outputs = each_layer(network, x, contexts)
    return outputs


def lead(network: Network) -> tuple[int, ...]:
    """Return the leading axes along which there are many networks; () for one."""
    return tuple(getattr(network, "lead", ()))


def precision(network: Network) -> np.dtype:
    """Return the type of the parameters."""
    leaves = (leaf for leaf in jax.tree.leaves(network.partition()[0]))
    return np.dtype(next(leaf.dtype for leaf in leaves if eqx.is_inexact_array(leaf)))


def n_outputs(network: Network) -> int:
    """Return the number of outputs of one network."""
    stated = getattr(network, "n_outputs", None)
    if stated is not None:
        return int(stated)
    batch: Any = jax.ShapeDtypeStruct((1, *network.shape), precision(network))
    contexts = network.contexts(np.zeros((1, *network.shape)))
    with jax.enable_x64(batch.dtype == np.float64):
        return int(eqx.filter_eval_shape(answers, network, batch, contexts).shape[1])


def require_one(network: Network, rule: str) -> None:
    """Require one network, without leading axes."""
    require(lead(network) == (), rule, "networks along a leading axis", "take one of them")


def require_fit(network: Network, inputs: Inputs) -> None:
    """Require inputs of the network's shape."""
    shape = (len(inputs), *inputs.shape) if isinstance(inputs, Composites) else inputs.shape
    require(
        shape[1:] == tuple(network.shape),
        f"inputs for this network have shape (n, {', '.join(map(str, network.shape))})",
        f"shape {tuple(shape)}",
        "pass one row for each",
    )


def require_layers(names: Sequence[str], chosen: Sequence[str] | None) -> tuple[str, ...]:
    """Validate the names of chosen layers, all by default, and return them."""
    if chosen is None:
        return tuple(names)
    missing = [name for name in chosen if name not in names]
    require(
        len(chosen) > 0 and not missing,
        f"a layer of this network is one of {', '.join(names)}",
        ", ".join(map(repr, missing)) or "none",
        "choose from them",
    )
    return tuple(chosen)
