"""What readouts will answer to conditions that are held out, for every one that could be."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import NonNegative, Seed
from partwhole.features.subsets import overlap_sets
from partwhole.measures.readouts.equivalent import Scalars, answers_of
from partwhole.measures.readouts.labels import credit, label_columns, right_shares
from partwhole.measures.readouts.leaving_out import LeavingOut
from partwhole.measures.readouts.means import Means, MeasuredMeans, OverlapMeans
from partwhole.measures.readouts.noise import LEAST_RIDGE, NoiseSpectrum
from partwhole.measures.salience import Salience
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd

MOST_SETS = 20_000


@dataclass(frozen=True, eq=False)
class HeldOutReadouts:
    """Readouts' answers to held-out conditions, predicted and measured; R rows.

    A row is a condition in a set that was held out together. Readouts answer with the value of each
    component, by a column of -1 and +1 for two values, or a column for each of more; or with the
    targets that were passed.

    Parameters
    ----------
    recording : Recording
        In which every neuron has a response in every trial.
    held_out : bool array, shape (F, T)
        The conditions of each set.
    set_of_row, condition : int arrays, shape (R,)
        The row's set, and its condition as a row of `recording.conditions`.
    outputs : tuple of str, length k
    targets, predicted, deviation, measured : float arrays, shape (R, k)
        Predicted: mean answer, over training sets and trials. Deviation: standard deviation of the
        mean answer to as many trials as were recorded, over training sets and trials. Measured:
        mean answer of the readout that was trained on the trials of all other conditions.
    from_saliences : float array, shape (R, k), or None
        Predicted with the overlap kernel of measured saliences in place of measured means.
    labels : tuple of str
        The components whose values the readouts answer with; none for other targets.
    accuracy, measured_accuracy, chance : float arrays, shape (R, labels)
        Share of a condition's trials that get the right value; chance is one over their number.
    certainty : float array, shape (R, labels)
        Predicted probability that the mean answer to as many trials as were recorded has the right
        value: near 1 or 0 there are trials enough to say so, between them there are not.
    determined : bool array, shape (R,)
        Whether the other conditions determine any sum of parts at this one.
    between : float array, shape (R, k)
        Variance of the answer to the condition's mean, over training sets.
    within : float array, shape (R, k)
        Variance of the answer over trials.
    ridge : float
    """

    recording: Recording
    held_out: Bool[np.ndarray, "F T"]
    set_of_row: Int[np.ndarray, " R"]
    condition: Int[np.ndarray, " R"]
    outputs: tuple[str, ...]
    targets: Float[np.ndarray, "R k"]
    predicted: Float[np.ndarray, "R k"]
    deviation: Float[np.ndarray, "R k"]
    measured: Float[np.ndarray, "R k"]
    from_saliences: Float[np.ndarray, "R k"] | None
    labels: tuple[str, ...]
    accuracy: Float[np.ndarray, "R labels"]
    measured_accuracy: Float[np.ndarray, "R labels"]
    chance: Float[np.ndarray, " labels"]
    certainty: Float[np.ndarray, "R labels"]
    determined: Bool[np.ndarray, " R"]
    between: Float[np.ndarray, "R k"]
    within: Float[np.ndarray, "R k"]
    ridge: float

    def __repr__(self) -> str:
        """Return the sizes, and how far predictions and readouts differ."""
        return (
            f"HeldOutReadouts({len(self.held_out)} sets of held-out conditions, "
            f"{len(self.outputs)} outputs: predicted to {self.error:.2g})"
        )

    @property
    def error(self) -> float:
        """Return the root mean square difference between predicted and measured answers."""
        return float(np.sqrt(np.mean((self.predicted - self.measured) ** 2)))

    @property
    def budget(self) -> dict[str, float]:
        """Return root mean squares of what parts answers from their predictions and targets.

        "training trials", "test trials": sampling of either, predicted. "difference": between
        predicted and measured answers, of which both are a part. "saliences": between predictions
        from saliences and from means, the misfit of the overlap kernel.
        """
        counts = np.bincount(self.recording.condition_of_trial)[self.condition]
        parts = {
            "training trials": np.mean(self.between),
            "test trials": np.mean(self.within / counts[:, None]),
            "difference": self.error**2,
        }
        if self.from_saliences is not None:
            parts["saliences"] = np.mean((self.from_saliences - self.predicted) ** 2)
        return {name: float(np.sqrt(square)) for name, square in parts.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each held-out condition.

        Returns
        -------
        pandas.DataFrame
            Number of the set, values of the components, trials, whether it is determined; for each
            component the predicted and measured accuracy and chance; for each output the target,
            predicted answer, its deviation and the measured answer.
        """
        import pandas as pd

        rows = self.recording.conditions[self.condition]
        columns: dict[str, object] = {"set": self.set_of_row}
        for name, values, index in zip(
            self.recording.names, self.recording.values, rows.T, strict=True
        ):
            columns[name] = [values[i] for i in index]
        counts = np.bincount(self.recording.condition_of_trial)
        columns |= {"trials": counts[self.condition], "determined": self.determined}
        for j, name in enumerate(self.labels):
            columns |= {
                f"accuracy of {name}, predicted": self.accuracy[:, j],
                f"accuracy of {name}, measured": self.measured_accuracy[:, j],
                f"accuracy of {name}, chance": np.full(len(rows), self.chance[j]),
            }
        for j, name in enumerate(self.outputs):
            columns |= {
                f"{name}, target": self.targets[:, j],
                f"{name}, predicted": self.predicted[:, j],
                f"{name}, deviation": self.deviation[:, j],
                f"{name}, measured": self.measured[:, j],
            }
        return pd.DataFrame(columns)


