"""A training protocol: its steps, its batches, and their gradient time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows._inputs import recorded_steps

Record = Literal["geometric", "epochs"] | Sequence[int] | Int[np.ndarray, " T"]
RECORDS = 200  # target of the geometric grid
SHUFFLE = 101  # random stream of the order, separate from those of the task


@door
@dataclass(frozen=True)
class Protocol:
    r"""Protocol of stochastic gradient descent, without momentum or decay.

    Parameters
    ----------
    learning_rate : float, default 0.1
    epochs : int, default 40
    batch : int, default 128
        Samples in a batch.
    loss : {"element mean", "paper"}, default "element mean"
        "element mean" is :math:`\frac1d \|f(x) - x\|^2`, the loss of the published runs; "paper" is
        :math:`\frac12 \|f(x) - x\|^2`, the loss of the theory. Both are averaged over the batch.
    shuffle : {"once", "every epoch"}, default "once"
        The published runs shuffle once and repeat that order.
    last_batch : {"kept", "dropped"}, default "kept"
        Treatment of an incomplete last batch of an epoch; if kept, its mean is over its own size.

    Raises
    ------
    InputError
        For a learning rate that is not positive, epochs or a batch that are not whole numbers of
        at least 1, or an unknown option.

    Notes
    -----
    Yang et al. (ICLR 2025), appendix E, whose published runs average over elements.

    Examples
    --------
    >>> protocol = Protocol()
    >>> protocol.steps(15_000), protocol.time(protocol.steps(15_000), dimension=64)
    (4720, 14.75)
    """

    learning_rate: Real = 0.1
    epochs: int = 40
    batch: int = 128
    loss: Literal["element mean", "paper"] = "element mean"
    shuffle: Literal["once", "every epoch"] = "once"
    last_batch: Literal["kept", "dropped"] = "kept"

    def __post_init__(self) -> None:
        require(
            self.learning_rate > 0,
            "a learning rate is a positive number",
            self.learning_rate,
            "pass 0.1, say",
        )
        for name in ("epochs", "batch"):
            whole(name, getattr(self, name), 1, "pass one or more")

    @door
    def batches(self, n_samples: int) -> int:
        """Return the number of batches, and so of steps, in one epoch; at least one."""
        whole("n_samples", n_samples, 1, "pass the size of the training set")
        full, rest = divmod(n_samples, self.batch)
        count = full + (rest > 0 and self.last_batch == "kept")
        require(
            count >= 1,
            "an epoch has at least one batch",
            f"{n_samples} samples for batches of {self.batch}, the last one {self.last_batch}",
            'take smaller batches, or last_batch="kept"',
        )
        return count

    @door
    def steps(self, n_samples: int) -> int:
        """Return the number of steps of the whole training."""
        return self.epochs * self.batches(n_samples)

    @door
    def rate(self, dimension: int) -> float:
        r"""Return the gradient time of one step.

        It is :math:`2\eta/d` for the element mean and :math:`\eta` for the loss of the theory,
        whose gradient is d/2 times as large.

        Examples
        --------
        >>> 118 * Protocol().rate(64)
        0.36875
        """
        whole("dimension", dimension, 1, "pass that of the task")
        return self.learning_rate * (2.0 / dimension if self.loss == "element mean" else 1.0)

    @door
    def time(self, step: int, dimension: int) -> float:
        r"""Return the time of gradient flow on :math:`\frac12 E\|f(x) - x\|^2` after these steps.

        Parameters
        ----------
        step : int
        dimension : int
            d.

        Notes
        -----
        Derived here. With the element mean networks learn d/2 times slower at the same rate.
        """
        whole("step", step, 0, "pass 0 for the start")
        return self.rate(dimension) * step

    @door
    def recorded(self, record: Record, n_samples: int) -> Int[np.ndarray, " T"]:
        """Validate the steps to record; return them.

        Parameters
        ----------
        record : {"geometric", "epochs"} or sequence of int
            "geometric" spaces about 200 steps geometrically, from 0 to the last; "epochs" takes
            the start of each epoch and the end; or the steps themselves, increasing.
        n_samples : int

        Raises
        ------
        InputError
            For steps that don't increase or don't exist.

        Examples
        --------
        >>> Protocol(epochs=3).recorded("epochs", 15_000).tolist()
        [0, 118, 236, 354]
        """
        last = self.steps(n_samples)
        if isinstance(record, str):
            if record == "epochs":
                return np.arange(self.epochs + 1) * self.batches(n_samples)
            inner = np.unique(np.round(np.geomspace(1, last, _points(last))).astype(int))
            return np.concatenate([[0], inner])
        return recorded_steps(record, last)


def batch_order(
    protocol: Protocol, n_samples: int, seed: int
) -> tuple[Int[np.ndarray, "B batch"], Float[np.ndarray, "B batch"]]:
    """Return the samples of each batch, and their weights in its mean.

    A smaller last batch is filled up with sample 0 at weight 0. With "every epoch" there are as
    many rows as steps, with "once" as many as batches in an epoch.
    """
    turns = protocol.epochs if protocol.shuffle == "every epoch" else 1
    per_epoch, size = protocol.batches(n_samples), protocol.batch
    rng = np.random.default_rng([seed, SHUFFLE])
    n_used = min(n_samples, per_epoch * size)
    order = np.zeros((turns, per_epoch * size), dtype=np.int32)
    for turn in range(turns):
        order[turn, :n_used] = rng.permutation(n_samples)[:n_used]
    weights = np.zeros(per_epoch * size)
    weights[:n_used] = 1.0
    weights = weights.reshape(per_epoch, size)
    weights /= weights.sum(axis=1, keepdims=True)
    return order.reshape(-1, size), np.tile(weights, (turns, 1))


@cache
def _points(last: int) -> int:
    """Return how many geometric grid points give about 200 distinct steps after rounding."""
    points = np.arange(RECORDS, 4 * RECORDS, 4)
    counts = [len(np.unique(np.round(np.geomspace(1, last, n)))) for n in points]
    distances = np.abs(np.array(counts) - min(RECORDS, last))
    return int(points[int(np.argmin(distances))])
