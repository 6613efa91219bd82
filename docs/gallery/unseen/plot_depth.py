"""
Does depth make a random network a lookup table?
================================================

Wide random networks keep the structure of their inputs (Lippl & Stachenfeld, ICLR 2025,
proposition 4.1), but each layer shifts salience from single parts to whole combinations. With ReLU
the share of the whole grows to 1 (their proposition B.2), though slowly. With a Gaussian
nonlinearity it stops at 7/8, as the fixed point of its map says (derived here).

The picture shows the salience of the whole pair over 60 layers. The Gaussian curve reaches a
dotted line at 0.875 within ten layers and stays there; the ReLU curve rises slowly, and ends above
it.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw


def whole(nonlinearity, depth):
    """Return the salience of the pair."""
    kernel = pw.features.OverlapKernel.random_network(nonlinearity, n_components=2, depth=depth)
    return kernel.salience[-1]


# One ReLU layer by hand: similarities 0, 1/2 and 1 through the arc-cosine kernel.
x = np.array([0.0, 0.5, 1.0])
k = (np.sqrt(1 - x**2) + (np.pi - np.arccos(x)) * x) / np.pi
assert np.isclose(whole("relu", 1), (k[2] - 2 * k[1] + k[0]) / (k[2] - k[0]))
assert np.isclose(whole("gaussian", 60), 7 / 8)
assert whole("gaussian", 10) > 0.86
assert whole("relu", 60) > 7 / 8

figure, ax = plt.subplots(figsize=(4.6, 3.0))
for nonlinearity in ("relu", "gaussian"):
    ax.plot(range(61), [whole(nonlinearity, d) for d in range(61)], label=nonlinearity)
ax.axhline(7 / 8, color="0.5", linestyle=":")
ax.set(xlabel="layers", ylabel="salience of the pair", title="Depth favours the whole")
ax.legend()
