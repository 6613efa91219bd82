"""How much predicted answers vary over populations of neurons, by leaving out groups of them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.measures.readouts.equivalent import answers_without
from partwhole.measures.readouts.means import Trials
from partwhole.recordings import Recording

GROUPS = 5
MOST_SETS = 12


def variance_over_neurons(
    recording: Recording,
    sets: Bool[np.ndarray, "F T"],
    targets: Float[np.ndarray, "T k"],
    ridge: float,
    seed: int,
) -> float:
    """Return the variance of predicted answers to held-out conditions over drawn neurons.

    The jackknife over fifths of the neurons, drawn at random; the mean over answers of at most
    twelve sets. It errs upwards (Efron and Stein, Ann. Stat. 1981), by up to a factor of two in the
    deviation close to as many neurons as trials. NaN for fewer than ten neurons.
    """
    if recording.n_neurons < 2 * GROUPS:
        return np.nan
    if len(sets) > MOST_SETS:
        sets = sets[np.linspace(0, len(sets) - 1, MOST_SETS).astype(int)]
    order = np.random.default_rng(seed).permutation(recording.n_neurons)
    answers = np.stack([
        _answers(recording.responses[:, np.sort(np.setdiff1d(order, group))],
                 recording.condition_of_trial, recording.conditions, sets, targets, ridge)
        for group in np.array_split(order, GROUPS)
    ])  # fmt: skip
    return float((GROUPS - 1.0) ** 2 / GROUPS * answers.var(axis=0, ddof=1).mean())


def _answers(
    responses: Float[np.ndarray, "n p"],
    index: Int[np.ndarray, " n"],
    conditions: Int[np.ndarray, "T C"],
    sets: Bool[np.ndarray, "F T"],
    targets: Float[np.ndarray, "T k"],
    ridge: float,
) -> Float[np.ndarray, "R k"]:
    """Return the mean answers to the conditions of all sets, each left out of training."""
    trials = Trials.of(responses, index, conditions)
    answers = answers_without(trials, sets, trials.counts, targets, ridge)
    return np.concatenate([x.mean[members] for x, members in zip(answers, sets, strict=True)])
