"""Training of one image network: a compiled step in a plain loop.

A convolution within a compiled loop is some 25 times slower on a CPU than one in a step that Python
calls, so the loop is Python's. It never waits for a step: batches are assembled within the step,
and losses are summed there until an epoch ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole._device import on_device
from partwhole.networks import ImageNetwork
from partwhole.training.checkpoints import (
    fingerprint,
    load_checkpoint,
    require_continuation,
    require_optimiser,
    save_checkpoint,
)
from partwhole.training.devices import here
from partwhole.training.engines.layered import DIVERGED
from partwhole.training.following import Report
from partwhole.training.images.assembly import Layout, Samples, assemble
from partwhole.training.images.goals import judged
from partwhole.training.images.problem import ImageProblem, ScoredSet, recorded_epochs
from partwhole.training.images.step import Course, Kind, State, begin, descend, settings_of
from partwhole.training.losses import LOSSES
from partwhole.training.memory import require_room, step_memory
from partwhole.training.results import ImageRecords, Scores, Trace
from partwhole.training.training import Training

ORDER = 107  # random stream of the order, separate from those of weights and samples
READ_AT_ONCE = 512
REPORTED_EVERY, SAVED_EVERY = 0.25, 60.0  # seconds


@partial(jax.jit, static_argnames=("kind", "layout", "batch"), donate_argnames="state")
def take_step(
    state: State,
    samples: Samples,
    targets: Array,
    order: Int[Array, " m"],
    key: PRNGKeyArray,
    *,
    kind: Kind,
    layout: Layout,
    batch: int,
) -> State:
    """Take one step on the batch whose turn it is."""
    turn = state.step % (len(order) // batch)
    rows = jax.lax.dynamic_slice(order, (turn * batch,), (batch,))
    for_images, for_network = jax.random.split(jax.random.fold_in(key, state.step))
    images, batch_targets = assemble(samples, rows, layout, for_images), targets[rows]

    def loss(parameters: ImageNetwork) -> tuple[Array, tuple[Array, ImageNetwork]]:
        network = eqx.combine(parameters, state.rest)
        outputs, after = network.in_training(images, for_network, short=kind.short)
        value = LOSSES[kind.loss](outputs, batch_targets)
        return value, (value[None], after.partition()[1])

    return descend(state, loss, kind)


@partial(jax.jit, static_argnames=("layout",))
def _answer(
    network: ImageNetwork, samples: Samples, rows: Int[Array, " b"], layout: Layout
) -> Float[Array, "b k"]:
    return network(assemble(samples, rows, layout))


def _answers(network: ImageNetwork, samples: Samples, layout: Layout) -> Float[np.ndarray, "n k"]:
    """Return a network's outputs, computed in chunks of one size so that it is compiled once."""
    n = len(samples.shown)
    size = min(n, READ_AT_ONCE)
    unaugmented = layout._replace(crop=0, flip=False)
    outputs = []
    for first in range(0, n, size):
        rows = np.minimum(np.arange(first, first + size), n - 1).astype(np.int32)
        outputs.append(np.asarray(_answer(network, samples, on_device(rows), unaugmented)))
    return np.concatenate(outputs)[:n]


