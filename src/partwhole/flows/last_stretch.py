r"""The last stretch of learning several tasks: where the flow ends if its tangent kernel stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits.diagonal import DiagonalWeights


class TangentEnd(NamedTuple):
    """End of the flow to first order, and how much it neglects.

    Parameters
    ----------
    coefficients : float array, shape (k, d)
        Of each task.
    growth : float
        By how much a weight's logarithm still changes, at most. What is neglected is about this
        share of the stretch.
    """

    coefficients: Float[np.ndarray, "k d"]
    growth: float


@door
def tangent_end(weights: DiagonalWeights, tasks: Sequence[QuadraticLoss]) -> TangentEnd:
    r"""Return where gradient flow on several tasks ends if its tangent kernel stays as it is.

    Features share a hidden weight between tasks; with

    .. math:: K_i = (w_{+,i}^2 + w_{-,i}^2) I + v_{+,i} v_{+,i}^T + v_{-,i} v_{-,i}^T

    the coefficients of feature i move by :math:`K_i R_i^T \lambda`, whatever the shares of the
    tasks, until all are fitted.

    Parameters
    ----------
    weights : DiagonalWeights, hidden of shape (d,), readouts of shape (k, d)
        Late in learning, as the flow of a `Diagonal` leaves them.
    tasks : sequence of QuadraticLoss, length k

    Returns
    -------
    TangentEnd

    Raises
    ------
    InputError
        For another number of tasks than of readouts.

    Notes
    -----
    Derived here. A flow followed to a training loss of 1e-8 and ended so is as near to its end as
    one followed to 1e-10.

    Examples
    --------
    >>> from partwhole.flows import Diagonal, flow
    >>> tasks = [
    ...     QuadraticLoss.from_population(np.array([1.0, 0.0])),
    ...     QuadraticLoss.from_sample(np.array([[1.0, 1.0]]), np.array([0.5])),
    ... ]
    >>> start = DiagonalWeights.constant(2, 0.01, n_tasks=2)
    >>> path = flow(Diagonal(start, tasks=tasks, shares=(0.5, 0.5)), until=1e-8)
    >>> end = tangent_end(path.end, tasks)
    >>> bool(abs(end.coefficients[1].sum() - 0.5) < 1e-12), end.growth < 0.1
    (True, True)
    """
    readouts = weights.readout_plus.shape[0]
    require(
        weights.readout_plus.ndim == 2 and len(tasks) == readouts,
        "there is a task for each readout of one network",
        f"{len(tasks)} tasks, readouts of shape {weights.readout_plus.shape}",
        "pass the tasks of Diagonal, and the last weights of its path",
    )
    plus, minus = weights.readout_plus, weights.readout_minus
    beta = weights.coefficients
    kernel = np.einsum("ti,si->tsi", plus, plus) + np.einsum("ti,si->tsi", minus, minus)
    kernel += np.eye(readouts)[:, :, None] * (weights.hidden_plus**2 + weights.hidden_minus**2)
    rows = [task.rows for task in tasks]
    gram = np.block([[_product(a, kernel[t, s], b) for s, b in enumerate(rows)]
                     for t, a in enumerate(rows)])  # fmt: skip
    missing = [-task.residual(b) for task, b in zip(tasks, beta, strict=True)]
    unit = 1.0 / np.sqrt(np.diag(gram))  # features that have hardly grown are small
    right = unit * np.concatenate(missing)
    solved = unit * scipy.linalg.solve(gram * np.outer(unit, unit), right, assume_a="pos")
    parts = np.split(solved, np.cumsum([len(gap) for gap in missing])[:-1])
    push = np.stack([p if row is None else row.T @ p for p, row in zip(parts, rows, strict=True)])
    coefficients = beta + np.einsum("tsi,si->ti", kernel, push)
    return TangentEnd(coefficients, float(np.abs(push).max()))


def _product(
    left: Float[np.ndarray, "m d"] | None,
    middle: Float[np.ndarray, " d"],
    right: Float[np.ndarray, "n d"] | None,
) -> Float[np.ndarray, "m n"]:
    """Return the rows' product through a diagonal; None is the identity."""
    scaled = np.diag(middle) if left is None else left * middle
    return scaled if right is None else scaled @ right.T
