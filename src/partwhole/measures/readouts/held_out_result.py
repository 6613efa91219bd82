"""Readouts' answers to held-out conditions, predicted and measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.measures.readouts.labels import label_indices, right_shares
from partwhole.measures.readouts.lda import LDA
from partwhole.measures.readouts.spread import accuracy_intervals
from partwhole.measures.readouts.svm import SVM
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd


# The quantile of a standard normal number at .975.
NORMAL = 1.959964


@dataclass(frozen=True, eq=False)
class HeldOutReadouts:
    """Readouts' answers to held-out conditions, predicted and measured; R rows.

    A row is a condition in a set that was held out together. Readouts answer with the value of each
    component, by a column of -1 and +1 for two values, or a column for each of more; or with the
    targets that were passed. Classifiers answer with decision functions, of which the label has the
    sign, or the largest.

    Parameters
    ----------
    recording : Recording
        In which every neuron has a response in every trial.
    held_out : bool array, shape (F, T)
        The conditions of each set.
    outputs : tuple of str, length k
    targets, predicted, measured : float arrays, shape (R, k)
        Predicted: mean answer, over training sets and trials. Measured: mean answer of the readout
        that was trained on the trials of all other conditions.
    from_saliences : float array, shape (R, k), or None
        Predicted with the overlap kernel of measured saliences in place of measured means, and the
        noise of all trials.
    labels : tuple of str
        The components whose values the readouts answer with, "answer" for labels that were passed;
        none for other targets.
    accuracy, measured_accuracy : float arrays, shape (R, labels)
        Share of a condition's trials that get the right value.
    chance : float array, shape (labels,)
        One over the number of values.
    determined : bool array, shape (R,)
        Whether the other conditions determine any sum of parts at this one.
    between : float array, shape (R, k, k)
        Covariance of the answer to the condition's mean, over training sets; of classifiers 0
        between components.
    within : float array, shape (R, k, k)
        Covariance of the answer over trials, by how much noise each condition has.
    ridge : float
        The penalty; NaN of classifiers.
    larger_ridge : float or None
        Where neurons are half to twice as many as training trials: a larger penalty with which open
        answers, whose `certainty` is between .025 and .975, are more probably right. None
        elsewhere, and if there is none.
    larger_certainty : float array, shape (R, labels), or None
        With this penalty and the same `prediction_variance`; NaN for sets without open answers.
    over_neurons : float, default NaN
        Variance of predicted answers over populations of neurons, a mean; NaN if not asked for.
    notes : tuple of str
        Whether answers with numbers vary much between training sets, and which penalty would help;
        of classifiers, that intervals of answers are too short; and which components are confounded
        with groups.
    classifier : LDA or SVM or None
    confounded : tuple of str
        The components whose values depend on a trial's group: readouts may answer by the group.

    Examples
    --------
    Each of four conditions is held out by itself; the other three determine any sum of parts at it.

    >>> from partwhole.measures.readouts import held_out_readouts
    >>> from partwhole.recordings import from_trials
    >>> rows = np.repeat([[a, b] for a in range(2) for b in range(2)], 20, axis=0)
    >>> noise = np.random.default_rng(0).normal(size=(80, 40))
    >>> readouts = held_out_readouts(from_trials(np.repeat(rows, 20, axis=1) + noise, rows))
    >>> readouts
    HeldOutReadouts(4 sets of held-out conditions, 2 outputs: predicted to 0.12)
    >>> readouts.determined.tolist(), readouts.accuracy.shape
    ([True, True, True, True], (4, 2))
    >>> {part: round(size, 2) for part, size in readouts.budget.items()}
    {'training trials': 0.2, 'test trials': 0.14, 'difference': 0.12}
    """

    recording: Recording
    held_out: Bool[np.ndarray, "F T"]
    outputs: tuple[str, ...]
    targets: Float[np.ndarray, "R k"]
    predicted: Float[np.ndarray, "R k"]
    measured: Float[np.ndarray, "R k"]
    from_saliences: Float[np.ndarray, "R k"] | None
    labels: tuple[str, ...]
    accuracy: Float[np.ndarray, "R labels"]
    measured_accuracy: Float[np.ndarray, "R labels"]
    chance: Float[np.ndarray, " labels"]
    determined: Bool[np.ndarray, " R"]
    between: Float[np.ndarray, "R k k"]
    within: Float[np.ndarray, "R k k"]
    ridge: float
    larger_ridge: float | None = None
    larger_certainty: Float[np.ndarray, "R labels"] | None = None
    over_neurons: float = np.nan
    notes: tuple[str, ...] = ()
    classifier: LDA | SVM | None = None
    confounded: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the sizes, and how far predictions and readouts differ."""
        return (
            f"HeldOutReadouts({len(self.held_out)} sets of held-out conditions, "
            f"{len(self.outputs)} outputs: predicted to {self.error:.2g})"
        )

    @property
    def set_of_row(self) -> Int[np.ndarray, " R"]:
        """Return the set of each row."""
        return np.nonzero(self.held_out)[0]

    @property
    def condition(self) -> Int[np.ndarray, " R"]:
        """Return the condition of each row, as a row of `recording.conditions`."""
        return np.nonzero(self.held_out)[1]

    @property
    def n_trials(self) -> Int[np.ndarray, " R"]:
        """Return the number of trials of each row's condition."""
        return np.bincount(self.recording.condition_of_trial)[self.condition]

    @property
    def deviation(self) -> Float[np.ndarray, "R k"]:
        """Return the standard deviation of the mean answer to as many trials as were recorded.

        Over training sets and trials.
        """
        between, within = (variances(part) for part in (self.between, self.within))
        return np.sqrt(between + within / self.n_trials[:, None])

    @cached_property
    def prediction_variance(self) -> float:
        """Return the variance of predictions over recordings, over that of measured answers.

        Both rest on the same trials and vary together. Where what predictions miss does not depend
        on what they say, it is 1 less the mean squared difference in units of `deviation`, and at
        least 0; it is 1 where predictions are the measured answers, and taken to be 1 where nothing
        was measured. Derived here.
        """
        missed = (self.measured - self.predicted) ** 2
        known = np.isfinite(missed) & (self.deviation > 0.0)
        if not known.any():
            return 1.0
        return max(1.0 - float(np.mean(missed[known] / self.deviation[known] ** 2)), 0.0)

    @property
    def interval(self) -> Float[np.ndarray, "R k 2"]:
        """Return ends between which 95 % of mean answers lie, in other recordings of this size.

        Of the same conditions and neurons; around `predicted`, by `deviation` of answers and
        `prediction_variance`.
        """
        reach = NORMAL * np.sqrt(1.0 + self.prediction_variance) * self.deviation
        return np.stack([self.predicted - reach, self.predicted + reach], axis=-1)

    @cached_property
    def accuracy_interval(self) -> Float[np.ndarray, "R labels 2"]:
        """Return ends between which 95 % of shares of right trials lie, in other recordings.

        As `interval`; of labels.
        """
        of_mean = self.between + self.within / self.n_trials[:, None, None]
        between = self.between + self.prediction_variance * of_mean
        ends = [
            accuracy_intervals(
                self.predicted[:, part], between[:, part, part],
                self.within[:, part, part], self.n_trials, label_indices(self.targets[:, part]),
            )
            for part in self.outputs_of_labels
        ]  # fmt: skip
        return np.stack(ends, axis=1) if ends else np.empty((len(self.condition), 0, 2))

    @cached_property
    def certainty(self) -> Float[np.ndarray, "R labels"]:
        """Return the probability that a mean answer has the right value, in another recording.

        Of the answer to as many trials as were recorded, in a recording of this size, with
        `prediction_variance`: near 1 or 0 there are trials enough to say so, between them there
        are not. Any answer was as likely beforehand: of conditions whose answers are all near to
        where they turn wrong, fewer are right than this says.
        """
        of_mean = self.between + self.within / self.n_trials[:, None, None]
        spread = (1.0 + self.prediction_variance) * of_mean
        shares = [
            right_shares(
                self.predicted[:, part], spread[:, part, part], label_indices(self.targets[:, part])
            )
            for part in self.outputs_of_labels
        ]
        return np.stack(shares, axis=1) if shares else np.empty((len(self.condition), 0))

    @property
    def outputs_of_labels(self) -> list[slice]:
        """Return the outputs of each label: one of two values, or one for each of more."""
        n_values = np.rint(1.0 / self.chance).astype(int)
        ends = np.cumsum([0, *np.where(n_values > 2, n_values, 1)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def error(self) -> float:
        """Return the root mean square difference between predicted and measured answers."""
        return float(np.sqrt(np.mean((self.predicted - self.measured) ** 2)))

    @property
    def budget(self) -> dict[str, float]:
        """Return root mean squares of what parts answers from their predictions and targets.

        "training trials", "test trials": sampling of either, predicted. "difference": between
        predicted and measured answers; it can be smaller than both, as predictions rest on the
        means and the noise of the same trials. "saliences": between predictions from saliences and
        from means, the misfit of the overlap kernel. "neurons": sampling of neurons, with that part
        of the noise which is independent between them.
        """
        parts = {
            "training trials": np.mean(variances(self.between)),
            "test trials": np.mean(variances(self.within) / self.n_trials[:, None]),
            "difference": self.error**2,
        }
        if self.from_saliences is not None:
            parts["saliences"] = np.mean((self.from_saliences - self.predicted) ** 2)
        if not np.isnan(self.over_neurons):
            parts["neurons"] = self.over_neurons
        return {name: float(np.sqrt(square)) for name, square in parts.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each held-out condition.

        Returns
        -------
        pandas.DataFrame
            Number of the set, values of the components, trials, whether it is determined; for each
            component the predicted accuracy with the ends of its interval (`accuracy_interval`),
            the measured one and chance; for each output the target, the predicted answer with the
            ends of its interval (`interval`) and the measured answer, and where saliences were
            passed the answer from them.
        """
        import pandas as pd

        rows = self.recording.conditions[self.condition]
        columns: dict[str, object] = {"set": self.set_of_row}
        for name, values, index in zip(
            self.recording.names, self.recording.values, rows.T, strict=True
        ):
            columns[name] = [values[i] for i in index]
        columns |= {"trials": self.n_trials, "determined": self.determined}
        for j, name in enumerate(self.labels):
            columns |= {
                f"accuracy of {name}, predicted": self.accuracy[:, j],
                f"accuracy of {name}, low": self.accuracy_interval[:, j, 0],
                f"accuracy of {name}, high": self.accuracy_interval[:, j, 1],
                f"accuracy of {name}, measured": self.measured_accuracy[:, j],
                f"accuracy of {name}, chance": np.full(len(rows), self.chance[j]),
            }
        for j, name in enumerate(self.outputs):
            columns |= {
                f"{name}, target": self.targets[:, j],
                f"{name}, predicted": self.predicted[:, j],
                f"{name}, low": self.interval[:, j, 0],
                f"{name}, high": self.interval[:, j, 1],
                f"{name}, measured": self.measured[:, j],
            }
            if self.from_saliences is not None:
                columns[f"{name}, from saliences"] = self.from_saliences[:, j]
        return pd.DataFrame(columns)


def variances(covariances: Float[np.ndarray, "R k k"]) -> Float[np.ndarray, "R k"]:
    """Return the diagonals."""
    return np.einsum("rjj->rj", covariances)
