r"""The inverse of an audit: the smallest training split that determines what is to be tested.

Sums of conjunctions of at most K components are determined everywhere by the combinations that
differ from a reference in at most K components, as `partwhole.audit.designing.sums` says. These are
as many as such sums have dimensions, so no smaller training set determines all others; one that
has to determine less may be smaller. A combination with more components in which it differs has a
conjunction of K + 1 values that training lacks, so it is not determined at the next order. Derived
here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, ProperFraction, Seed
from partwhole.audit.designing.pull import pull_of
from partwhole.audit.designing.split_design import SplitDesign as SplitDesign
from partwhole.audit.designing.trials import Request, best_design, bound_of

MOST_COMBINATIONS = 200_000


@door
def design_split(
    factors: Mapping[str, int | Sequence[Hashable]],
    *,
    require_order: Count = 1,
    budget: Count | None = None,
    test_share: ProperFraction = 0.3,
    target: str | None = None,
    shortcut: Mapping[str, float] | None = None,
    grades: Count = 1,
    seed: Seed = 0,
) -> SplitDesign:
    """Return a small training split that determines a random test split at an order.

    Parameters
    ----------
    factors : mapping from str to int or sequence
        The factors with their numbers of values, or their values; two or more factors of two or
        more values, at most 200,000 combinations.
    require_order : int, keyword-only, default 1
        K, below the number of factors.
    budget : int, keyword-only, optional
        Largest number of training combinations.
    test_share : float, keyword-only, default 0.3
        Share of all combinations that is held out.
    target : str, keyword-only, optional
        The factor that is asked for; by default the first.
    shortcut : mapping from str to float, keyword-only, optional
        Another factor, and the share of training rows with each target in which its value goes with
        the target: value j with the target j modulo the number of targets. Training combinations
        are repeated for it, and a few may be added. An audit of the rows finds the shortcut in
        each test split, and each label occurs there twice or more if there is room.
    grades : int, keyword-only, default 1
        Test splits of graded difficulty, equally large but for one combination if that can be had.
        The difficulty of a held-out combination is its noise gain: the sum of the squared weights
        with which it is a sum of training combinations, which is the variance of its answer if
        training answers have independent noise of variance 1. Training is chosen so that these
        weights are unique, and every noise gain in a grade is above all those in the grade before.
    seed : int, keyword-only, default 0

    Returns
    -------
    SplitDesign
        The smallest of 16 trials, each with another reference; with grades, of those in which they
        are most equal. Of as small ones, that in which the hardest grade has the least noise gain,
        and then that in which factors that are no shortcut predict the target least. Of 32 such,
        the first within the budget of which the audit predicts more than guesses, if there is one;
        and one without shortcuts that were not asked for, if it is as small. If none is, `others`
        names them.

    Raises
    ------
    InputError
        If a factor has fewer than two values, the order is not below their number, the budget or
        the number of combinations does not suffice, or no trial has the shortcut.

    Examples
    --------
    >>> design = design_split({"shape": 3, "colour": 8, "size": 2}, require_order=2, budget=40)
    >>> design
    SplitDesign(34 training combinations, at least 34 needed, for 14 held out at order 2)

    Two test splits of one benchmark, the second provably harder:

    >>> graded = design_split({"shape": 5, "colour": 5}, test_share=0.4, grades=2)
    >>> gains = graded.noise_gain
    >>> int(gains[graded.grade == 1].max()), int(gains[graded.grade == 2].min())
    (3, 5)
    """
    names, values = _named(factors, grades)
    n_values = tuple(len(v) for v in values)
    n_grid = prod(n_values)
    _check(n_values, n_grid, require_order)
    h = max(1, round(test_share * n_grid))
    target = names[0] if target is None else target
    require(
        target in names,
        "the target is one of the factors",
        repr(target),
        f"name one of {', '.join(names)}",
    )
    require(
        grades <= h,
        "each grade has a held-out combination or more",
        f"{grades} grades of {h} held out",
        "hold out a larger share, or ask for fewer grades",
    )
    pull = pull_of(shortcut, names, n_values, names.index(target))
    request = Request(names, values, n_values, require_order, h, target, pull, grades, budget)
    best = best_design(request, np.random.default_rng(seed))
    bound, reason = bound_of(best)
    require(
        budget is None or len(best.train) <= budget,
        f"the smallest training set found has {len(best.train):,} combinations, and at least "
        f"{bound:,} are needed",
        f"a budget of {budget}",
        "raise it, lower the order, or hold out less",
    )
    return replace(best, lower_bound=bound, bound_reason=reason)


def _named(
    factors: Mapping[str, int | Sequence[Hashable]], grades: int
) -> tuple[tuple[str, ...], tuple[tuple[Hashable, ...], ...]]:
    names = tuple(map(str, factors))
    values: list[tuple[Hashable, ...]] = []
    for name, given in factors.items():
        of = tuple(f"{name} {i}" for i in range(given)) if isinstance(given, int) else tuple(given)
        require(
            len(of) >= 2 and len(set(of)) == len(of),
            "a factor has two or more distinct values",
            f"{given!r} for {name!r}",
            "pass their number or a list of them",
        )
        values.append(of)
    reserved = ["target", "split", "terms", *(["noise_gain"] if grades > 1 else [])]
    taken = set(reserved) & set(names)
    require(
        not taken,
        f"columns {', '.join(reserved[:-1])} and {reserved[-1]} are of the table itself",
        f"a factor {min(taken, default='')!r}",
        "rename it",
    )
    return names, tuple(values)


def _check(n_values: tuple[int, ...], n_grid: int, order: int) -> None:
    require(
        len(n_values) >= 2, "a split has two or more factors", len(n_values), "name another factor"
    )
    require(
        order < len(n_values),
        "require_order is below the number of factors",
        f"{order} for {len(n_values)}",
        f"choose from 1 to {len(n_values) - 1}",
    )
    require(
        n_grid <= MOST_COMBINATIONS,
        f"factors have at most {MOST_COMBINATIONS:,} combinations",
        f"{n_grid:,}",
        "pass fewer factors or values",
    )