class Loop:
    """Loop over the epochs of one run."""

    def __init__(
        self, network: ImageNetwork, scored: ScoredSet, training: Training, learning_rate: float,
        seed: int, course: Course | None = None,
    ) -> None:  # fmt: skip
        self.training, self.kind, self.seed = training, Kind.of(training, learning_rate), seed
        self.samples, self.layout = here(scored.samples), scored.layout
        self.n, self.goal = len(scored.goal), here(on_device(scored.goal))
        self.batch = min(training.batch or self.n, self.n)
        self.course = course
        self.per_epoch = self.n // self.batch if course is None else course.per_epoch
        self.batches = (self.per_epoch,) if course is None else course.batches
        # The size of a loss: the mean square of the targets, or 1 for labels and classes; and the
        # loss of the first step.
        squared = training.loss == "squared"
        self.size = float(np.sum(np.square(scored.goal)) / self.n) if squared else 1.0
        self.key = jax.random.key(seed)
        parameters, rest = network.partition()
        self.state = begin(parameters, rest, kind=self.kind, tasks=len(self.batches))
        self.losses: list[list[float]] = []  # of all tasks, epoch by epoch
        self.records: list[tuple[int, dict[str, dict[str, float]]]] = []
        self.answers: list[np.ndarray] = []

    @property
    def network(self) -> ImageNetwork:
        return eqx.combine(self.state.kept, self.state.rest)

    @property
    def diverged(self) -> bool:
        """Return whether the loss of the last epoch is out of bounds, or not a number."""
        limit = DIVERGED * self.size
        return bool(self.losses) and not np.all(np.array(self.losses[-1]) <= limit)

    def ended_in_numbers(self, trained_on: Sequence[str]) -> bool:
        """Return whether losses at the end are finite; the last step may have diverged."""
        return all(np.isfinite(self.records[-1][1][name]["loss"]) for name in trained_on)

    @property
    def is_finished(self) -> bool:
        """Return whether the losses of the last epoch end training."""
        if not self.losses or self.diverged:
            return bool(self.losses)
        stopping = None if self.course is None else self.course.stopping
        reached = np.array(self.losses[-1][:stopping]) <= self.training.threshold
        return self.training.threshold > 0 and bool(reached.all())

    def run(
        self,
        sets: dict[str, ScoredSet],
        probes: Float[np.ndarray, "m h w c"] | None,
        checkpoint: Path | None,
        report: Report,
    ) -> dict[str, Float[np.ndarray, "_ k"]]:
        """Train to the end; return the final outputs of each set."""
        marks: dict[str, str] = {}
        if checkpoint is not None:
            marks = self._marks(sets, probes)
            if checkpoint.exists():
                report.following.resume(self._resume(checkpoint, marks))
        epochs = self.training.epochs
        assert epochs is not None
        due, last = set(recorded_epochs(self.training)[:-1].tolist()), epochs * self.per_epoch
        place = start = int(self.state.step)
        if place == 0 and 0 in due:
            self._record(sets, probes)
            self._report(report)
        reported, order = 0, self._order(place // self.per_epoch)
        saved = last_report = time.monotonic()
        while place < last and not self.is_finished:
            self.state = self._step(order, place % self.per_epoch)
            place += 1
            if place == 1:
                self.size = max(self.size, *np.nan_to_num(self.state.total, posinf=0.0).tolist())
            if place % self.per_epoch == 0:
                self._end_epoch()
                epoch = place // self.per_epoch
                if epoch in due and not self.is_finished:
                    self._record(sets, probes)
                if place < last and not self.is_finished:
                    self._report(report)
                order = self._order(epoch)
            clock = time.monotonic()
            if clock - last_report > REPORTED_EVERY:
                report(place - reported, self._current_loss(place))
                reported, last_report = place, clock
            if checkpoint is not None and clock - saved >= SAVED_EVERY and place < last:
                self._save(checkpoint, marks, report.following.seconds)
                saved = time.monotonic()
        outputs = self._record(sets, probes)
        if checkpoint is not None and place > start:
            self._save(checkpoint, marks, report.following.seconds)
        self._report(report)
        return outputs

    def scores(self, name: str, key: str) -> Float[np.ndarray, " T"] | None:
        """Return a score of a set at the recorded epochs; None if the set has no such score."""
        scores = [scores_of[name] for _, scores_of in self.records]
        return np.array([score[key] for score in scores]) if key in scores[0] else None

    def _step(self, order: Any, place: int) -> State:
        if self.course is not None:
            return self.course.step(self.state, order, self.key, place)
        return take_step(
            self.state, self.samples, self.goal, order, self.key,
            kind=self.kind, layout=self.layout, batch=self.batch,
        )  # fmt: skip

    def _order(self, epoch: int) -> Any:
        if self.course is not None:
            return self.course.order(epoch)
        rng = np.random.default_rng([self.seed, ORDER, epoch])
        order = rng.permutation(self.n)[: self.per_epoch * self.batch]
        return on_device(order, np.int32)

    def _end_epoch(self) -> None:
        """Record the losses of an epoch."""
        means = np.asarray(self.state.total, dtype=float) / self.batches
        self.losses.append(means.tolist())
        self.state = self.state._replace(total=jnp.zeros_like(self.state.total))

    def _current_loss(self, place: int) -> float:
        """Return the mean loss of the epoch so far, or of the last one; NaN before the first."""
        turn = place % self.per_epoch
        # Tasks that follow one another have no common number of batches within an epoch.
        if turn and set(self.batches) == {self.per_epoch}:
            return float(np.mean(np.asarray(self.state.total, dtype=float))) / turn
        return float(np.mean(self.losses[-1])) if self.losses else np.nan

    def _record(
        self, sets: dict[str, ScoredSet], probes: np.ndarray | None
    ) -> dict[str, Float[np.ndarray, "_ k"]]:
        """Record the scores of the current network on each set; return its outputs.

        At the end of a run that a checkpoint has whole, this repeats the last record.
        """
        network, outputs, scores = self.network, {}, {}
        if self.records and self.records[-1][0] == len(self.losses):
            self._drop_last()
        for name, (samples, layout, goal, columns) in sets.items():
            outputs[name] = _answers(network, here(samples), layout)
            scores[name] = judged(outputs[name], goal, self.training.loss, columns)
        self.records.append((len(self.losses), scores))
        if probes is not None:
            self.answers.append(_answers(network, *Samples.of(probes)))
        return outputs

    def _report(self, report: Report) -> None:
        """Report the last epoch, with scores if it was recorded."""
        epochs, scores = len(self.losses), {}
        if self.records and self.records[-1][0] == epochs:
            scores = {
                f"{name}_{key}": score
                for name, scores_of in self.records[-1][1].items()
                for key, score in scores_of.items()
            }
        losses = self.losses[-1] if self.losses else [np.nan] * len(self.batches)
        mean = float(np.mean(losses))
        report.record(epochs * self.per_epoch, mean, tasks=losses, scores=scores)

    def _drop_last(self) -> None:
        """Drop the last record."""
        self.records, self.answers = self.records[:-1], self.answers[:-1]

    def _marks(self, sets: dict[str, ScoredSet], probes: np.ndarray | None) -> dict[str, str]:
        settings, optimiser = settings_of(
            self.training, self.kind, self.seed, self.state.optimiser, self.state.kept
        )
        settings |= {
            "layout": self.layout,
            "sets": {name: (scored.layout, str(scored.columns)) for name, scored in sets.items()},
        }
        arrays_of_sets = [(scored.samples, scored.goal) for scored in sets.values()]
        arrays = (self.state, self.samples, self.goal, arrays_of_sets, probes)
        if self.course is not None:
            settings, arrays = settings | self.course.settings, (arrays, self.course.arrays)
        return {"mark": fingerprint(settings, arrays), "optimiser": optimiser}

    def _save(self, checkpoint: Path, marks: dict[str, str], seconds: float) -> None:
        description: dict[str, Any] = {"losses": self.losses, "records": self.records, **marks}
        description |= {"size": self.size, "seconds": seconds}
        description["answers"] = [answers.tolist() for answers in self.answers]
        save_checkpoint(checkpoint, self.state, description)

    def _resume(self, checkpoint: Path, marks: dict[str, str]) -> float:
        """Resume from a checkpoint; return its seconds of training."""
        state, description = load_checkpoint(checkpoint, lambda _: self.state, marks["mark"])
        require_optimiser(checkpoint, description["optimiser"], marks["optimiser"])
        due = recorded_epochs(self.training).tolist()
        recorded, epochs = (
            [epoch for epoch, _ in description["records"]],
            len(description["losses"]),
        )
        begun = -(-int(state.step) // self.per_epoch)
        require_continuation(checkpoint, "epochs", begun, epochs, recorded, due)
        self.state = state
        self.losses, self.size = list(description["losses"]), description["size"]
        self.records = [(epoch, scores) for epoch, scores in description["records"]]
        self.answers = [np.array(answers, np.float32) for answers in description["answers"]]
        if recorded and recorded[-1] not in due:
            self._drop_last()  # the end of a run that now goes on
        return float(description.get("seconds", 0.0))


def memory_of(problem: ImageProblem, run: int = 0) -> int:
    """Return the bytes of a step of a run, estimated."""
    network, kind = problem.network(run), Kind.of(problem.training, 1.0)
    parameters, rest = network.partition()
    sets = [problem.sets[name] for name in problem.trained_on]
    batch = sum(min(problem.training.batch or problem.count, len(part.goal)) for part in sets)

    def loss(parameters: ImageNetwork, inputs: tuple[Array, Array]) -> Array:
        network, key = eqx.combine(parameters, rest), jax.random.key(0)
        outputs, _ = network.in_training(inputs[0], key, short=kind.short)
        return LOSSES[kind.loss](outputs, inputs[1])

    goal = sets[0].goal
    images = jax.ShapeDtypeStruct((batch, *network.shape), jnp.float32)
    targets = jax.ShapeDtypeStruct((batch, *goal.shape[1:]), goal.dtype)
    key = (kind.loss, kind.short, str(jax.tree.structure(network)))
    return step_memory(loss, parameters, (images, targets), kind.transformation(), key)


def engine(problem: ImageProblem) -> Callable[[int, float, Any], Trace]:
    """Return a function that trains one image network."""
    require_room(
        max(memory_of(problem, run) for run in range(problem.runs)), 0,
        "take a smaller batch or network",
    )  # fmt: skip

    def train_run(run: int, rate: float, report: Report) -> Trace:
        seed = problem.seeds[run]
        loop = Loop(
            problem.network(run), problem.sets[problem.trained_on[0]], problem.training, rate, seed,
            None if problem.course is None else problem.course(rate, seed),
        )  # fmt: skip
        outputs = loop.run(problem.sets, problem.probes, problem.checkpoint, report)
        recorded = np.array([epoch for epoch, _ in loop.records])
        # Records after the end of the run repeat its end.
        rows = np.minimum(
            np.searchsorted(recorded, recorded_epochs(problem.training)), len(recorded) - 1
        )

        def at_stops(values: np.ndarray | None) -> np.ndarray | None:
            return None if values is None else values[rows]

        diverged = loop.diverged or not loop.ended_in_numbers(problem.trained_on)
        scores: dict[str, dict[str, Any]] = {
            name: {key: at_stops(loop.scores(name, key)) for key in Scores._fields}
            for name in problem.sets
        }
        return Trace(
            losses=np.stack([scores[name]["loss"] for name in problem.trained_on], axis=1),
            network=loop.network,
            step=len(loop.losses) * loop.per_epoch,
            diverged=diverged,
            tested=None
            if "test" not in scores or problem.several
            else scores["test"]["loss"][:, None],
            answers=at_stops(np.array(loop.answers)) if loop.answers else None,
            of_images=ImageRecords(
                np.array(loop.losses).T, scores, outputs, loop.is_finished and not diverged
            ),
        )

    return train_run
