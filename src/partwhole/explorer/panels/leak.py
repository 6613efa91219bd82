"""How much of an unseen sum does a learner keep?

Sums that contain an anchor were shown, all others are asked for. What a learner stores under a
pair helps no other pair, so that its answers are compressed copies of the sums. The more salient
the single numbers are, and the more anchors there are, the more of each sum is kept.

Left the grid of answers, with a dot where a sum was held out. Right the answers against the true
sums: those held out lie on a line that is less steep than the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np

import partwhole as pw
from partwhole.explorer.controls import Slider, even
from partwhole.limits.limit import Limit


def leak(
    axes: list[Any],
    print: Callable[..., None],
    salience: Annotated[float, Slider("Salience of a number", even(0.02, 0.48, 0.02))] = 0.4,
    n_anchors: Annotated[int, Slider("Anchors", (1, 2, 3, 4))] = 1,
) -> Iterator[Limit]:
    anchors = {1: [0], 2: [-1, 1], 3: [-2, 0, 2], 4: [-3, -1, 1, 3]}[n_anchors]
    task = pw.tasks.symbolic_addition(range(-3, 4), anchors)
    kernel = pw.features.OverlapKernel.from_salience([salience], n_components=2)
    limit = pw.solve(task, kernel, intercept="free")
    yield limit

    unseen = ~task.is_train
    slope = np.polyfit(task.targets[unseen], limit.predictions[unseen], deg=1)[0]
    formula = pw.limits.memorization_leak(salience, n_anchors)
    print(f"Unseen sums have the slope {slope:.3f}; the formula says {formula:.3f}.")

    limit.plot(axes[0])
    limit.plot(axes[1], kind="scatter")
