"""Predictions for one task and one initial matrix: order, times, rise and fall of the error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Positive
from partwhole.flows._inputs import Power
from partwhole.flows._path import PACE, Path
from partwhole.flows.cholesky_path import cholesky_path
from partwhole.flows.clocks import LearningClocks, lacking, learning_clocks
from partwhole.flows.flow import flow
from partwhole.flows.stages import Stages, stages
from partwhole.flows.tied import Tied
from partwhole.measures import extrema, swing
from partwhole.measures.extrema import Extrema
from partwhole.measures.swing import Swing
from partwhole.tasks import StructuredIdentity

if TYPE_CHECKING:
    import pandas as pd

# Records for each decade of time: apart by a 300th of the time itself.
DENSITY = 700
ROUNDING = 1e-9  # of the first loss


@dataclass(frozen=True, eq=False)
class Forecast:
    """Prediction of what a tied two-layer network learns, and when.

    Parameters
    ----------
    task : StructuredIdentity
    clocks : LearningClocks
        When each concept is half learned, read from the initial matrix alone.
    path : Path
        The flow, integrated.
    stages : Stages
        What grows, peaks and is learned along the flow.
    loss : float array, shape (T,)
        The error at the unseen combination along the flow.
    extrema, formula : Extrema
        Its inner minima and maxima: along the flow, and by the closed form without integrating.
    formula_valid : bool
        Whether the conditions hold under which the closed form is accurate.
    swing : Swing
        The largest rise of that error. Relative to the plateau on which it ends: the error of a
        learner of just the concepts that are half learned by then, or of all but the last.
    """

    task: StructuredIdentity
    clocks: LearningClocks
    path: Path
    stages: Stages
    loss: Float[np.ndarray, " T"]
    extrema: Extrema
    formula: Extrema
    formula_valid: bool
    swing: Swing

    @property
    def order(self) -> tuple[int, ...]:
        """The concepts in the order in which the flow learns them, counted from 0."""
        times = self.stages.learned[: self.task.n_concepts]
        return tuple(int(k) for k in np.argsort(times, kind="stable") if np.isfinite(times[k]))

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each concept: signal, pivot, predicted and integrated time.

        A predicted time is infinite for a concept that is never learned. An integrated one is NaN
        where the path ends before.
        """
        table = self.clocks.to_frame().rename(columns={"time": "predicted"})
        concepts = table["concept"].to_numpy()
        table["flow"] = self.stages.learned[concepts]
        return table.loc[concepts < self.task.n_concepts].reset_index(drop=True)

    def describe(self) -> str:
        """Return a few lines: when each concept is learned, and how the error moves."""
        unit = f"{self.path.clock} time"
        lines = [f"In {unit}, from the initial matrix (predicted) and integrated (flow):"]
        lines.append("concept  mean    signal    predicted  flow")
        table = self.to_frame()
        columns = (table[name] for name in ("concept", "signal", "predicted", "flow"))
        for concept, signal, predicted, integrated in zip(*columns, strict=True):
            mean = self.task.means[concept]
            lines.append(
                f"{concept + 1:<8} {mean:<7.4g} {signal:<9.4g} {_time(predicted):<10} "
                f"{'never' if np.isinf(predicted) and np.isnan(integrated) else _time(integrated)}"
            )
        lines.extend(wrap(self._error(), 90))
        lines.extend(f"Note: {note}." for note in self.path.notes)
        return "\n".join(lines)

    def _error(self) -> str:
        turning_points, start, end = self.extrema, float(self.loss[0]), float(self.loss[-1])
        turns = [
            f"{'falls to' if kind == 'minimum' else 'rises to'} {value:.3g} at {time:.3g}"
            for kind, time, value in zip(
                turning_points.kinds, turning_points.times, turning_points.values, strict=True
            )
        ]
        before = float(turning_points.values[-1]) if len(turning_points) else start
        if end <= before:
            by_the_end = "" if end < 0.01 * start else f" to {end:.3g} at the end of the path"
            turns.append(
                f"then falls{by_the_end}" if len(turning_points) else f"only falls{by_the_end}"
            )
        else:
            # What moves by less than this over the last tenth of the time has settled.
            late = float(np.interp(0.9 * self.path.times[-1], self.path.times, self.loss))
            ending = "stays there" if abs(end - late) < 1e-3 * end else "is still rising there"
            turns.append(f"then rises to {end:.3g} at the end of the path and {ending}")
        sentence = f"The error at the unseen combination {', '.join(turns)}"
        if not self.swing.occurs:
            return f"{sentence}: no swing-by."
        of = self.swing.relative
        percent = f"{100 * of:.2g}" if of < 0.995 else f"{100 * of:.0f}"
        rise = f"a rise of {percent} % of the plateau" if np.isfinite(of) else "a rise"
        if "maximum" in turning_points.kinds:
            return f"{sentence}: swing-by, {rise}."
        return f"{sentence}: {rise}, and no fall after it."


