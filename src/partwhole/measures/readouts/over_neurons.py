"""How much predicted answers vary over populations of neurons, by leaving out groups of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.measures._rows import coordinates_of
from partwhole.measures._side_by_side import side_by_side
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.equivalent import answers_without
from partwhole.measures.readouts.means import Trials

GROUPS = 5
MOST_SETS = 12


def variance_over_neurons(
    trials: Trials,
    features: Float[np.ndarray, "n p"],
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
    n_neurons = features.shape[1]
    if n_neurons < 2 * GROUPS:
        return np.nan
    if len(sets) > MOST_SETS:
        sets = sets[np.linspace(0, len(sets) - 1, MOST_SETS).astype(int)]
    order = np.random.default_rng(seed).permutation(n_neurons)
    without = _without(trials, features, np.array_split(order, GROUPS))

    def mean(members: Bool[np.ndarray, " T"], answers: list[Answers]) -> np.ndarray:
        return answers[0].mean[members]

    def answered(group: int) -> Float[np.ndarray, "R k"]:
        others = without(group)
        means = answers_without(others, sets, others.counts, targets, ridge, mean)
        return np.concatenate(list(means))

    answers = np.stack(list(side_by_side(answered, range(GROUPS), threads)))
    return float((GROUPS - 1.0) ** 2 / GROUPS * answers.var(axis=0, ddof=1).mean())


def _without(
    trials: Trials, features: Float[np.ndarray, "n p"], groups: list[Int[np.ndarray, " g"]]
) -> Callable[[int], Trials]:
    """Return what leads from a group of features to trials of all others."""
    index, conditions, (n, p) = trials.index, trials.conditions, features.shape

    def others(group: int, parts: list[np.ndarray]) -> list[np.ndarray]:
        return [part for g, part in enumerate(parts) if g != group]

    if p <= n:
        return lambda group: trials.without(groups[group])
    if p - len(groups[0]) <= n:
        return lambda group: Trials.of(
            features[:, np.hstack(others(group, groups))], index, conditions
        )
    # With so many only inner products are used, which are sums over groups.
    products = [_centred_products(features[:, group]) for group in groups]
    return lambda group: Trials.of(
        coordinates_of(np.sum(others(group, products), axis=0)),
        index,
        conditions,
        beside=p - len(groups[group]) - n,
    )


def _centred_products(features: Float[np.ndarray, "n g"]) -> Float[np.ndarray, "n n"]:
    """Return inner products of rows less their mean."""
    centred = features - features.mean(axis=0)
    return centred @ centred.T
