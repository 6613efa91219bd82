r"""Decoders of all conditions, tested on other trials of theirs, with labels permuted or not.

Permuted labels leave the training trials as they are, and with them the eigenvectors of their
covariance :math:`S`. With condition means :math:`M` about the mean of the training trials, and the
shares :math:`D = \mathrm{diag}(m_t / n)` of the conditions,

.. math:: A = \rho I + S - M' D M, \qquad
          M A^{-1} M' = K_0 (I - D K_0)^{-1}, \qquad K_0 = M (\rho I + S)^{-1} M'.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole.measures.abstraction.decoder import (
    Clouds,
    Places,
    condition_means,
    dual_weights,
    hits_by_condition,
)


def folds_of(
    index: Int[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"] | None,
    n_folds: int,
    rng: np.random.Generator,
) -> Int[np.ndarray, " n"]:
    """Return the fold of every trial, with trials of a group together."""
    if groups is not None:
        _, of_trial = np.unique(groups, return_inverse=True)
        return (rng.permutation(int(of_trial.max()) + 1) % n_folds)[of_trial.ravel()]
    # Trials in random order within conditions; the next condition goes on with the next fold.
    order = np.lexsort([rng.random(len(index)), index])
    fold = np.empty_like(index)
    fold[order] = np.arange(len(index)) % n_folds
    return fold


def accuracy(
    clouds: Clouds, fold: Int[np.ndarray, " n"], labels: Int[np.ndarray, "D T"]
) -> Float[np.ndarray, "R D"]:
    """Return the accuracy on all trials of decoders that were trained on other folds."""
    hits = np.zeros((len(clouds.positions), *labels.shape))
    for left_out in np.unique(fold):
        test = fold == left_out
        hits += clouds.hits(np.flatnonzero(~test), np.flatnonzero(test), labels)
    return _by_side(hits / clouds.counts, labels)


def permuted_accuracy(
    places: Places,
    indices: Int[np.ndarray, "R n"],
    fold: Int[np.ndarray, " n"],
    labels: Int[np.ndarray, "D T"],
    ridge: float,
) -> Float[np.ndarray, "R D"]:
    """Return the same for the measured positions of conditions permuted within folds.

    Parameters
    ----------
    places : Places
    indices : int array, shape (R, n)
        Conditions of trials. Every condition has trials in all training sets.
    fold : int array, shape (n,)
    labels : int array, shape (D, T)
    ridge : float
        In units of the variance within conditions, mean over neurons.
    """
    rows = places.rows
    penalties = [places.penalty(ridge, index) for index in indices]
    hits = np.zeros((len(indices), *labels.shape))
    for left_out in np.unique(fold):
        test = fold == left_out
        centred = rows - rows[~test].mean(axis=0)
        n = int(np.sum(~test))
        variances, basis = np.linalg.eigh(centred[~test].T @ centred[~test] / n)
        centred = centred @ basis
        train, tested = centred[~test], centred[test]
        for row, index, penalty in zip(hits, indices, penalties, strict=True):
            means = condition_means(train, index[~test])
            weighted = means.T / (np.maximum(variances, 0.0) + penalty)[:, None]
            counts = np.bincount(index[~test])
            # Takes the spread of the conditions off the covariance of trials.
            kernel = means @ weighted
            back = np.linalg.inv(np.eye(len(means)) - (counts / n)[:, None] * kernel)
            dual, bias = dual_weights((kernel @ back)[None], labels)
            answers = (tested @ weighted @ back)[None] @ dual + bias
            row += hits_by_condition(answers, index[test], labels)[0]
    counts = np.bincount(indices[0]) if len(indices) else 1
    return _by_side(hits / counts, labels)


def _by_side(
    accuracy: Float[np.ndarray, "R D T"], labels: Int[np.ndarray, "D T"]
) -> Float[np.ndarray, "R D"]:
    """Return the mean of the two sides' mean accuracies."""
    sides = [labels == side for side in (-1, 1)]
    return np.mean([np.mean(accuracy, axis=2, where=side) for side in sides], axis=0)
