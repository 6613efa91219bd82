"""Gated networks on two classes: stochastic descent, and the loss-normalised flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole._checks import require
from partwhole._device import on_device
from partwhole.networks import GatedNetwork, LearnedGates
from partwhole.training.following import Report
from partwhole.training.losses import LOSSES
from partwhole.training.problem import Problem
from partwhole.training.results import Trace
from partwhole.training.training import FLOW, Loss

FIRST_STEP = 1e-3  # of the flow, which then adapts it
# Least share of the increase predicted by the slope at the start of a step. Below one half the
# inputs of least margin may overshoot each other by more and more; but with learned gates the slope
# is discontinuous, and a step over an edge gains less however short it is.
PROMISED, PROMISED_LEARNED = 0.75, 0.25
LONGER, SHORTER = 1.1, 0.5
WIDEST = 0.1  # largest relative change of the weights in a step: longer steps leave the flow's path
# Height at which the flow stops: if the slopes of all inputs agree, steps would grow without end,
# and rounding of such margins comes close to their differences.
FARTHEST = 1e12


class Data(NamedTuple):
    """Training set, with the contexts of its inputs in frozen gates."""

    inputs: Float[Array, "n d"]
    labels: Float[Array, " n"]
    contexts: tuple[Any, ...]


class Descent(NamedTuple):
    """Settings of descent: the rate falls once, at step `late`."""

    rate: Array
    late_rate: Array
    late: Array
    momentum: Array


class FlowState(NamedTuple):
    """State of the flow: weights, length of the next step, and time."""

    weights: tuple[Array, ...]
    length: Array
    time: Array


def margins(network: GatedNetwork, data: Data) -> Float[Array, " n"]:
    """Return each input's output in its label's direction."""
    return data.labels * network(data.inputs, data.contexts)


def log_loss(margin: Float[Array, " n"], loss: Loss) -> Float[Array, " n"]:
    """Return the logarithm of each input's loss, also if the loss itself underflows."""
    if loss == "exponential":
        return -margin
    soft = jax.nn.softplus(-margin)
    # Beyond this margin softplus is its exponential, to rounding.
    is_large = margin > 30.0
    return jnp.where(is_large, -margin, jnp.log(jnp.where(is_large, 1.0, soft)))


def height(margin: Float[Array, " n"], loss: Loss) -> Array:
    """Return minus the logarithm of the mean loss, up to a constant: 0 if all margins are 0.

    Exact to rounding of the margins, also if they are tiny and the loss is almost constant.
    """
    rise = -margin
    if loss == "logistic":
        is_small = jnp.abs(margin) < 1.0
        bounded = jnp.where(is_small, margin, 0.0)
        exact = jnp.log1p(jnp.log1p(0.5 * jnp.expm1(-bounded)) / np.log(2.0))
        rise = jnp.where(is_small, exact, log_loss(margin, loss) - np.log(np.log(2.0)))
    top = jax.lax.stop_gradient(rise.max())
    return -top - jnp.log1p(jnp.expm1(rise - top).mean())


@eqx.filter_jit
def read(network: GatedNetwork, data: Data, loss: Loss) -> tuple[Array, Array, Array]:
    """Return the log of the mean loss, the least margin and the error; a tie is half an error."""
    values = margins(network, data)
    mean_log = jax.nn.logsumexp(log_loss(values, loss)) - jnp.log(len(data.labels))
    return mean_log, values.min(), 0.5 * (1.0 - jnp.sign(values)).mean()


Trained = tuple[tuple[Array, ...], Array | None]


def trained(network: GatedNetwork) -> Trained:
    """Return the parameters that training changes: weights and bias."""
    return network.weights, network.bias


def with_trained(network: GatedNetwork, parameters: Trained) -> GatedNetwork:
    """Return the network with these weights and bias, and the same gates."""
    return GatedNetwork(parameters[0], network.gates, parameters[1], network.parallel)


def at_rest(network: GatedNetwork) -> Any:
    """Return the initial momentum, 0."""
    return jax.tree.map(jnp.zeros_like, trained(network))


