r"""Steps of gradient descent on two-layer ReLU networks, one run to a call.

With :math:`p_n` the weight in the mean and :math:`g_n` the error of sample n of task t, a step
subtracts

.. math:: \Delta w_h = 2 \sum_n p_n g_n v_{th} 1[w_h^\top x_n > 0] \, x_n, \qquad
          \Delta v_{th} = 2 \sum_{n \in t} p_n g_n \max(0, w_h^\top x_n)

times the learning rate from the weights. The hidden layer is stored as columns here, (d, h).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import pi
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole._checks import require
from partwhole._device import on_device
from partwhole._threads import cores
from partwhole.networks import MLP
from partwhole.tasks.relu_teachers import ReLUTeacher
from partwhole.training.engines.diagonal import Settings
from partwhole.training.following import Report
from partwhole.training.order import SHUFFLE, Shuffle
from partwhole.training.problem import Problem, require_memory
from partwhole.training.results import Trace

# Divergence, in units of the larger of the first loss and the mean square of the targets.
DIVERGED = 100.0
# Number of batches prepared at a time; those of a whole training may not fit into memory.
BATCHES_AHEAD = 1024


class Samples(NamedTuple):
    """Samples of all tasks."""

    inputs: Float[np.ndarray, "n d"]
    targets: Float[np.ndarray, " n"]
    own: Float[np.ndarray, "n k"]  # 1 for the task that a sample belongs to


class Weights(NamedTuple):
    """Weights of both layers."""

    hidden: Float[np.ndarray, "d h"]
    readout: Float[np.ndarray, "k h"]


Measure = Callable[[Weights], tuple[np.ndarray | None, np.ndarray | None]]
Layout = tuple[Int[np.ndarray, "B b"], Float[np.ndarray, "B b"]]


def descend(
    weights: Weights,
    samples: Samples,
    settings: Settings,
    stops: Int[np.ndarray, " T"],
    *,
    readout_only: bool,
    layouts: Iterator[Layout] | None = None,
    measure: Measure,
    report: Report,
) -> Trace:
    """Train one run, in the precision of its samples.

    Milliseconds for a step of a network with d = 15 and 1,000 hidden units, six of them in single
    precision on two shared cores of a CPU, beside the same steps by automatic differentiation:
    "vmap" in one compiled loop for all networks, "step loop" one jitted step after another:

    ==============================  =======  ====  =========
    samples                         threads  vmap  step loop
    ==============================  =======  ====  =========
    16                              0.02     0.06  0.06
    64                              0.06     0.10  0.10
    128                             0.10     0.23  0.33
    512, batches of 128             0.19     0.16  0.66
    1,024                           0.76     2.0   1.4
    1,024 and 64, batches of 128    0.13     0.26  1.6
    1,024 and 64                    1.6      3.5   2.0
    ==============================  =======  ====  =========

    Parameters
    ----------
    weights : Weights
    samples : Samples
    settings : Settings
    stops : int array, shape (T,)
        The steps to record, increasing; the last ends the training.
    readout_only : bool, keyword-only
    layouts : iterator, keyword-only, default None
        Rows of batches and their weights in the mean, batch after batch, from `layouts_of`; None
        for all samples in each step.
    measure : function of Weights, keyword-only
        Returns the test loss of each task and the answers; called at each record until the run
        ends.
    report : Report, keyword-only

    Returns
    -------
    Trace
        Records after the end of the run repeat its last values.
    """
    dtype = samples.inputs.dtype
    with jax.enable_x64(dtype == np.float64):
        current, data, numbers = jax.tree.map(
            lambda leaf: on_device(leaf, dtype), (weights, samples, settings)
        )
        losses = np.asarray(_losses(current, data))
        shares = samples.own.mean(axis=0)
        first = float(shares @ losses)
        limit = DIVERGED * max(first, settings.scale)
        ahead = None if layouts is None else _Ahead(layouts, dtype)
        step, going, loss = 0, True, first
        recorded_losses, before = [], 0
        tested = measure(_numpy(current))
        measurements = []
        for stop in stops.tolist():
            if going and stop > step:
                if ahead is None:
                    current, reached = _all_samples(
                        current, data, numbers, limit, step, stop, readout_only=readout_only
                    )
                    step = int(reached)
                else:
                    while step < stop:
                        at, rows, parts = ahead.find(step)
                        end = min(stop, step + len(rows) - at)
                        current = _in_batches(
                            current, data, numbers, rows, parts, at, at + end - step,
                            readout_only=readout_only,
                        )  # fmt: skip
                        step = end
                losses = np.asarray(_losses(current, data))
                loss = float(shares @ losses)
                tested = measure(_numpy(current))
            # In the precision of training, as in the compiled loop; NaN ends a run.
            going = bool(dtype.type(loss) > dtype.type(settings.threshold) and loss <= limit)
            going = going and (step == stop)
            report(stop - before, loss)
            report.record(step, loss, tasks=losses, tested=tested[0])
            before = stop
            recorded_losses.append(losses)
            measurements.append(tested)
        tests, answers = zip(*measurements, strict=True)
        return Trace(
            np.stack(recorded_losses).astype(float),
            _numpy(current),
            step,
            not loss <= limit,
            None if tests[0] is None else np.stack(tests),
            None if answers[0] is None else np.stack(answers),
        )


def layouts_of(
    membership: Float[np.ndarray, "n k"], batch: int, seed: int, shuffle: Shuffle = "every epoch"
) -> Iterator[Layout]:
    r"""Yield batches without end, many at a time: all samples of each epoch in a random order.

    In a batch the mean over each task's samples has the task's share of all samples as its weight;
    a task without samples in the batch adds nothing. A smaller last batch is padded with sample 0
    at weight 0.
    """
    n, size = len(membership), min(batch, len(membership))
    per_epoch = -(-n // size)
    turns = max(1, BATCHES_AHEAD // per_epoch) if shuffle == "every epoch" else 1
    rng = np.random.default_rng([seed, SHUFFLE])
    task, shares = membership.argmax(axis=1), membership.mean(axis=0)
    filled = (np.arange(per_epoch * size) < n).reshape(1, per_epoch, size)
    while True:
        order = np.zeros((turns, per_epoch * size), dtype=np.int32)
        for turn in range(turns):
            order[turn, :n] = rng.permutation(n)
        rows = order.reshape(turns, per_epoch, size)
        tasks = task[rows]
        parts = np.zeros(rows.shape)
        for place, share in enumerate(shares):
            members = (tasks == place) & filled
            parts += members * (share / np.maximum(1, members.sum(axis=-1, keepdims=True)))
        layout = rows.reshape(-1, size), parts.reshape(-1, size)
        yield layout
        while shuffle == "once":
            yield layout


class _Ahead:
    """The next batches, on the device."""

    def __init__(self, layouts: Iterator[Layout], dtype: np.dtype) -> None:
        self._layouts, self._dtype, self._from, self._to = layouts, dtype, 0, 0
        self._rows = self._parts = jnp.zeros((0, 0))

    def find(self, step: int) -> tuple[int, Array, Array]:
        """Return the position of a step's batch among the prepared batches, and these."""
        if step >= self._to:
            rows, parts = next(self._layouts)
            self._from, self._to = self._to, self._to + len(rows)
            self._rows, self._parts = on_device(rows), on_device(parts, self._dtype)
        return step - self._from, self._rows, self._parts


