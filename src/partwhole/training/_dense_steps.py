"""Steps of gradient descent on one dense network, many in a call.

Weights lie here as (in, out) and samples as rows, so that what is long is contiguous: with 18
inputs, 17 samples and 1,000 hidden units a step takes 23 microseconds, with weights as (out, in)
58. A call goes on until a step that is to be recorded, or until the loss is no larger than the
threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from partwhole.networks import MLP
from partwhole.training.losses import LOSSES

# Divergence, in units of the larger of the first loss and the scale of the targets.
DIVERGED = 100.0


class Layers(NamedTuple):
    """Hold weights and biases of each layer, if there are any; or something for each of them."""

    weights: tuple[Any, ...]
    biases: tuple[Any, ...]

    @classmethod
    def of(cls, network: MLP) -> Layers:
        """Return a network's layers, weights as (in, out)."""
        # Turned by NumPy: JAX would compile that for each shape.
        weights = tuple(jnp.array(np.asarray(w).T) for w in network.weights)
        return Layers(weights, network.biases or ())

    def network(self, like: MLP) -> MLP:
        """Return the network whose layers these are."""
        weights = tuple(jnp.array(np.asarray(w).T) for w in self.weights)
        return MLP(weights, self.biases or None, like.nonlinearity)


class Settings(NamedTuple):
    """Hold the numbers of one run; one call is compiled for all."""

    rate: float
    decay: float
    threshold: float
    scale: float  # of the loss, for divergence
    shares: Layers  # of the rate


class State(NamedTuple):
    """Hold a network, what the optimizer remembers, and the loss there with its slopes."""

    layers: Layers
    optimizer: Any
    step: Int[Array, ""]
    loss: Float[Array, ""]
    slopes: Layers


class Trace(NamedTuple):
    """Hold a run: its records, and its network and step at the end."""

    losses: Float[np.ndarray, " T"]
    answers: Float[np.ndarray, "T m k"] | None
    network: MLP
    step: int
    diverged: bool


def rule(optimizer: str, momentum: float) -> optax.GradientTransformation:
    """Return what an optimizer makes of slopes before the learning rate."""
    if optimizer == "adam":
        return optax.scale_by_adam()
    return optax.trace(momentum) if momentum else optax.identity()


def descend(
    network: MLP,
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "n k"],
    settings: Settings,
    stops: Int[np.ndarray, " T"],
    *,
    loss: str,
    optimizer: str,
    momentum: float,
    probes: Float[np.ndarray, "m d"] | None,
    told: Callable[[int, float], None],
) -> Trace:
    """Train one run, in the precision of its samples.

    `told` is called at every record, with the number of steps since the last one and the loss.
    """
    kind = {
        "loss": loss,
        "optimizer": optimizer,
        "momentum": momentum,
        "nonlinearity": network.nonlinearity,
    }
    rows, wanted = jnp.asarray(x), jnp.asarray(y)
    at = None if probes is None else jnp.asarray(probes)
    state = begin(Layers.of(network), rows, wanted, **kind)
    most = DIVERGED * max(float(state.loss), settings.scale)
    losses, answers = [], []
    for before, stop in zip([0, *stops], stops, strict=False):
        last = jnp.asarray(stop, jnp.int32)
        state = advance(state, rows, wanted, settings, most, last, **kind)
        losses.append(float(state.loss))
        told(int(stop - before), losses[-1])
        if at is not None:
            answers.append(np.asarray(_answers(state.layers, at, network.nonlinearity)))
    return Trace(
        np.array(losses),
        np.stack(answers) if answers else None,
        state.layers.network(network),
        int(state.step),
        not losses[-1] <= most,
    )


def _outputs(layers: Layers, x: Float[Array, "n d"], nonlinearity: str) -> Array:
    """Return what the network answers, (n, k)."""
    last = len(layers.weights) - 1
    for place, weight in enumerate(layers.weights):
        x = x @ weight
        if layers.biases:
            x = x + layers.biases[place][None]
        if nonlinearity == "relu" and place < last:
            x = jax.nn.relu(x)
    return x


_answers = jax.jit(_outputs, static_argnames="nonlinearity")


def _measured(
    layers: Layers, rows: Array, wanted: Array, loss: str, nonlinearity: str
) -> tuple[Array, Layers]:
    def of(layers: Layers) -> Array:
        return LOSSES[loss](_outputs(layers, rows, nonlinearity), wanted)

    return jax.value_and_grad(of)(layers)


STATIC = ("loss", "optimizer", "momentum", "nonlinearity")


@partial(jax.jit, static_argnames=STATIC)
def begin(
    layers: Layers, rows: Array, wanted: Array, *, loss: str, optimizer: str,
    momentum: float, nonlinearity: str,
) -> State:  # fmt: skip
    value, slopes = _measured(layers, rows, wanted, loss, nonlinearity)
    made: Any = rule(optimizer, momentum)
    return State(layers, made.init(layers), jnp.zeros((), jnp.int32), value, slopes)


@partial(jax.jit, static_argnames=STATIC, donate_argnames="state")
def advance(
    state: State, rows: Array, wanted: Array, settings: Settings,
    most: Float[Array, ""] | float, stop: Int[Array, ""], *, loss: str, optimizer: str,
    momentum: float, nonlinearity: str,
) -> State:  # fmt: skip
    """Go on to a step, unless the loss is small enough before, or out of hand."""
    made: Any = rule(optimizer, momentum)
    kind = state.loss.dtype

    def going(now: State) -> Array:
        inside = (now.loss > settings.threshold) & (now.loss <= most)
        return (now.step < stop) & inside

    def body(now: State) -> State:
        pull = jnp.asarray(2.0 * settings.decay, kind)
        slopes = jax.tree.map(lambda g, w: g + pull * w, now.slopes, now.layers)
        with jax.numpy_dtype_promotion("standard"):  # which optimizers count on
            moves, after = made.update(slopes, now.optimizer, now.layers)
        layers = jax.tree.map(
            lambda w, m, s: w - jnp.asarray(settings.rate * s, kind) * m,
            now.layers, moves, settings.shares,
        )  # fmt: skip
        value, slopes = _measured(layers, rows, wanted, loss, nonlinearity)
        return State(layers, after, now.step + 1, value, slopes)

    return jax.lax.while_loop(going, body, state)
