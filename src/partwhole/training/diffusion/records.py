"""Records of training diffusion models: samples, their coordinates, and the terms of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from partwhole.networks.diffusion import DiffusionModel

if TYPE_CHECKING:
    import pandas as pd


class DiffusionTrace(NamedTuple):
    """Records of one diffusion model; entries after the end of its run are NaN."""

    averaged: DiffusionModel
    coordinates: dict[str, np.ndarray]
    samples: dict[str, np.ndarray]
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
    samples : dict of str to float16 array, shape (runs, T, n, *shape)
        The samples themselves, with `keep`.
    bits : float array, shape (runs, L, 3)
        Mean diffusion, latent and reconstruction term over each hundred steps, in bits per
        dimension, up to the end of the longest run; NaN after the end of a run.
    bits_steps : int array, shape (L,)
        The last step of each hundred.
    """

    averaged: tuple[DiffusionModel, ...]
    steps: Int[np.ndarray, " T"]
    coordinates: dict[str, Float[np.ndarray, "_ _ _ _"]]
    samples: dict[str, np.ndarray]
    bits: Float[np.ndarray, "runs L 3"]
    bits_steps: Int[np.ndarray, " L"]

    @classmethod
    def of(
        cls, steps: Int[np.ndarray, " T"], traces: list[DiffusionTrace], end: int
    ) -> DiffusionRecords:
        """Return the records of all runs, the longest of which has so many steps."""
        first = traces[0]
        length = int(np.searchsorted(first.bits_steps, end)) + 1
        return cls(
            averaged=tuple(trace.averaged for trace in traces),
            steps=steps,
            coordinates={
                name: np.stack([trace.coordinates[name] for trace in traces])
                for name in first.coordinates
            },
            samples={
                name: np.stack([trace.samples[name] for trace in traces]) for name in first.samples
            },
            bits=np.stack([trace.bits[:length] for trace in traces]),
            bits_steps=first.bits_steps[:length],
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the coordinates of every sample.

        Returns
        -------
        pandas.DataFrame
            With the columns run, prompt, step, sample, concept (numbered from 0) and coordinate.
        """
        import pandas as pd

        names = ["run", "prompt", "step", "sample", "concept"]
        parts = []
        for name, coordinates in self.coordinates.items():
            runs, _, n, concepts = coordinates.shape
            index = pd.MultiIndex.from_product(
                [range(runs), [name], self.steps, range(n), range(concepts)], names=names
            )
            parts.append(pd.DataFrame({"coordinate": coordinates.reshape(-1)}, index=index))
        if not parts:
            return pd.DataFrame(columns=[*names, "coordinate"])
        return pd.concat(parts).reset_index()
