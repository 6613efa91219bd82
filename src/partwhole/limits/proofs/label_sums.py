r"""Sums that give every row its label, found by averaged projections.

A row asks that the score of its own label exceed that of every other by 1. Each row short of that
is projected on the half-space of its nearest rival, and a conjunction's change for a label is the
mean over the rows that ask for one: diagonally relaxed orthogonal projections (Censor, Elfving,
Herman and Nikazad, 2008), which converge where such scores exist. A step reads all scores once and
changes few of them, so that a thousand labels cost little more than ten.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from scipy import sparse

from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs.certificates import TOLERANCE

STEPS = 1000
# Steps without fewer wrong rows than ever before, after which the search is given up.
PATIENCE = 40


def find_sums(phi: sparse.csr_array, label: Int[np.ndarray, " n"], budget: Budget) -> bool:
    """Search a sum of conjunctions for each label whose largest is every row's own.

    Parameters
    ----------
    phi : sparse array, shape (n, p)
        Indicators of conjunctions.
    label : int array, shape (n,)
    budget : Budget

    Returns
    -------
    bool
        Whether such sums were found. False proves nothing.

    Examples
    --------
    Rows that share no conjunction may have any labels.

    >>> find_sums(sparse.csr_array(np.eye(3)), np.array([0, 1, 2]), Budget(1e6))
    True
    """
    n, p = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
    present, place = np.unique(label, return_inverse=True)
    if len(present) == 1:
        return True
    shape = n, len(present)
    rows, back = np.arange(n), phi.T.tocsr()
    entries = np.diff(phi.indptr)
    scores, sums = np.zeros(shape), sparse.csr_array((p, len(present)))
    fewest, since = n + 1, 0
    for _ in range(STEPS):
        if budget.over:
            return False
        gap, rival = _nearest_rivals(scores, place, rows)
        wrong = int(np.sum(gap <= TOLERANCE))
        if wrong == 0:
            # From the sums themselves, as rounding adds up over the steps.
            gap, _ = _nearest_rivals(sparse.csr_array(phi @ sums).toarray(), place, rows)
            return bool(gap.min() > TOLERANCE * np.abs(sums.data).max())
        fewest, since = (wrong, 0) if wrong < fewest else (fewest, since + 1)
        short = np.flatnonzero((gap < 1.0) & (entries > 0))
        if since > PATIENCE or not len(short):
            return False
        move = (1.0 - gap[short]) / (2.0 * entries[short])
        at = np.tile(short, 2), np.concatenate([place[short], rival[short]])
        asked = back @ sparse.csr_array((np.ones(2 * len(short)), at), shape)
        asked.data = 1.0 / asked.data
        change = back @ sparse.csr_array((np.concatenate([move, -move]), at), shape)
        change = sparse.csr_array(change.multiply(asked))
        difference = sparse.coo_array(phi @ change)
        scores[difference.coords] += difference.data
        sums = sparse.csr_array(sums + change)
        budget.spend(3 * scores.size + 20 * (difference.nnz + sums.nnz))
    return False


def _nearest_rivals(
    scores: np.ndarray, own: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far each row's own score is ahead of the largest other, and which that is."""
    mine = scores[rows, own]
    scores[rows, own] = -np.inf
    rival = scores.argmax(axis=1)
    top = scores[rows, rival]
    scores[rows, own] = mine
    return mine - top, rival
