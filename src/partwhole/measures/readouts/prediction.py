"""Predicted answers of a ridge readout of measured trials, beside those of a trained one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative
from partwhole.features.conjunctions import Dictionary
from partwhole.measures.readouts.equivalent import ridge_answers
from partwhole.measures.readouts.labels import right_shares
from partwhole.measures.readouts.noise import NoiseSpectrum

if TYPE_CHECKING:
    import pandas as pd

# In place of no penalty at all, in units of the mean variance of a feature.
LEAST_RIDGE = 1e-8
# Share of the variance of features below which noise is rounding.
ROUNDING = 1e-24


@dataclass(frozen=True, eq=False)
class Readout:
    r"""Answers of a ridge readout at every condition, predicted from its trials.

    Parameters
    ----------
    conditions : int array, shape (A, C)
        Values of the components, a row for each condition that has trials.
    n_train, n_trials : int arrays, shape (A,)
        Its training trials, and all of its trials.
    targets : float array, shape (A, k)
    predicted : float array, shape (A, k)
        Mean answers: over training sets of this size, and over trials of the condition.
    between : float array, shape (A, k, k)
        Covariance over training sets of the answer to a condition's mean.
    within : float array, shape (k, k)
        Covariance over trials of the answer of a readout.
    trained : float array, shape (A, k)
        Mean answers of the readout that was trained on these training trials to the other trials
        of each condition; NaN where there are none.
    """

    conditions: Int[np.ndarray, "A C"]
    n_train: Int[np.ndarray, " A"]
    n_trials: Int[np.ndarray, " A"]
    targets: Float[np.ndarray, "A k"]
    predicted: Float[np.ndarray, "A k"]
    between: Float[np.ndarray, "A k k"]
    within: Float[np.ndarray, "k k"]
    trained: Float[np.ndarray, "A k"]

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
        k = self.targets.shape[1]
        signs = bool(np.all(np.abs(self.targets) == 1.0))
        single = k == 1 or bool(np.all(np.sum(self.targets == 1.0, axis=1) == 1))
        require(
            signs and single,
            "accuracies are of labels, targets of -1 and +1 with one +1 of several",
            "other targets",
            "compare predicted with trained",
        )
        labels = (self.targets[:, 0] > 0).astype(int) if k == 1 else self.targets.argmax(axis=1)
        return right_shares(self.predicted, self._of_a_trial, labels)

    @property
    def _of_a_trial(self) -> Float[np.ndarray, "A k k"]:
        return self.between + self.within

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each condition.

        Returns
        -------
        pandas.DataFrame
            Its values, trials and training trials; target, predicted answer and its deviation, and
            the answer of the trained readout, numbered if there are several outputs.
        """
        import pandas as pd

        columns: dict[str, np.ndarray] = {
            f"component {c}": column for c, column in enumerate(self.conditions.T)
        }
        columns |= {"trials": self.n_trials, "training trials": self.n_train}
        arrays = {
            "target": self.targets,
            "predicted": self.predicted,
            "deviation": self.deviation,
            "trained": self.trained,
        }
        k = self.targets.shape[1]
        for name, array in arrays.items():
            columns |= {name if k == 1 else f"{name} {j}": array[:, j] for j in range(k)}
        return pd.DataFrame(columns)


