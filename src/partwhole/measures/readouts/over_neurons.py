"""How much predicted answers vary over populations of neurons, by leaving out groups of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.measures._rows import coordinates_of
from partwhole.measures._side_by_side import side_by_side
from partwhole.measures.readouts.equivalent import Scalars, answers_of
from partwhole.measures.readouts.means import Trials

GROUPS = 5
# Of which the deviation varies by 8 % with those that are chosen, and by more with the groups.
MOST_SETS = 6


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
    six sets. It errs upwards (Efron and Stein, Ann. Stat. 1981), by up to a factor of two in the
    deviation close to as many neurons as trials. NaN for fewer than ten neurons.
    """
    n_neurons = features.shape[1]
    if n_neurons < 2 * GROUPS:
        return np.nan
    if len(sets) > MOST_SETS:
        sets = sets[np.linspace(0, len(sets) - 1, MOST_SETS).astype(int)]
    order = np.random.default_rng(seed).permutation(n_neurons)
    without = _without(trials, features, np.array_split(order, GROUPS))

    def first(group: int) -> tuple[Trials, Float[np.ndarray, "R k"], Scalars | None]:
        others = without(group)
        return others, *_answered(others, sets[0], targets, ridge)

    # All other sets of a group are near its first.
    begun = list(side_by_side(first, range(GROUPS), threads))

    def further(problem: tuple[int, int]) -> Float[np.ndarray, "R k"]:
        group, of_set = problem
        others, answers, start = begun[group]
        return _answered(others, sets[of_set], targets, ridge, start)[0] if of_set else answers

    problems = list(product(range(GROUPS), range(len(sets))))
    answers = np.concatenate(list(side_by_side(further, problems, threads)))
    answers = answers.reshape(GROUPS, -1)
    return float((GROUPS - 1.0) ** 2 / GROUPS * answers.var(axis=0, ddof=1).mean())


def _answered(
    trials: Trials,
    members: Bool[np.ndarray, " T"],
    targets: Float[np.ndarray, "T k"],
    ridge: float,
    start: Scalars | None = None,
) -> tuple[Float[np.ndarray, "R k"], Scalars | None]:
    """Return mean answers to the conditions of a set, and the scalars without these."""
    counts = np.where(members, 0, trials.counts)
    answers, scalars = answers_of(trials.training(counts), counts, targets, ridge, start=start)
    return answers.mean[members], scalars


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
