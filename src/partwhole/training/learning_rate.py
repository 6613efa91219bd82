"""Learning rates by a range test: a run in which the rate grows from step to step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole._checks import require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._threads import cores, in_threads
from partwhole._types import Bounds, Real
from partwhole.networks.network import Network
from partwhole.tasks.images.composites import Composites
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
from partwhole.training.images.assembly import Layout, Samples
from partwhole.training.images.problem import TRAINING, ImageProblem
from partwhole.training.images.step import Kind, State, copied
from partwhole.training.images.train import Loop, take_step
from partwhole.training.problem import Data, Networks, Problem
from partwhole.training.train import problem_of
from partwhole.training.training import RATED, Training

Walk = Callable[[Float[np.ndarray, " S"]], Float[np.ndarray, " losses"]]
SMOOTHING = 0.8  # of losses in batches


@door(single=("data",))
def search_learning_rate(
    networks: Networks,
    data: Data | Composites,
    training: Training,
    *,
    lowest: Real = 1e-6,
    highest: Real | None = None,
    steps: int = 100,
    at_most: Real | None = None,
    smoothing: Annotated[Real, Bounds(at_least=0, below=1)] | None = None,
    progress: bool = True,
) -> LearningRateSearch:
    """Search for the learning rate of each of some networks.

    The rule is stated at `LearningRateSearch`.

    Parameters
    ----------
    networks, data
        As in `train`, of one task. Image networks take steps on batches, as in training, other
        networks on all samples.
    training : Training
        Settings of the later training, by "sgd", "adam" or "adamw"; its length, in epochs for image
        networks, and its learning rate are not used.
    lowest : float, keyword-only, default 1e-6
    highest : float, keyword-only, default None
        Rates are tried from the one to the other; None for 10, and for image networks 1.
    steps : int, keyword-only, default 100
        How many, at least 10. A search takes three times as many steps, and again as many
        whenever a rate is halved or doubled to be tried.
    at_most : float, keyword-only, default None
        The largest rate to be suggested.
    smoothing : float, keyword-only, default None
        Beta, from 0 to below 1. The smoothed loss falls up to 1 / (1 - beta) steps late. None for
        .8 on batches, and for 0 on all samples.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    LearningRateSearch
        Its `suggestions` are learning rates for `Training`.

    Raises
    ------
    InputError
        As `train`, for rates, steps or smoothing out of their ranges, and for other optimisers.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025) search for the rate, with at most 1e-3 for addition and at most
    0.1 for context dependence and transitive equivalence.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from partwhole.networks import Architecture
    >>> from partwhole.training import train
    >>> start = Architecture(2, 50, "relu", initial="he", scale=1.0).networks(
    ...     2, seeds=range(3), outputs=1
    ... )
    >>> data = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> training = Training(steps=9000, threshold=1e-4)
    >>> rates = search_learning_rate(start, data, training, at_most=0.002)
    >>> rates.suggestions.tolist(), rates.outcomes[0].name
    ([0.002, 0.002, 0.002], 'FOUND')
    >>> runs = train(start, data, replace(training, learning_rate=rates.suggestions))
    >>> runs.outcomes[0].name
    'REACHED_THRESHOLD'
    """
    problem = problem_of(networks, data, training, None, None, None, None)
    require(
        training.optimiser in RATED and isinstance(problem.every[0], Network),
        'a learning rate is searched for networks that "sgd", "adam" or "adamw" trains',
        f"{type(problem.every[0]).__name__} and {training.optimiser!r}",
        "pass Training(optimiser=...)",
    )
    require(
        not problem.several,
        "a learning rate is searched for networks of one task",
        f"{len(problem.tasks)} tasks",
        "pass one pair (inputs, targets)",
    )
    of_images = isinstance(problem, ImageProblem)
    usual = 1.0 if of_images else 10.0
    rates = grid(lowest, usual if highest is None else highest, steps, at_most)
    beta = smoothing if smoothing is not None else SMOOTHING * of_images

    def search_run(run: int) -> RateFound:
        if isinstance(problem, ImageProblem):
            return search(_walk_on_batches(problem, run, progress), rates, at_most, beta)
        with jax.enable_x64(training.dtype == np.float64):
            return search(_walk_on_all(problem, run), rates, at_most, beta)

    runs = range(problem.runs)
    workers = 1 if of_images else min(len(runs), cores())
    # Image networks have a bar of their own for each run of steps.
    results = in_threads(search_run, runs, workers, progress and not of_images)
    return gathered(rates, [results[run] for run in runs])


def _walk_on_all(problem: Problem, run: int) -> Walk:
    """Return a walk of one network by steps on all samples."""
    training, dtype = problem.training, problem.training.dtype
    x, y = problem.tasks[0].of(run)
    network = in_precision(problem.network(run), dtype)
    kind = kind_of(network, training)

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

    return walk


def _walk_on_batches(problem: ImageProblem, run: int, progress: bool) -> Walk:
    """Return a walk of one image network by steps on batches: those that training begins with."""
    scored = problem.sets[TRAINING]
    loop = Loop(problem.network(run), scored, problem.training, 1.0, problem.seeds[run])

    def walk(rates: Float[np.ndarray, " S"]) -> Float[np.ndarray, " losses"]:
        # A step reuses the memory of its input, so each walk starts from a copy.
        state = copied(loop.state)
        losses, order = [], loop._order(0)
        with bar("trying rates", len(rates) + 1, shown=progress) as advance:
            # The last step only measures the loss before it.
            for step, rate in enumerate([*rates.tolist(), 0.0]):
                if step % loop.per_epoch == 0:
                    order = loop._order(step // loop.per_epoch)
                state, loss = _take_share(
                    state, jnp.asarray(rate, jnp.float32), loop.samples, loop.goal, order, loop.key,
                    kind=loop.kind, layout=loop.layout, batch=loop.batch,
                )  # fmt: skip
                losses.append(loss)
                advance(1, f"rate {rate:.2g}")
        return np.array(jax.device_get(losses), dtype=float)

    return walk


@partial(jax.jit, static_argnames=("kind", "layout", "batch"), donate_argnames="state")
def _take_share(
    state: State,
    rate: Float[Array, ""],
    samples: Samples,
    targets: Array,
    order: Int[Array, " m"],
    key: PRNGKeyArray,
    *,
    kind: Kind,
    layout: Layout,
    batch: int,
) -> tuple[State, Float[Array, ""]]:
    """Take this share of a step of rate 1; return the loss before it.

    A rate among the static settings would be compiled anew for each value.
    """
    fresh = state._replace(total=jnp.zeros_like(state.total))
    after = take_step(fresh, samples, targets, order, key, kind=kind, layout=layout, batch=batch)
    parameters = jax.tree.map(lambda w, v: w + rate * (v - w), state.kept, after.kept)
    return after._replace(kept=parameters, total=fresh.total), after.total.sum()
