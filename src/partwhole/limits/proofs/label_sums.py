r"""Sums that give every row its label, found by averaged projections.

For each row the score of its label must exceed that of every other label by 1. A row that falls
short is projected on the half-space of its nearest rival, the other label of largest score. The
change of a conjunction's coefficient for a label is the mean over the rows that request one
(diagonally relaxed orthogonal projections; Censor, Elfving, Herman and Nikazad, 2008). The method
converges if such scores exist. A step reads all scores once and changes few of them, so that a
thousand labels take little more time than ten.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from scipy import sparse

from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs.certificates import TOLERANCE

STEPS = 1000
# The search ends after so many steps without a new lowest number of wrong rows.
PATIENCE = 40


def find_sums(phi: sparse.csr_array, label: Int[np.ndarray, " n"], budget: Budget) -> bool:
    """Return whether sums are found, one for each label, whose largest is that of each row's label.

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
        n_wrong = int(np.sum(gap <= TOLERANCE))
        if n_wrong == 0:
            # Recomputed from the sums, because rounding accumulates in the scores.
            gap, _ = _nearest_rivals(sparse.csr_array(phi @ sums).toarray(), place, rows)
            return bool(gap.min() > TOLERANCE * np.abs(sums.data).max())
        fewest, since = (n_wrong, 0) if n_wrong < fewest else (fewest, since + 1)
        short_rows = np.flatnonzero((gap < 1.0) & (entries > 0))
        if since > PATIENCE or not len(short_rows):
            return False
        move = (1.0 - gap[short_rows]) / (2.0 * entries[short_rows])
        at = np.tile(short_rows, 2), np.concatenate([place[short_rows], rival[short_rows]])
        n_requests = back @ sparse.csr_array((np.ones(2 * len(short_rows)), at), shape)
        n_requests.data = 1.0 / n_requests.data
        change = back @ sparse.csr_array((np.concatenate([move, -move]), at), shape)
        change = sparse.csr_array(change.multiply(n_requests))
        difference = sparse.coo_array(phi @ change)
        scores[difference.coords] += difference.data
        sums = sparse.csr_array(sums + change)
        budget.spend(3 * scores.size + 20 * (difference.nnz + sums.nnz))
    return False


def _nearest_rivals(
    scores: np.ndarray, label: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's score for its label minus the largest other, and the label of that."""
    own_scores = scores[rows, label]
    scores[rows, label] = -np.inf
    rival = scores.argmax(axis=1)
    rival_scores = scores[rows, rival]
    scores[rows, label] = own_scores
    return own_scores - rival_scores, rival
