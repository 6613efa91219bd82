"""What every flow returns: the input-output map over time, and how the path ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.limits.diagonal import DiagonalWeights

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Clock = Literal["paper", "gradient", "steps"]
PACE = {"paper": 1.0, "gradient": 2.0}  # of the tied network, against paper time


class FlowOutcome(Enum):
    """How a path ended; the value is a sentence with the remedy.

    Examples
    --------
    >>> from partwhole.flows import Tied, descend
    >>> descend(Tied(0.1 * np.eye(2), np.eye(2)), 10, 0.1).outcome.name
    'REACHED'
    >>> FlowOutcome.DIVERGED.value
    'the numbers are no longer finite; take a smaller step'
    """

    REACHED = "reached the last time"
    FITTED = "reached the training loss asked for"
    NOT_FITTED = (
        "reached the last time before the training loss asked for; raise max_time or the last "
        "time, or ask for a larger loss"
    )
    MAX_STEPS = (
        "ran out of steps before the last time, and later states are NaN or missing; raise "
        "max_steps, loosen rtol, or ask for an earlier time or a larger loss"
    )
    MAX_GRADIENTS = (
        "ran out of gradient evaluations, and the path ends where it did; raise max_gradients, "
        "loosen rtol, bring the targets of all tasks to one size, or ask for an earlier time or a "
        "larger loss"
    )
    STUCK = (
        "the step size fell to nothing, and the path ends where it did; loosen rtol and atol, or "
        "rescale inputs and targets to order 1"
    )
    NOT_POSITIVE = (
        "the matrix lost its positive semidefiniteness, so what follows is an artefact of the "
        "step and no property of the task; take a smaller step or integrate the factor"
    )
    DIVERGED = "the numbers are no longer finite; take a smaller step"


@runtime_checkable
class System(Protocol):
    """What a network learns: the training losses of its states, and the targets of probes."""

    def losses(self, states: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the training loss of each state."""
        ...

    def best_answers(self, probes: np.ndarray) -> np.ndarray:
        """Return what a network that has learned the task answers to each probe."""
        ...


