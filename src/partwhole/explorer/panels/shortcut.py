"""When does a shortcut win over the rule?

A context says which of two features decides. One quadrant of features is left out of training, so
that the context alone predicts two of three labels. A learner then follows the rule on all
held-out combinations, or the shortcut on all: the sign of one margin decides.

Left the saliences of a part and of a pair, green where the rule wins and orange where the shortcut
does, with a cross at those chosen. Right the answers over both features in each context, blue and
red for the two labels, with a dot where a combination was held out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np

import partwhole as pw
from partwhole.explorer.controls import Slider, even
from partwhole.limits.limit import Limit
from partwhole.limits.shortcut import shortcut_boundary


def shortcut(
    axes: list[Any],
    print: Callable[..., None],
    part: Annotated[float, Slider("Salience of a part", even(0.01, 0.32, 0.01))] = 0.1,
    pair: Annotated[float, Slider("Salience of a pair", even(0.01, 0.32, 0.01))] = 0.05,
) -> Iterator[Limit]:
    if part + pair > 1 / 3:
        raise SystemExit("Three parts and three pairs have saliences of at most 1: lower one.")
    task = pw.tasks.context_dependence(left_out=3)
    kernel = pw.features.OverlapKernel.from_salience([part, pair], n_components=3)
    limit = pw.solve(task, kernel, fit="margin", intercept="free")
    yield limit
    margin = pw.limits.shortcut_margin(part, pair)
    n_right = (limit.test_margins > 0).sum()
    print(f"{n_right} of {task.n_test} held-out combinations are right.")
    least = shortcut_boundary(part)
    print("The rule wins " + ("nowhere." if np.isnan(least) else f"above a pair of {least:.3f}."))
    print(f"Their margin is {limit.test_margins.mean():.3f}; the formula says {margin:.3f}.")

    parts = np.sort([*np.linspace(0.0, 0.333, 60), part])
    most = 1 / 3 - parts
    boundary = np.array([shortcut_boundary(S) for S in parts])
    boundary = np.where(np.isnan(boundary), most, boundary)
    axes[0].fill_between(parts, boundary, most, color="C2", alpha=0.3, label="rule")
    axes[0].fill_between(parts, 0, boundary, color="C1", alpha=0.3, label="shortcut")
    axes[0].plot(part, pair, "x", color="black", markersize=9, markeredgewidth=2)
    axes[0].set(xlabel="salience of a part", ylabel="salience of a pair")
    axes[0].legend()
    answers = np.full((6, 13), np.nan)
    context, row, column = task.components.T
    answers[row, column + 7 * context] = np.sign(limit.predictions)
    axes[1].imshow(answers, cmap="RdBu", vmin=-1.5, vmax=1.5)
    context, row, column = task.test_components.T
    axes[1].plot(column + 7 * context, row, "o", color="white", markeredgecolor="black")
    axes[1].set_xticks([2.5, 9.5], ["feature 2,\ncontext 0", "feature 2,\ncontext 1"])
    axes[1].set(ylabel="feature 1", yticks=[])
