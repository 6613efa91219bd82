"""Training of one diffusion model: a compiled step in a plain loop.

As for image networks, the loop is Python's: a convolution within a compiled loop is some 25 times
slower on a CPU. Only sampling waits for a step to finish.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole._arrays import Array as ArrayRule
from partwhole._arrays import Axes
from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._progress import bar
from partwhole.networks.diffusion import ConditionEmbedding, DiffusionModel, sample
from partwhole.networks.diffusion.model import Conditions
from partwhole.networks.images.layers import Pass
from partwhole.tasks.shapes.pictures import image_grid, save_picture
from partwhole.training.checkpoints import fingerprint, load_checkpoint, save_checkpoint
from partwhole.training.diffusion.bits import checked_samples, terms
from partwhole.training.diffusion.diffusion_run import DiffusionRun
from partwhole.training.diffusion.prompt import Prompt
from partwhole.training.diffusion.recipe import DiffusionRecipe
from partwhole.training.outcome import Outcome

ORDER, SAMPLING = 110, 111  # separate random streams of order and samples
TOLD_EVERY, SAVED_EVERY = 0.25, 60.0  # seconds
COUNTED = 100  # steps over which the loss is averaged
SHOWN = 8  # samples of each prompt in a saved figure
PROBED = 64  # training samples by which `read` is recognised

Read = Callable[[Float[np.ndarray, "n *shape"]], Float[np.ndarray, "n C"]]


class Layout(NamedTuple):
    """Positions of a model's arrays in one row of numbers.

    A step updates all parameters as one row: the optimizer passes through memory once, where a tree
    of small arrays would take hundreds of passes.
    """

    tree: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, parameters: DiffusionModel) -> Layout:
        """Return the layout of a model's parameters; all other leaves are None."""
        leaves, tree = jax.tree.flatten(parameters)
        return cls(tree, tuple(leaf.shape for leaf in leaves))

    def model(self, row: Float[Array, " w"], rest: DiffusionModel) -> DiffusionModel:
        """Return the model with the parameters of a row."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = zip(jnp.split(row, ends), self.shapes, strict=True)
        parameters = jax.tree.unflatten(self.tree, [part.reshape(shape) for part, shape in parts])
        return eqx.combine(parameters, rest)


@partial(jax.jit, static_argnames="layout")
def laid_out(row: Float[Array, " w"], rest: DiffusionModel, *, layout: Layout) -> DiffusionModel:
    """Return the model with the parameters of a row, in newly allocated arrays."""
    return layout.model(row, rest)


class State(NamedTuple):
    """What a step changes: parameters, their average, optimizer state, step count and losses."""

    row: Float[Array, " w"]
    average: Float[Array, " w"] | None
    optimizer: optax.OptState
    step: Int[Array, ""]
    total: Float[Array, " 3"]  # sum over the steps since the last record


class Records(NamedTuple):
    """Coordinates, samples and losses recorded so far; later entries are NaN."""

    coordinates: dict[str, np.ndarray]
    samples: dict[str, np.ndarray]
    bits: np.ndarray


@partial(jax.jit, static_argnames=("recipe", "layout"), donate_argnames="state")
def take_step(
    state: State,
    rest: DiffusionModel,
    x: Float[Array, "batch *shape"],
    conditions: Array,
    dropped_condition: Array,
    key: PRNGKeyArray,
    *,
    recipe: DiffusionRecipe,
    layout: Layout,
) -> State:
    """Take one step on a batch of samples and their conditions."""
    for_noise, for_network, for_dropping = jax.random.split(jax.random.fold_in(key, state.step), 3)
    if recipe.drop_condition > 0:
        dropped = jax.random.bernoulli(for_dropping, recipe.drop_condition, (len(x), 1))
        conditions = jnp.where(dropped, dropped_condition, conditions)

    def loss(row: Array) -> tuple[Array, Array]:
        losses = terms(layout.model(row, rest), x, conditions, for_noise, Pass(for_network))
        means = jnp.stack([jnp.mean(term) for term in losses])
        return jnp.sum(means), means

    (_, losses), gradient = jax.value_and_grad(loss, has_aux=True)(state.row)
    with jax.numpy_dtype_promotion("standard"):  # as optimizers expect
        update, optimizer = recipe.transformation().update(gradient, state.optimizer, state.row)
    row, average = state.row + cast(Array, update), state.average
    if average is not None and recipe.average is not None:
        share = float(recipe.average)
        average = share * average + (1.0 - share) * row
    return State(row, average, optimizer, state.step + 1, state.total + losses)


@door(single=("samples", "conditions"))
def train_diffusion(
    model: DiffusionModel,
    samples: Float[np.ndarray, "n *shape"],
    conditions: Conditions,
    recipe: DiffusionRecipe,
    *,
    seed: int,
    at: Sequence[int] = (),
    prompts: Mapping[str, Prompt] | None = None,
    read: Read | None = None,
    keep_samples: bool = False,
    pictures: Path | str | None = None,
    checkpoint: Path | str | None = None,
    progress: bool = True,
) -> DiffusionRun:
    """Train a diffusion model, and draw samples from it during training.

    Parameters
    ----------
    model : DiffusionModel
        It is not modified.
    samples : float array, shape (n, height, width, channels) or (n, length)
        Images from 0 to 1; vectors of any size.
    conditions : float array, shape (n, condition), or int array, shape (n, words)
        Condition of each sample.
    recipe : DiffusionRecipe
    seed : int, keyword-only
        Fixes the order of the samples and all noise; weights are the model's.
    at : sequence of int, keyword-only, default ()
        Steps after which samples are drawn, increasing; 0 is before training.
    prompts : mapping of str to Prompt, keyword-only, default None
        Prompts to sample, by name.
    read : callable, keyword-only, default None
        From samples, shape (n, *shape), to coordinates, shape (n, C): a decoder or a classifier.
    keep_samples : bool, keyword-only, default False
        Whether to keep the samples too, as float16. If samples are drawn, pass this, `read` or
        `pictures`.
    pictures : Path or str, keyword-only, default None
        A folder in which figures of eight samples of each prompt are saved during training.
    checkpoint : Path or str, keyword-only, default None
        A file that is written about once a minute. If it exists, training resumes from it: the
        final weights, samples and coordinates equal those of an uninterrupted run, bit by bit, on
        the same machine with as many threads. `read` is recognised by its output for some training
        samples. The file is removed at the end.
    progress : bool, keyword-only, default True
        Whether to show a bar with the loss on the error stream once this takes over two seconds.

    Returns
    -------
    DiffusionRun

    Raises
    ------
    InputError
        For samples, conditions or prompts that don't fit the model, steps that don't increase or
        lie outside training, samples that are drawn but neither read, kept nor saved as figures,
        and a checkpoint that is damaged, of another run or of another `read`.

    Examples
    --------
    >>> from partwhole.networks.diffusion import diffusion_model
    >>> points = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    >>> model = diffusion_model("vector", condition=2, seed=0)
    >>> run = train_diffusion(
    ...     model, points, points, DiffusionRecipe(steps=20, sampling_steps=5), seed=0,
    ...     at=[0, 20], prompts={"far": Prompt(conditions=np.full((4, 2), 3.0))}, read=lambda x: x,
    ... )
    >>> run.coordinates["far"].shape, run.steps.tolist()
    ((2, 4, 2), [0, 20])
    """
    x, checked_conditions = checked_samples(model, samples, conditions)
    whole("seed", seed, 0, "pass a whole number")
    named_prompts = dict(prompts or {})
    times = list(at)
    require(
        all(early < late for early, late in pairwise(times))
        and all(0 <= step <= recipe.steps for step in times),
        f"samples are asked for at growing steps from 0 to {recipe.steps}",
        times,
        "sort them, and leave out those that are later than training",
    )
    require(
        (not times) == (not named_prompts),
        "samples are asked for at steps, by prompts",
        f"{len(times)} steps and {len(named_prompts)} prompts",
        "pass both, or neither",
    )
    require(
        not named_prompts or keep_samples or read is not None or pictures is not None,
        "samples that are asked for are read, kept or drawn",
        "none of read, keep_samples and pictures",
        "pass one of them",
    )
    for prompt in named_prompts.values():
        prompt.embed(model)  # raises before hours of training if it does not fit
    loop = _Loop(
        model, x, checked_conditions, recipe, seed, times, named_prompts, read, keep_samples
    )
    folder = None if pictures is None else Path(pictures)
    if folder is not None:
        require(
            len(model.shape) == 3, "pictures are of images", f"samples of {model.shape}", "drop it"
        )
        folder.mkdir(parents=True, exist_ok=True)
    return loop.run(None if checkpoint is None else Path(checkpoint), folder, progress)


class _Loop:
    """Loop over the steps of one run."""

    def __init__(
        self, model: DiffusionModel, samples: np.ndarray, conditions: np.ndarray,
        recipe: DiffusionRecipe, seed: int, at: list[int], prompts: dict[str, Prompt],
        read: Read | None, keep_samples: bool,
    ) -> None:  # fmt: skip
        self.recipe, self.seed, self.at, self.prompts, self.read = recipe, seed, at, prompts, read
        # The settings of a step: it is compiled once for all runs that differ only in others.
        self.rule = replace(recipe, steps=1, sampling_steps=1, denoise=False)
        self.samples, self.conditions = samples, conditions
        self.nothing = jnp.asarray(model.nothing)
        self.batch = min(recipe.batch, len(samples))
        self.per_epoch = len(samples) // self.batch
        self.key = jax.random.key(seed)
        parameters, self.rest = eqx.partition(model, eqx.is_inexact_array)
        self.layout = Layout.of(parameters)

        def row() -> Array:  # a new array each time, as a step reuses the memory of its input
            return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(parameters)])

        self.state = State(
            row(), None if recipe.average is None else row(), recipe.transformation().init(row()),
            jnp.zeros((), jnp.int32), jnp.zeros(3, jnp.float32),
        )  # fmt: skip
        n, shape = len(at), model.shape
        coordinates = {}
        if read is not None and prompts:
            first_prompt = next(iter(prompts.values()))
            concepts = self._read(np.zeros((1, *shape), np.float32)).shape[1] if first_prompt else 0
            coordinates = {
                name: np.full((n, len(prompt), concepts), np.nan, np.float32)
                for name, prompt in prompts.items()
            }
        samples_of = {
            name: np.full((n, len(prompt), *shape), np.nan, np.float16)
            for name, prompt in prompts.items()
            if keep_samples
        }
        counted = -(-recipe.steps // COUNTED)
        self.records = Records(coordinates, samples_of, np.full((counted, 3), np.nan, np.float32))

    @property
    def model(self) -> DiffusionModel:
        return laid_out(self.state.row, self.rest, layout=self.layout)

    @property
    def averaged(self) -> DiffusionModel:
        average = self.state.average
        return self.model if average is None else laid_out(average, self.rest, layout=self.layout)

    def run(self, checkpoint: Path | None, pictures: Path | None, progress: bool) -> DiffusionRun:
        mark, reader = ("", "") if checkpoint is None else (self._mark(), self._reader())
        if checkpoint is not None and checkpoint.exists():
            (self.state, records), description = load_checkpoint(
                checkpoint, (self.state, self.records), mark
            )
            require(
                description.get("reader") == reader,
                "coordinates that were kept go on with the `read` that they began with",
                f"{checkpoint}, where another one reads the training samples otherwise",
                "pass the same `read`, remove the file to begin anew, or name another file",
            )
            self.records = jax.tree.map(np.array, records)
        place, last = int(self.state.step), self.recipe.steps
        outcome = Outcome.RAN_ALL_STEPS
        if place == 0:
            self._ask(place, pictures)
        saved = last_report = time.monotonic()
        order = self._order(place // self.per_epoch)
        with bar("Training", last, shown=progress) as advance:
            reported = 0
            while place < last and outcome is Outcome.RAN_ALL_STEPS:
                turn = place % self.per_epoch
                rows = order[turn * self.batch : (turn + 1) * self.batch]
                self.state = take_step(
                    self.state, self.rest, jnp.asarray(self.samples[rows]),
                    jnp.asarray(self.conditions[rows]), self.nothing, self.key,
                    recipe=self.rule, layout=self.layout,
                )  # fmt: skip
                place += 1
                if place % COUNTED == 0 or place == last:
                    outcome = self._count(place)
                if place % self.per_epoch == 0:
                    order = self._order(place // self.per_epoch)
                if outcome is Outcome.RAN_ALL_STEPS:
                    self._ask(place, pictures)
                clock = time.monotonic()
                if clock - last_report > TOLD_EVERY:
                    advance(place - reported, self._note(place))
                    reported, last_report = place, clock
                if checkpoint is not None and clock - saved >= SAVED_EVERY and place < last:
                    save_checkpoint(
                        checkpoint, (self.state, self.records), {"mark": mark, "reader": reader}
                    )
                    saved = time.monotonic()
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
        counted = -(-place // COUNTED)
        ends = np.minimum(COUNTED * np.arange(1, counted + 1), place)
        return DiffusionRun(
            model=self.model,
            averaged=self.averaged,
            recipe=self.recipe,
            outcome=outcome,
            steps=np.array(self.at, int),
            coordinates=self.records.coordinates,
            samples=self.records.samples,
            bits=self.records.bits[:counted],
            bits_steps=ends,
        )

    def _order(self, epoch: int) -> Int[np.ndarray, " m"]:
        rng = np.random.default_rng([self.seed, ORDER, epoch])
        return rng.permutation(len(self.samples))[: self.per_epoch * self.batch]

    def _count(self, place: int) -> Outcome:
        """Record the mean loss of the last steps; return whether training has diverged."""
        steps = place - COUNTED * ((place - 1) // COUNTED)
        means = np.asarray(self.state.total) / steps
        self.records.bits[(place - 1) // COUNTED] = means
        self.state = self.state._replace(total=jnp.zeros_like(self.state.total))
        finite = bool(np.isfinite(means).all())
        return Outcome.RAN_ALL_STEPS if finite else Outcome.DIVERGED

    def _ask(self, place: int, pictures: Path | None) -> None:
        """Draw samples and record their coordinates, if they are due at this step."""
        if place not in self.at:
            return
        turn = self.at.index(place)
        samples_of = self._sampled(turn)
        for name, samples in samples_of.items():
            if self.read is not None:
                # After divergence no sample may be finite.
                finite = np.isfinite(samples).reshape(len(samples), -1).all(axis=1)
                if finite.any():
                    self.records.coordinates[name][turn, finite] = self._read(samples[finite])
            if self.records.samples:
                self.records.samples[name][turn] = samples
        if pictures is not None:
            clipped = [np.clip(images[:SHOWN], 0.0, 1.0) for images in samples_of.values()]
            rows = [
                np.pad(images, [(0, SHOWN - len(images))] + [(0, 0)] * 3, constant_values=1.0)
                for images in clipped
            ]
            save_picture(
                pictures / f"step_{place:06d}.png", image_grid(np.concatenate(rows), SHOWN)
            )

    def _sampled(self, turn: int) -> dict[str, np.ndarray]:
        """Return samples of each prompt, drawing prompts of equal guidance together."""
        model, samples_of = self.averaged, {}
        for number, guidance in enumerate(dict.fromkeys(p.guidance for p in self.prompts.values())):
            same_guidance = {name: p for name, p in self.prompts.items() if p.guidance == guidance}
            embedded = [prompt.embed(model).parts for prompt in same_guidance.values()]
            conditions = ConditionEmbedding(
                tuple(map(jnp.concatenate, zip(*embedded, strict=True)))
            )
            drawn = np.random.SeedSequence([self.seed, SAMPLING, turn, number])
            samples = sample(
                model, conditions, steps=self.recipe.sampling_steps, guidance=guidance,
                denoise=self.recipe.denoise, seed=int(drawn.generate_state(1)[0]), progress=False,
            )  # fmt: skip
            ends = np.cumsum([len(prompt) for prompt in same_guidance.values()])
            samples_of |= dict(zip(same_guidance, np.split(samples, ends[:-1]), strict=True))
        return {name: samples_of[name] for name in self.prompts}

    def _read(self, samples: np.ndarray) -> np.ndarray:
        assert self.read is not None
        rule = ArrayRule(Axes("n concepts", True), "float", nan=True)
        coordinates = rule("what read returns", self.read(samples), {})
        require(
            len(coordinates) == len(samples),
            "what read returns has a row of coordinates for each sample",
            f"shape {coordinates.shape} for {len(samples)} samples",
            "return an array of shape (n, concepts)",
        )
        return coordinates.astype(np.float32)

    def _note(self, place: int) -> str:
        recorded = place // COUNTED
        return f"{self.records.bits[recorded - 1, 0]:.3g} bits of diffusion" if recorded else ""

    def _reader(self) -> str:
        """Return a fingerprint of `read`, from its output for some training samples."""
        coordinates = self._read(self.samples[:PROBED]) if self.records.coordinates else ()
        return fingerprint({}, coordinates)

    def _mark(self) -> str:
        settings = {"recipe": asdict(self.recipe), "seed": self.seed, "at": self.at}
        settings |= {"prompts": list(self.prompts), "samples": bool(self.records.samples)}
        settings["shapes"] = [list(shape) for shape in self.layout.shapes]
        arrays = (self.state, self.rest, self.samples, self.conditions)
        return fingerprint(settings, (arrays, [prompt.arrays for prompt in self.prompts.values()]))
