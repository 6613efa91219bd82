"""What training determines for sums of embeddings that columns share.

A learner with one embedding for each value, added up over the columns, has outputs that are linear
in how often each value occurs: twice counts as two times once. The audit itself gives every number
of occurrences a value of its own, which is a larger class of learners: what it determines these
sums determine too, and they may determine more. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

# As for the null functions of conjunctions; more columns say nothing here.
MOST_COLUMNS = 1500
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Occurrences:
    """The components of a table with shared vocabularies, none of them left out.

    Parameters
    ----------
    codes : int array, shape (n, C)
        How often a shared value occurs in each row; of other components the index of the value.
    is_count : bool array, shape (C,)
        Which of them are counts.
    """

    codes: Int[np.ndarray, "n C"]
    is_count: Bool[np.ndarray, " C"]

    def determined(
        self, train: Int[np.ndarray, " m"], tested: Int[np.ndarray, " h"]
    ) -> Bool[np.ndarray, " h"] | None:
        """Return which rows training rows determine for sums that are linear in the counts.

        Parameters
        ----------
        train, tested : int arrays
            Numbers of rows.

        Returns
        -------
        bool array, shape (h,), or None
            None with more than 1,500 counts and values, for which this is not computed.

        Examples
        --------
        >>> pairs = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [2, 0, 0]])
        >>> of_three = Occurrences(pairs, np.ones(3, dtype=bool))
        >>> of_three.determined(np.arange(3), np.array([3])).tolist()
        [True]
        >>> of_three.determined(np.arange(2), np.array([3])).tolist()
        [False]
        """
        codes = self.codes[np.concatenate([train, tested])]
        n_values = np.where(self.is_count, 1, codes.max(axis=0) + 1).tolist()
        if 1 + sum(n_values) > MOST_COLUMNS:
            return None
        terms = self._terms(codes, n_values)
        seen, asked = np.unique(terms[: len(train)], axis=0), terms[len(train) :]
        eigenvalues, vectors = np.linalg.eigh(seen.T @ seen)
        null = vectors[:, eigenvalues <= TOLERANCE * eigenvalues[-1]]
        length = np.linalg.norm(asked, axis=1)
        return np.linalg.norm(asked @ null, axis=1) <= 1e-6 * length

    def _terms(
        self, codes: Int[np.ndarray, "r C"], n_values: list[int]
    ) -> Float[np.ndarray, "r p"]:
        """Return the constant, the counts, and indicators of other values."""
        parts = [np.ones((len(codes), 1))]
        for column, counts, n in zip(codes.T, self.is_count, n_values, strict=True):
            part = column[:, None] if counts else column[:, None] == np.arange(n)
            parts.append(part.astype(float))
        return np.hstack(parts)
