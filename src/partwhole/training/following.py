"""Records of a training on the way, for those who follow it.

Engines report where they stop anyway, so that following adds no wait for a device: at the recorded
steps, image networks at the end of every epoch, diffusion models every hundred steps. Engines that
take all steps of a run in one compiled call, of diagonal networks and of dense ones on structured
identity tasks, report its records when the call returns.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from partwhole._progress import bar
from partwhole.training.checkpoints import fingerprint
from partwhole.training.diffusion.problem import DiffusionProblem
from partwhole.training.images.problem import ImageProblem
from partwhole.training.problem import Problem, Samples
from partwhole.training.results import Trace

REPORTED_EVERY = 0.25  # seconds
LETTERS = 8  # that name a training: not digits, which a reader of tables takes for a number
# Settings that may change when a training goes on.
LENGTHS = ("steps", "epochs", "record", "keep_weights")


@dataclass(frozen=True, eq=False, kw_only=True)
class StepRecord:
    """State of a run at a step, as passed to those who follow a training.

    Parameters
    ----------
    training : str
        Eight letters that identify the settings, initial networks and samples: the same when a
        training resumes or is repeated, and for any number of steps or epochs.
    run : int
        Counted from 0.
    step : int
        Number of steps taken.
    loss : float
        As in `Runs.training_loss`; of image networks the mean loss of the last epoch in training,
        of diffusion models that of the last hundred steps, in bits per dimension. NaN before the
        first step of either, and after divergence.
    seconds : float
        Wall time since training began, with that before an interruption as far as the checkpoint
        knows it.
    scores : dict of str to float
        What else is measured at this step: "test_loss"; of several tasks "loss_0", "test_loss_0"
        and so on; of gated networks "margin" and "error"; of image networks every score of every
        set, such as "test_accuracy", where they are recorded; of diffusion models the three terms
        of the loss, where a hundred steps end.
    samples : dict of str to float array, shape (n, ...)
        Of diffusion models: the samples of each prompt of `read`, where they are drawn.

    Examples
    --------
    Any function of a record can follow a training, here one that appends it to a list:

    >>> from partwhole.networks import mlp
    >>> from partwhole.training import Training, train
    >>> records, training = [], Training(steps=20, learning_rate=0.1, record=10)
    >>> runs = train(mlp(3, 2, 8, seed=0), (np.eye(3), np.eye(3)), training, follow=records.append)
    >>> [(record.run, record.step, round(record.loss, 2)) for record in records]
    [(0, 0, 1.87), (0, 10, 0.29), (0, 20, 0.07)]
    """

    training: str
    run: int
    step: int
    loss: float
    seconds: float
    scores: Mapping[str, float] = field(default_factory=dict)
    samples: Mapping[str, Float[np.ndarray, "_ ..."]] = field(default_factory=dict)


class Log(ABC):
    """A follower that is opened before training, which it may refuse, and closed in the end."""

    @abstractmethod
    def _begin(self, training: str) -> None:
        """Open the log of a training, by its `StepRecord.training`."""

    @abstractmethod
    def __call__(self, record: StepRecord) -> None:
        """Write a record."""

    @abstractmethod
    def close(self) -> None:
        """Close the log; a record that is written later opens it again."""


Follower = Callable[[StepRecord], object]
ReportStep = Callable[[int, float], None]  # receives the number of steps taken, and a loss


@contextmanager
def report_progress(runs: int, steps: int, progress: bool) -> Iterator[ReportStep]:
    """Show the progress of runs in threads, with the latest reported loss."""
    lock, waiting, last = Lock(), 0, time.monotonic()
    with bar(f"training {runs} networks", runs * steps, shown=progress) as advance:

        def report_step(steps_taken: int, loss: float) -> None:
            nonlocal waiting, last
            with lock:
                waiting += steps_taken
                if time.monotonic() - last > REPORTED_EVERY:
                    advance(waiting, f"loss {loss:.3g}")
                    waiting, last = 0, time.monotonic()

        yield report_step


class Following:
    """Followers of a training, its clock, and the records that they receive, one at a time.

    Parameters
    ----------
    problem : Problem
    follow : Follower, or sequence of Follower
    """

    def __init__(self, problem: Problem, follow: Follower | Sequence[Follower]) -> None:
        self.followers = (follow,) if callable(follow) else tuple(follow)
        self.training = training_mark(problem) if self.followers else ""
        self._start, self._earlier = time.monotonic(), 0.0
        self._lock, self._error = Lock(), None

    @property
    def seconds(self) -> float:
        """Return the wall time of the training, with that before an interruption."""
        return self._earlier + time.monotonic() - self._start

    @contextmanager
    def logs(self) -> Iterator[None]:
        """Begin the logs among the followers, and close them in the end."""
        logs = [follower for follower in self.followers if isinstance(follower, Log)]
        try:
            for log in logs:
                log._begin(self.training)
            yield
        finally:
            for log in logs:
                log.close()

    def resume(self, seconds: float) -> None:
        """Count the wall time before an interruption."""
        self._earlier = seconds

    def send(self, record: StepRecord) -> None:
        """Pass a record to all followers; after the error of one, end every run with it."""
        with self._lock:
            if self._error is not None:
                raise self._error
            try:
                for follower in self.followers:
                    follower(record)
            except BaseException as error:
                self._error = error
                raise


class Report:
    """What an engine reports of a run: steps for the progress bar, and records for followers.

    Parameters
    ----------
    following : Following
    advance : callable
        Receives the number of steps taken, and a loss.
    run : int, default 0
    """

    def __init__(self, following: Following, advance: ReportStep, run: int = 0) -> None:
        self.following, self._advance, self.run, self._last = following, advance, run, -1

    def __call__(self, steps: int, loss: float) -> None:
        """Move the progress bar."""
        self._advance(steps, loss)

    def of(self, run: int) -> Report:
        """Return the report of an attempt at a run."""
        return Report(self.following, self._advance, run)

    def record(
        self,
        step: Any,
        loss: float,
        *,
        tasks: Any = None,
        tested: Any = None,
        scores: Mapping[str, float] | None = None,
        samples: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Send a record of this run, once for each step.

        Parameters
        ----------
        step : int, or int array of shape ()
            It is read only if somebody follows.
        loss : float
        tasks, tested : float arrays, shape (k,), keyword-only, default None
            The loss of each task, and its test loss.
        scores : mapping of str to float, keyword-only, default None
        samples : mapping of str to float array, keyword-only, default None
        """
        if not self.following.followers:
            return
        taken = step if isinstance(step, int) else step.item()  # faster than int(step)
        if taken == self._last:
            return
        self._last = taken
        numbers = {} if tasks is None or len(tasks) == 1 else _named("loss", tasks)
        numbers |= {} if tested is None else _named("test_loss", tested)
        numbers |= {name: float(score) for name, score in (scores or {}).items()}
        following = self.following
        following.send(
            StepRecord(
                training=following.training,
                run=self.run,
                step=taken,
                loss=float(loss),
                seconds=following.seconds,
                scores=numbers,
                samples=samples or {},
            )
        )

    def trace(
        self, stops: Int[np.ndarray, " T"], trace: Trace, shares: Float[np.ndarray, " k"]
    ) -> None:
        """Send all records of a run that has ended."""
        if not self.following.followers:
            return
        with np.errstate(all="ignore"):  # of runs that diverged
            losses = trace.losses @ shares
        for turn, stop in enumerate(stops.tolist()):
            self.record(
                min(stop, trace.step),
                losses[turn],
                tasks=trace.losses[turn],
                tested=None if trace.tested is None else trace.tested[turn],
            )


