r"""Steps of gradient descent on diagonal networks, one run to a call.

With the slope :math:`s = \nabla_\beta L` of each task's mean square, a step is

.. math:: w_\pm \mathrel{-}= \eta \Big(\pm \sum_t s_t v_{t\pm} + 2 \lambda w_\pm\Big), \qquad
          v_{t\pm} \mathrel{-}= \eta (\pm s_t w_\pm + 2 \lambda v_{t\pm}) .

The slope is computed from the samples or from their second moment. Each run is a separate call,
which ends at its own step; runs are trained in parallel threads.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from partwhole._arrays import Array as ArrayRule
from partwhole._arrays import Axes
from partwhole._checks import require
from partwhole._device import on_device
from partwhole._threads import cores
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.training.following import Report
from partwhole.training.problem import Problem, require_memory
from partwhole.training.results import Trace

# Divergence, in units of the larger of the first loss and the mean square of the targets.
DIVERGED = 100.0
# Least number of steps per feature at which a second moment saves more time than it costs.
MOMENTS_FROM_STEPS = 4
# Largest condition number of the second moment: beyond it, single precision loses its smallest
# eigenvalues.
MOMENTS_CONDITION = 1e6


class Rows(NamedTuple):
    """Samples of one task."""

    inputs: Float[np.ndarray, "n d"]
    targets: Float[np.ndarray, " n"]

    def read(self, coefficients: Array) -> tuple[Array, Array]:
        """Return the mean square and its slope."""
        gap = jnp.dot(self.inputs, coefficients) - self.targets
        # Not inputs.T @ gap, with which a step takes five times as long.
        return jnp.mean(gap * gap), (2.0 / gap.size) * jnp.dot(gap, self.inputs)


class Moment(NamedTuple):
    r"""Second moment of one task, with its least-squares solution and residual mean square.

    The mean square is :math:`(\beta - \hat\beta)^\top M (\beta - \hat\beta)` plus `rest`.
    It has no cancellation, unlike :math:`\beta^\top M \beta - 2 b^\top \beta + c`.
    """

    matrix: Float[np.ndarray, "d d"]
    centre: Float[np.ndarray, " d"]
    rest: Float[np.ndarray, ""]

    def read(self, coefficients: Array) -> tuple[Array, Array]:
        """Return the mean square and its slope."""
        offset = coefficients - self.centre
        pull = jnp.dot(offset, self.matrix)
        return jnp.dot(offset, pull) + self.rest, 2.0 * pull


Sums = Rows | Moment


class Settings(NamedTuple):
    """Numbers of one run, traced so that one compiled call serves all runs."""

    rate: float
    decay: float
    threshold: float
    scale: float


class Path(NamedTuple):
    """Coefficients and losses of a run at each record, with its last weights and step."""

    coefficients: Float[np.ndarray, "T k d"]
    losses: Float[np.ndarray, "T k"]
    weights: DiagonalWeights
    step: Int[np.ndarray, ""]
    diverged: Bool[np.ndarray, ""]


def prepare(inputs: np.ndarray, targets: np.ndarray, steps: int, dtype: np.dtype) -> Sums:
    """Return one task's samples or their second moment, whichever is faster for these steps.

    Microseconds for a step, each the least of 12 measurements of two runs at once on two cores of
    a CPU that had other work; "prepared" is the time for computing and solving a moment in
    one run, in milliseconds:

    =====  =====  =======  ======  ========
    d      n      samples  moment  prepared
    =====  =====  =======  ======  ========
    1,000     32      6.0
    1,000    256     42
    1,000    512    107
    1,000  1,024    154      82     196
    1,000  2,048    282      78     235
    200       32      1.0
    200      100      2.8
    200      200      4.2     2.8     2.0
    200      400      7.6     3.0     2.3
    200    1,000     34       3.0     3.1
    =====  =====  =======  ======  ========

    With fewer samples than features, or a large condition number, the second moment has directions
    that the samples do not determine. Large coefficients along them would make the slope inaccurate
    in single precision, so that samples are used for any number of steps.
    """
    n, d = inputs.shape
    if n >= d and steps >= MOMENTS_FROM_STEPS * d:
        x, y = np.asarray(inputs, dtype=float), np.asarray(targets, dtype=float)
        moment = x.T @ x / n
        size = np.linalg.eigvalsh(moment)
        if size[-1] < MOMENTS_CONDITION * size[0]:
            centre = np.linalg.solve(moment, x.T @ y / n)
            rest = np.mean((x @ centre - y) ** 2)
            return Moment(*(np.asarray(array, dtype) for array in (moment, centre, rest)))
    return Rows(np.ascontiguousarray(inputs, dtype), np.asarray(targets, dtype))


def descend(
    weights: DiagonalWeights,
    problems: tuple[Sums, ...],
    shares: Float[np.ndarray, " k"],
    settings: Settings,
    stops: Int[np.ndarray, " T"],
    *,
    readout_only: bool,
    batches: tuple[Int[np.ndarray, "B b"], Float[np.ndarray, "B b"]] | None = None,
) -> Path:
    """Train one run, in the precision of its data.

    Parameters
    ----------
    weights : DiagonalWeights
        Hidden (d,), readouts (k, d).
    problems : tuple of Rows or Moment
        One for each of k tasks; with batches, the Rows of one.
    shares : float array, shape (k,)
        Weight of each task in the objective.
    settings : Settings
    stops : int array, shape (T,)
        The steps to record, increasing; the last ends the training.
    readout_only : bool, keyword-only
    batches : pair of arrays, keyword-only, default None
        The rows of each batch and their weights in its mean; None for all samples in each step.

    Returns
    -------
    Path
        Records after the end of the run repeat its last values.
    """
    dtype = jax.tree.leaves(problems)[0].dtype
    with jax.enable_x64(dtype == np.float64):
        arguments = jax.tree.map(
            lambda leaf: on_device(leaf, dtype), (weights, problems, shares, settings)
        )
        at = on_device(stops, np.int32)
        if batches is None:
            results = _all_samples(*arguments, at, readout_only)
        else:
            rows, parts = on_device(batches[0], np.int32), on_device(batches[1], dtype)
            results = _in_batches(*arguments, at, rows, parts, readout_only)
        return jax.tree.map(np.asarray, Path(*results))


def _stepped(
    weights: DiagonalWeights, slopes: Array, settings: Settings, readout_only: bool
) -> DiagonalWeights:
    plus, out_plus, minus, out_minus = weights
    keep = 1.0 - 2.0 * settings.rate * settings.decay
    move = settings.rate * slopes
    new_out_plus = keep * out_plus - move * plus[None]
    new_out_minus = keep * out_minus + move * minus[None]
    if not readout_only:
        plus = keep * plus - (move * out_plus).sum(0)
        minus = keep * minus + (move * out_minus).sum(0)
    return DiagonalWeights(plus, new_out_plus, minus, new_out_minus)


def _read(
    weights: DiagonalWeights, problems: tuple[Sums, ...], shares: Array
) -> tuple[Array, Array, Array]:
    """Return coefficients, each task's mean square, and its slope times its share."""
    plus, out_plus, minus, out_minus = weights
    beta = jnp.asarray(plus[None] * out_plus - minus[None] * out_minus)
    readings = [problem.read(beta[task]) for task, problem in enumerate(problems)]
    losses = jnp.stack([loss for loss, _ in readings])
    return beta, losses, shares[:, None] * jnp.stack([slope for _, slope in readings])


