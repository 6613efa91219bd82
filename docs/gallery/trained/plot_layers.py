"""
Do the layers of a wide network have the saliences of theory?
=============================================================

A network with five ReLU layers of 1,500 random units reads two parts with four values each. Theory
for infinite width says how strongly each layer separates a single part and the pair (Lippl &
Stachenfeld, ICLR 2025, proposition 4.1).

The picture shows two saliences over the layers. That of a part falls and that of the pair rises;
circles, measured from the units, lie at the lines of theory.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw
from partwhole.networks.layer_salience import layer_saliences

rows = np.array(list(product(range(4), range(4))))
inputs = np.hstack([np.eye(4)[rows[:, 0]], np.eye(4)[rows[:, 1]]])
network = pw.networks.mlp(
    8, layers=6, width=1500, seed=0, nonlinearity="relu", bias=False, initial="he", scale=1.0
)
by_layer = layer_saliences(network, inputs, rows, self_pairs=True, progress=False)
names = ["input", *(f"layer {k}" for k in range(1, 6))]
measured = np.array([by_layer[name].salience for name in names])
kernels = [pw.features.OverlapKernel.random_network("relu", 2, depth=d) for d in range(6)]
theory = np.array([kernel.salience for kernel in kernels])
np.testing.assert_allclose(measured, theory, atol=0.03)

figure, ax = plt.subplots(figsize=(4.6, 3.0))
for k, name in enumerate(("a part", "the pair")):
    (line,) = ax.plot(theory[:, k], label=name)
    ax.plot(measured[:, k], "o", color=line.get_color(), markerfacecolor="white")
ax.set(xlabel="layer", ylabel="salience", title="Random layers")
ax.legend()
