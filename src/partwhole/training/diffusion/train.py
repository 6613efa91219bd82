"""Training of one diffusion model: compiled steps in a plain loop.

As for image networks, the loop is Python's on a CPU, where a convolution within a compiled loop is
some 25 times slower. On an accelerator ten steps are one program, which takes as long but leaves
the core free: on an H200 1.9 ms a step either way for `small16`, 7.5 instead of 7.1 as published.
Only records wait for a step to finish.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole._checks import require
from partwhole._device import has_accelerator, on_device
from partwhole.networks.diffusion import DiffusionModel
from partwhole.networks.images.layers import Pass
from partwhole.training.checkpoints import (
    fingerprint,
    load_checkpoint,
    require_continuation,
    require_optimiser,
    save_checkpoint,
)
from partwhole.training.devices import here
from partwhole.training.diffusion.bits import Terms, terms
from partwhole.training.diffusion.layout import KeptWeights, Layout, laid_out
from partwhole.training.diffusion.problem import Data, DiffusionProblem
from partwhole.training.diffusion.records import DiffusionTrace
from partwhole.training.diffusion.sampling import (
    Readings,
    decode,
    draw_samples,
    picture_folder,
    save_samples,
)
from partwhole.training.following import Report
from partwhole.training.images.step import Kind, settings_of
from partwhole.training.memory import require_room, size_of, step_memory
from partwhole.training.results import Trace

ORDER = 110  # random stream of the order, separate from that of samples
REPORTED_EVERY, SAVED_EVERY = 0.25, 60.0  # seconds
COUNTED = 100  # steps over which the loss is averaged
PROBED = 64  # training samples by which a decoder is recognised
AT_ONCE = 10  # steps in one program on an accelerator


class Rule(NamedTuple):
    """Static settings, for which steps are compiled once for all models that share them."""

    kind: Kind
    drop_condition: float
    average: float | None


class State(NamedTuple):
    """What a step changes: parameters, their average, optimiser state, step count and losses."""

    row: Float[Array, " w"]
    average: Float[Array, " w"] | None
    optimiser: optax.OptState
    step: Int[Array, ""]
    losses: Float[Array, "COUNTED 3"]  # of the last steps: that of step s in row s modulo COUNTED


class Records(NamedTuple):
    """What is recorded so far, at stops and, for the terms of the loss, at hundreds of steps.

    Later entries are NaN.
    """

    readings: Readings
    weights: Float[np.ndarray, "T w"] | None
    schedules: Float[np.ndarray, "T 2"]
    losses: Float[np.ndarray, " T"]
    bits: Float[np.ndarray, "L 3"]

    @classmethod
    def blank(cls, problem: DiffusionProblem, stops: Sequence[int], width: int | None) -> Records:
        """Return records of so many stops; weights are kept where their number is passed."""
        n = len(stops)
        return cls(
            Readings.blank(problem.sampling, n, problem.shape),
            None if width is None else np.full((n, width), np.nan, np.float32),
            np.full((n, 2), np.nan, np.float32),
            np.full(n, np.nan, np.float32),
            np.full((-(-stops[-1] // COUNTED), 3), np.nan, np.float32),
        )

    def continue_from(self, earlier: Records, n_stops: int) -> None:
        """Take over so many stops of an earlier, shorter or longer run, and its hundreds."""
        pairs = zip(jax.tree.leaves(self[:-1]), jax.tree.leaves(earlier[:-1]), strict=True)
        for own, recorded in pairs:
            own[:n_stops] = recorded[:n_stops]
        n_counted = min(len(self.bits), len(earlier.bits))
        self.bits[:n_counted] = earlier.bits[:n_counted]


@partial(jax.jit, static_argnames=("rule", "layout"), donate_argnames="state")
def take_steps(
    state: State,
    rest: DiffusionModel,
    batches: Data,
    dropped_condition: Array,
    key: PRNGKeyArray,
    *,
    rule: Rule,
    layout: Layout,
) -> State:
    """Take a step on each of some batches, of shape (steps, batch, ...)."""

    def step(state: State, batch: Data) -> tuple[State, None]:
        return _stepped(state, rest, *batch, dropped_condition, key, rule, layout), None

    if len(batches[0]) == 1:
        return step(state, (batches[0][0], batches[1][0]))[0]
    return jax.lax.scan(step, state, batches)[0]


def _stepped(
    state: State,
    rest: DiffusionModel,
    x: Float[Array, "batch *shape"],
    conditions: Array,
    dropped_condition: Array,
    key: PRNGKeyArray,
    rule: Rule,
    layout: Layout,
) -> State:
    """Return the state after one step on a batch of samples and their conditions."""
    for_noise, for_network, for_dropping = jax.random.split(jax.random.fold_in(key, state.step), 3)
    if rule.drop_condition > 0:
        dropped = jax.random.bernoulli(for_dropping, rule.drop_condition, (len(x), 1))
        conditions = jnp.where(dropped, dropped_condition, conditions)

    def loss(row: Array) -> tuple[Array, Array]:
        at = Pass(for_network, short=rule.kind.short)
        losses = terms(layout.model(row, rest), x, conditions, for_noise, at)
        means = jnp.stack([jnp.mean(term) for term in losses])
        return jnp.sum(means), means

    (_, losses), gradient = jax.value_and_grad(loss, has_aux=True)(state.row)
    with jax.numpy_dtype_promotion("standard"):  # as optimisers expect
        update, optimiser = rule.kind.transformation().update(gradient, state.optimiser, state.row)
    row, average = state.row + cast(Array, update), state.average
    if average is not None and rule.average is not None:
        average = rule.average * average + (1.0 - rule.average) * row
    last_losses = state.losses.at[state.step % COUNTED].set(losses)
    return State(row, average, optimiser, state.step + 1, last_losses)


class Loop:
    """Loop over the steps of one run."""

    def __init__(self, problem: DiffusionProblem, run: int, learning_rate: float) -> None:
        self.data, self.at_once = here(problem.data), steps_at_once()
        self.problem, self.sampling, training = problem, problem.sampling, problem.training
        model, self.seed = problem.network(run), problem.seeds[run]
        self.rule = Rule(
            Kind.of(training, learning_rate), float(training.drop_condition),
            None if training.average is None else float(training.average),
        )  # fmt: skip
        self.batch, self.per_epoch = problem.batch, problem.per_epoch
        self.stops, self.last = problem.stops, problem.steps
        self.nothing, self.key = on_device(model.nothing), jax.random.key(self.seed)
        self.pictures = picture_folder(self.sampling, run, problem.runs)
        parameters, self.rest = eqx.partition(model, eqx.is_inexact_array)
        self.layout = Layout.of(parameters)

        def row() -> Array:  # a new array each time, as a step reuses the memory of its input
            return flat(parameters)

        self.state = State(
            row(), None if self.rule.average is None else row(),
            self.rule.kind.transformation().init(row()),
            jnp.zeros((), jnp.int32), jnp.full((COUNTED, 3), jnp.nan, jnp.float32),
        )  # fmt: skip
        self.records = self._blank(self.stops.tolist(), problem.keeps_weights)
        self.diverged = False
        self._ordered: tuple[int, Int[np.ndarray, "per_epoch batch"]] = 0, self._order(0)

    @property
    def model(self) -> DiffusionModel:
        return laid_out(self.state.row, self.rest, layout=self.layout)

    @property
    def averaged(self) -> DiffusionModel:
        average = self.state.average
        return self.model if average is None else laid_out(average, self.rest, layout=self.layout)

    @property
    def bits_steps(self) -> Int[np.ndarray, " L"]:
        """Return the last step of each hundred."""
        return np.minimum(COUNTED * np.arange(1, len(self.records.bits) + 1), self.last)

    def run(self, report: Report) -> None:
        """Train to the end."""
        checkpoint = self.problem.checkpoint
        marks = {} if checkpoint is None else self._marks()
        if checkpoint is not None and checkpoint.exists():
            report.following.resume(self._resume(checkpoint, marks))
        place = start = int(self.state.step)
        due = set(self.stops.tolist())
        if place == 0 and 0 in due:
            self._report(report, place, self._record(place))
        reported, saved = 0, time.monotonic()
        last_report = saved
        while place < self.last and not self.diverged:
            steps = self._steps_ahead(place)
            batches = of_rows(self.data, self._rows(place, steps))
            self.state = take_steps(
                self.state, self.rest, batches, self.nothing, self.key,
                rule=self.rule, layout=self.layout,
            )  # fmt: skip
            place += steps
            if place % COUNTED == 0 or place == self.last:
                self._count(place)
            samples = self._record(place) if place in due else {}
            if place in due or place % COUNTED == 0:
                self._report(report, place, samples)
            clock = time.monotonic()
            if clock - last_report > REPORTED_EVERY:
                report(place - reported, self._counted_loss(place))
                reported, last_report = place, clock
            if checkpoint is not None and clock - saved >= SAVED_EVERY and place < self.last:
                self._save(checkpoint, marks, report.following.seconds)
                saved = time.monotonic()
        if checkpoint is not None and place > start:
            self._save(checkpoint, marks, report.following.seconds)
        # The loss is measured before a step, of which the last may have diverged.
        self.diverged = self.diverged or not np.isfinite(np.asarray(self.state.row)).all()

    def _blank(self, stops: Sequence[int], keeps_weights: bool) -> Records:
        return Records.blank(self.problem, stops, self.state.row.size if keeps_weights else None)

    def _order(self, epoch: int) -> Int[np.ndarray, "per_epoch batch"]:
        rng = np.random.default_rng([self.seed, ORDER, epoch])
        rows = rng.permutation(self.problem.count)[: self.per_epoch * self.batch]
        return rows.reshape(self.per_epoch, self.batch)

    def _rows(self, place: int, steps: int) -> Int[np.ndarray, "steps batch"]:
        """Return the samples of the next batches, of one epoch after the other."""
        rows = []
        for step in range(place, place + steps):
            epoch, turn = divmod(step, self.per_epoch)
            if epoch != self._ordered[0]:
                self._ordered = epoch, self._order(epoch)
            rows.append(self._ordered[1][turn])
        return np.stack(rows)

    def _steps_ahead(self, place: int) -> int:
        """Return how many steps to take in one program: 1 where something is due before `at_once`.

        So there are two programs, and none for each number of steps that may be left.
        """
        stop = int(self.stops[np.searchsorted(self.stops, place, side="right")])
        due = min(stop - place, COUNTED - place % COUNTED)
        return self.at_once if due >= self.at_once else 1

    def _count(self, place: int) -> None:
        """Record the mean terms since the last hundred; training has diverged if they are NaN."""
        means = self._means((place - 1) % COUNTED + 1)
        self.records.bits[(place - 1) // COUNTED] = means
        self.diverged = not np.isfinite(means).all()

    def _mean_loss(self, place: int) -> float:
        """Return the mean loss of the last steps, at most `COUNTED`; NaN before the first."""
        return float(self._means(max(place, 1)).sum())

    def _means(self, steps: int) -> Float[np.ndarray, " 3"]:
        """Return the mean terms over the first rows of the last losses."""
        with np.errstate(all="ignore"):  # of a run that diverged
            return np.asarray(self.state.losses)[:steps].mean(axis=0)

    def _counted_loss(self, place: int) -> float:
        """Return the mean loss of the last full hundred, which waits for no step."""
        counted = place // COUNTED
        return float(self.records.bits[counted - 1].sum()) if counted else np.nan

    def _report(self, report: Report, place: int, samples: dict[str, np.ndarray]) -> None:
        """Report a step that was recorded, or the end of a hundred."""
        turn, scores = int(np.searchsorted(self.stops, place)), {}
        loss = self.records.losses[turn]
        if place and (place % COUNTED == 0 or place == self.last):
            means = self.records.bits[(place - 1) // COUNTED]
            loss, scores = means.sum(), dict(zip(Terms._fields, means.tolist(), strict=True))
        report.record(place, float(loss), scores=scores, samples=samples)

    def _record(self, place: int) -> dict[str, np.ndarray]:
        """Record a step: the loss, and unless training has diverged weights, schedule, samples.

        Returns
        -------
        dict of str to float array
            The samples of each prompt, if there are any.
        """
        turn = int(np.searchsorted(self.stops, place))
        self.records.losses[turn] = self._mean_loss(place)
        if self.diverged:
            return {}
        if self.records.weights is not None:
            average = self.state.average
            self.records.weights[turn] = self.state.row if average is None else average
        model = self.averaged
        first, slope = float(model.schedule.first), float(model.schedule.slope)
        self.records.schedules[turn] = first, first + slope
        if self.sampling is None:
            return {}
        samples_of = draw_samples(self.sampling, model, self.seed, turn)
        self.records.readings.record(turn, self.sampling, samples_of)
        if self.pictures is not None:
            save_samples(samples_of, self.pictures, place)
        return samples_of

    def _decoder(self) -> str:
        """Return a fingerprint of the decoder, from its output for some training samples."""
        decoder = None if self.sampling is None else self.sampling.decoder
        probed = self.problem.samples[:PROBED]
        return fingerprint({}, () if decoder is None else decode(decoder, probed))

    def _marks(self) -> dict[str, Any]:
        training, sampling = self.problem.training, self.sampling
        settings, optimiser = settings_of(
            training, self.rule.kind, self.seed, self.state.optimiser, self.state.row
        )
        settings |= {"shapes": self.layout.shapes}
        prompts = {} if sampling is None else sampling.prompts
        if sampling is not None:
            settings["sampling"] = [list(prompts), sampling.steps, sampling.denoise, sampling.keep]
        arrays = (self.state, self.rest, self.problem.samples, self.problem.conditions)
        mark = fingerprint(settings, (arrays, [prompt.arrays for prompt in prompts.values()]))
        stops = self.stops.tolist()
        return {"mark": mark, "optimiser": optimiser, "decoder": self._decoder(), "stops": stops}

    def _save(self, checkpoint: Path, marks: dict[str, Any], seconds: float) -> None:
        keeps_weights = self.records.weights is not None
        description = marks | {"diverged": bool(self.diverged), "keeps weights": keeps_weights}
        description["seconds"] = seconds
        save_checkpoint(checkpoint, (self.state, self.records), description)

    def _resume(self, checkpoint: Path, marks: dict[str, Any]) -> float:
        """Resume from a checkpoint; return its seconds of training."""

        def like(saved: dict[str, Any]) -> tuple[State, Records]:
            return self.state, self._blank(saved["stops"], saved["keeps weights"])

        (state, records), saved = load_checkpoint(checkpoint, like, marks["mark"])
        require_optimiser(checkpoint, saved["optimiser"], marks["optimiser"])
        require(
            saved["decoder"] == marks["decoder"],
            "coordinates that were kept go on with the decoder that they began with",
            f"{checkpoint}, where another one reads the training samples otherwise",
            "pass the same decoder, remove the file to begin anew, or name another file",
        )
        place, stops = int(state.step), self.stops.tolist()
        recorded = [stop for stop in saved["stops"] if stop <= place]
        require_continuation(checkpoint, "steps", place, place, recorded, stops)
        stops_past = sum(stop <= place for stop in stops)
        self._require_weights(checkpoint, records)
        self.state, records = state, jax.tree.map(np.asarray, records)
        if self.records.weights is None or records.weights is None:  # as fit into memory
            self.records, records = (
                part._replace(weights=None) for part in (self.records, records)
            )
        self.records.continue_from(records, stops_past)
        # A run that goes on finds divergence where it counts, at the end of a hundred.
        self.diverged = saved["diverged"] and (place % COUNTED == 0 or place == self.last)
        return float(saved.get("seconds", 0.0))

    def _require_weights(self, checkpoint: Path, records: Records) -> None:
        require(
            records.weights is not None or self.problem.training.keep_weights is not True,
            "a run keeps its weights from its beginning",
            f"{checkpoint} of one that did not",
            "leave keep_weights out, or name another file",
        )


def steps_at_once() -> int:
    """Return how many steps are taken in one program, unless a record is due before."""
    return AT_ONCE if has_accelerator() else 1


def of_rows(data: Data, rows: Int[np.ndarray, "steps batch"]) -> Data:
    """Return batches of shape (steps, batch, ...), assembled where the data are."""
    if isinstance(data[0], np.ndarray):
        return on_device(data[0][rows]), on_device(data[1][rows])
    return _of_rows(data, on_device(rows, np.int32))


@jax.jit
def _of_rows(data: Data, rows: Int[Array, "steps batch"]) -> Data:
    return data[0][rows], data[1][rows]


def memory_of(problem: DiffusionProblem, run: int = 0) -> int:
    """Return the bytes of a step of a run, estimated."""
    model, kind = problem.network(run), Kind.of(problem.training, 1.0)
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)
    layout = Layout.of(parameters)

    def loss(row: Array, batch: tuple[Array, Array]) -> Array:
        key = jax.random.key(0)
        losses = terms(layout.model(row, rest), *batch, key, Pass(key, short=kind.short))
        return sum(map(jnp.mean, losses), jnp.float32(0.0))

    row = flat(parameters)
    samples = jax.ShapeDtypeStruct((problem.batch, *model.shape), jnp.float32)
    conditions = problem.conditions
    words = jax.ShapeDtypeStruct((problem.batch, conditions.shape[1]), conditions.dtype)
    average = 0 if problem.training.average is None else size_of(row)
    key = (layout, kind.short, str(jax.tree.structure(rest)))
    return average + step_memory(loss, row, (samples, words), kind.transformation(), key)


def flat(parameters: Any) -> Float[Array, " p"]:
    """Return a new array of all parameters in one row."""
    leaves = [np.asarray(leaf).ravel() for leaf in jax.tree.leaves(parameters)]
    return on_device(np.concatenate(leaves))


def engine(problem: DiffusionProblem) -> Callable[[int, float, Any], Trace]:
    """Return a function that trains one diffusion model."""
    require_room(
        max(memory_of(problem, run) for run in range(problem.runs)),
        problem.weights_size * problem.keeps_weights + problem.samples_size + problem.data_size,
        "take a smaller batch or model, or keep fewer samples and weights",
    )

    def train_run(run: int, rate: float, report: Report) -> Trace:
        loop = Loop(problem, run, rate)
        loop.run(report)
        records = loop.records
        weights = records.weights
        kept = None if weights is None else KeptWeights(weights, loop.layout, loop.rest)
        return Trace(
            losses=records.losses.astype(float)[:, None],
            network=loop.model,
            step=int(loop.state.step),
            diverged=loop.diverged,
            of_diffusion=DiffusionTrace(
                averaged=loop.averaged,
                readings=records.readings,
                weights=kept,
                schedules=records.schedules,
                bits=records.bits,
                bits_steps=loop.bits_steps,
            ),
        )

    return train_run
