"""
What will a kernel answer to sums it has not seen?
==================================================

A learner sees every sum of two numbers of which one is 0, and must add other pairs. Its kernel
counts shared numbers, and a single number has the salience S = 0.4. With p anchors, here 0 alone,
every unseen sum is then shrunk by the factor p S / (1 + (p - 2) S) (Lippl & Stachenfeld, ICLR
2025, proposition 5.1). The rest is memory of pairs, which does not transfer.

The picture shows the answer to each of the 81 pairs, from blue (negative) to red (positive). Pairs
with a dot were held out: in the corners, where sums are -8 and 8, answers are -5.3 and 5.3. The
seen sums, right, form a cross through 0.
"""

import numpy as np

import partwhole as pw

task = pw.tasks.symbolic_addition(values=range(-4, 5), anchors=[0])
kernel = pw.features.OverlapKernel.from_salience([0.4], n_components=2)
limit = pw.solve(task, kernel, intercept="free")

p, S = 1, 0.4
factor = p * S / (1 + (p - 2) * S)
answers, sums = limit.predictions[~task.is_train], task.targets[~task.is_train]
print(f"slope of unseen sums {np.polyfit(sums, answers, 1)[0]:.4f}, theory {factor:.4f}")
np.testing.assert_allclose(answers, factor * sums, atol=1e-9)
assert round(limit.predictions.max(), 1) == 5.3

ax = limit.plot()
ax.set_title("Answers to sums", loc="left")
