"""Training of one image network: a compiled step in a plain loop.

A convolution within a compiled loop is some 25 times slower on a CPU than one in a step that Python
calls, so the loop is Python's. It never waits for a step: batches are assembled within the step,
and losses are summed there until an epoch ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._progress import bar
from partwhole.networks import ImageNetwork
from partwhole.networks.network import n_outputs
from partwhole.tasks.images.composites import Composites
from partwhole.training.checkpoints import fingerprint, load_checkpoint, save_checkpoint
from partwhole.training.images.assembly import Images, Layout, Samples, assemble
from partwhole.training.images.goals import (
    checked_targets,
    judged,
    require_images,
)
from partwhole.training.images.image_run import ImageRun, Scores
from partwhole.training.images.recipe import Recipe, of_a_step
from partwhole.training.losses import LOSSES
from partwhole.training.outcome import Outcome

ORDER = 107  # random stream of the order, separate from those of weights and samples
READ_AT_ONCE = 512
TOLD_EVERY, SAVED_EVERY = 0.25, 60.0  # seconds

Targets = Float[np.ndarray, "n *k"] | Int[np.ndarray, "n *q"]
# Sets to be scored have any size.
Scored = Composites | Float[np.ndarray, "_ h w c"]
Wanted = Float[np.ndarray, "_ ..."] | Int[np.ndarray, "_ ..."]


class State(NamedTuple):
    """What a step changes: parameters, running statistics, optimizer state, step and losses."""

    kept: ImageNetwork
    rest: ImageNetwork
    optimizer: optax.OptState
    step: Int[Array, ""]
    total: Float[Array, " tasks"]  # sum over the epoch so far


class Judged(NamedTuple):
    """Samples on which a network is scored."""

    samples: Samples
    layout: Layout
    goal: np.ndarray
    columns: slice | None = None  # of the outputs, those of the samples' own task


@runtime_checkable
class Course(Protocol):
    """Composition of an epoch of several tasks; a single task needs none."""

    @property
    def per_epoch(self) -> int:
        """Return the number of steps."""
        ...

    @property
    def batches(self) -> tuple[int, ...]:
        """Return the number of batches of each task, over which its loss is averaged."""
        ...

    @property
    def stopping(self) -> int:
        """Return how many tasks, from the first, have a loss that ends training."""
        ...

    @property
    def told(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with."""
        ...

    @property
    def arrays(self) -> Any:
        """Return the arrays that a checkpoint must agree with."""
        ...

    def order(self, epoch: int) -> Any:
        """Return the order of the samples in an epoch."""
        ...

    def step(self, state: State, order: Any, key: PRNGKeyArray, place: int) -> State:
        """Take the step at a place of the epoch."""
        ...


def descend(
    state: State,
    loss: Callable[[ImageNetwork], tuple[Array, tuple[Array, ImageNetwork]]],
    recipe: Recipe,
) -> State:
    """Take a gradient step on a loss, which also returns the losses of all tasks and statistics."""
    (_, (losses, rest)), gradients = jax.value_and_grad(loss, has_aux=True)(state.kept)
    transformation = recipe.transformation()
    with jax.numpy_dtype_promotion("standard"):  # as optimizers expect
        updates, optimizer = transformation.update(
            gradients, state.optimizer, cast(Any, state.kept)
        )
    parameters = eqx.apply_updates(state.kept, updates)
    return State(parameters, rest, optimizer, state.step + 1, state.total + losses)


