"""What `least_cost` returns: the function where learning ends, with its certificate."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.design import Design, as_design


class Outcome(Enum):
    """The reason a solve stopped; the value is a sentence with the remedy."""

    SOLVED = "solved: the duality gap is at most 1e-6 of the value, and exact rows are met"
    STATIONARY = (
        "a stationary point of a cost that is not convex; others may cost less: pass other starts"
    )
    INFEASIBLE = (
        "no function of these features fits the training set; the multipliers prove it; "
        "allow slack, add features, or look at solvability(task)"
    )
    INACCURATE = (
        "not decided: the duality gap stayed above 1e-6 of the value, or exact rows were missed, "
        "because numbers of very different size meet; rescale features or targets, drop rows that "
        "are nearly alike, or allow slack"
    )
    MAX_STEPS = "not decided: reached max_steps; raise max_steps or allow slack"


@dataclass(frozen=True, eq=False)
class Limit:
    r"""The least-cost function that fits the training set, with its certificate.

    Parameters
    ----------
    coefficients : float array, shape (p,) or (p, k)
        One for each feature; NaN when infeasible.
    multipliers : float array, shape (n,) or (n, k)
        Dual variables v of the training rows. When infeasible, a proof: of every feature that the
        cost allows, the sum over rows, times v, vanishes to 1e-11 of what is summed, and the fit
        would reward v.
    intercept : float or float array (k,)
    value : float
        The cost of the coefficients, the slack used and a penalised intercept; infinite when
        infeasible. Where rounding of the coefficients would be felt in the misfits of rows with
        little slack, these are what the multipliers say.
    gap : float
        Value minus a lower bound on the least cost, by multipliers that the dual allows, with
        what exact rows miss counted against it; rounding may leave it slightly below 0. At a
        stationary point, the same of the convex cost that touches there.
    violation : float
        Largest misfit of a row without slack; 0 when every row has some. When infeasible, of
        equalities the largest misfit that least squares leaves.
    steps : int
        Solver steps taken.
    outcome : Outcome
    assumptions : tuple of str
        What the solution takes for granted.
    """

    coefficients: Float[np.ndarray, "p *k"]
    multipliers: Float[np.ndarray, "n *k"]
    intercept: float | Float[np.ndarray, " k"]
    value: float
    gap: float
    violation: float
    steps: int
    outcome: Outcome
    assumptions: tuple[str, ...] = ()

    @door(empty=("design",))
    def predict(self, design: Float[np.ndarray, "m p"] | Design) -> Float[np.ndarray, "m *k"]:
        """Return the outputs for other inputs, described in the same columns.

        Parameters
        ----------
        design : Design or float array, shape (m, p)
            m inputs.

        Returns
        -------
        float array, shape (m,) or (m, k)
            NaN where nothing fits the training set; `outcome` then says so.
        """
        features = as_design(design)
        self._require_features(features)
        return features @ self.coefficients + self.intercept

    def _require_features(self, design: Design) -> None:
        p, got = len(self.coefficients), design.shape[1]
        rule = f"inputs are described in the same {p} columns as the training inputs"
        require(got == p, rule, got, "pass the columns that the limit was solved with")

    @door
    def parts(self, design: Design) -> dict[Hashable, Float[np.ndarray, "m *k"]]:
        """Return each block's share of the outputs; with the intercept they sum to `predict`.

        Parameters
        ----------
        design : Design
            m inputs.

        Returns
        -------
        dict
            Block label to array of shape (m,) or (m, k); the intercept under "intercept".
        """
        self._require_features(design)
        shares: dict[Hashable, np.ndarray] = {}
        for block in design.blocks:
            alone = np.zeros_like(self.coefficients)
            alone[block.columns] = self.coefficients[block.columns]
            shares[block.label] = design @ alone
        n = design.shape[0]
        shares["intercept"] = np.zeros((n, *self.coefficients.shape[1:])) + self.intercept
        return shares
