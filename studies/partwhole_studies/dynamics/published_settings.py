"""The settings of the published figures: as the paper describes them, and as they were run.

Where the two differ both are here, "caption" and "code". All matrix figures were run with the
square of the second moment (`power=2`) and the recurrence on W with a step of .01.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._types import Real
from partwhole.tasks import StructuredIdentity

STEP = 0.01
# One number of records for all flows of these figures, so that each size of matrix compiles once.
RECORDS = 2001

# The initial factors are from another library's generator, so that they are given as numbers.
_STREAM = (
    (0.03038305602967739, 0.08644746989011765, 0.09201551973819733, 0.013996744528412819),
    (0.05614424869418144, 0.08502353727817535, 0.09660958498716354, 0.07615965604782104),
    (0.08963590860366821, 0.09788796305656433, 0.028008241206407547, 0.07597397267818451),
    (0.04000703617930412, 0.012171393260359764, 0.026023060083389282, 0.04025319218635559),
)
_CENTRAL = (
    (0.12461433559656143, 0.1263686716556549, 0.19775985181331635),
    (0.015675317496061325, 0.007716166786849499, 0.10046793520450592),
    (0.060386549681425095, 0.19672195613384247, 0.023272013291716576),
)


@dataclass(frozen=True)
class Setting:
    """A matrix figure: its task, the second moment it used, and its initial matrix.

    Parameters
    ----------
    name : str
    task : StructuredIdentity
    factor : tuple of rows
        The initial U.
    updates : int
        Updates of the published recurrence that the figure shows.
    """

    name: str
    task: StructuredIdentity
    factor: tuple[tuple[float, ...], ...]
    updates: int = 10_000

    @property
    def w0(self) -> Float[np.ndarray, "d d"]:
        u = np.array(self.factor)
        return u @ u.T

    @property
    def second_moment(self) -> Float[np.ndarray, "d d"]:
        return self.task.second_moment()

    @property
    def probe(self) -> Float[np.ndarray, " d"]:
        return self.task.probe


def _rows(size: int) -> tuple[tuple[float, ...], ...]:
    flat = np.array(_STREAM).ravel()[: size * size]
    return tuple(tuple(row) for row in flat.reshape(size, size).tolist())


CENTRAL = Setting(
    "two concepts",
    StructuredIdentity(means=(1.0, 1.5), scales=(0.05, 0.05), dimension=3, noise=0.05),
    _CENTRAL,
    2_000,
)
TRIPLE_CAPTION = Setting(
    "three concepts, as captioned",
    StructuredIdentity(means=(1.0, 1.5, 2.2), scales=(0.05, 0.05, 0.05)),
    _rows(3),
)
TRIPLE_CODE = Setting(
    "three concepts, as run",
    StructuredIdentity(means=(1.0, 1.7, 2.25), scales=(0.5, 0.25, 0.25)),
    _rows(3),
)
QUADRUPLE_CAPTION = Setting(
    "four concepts, as captioned",
    StructuredIdentity(means=(1.0, 1.5, 2.2, 2.7), scales=(0.05, 0.05, 0.05, 0.5)),
    _rows(4),
)
QUADRUPLE_CODE = Setting(
    "four concepts, as run",
    StructuredIdentity(means=(1.0, 1.5, 2.2, 2.7), scales=(0.05, 0.05, 0.05, 0.05)),
    _rows(4),
)
FAILURE = Setting(
    "three concepts, the failure",
    StructuredIdentity(means=(0.7, 1.7, 3.0), scales=(0.05, 0.05, 0.05)),
    _rows(3),
)


def log_times(last: Real, records: int = RECORDS) -> Float[np.ndarray, " T"]:
    """Return 0 and times spaced evenly in their logarithm, over four decades up to the last."""
    return np.concatenate([[0.0], np.geomspace(1e-4 * last, last, records - 1)])
