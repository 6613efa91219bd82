"""Null models of abstraction: permuted labels of trials, and positions at random."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

# Scores that are equal on paper differ by rounding.
ROUNDING = 1e-9


def random_positions(
    distances: Float[np.ndarray, " T"],
    n_neurons: int,
    n_coordinates: int,
    repetitions: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "R T q"]:
    r"""Return positions at given distances from 0 in independent random directions.

    A direction is that of a normal vector g in all neurons. The first coordinates of the T vectors
    are normal themselves; of their other parts only the inner products matter, a Wishart matrix of
    :math:`p - k` degrees of freedom, whose triangular root has independent entries: chi on the
    diagonal and normal below (Bartlett 1933). So T coordinates stand for all others.

    Parameters
    ----------
    distances : float array, shape (T,)
    n_neurons : int
        p, of the space in which directions are drawn.
    n_coordinates : int
        k, the first coordinates, which are kept as they are; at most p.
    repetitions : int
    rng : numpy.random.Generator
    """
    n_conditions, left = len(distances), n_neurons - n_coordinates
    n_others = min(left, n_conditions)
    drawn = rng.standard_normal((repetitions, n_conditions, n_coordinates + n_others))
    if left > n_conditions:
        root = np.tril(drawn[..., n_coordinates:], -1)
        place = np.arange(n_conditions)
        root[:, place, place] = np.sqrt(rng.chisquare(left - place, (repetitions, n_conditions)))
        drawn[..., n_coordinates:] = root
    return drawn * (distances / np.linalg.norm(drawn, axis=2))[..., None]


def permuted_labels(
    index: Int[np.ndarray, " n"], within: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """Return the trials' conditions permuted within folds or groups."""
    permuted = index.copy()
    for part in np.unique(within):
        rows = np.flatnonzero(within == part)
        permuted[rows] = rng.permutation(index[rows])
    return permuted


def p_values(
    scores: Float[np.ndarray, "*k"], null: Float[np.ndarray, "B *k"]
) -> Float[np.ndarray, "*k"]:
    """Return the share of a null that is at least as high, the measurement counted with it.

    NaN without repetitions, and for scores that are NaN; repetitions that are NaN are left out.
    """
    if not len(null):
        return np.full(np.shape(scores), np.nan)
    valid = np.isfinite(null)
    higher = np.sum(valid & (null >= np.asarray(scores) - ROUNDING), axis=0)
    return np.where(np.isnan(scores), np.nan, (1.0 + higher) / (1.0 + valid.sum(axis=0)))
