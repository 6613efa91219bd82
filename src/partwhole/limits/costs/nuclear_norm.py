r"""The nuclear norm: what weight decay prefers where a gated readout stands on linear layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import whole
from partwhole._door import door
from partwhole.features.design import Design
from partwhole.limits.costs._cost import Bounds, DualTerm
from partwhole.limits.costs._matrices import dense_features, matrices
from partwhole.limits.costs.group_norm import ROUNDING


@door
@dataclass(frozen=True, eq=False)
class NuclearNorm:
    r"""Prefer matrices of low rank: the sum of each block's singular values.

    .. math:: R(c) = \sum_{blocks\ g} \|C_g\|_*, \qquad
              R^*(A^T v) = 0 \text{ where no } A_g^T v \text{ has a singular value above } 1,\
              \infty \text{ elsewhere,}

    with each block's coefficients as a matrix of R rows. With one row it is `GroupNorm`.

    Parameters
    ----------
    rows : int
        R: the contexts of a gated readout, say. Columns of a block are ordered row by row.

    Raises
    ------
    InputError
        When used on blocks whose sizes R does not divide, or that differ.

    Notes
    -----
    It is the least sum of half the squared weights with which a readout V and a first layer W
    of at least as many units as the rank give :math:`C = V W`: so gradient descent on
    exponential losses prefers it in a linear layer under a gated readout, and in two layers with
    the same gates (Lippl, Abbott & Chung, 2022; derived here).

    Examples
    --------
    >>> from partwhole import solve
    >>> first_row_and_diagonal = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> data = first_row_and_diagonal, np.array([2.0, 1.0])
    >>> limit = solve(data, cost=NuclearNorm(2), intercept="none")
    >>> limit.coefficients.reshape(2, 2).round(6).tolist(), round(limit.value, 6)
    ([[2.0, 0.0], [0.0, 1.0]], 3.0)
    """

    rows: int

    def __post_init__(self) -> None:
        whole("rows", self.rows, 1, "pass the number of contexts of the readout")

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the sum of the blocks' singular values."""
        blocks = matrices(design, coefficients, self.rows)
        return float(np.linalg.svd(blocks, compute_uv=False).sum())

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return the domain in which no block is pulled by a singular value above 1."""
        n = design.shape[0]
        pulled = matrices(design, design.adjoint(multipliers), self.rows)
        whole_room = np.eye(self.rows) - pulled @ pulled.swapaxes(-1, -2)

        def outputs(prices: np.ndarray) -> np.ndarray:
            return design @ (prices @ pulled).ravel()

        def moved(direction: np.ndarray) -> np.ndarray:
            turned = matrices(design, design.adjoint(direction), self.rows) @ pulled.swapaxes(
                -1, -2
            )
            return -0.5 * (turned + turned.swapaxes(-1, -2))

        def curvature(prices: np.ndarray, scalings: np.ndarray) -> np.ndarray:
            features = dense_features(design).reshape(n, *pulled.shape)
            priced = (_root(prices) @ features).reshape(n, -1)
            turned = features @ pulled.swapaxes(-1, -2)
            half = _root(scalings)
            moves = half @ (-0.5 * (turned + turned.swapaxes(-1, -2))) @ half
            moves = moves.reshape(n, -1)
            return priced @ priced.T + moves @ moves.T

        def reach(direction: np.ndarray) -> float:
            along = matrices(design, design.adjoint(direction), self.rows)
            return min(_wall(here, there) for here, there in zip(pulled, along, strict=True))

        least = float(np.linalg.eigvalsh(whole_room)[:, 0].min(initial=1.0))
        bounds = Bounds(0.5 * whole_room, outputs, moved, curvature, reach)
        value = 0.0 if least >= -ROUNDING else np.inf
        return DualTerm(value, np.zeros(n), lambda: np.zeros((n, n)), bounds=bounds)

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " n"], prices: np.ndarray | None
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients: the prices times what pulls at each block."""
        pulled = matrices(design, design.adjoint(multipliers), self.rows)
        return (0.0 * pulled if prices is None else prices @ pulled).ravel()


def _root(matrices: np.ndarray) -> np.ndarray:
    size, basis = np.linalg.eigh(matrices)
    return (basis * np.sqrt(np.maximum(size, 0.0))[:, None, :]) @ basis.swapaxes(-1, -2)


def _wall(here: np.ndarray, along: np.ndarray) -> float:
    r"""Return the first t at which here + t along has a singular value of 1.

    Until then :math:`\begin{pmatrix} I & M \\ M^T & I \end{pmatrix}` stays positive definite,
    which is linear in t.
    """
    basis = np.linalg.qr(np.concatenate([here, along]).T)[0]  # no other columns are in use
    here, along = here @ basis, along @ basis
    r, k = here.shape
    both, slope = np.eye(r + k), np.zeros((r + k, r + k))
    both[:r, r:], both[r:, :r] = here, here.T
    slope[:r, r:], slope[r:, :r] = along, along.T
    size, turn = np.linalg.eigh(both)
    back = turn / np.sqrt(np.maximum(size, 1e-300))
    least = float(np.linalg.eigvalsh(back.T @ slope @ back)[0])
    return -1.0 / least if least < 0.0 else np.inf
