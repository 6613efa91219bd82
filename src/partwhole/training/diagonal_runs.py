"""What training of diagonal networks returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.limits.diagonal import DiagonalWeights
from partwhole.training._learning_record import LearningRecord


@dataclass(frozen=True, eq=False, kw_only=True)
class DiagonalRuns(LearningRecord):
    r"""Hold trained diagonal networks, one for each run.

    Parameters
    ----------
    steps, training_loss, task_loss, test_loss, end_steps, learning_rates, threshold, outcomes
        As in every record of learning: `test_loss` is :math:`|\beta - \beta^*|^2` with teachers,
        the mean square error with test samples.
    weights : DiagonalWeights
        At the end, hidden (runs, d) and readouts (runs, d). After several tasks hidden is
        (runs, 1, d) and readouts are (runs, k, d).
    """

    weights: DiagonalWeights

    @property
    def coefficients(self) -> Float[np.ndarray, "runs *k d"]:
        """Return what the networks compute at the end."""
        return self.weights.coefficients