@eqx.filter_jit
def descend(
    network: GatedNetwork,
    initial: Trained,
    speed: Trained,
    data: Data,
    rows: Int[Array, "B b"],
    parts: Float[Array, "B b"],
    settings: Descent,
    begin: Array,
    end: Array,
    loss: Loss,
) -> tuple[Trained, Trained]:
    """Take the steps from begin to end, each on a batch with the weights `parts` of its rows."""

    def mean(parameters: Trained, at: Array) -> Array:
        batch = jax.tree.map(lambda array: array[rows[at % len(rows)]], data)
        margin = margins(with_trained(network, parameters), batch)
        losses = jnp.exp(-margin) if loss == "exponential" else jax.nn.softplus(-margin)
        return parts[at % len(rows)] @ losses

    def step(at: Array, carry: tuple[Trained, Trained]) -> tuple[Trained, Trained]:
        parameters, speed = carry
        slope = jax.grad(mean)(parameters, at)
        rate = jnp.where(at < settings.late, settings.rate, settings.late_rate)
        speed = jax.tree.map(lambda v, g: settings.momentum * v + g, speed, slope)
        return jax.tree.map(lambda w, v: w - rate * v, parameters, speed), speed

    return jax.lax.fori_loop(begin, end, step, (initial, speed))


@eqx.filter_jit
def flow(
    network: GatedNetwork, data: Data, state: FlowState, steps: Array, loss: Loss
) -> FlowState:
    r"""Follow :math:`\dot\theta = -\nabla \log \sum_i \ell_i` by steps of adaptive length.

    A step is taken if it lowers the logarithm of the loss by three quarters of the decrease that
    its slope predicts, or a quarter with learned gates; otherwise the next is shorter. With several
    layers it changes weights by at most a tenth: without curvature no step would be too long for
    the loss, but the conserved quantities of the layers would change.
    """

    def height_at(weights: tuple[Array, ...]) -> Array:
        return height(margins(with_trained(network, (weights, None)), data), loss)

    climb = jax.value_and_grad(height_at)

    learned = any(isinstance(gates, LearnedGates) for gates in network.gates)
    share = PROMISED_LEARNED if learned else PROMISED

    def step(_: Array, carry: tuple) -> tuple:
        (weights, length, time), current_height, slope = carry
        squared_slope = sum(jnp.sum(g * g) for g in slope)
        if network.n_layers > 1:
            size = sum(jnp.sum(w * w) for w in weights)
            longest = WIDEST * jnp.sqrt(size / jnp.where(squared_slope > 0.0, squared_slope, 1.0))
            length = jnp.minimum(length, longest)
        aim = jax.tree.map(lambda w, g: w + length * g, weights, slope)
        reached_height, reached_slope = climb(aim)
        promise = length * squared_slope
        accepted = (
            (promise > 0.0)
            & (reached_height >= current_height + share * promise)
            & (reached_height < FARTHEST)
        )

        def pick(updated_tree: Any, current_tree: Any) -> Any:
            return jax.tree.map(
                lambda updated, current: jnp.where(accepted, updated, current),
                updated_tree,
                current_tree,
            )

        after = FlowState(
            pick(aim, weights),
            length * jnp.where(accepted, LONGER, SHORTER),
            time + jnp.where(accepted, length, 0.0),
        )
        return (
            after,
            jnp.where(accepted, reached_height, current_height),
            pick(reached_slope, slope),
        )

    current_height, slope = climb(state.weights)
    return jax.lax.fori_loop(0, steps, step, (state, current_height, slope))[0]


Onward = Callable[[int, int], tuple[GatedNetwork, float]]  # to a step: the network, and the time


def engine(problem: Problem) -> Any:
    """Return a function that trains one run of gated networks on labels."""
    training, runs = problem.training, problem.runs
    starts = [problem.network(run) for run in range(runs)]
    biased = [run for run, network in enumerate(starts) if network.bias is not None]
    follow = training.optimiser == FLOW
    require(
        not (follow and biased),
        "the flow is of homogeneous networks",
        f"a bias in network {biased[0] if biased else 0}",
        "feed units a constant input instead",
    )
    stops, dtype = problem.stops, training.dtype

    def train_run(run: int, rate: float, report: Report) -> Trace:
        x, y = problem.tasks[0].of(run)
        with jax.enable_x64(dtype == np.float64):
            network = _cast(starts[run], dtype)
            contexts = tuple(
                None if codes is None else on_device(codes, np.int32)
                for codes in network.contexts(np.asarray(x, dtype=float))
            )
            data = Data(on_device(x, dtype), on_device(y[:, 0], dtype), contexts)
            if follow:
                onward = _flow(network, data, training.loss)
            else:
                onward = _descent(problem, run, rate, network, data)
            return _recorded(problem, run, stops.tolist(), onward, network, data, report)

    return train_run