def _going(loss: Array, limit: Array, settings: Settings) -> Array:
    # A loss that is not a number ends the run, as all comparisons with it are false.
    return (loss > settings.threshold) & (loss <= limit)


def _limit(loss: Array, settings: Settings) -> Array:
    return DIVERGED * jnp.maximum(loss, settings.scale)


@partial(jax.jit, static_argnames="readout_only")
def _all_samples(
    weights: DiagonalWeights,
    problems: tuple[Sums, ...],
    shares: Array,
    settings: Settings,
    stops: Array,
    readout_only: bool,
) -> tuple:
    first = _read(weights, problems, shares)
    limit = _limit(shares @ first[1], settings)

    def onward(carry: tuple, stop: Array) -> tuple[tuple, tuple]:
        def more(carry: tuple) -> Array:
            step, _, (_, losses, _) = carry
            return (step < stop) & _going(shares @ losses, limit, settings)

        def body(carry: tuple) -> tuple:
            step, current, (_, _, slopes) = carry
            current = _stepped(current, slopes, settings, readout_only)
            return step + 1, current, _read(current, problems, shares)

        carry = jax.lax.while_loop(more, body, carry)
        _, _, (beta, losses, _) = carry
        return carry, (beta, losses)

    start = jnp.zeros_like(stops[0]), weights, first
    (step, final, (_, end, _)), (path, losses) = jax.lax.scan(onward, start, stops)
    return path, losses, final, step, ~(shares @ end <= limit)


@partial(jax.jit, static_argnames="readout_only")
def _in_batches(
    weights: DiagonalWeights,
    problems: tuple[Rows],
    shares: Array,
    settings: Settings,
    stops: Array,
    rows: Array,
    parts: Array,
    readout_only: bool,
) -> tuple:
    (inputs, targets), *_ = problems
    limit = _limit(_read(weights, problems, shares)[1][0], settings)

    def body(step: Array, current: DiagonalWeights) -> DiagonalWeights:
        at = step % len(rows)
        batch = inputs[rows[at]]
        beta = (current.hidden_plus[None] * current.readout_plus)[0]
        beta = beta - (current.hidden_minus[None] * current.readout_minus)[0]
        gap = parts[at] * (batch @ beta - targets[rows[at]])
        return _stepped(current, 2.0 * (gap @ batch)[None], settings, readout_only)

    def onward(carry: tuple, stop: Array) -> tuple[tuple, tuple]:
        step, current, going = carry
        # The loss on all samples is computed only at records, where it decides whether to go on.
        end = jnp.where(going, stop, step)
        current = jax.lax.fori_loop(step, end, body, current)
        beta, losses, _ = _read(current, problems, shares)
        return (end, current, going & _going(losses[0], limit, settings)), (beta, losses)

    start = jnp.zeros_like(stops[0]), weights, jnp.asarray(True)
    (step, final, _), (path, losses) = jax.lax.scan(onward, start, stops)
    return path, losses, final, step, ~(losses[-1, 0] <= limit)