@partial(jax.jit, static_argnames=("recipe", "layout", "batch"), donate_argnames="state")
def take_step(
    state: State,
    samples: Samples,
    targets: Array,
    order: Int[Array, " m"],
    key: PRNGKeyArray,
    *,
    recipe: Recipe,
    layout: Layout,
    batch: int,
) -> State:
    """Take one step on the batch whose turn it is."""
    turn = state.step % (len(order) // batch)
    rows = jax.lax.dynamic_slice(order, (turn * batch,), (batch,))
    for_images, for_network = jax.random.split(jax.random.fold_in(key, state.step))
    images, batch_targets = assemble(samples, rows, layout, for_images), targets[rows]

    def loss(parameters: ImageNetwork) -> tuple[Array, tuple[Array, ImageNetwork]]:
        outputs, after = eqx.combine(parameters, state.rest).in_training(images, for_network)
        value = LOSSES[recipe.loss](outputs, batch_targets)
        return value, (value[None], after.partition()[1])

    return descend(state, loss, recipe)


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
        outputs.append(np.asarray(_answer(network, samples, jnp.asarray(rows), unaugmented)))
    return np.concatenate(outputs)[:n]


@door(single=("images", "targets", "evaluate"))
def train_images(
    network: ImageNetwork,
    images: Images,
    recipe: Recipe,
    *,
    targets: Targets | None = None,
    seed: int,
    evaluate: Mapping[str, Composites | tuple[Scored, Wanted]] | None = None,
    every: int | None = None,
    checkpoint: Path | str | None = None,
    progress: bool = True,
) -> ImageRun:
    """Train an image network.

    Parameters
    ----------
    network : ImageNetwork
        It is not modified.
    images : Composites, or float array of shape (n, h, w, c)
        The training images; see `tasks.compose_images`.
    recipe : Recipe
    targets : float array, shape (n,) or (n, k), or int array, shape (n,) or (n, q); keyword-only
        Of images; composites bring their own. Classes of several questions, a column for each,
        share the outputs evenly.
    seed : int, keyword-only
        Fixes the order of the samples and all noise; weights are the network's.
    evaluate : mapping of str to Composites or to (images, targets), keyword-only, default None
        Sets to be scored, by name.
    every : int, keyword-only, default None
        Score after every so many epochs, and at the end; None for the end only.
    checkpoint : Path or str, keyword-only, default None
        A file that is written about once a minute. If it exists, training resumes from it: the
        final weights equal those of an uninterrupted run, bit by bit, on the same machine with as
        many threads. The file is removed at the end.
    progress : bool, keyword-only, default True
        Whether to show a bar with the loss on the error stream once this takes over two seconds.

    Returns
    -------
    ImageRun

    Raises
    ------
    InputError
        For images that aren't finite or whose shape the network does not take, targets that don't
        fit the loss or the network, a set to be scored that is named "training", and a checkpoint
        that is damaged, of another run, or in a folder that does not exist.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.networks import convnet
    >>> from partwhole.tasks.images.digits import digit_images
    >>> digits, labels = digit_images()
    >>> task = tasks.symbolic_addition(range(-1, 2), [0])
    >>> composed = tasks.compose_images(task, digits, labels, distance=8, seed=0)
    >>> network = convnet((8, 16, 2), channels=(4,), kernel=3, dense=(), seed=0)
    >>> run = train_images(network, composed.training(10), Recipe(loss="squared", epochs=2), seed=0)
    >>> run.training_loss.shape, run.outputs["training"].shape
    ((2,), (50, 1))
    """
    require_images(images, network, "images")
    goal = checked_targets(images, targets, recipe, n_outputs(network), "targets")
    whole("seed", seed, 0, "pass 0, say")
    if every is not None:
        whole("every", every, 1, "leave it out to score at the end only")
    samples, layout = Samples.of(images)
    layout = layout._replace(crop=recipe.crop, flip=recipe.flip)
    sets = {"training": Judged(samples, layout, goal)}
    for name, scored in (evaluate or {}).items():
        require(
            name != "training",
            "the samples that are trained on are scored under the name 'training', others under "
            "names of their own",
            "'training' in evaluate",
            "name the set otherwise",
        )
        scored_images, scored_targets = scored if isinstance(scored, tuple) else (scored, None)
        require_images(scored_images, network, f"images of {name}")
        scored_goal = checked_targets(
            scored_images, scored_targets, recipe, n_outputs(network), f"targets of {name}"
        )
        scored_samples, scored_layout = Samples.of(scored_images, (images, samples))
        sets[name] = Judged(scored_samples, scored_layout, scored_goal)
    return Loop(network, samples, layout, goal, recipe, seed).run(
        sets, every, None if checkpoint is None else Path(checkpoint), progress
    )


class Loop:
    """Loop over the epochs of one run."""

    def __init__(
        self, network: ImageNetwork, samples: Samples, layout: Layout, goal: np.ndarray,
        recipe: Recipe, seed: int, course: Course | None = None,
    ) -> None:  # fmt: skip
        self.recipe, self.seed, self.samples, self.layout = recipe, seed, samples, layout
        self.n, self.goal = len(goal), jnp.asarray(goal)
        self.batch = min(recipe.batch, self.n)
        self.course = course
        self.per_epoch = self.n // self.batch if course is None else course.per_epoch
        self.batches = (self.per_epoch,) if course is None else course.batches
        self.key = jax.random.key(seed)
        parameters, rest = network.partition()
        initial = State(
            parameters, rest, recipe.transformation().init(cast(Any, parameters)),
            jnp.zeros((), jnp.int32), jnp.zeros(len(self.batches), jnp.float32),
        )  # fmt: skip
        # A step reuses the memory of its input; this copy keeps the caller's network intact.
        self.state: State = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), initial)
        self.losses: list[list[float]] = []  # of all tasks, epoch by epoch
        self.marks: list[tuple[int, dict[str, dict[str, float]]]] = []

    @property
    def network(self) -> ImageNetwork:
        return eqx.combine(self.state.kept, self.state.rest)

    def run(
        self, sets: dict[str, Judged], every: int | None,
        checkpoint: Path | None, progress: bool,
    ) -> ImageRun:  # fmt: skip
        mark = ""
        if checkpoint is not None:
            require(
                checkpoint.parent.is_dir(),
                "a checkpoint is written in a folder that is there",
                f"{checkpoint}",
                "make the folder first",
            )
            mark = self._mark(sets)
            if checkpoint.exists():
                self._go_on(checkpoint, mark)
        outcome, finished = Outcome.RAN_ALL_STEPS, False
        place, last = int(self.state.step), self.recipe.epochs * self.per_epoch
        saved = last_report = time.monotonic()
        with bar("Training", last, shown=progress) as advance:
            reported, order = 0, self._order(place // self.per_epoch)
            while place < last and not finished:
                self.state = self._step(order, place % self.per_epoch)
                place += 1
                if place % self.per_epoch == 0:
                    outcome = self._end_epoch()
                    finished = outcome is not Outcome.RAN_ALL_STEPS
                    epoch = place // self.per_epoch
                    if every is not None and epoch % every == 0 and place < last and not finished:
                        self._score(sets)
                    order = self._order(epoch)
                clock = time.monotonic()
                if clock - last_report > TOLD_EVERY:
                    advance(place - reported, self._note(place))
                    reported, last_report = place, clock
                if checkpoint is not None and clock - saved >= SAVED_EVERY and place < last:
                    self._save(checkpoint, mark)
                    saved = time.monotonic()
        outputs = self._score(sets)
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
        return ImageRun(
            network=self.network,
            recipe=self.recipe,
            seed=self.seed,
            training_loss=np.array(self.losses)[:, 0],
            recorded=np.array([epoch for epoch, _ in self.marks]),
            scores={name: self._scores(name) for name in sets},
            outputs=outputs,
            outcome=outcome,
        )

    def _step(self, order: Any, place: int) -> State:
        if self.course is not None:
            return self.course.step(self.state, order, self.key, place)
        return take_step(
            self.state, self.samples, self.goal, order, self.key,
            recipe=of_a_step(self.recipe), layout=self.layout, batch=self.batch,
        )  # fmt: skip

    def _order(self, epoch: int) -> Any:
        if self.course is not None:
            return self.course.order(epoch)
        rng = np.random.default_rng([self.seed, ORDER, epoch])
        order = rng.permutation(self.n)[: self.per_epoch * self.batch]
        return jnp.asarray(order.astype(np.int32))

    def _end_epoch(self) -> Outcome:
        """Record the losses of an epoch; return whether they end training."""
        means = np.asarray(self.state.total, dtype=float) / self.batches
        self.losses.append(means.tolist())
        self.state = self.state._replace(total=jnp.zeros_like(self.state.total))
        if not np.all(means <= self.recipe.diverged_loss):
            return Outcome.DIVERGED
        stopping = means if self.course is None else means[: self.course.stopping]
        if self.recipe.stop_loss is not None and np.all(stopping < self.recipe.stop_loss):
            return Outcome.REACHED_THRESHOLD
        return Outcome.RAN_ALL_STEPS

    def _note(self, place: int) -> str:
        """Return the mean losses of the epoch so far, or of the last one."""
        turn = place % self.per_epoch
        # Tasks that follow one another have no common number of batches within an epoch.
        if turn and set(self.batches) == {self.per_epoch}:
            losses = (np.asarray(self.state.total, dtype=float) / turn).tolist()
        else:
            losses = self.losses[-1] if self.losses else []
        return f"loss {' and '.join(f'{loss:.3g}' for loss in losses)}" if losses else ""

    def _score(self, sets: dict[str, Judged]) -> dict[str, Float[np.ndarray, "_ k"]]:
        """Record the scores of the current network on each set; return its outputs."""
        network, outputs, scores = self.network, {}, {}
        for name, (samples, layout, goal, columns) in sets.items():
            outputs[name] = _answers(network, samples, layout)
            scores[name] = judged(outputs[name], goal, self.recipe, columns)
        self.marks.append((len(self.losses), scores))
        return outputs

    def path(self, name: str, key: str) -> Float[np.ndarray, " T"] | None:
        """Return one score of a set over training; None if the set has no such score."""
        scores = [scores_of[name] for _, scores_of in self.marks]
        return np.array([score[key] for score in scores]) if key in scores[0] else None

    def _scores(self, name: str) -> Scores:
        loss = self.path(name, "loss")
        assert loss is not None
        return Scores(loss, self.path(name, "accuracy"), self.path(name, "error"))

    def _mark(self, sets: dict[str, Judged]) -> str:
        settings = {
            "recipe": asdict(self.recipe), "seed": self.seed, "layout": self.layout,
            "sets": {name: (scored.layout, str(scored.columns)) for name, scored in sets.items()},
        }  # fmt: skip
        arrays_of_sets = [(scored.samples, scored.goal) for scored in sets.values()]
        arrays = (self.state, self.samples, self.goal, arrays_of_sets)
        if self.course is None:
            return fingerprint(settings, arrays)
        return fingerprint(settings | self.course.told, (arrays, self.course.arrays))

    def _save(self, checkpoint: Path, mark: str) -> None:
        description: dict[str, Any] = {"mark": mark, "losses": self.losses, "marks": self.marks}
        save_checkpoint(checkpoint, self.state, description)

    def _go_on(self, checkpoint: Path, mark: str) -> None:
        self.state, description = load_checkpoint(checkpoint, self.state, mark)
        self.losses = list(description["losses"])
        self.marks = [(epoch, scores) for epoch, scores in description["marks"]]
