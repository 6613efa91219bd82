"""
Which features do two tasks share?
==================================

Two tasks are learned at once with weight decay. What the weights cost is then a group norm: for
each feature the length of its two coefficients (Lippl & Lindsey, NeurIPS 2024). A feature that one
task uses costs the other little, so that the tasks choose the same ones. Learned alone, the second
task has the sum of sizes as its cost. Here both need the same 4 of 60 features.

The picture shows the error of the second task over its samples. Beside the first task, the error
falls to 0 with fewer samples than alone.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw
from partwhole.features.multitask import multitask_design

sizes, alone, beside = range(4, 29, 4), [], []
for n in sizes:
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, y, truth = rng.normal(size=(60, 60)), rng.normal(size=(n, 60)), np.zeros((2, 60))
        truth[:, :4] = rng.choice([-1.0, 1.0], size=(2, 4))
        first, second = x @ truth[0], y @ truth[1]
        both = multitask_design([x, y]), np.concatenate([first, second])
        single = pw.solve((y, second), cost=pw.limits.costs.L1Norm(), intercept="none").coefficients
        joint = pw.solve(both, cost=pw.limits.GroupNorm(), intercept="none").coefficients
        errors.append([np.sum((b - truth[1]) ** 2) for b in (single, joint.reshape(60, 2)[:, 1])])
    alone.append(np.mean(errors, axis=0)[0])
    beside.append(np.mean(errors, axis=0)[1])
assert beside[3] < 0.1 * alone[3]
figure, ax = plt.subplots(figsize=(4.6, 3.0))
ax.plot(sizes, alone, "o-", label="alone")
ax.plot(sizes, beside, "o-", label="beside a first task")
ax.set(xlabel="samples of the second task", ylabel="test error", title="Shared features")
ax.legend()
