"""ReLU gates: a unit is on for inputs on one side of its hyperplane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real, Seed
from partwhole.features.gates._inputs import require_inputs
from partwhole.features.gates.design import GatedDesign
from partwhole.features.gates.halfspaces import HalfspaceGates


@door
@dataclass(frozen=True, eq=False)
class ReLUGates:
    r"""Gates of ReLU units: a unit is on where :math:`\langle u_h, x \rangle \ge b_h`, else off.

    Those of a ReLU network are its first layer's weights, with thresholds of minus its biases.
    Frozen at their last values they make the network linear in what it learns, so that the limit
    of its training is computable (Lippl, Abbott & Chung, 2022).

    Parameters
    ----------
    normals : float array, shape (H, d)
        :math:`u_h`; zeros, with a threshold of 0, for a unit that is always on.
    thresholds : float array, shape (H,), optional
        :math:`b_h`, 0 by default.

    Raises
    ------
    InputError
        For normals and thresholds that are not finite or don't go with each other.

    Examples
    --------
    >>> gates = ReLUGates(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    >>> gates.contexts(np.array([[2.0, 1.0], [-2.0, 1.0], [0.0, 1.0]])).tolist()
    [[0, -1], [-1, 0], [0, 0]]
    """

    normals: Float[np.ndarray, "H d"]
    thresholds: Float[np.ndarray, "..."] | None = None

    def __post_init__(self) -> None:
        if self.thresholds is None:
            object.__setattr__(self, "thresholds", np.zeros(len(self.normals)))
        assert self.thresholds is not None
        require(
            self.normals.ndim == 2 and self.thresholds.shape == (len(self.normals),),
            "normals are of shape (units, inputs), thresholds a number for each unit",
            f"{self.normals.shape} and {self.thresholds.shape}",
            "leave thresholds out for hyperplanes through the origin",
        )

    @classmethod
    @door
    def random(
        cls,
        dimension: int,
        *,
        n_units: int,
        thresholds: Literal["zero", "median"] | Real = "zero",
        inputs: Float[np.ndarray, "n d"] | None = None,
        always_on: bool = False,
        seed: Seed = 0,
    ) -> ReLUGates:
        """Draw gates with uniform directions.

        Parameters
        ----------
        dimension : int
            d.
        n_units : int, keyword-only
            H.
        thresholds, inputs : keyword-only
            As in `HalfspaceGates.random`.
        always_on : bool, keyword-only, default False
            Whether one more unit, the last, answers for every input, as published.
        seed : int, keyword-only, default 0

        Returns
        -------
        ReLUGates

        Raises
        ------
        InputError
            As `HalfspaceGates.random`.

        Examples
        --------
        >>> gates = ReLUGates.random(3, n_units=4, always_on=True)
        >>> gates.n_units, int(gates.contexts(np.ones((1, 3)))[0, -1])
        (5, 0)
        """
        drawn = HalfspaceGates.random(
            dimension, n_units=n_units, thresholds=thresholds, inputs=inputs, seed=seed
        )
        normals, cuts = drawn.normals[:, 0], drawn.thresholds[:, 0]
        if always_on:
            normals, cuts = np.vstack([normals, np.zeros(dimension)]), np.append(cuts, 0.0)
        return cls(normals, cuts)

    @property
    def n_units(self) -> int:
        """Return H."""
        return len(self.normals)

    @property
    def n_contexts(self) -> int:
        """Return 1: a unit that is on has one weight vector."""
        return 1

    @door(empty=("inputs",))
    def contexts(self, inputs: Float[np.ndarray, "n d"]) -> Int[np.ndarray, "n H"]:
        """Return 0 for a unit that is on and -1 for one that is off."""
        require_inputs(inputs, self.normals.shape[1])
        return np.where(inputs @ self.normals.T >= self.thresholds, 0, -1)

    @door(empty=("inputs",))
    def design(self, inputs: Float[np.ndarray, "n d"]) -> GatedDesign:
        """Return the features of inputs."""
        return GatedDesign(inputs, self.contexts(inputs), 1)
