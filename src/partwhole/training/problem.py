"""A training problem: networks, the samples of one task or several, and test samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, seed_list, whole
from partwhole._device import on_device
from partwhole.flows._inputs import recorded_steps
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.networks.network import Network, lead, n_outputs
from partwhole.tasks.relu_teachers import ReLUTeacher
from partwhole.training.losses import LABELS
from partwhole.training.order import batch_order, geometric_steps
from partwhole.training.training import Training

MEMORY_GIB = 8.0
# Its square times 100, above which a run counts as diverged, is a number in single precision.
SINGLE_LIMIT = 1e18
Pair = tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]
Data = Pair | Sequence[Pair]
Networks = Network | Sequence[Network] | DiagonalWeights
Teachers = (
    Float[np.ndarray, "..."] | Sequence[ReLUTeacher] | Sequence[Float[np.ndarray, "..."]]
    | Sequence[Sequence[ReLUTeacher]]
)  # fmt: skip


@runtime_checkable
class Sampled(Protocol):
    """Samples of one task, those of each run when they are used."""

    @property
    def count(self) -> int:
        """Return the number of samples of a run."""
        ...

    def of(self, run: int) -> tuple[Float[np.ndarray, "n *shape"], Float[np.ndarray, "n k"]]:
        """Return the inputs and targets of one run."""
        ...


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one task: one set for all runs, or one for each."""

    inputs: Float[np.ndarray, "runs n *shape"]
    targets: Float[np.ndarray, "runs n k"]

    @property
    def count(self) -> int:
        """Return the number of samples of a run."""
        return self.inputs.shape[1]

    def of(self, run: int) -> tuple[Float[np.ndarray, "n *shape"], Float[np.ndarray, "n k"]]:
        """Return the inputs and targets of one run."""
        run = min(run, len(self.inputs) - 1)
        return self.inputs[run], self.targets[run]


