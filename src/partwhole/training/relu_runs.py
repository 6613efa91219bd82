"""What training of two-layer ReLU networks returns."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole.networks import MLP
from partwhole.training._learning_record import LearningRecord


@dataclass(frozen=True, eq=False, kw_only=True)
class ReLURuns(LearningRecord):
    """Hold trained ReLU networks, one for each run.

    Parameters
    ----------
    steps, training_loss, task_loss, test_loss, end_steps, learning_rates, threshold, outcomes
        As in every record of learning: `test_loss` is the expected squared error with teachers,
        the mean square error with test samples.
    networks : MLP
        At the end: hidden layer (runs, h, d) and readout (runs, k, h).
    """

    networks: MLP

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

    @property
    def strengths(self) -> np.ndarray:
        r"""Return :math:`|w_h| \, |v_h|` of each unit at the end, shape (runs, h).

        Summed over units it is the norm that weight decay keeps small: the group norm with several
        tasks, the sum of :math:`|w_h| |v_h|` with one.
        """
        hidden, readout = (np.asarray(each, dtype=float) for each in self.networks.weights)
        return np.linalg.norm(hidden, axis=2) * np.linalg.norm(readout, axis=1)
