"""Every combination of some concepts, and which contains which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door

CONCEPTS_AT_MOST = 12  # 3^12 comparable pairs take 8 MB


@door
@dataclass(frozen=True, eq=False)
class Combinations:
    """Combinations of a task's concepts, ordered by inclusion.

    Parameters
    ----------
    binary : int array, shape (2^s, s)
        1 for the concepts that are in the combination.
    points : float array, shape (2^s, d)
        Where it lies, in the concept frame.
    pairs : int array, shape (P, 2)
        Rows u and v of `binary` such that v has every concept of u and more; all of them.
    """

    binary: Int[np.ndarray, "n s"]
    points: Float[np.ndarray, "n d"]
    pairs: Int[np.ndarray, "P 2"]


def combine(means: Float[np.ndarray, " s"], dimension: int) -> Combinations:
    """Return the combinations of concepts that lie at their means along the first axes."""
    s = len(means)
    require(
        s <= CONCEPTS_AT_MOST,
        f"combinations are listed for at most {CONCEPTS_AT_MOST} concepts",
        s,
        "use a task with fewer concepts, or choose the points directly",
    )
    binary = np.arange(2**s)[:, None] >> np.arange(s - 1, -1, -1) & 1
    points = np.zeros((2**s, dimension))
    points[:, :s] = binary * means
    # A concept is in neither, in the upper alone, or in both.
    lower, upper = np.zeros(1, dtype=int), np.zeros(1, dtype=int)
    for _ in range(s):
        lower = np.concatenate([2 * lower, 2 * lower, 2 * lower + 1])
        upper = np.concatenate([2 * upper, 2 * upper + 1, 2 * upper + 1])
    order = np.lexsort((upper, lower))
    pairs = np.stack([lower[order], upper[order]], axis=1)
    return Combinations(binary, points, pairs[pairs[:, 0] != pairs[:, 1]])
