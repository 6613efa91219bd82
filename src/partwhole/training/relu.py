"""Training of many two-layer ReLU networks, on one task or on several that share a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, seed_list, whole
from partwhole._door import door
from partwhole._threads import cores, in_threads
from partwhole._types import Real
from partwhole.networks import MLP
from partwhole.tasks.relu_teachers import ReLUTeacher
from partwhole.training._learning_inputs import (
    MEMORY_GIB,
    Options,
    Precision,
    Record,
    Task,
    Train,
    recorded,
    require_range,
)
from partwhole.training._learning_record import TrainingOutcome
from partwhole.training._relu_inputs import checked_teachers, layers, measure_of
from partwhole.training._relu_steps import Samples, Settings, Trace, Weights, descend, layouts_of
from partwhole.training.relu_runs import ReLURuns


@door(single=("inputs", "targets", "teachers", "test_inputs", "test_targets"))
def train_relu(
    inputs: Float[np.ndarray, "runs n d"],
    targets: Float[np.ndarray, "runs n"],
    initial: MLP,
    *,
    max_steps: int,
    learning_rate: Real = 0.1,
    threshold: Real = 1e-8,
    train: Train = "all",
    batch: int | None = None,
    seeds: Sequence[int] | Int[np.ndarray, " runs"] | None = None,
    weight_decay: Real = 0.0,
    teachers: Sequence[ReLUTeacher] | None = None,
    test_inputs: Float[np.ndarray, "*r m d"] | None = None,
    test_targets: Float[np.ndarray, "*r m"] | None = None,
    record: Record = "geometric",
    restarts: int = 0,
    precision: Precision = "float32",
    progress: bool = True,
) -> ReLURuns:
    r"""Train a two-layer ReLU network on each run's own samples by gradient descent.

    .. math:: L = \frac1n \sum_i (f(x_i) - y_i)^2 + \lambda |\theta|^2, \qquad
              f(x) = \sum_h v_h \max(0, w_h^\top x)

    Parameters
    ----------
    inputs : float array, shape (runs, n, d)
    targets : float array, shape (runs, n)
    initial : MLP
        Two layers without biases and one output: weights (h, d) and (1, h), the same for all runs,
        or a network for each run along a leading axis.
    max_steps : int, keyword-only
        With batches, those count.
    learning_rate : float, keyword-only, default 0.1
        The published runs take 0.1 in pretraining and 1 after it.
    threshold : float, keyword-only, default 1e-8
        A run ends at the first step whose mean square error is no larger; with batches, at the
        first such step that is recorded.
    train : {"all", "readout"}, keyword-only, default "all"
        "readout" leaves the hidden layer as it is.
    batch : int, keyword-only, default None
        Samples in a step, in an order drawn anew for each epoch, whose last batch may be smaller;
        None for all of them.
    seeds : sequence of int, keyword-only, default None
        One for each run, for the order of its batches.
    weight_decay : float, keyword-only, default 0
        Lambda.
    teachers : sequence of ReLUTeacher, keyword-only, default None
        One for each run: the test loss is the expected squared error, exact on normal inputs and
        on inputs that are uniform on a sphere :math:`|x|^2 = d`.
    test_inputs, test_targets : float arrays, keyword-only, default None
        Shapes (m, d) and (m,), or (runs, m, d) and (runs, m): a test set in place of teachers.
    record : "geometric", int or sequence of int, keyword-only, default "geometric"
        About 200 steps spaced geometrically; every so many steps; or the steps themselves. The
        last step is always added.
    restarts : int, keyword-only, default 0
        How often a run that diverges is started anew at a tenth of its learning rate, as in the
        published protocol.
    precision : {"float32", "float64"}, keyword-only, default "float32"
        In single precision test losses below 1e-8 don't compare across implementations.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    ReLURuns

    Raises
    ------
    InputError
        For arrays or networks that don't fit together or aren't finite, options that don't
        exist, and work that takes over 8 GiB.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), section 4 and their published code: 1,000 hidden units, d = 15,
    no momentum. A run counts as diverged above 100 times its first loss or the mean square of its
    targets, whichever is larger.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> from partwhole.tasks import ReLUTeachers
    >>> sample = ReLUTeachers(dimension=3, units_aux=1, correlations=[1]).sample(0, n_main=64)
    >>> built = Architecture(2, 20, "relu", bias=False, initial="he", scale=0.1)
    >>> start = built.networks(3, seeds=[0], outputs=1)
    >>> runs = train_relu(
    ...     sample.inputs[None], sample.targets[None], start, teachers=[sample.main],
    ...     max_steps=5000, learning_rate=0.5, threshold=1e-6,
    ... )
    >>> runs.outcomes[0].name, float(runs.final_loss[0].round(4))
    ('REACHED_THRESHOLD', 0.0)
    """
    options = Options(
        max_steps, learning_rate, threshold, train, weight_decay, restarts, precision, progress
    )
    task = Task.checked(inputs, targets, None, test_inputs, test_targets)
    require(
        task.test is None or teachers is None,
        "a test is teachers, or test_inputs together with test_targets",
        "both kinds",
        "pass teachers= where they are known",
    )
    found = _train(
        (task,),
        initial,
        None if teachers is None else [teachers],
        options,
        recorded(record, max_steps),
        batch,
        seeds,
    )
    tested = None if found.test_loss is None else found.test_loss[:, 0]
    return _alone(found, tested)


@door(single=("inputs", "targets"))
def train_relu_multitask(
    inputs: Sequence[Float[np.ndarray, "runs _ d"]],
    targets: Sequence[Float[np.ndarray, "runs _"]],
    initial: MLP,
    *,
    max_steps: int,
    learning_rate: Real = 0.1,
    threshold: Real = 1e-8,
    train: Train = "all",
    batch: int | None = None,
    seeds: Sequence[int] | Int[np.ndarray, " runs"] | None = None,
    weight_decay: Real = 0.0,
    teachers: Sequence[Sequence[ReLUTeacher]] | None = None,
    record: Record = "geometric",
    restarts: int = 0,
    precision: Precision = "float32",
    progress: bool = True,
) -> ReLURuns:
    r"""Train a two-layer ReLU network on several tasks, each with a readout of its own.

    The loss is one mean square over the samples of all tasks, so that a task weighs
    :math:`n_t / \sum_u n_u`. Batches are drawn from the samples of all tasks together; in each the
    mean over a task's samples has that same weight.

    Parameters
    ----------
    inputs, targets : sequences of float arrays, shapes (runs, n_t, d) and (runs, n_t)
        One for each task; tasks may differ in their numbers of samples.
    initial : MLP
        As in `train_relu`, with an output for each task: weights (h, d) and (k, h).
    max_steps, learning_rate, threshold, train, batch, seeds, weight_decay, record, restarts, \