@door
def held_out_readouts(
    recording: Recording,
    targets: Float[np.ndarray, " n"] | Float[np.ndarray, "n k"] | None = None,
    *,
    held_out: Literal["each", "pairs"] = "each",
    ridge: NonNegative | None = None,
    saliences: Salience | None = None,
    seed: Seed = 0,
    progress: bool = False,
) -> HeldOutReadouts:
    """Predict and measure what ridge readouts answer to each condition that could be held out.

    The prediction is that of `predict_readout`, from condition means and the covariance of noise.
    Beside it stands the answer of a readout that was trained on the trials of all other conditions.

    Parameters
    ----------
    recording : Recording
        Averaged over time; of neurons of several sessions, trials are combined at random.
    targets : float array, shape (n,) or (n, k), default None
        Of a recording whose neurons were recorded together, numbers to answer with, the same for
        all trials of a condition; None for the value of each component.
    held_out : {"each", "pairs"}, keyword-only, default "each"
        Hold out every condition by itself, or every two of them together.
    ridge : float, keyword-only, default None
        The penalty on squared weights, as in `predict_readout`, in squared units of responses. None
        is the mean variance of a neuron, as of a penalty of 1 on standardized responses.
    saliences : Salience, keyword-only, default None
        For answers predicted from saliences alone, beside the others.
    seed : int, keyword-only, default 0
        For the combination of trials.
    progress : bool, keyword-only, default False
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    HeldOutReadouts

    Raises
    ------
    InputError
        If no condition is repeated, for fewer than three conditions, for targets that differ within
        a condition, and for more than 20,000 sets.

    Notes
    -----
    Left-out answers are those of single fits without the set, in closed form.

    Examples
    --------
    >>> from partwhole.recordings import from_trials
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 20, axis=0)
    >>> clean = np.eye(3)[rows[:, 0]] @ rng.normal(size=(3, 40))
    >>> clean += np.eye(3)[rows[:, 1]] @ rng.normal(size=(3, 40))
    >>> recording = from_trials(clean + 2.5 * rng.normal(size=clean.shape), rows)
    >>> readouts = held_out_readouts(recording)
    >>> readouts.accuracy.mean(axis=0).round(1).tolist()
    [0.7, 0.8]
    >>> readouts.measured_accuracy.mean(axis=0).round(1).tolist()
    [0.6, 0.8]
    """
    whole = recording.averaged().pseudo_trials(seed)
    require(
        whole is recording or targets is None or len(recording.blocks) == 1,
        "targets are those of trials in which all neurons were recorded",
        f"{len(recording.blocks)} blocks of neurons",
        "leave targets out to read out each component",
    )
    index, n_conditions = whole.condition_of_trial, whole.n_conditions
    trials = np.bincount(index, minlength=n_conditions)
    require(
        n_conditions >= 3,
        "a readout is trained on two conditions or more beside those that are held out",
        f"{n_conditions} conditions",
        "add conditions",
    )
    require(
        len(index) > n_conditions + 1,
        "the noise of trials shows in conditions with several of them",
        f"{len(index)} trials of {n_conditions} conditions",
        "add trials",
    )
    by_condition, outputs, labelled = _targets(whole, targets)
    means = np.zeros((n_conditions, whole.n_neurons))
    np.add.at(means, index, whole.responses)
    means /= trials[:, None]
    noise = NoiseSpectrum.of_residuals(whole.responses - means[index], len(index) - n_conditions)
    variance = noise.trace(noise.variances, noise.rest) / whole.n_neurons
    require(
        variance > 0,
        "trials of a condition differ",
        "the same responses in all of them",
        "use partwhole.solve for responses without noise",
    )
    if ridge is None:
        ridge = float(np.mean(np.var(whole.responses, axis=0)))
    penalty = max(float(ridge), LEAST_RIDGE * variance)
    sets = _sets(n_conditions, held_out)
    measured_means = MeasuredMeans.of(means, noise, trials, whole.conditions)
    fit = LeavingOut(whole.responses, by_condition[index], penalty)
    described: list[Means] = [measured_means]
    if saliences is not None:
        overlap = overlap_sets(whole.conditions, whole.conditions)
        described.append(OverlapMeans(saliences.kernel.nonnegative().kappa[overlap], noise))
    n_rows = int(sets.sum())
    k = by_condition.shape[1]
    predicted, between, within = (np.empty((len(described), n_rows, k)) for _ in range(3))
    measured = np.empty((n_rows, k))
    accuracy, right, certainty = (np.empty((n_rows, len(labelled))) for _ in range(3))
    starts: list[Scalars | None] = [None] * len(described)
    row = 0
    with bar("held-out conditions", len(sets), shown=progress) as advance:
        for members in sets:
            counts = np.where(members, 0, trials)
            rows = slice(row, row := row + int(members.sum()))
            left_out = members[index]
            answers = fit.answers(left_out)
            which = index[left_out]
            for i, means_of in enumerate(described):
                answer, scalars = answers_of(
                    means_of.centred(counts), counts, by_condition, penalty, start=starts[i]
                )
                starts[i] = starts[i] or scalars
                predicted[i, rows] = answer.mean[members]
                between[i, rows] = np.einsum("ajj->aj", answer.between[members])
                within[i, rows] = np.diag(answer.within)
                if i:
                    continue
                of_trial = answer.between[members] + answer.within
                of_mean = answer.between[members] + answer.within / trials[members][:, None, None]
                for j, (columns, values) in enumerate(labelled):
                    means_j, labels = answer.mean[members][:, columns], values[members]
                    parts = (covariance[:, columns, columns] for covariance in (of_trial, of_mean))
                    accuracy[rows, j], certainty[rows, j] = (
                        right_shares(means_j, part, labels) for part in parts
                    )
            for place, condition in enumerate(np.flatnonzero(members), rows.start):
                chosen = which == condition
                measured[place] = answers[chosen].mean(axis=0)
                for j, (columns, values) in enumerate(labelled):
                    labels = np.full(int(chosen.sum()), values[condition])
                    right[place, j] = credit(answers[chosen][:, columns], labels).mean()
            advance(1)
    set_of_row, condition = np.nonzero(sets)
    return HeldOutReadouts(
        whole,
        sets,
        set_of_row,
        condition,
        outputs,
        by_condition[condition],
        predicted[0],
        np.sqrt(between[0] + within[0] / trials[condition][:, None]),
        measured,
        predicted[1] if saliences is not None else None,
        whole.names if labelled else (),
        accuracy,
        right,
        np.array([1.0 / len(np.unique(values)) for _, values in labelled]),
        certainty,
        _determined(whole.conditions, sets),
        between[0],
        within[0],
        penalty,
    )


