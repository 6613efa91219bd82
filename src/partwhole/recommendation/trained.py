"""Losses of trained networks beside those that theory predicts for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import NonNegative, Positive
from partwhole.limits import DiagonalWeights
from partwhole.recommendation.methods import (
    FINETUNING,
    MULTI,
    PROBING,
    Method,
    Scales,
    pretrained_coefficients,
)
from partwhole.recommendation.predicted import PredictedLosses
from partwhole.tasks import SparseTeachers
from partwhole.tasks.sparse_teachers import TeacherSample
from partwhole.training import Runs, Training, train
from partwhole.training.outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class TrainedLosses:
    """Test errors of trained networks beside those that theory predicts.

    Parameters
    ----------
    predicted : PredictedLosses
    final : float array, shape (M, S, seeds)
        At the end of training.
    best : float array, shape (M, S, seeds)
        The smallest during training, at which only an oracle can stop; published losses of this
        kind hide negative transfer.
    fitted : bool array, shape (M, S, seeds)
        Whether training reached its threshold.
    pretrained : bool array, shape (seeds,), or None, default None
        Whether pretraining reached its threshold, where it was trained.
    """

    predicted: PredictedLosses
    final: Float[np.ndarray, "M S seeds"]
    best: Float[np.ndarray, "M S seeds"]
    fitted: np.ndarray
    pretrained: np.ndarray | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each method, size and seed: predicted, final and best loss."""
        table = self.predicted.to_frame().rename(columns={"loss": "predicted"})
        for name in ("final", "best", "fitted"):
            table[name] = getattr(self, name).ravel()
        return table

    def describe(self) -> str:
        """Return the means over seeds, predicted and trained, a line for each method and size."""
        predicted = self.predicted
        head = f"{'':24}{'n':>6}{'predicted':>12}{'trained':>12}{'best on the way':>18}"
        lines = [head]
        for m, method in enumerate(predicted.methods):
            for s, n in enumerate(predicted.sizes):
                numbers = (predicted.mean[m, s], self.final[m, s].mean(), self.best[m, s].mean())
                cells = f"{numbers[0]:>12.3g}{numbers[1]:>12.3g}{numbers[2]:>18.3g}"
                missed = int((~self.fitted[m, s]).sum())
                note = f"  ({missed} not fitted)" if missed else ""
                lines.append(f"{method.label:24}{n:>6}{cells}{note}")
        if self.pretrained is not None and not self.pretrained.all():
            missed = int((~self.pretrained).sum())
            lines.append(f"pretraining not fitted for {missed} of {len(self.pretrained)} seeds")
        return "\n".join(lines)


