"""One trainer for networks of every family, and the table of its engines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._threads import cores, in_threads
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.networks import GatedNetwork, ImageNetwork
from partwhole.networks.diffusion import DiffusionModel
from partwhole.networks.diffusion.schedule import ScheduleWarning
from partwhole.networks.mlp import MLP
from partwhole.tasks import StructuredIdentity
from partwhole.tasks.identity_sample import IdentitySample
from partwhole.tasks.images.composites import Composites
from partwhole.training.checkpoints import require_resumable
from partwhole.training.concepts import ConceptAnswers, DrawnSamples, concept_problem
from partwhole.training.devices import on_devices
from partwhole.training.diffusion import train as diffusion
from partwhole.training.diffusion.problem import DiffusionProblem, checked_diffusion_problem
from partwhole.training.diffusion.records import DiffusionRecords
from partwhole.training.diffusion.sampling import Sampling
from partwhole.training.engines import diagonal, gated, layered, side_by_side, two_layers
from partwhole.training.following import Follower, Following, Report, report_progress
from partwhole.training.images import train as images
from partwhole.training.images.problem import ImageProblem, checked_image_problem
from partwhole.training.losses import LABELS
from partwhole.training.outcome import Outcome
from partwhole.training.problem import Data, Networks, Pair, Problem, Teachers, checked_problem
from partwhole.training.results import ImageRecords, Runs, Scores, Trace
from partwhole.training.training import FLOW, RATED, Training
from partwhole.training.usage import peak_memory


class Engine(NamedTuple):
    """A way to take the steps of some networks for some trainings, with measured times.

    `start` returns a function of a run, its learning rate and `Report`; where several runs are
    trained in a call, of the runs, the rates of all and `Report`.
    """

    of: str
    serves: Callable[[Problem], bool]
    start: Callable[[Any], Callable[..., Any]]
    together: bool = False


def _is_diagonal(problem: Problem) -> bool:
    return isinstance(problem.networks, DiagonalWeights)


def _is_plain(problem: Problem) -> bool:
    """Return whether training is plain descent on the squared loss, at most with weight decay."""
    training = problem.training
    return (training.loss, training.optimiser, training.momentum, training.late_factor) == (
        "squared", "sgd", 0, 1
    ) and training.parametrisation == "standard" and training.clip is None  # fmt: skip


def _learns_concepts(problem: Problem) -> bool:
    return bool(problem.tasks) and isinstance(problem.tasks[0], DrawnSamples)


def _is_two_layered(problem: Problem) -> bool:
    """Return whether networks have two layers, and options beyond full-batch training are used."""
    training = problem.training
    if _learns_concepts(problem):
        return False
    has_extras = problem.several or problem.teachers is not None or problem.test is not None
    has_extras = has_extras or training.batch is not None or training.trained == "readout"
    return has_extras and _is_plain(problem) and all(map(two_layers.serves, problem.every))


def _is_gated(problem: Problem) -> bool:
    training = problem.training
    of_labels = training.optimiser in ("sgd", FLOW) and training.loss in LABELS
    plain = training.weight_decay == 0 and training.trained == "all" and training.clip is None
    return of_labels and plain and not problem.several and problem.teachers is None and all(
        isinstance(network, GatedNetwork) for network in problem.every
    )  # fmt: skip


def _is_one_task(problem: Problem) -> bool:
    training = problem.training
    plain = training.trained == "all" and training.late_factor == 1 and training.optimiser != FLOW
    return plain and not (problem.several or problem.teachers is not None or _is_diagonal(problem))


def _is_side_by_side(problem: Problem) -> bool:
    """Return whether dense networks learn a structured identity task for a number of steps."""
    training = problem.training
    to_the_end = training.weight_decay == 0 == training.threshold and training.trained == "all"
    of_concepts = _learns_concepts(problem) and isinstance(problem.networks, MLP)
    return of_concepts and to_the_end and _is_plain(problem)


# The first that serves is used. Measured times are in the files of the engines.
ENGINES = (
    Engine("diagonal networks on squares, by sgd", lambda p: _is_diagonal(p) and _is_plain(p),
           diagonal.engine),
    Engine("two-layer ReLU networks without biases on squares, by sgd, on one task or several, "
           "with batches, a test or a readout alone", _is_two_layered, two_layers.engine),
    Engine("gated networks on labels, by sgd or the normalised flow", _is_gated, gated.engine),
    Engine("image networks in epochs of batches, by any optimiser",
           lambda p: isinstance(p, ImageProblem), images.engine),
    Engine("dense networks on structured identity, by sgd for a number of steps",
           _is_side_by_side, side_by_side.engine, together=True),
    Engine("diffusion models on their bits, by any optimiser",
           lambda p: isinstance(p, DiffusionProblem), diffusion.engine),
    Engine("any network on all of one task, by any optimiser", _is_one_task, layered.engine),
)  # fmt: skip


@door(single=("read", "data", "test", "teachers"))
def train(
    networks: Networks | DiffusionModel | Sequence[DiffusionModel],
    data: Data | Composites | StructuredIdentity | IdentitySample,
    training: Training,
    *,
    read: Float[np.ndarray, "m *shape"] | Sampling | None = None,
    teachers: Teachers | None = None,
    test: Pair | Composites | Mapping[str, Pair | Composites] | None = None,
    checkpoint: Path | str | None = None,
    resume: bool | None = None,
    follow: Follower | Sequence[Follower] = (),
    progress: bool = True,
) -> Runs:
    r"""Train networks of any family, a run each.

    Parameters
    ----------
    networks : Network or DiffusionModel, a sequence of either, or DiagonalWeights
        The same for all runs, one for each along a leading axis (`Architecture.networks`), or a
        sequence of them. They are left as they are.
    data : pair of float arrays, list of pairs, Composites, StructuredIdentity or IdentitySample
        Inputs of shape (n, ...) for all runs or (runs, n, ...), and targets of shape (n,) or (n, k)
        alike. In a list, a pair for each task: diagonal networks and two-layer ReLU networks
        without biases learn several, each with a readout of its own, and each weighs as much as its
        share of all samples. For image networks images of shape (n, h, w, c) with their targets,
        or composites, which bring theirs (`tasks.compose_images`); classes of the loss "cross
        entropy" have shape (n,), or (n, q) for several questions. Of a structured identity task
        each run draws a sample with its own seed of `Training`; an `IdentitySample` serves all. For
        diffusion models samples, images from 0 to 1 or vectors, and the condition of each, shape
        (n, condition), or (n, words) for tokens.
    training : Training
    read : float array, shape (m, ...), or Sampling, keyword-only, default None
        Inputs at which networks are read at every recorded step; on a structured identity task
        None for its probe, the unseen combination. The samples that are drawn from diffusion models
        at these steps.
    teachers : keyword-only, default None
        The true functions, for the test loss: of diagonal networks coefficients, shape (runs, d),
        and :math:`|\beta - \beta^*|^2`, the expected squared error on inputs that are uncorrelated
        and of mean square 1; of two-layer ReLU networks a `ReLUTeacher` for each run, exact on
        normal inputs and on inputs that are uniform on a sphere :math:`|x|^2 = d`. In a list, one
        for each task.
    test : pair of float arrays, Composites, or mapping of str to either; default None
        Inputs and targets as in `data`, in place of teachers. Image networks are scored on each
        set of a mapping, by name.
    checkpoint : Path or str, keyword-only, default None
        For one image network or diffusion model: a file that is written about once a minute, and at
        the end, with three or four times the memory of the weights and what is recorded. If it
        exists, training resumes from it: the final weights, and samples and coordinates, equal
        those of an uninterrupted run, bit by bit, on the same machine with as many threads. Also a
        run that has ended goes on, with more steps or epochs and the same recorded ones until then,
        and equals one run of that length; not by a transformation of optax whose learning rate
        depends on the length, which is recognised by its updates at 36 steps up to 196,608. A
        decoder is recognised by its output for some training samples.
    resume : bool, keyword-only, default None
        Whether to resume from the checkpoint: None where its file exists; True requires the file,
        and False begins anew, which removes it.
    follow : callable, or sequence of callables, keyword-only, default ()
        Called with a `StepRecord` on the way: `CSVLog`, `JSONLines`, `TensorBoard` or a function of
        yours. Image networks send one at the end of every epoch, diffusion models every hundred
        steps, and all networks at the recorded steps, with what is scored there; diagonal networks
        and dense ones on structured identity tasks when a run, or several runs together, have
        ended. Runs may take turns; an error in a callable ends training.
    progress : bool, keyword-only, default True
        Whether to show a bar with a loss and the time left on the error stream once this takes
        over two seconds; where that is no terminal, a line every half minute.

    Returns
    -------
    Runs

    Raises
    ------
    InputError
        For arrays or networks that don't fit together or aren't finite, options that no engine in
        `ENGINES` supports, work that takes over 8 GiB, of image networks and diffusion models over
        the memory that is free (`training.memory`, by an estimate that is at most twice too large),
        a checkpoint that is damaged, of another run or of another decoder, or in a folder that
        does not exist, `resume` without one, what can't be called in `follow`, and logs that can't
        be written or are of another training.

    Warns
    -----
    ScheduleWarning
        Where a diffusion model's learned schedule leaves over a tenth of a sample at time 1, at
        which sampling starts from noise alone.

    Notes
    -----
    The published trainings: Lippl & Stachenfeld (ICLR 2025), dense networks of 1,000 hidden units
    on one-hot inputs, all samples in each step. Lippl & Lindsey (NeurIPS 2024), sections 3 and 4,
    diagonal and two-layer ReLU networks without momentum; without weight decay several tasks do not
    end at the least group norm, however small their networks start, and with it the objective is
    least where :math:`\frac12 \mathrm{MSE} + \lambda \sum_i |(\beta_{1i}, \dots, \beta_{ki})|_2`
    is. Lippl, Abbott & Chung (2022), gated networks: ``Training(steps=3200, loss="logistic",
    learning_rate=0.04, late_factor=0.25, batch=128)``, far from the limit, as margins grow with the
    logarithm of the steps; the normalised flow continues from there. A run counts as diverged above
    100 times its first loss, of image networks that of the first batch, or the mean square of its
    targets, whichever is larger.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> start = Architecture(2, 50, "relu", initial="he", scale=1.0).networks(
    ...     2, seeds=range(3), outputs=1
    ... )
    >>> x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> training = Training(steps=2000, learning_rate=0.05, threshold=1e-4)
    >>> runs = train(start, (x, y), training, read=x)
    >>> runs.outcomes[0].name, runs.answers[:, -1, :, 0].round(1).tolist()
    ('REACHED_THRESHOLD', [[1.0, -1.0], [1.0, -1.0], [1.0, -1.0]])

    A diagonal network learns a sparse teacher, a gated one the largest margin of exclusive or:

    >>> from partwhole.limits import DiagonalWeights, solve
    >>> inputs, teacher = np.eye(3)[None] * np.sqrt(3), np.array([[1.0, 0.0, 0.0]])
    >>> small = DiagonalWeights.constant(3, 0.01)
    >>> training = Training(steps=500, learning_rate=0.1, threshold=1e-10)
    >>> runs = train(small, (inputs, np.sqrt(3) * teacher), training, teachers=teacher)
    >>> runs.networks.coefficients.round(4).tolist()
    [[1.0, 0.0, 0.0]]
    >>> from partwhole.features import HalfspaceGates
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)])
    >>> y, gates = np.sign(x[:, 0] * x[:, 1]), HalfspaceGates.random(3, n_units=20)
    >>> network = GatedNetwork.draw(3, [gates, 1], seed=0)
    >>> training = Training(steps=5000, loss="exponential", optimiser="normalised flow")
    >>> runs = train([network], (x, y), training)
    >>> limit = solve((x, y), gates, fit="margin", intercept="none")
    >>> bool(runs.fraction_of(limit)[0, -1] > 0.97)
    True

    A diffusion model draws samples for a prompt on the way:

    >>> from partwhole.networks.diffusion import diffusion_model
    >>> from partwhole.training import Prompt
    >>> points = np.random.default_rng(0).normal(size=(100, 2))
    >>> read = Sampling({"far": Prompt(conditions=np.full((4, 2), 3.0))}, lambda x: x, steps=5)
    >>> training = Training.published("diffusion", steps=20, record=[0, 20])
    >>> runs = train(
    ...     diffusion_model("vector", condition=2, seed=0), (points, points), training, read=read
    ... )
    >>> runs.steps.tolist(), runs.diffusion.coordinates["far"].shape
    ([0, 20], (1, 2, 4, 2))
    """
    problem = problem_of(networks, data, training, read, teachers, test, checkpoint)
    return train_problem(problem, progress, resume=resume, follow=follow)


def train_problem(
    problem: Problem, progress: bool, *, resume: bool | None = None,
    follow: Follower | Sequence[Follower] = (),
) -> Runs:  # fmt: skip
    """Train the networks of a problem by the first engine that serves it."""
    following, engine = Following(problem, follow), _engine(problem)
    checkpoint = getattr(problem, "checkpoint", None)
    require_resumable(checkpoint, resume)
    start = engine.start(problem)
    runs, rates, steps = problem.runs, problem.rates, problem.steps

    def trained(run_numbers: Sequence[int]) -> dict[int, Trace]:
        # These networks take a device, or all cores, for themselves: several on one take longer.
        alone = isinstance(problem, ImageProblem | DiffusionProblem)
        workers = min(runs, jax.local_device_count() if alone else cores())
        with report_progress(len(run_numbers), steps, progress) as advance:
            report = Report(following, advance)
            if engine.together:
                return start(run_numbers, rates, report)

            def train_run(run: int) -> Trace:
                return start(run, float(rates[run]), report.of(run))

            place = on_devices if alone and workers > 1 else lambda train_run: train_run
            return in_threads(place(train_run), run_numbers, workers, False)

    with following.logs():
        if resume is False and checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
        traces = trained(range(runs))
        for _ in range(problem.training.restarts):
            diverged_runs = [run for run in range(runs) if traces[run].diverged]
            if not diverged_runs:
                break
            rates[diverged_runs] /= 10.0
            traces |= trained(diverged_runs)
    usage = {"seconds": following.seconds, "peak_memory": peak_memory()}
    return _gathered(problem, [traces[run] for run in range(runs)], rates, usage)


def problem_of(
    networks: Any, data: Any, training: Training, read: np.ndarray | Sampling | None,
    teachers: Any, test: Any, checkpoint: Path | str | None,
) -> Problem:  # fmt: skip
    """Return the problem, with images for image networks and conditions for diffusion models."""
    first = networks[0] if isinstance(networks, list | tuple) and networks else networks
    title = type(first).__name__
    of_diffusion = isinstance(first, DiffusionModel)
    require(
        of_diffusion == (training.loss == "bits"),
        "diffusion models are trained by the loss 'bits', and no other networks are",
        f"{training.loss!r} for {title}",
        "pass loss='bits'" if of_diffusion else "take the loss 'squared', say",
    )
    if of_diffusion:
        require(
            teachers is None and test is None,
            "diffusion models are tested by bits_per_dimension",
            "a test" if teachers is None else "teachers",
            "leave it out",
        )
        return checked_diffusion_problem(networks, data, training, read, checkpoint)
    rule = "samples are drawn from diffusion models"
    require(not isinstance(read, Sampling), rule, f"Sampling for {title}", "pass inputs to read")
    assert not isinstance(read, Sampling)
    if isinstance(first, ImageNetwork):
        rule = "the test of image networks is samples, since their true function has no formula"
        require(teachers is None, rule, "teachers", "pass test=")
        return checked_image_problem(networks, data, training, read, test, checkpoint)
    augmented = training.crop > 0 or training.flip
    require(
        checkpoint is None and not augmented,
        "crop and flip are of image networks, a checkpoint is of these or of a diffusion model",
        f"{'crop or flip' if augmented else 'a checkpoint'} for {title}",
        "leave it out",
    )
    if isinstance(data, (StructuredIdentity, IdentitySample)):
        option = "teachers" if teachers is not None else "a test"
        rule = "networks on a structured identity task are read at points, by read="
        require(teachers is None and test is None, rule, option, "leave it out")
        return concept_problem(networks, data, training, read)
    for name, value in (("data", data), ("test", test)):
        require(
            not isinstance(value, Composites)
            and not (name == "test" and isinstance(value, Mapping)),
            "composites, and tests by name, are of image networks",
            f"a {type(value).__name__} as {name} for {title}",
            "pass one pair (inputs, targets)",
        )
    return checked_problem(networks, data, training, read, teachers, test)


def _engine(problem: Problem) -> Engine:
    """Return the first engine that serves a problem."""
    first = next((engine for engine in ENGINES if engine.serves(problem)), None)
    training = problem.training
    extras = (
        (problem.several, "several tasks"),
        (problem.teachers is not None, "teachers"),
        (training.trained == "readout", "a readout alone"),
        (training.late_factor != 1, "a late factor"),
        (training.clip is not None, "a clipped gradient"),
        (not isinstance(training.optimiser, str), "a transformation of optax"),
    )
    kind = "DiagonalWeights" if _is_diagonal(problem) else type(problem.every[0]).__name__
    optimiser = training.optimiser if isinstance(training.optimiser, str) else "optax"
    description = [
        kind,
        f"the loss {training.loss!r}",
        optimiser,
        *(word for has, word in extras if has),
    ]
    require(
        first is not None,
        "trained are " + "; ".join(engine.of for engine in ENGINES),
        ", ".join(description),
        "leave out what is of other networks",
    )
    assert first is not None
    return first


def _gathered(
    problem: Problem, traces: list[Trace], rates: Float[np.ndarray, " runs"], usage: dict[str, Any]
) -> Runs:
    """Return the results of all runs."""
    training = problem.training
    steps, last = problem.stops, problem.steps
    losses = np.stack([trace.losses.T for trace in traces])
    with np.errstate(all="ignore"):  # of runs that diverged
        total = np.einsum("k,rkt->rt", problem.shares, losses)
    tested = _stacked([trace.tested for trace in traces])
    labels = _stacked([trace.labels for trace in traces])
    times, ends = _stacked([trace.times for trace in traces]), np.array([t.step for t in traces])
    if times is None and training.optimiser == "sgd" and training.clip is None:
        times = rates[:, None] * np.minimum(steps, ends[:, None]) / (1.0 - training.momentum)
    tests = None if tested is None else np.swapaxes(tested, 1, 2)
    task_axis = np.s_[:] if problem.several else np.s_[:, 0]
    return Runs(
        training=training,
        start=problem.networks,
        networks=problem.together([trace.network for trace in traces]),
        steps=steps,
        times=times,
        training_loss=total,
        task_loss=losses[task_axis],
        test_loss=None if tests is None else tests[task_axis],
        answers=_stacked([trace.answers for trace in traces]),
        log_loss=None if labels is None else labels[:, :, 0],
        margins=None if labels is None else labels[:, :, 1],
        training_error=None if labels is None else labels[:, :, 2],
        end_steps=ends,
        learning_rates=rates if training.optimiser in RATED else None,
        outcomes=tuple(
            _outcome(trace, float(loss), training, last)
            for trace, loss in zip(traces, total[:, -1], strict=True)
        ),
        concept_answers=_of_concepts(problem, traces),
        diffusion=_of_diffusion(problem, traces),
        seeds=problem.seeds,
        **usage,
        **_of_images(problem, [trace.of_images for trace in traces if trace.of_images is not None]),
    )


def _stacked(arrays: list[Any]) -> Any:
    return None if arrays[0] is None else np.stack(arrays)


def _of_concepts(problem: Problem, traces: list[Trace]) -> ConceptAnswers | None:
    """Return the answers of networks on a structured identity task in the concept frame."""
    samples = problem.tasks[0] if problem.tasks else None
    if not isinstance(samples, DrawnSamples):
        return None
    answers, task = _stacked([trace.answers for trace in traces]), samples.task
    assert problem.probes is not None
    return ConceptAnswers(samples, task.to_concepts(problem.probes), task.to_concepts(answers))


def _of_diffusion(problem: Problem, traces: list[Trace]) -> DiffusionRecords | None:
    """Return what is recorded of diffusion models alone, along an axis of runs."""
    runs = [trace.of_diffusion for trace in traces if trace.of_diffusion is not None]
    end = max(trace.step for trace in traces)
    if not runs:
        return None
    records = DiffusionRecords.of(problem.stops, runs, end, problem.seeds)
    if records.messages:
        warnings.warn(records.messages[0], ScheduleWarning, stacklevel=6)
    return records


def _of_images(problem: Problem, runs: list[ImageRecords]) -> dict[str, Any]:
    """Return what is recorded of image networks alone, along an axis of runs."""
    if not isinstance(problem, ImageProblem):
        return {}
    longest = max(run.epoch_losses.shape[1] for run in runs)
    padded = np.full((len(runs), len(problem.trained_on), longest), np.nan)
    for rows, run in zip(padded, runs, strict=True):
        rows[:, : run.epoch_losses.shape[1]] = run.epoch_losses
    names = list(runs[0].scores)
    return {
        "trained_on": problem.trained_on,
        "epoch_loss": padded if problem.several else padded[:, 0],
        "scores": {
            name: Scores(*(_stacked([r.scores[name][key] for r in runs]) for key in Scores._fields))
            for name in names
        },
        "outputs": {name: np.stack([run.outputs[name] for run in runs]) for name in names},
    }


def _outcome(trace: Trace, loss: float, training: Training, last: int) -> Outcome:
    if trace.diverged:
        return Outcome.DIVERGED
    # Compared in the precision of the training.
    reached = trace.step < last or 0 < training.threshold >= loss
    if reached if trace.of_images is None else trace.of_images.has_reached:
        return Outcome.REACHED_THRESHOLD
    if trace.labels is not None and trace.labels[-1, 2] > 0:
        return Outcome.NOT_SEPARATED
    return Outcome.RAN_ALL_STEPS if training.threshold == 0 else Outcome.REACHED_MAX_STEPS
