"""What is learned first, and when will the error rise?

A network learns to reproduce its input. Two concepts were seen, never both together. The one of
the stronger signal is learned first. If their signals differ enough and the start correlates the
two, the answer to the unseen combination first heads for it, then turns to what was seen: the error
falls, rises and falls again.

Left the way of the answer to a star, the unseen combination, past squares where one concept was
seen. Right the error over time, with a dashed line where a concept is half learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np

import partwhole as pw
from partwhole.explorer.controls import Slider, even


def swing(
    axes: list[Any],
    print: Callable[..., None],
    strong: Annotated[float, Slider("Mean of concept 1", even(0.5, 4.0, 0.25))] = 3.0,
    weak: Annotated[float, Slider("Mean of concept 2", even(0.5, 4.0, 0.25))] = 1.0,
    correlation: Annotated[float, Slider("Correlation at the start", even(-0.9, 0.9, 0.1))] = 0.5,
    size: Annotated[float, Slider("Size of the start", (0.0001, 0.001, 0.01, 0.1))] = 0.01,
) -> Iterator[Any]:
    task = pw.tasks.StructuredIdentity(means=[strong, weak], scales=[0.05, 0.05])
    start = size * np.array([[1, correlation], [correlation, 1]])
    forecast = pw.flows.forecast(task, start)
    yield forecast.path
    table = forecast.to_frame()
    for concept, flow, clock in zip(
        table["concept"], table["flow"], table["predicted"], strict=True
    ):
        print(f"Concept {concept + 1} is half learned at {flow:.3g}; its clock says {clock:.3g}.")
    if not forecast.formula_valid:
        print("Clocks are only near: the signals are much alike, or the start is large.")
    if forecast.swing.occurs:
        print(f"The error rises by {100 * forecast.swing.relative:.1f} % of its plateau: swing-by.")
    else:
        print("There is no swing-by.")

    answers = forecast.path.states @ task.probe
    axes[0].plot(*answers.T)
    axes[0].plot([strong, 0], [0, weak], "s", color="black", clip_on=False)
    axes[0].plot(strong, weak, "*", color="black", markersize=12, clip_on=False)
    axes[0].set(xlabel="concept 1", ylabel="concept 2")
    axes[1].plot(forecast.path.times, forecast.loss)
    for time in forecast.clocks.times:
        axes[1].axvline(time, linestyle="--", color="0.6")
    axes[1].set(xlabel="time (paper)", ylabel="error, unseen combination")
