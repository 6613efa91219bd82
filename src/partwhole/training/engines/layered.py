"""Networks of any family, by automatic differentiation: many steps of one network in a call.

Weights of an MLP lie here as (in, out) and samples as rows, so that what is long is contiguous:
with 18 inputs, 17 samples and 1,000 hidden units a step takes 23 microseconds, with weights as
(out, in) 58. A call goes on until a step that is to be recorded, or until the loss is no larger
than the threshold.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from partwhole.networks import MLP, Network
from partwhole.networks.network import answers as answers_of
from partwhole.training.engines.diagonal import orders
from partwhole.training.losses import LOSSES
from partwhole.training.problem import Problem
from partwhole.training.results import Trace
from partwhole.training.training import Loss, Training

# Divergence, in units of the larger of the first loss and the scale of the targets.
DIVERGED = 100.0


class Layers(NamedTuple):
    """Weights and biases of each layer, if there are any; or something for each of them."""

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
    """The numbers of one run; one call is compiled for all."""

    rate: float
    decay: float
    threshold: float
    scale: float  # of the loss, for divergence
    shares: Any  # of the rate


class State(NamedTuple):
    """A network, what the optimiser remembers, and the loss there with its slopes."""

    layers: Any
    optimiser: Any
    step: Int[Array, ""]
    loss: Float[Array, ""]
    slopes: Any


class Held(NamedTuple):
    """What a run is trained on: rows and what is wanted of them, contexts and fixed arrays."""

    rows: Array
    wanted: Array
    contexts: Any = ()
    rest: Any = None


class Kind(NamedTuple):
    """What steps are compiled for."""

    loss: Loss
    optimiser: str | optax.GradientTransformation
    momentum: float
    nonlinearity: str | None  # of an MLP; None for any other network


def rule(
    optimiser: str | optax.GradientTransformation, momentum: float
) -> optax.GradientTransformation:
    """Return what an optimiser makes of slopes before the learning rate."""
    if not isinstance(optimiser, str):
        return optimiser
    if optimiser == "adam":
        return optax.scale_by_adam()
    return optax.trace(momentum) if momentum else optax.identity()


def engine(problem: Problem) -> Any:
    """Return what trains one run of networks of any family, by automatic differentiation."""
    training, dtype = problem.training, problem.training.dtype
    stops, seeds = problem.stops, problem.seeds
    named = isinstance(training.optimiser, str)

    def one(run: int, rate: float, report_step: Any) -> Trace:
        x, y = problem.tasks[0].of(run)
        scale = float(np.mean(np.sum(y**2, axis=1))) if training.loss == "squared" else 1.0
        with jax.enable_x64(dtype == np.float64):
            network = in_precision(problem.network(run), dtype)
            kind = kind_of(network, training)
            layers, held = begun(network, x.astype(dtype), y.astype(dtype), kind)
            # A transformation of optax has the rate and the sign of its moves in itself.
            settings = Settings(
                rate if named else -1.0, float(training.weight_decay),
                float(training.threshold), scale,
                rate_shares(network, layers, training.parametrisation),
            )  # fmt: skip
            batches = None
            if training.batch is not None:
                steps = problem.steps
                batch = min(training.batch, problem.count)
                rows, parts = orders(batch, seeds[run], problem.count, steps)
                batches = jnp.asarray(rows), jnp.asarray(parts, dtype)
            return _descend(problem, run, network, layers, held, settings, stops, kind, batches,
                            report_step)  # fmt: skip

    return one


def kind_of(network: Network, training: Training) -> Kind:
    """Return what steps of a network are compiled for."""
    nonlinearity = network.nonlinearity if isinstance(network, MLP) else None
    return Kind(training.loss, training.optimiser, float(training.momentum), nonlinearity)


def begun(
    network: Network, x: Float[np.ndarray, "n *shape"], y: Float[np.ndarray, "n k"], kind: Kind
) -> tuple[Any, Held]:
    """Return what is trained of a network, laid out for steps, and what it is trained on."""
    rows, wanted = jnp.asarray(x), jnp.asarray(y)
    if isinstance(network, MLP):
        return Layers.of(network), Held(rows, wanted)
    kept, rest = network.partition()
    contexts = network.contexts(np.asarray(x, dtype=float))
    # Steps give the memory of what they are given away.
    copy = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), kept)
    return copy, Held(rows, wanted, jax.tree.map(jnp.asarray, contexts), rest)


def _descend(
    problem: Problem, run: int, network: Network, layers: Any, held: Held, settings: Settings,
    stops: Int[np.ndarray, " T"], kind: Kind, batches: tuple[Array, Array] | None, report_step: Any,
) -> Trace:  # fmt: skip
    """Train one run; `report_step` takes the steps since the last record, and the loss."""
    state = begin(layers, held, kind=kind)
    most = DIVERGED * max(float(state.loss), settings.scale)
    probes, test = (_at(network, each, held) for each in (problem.probes, problem.tested(run)))
    losses, answers, tested = [], [], []
    for before, stop in zip([0, *stops], stops, strict=False):
        last = jnp.asarray(stop, jnp.int32)
        if batches is None:
            state = advance(state, held, settings, most, last, kind=kind)
        elif state_goes(state, settings, most):
            state = advance_in_batches(state, held, settings, *batches, last, kind=kind)
        losses.append(float(state.loss))
        report_step(int(stop - before), losses[-1])
        if probes is not None:
            answers.append(np.asarray(_answers(state.layers, probes, kind.nonlinearity)))
        if test is not None:
            tested.append([float(_measured(state.layers, test, kind)[0])])
    return Trace(
        np.array(losses)[:, None],
        _network(state.layers, network, held),
        int(state.step),
        not losses[-1] <= most,
        np.array(tested) if tested else None,
        np.stack(answers) if answers else None,
    )


def state_goes(state: State, settings: Settings, most: float) -> bool:
    """Return whether a loss at a record lets training go on."""
    kind = np.dtype(state.loss.dtype).type
    return bool(kind(state.loss) > kind(settings.threshold)) and float(state.loss) <= most


def in_precision(network: Network, dtype: np.dtype) -> Network:
    """Return a network with its parameters in a precision, as arrays of its own."""
    if isinstance(network, MLP):
        return jax.tree.map(lambda w: jnp.array(np.asarray(w), dtype), network)
    kept, rest = network.partition()
    moved = jax.tree.map(lambda w: jnp.array(np.asarray(w), dtype), kept)
    return eqx.combine(moved, rest)


def _network(layers: Any, like: Network, held: Held) -> Network:
    return layers.network(like) if isinstance(like, MLP) else eqx.combine(layers, held.rest)


def _at(network: Network, given: Any, held: Held) -> Held | None:
    """Return inputs, or a pair of inputs and targets, in the form of what is trained on."""
    if given is None:
        return None
    x, y = given if isinstance(given, tuple) else (given, np.zeros((len(given), 1)))
    dtype = held.rows.dtype
    contexts = jax.tree.map(jnp.asarray, network.contexts(np.asarray(x, dtype=float)))
    return Held(jnp.asarray(x, dtype), jnp.asarray(y, dtype), contexts, held.rest)


def rate_shares(network: Network, layers: Any, parametrisation: str) -> Any:
    """Return the share of the learning rate that each array of parameters has."""
    if parametrisation == "standard" or not isinstance(network, MLP):
        return jax.tree.map(lambda _: 1.0, layers)
    fan_in = [weight.shape[-1] for weight in network.weights]
    return Layers(
        tuple(2.0 / n for n in fan_in),
        tuple(1.0 / (3.0 * n) for n in fan_in) if network.biases else (),
    )


def _outputs(layers: Any, held: Held, nonlinearity: str | None) -> Array:
    """Return what the network answers, (n, k)."""
    if nonlinearity is None:
        return answers_of(eqx.combine(layers, held.rest), held.rows, held.contexts)
    x, last = held.rows, len(layers.weights) - 1
    for place, weight in enumerate(layers.weights):
        x = x @ weight
        if layers.biases:
            x = x + layers.biases[place][None]
        if nonlinearity == "relu" and place < last:
            x = jax.nn.relu(x)
    return x


_answers = jax.jit(_outputs, static_argnames="nonlinearity")


def _slopes(layers: Any, held: Held, kind: Kind) -> tuple[Array, Any]:
    def of(layers: Any) -> Array:
        return LOSSES[kind.loss](_outputs(layers, held, kind.nonlinearity), held.wanted)

    return jax.value_and_grad(of)(layers)


@partial(jax.jit, static_argnames="kind")
def _measured(layers: Any, held: Held, kind: Kind) -> tuple[Array, Any]:
    return LOSSES[kind.loss](_outputs(layers, held, kind.nonlinearity), held.wanted), ()


@partial(jax.jit, static_argnames="kind")
def begin(layers: Any, held: Held, *, kind: Kind) -> State:
    value, slopes = _slopes(layers, held, kind)
    made: Any = rule(kind.optimiser, kind.momentum)
    return State(layers, made.init(layers), jnp.zeros((), jnp.int32), value, slopes)


def _moved(now: State, slopes: Any, settings: Settings, kind: Kind) -> tuple[Any, Any]:
    """Return the network after a step, and what the optimiser remembers of it."""
    made: Any = rule(kind.optimiser, kind.momentum)
    dtype = now.loss.dtype
    pull = jnp.asarray(2.0 * settings.decay, dtype)
    slopes = jax.tree.map(lambda g, w: g + pull * w, slopes, now.layers)
    with jax.numpy_dtype_promotion("standard"):  # which optimisers count on
        moves, after = made.update(slopes, now.optimiser, now.layers)
    layers = jax.tree.map(
        lambda w, m, s: w - jnp.asarray(settings.rate * s, dtype) * m,
        now.layers, moves, settings.shares,
    )  # fmt: skip
    return layers, after


@partial(jax.jit, static_argnames="kind", donate_argnames="state")
def advance(
    state: State, held: Held, settings: Settings, most: Float[Array, ""] | float,
    stop: Int[Array, ""], *, kind: Kind,
) -> State:  # fmt: skip
    """Go on to a step, unless the loss is small enough before, or out of hand."""

    def going(now: State) -> Array:
        inside = (now.loss > settings.threshold) & (now.loss <= most)
        return (now.step < stop) & inside

    def body(now: State) -> State:
        layers, after = _moved(now, now.slopes, settings, kind)
        value, slopes = _slopes(layers, held, kind)
        return State(layers, after, now.step + 1, value, slopes)

    return jax.lax.while_loop(going, body, state)


@partial(jax.jit, static_argnames="kind", donate_argnames="state")
def advance_in_batches(
    state: State, held: Held, settings: Settings, order: Int[Array, "B b"],
    parts: Float[Array, "B b"], stop: Int[Array, ""], *, kind: Kind,
) -> State:  # fmt: skip
    """Go on to a step, each on a batch whose rows weigh so much; then read the loss of all rows."""

    def body(at: Array, now: State) -> State:
        rows, part = order[at % len(order)], parts[at % len(order)]
        contexts = jax.tree.map(lambda each: each[rows], held.contexts)
        taken = Held(held.rows[rows], held.wanted[rows], contexts, held.rest)

        def mean(layers: Any) -> Array:
            outputs = _outputs(layers, taken, kind.nonlinearity)
            one_by_one = jax.vmap(LOSSES[kind.loss])(outputs[:, None], taken.wanted[:, None])
            return part @ one_by_one

        layers, after = _moved(now, jax.grad(mean)(now.layers), settings, kind)
        return State(layers, after, now.step + 1, now.loss, now.slopes)

    now = jax.lax.fori_loop(state.step, stop, body, state)
    value, slopes = _slopes(now.layers, held, kind)
    return State(now.layers, now.optimiser, now.step, value, slopes)
