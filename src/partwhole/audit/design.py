r"""The inverse of an audit: the smallest training split that determines what is to be tested.

Sums of conjunctions of at most K components are determined everywhere by the combinations that
differ from a reference in at most K components: with d components in which x differs from it,

.. math:: f(x) = \sum_{S \subseteq D(x),\, |S| \le K} (-1)^{K - |S|} \binom{d - |S| - 1}{K - |S|}
          f(x_S),

where :math:`x_S` has the values of x in S and those of the reference elsewhere. These combinations
are as many as such sums have dimensions, so no smaller training set determines all others; one that
has to determine less may be smaller. A combination with :math:`d > K` has a conjunction of K + 1
values that training lacks, so it is not determined at the next order. Derived here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import Count, ProperFraction, Seed

if TYPE_CHECKING:
    import pandas as pd

MOST_COMBINATIONS = 200_000
# References that are tried, for the smallest training set.
TRIALS = 16
# Numbers of a matrix whose rank is computed for the lower bound.
MOST_ENTRIES = 4_000_000
# Rows of a training combination, so that a component goes with the target in a share of them.
MOST_COPIES = 1000


@dataclass(frozen=True, eq=False)
class SplitDesign:
    """Training split that determines its test split, with proof.

    Parameters
    ----------
    names : tuple of str, length C
        The factors.
    values : tuple of tuples, length C
    order : int
        K.
    reference : int array, shape (C,)
        Value indices of the combination from which training differs in at most K components.
    train : int array, shape (n, C)
        Distinct training combinations.
    copies : int array, shape (n,)
        Rows of each in the table: 1 without a shortcut.
    test : int array, shape (h, C)
        Held-out combinations.
    lower_bound : int
        No training set with fewer combinations determines these held-out ones at this order.
    target : str
        The factor that is asked for.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Hashable, ...], ...]
    order: int
    reference: Int[np.ndarray, " C"]
    train: Int[np.ndarray, "n C"]
    copies: Int[np.ndarray, " n"]
    test: Int[np.ndarray, "h C"]
    lower_bound: int
    target: str

    def __repr__(self) -> str:
        """Return the sizes."""
        return (
            f"SplitDesign({len(self.train)} training combinations, at least {self.lower_bound} "
            f"needed, for {len(self.test)} held out at order {self.order})"
        )

    @property
    def terms(self) -> Int[np.ndarray, " h"]:
        """Return the number of training combinations from which each answer follows."""
        apart = np.sum(self.test != self.reference, axis=1)
        return np.array([sum(comb(d, k) for k in range(self.order + 1)) for d in apart.tolist()])

    @door
    def derivation(self, i: int) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " q"]]:
        """Return the training combinations whose weighted sum is the i-th held-out one.

        Parameters
        ----------
        i : int

        Returns
        -------
        rows : int array, shape (q,)
            Rows of `train`.
        weights : int array, shape (q,)
            Every sum of conjunctions of at most K components has at the held-out combination the
            weighted sum of its values at these.
        """
        require(
            0 <= i < len(self.test),
            f"held-out combinations are numbered from 0 to {len(self.test) - 1}",
            i,
            "pass one of these",
        )
        place = {tuple(row): at for at, row in enumerate(self.train.tolist())}
        points, weights = _derivation(self.test[i], self.reference, self.order)
        rows = np.array([place[tuple(point)] for point in points.tolist()])
        return rows, weights

    def to_frame(self) -> pd.DataFrame:
        """Return the table: training first, each combination as often as its copies.

        Returns
        -------
        pandas.DataFrame
            A column for each factor; ``target``, the value that is asked for; ``split``; and
            ``terms``, the number of training combinations from which a held-out answer follows
            (0 in training), by which the test may be split into grades of difficulty.
        """
        import pandas as pd

        rows = np.concatenate([np.repeat(self.train, self.copies, axis=0), self.test])
        columns: dict[str, object] = {
            name: [values[i] for i in column]
            for name, values, column in zip(self.names, self.values, rows.T, strict=True)
        }
        n = int(self.copies.sum())
        columns["target"] = columns[self.target]
        columns["split"] = ["train"] * n + ["test"] * len(self.test)
        columns["terms"] = [0] * n + self.terms.tolist()
        return pd.DataFrame(columns)

    def describe(self) -> str:
        """Return the split and its proof in words."""
        reference = ", ".join(str(v[i]) for v, i in zip(self.values, self.reference, strict=True))
        n, terms = len(self.train), self.terms
        shortcut = ", or show the shortcut" if self.copies.max() > 1 else ""
        proof = (
            "No training set is smaller."
            if n == self.lower_bound
            else f"At least {self.lower_bound:,} are needed."
        )
        return (
            f"{n:,} training combinations determine {len(self.test):,} held-out ones for learners "
            f"of order {self.order}. They differ from ({reference}) in at most {self.order} "
            f"components{shortcut}; each held-out answer is a sum of {terms.min()} to "
            f"{terms.max()} of them. {proof} At order {self.order + 1} none of the held-out "
            "combinations is determined by those."
        )


