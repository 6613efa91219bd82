"""Networks whose units choose their weights by gates, in any layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._types import Real
from partwhole.features import ReLUGates
from partwhole.features.gates.joint import Gates
from partwhole.networks import _gates_as_pytrees as _gates_as_pytrees
from partwhole.networks.initial import he, normal, orthogonal
from partwhole.networks.network import answers, each_layer
from partwhole.networks.reading import outputs

WEIGHTS = 103  # keeps the stream of the weights apart from those of samples and their order
LAWS = {"orthogonal": orthogonal, "normal": normal, "he": he}


@door
class LearnedGates(eqx.Module):
    """Let units answer where their own sum is at least 0: ReLU, whose gates move with training.

    Parameters
    ----------
    n_units : int
        H.

    Raises
    ------
    InputError
        For no units.
    """

    n_units: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        whole("n_units", self.n_units, 1, "pass the number of hidden units")


@door
class GatedNetwork(eqx.Module):
    r"""Map an input through layers of units that choose their weights by its context.

    .. math:: z_{l,i} = \langle w_{l, i, c_{l,i}(x)},\ z_{l-1} \rangle, \qquad z_0 = x, \qquad
              f(x) = \sum_i z_{L,i},

    and 0 where a unit is off. In all weights together f is homogeneous of degree L, the number
    of layers, unless there is a bias.

    Parameters
    ----------
    weights : tuple of float arrays, shapes (out, C, in)
        A layer each; C is 1 without gates.
    gates : tuple of Gates, LearnedGates or None
        A layer each: frozen, learned, or none. Frozen gates see the input itself in every layer.
        They are part of the network, saved and loaded with it.
    bias : float array, shape (), or None
        Of the output.
    parallel : bool
        Whether units form chains, each fed by the one unit before it; only the last layer sums
        them. Weights between are of shape (H, C, 1).

    Notes
    -----
    Lippl, Abbott & Chung (2022); Veness et al. (2021). An input that feeds units a constant
    stands for their biases.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> gates = HalfspaceGates.random(3, n_units=4)
    >>> network = GatedNetwork.draw(3, [gates, 5, 1], seed=0)  # gated, linear, readout
    >>> network.n_layers, [each.shape for each in network.weights]
    (3, [(4, 2, 3), (5, 1, 4), (1, 1, 5)])
    >>> network.predict(np.ones((2, 3))).shape
    (2,)
    """

    weights: tuple[Float[Array, "..."], ...]
    gates: tuple[Any, ...]
    bias: Float[Array, ""] | None = None
    parallel: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        require(
            len(self.weights) == len(self.gates) > 0,
            "a network has at least one layer, and gates or None for each",
            f"{len(self.weights)} weights and {len(self.gates)} gates",
            "pass as many of both",
        )

    @classmethod
    @door(single=("scale",))
    def draw(
        cls,
        dimension: int,
        layers: Sequence[Gates | LearnedGates | int],
        *,
        seed: int,
        initial: Literal["orthogonal", "normal", "he"] = "orthogonal",
        scale: Real = 1.0,
        bias: bool = False,
        parallel: bool = False,
    ) -> GatedNetwork:
        r"""Draw a network.

        Parameters
        ----------
        dimension : int
            d.
        layers : sequence of Gates, LearnedGates or int
            From the first to the last: gates, whose units the layer has, or the units of a
            linear layer. ``[gates, 1]`` is a gated layer with a linear readout, ``[8, gates]``
            a gated readout on a linear layer, ``[LearnedGates(50), 1]`` a ReLU network,
            ``[gates]`` the sum of one layer of gated units.
        seed : int, keyword-only
        initial : {"orthogonal", "normal", "he"}, keyword-only, default "orthogonal"
            "orthogonal" draws a layer's H C weight vectors orthonormal, as many as can be;
            "normal" from :math:`N(0, \text{scale}^2)`; "he" from
            :math:`N(0, 2\, \text{scale}^2 / n)` for n inputs.
        scale : float, keyword-only, default 1
        bias : bool, keyword-only, default False
            Whether the output has one, from 0. The published gated networks have one, and are
            then not homogeneous.
        parallel : bool, keyword-only, default False
            See the class.

        Returns
        -------
        GatedNetwork
            Single precision, frozen gates in double.

        Raises
        ------
        InputError
            For layers that don't fit together, unknown options, and a scale that is not above 0.

        Notes
        -----
        The published gated networks are "orthogonal", the ReLU networks "he".
        """
        whole("dimension", dimension, 1, "pass the number of inputs")
        whole("seed", seed, 0, "pass 0 or more")
        require(scale > 0, "a scale is above 0", repr(scale), "pass 1, say")
        gates = tuple(_checked(each, dimension) for each in layers)
        units = [_units(given) for given in layers]
        if parallel:
            chained = len(units) >= 2 and units[-1] == 1 and len({*units[:-1]}) == 1
            require(
                chained,
                "parallel chains have as many units in every layer but the last, which has one",
                ", ".join(map(str, units)),
                "pass [gates, H, 1], say",
            )
        rng = np.random.default_rng([seed, WEIGHTS])
        weights, fan_in = [], dimension
        for place, (count, kind) in enumerate(zip(units, gates, strict=True)):
            contexts = 1 if kind is None or isinstance(kind, LearnedGates) else kind.n_contexts
            inputs = 1 if parallel and 0 < place < len(units) - 1 else fan_in
            drawn = LAWS[initial](rng, (count * contexts, inputs), inputs, float(scale))
            weights.append(jnp.asarray(drawn.reshape(count, contexts, inputs), jnp.float32))
            fan_in = count
        return cls(tuple(weights), gates, jnp.zeros((), jnp.float32) if bias else None, parallel)

    @property
    def n_layers(self) -> int:
        """Return L, the degree in which the output grows with the weights."""
        return len(self.weights)

    @property
    def dimension(self) -> int:
        """Return d."""
        return self.weights[0].shape[-1]

    @property
    def squared_norm(self) -> float:
        """Return the sum of all squared weights, the bias left out."""
        return float(sum(np.sum(np.asarray(each, dtype=float) ** 2) for each in self.weights))

    @door(empty=("inputs",))
    def contexts(
        self, inputs: Float[np.ndarray, "n d"]
    ) -> tuple[Int[np.ndarray, "n _"] | None, ...]:
        """Return what the frozen gates of every layer say to inputs, in double precision.

        Parameters
        ----------
        inputs : float array, shape (n, d)

        Returns
        -------
        tuple of int arrays, shapes (n, H), or None
            None for layers whose gates are learned, or that have none.

        Raises
        ------
        InputError
            For inputs of another dimension, or that are not finite.
        """
        require_inputs(inputs, self.dimension)
        return tuple(
            None if each is None or isinstance(each, LearnedGates) else each.contexts(inputs)
            for each in self.gates
        )

    @property
    def n_outputs(self) -> int:
        """Return 1, the sum of the last layer."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        """Return "layer 1", ... and "output", which a last layer of one unit is itself."""
        hidden = self.n_layers - (self.weights[-1].shape[-3] == 1)
        return (*(f"layer {place + 1}" for place in range(hidden)), "output")

    @property
    def shape(self) -> tuple[int]:
        """Return the shape of one input, (d,)."""
        return (self.dimension,)

    def layer(
        self, place: int, x: Float[Array, "n _"], contexts: Sequence[Any], /
    ) -> Float[Array, "n _"]:
        """Return what one layer gives; an output beside the layers is the sum of the last.

        Parameters
        ----------
        place : int
        x : float array, shape (n, H)
            What the layer before gives; inputs for the first.
        contexts : sequence of int arrays, shapes (n, H), or None
            From `contexts`; gates see inputs only, so that training needs them once.

        Returns
        -------
        float array, shape (n, H)
            The last layer has the bias in its first unit.
        """
        last = self.n_layers - 1
        if place > last:
            return x.sum(axis=1, keepdims=True)
        weight, kind = self.weights[place], self.gates[place]
        units, n_contexts, _ = weight.shape
        if self.parallel and 0 < place < last:
            sums = x[:, :, None] * weight[None, :, :, 0]
        else:
            sums = (x @ weight.reshape(units * n_contexts, -1).T).reshape(-1, units, n_contexts)
        if isinstance(kind, LearnedGates):
            x = jnp.where(sums[:, :, 0] >= 0, sums[:, :, 0], 0.0)
        elif kind is None:
            x = sums[:, :, 0]
        else:
            now = jnp.asarray(contexts[place], jnp.int32)
            chosen = now[:, :, None] == jnp.arange(n_contexts, dtype=jnp.int32)[None, None]
            x = jnp.where(chosen, sums, 0.0).sum(axis=2)
        return x if self.bias is None or place < last else x.at[:, 0].add(self.bias)

    def partition(self) -> tuple[GatedNetwork, GatedNetwork]:
        """Return weights and bias, which training changes, and the gates."""
        trained = jax.tree_util.tree_map_with_path(lambda path, _: path[0].name != "gates", self)
        return eqx.partition(self, trained)

    def __call__(self, inputs: Float[Array, "n d"], contexts: Sequence[Any]) -> Float[Array, " n"]:
        """Return the outputs for n inputs and their contexts; see `layer`."""
        return answers(self, inputs, contexts).sum(axis=1)

    @door(empty=("inputs",))
    def predict(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Return the outputs; their sign is the decision, and 0 is a tie.

        Parameters
        ----------
        inputs : float array, shape (n, d)

        Returns
        -------
        float array, shape (n,)

        Raises
        ------
        InputError
            For inputs of another dimension, or that are not finite.
        """
        require_inputs(inputs, self.dimension)
        return outputs(self, inputs)[:, 0].astype(float) if len(inputs) else np.zeros(0)

    @door(empty=("inputs",))
    def open_gates(self, inputs: Float[np.ndarray, "n d"]) -> tuple[Int[np.ndarray, "n _"], ...]:
        """Return the contexts of all layers, those of learned gates as they are now.

        Parameters
        ----------
        inputs : float array, shape (n, d)

        Returns
        -------
        tuple of int arrays, shapes (n, H)
            -1 where a unit is off; 0 in layers without gates.

        Raises
        ------
        InputError
            As `predict`.
        """
        require_inputs(inputs, self.dimension)
        told = self.contexts(inputs)
        if not any(isinstance(each, LearnedGates) for each in self.gates):
            found = told
        else:
            dtype = self.weights[0].dtype
            with jax.enable_x64(dtype == np.float64):
                layers = _before_gates(self, jnp.asarray(inputs, dtype), told)
            found = tuple(
                np.where(np.asarray(sums) >= 0, 0, -1) if isinstance(kind, LearnedGates) else each
                for sums, kind, each in zip(layers, self.gates, told, strict=True)
            )
        return tuple(
            np.zeros((len(inputs), weight.shape[0]), dtype=int) if each is None else each
            for each, weight in zip(found, self.weights, strict=True)
        )

    def with_frozen_gates(self) -> GatedNetwork:
        """Return the same network with learned gates frozen as they are now.

        Returns
        -------
        GatedNetwork
            It answers alike, and its gates stay when its weights move.

        Raises
        ------
        InputError
            For learned gates above the first layer, which don't see the input itself.

        Notes
        -----
        A ReLU network that is stationary away from its gates' edges is so with gates frozen too
        (Lippl, Abbott & Chung, 2022). Trained to the end, some tenth of its units' sums end on an
        edge, where the two differ (the study `gated.margins`; derived here).
        """
        above = [place for place, each in enumerate(self.gates) if isinstance(each, LearnedGates)]
        require(
            all(place == 0 for place in above),
            "learned gates are frozen in the first layer",
            f"some in layer {max(above, default=0) + 1}",
            "freeze a network with one hidden layer of them",
        )
        frozen = tuple(
            ReLUGates(np.asarray(weight, dtype=float)[:, 0])
            if isinstance(each, LearnedGates)
            else each
            for weight, each in zip(self.weights, self.gates, strict=True)
        )
        return GatedNetwork(self.weights, frozen, self.bias, self.parallel)