def engine(problem: Problem) -> Any:
    """Return a function that trains one run of diagonal networks.

    Each core trains one run. Milliseconds for a network of d = 1,000 with n = 256 and 1,000 steps,
    on two cores with little other work: 10 in threads, 21 one scan after another, 16 to 34 in
    chunked maps; `benchmarks/bench_diagonal.py` measures them all.
    """
    training, tasks, runs = problem.training, problem.tasks, problem.runs
    d, k = problem.shape[0], len(tasks)
    stops, steps = problem.stops, problem.steps
    weights = DiagonalWeights(
        *(
            _spread(name, layer, (k, d) if problem.several and "readout" in name else (d,), runs)
            for name, layer in problem.networks._asdict().items()
        )
    )
    if not problem.several:
        weights = weights._replace(
            readout_plus=weights.readout_plus[:, None], readout_minus=weights.readout_minus[:, None]
        )
    teachers = _checked_teachers(problem)
    _require_room(problem, len(stops), steps)

    def train_run(run: int, rate: float, report: Report) -> Trace:
        samples = [(x, y[:, 0]) for x, y in (task.of(run) for task in tasks)]
        path = descend(
            DiagonalWeights(*(layer[run] for layer in weights)),
            tuple(
                prepare(*pair, steps if training.batch is None else 0, training.dtype)
                for pair in samples
            ),
            problem.shares,
            Settings(
                rate,
                float(training.weight_decay),
                float(training.threshold),
                float(problem.shares @ [np.mean(y**2) for _, y in samples]),
            ),
            stops,
            readout_only=training.trained == "readout",
            batches=problem.batches(run),
        )
        report(steps, float(problem.shares @ path.losses[-1]))
        coefficients, test = path.coefficients.astype(float), problem.tested(run)
        tested = None
        with np.errstate(all="ignore"):  # of runs that diverged
            if teachers is not None:
                errors = [
                    (coefficients[:, i] - teacher[run]) ** 2 for i, teacher in enumerate(teachers)
                ]
                tested = np.stack([error.sum(axis=-1) for error in errors], axis=1)
            elif test is not None:
                gap = coefficients[:, 0] @ test[0].T.astype(float) - test[1][:, 0]
                tested = (gap**2).mean(axis=-1)[:, None]
            answers = None
            if problem.probes is not None:
                answers = np.swapaxes(coefficients @ problem.probes.T, 1, 2)
        ends = DiagonalWeights(*(layer.astype(float) for layer in path.weights))
        if not problem.several:
            ends = DiagonalWeights(*(layer.reshape(d) for layer in ends))
        losses = path.losses.astype(float)
        trace = Trace(losses, ends, int(path.step), bool(path.diverged), tested, answers)
        report.trace(stops, trace, problem.shares)
        return trace

    return train_run


def _spread(name: str, layer: Any, shape: tuple[int, ...], runs: int) -> np.ndarray:
    """Return one layer's weights for each run."""
    rule = ArrayRule(Axes("...", False), "float", single=True)
    array = rule(f"weights {name}", layer, {})
    require(
        array.shape in (shape, (runs, *shape)),
        f"weights {name} have shape {shape} or {(runs, *shape)}",
        f"shape {array.shape}",
        "start from DiagonalWeights.constant, or from weights that were trained on as many runs",
    )
    return np.broadcast_to(array, (runs, *shape))


def _checked_teachers(problem: Problem) -> list[np.ndarray] | None:
    """Validate and return the true coefficients of each task, shape (runs, d)."""
    if problem.teachers is None:
        return None
    shape = (problem.runs, problem.shape[0])
    rule = ArrayRule(Axes("...", False), "float", single=True)
    teachers = [rule("teachers", teacher, {}) for teacher in problem.teachers]
    for teacher in teachers:
        require(
            teacher.shape == shape,
            f"teachers have shape {shape} to go with the inputs",
            f"shape {teacher.shape}",
            "pass one in each run, along a leading axis of runs",
        )
    return teachers


def _require_room(problem: Problem, records: int, steps: int) -> None:
    """Require enough memory for the runs."""
    k, runs, d = len(problem.tasks), problem.runs, problem.shape[0]
    tested = 0 if problem.test is None else problem.test.count
    # Bytes of samples and moments in double precision, the path with its errors, and batches.
    run_bytes = 16.0 * d * (problem.count + k * d) + records * (32.0 * k * d + 16.0 * tested)
    batch = problem.training.batch
    run_bytes += 0.0 if batch is None else 12.0 * batch * steps
    result_bytes = 8.0 * runs * (records * (1 + 2 * k) + 4 * k * d)
    require_memory(
        result_bytes + min(runs, cores()) * run_bytes,
        "record fewer steps, or train fewer runs in a call",
    )
