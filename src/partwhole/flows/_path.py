"""What every flow returns: the input-output map over time, and how the integration ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.flows._inputs import moment

if TYPE_CHECKING:
    import pandas as pd

Clock = Literal["paper", "gradient", "steps"]
PACE = {"paper": 1.0, "gradient": 2.0}  # of the tied network, against paper time


class Outcome(Enum):
    """Say how a path ended; the value is a sentence with the remedy."""

    REACHED = "reached the last time"
    MAX_STEPS = (
        "ran out of steps before the last time, later states are NaN; raise max_steps, loosen "
        "rtol, or ask for an earlier last time"
    )
    NOT_POSITIVE = (
        "the matrix lost its positive semidefiniteness, so what follows is an artefact of the "
        "step and no property of the task; take a smaller step or integrate the factor"
    )
    DIVERGED = "the numbers are no longer finite; take a smaller step"


@door(missing=("states", "offsets"), empty=("times", "states"), any_size=("states",))
@dataclass(frozen=True, eq=False)
class Path:
    r"""Hold the input-output map of a learner, :math:`f(x) = W x + b`, over time.

    Parameters
    ----------
    times : float array, shape (T,)
        In units of `clock`, increasing.
    states : float array, shape (T, d, d)
        W at each time. Many paths at once carry leading axes.
    clock : {"paper", "gradient", "steps"}
        What a unit of time is: "paper", the time in which the published matrix equation of the
        tied network holds; "gradient", gradient flow on
        :math:`L = \frac12 \|(W - I) A^{1/2}\|_F^2`; for the tied network it runs twice as fast,
        so that an event at paper time t happens at gradient time t/2; "steps", updates.
    outcome : Outcome
    offsets : float array, shape (T, d), default None
        b at each time, of learners that have a bias.
    notes : tuple of str, default ()
        What a reader must know about this path: a concept that can't be learned, say.
    valid : bool, default True
        False where a formula was asked outside the conditions under which it is accurate; a
        note then says which.

    Raises
    ------
    InputError
        For times that don't increase.
    """

    times: Float[np.ndarray, " T"]
    states: Float[np.ndarray, "*batch T d d"]
    clock: Clock
    outcome: Outcome = Outcome.REACHED
    offsets: Float[np.ndarray, "*batch T d"] | None = None
    notes: tuple[str, ...] = ()
    valid: bool = True

    def __post_init__(self) -> None:
        require(
            bool((np.diff(self.times) > 0).all()),
            "the times of a path increase",
            "times that don't",
            "sort them, and the states with them",
        )

    @door(empty=("probes",))
    def outputs(self, probes: Float[np.ndarray, "*k d"]) -> Float[np.ndarray, "*answers d"]:
        """Return the answers to one probe or to several, at every time.

        Parameters
        ----------
        probes : float array, shape (d,) or (k, d)

        Returns
        -------
        float array, shape (T, d) or (T, k, d)

        Raises
        ------
        InputError
            If the probes have another dimension than the path.
        """
        dimension = self.states.shape[-1]
        require(
            probes.ndim <= 2 and probes.shape[-1] == dimension,
            f"probes are points in the path's {dimension} dimensions",
            f"shape {probes.shape}",
            "pass one point, or one row for each",
        )
        readings = self.states @ probes.T
        if self.offsets is not None:
            readings = readings + (self.offsets if probes.ndim == 1 else self.offsets[..., None])
        return readings if probes.ndim == 1 else np.swapaxes(readings, -1, -2)

    @door(empty=("probes",))
    def loss(self, probes: Float[np.ndarray, "*k d"]) -> Float[np.ndarray, "*answers"]:
        r"""Return :math:`\frac12 \|f(z) - z\|^2` at each probe z, at every time.

        Parameters
        ----------
        probes : float array, shape (d,) or (k, d)

        Returns
        -------
        float array, shape (T,) or (T, k)

        Raises
        ------
        InputError
            As `outputs`.
        """
        return 0.5 * ((self.outputs(probes) - probes) ** 2).sum(axis=-1)

    @door
    def training_loss(
        self, second_moment: Float[np.ndarray, "d d"]
    ) -> Float[np.ndarray, "*batch T"]:
        r"""Return :math:`\frac12 \mathrm{tr}[(W-I) A (W-I)^\top]`, the loss over the population.

        Parameters
        ----------
        second_moment : float array, shape (d, d)
            A, the inputs' :math:`E[x x^\top]`.

        Returns
        -------
        float array, shape (T,)

        Raises
        ------
        InputError
            For a learner with a bias, whose loss needs the inputs' mean too, and for a second
            moment of another dimension than the path.
        """
        require(
            self.offsets is None,
            "the loss over the population is tr[(W - I) A (W - I)']/2 for learners without a bias",
            "a path with offsets",
            "compute the loss on a sample",
        )
        a = moment(second_moment, self.states.shape[-1])
        gap = self.states - np.eye(len(a))
        return 0.5 * np.einsum("...ij,jk,...ik->...", gap, a, gap)

    def to_frame(self) -> pd.DataFrame:
        """Return the entries of W as a table: a row for each time, w11, w12, ... as columns."""
        import pandas as pd

        require(
            self.states.ndim == 3,
            "a table holds one path",
            f"states of shape {self.states.shape}",
            "pick one path of the batch",
        )
        d = self.states.shape[-1]
        apart = "" if d < 10 else ","
        names = [f"w{i + 1}{apart}{j + 1}" for i in range(d) for j in range(d)]
        table = pd.DataFrame(self.states.reshape(len(self.times), -1), columns=names)
        table.insert(0, "time", self.times)
        return table
