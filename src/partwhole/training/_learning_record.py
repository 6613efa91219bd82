"""What is recorded of runs that learn one task or several, whatever the network."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require

if TYPE_CHECKING:
    import pandas as pd


class TrainingOutcome(Enum):
    """Say how the training of a network ended; the value says what to do about it."""

    REACHED_THRESHOLD = "reached the threshold"
    REACHED_MAX_STEPS = (
        "reached max_steps above the threshold; raise max_steps or the threshold, or take "
        'precision="float64" where the loss no longer falls'
    )
    DIVERGED = (
        "diverged: the training loss grew a hundredfold or is not a number; take a smaller "
        "learning rate, or restarts=3 to divide it by ten where needed"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class LearningRecord:
    """Hold losses and ends of runs; a kind of network adds its weights.

    Where several tasks were learned, arrays that say so have an axis of the k tasks; after
    training on one they lack it. Records after the end of a run repeat its end.

    Parameters
    ----------
    steps : int array, shape (T,)
        The steps that were recorded.
    training_loss : float array, shape (runs, T)
        Mean square error over the samples of all tasks, without weight decay.
    task_loss : float array, shape (runs, [k,] T)
        The same for the samples of each task.
    test_loss : float array, shape (runs, [k,] T), or None
    end_steps : int array, shape (runs,)
        The steps that each run took.
    learning_rates : float array, shape (runs,)
        Those that were used in the end, after restarts.
    threshold : float
    outcomes : tuple of TrainingOutcome
        How each run ended.
    """

    steps: Int[np.ndarray, " T"]
    training_loss: Float[np.ndarray, "runs T"]
    task_loss: Float[np.ndarray, "runs *k T"]
    test_loss: Float[np.ndarray, "runs *k T"] | None
    end_steps: Int[np.ndarray, " runs"]
    learning_rates: Float[np.ndarray, " runs"]
    threshold: float
    outcomes: tuple[TrainingOutcome, ...]

    @property
    def final_loss(self) -> Float[np.ndarray, "runs *k"]:
        """Return the test loss where each run ended."""
        return self._tested()[..., -1]

    @property
    def best_loss(self) -> Float[np.ndarray, "runs *k"]:
        """Return the least recorded test loss, an oracle: only the test set can tell its step.

        The published losses are of this kind. Where transfer harms, the best step is an early
        one, and this hides it: read `final_loss` too.
        """
        return self._known().min(axis=-1)

    @property
    def best_step(self) -> Int[np.ndarray, "runs *k"]:
        """Return the step of the oracle's `best_loss`."""
        found = self.steps[self._known().argmin(axis=-1)]
        ends = self.end_steps.reshape(-1, *[1] * (found.ndim - 1))
        return np.minimum(found, ends)

    @property
    def messages(self) -> tuple[str, ...]:
        """Return a sentence on each run: how it ended, how far it came and what to do about it."""
        return tuple(
            f"run {run} {outcome.value} (step {step}, training loss {loss:.3g}, "
            f"threshold {self.threshold:.3g})"
            for run, (outcome, step, loss) in enumerate(
                zip(self.outcomes, self.end_steps, self.training_loss[:, -1], strict=True)
            )
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each run, and for each task where there are several.

        Returns
        -------
        pandas.DataFrame
            With the columns run, task (where there are several), learning_rate, steps, outcome
            and training_loss (of the task). With a test also final_loss, oracle_best_loss and
            oracle_best_step.
        """
        import pandas as pd

        many = self.task_loss.ndim == 3
        tasks = self.task_loss.shape[1] if many else 1
        columns = {"run": np.repeat(np.arange(len(self.end_steps)), tasks)}
        if many:
            columns["task"] = np.tile(np.arange(tasks), len(self.end_steps))
        columns |= {
            "learning_rate": np.repeat(self.learning_rates, tasks),
            "steps": np.repeat(self.end_steps, tasks),
            "outcome": np.repeat([each.name.lower() for each in self.outcomes], tasks),
            "training_loss": self.task_loss[..., -1].reshape(-1),
        }
        if self.test_loss is not None:
            columns |= {
                "final_loss": self.final_loss.reshape(-1),
                "oracle_best_loss": self.best_loss.reshape(-1),
                "oracle_best_step": self.best_step.reshape(-1),
            }
        return pd.DataFrame(columns)

    def _tested(self) -> np.ndarray:
        require(
            self.test_loss is not None,
            "a test loss needs something to test on",
            "neither teachers nor test inputs",
            "pass teachers= in training",
        )
        assert self.test_loss is not None
        return self.test_loss

    def _known(self) -> np.ndarray:
        found = self._tested()
        return np.where(np.isnan(found), np.inf, found)
