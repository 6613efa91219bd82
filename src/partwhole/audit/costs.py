"""What the matrices of an audit cost, so that none is begun that the time limit has no room for.

The size of a matrix of indicators is known before it is built: rows times sets of components.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from time import process_time

import numpy as np

from partwhole._types import Real
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.limits.proofs.determination import DENSE_COLUMNS, Determination, determinations
from partwhole.limits.proofs.null_functions import NullFunctions
from partwhole.tasks import Task

# Entries a second, on an idle processor of 2020: indicators of which random null functions are
# drawn, pairs of indicators that are counted, and indicators of predictions and of an answer.
OF_PROBES, OF_PAIRS, OF_PREDICTIONS, OF_ANSWERS = 8e6, 1.5e8, 1.3e7, 3.5e7
# Seconds that a matrix may take in any case.
FREE = 0.2


def has_time(seconds: Real, deadline: Real) -> bool:
    """Return whether work that takes so many seconds ends by the deadline, or takes few.

    Parameters
    ----------
    seconds : float
    deadline : float
        By `time.process_time`.

    Examples
    --------
    >>> has_time(0.1, 0.0), has_time(1e9, process_time() + 1.0), has_time(1e9, float("inf"))
    (True, False, True)
    """
    return float(seconds) <= max(FREE, float(deadline) - process_time())


def seconds_to_determine(task: Task, order: int) -> float:
    """Return the least seconds to find what training determines.

    Parameters
    ----------
    task : Task
    order : int
        K, the number of components in a conjunction.

    Examples
    --------
    A hundred thousand rows of ten components, three of which make up 120 conjunctions:

    >>> from partwhole.tasks import Task
    >>> rows = np.arange(100_000)[:, None] // 4 ** np.arange(10) % 4
    >>> task = Task(rows, np.zeros(100_000), rows[:, 0] > 0, tuple("abcdefghij"),
    ...             (tuple(range(4)),) * 10)
    >>> round(seconds_to_determine(task, 3), 2), round(seconds_to_determine(task, 1), 2)
    (1.12, 0.03)
    """
    n, order = task.n_components, min(order, task.n_components)
    sets = comb(n, order)
    if n == 2 and order == 1:
        return 0.0
    of_set = float(np.mean(task.n_values)) ** order * sets
    if of_set <= DENSE_COLUMNS:
        return task.n_train * sets * (sets + 1) / 2.0 / OF_PAIRS
    return task.n_train * sets / OF_PROBES


def seconds_to_predict(task: Task, order: int) -> float:
    """Return the least seconds for the indicators of a prediction, at most of this order."""
    return len(task.components) * _sets_up_to(task, order) / OF_PREDICTIONS


def seconds_to_solve(task: Task, order: int) -> float:
    """Return the least seconds to ask whether training has the conjunctions of an answer."""
    sets = comb(task.n_components, min(order, task.n_components))
    return len(task.components) * sets / OF_ANSWERS


def seconds_to_fit(task: Task, n_rows: int, order: int) -> float:
    """Return the least seconds for the indicators of so many rows of training."""
    return n_rows * _sets_up_to(task, order) / OF_PREDICTIONS


def determined_in_time(
    tasks: Sequence[Task],
    *,
    max_order: int,
    seed: int,
    deadline: float,
    until: float,
    work: float | None = None,
) -> list[Determination]:
    """Return what training determines; nothing is decided where its indicators take too long.

    Parameters
    ----------
    tasks : sequence of Task
        With the same training rows; of none nothing is returned.
    max_order, seed, deadline, work : keyword-only
        As in `determinations`.
    until : float, keyword-only
        By `time.process_time`: the time at which the indicators have to be complete.

    Returns
    -------
    list of Determination
        Without a verdict the seconds are those that were left.
    """
    if not tasks:
        return []
    if has_time(seconds_to_determine(tasks[0], max_order), until):
        return determinations(tasks, max_order=max_order, seed=seed, deadline=deadline, work=work)
    left = max(0.0, until - process_time())
    return [_undecided(task, max_order, seed, left) for task in tasks]


def _undecided(task: Task, order: int, seed: int, seconds: float) -> Determination:
    """Return a determination without a verdict; its null functions are unknown."""
    n_entries = task.n_train * comb(task.n_components, order)
    # The constant alone, with a coefficient that is not a number.
    constant = ConjunctionDesign.seen(task.train_components[:1], [()], task.n_values)
    unknown = np.full((1, 1), np.nan)
    h = task.n_test
    return Determination(
        task,
        order,
        np.zeros(h, dtype=bool),
        np.ones(h, dtype=bool),
        np.zeros(h, dtype=bool),
        np.full((h, 1), np.nan),
        "probes",
        None,
        NullFunctions(constant, unknown, np.ones(1), seed),
        seconds,
        (
            f"The table of the values and sets of values that training has, {n_entries:,} entries, "
            "takes longer than the time limit; nothing was decided.",
        ),
    )


def _sets_up_to(task: Task, order: int) -> int:
    return sum(comb(task.n_components, k) for k in range(1, order + 1))
