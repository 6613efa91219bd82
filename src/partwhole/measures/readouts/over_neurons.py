"""How much predicted answers vary over populations of neurons, by leaving out groups of them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.measures._side_by_side import side_by_side
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.equivalent import answers_without
from partwhole.measures.readouts.means import Trials

GROUPS = 5
MOST_SETS = 12


def variance_over_neurons(
    trials: Trials,
    sets: Bool[np.ndarray, "F T"],
    targets: Float[np.ndarray, "T k"],
    ridge: float,
    seed: int,
    threads: int = 1,
) -> float:
    """Return the variance of predicted answers to held-out conditions over drawn neurons.

    The jackknife over fifths of the neurons, drawn at random; the mean over answers of at most
    twelve sets. It errs upwards (Efron and Stein, Ann. Stat. 1981), by up to a factor of two in the
    deviation close to as many neurons as trials. NaN for fewer than ten neurons.
    """
    n_neurons = trials.means.shape[1]
    if n_neurons < 2 * GROUPS:
        return np.nan
    if len(sets) > MOST_SETS:
        sets = sets[np.linspace(0, len(sets) - 1, MOST_SETS).astype(int)]
    order = np.random.default_rng(seed).permutation(n_neurons)

    def mean(members: Bool[np.ndarray, " T"], answers: list[Answers]) -> np.ndarray:
        return answers[0].mean[members]

    def without(group: Int[np.ndarray, " g"]) -> Float[np.ndarray, "R k"]:
        others = trials.of_features(np.sort(np.setdiff1d(order, group)))
        means = answers_without(others, sets, trials.counts, targets, ridge, mean)
        return np.concatenate(list(means))

    groups = np.array_split(order, GROUPS)
    answers = np.stack(list(side_by_side(without, groups, threads)))
    return float((GROUPS - 1.0) ** 2 / GROUPS * answers.var(axis=0, ddof=1).mean())
