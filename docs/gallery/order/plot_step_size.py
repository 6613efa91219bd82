"""
At which learning rate does a network become unstable?
======================================================

Near the solution, gradient descent multiplies each deviation by one minus the step size times a
curvature, and is stable below 2 / curvature. A tied network W = U Uᵀ has at W = 1 the curvature 2
a for the matrix equation of Yang et al. (ICLR 2025), with a the largest second moment of the
inputs: the limit is 1 / a. The lines below take the steps without ``partwhole``.

The picture shows the training loss over 60 steps on a logarithmic axis, from one start. Below the
limit it falls along a straight line; above the limit it goes up and down and stays large.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

a = np.diag([4.0, 1.0])
limit = pw.flows.stability.stability_limit(pw.flows.Tied(0.4 * np.eye(2), a))
assert np.isclose(limit, 1 / 4.0)

figure, ax = plt.subplots(figsize=(4.6, 3.0))
last = {}
for factor in (0.8, 1.2):
    u, losses = np.sqrt(0.4) * np.eye(2), []
    for _ in range(60):
        error = u @ u.T - np.eye(2)
        losses.append(np.trace(error @ a @ error) / 2)
        u = u - factor * limit / 2 * (error @ a + a @ error) @ u
    ax.semilogy(losses, label=f"{factor:g} times the limit")
    last[factor] = losses[-1]
assert last[0.8] < 1e-12
assert last[1.2] > 1e-2
ax.set(xlabel="step", ylabel="training loss", title="Stable or not")
ax.legend()
