"""
Why are distant items easier to order?
======================================

Seven items have a rank. Only neighbours are compared in training, and all other pairs are asked
for. A kernel answers g(i) - g(j): it infers the order, and is more certain the farther items are
apart, as animals and people are (the symbolic distance effect). Each g solves one linear system,
ridge regression on the path of neighbours with the penalty (1 - 2S)/S, S being the salience of an
item (derived here).

The picture shows the margin of unseen pairs over their distance in rank: points for each pair, and
a line of their means that rises with distance.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

n, S = 7, 0.3
task = pw.tasks.transitive_ordering(n)
kernel = pw.features.OverlapKernel.from_salience([S], n_components=2)
limit = pw.solve(task, kernel, intercept="free")

path = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
path[0, 0] = path[-1, -1] = 1
ends = np.r_[1.0, np.zeros(n - 2), -1.0]
g = np.linalg.solve(path + (1 - 2 * S) / S * np.eye(n), ends)
i, j = task.test_components.T
np.testing.assert_allclose(limit.predictions[~task.is_train], g[i] - g[j], atol=1e-9)

distance, margins = np.abs(i - j), limit.test_margins
means = [margins[distance == d].mean() for d in range(2, n)]
assert min(margins) > 0
assert (np.diff(means) > 0).all()
figure, ax = plt.subplots(figsize=(4.6, 3.0))
ax.plot(distance, margins, "o", alpha=0.4)
ax.plot(range(2, n), means)
ax.set(xlabel="distance in rank", ylabel="margin", xticks=range(2, n))
ax.set_title("The symbolic distance effect")