def _numpy(weights: Weights) -> Weights:
    return Weights(*(np.asarray(layer) for layer in weights))


def _read(weights: Weights, samples: Samples) -> tuple[Array, Array]:
    """Return each unit's preactivations, and each sample's error."""
    preactivations = jnp.asarray(samples.inputs @ weights.hidden)
    answers = jax.nn.relu(preactivations) @ weights.readout.T
    return preactivations, (answers * samples.own).sum(axis=1) - samples.targets


def _stepped(
    weights: Weights,
    preactivations: Array,
    pull: Array,
    samples: Samples,
    settings: Settings,
    readout_only: bool,
) -> Weights:
    """Return the weights after a step; `pull` is the slope of the loss in each sample's output."""
    (hidden, readout), (inputs, _, membership) = weights, samples
    keep = 1.0 - 2.0 * settings.rate * settings.decay
    new_readout = keep * readout - settings.rate * (
        (membership * pull[:, None]).T @ jax.nn.relu(preactivations)
    )
    if not readout_only:
        # With one task every sample has the same readout.
        back = readout if len(readout) == 1 else membership @ readout
        slope = inputs.T @ jnp.where(preactivations > 0, pull[:, None] * back, 0.0)
        hidden = keep * hidden - settings.rate * slope
    return Weights(hidden, new_readout)