def _recorded(
    problem: Problem, run: int, stops: list[int], onward: Onward, network: GatedNetwork, data: Data,
    report: Report,
) -> Trace:  # fmt: skip
    """Train one run, and measure it at each recorded step."""
    training, test = problem.training, problem.tested(run)
    labels: list[tuple[float, ...]] = []
    times, tested, read_out = [], [], []
    before, step, time, going = 0, 0, 0.0, True
    for stop in stops:
        if going and stop > step:
            network, time = onward(step, stop)
            step = stop
        labels.append(_read(network, data, training.loss))
        times.append(time)
        if problem.probes is not None:
            read_out.append(network.predict(problem.probes)[:, None])
        if test is not None:
            outputs = on_device(network.predict(test[0])[:, None])
            tested.append([float(LOSSES[training.loss](outputs, on_device(test[1])))])
        # By logarithms: the loss itself soon underflows.
        going = not (training.threshold > 0 and labels[-1][0] <= np.log(training.threshold))
        loss = float(np.exp(labels[-1][0]))
        report(stop - before, loss)
        report.record(
            step, loss, tested=tested[-1] if tested else None,
            scores={"margin": labels[-1][1], "error": labels[-1][2]},
        )  # fmt: skip
        before = stop
    table = np.array(labels)
    diverged = not (np.isfinite(table[-1, 0]) and np.isfinite(table[-1, 2]))
    return Trace(
        np.exp(table[:, :1]), network, step, diverged, np.array(tested) if tested else None,
        np.stack(read_out) if read_out else None, np.array(times), table,
    )  # fmt: skip


def _descent(problem: Problem, run: int, rate: float, network: GatedNetwork, data: Data) -> Onward:
    training, n = problem.training, problem.count
    steps = problem.steps
    late = (steps + 1) // 2
    late_rate, slip = rate * training.late_factor, training.momentum
    everything = np.arange(n, dtype=np.int32)[None], np.full((1, n), 1.0 / n)
    rows, parts = problem.batches(run) or everything
    dtype = data.inputs.dtype
    numbers = [on_device(number, dtype) for number in (rate, late_rate, slip)]
    settings = Descent(numbers[0], numbers[1], on_device(late), numbers[2])
    state = {"weights": trained(network), "speed": at_rest(network)}
    laid_out = on_device(rows), on_device(parts, dtype)

    def onward(begin: int, end: int) -> tuple[GatedNetwork, float]:
        state["weights"], state["speed"] = descend(
            network, state["weights"], state["speed"], data, laid_out[0], laid_out[1],
            settings, jnp.asarray(begin), jnp.asarray(end), training.loss,
        )  # fmt: skip
        after = max(0, end - late)
        # Not the network that compiled code returns, whose gates are in single precision.
        return with_trained(network, state["weights"]), (
            rate * (end - after) + late_rate * after
        ) / (1.0 - slip)

    return onward


def _flow(network: GatedNetwork, data: Data, loss: Loss) -> Onward:
    # With an explicit type: a weak type would compile the flow once more.
    first = jnp.asarray(FIRST_STEP, jnp.float64)
    state = [FlowState(network.weights, first, jnp.zeros_like(first))]

    def onward(begin: int, end: int) -> tuple[GatedNetwork, float]:
        state[0] = flow(network, data, state[0], jnp.asarray(end - begin), loss)
        return with_trained(network, (state[0].weights, None)), float(state[0].time)

    return onward


def _read(network: GatedNetwork, data: Data, loss: Loss) -> tuple[float, float, float]:
    """Return the log of the mean loss, the normalised margin and the error."""
    log, least, error = (float(value) for value in read(network, data, loss))
    with np.errstate(all="ignore"):  # of runs that diverged
        size = np.float64(network.squared_norm / network.n_layers)
        margin = least / size ** (0.5 * network.n_layers)
    return log, float(margin) if network.bias is None else float("nan"), error


def _cast(network: GatedNetwork, dtype: np.dtype) -> GatedNetwork:
    """Return the network with its weights in a precision, and the same gates."""
    bias = None if network.bias is None else on_device(network.bias, dtype)
    weights = tuple(on_device(layer, dtype) for layer in network.weights)
    return GatedNetwork(weights, network.gates, bias, network.parallel)
