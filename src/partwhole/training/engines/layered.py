"""Networks of any family, by automatic differentiation: many steps of one network in a call.

Weights of an MLP have shape (in, out) here and samples are rows, so that the long axis is
contiguous: with 18 inputs, 17 samples and 1,000 hidden units a step takes 23 microseconds, with
weights of shape (out, in) 58. A call ends at the next step to record, or when the loss is no larger
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

from partwhole._device import on_device
from partwhole.networks import MLP
from partwhole.networks.network import Network
from partwhole.networks.network import answers as answers_of
from partwhole.training.following import Report
from partwhole.training.losses import LOSSES
from partwhole.training.problem import Problem
from partwhole.training.results import Trace
from partwhole.training.training import Loss, Training

# Divergence, in units of the larger of the first loss and the scale of the targets.
DIVERGED = 100.0


class Layers(NamedTuple):
    """Weights and biases (if any) of each layer, or a value for each of these arrays."""

    weights: tuple[Any, ...]
    biases: tuple[Any, ...]

    @classmethod
    def of(cls, network: MLP) -> Layers:
        """Return a network's layers, weights as (in, out)."""
        # Transposed by NumPy: JAX would compile the transpose for each shape.
        weights = tuple(on_device(np.asarray(w).T) for w in network.weights)
        return Layers(weights, network.biases or ())

    def network(self, like: MLP) -> MLP:
        """Return the network with these layers."""
        weights = tuple(on_device(np.asarray(w).T) for w in self.weights)
        return MLP(weights, self.biases or None, like.nonlinearity)


class Settings(NamedTuple):
    """Numbers of one run, traced so that one compiled call serves all runs."""

    rate: float
    decay: float
    threshold: float
    scale: float  # of the loss, for divergence
    shares: Any  # of the rate


class State(NamedTuple):
    """A network, the state of the optimiser, and the loss with its slopes."""

    layers: Any
    optimiser: Any
    step: Int[Array, ""]
    loss: Float[Array, ""]
    slopes: Any


class Held(NamedTuple):
    """Data of a run: inputs and their targets, contexts, and arrays that training leaves fixed."""

    rows: Array
    wanted: Array
    contexts: Any = ()
    rest: Any = None


class Kind(NamedTuple):
    """Static settings, for which steps are compiled."""

    loss: Loss
    optimiser: str | optax.GradientTransformation
    momentum: float
    clip: float | None
    nonlinearity: str | None  # of an MLP; None for any other network


def rule(
    optimiser: str | optax.GradientTransformation, momentum: float
) -> optax.GradientTransformation:
    """Return the transformation of slopes by an optimiser, without the learning rate."""
    if not isinstance(optimiser, str):
        return optimiser
    if optimiser in ("adam", "adamw"):
        return optax.scale_by_adam()
    return optax.trace(momentum) if momentum else optax.identity()


def engine(problem: Problem) -> Any:
    """Return a function that trains one run of any network by automatic differentiation."""
    training, dtype = problem.training, problem.training.dtype
    stops = problem.stops
    by_name = isinstance(training.optimiser, str)

    def train_run(run: int, rate: float, report: Report) -> Trace:
        x, y = problem.tasks[0].of(run)
        scale = float(np.mean(np.sum(y**2, axis=1))) if training.loss == "squared" else 1.0
        with jax.enable_x64(dtype == np.float64):
            network = in_precision(problem.network(run), dtype)
            kind = kind_of(network, training)
            layers, data = begun(network, x.astype(dtype), y.astype(dtype), kind)
            # A transformation of optax includes the rate and the sign of its updates.
            settings = Settings(
                rate if by_name else -1.0, float(training.weight_decay),
                float(training.threshold), scale,
                rate_shares(network, layers, training.parametrisation),
            )  # fmt: skip
            batches = problem.batches(run)
            if batches is not None:
                batches = on_device(batches[0]), on_device(batches[1], dtype)
            return _descend(problem, run, network, layers, data, settings, stops, kind, batches,
                            report)  # fmt: skip

    return train_run


def kind_of(network: Network, training: Training) -> Kind:
    """Return the static settings of a network's steps."""
    nonlinearity = network.nonlinearity if isinstance(network, MLP) else None
    clip = None if training.clip is None else float(training.clip)
    return Kind(training.loss, training.optimiser, float(training.momentum), clip, nonlinearity)


