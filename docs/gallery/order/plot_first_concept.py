"""
Which concept is learned first?
===============================

A tied two-layer linear network learns to reproduce its input (Yang et al., ICLR 2025). Concept k
has the signal a, its mean square, and a pivot p, what is left of its initial entry when stronger
concepts are subtracted. It is half learned after about ln(1/p - 1) / (2 a) in the time of the
paper (derived here): strong signals come first.

The picture shows the four entries of the map over time. The two on the diagonal rise from 0 to 1
one after the other, through dots at the predicted times; the minor ones rise briefly, and decay.
"""

import numpy as np

import partwhole as pw

task = pw.tasks.StructuredIdentity(means=[3, 1], scales=[0.05, 0.05])
start = 0.01 * np.array([[1, 0.5], [0.5, 1]])
path = pw.flow(pw.flows.Tied(start, task.second_moment()), np.linspace(0, 8, 801))

pivots = np.diag(np.linalg.cholesky(start)) ** 2
signals = np.array([0.05**2 + 3**2 / 2, 0.05**2 + 1**2 / 2])
predicted = np.log(1 / pivots - 1) / (2 * signals)
clocks = pw.flows.learning_clocks(start, task.second_moment())
np.testing.assert_allclose(clocks.times, predicted)
for k in range(2):
    reached = np.interp(0.5, path.states[:, k, k], path.times)
    print(f"concept {k + 1}: half learned at {reached:.3f}, predicted {predicted[k]:.3f}")
    assert abs(reached / predicted[k] - 1) < 0.02

ax = path.plot()
ax.plot(predicted, [0.5, 0.5], "o", color="black")
ax.set_title("The strong concept comes first")