@dataclass(frozen=True, eq=False)
class Problem:
    """Networks with their training and test samples, validated.

    Parameters
    ----------
    networks : Network, tuple of Network or DiagonalWeights
    runs : int
    shape : tuple of int
        Of one input.
    tasks : tuple of Samples, or of the samples of a structured identity task
    several : bool
        Whether tasks were passed as a list, so that results have an axis of tasks.
    probes : float array, shape (m, ...), or None
    teachers : tuple, one for each task, or None
    test : Samples or None
    training : Training
    """

    networks: Any
    runs: int
    shape: tuple[int, ...]
    tasks: tuple[Sampled, ...]
    several: bool
    probes: Float[np.ndarray, "m *shape"] | None
    teachers: tuple[Any, ...] | None
    test: Samples | None
    training: Training

    @property
    def count(self) -> int:
        """Return the number of samples of a run, over all tasks."""
        return sum(task.count for task in self.tasks)

    @property
    def shares(self) -> Float[np.ndarray, " k"]:
        """Return the weight of each task in the loss, its share of all samples."""
        return np.array([task.count for task in self.tasks]) / self.count

    @property
    def steps(self) -> int:
        """Return the number of training steps."""
        training, n = self.training, self.count
        if training.steps is not None:
            return training.steps
        assert training.epochs is not None
        return training.epochs * -(-n // min(n, training.batch or n))

    @property
    def stops(self) -> Int[np.ndarray, " T"]:
        """Return the recorded steps, including the last."""
        record, last = self.training.record, self.steps
        if record is None or isinstance(record, str):
            return geometric_steps(last)
        if isinstance(record, int):
            whole("record", record, 1, "pass 50 for every 50 steps")
            record = np.arange(0, last, record)
        return np.union1d(recorded_steps(record, last), [last])

    def batches(self, run: int) -> tuple[Int[np.ndarray, "B b"], Float[np.ndarray, "B b"]] | None:
        """Return the rows of each batch of a run and their weights; None for full batches."""
        n, training = self.count, self.training
        if training.batch is None:
            return None
        batch = min(training.batch, n)
        epochs = -(-self.steps // -(-n // batch))
        return batch_order(batch, self.seeds[run], n, epochs, training.shuffle)

    @property
    def rates(self) -> Float[np.ndarray, " runs"]:
        """Return the learning rate of each run."""
        return rates_of(self.training, self.runs)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the seed of each run."""
        return seeds_of(self.training, self.runs)

    @property
    def every(self) -> tuple[Any, ...]:
        """Return the networks that were passed: several, or one with a leading axis of runs."""
        several = isinstance(self.networks, tuple) and not isinstance(
            self.networks, DiagonalWeights
        )
        return self.networks if several else (self.networks,)

    def network(self, run: int) -> Any:
        """Return the initial network of a run, with NumPy arrays if there are several."""
        if type(self.networks) is tuple:
            return self.networks[run]
        if lead(self.networks) == ():
            return self.networks
        # By NumPy: JAX would compile the choice of a run for each shape.
        return jax.tree.map(lambda leaf: np.asarray(leaf)[run], self.networks)

    def together(self, ends: Sequence[Any]) -> Any:
        """Return the final networks, along a leading axis for families that have one."""
        if isinstance(ends[0], DiagonalWeights):
            return DiagonalWeights(*(np.stack(layers) for layers in zip(*ends, strict=True)))
        if not hasattr(ends[0], "lead"):
            return tuple(ends)
        with jax.enable_x64(self.training.dtype == np.float64):
            return jax.tree.map(lambda *leaves: on_device(np.stack(leaves)), *ends)

    def tested(self, run: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the test inputs and targets of one run."""
        return None if self.test is None else self.test.of(run)


def rates_of(training: Training, runs: int) -> Float[np.ndarray, " runs"]:
    """Return the learning rate of each run."""
    rate = training.learning_rate
    if not isinstance(rate, np.ndarray):
        return np.full(runs, 0.01 if rate is None else float(rate))
    fits = rate.shape == (runs,)
    require(
        fits and bool(np.all(rate > 0)),
        f"learning rates are one positive number, or one for each of {runs} runs",
        f"numbers from {rate.min():g} to {rate.max():g}" if fits else f"shape {rate.shape}",
        "pass 0.1, say, or an array of as many as there are runs",
    )
    return rate.astype(float)


def seeds_of(training: Training, runs: int) -> tuple[int, ...]:
    """Return the seed of each run."""
    seed = training.seed
    if isinstance(seed, int | np.integer):
        return tuple(range(int(seed), int(seed) + runs))
    rule = f"the order of batches takes a seed for each of {runs} runs"
    seeds = seed_list(seed, rule)
    require(len(seeds) == runs, rule, len(seeds), f"pass range({runs})")
    return seeds


def require_wide(training: Training) -> None:
    """Require single or double precision, as most networks have it."""
    require(
        training.precision != "bfloat16",
        "bfloat16 is a precision of image networks and diffusion models",
        "it for others",
        "leave precision out",
    )


def checked_problem(
    networks: Networks, data: Data, training: Training, probes: np.ndarray | None,
    teachers: Any, test: Pair | None,
) -> Problem:  # fmt: skip
    """Validate that networks, samples and training fit together; return the problem."""
    require_wide(training)
    several = not _is_pair(data)
    pairs = list(data) if several else [data]
    has_pairs = len(pairs) > 0 and all(map(_is_pair, pairs))
    rule = "data is a pair of inputs and targets, or a list of pairs, one for each task"
    require(has_pairs, rule, f"{len(pairs)} of another form", "pass (inputs, targets)")
    several_networks, runs = checked_networks(networks)
    if isinstance(networks, DiagonalWeights):
        first, shape, outputs = None, (np.shape(networks.hidden_plus)[-1],), 1
    else:
        first = several_networks[0] if isinstance(several_networks, tuple) else several_networks
        shape = tuple(first.shape)
        outputs = 1 if several else n_outputs(first)
    tasks: list[Samples] = []
    for inputs, targets in pairs:
        task = checked_samples(inputs, targets, shape, outputs, runs, training.dtype, training.loss)
        runs = len(task.inputs) if runs is None and len(task.inputs) > 1 else runs
        tasks.append(task)
    n_runs = 1 if runs is None else runs
    kinds = {len(task.inputs) for task in tasks}
    require(
        kinds <= {1, n_runs},
        "tasks have as many runs",
        sorted(kinds),
        "pass one set for each run",
    )
    require(
        test is None or teachers is None,
        "a test is teachers, or a pair of inputs and targets",
        "both kinds",
        "pass teachers= where they are known",
    )
    task_teachers = None if teachers is None else tuple(teachers) if several else (teachers,)
    require(
        task_teachers is None or len(task_teachers) == len(tasks),
        "each task has inputs, targets and, if there are any, teachers",
        f"{len(tasks)} tasks and {len(task_teachers or ())} with teachers",
        "pass lists of one length",
    )
    names = ("test inputs", "test targets")
    tested = None if test is None else checked_samples(
        *test, shape, outputs, n_runs, training.dtype, training.loss, names
    )  # fmt: skip
    if probes is not None:
        require_probes(probes, shape)
    return Problem(
        several_networks,
        n_runs,
        shape,
        tuple(tasks),
        several,
        probes,
        task_teachers,
        tested,
        training,
    )


def _is_pair(data: Any) -> bool:
    """Return whether data is a pair of arrays; a list of two pairs is not."""
    return isinstance(data, tuple) and len(data) == 2 and not any(map(_is_pair, data))


def checked_networks(networks: Any) -> tuple[Any, int | None]:
    """Return the networks, and their number if it is determined."""
    if isinstance(networks, DiagonalWeights):
        hidden = np.shape(networks.hidden_plus)
        return networks, hidden[0] if len(hidden) > 1 else None
    if isinstance(networks, list | tuple):
        require(len(networks) > 0, "networks are one or more", "none", "pass [network]")
        several = tuple(networks)
        require_finite_weights(several)
        return several, len(several)
    axes = lead(networks)
    require(
        len(axes) < 2,
        "networks are one, or one for each run along a leading axis",
        f"leading axes {axes}",
        "draw them by Architecture(...).networks(d, seeds=...)",
    )
    require_finite_weights(networks)
    return networks, axes[0] if axes else None


def require_probes(probes: np.ndarray, shape: tuple[int, ...]) -> None:
    """Require inputs to read of the networks' shape."""
    require(
        probes.shape[1:] == shape,
        f"read has shape ({', '.join(map(str, ('m', *shape)))}) to go with the networks",
        f"shape {probes.shape}",
        "pass one row for each probe",
    )


def require_finite_weights(networks: Any) -> None:
    """Refuse initial weights that are no finite numbers."""
    leaves = (leaf for leaf in jax.tree.leaves(networks) if eqx.is_inexact_array(leaf))
    finite = all(np.isfinite(np.asarray(leaf)).all() for leaf in leaves)
    require(finite, "initial weights are finite numbers", "NaN or infinity", "draw them anew")


def checked_samples(
    inputs: Any, targets: Any, shape: tuple[int, ...], outputs: int, runs: int | None,
    dtype: np.dtype, loss: str = "squared", names: tuple[str, str] = ("inputs", "targets"),
) -> Samples:  # fmt: skip
    """Validate samples against the networks; return them with an axis of runs."""
    x, y = inputs, targets
    has_runs = x.ndim == len(shape) + 2
    fits = x.ndim > len(shape) and x.shape[x.ndim - len(shape) :] == shape
    rows = ", ".join(map(str, ("n", *shape)))
    require(
        fits and x.size > 0 and (x.ndim == len(shape) + 1 or (has_runs and runs in (None, len(x)))),
        f"{names[0]} have shape ({rows}) or ({'runs' if runs is None else runs}, {rows})",
        f"shape {x.shape}",
        "pass a row for each sample",
    )
    leading = x.shape[: x.ndim - len(shape)]
    if loss == "cross entropy":
        y = _checked_classes(y, leading, outputs, names)
    else:
        shapes = f"{(*leading, outputs)}" + (f" or {leading}" if outputs == 1 else "")
        require(
            y.shape == (*leading, outputs) or (outputs == 1 and y.shape == leading),
            f"{names[1]} have shape {shapes} to go with {names[0]}",
            f"shape {y.shape}",
            "pass one for each sample",
        )
        y = y.reshape(*leading, outputs)
    for name, array in zip(names, (x, y), strict=True):
        largest = float(np.abs(array).max())
        require(
            dtype == np.float64 or largest <= SINGLE_LIMIT,
            f"{name} of training in single precision are of size {SINGLE_LIMIT:g} at most",
            f"{largest:.3g}",
            'pass precision="float64", or rescale inputs and targets to order 1',
        )
    require(
        loss not in LABELS or bool(np.all(np.abs(y) == 1)),
        f"the loss {loss!r} is of labels -1 and +1",
        f"targets from {y.min():g} to {y.max():g}",
        "take the loss 'squared' for numbers, or recode labels 0 and 1 as 2 y - 1",
    )
    return Samples(x, y) if has_runs else Samples(x[None], y[None])


def _checked_classes(
    y: np.ndarray, leading: tuple[int, ...], outputs: int, names: tuple[str, str]
) -> Float[np.ndarray, "*runs n q"]:
    """Validate classes of one question or several against a network's outputs; return them."""
    require(
        y.shape == leading or (y.ndim == len(leading) + 1 and y.shape[:-1] == leading),
        f"{names[1]} are a class, or one for each question, to go with {names[0]} of {leading[-1]} "
        "samples",
        f"shape {y.shape}",
        "pass one row for each sample",
    )
    y = y.reshape(*leading, -1)
    questions = y.shape[-1]
    classes = outputs // questions
    require(
        outputs % questions == 0,
        f"{questions} questions share the network's outputs evenly",
        f"{outputs} outputs",
        "draw a network with as many outputs for each question",
    )
    require(
        bool(np.all((y == np.round(y)) & (y >= 0) & (y < classes))),
        f"with the loss 'cross entropy' {names[1]} are classes numbered from 0 to {classes - 1}, "
        "one fewer than outputs for a question",
        f"numbers from {y.min():g} to {y.max():g}",
        "recode the classes, or draw a network with an output for each",
    )
    return y


def require_memory(needed: float, remedy: str) -> None:
    """Require that the needed memory, in bytes, is within the limit."""
    require(
        needed / 2**30 <= MEMORY_GIB,
        f"training takes up to {MEMORY_GIB:g} GiB beside the samples",
        f"about {needed / 2**30:.0f}",
        remedy,
    )
