r"""A tied network whose one factor is held while the other is moved: solved exactly.

With the gradient stopped through one factor, :math:`\dot U = (I - W) A U`, and
:math:`W = U U^\top` obeys a Riccati equation. It shares stages and learning clocks with the tied
network, while its minor entries are suppressed twice as fast.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole.flows._inputs import factor, grid, moment
from partwhole.flows._path import Path
from partwhole.flows.clocks import cholesky, never_learned
from partwhole.flows.field import require_stack


@door
def one_sided_field(
    w: Float[np.ndarray, "*batch d d"], second_moment: Float[np.ndarray, "*#batch d d"]
) -> Float[np.ndarray, "*batch d d"]:
    r"""Return the velocity :math:`AW + WA - 2 WAW`.

    Parameters
    ----------
    w : float array, shape (d, d)
        Symmetric.
    second_moment : float array, shape (d, d)
        A, symmetric.

    Returns
    -------
    float array, shape (d, d)

    Raises
    ------
    InputError
        As `tied_field`.

    Notes
    -----
    Derived here. Equal to `tied_field` where A and W commute.

    Examples
    --------
    >>> w, a = np.array([[0.3, 0.1], [0.1, 0.6]]), np.diag([0.5, 1.2])
    >>> one_sided_field(w, a).round(4).tolist()
    [[0.186, -0.004], [-0.004, 0.566]]
    """
    require_stack(w, second_moment)
    grown = second_moment @ w
    return grown + np.swapaxes(grown, -1, -2) - 2.0 * w @ grown


@door
def one_sided_flow(
    w0: Float[np.ndarray, "d d"],
    second_moment: Float[np.ndarray, "d d"],
    times: Float[np.ndarray, " T"],
) -> Path:
    r"""Solve :math:`\dot W = AW + WA - 2WAW` exactly.

    .. math:: W(t) = [I + e^{-At} (W_0^{-1} - I) e^{-At}]^{-1}

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Symmetric and positive semidefinite; it may lack rank.
    second_moment : float array, shape (d, d)
        A = E[x x'], diagonal or not.
    times : float array, shape (T,)
        Increasing, from 0 or later, however late.

    Returns
    -------
    Path
        Its clock is called "paper", as that of the tied network whose stages it shares: to first
        order in W both move by AW + WA.

    Raises
    ------
    InputError
        As `tied_flow`.

    Notes
    -----
    Derived here. In the eigenbasis of A, strongest first, let :math:`W_0 = L L^\top` be a
    Cholesky factorisation. Then with :math:`Y = e^{At} L e^{-At}`

    .. math:: W(t) = Y\,[e^{-2At} + Y^\top (I - e^{-2At})\, Y]^{-1}\, Y^\top ,

    which needs no inverse of W_0 and in which no number grows.

    Examples
    --------
    >>> w0 = 0.01 * np.array([[1, 0.5], [0.5, 1]])
    >>> one_sided_flow(w0, np.diag([4.5025, 0.5025]), np.array([1.0])).states.round(6).tolist()
    [[[0.987938, 0.008931], [0.008931, 0.020307]]]
    """
    asked = grid(times)
    root = factor(w0)
    a = moment(second_moment, len(root))
    size, basis = np.linalg.eigh(a)
    size, basis = np.maximum(size[::-1], 0.0), basis[:, ::-1]
    turned = basis.T @ root
    lower = cholesky(turned @ turned.T)
    present = np.diagonal(lower) > 0
    lower, own = lower[:, present], size[present]

    # L is lower triangular and the signals fall, so that no exponent that counts is positive.
    apart = np.minimum(size[:, None] - own, 0.0)
    y = lower * np.exp(asked[:, None, None] * apart)
    gained = -np.expm1(-2.0 * np.outer(asked, size))
    held = np.swapaxes(y, -1, -2) @ (gained[..., None] * y)
    held = held + (1.0 - gained)[:, present, None] * np.eye(len(own))
    u = np.swapaxes(np.linalg.solve(np.linalg.cholesky(held), np.swapaxes(y, -1, -2)), -1, -2)
    u = basis @ u
    return Path(asked, u @ np.swapaxes(u, -1, -2), "paper", notes=never_learned(w0, a))
