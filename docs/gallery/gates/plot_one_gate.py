"""
What does one gate add to a linear classifier?
==============================================

A single gated unit that is trained by itself solves each side of its hyperplane alone: its limit
is a classifier of largest margin for each side, since no weight serves both (Lippl, Abbott &
Chung, 2022). Exclusive or, which no linear classifier can solve, becomes two easy problems.

The picture shows points in four quadrants with alternating labels. A dashed vertical line is the
gate. Shading shows the decision, which changes at one straight line left of it and another right.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

rng = np.random.default_rng(1)
points = rng.choice([-1.0, 1.0], size=(60, 2)) + rng.uniform(-0.7, 0.7, size=(60, 2))
inputs, labels = np.column_stack([points, np.ones(60)]), np.sign(points.prod(axis=1))
right = points[:, 0] > 0

gate = pw.features.HalfspaceGates(np.array([[[1.0, 0.0, 0.0]]]), np.zeros((1, 1)))
settings = {"cost": pw.limits.Quadratic(), "fit": "margin", "intercept": "none"}
limit = pw.solve((inputs, labels), gate, **settings)
assert pw.solve((inputs, labels), **settings).outcome.name == "INFEASIBLE"
for side in (right, ~right):
    alone = pw.solve((inputs[side], labels[side]), **settings)
    np.testing.assert_allclose(alone.predict(inputs[side]), limit.predict(inputs[side]), atol=1e-5)

x, y = np.meshgrid(np.linspace(-2, 2, 201), np.linspace(-2, 2, 201))
answers = limit.predict(np.column_stack([x.ravel(), y.ravel(), np.ones(x.size)])).reshape(x.shape)
figure, ax = plt.subplots(figsize=(3.8, 3.4))
ax.contourf(x, y, answers, levels=[-99, 0, 99], colors=["C0", "C1"], alpha=0.2)
ax.scatter(*points.T, c=np.where(labels > 0, "C1", "C0"))
ax.axvline(0, color="black", linestyle="--")
ax.set(aspect="equal", xticks=[], yticks=[], title="Two classifiers, one gate")
