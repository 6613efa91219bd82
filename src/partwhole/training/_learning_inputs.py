"""What training of diagonal networks asks of its inputs, checked once at the door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import is_finite, require, whole
from partwhole._types import Real
from partwhole.training.protocol import Protocol
from partwhole.training.protocol import Record as ProtocolRecord

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
        cls, inputs: object, targets: object, teachers: object, points: object, wanted: object
    ) -> Task:
        """Return a task whose arrays are seen to be finite and to fit together."""
        x = _finite("inputs", inputs)
        require(
            x.ndim == 3 and x.size > 0,
            "inputs have shape (runs, n, d)",
            f"shape {x.shape}",
            "add a leading axis of one run with inputs[None]",
        )
        runs, n, d = x.shape
        y = _finite("targets", targets)
        _fits("targets", y, (runs, n))
        require(
            (points is None) == (wanted is None) and (points is None or teachers is None),
            "a test is teachers, or test_inputs together with test_targets",
            "both kinds" if teachers is not None else "one without the other",
            "pass teachers= where the true coefficients are known",
        )
        if points is None:
            true = None if teachers is None else _finite("teachers", teachers)
            if true is not None:
                _fits("teachers", true, (runs, d))
            return cls(x, y, true, None)
        at, answers = _finite("test_inputs", points), _finite("test_targets", wanted)
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
        require(
            is_finite(self.learning_rate) and self.learning_rate > 0,
            "a learning rate is a positive number",
            repr(self.learning_rate),
            "pass 0.1, say",
        )
        for name in ("threshold", "weight_decay"):
            given = getattr(self, name)
            rule = f"{name} is a finite number of at least 0"
            require(is_finite(given) and given >= 0, rule, repr(given), "pass 0 for none")
        options = {"train": ("all", "readout"), "precision": ("float32", "float64")}
        for name, known in options.items():
            given = getattr(self, name)
            rule = f'{name} is "{known[0]}" or "{known[1]}"'
            require(given in known, rule, repr(given), "choose one of them")


def spread(name: str, given: np.ndarray, shape: tuple[int, ...], runs: int) -> np.ndarray:
    """Return one layer's weights for each run."""
    found = _finite(f"weights {name}", given)
    require(
        found.shape in (shape, (runs, *shape)),
        f"weights {name} have shape {shape} or {(runs, *shape)}",
        f"shape {found.shape}",
        "start from DiagonalWeights.constant, or from weights that were trained on as many runs",
    )
    return np.broadcast_to(found, (runs, *shape))


def recorded(record: object, max_steps: int) -> Int[np.ndarray, " T"]:
    """Return the steps to record, the last among them."""
    asked: ProtocolRecord
    if isinstance(record, str):
        require(
            record == "geometric",
            'record is "geometric", a number of steps or a list of steps',
            repr(record),
            "pass 50 for every 50 steps",
        )
        asked = "geometric"
    elif isinstance(record, Sequence | np.ndarray):
        asked = record
    else:
        whole("record", record, 1, "pass 50 for every 50 steps")
        asked = np.arange(0, max_steps, int(record))  # pyright: ignore[reportArgumentType]
    # An epoch of one step each has the grid that is wanted.
    steps = Protocol(epochs=max_steps, batch=1).recorded(asked, 1)
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


def _finite(name: str, given: object) -> np.ndarray:
    try:
        found = np.asarray(given)
        found = found if found.dtype in (np.float32, np.float64) else found.astype(float)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    require(
        bool(np.isfinite(found).all()),
        f"{name} are finite numbers in an array",
        "NaN, infinity or none",
        "replace them",
    )
    return found


def _fits(name: str, given: np.ndarray, shape: tuple[int, ...]) -> None:
    require(
        given.shape == shape,
        f"{name} have shape {shape} to go with the inputs",
        f"shape {given.shape}",
        "pass one in each run, along a leading axis of runs",
    )