@door
def design_split(
    factors: Mapping[str, int | Sequence[Hashable]],
    *,
    require_order: Count = 1,
    budget: Count | None = None,
    test_share: ProperFraction = 0.3,
    target: str | None = None,
    shortcut: Mapping[str, float] | None = None,
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
        are repeated for it, and a few may be added.
    seed : int, keyword-only, default 0

    Returns
    -------
    SplitDesign
        The smallest of 16 trials, each with another reference.

    Raises
    ------
    InputError
        If a factor has fewer than two values, the order is not below their number, or the budget
        or the number of combinations does not suffice.

    Examples
    --------
    >>> design = design_split({"shape": 3, "colour": 8, "size": 2}, require_order=2, budget=40)
    >>> design
    SplitDesign(34 training combinations, at least 34 needed, for 14 held out at order 2)
    """
    names, values = _named(factors)
    n_values = tuple(len(v) for v in values)
    n_grid = int(np.prod([float(n) for n in n_values]))
    _check(n_values, n_grid, require_order)
    h = max(1, round(test_share * n_grid))
    target = names[0] if target is None else target
    require(
        target in names,
        "the target is one of the factors",
        repr(target),
        f"name one of {', '.join(names)}",
    )
    pull = _pull(shortcut, names, n_values, names.index(target))
    grid = np.stack(np.unravel_index(np.arange(n_grid), n_values), axis=1)
    rng = np.random.default_rng(seed)
    best: SplitDesign | None = None
    for _ in range(TRIALS):
        reference = np.array([rng.integers(n) for n in n_values])
        near = np.sum(grid != reference, axis=1) <= require_order
        extra = np.zeros((0, len(names)), dtype=np.int64) if pull is None else pull.rows(reference)
        is_extra = np.isin(_codes(grid, n_values), _codes(extra, n_values))
        free = np.flatnonzero(~near & ~is_extra)
        require(
            len(free) >= h,
            f"of {n_grid:,} combinations at most those can be held out that training does not need",
            f"{h:,} of them, where {len(free):,} are free at order {require_order}",
            "choose a smaller test share or a lower order",
        )
        drawn = rng.permutation(free) if pull is None else pull.arranged(grid, free, h, rng)
        test = grid[np.sort(drawn[:h])]
        train = np.unique(np.concatenate([_needed(test, reference, require_order), extra]), axis=0)
        # A factor with a single value would be none.
        is_varied = np.ptp(np.concatenate([train, test]), axis=0).all()
        if is_varied and (best is None or len(train) < len(best.train)):
            copies = np.ones(len(train), dtype=np.int64) if pull is None else pull.copies(train)
            best = SplitDesign(
                names, values, require_order, reference, train, copies, test, 0, target
            )
    if best is None:
        raise InputError(
            f"held-out combinations vary in each factor; got {h} that do not, in {TRIALS} trials; "
            "hold out a larger share"
        )
    bound = _lower_bound(best)
    require(
        budget is None or len(best.train) <= budget,
        f"the smallest training set found has {len(best.train):,} combinations, and at least "
        f"{bound:,} are needed",
        f"a budget of {budget}",
        "raise it, lower the order, or hold out less",
    )
    return SplitDesign(
        names, values, require_order, best.reference, best.train, best.copies, best.test, bound,
        target,
    )  # fmt: skip


def _named(
    factors: Mapping[str, int | Sequence[Hashable]],
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
    taken = {"target", "split", "terms"} & set(names)
    require(
        not taken,
        "columns target, split and terms are of the table itself",
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


def _codes(rows: Int[np.ndarray, "n C"], n_values: tuple[int, ...]) -> Int[np.ndarray, " n"]:
    return np.atleast_1d(np.ravel_multi_index(tuple(rows.T), n_values))


def _derivation(
    x: Int[np.ndarray, " C"], reference: Int[np.ndarray, " C"], order: int
) -> tuple[Int[np.ndarray, "q C"], Int[np.ndarray, " q"]]:
    """Return combinations within the order of the reference, and weights that add up to x."""
    apart = np.flatnonzero(x != reference).tolist()
    d = len(apart)
    points, weights = [], []
    for k in range(min(order, d) + 1):
        for subset in combinations(apart, k):
            point = reference.copy()
            point[list(subset)] = x[list(subset)]
            points.append(point)
            weight = int(k == d) if d <= order else (-1) ** (order - k) * comb(d - k - 1, order - k)
            weights.append(weight)
    kept = np.flatnonzero(weights)
    return np.array(points)[kept], np.array(weights)[kept]


def _needed(
    test: Int[np.ndarray, "h C"], reference: Int[np.ndarray, " C"], order: int
) -> Int[np.ndarray, "n C"]:
    """Return the combinations of which the held-out ones are sums."""
    n = test.shape[1]
    parts = []
    for k in range(order + 1):
        for subset in combinations(range(n), k):
            # A component in which a row does not differ makes this the point of a smaller set.
            points = np.tile(reference, (len(test), 1))
            points[:, list(subset)] = test[:, list(subset)]
            parts.append(np.unique(points, axis=0))
    return np.unique(np.concatenate(parts), axis=0)


def _lower_bound(design: SplitDesign) -> int:
    """Return a number of combinations below which no training set determines the held-out ones.

    Training has to span them, so it has at least their rank. It has every conjunction of K values
    that they have, so at least as many combinations as there are such of one set of factors. And
    weights under which all sums of conjunctions of at most K values add up to 0 are on 2**(K + 1)
    combinations or more, of which one may be held out.
    """
    n = design.test.shape[1]
    bound = 2 ** (design.order + 1) - 1
    bound = max(
        bound,
        *(
            len(np.unique(design.test[:, list(subset)], axis=0))
            for subset in combinations(range(n), design.order)
        ),
    )
    n_values = [len(v) for v in design.values]
    free = int(np.prod([float(v) for v in n_values])) - len(design.test)
    # Combinations that are as many as dimensions, and span, have a single sum for each other one.
    dimensions = sum(
        int(np.prod([n_values[c] - 1 for c in subset]))
        for k in range(design.order + 1)
        for subset in combinations(range(n), k)
    )
    if free == dimensions:
        return len(_needed(design.test, design.reference, design.order))
    if len(design.test) * len(design.train) > MOST_ENTRIES:
        return bound
    place = {tuple(row): at for at, row in enumerate(design.train.tolist())}
    matrix = np.zeros((len(design.test), len(design.train)))
    for i, row in enumerate(design.test):
        points, weights = _derivation(row, design.reference, design.order)
        matrix[i, [place[tuple(point)] for point in points.tolist()]] = weights
    return max(bound, int(np.linalg.matrix_rank(matrix)))


@dataclass(frozen=True)
class _Pull:
    """A factor that goes with the target in a share of the training rows."""

    factor: int
    target: int
    share: float
    n_values: tuple[int, ...]

    def goes(self, rows: Int[np.ndarray, "n C"]) -> Bool[np.ndarray, " n"]:
        """Return whether the factor's value goes with the target in each row."""
        return np.equal(rows[:, self.factor] % self.n_values[self.target], rows[:, self.target])

    def rows(self, reference: Int[np.ndarray, " C"]) -> Int[np.ndarray, "m C"]:
        """Return for each target a combination with a value that goes with it, and another."""
        rows = []
        for label in range(self.n_values[self.target]):
            for value in (label, (label + 1) % self.n_values[self.factor]):
                row = reference.copy()
                row[self.target], row[self.factor] = label, value
                rows.append(row)
        return np.array(rows)

    def arranged(
        self,
        grid: Int[np.ndarray, "N C"],
        free: Int[np.ndarray, " f"],
        h: int,
        rng: np.random.Generator,
    ) -> Int[np.ndarray, " f"]:
        """Return free combinations at random, the first h going with the target as by chance."""
        free = rng.permutation(free)
        goes = self.goes(grid[free])
        with_target, without = free[goes], free[~goes]
        n = min(len(with_target), max(h // self.n_values[self.target], h - len(without)))
        first = np.concatenate([with_target[:n], without[: h - n]])
        return np.concatenate([first, np.setdiff1d(free, first)])

    def copies(self, train: Int[np.ndarray, "n C"]) -> Int[np.ndarray, " n"]:
        """Return how often each combination is repeated."""
        copies = np.ones(len(train), dtype=np.int64)
        goes = self.goes(train)
        for label in range(self.n_values[self.target]):
            with_label = train[:, self.target] == label
            n_with, n_without = int((with_label & goes).sum()), int((with_label & ~goes).sum())
            ratio = self.share / (1.0 - self.share) * n_without / n_with
            which, times = (goes, ratio) if ratio >= 1.0 else (~goes, 1.0 / ratio)
            # Both in a few copies, so that shares are near even where the ratio is not whole.
            base = int(np.clip(np.ceil(8.0 / times), 1, 8))
            copies[with_label] = base
            copies[with_label & which] = min(MOST_COPIES, max(1, round(base * times)))
        return copies


def _pull(
    shortcut: Mapping[str, float] | None,
    names: tuple[str, ...],
    n_values: tuple[int, ...],
    target: int,
) -> _Pull | None:
    if not shortcut:
        return None
    require(len(shortcut) == 1, "a shortcut is one factor", f"{len(shortcut)}", "pass one of them")
    ((name, share),) = shortcut.items()
    others = [other for i, other in enumerate(names) if i != target]
    require(
        name in others,
        "a shortcut is a factor other than the target",
        repr(name),
        f"name one of {', '.join(others)}",
    )
    factor = names.index(name)
    require(
        n_values[factor] >= n_values[target],
        "a shortcut has as many values as the target, or more",
        f"{n_values[factor]} for {n_values[target]} targets",
        "name another factor, or another target",
    )
    least = 1.0 / n_values[target]
    require(
        least < share <= 0.99,
        f"the share of a shortcut is above that of chance, {least:.3g}, and at most 0.99",
        share,
        "pass such as 0.9",
    )
    return _Pull(factor, target, float(share), n_values)