def begun(
    network: Network, x: Float[np.ndarray, "n *shape"], y: Float[np.ndarray, "n k"], kind: Kind
) -> tuple[Any, Held]:
    """Return the trained arrays of a network, in the layout of steps, and its data."""
    rows, targets = on_device(x), _targets(y, x.dtype, kind.loss)
    if isinstance(network, MLP):
        return Layers.of(network), Held(rows, targets)
    parameters, rest = network.partition()
    contexts = network.contexts(np.asarray(x, dtype=float))
    # Steps donate the memory of their arguments.
    copy = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), parameters)
    return copy, Held(rows, targets, jax.tree.map(on_device, contexts), rest)


def _descend(
    problem: Problem, run: int, network: Network, layers: Any, data: Held, settings: Settings,
    stops: Int[np.ndarray, " T"], kind: Kind, batches: tuple[Array, Array] | None, report: Report,
) -> Trace:  # fmt: skip
    """Train one run, and report every record."""
    state = begin(layers, data, kind=kind)
    limit = DIVERGED * max(float(state.loss), settings.scale)
    probes, test = (
        _at(network, sample, data, kind.loss) for sample in (problem.probes, problem.tested(run))
    )
    losses, answers, tested = [], [], []
    for before, stop in zip([0, *stops], stops, strict=False):
        last = jnp.asarray(stop, jnp.int32)
        if batches is None:
            state = advance(state, data, settings, limit, last, kind=kind)
        elif state_goes(state, settings, limit):
            state = advance_in_batches(state, data, settings, *batches, last, kind=kind)
        losses.append(float(state.loss))
        report(int(stop - before), losses[-1])
        if probes is not None:
            answers.append(np.asarray(_answers(state.layers, probes, kind.nonlinearity)))
        if test is not None:
            tested.append([float(_measured(state.layers, test, kind)[0])])
        report.record(state.step, losses[-1], tested=tested[-1] if tested else None)
    return Trace(
        np.array(losses)[:, None],
        _network(state.layers, network, data),
        int(state.step),
        not losses[-1] <= limit,
        np.array(tested) if tested else None,
        np.stack(answers) if answers else None,
    )


def state_goes(state: State, settings: Settings, limit: float) -> bool:
    """Return whether training continues after a record, by its loss."""
    kind = np.dtype(state.loss.dtype).type
    return bool(kind(state.loss) > kind(settings.threshold)) and float(state.loss) <= limit


def in_precision(network: Network, dtype: np.dtype) -> Network:
    """Return a network with copies of its parameters in a precision."""
    if isinstance(network, MLP):
        return jax.tree.map(lambda w: on_device(w, dtype), network)
    parameters, rest = network.partition()
    cast = jax.tree.map(lambda w: on_device(w, dtype), parameters)
    return eqx.combine(cast, rest)


def _network(layers: Any, like: Network, data: Held) -> Network:
    return layers.network(like) if isinstance(like, MLP) else eqx.combine(layers, data.rest)


def _targets(y: Float[np.ndarray, "n k"], dtype: np.dtype, loss: Loss) -> Array:
    """Return targets as numbers of a precision, or as classes."""
    return on_device(y, np.int32 if loss == "cross entropy" else dtype)


def _at(network: Network, sample: Any, training_data: Held, loss: Loss) -> Held | None:
    """Return inputs, or a pair of inputs and targets, in the form of the training data."""
    if sample is None:
        return None
    x, y = sample if isinstance(sample, tuple) else (sample, np.zeros((len(sample), 1)))
    dtype = training_data.rows.dtype
    contexts = jax.tree.map(on_device, network.contexts(np.asarray(x, dtype=float)))
    targets = _targets(y, np.dtype(dtype), loss)
    return Held(on_device(x, dtype), targets, contexts, training_data.rest)


def rate_shares(network: Network, layers: Any, parametrisation: str) -> Any:
    """Return the share of the learning rate of each array of parameters."""
    if parametrisation == "standard" or not isinstance(network, MLP):
        return jax.tree.map(lambda _: 1.0, layers)
    fan_in = [weight.shape[-1] for weight in network.weights]
    return Layers(
        tuple(2.0 / n for n in fan_in),
        tuple(1.0 / (3.0 * n) for n in fan_in) if network.biases else (),
    )