@door
def forecast(
    task: StructuredIdentity,
    w0: Float[np.ndarray, "d d"],
    *,
    clock: Literal["paper", "gradient"] = "paper",
    power: Power = 1,
    horizon: Positive | None = None,
    second_moment: Float[np.ndarray, "d d"] | None = None,
    max_steps: Count = 65_536,
) -> Forecast:
    """Predict how a tied two-layer network learns a task, without training it.

    Parameters
    ----------
    task : StructuredIdentity
    w0 : float array, shape (d, d)
        Initial input-output matrix UU', symmetric and positive semidefinite, in the frame of the
        concepts.
    clock : {"paper", "gradient"}, keyword-only, default "paper"
    power : {1, 2}, keyword-only, default 1
        2 puts the square of the second moment in its place, as the published figures do.
    horizon : float, keyword-only, default None
        Last time; None is well after the last concept that can be learned.
    second_moment : float array, shape (d, d), keyword-only, default None
        Diagonal; None for `task.second_moment()`. Say, with another number of clusters.
    max_steps : int, keyword-only, default 65536
        Of the integration.

    Returns
    -------
    Forecast

    Raises
    ------
    InputError
        As `Tied`; for a second moment that is not diagonal; for a truncated task, unless a
        second moment is given; or when no concept can be learned and no horizon is given.

    Notes
    -----
    Yang et al. (ICLR 2025), section 4, for the model; clocks and closed form are derived here.

    Examples
    --------
    >>> task = StructuredIdentity(means=[3, 1], scales=[0.05, 0.05])
    >>> found = forecast(task, 0.01 * np.array([[1, 0.5], [0.5, 1]]))
    >>> found.order, found.swing.occurs
    ((0, 1), True)
    >>> print(found.describe())
    In paper time, from the initial matrix (predicted) and integrated (flow):
    concept  mean    signal    predicted  flow
    1        3       4.503     0.51       0.511
    2        1       0.5025    4.86       4.85
    The error at the unseen combination falls to 0.401 at 0.846, rises to 0.445 at 1.66, then
    falls: swing-by, a rise of 8.8 % of the plateau.
    """
    a = task.second_moment() if second_moment is None else second_moment
    clocks = learning_clocks(w0, a, clock=clock, power=power)
    require(
        clocks.dimension == task.n_dimensions,
        f"the initial matrix is in the task's {task.n_dimensions} dimensions",
        f"{clocks.dimension}",
        "pass one of that size, or a task with dimension=",
    )
    # Axes beyond the concepts may have a signal too, from noise: they hold no mean to learn.
    mine = np.isfinite(clocks.times) & (clocks.order < task.n_concepts)
    if horizon is None:
        require(
            mine.any(),
            "a horizon is given where no concept can be learned",
            "an initial matrix without any concept in it",
            "start from another matrix, or pass horizon=",
        )
        # Three relaxation times of the weakest signal after the last clock.
        weakest = clocks.signals[clocks.order < task.n_concepts].min()
        horizon = float(clocks.times[mine].max() + 3.0 / (PACE[clock] * weakest))
    fastest = PACE[clock] * float(clocks.signals.max(initial=0.0)) * max(1.0, np.abs(w0).max())
    times = _records(float(horizon), fastest)
    path = flow(Tied(w0, a, power), times, clock=clock, max_steps=max_steps)
    path = replace(path, notes=_notes(path.notes, clocks, task.n_concepts))
    approximation = cholesky_path(w0, a, times, clock=clock, power=power)
    loss = path.probe_losses(task.probe)
    floor = ROUNDING * float(loss[0])
    return Forecast(
        task,
        clocks,
        path,
        stages(path, a),
        loss,
        extrema(times, loss, floor=floor),
        extrema(times, approximation.probe_losses(task.probe), floor=floor),
        approximation.valid,
        _swing(task, clocks, path, loss, floor),
    )


def _records(horizon: float, fastest: float) -> Float[np.ndarray, " T"]:
    """Return times to a horizon, from well before anything moves at the fastest rate.

    In whole decades, so that few lengths of a path are ever compiled.
    """
    first = min(1e-3 * horizon, 0.02 / fastest if fastest else np.inf)
    decades = int(np.ceil(np.log10(horizon / first) - 1e-9))
    start = horizon * 10.0**-decades
    return np.concatenate([[0.0], np.geomspace(start, horizon, DENSITY * decades)])


def _notes(notes: tuple[str, ...], clocks: LearningClocks, n_concepts: int) -> tuple[str, ...]:
    """Return the notes of a path; only of concepts do they say that they are never learned."""
    unlearned = sorted(int(k) for k in clocks.order[np.isinf(clocks.times)])
    if not unlearned or unlearned[-1] < n_concepts:
        return notes
    sentences = (
        [lacking([k for k in unlearned if k < n_concepts])] if unlearned[0] < n_concepts else []
    )
    axes = ", ".join(str(k + 1) for k in unlearned if k >= n_concepts)
    return (
        *sentences,
        f"the initial matrix has nothing on axis {axes} (counted from 1), which has noise",
    )


def _swing(
    task: StructuredIdentity, clocks: LearningClocks, path: Path, loss: np.ndarray, floor: float
) -> Swing:
    """Find the largest rise of the loss, in units of the plateau on which it ends."""
    heights = 0.5 * task.probe**2
    largest = swing(path.times, loss, threshold=floor)
    learned = heights[clocks.order[clocks.order < task.n_concepts]]
    plateau = float(learned[learned > 0][-1]) if (learned > 0).any() else None
    if largest.occurs:
        at = int(np.searchsorted(path.times, largest.maximum_time))
        left = float(heights[np.diagonal(path.states[at]) < 0.5].sum())
        plateau = left if left > 0 else plateau
    return swing(path.times, loss, plateau=plateau, threshold=floor)


def _time(value: float) -> str:
    if np.isnan(value):
        return "later"
    return "never" if np.isinf(value) else f"{value:.3g}"
