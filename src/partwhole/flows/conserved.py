"""What gradient flow of a diagonal network conserves, whatever it learns."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.flows._path import Path
from partwhole.limits.diagonal import DiagonalWeights


@door
def drift(path: Path) -> float:
    r"""Return by how much what the flow conserves has changed, at most, over all features.

    Per feature, :math:`w_+^2 - |v_+|^2`, :math:`w_-^2 - |v_-|^2` and
    :math:`w_+ w_- + v_+ \cdot v_-`; for one task also :math:`w_+ v_- + v_+ w_-`. It measures
    the error of the integration.

    Parameters
    ----------
    path : Path
        Of a diagonal network.

    Returns
    -------
    float

    Raises
    ------
    InputError
        For the path of another network.

    Examples
    --------
    >>> from partwhole.flows import Diagonal, flow
    >>> system = Diagonal(DiagonalWeights.constant(1, 0.1), np.ones((1, 1)), np.ones(1))
    >>> drift(flow(system, np.array([0.0, 10.0]))) < 1e-12
    True
    """
    weights = path.weights
    require(
        weights is not None,
        "what is conserved is read from the weights of a diagonal network",
        "a path without weights",
        "follow a Diagonal by flow",
    )
    assert weights is not None
    constants = conserved(weights, many_tasks=weights.readout_plus.ndim == 3)
    return float(np.abs(constants - constants[:, :1]).max())


def conserved(weights: DiagonalWeights, *, many_tasks: bool) -> Float[np.ndarray, "q *b d"]:
    r"""Return the quantities that gradient flow conserves, whatever the loss.

    Parameters
    ----------
    weights : DiagonalWeights
        Hidden weights of shape (..., d); readouts of that shape too, or (..., k, d).
    many_tasks : bool, keyword-only
        Whether the readouts have the axis of tasks.

    Returns
    -------
    float array, shape (3, ..., d), or (4, ..., d) for one task

    Notes
    -----
    With :math:`u = -\partial L / \partial \beta`, :math:`(w_+, v_+)` and
    :math:`(w_-, -v_-)` both obey :math:`\dot w = u \cdot v, \dot v = u w`. So the products
    :math:`w w' - v \cdot v'` of the two with themselves and with each other stay; for one task
    :math:`w v' - v w'` too. The first two are in the published work; the others are derived here.

    Examples
    --------
    >>> conserved(DiagonalWeights.constant(1, 0.1), many_tasks=False).round(9).ravel().tolist()
    [0.0, 0.0, 0.02, 0.02]
    """
    w, v, x, y = (np.asarray(layer) for layer in weights)

    def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a * b).sum(axis=-2) if many_tasks else a * b

    constants = [w**2 - dot(v, v), x**2 - dot(y, y), w * x + dot(v, y)]
    return np.stack(constants if many_tasks else [*constants, w * y + v * x])
