"""Records of training diffusion models: samples, their coordinates, and the terms of the loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from partwhole._checks import require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Index
from partwhole.measures.concepts._frame import coordinates_frame
from partwhole.networks.diffusion import DiffusionModel
from partwhole.networks.diffusion.schedule import MOST_SIGNAL, signal_in_words
from partwhole.training.diffusion.layout import KeptWeights
from partwhole.training.diffusion.sampling import (
    Readings,
    Sampling,
    draw_samples,
    picture_folder,
    require_fit,
    save_samples,
)

if TYPE_CHECKING:
    import pandas as pd


class DiffusionTrace(NamedTuple):
    """Records of one diffusion model; entries after the end of its run are NaN."""

    averaged: DiffusionModel
    readings: Readings
    weights: KeptWeights | None
    schedules: Float[np.ndarray, "T 2"]
    bits: Float[np.ndarray, "L 3"]
    bits_steps: Int[np.ndarray, " L"]


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffusionRecords:
    """Samples of diffusion models during training, and the terms of their loss.

    Parameters
    ----------
    averaged : tuple of DiffusionModel
        One for each run, with averaged weights, from which samples are drawn; the final models
        unless `Training.average` is set.
    steps : int array, shape (T,)
        The recorded steps, at which samples were drawn.
    coordinates : dict of str to float array, shape (runs, T, n, C)
        Coordinates of the samples of each prompt, with a decoder; NaN once a run has diverged.
    samples : dict of str to float16 array, shape (runs, T, n, ...)
        The samples themselves, with `keep`.
    bits : float array, shape (runs, L, 3)
        Mean diffusion, latent and reconstruction term over each hundred steps, in bits per
        dimension, up to the end of the longest run; NaN after the end of a run.
    bits_steps : int array, shape (L,)
        The last step of each hundred.
    seeds : tuple of int
        One for each run.
    weights : tuple of KeptWeights, or None
        Those from which samples are drawn, at the recorded steps, one for each run; None unless
        `Training.keep_weights`.
    schedules : float array, shape (runs, T, 2)
        Logs of noise over signal at times 0 and 1 of the models from which samples are drawn, which
        a learned schedule moves; NaN once a run has diverged.
    """

    averaged: tuple[DiffusionModel, ...]
    steps: Int[np.ndarray, " T"]
    coordinates: dict[str, Float[np.ndarray, "_ _ _ _"]]
    samples: dict[str, np.ndarray]
    bits: Float[np.ndarray, "runs L 3"]
    bits_steps: Int[np.ndarray, " L"]
    seeds: tuple[int, ...]
    weights: tuple[KeptWeights, ...] | None
    schedules: Float[np.ndarray, "runs T 2"]

    @classmethod
    def of(
        cls, steps: Int[np.ndarray, " T"], traces: list[DiffusionTrace], end: int,
        seeds: tuple[int, ...],
    ) -> DiffusionRecords:  # fmt: skip
        """Return the records of all runs, the longest of which has so many steps."""
        first = traces[0]
        kept = [trace.weights for trace in traces if trace.weights is not None]
        length = int(np.searchsorted(first.bits_steps, end)) + 1
        return cls(
            averaged=tuple(trace.averaged for trace in traces),
            steps=steps,
            **_stacked([trace.readings for trace in traces]),
            bits=np.stack([trace.bits[:length] for trace in traces]),
            bits_steps=first.bits_steps[:length],
            seeds=seeds,
            weights=tuple(kept) if kept else None,
            schedules=np.stack([trace.schedules for trace in traces]),
        )

    @property
    def noise_left(self) -> Float[np.ndarray, "runs T"]:
        r"""Return the deviation of the noise on samples, :math:`(1 + e^{-\gamma(0)})^{-1/2}`.

        Of those drawn without `Sampling.denoise`; what reads them is to be calibrated on as much.
        """
        return expit(self.schedules[..., 0].astype(float)) ** 0.5

    @property
    def signal_left(self) -> Float[np.ndarray, "runs T"]:
        r"""Return the scale of a sample at time 1, :math:`(1 + e^{\gamma(1)})^{-1/2}`.

        Sampling starts from noise alone there, so that over .1 samples are not those of the model.
        """
        return expit(-self.schedules[..., 1].astype(float)) ** 0.5

    @property
    def messages(self) -> tuple[str, ...]:
        """Return a sentence on each run whose schedule leaves over a tenth of a sample at time 1.

        `train` warns of the first one (`ScheduleWarning`).
        """
        largest = np.nan_to_num(self.signal_left).max(axis=1)
        return tuple(
            f"run {run}: {signal_in_words(float(signal))}"
            for run, signal in enumerate(largest)
            if signal > MOST_SIGNAL
        )

    @door
    def at(self, step: Index, *, run: Index = 0) -> DiffusionModel:
        """Return the model of a recorded step, from which samples are drawn; see `Runs.at`."""
        rule = f"runs are counted from 0 to {len(self.seeds) - 1}"
        require(run < len(self.seeds), rule, run, "pass one of them")
        turn = self._turn(step)
        if self.weights is None:
            require(
                turn == len(self.steps) - 1,
                "weights on the way are kept by Training(keep_weights=True), or where they are few",
                "none of them",
                f"train with it, or take those of the end, step {self.steps[-1]}",
            )
            return self.averaged[run]
        require(
            self.weights[run].is_kept(turn),
            "weights are kept until a run diverges",
            f"step {step} of run {run}, which had diverged by then",
            "pass an earlier step",
        )
        return self.weights[run].model(turn)

    @door
    def read(
        self, sampling: Sampling, *, steps: Sequence[Index] | None = None, progress: bool = True
    ) -> DiffusionRecords:
        """Draw samples from the models of recorded steps, and read them; see `Runs.read`."""
        shape = self.averaged[0].shape
        require_fit(sampling, self.averaged)
        places = (
            list(range(len(self.steps))) if steps is None else sorted({*map(self._turn, steps)})
        )
        require(len(places) > 0, "some recorded steps are read", "none", "leave steps out for all")
        readings = []
        with bar("Sampling", len(self.seeds) * len(places), shown=progress) as advance:
            for run, seed in enumerate(self.seeds):
                of_run = Readings.blank(sampling, len(places), shape)
                folder = picture_folder(sampling, run, len(self.seeds))
                for place, turn in enumerate(places):
                    if self.weights is None or self.weights[run].is_kept(turn):
                        model = self.at(int(self.steps[turn]), run=run)
                        samples_of = draw_samples(sampling, model, seed, turn)
                        of_run.record(place, sampling, samples_of)
                        if folder is not None:
                            save_samples(samples_of, folder, int(self.steps[turn]))
                    advance(1)
                readings.append(of_run)
        return replace(
            self,
            steps=self.steps[places],
            schedules=self.schedules[:, places],
            weights=None if self.weights is None else tuple(
                kept._replace(rows=kept.rows[places]) for kept in self.weights
            ),
            **_stacked(readings),
        )  # fmt: skip

    def _turn(self, step: int) -> int:
        """Return the place of a step among those that were recorded."""
        places = np.flatnonzero(self.steps == step)
        require(
            len(places) == 1,
            "models are those of recorded steps",
            f"step {step}, where {_listed(self.steps)} are recorded",
            "pass one of these, or name it in the record of a Training",
        )
        return int(places[0])

    def to_frame(self) -> pd.DataFrame:
        """Return the coordinates of every sample.

        Returns
        -------
        pandas.DataFrame
            With the columns run, prompt, step, sample, concept (numbered from 0) and coordinate.
        """
        return coordinates_frame(self.steps, self.coordinates)


def _stacked(readings: Sequence[Readings]) -> dict[str, Any]:
    """Return readings along an axis of runs."""
    return {
        field: {
            name: np.stack([getattr(part, field)[name] for part in readings])
            for name in getattr(readings[0], field)
        }
        for field in Readings._fields
    }


def _listed(steps: Int[np.ndarray, " T"]) -> str:
    names = [f"{step}" for step in steps]
    return ", ".join(names if len(names) <= 6 else [*names[:3], "...", *names[-2:]])