def _targets(
    recording: Recording, targets: np.ndarray | None
) -> tuple[np.ndarray, tuple[str, ...], list[tuple[slice, np.ndarray]]]:
    """Return the target of each condition, names of outputs, and the columns of each component."""
    if targets is None:
        columns, names, labelled, start = [], [], [], 0
        for name, values, index in zip(
            recording.names, recording.values, recording.conditions.T, strict=True
        ):
            present, labels = np.unique(index, return_inverse=True)
            if len(present) < 2:
                columns.append(np.ones((len(labels), 1)))
                names.append(f"{name} = {values[present[0]]}")
            else:
                columns.append(label_columns(labels, len(present)))
                chosen = present[1:] if len(present) == 2 else present
                names += [f"{name} = {values[i]}" for i in chosen]
            stop = start + columns[-1].shape[1]
            labelled.append((slice(start, stop), labels))
            start = stop
        return np.hstack(columns), tuple(names), labelled
    y = targets.reshape(len(targets), -1)
    require(
        len(y) == recording.n_trials,
        "targets have an entry for each trial",
        f"{len(y)} for {recording.n_trials}",
        "pass the number that each trial's condition asks for",
    )
    index = recording.condition_of_trial
    _, first = np.unique(index, return_index=True)
    odd = np.flatnonzero((y != y[first][index]).any(axis=1))
    require(
        not len(odd),
        "all trials of a condition have one target",
        f"{y[odd[:1]].ravel().tolist()} in trial {odd[0] if len(odd) else 0}, and others",
        "average them",
    )
    names = ("answer",) if y.shape[1] == 1 else tuple(f"answer {j}" for j in range(y.shape[1]))
    return y[first], names, []


