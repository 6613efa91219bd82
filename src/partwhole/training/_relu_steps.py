r"""Steps of gradient descent on two-layer ReLU networks, one run to a call.

Of sample n of task t, with :math:`p_n` its part in the mean and :math:`g_n` its error, a step takes

.. math:: \Delta w_h = 2 \sum_n p_n g_n v_{th} 1[w_h^\top x_n > 0] \, x_n, \qquad
          \Delta v_{th} = 2 \sum_{n \in t} p_n g_n \max(0, w_h^\top x_n)

times the learning rate off the weights. The hidden layer lies here as columns, (d, h).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole.training.protocol import SHUFFLE

# Divergence, in units of the larger of the first loss and the mean square of the targets.
DIVERGED = 100.0
# Batches that are laid out at a time; those of a whole training may not fit.
BATCHES_AHEAD = 1024


class Samples(NamedTuple):
    """Hold the samples of all tasks."""

    inputs: Float[np.ndarray, "n d"]
    targets: Float[np.ndarray, " n"]
    own: Float[np.ndarray, "n k"]  # 1 for the task that a sample belongs to


class Settings(NamedTuple):
    """Hold the numbers of one run; one call is compiled for all."""

    rate: float
    decay: float
    threshold: float
    scale: float


class Weights(NamedTuple):
    """Hold both layers."""

    hidden: Float[np.ndarray, "d h"]
    readout: Float[np.ndarray, "k h"]


class Trace(NamedTuple):
    """Hold a run: its records, and its weights and step at the end."""

    losses: Float[np.ndarray, "T k"]
    tested: Float[np.ndarray, "T k"] | None
    weights: Weights
    step: int
    diverged: bool


Measure = Callable[[Weights], Float[np.ndarray, " k"]]
Layout = tuple[Int[np.ndarray, "B b"], Float[np.ndarray, "B b"]]


def descend(
    weights: Weights,
    samples: Samples,
    settings: Settings,
    stops: Int[np.ndarray, " T"],
    *,
    readout_only: bool,
    layouts: Iterator[Layout] | None = None,
    measure: Measure | None = None,
) -> Trace:
    """Train one run, in the precision of its samples.

    Milliseconds for a step of a network with d = 15 and 1,000 hidden units, six of them in single
    precision on two shared cores of a CPU, beside the same steps by automatic differentiation:
    "vmap" in one compiled loop for all networks, "step loop" one jitted step after another:

    ==============================  =======  ====  =========
    samples                         threads  vmap  step loop
    ==============================  =======  ====  =========
    16                              0.02     0.06  0.06
    64                              0.06     0.10  0.10
    128                             0.10     0.23  0.33
    512, batches of 128             0.19     0.16  0.66
    1,024                           0.76     2.0   1.4
    1,024 and 64, batches of 128    0.13     0.26  1.6
    1,024 and 64                    1.6      3.5   2.0
    ==============================  =======  ====  =========

    Parameters
    ----------
    weights : Weights
    samples : Samples
    settings : Settings
    stops : int array, shape (T,)
        The steps to record, increasing; the last ends the training.
    readout_only : bool, keyword-only
    layouts : iterator, keyword-only, default None
        Rows of batches and their parts in the mean, batch after batch, as `layouts_of` gives
        them; None for all samples in each step.
    measure : function of Weights, keyword-only, default None
        The test loss of each task, called at each record until the run ends.

    Returns
    -------
    Trace
        Records after the end repeat it.
    """
    dtype = samples.inputs.dtype
    with jax.enable_x64(dtype == np.float64):
        now, given, numbers = jax.tree.map(
            lambda each: jnp.asarray(np.asarray(each, dtype)), (weights, samples, settings)
        )
        losses = np.asarray(_losses(now, given))
        shares = samples.own.mean(axis=0)
        first = float(shares @ losses)
        limit = DIVERGED * max(first, settings.scale)
        ahead = None if layouts is None else _Ahead(layouts, dtype)
        step, going, loss = 0, True, first
        seen, told, tested = [], [], None if measure is None else measure(_numpy(now))
        for stop in stops.tolist():
            if going and stop > step:
                if ahead is None:
                    now, reached = _all_samples(
                        now, given, numbers, limit, step, stop, readout_only=readout_only
                    )
                    step = int(reached)
                else:
                    while step < stop:
                        at, rows, parts = ahead.find(step)
                        end = min(stop, step + len(rows) - at)
                        now = _in_batches(
                            now, given, numbers, rows, parts, at, at + end - step,
                            readout_only=readout_only,
                        )  # fmt: skip
                        step = end
                losses = np.asarray(_losses(now, given))
                loss = float(shares @ losses)
                tested = None if measure is None else measure(_numpy(now))
            # In the precision of the training, in which steps compare; NaN ends a run.
            going = bool(dtype.type(loss) > dtype.type(settings.threshold) and loss <= limit)
            going = going and (step == stop)
            seen.append(losses)
            told.append(tested)
        return Trace(
            np.stack(seen).astype(float),
            None if measure is None else np.stack(told),
            _numpy(now),
            step,
            not loss <= limit,
        )


def layouts_of(own: Float[np.ndarray, "n k"], batch: int, seed: int) -> Iterator[Layout]:
    r"""Yield batches without end, some at a time: all samples in an order drawn anew each epoch.

    In a batch the mean over each task's samples weighs as much as the task's share of all
    samples; a task of which a batch holds none adds nothing. A smaller last batch is filled up
    with sample 0 at weight 0.
    """
    n, size = len(own), min(batch, len(own))
    per_epoch = -(-n // size)
    turns = max(1, BATCHES_AHEAD // per_epoch)
    rng = np.random.default_rng([seed, SHUFFLE])
    task, shares = own.argmax(axis=1), own.mean(axis=0)
    taken = (np.arange(per_epoch * size) < n).reshape(1, per_epoch, size)
    while True:
        order = np.zeros((turns, per_epoch * size), dtype=np.int32)
        for turn in range(turns):
            order[turn, :n] = rng.permutation(n)
        rows = order.reshape(turns, per_epoch, size)
        mine = task[rows]
        parts = np.zeros(rows.shape)
        for place, share in enumerate(shares):
            held = (mine == place) & taken
            parts += held * (share / np.maximum(1, held.sum(axis=-1, keepdims=True)))
        yield rows.reshape(-1, size), parts.reshape(-1, size)


class _Ahead:
    """Keep the batches that come next on the device."""

    def __init__(self, layouts: Iterator[Layout], dtype: np.dtype) -> None:
        self._layouts, self._dtype, self._from, self._to = layouts, dtype, 0, 0
        self._rows = self._parts = jnp.zeros((0, 0))

    def find(self, step: int) -> tuple[int, Array, Array]:
        """Return the place of a step among the batches laid out, and these."""
        if step >= self._to:
            rows, parts = next(self._layouts)
            self._from, self._to = self._to, self._to + len(rows)
            self._rows, self._parts = jnp.asarray(rows), jnp.asarray(parts.astype(self._dtype))
        return step - self._from, self._rows, self._parts


def _numpy(weights: Weights) -> Weights:
    return Weights(*(np.asarray(each) for each in weights))


def _read(weights: Weights, samples: Samples) -> tuple[Array, Array]:
    """Return what comes into each unit, and each sample's error."""
    into = jnp.asarray(samples.inputs @ weights.hidden)
    answers = jax.nn.relu(into) @ weights.readout.T
    return into, (answers * samples.own).sum(axis=1) - samples.targets


