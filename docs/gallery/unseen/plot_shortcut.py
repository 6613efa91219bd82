"""
When does a shortcut win over the rule?
=======================================

A context says which of two features decides. A whole quadrant of features is left out of training,
so that the context alone predicts two of three labels. Kernels either follow the rule on all
held-out combinations or the shortcut on all: the sign of one margin decides. The task is that of
Lippl & Stachenfeld (ICLR 2025); the closed form is derived in ``partwhole.limits.shortcut``.

The picture shows that margin over the saliences of single parts and of pairs: blue where the rule
wins, red below a black line where the shortcut wins. Crosses mark solved kernels.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

single, pair = np.meshgrid(np.linspace(0.002, 0.33, 150), np.linspace(0.002, 0.33, 150))
allowed = 3 * single + 3 * pair <= 1
margin = np.full(single.shape, np.nan)
margin[allowed] = pw.limits.shortcut_margin(single[allowed], pair[allowed])

figure, ax = plt.subplots(figsize=(4.8, 3.4))
image = ax.pcolormesh(single, pair, margin, cmap="RdBu", vmin=-0.5, vmax=0.5)
ax.contour(single, pair, margin, levels=[0], colors="black", linewidths=1.5)
task = pw.tasks.context_dependence(left_out=3)
for S1, S2 in ((0.1, 0.03), (0.1, 0.12), (0.2, 0.09), (0.03, 0.2)):
    kernel = pw.features.OverlapKernel.from_salience([S1, S2])
    limit = pw.solve(task, kernel, fit="margin", intercept="free")
    np.testing.assert_allclose(limit.test_margins, pw.limits.shortcut_margin(S1, S2), atol=1e-6)
    ax.plot(S1, S2, "x", color="black")
ax.set(xlabel="salience of a part", ylabel="salience of a pair", title="Rule or shortcut?")
figure.colorbar(image, label="margin of held-out combinations")
