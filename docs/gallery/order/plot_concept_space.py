"""
Where does the answer go on its way to an unseen combination?
=============================================================

The error says how far the answer is from the target, not where it is. In concept space one axis
stands for each concept. An answer first heads for the target, is then drawn to the strong concept
alone, and turns to the weak one in the end (Yang et al., ICLR 2025). The more alike the rows of
the initial matrix are, the higher the detour.

The picture shows three paths from the origin to a star at (3, 1), the unseen combination. All come
close to a square at (3, 0) and go straight up from there. With the largest correlation the path
arches highest on its way to the square; without correlation it is flat.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

task = pw.tasks.StructuredIdentity(means=[3, 1], scales=[0.05, 0.05])
times = np.linspace(0, 12, 2401)
figure, ax = plt.subplots(figsize=(4.6, 3.0))
highest = []
for rho in (0.9, 0.5, 0.0):
    start = 0.01 * np.array([[1, rho], [rho, 1]])
    path = pw.flow(pw.flows.Tied(start, task.second_moment()), times)
    answers = path.states @ task.probe
    ax.plot(*answers.T, label=f"correlation {rho:g}")
    np.testing.assert_allclose(answers[-1], task.means, atol=0.01)
    highest.append(answers[times < 1, 1].max())
assert highest[0] > highest[1] > highest[2]
ax.plot([3, 0], [0, 1], "s", color="black", clip_on=False, label="seen")
ax.plot(3, 1, "*", color="black", markersize=12, label="unseen")
ax.set(xlabel="strong concept", ylabel="weak concept", title="Paths through concept space")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
