"""Training of many diagonal networks at once, on one task or on several that share a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, seed_list, whole
from partwhole._door import door
from partwhole._threads import cores, in_threads
from partwhole._types import Real
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.training._diagonal_steps import Settings, Trace, descend, prepare
from partwhole.training._learning_inputs import (
    Options,
    Precision,
    Record,
    Task,
    Train,
    recorded,
    require_memory,
    spread,
)
from partwhole.training._learning_record import TrainingOutcome
from partwhole.training.diagonal_runs import DiagonalRuns
from partwhole.training.protocol import Protocol, batch_order


@door(single=("inputs", "targets", "teachers", "test_inputs", "test_targets"))
def train_diagonal(
    inputs: Float[np.ndarray, "runs n d"],
    targets: Float[np.ndarray, "runs n"],
    initial: DiagonalWeights,
    *,
    max_steps: int,
    learning_rate: Real = 0.1,
    threshold: Real = 1e-10,
    train: Train = "all",
    batch: int | None = None,
    seeds: Sequence[int] | Int[np.ndarray, " runs"] | None = None,
    weight_decay: Real = 0.0,
    teachers: Float[np.ndarray, "runs d"] | None = None,
    test_inputs: Float[np.ndarray, "*r m d"] | None = None,
    test_targets: Float[np.ndarray, "*r m"] | None = None,
    record: Record = "geometric",
    restarts: int = 0,
    precision: Precision = "float32",
    progress: bool = True,
) -> DiagonalRuns:
    r"""Train a diagonal network on each run's own samples by gradient descent.

    .. math:: L = \frac1n |X \beta - y|^2 + \lambda |\theta|^2, \qquad
              \beta = w_+ \circ v_+ - w_- \circ v_-

    Parameters
    ----------
    inputs : float array, shape (runs, n, d)
    targets : float array, shape (runs, n)
    initial : DiagonalWeights
        Each (d,), the same for all runs, or (runs, d).
    max_steps : int, keyword-only
    learning_rate : float, keyword-only, default 0.1
    threshold : float, keyword-only, default 1e-10
        A run ends at the first step whose mean square error is no larger; with batches, at the
        first such step that is recorded.
    train : {"all", "readout"}, keyword-only, default "all"
        "readout" leaves the hidden layer as it is: linear probing.
    batch : int, keyword-only, default None
        Samples in a step, in an order drawn anew for each epoch, whose last batch may be smaller;
        None for all of them.
    seeds : sequence of int, keyword-only, default None
        One for each run, for the order of its batches.
    weight_decay : float, keyword-only, default 0
        Lambda. L is twice :math:`\frac12 \mathrm{MSE} + \frac12 \lambda |\theta|^2`, whose least
        value is that of :math:`\frac12 \mathrm{MSE} + \lambda \sum_i |\beta_i|`.
    teachers : float array, shape (runs, d), keyword-only, default None
        The true coefficients, for the test loss :math:`|\beta - \beta^*|^2`: the expected squared
        error on inputs that are uncorrelated and of mean square 1.
    test_inputs, test_targets : float arrays, keyword-only, default None
        Shapes (m, d) and (m,), or (runs, m, d) and (runs, m): a test set in place of teachers.
    record : "geometric", int or sequence of int, keyword-only, default "geometric"
        About 200 steps spaced geometrically; every so many steps (the published runs: 50); or the
        steps themselves. The last step is always added.
    restarts : int, keyword-only, default 0
        How often a run that diverges is started anew at a tenth of its learning rate, as in the
        published protocol.
    precision : {"float32", "float64"}, keyword-only, default "float32"
        In single precision the training loss may stall between 1e-9 and 1e-7.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    DiagonalRuns

    Raises
    ------
    InputError
        For arrays that don't fit together or aren't finite, options that don't exist, and work
        that takes over 8 GiB.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), section 3 and their published code: no momentum. A run counts
    as diverged above 100 times its first loss or the mean square of its targets, whichever is
    larger; the published runs above 100, with targets of mean square 1.

    Examples
    --------
    >>> inputs, teacher = np.eye(3)[None] * np.sqrt(3), np.array([[1.0, 0.0, 0.0]])
    >>> start = DiagonalWeights.constant(3, 0.01)
    >>> runs = train_diagonal(
    ...     inputs, np.sqrt(3) * teacher, start, teachers=teacher, max_steps=500
    ... )
    >>> runs.outcomes[0].name, runs.coefficients.round(4).tolist()
    ('REACHED_THRESHOLD', [[1.0, 0.0, 0.0]])
    """
    options = Options(
        max_steps, learning_rate, threshold, train, weight_decay, restarts, precision, progress
    )
    task = Task.checked(inputs, targets, teachers, test_inputs, test_targets)
    runs, _, d = task.inputs.shape
    weights = DiagonalWeights(
        *(spread(name, each, (d,), runs) for name, each in initial._asdict().items())
    )
    weights = weights._replace(
        readout_plus=weights.readout_plus[:, None], readout_minus=weights.readout_minus[:, None]
    )
    chosen: tuple[int, ...] = ()
    if batch is not None:
        whole("batch", batch, 1, "leave it None for all samples in each step")
        rule = f"training in batches takes a seed for each of {runs} runs"
        require(seeds is not None, rule, "none", f"pass seeds=range({runs})")
        chosen = seed_list(seeds, rule)
        require(len(chosen) == runs, rule, f"{len(chosen)}", f"pass seeds=range({runs})")
    else:
        require(seeds is None, "seeds decide batches", "seeds without batch", "leave them out")
    found = _train((task,), weights, options, recorded(record, max_steps), batch, chosen)
    alone = DiagonalWeights(*(each[:, 0] for each in found.weights))
    test = None if found.test_loss is None else found.test_loss[:, 0]
    return replace(found, task_loss=found.task_loss[:, 0], test_loss=test, weights=alone)


@door(single=("inputs", "targets", "teachers"))
def train_multitask(
    inputs: Sequence[Float[np.ndarray, "runs _ d"]],
    targets: Sequence[Float[np.ndarray, "runs _"]],
    initial: DiagonalWeights,
    *,
    max_steps: int,
    learning_rate: Real = 0.1,
    threshold: Real = 1e-10,
    train: Train = "all",
    weight_decay: Real = 0.0,
    teachers: Sequence[Float[np.ndarray, "runs d"]] | None = None,
    record: Record = "geometric",
    restarts: int = 0,
    precision: Precision = "float32",
    progress: bool = True,
) -> DiagonalRuns:
    r"""Train a diagonal network on several tasks, each with a readout of its own.

    The loss is one mean square over the samples of all tasks, so that a task weighs
    :math:`n_t / \sum_u n_u`.

    Parameters
    ----------
    inputs, targets : sequences of float arrays, shapes (runs, n_t, d) and (runs, n_t)
        One for each task; tasks may differ in their numbers of samples.
    initial : DiagonalWeights
        Hidden (d,) or (runs, d), readouts (k, d) or (runs, k, d).
    max_steps, learning_rate, threshold, train, weight_decay, record, restarts, precision, progress
        As in `train_diagonal`. With weight decay the objective is least where
        :math:`\frac12 \mathrm{MSE} + \lambda \sum_i |(\beta_{1i}, \dots, \beta_{ki})|_2` is.
    teachers : sequence of float arrays, shape (runs, d), keyword-only, default None
        The true coefficients of each task.

    Returns
    -------
    DiagonalRuns
        With an axis of tasks.

    Raises
    ------
    InputError
        As `train_diagonal`, and for tasks that disagree in runs or features.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), section 3 and their published code. Without weight decay
    gradient descent does not end at the least group norm, however small it starts.

    Examples
    --------
    >>> inputs, teacher = np.eye(3)[None] * np.sqrt(3), np.array([[1.0, 0.0, 0.0]])
    >>> start = DiagonalWeights.constant(3, 0.01, n_tasks=2)
    >>> runs = train_multitask(
    ...     [inputs, inputs[:, :1]],
    ...     [np.sqrt(3) * teacher, -np.sqrt(3) * teacher[:, :1]],
    ...     start,
    ...     max_steps=500,
    ... )
    >>> runs.coefficients[0].round(4).tolist()
    [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]
    """
    options = Options(
        max_steps, learning_rate, threshold, train, weight_decay, restarts, precision, progress
    )
    k = len(inputs)
    rule = "each task has inputs, targets and, if there are any, teachers"
    counts = [k, len(targets), *([] if teachers is None else [len(teachers)])]
    got = ", ".join(map(str, counts))
    require(k >= 1 and len({*counts}) == 1, rule, got, "pass lists of one length")
    true = [None] * k if teachers is None else teachers
    tasks = tuple(
        Task.checked(x, y, t, None, None) for x, y, t in zip(inputs, targets, true, strict=True)
    )
    runs, _, d = tasks[0].inputs.shape
    weights = DiagonalWeights(
        *(
            spread(name, each, (k, d) if "readout" in name else (d,), runs)
            for name, each in initial._asdict().items()
        )
    )
    return _train(tasks, weights, options, recorded(record, max_steps))


def _train(
    tasks: tuple[Task, ...],
    weights: DiagonalWeights,
    options: Options,
    kept: Int[np.ndarray, " T"],
    batch: int | None = None,
    seeds: tuple[int, ...] = (),
) -> DiagonalRuns:
    """Train all runs; arrays of the result have an axis of tasks."""
    runs = len(tasks[0].inputs)
    workers = min(runs, cores())
    require_memory(tasks, len(kept), options, batch, workers)
    sizes = np.array([task.inputs.shape[1] for task in tasks])
    shares, dtype = sizes / sizes.sum(), np.dtype(options.precision)
    rates = np.full(runs, float(options.learning_rate))

    def one(run: int) -> tuple[Trace, np.ndarray | None]:
        samples = [(task.inputs[run], task.targets[run]) for task in tasks]
        steps = options.max_steps if batch is None else 0
        found = descend(
            DiagonalWeights(*(each[run] for each in weights)),
            tuple(prepare(*each, steps, dtype) for each in samples),
            shares,
            Settings(
                float(rates[run]),
                float(options.weight_decay),
                float(options.threshold),
                float(shares @ [np.mean(y**2) for _, y in samples]),
            ),
            kept,
            readout_only=options.train == "readout",
            batches=None
            if batch is None
            else _order(batch, seeds[run], int(sizes[0]), options.max_steps),
        )
        path = found.coefficients.astype(float)
        errors = [task.errors(run, path[:, place]) for place, task in enumerate(tasks)]
        told = (
            None if errors[0] is None else np.stack([each for each in errors if each is not None])
        )
        # The paths of all runs would not fit.
        return found._replace(coefficients=path[:0]), told

    # One run a core. Milliseconds for a network of d = 1,000 with n = 256 and 1,000 steps, on two
    # cores with little other work: 10 in threads, 21 one scan after another, 16 to 34 in chunked
    # maps; `benchmarks/bench_diagonal.py` measures them all.
    found = in_threads(one, range(runs), workers, options.progress)
    for _ in range(options.restarts):
        again = [run for run in range(runs) if found[run][0].diverged]
        rates[again] /= 10.0
        found |= in_threads(one, again, workers, options.progress)
    traces = [found[run][0] for run in range(runs)]
    errors = [found[run][1] for run in range(runs)]
    losses = np.stack([trace.losses.T for trace in traces]).astype(float)
    final = DiagonalWeights(
        *(np.stack(each).astype(float) for each in zip(*(t.weights for t in traces), strict=True))
    )
    final = final._replace(
        hidden_plus=final.hidden_plus[:, None], hidden_minus=final.hidden_minus[:, None]
    )
    with np.errstate(all="ignore"):  # of runs that diverged
        total = np.einsum("k,rkt->rt", shares, losses)
    tested = None if errors[0] is None else np.stack([each for each in errors if each is not None])
    return DiagonalRuns(
        steps=kept,
        training_loss=total,
        task_loss=losses,
        test_loss=tested,
        end_steps=np.array([int(trace.step) for trace in traces]),
        learning_rates=rates,
        threshold=float(options.threshold),
        outcomes=tuple(_outcome(*each, options) for each in zip(traces, total[:, -1], strict=True)),
        weights=final,
    )


def _outcome(trace: Trace, loss: float, options: Options) -> TrainingOutcome:
    if trace.diverged:
        return TrainingOutcome.DIVERGED
    # In the precision of the training, in which the two were compared.
    reached = loss <= options.threshold or int(trace.step) < options.max_steps
    return TrainingOutcome.REACHED_THRESHOLD if reached else TrainingOutcome.REACHED_MAX_STEPS


def _order(batch: int, seed: int, n: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the batches, and what each weighs, for so many steps or a few more."""
    batch = min(batch, n)
    epochs = -(-steps // -(-n // batch))
    return batch_order(Protocol(epochs=epochs, batch=batch, shuffle="every epoch"), n, seed)
