r"""The equation of motion of the tied two-layer network, and what each of its terms does.

A network :math:`f(x) = U U^\top x` regresses the identity on inputs with second moment A. With
:math:`W = U U^\top` its loss is :math:`L = \frac12 \mathrm{tr}[(W-I) A (W-I)]`, and

.. math:: \nabla_U L = [(W-I)A + A(W-I)]\,U .

Gradient flow on L moves W by :math:`\dot W = 2 V(W)`; the published equation is
:math:`\dot W = V(W)`, with

.. math:: V(W) = X W + W X, \qquad X = A - \tfrac12 (A W + W A).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import jax
import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.flows._inputs import moment, signals

Matrix = TypeVar("Matrix", np.ndarray, jax.Array)


def drive(w: Matrix, second_moment: Matrix) -> Matrix:
    r"""Return :math:`X = A - \frac12 (A W + W A)`, which moves the factor by
    :math:`\dot U = X U`.

    Works on NumPy and on JAX arrays.
    """
    product = second_moment @ w
    return second_moment - 0.5 * (product + product.swapaxes(-1, -2))


def require_stack(state: np.ndarray, a: np.ndarray) -> None:
    """Refuse second moments that are neither one nor one for each state."""
    lead = zip(a.shape[-3::-1], state.shape[-3::-1], strict=False)
    require(
        a.ndim <= state.ndim and all(size in (1, length) for size, length in lead),
        f"the second moment has the shape of the states, {state.shape}, or of one of them",
        f"shape {a.shape}",
        "pass one of them, or one for each state",
    )


@door
def tied_field(
    w: Float[np.ndarray, "*batch d d"], second_moment: Float[np.ndarray, "*#batch d d"]
) -> Float[np.ndarray, "*batch d d"]:
    r"""Return the velocity :math:`V(W) = AW + WA - \frac12(AW^2 + W^2A + 2WAW)`.

    Parameters
    ----------
    w : float array, shape (d, d)
        Symmetric.
    second_moment : float array, shape (d, d)
        A, symmetric.

    Returns
    -------
    float array, shape (d, d)
        :math:`\dot W` in paper time; gradient flow on the loss moves at twice this.

    Raises
    ------
    InputError
        For second moments that are neither one nor one for each state.

    Notes
    -----
    Yang et al. (ICLR 2025), equation of the two-layer model; that its time is twice that of
    gradient flow is derived here, and tested against automatic differentiation.

    Examples
    --------
    >>> w, a = np.array([[0.3, 0.1], [0.1, 0.6]]), np.diag([0.5, 1.2])
    >>> tied_field(w, a).round(4).tolist()
    [[0.193, 0.0065], [0.0065, 0.559]]
    """
    require_stack(w, second_moment)
    push = drive(w, second_moment) @ w
    return push + np.swapaxes(push, -1, -2)


@dataclass(frozen=True, eq=False)
class FieldParts:
    """Three parts of the velocity, which is `growth - suppression - interaction`.

    Parameters
    ----------
    growth, suppression, interaction : float arrays, shape (d, d)
    """

    growth: Float[np.ndarray, "*batch d d"]
    suppression: Float[np.ndarray, "*batch d d"]
    interaction: Float[np.ndarray, "*batch d d"]

    @property
    def velocity(self) -> Float[np.ndarray, "*batch d d"]:
        return self.growth - self.suppression - self.interaction


@door
def field_parts(
    w: Float[np.ndarray, "*batch d d"], second_moment: Float[np.ndarray, "d d"]
) -> FieldParts:
    r"""Split the velocity of every entry into growth, suppression and interaction.

    With :math:`A = \mathrm{diag}(a)`,

    .. math::
        G_{ij} &= (a_i + a_j) w_{ij} \\
        S_{ij} &= \tfrac12 w_{ij} [w_{ii}(3a_i + a_j) + 1_{i \ne j} w_{jj} (3a_j + a_i)] \\
        N_{ij} &= \tfrac12 \sum_{k \ne i,j} w_{ki} w_{kj} (a_i + a_j + 2 a_k).

    Parameters
    ----------
    w : float array, shape (d, d)
        Symmetric. Leading axes, such as the times of a path, are carried along.
    second_moment : float array, shape (d, d)
        A, diagonal: the split is by concepts.

    Returns
    -------
    FieldParts

    Raises
    ------
    InputError
        If A is not diagonal, or W no square matrix of its size.

    Notes
    -----
    Yang et al. (ICLR 2025), eq. 4.3, where the interaction is called noise; it is deterministic.

    Examples
    --------
    >>> w, a = np.array([[0.3, 0.1], [0.1, 0.6]]), np.diag([0.5, 1.2])
    >>> parts = field_parts(w, a)
    >>> parts.growth[0, 1].round(4), parts.suppression[0, 1].round(4)
    (np.float64(0.17), np.float64(0.1635))
    """
    a = signals(moment(second_moment, w.shape[-1]))
    n = len(a)
    major = np.diagonal(w, axis1=-2, axis2=-1)
    growth = (a[:, None] + a) * w
    row_damping = major[..., :, None] * (3 * a[:, None] + a)
    damping = row_damping + np.swapaxes(row_damping, -1, -2)
    is_diagonal = np.eye(n, dtype=bool)
    suppression = 0.5 * w * np.where(is_diagonal, row_damping, damping)
    # The sum over all k, less the terms k = i and k = j (which are one term on the diagonal).
    square = w @ w
    total = (a[:, None] + a) * square + 2 * (w * a) @ w
    mine = w * major[..., :, None] * (3 * a[:, None] + a)
    own_terms = np.where(is_diagonal, mine, mine + np.swapaxes(mine, -1, -2))
    return FieldParts(growth, suppression, 0.5 * (total - own_terms))
