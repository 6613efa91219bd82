"""Joint contexts: the contexts of all units together, as one gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.gates.design import GatedDesign


@runtime_checkable
class Gates(Protocol):
    """Gates of units: the context of each unit for an input."""

    @property
    def n_units(self) -> int:
        """Return H."""
        ...

    @property
    def n_contexts(self) -> int:
        """Return C."""
        ...

    def contexts(self, inputs: np.ndarray) -> np.ndarray:
        """Return each unit's context for each input, shape (n, H); -1 where it is off."""
        ...

    def design(self, inputs: np.ndarray) -> GatedDesign:
        """Return the features of inputs."""
        ...


@door
@dataclass(frozen=True, eq=False)
class JointGates:
    """Gates with separate weights for every combination of the units' contexts.

    A unit for all of them: where the units' sum shares what is learned between joint contexts,
    this learns each alone, and answers 0 in those without data. Contexts are then conjunctions,
    as of the components of a task.

    Parameters
    ----------
    gates : Gates
    occupied : int array, shape (J, H)
        The joint contexts that have weights; see `of`.

    Raises
    ------
    InputError
        For joint contexts of another number of units, or one given twice.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> gates = HalfspaceGates(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.zeros((2, 1)))
    >>> joint = JointGates.of(gates, np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 1.0]]))
    >>> joint.n_contexts, joint.contexts(np.array([[1.0, 3.0], [-1.0, -1.0]])).ravel().tolist()
    (2, [1, -1])
    """

    gates: Gates
    occupied: Int[np.ndarray, "J H"]

    def __post_init__(self) -> None:
        shape, units = np.shape(self.occupied), self.gates.n_units
        require(
            len(shape) == 2
            and shape[1] == units
            and len(np.unique(self.occupied, axis=0)) == shape[0],
            f"joint contexts are rows that differ, of {units} contexts each",
            f"shape {shape}",
            "take JointGates.of(gates, inputs)",
        )

    @classmethod
    @door(empty=("inputs",))
    def of(cls, gates: Gates, inputs: Float[np.ndarray, "n d"]) -> JointGates:
        """Return the gates for the joint contexts of inputs, such as the training set.

        Parameters
        ----------
        gates : Gates
        inputs : float array, shape (n, d)

        Returns
        -------
        JointGates
        """
        return cls(gates, np.unique(gates.contexts(inputs), axis=0))

    @property
    def n_units(self) -> int:
        """Return 1."""
        return 1

    @property
    def n_contexts(self) -> int:
        """Return J."""
        return len(self.occupied)

    @door(empty=("inputs",))
    def contexts(self, inputs: Float[np.ndarray, "n d"]) -> Int[np.ndarray, "n 1"]:
        """Return the joint context of each input, -1 without weights."""
        joined = np.concatenate([self.occupied, self.gates.contexts(inputs)])
        _, codes = np.unique(joined, axis=0, return_inverse=True)
        codes = codes.reshape(-1)
        place = np.full(codes.max() + 1, -1)
        place[codes[: len(self.occupied)]] = np.arange(len(self.occupied))
        return place[codes[len(self.occupied) :]][:, None]

    @door(empty=("inputs",))
    def design(self, inputs: Float[np.ndarray, "n d"]) -> GatedDesign:
        """Return the features of inputs."""
        return GatedDesign(inputs, self.contexts(inputs), self.n_contexts)


@door
def seen_share(
    gates: Gates, training: GatedDesign, inputs: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, " m"]:
    """Return the share of units whose context for an input had training inputs.

    Parameters
    ----------
    gates : Gates
    training : GatedDesign
        Features of the training inputs, ``gates.design(...)``.
    inputs : float array, shape (m, d)

    Returns
    -------
    float array, shape (m,)
        Units that are off count as seen, but not those of `JointGates`, which are off where a
        joint context has no weights. Where it is 0 the output of a limit is 0.
    """
    contexts, is_occupied = gates.contexts(inputs), training.occupied > 0
    occupied = np.take_along_axis(is_occupied.T, np.maximum(contexts, 0), axis=0)
    off = not isinstance(gates, JointGates)
    return np.where(contexts >= 0, occupied, off).mean(axis=1)
