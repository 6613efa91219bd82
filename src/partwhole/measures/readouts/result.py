"""Predicted answers of a linear readout of measured trials, beside those of a trained one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.measures.readouts.labels import are_labels, label_indices, right_shares
from partwhole.tasks import Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Readout:
    r"""Answers of a linear readout at every condition, predicted from its trials.

    Parameters
    ----------
    conditions : int array, shape (A, C)
        Values of the components, a row for each condition that has trials.
    n_train, n_trials : int arrays, shape (A,)
        Its training trials, and all of its trials.
    targets : float array, shape (A, k)
    predicted : float array, shape (A, k)
        Mean answers: over training sets of this size, and over trials of the condition. Of an SVM
        its decision function; of LDA the logarithm of the odds of +1, or of several labels their
        logarithmic probabilities but for a constant in common.
    between : float array, shape (A, k, k)
        Covariance over training sets of the answer to a condition's mean.
    within : float array, shape (k, k)
        Covariance over trials of the answer of a readout.
    trained : float array, shape (A, k)
        Mean answers of the readout that was trained on these training trials to the other trials
        of each condition; NaN where there are none, and for a hinge loss without scikit-learn.
    trained_accuracy : float array, shape (A,)
        Share of these trials with the right label; NaN for other targets than labels, too.
    error : float array, shape (A, k, k)
        Covariance of the errors of predicted answers, as far as they are over training sets and
        trials: of held-out conditions where training conditions outnumber features, else 0.
    names, values, outputs : tuples
        Of a recording: names of its components, their values, and what the outputs are.
    notes : tuple of str
        Whether answers with numbers vary much between training sets, and which penalty would help.

    Examples
    --------
    Readout of the sum of two values, at the condition (2, 2), which has no training trials:

    >>> from partwhole.measures.readouts import predict_readout
    >>> rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 20, axis=0)
    >>> features = np.repeat(rows, 20, axis=1) + np.random.default_rng(0).normal(0, 2, (180, 40))
    >>> readout = predict_readout(features, rows, rows.sum(axis=1), rows.min(axis=1) < 2)
    >>> readout
    Readout(9 conditions, 1 held out: predicted to 0.046)
    >>> arrays = (readout.targets, readout.predicted, readout.deviation, readout.trained)
    >>> [round(float(array[-1, 0]), 1) for array in arrays]
    [4.0, 3.3, 0.5, 3.2]
    """

    conditions: Int[np.ndarray, "A C"]
    n_train: Int[np.ndarray, " A"]
    n_trials: Int[np.ndarray, " A"]
    targets: Float[np.ndarray, "A k"]
    predicted: Float[np.ndarray, "A k"]
    between: Float[np.ndarray, "A k k"]
    within: Float[np.ndarray, "k k"]
    trained: Float[np.ndarray, "A k"]
    trained_accuracy: Float[np.ndarray, " A"]
    error: Float[np.ndarray, "A k k"]
    names: tuple[str, ...] = ()
    values: tuple[tuple[Hashable, ...], ...] = ()
    outputs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the sizes, and how far prediction and readout differ on held-out conditions."""
        error = np.sqrt(np.mean((self.predicted - self.trained)[self.held_out] ** 2))
        return (
            f"Readout({len(self.conditions)} conditions, {int(self.held_out.sum())} held out: "
            f"predicted to {error:.2g})"
        )

    @property
    def held_out(self) -> Bool[np.ndarray, " A"]:
        """Return which conditions have no training trials."""
        return self.n_train == 0

    @door
    def rows_of(self, components: Int[np.ndarray, "m C"]) -> Int[np.ndarray, " m"]:
        """Return the row of each of some conditions.

        Parameters
        ----------
        components : int array, shape (m, C)

        Returns
        -------
        int array, shape (m,)

        Raises
        ------
        InputError
            For conditions without trials.
        """
        place = {tuple(row): i for i, row in enumerate(self.conditions.tolist())}
        rows = [place.get(tuple(row), -1) for row in components.tolist()]
        require(
            -1 not in rows,
            f"the conditions of a readout are the {len(place):,} that have trials",
            f"{rows.count(-1)} others",
            "leave them out, or predict the readout with their trials",
        )
        return np.array(rows, dtype=np.int64)

    @property
    def task(self) -> Task:
        """Return the task with a row for each condition, as `partwhole.compare` needs it."""
        targets = self.targets[:, 0] if self.targets.shape[1] == 1 else self.targets
        return Task(self.conditions, targets, ~self.held_out, self._names, self._values)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.names or tuple(f"component {c}" for c in range(self.conditions.shape[1]))

    @property
    def _values(self) -> tuple[tuple[Hashable, ...], ...]:
        numbers = (tuple(range(int(column.max()) + 1)) for column in self.conditions.T)
        return self.values or tuple(numbers)

    @property
    def deviation(self) -> Float[np.ndarray, "A k"]:
        """Return the standard deviation of the answer to a fresh trial, and to training sets."""
        return np.sqrt(np.einsum("ajj->aj", self._of_a_trial))

    @property
    def accuracy(self) -> Float[np.ndarray, " A"]:
        """Return the predicted accuracy on fresh trials of each condition, for labels.

        Labels are targets of -1 and +1: one column for two of them (the sign of the answer), or a
        column each (the largest answer). Answers are taken as normal.

        Raises
        ------
        InputError
            If targets are other numbers.
        """
        require(
            are_labels(self.targets),
            "accuracies are of labels, targets of -1 and +1 with one +1 of several",
            "other targets",
            "compare predicted with trained",
        )
        spread = self._of_a_trial - self.error
        return right_shares(self.predicted, spread, label_indices(self.targets))

    @property
    def _of_a_trial(self) -> Float[np.ndarray, "A k k"]:
        return self.between + self.within

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each condition.

        Returns
        -------
        pandas.DataFrame
            Its values, trials and training trials; target, predicted answer and its deviation, and
            the answer of the trained readout, numbered or named if there are several outputs. Of
            labels, both accuracies.
        """
        import pandas as pd

        columns: dict[str, object] = {
            name: [values[i] for i in column]
            for name, values, column in zip(
                self._names, self._values, self.conditions.T, strict=True
            )
        }
        columns |= {"trials": self.n_trials, "training trials": self.n_train}
        arrays = {
            "target": self.targets,
            "predicted": self.predicted,
            "deviation": self.deviation,
            "trained": self.trained,
        }
        k = self.targets.shape[1]
        outputs = self.outputs or range(k)
        for name, array in arrays.items():
            columns |= {
                name if k == 1 else f"{name} {output}": array[:, j]
                for j, output in enumerate(outputs)
            }
        if are_labels(self.targets):
            columns |= {"accuracy": self.accuracy, "trained accuracy": self.trained_accuracy}
        return pd.DataFrame(columns)
