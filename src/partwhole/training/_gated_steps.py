"""Steps of gated networks on two classes: stochastic descent, and the loss-normalised flow."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from partwhole.networks import GatedNetwork

Loss = Literal["logistic", "exponential"]
# A step must bring this share of what the slope at its start promises.
PROMISED = 0.25
LONGER, SHORTER = 1.1, 0.5


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

    A step is taken where it lowers the logarithm of the loss by a quarter of what its slope
    promises, and made shorter otherwise.
    """

    def height(weights: tuple[Array, ...]) -> Array:
        return -jax.nn.logsumexp(
            log_loss(margins(with_trained(network, (weights, None)), data), loss)
        )

    climb = jax.value_and_grad(height)

    def step(_: Array, carry: tuple) -> tuple:
        (weights, length, time), high, slope = carry
        aim = jax.tree.map(lambda w, g: w + length * g, weights, slope)
        there, onward = climb(aim)
        promise = length * sum(jnp.sum(g * g) for g in slope)
        good = there >= high + PROMISED * promise

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
