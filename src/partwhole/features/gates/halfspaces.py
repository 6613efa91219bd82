"""Half-space gates: on which sides of some hyperplanes an input lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import is_finite, require
from partwhole._door import door
from partwhole._types import Count, Fraction, Index, Real, Seed
from partwhole.features.gates._inputs import require_inputs
from partwhole.features.gates.design import GatedDesign

ROUNDING = 1e-12  # of the largest projection
MOST = 16  # hyperplanes of a unit; its contexts double with each


@door(empty=("normals", "thresholds"))
@dataclass(frozen=True, eq=False)
class HalfspaceGates:
    r"""Gates with C = 2^k contexts, the sides of k hyperplanes.

    .. math:: c_h(x) = \sum_{j=1}^k 2^{k-j} \,[\langle a_{hj}, x \rangle > b_{hj}],

    the first hyperplane being the most significant. Gates see the input itself, in whichever
    layer they are.

    Parameters
    ----------
    normals : float array, shape (H, k, d)
        :math:`a_{hj}` of H units; with k = 0 every input is in the only context.
    thresholds : float array, shape (H, k)
        :math:`b_{hj}`.

    Raises
    ------
    InputError
        For normals and thresholds that are not finite or don't go with each other, and for more
        than 16 hyperplanes.

    Notes
    -----
    Lippl, Abbott & Chung (2022); Veness et al. (2021) for networks of such units. Of a normal
    only the direction matters, beside the threshold over its length.

    Examples
    --------
    >>> gates = HalfspaceGates(np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.zeros((1, 2)))
    >>> gates.contexts(np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0]])).ravel().tolist()
    [3, 2, 1]
    """

    normals: Float[np.ndarray, "H k d"]
    thresholds: Float[np.ndarray, "..."]

    def __post_init__(self) -> None:
        fit = self.normals.ndim == 3 and self.thresholds.shape == self.normals.shape[:2]
        require(
            fit,
            "normals are of shape (units, hyperplanes, inputs), thresholds a number for each",
            f"{self.normals.shape} and {self.thresholds.shape}",
            "pass zeros as thresholds for hyperplanes through the origin",
        )
        _require_few(self.normals.shape[1])

    @classmethod
    @door
    def random(
        cls,
        dimension: Count,
        *,
        n_units: Count,
        n_hyperplanes: Index = 1,
        thresholds: Literal["zero", "median"] | Real = "zero",
        inputs: Float[np.ndarray, "n d"] | None = None,
        shared: bool = False,
        seed: Seed = 0,
    ) -> HalfspaceGates:
        """Draw hyperplanes with uniform directions.

        Parameters
        ----------
        dimension : int
            d.
        n_units, n_hyperplanes : int, keyword-only
            H and k, by default one hyperplane.
        thresholds : {"zero", "median"} or float, keyword-only, default "zero"
            "zero" puts hyperplanes through the origin, "median" so that each has half of the
            inputs on either side, and a number between 0 and 1 so that it has that share of them
            below.
        inputs : float array, shape (n, d), keyword-only, optional
            Where the thresholds come from; they need no labels.
        shared : bool, keyword-only, default False
            Whether all units have the same hyperplanes.
        seed : int, keyword-only, default 0

        Returns
        -------
        HalfspaceGates

        Raises
        ------
        InputError
            For counts that are none, a share outside 0 to 1, or thresholds without inputs.

        Notes
        -----
        The published networks draw normals from N(0, 36^2), and thresholds from N(0, 9^2), next
        to nothing beside the projections, or take the median over all images.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(3.0, 1.0, size=(100, 5))
        >>> gates = HalfspaceGates.random(5, n_units=4, thresholds="median", inputs=x)
        >>> gates.contexts(x).mean(axis=0).tolist()
        [0.5, 0.5, 0.5, 0.5]
        """
        _require_few(n_hyperplanes)
        parameters = {"zero": None, "median": 0.5}
        share = parameters.get(thresholds) if isinstance(thresholds, str) else thresholds
        require(
            thresholds == "zero"
            if isinstance(thresholds, str) and share is None
            else is_finite(share) and 0.0 < float(share) < 1.0,
            'thresholds are "zero", "median" or a share between 0 and 1',
            repr(thresholds),
            "choose one of them",
        )
        require(
            share is None or inputs is not None,
            "thresholds at a share of the inputs need these",
            "none",
            "pass inputs=",
        )
        rng = np.random.default_rng(seed)
        units = 1 if shared else n_units
        normals = rng.normal(size=(units, n_hyperplanes, dimension))
        normals = np.repeat(normals, n_units if shared else 1, axis=0)
        if share is None or inputs is None:
            return cls(normals, np.zeros(normals.shape[:2]))
        return cls.at_quantile(normals, inputs, float(share))

    @classmethod
    @door(empty=("normals",))
    def at_quantile(
        cls,
        normals: Float[np.ndarray, "H k d"],
        inputs: Float[np.ndarray, "n d"],
        share: Fraction = 0.5,
    ) -> HalfspaceGates:
        """Return hyperplanes of given directions, each with a share of the inputs below it.

        Parameters
        ----------
        normals : float array, shape (H, k, d)
        inputs : float array, shape (n, d)
        share : float, default 0.5
            From 0 to 1; the median by default.

        Returns
        -------
        HalfspaceGates

        Raises
        ------
        InputError
            For inputs of another dimension, none, or a share outside 0 to 1.

        Notes
        -----
        Where an input is the quantile itself, as with the median of an odd number, the hyperplane
        lies half-way to the next one above: on it, rounding would decide its side.

        Examples
        --------
        >>> gates = HalfspaceGates.at_quantile(np.ones((1, 1, 1)), np.array([[1.0], [2.0], [4.0]]))
        >>> gates.thresholds.tolist()
        [[3.0]]
        """
        require_inputs(inputs, normals.shape[2])
        seen = np.sort(np.einsum("hkd,nd->nhk", normals, inputs), axis=0)
        cuts = np.quantile(seen, float(share), axis=0)
        rounding = ROUNDING * np.abs(seen).max(axis=0, initial=0.0)
        above = np.where(seen > cuts + rounding, seen, np.inf).min(axis=0)
        on = (np.abs(seen - cuts) <= rounding).any(axis=0)
        shifted = np.where(np.isfinite(above), 0.5 * (cuts + above), cuts + 2.0 * rounding)
        return cls(normals, np.where(on, shifted, cuts))

    @property
    def n_units(self) -> int:
        """Return H."""
        return self.normals.shape[0]

    @property
    def n_contexts(self) -> int:
        """Return C."""
        return 2 ** self.normals.shape[1]

    @door(empty=("inputs",))
    def contexts(self, inputs: Float[np.ndarray, "n d"]) -> Int[np.ndarray, "n H"]:
        """Return each unit's context for each input."""
        require_inputs(inputs, self.normals.shape[2])
        units, k, d = self.normals.shape
        seen = inputs @ self.normals.reshape(units * k, d).T
        sides = seen.reshape(len(inputs), units, k) > self.thresholds
        return sides.astype(int) @ 2 ** np.arange(k)[::-1]

    @door(empty=("inputs",))
    def design(self, inputs: Float[np.ndarray, "n d"]) -> GatedDesign:
        """Return the features of inputs."""
        return GatedDesign(inputs, self.contexts(inputs), self.n_contexts)


def _require_few(n_hyperplanes: int) -> None:
    rule = f"a unit has at most {MOST} hyperplanes"
    require(n_hyperplanes <= MOST, rule, n_hyperplanes, "pass fewer hyperplanes and more units")
