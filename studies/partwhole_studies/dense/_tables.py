"""What Lippl & Stachenfeld (ICLR 2025) publish of their dense networks, read off the figures."""

from __future__ import annotations

# Slopes of unseen sums after training from initial scale 1 and from 1e-6 to 1e-3.
LAZY_SLOPES = {"extrapolation": 0.746, "interpolation": 0.848, "both": 0.858}
RICH_SLOPES = {"extrapolation": 0.778, "interpolation": 0.992, "both": 0.912}
# Of networks with 1 to 4 hidden layers of 100 units, from scale .1: the first and the last.
DEEP_SLOPES = {"extrapolation": (0.72, 0.63), "interpolation": (1.00, 1.00), "both": (0.89, 0.85)}
ADDITIVITY = 1.0  # R squared, three layouts at any scale
ASYMMETRIC_ADDITIVITY = (0.856, 0.999)  # from scales up to 1e-3, and from 1
# Test accuracy on transitive equivalence, from scale 1.
LAZY_EQUIVALENCE = 0.417
