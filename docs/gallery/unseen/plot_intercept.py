"""
Does an intercept change an unseen answer?
==========================================

Three of the four combinations of two binary parts are seen; the first part decides the label. The
margin of the fourth is 2 S² / (1 - 2 S²) without an intercept (the toy of Lippl & Stachenfeld,
ICLR 2025) and (4 S - 1) / (3 - 4 S) with a free one (derived here), where S is the salience of a
part. An intercept leans to the more frequent label, and makes the answer wrong below S = 1/4.

The picture shows both margins over the salience. The curve without intercept is always above 0;
that with a free intercept begins at -1/3 and crosses 0 at a quarter. Circles are solved kernels.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

task = pw.tasks.toys.partial_exposure()
S = np.linspace(0.02, 0.48, 12)
theory = {"none": 2 * S**2 / (1 - 2 * S**2), "free": (4 * S - 1) / (3 - 4 * S)}

figure, ax = plt.subplots(figsize=(4.6, 3.0))
ax.axhline(0, color="0.7", linewidth=1)
for intercept, margins in theory.items():
    kernels = [pw.features.OverlapKernel.from_salience([s], n_components=2) for s in S]
    solved = [pw.solve(task, kernel, fit="margin", intercept=intercept) for kernel in kernels]
    measured = [limit.test_margins.item() for limit in solved]
    np.testing.assert_allclose(measured, margins, atol=1e-6)
    (line,) = ax.plot(S, margins, label=f'intercept="{intercept}"')
    ax.plot(S, measured, "o", color=line.get_color(), markerfacecolor="white")
ax.set(xlabel="salience of a part", ylabel="margin of the unseen combination")
ax.set_title("An intercept can turn the answer")
ax.legend()