@door
def predict_readout(
    features: Float[np.ndarray, "n p"],
    components: Int[np.ndarray, "n C"],
    targets: Float[np.ndarray, " n"] | Float[np.ndarray, "n k"],
    is_train: Bool[np.ndarray, " n"],
    *,
    ridge: NonNegative = 1.0,
) -> Readout:
    r"""Predict what a ridge readout of noisy trials answers at every condition, held out or not.

    The readout minimises the sum of squared errors over training trials plus a penalty, with a free
    intercept. The prediction needs each condition's mean and the covariance of the noise, and says
    how both shape the answer: noise that is shared by features is avoided, other noise shrinks the
    answer, more so the more features there are for each trial.

    Parameters
    ----------
    features : float array, shape (n, p)
        A row for each trial: neurons, voxels or units.
    components : int array, shape (n, C)
        The condition of each trial, as values of its components.
    targets : float array, shape (n,) or (n, k)
        The same for all trials of a condition. Labels as -1 and +1: one column for two, a column
        each for more.
    is_train : bool array, shape (n,)
        The trials on which the readout is trained. Conditions without any are held out.
    ridge : float, keyword-only, default 1.0
        The penalty on squared weights, in squared units of features: that of scikit-learn's Ridge.
        0 is least squares, of the smallest norm where features outnumber trials.

    Returns
    -------
    Readout
        With the answers of the readout that is trained on these trials.

    Raises
    ------
    InputError
        If no condition is repeated, so that noise can't be told from conditions, if targets of a
        condition differ, or if training has a single condition or none.

    Notes
    -----
    Deterministic equivalent of Hachem, Loubaton and Najim (Ann. Appl. Probab. 2007), reduced to
    conditions here; covariance by the shrinkage of Ledoit and Wolf, times n / (n - A); products of
    means without the bias of their noise, and drawn towards their means by overlap as far as noise
    explains what they deviate (`means.MeasuredMeans`). Noise has the same covariance at all
    conditions. Close to as many features as training trials the answers themselves vary most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 20, axis=0)
    >>> clean = np.eye(3)[rows[:, 0]] @ rng.normal(size=(3, 40))
    >>> clean += np.eye(3)[rows[:, 1]] @ rng.normal(size=(3, 40))
    >>> noisy = clean + 2.0 * rng.normal(size=clean.shape)
    >>> found = predict_readout(noisy, rows, rows.sum(axis=1), rows.min(axis=1) < 2)
    >>> found.conditions[found.held_out].tolist(), found.targets[found.held_out].tolist()
    ([[2, 2]], [[4.0]])
    >>> np.round([found.predicted[-1, 0], found.trained[-1, 0]], 1).tolist()
    [3.1, 3.0]
    """
    y = targets.reshape(len(targets), -1)
    n_values = [int(column.max()) + 1 for column in components.T]
    require(
        components.min(initial=0) >= 0,
        "components are value indices from 0",
        components.min(initial=0),
        "renumber them",
    )
    _, index = Dictionary.of(components, tuple(range(components.shape[1])), n_values)
    _, first, index = np.unique(index, return_index=True, return_inverse=True)
    trials = np.bincount(index)
    counts = np.bincount(index, is_train, minlength=len(trials)).astype(np.int64)
    n_conditions = len(trials)
    require(
        len(features) > n_conditions + 1,
        "the noise of trials shows in conditions with several of them",
        f"{len(features)} trials of {n_conditions} conditions",
        "add trials",
    )
    require(
        int(np.sum(counts > 0)) > 1,
        "a readout is trained on two conditions or more",
        int(np.sum(counts > 0)),
        "mark trials of others in is_train",
    )
    odd = np.flatnonzero((y != y[first][index]).any(axis=1))
    require(
        not len(odd),
        "all trials of a condition have one target",
        f"{y[odd[:1]].ravel().tolist()} in trial {odd[0] if len(odd) else 0}, and others",
        "average them",
    )
    means = np.zeros((n_conditions, features.shape[1]))
    np.add.at(means, index, features)
    means /= trials[:, None]
    noise = NoiseSpectrum.of_residuals(features - means[index], len(features) - n_conditions)
    mean_variance = noise.trace(noise.variances, noise.rest) / features.shape[1]
    spread = float(np.mean((features - features.mean(axis=0)) ** 2))
    require(
        mean_variance > ROUNDING * spread,
        "trials of a condition differ",
        "the same features in all of them",
        "pass single trials, or use partwhole.solve for features without noise",
    )
    penalty = max(float(ridge), LEAST_RIDGE * mean_variance)
    answers = ridge_answers(
        means, noise, counts, y[first], penalty, trials=trials, conditions=components[first]
    )
    return Readout(
        components[first],
        counts,
        trials,
        y[first],
        answers.mean,
        answers.between,
        answers.within,
        _trained(features, y, is_train, index, n_conditions, float(ridge)),
    )


def _trained(
    features: Float[np.ndarray, "n p"],
    targets: Float[np.ndarray, "n k"],
    is_train: Bool[np.ndarray, " n"],
    index: Int[np.ndarray, " n"],
    n_conditions: int,
    ridge: float,
) -> Float[np.ndarray, "A k"]:
    """Return the mean answers of a ridge readout to the trials on which it was not trained."""
    centre = features[is_train].mean(axis=0)
    x, y = features[is_train] - centre, targets[is_train]
    mean_target = y.mean(axis=0)
    left, values, right = np.linalg.svd(x, full_matrices=False)
    kept = values > values.max() * np.finfo(float).eps * max(x.shape)
    gain = np.zeros_like(values)
    gain[kept] = values[kept] / (values[kept] ** 2 + ridge)
    weights = right.T @ (gain[:, None] * (left.T @ (y - mean_target)))
    answers = (features[~is_train] - centre) @ weights + mean_target
    others = index[~is_train]
    total = np.zeros((n_conditions, targets.shape[1]))
    np.add.at(total, others, answers)
    counts = np.bincount(others, minlength=n_conditions)
    return np.where(counts[:, None] > 0, total / np.maximum(counts, 1)[:, None], np.nan)
