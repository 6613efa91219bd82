r"""Linear decoders of two labels from noisy trials, for many labellings and positions at once.

Trials are a position and a deviation, :math:`x_i = M_{t(i)} + r_i`. With n training trials of T
conditions the decoder minimises

.. math:: \sum_t \omega_t\, (y_t - w \cdot M_t - b)^2 + w' A w, \qquad
          A = \rho I + \frac{1}{n} \sum_i r_i r_i',

where both sides of the labels have half of the weight, in equal shares. With as many conditions on
both sides and as many trials of each this is ridge regression on the labels, of penalty
:math:`n \rho`; else conditions count the same, however many trials they have. With
:math:`K = M A^{-1} M'`,

.. math:: w = A^{-1} M' c, \qquad
          [I + (\mathrm{diag}\, \omega - \omega \omega') K]\, c = \omega \circ y,

so that one A serves all labellings, and all positions to which the clouds of trials are moved
(derived here).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cholesky, solve_triangular

from partwhole.measures._offsets import pseudo_trials
from partwhole.measures._rows import averaging, coordinates
from partwhole.measures.abstraction.nulls import permuted_means
from partwhole.measures.readouts.noise import varying
from partwhole.recordings import Recording

# Share of the variance of responses that stands in for noise where none was measured.
LEAST_NOISE = 1e-6
# Share of the largest variance below which a direction of responses is rounding.
ROUNDING = 1e-12
# In the same units as `ridge`; with less, rounding would decide.
LEAST_RIDGE = 1e-8
# Permuted means that are taken to coordinates by one product.
AT_ONCE = 8
# Entries of arrays over repetitions, of which a part is worked on at a time.
MOST_ENTRIES = 5_000_000


@dataclass(frozen=True, eq=False)
class Clouds:
    """Trials around the positions of their conditions, for several positions of every condition.

    Parameters
    ----------
    deviations : float array, shape (n, q)
        Of trials from their condition's mean.
    index : int array, shape (n,)
        Condition of each trial.
    positions : float array, shape (R, T, q)
    ridge : float
        The penalty, in squared units of responses.
    """

    deviations: Float[np.ndarray, "n q"]
    index: Int[np.ndarray, " n"]
    positions: Float[np.ndarray, "R T q"]
    ridge: float

    @property
    def counts(self) -> Int[np.ndarray, " T"]:
        """Return the trials of each condition."""
        return np.bincount(self.index)

    def hits(
        self,
        train: Int[np.ndarray, " a"],
        test: Int[np.ndarray, " b"],
        labels: Int[np.ndarray, "L T"],
    ) -> Float[np.ndarray, "R L T"]:
        """Return the number of correct answers to test trials, by condition.

        Conditions without training trials have no part in training, whatever their label.
        """
        trained, of_train = np.unique(self.index[train], return_inverse=True)
        offset = np.zeros(self.positions.shape[1:])
        offset[trained] = condition_means(self.deviations[train], of_train)
        noise = self.deviations[train] - offset[self.index[train]]
        covariance = noise.T @ noise / len(train)
        covariance[np.diag_indices_from(covariance)] += self.ridge
        root = np.asfortranarray(cholesky(covariance, lower=True))

        def whitened(rows: Float[np.ndarray, "m q"]) -> Float[np.ndarray, "q m"]:
            return solve_triangular(root, rows.T, lower=True, check_finite=False)

        tested, of_test = np.unique(self.index[test], return_inverse=True)
        n_places, _, q = self.positions.shape
        means = whitened((self.positions[:, trained] + offset[trained]).reshape(-1, q))
        places = whitened(self.positions[:, tested].reshape(-1, q)).T.reshape(n_places, -1, q)
        trials = whitened(self.deviations[test]).T @ means
        # One product for all places, which the others are too small for.
        trials = trials.reshape(len(test), n_places, -1).swapaxes(0, 1)
        means = means.T.reshape(n_places, -1, q)
        dual, bias = dual_weights(means @ means.swapaxes(1, 2), labels[:, trained])
        at_place = places @ means.swapaxes(1, 2) @ dual + bias
        answers = trials @ dual
        answers += at_place[:, of_test]
        return hits_by_condition(answers, self.index[test], labels)


@dataclass(frozen=True, eq=False)
class Places:
    """Coordinates of responses of neurons, in the space of those that were measured and beside it.

    Parameters
    ----------
    data : float array, shape (n, p)
        Measured responses.
    rows : float array, shape (n, q)
        Their `coordinates`: the same array, or along orthogonal directions.
    index : int array, shape (n,)
        Condition of each trial.
    """

    data: Float[np.ndarray, "n p"]
    rows: Float[np.ndarray, "n q"]
    index: Int[np.ndarray, " n"]

    @classmethod
    def of(cls, recording: Recording) -> Places:
        """Return those of the `scaled_responses` of a recording whose trials have all neurons."""
        data = scaled_responses(recording)
        return cls(data, coordinates(data), recording.condition_of_trial)

    def penalty(self, ridge: float, index: Int[np.ndarray, " n"]) -> float:
        """Return the penalty in squared units of responses, never 0.

        It is `ridge` times the variance of trials within conditions, mean over neurons.
        """
        total = float(np.sum((self.rows - self.rows.mean(axis=0)) ** 2))
        within = float(np.sum((self.rows - condition_means(self.rows, index)[index]) ** 2))
        degrees = max(len(index) - int(index.max()) - 1, 1)
        variance = max(within / degrees, LEAST_NOISE * total / len(index)) / self.data.shape[1]
        return max(ridge, LEAST_RIDGE) * variance

    def clouds(self, ridge: float, repetitions: int, rng: np.random.Generator) -> Iterator[Clouds]:
        """Yield trials at the measured positions of their conditions and at a null's, in parts.

        Parameters
        ----------
        ridge : float
            In units of the variance within conditions, mean over neurons.
        repetitions : int
            Of positions at which the means of each neuron are permuted, after the measured ones.
        rng : numpy.random.Generator
        """
        rows, index = self.rows, self.index
        penalty = self.penalty(ridge, index)
        means = condition_means(self.data, index)
        means -= means.mean(axis=0)
        centred = condition_means(rows, index)
        deviations = self.padded(rows - centred[index], len(means))
        centred = self.padded(centred - centred.mean(axis=0), len(means))
        drawn = chain([centred], self.moved(permuted_means(means, repetitions, rng)))
        step = max(1, MOST_ENTRIES // (len(means) * max(*rows.shape, deviations.shape[1])))
        while len(part := list(islice(drawn, step))):
            yield Clouds(deviations, index, np.stack(part), penalty)

    @cached_property
    def basis(self) -> Float[np.ndarray, "p q"]:
        """Return the directions of `rows`, 0 for those without any response."""
        squares = np.sum(self.rows**2, axis=0)
        kept = squares > ROUNDING * squares.max()
        inverse = np.divide(1.0, squares, where=kept, out=np.zeros_like(squares))
        return self.data.T @ (self.rows * inverse)

    def padded(self, rows: Float[np.ndarray, "n q"], n_conditions: int) -> np.ndarray:
        """Return measured coordinates, with 0 beside their space."""
        return rows if self.rows is self.data else np.pad(rows, ((0, 0), (0, n_conditions)))

    def moved(self, drawn: Iterator[Float[np.ndarray, "T p"]]) -> Iterator[np.ndarray]:
        """Yield coordinates of means; beside the measured space only their products matter."""
        if self.rows is self.data:
            yield from drawn
            return
        while part := list(islice(drawn, AT_ONCE)):
            means = np.stack(part)
            # The basis is large, and read once for all of them.
            within = (means.reshape(-1, means.shape[2]) @ self.basis).reshape(*means.shape[:2], -1)
            beside = means @ means.swapaxes(1, 2) - within @ within.swapaxes(1, 2)
            values, vectors = np.linalg.eigh(beside)
            vectors *= np.sqrt(np.maximum(values, 0.0))[:, None, :]
            yield from np.concatenate([within, vectors], axis=2)


def dual_weights(
    kernel: Float[np.ndarray, "R T T"], labels: Int[np.ndarray, "L T"]
) -> tuple[Float[np.ndarray, "R T L"], Float[np.ndarray, "R 1 L"]]:
    """Return the dual weights c and the intercept b of every labelling, 0 for left out."""
    weights = np.zeros(labels.shape)
    for side in (-1, 1):
        chosen = labels == side
        weights += 0.5 * chosen / chosen.sum(axis=1, keepdims=True)
    _, group, sizes = np.unique(weights, axis=0, return_inverse=True, return_counts=True)
    order, starts = np.argsort(group.ravel(), kind="stable"), np.cumsum(sizes) - sizes
    n_places, n_conditions = kernel.shape[:2]
    dual = np.empty((n_places, n_conditions, len(labels)))
    step = max(1, MOST_ENTRIES // (n_places * n_conditions**2))
    # Systems with as many right sides are solved in one call.
    for size in np.unique(sizes):
        alike = order[starts[sizes == size][:, None] + np.arange(size)]
        for first in range(0, len(alike), step):
            chosen = alike[first : first + step]
            omega = weights[chosen[:, 0]]
            centred = omega[:, :, None] * (np.eye(n_conditions) - omega[:, None, :])
            target = (omega[:, None] * labels[chosen]).swapaxes(1, 2)
            systems = np.eye(n_conditions) + centred[:, None] @ kernel
            solved = np.linalg.solve(systems, target[:, None])
            dual[..., chosen.ravel()] = np.moveaxis(solved, 0, 2).reshape(*dual.shape[:2], -1)
    # Both sides weigh the same, so that the mean label is 0.
    return dual, -np.sum(weights.T * (kernel @ dual), axis=1, keepdims=True)


def hits_by_condition(
    answers: Float[np.ndarray, "R n L"],
    index: Int[np.ndarray, " n"],
    labels: Int[np.ndarray, "L T"],
) -> Float[np.ndarray, "R L T"]:
    """Return the number of correct answers by condition; an answer of 0 is half correct."""
    signs = np.sign(answers, out=answers)
    n_conditions = labels.shape[1]
    sums = np.zeros((len(answers), n_conditions, len(labels)))
    for condition in np.unique(index):
        sums[:, condition] = signs[:, index == condition].sum(axis=1)
    counts = np.bincount(index, minlength=n_conditions)
    return 0.5 * (counts + labels * sums.swapaxes(1, 2))


def condition_means(
    data: Float[np.ndarray, "n q"], index: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "T q"]:
    """Return the mean of each condition's trials."""
    return averaging(index, np.bincount(index)) @ data


def scaled_responses(recording: Recording) -> Float[np.ndarray, "n p"]:
    """Return responses of varying neurons about their mean, in units of the most variable."""
    data = varying(recording.responses)
    # In place, as copies of wide responses take longer than what is done with them.
    data = data - data.mean(axis=0)
    data /= np.sqrt(np.einsum("ij,ij->j", data, data).max() / len(data))
    return data


def whole_vectors(recording: Recording, seed: int) -> Recording:
    """Return a recording with the response of every neuron in every trial, and a note about it."""
    averaged = recording.averaged()
    whole = pseudo_trials(averaged, seed)
    if whole is averaged:
        return whole
    lost = "trials combine neurons of several sessions, without correlations of their noise"
    return replace(whole, notes=(*whole.notes, lost))
