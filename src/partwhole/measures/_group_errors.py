r"""Errors of similarities by overlap, from products of trials in different groups.

A similarity is a sum over pairs of groups. With offsets :math:`l_g` of what single groups add to
its error, and :math:`q_{gh}` of what two of them do together, the part of a pair is
:math:`e_{gh} = l_g + l_h + q_{gh}`: e = M l + q with the incidence matrix M of pairs and groups.
Parts are known less their mean, C e, so that for :math:`K = M^T C M`

.. math:: E\, |M^T C e|^2 = |K|^2 \sigma_l^2 + \mathrm{tr} K \, \sigma_q^2, \qquad
          E\, |C e|^2 = \mathrm{tr} K \, \sigma_l^2 + (R - 1)\, \sigma_q^2

over R pairs. Both variances follow, and with them that of the sum of parts,
:math:`|M^T 1|^2 \sigma_l^2 + R \sigma_q^2`; for several similarities they are matrices. Resampled
groups would count :math:`\sigma_q^2` twice. Derived here.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.measures._similarity import Products
from partwhole.measures._trial_errors import normal, student


def group_errors(
    products: Products, count: int, rng: np.random.Generator
) -> Float[np.ndarray, "B sets"]:
    """Draw errors of the similarities by overlap of groups that are independent.

    NaN for two groups, and for overlaps that no pair of groups has. Of three groups pairs can't be
    told from what single groups add, to which all is put down: errors are too large, if anything.
    """
    n_sets = products.n_pairs.shape[1]
    if len(products.groups) < 3:
        return np.full((count, n_sets), np.nan)
    of_groups, of_pairs, n_groups = error_variances(products)
    errors = student(count, n_groups - 1.0, rng) * normal(of_groups, count, rng)
    if len(products.groups) > n_groups:
        freedom = float(len(products.groups) - n_groups)
        errors += student(count, freedom, rng) * normal(of_pairs, count, rng)
    errors[:, :-1][:, products.n_pairs.sum(axis=0)[:-1] == 0] = np.nan
    return errors


def error_variances(
    products: Products,
) -> tuple[Float[np.ndarray, "sets sets"], Float[np.ndarray, "sets sets"], int]:
    """Return the covariance of errors that groups make alone, that of pairs, and the groups."""
    n_rows = len(products.groups)
    _, member = np.unique(products.groups, return_inverse=True)
    pairs = np.zeros((n_rows, int(member.max()) + 1))
    pairs[np.arange(n_rows)[:, None], member.reshape(-1, 2)] = 1.0
    parts = _parts(products)
    by_group, centred = pairs.T @ parts, pairs - pairs.mean(axis=0)
    inner = centred.T @ centred
    outer_groups, outer_pairs = by_group.T @ by_group, parts.T @ parts
    square, trace = float(np.sum(inner**2)), float(np.trace(inner))
    determinant = square * (n_rows - 1.0) - trace**2
    if determinant <= 1e-9 * square * n_rows:
        of_pair, of_group = np.zeros_like(outer_pairs), outer_groups / square
    else:
        of_pair = (square * outer_pairs - trace * outer_groups) / determinant
        of_group = ((n_rows - 1.0) * outer_groups - trace * outer_pairs) / determinant
    return float(np.sum(pairs.sum(axis=0) ** 2)) * of_group, n_rows * of_pair, len(inner)


def _parts(products: Products) -> Float[np.ndarray, "R sets"]:
    """Return the part of each pair of groups in the error of each similarity; they sum to 0."""
    tuples, n_pairs = products.n_tuples.astype(float), products.n_pairs.astype(float)
    n_pairs[:, -1] = 0.0
    squared = products.squared - tuples * (products.squared.sum() / tuples.sum())
    total = np.maximum(n_pairs.sum(axis=0), 1.0)
    half = products.half - n_pairs * (products.half.sum(axis=0) / total)
    return squared[:, None] / tuples.sum() - half / total
