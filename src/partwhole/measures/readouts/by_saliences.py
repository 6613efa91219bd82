"""Answers to held-out conditions from saliences alone."""

from __future__ import annotations

from math import prod

import numpy as np
from jaxtyping import Bool, Float

from partwhole.measures._side_by_side import side_by_side
from partwhole.measures.readouts.equivalent import Scalars, answers_of
from partwhole.measures.readouts.means import Trials
from partwhole.measures.readouts.targets import Targets


def answers_by_saliences(
    trials: Trials,
    products: Float[np.ndarray, "T T"],
    sets: Bool[np.ndarray, "F T"],
    targets: Targets,
    ridge: float,
    threads: int,
) -> Float[np.ndarray, "R k"]:
    """Return mean answers to held-out conditions of which only the overlap with others is known.

    Of products of means by their overlap, and the noise of all trials. In a complete grid with as
    many trials of each condition, those to one condition give those to all.
    """
    counts, by_condition = trials.counts, targets.by_condition
    whole = trials.training(counts)

    def solve(
        members: Bool[np.ndarray, " T"], start: Scalars | None
    ) -> tuple[Float[np.ndarray, "h k"], Scalars | None]:
        left = np.where(members, 0, counts)
        means = whole.training(left).by_overlap(products)
        answers, scalars = answers_of(means, left, by_condition, ridge, start=start)
        return answers.mean[members], scalars

    first, start = solve(sets[0], None)
    if targets.labels and _are_alike(trials, sets):
        return with_values_exchanged(first[0], targets, sets)
    others = side_by_side(lambda members: solve(members, start)[0], sets[1:], threads)
    return np.concatenate([first, *others])


def _are_alike(trials: Trials, sets: Bool[np.ndarray, "F T"]) -> bool:
    """Return whether exchanging values leads from each set to any other."""
    n_combinations = prod(len(np.unique(column)) for column in trials.conditions.T)
    balanced = len(trials.conditions) == n_combinations and np.ptp(trials.counts) == 0
    return bool(balanced and np.all(sets.sum(axis=1) == 1))


def with_values_exchanged(
    answer: Float[np.ndarray, " k"], targets: Targets, sets: Bool[np.ndarray, "F T"]
) -> Float[np.ndarray, "F k"]:
    """Return answers to the condition of each set, from that to the condition of the first.

    Saliences say only whether values are the same. So a value of the first condition and that of
    another can be exchanged, and with them the outputs for both, or the sign of a single output.
    """
    condition = sets.argmax(axis=1)
    answers, rows = np.tile(answer, (len(sets), 1)), np.arange(len(sets))
    for columns, values in targets.labelled:
        value, first = values[condition], values[condition[0]]
        if columns.stop - columns.start == 1:
            answers[value != first, columns] *= -1.0
        else:
            answers[rows, columns.start + value] = answer[columns.start + first]
            moved = rows[value != first]
            answers[moved, columns.start + first] = answer[columns.start + value[moved]]
    return answers
