"""
Does a network use few features or many?
========================================

A two-layer diagonal network is trained on 25 samples of a linear task in which 4 of 60 features
count. Of all solutions, gradient flow from weights of size α reaches the one of least hyperbolic
entropy (Woodworth et al., COLT 2020): from small weights nearly that of the least sum of sizes,
from large ones that of the least sum of squares.

The picture shows the coefficients of the 60 features in two rows. From small weights four stand
out on the true crosses and the rest vanish; from large ones all are small and spread.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

rng = np.random.default_rng(0)
inputs, truth = rng.normal(size=(25, 60)), np.zeros(60)
truth[[5, 20, 35, 50]] = [1.0, -1.0, 1.0, 1.0]
targets = inputs @ truth

figure, axes = plt.subplots(2, 1, figsize=(5.4, 3.6), sharex=True, sharey=True)
least = {1e-6: truth, 10.0: np.linalg.lstsq(inputs, targets)[0]}
for ax, (alpha, expected) in zip(axes, least.items(), strict=True):
    start = pw.limits.DiagonalWeights.constant(60, alpha)
    cost = pw.limits.HyperbolicEntropy.from_weights(start)
    limit = pw.solve((inputs, targets), cost=cost, intercept="none")
    np.testing.assert_allclose(limit.coefficients, expected, atol=0.05)
    ax.vlines(range(60), 0, limit.coefficients)
    ax.plot(np.flatnonzero(truth), truth[truth != 0], "x", color="black")
    ax.set(title=f"weights begin at {alpha:g}", ylabel="coefficient")
axes[1].set_xlabel("feature")
