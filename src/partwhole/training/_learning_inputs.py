"""What training of diagonal networks asks of its inputs, checked once at the door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._arrays import Array, Axes
from partwhole._checks import require, whole
from partwhole._types import Real
from partwhole.training.protocol import Protocol

MEMORY_GIB = 8.0
# Its square times 100, above which a run counts as diverged, is a number in single precision.
SINGLE_LIMIT = 1e18
Train = Literal["all", "readout"]
Precision = Literal["float32", "float64"]
Record = Literal["geometric"] | int | Sequence[int] | Int[np.ndarray, " T"]


@dataclass(frozen=True)
class Task:
    """Hold one task's samples, and what it is tested on."""

    inputs: Float[np.ndarray, "runs n d"]
    targets: Float[np.ndarray, "runs n"]
    teachers: Float[np.ndarray, "runs d"] | None
    test: tuple[np.ndarray, np.ndarray] | None

    @classmethod
    def checked(
        cls,
        inputs: Float[np.ndarray, "runs n d"],
        targets: np.ndarray,
        teachers: np.ndarray | None,
        points: np.ndarray | None,
        wanted: np.ndarray | None,
    ) -> Task:
        """Return a task whose arrays fit together."""
        x, y = inputs, targets
        runs, n, d = x.shape
        require(n > 0, "a task has samples", f"inputs of shape {x.shape}", "leave it out")
        _fits("targets", y, (runs, n))
        require(
            (points is None) == (wanted is None) and (points is None or teachers is None),
            "a test is teachers, or test_inputs together with test_targets",
            "both kinds" if teachers is not None else "one without the other",
            "pass teachers= where the true coefficients are known",
        )
        if points is None or wanted is None:
            if teachers is not None:
                _fits("teachers", teachers, (runs, d))
            return cls(x, y, teachers, None)
        at, answers = points, wanted
        lead = () if at.ndim == 2 else (runs,)
        require(
            at.ndim in (2, 3) and at.shape[-1] == d and at.shape[:-2] == lead and at.size > 0,
            f"test_inputs have shape (m, {d}) or ({runs}, m, {d})",
            f"shape {at.shape}",
            "pass one test set for all runs, or one for each",
        )
        _fits("test_targets", answers, at.shape[:-1])
        return cls(x, y, None, (at, answers) if lead else (at[None], answers[None]))

    def errors(self, run: int, path: Float[np.ndarray, "T d"]) -> Float[np.ndarray, " T"] | None:
        """Return the test loss of one run along a path of coefficients."""
        with np.errstate(all="ignore"):  # of runs that diverged
            if self.teachers is not None:
                return ((path - self.teachers[run]) ** 2).sum(axis=-1)
            if self.test is None:
                return None
            points, wanted = (each[min(run, len(each) - 1)] for each in self.test)
            return ((path @ points.T.astype(float) - wanted) ** 2).mean(axis=-1)


@dataclass(frozen=True)
class Options:
    """Hold the options that all ways of training share, once they are seen to be good."""

    max_steps: int
    learning_rate: Real
    threshold: Real
    train: str
    weight_decay: Real
    restarts: int
    precision: str
    progress: bool

    def __post_init__(self) -> None:
        whole("max_steps", self.max_steps, 1, "pass 100_000, say")
        whole("restarts", self.restarts, 0, "pass 3, say")
        rate = self.learning_rate
        require(rate > 0, "a learning rate is a positive number", rate, "pass 0.1, say")
        for name in ("threshold", "weight_decay"):
            given = getattr(self, name)
            rule = f"{name} is a finite number of at least 0"
            require(given >= 0, rule, given, "pass 0 for none")


def spread(name: str, given: np.ndarray, shape: tuple[int, ...], runs: int) -> np.ndarray:
    """Return one layer's weights for each run."""
    rule = Array(Axes("...", False), "float", single=True)
    array = rule(f"weights {name}", given, {})
    require(
        array.shape in (shape, (runs, *shape)),
        f"weights {name} have shape {shape} or {(runs, *shape)}",
        f"shape {array.shape}",
        "start from DiagonalWeights.constant, or from weights that were trained on as many runs",
    )
    return np.broadcast_to(array, (runs, *shape))


def recorded(record: Record, max_steps: int) -> Int[np.ndarray, " R"]:
    """Return the steps to record, the last among them."""
    if isinstance(record, int):
        whole("record", record, 1, "pass 50 for every 50 steps")
        record = np.arange(0, max_steps, record)
    # An epoch of one step each has the grid that is wanted.
    steps = Protocol(epochs=max_steps, batch=1).recorded(record, 1)
    return np.union1d(steps, [max_steps])


def require_memory(
    tasks: tuple[Task, ...], records: int, options: Options, batch: int | None, at_once: int
) -> None:
    """Refuse work that takes more memory than there may be, or numbers beyond its precision."""
    require_range(tasks, options)
    k, (runs, _, d) = len(tasks), tasks[0].inputs.shape
    samples = sum(task.inputs.shape[1] for task in tasks)
    tested = max(0 if task.test is None else task.test[0].shape[1] for task in tasks)
    # Samples and moments in double precision, the path with its errors, and the batches' rows.
    each = 16.0 * d * (samples + k * d) + records * (32.0 * k * d + 16.0 * tested)
    each += 0.0 if batch is None else 12.0 * batch * options.max_steps
    found = 8.0 * runs * (records * (1 + 2 * k) + 4 * k * d)
    needed = (found + min(runs, at_once) * each) / 2**30
    require(
        needed <= MEMORY_GIB,
        f"training and its records may take {MEMORY_GIB:g} GiB beside the samples",
        f"about {needed:.0f}",
        "record fewer steps, or train fewer runs in a call",
    )


def require_range(tasks: tuple[Task, ...], options: Options) -> None:
    """Refuse samples whose squares overflow in single precision."""
    if options.precision != "float32":
        return
    for name in ("inputs", "targets"):
        largest = max(float(np.abs(getattr(task, name)).max()) for task in tasks)
        require(
            largest <= SINGLE_LIMIT,
            f"{name} of training in single precision are of size {SINGLE_LIMIT:g} at most",
            f"{largest:.3g}",
            'pass precision="float64", or rescale inputs and targets to order 1',
        )


def _fits(name: str, given: np.ndarray, shape: tuple[int, ...]) -> None:
    require(
        given.shape == shape,
        f"{name} have shape {shape} to go with the inputs",
        f"shape {given.shape}",
        "pass one in each run, along a leading axis of runs",
    )
