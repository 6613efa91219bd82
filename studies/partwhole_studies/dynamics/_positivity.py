"""When the published recurrence leaves the maps that a network can have."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.optimize import root_scalar

from partwhole._types import Real


def determinant_after(
    w: Float[np.ndarray, "2 2"], signals: Float[np.ndarray, " 2"], step: Real
) -> float:
    r"""Return the determinant of a 2 x 2 map after one step of the recurrence while it grows.

    .. math:: \det W' = (1 + 2\eta a_1)(1 + 2\eta a_2) \det W - w_{12}^2 \eta^2 (a_1 - a_2)^2

    Examples
    --------
    >>> w = np.array([[0.02, 0.0195], [0.0195, 0.0195]])
    >>> f"{determinant_after(w, np.array([9.0, 1.0]), 0.01):.4e}"
    '9.3015e-06'
    """
    strong, weak = (1.0 + 2.0 * step * signals).tolist()
    lost = (w[0, 1] * step * (signals[0] - signals[1])) ** 2
    return float(strong * weak * np.linalg.det(w) - lost)


def foretold_step(w0: Float[np.ndarray, "d d"], signals: Float[np.ndarray, " d"]) -> float:
    r"""Foretell the largest step that keeps the recurrence positive semidefinite.

    While the map grows, each step multiplies entry ij by :math:`1 + \eta (a_i + a_j)`; with the
    correlations :math:`\rho_{ij}` of the initial map, after N steps

    .. math:: R_{ij} = \rho_{ij} \left[ \frac{1 + \eta (a_i + a_j)}
              {\sqrt{(1 + 2\eta a_i)(1 + 2\eta a_j)}} \right]^N

    must have no negative eigenvalue. Growth ends when the strongest entry would reach 1, after
    :math:`N = \ln(1/w_{ss}) / \ln(1 + 2\eta a_s)` steps. Steps end at 1 over the largest signal,
    beyond which the learned map is unstable. Within a tenth of what the recurrence does, for two
    concepts and where it lies below half of that.

    Examples
    --------
    >>> from partwhole_studies.dynamics._published import FAILURE
    >>> round(foretold_step(FAILURE.w0, np.diag(FAILURE.second_moment) ** 2), 5)
    0.00878
    """
    own = np.diagonal(w0)
    correlations = w0 / np.sqrt(np.outer(own, own))
    strong = int(np.argmax(signals))

    def least(step: float) -> float:
        alone = 1.0 + 2.0 * step * signals
        growth = (1.0 + step * (signals[:, None] + signals)) / np.sqrt(np.outer(alone, alone))
        steps = np.log(1.0 / own[strong]) / np.log(alone[strong])
        return float(np.linalg.eigvalsh(correlations * growth**steps)[0])

    limit = 1.0 / float(signals.max())
    if least(limit) >= 0:
        return limit
    return float(root_scalar(least, bracket=(1e-6 * limit, limit)).root)