precision, progress
        As in `train_relu`.
    teachers : sequence of sequences of ReLUTeacher, keyword-only, default None
        For each task one for each run.

    Returns
    -------
    ReLURuns
        With an axis of tasks.

    Raises
    ------
    InputError
        As `train_relu`, and for tasks that disagree in runs or features.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), section 4 and their published code.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> from partwhole.tasks import ReLUTeachers
    >>> sample = ReLUTeachers(3, 1, correlations=[1]).sample(0, n_main=16, n_aux=64)
    >>> built = Architecture(2, 20, "relu", bias=False, initial="he", scale=0.1)
    >>> runs = train_relu_multitask(
    ...     [sample.aux_inputs[None], sample.inputs[None]],
    ...     [sample.aux_targets[None], sample.targets[None]],
    ...     built.networks(3, seeds=[0], outputs=2), max_steps=100,
    ... )
    >>> runs.task_loss.shape[:2]
    (1, 2)
    """
    options = Options(
        max_steps, learning_rate, threshold, train, weight_decay, restarts, precision, progress
    )
    counts = [len(inputs), len(targets), *([] if teachers is None else [len(teachers)])]
    require(
        counts[0] >= 1 and len({*counts}) == 1,
        "each task has inputs, targets and, if there are any, teachers",
        ", ".join(map(str, counts)),
        "pass lists of one length",
    )
    tasks = tuple(
        Task.checked(x, y, None, None, None) for x, y in zip(inputs, targets, strict=True)
    )
    return _train(tasks, initial, teachers, options, recorded(record, max_steps), batch, seeds)


def _train(
    tasks: tuple[Task, ...],
    initial: MLP,
    teachers: Sequence[Sequence[ReLUTeacher]] | None,
    options: Options,
    kept: Int[np.ndarray, " T"],
    batch: int | None,
    seeds: Sequence[int] | np.ndarray | None,
) -> ReLURuns:
    """Train all runs; arrays of the result have an axis of tasks."""
    runs, _, d = tasks[0].inputs.shape
    hidden, readout = layers(initial, d, len(tasks), runs)
    known = checked_teachers(teachers, tasks)
    order = _order_seeds(batch, seeds, runs)
    sizes = np.array([task.inputs.shape[1] for task in tasks])
    workers = min(runs, cores())
    require_range(tasks, options)
    _require_memory(int(sizes.sum()), hidden.shape[1], runs, workers, options)
    dtype = np.dtype(options.precision)
    own = np.repeat(np.eye(len(tasks), dtype=dtype), sizes, axis=0)
    rates = np.full(runs, float(options.learning_rate))

    def one(run: int) -> Trace:
        x = np.concatenate([task.inputs[run] for task in tasks])
        y = np.concatenate([task.targets[run] for task in tasks])
        return descend(
            Weights(np.ascontiguousarray(hidden[run].T), readout[run]),
            Samples(x.astype(dtype), y.astype(dtype), own),
            Settings(
                float(rates[run]),
                float(options.weight_decay),
                float(options.threshold),
                float(np.mean(y.astype(float) ** 2)),
            ),
            kept,
            readout_only=options.train == "readout",
            layouts=None if batch is None else layouts_of(own, batch, order[run]),
            measure=measure_of(run, known, tasks[0].test),
        )

    found = in_threads(one, range(runs), workers, options.progress)
    for _ in range(options.restarts):
        again = [run for run in range(runs) if found[run].diverged]
        rates[again] /= 10.0
        found |= in_threads(one, again, workers, options.progress)
    traces = [found[run] for run in range(runs)]
    losses = np.stack([trace.losses.T for trace in traces])
    tested = [trace.tested.T for trace in traces if trace.tested is not None]
    with np.errstate(all="ignore"):  # of runs that diverged
        total = np.einsum("k,rkt->rt", sizes / sizes.sum(), losses)
    with jax.enable_x64(dtype == np.float64):
        weights = (
            jnp.asarray(np.stack([np.ascontiguousarray(t.weights.hidden.T) for t in traces])),
            jnp.asarray(np.stack([t.weights.readout for t in traces])),
        )
    return ReLURuns(
        steps=kept,
        training_loss=total,
        task_loss=losses,
        test_loss=np.stack(tested) if tested else None,
        end_steps=np.array([trace.step for trace in traces]),
        learning_rates=rates,
        threshold=float(options.threshold),
        outcomes=tuple(_outcome(*each, options) for each in zip(traces, total[:, -1], strict=True)),
        networks=MLP(weights, None, "relu"),
    )


def _alone(found: ReLURuns, tested: np.ndarray | None) -> ReLURuns:
    """Leave out the axis of tasks, of which there is one."""
    return replace(found, task_loss=found.task_loss[:, 0], test_loss=tested)


def _order_seeds(
    batch: int | None, seeds: Sequence[int] | np.ndarray | None, runs: int
) -> tuple[int, ...]:
    if batch is None:
        require(seeds is None, "seeds decide batches", "seeds without batch", "leave them out")
        return ()
    whole("batch", batch, 1, "leave it None for all samples in each step")
    rule = f"training in batches takes a seed for each of {runs} runs"
    chosen = seed_list(() if seeds is None else seeds, rule)
    require(len(chosen) == runs, rule, f"{len(chosen)}", f"pass seeds=range({runs})")
    return chosen


def _require_memory(n: int, h: int, runs: int, workers: int, options: Options) -> None:
    """Refuse work that takes more memory than there may be."""
    size = np.dtype(options.precision).itemsize
    needed = (workers * 4.0 * size * n * h + runs * 4.0 * size * h) / 2**30
    require(
        needed <= MEMORY_GIB,
        f"training takes up to {MEMORY_GIB:g} GiB beside the samples",
        f"about {needed:.0f}",
        "pass a batch, or train fewer samples or units",
    )


def _outcome(trace: Trace, loss: float, options: Options) -> TrainingOutcome:
    if trace.diverged:
        return TrainingOutcome.DIVERGED
    # In the precision of the training, in which the two were compared.
    reached = loss <= options.threshold or trace.step < options.max_steps
    return TrainingOutcome.REACHED_THRESHOLD if reached else TrainingOutcome.REACHED_MAX_STEPS
