"""Result of training a diffusion model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from partwhole.networks.diffusion import DiffusionModel
from partwhole.training.diffusion.recipe import DiffusionRecipe
from partwhole.training.outcome import Outcome


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffusionRun:
    """A trained diffusion model, and its samples during training.

    Parameters
    ----------
    model : DiffusionModel
        The model after the last step.
    averaged : DiffusionModel
        With averaged weights, from which samples are drawn; `model` unless the recipe averages.
    recipe : DiffusionRecipe
    outcome : Outcome
    steps : int array, shape (T,)
        At which samples were drawn.
    coordinates : dict of str to float array, shape (T, n, C)
        Coordinates of the samples of each prompt; NaN once a run has diverged.
    samples : dict of str to float16 array, shape (T, n, *shape)
        The samples themselves, with `keep_samples`.
    bits : float array, shape (L, 3)
        Mean diffusion, latent and reconstruction term over each hundred steps, in bits per
        dimension.
    bits_steps : int array, shape (L,)
        The last step of each hundred.
    """

    model: DiffusionModel
    averaged: DiffusionModel
    recipe: DiffusionRecipe
    outcome: Outcome
    steps: Int[np.ndarray, " T"]
    coordinates: dict[str, Float[np.ndarray, "_ _ _"]]
    samples: dict[str, np.ndarray]
    bits: Float[np.ndarray, "L 3"]
    bits_steps: Int[np.ndarray, " L"]

    def to_frame(self) -> pd.DataFrame:
        """Return the coordinates of every sample.

        Returns
        -------
        DataFrame
            Columns prompt, step, sample, concept (numbered from 0) and coordinate.
        """
        parts = []
        for name, coordinates in self.coordinates.items():
            index = pd.MultiIndex.from_product(
                [[name], self.steps, range(coordinates.shape[1]), range(coordinates.shape[2])],
                names=["prompt", "step", "sample", "concept"],
            )
            parts.append(pd.DataFrame({"coordinate": coordinates.reshape(-1)}, index=index))
        if not parts:
            return pd.DataFrame(columns=["prompt", "step", "sample", "concept", "coordinate"])
        return pd.concat(parts).reset_index()
