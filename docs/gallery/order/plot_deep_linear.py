"""
In which order are the parts of a linear map learned?
=====================================================

A two-layer linear network learns a map with the singular values 3, 1.5 and 0.6 from white inputs.
From small, aligned weights each mode of strength s grows by itself along a sigmoid, u(t) = s / (1
+ (s/u0 - 1) exp(-2 s t)) in the time of gradient flow (Saxe et al., 2014): large ones first.

The picture shows the nine entries of the map over time. Three on the diagonal rise one after the
other to 3, 1.5 and 0.6, each along a dotted sigmoid; the others stay at 0.
"""

import numpy as np

import partwhole as pw

strengths, initial = np.array([3.0, 1.5, 0.6]), 0.01
layers = [np.sqrt(initial) * np.eye(3), np.sqrt(initial) * np.eye(3)]
network = pw.flows.Deep(layers, np.eye(3), cross_covariance=np.diag(strengths))
path = pw.flow(network, np.linspace(0, 8, 161))

growth = np.exp(-2 * strengths * path.times[:, None])
theory = strengths / (1 + (strengths / initial - 1) * growth)
modes = path.states[:, range(3), range(3)]
np.testing.assert_allclose(modes, theory, atol=1e-4)

ax = path.plot()
ax.plot(path.times, theory, ":", color="black")
ax.set_title("Large modes first")