def _stepped(
    weights: Weights,
    into: Array,
    pull: Array,
    samples: Samples,
    settings: Settings,
    readout_only: bool,
) -> Weights:
    """Take a step, pull being the slope of the loss in each sample's answer."""
    (hidden, readout), (inputs, _, own) = weights, samples
    keep = 1.0 - 2.0 * settings.rate * settings.decay
    moved = keep * readout - settings.rate * ((own * pull[:, None]).T @ jax.nn.relu(into))
    if not readout_only:
        # With one task every sample has the same readout.
        back = readout if len(readout) == 1 else own @ readout
        slope = inputs.T @ jnp.where(into > 0, pull[:, None] * back, 0.0)
        hidden = keep * hidden - settings.rate * slope
    return Weights(hidden, moved)


@jax.jit
def _losses(weights: Weights, samples: Samples) -> Array:
    _, gap = _read(weights, samples)
    return (gap * gap) @ samples.own / samples.own.sum(axis=0)


@partial(jax.jit, static_argnames="readout_only")
def _all_samples(
    weights: Weights,
    samples: Samples,
    settings: Settings,
    limit: Array,
    step: Array,
    stop: Array,
    readout_only: bool,
) -> tuple[Weights, Array]:
    def more(carry: tuple) -> Array:
        at, _, going = carry
        return going & (at < stop)

    def body(carry: tuple) -> tuple:
        # Only weights are carried over: copying what comes into units takes as long as a step.
        at, now, _ = carry
        into, gap = _read(now, samples)
        loss = jnp.mean(gap * gap)
        # A loss that is not a number ends the run, as all comparisons with it are false.
        going = (loss > settings.threshold) & (loss <= limit)
        pull = (2.0 / len(gap)) * gap
        after = _stepped(now, into, pull, samples, settings, readout_only)
        kept = jax.tree.map(lambda new, old: jnp.where(going, new, old), after, now)
        return at + going.astype(at.dtype), kept, going

    first = (jnp.asarray(step), weights, jnp.asarray(True))
    at, now, _ = jax.lax.while_loop(more, body, first)
    return now, at


@partial(jax.jit, static_argnames="readout_only")
def _in_batches(
    weights: Weights,
    samples: Samples,
    settings: Settings,
    rows: Array,
    parts: Array,
    begin: Array,
    end: Array,
    readout_only: bool,
) -> Weights:
    def body(at: Array, now: Weights) -> Weights:
        taken = Samples(*(each[rows[at]] for each in samples))
        into, gap = _read(now, taken)
        pull = 2.0 * parts[at] * gap
        return _stepped(now, into, pull, taken, settings, readout_only)

    return jax.lax.fori_loop(begin, end, body, weights)
