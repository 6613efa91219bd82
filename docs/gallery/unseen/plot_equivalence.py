"""
Can a kernel infer that two items are equivalent?
=================================================

Six items belong to two classes. Pairs with the first item of a class are seen, with the label
"same" or "different". For others the sum over a rectangle f(a, c) + f(b, d) - f(a, d) - f(b, c)
vanishes for every sum of seen parts, but not for the labels: no kernel on shared parts can be
right (Lippl & Stachenfeld, ICLR 2025, transitive equivalence).

The picture shows two grids of pairs. Left are the labels, in blocks of +1 and -1. Right are the
answers: right on seen pairs, and 0 on every held-out pair, which has a dot.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

task = pw.tasks.transitive_equivalence((3, 3), (1, 1))
kernel = pw.features.OverlapKernel.from_salience([0.3], n_components=2)
limit = pw.solve(task, kernel, intercept="free")

print(pw.limits.solvability(task).explain())
np.testing.assert_allclose(limit.predictions[task.is_train], task.train_targets, atol=1e-9)
np.testing.assert_allclose(limit.predictions[~task.is_train], 0, atol=1e-9)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0))
task.plot(left)
limit.plot(right)
left.set_title("Labels", loc="left")
right.set_title("Answers", loc="left")
