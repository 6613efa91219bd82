r"""Distance of trained weights from a stationary point of the margin, and its global optimality.

Unlimited training converges to a stationary point (Karush, Kuhn & Tucker) of

.. math:: \min \tfrac12 \|\theta\|^2 \quad\text{s.t.}\quad y_i f(x_i; \theta) \ge 1 .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import nnls

from partwhole._door import door
from partwhole.limits import Limit
from partwhole.networks import GatedNetwork
from partwhole.networks.gated import LearnedGates, require_inputs
from partwhole.training.margin_ascent import flat_weights, margin_gradients
from partwhole.training.margins import margin_of, require_two_classes

PRESENT = 1e-3  # of the largest unit: smaller ones count as absent
NEAR = 0.1  # with a residual above it no stationary point is near
GLOBAL = 1e-2  # by which the residual may raise the pull on an absent unit above 1


@dataclass(frozen=True, eq=False)
class Stationarity:
    r"""Measures of how near weights are to a stationary point of the margin.

    Parameters
    ----------
    margin : float
        Normalised, :math:`\min_i y_i f(x_i) / (\|\theta\|^2 / L)^{L/2}`.
    largest : float
        That of the limit; NaN without one.
    residual : float
        :math:`\|\theta - \sum_i \lambda_i y_i \nabla f(x_i)\| / \|\theta\|` at the best
        multipliers :math:`\lambda \ge 0`: 0 at a stationary point, up to 1.
    slackness : float
        :math:`\sum_i \lambda_i (m_i - 1) / \sum_i \lambda_i`, with the least of the margins
        :math:`m_i` scaled to 1: 0 at a stationary point, where only inputs at the margin have
        multipliers.
    multipliers : float array, shape (n,)
    pulls : float array, shape (H,), or None
        :math:`\|\sum_i \lambda_i y_i \Phi_h(x_i)\|` of each unit of a gated layer with a linear
        readout: 1 where it takes part; above 1 where an absent unit would raise the margin.
    unit_norms : float array, shape (H,), or None
        Norm of the function of each such unit, at margin 1.
    frozen : bool
        Whether no gates are learned.
    """

    margin: float
    largest: float
    residual: float
    slackness: float
    multipliers: Float[np.ndarray, " n"]
    pulls: Float[np.ndarray, " H"] | None
    unit_norms: Float[np.ndarray, " H"] | None
    frozen: bool

    @property
    def fraction(self) -> float:
        """Return the margin as a share of the limit's."""
        return self.margin / self.largest

    @property
    def is_global(self) -> bool | None:
        """Return whether no absent unit is pulled by more than 1; None if that is unknown.

        With frozen gates and a linear readout a stationary point is the global one if and only
        if that holds. With a residual above 0.1 no such point is near. For a ReLU network it is
        unknown, as learned gates may reach a larger margin; ``network.with_frozen_gates()`` tests
        optimality for the current gates.
        """
        if self.pulls is None or self.residual > NEAR or not self.frozen:
            return None
        return bool((self.pulls[self._absent] <= 1.0 + GLOBAL).all())

    @property
    def _absent(self) -> Bool[np.ndarray, " H"]:
        """Return the units that are or may be absent at the stationary point nearby.

        The norm of their function, which scales with their squared weights, is a share of the
        total no larger than the squared residual, or negligible beside the largest unit.
        """
        norms = np.zeros(0) if self.unit_norms is None else self.unit_norms
        return norms <= max(PRESENT * norms.max(initial=0.0), self.residual**2 * norms.sum())

    def describe(self) -> str:
        """Return a description in a few lines of the nearest stationary point."""
        share = "" if np.isnan(self.largest) else f", {self.fraction:.3f} of the limit's"
        lines = [
            f"Normalised margin {self.margin:.6g}{share}.",
            f"Stationary up to {self.residual:.1e} of the weights; multipliers lie "
            f"{self.slackness:.1e} beyond the margin.",
        ]
        if self.is_global is not None and self.pulls is not None:
            verdict = "no absent unit would raise the margin: global"
            if not self.is_global:
                pull = self.pulls[self._absent].max()
                verdict = f"an absent unit is pulled by {pull:.3f}: not global"
            lines.append(f"Of the stationary point nearby, {verdict}.")
        elif self.residual > NEAR:
            lines.append(
                "No stationary point is near: follow the normalised flow, then ascend_margin."
            )
        return "\n".join(lines)


