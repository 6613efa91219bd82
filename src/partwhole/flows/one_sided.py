r"""A tied network whose one factor is held while the other is moved: solved exactly.

With the gradient stopped through one factor, :math:`\dot U = (I - W) A U`, and
:math:`W = U U^\top` obeys a Riccati equation. It shares stages and learning clocks with the tied
network, while its minor entries are suppressed twice as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole.flows._inputs import factor, grid, moment
from partwhole.flows._path import Path
from partwhole.flows.clocks import cholesky, never_learned
from partwhole.flows.field import require_stack
from partwhole.flows.tied import identity_losses


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
@dataclass(frozen=True, eq=False)
class OneSided:
    r"""A tied network whose one factor is moved while the other is held, solved exactly.

    .. math:: \dot W = AW + WA - 2WAW, \qquad W(t) = [I + e^{-At} (W_0^{-1} - I) e^{-At}]^{-1}

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Initial input-output matrix, symmetric and positive semidefinite; it may lack rank.
    second_moment : float array, shape (d, d)
        A = E[x x'], diagonal or not.

    Raises
    ------
    InputError
        As `Tied`.

    Notes
    -----
    Derived here. In the eigenbasis of A, strongest first, let :math:`W_0 = L L^\top` be a
    Cholesky factorisation. Then with :math:`Y = e^{At} L e^{-At}`

    .. math:: W(t) = Y\,[e^{-2At} + Y^\top (I - e^{-2At})\, Y]^{-1}\, Y^\top ,

    which needs no inverse of W_0 and in which no number grows.

    Its clock is called "paper", as that of the tied network whose stages it shares: to first
    order in W both move by AW + WA.

    Examples
    --------
    >>> from partwhole.flows import flow
    >>> system = OneSided(0.01 * np.array([[1, 0.5], [0.5, 1]]), np.diag([4.5025, 0.5025]))
    >>> flow(system, np.array([1.0])).states.round(6).tolist()
    [[[0.987938, 0.008931], [0.008931, 0.020307]]]
    """

    w0: Float[np.ndarray, "d d"]
    second_moment: Float[np.ndarray, "d d"]

    def __post_init__(self) -> None:
        _ = self.initial_factor, self.driving_moment

    @cached_property
    def initial_factor(self) -> Float[np.ndarray, "d d"]:
        """U, with UU' = w0; a direction that is missing from w0 is a column of zeros."""
        return factor(self.w0)

    @cached_property
    def driving_moment(self) -> Float[np.ndarray, "d d"]:
        """A."""
        return moment(self.second_moment, len(self.w0))

    def losses(self, states: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        r"""Return :math:`\frac12 \mathrm{tr}[(W-I) A (W-I)]` of each state W."""
        return identity_losses(states, self.driving_moment)

    def best_answers(self, probes: np.ndarray) -> np.ndarray:
        """Return the probes: the network learns the identity."""
        return probes


def follow_one_sided(system: OneSided, times: Float[np.ndarray, " T"]) -> Path:
    """Return the path of a network with one held factor, in paper time."""
    times = grid(times)
    size, basis = np.linalg.eigh(system.driving_moment)
    size, basis = np.maximum(size[::-1], 0.0), basis[:, ::-1]
    rotated = basis.T @ system.initial_factor
    lower = cholesky(rotated @ rotated.T)
    present = np.diagonal(lower) > 0
    lower, signals = lower[:, present], size[present]

    # L is lower triangular and the signals fall, so that no exponent that counts is positive.
    gaps = np.minimum(size[:, None] - signals, 0.0)
    y = lower * np.exp(times[:, None, None] * gaps)
    gained = -np.expm1(-2.0 * np.outer(times, size))
    inner = np.swapaxes(y, -1, -2) @ (gained[..., None] * y)
    inner = inner + (1.0 - gained)[:, present, None] * np.eye(len(signals))
    u = np.swapaxes(np.linalg.solve(np.linalg.cholesky(inner), np.swapaxes(y, -1, -2)), -1, -2)
    u = basis @ u
    notes = never_learned(system.w0, system.driving_moment)
    return Path(times, u @ np.swapaxes(u, -1, -2), "paper", notes=notes, system=system)