@jax.jit
def _losses(weights: Weights, samples: Samples) -> Array:
    _, gap = _read(weights, samples)
    return (gap * gap) @ samples.own / samples.own.sum(axis=0)


@partial(jax.jit, static_argnames="readout_only")
def _all_samples(
    weights: Weights,
    samples: Samples,
    settings: Settings,
    limit: Array,
    step: Array,
    stop: Array,
    readout_only: bool,
) -> tuple[Weights, Array]:
    def more(carry: tuple) -> Array:
        at, _, going = carry
        return going & (at < stop)

    def body(carry: tuple) -> tuple:
        # Only weights are carried over: copying preactivations takes as long as a step.
        at, current, _ = carry
        preactivations, gap = _read(current, samples)
        loss = jnp.mean(gap * gap)
        # A loss that is not a number ends the run, as all comparisons with it are false.
        going = (loss > settings.threshold) & (loss <= limit)
        pull = (2.0 / len(gap)) * gap
        after = _stepped(current, preactivations, pull, samples, settings, readout_only)
        updated = jax.tree.map(
            lambda proposed, previous: jnp.where(going, proposed, previous), after, current
        )
        return at + going.astype(at.dtype), updated, going

    first = (jnp.asarray(step), weights, jnp.asarray(True))
    at, current, _ = jax.lax.while_loop(more, body, first)
    return current, at


@partial(jax.jit, static_argnames="readout_only")
def _in_batches(
    weights: Weights,
    samples: Samples,
    settings: Settings,
    rows: Array,
    parts: Array,
    begin: Array,
    end: Array,
    readout_only: bool,
) -> Weights:
    def body(at: Array, current: Weights) -> Weights:
        batch = Samples(*(array[rows[at]] for array in samples))
        preactivations, gap = _read(current, batch)
        pull = 2.0 * parts[at] * gap
        return _stepped(current, preactivations, pull, batch, settings, readout_only)

    return jax.lax.fori_loop(begin, end, body, weights)


def serves(network: object) -> bool:
    """Return whether a network has two layers with ReLU between them and no biases."""
    if not isinstance(network, MLP):
        return False
    return (network.n_layers, network.nonlinearity, network.biases) == (2, "relu", None)


def engine(problem: Problem) -> Any:
    """Return a function that trains one run of two-layer ReLU networks."""
    training, tasks, runs = problem.training, problem.tasks, problem.runs
    stops = problem.stops
    first: Any = problem.networks
    if not isinstance(first, MLP):
        first = jax.tree.map(lambda *leaves: np.stack(leaves), *problem.every)
    hidden, readout = layers(first, problem.shape[0], len(tasks), runs)
    teachers, dtype, seeds = _checked_teachers(problem), training.dtype, problem.seeds
    h = hidden.shape[1]
    needed = min(runs, cores()) * 4.0 * dtype.itemsize * problem.count * h
    require_memory(
        needed + runs * 4.0 * dtype.itemsize * h, "pass a batch, or train fewer samples or units"
    )
    membership = np.repeat(np.eye(len(tasks), dtype=dtype), [task.count for task in tasks], axis=0)

    def train_run(run: int, rate: float, report: Report) -> Trace:
        x = np.concatenate([task.of(run)[0] for task in tasks])
        y = np.concatenate([task.of(run)[1][:, 0] for task in tasks])
        trace = descend(
            Weights(np.ascontiguousarray(hidden[run].T), readout[run]),
            Samples(x.astype(dtype), y.astype(dtype), membership),
            Settings(
                rate,
                float(training.weight_decay),
                float(training.threshold),
                float(np.mean(y.astype(float) ** 2)),
            ),
            stops,
            readout_only=training.trained == "readout",
            layouts=None
            if training.batch is None
            else layouts_of(membership, training.batch, seeds[run], training.shuffle),
            measure=_measure(
                None if teachers is None else [task[run] for task in teachers],
                problem.tested(run),
                problem.probes,
            ),
            report=report,
        )
        with jax.enable_x64(dtype == np.float64):
            ends = (
                on_device(trace.network.hidden.T),
                on_device(trace.network.readout),
            )
        return trace._replace(network=MLP(ends, None, "relu"))

    return train_run


