"""Small point sets with gates: the published schematic, a rule on the square, two random draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole.features import HalfspaceGates

# Random inputs, labelled by the product of two of them: seed, points, inputs, units.
RANDOM = {"D1": (1, 24, 6, 6), "D0": (0, 40, 3, 8)}
FIRST = (0.2, 0.4, 0.8, 0.6, -0.3, -0.5, -0.8, -0.6, 0.3, 0.3, 0.9, 0.8, -0.2, -0.1, -0.6, -0.95)
SECOND = (0.3, 0.1, 0.9, 0.9, 0.1, 0.25, 0.75, 0.8, -0.3, -0.25, -0.85, -0.6, -0.2, -0.35, -0.9,
          -0.65)  # fmt: skip


class GatedPoints(NamedTuple):
    """Inputs with a constant, their labels -1 and +1, and gates."""

    inputs: Float[np.ndarray, "n d"]
    labels: Float[np.ndarray, " n"]
    gates: HalfspaceGates


def random_points(name: str) -> GatedPoints:
    """Draw a data set from NumPy's frozen random stream, so that it never changes."""
    seed, n, d0, units = RANDOM[name]
    stream = np.random.RandomState(seed)
    inputs = np.column_stack([stream.randn(n, d0), np.ones(n)])
    normals = stream.randn(units, 1, d0 + 1)
    normals[..., -1] *= 0.3
    labels = np.sign(inputs[:, 0] * inputs[:, 1])
    return GatedPoints(inputs, labels, HalfspaceGates(normals, np.zeros((units, 1))))


def schematic() -> GatedPoints:
    """Return the sixteen points of the published schematic, four in each joint context.

    Each of two units is gated by the sign of one coordinate.
    """
    inputs = np.column_stack([FIRST, SECOND, np.ones(16)])
    gates = HalfspaceGates(np.eye(3)[:2, None], np.zeros((2, 1)))
    return GatedPoints(inputs, np.tile([-1.0, -1.0, 1.0, 1.0], 4), gates)


def square_rule(seed: int, n: int, gap: float) -> tuple[Float[np.ndarray, "m d"], np.ndarray]:
    r"""Draw n points of a square labelled by :math:`|x_1| + |x_2| > 1`, none within the gap."""
    rng = np.random.default_rng(seed)
    points = np.ones((0, 3))
    while len(points) < n:
        candidates = np.column_stack([rng.uniform(-1.0, 1.0, (4 * n, 2)), np.ones(4 * n)])
        points = np.concatenate([points, candidates[np.abs(_beyond(candidates)) > gap]])
    points = points[:n]
    return points, np.where(_beyond(points) > 0, 1.0, -1.0)


def _beyond(points: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
    return np.abs(points[:, :2]).sum(axis=1) - 1.0
