"""What second moments, initial matrices, times and records must be, beyond their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require

Power = Literal[1, 2]  # of the second moment; the published figures have its square
SYMMETRY = 1e-10  # of the largest entry; beyond rounding of a product U U'


def moment(a: np.ndarray, dimension: int, power: Power = 1) -> np.ndarray:
    """Check a second moment, or many of them along leading axes; return it, or its square."""
    require(
        a.shape[-2:] == (dimension, dimension),
        f"the second moment has as many rows and columns as the initial matrix, {dimension}",
        f"shape {a.shape}",
        "pass identity.second_moment() of a task in that dimension",
    )
    symmetric("the second moment", a)
    size = np.linalg.eigvalsh(a)
    require(
        bool((size[..., 0] >= -SYMMETRY * np.maximum(size[..., -1], 1e-300)).all()),
        "a second moment has no negative eigenvalue",
        f"{float(size[..., 0].min()):.3g}",
        "pass E[x x'], not a correlation with entries edited",
    )
    return a if power == 1 else a @ a


def signals(second_moment: np.ndarray) -> Float[np.ndarray, " d"]:
    """Return the diagonal a of a second moment that must be diagonal."""
    a = np.diagonal(second_moment)
    off = np.abs(second_moment - np.diag(a)).max(initial=0.0)
    require(
        off <= SYMMETRY * max(np.abs(a).max(initial=0.0), 1e-300),
        "concepts are read off a diagonal second moment",
        f"off-diagonal entries up to {off:.3g}",
        "pass the population's, the diagonal of a sample's (np.diag(np.diag(A))), or rotate "
        "into its eigenvectors",
    )
    return a


def symmetric(name: str, matrix: np.ndarray) -> None:
    """Require a symmetric matrix, or a stack of them."""
    off = np.abs(matrix - np.swapaxes(matrix, -1, -2)).max(initial=0.0)
    require(
        off <= SYMMETRY * max(np.abs(matrix).max(initial=0.0), 1e-300),
        f"{name} is symmetric",
        f"entries that differ by {off:.3g} from their mirror image",
        "pass (M + M.T) / 2 if the difference is rounding",
    )


def factor(w: np.ndarray) -> np.ndarray:
    """Check initial matrices and return factors U of theirs, with U U' = w.

    A direction that is missing from w is a column of zeros, which no flow moves: were it rounding
    instead, it would grow like any other and be learned in the end.
    """
    symmetric("the initial matrix", w)
    size, basis = np.linalg.eigh(w)
    require(
        bool((size[..., 0] >= -SYMMETRY * np.maximum(size[..., -1], 1e-300)).all()),
        "the initial matrix of a tied network is positive semidefinite",
        f"an eigenvalue of {float(size[..., 0].min()):.3g}",
        "pass U @ U.T of a factor U, or Deep([...], ...) for an untied network",
    )
    return basis * np.sqrt(np.where(present(size), size, 0.0))[..., None, :]


def present(eigenvalues: np.ndarray) -> np.ndarray:
    """Return which eigenvalues of a product UU', in rising order, are more than its rounding."""
    n = eigenvalues.shape[-1]
    return eigenvalues > 8.0 * n * np.finfo(float).eps * np.maximum(eigenvalues[..., -1:], 1e-300)


def grid(t: Float[np.ndarray, " T"]) -> Float[np.ndarray, " T"]:
    """Return the times of a path, after checking that they increase from 0."""
    require(
        t[0] >= 0 and bool((np.diff(t) > 0).all()),
        "times start at 0 or later and increase",
        f"{t[0]:g} first" if t[0] < 0 else "times that don't",
        "sort them, and leave out what lies before the start",
    )
    return t


def recorded_steps(record: Sequence[int] | np.ndarray, last: int) -> Int[np.ndarray, " T"]:
    """Check the steps at which training is to be recorded."""
    rows = np.asarray(record)
    require(
        len(rows) > 0 and bool((np.diff(rows) > 0).all()) and rows[0] >= 0 and rows[-1] <= last,
        f"steps to record are whole numbers that increase, from 0 to {last}",
        str(rows.tolist() if rows.size <= 8 else f"{rows.size} numbers"),
        "pass np.arange(0, 1001, 10), say",
    )
    return rows.astype(int)
