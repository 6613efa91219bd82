"""What the flow of a diagonal network returns: its weights over time, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.flows._follow import Ending
from partwhole.limits.diagonal import DiagonalWeights

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class DiagonalPath:
    r"""Hold the weights of a diagonal network over time, for one task or for k that share a layer.

    Parameters
    ----------
    times : float array, shape (T,)
        In the time of gradient flow on `loss`, increasing. The last is where the flow stopped.
    weights : DiagonalWeights
        Hidden weights of shape (T, d); readouts of shape (T, d), or (T, k, d) for k tasks.
    loss : float array, shape (T,)
        The training loss, whose gradient the weights follow.
    task_losses : float array, shape (T, k)
        The mean square error of each task on its own.
    outcome : Ending
        How the flow ended.
    """

    times: Float[np.ndarray, " T"]
    weights: DiagonalWeights
    loss: Float[np.ndarray, " T"]
    task_losses: Float[np.ndarray, "T k"]
    outcome: Ending

    @property
    def coefficients(self) -> np.ndarray:
        r"""Return what the network computes, :math:`\beta`; shape (T, d), or (T, k, d)."""
        return self.weights.coefficients

    @property
    def end(self) -> DiagonalWeights:
        """Return the weights where the flow stopped."""
        return DiagonalWeights(*(each[-1] for each in self.weights))

    @property
    def ended_well(self) -> bool:
        """Return whether the last time, or the training loss asked for, was reached."""
        return self.outcome in (Ending.REACHED, Ending.FITTED)

    @property
    def summary(self) -> str:
        """Return where and how the flow ended, in a sentence."""
        return (
            f"At time {self.times[-1]:.4g}, with a training loss of {self.loss[-1]:.3g}: "
            f"{self.outcome.value}."
        )

    @property
    def drift(self) -> float:
        r"""Return by how much what the flow conserves has changed, at most, over all features.

        Per feature, :math:`w_+^2 - |v_+|^2`, :math:`w_-^2 - |v_-|^2` and
        :math:`w_+ w_- + v_+ \cdot v_-`; for one task also
        :math:`w_+ v_- + v_+ w_-`. It measures the error of the integration.
        """
        kept = conserved(self.weights, many_tasks=self.weights.readout_plus.ndim == 3)
        return float(np.abs(kept - kept[:, :1]).max())

    def to_frame(self) -> pd.DataFrame:
        """Return the path as a table: a row for each time; loss, and beta1, beta2, ... as columns.

        With k tasks the columns are loss_1 ... and beta1_1, beta1_2, ...: feature, then task.

        Returns
        -------
        DataFrame
        """
        import pandas as pd

        table = {"time": self.times, "loss": self.loss}
        beta = self.coefficients
        if beta.ndim == 2:
            table |= {f"beta{d + 1}": beta[:, d] for d in range(beta.shape[1])}
        else:
            k, dimension = beta.shape[1:]
            table |= {f"loss_{t + 1}": self.task_losses[:, t] for t in range(k)}
            table |= {
                f"beta{d + 1}_{t + 1}": beta[:, t, d] for d in range(dimension) for t in range(k)
            }
        return pd.DataFrame(table)


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
    w, v, x, y = (np.asarray(each) for each in weights)

    def dot(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (one * other).sum(axis=-2) if many_tasks else one * other

    found = [w**2 - dot(v, v), x**2 - dot(y, y), w * x + dot(v, y)]
    return np.stack(found if many_tasks else [*found, w * y + v * x])


def check_weights(weights: DiagonalWeights, *, many_tasks: bool) -> DiagonalWeights:
    """Require the weights of one network; return them as floats."""
    w, v, _, _ = layers = weights.checked()
    require(
        w.ndim == 1 and v.ndim == (2 if many_tasks else 1),
        "a flow starts at one network, with hidden weights of shape (d,) and readouts of shape "
        + ("(k, d)" if many_tasks else "(d,)"),
        f"shapes {w.shape} and {v.shape}",
        "call it once for each network"
        + ("" if many_tasks else "; for several tasks, use multitask_flow"),
    )
    require(
        all(np.isfinite(each).all() for each in layers),
        "initial weights are finite",
        "NaN or infinity",
        "replace them",
    )
    return layers
