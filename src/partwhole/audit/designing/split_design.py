"""A designed split, with what it determines and why."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.audit.designing.certificate import certificate_of
from partwhole.audit.designing.sums import Blocks, blocks_apart, codes, coefficient, terms_of
from partwhole.audit.wording import count, listed, percent

if TYPE_CHECKING:
    import pandas as pd

# Values without any row that are named.
MOST_UNUSED = 5
# Shortcuts that were not asked for, of which so many are named.
MOST_SHORTCUTS = 3


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
        Value indices of the combination around which training lies.
    train : int array, shape (n, C)
        Distinct training combinations.
    copies : int array, shape (n,)
        Rows of each in the table: 1 without a shortcut.
    test : int array, shape (h, C)
        Held-out combinations.
    lower_bound : int
        No training set with fewer combinations determines these held-out ones at this order.
    bound_reason : str
        Why.
    target : str
        The factor that is asked for.
    blocks : tuple of tuples of int
        Factors that the derivation takes together: without grades, training differs from the
        reference in at most K blocks, and may have some more combinations for a shortcut. If
        `weights` are given, the combinations are other ones.
    grade : int array, shape (h,)
        Grade of difficulty of each held-out combination, from 1; all 1 without grades.
    weights : int array, shape (h, n), or None
        With grades, and for some designs with a shortcut, the only weights with which held-out
        answers are sums of training answers.
    others : tuple of tuples of str
        Factors, and pairs of them, that an audit of the rows finds to be misleading shortcuts,
        though this was not asked for.
    shortcut : tuple of str and float, or None
        The factor that was asked to go with the target, and in what share of training rows.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Hashable, ...], ...]
    order: int
    reference: Int[np.ndarray, " C"]
    train: Int[np.ndarray, "n C"]
    copies: Int[np.ndarray, " n"]
    test: Int[np.ndarray, "h C"]
    lower_bound: int
    bound_reason: str
    target: str
    blocks: Blocks
    grade: Int[np.ndarray, " h"]
    weights: Int[np.ndarray, "h n"] | None = None
    others: tuple[tuple[str, ...], ...] = ()
    shortcut: tuple[str, float] | None = None

    def __repr__(self) -> str:
        """Return the sizes."""
        grades = f" in {self.grade.max()} grades" if self.is_graded else ""
        return (
            f"SplitDesign({len(self.train)} training combinations, at least {self.lower_bound} "
            f"needed, for {len(self.test)} held out{grades} at order {self.order})"
        )

    @property
    def is_graded(self) -> bool:
        """Return whether there are several test splits, of graded difficulty."""
        return bool(self.grade.max() > 1)

    @property
    def terms(self) -> Int[np.ndarray, " h"]:
        """Return the number of training combinations of which each answer is a sum."""
        return self._sums(0)

    @property
    def noise_gain(self) -> Int[np.ndarray, " h"]:
        """Return the sum of squared weights of each answer: its variance under unit noise.

        With grades no other weights, and so no smaller sums, are possible.
        """
        return self._sums(2)

    def _sums(self, power: int) -> Int[np.ndarray, " h"]:
        if self.weights is not None:
            return np.sum(np.abs(self.weights) ** power * (self.weights != 0), axis=1)
        d = blocks_apart(self.test, self.reference, self.blocks)
        sums = {
            n: sum(
                comb(n, k) * abs(coefficient(n, k, self.order)) ** power
                for k in range(self.order + 1)
            )
            for n in set(d.tolist())
        }
        return np.array([sums[n] for n in d.tolist()])

    @cached_property
    def _places(self) -> dict[int, int]:
        n_values = tuple(len(values) for values in self.values)
        return {code: at for at, code in enumerate(codes(self.train, n_values).tolist())}

    @property
    def splits(self) -> list[str]:
        """Return the name of the test split of each held-out combination."""
        if not self.is_graded:
            return ["test"] * len(self.test)
        return [f"test-{grade}" for grade in self.grade.tolist()]

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
        if self.weights is not None:
            rows = np.flatnonzero(self.weights[i])
            return rows, self.weights[i, rows]
        n_values, places = tuple(len(values) for values in self.values), self._places
        terms = list(terms_of(self.test[i : i + 1], self.reference, self.order, self.blocks))
        points = np.concatenate([points for _, points, _ in terms])
        rows = np.array([places[code] for code in codes(points, n_values).tolist()])
        return rows, np.concatenate([weights for _, _, weights in terms])

    def certificate(self) -> dict[str, object]:
        """Return the proof as plain lists and numbers, to be written as JSON.

        Returns
        -------
        dict
            ``factors``, ``order``, ``reference``, ``n_train``, ``n_held_out``, ``lower_bound``
            with ``lower_bound_reason``, ``train``, and of each entry of ``held_out`` its
            ``split``, ``combination``, the places in ``train`` of its training combinations and
            their whole ``weights``; with grades, its ``noise_gain`` too. ``statement`` says in
            words what they prove.

        Raises
        ------
        InputError
            If it has more than 1,000,000 weights.

        Examples
        --------
        >>> from partwhole.audit import design_split
        >>> certificate = design_split({"a": 2, "b": 2}, test_share=0.25).certificate()
        >>> certificate["held_out"][0]["weights"]
        [-1, 1, 1]
        """
        return certificate_of(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the table: training first, each combination as often as its copies.

        Returns
        -------
        pandas.DataFrame
            A column for each factor; ``target``, the value that is asked for; ``split``: train and
            test, with grades test-1 and so on; ``terms``, the number of training combinations of
            which a held-out answer is a sum (0 in training); and with grades ``noise_gain``, the
            variance of a held-out answer under noise of variance 1 in training answers (0 in
            training).
        """
        import pandas as pd

        rows = np.concatenate([np.repeat(self.train, self.copies, axis=0), self.test])
        columns: dict[str, object] = {
            name: [values[i] for i in column]
            for name, values, column in zip(self.names, self.values, rows.T, strict=True)
        }
        n = int(self.copies.sum())
        columns["target"] = columns[self.target]
        columns["split"] = ["train"] * n + self.splits
        columns["terms"] = [0] * n + self.terms.tolist()
        if self.is_graded:
            columns["noise_gain"] = [0] * n + self.noise_gain.tolist()
        return pd.DataFrame(columns)

    def describe(self) -> str:
        """Return the split and its proof in words."""
        n, terms = len(self.train), self.terms
        proof = (
            "No training set is smaller."
            if n == self.lower_bound
            else f"At least {self.lower_bound:,} are needed."
        )
        sums = f"each held-out answer is a sum of {_range(terms)} of them"
        return (
            f"{n:,} training combinations determine {count(len(self.test), 'held-out one')} for "
            f"learners of order {self.order}. {self._place(sums)} {proof} At order "
            f"{self.order + 1} none of the held-out combinations is determined by those."
            f"{self._grades()}{self._unused()}{self._shortcut()}{self._others()}"
        )

    def _unused(self) -> str:
        rows = np.concatenate([self.train, self.test])
        unused = [
            str(value)
            for column, values in zip(rows.T, self.values, strict=True)
            for i, value in enumerate(values)
            if i not in column
        ]
        if not unused:
            return ""
        more = f" and {len(unused) - MOST_UNUSED:,} more" if len(unused) > MOST_UNUSED else ""
        return (
            f" Nothing held out has {', '.join(unused[:MOST_UNUSED])}{more}, so training needs no "
            "such rows; a larger share of test may."
        )

    def _shortcut(self) -> str:
        if self.shortcut is None:
            return ""
        from partwhole.audit.designing.audited import misleading

        name, share = self.shortcut
        factor = (self.names.index(name),)
        found = [item for split in misleading(self) for item in split if item.components == factor]
        train, test = (
            _percents([accuracy(item) for item in found])
            for accuracy in (lambda item: item.train, lambda item: item.test)
        )
        return (
            f" {name} goes with {self.target} in about {percent(share)} of training rows. An audit "
            f"says that {name} alone is right in {train} of training and in {test} of test: values "
            f"that do not go with their row's {self.target} may predict it too."
        )

    def _others(self) -> str:
        n = len(self.others)
        if not n:
            return ""
        named = [
            f"{listed(names)}{' together' if len(names) > 1 else ''}"
            for names in self.others[:MOST_SHORTCUTS]
        ]
        more = f" and {n - MOST_SHORTCUTS:,} more" if n > MOST_SHORTCUTS else ""
        shortcuts = "a shortcut that was" if n == 1 else f"{n:,} shortcuts that were"
        return f" An audit of these rows finds {shortcuts} not asked for: {'; '.join(named)}{more}."

    def _place(self, sums: str) -> str:
        if self.weights is not None:
            return f"{sums[0].upper()}{sums[1:]}, with weights that are the only ones."
        reference = ", ".join(str(v[i]) for v, i in zip(self.values, self.reference, strict=True))
        shortcut = ", or show the shortcut" if self.copies.max() > 1 else ""
        together = [
            listed([self.names[c] for c in block]) for block in self.blocks if len(block) > 1
        ]
        counted = f" ({'; '.join(together)} counted as one)" if together else ""
        return (
            f"They differ from ({reference}) in at most {count(self.order, 'component')}{counted}"
            f"{shortcut}; {sums}."
        )

    def _grades(self) -> str:
        if not self.is_graded:
            return ""
        parts = []
        for grade in range(1, int(self.grade.max()) + 1):
            which = self.grade == grade
            parts.append(
                f"test-{grade}: {which.sum():,} held out, of {_range(self.terms[which])} terms and "
                f"noise gain {_range(self.noise_gain[which])}."
            )
        return (
            " The noise gain is the variance of a held-out answer if noise in training answers has "
            f"variance 1. {' '.join(parts)}"
        )


def _percents(shares: list[float]) -> str:
    low, high = percent(min(shares)), percent(max(shares))
    return low if low == high else f"{low} to {high}"


def _range(numbers: Int[np.ndarray, " n"]) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
