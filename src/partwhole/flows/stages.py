r"""The stages of learning, read off a path: what grows, what is suppressed, what is learned.

Major entries are those of the concepts on the diagonal; minor ones join a concept to any other
coordinate; the rest is irrelevant. As a major entry saturates, the minor entries in its row and
column turn over.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows._inputs import moment, signals
from partwhole.flows._path import Path

if TYPE_CHECKING:
    import pandas as pd

FADED = 0.1  # of its peak: below it, suppression of a minor entry is over


class Phase(IntEnum):
    """Motion of an entry at one time."""

    SUPPRESSION = -1
    REST = 0
    GROWTH = 1
    SATURATION = 2


@dataclass(frozen=True)
class Stage:
    """One stretch of a path, for shading a plot.

    Parameters
    ----------
    name : {"growth", "saturation", "suppression"}
        Until the leading concept is learned; until its minor entries turn over; until the next
        concept is learned.
    start, stop : float
    concept : int
        The leading concept, counted from 0.
    """

    name: Literal["growth", "saturation", "suppression"]
    start: float
    stop: float
    concept: int


@dataclass(frozen=True, eq=False)
class Stages:
    """Times at which each entry of a path grows, peaks and saturates.

    Parameters
    ----------
    times : float array, shape (T,)
    phases : int array, shape (T, d, d)
        A `Phase` for each entry at each time.
    order : int array, shape (s,)
        The concepts by falling signal.
    learned, saturated : float arrays, shape (d,)
        When each diagonal entry first crosses the two thresholds; NaN if it does not, or is no
        concept's.
    turnovers : float array, shape (d,)
        When the minor entries of each concept with everything weaker are largest together (their
        root sum of squares); NaN if that is at an end of the path.
    peak_times, peak_heights : float arrays, shape (d, d)
        Where each entry is largest in size, and its value there.
    stages : tuple of Stage
        In the order in which the concepts are learned.
    """

    times: Float[np.ndarray, " T"]
    phases: Int[np.ndarray, "T d d"]
    order: Int[np.ndarray, " s"]
    learned: Float[np.ndarray, " d"]
    saturated: Float[np.ndarray, " d"]
    turnovers: Float[np.ndarray, " d"]
    peak_times: Float[np.ndarray, "d d"]
    peak_heights: Float[np.ndarray, "d d"]
    stages: tuple[Stage, ...]

    @door
    def kind(self, row: int, column: int) -> Literal["major", "minor", "irrelevant"]:
        """Return the kind of an entry."""
        if row not in self.order and column not in self.order:
            return "irrelevant"
        return "major" if row == column else "minor"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each entry on the diagonal or above it."""
        import pandas as pd

        rows, columns = np.triu_indices(len(self.learned))
        diagonal = rows == columns
        return pd.DataFrame(
            {
                "row": rows,
                "column": columns,
                "kind": [self.kind(int(i), int(j)) for i, j in zip(rows, columns, strict=True)],
                "peak_time": self.peak_times[rows, columns],
                "peak_height": self.peak_heights[rows, columns],
                "learned": np.where(diagonal, self.learned[rows], np.nan),
                "saturated": np.where(diagonal, self.saturated[rows], np.nan),
                "turnover": np.where(diagonal, self.turnovers[rows], np.nan),
            }
        )


