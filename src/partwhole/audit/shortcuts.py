r"""Shortcuts: components that predict the target in training, and may not do so in the test split.

A component alone (or two or three together) predicts a label as the most probable one among the
training rows of its value; a number as the mean of these rows. Training rows are left out of their
own prediction, and so are their copies; see `scores.copies`.
Labels are weighted to their shares q in the test split, so that a shift of labels alone is no
shortcut: with :math:`p(v \mid y)` in training, the accuracy there is
:math:`\sum_v \max_y q(y)\,p(v \mid y)`, or that in rows with the values of test where it is larger.
If the test split has a single label, or its values predict labels that it lacks more often than
such a shift explains, labels have their shares of training. For numbers the mean may shift: what
counts is the slope of targets on predictions; two numbers are judged as two labels, too. If
predictions of a component do not vary in test, or it has fewer than three rows, differences from
the mean of training are compared. Several components have to fail in test by more than they do
where as many combinations are held out at random; see `scores.by_chance`. Derived here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice
from math import comb

import numpy as np

from partwhole._types import Real
from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import Shortcut
from partwhole.audit.scores.alike import is_alike
from partwhole.audit.scores.by_chance import ByChance
from partwhole.audit.scores.labels import LabelScores
from partwhole.audit.scores.numbers import NumberScores
from partwhole.audit.scores.score import MOST_PAIRED, MOST_TRIPLED
from partwhole.audit.settings import Settings

# Rows a second for which a set of components is looked at, on a processor of 2020; the seconds it
# may take in any case; and more sets than a table has.
RATE, FREE, MOST_SETS = 3e6, 0.2, 1 << 40


def shortcuts(
    case: Case, *, effect: Real = 0.1, group_share: Real = 0.2, time_limit: Real = float("inf")
) -> tuple[Shortcut, ...]:
    """Return the components, pairs and threes that alone predict the target in training.

    Parameters
    ----------
    case : Case
    effect : float, keyword-only, default 0.1
        Smallest gain in accuracy over the commonest label, in training or in its rows with the
        values of test, or share of variance explained.
    group_share : float, keyword-only, default 0.2
        Of a component that the others make superfluous: a group of rows with one of its values
        and one label is rare if it has less than this share of the rows expected without a
        correlation.
    time_limit : float, keyword-only, default inf
        Seconds, counted as rows times sets of components, so that what is looked at does not
        depend on the load of the machine; see `not_searched`.

    Returns
    -------
    tuple of Shortcut
        Those that fail in test; and those that the other components make superfluous, if training
        and test are alike in their components and all of training is predicted better, or a group
        is rare. The largest loss comes first: the gain, or share explained, in training times the
        part of it that is lost in test. The rows compared are `case.compared`. A pair (or three) is
        listed if it predicts training better than any part of it by `effect`. None of labels that
        are hashed.

    Examples
    --------
    >>> from partwhole.audit.case import AuditTable
    >>> grid = np.array([(s, c, k) for s in range(2) for c in range(2) for k in range(5)])
    >>> table = AuditTable(
    ...     grid, 2.0 * grid[:, :1] - 1, grid[:, 0], (grid[:, 0] != grid[:, 1]).astype(int),
    ...     np.ones(20), ("shape", "colour", "copy"), ((0, 1), (0, 1), tuple(range(5))),
    ...     ("name",), ("cube", "ball"), ("train", "test"))
    >>> for item in shortcuts(table.case(1, 1)):
    ...     print(item.components, item.train, item.test, item.misleads)
    (1,) 1.0 0.0 True
    """
    most = _most(case, time_limit)
    compare = comparison(case) if most else None
    if compare is None:
        return ()
    n = case.table.n_components
    judges = [ByChance(compare)]
    if (labelled := _labelled(case)) is not None and (judge := comparison(labelled)) is not None:
        judges.append(ByChance(judge))
    listed: dict[tuple[int, ...], float] = {}
    reported: list[tuple[float, Shortcut]] = []
    alike: bool | None = None
    sets = _sets(n, len(case.table.split))
    for subset in islice(sets, most):
        parts = (part for size in range(1, len(subset)) for part in combinations(subset, size))
        least = effect + max((listed.get(part, 0.0) for part in parts), default=0.0)
        scores = [score for score in compare.scores(subset) if score.gain >= least]
        if not scores:
            continue
        misleading = next((s for s in scores if judges[0].misleads(subset, s)), None)
        if misleading is None and any(judge.finds(subset, effect) for judge in judges[1:]):
            misleading = scores[0]
        score, misleads = misleading or scores[0], misleading is not None
        listed[subset] = score.gain
        others = tuple(c for c in range(n) if c not in subset)
        superfluous = len(subset) == 1 and compare.is_superfluous(subset, others)
        # Of one that is right in test too, all of training counts.
        spurious = superfluous and not misleads and score.train - score.guess >= effect
        if spurious:
            alike = is_alike(case) if alike is None else alike
            spurious = alike
        rare = tuple(compare.rare(subset, float(group_share))) if superfluous else ()
        if not (misleads or spurious or rare):
            continue
        examples = tuple(compare.examples(subset, score)) if misleads else ()
        shortcut = Shortcut(
            subset,
            score.train,
            score.test,
            score.guess,
            misleads,
            superfluous,
            examples,
            rare,
            score.at_values,
            spurious,
        )
        reported.append((score.lost, shortcut))
    reported.sort(key=lambda pair: (not pair[1].misleads, -pair[0], pair[1].components))
    return tuple(shortcut for _, shortcut in reported)


def search(
    case: Case, settings: Settings, time_limit: Real
) -> tuple[tuple[Shortcut, ...], tuple[int, int]]:
    """Return the shortcuts that settings ask for, and what `not_searched` does."""
    effect, share = settings.shortcut_effect, settings.group_share
    listed = shortcuts(case, effect=effect, group_share=share, time_limit=time_limit)
    return listed, not_searched(case, time_limit=time_limit)


def not_searched(case: Case, *, time_limit: Real) -> tuple[int, int]:
    """Return how many sets of components are not looked at in time, and of how many.

    Parameters
    ----------
    case : Case
    time_limit : float, keyword-only
        Seconds, as in `shortcuts`.

    Returns
    -------
    tuple of int
        The first is 0 where no shortcuts are looked for.
    """
    n_sets = sum(1 for _ in _sets(case.table.n_components, len(case.table.split)))
    left = n_sets - _most(case, time_limit)
    return (left, n_sets) if left > 0 and comparison(case) is not None else (0, n_sets)


def _most(case: Case, time_limit: Real) -> int:
    """Return how many sets of components are looked at in time."""
    if np.isinf(time_limit):
        return MOST_SETS
    n_rows = max(1, np.count_nonzero(case.table.split == TRAIN) + len(case.compared))
    return min(MOST_SETS, int(RATE * max(FREE, float(time_limit)) / n_rows))


def comparison(case: Case) -> LabelScores | NumberScores | None:
    """Return the scores of training against test; None without rows, and of hashed labels.

    Parameters
    ----------
    case : Case
    """
    table = case.table
    train = np.flatnonzero(table.split == TRAIN)
    test = case.compared
    if table.label is not None:
        # Labels that training lacks have a rule of their own.
        test = test[np.isin(table.label[test], table.label[train])]
    if not len(train) or not len(test) or table.hashed is not None:
        return None
    return (LabelScores if case.has_labels else NumberScores).of(case, train, test)


def _labelled(case: Case) -> Case | None:
    """Return a case of two numbers with labels in their place; None of others."""
    table = case.table
    if table.two_numbers is None:
        return None
    label = (table.targets[:, 0] == table.two_numbers[1]).astype(np.int64)
    return replace(case, table=replace(table, label=label, labels=table.two_numbers))


def _sets(n: int, n_rows: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets of components to look at; not all of them, which is the whole combination."""
    yield from combinations(range(n), 1)
    if 2 < n <= MOST_PAIRED:
        yield from combinations(range(n), 2)
    if n > 3 and comb(n, 3) * n_rows <= MOST_TRIPLED:
        yield from combinations(range(n), 3)
