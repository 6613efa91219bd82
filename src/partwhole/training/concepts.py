"""Training on structured identity tasks: their samples, and answers in the concept frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.networks import MLP
from partwhole.networks.network import Network, n_outputs
from partwhole.tasks import StructuredIdentity
from partwhole.tasks.identity_sample import IdentitySample
from partwhole.training.problem import (
    Problem,
    checked_networks,
    require_probes,
    require_wide,
    seeds_of,
)
from partwhole.training.training import Training

if TYPE_CHECKING:
    import xarray as xr

Concepts = StructuredIdentity | IdentitySample
SAME = 1e-12  # largest distance of a point that counts as the unseen combination


@dataclass(frozen=True, eq=False)
class DrawnSamples:
    """Samples of a structured identity task, drawn for each run when they are used.

    Parameters
    ----------
    source : StructuredIdentity or IdentitySample
        A task, from which each run draws a sample with its own seed, or one sample for all runs.
    seeds : tuple of int
        One for each run.
    """

    source: Concepts
    seeds: tuple[int, ...]
    _latest: dict[int, IdentitySample] = field(default_factory=dict, repr=False)

    @property
    def task(self) -> StructuredIdentity:
        """Return the task."""
        return self.source.task if isinstance(self.source, IdentitySample) else self.source

    @property
    def count(self) -> int:
        """Return the number of samples of a run."""
        return self.task.n_samples

    def sample(self, run: int) -> IdentitySample:
        """Return the sample of a run; the latest one is kept."""
        if isinstance(self.source, IdentitySample):
            return self.source
        seed = self.seeds[run]
        sample = self._latest.get(seed)
        if sample is None:
            sample = self.source.sample(seed)
            self._latest.clear()
            self._latest[seed] = sample
        return sample

    def of(self, run: int) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """Return the inputs and targets of a run, which are the same."""
        inputs = self.sample(run).inputs
        return inputs, inputs


def concept_problem(
    networks: Any, data: Concepts, training: Training, read: np.ndarray | None
) -> Problem:
    """Validate that networks fit a structured identity task; return the problem."""
    task = data.task if isinstance(data, IdentitySample) else data
    require_wide(training)
    require(
        training.loss == "squared",
        "targets of a structured identity task are its inputs, numbers for the loss 'squared'",
        f"the loss {training.loss!r}",
        "leave loss out",
    )
    d = task.n_dimensions
    checked, count = checked_networks(networks)
    runs = 1 if count is None else count
    # The weights of a diagonal network are a tuple, too.
    first = checked[0] if type(checked) is tuple else checked
    has_shape = isinstance(first, Network)
    require(
        has_shape and tuple(first.shape) == (d,) and n_outputs(first) == d,
        f"a structured identity task has {d} inputs and as many outputs",
        f"inputs of shape {tuple(first.shape)} and {n_outputs(first)} outputs"
        if has_shape
        else type(first).__name__,
        f"draw it by Architecture(...).networks({d}, seeds=...)",
    )
    if read is None:
        read = task.to_inputs(task.probe[None])
    require_probes(read, (d,))
    samples = DrawnSamples(data, seeds_of(training, runs))
    return Problem(checked, runs, (d,), (samples,), False, read, None, None, training)


@dataclass(frozen=True, eq=False)
class ConceptAnswers:
    r"""Answers of networks trained on a structured identity task, in the concept frame.

    Parameters
    ----------
    samples : DrawnSamples
        The task, and what each run has learned from.
    probes : float array, shape (m, d)
        Where networks were read.
    outputs : float array, shape (runs, T, m, d)
        Their outputs.
    """

    samples: DrawnSamples
    probes: Float[np.ndarray, "m d"]
    outputs: Float[np.ndarray, "runs T m d"]

    @property
    def task(self) -> StructuredIdentity:
        """Return the task."""
        return self.samples.task

    @cached_property
    def losses(self) -> Float[np.ndarray, "runs T m"]:
        r"""Return :math:`\frac12 \|f(z) - z\|^2` at each probe z."""
        with np.errstate(all="ignore"):  # of runs that diverged
            return 0.5 * ((self.outputs - self.probes) ** 2).sum(axis=-1)

    @cached_property
    def fractions(self) -> Float[np.ndarray, "runs T m s"]:
        r"""Return the outputs along the concepts in units of their means, :math:`f_p / \mu_p`.

        NaN for a concept whose mean is 0.
        """
        means = np.array(self.task.means)
        with np.errstate(all="ignore"):
            return np.where(means == 0, np.nan, self.outputs[..., : len(means)] / means)

    @cached_property
    def second_moments(self) -> Float[np.ndarray, "runs d d"]:
        """Return the second moment of each run's sample, the mean not subtracted."""
        return np.stack([self.samples.sample(run).second_moment() for run in self._runs])

    @cached_property
    def means(self) -> Float[np.ndarray, "runs d"]:
        """Return the mean of each run's sample."""
        return np.stack([self.samples.sample(run).mean() for run in self._runs])

    @property
    def _runs(self) -> range:
        return range(len(self.outputs))

    @property
    def at_unseen(self) -> Float[np.ndarray, "runs T d"]:
        """Return the outputs at the unseen combination, the task's probe.

        Raises
        ------
        InputError
            For networks that were not read there.
        """
        distances = np.abs(self.probes - self.task.probe).max(axis=1)
        place = np.flatnonzero(distances < SAME)
        require(
            len(place) > 0,
            "networks are read at the unseen combination",
            f"{len(self.probes)} other probes",
            "train without read, or include task.to_inputs(task.probe)",
        )
        return self.outputs[:, :, place[0]]

    def to_dataset(self) -> xr.Dataset:
        """Return outputs, losses and moments with named dimensions.

        Returns
        -------
        xarray.Dataset
            With the dimensions run, record, probe, coordinate and concept.
        """
        import xarray as xr

        return xr.Dataset(
            {
                "outputs": (("run", "record", "probe", "coordinate"), self.outputs),
                "loss": (("run", "record", "probe"), self.losses),
                "fraction": (("run", "record", "probe", "concept"), self.fractions),
                "second_moment": (("run", "coordinate", "other"), self.second_moments),
                "mean": (("run", "coordinate"), self.means),
                "point": (("probe", "coordinate"), self.probes),
            },
            coords={"seed": ("run", np.array(self.samples.seeds))},
        )


def in_concept_frame(
    networks: MLP, task: StructuredIdentity
) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
    """Return weights and biases as they act on coordinates of the concepts, in 64 bits.

    They have a leading axis of runs, also of one network.
    """
    turn = task.rotation_matrix  # row p: axis p in the learner's inputs
    runs = networks.lead or (1,)

    def in_double(layer: object) -> np.ndarray:
        array = np.asarray(layer, dtype=float)
        return array.reshape(*runs, *array.shape[len(networks.lead) :])

    weights = [in_double(weight) for weight in networks.weights]
    weights[0] = weights[0] @ turn.T
    weights[-1] = turn @ weights[-1]
    if networks.biases is None:
        return weights, None
    biases = [in_double(bias) for bias in networks.biases]
    biases[-1] = biases[-1] @ turn.T
    return weights, biases
