r"""Transitive ordering: a ridge on the path of neighbours.

Each item has a rank g, and :math:`f(i, j) = g_i - g_j`. If the training pairs are neighbours, g
solves

.. math:: r g_i + \sum_{j \sim i} (g_i - g_j - \mathrm{sign}(j - i)) = 0, \qquad
          r = S_{12} / S = (1 - 2S)/S,

so it decays from both ends by the factor :math:`\rho < 1` with :math:`\rho + 1/\rho = r + 2`;
derived here.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole._types import Bounds, Real


@door
def transitive_ranks(
    n_items: Annotated[int, Bounds(at_least=2)],
    salience: Annotated[Real, Bounds(above=0, at_most=0.5)],
) -> Float[np.ndarray, " n"]:
    r"""Return the ranks g of a kernel learner that is trained on pairs of neighbouring items.

    For interior items :math:`g_i = A(\rho^i - \rho^{n-1-i})`; the ends fix
    :math:`A = 1 / ((r + 1)(1 - \rho^{n-1}) - \rho + \rho^{n-2})`.

    Parameters
    ----------
    n_items : int
        n, at least 2.
    salience : float
        S(1; 2), in (0, 1/2]; at 1/2 ranks are equally spaced, one apart for each step.

    Returns
    -------
    float array, shape (n,)
        Falling; f(i, j) = g_i - g_j is positive when i comes first.

    Raises
    ------
    InputError
        For fewer than two items or a salience out of range.

    Notes
    -----
    The task is that of Lippl & Stachenfeld (ICLR 2025); the solution is derived here.

    Examples
    --------
    >>> transitive_ranks(7, 0.4).round(6).tolist()
    [0.976744, 0.465116, 0.186047, 0.0, -0.186047, -0.465116, -0.976744]
    """
    i = np.arange(n_items)
    r = (1.0 - 2.0 * salience) / salience
    if r * n_items**2 < 1e-12:
        return (n_items - 1) / 2.0 - i
    # The formula above, divided by its largest power. With rho = exp(-2 t), sinh(t) = sqrt(r) / 2,
    # no difference cancels.
    t = np.arcsinh(np.sqrt(r) / 2.0)
    first, second = -np.expm1(-2.0 * t * (n_items - 1)), -np.expm1(-2.0 * t * (n_items - 3))
    ends = (r + 1.0) * first - np.exp(-2.0 * t) * second
    # Ranks are antisymmetric about the middle, so each is computed from the nearer end.
    left = n_items - 1 - 2.0 * i
    from_end = np.minimum(i, n_items - 1 - i)
    return np.sign(left) * np.exp(-2.0 * t * from_end) * -np.expm1(-2.0 * t * np.abs(left)) / ends
