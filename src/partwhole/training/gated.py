"""Training of gated networks on two classes: by published descent, and on to the limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, seed_list, whole
from partwhole._door import door
from partwhole._threads import cores, in_threads
from partwhole._types import Real
from partwhole.networks import GatedNetwork
from partwhole.networks.gated import require_inputs
from partwhole.training._gated_steps import (
    Data,
    Descent,
    FlowState,
    Loss,
    at_rest,
    descend,
    flow,
    read,
    trained,
    with_trained,
)
from partwhole.training._learning_inputs import Precision, Record, recorded
from partwhole.training.gated_runs import GatedOutcome, GatedRuns, require_two_classes
from partwhole.training.protocol import Protocol, batch_order

FIRST_STEP = 1e-3  # of the flow, which finds its own


@door
def train_gated(
    networks: Sequence[GatedNetwork],
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    max_steps: int = 3200,
    learning_rate: Real = 0.04,
    late_factor: Real = 0.25,
    momentum: Real = 0.0,
    batch: int | None = 128,
    loss: Loss = "logistic",
    seeds: Sequence[int] | Int[np.ndarray, " runs"] | None = None,
    test_inputs: Float[np.ndarray, "m d"] | None = None,
    record: Record = "geometric",
    precision: Precision = "float32",
    progress: bool = True,
) -> GatedRuns:
    r"""Train gated networks on two classes by stochastic gradient descent, as published.

    Parameters
    ----------
    networks : sequence of GatedNetwork
        The initial ones, a run each; frozen gates stay, learned ones move with their weights.
    inputs : float array, shape (n, d)
    labels : float array, shape (n,)
        -1 and +1.
    max_steps : int, keyword-only, default 3200
    learning_rate : float, keyword-only, default 0.04
    late_factor : float, keyword-only, default 0.25
        What the learning rate is multiplied with half-way.
    momentum : float, keyword-only, default 0
        From 0 to below 1; 0.9 in the published ReLU networks.
    batch : int, keyword-only, default 128
        In an order drawn anew each epoch, the last batch smaller; None for all inputs.
    loss : {"logistic", "exponential"}, keyword-only, default "logistic"
        Averaged over the batch.
    seeds : sequence of int, keyword-only, default None
        One for each run, for the order of batches; by default 0, 1, ...
    test_inputs : float array, shape (m, d), keyword-only, default None
        Read at every record.
    record : "geometric", int or sequence of int, keyword-only, default "geometric"
        About 200 steps spaced geometrically; every so many steps; or the steps themselves. The
        last step is always added.
    precision : {"float32", "float64"}, keyword-only, default "float32"
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    GatedRuns

    Raises
    ------
    InputError
        For labels that are not two classes, networks of another dimension, and options that
        don't exist.

    Notes
    -----
    Lippl, Abbott & Chung (2022), whose runs end after 3,200 steps: far from the limit, since
    margins grow with the logarithm of the steps. `normalised_flow` goes on from there.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)])
    >>> y = np.sign(x[:, 0] * x[:, 1])  # exclusive or
    >>> network = GatedNetwork.draw(3, [HalfspaceGates.random(3, n_units=20), 1], seed=0)
    >>> runs = train_gated([network], x, y, learning_rate=0.5, record=[0, 3200])
    >>> float(runs.training_error[0, -1]), runs.outcomes[0].name
    (0.0, 'SEPARATED')
    """
    given = _Given.checked(networks, inputs, labels, test_inputs, max_steps, precision, loss)
    for name, number in (("learning_rate", learning_rate), ("late_factor", late_factor)):
        require(number > 0, f"{name} is above 0", number, "take 0.04")
    good = 0 <= momentum < 1
    require(good, "momentum is at least 0 and below 1", momentum, "take 0 or 0.9")
    if batch is not None:
        whole("batch", batch, 1, "leave it None for all inputs in each step")
    rule = f"the order of batches takes a seed for each of {len(networks)} runs"
    chosen = seed_list(range(len(networks)) if seeds is None else seeds, rule)
    require(len(chosen) == len(networks), rule, len(chosen), f"pass range({len(networks)})")
    rate, late, n = learning_rate, (max_steps + 1) // 2, len(labels)
    late_rate, slip = rate * late_factor, momentum

    def start(run: int, network: GatedNetwork, data: Data) -> Callable[[int, int], Any]:
        if batch is None:
            rows, parts = np.arange(n, dtype=np.int32)[None], np.full((1, n), 1.0 / n)
        else:
            epochs = -(-max_steps // -(-n // batch))
            order = Protocol(batch=batch, epochs=epochs, shuffle="every epoch")
            rows, parts = batch_order(order, n, chosen[run])
        dtype = data.inputs.dtype
        numbers = [jnp.asarray(each, dtype) for each in (rate, late_rate, slip)]
        settings = Descent(numbers[0], numbers[1], jnp.asarray(late), numbers[2])
        state = {"weights": trained(network), "speed": at_rest(network)}
        laid_out = jnp.asarray(rows), jnp.asarray(parts, dtype)

        def onward(begin: int, end: int) -> tuple[GatedNetwork, float]:
            state["weights"], state["speed"] = descend(
                network, state["weights"], state["speed"], data, laid_out[0], laid_out[1],
                settings, jnp.asarray(begin), jnp.asarray(end), loss,
            )  # fmt: skip
            after = max(0, end - late)
            # Not what comes out of compiled code: that has its gates in single precision.
            return with_trained(network, state["weights"]), (
                rate * (end - after) + late_rate * after
            ) / (1.0 - slip)

        return onward

    return given.run(start, recorded(record, max_steps), progress)


@door
def normalised_flow(
    networks: Sequence[GatedNetwork],
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    max_steps: int = 60_000,
    loss: Loss = "exponential",
    test_inputs: Float[np.ndarray, "m d"] | None = None,
    record: Record = "geometric",
    progress: bool = True,
) -> GatedRuns:
    r"""Follow the gradient flow of the logarithm of the loss, which goes where descent would.

    .. math:: \dot\theta = -\nabla \log \sum_i \ell\big(y_i f(x_i; \theta)\big)

    It has the path of gradient flow at another pace: where the loss is small, gradient flow takes
    exponentially long, this does not. Each run ends near a stationary point of the margin, and a
    cost that is not convex has several: start from several networks.

    Parameters
    ----------
    networks : sequence of GatedNetwork
        Where to start, a run each: drawn at random, or trained; without biases.
    inputs : float array, shape (n, d)
    labels : float array, shape (n,)
        -1 and +1.
    max_steps : int, keyword-only, default 60000
        Steps that were too long are among them.
    loss : {"exponential", "logistic"}, keyword-only, default "exponential"
    test_inputs, record, progress : keyword-only
        As in `train_gated`.

    Returns
    -------
    GatedRuns
        In double precision.

    Raises
    ------
    InputError
        As `train_gated`, and for networks with a bias.

    Notes
    -----
    Lyu & Li (ICLR 2020) for where it goes; steps derived here. A unit of which all weights are 0
    stays so: it then ends without that unit.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> from partwhole import solve
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)])
    >>> y, gates = np.sign(x[:, 0] * x[:, 1]), HalfspaceGates.random(3, n_units=20)
    >>> network = GatedNetwork.draw(3, [gates, 1], seed=0)
    >>> runs = normalised_flow([network], x, y, max_steps=5000)
    >>> limit = solve((x, y), gates, fit="margin", intercept="none")
    >>> bool(runs.fraction_of(limit)[0, -1] > 0.97)
    True
    """
    given = _Given.checked(networks, inputs, labels, test_inputs, max_steps, "float64", loss)
    biased = [run for run, network in enumerate(networks) if network.bias is not None]
    require(
        not biased,
        "the flow is of homogeneous networks",
        f"a bias in network {biased[0] if biased else 0}",
        "feed units a constant input instead",
    )

    def start(run: int, network: GatedNetwork, data: Data) -> Callable[[int, int], Any]:
        # With its type told: one that may take another's has the flow compiled once more.
        first = jnp.asarray(FIRST_STEP, jnp.float64)
        state = [FlowState(network.weights, first, jnp.zeros_like(first))]

        def onward(begin: int, end: int) -> tuple[GatedNetwork, float]:
            state[0] = flow(network, data, state[0], jnp.asarray(end - begin), loss)
            return with_trained(network, (state[0].weights, None)), float(state[0].time)

        return onward

    return given.run(start, recorded(record, max_steps), progress)


@dataclass(frozen=True, eq=False)
class _Given:
    """Hold what both ways of training are given, checked."""

    networks: tuple[GatedNetwork, ...]
    inputs: Float[np.ndarray, "n d"]
    labels: Float[np.ndarray, " n"]
    test_inputs: Float[np.ndarray, "m d"] | None
    precision: Precision
    loss: Loss

    @classmethod
    def checked(
        cls,
        networks: Sequence[GatedNetwork],
        inputs: Float[np.ndarray, "n d"],
        labels: Float[np.ndarray, " n"],
        test_inputs: Float[np.ndarray, "m d"] | None,
        max_steps: int,
        precision: Precision,
        loss: Loss,
    ) -> _Given:
        """Refuse what does not fit together."""
        rule = "networks are one or more"
        require(len(networks) > 0, rule, "none", "pass [GatedNetwork.draw(...)]")
        whole("max_steps", max_steps, 1, "take 3200")
        for network in networks:
            require_inputs(inputs, network.dimension)
            if test_inputs is not None:
                require_inputs(test_inputs, network.dimension, "test_inputs")
        require_two_classes(labels)
        return cls(tuple(networks), inputs, labels, test_inputs, precision, loss)

    def run(
        self,
        start: Callable[[int, GatedNetwork, Data], Callable[[int, int], Any]],
        steps: Int[np.ndarray, " T"],
        progress: bool,
    ) -> GatedRuns:
        """Train every run, and read it at each recorded step."""
        dtype = np.dtype(self.precision)

        def one(run: int) -> tuple[Any, ...]:
            with jax.enable_x64(dtype == np.float64):
                network = _cast(self.networks[run], dtype)
                contexts = tuple(
                    None if each is None else jnp.asarray(each, jnp.int32)
                    for each in network.contexts(self.inputs)
                )
                data = Data(
                    jnp.asarray(self.inputs, dtype), jnp.asarray(self.labels, dtype), contexts
                )
                onward, now = start(run, network, data), network
                told: list[tuple[float, ...]] = []
                tested: list[np.ndarray] = []
                before, time = 0, 0.0
                for step in steps.tolist():
                    if step > before:
                        now, time = onward(before, step)
                        before = step
                    told.append((time, *self._read(now, data)))
                    if self.test_inputs is not None:
                        tested.append(now.predict(self.test_inputs))
                return now, np.array(told), np.array(tested)

        runs = range(len(self.networks))
        found = in_threads(one, runs, min(len(runs), cores()), progress)
        traces = np.stack([found[run][1] for run in runs])
        return GatedRuns(
            inputs=self.inputs,
            labels=self.labels,
            initial=self.networks,
            networks=tuple(found[run][0] for run in runs),
            steps=steps,
            times=traces[:, :, 0],
            log_loss=traces[:, :, 1],
            margins=traces[:, :, 2],
            training_error=traces[:, :, 3],
            test_outputs=(
                None if self.test_inputs is None else np.stack([found[run][2] for run in runs])
            ),
            outcomes=tuple(_outcome(traces[run, -1]) for run in runs),
        )

    def _read(self, network: GatedNetwork, data: Data) -> tuple[float, float, float]:
        """Return the log of the mean loss, the normalised margin and the error."""
        told, least, error = (float(each) for each in read(network, data, self.loss))
        with np.errstate(all="ignore"):  # of runs that diverged
            size = np.float64(network.squared_norm / network.n_layers)
            margin = least / size ** (0.5 * network.n_layers)
        return told, float(margin) if network.bias is None else float("nan"), error


def _cast(network: GatedNetwork, dtype: np.dtype) -> GatedNetwork:
    """Return the network with its weights in a precision, gates left as they are."""
    bias = None if network.bias is None else jnp.asarray(network.bias, dtype)
    weights = tuple(jnp.asarray(np.asarray(each), dtype) for each in network.weights)
    return GatedNetwork(weights, network.gates, bias, network.parallel)


def _outcome(last: Float[np.ndarray, "4"]) -> GatedOutcome:
    _, loss, _, error = last
    if not np.isfinite(loss) or not np.isfinite(error):
        return GatedOutcome.DIVERGED
    return GatedOutcome.SEPARATED if error == 0 else GatedOutcome.NOT_SEPARATED
