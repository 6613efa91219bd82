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
from partwhole.networks import GatedNetwork, LearnedGates
from partwhole.training.engines.diagonal import orders
from partwhole.training.losses import LOSSES
from partwhole.training.problem import Problem
from partwhole.training.results import Trace
from partwhole.training.training import FLOW, Loss

FIRST_STEP = 1e-3  # of the flow, which finds its own
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
    mean_log = jax.nn.logsumexp(log_loss(found, loss)) - jnp.log(len(data.labels))
    return mean_log, found.min(), 0.5 * (1.0 - jnp.sign(found)).mean()


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


Onward = Callable[[int, int], tuple[GatedNetwork, float]]  # to a step: the network, and the time


def engine(problem: Problem) -> Any:
    """Return what trains one run of gated networks on labels."""
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
    stops, dtype, seeds = problem.stops, training.dtype, problem.seeds

    def one(run: int, rate: float, report_step: Any) -> Trace:
        x, y = problem.tasks[0].of(run)
        with jax.enable_x64(dtype == np.float64):
            network = _cast(starts[run], dtype)
            contexts = tuple(
                None if each is None else jnp.asarray(each, jnp.int32)
                for each in network.contexts(np.asarray(x, dtype=float))
            )
            data = Data(jnp.asarray(x, dtype), jnp.asarray(y[:, 0], dtype), contexts)
            if follow:
                onward = _flow(network, data, training.loss)
            else:
                onward = _descent(problem, rate, seeds[run], network, data)
            return _recorded(problem, run, stops.tolist(), onward, network, data, report_step)

    return one


def _recorded(
    problem: Problem, run: int, stops: list[int], onward: Onward, now: GatedNetwork, data: Data,
    report_step: Any,
) -> Trace:  # fmt: skip
    """Train one run, and read it at each recorded step."""
    training, test = problem.training, problem.tested(run)
    labels: list[tuple[float, ...]] = []
    times, tested, read_out = [], [], []
    before, step, time, going = 0, 0, 0.0, True
    for stop in stops:
        if going and stop > step:
            now, time = onward(step, stop)
            step = stop
        labels.append(_read(now, data, training.loss))
        times.append(time)
        if problem.probes is not None:
            read_out.append(now.predict(problem.probes)[:, None])
        if test is not None:
            outputs = jnp.asarray(now.predict(test[0])[:, None])
            tested.append([float(LOSSES[training.loss](outputs, jnp.asarray(test[1])))])
        # By logarithms: the loss itself is soon too small for a number.
        going = not (training.threshold > 0 and labels[-1][0] <= np.log(training.threshold))
        report_step(stop - before, float(np.exp(labels[-1][0])))
        before = stop
    table = np.array(labels)
    diverged = not (np.isfinite(table[-1, 0]) and np.isfinite(table[-1, 2]))
    return Trace(
        np.exp(table[:, :1]), now, step, diverged, np.array(tested) if tested else None,
        np.stack(read_out) if read_out else None, np.array(times), table,
    )  # fmt: skip


def _descent(problem: Problem, rate: float, seed: int, network: GatedNetwork, data: Data) -> Onward:
    training, n = problem.training, problem.count
    steps = problem.steps
    late = (steps + 1) // 2
    late_rate, slip = rate * training.late_factor, training.momentum
    if training.batch is None:
        rows, parts = np.arange(n, dtype=np.int32)[None], np.full((1, n), 1.0 / n)
    else:
        rows, parts = orders(training.batch, seed, n, steps)
    dtype = data.inputs.dtype
    numbers = [jnp.asarray(number, dtype) for number in (rate, late_rate, slip)]
    settings = Descent(numbers[0], numbers[1], jnp.asarray(late), numbers[2])
    state = {"weights": trained(network), "speed": at_rest(network)}
    laid_out = jnp.asarray(rows), jnp.asarray(parts, dtype)

    def onward(begin: int, end: int) -> tuple[GatedNetwork, float]:
        state["weights"], state["speed"] = descend(
            network, state["weights"], state["speed"], data, laid_out[0], laid_out[1],
            settings, jnp.asarray(begin), jnp.asarray(end), training.loss,
        )  # fmt: skip
        after = max(0, end - late)
        # Not what comes out of compiled code: that has its gates in single precision.
        return with_trained(network, state["weights"]), (
            rate * (end - after) + late_rate * after
        ) / (1.0 - slip)

    return onward


def _flow(network: GatedNetwork, data: Data, loss: Loss) -> Onward:
    # With its type stated: one that may take another's has the flow compiled once more.
    first = jnp.asarray(FIRST_STEP, jnp.float64)
    state = [FlowState(network.weights, first, jnp.zeros_like(first))]

    def onward(begin: int, end: int) -> tuple[GatedNetwork, float]:
        state[0] = flow(network, data, state[0], jnp.asarray(end - begin), loss)
        return with_trained(network, (state[0].weights, None)), float(state[0].time)

    return onward


def _read(network: GatedNetwork, data: Data, loss: Loss) -> tuple[float, float, float]:
    """Return the log of the mean loss, the normalised margin and the error."""
    log, least, error = (float(each) for each in read(network, data, loss))
    with np.errstate(all="ignore"):  # of runs that diverged
        size = np.float64(network.squared_norm / network.n_layers)
        margin = least / size ** (0.5 * network.n_layers)
    return log, float(margin) if network.bias is None else float("nan"), error


def _cast(network: GatedNetwork, dtype: np.dtype) -> GatedNetwork:
    """Return the network with its weights in a precision, gates left as they are."""
    bias = None if network.bias is None else jnp.asarray(network.bias, dtype)
    weights = tuple(jnp.asarray(np.asarray(layer), dtype) for layer in network.weights)
    return GatedNetwork(weights, network.gates, bias, network.parallel)