def _outputs(layers: Any, data: Held, nonlinearity: str | None) -> Array:
    """Return the outputs of the network, (n, k)."""
    if nonlinearity is None:
        return answers_of(eqx.combine(layers, data.rest), data.rows, data.contexts)
    x, last = data.rows, len(layers.weights) - 1
    for place, weight in enumerate(layers.weights):
        x = x @ weight
        if layers.biases:
            x = x + layers.biases[place][None]
        if nonlinearity == "relu" and place < last:
            x = jax.nn.relu(x)
    return x


_answers = jax.jit(_outputs, static_argnames="nonlinearity")


def _slopes(layers: Any, data: Held, kind: Kind) -> tuple[Array, Any]:
    def of(layers: Any) -> Array:
        return LOSSES[kind.loss](_outputs(layers, data, kind.nonlinearity), data.wanted)

    return jax.value_and_grad(of)(layers)


@partial(jax.jit, static_argnames="kind")
def _measured(layers: Any, data: Held, kind: Kind) -> tuple[Array, Any]:
    return LOSSES[kind.loss](_outputs(layers, data, kind.nonlinearity), data.wanted), ()


@partial(jax.jit, static_argnames="kind")
def begin(layers: Any, data: Held, *, kind: Kind) -> State:
    value, slopes = _slopes(layers, data, kind)
    transformation: Any = rule(kind.optimiser, kind.momentum)
    return State(layers, transformation.init(layers), jnp.zeros((), jnp.int32), value, slopes)


def _moved(state: State, slopes: Any, settings: Settings, kind: Kind) -> tuple[Any, Any]:
    """Return the network and the state of the optimiser after a step."""
    transformation: Any = rule(kind.optimiser, kind.momentum)
    dtype = state.loss.dtype
    decoupled = kind.optimiser == "adamw"
    pull = jnp.asarray(settings.decay * (1.0 if decoupled else 2.0), dtype)

    def pulled(values: Any) -> Any:
        return jax.tree.map(lambda g, w: g + pull * w, values, state.layers)

    with jax.numpy_dtype_promotion("standard"):  # which optimisers require
        if kind.clip is not None:
            slopes, _ = optax.clip_by_global_norm(kind.clip).update(slopes, optax.EmptyState())
        objective_slopes = slopes if decoupled else pulled(slopes)
        moves, after = transformation.update(objective_slopes, state.optimiser, state.layers)
    moves = pulled(moves) if decoupled else moves
    layers = jax.tree.map(
        lambda w, m, s: w - jnp.asarray(settings.rate * s, dtype) * m,
        state.layers, moves, settings.shares,
    )  # fmt: skip
    return layers, after


@partial(jax.jit, static_argnames="kind", donate_argnames="state")
def advance(
    state: State, data: Held, settings: Settings, limit: Float[Array, ""] | float,
    stop: Int[Array, ""], *, kind: Kind,
) -> State:  # fmt: skip
    """Train up to a step, or until the loss reaches the threshold or diverges."""

    def going(current: State) -> Array:
        inside = (current.loss > settings.threshold) & (current.loss <= limit)
        return (current.step < stop) & inside

    def body(current: State) -> State:
        layers, after = _moved(current, current.slopes, settings, kind)
        value, slopes = _slopes(layers, data, kind)
        return State(layers, after, current.step + 1, value, slopes)

    return jax.lax.while_loop(going, body, state)


@partial(jax.jit, static_argnames="kind", donate_argnames="state")
def advance_in_batches(
    state: State, data: Held, settings: Settings, order: Int[Array, "B b"],
    parts: Float[Array, "B b"], stop: Int[Array, ""], *, kind: Kind,
) -> State:  # fmt: skip
    """Train up to a step in batches with the weights `parts`; then measure the loss of all rows."""

    def body(at: Array, current: State) -> State:
        rows, part = order[at % len(order)], parts[at % len(order)]
        contexts = jax.tree.map(lambda array: array[rows], data.contexts)
        batch = Held(data.rows[rows], data.wanted[rows], contexts, data.rest)

        def mean(layers: Any) -> Array:
            outputs = _outputs(layers, batch, kind.nonlinearity)
            one_by_one = jax.vmap(LOSSES[kind.loss])(outputs[:, None], batch.wanted[:, None])
            return part @ one_by_one

        layers, after = _moved(current, jax.grad(mean)(current.layers), settings, kind)
        return State(layers, after, current.step + 1, current.loss, current.slopes)

    final = jax.lax.fori_loop(state.step, stop, body, state)
    value, slopes = _slopes(final.layers, data, kind)
    return State(final.layers, final.optimiser, final.step, value, slopes)