def _sets(n_conditions: int, held_out: Literal["each", "pairs"]) -> Bool[np.ndarray, "F T"]:
    """Return the conditions of each set that is held out."""
    if held_out == "each":
        return np.eye(n_conditions, dtype=bool)
    count = n_conditions * (n_conditions - 1) // 2
    require(
        count <= MOST_SETS and n_conditions > 3,
        f"pairs are held out of 4 conditions or more, at most {MOST_SETS:,} pairs",
        f"{count:,} pairs of {n_conditions} conditions",
        'pass held_out="each"',
    )
    pairs = np.array(list(combinations(range(n_conditions), 2)))
    sets = np.zeros((count, n_conditions), dtype=bool)
    np.put_along_axis(sets, pairs, True, axis=1)
    return sets


def _determined(
    conditions: Int[np.ndarray, "T C"], sets: Bool[np.ndarray, "F T"]
) -> Bool[np.ndarray, " R"]:
    """Return whether sums of parts at a held-out condition follow from those at all others."""
    columns = [np.eye(int(column.max()) + 1)[column] for column in conditions.T]
    design = np.hstack(columns)
    left = np.linalg.svd(design, full_matrices=False)
    basis = left[0][:, left[1] > 1e-9 * left[1].max()]
    determined = []
    for members in sets:
        rows = basis[members]
        # A direction that only held-out rows have is an eigenvector of rows rows' at 1.
        values, vectors = np.linalg.eigh(rows @ rows.T)
        only = vectors[:, values > 1.0 - 1e-9]
        determined.append((only**2).sum(axis=1) < 1e-9)
    return np.concatenate(determined)
