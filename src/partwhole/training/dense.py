"""Training of many dense networks of any depth, each in one go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._threads import cores, in_threads
from partwhole._types import Real
from partwhole.networks import MLP
from partwhole.training._dense_steps import Layers, Settings, Trace, descend
from partwhole.training._learning_inputs import (
    SINGLE_LIMIT,
    Options,
    Precision,
    Record,
    recorded,
)
from partwhole.training._learning_record import TrainingOutcome
from partwhole.training.dense_runs import DenseRuns

TOLD_EVERY = 0.25  # seconds

Told = Callable[[int, float], None]  # of steps that were taken, and a loss


@door(single=("inputs", "targets", "probes"))
def train_dense(
    inputs: Float[np.ndarray, "*runs n d"],
    targets: Float[np.ndarray, "..."],
    initial: MLP,
    *,
    max_steps: int,
    loss: Literal["squared", "logistic"] = "squared",
    optimizer: Literal["sgd", "adam"] = "sgd",
    learning_rate: Real | Float[np.ndarray, " _"] = 0.01,
    momentum: Real = 0.0,
    parametrisation: Literal["standard", "ntk"] = "standard",
    weight_decay: Real = 0.0,
    threshold: Real = 1e-4,
    probes: Float[np.ndarray, "m d"] | None = None,
    record: Record = "geometric",
    restarts: int = 0,
    precision: Precision = "float32",
    progress: bool = True,
) -> DenseRuns:
    r"""Train dense networks, each on all samples at once.

    .. math:: L = \frac1n \sum_i \ell(f(x_i), y_i) + \lambda |\theta|^2

    Parameters
    ----------
    inputs : float array, shape (n, d) or (runs, n, d)
        The same for all runs, or each run's own.
    targets : float array, shape (n,), (n, k), (runs, n) or (runs, n, k)
        As the inputs are given.
    initial : MLP
        A network for each run along a leading axis; see `Architecture.networks`.
    max_steps : int, keyword-only
    loss : {"squared", "logistic"}, keyword-only, default "squared"
        :math:`|f - y|^2`, or :math:`\log(1 + e^{-y f})` for labels -1 and +1.
    optimizer : {"sgd", "adam"}, keyword-only, default "sgd"
    learning_rate : float, or float array, shape (runs,); keyword-only, default 0.01
        The same for all runs, or each run's own; see `dense_learning_rate`.
    momentum : float, keyword-only, default 0
        Of "sgd", from 0 to below 1.
    parametrisation : {"standard", "ntk"}, keyword-only, default "standard"
        "ntk" trains as if every weight were its initial standard deviation, as "he" and
        "framework" have it, times a parameter of unit variance: rates of a layer with n inputs are
        2 / n for weights and 1 / (3 n) for biases.
    weight_decay : float, keyword-only, default 0
        Lambda.
    threshold : float, keyword-only, default 1e-4
        A run ends at the first step whose loss is no larger.
    probes : float array, shape (m, d), keyword-only, default None
        Inputs at which networks are read at every recorded step.
    record : "geometric", int or sequence of int, keyword-only, default "geometric"
        About 200 steps spaced geometrically; every so many steps; or the steps themselves. The
        last step is always added.
    restarts : int, keyword-only, default 0
        How often a run that diverges is started anew at a tenth of its learning rate.
    precision : {"float32", "float64"}, keyword-only, default "float32"
    progress : bool, keyword-only, default True
        Whether to show a bar with a loss and the time left on the error stream once this takes
        over two seconds.

    Returns
    -------
    DenseRuns

    Raises
    ------
    InputError
        For arrays or networks that don't fit together or aren't finite, learning rates that aren't
        positive or not one for each run, labels other than -1 and +1 for the logistic loss, and
        options that don't exist.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), dense networks: one-hot inputs, one hidden layer of 1,000
    units, all samples in each step. A run counts as diverged above 100 times its first loss or the
    mean square of its targets, whichever is larger.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> start = Architecture(2, 50, "relu", initial="he", scale=1.0).networks(
    ...     2, seeds=range(3), outputs=1
    ... )
    >>> x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> runs = train_dense(x, y, start, max_steps=2000, learning_rate=0.05, probes=x)
    >>> runs.outcomes[0].name, runs.answers[:, -1, :, 0].round(1).tolist()
    ('REACHED_THRESHOLD', [[1.0, -1.0], [1.0, -1.0], [1.0, -1.0]])
    """
    same = 1.0 if isinstance(learning_rate, np.ndarray) else learning_rate
    options = Options(
        max_steps, same, threshold, "all", weight_decay, restarts, precision, progress
    )
    require(
        0 <= momentum < 1 and (momentum == 0 or optimizer == "sgd"),
        'momentum is a share from 0 to below 1, of "sgd"',
        f"{momentum!r} for {optimizer!r}",
        "leave it out",
    )
    x, y, at = checked_samples(inputs, targets, initial, loss, probes, precision)
    runs, kept = initial.weights[0].shape[0], recorded(record, max_steps)
    dtype = np.dtype(precision)
    rates = _rates(learning_rate, runs)

    def one(run: int, told: Told) -> Trace:
        wanted = y[min(run, len(y) - 1)]
        scale = 1.0 if loss == "logistic" else float(np.mean(np.sum(wanted**2, axis=1)))
        with jax.enable_x64(dtype == np.float64):
            # By NumPy: JAX would compile the choice of a run for each shape.
            network: MLP = jax.tree.map(lambda w: jnp.array(np.asarray(w)[run], dtype), initial)
            settings = Settings(
                rates[run], weight_decay, threshold, scale,
                rate_shares(network, parametrisation),
            )  # fmt: skip
            return descend(
                network, x[min(run, len(x) - 1)].astype(dtype), wanted.astype(dtype), settings,
                kept, loss=loss, optimizer=optimizer, momentum=momentum,
                probes=None if at is None else at.astype(dtype), told=told,
            )  # fmt: skip

    def each(which: Sequence[int]) -> dict[int, Trace]:
        with _told(len(which), max_steps, progress) as told:
            return in_threads(lambda run: one(run, told), which, min(runs, cores()), False)

    found = each(range(runs))
    for _ in range(restarts):
        again = [run for run in range(runs) if found[run].diverged]
        if not again:
            break
        rates[again] /= 10.0
        found |= each(again)
    traces = [found[run] for run in range(runs)]
    losses = np.stack([trace.losses for trace in traces])
    answers = [trace.answers for trace in traces if trace.answers is not None]
    with jax.enable_x64(dtype == np.float64):
        networks = jax.tree.map(
            lambda *each: jnp.asarray(np.stack(each)), *(trace.network for trace in traces)
        )
    return DenseRuns(
        steps=kept,
        training_loss=losses,
        task_loss=losses,
        test_loss=None,
        end_steps=np.array([trace.step for trace in traces]),
        learning_rates=rates,
        threshold=threshold,
        outcomes=tuple(_outcome(trace, options) for trace in traces),
        networks=networks,
        answers=np.stack(answers) if answers else None,
    )


@contextmanager
def _told(runs: int, steps: int, shown: bool) -> Iterator[Told]:
    """Show how far runs in threads are, with the loss of the one that told last."""
    lock, waiting, last = Lock(), 0, time.monotonic()
    with bar(f"training {runs} networks", runs * steps, shown=shown) as advance:

        def told(done: int, loss: float) -> None:
            nonlocal waiting, last
            with lock:
                waiting += done
                if time.monotonic() - last > TOLD_EVERY:
                    advance(waiting, f"loss {loss:.3g}")
                    waiting, last = 0, time.monotonic()

        yield told


def _rates(given: Real | np.ndarray, runs: int) -> Float[np.ndarray, " runs"]:
    """Return a learning rate for each run, which may be changed."""
    if not isinstance(given, np.ndarray):
        return np.full(runs, float(given))
    right = given.shape == (runs,)
    require(
        right and bool(np.all(given > 0)),
        f"learning rates are one positive number, or one for each of {runs} runs",
        f"numbers from {given.min():g} to {given.max():g}" if right else f"shape {given.shape}",
        "pass 0.1, say, or an array of as many as there are runs",
    )
    return given.astype(float)


def rate_shares(network: MLP, parametrisation: str) -> Layers:
    """Return the share of the learning rate that each layer's weights and biases have."""
    fan_in = [weight.shape[-1] for weight in network.weights]
    ntk = parametrisation == "ntk"
    return Layers(
        tuple(2.0 / n if ntk else 1.0 for n in fan_in),
        tuple(1.0 / (3.0 * n) if ntk else 1.0 for n in fan_in) if network.biases else (),
    )


