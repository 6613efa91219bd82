"""Results of training on structured identity tasks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.networks import MLP, Architecture
from partwhole.tasks import StructuredIdentity
from partwhole.training.outcome import Outcome
from partwhole.training.protocol import Protocol

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class IdentityRuns:
    r"""Networks trained on structured identity tasks, one for each setting and seed.

    Parameters
    ----------
    tasks : tuple of StructuredIdentity
        One for each setting.
    architecture : Architecture
    protocols : tuple of Protocol
        One for each setting.
    seeds : tuple of int
    steps : int array, shape (T,)
        The steps that were recorded.
    times : float array, shape (settings, T)
        The same in gradient time, that of gradient flow on :math:`\frac12 E\|f(x) - x\|^2`.
    probes : float array, shape (settings, k, d)
        Where networks were read, in the concept frame.
    outputs : float array, shape (settings, seeds, T, k, d)
        Their outputs, in the concept frame.
    training_loss : float array, shape (settings, seeds, T)
        :math:`\frac12 \|f(x) - x\|^2`, the mean over the sample; for networks that are not
        linear, over 2,048 samples spread evenly over the clusters.
    initial : MLP
        The networks before training, along a leading axis of the seeds; the same in every
        setting.
    final : MLP
        After the last recorded step, along leading axes (settings, seeds).
    second_moments : float array, shape (settings, seeds, d, d)
        Of the samples, in the concept frame, the mean not subtracted.
    means : float array, shape (settings, seeds, d)
        Of the samples, in the concept frame.
    outcomes : tuple of tuples of Outcome
        Outcome of each run.
    """

    tasks: tuple[StructuredIdentity, ...]
    architecture: Architecture
    protocols: tuple[Protocol, ...]
    seeds: tuple[int, ...]
    steps: Int[np.ndarray, " T"]
    times: Float[np.ndarray, "settings T"]
    probes: Float[np.ndarray, "settings k d"]
    outputs: Float[np.ndarray, "settings seeds T k d"]
    training_loss: Float[np.ndarray, "settings seeds T"]
    initial: MLP
    final: MLP
    second_moments: Float[np.ndarray, "settings seeds d d"]
    means: Float[np.ndarray, "settings seeds d"]
    outcomes: tuple[tuple[Outcome, ...], ...]

    @property
    def diverged(self) -> Bool[np.ndarray, "settings seeds"]:
        """Return which runs diverged."""
        return np.array([[outcome is Outcome.DIVERGED for outcome in row] for row in self.outcomes])

    @cached_property
    def losses(self) -> Float[np.ndarray, "settings seeds T k"]:
        r"""Return :math:`\frac12 \|f(z) - z\|^2` at each probe z."""
        with np.errstate(all="ignore"):  # of runs that diverged
            gap = self.outputs - self.probes[:, None, None]
            return 0.5 * (gap**2).sum(axis=-1)

    @cached_property
    def fractions(self) -> Float[np.ndarray, "settings seeds T k s"]:
        r"""Return the outputs along the concepts in units of their means, :math:`f_p / \mu_p`.

        NaN for a concept whose mean is 0.
        """
        s = self.tasks[0].n_concepts
        means = np.array([task.means for task in self.tasks])[:, None, None, None]
        with np.errstate(all="ignore"):
            return np.where(means == 0, np.nan, self.outputs[..., :s] / means)

    def to_dataset(self) -> xr.Dataset:
        """Return outputs, losses and moments with named dimensions.

        Returns
        -------
        xarray.Dataset
            With the dimensions setting, seed, step, probe and coordinate; the time of a step is
            the coordinate `time` of (setting, step).
        """
        import xarray as xr

        run = ("setting", "seed")
        return xr.Dataset(
            {
                "outputs": ((*run, "step", "probe", "coordinate"), self.outputs),
                "loss": ((*run, "step", "probe"), self.losses),
                "training_loss": ((*run, "step"), self.training_loss),
                "fraction": ((*run, "step", "probe", "concept"), self.fractions),
                "second_moment": ((*run, "coordinate", "other"), self.second_moments),
                "mean": ((*run, "coordinate"), self.means),
                "diverged": (run, self.diverged),
                "point": (("setting", "probe", "coordinate"), self.probes),
            },
            coords={
                "setting": np.arange(len(self.tasks)),
                "seed": np.array(self.seeds),
                "step": self.steps,
                "time": (("setting", "step"), self.times),
            },
        )
