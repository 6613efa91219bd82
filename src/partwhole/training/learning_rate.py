"""Learning rates by a range test: a run in which the rate grows from step to step."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._progress import bar
from partwhole._threads import cores, in_threads
from partwhole._types import Real
from partwhole.networks import ImageNetwork, Network
from partwhole.networks.network import n_outputs
from partwhole.training._rate_search import Found as RateFound
from partwhole.training._rate_search import LearningRateSearch, gathered, grid, search
from partwhole.training.engines.layered import (
    Settings,
    advance,
    begin,
    begun,
    in_precision,
    kind_of,
    rate_shares,
)
from partwhole.training.images.assembly import Images, Layout, Samples
from partwhole.training.images.goals import checked_targets, require_images
from partwhole.training.images.recipe import Recipe
from partwhole.training.images.train import Loop, State, Targets, take_step
from partwhole.training.problem import Data, Networks, checked_problem
from partwhole.training.training import Training


@door(single=("data",))
def dense_learning_rate(
    networks: Networks,
    data: Data,
    training: Training,
    *,
    lowest: Real = 1e-6,
    highest: Real = 10.0,
    steps: int = 100,
    at_most: Real | None = None,
    progress: bool = True,
) -> LearningRateSearch:
    """Search for the learning rate of each of some networks, on all samples at once.

    The rule is stated at `LearningRateSearch`; losses are not smoothed.

    Parameters
    ----------
    networks, data
        As in `train`, of one task.
    training : Training
        Settings of the later training, by "sgd" or "adam"; its steps, batch and learning rate
        are not used.
    lowest : float, keyword-only, default 1e-6
    highest : float, keyword-only, default 10
        Rates are tried from the one to the other.
    steps : int, keyword-only, default 100
        How many, at least 10. A search takes three times as many steps, and again as many
        whenever a rate is halved or doubled to be tried.
    at_most : float, keyword-only, default None
        The largest rate to be suggested.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    LearningRateSearch
        Its `suggestions` are learning rates for `Training`.

    Raises
    ------
    InputError
        As `train`, for rates or steps out of their ranges, and for other optimisers.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025) search for the rate, with at most 1e-3 for addition and at most
    0.1 for context dependence and transitive equivalence.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> from partwhole.training import train
    >>> start = Architecture(2, 50, "relu", initial="he", scale=1.0).networks(
    ...     2, seeds=range(3), outputs=1
    ... )
    >>> data = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> training = Training(steps=9000, threshold=1e-4)
    >>> found = dense_learning_rate(start, data, training, at_most=0.002)
    >>> found.suggestions.tolist(), found.outcomes[0].name
    ([0.002, 0.002, 0.002], 'FOUND')
    >>> runs = train(start, data, replace(training, learning_rate=found.suggestions))
    >>> runs.outcomes[0].name
    'REACHED_THRESHOLD'
    """
    rates = grid(lowest, highest, steps, at_most)
    problem = checked_problem(networks, data, training, None, None, None)
    require(
        training.optimiser in ("sgd", "adam") and isinstance(problem.every[0], Network),
        'a learning rate is searched for networks that "sgd" or "adam" trains',
        f"{type(problem.every[0]).__name__} and {training.optimiser!r}",
        "pass Training(optimiser=...)",
    )
    dtype = training.dtype

    def search_run(run: int) -> RateFound:
        x, y = problem.tasks[0].of(run)

        def walk(rates: Float[np.ndarray, " S"]) -> Float[np.ndarray, " losses"]:
            # A step reuses the memory of its input, so each walk starts from new arrays.
            layers, data_state = begun(network, x.astype(dtype), y.astype(dtype), kind)
            shares = rate_shares(network, layers, training.parametrisation)
            base_settings = Settings(0.0, float(training.weight_decay), float("-inf"), 1.0, shares)
            state = begin(layers, data_state, kind=kind)
            losses = [float(state.loss)]
            # Rates have the same type as in training, so that one compiled step serves both.
            for step, rate in enumerate(rates, 1):
                settings, last = base_settings._replace(rate=rate), jnp.asarray(step, jnp.int32)
                state = advance(state, data_state, settings, float("inf"), last, kind=kind)
                losses.append(float(state.loss))
            return np.array(losses)

        with jax.enable_x64(dtype == np.float64):
            network = in_precision(problem.network(run), dtype)
            kind = kind_of(network, training)
            return search(walk, rates, at_most, smoothing=0.0)

    runs = range(problem.runs)
    results = in_threads(search_run, runs, min(len(runs), cores()), progress)
    return gathered(rates, [results[run] for run in runs])


@door(single=("images", "targets"))
def image_learning_rate(
    network: ImageNetwork,
    images: Images,
    recipe: Recipe,
    *,
    targets: Targets | None = None,
    lowest: Real = 1e-6,
    highest: Real = 1.0,
    steps: int = 100,
    at_most: Real | None = None,
    smoothing: Real = 0.8,
    seed: int,
    progress: bool = True,
) -> LearningRateSearch:
    """Search for the learning rate of an image network.

    The rule is stated at `LearningRateSearch`.

    Parameters
    ----------
    network : ImageNetwork
        It is not modified.
    images : Composites, or float array of shape (n, h, w, c)
        The training images.
    recipe : Recipe
        Settings of the later training; its `learning_rate`, `epochs`, `stop_loss` and
        `diverged_loss` are not used.
    targets : float array, shape (n,) or (n, k), or int array, shape (n,); keyword-only
        Of images; composites bring their own.
    lowest : float, keyword-only, default 1e-6
    highest : float, keyword-only, default 1
        Rates are tried from the one to the other.
    steps : int, keyword-only, default 100
        How many, at least 10. A search takes three times as many steps, and again as many
        whenever a rate is halved or doubled to be tried.
    at_most : float, keyword-only, default None
        The largest rate to be suggested.
    smoothing : float, keyword-only, default 0.8
        Beta, from 0 to below 1. The smoothed loss falls up to 1 / (1 - beta) steps late.
    seed : int, keyword-only
        Fixes batches and noise: those that `train_images` begins with.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once a run of so many steps takes over two
        seconds.

    Returns
    -------
    LearningRateSearch
        For one network; its `suggestion` is a learning rate for the recipe.

    Raises
    ------
    InputError
        As `train_images`, and for rates, steps or smoothing out of their ranges.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.networks import convnet
    >>> from partwhole.tasks.images.digits import digit_images
    >>> digits, labels = digit_images()
    >>> task = tasks.symbolic_addition(range(-1, 2), [0])
    >>> composed = tasks.compose_images(task, digits, labels, distance=8, seed=0)
    >>> network = convnet((8, 16, 2), channels=(4,), kernel=3, dense=(), seed=0)
    >>> recipe = Recipe(loss="squared", optimizer="sgd", batch=16)
    >>> found = image_learning_rate(network, composed.training(10), recipe, at_most=1e-5, seed=0)
    >>> replace(recipe, learning_rate=found.suggestion).learning_rate
    1e-05
    """
    rates = grid(lowest, highest, steps, at_most)
    require(
        0 <= smoothing < 1,
        "smoothing is a share from 0 to below 1",
        repr(smoothing),
        "pass 0.8, say, or 0 for none",
    )
    whole("seed", seed, 0, "pass 0, say")
    require_images(images, network, "images")
    goal = checked_targets(images, targets, recipe, n_outputs(network), "targets")
    samples, layout = Samples.of(images)
    layout = layout._replace(crop=recipe.crop, flip=recipe.flip)
    unit = replace(recipe, learning_rate=1.0)
    loop = Loop(network, samples, layout, goal, unit, seed)

    def walk(rates: Float[np.ndarray, " S"]) -> Float[np.ndarray, " losses"]:
        # A step reuses the memory of its input, so each walk starts from a copy.
        state: State = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), loop.state)
        losses, order = [], loop._order(0)
        with bar("Trying rates", len(rates) + 1, shown=progress) as advance:
            # The last step only measures the loss before it.
            for step, rate in enumerate([*rates.tolist(), 0.0]):
                if step % loop.per_epoch == 0:
                    order = loop._order(step // loop.per_epoch)
                state, loss = _take_share(
                    state, jnp.asarray(rate, jnp.float32), samples, loop.goal, order, loop.key,
                    recipe=unit, layout=layout, batch=loop.batch,
                )  # fmt: skip
                losses.append(loss)
                advance(1, f"rate {rate:.2g}")
        return np.array(jax.device_get(losses), dtype=float)

    return gathered(rates, [search(walk, rates, at_most, smoothing)])


@partial(jax.jit, static_argnames=("recipe", "layout", "batch"), donate_argnames="state")
def _take_share(
    state: State,
    rate: Float[Array, ""],
    samples: Samples,
    targets: Array,
    order: Int[Array, " m"],
    key: PRNGKeyArray,
    *,
    recipe: Recipe,
    layout: Layout,
    batch: int,
) -> tuple[State, Float[Array, ""]]:
    """Take this share of the step of a recipe with rate 1; return the loss before it.

    A rate in the recipe would be recompiled for each value.
    """
    fresh = state._replace(total=jnp.zeros_like(state.total))
    after = take_step(
        fresh, samples, targets, order, key, recipe=recipe, layout=layout, batch=batch
    )
    parameters = jax.tree.map(lambda w, v: w + rate * (v - w), state.kept, after.kept)
    return after._replace(kept=parameters, total=fresh.total), after.total.sum()
