"""Predicted answers to the held-out conditions of a set, and how sure they are by penalty."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.condition_noise import relative_noise
from partwhole.measures.readouts.equivalent import answers_without
from partwhole.measures.readouts.labels import right_shares
from partwhole.measures.readouts.means import Trials
from partwhole.measures.readouts.targets import Labelled

# Of neurons over training trials: between these bounds an interpolating readout does worst.
NEAR = (0.5, 2.0)
FACTORS = (1.0, 8.0, 64.0)
# Of the probability that a mean answer is right, or wrong.
SURE = 0.975


def predicted_rows(
    answer: Answers,
    members: Bool[np.ndarray, " T"],
    uneven: Float[np.ndarray, " h"],
    labelled: Labelled,
) -> tuple[np.ndarray, ...]:
    """Return mean, both covariances and accuracy of answers to held-out conditions.

    These have `uneven` times the noise variance of the others.
    """
    mean, between = answer.mean[members], answer.between[members]
    within = uneven[:, None, None] * answer.within
    of_trial = answer.of_a_trial[members] + within - answer.within
    return mean, between, within, shares_by_label(mean, of_trial, members, labelled)


def shares_by_label(
    mean: Float[np.ndarray, "h k"],
    covariances: Float[np.ndarray, "h k k"],
    members: Bool[np.ndarray, " T"],
    labelled: Labelled,
) -> Float[np.ndarray, "h labels"]:
    """Return how often normal answers to held-out conditions are right."""
    shares = np.empty((len(mean), len(labelled)))
    for j, (columns, values) in enumerate(labelled):
        part = covariances[:, columns, columns]
        shares[:, j] = right_shares(mean[:, columns], part, values[members])
    return shares


def larger_penalty(
    measured: Trials,
    sets: Bool[np.ndarray, "F T"],
    trials: Int[np.ndarray, " T"],
    scales: Float[np.ndarray, " T"],
    targets: Float[np.ndarray, "T k"],
    labelled: Labelled,
    ridge: float,
    unit: float,
    certainty: Float[np.ndarray, "R labels"],
    excess: float,
    threads: int,
) -> tuple[float, Float[np.ndarray, "R labels"]] | None:
    """Return a larger penalty with which open answers are more probably right, and how probably.

    It is 1, 8 or 64 times the unit or the penalty, the larger of the two. None if no answer is open
    or no other penalty better, and if neurons are less than half or more than twice as many as
    training trials: then the penalty matters less. Certainties are those of sets with open answers,
    and NaN elsewhere. The variance of mean answers is multiplied by `excess`, for what predictions
    miss.
    """
    n_train = training_trials(sets, trials)
    is_open = (certainty > 1.0 - SURE) & (certainty < SURE)
    if not is_open.any() or not NEAR[0] <= measured.n_features / n_train <= NEAR[1]:
        return None
    of_row = np.nonzero(sets)[0]
    chosen = np.isin(np.arange(len(sets)), of_row[is_open.any(axis=1)])

    def certainties(members: Bool[np.ndarray, " T"], answers: list[Answers]) -> np.ndarray:
        uneven = relative_noise(scales, members, trials)
        mean, between, within, _ = predicted_rows(answers[0], members, uneven, labelled)
        of_mean = between + within / trials[members][:, None, None]
        return shares_by_label(mean, excess * of_mean, members, labelled)

    most, best = certainty[is_open].mean(), None
    for penalty in (factor * max(ridge, unit) for factor in FACTORS):
        if penalty <= ridge:
            continue
        larger = np.full(certainty.shape, np.nan)
        sure = answers_without(
            measured, sets[chosen], trials, targets, penalty, certainties, threads=threads
        )
        larger[np.isin(of_row, np.flatnonzero(chosen))] = np.concatenate(list(sure))
        if larger[is_open].mean() > most:
            most, best = larger[is_open].mean(), (penalty, larger)
    return best


def training_trials(sets: Bool[np.ndarray, "F T"], trials: Int[np.ndarray, " T"]) -> float:
    """Return how many trials a readout is trained on, a mean over sets."""
    return float(trials.sum() - np.mean(sets @ trials))
