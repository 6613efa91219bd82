"""Where a gated network's training ends: the limit, its certificate, and what each unit does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole.features.gates.design import GatedDesign
from partwhole.features.gates.joint import Gates, JointGates
from partwhole.limits.costs import (
    ChainNorm,
    Concave,
    Cost,
    GroupNorm,
    NuclearNorm,
    Quadratic,
    SchattenNorm,
)
from partwhole.limits.fits import Margin
from partwhole.limits.least_cost import least_cost
from partwhole.limits.limit import Limit, Outcome

if TYPE_CHECKING:
    import pandas as pd

# Of the largest multiplier, unit or pull: smaller ones are none.
PRESENT = 1e-6


@dataclass(frozen=True, eq=False)
class GatedLimit:
    r"""Hold the infinite-time limit of a gated network, with its certificate.

    Parameters
    ----------
    gates : Gates
    design : GatedDesign
        Features of the n training inputs.
    cost : Cost
        What weight decay, or training without end, prefers in this architecture.
    limit : Limit
        The max-margin solution. Its direction is that of the trained weights.
    """

    gates: Gates
    design: GatedDesign
    cost: Cost | Concave
    limit: Limit

    @property
    def outcome(self) -> Outcome:
        """Return why the solve stopped; infeasible where no such network separates the inputs."""
        return self.limit.outcome

    @property
    def weights(self) -> Float[np.ndarray, "H C d"]:
        """Return the coefficients: each unit's weights in each of its contexts."""
        shape = (self.design.n_units, self.design.n_contexts, -1)
        return self.limit.coefficients.reshape(shape)

    @property
    def unit_norms(self) -> Float[np.ndarray, " H"]:
        """Return the size of each unit's weights."""
        return np.sqrt((self.weights**2).sum(axis=(1, 2)))

    @property
    def largest_margin(self) -> float:
        r"""Return its normalised margin, :math:`\min_i y_i f(x_i) / (\|\theta\|^2 / L)^{L/2}`.

        No weights have a larger one where the limit is the global one. NaN for costs that no
        architecture's weights have, weighted ones too, and 0 where nothing separates the inputs.
        """
        value, reached = self.limit.value, 1.0 - self.limit.violation
        cost = self.cost
        if not np.isfinite(value) or value == 0.0:
            return 0.0
        if isinstance(cost, Quadratic) and not cost.weights:
            return float(reached * (2.0 * value) ** -0.5)
        if isinstance(cost, NuclearNorm) or (isinstance(cost, GroupNorm) and cost.weights is None):
            return float(reached / value)
        if isinstance(cost, ChainNorm | SchattenNorm):
            return float(reached * value ** (-0.5 * cost.n_layers))
        return float("nan")

    @property
    def active(self) -> Int[np.ndarray, " A"]:
        """Return the units that take part."""
        norms = self.unit_norms
        return np.flatnonzero(norms > PRESENT * norms.max(initial=0.0))

    @property
    def pulls(self) -> Float[np.ndarray, " H"]:
        r"""Return :math:`\|A_h^T v\|`, what the training set would give for a unit's growth.

        For the group norm the limit is the global one if none is above 1; active units have 1.
        """
        pulled = self.design.adjoint(self.limit.multipliers)
        return np.sqrt((pulled.reshape(self.design.n_units, -1) ** 2).sum(axis=1))

    @property
    def support(self) -> Int[np.ndarray, " S"]:
        """Return the training inputs that hold the margin."""
        size = np.abs(self.limit.multipliers)
        return np.flatnonzero(size > PRESENT * size.max(initial=0.0))

    @property
    def occupied(self) -> Int[np.ndarray, "H C"]:
        """Return how many training inputs each unit has in each context.

        What is learned in a context without any is nothing: the weights there are 0.
        """
        own = self.design.contexts[:, :, None] == np.arange(self.design.n_contexts)
        return own.sum(axis=0)

    @door
    def predict(self, inputs: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Return the outputs for other inputs; their sign is the decision, and 0 is a tie.

        Parameters
        ----------
        inputs : float array, shape (m, d)

        Returns
        -------
        float array, shape (m,)
            NaN where nothing separates the training set; `outcome` then says so.
        """
        return self.limit.predict(self.gates.design(inputs))

    @door
    def seen(self, inputs: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Return the share of units whose context for an input had training inputs.

        Parameters
        ----------
        inputs : float array, shape (m, d)

        Returns
        -------
        float array, shape (m,)
            Units that are off count as seen, but not those of `JointGates`, which are off where
            a joint context has no weights. Where it is 0 the output is 0.
        """
        contexts, there = self.gates.contexts(inputs), self.occupied > 0
        known = np.take_along_axis(there.T, np.maximum(contexts, 0), axis=0)
        off = not isinstance(self.gates, JointGates)
        return np.where(contexts >= 0, known, off).mean(axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each unit: norm, pull, whether it is active, occupied contexts."""
        import pandas as pd

        return pd.DataFrame(
            {
                "unit": np.arange(self.design.n_units),
                "norm": self.unit_norms,
                "pull": self.pulls,
                "active": np.isin(np.arange(self.design.n_units), self.active),
                "occupied_contexts": (self.occupied > 0).sum(axis=1),
            }
        )

    def describe(self) -> str:
        """Say in a few lines what was solved, how closely, and who takes part."""
        n, units, contexts = len(self.design.inputs), self.design.n_units, self.design.n_contexts
        head = (
            f"{type(self.cost).__name__} of gated units ({units}) with contexts ({contexts} each): "
        )
        if self.outcome is Outcome.INFEASIBLE:
            return (
                f"{head}no such network separates the {n} inputs; the multipliers of "
                f"{len(self.support)} of them certify it; add units, hyperplanes or coordinates, "
                "or drop inputs that contradict others."
            )
        empty = int((self.occupied == 0).sum())
        near = f"value {self.limit.value:.6g}, "
        near += (
            "stationary; other starts may end elsewhere"
            if self.outcome is Outcome.STATIONARY
            else f"within {abs(self.limit.gap):.0e} of the least"
        )
        lines = [
            f"{head}{near}.",
            f"{len(self.support)} of {n} inputs hold the margin; {len(self.active)} of {units} "
            "units take part.",
        ]
        if self.outcome not in (Outcome.SOLVED, Outcome.STATIONARY):
            lines.append(f"The solve stopped early: {self.outcome.value}.")
        if empty:
            lines.append(f"{empty} of {units * contexts} contexts have no training input.")
        return "\n".join(lines)


@door
def gated_limit(
    gates: Gates,
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    cost: Cost | Concave | None = None,
    *,
    max_steps: int = 200,
    start: Float[np.ndarray, "H C d"] | None = None,
) -> GatedLimit:
    r"""Solve for the infinite-time limit of a gated network on two classes.

    With an exponential-tailed loss, weights of a network whose layers enter its output as a
    homogeneous polynomial grow in a direction in which they separate the inputs with the least
    norm. In terms of what each unit computes that is

    .. math:: \min R(\zeta) \quad\text{s.t.}\quad y_i f(x_i) \ge 1 .

    Parameters
    ----------
    gates : Gates
        Frozen; those of a trained ReLU network at their last values, say.
    inputs : float array, shape (n, d)
        A constant coordinate stands for an intercept, and is penalised like the others.
    labels : float array, shape (n,)
        -1 and +1.
    cost : Cost, optional
        By the architecture: `GroupNorm` (default) for a gated layer with a linear readout or
        more linear layers on top; `Quadratic` where only the gated layer is trained, and with
        `JointGates` for a single unit; `NuclearNorm` for a gated readout on a linear layer, and
        `SchattenNorm` on several; `ChainNorm` for parallel chains; `FunctionSpaceL2` for the
        kernel machine of the function space. `networks.architecture_cost` tells a network's.
    max_steps : int, keyword-only, default 200
    start : float array, shape (H, C, d), keyword-only, optional
        Of costs that are not convex, which end at a stationary point near it: the
        `networks.path_weights` of a trained network, say.

    Returns
    -------
    GatedLimit

    Raises
    ------
    InputError
        For labels that are not two classes, inputs that the gates are not for, what is no cost,
        no steps, or a start of another shape.

    Notes
    -----
    Lyu & Li (ICLR 2020) for the direction; Lippl, Abbott & Chung (2022) for gated networks, and
    with gates frozen at the end of training for ReLU networks. Training is bound to a stationary
    point only; the limit of a convex cost here is the global one.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> x = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, 1.0]])
    >>> gates = HalfspaceGates(np.array([[[1.0, 0.0, 0.0]]]), np.zeros((1, 1)))
    >>> found = gated_limit(gates, x, np.array([1.0, -1.0, 1.0, -1.0]))  # exclusive or
    >>> print(found.describe())
    GroupNorm of gated units (1) with contexts (2 each): value 1.41421, within ... of the least.
    4 of 4 inputs hold the margin; 1 of 1 units take part.
    >>> (found.weights.round(6) + 0.0).tolist()
    [[[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]]
    """
    classes = np.unique(labels)
    require(
        len(classes) == 2 and bool((np.abs(classes) == 1.0).all()),
        "labels are two classes, -1 and +1",
        ", ".join(f"{each:g}" for each in classes[:4]) + (", ..." if len(classes) > 4 else ""),
        "recode labels 0 and 1 as 2 y - 1",
    )
    design = gates.design(inputs)
    chosen = GroupNorm() if cost is None else cost
    require(
        isinstance(chosen, Cost | Concave) and not isinstance(chosen, type),
        "a cost says what is preferred",
        repr(chosen),
        "pass GroupNorm(), say",
    )
    whole("max_steps", max_steps, 1, "allow more steps")
    shape = (design.n_units, design.n_contexts, design.inputs.shape[1])
    if start is not None:
        rule = f"a start has the shape (units, contexts, inputs), {shape}"
        require(start.shape == shape, rule, start.shape, "or leave it out")
    limit = least_cost(
        design, labels, chosen, Margin(), intercept="none", max_steps=max_steps,
        start=None if start is None else start.reshape(-1),
    )  # fmt: skip
    return GatedLimit(gates, design, chosen, limit)
