"""Steps of gated networks on two classes: stochastic descent, and the loss-normalised flow."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole.networks import GatedNetwork, LearnedGates

Loss = Literal["logistic", "exponential"]
# A step must bring this share of what the slope at its start promises. With less than half of it
# the inputs that hold the margin may leap over each other ever further; but where gates are
# learned slopes jump, and a step over an edge brings less however short it is.
PROMISED, PROMISED_LEARNED = 0.75, 0.25
LONGER, SHORTER = 1.1, 0.5
WIDEST = 0.1  # of the weights, that a step may change: longer ones leave the flow's path
# Height of the flow beyond which it need not go: inputs that all pull one way would let steps grow
# without end, and rounding of such margins comes near what tells them apart.
FARTHEST = 1e12


class Data(NamedTuple):
    """Hold the training set, with the contexts that frozen gates give it."""

    inputs: Float[Array, "n d"]
    labels: Float[Array, " n"]
    contexts: tuple[Any, ...]


class Descent(NamedTuple):
    """Hold the settings of descent: the rate falls once, at a step."""

    rate: Array
    late_rate: Array
    late: Array
    momentum: Array


class FlowState(NamedTuple):
    """Hold where the flow is: weights, the next step's length, and time."""

    weights: tuple[Array, ...]
    length: Array
    time: Array


def margins(network: GatedNetwork, data: Data) -> Float[Array, " n"]:
    """Return each input's output in its label's direction."""
    return data.labels * network(data.inputs, data.contexts)


def log_loss(margin: Float[Array, " n"], loss: Loss) -> Float[Array, " n"]:
    """Return the logarithm of each input's loss, also where that is too small for a number."""
    if loss == "exponential":
        return -margin
    soft = jax.nn.softplus(-margin)
    # Beyond this margin softplus is its exponential, to rounding.
    far = margin > 30.0
    return jnp.where(far, -margin, jnp.log(jnp.where(far, 1.0, soft)))


def height(margin: Float[Array, " n"], loss: Loss) -> Array:
    """Return minus the logarithm of the mean loss, up to a constant: 0 where all margins are.

    Exact to rounding of the margins also where these are tiny, and the loss next to constant.
    """
    rise = -margin
    if loss == "logistic":
        small = jnp.abs(margin) < 1.0
        near = jnp.where(small, margin, 0.0)
        exact = jnp.log1p(jnp.log1p(0.5 * jnp.expm1(-near)) / np.log(2.0))
        rise = jnp.where(small, exact, log_loss(margin, loss) - np.log(np.log(2.0)))
    top = jax.lax.stop_gradient(rise.max())
    return -top - jnp.log1p(jnp.expm1(rise - top).mean())


@eqx.filter_jit
def read(network: GatedNetwork, data: Data, loss: Loss) -> tuple[Array, Array, Array]:
    """Return the log of the mean loss, the least margin, and the error, ties half."""
    found = margins(network, data)
    told = jax.nn.logsumexp(log_loss(found, loss)) - jnp.log(len(data.labels))
    return told, found.min(), 0.5 * (1.0 - jnp.sign(found)).mean()


Trained = tuple[tuple[Array, ...], Array | None]


def trained(network: GatedNetwork) -> Trained:
    """Return what training moves: weights and bias."""
    return network.weights, network.bias


def with_trained(network: GatedNetwork, moved: Trained) -> GatedNetwork:
    """Return the network with other weights and bias, its gates as they were."""
    return GatedNetwork(moved[0], network.gates, moved[1], network.parallel)


def at_rest(network: GatedNetwork) -> Any:
    """Return the momentum to begin with."""
    return jax.tree.map(jnp.zeros_like, trained(network))


@eqx.filter_jit
def descend(
    network: GatedNetwork,
    now: Trained,
    speed: Trained,
    data: Data,
    rows: Int[Array, "B b"],
    parts: Float[Array, "B b"],
    settings: Descent,
    begin: Array,
    end: Array,
    loss: Loss,
) -> tuple[Trained, Trained]:
    """Take the steps from begin to end, each on a batch whose rows weigh so much."""

    def mean(moved: Trained, at: Array) -> Array:
        taken = jax.tree.map(lambda each: each[rows[at % len(rows)]], data)
        margin = margins(with_trained(network, moved), taken)
        each = jnp.exp(-margin) if loss == "exponential" else jax.nn.softplus(-margin)
        return parts[at % len(rows)] @ each

    def step(at: Array, carry: tuple[Trained, Trained]) -> tuple[Trained, Trained]:
        moved, speed = carry
        slope = jax.grad(mean)(moved, at)
        rate = jnp.where(at < settings.late, settings.rate, settings.late_rate)
        speed = jax.tree.map(lambda v, g: settings.momentum * v + g, speed, slope)
        return jax.tree.map(lambda w, v: w - rate * v, moved, speed), speed

    return jax.lax.fori_loop(begin, end, step, (now, speed))


@eqx.filter_jit
def flow(
    network: GatedNetwork, data: Data, state: FlowState, steps: Array, loss: Loss
) -> FlowState:
    r"""Follow :math:`\dot\theta = -\nabla \log \sum_i \ell_i` by steps that are as long as pays.

    A step is taken where it lowers the logarithm of the loss by three quarters of what its slope
    promises, or a quarter with learned gates, and made shorter otherwise. With several layers it
    changes weights by at most a tenth: where nothing bends none would be too long for the loss,
    and what layers conserve would be lost.
    """

    def reached(weights: tuple[Array, ...]) -> Array:
        return height(margins(with_trained(network, (weights, None)), data), loss)

    climb = jax.value_and_grad(reached)

    learned = any(isinstance(each, LearnedGates) for each in network.gates)
    share = PROMISED_LEARNED if learned else PROMISED

    def step(_: Array, carry: tuple) -> tuple:
        (weights, length, time), high, slope = carry
        steep = sum(jnp.sum(g * g) for g in slope)
        if network.n_layers > 1:
            size = sum(jnp.sum(w * w) for w in weights)
            widest = WIDEST * jnp.sqrt(size / jnp.where(steep > 0.0, steep, 1.0))
            length = jnp.minimum(length, widest)
        aim = jax.tree.map(lambda w, g: w + length * g, weights, slope)
        there, onward = climb(aim)
        promise = length * steep
        good = (promise > 0.0) & (there >= high + share * promise) & (there < FARTHEST)

        def pick(new: Any, old: Any) -> Any:
            return jax.tree.map(lambda one, other: jnp.where(good, one, other), new, old)

        after = FlowState(
            pick(aim, weights),
            length * jnp.where(good, LONGER, SHORTER),
            time + jnp.where(good, length, 0.0),
        )
        return after, jnp.where(good, there, high), pick(onward, slope)

    high, slope = climb(state.weights)
    return jax.lax.fori_loop(0, steps, step, (state, high, slope))[0]