@door(missing=("states", "offsets"), empty=("times", "states"), any_size=("states", "offsets"))
@dataclass(frozen=True, eq=False, repr=False)
class Path:
    r"""Input-output map of a network, :math:`f(x) = W x + b`, over time.

    Parameters
    ----------
    times : float array, shape (T,)
        In units of `clock`, increasing. The last is where the flow stopped.
    states : float array, shape (T, e, d)
        W at each time, from d inputs to e outputs. Many paths at once carry leading axes.
    clock : {"paper", "gradient", "steps"}
        Unit of time: "paper", the time in which the published matrix equation of the
        tied network holds; "gradient", gradient flow on the training loss, which for the tied
        network is :math:`L = \frac12 \|(W - I) A^{1/2}\|_F^2` and runs twice as fast, so that an
        event at paper time t happens at gradient time t/2; "steps", updates.
    outcome : FlowOutcome
    offsets : float array, shape (T, e), default None
        b at each time, of networks with biases.
    notes : tuple of str, default ()
        What a reader must know about this path: a concept that can't be learned, say.
    valid : bool, default True
        False for a closed form outside the conditions under which it is accurate; a note then
        says which.
    system : System, default None
        What the network learns, as `flow` sets it; None where it is not known.
    weights : DiagonalWeights, default None
        Of a diagonal network its weights at each time: hidden weights of shape (T, d), readouts of
        shape (T, d), or (T, k, d) for k tasks.

    Raises
    ------
    InputError
        For times that don't increase.
    """

    times: Float[np.ndarray, " T"]
    states: Float[np.ndarray, "*batch T e d"]
    clock: Clock
    outcome: FlowOutcome = FlowOutcome.REACHED
    offsets: Float[np.ndarray, "*batch T e"] | None = None
    notes: tuple[str, ...] = ()
    valid: bool = True
    system: System | None = None
    weights: DiagonalWeights | None = None

    def __post_init__(self) -> None:
        require(
            bool((np.diff(self.times) > 0).all()),
            "the times of a path increase",
            "times that don't",
            "sort them, and the states with them",
        )

    def __repr__(self) -> str:
        last = f" to {self.times[-1]:.4g}" if len(self.times) else ""
        return (
            f"Path({len(self.times)} times{last}, states of shape {self.states.shape}, "
            f"clock={self.clock!r}, outcome={self.outcome.name})"
        )

    @property
    def losses(self) -> Float[np.ndarray, "*batch T"]:
        """The training loss at each time.

        For networks that learn a linear map, half the mean square distance from the best linear
        map's answers, over all inputs; for diagonal networks the mean square error whose gradient
        the weights follow.

        Raises
        ------
        InputError
            For a path without a system.
        """
        require(
            self.system is not None,
            "the training losses of a path are those of its system",
            "a path without a system",
            "follow one by flow, or pass Path(..., system=...)",
        )
        assert self.system is not None
        return self.system.losses(self.states, self.offsets)

    @property
    def end(self) -> DiagonalWeights:
        """The weights of a diagonal network where the flow stopped.

        Raises
        ------
        InputError
            For the path of another network.
        """
        require(
            self.weights is not None,
            "weights at the end are those of a diagonal network",
            "a path without weights",
            "read its last state",
        )
        assert self.weights is not None
        return DiagonalWeights(*(layer[-1] for layer in self.weights))

    @property
    def ended_well(self) -> bool:
        """Whether the last time, or the training loss asked for, was reached."""
        return self.outcome in (FlowOutcome.REACHED, FlowOutcome.FITTED)

    @door(empty=("probes",))
    def outputs(self, probes: Float[np.ndarray, "*k d"]) -> Float[np.ndarray, "*answers e"]:
        """Return the answers to one probe or to several, at every time.

        Parameters
        ----------
        probes : float array, shape (d,) or (k, d)

        Returns
        -------
        float array, shape (T, e) or (T, k, e)

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

    @door(empty=("probes", "targets"))
    def probe_losses(
        self,
        probes: Float[np.ndarray, "*k d"],
        targets: Float[np.ndarray, "*k e"] | None = None,
    ) -> Float[np.ndarray, "*answers"]:
        r"""Return :math:`\frac12 \|f(z) - y\|^2` at each probe z, at every time.

        Parameters
        ----------
        probes : float array, shape (d,) or (k, d)
        targets : float array, shape (e,) or (k, e), default None
            y. None takes what the task asks for: the probe itself where the network learns the
            identity, which a path without a system does too; else the answers of the best linear
            map.

        Returns
        -------
        float array, shape (T,) or (T, k)

        Raises
        ------
        InputError
            As `outputs`, and where the targets are not known or of another number.
        """
        answers = self.outputs(probes)
        if targets is None:
            targets = probes if self.system is None else self.system.best_answers(probes)
        require(
            targets.shape == (*probes.shape[:-1], answers.shape[-1]),
            f"each probe has a target of {answers.shape[-1]} number(s)",
            f"shape {targets.shape}",
            "pass targets, one row for each probe",
        )
        return 0.5 * ((answers - targets) ** 2).sum(axis=-1)

    def describe(self) -> str:
        """Return a few lines: where the path ends, and what a reader must know about it."""
        if not len(self.times):
            return "A path without times."
        end = f"At {self.clock} time {self.times[-1]:.4g}"
        if self.system is not None:
            last = np.unique(self.losses[..., -1])
            span = f"{last[0]:.3g}" if len(last) == 1 else f"{last[0]:.3g} to {last[-1]:.3g}"
            end = f"{end}, with a training loss of {span}"
        notes = [f"Note: {note}." for note in self.notes]
        return "\n".join([f"{end}: {self.outcome.value}.", *notes])

    def to_frame(self) -> pd.DataFrame:
        """Return the path as a table: a row for each time; loss, and w11, w12, ... as columns.

        The first number of a column is the output, the second the input. Networks with biases
        also have columns b1, b2, ..., and paths without a system no loss.

        Returns
        -------
        DataFrame

        Raises
        ------
        InputError
            For many paths at once.
        """
        import pandas as pd

        require(
            self.states.ndim == 3,
            "a table holds one path",
            f"states of shape {self.states.shape}",
            "pick one path of the batch",
        )
        outputs, inputs = self.states.shape[-2:]
        comma = "" if max(outputs, inputs) < 10 else ","
        names = [f"w{i + 1}{comma}{j + 1}" for i in range(outputs) for j in range(inputs)]
        table = pd.DataFrame(self.states.reshape(len(self.times), -1), columns=names)
        if self.offsets is not None:
            table[[f"b{i + 1}" for i in range(outputs)]] = self.offsets
        if self.system is not None:
            table.insert(0, "loss", self.losses)
        table.insert(0, "time", self.times)
        return table

    @door
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the entries of the map over time; those of the diagonal are solid lines.

        Parameters
        ----------
        ax : Axes, optional
            Of matplotlib; by default of a new figure.

        Returns
        -------
        Axes

        Raises
        ------
        InputError
            For many paths at once.
        MissingExtraError
            Without matplotlib, of the extra "plot".

        Examples
        --------
        >>> from partwhole.flows import Tied, flow
        >>> flow(Tied(0.1 * np.eye(2), np.eye(2)), np.linspace(0.0, 5.0, 50)).plot().get_xlabel()
        'time (paper)'
        """
        from partwhole.flows.plotting import plot_path

        return plot_path(self, ax)

    def _repr_html_(self) -> str:
        table = self.to_frame() if self.states.ndim == 3 else None
        from partwhole._notebook import card

        return card(self, self.describe(), table)
