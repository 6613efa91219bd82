"""A training problem of diffusion models: samples with conditions, and samples to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from partwhole._arrays import as_read
from partwhole._checks import require
from partwhole._device import has_accelerator, on_device
from partwhole.networks.diffusion import DiffusionModel
from partwhole.training.checkpoints import checked_checkpoint
from partwhole.training.diffusion.bits import DATA_NOISE, checked_samples
from partwhole.training.diffusion.sampling import Sampling, require_fit
from partwhole.training.problem import Problem, require_finite_weights
from partwhole.training.training import FLOW, Training

Data = tuple[Any, Any]  # samples and their conditions, arrays of NumPy or of JAX
KEPT_UNASKED = 256 * 2**20  # bytes of weights that are kept unless a training says otherwise


@dataclass(frozen=True, eq=False)
class DiffusionProblem(Problem):
    """Diffusion models with their samples and conditions, validated.

    Parameters
    ----------
    samples : float array, shape (n, ...)
    conditions : float array, shape (n, condition), or int array, shape (n, words)
    sampling : Sampling or None
    checkpoint : Path or None
        Also those of `Problem`; `tasks` is empty, as conditions are no targets.
    """

    samples: Float[np.ndarray, "n *shape"]
    conditions: np.ndarray
    sampling: Sampling | None
    checkpoint: Path | None

    @cached_property
    def data(self) -> Data:
        """Return samples and conditions, in the memory of an accelerator if there is one."""
        data = self.samples, self.conditions
        return (on_device(data[0]), on_device(data[1])) if has_accelerator() else data

    @property
    def data_size(self) -> int:
        """Return the bytes of an accelerator's memory that samples and conditions take."""
        return has_accelerator() * (self.samples.nbytes + self.conditions.nbytes)

    @property
    def count(self) -> int:
        """Return the number of samples."""
        return len(self.samples)

    @property
    def shares(self) -> Float[np.ndarray, " k"]:
        """Return the weight of the only task in the loss."""
        return np.ones(1)

    @property
    def batch(self) -> int:
        """Return the number of samples in a step."""
        return min(self.training.batch or self.count, self.count)

    @property
    def per_epoch(self) -> int:
        """Return the number of steps of an epoch; an incomplete last batch is left out."""
        return self.count // self.batch

    @property
    def steps(self) -> int:
        """Return the number of training steps."""
        return self.training.steps or (self.training.epochs or 0) * self.per_epoch

    @property
    def stops(self) -> Int[np.ndarray, " T"]:
        """Return the recorded steps, including the last."""
        return super().stops if self.training.record is not None else np.array([self.steps])

    @property
    def weights_size(self) -> int:
        """Return the bytes of the weights of all runs at all recorded steps."""
        leaves = jax.tree.leaves(eqx.filter(self.every, eqx.is_inexact_array))
        return 4 * len(self.stops) * sum(leaf.size for leaf in leaves)

    @property
    def samples_size(self) -> int:
        """Return the bytes of the samples of all runs that are kept."""
        sampling = self.sampling
        if sampling is None or not sampling.keep:
            return 0
        count = sum(map(len, sampling.prompts.values()))
        return 2 * self.runs * len(self.stops) * count * int(np.prod(self.shape))

    @property
    def keeps_weights(self) -> bool:
        """Return whether weights are kept at the recorded steps."""
        keep = self.training.keep_weights
        return self.weights_size <= KEPT_UNASKED if keep is None else keep


def checked_diffusion_problem(
    models: DiffusionModel | Sequence[DiffusionModel],
    data: Any,
    training: Training,
    sampling: Any,
    checkpoint: Path | str | None,
) -> DiffusionProblem:
    """Validate that models, samples, prompts and training fit together; return the problem."""
    several = (models,) if isinstance(models, DiffusionModel) else tuple(models)
    _require_options(training)
    require(
        isinstance(data, tuple) and len(data) == 2,
        "data of diffusion models is a pair of samples and conditions",
        as_read(data),
        "pass (samples, conditions)",
    )
    kinds = {(model.shape, model.words is None) for model in several}
    require(
        len(kinds) == 1,
        "models that train together have samples of one shape and conditions of one kind",
        f"{len(kinds)} kinds of them",
        "train them in several calls",
    )
    _require_trainable_schedule(several, training)
    file = checked_checkpoint(checkpoint, training.restarts, len(several))
    require_finite_weights(several)
    samples, conditions = data
    require(
        conditions.ndim == 2,
        "conditions of diffusion models are rows, one for each sample",
        f"shape {conditions.shape}",
        "pass shape (n, condition), or (n, words)",
    )
    # Pairs of arrays come as floats.
    if several[0].words is not None and np.array_equal(conditions, np.round(conditions)):
        conditions = conditions.astype(np.int64)
    checked = [checked_samples(model, samples, conditions) for model in several]
    samples, conditions = checked[0]  # all models take arrays of one type
    require(
        sampling is None or isinstance(sampling, Sampling),
        "what is read of diffusion models is samples",
        as_read(sampling),
        "pass Sampling(prompts, decoder)",
    )
    if sampling is not None:
        require_fit(sampling, several)  # before hours of training
    return DiffusionProblem(
        several, len(several), several[0].shape,
        (), False, None, None, None, training, samples, conditions, sampling, file,
    )  # fmt: skip


def _require_trainable_schedule(models: Sequence[DiffusionModel], training: Training) -> None:
    """Refuse plain descent on learned endpoints, whose slopes are far above those of weights."""
    slope = np.exp([model.schedule.ends[0] for model in models]) / (2.0 * DATA_NOISE**2 * np.log(2))
    learned = [model.schedule.learned is not None for model in models]
    require(
        training.optimiser != "sgd" or training.clip is not None or not any(learned),
        "a learned schedule is trained by an optimiser that rescales slopes, or with clip",
        f"'sgd' for one whose first endpoint has a slope of {slope[learned].max(initial=0.0):.0f}",
        "take optimiser='adamw', clip=1.0, or a model with schedule='fixed'",
    )


def _require_options(training: Training) -> None:
    """Refuse options that only other networks have."""
    others = (
        (f"the optimiser {FLOW!r}", training.optimiser == FLOW),
        ("a late factor", training.late_factor != 1),
        ("the parametrisation 'ntk'", training.parametrisation != "standard"),
        ("a readout alone", training.trained != "all"),
        ("crop or flip", training.crop > 0 or training.flip),
        ("a threshold", training.threshold > 0),
        ("double precision", training.precision == "float64"),
        ("one order for all epochs", training.shuffle == "once"),
    )
    option = next((word for word, chosen in others if chosen), None)
    require(
        option is None,
        "diffusion models train to the last step, all parameters, in single precision",
        option,
        "leave it out",
    )