@door
def flipped_gates(
    before: GatedNetwork, after: GatedNetwork, inputs: Float[np.ndarray, "n d"]
) -> tuple[float, ...]:
    """Return the share of gates that changed for inputs, layer by layer.

    Parameters
    ----------
    before, after : GatedNetwork
        Of the same shape: at the start and the end of training, say.
    inputs : float array, shape (n, d)

    Returns
    -------
    tuple of float
        A layer each; 0 where gates are frozen, or there are none.

    Raises
    ------
    InputError
        For networks of different shapes, and inputs that are none or not the networks' own.

    Examples
    --------
    >>> one, other = (GatedNetwork.draw(3, [LearnedGates(8), 1], seed=seed) for seed in (0, 1))
    >>> flipped_gates(one, one, np.eye(3)), flipped_gates(one, other, np.eye(3))[0] > 0
    ((0.0, 0.0), True)
    """
    shapes = [tuple(each.shape for each in network.weights) for network in (before, after)]
    require(
        shapes[0] == shapes[1],
        "gates are compared between networks of one shape",
        f"layers {shapes[0]} and {shapes[1]}",
        "pass a network and what it became",
    )
    return tuple(
        float(np.mean(old != new))
        for old, new in zip(before.open_gates(inputs), after.open_gates(inputs), strict=True)
    )


