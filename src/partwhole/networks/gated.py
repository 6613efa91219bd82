"""Networks with gated units, in any layer: the context of an input selects the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole._checks import require
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Count, Positive, Seed
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
    """Gates of ReLU units, open where the unit's sum is at least 0; they change in training.

    Parameters
    ----------
    n_units : int
        H.

    Raises
    ------
    InputError
        For no units.

    Examples
    --------
    An input closes gates (-1) that its opposite opens (0):

    >>> network = GatedNetwork.draw(2, [LearnedGates(3), 1], seed=0)  # a ReLU network
    >>> contexts, _ = network.open_gates(np.array([[1.0, 2.0], [-1.0, -2.0]]))
    >>> contexts.tolist()
    [[-1, 0, 0], [0, -1, -1]]
    """

    n_units: Count = eqx.field(static=True)


@door
class GatedNetwork(eqx.Module):
    r"""Network whose units have weights for each context of an input.

    .. math:: z_{l,i} = \langle w_{l, i, c_{l,i}(x)},\ z_{l-1} \rangle, \qquad z_0 = x, \qquad
              f(x) = \sum_i z_{L,i},

    and 0 where a unit is off. Without a bias f is homogeneous in all weights, of degree L, the
    number of layers.

    Parameters
    ----------
    weights : tuple of float arrays, shapes (out, C, in)
        One for each layer; C is 1 without gates.
    gates : tuple of Gates, LearnedGates or None
        One for each layer: frozen, learned, or none. Frozen gates depend on the input itself.
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
        dimension: Count,
        layers: Sequence[Gates | LearnedGates | Count],
        *,
        seed: Seed,
        initial: Literal["orthogonal", "normal", "he"] = "orthogonal",
        scale: Positive = 1.0,
        bias: bool = False,
        parallel: bool = False,
    ) -> GatedNetwork:
        r"""Draw a network.

        Parameters
        ----------
        dimension : int
            d.
        layers : sequence of Gates, LearnedGates or int
            From the first to the last: the gates of a layer, or the number of units of a linear
            layer. ``[gates, 1]`` is a gated layer with a linear readout, ``[8, gates]``
            a gated readout on a linear layer, ``[LearnedGates(50), 1]`` a ReLU network,
            ``[gates]`` the sum of one layer of gated units.
        seed : int, keyword-only
        initial : {"orthogonal", "normal", "he"}, keyword-only, default "orthogonal"
            "orthogonal" draws the H C weight vectors of a layer orthonormal, as far as possible;
            "normal" from :math:`N(0, \text{scale}^2)`; "he" from
            :math:`N(0, 2\, \text{scale}^2 / n)` for n inputs.
        scale : float, keyword-only, default 1
        bias : bool, keyword-only, default False
            Whether the output has one, initially 0. The published gated networks have one, so that
            they are not homogeneous.
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
        gates = tuple(_checked(layer, dimension) for layer in layers)
        units = [_units(layer) for layer in layers]
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
            weights.append(on_device(drawn.reshape(count, contexts, inputs), np.float32))
            fan_in = count
        return cls(tuple(weights), gates, jnp.zeros((), jnp.float32) if bias else None, parallel)

    @property
    def n_layers(self) -> int:
        """Return L, the degree of homogeneity in the weights."""
        return len(self.weights)

    @property
    def dimension(self) -> int:
        """Return d."""
        return self.weights[0].shape[-1]

    @property
    def squared_norm(self) -> float:
        """Return the sum of all squared weights, without the bias."""
        return float(sum(np.sum(np.asarray(weight, dtype=float) ** 2) for weight in self.weights))

    @door(empty=("inputs",))
    def contexts(
        self, inputs: Float[np.ndarray, "n d"]
    ) -> tuple[Int[np.ndarray, "n _"] | None, ...]:
        """Return the contexts of inputs in the frozen gates of every layer, in double precision.

        Parameters
        ----------
        inputs : float array, shape (n, d)

        Returns
        -------
        tuple of int arrays, shapes (n, H), or None
            None for layers with learned gates or without gates.

        Raises
        ------
        InputError
            For inputs of another dimension, or that are not finite.
        """
        require_inputs(inputs, self.dimension)
        return tuple(
            None if gates is None or isinstance(gates, LearnedGates) else gates.contexts(inputs)
            for gates in self.gates
        )

    @property
    def n_outputs(self) -> int:
        """Return 1: the only output is the sum of the last layer."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        """Return "layer 1", ... and "output", the name of the last layer if it has one unit."""
        hidden = self.n_layers - (self.weights[-1].shape[-3] == 1)
        return (*(f"layer {place + 1}" for place in range(hidden)), "output")

    @property
    def shape(self) -> tuple[int]:
        """Return the shape of one input, (d,)."""
        return (self.dimension,)

    def layer(
        self, place: int, x: Float[Array, "n _"], contexts: Sequence[Any], /
    ) -> Float[Array, "n _"]:
        """Return the outputs of one layer; after the last layer, its sum.

        Parameters
        ----------
        place : int
        x : float array, shape (n, H)
            Outputs of the layer before; inputs for the first.
        contexts : sequence of int arrays, shapes (n, H), or None
            From `contexts`; gates depend on inputs only, so that training computes them once.

        Returns
        -------
        float array, shape (n, H)
            The bias is added to the first unit of the last layer.
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
            codes = jnp.asarray(contexts[place], jnp.int32)
            active = codes[:, :, None] == jnp.arange(n_contexts, dtype=jnp.int32)[None, None]
            x = jnp.where(active, sums, 0.0).sum(axis=2)
        return x if self.bias is None or place < last else x.at[:, 0].add(self.bias)

    def partition(self) -> tuple[GatedNetwork, GatedNetwork]:
        """Return the weights and bias, which training changes, and the gates."""
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
        """Return the contexts of all layers, with the current state of learned gates.

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
        frozen = self.contexts(inputs)
        if not any(isinstance(gates, LearnedGates) for gates in self.gates):
            contexts = frozen
        else:
            dtype = self.weights[0].dtype
            with jax.enable_x64(dtype == np.float64):
                layers = _before_gates(self, jnp.asarray(inputs, dtype), frozen)
            contexts = tuple(
                np.where(np.asarray(sums) >= 0, 0, -1) if isinstance(kind, LearnedGates) else codes
                for sums, kind, codes in zip(layers, self.gates, frozen, strict=True)
            )
        return tuple(
            np.zeros((len(inputs), weight.shape[0]), dtype=int) if codes is None else codes
            for codes, weight in zip(contexts, self.weights, strict=True)
        )

    def with_frozen_gates(self) -> GatedNetwork:
        """Return the same network with learned gates frozen in their current state.

        Returns
        -------
        GatedNetwork
            It has the same outputs, and its gates don't change with its weights.

        Raises
        ------
        InputError
            For learned gates above the first layer, which don't depend on the input alone.

        Notes
        -----
        A ReLU network that is stationary away from its gates' edges is stationary with frozen gates
        too (Lippl, Abbott & Chung, 2022). At the end of training about a tenth of its units' sums
        lie on an edge, where the two differ (the study `gated.margins`; derived here).
        """
        above = [place for place, gates in enumerate(self.gates) if isinstance(gates, LearnedGates)]
        require(
            all(place == 0 for place in above),
            "learned gates are frozen in the first layer",
            f"some in layer {max(above, default=0) + 1}",
            "freeze a network with one hidden layer of them",
        )
        frozen = tuple(
            ReLUGates(np.asarray(weight, dtype=float)[:, 0])
            if isinstance(gates, LearnedGates)
            else gates
            for weight, gates in zip(self.weights, self.gates, strict=True)
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
        One for each layer; 0 for frozen gates and without gates.

    Raises
    ------
    InputError
        For networks of different shapes, no inputs, and inputs of another dimension.

    Examples
    --------
    >>> one, other = (GatedNetwork.draw(3, [LearnedGates(8), 1], seed=seed) for seed in (0, 1))
    >>> flipped_gates(one, one, np.eye(3)), flipped_gates(one, other, np.eye(3))[0] > 0
    ((0.0, 0.0), True)
    """
    shapes = [tuple(weight.shape for weight in network.weights) for network in (before, after)]
    require(
        shapes[0] == shapes[1],
        "gates are compared between networks of one shape",
        f"layers {shapes[0]} and {shapes[1]}",
        "pass a network and what it became",
    )
    return tuple(
        float(np.mean(first != second))
        for first, second in zip(before.open_gates(inputs), after.open_gates(inputs), strict=True)
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
    """Return the sums that learned gates depend on; those of other layers are not used."""
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
        return None
    if isinstance(layer, Gates):
        layer.contexts(np.zeros((0, dimension)))  # refuses inputs of another dimension
    return layer