def layers(network: MLP, dimension: int, n_tasks: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each run's hidden layer, shape (runs, h, d), and readout, shape (runs, k, h)."""
    require(
        network.n_layers == 2 and network.nonlinearity == "relu" and network.biases is None,
        "the network has two layers, ReLU between them and no biases",
        f"{network.n_layers} layers, {network.nonlinearity}, "
        + ("no biases" if network.biases is None else "biases"),
        'draw it by Architecture(layers=2, nonlinearity="relu", bias=False)',
    )
    hidden, readout = (np.asarray(weight) for weight in network.weights)
    require(
        bool(np.isfinite(hidden).all() and np.isfinite(readout).all()),
        "weights are finite numbers",
        "NaN or infinity",
        "leave out runs that diverged",
    )
    h = hidden.shape[-2]
    shapes = (h, dimension), (n_tasks, h)
    lead = [weight.shape[: weight.ndim - 2] for weight in (hidden, readout)]
    fits = hidden.shape[-2:] == shapes[0] and readout.shape[-2:] == shapes[1]
    require(
        fits and all(shape in ((), (runs,)) for shape in lead),
        f"layers have shapes (h, {dimension}) and ({n_tasks}, h), or {runs} of them",
        f"shapes {hidden.shape} and {readout.shape}",
        f"draw them by Architecture(...).networks({dimension}, seeds=range({runs}), "
        f"outputs={n_tasks})",
    )
    return (
        np.broadcast_to(hidden, (runs, *shapes[0])),
        np.broadcast_to(readout, (runs, *shapes[1])),
    )


def _checked_teachers(problem: Problem) -> tuple[tuple[ReLUTeacher, ...], ...] | None:
    """Validate and return the teachers of each task, one for each run."""
    if problem.teachers is None:
        return None
    runs, d = problem.runs, problem.shape[0]
    teachers = tuple(tuple(task) for task in problem.teachers)
    valid = all(
        len(task) == runs
        and all(
            isinstance(teacher, ReLUTeacher) and teacher.hidden.shape[1] == d for teacher in task
        )
        for task in teachers
    )
    require(
        valid,
        f"teachers are one ReLUTeacher in {d} dimensions for each of {runs} runs",
        "others",
        "collect sample.main of each run in a list",
    )
    return teachers


def _measure(
    teachers: list[ReLUTeacher] | None,
    test: tuple[np.ndarray, np.ndarray] | None,
    probes: np.ndarray | None,
) -> Measure:
    """Return a function from weights of one run to the test loss of each task and the answers."""

    def answers(weights: Weights, points: np.ndarray) -> np.ndarray:
        hidden = np.maximum(points.astype(weights.hidden.dtype) @ weights.hidden, 0)
        return hidden @ weights.readout.T

    def measure(weights: Weights) -> tuple[np.ndarray | None, np.ndarray | None]:
        tested = None
        with np.errstate(all="ignore"):  # of runs that diverged
            if teachers is not None:
                hidden, readout = (np.asarray(layer, dtype=float) for layer in weights)
                pairs = zip(teachers, readout, strict=True)
                tested = np.array([expected_error(teacher, hidden.T, v) for teacher, v in pairs])
            elif test is not None:
                gap = answers(weights, test[0]).astype(float) - test[1]
                tested = (gap**2).mean(axis=0)
            return tested, None if probes is None else answers(weights, probes)

    return measure


def expected_error(
    teacher: ReLUTeacher, hidden: Float[np.ndarray, "h d"], readout: Float[np.ndarray, " h"]
) -> float:
    """Return `ReLUTeacher.test_error`, in a sixth of its time for a thousand units.

    In place, by the square root instead of the sine; NaN for weights that diverged.
    """
    units = np.concatenate([hidden, teacher.hidden])
    if not (np.isfinite(units).all() and np.isfinite(readout).all()):
        return float("nan")
    norms = np.linalg.norm(units, axis=1)
    units = units / np.where(norms > 0, norms, 1.0)[:, None]
    signed = np.concatenate([readout, -teacher.readout]) * norms
    cosine = units @ units.T
    np.clip(cosine, -1.0, 1.0, out=cosine)
    mean = np.arccos(cosine)
    np.subtract(pi, mean, out=mean)
    mean *= cosine
    np.multiply(cosine, cosine, out=cosine)
    np.subtract(1.0, cosine, out=cosine)
    mean += np.sqrt(cosine, out=cosine)
    with np.errstate(all="ignore"):  # of runs that diverged
        # A square: below 0 only by rounding.
        return float(np.maximum(0.0, signed @ mean @ signed / (2 * pi)))
