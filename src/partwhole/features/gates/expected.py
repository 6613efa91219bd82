r"""Probability that random gates treat two inputs equally: kernels of infinitely many units."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index


@door(any_size=("inputs",))
def expected_agreement(
    inputs: Float[np.ndarray, "n d"],
    others: Float[np.ndarray, "m d"] | None = None,
    *,
    n_hyperplanes: Index = 1,
) -> Float[np.ndarray, "n m"]:
    r"""Return the share of half-space units that have two inputs in the same context.

    .. math:: (1 - \alpha / \pi)^k

    for k hyperplanes through the origin, their directions all alike, and inputs at an angle
    :math:`\alpha`. Times :math:`\langle x, x' \rangle` it is the kernel of infinitely many units
    whose weights are l2-regularised.

    Parameters
    ----------
    inputs : float array, shape (n, d)
        None of them 0, which has no angle.
    others : float array, shape (m, d), optional
        By default the inputs themselves.
    n_hyperplanes : int, keyword-only, default 1

    Returns
    -------
    float array, shape (n, m)

    Raises
    ------
    InputError
        For an input of 0 or not finite, others of another dimension, or fewer than 0
        hyperplanes.

    Notes
    -----
    Derived here: two inputs lie on different sides of a random hyperplane with probability
    :math:`\alpha / \pi`.

    Examples
    --------
    >>> expected_agreement(np.array([[1.0, 0.0], [1.0, 1.0]]), n_hyperplanes=3).round(4)[0].tolist()
    [1.0, 0.4219]
    """
    return (1.0 - _angles(inputs, others) / np.pi) ** n_hyperplanes


@door
def expected_relu_agreement(
    inputs: Float[np.ndarray, "n d"], others: Float[np.ndarray, "m d"] | None = None
) -> Float[np.ndarray, "n m"]:
    r"""Return the share of ReLU units that are on for both of two inputs.

    .. math:: (\pi - \alpha) / 2\pi

    for random gates through the origin; half the arc-cosine kernel of order 0 (Cho & Saul,
    2009).

    Parameters
    ----------
    inputs : float array, shape (n, d)
    others : float array, shape (m, d), optional

    Returns
    -------
    float array, shape (n, m)

    Raises
    ------
    InputError
        For an input of 0 or not finite, or others of another dimension.

    Examples
    --------
    >>> expected_relu_agreement(np.array([[1.0, 0.0], [0.5, 3**0.5 / 2]])).round(4)[0].tolist()
    [0.5, 0.3333]
    """
    return (np.pi - _angles(inputs, others)) / (2.0 * np.pi)


def _angles(inputs: np.ndarray, others: np.ndarray | None) -> np.ndarray:
    directions = []
    for rows in (inputs, inputs if others is None else others):
        # Squares of the very large and very small are no numbers.
        rows = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), 1e-300)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        n_zero = int(np.sum(length == 0.0))
        require(
            not n_zero, "inputs have a direction", f"{n_zero} that are 0", "add a constant input"
        )
        directions.append(rows / length)
    first, two = directions
    # By half-angles: the arccosine loses half its digits for inputs that are nearly alike.
    from scipy.spatial.distance import cdist

    return 2.0 * np.arctan2(cdist(first, two), cdist(first, -two))
