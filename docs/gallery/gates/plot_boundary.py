"""
Where does the training of a gated network end?
===============================================

Forty units each have a random hyperplane and two weight vectors, one for each side. Trained on a
loss such as the logistic one, their sum approaches the classifier with the largest margin for its
group norm, the sum over units of the length of their weights (Lippl, Abbott & Chung, 2022).
``solve`` returns that limit without training.

The picture shows points of two classes in the plane, a disc within a ring. The boundary of the
limit is a closed curve of many short straight pieces between them; shading shows the decision.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

rng = np.random.default_rng(2)
angle, inner = rng.uniform(0, 2 * np.pi, 60), np.arange(60) < 24
radius = np.where(inner, rng.uniform(0.1, 0.35, 60), rng.uniform(0.65, 1.0, 60))
points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.ones(60)])
labels = np.where(inner, 1.0, -1.0)

gates = pw.features.HalfspaceGates.random(3, n_units=40, thresholds="median", inputs=points)
limit = pw.solve((points, labels), gates, fit="margin", intercept="none")
assert np.isclose((labels * limit.predict(points)).min(), 1, atol=1e-6)

x, y = np.meshgrid(np.linspace(-1.1, 1.1, 150), np.linspace(-1.1, 1.1, 150))
plane = np.column_stack([x.ravel(), y.ravel(), np.ones(x.size)])
answers = limit.predict(plane).reshape(x.shape)
figure, ax = plt.subplots(figsize=(3.8, 3.4))
ax.contourf(x, y, answers, levels=[-99, 0, 99], colors=["C0", "C1"], alpha=0.2)
ax.contour(x, y, answers, levels=[0], colors="black")
ax.plot(*points[inner, :2].T, "o", color="C1")
ax.plot(*points[~inner, :2].T, "o", color="C0")
ax.set(aspect="equal", xticks=[], yticks=[], title="The limit of forty gated units")
