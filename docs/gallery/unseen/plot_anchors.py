"""
How much of an unseen sum does a learner keep?
==============================================

Sums that contain one of p anchors are seen, all others are asked for. The slope of the answers
against the true sums is p S / (1 + (p - 2) S), where S is the salience of a single number (Lippl &
Stachenfeld, ICLR 2025, proposition 5.1). Neither the range of the numbers nor the place of the
anchors matters.

The picture shows four curves, of one to four anchors, over the salience. All rise from 0 to 1;
more anchors make them rise faster. Circles are slopes of solved kernels, and lie on the curves.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

saliences = np.linspace(0.01, 0.5, 50)
figure, ax = plt.subplots(figsize=(4.6, 3.2))
for anchors in ([0], [-2, 2], [-4, 0, 4], [-4, -3, 3, 4]):
    task = pw.tasks.symbolic_addition(range(-4, 5), anchors)
    p, unseen = len(anchors), ~task.is_train
    (line,) = ax.plot(saliences, pw.limits.memorization_leak(saliences, p), label=f"p = {p}")
    for S in (0.1, 0.25, 0.4):
        kernel = pw.features.OverlapKernel.from_salience([S], n_components=2)
        predictions = pw.solve(task, kernel, intercept="free").predictions
        slope = np.polyfit(task.targets[unseen], predictions[unseen], 1)[0]
        assert np.isclose(slope, p * S / (1 + (p - 2) * S))
        ax.plot(S, slope, "o", color=line.get_color(), markerfacecolor="white")
ax.set(xlabel="salience of a number", ylabel="slope of unseen sums", ylim=(0, 1.03))
ax.set_title("More anchors, less memory")
ax.legend(title="anchors")