def checked_samples(
    inputs: np.ndarray,
    targets: np.ndarray,
    initial: MLP,
    loss: str,
    probes: np.ndarray | None,
    precision: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return inputs (r, n, d), targets (r, n, k) and probes that fit the networks; r may be 1."""
    require(
        initial.weights[0].ndim == 3,
        "initial holds a network for each run along a leading axis",
        f"weights of shape {initial.weights[0].shape}",
        "draw them by Architecture(...).networks(d, seeds=...)",
    )
    runs, _, d = initial.weights[0].shape
    k = initial.weights[-1].shape[1]
    x, y = inputs, targets
    require(
        x.ndim in (2, 3) and x.shape[-1] == d and x.size > 0 and x.shape[:-2] in ((), (runs,)),
        f"inputs have shape (n, {d}) or ({runs}, n, {d})",
        f"shape {x.shape}",
        "pass a row for each sample",
    )
    own, lead = x.ndim == 3, x.shape[:-1]
    fits = y.shape == (*lead, k) or (k == 1 and y.shape == lead)
    shapes = f"{(*lead, k)}" + (f" or {lead}" if k == 1 else "")
    require(fits, f"targets have shape {shapes} to go with the inputs", f"shape {y.shape}",
            "pass one for each sample")  # fmt: skip
    for name, given in (("inputs", x), ("targets", y), ("probes", probes)):
        largest = 0.0 if given is None or given.size == 0 else float(np.abs(given).max())
        require(
            precision != "float32" or largest <= SINGLE_LIMIT,
            f"{name} of training in single precision are of size {SINGLE_LIMIT:g} at most",
            f"{largest:.3g}",
            'pass precision="float64", or rescale them to order 1',
        )
    require(
        loss != "logistic" or bool(np.all(np.abs(y) == 1)),
        "the loss 'logistic' is of labels -1 and +1",
        f"targets from {y.min():g} to {y.max():g}",
        "take the loss 'squared' for numbers",
    )
    weights = (np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(initial))
    require(all(weights), "initial weights are finite numbers", "NaN or infinity", "draw them anew")
    y = y.reshape(*lead, k)
    return (x, y, probes) if own else (x[None], y[None], probes)


def _outcome(trace: Trace, options: Options) -> TrainingOutcome:
    if trace.diverged:
        return TrainingOutcome.DIVERGED
    # In the precision of the training, in which the two were compared.
    reached = trace.losses[-1] <= options.threshold or trace.step < options.max_steps
    return TrainingOutcome.REACHED_THRESHOLD if reached else TrainingOutcome.REACHED_MAX_STEPS
