"""Where does the training of a gated network end?

Each unit has a random line as its gate, and a vector of weights for each side of it. Trained to the
end, the sum of all units is, under the conditions of the chapter, the classifier with the largest
margin for the lengths of these vectors. More units never need longer ones; too few cannot separate
the classes at all.

Left points of two classes, the gates as grey lines, and the decision of the limit, whose border is
made of straight pieces from gate to gate. Right how long the weights of each unit are, the longest
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np

import partwhole as pw
from partwhole.explorer.controls import Slider, even
from partwhole.limits.limit import Limit


def gates(
    axes: list[Any],
    print: Callable[..., None],
    n_units: Annotated[int, Slider("Units", tuple(range(1, 31)))] = 12,
    gap: Annotated[float, Slider("Gap between the classes", even(0.02, 0.5, 0.04))] = 0.3,
    seed: Annotated[int, Slider("Draw of the gates", tuple(range(10)))] = 0,
) -> Iterator[Limit]:
    rng = np.random.default_rng(2)
    angle, is_inner = rng.uniform(0, 2 * np.pi, 40), np.arange(40) < 16
    radius = np.where(is_inner, rng.uniform(0.1, 0.35, 40), rng.uniform(0.35 + gap, 1.0, 40))
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.ones(40)])
    labels = np.where(is_inner, 1.0, -1.0)
    gates = pw.features.HalfspaceGates.random(
        3, n_units=n_units, thresholds="median", inputs=points, seed=seed
    )
    limit = pw.solve((points, labels), gates, fit="margin", intercept="none")
    yield limit
    if limit.outcome.name == "INFEASIBLE":
        raise SystemExit(f"{n_units} gated units cannot separate these classes: add units.")

    lengths = np.linalg.norm(gates.design(points).unit_weights(limit.coefficients), axis=(1, 2))
    used = (lengths > 1e-6 * lengths.max()).sum()
    print(f"{used} of {n_units} units take part.")
    print(
        f"For a margin of 1 the lengths of their weights sum to {limit.value:.1f}, the least sum."
    )
    x, y = np.meshgrid(np.linspace(-1.1, 1.1, 90), np.linspace(-1.1, 1.1, 90))
    plane = np.column_stack([x.ravel(), y.ravel(), np.ones(x.size)])
    answers = limit.predict(plane).reshape(x.shape)
    axes[0].contourf(x, y, answers, levels=[-1e9, 0, 1e9], colors=["C0", "C1"], alpha=0.2)
    axes[1].bar(range(1, n_units + 1), np.sort(lengths)[::-1])
    (a, b, c), threshold = gates.normals[:, 0].T, gates.thresholds[:, 0]
    ends = np.array([[-9.0], [9.0]])
    axes[0].plot(ends + 0 * a, (threshold - c - a * ends) / b, color="0.6", linewidth=0.5)
    axes[0].plot(*points[is_inner, :2].T, "o", color="C1")
    axes[0].plot(*points[~is_inner, :2].T, "o", color="C0")
    axes[0].set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xticks=[], yticks=[])
    axes[1].locator_params(axis="x", integer=True)
    axes[1].set(xlabel="unit", ylabel="length of its weights")