def _named(name: str, values: Any) -> dict[str, float]:
    """Return a number by its name, or numbers by theirs, "name_0" and so on."""
    if len(values) == 1:
        return {name: float(values[0])}
    return {f"{name}_{place}": float(value) for place, value in enumerate(values)}


def training_mark(problem: Problem) -> str:
    """Return eight letters that identify a training, whatever its length."""
    training = problem.training
    optimiser = training.optimiser if isinstance(training.optimiser, str) else "optax"
    settings = asdict(training) | {"optimiser": optimiser, "seed": problem.seeds}
    for name in (*LENGTHS, "learning_rate"):
        settings.pop(name)
    # Without addresses of functions, which every process has anew.
    settings["structure"] = re.sub(r" at 0x\w+", "", str(jax.tree.structure(problem.every)))
    if isinstance(problem, ImageProblem):
        parts, course = problem.sets.values(), problem.course
        samples: Any = [(part.samples, part.goal) for part in parts]
        settings["sets"] = problem.trained_on, [(part.layout, part.columns) for part in parts]
        settings["course"] = None if course is None else course(1.0, 0).settings
    elif isinstance(problem, DiffusionProblem):
        samples = problem.samples, problem.conditions
    else:  # of a structured identity task those of the first run, as the others are drawn by seeds
        samples = [
            (task.inputs, task.targets) if isinstance(task, Samples) else task.of(0)
            for task in problem.tasks
        ]
    leaves = jax.tree.leaves((problem.every, problem.rates, samples))
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray | jax.Array)]
    digits = fingerprint(settings, arrays)[:LETTERS]
    return "".join("abcdefghijklmnop"[int(digit, 16)] for digit in digits)