@door
def stationarity(
    network: GatedNetwork,
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    limit: Limit | None = None,
) -> Stationarity:
    r"""Measure how near trained weights are to a stationary point of the margin.

    Parameters
    ----------
    network : GatedNetwork
        Without a bias; it classifies all training inputs correctly. Learned gates are kept fixed,
        which is the condition of stationarity for a ReLU network.
    inputs : float array, shape (n, d)
    labels : float array, shape (n,)
        -1 and +1.
    limit : Limit, optional
        Of the same gates and training set, to compare the margin with.

    Returns
    -------
    Stationarity

    Raises
    ------
    InputError
        For a network with a bias or with training errors, labels that are not two classes, inputs
        that are not finite, a limit without a margin, and gradients that take over 4 GiB.

    Notes
    -----
    Lyu & Li (ICLR 2020), whose two measures of approximate stationarity these are. Multipliers
    make the sum of their squares least, that of the slackness with :math:`\|\theta\|^2 / L` at
    margin 1 for :math:`\sum_i \lambda_i`, which it is at a stationary point. Units of the inputs
    change none of it.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> from partwhole.training import Training, train
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)])
    >>> y = np.sign(x[:, 0] * x[:, 1])
    >>> start = GatedNetwork.draw(3, [HalfspaceGates.random(3, n_units=20), 1], seed=0)
    >>> flow = {"loss": "exponential", "optimiser": "normalised flow"}
    >>> ends = [
    ...     train([start], (x, y), Training(steps=n, **flow)).networks[0] for n in (200, 20_000)
    ... ]
    >>> before, after = (stationarity(end, x, y).residual for end in ends)
    >>> after < before
    True
    """
    require_inputs(inputs, network.dimension)
    require_two_classes(labels)
    y = labels
    outputs, gradients = margin_gradients(network, inputs, y)
    least = float((y * outputs).min())
    n_layers = network.n_layers
    weights = flat_weights(network)
    # At margin 1 weights are smaller by the L-th root, gradients by its power L - 1.
    scaled = weights / least ** (1.0 / n_layers)
    pulled = (gradients * y[:, None]).T / least ** (1.0 - 1.0 / n_layers)
    spare = y * outputs / least - 1.0
    multipliers = _multipliers(pulled, scaled, n_layers * spare)
    distance = float(np.linalg.norm(scaled - pulled @ multipliers))
    beyond = float(multipliers @ spare)
    pulls, norms = _units(network, inputs, multipliers * y, least)
    return Stationarity(
        margin=least / float(weights @ weights / n_layers) ** (0.5 * n_layers),
        largest=float("nan") if limit is None else margin_of(limit),
        residual=distance / float(np.linalg.norm(scaled)),
        slackness=beyond / float(multipliers.sum()) if multipliers.any() else 0.0,
        multipliers=multipliers,
        pulls=pulls,
        unit_norms=norms,
        frozen=not any(isinstance(gates, LearnedGates) for gates in network.gates),
    )


def _multipliers(
    pulled: Float[np.ndarray, "P n"],
    aim_weights: Float[np.ndarray, " P"],
    spare: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Return the nonnegative multipliers that best reproduce the weights from the columns.

    With few weights many combinations fit equally well, so slackness enters as a residual.
    """
    size = np.linalg.norm(aim_weights)
    rows = np.vstack([pulled, spare / size])
    aim = np.append(aim_weights, 0.0)
    if len(rows) > rows.shape[1]:
        basis, rows = np.linalg.qr(rows)
        aim = basis.T @ aim
    return nnls(rows, aim)[0]


def _units(
    network: GatedNetwork, inputs: np.ndarray, signed: np.ndarray, least: float
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return pulls and norms of the units of one gated layer with a linear readout."""
    shapes = [weight.shape for weight in network.weights]
    if len(shapes) != 2 or network.gates[0] is None or network.gates[1] is not None:
        return None, None
    if shapes[1][0] != 1:
        return None, None
    hidden, readout = (np.asarray(weight, dtype=float) for weight in network.weights)
    contexts = network.open_gates(inputs)[0]
    is_open = contexts[:, :, None] == np.arange(hidden.shape[1])
    pulled = np.einsum("n,nhc,nd->hcd", signed, is_open, inputs)
    norms = np.abs(readout[0, 0]) * np.sqrt((hidden**2).sum(axis=(1, 2)))
    return np.sqrt((pulled**2).sum(axis=(1, 2))), norms / least