def require_inputs(inputs: Float[np.ndarray, "n d"], dimension: int, name: str = "inputs") -> None:
    """Require inputs of the network's dimension."""
    require(
        inputs.shape[1] == dimension,
        f"{name} are points in the network's {dimension} dimensions",
        f"shape {inputs.shape}",
        "pass one row for each; a constant coordinate is one of them",
    )


@eqx.filter_jit
def _before_gates(
    network: GatedNetwork, inputs: Array, contexts: Sequence[Any]
) -> tuple[Array, ...]:
    """Return each layer's sums before learned gates close; those of other layers are not used."""
    after = (inputs, *each_layer(network, inputs, contexts))
    return tuple(
        z * w[None, :, 0, 0] if w.shape[-1] != z.shape[-1] else z @ w[:, 0].T
        for z, w in zip(after, network.weights, strict=False)
    )


def _units(layer: Any) -> int:
    return layer if isinstance(layer, int) else layer.n_units


def _checked(layer: Any, dimension: int) -> Any:
    """Return a layer's gates, or None."""
    if isinstance(layer, int):
        whole("units of a layer", layer, 1, "pass 1 for a readout")
        return None
    if isinstance(layer, Gates):
        layer.contexts(np.zeros((0, dimension)))  # refuses inputs of another dimension
    return layer