@door
def trained_losses(
    predicted: PredictedLosses,
    *,
    learning_rate: Positive = 0.1,
    max_steps: int = 100_000,
    threshold: NonNegative = 1e-10,
    pretraining: Literal["perfect", "trained"] = "perfect",
    progress: bool = True,
) -> TrainedLosses:
    """Return the losses of networks trained on the data for which losses were predicted.

    Parameters
    ----------
    predicted : PredictedLosses
        Of `predict_losses`.
    learning_rate : float, keyword-only, default 0.1
        In units of 1 / the largest root mean square target of the tasks, since the largest stable
        rate of these networks is inversely proportional to it. For the published tasks it is 1.
    max_steps : int, keyword-only, default 100,000
        Most steps of gradient descent on all samples.
    threshold : float, keyword-only, default 1e-10
        Mean square error on the training set at which a run ends, in units of the variance of its
        targets; in multi-task learning, of the smaller of the two.
    pretraining : {"perfect", "trained"}, keyword-only, default "perfect"
        "perfect" starts finetuning from the weights at the end of infinitely long pretraining;
        "trained" trains them too.
    progress : bool, keyword-only, default True

    Returns
    -------
    TrainedLosses

    Raises
    ------
    InputError
        For an unknown kind of pretraining, and as `train`.

    Notes
    -----
    The protocol of Lippl & Lindsey (NeurIPS 2024): full batches, no momentum. In these units
    training is unchanged when targets are multiplied by s and initial weights by the root of s.

    Examples
    --------
    >>> from partwhole.recommendation import predict_losses
    >>> from partwhole.tasks import SparseTeachers
    >>> task = SparseTeachers(dimension=50, active_aux=5, active_main=5, overlap=5)
    >>> options = {"methods": ["finetuning"], "rescalings": [1], "seeds": [0, 1]}
    >>> predicted = predict_losses(task, [10], **options)
    >>> trained = trained_losses(predicted, progress=False)
    >>> bool(np.allclose(trained.final, predicted.losses, rtol=0.05))
    True
    """
    task, seeds, scales = predicted.task, predicted.seeds, predicted.scales
    variance, aux_variance = _variances(task)
    training = Training(
        steps=max_steps, learning_rate=learning_rate / max(variance, aux_variance) ** 0.5
    )
    thresholds = {MULTI: threshold * min(variance, aux_variance)}
    names = {method.name for method in predicted.methods}
    # As many samples as features determine the auxiliary task, so pretraining needs no sample then.
    pretrains_on_sample = names & {FINETUNING, PROBING} and (
        pretraining == "trained" or predicted.n_aux < task.dimension
    )
    n_aux = predicted.n_aux if pretrains_on_sample or MULTI in names else 0
    sample = task.samples(seeds, max(predicted.sizes), n_aux)
    start, pretrained = None, None
    if names & {FINETUNING, PROBING}:
        first = Training(
            steps=max_steps,
            learning_rate=learning_rate / aux_variance**0.5,
            threshold=threshold * aux_variance,
        )
        start, pretrained = _pretrained(predicted, sample, pretraining, first)
    shape = predicted.losses.shape
    final, best, fitted = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, bool)
    total = shape[0] * shape[1]
    with bar(f"training {predicted.losses.size} networks", total, shown=progress) as advance:
        for m, method in enumerate(predicted.methods):
            training = replace(
                training, threshold=thresholds.get(method.name, threshold * variance)
            )
            for s, n in enumerate(predicted.sizes):
                runs = _trained(method, n, sample, start, scales, training)
                # Of several tasks the main one is the last.
                main = np.s_[:, -1] if method.name == MULTI else np.s_[:]
                final[m, s], best[m, s] = runs.final_loss[main], runs.best_loss[main]
                fitted[m, s] = _fitted(runs)
                advance(1)
    return TrainedLosses(predicted, final, best, fitted, pretrained)


def _variances(task: SparseTeachers) -> tuple[float, float]:
    """Return the variance of the main targets, and of the auxiliary ones."""
    return (
        task.active_main * task.main_amplitude**2,
        task.active_aux * task.aux_amplitude**2,
    )


def _pretrained(
    predicted: PredictedLosses, sample: TeacherSample, pretraining: str, training: Training
) -> tuple[DiagonalWeights, np.ndarray | None]:
    """Return each seed's weights after the auxiliary task, and whether training had ended."""
    scales, dimension = predicted.scales, predicted.task.dimension
    if pretraining == "trained":
        first = DiagonalWeights.constant(dimension, scales.init)
        runs = train(first, (sample.aux_inputs, sample.aux_targets), training, progress=False)
        return runs.networks, _fitted(runs)
    coefficients = sample.auxiliary
    if predicted.n_aux < dimension and sample.aux_inputs.shape[1] > 0:
        pairs = zip(sample.aux_inputs, sample.aux_targets, strict=True)
        coefficients = np.stack([pretrained_coefficients(x, y, scales)[0] for x, y in pairs])
    return DiagonalWeights.pretrained(coefficients, scales.init), None


def _fitted(runs: Runs) -> np.ndarray:
    return np.array([outcome is Outcome.REACHED_THRESHOLD for outcome in runs.outcomes])


def _trained(
    method: Method,
    n: int,
    sample: TeacherSample,
    start: DiagonalWeights | None,
    scales: Scales,
    training: Training,
) -> Runs:
    inputs, targets = sample.inputs[:, :n], sample.targets[:, :n]
    dimension = inputs.shape[-1]
    if method.name == MULTI:
        return train(
            DiagonalWeights.constant(dimension, scales.init, n_tasks=2),
            [(sample.aux_inputs, sample.aux_targets), (inputs, targets)],
            training,
            teachers=[sample.auxiliary, sample.main],
            progress=False,
        )
    if method.name in (FINETUNING, PROBING) and start is not None:
        weights = start.for_finetuning(
            rescale=method.rescale, readout_scale=scales.readout_after(method.rescale)
        )
    else:
        weights = DiagonalWeights.constant(dimension, scales.init)
    training = replace(training, trained="readout" if method.name == PROBING else "all")
    return train(weights, (inputs, targets), training, teachers=sample.main, progress=False)
