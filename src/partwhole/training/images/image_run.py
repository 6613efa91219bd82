"""Result of training an image network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole.networks import ImageNetwork
from partwhole.training.images.recipe import Recipe
from partwhole.training.outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd

ACCURATE, EXPLAINED = 0.99, 0.05


@dataclass(frozen=True)
class Scores:
    """Scores of a network on a set of samples, in inference mode.

    Parameters
    ----------
    loss : float array, shape (T,)
        The training loss function, on these samples.
    accuracy : float array, shape (T,), or None
        Share of correct labels or classes; an output of exactly 0 counts as half correct. None for
        numbers.
    error : float array, shape (T,), or None
        Mean square error as a share of the variance of the targets; None for labels and classes.
    """

    loss: Float[np.ndarray, " T"]
    accuracy: Float[np.ndarray, " T"] | None
    error: Float[np.ndarray, " T"] | None


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageRun:
    """A trained image network, with the course of its training.

    Parameters
    ----------
    network : ImageNetwork
    recipe : Recipe
    seed : int
    training_loss : float array, shape (epochs,)
        Mean loss of each epoch, of batches in training, before each step.
    recorded : int array, shape (T,)
        Epochs after which the network was scored, including the last.
    scores : mapping of str to Scores
        For "training" and every set passed as `evaluate`.
    outputs : mapping of str to float array, shapes (n, k)
        Final outputs of the network for each sample of these sets, in inference mode.
    outcome : Outcome
    """

    network: ImageNetwork
    recipe: Recipe
    seed: int
    training_loss: Float[np.ndarray, " epochs"]
    recorded: Int[np.ndarray, " T"]
    scores: Mapping[str, Scores]
    outputs: Mapping[str, Float[np.ndarray, "_ k"]]
    outcome: Outcome

    @property
    def has_learned(self) -> bool:
        """Return whether the network has learned its training samples.

        At least 99 % of the labels are right, or the mean square error is at most 5 % of the
        variance of the targets.
        """
        scores = self.scores["training"]
        if scores.accuracy is not None:
            return bool(scores.accuracy[-1] >= ACCURATE)
        assert scores.error is not None
        return bool(scores.error[-1] <= EXPLAINED)

    def to_frame(self) -> pd.DataFrame:
        """Return the scores as a table, a row for each set and recorded epoch."""
        import pandas as pd

        rows = []
        for name, scores in self.scores.items():
            for i, epoch in enumerate(self.recorded):
                row = {"samples": name, "epoch": int(epoch), "loss": scores.loss[i]}
                if scores.accuracy is not None:
                    row["accuracy"] = scores.accuracy[i]
                if scores.error is not None:
                    row["error"] = scores.error[i]
                rows.append(row)
        return pd.DataFrame(rows)
