"""What training of dense networks returns."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.networks import MLP
from partwhole.training._learning_record import LearningRecord


@dataclass(frozen=True, eq=False, kw_only=True)
class DenseRuns(LearningRecord):
    """Hold trained dense networks, one for each run.

    Parameters
    ----------
    steps, training_loss, task_loss, test_loss, end_steps, learning_rates, threshold, outcomes
        As in every record of learning; there is one task, and `test_loss` is None.
    networks : MLP
        At the end, along a leading axis of runs.
    answers : float array, shape (runs, T, m, k), or None
        What each network answered to the probes, at every recorded step.
    """

    networks: MLP
    answers: Float[np.ndarray, "runs T m k"] | None

    @door
    def network(self, run: int) -> MLP:
        """Return the network of one run, counted from 0.

        Raises
        ------
        InputError
            For a run that there is not.
        """
        last = len(self.outcomes) - 1
        require(0 <= run <= last, f"runs are counted from 0 to {last}", run, "pass one of them")
        return jax.tree.map(lambda each: each[run], self.networks)