@door
def stages(
    path: Path,
    second_moment: Float[np.ndarray, "d d"],
    *,
    learned: Real = 0.5,
    saturated: Real = 0.8,
) -> Stages:
    r"""Divide a path into its stages.

    An entry is in growth while its size grows, :math:`\dot w / w > 0`, and in suppression while
    it falls. A major entry at or above `saturated` is in saturation. A minor entry that has
    fallen below a tenth of its peak is at rest, and so is one that does not move.

    Parameters
    ----------
    path : Path
        One path, of any learner, on a grid fine enough to show its turns: rates are differences
        between neighbouring times, crossings are interpolated linearly and peaks by a parabola.
    second_moment : float array, shape (d, d)
        Diagonal; which coordinates are concepts, and their order, is read off it.
    learned, saturated : float, keyword-only, defaults 0.5 and 0.8
        Thresholds of the major entries.

    Returns
    -------
    Stages

    Raises
    ------
    InputError
        For a batch of paths, fewer than three times, states that are not finite, a second moment
        that is not diagonal, or thresholds that are not in order between 0 and 1.

    Notes
    -----
    Yang et al. (ICLR 2025), section 4.3, whose threshold of saturation is 0.8; the boundaries of
    the stages are defined here.

    Examples
    --------
    >>> from partwhole.flows.cholesky_path import cholesky_path
    >>> w0, a = 0.001 * np.array([[1, 0.5], [0.5, 1]]), np.diag([4.5025, 0.5025])
    >>> found = stages(cholesky_path(w0, a, np.linspace(0, 12, 2401)), a)
    >>> found.learned.round(3), found.turnovers.round(3)
    (array([0.767, 7.159]), array([0.868,   nan]))
    >>> [(stage.name, round(stage.start, 2)) for stage in found.stages]
    [('growth', 0.0), ('saturation', 0.77), ('suppression', 0.87), ('saturation', 7.16)]
    """
    require(
        path.states.ndim == 3 and len(path.times) >= 3,
        "stages are read from one path of three times or more",
        f"states of shape {path.states.shape}",
        "pick one path of the batch, and ask for more times",
    )
    require(
        0 < learned <= saturated < 1,
        "the thresholds obey 0 < learned <= saturated < 1",
        f"{learned}, {saturated}",
        "use 0.5 and 0.8",
    )
    t, w = path.times, path.states
    require(
        np.isfinite(w).all(), "a path's states are finite", path.outcome.value, "cut it before that"
    )
    a = signals(moment(second_moment, w.shape[-1]))
    order = np.argsort(-a, kind="stable")
    order = order[a[order] > 0]
    require(len(order) > 0, "there is a concept", "a second moment of 0", "pass E[x x']")
    d = len(a)
    major = np.diagonal(w, axis1=1, axis2=2)
    is_concept = a > 0

    learns, fills = np.full(d, np.nan), np.full(d, np.nan)
    for k in order:
        learns[k] = _crossing(t, major[:, k], learned)
        fills[k] = _crossing(t, major[:, k], saturated)
    peaks = [[_peak(t, w[:, i, j]) for j in range(d)] for i in range(d)]
    turnovers = np.full(d, np.nan)
    silent = np.flatnonzero(~is_concept)
    for place, k in enumerate(order):
        weaker = [*order[place + 1 :], *silent]
        together = np.sqrt((w[:, k, weaker] ** 2).sum(axis=1))
        turn = _peak(t, together)[0]
        turnovers[k] = turn if t[0] < turn < t[-1] else np.nan
    return Stages(
        times=t,
        phases=_phases(t, w, is_concept, float(saturated)),
        order=order,
        learned=learns,
        saturated=fills,
        turnovers=turnovers,
        peak_times=np.array([[time for time, _ in row] for row in peaks]),
        peak_heights=np.array([[height for _, height in row] for row in peaks]),
        stages=_stages(t, learns, turnovers, int(order[0])),
    )


def _phases(
    t: Float[np.ndarray, " T"], w: Float[np.ndarray, "T d d"], is_concept: np.ndarray, full: float
) -> Int[np.ndarray, "T d d"]:
    size = np.abs(w)
    phases = np.sign(np.gradient(size, t, axis=0)).astype(int)
    diagonal = np.eye(w.shape[-1], dtype=bool)
    after = np.arange(len(t))[:, None, None] > size.argmax(axis=0)
    phases[after & ~diagonal & (size < FADED * size.max(axis=0))] = Phase.REST
    phases[(diagonal & is_concept) & (w >= full)] = Phase.SATURATION
    return phases


def _crossing(t: Float[np.ndarray, " T"], w: Float[np.ndarray, " T"], level: Real) -> float:
    above = w >= level
    if not above.any():
        return float("nan")
    i = int(above.argmax())
    if i == 0:
        return float(t[0])
    return float(t[i - 1] + (level - w[i - 1]) / (w[i] - w[i - 1]) * (t[i] - t[i - 1]))


def _peak(t: Float[np.ndarray, " T"], w: Float[np.ndarray, " T"]) -> tuple[float, float]:
    """Return the time and value at which w is largest in size, by a parabola inside the grid."""
    i = int(np.abs(w).argmax())
    if i in (0, len(t) - 1):
        return float(t[i]), float(w[i])
    before, after = t[i - 1] - t[i], t[i + 1] - t[i]
    left, right = (w[i - 1] - w[i]) / before, (w[i + 1] - w[i]) / after
    bend = (right - left) / (after - before)
    if bend == 0:
        return float(t[i]), float(w[i])
    slope = left - bend * before
    return float(t[i] - 0.5 * slope / bend), float(w[i] - 0.25 * slope**2 / bend)


def _stages(
    t: Float[np.ndarray, " T"],
    learned: Float[np.ndarray, " d"],
    turnovers: Float[np.ndarray, " d"],
    strongest: int,
) -> tuple[Stage, ...]:
    last = float(t[-1])
    concepts = [int(k) for k in np.argsort(learned) if np.isfinite(learned[k])]
    if not concepts:
        return (Stage("growth", float(t[0]), last, strongest),)
    parts = [Stage("growth", float(t[0]), float(learned[concepts[0]]), concepts[0])]
    for place, k in enumerate(concepts):
        start = float(learned[k])
        stop = float(learned[concepts[place + 1]]) if place + 1 < len(concepts) else last
        turn = stop if np.isnan(turnovers[k]) else float(np.clip(turnovers[k], start, stop))
        parts.append(Stage("saturation", start, turn, k))
        parts.append(Stage("suppression", turn, stop, k))
    return tuple(stage for stage in parts if stage.stop > stage.start)
