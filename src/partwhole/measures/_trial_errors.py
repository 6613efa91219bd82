r"""Errors of similarities by overlap, from the noise of trials.

With means :math:`x_t` of tuples and unbiased squares :math:`q_t` of them,

.. math:: \kappa(O) = \sum_t b_t(O)\, q_t + \frac{1}{P(O)} \sum_{t < u:\, O(t, u) = O} x_t \cdot x_u

is quadratic in the noise. To first order each trial has its part in the error, its residual along
the gradient. Gradients contain the noise of the other means, so that the sum of squared parts
counts products of two noises twice (those of one tuple with itself, 2 (m - 1) / m times). Their
variance follows from the noise's covariance, which is taken to be the same for all tuples but for
its scale; what is left is that of the gradients without noise. Derived here.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.measures._groups import TupleGroups, over_supersets
from partwhole.measures._rows import products_with
from partwhole.measures._similarity import Samples
from partwhole.measures._trial_means import squares_of_product


def trial_errors(
    samples: Samples,
    groups: TupleGroups,
    count: int,
    rng: np.random.Generator,
    *,
    self_pairs: bool,
) -> Float[np.ndarray, "B sets"]:
    """Draw errors of the similarities by overlap of trials that are independent.

    Tuples with one sample have none.
    """
    first_order, of_two, of_one, freedom = error_covariance(samples, groups, self_pairs=self_pairs)
    errors = student(count, freedom, rng) * normal(first_order, count, rng)
    errors += rng.normal(size=(count, len(of_two))) * np.sqrt(of_two)
    errors += rng.normal(size=(count, of_one.shape[1])) @ of_one.T
    errors[:, :-1][:, groups.n_pairs[:-1] == 0] = np.nan
    return errors


def normal(
    covariance: Float[np.ndarray, "sets sets"], count: int, rng: np.random.Generator
) -> Float[np.ndarray, "B sets"]:
    """Draw normal deviations with an estimated covariance; negative eigenvalues count as 0."""
    values, vectors = np.linalg.eigh(covariance)
    deviations = np.sqrt(np.maximum(values, 0.0))
    return (rng.normal(size=(count, len(values))) * deviations) @ vectors.T


def student(count: int, freedom: float, rng: np.random.Generator) -> Float[np.ndarray, "B 1"]:
    """Return factors that make normal deviations Student's, whose variance was estimated."""
    if not np.isfinite(freedom):
        return np.ones((count, 1))
    return np.sqrt(freedom / rng.chisquare(freedom, count))[:, None]


def error_covariance(
    samples: Samples, groups: TupleGroups, *, self_pairs: bool
) -> tuple[
    Float[np.ndarray, "sets sets"], Float[np.ndarray, " sets"], Float[np.ndarray, "sets T"], float
]:
    """Return the covariance of errors in three parts, and the first one's degrees of freedom.

    Returns
    -------
    float array, shape (sets, sets)
        That of the errors of first order, an unbiased estimate that may have negative eigenvalues.
    float array, shape (sets,)
        Variances of products of the noise of two means, which are independent.
    float array, shape (sets, T)
        Deviations by product of the noise of one mean with itself.
    float
        Degrees of freedom of the first, by Welch and Satterthwaite from the variance that each
        tuple adds, mean over similarities; infinite without variance.
    """
    m = groups.counts.astype(float)
    means = groups.means(samples.features)
    per_mean = 1.0 / np.sqrt(np.where(m > 1, m * (m - 1.0), np.inf))
    # In place, as they can be large.
    noise_rows = means[groups.index]
    np.subtract(samples.features, noise_rows, out=noise_rows)
    noise_rows *= per_mean[groups.index, None]
    noise = np.bincount(groups.index, np.einsum("ij,ij->i", noise_rows, noise_rows))
    on_squares, n_pairs = _weights_of_squares(groups)

    # Each trial's part: along the sum of other means, by exact overlap with its tuple, and its own.
    at_least = [
        products_with(noise_rows, shared.T @ (shared @ means) - means, groups.index)
        for shared in groups.sharing
    ]
    along = over_supersets(np.stack([*at_least, np.zeros(len(noise_rows))])) / n_pairs[:, None]
    same = products_with(noise_rows, means, groups.index)
    parts = along + 2.0 * on_squares[:, groups.index] * same

    overlap = _overlap_of_noise(noise_rows, noise, groups)
    sharing = [np.sum((shared @ noise) ** 2) - np.sum(noise**2) for shared in groups.sharing]
    of_two = 0.5 * overlap * over_supersets(np.array([*sharing, 0.0])) / n_pairs**2
    of_one = np.sqrt(2.0 * overlap) * on_squares * noise
    first_order = parts @ parts.T - 2.0 * (np.diag(of_two) + of_one @ of_one.T)
    if not self_pairs:
        of_one = of_one * np.sqrt(np.where(m > 1, m / np.maximum(m - 1.0, 1.0), 0.0))
    return first_order, np.maximum(of_two, 0.0), of_one, _freedom(parts, groups)


def _freedom(parts: Float[np.ndarray, "sets n"], groups: TupleGroups) -> float:
    by_tuple = np.stack(
        [np.bincount(groups.index, row**2, minlength=len(groups.counts)) for row in parts]
    )
    variances = by_tuple.sum(axis=1, keepdims=True)
    if not (variances > 0.0).any():
        return np.inf
    shares = (by_tuple / np.where(variances > 0.0, variances, 1.0))[variances[:, 0] > 0.0]
    return 1.0 / float(np.mean(shares**2 @ (1.0 / np.maximum(groups.counts - 1.0, 1.0))))


def _weights_of_squares(
    groups: TupleGroups,
) -> tuple[Float[np.ndarray, "sets T"], Float[np.ndarray, " sets"]]:
    """Return the weight of each tuple's square in each similarity, and the pairs of tuples."""
    n_tuples = len(groups.counts)
    partners = [
        np.asarray(shared.T @ shared.sum(axis=1)).ravel() - 1.0 for shared in groups.sharing
    ]
    n_pairs = np.maximum(groups.n_pairs, 1).astype(float)
    exact = over_supersets(np.stack([*partners, np.zeros(n_tuples)]))
    return 1.0 / n_tuples - 0.5 * exact / n_pairs[:, None], n_pairs


def _overlap_of_noise(
    rows: Float[np.ndarray, "n q"], noise: Float[np.ndarray, " T"], groups: TupleGroups
) -> float:
    """Return tr(S S') / tr(S) tr(S') for covariances S and S' of the noise in different tuples."""
    parts = np.split(groups.order, np.cumsum(groups.counts)[:-1])
    total, scale = squares_of_product(rows, rows), noise.sum() ** 2
    if np.sum(noise > 0) > 1:
        total -= sum(squares_of_product(of, of) for of in (rows[part] for part in parts))
        scale -= np.sum(noise**2)
    return max(total, 0.0) / scale if scale > 0 else 0.0
