"""
How many units does a trained network use?
==========================================

A group norm prefers few units. The multipliers of the training points say which: they pull at each
unit with some force, and a unit takes part only where the force is 1, the most that there is. This
is the optimality condition of the group norm, and certifies the limit.

The picture shows a point for each of 40 units: the length of its weights over the force. All units
with a force below 1 lie at length 0; those that take part stand in a column at force 1.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

rng = np.random.default_rng(0)
points = np.column_stack([rng.normal(size=(50, 2)), np.ones(50)])
labels = np.where(points[:, 0] * points[:, 1] > 0, 1.0, -1.0)
gates = pw.features.HalfspaceGates.random(3, n_units=40, seed=1)
limit = pw.solve((points, labels), gates, fit="margin", intercept="none")

lengths = np.linalg.norm(gates.design(points).unit_weights(limit.coefficients), axis=(1, 2))
used = lengths > 1e-6 * lengths.max()
print(f"{used.sum()} of 40 units take part")
assert limit.pulls.max() < 1 + 1e-5
np.testing.assert_allclose(limit.pulls[used], 1, atol=1e-4)
np.testing.assert_allclose(lengths.sum(), limit.value, rtol=1e-5)

figure, ax = plt.subplots(figsize=(4.6, 3.0))
ax.plot(limit.pulls, lengths, "o", alpha=0.6)
ax.set(xlabel="force on a unit", ylabel="length of its weights", title="Few units take part")
