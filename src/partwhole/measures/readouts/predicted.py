"""Predicted answers to the held-out conditions of a set, and how sure they are by penalty."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.measures.readouts.answers import Answers
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
    trials: Int[np.ndarray, " h"],
    labelled: Labelled,
) -> tuple[np.ndarray, ...]:
    """Return mean, both covariances, accuracy and certainty of answers to held-out conditions."""
    mean, between = answer.mean[members], answer.between[members]
    of_trial = answer.of_a_trial[members]
    of_mean = between + answer.within / trials[:, None, None]
    accuracy, certainty = (np.empty((len(mean), len(labelled))) for _ in range(2))
    for j, (columns, values) in enumerate(labelled):
        for shares, spread in ((accuracy, of_trial), (certainty, of_mean)):
            part = spread[:, columns, columns]
            shares[:, j] = right_shares(mean[:, columns], part, values[members])
    return mean, between, np.broadcast_to(answer.within, between.shape), accuracy, certainty


def larger_penalty(
    measured: Trials,
    sets: Bool[np.ndarray, "F T"],
    trials: Int[np.ndarray, " T"],
    targets: Float[np.ndarray, "T k"],
    labelled: Labelled,
    ridge: float,
    unit: float,
    certainty: Float[np.ndarray, "R labels"],
    threads: int,
) -> tuple[float, Float[np.ndarray, "R labels"]] | None:
    """Return a larger penalty with which open answers are more probably right, and how probably.

    It is 1, 8 or 64 times the unit or the penalty, the larger of the two. None if no answer is open
    or no other penalty better, and if neurons are less than half or more than twice as many as
    training trials: then the penalty matters less. Certainties are those of sets with open answers,
    and NaN elsewhere.
    """
    n_train = training_trials(sets, trials)
    is_open = (certainty > 1.0 - SURE) & (certainty < SURE)
    if not is_open.any() or not NEAR[0] <= measured.n_features / n_train <= NEAR[1]:
        return None
    of_row = np.nonzero(sets)[0]
    chosen = np.isin(np.arange(len(sets)), of_row[is_open.any(axis=1)])

    def certainties(members: Bool[np.ndarray, " T"], answers: list[Answers]) -> np.ndarray:
        return predicted_rows(answers[0], members, trials[members], labelled)[-1]

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
