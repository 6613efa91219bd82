"""Overlap kernels truncated at an order, with memory for the higher orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, isfinite
from typing import Annotated

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Count, Index, Real
from partwhole.features.conjunctions import conjunction_sets
from partwhole.features.overlap import OverlapKernel
from partwhole.features.random_networks import DualActivation, Kind, network_sigma
from partwhole.features.subsets import MAX_COMPONENTS, mask_of, set_of, set_sizes

# Shares of this size are what rounding leaves of a sum to 1.
ROUNDING = 1e-14


@door
@dataclass(frozen=True, eq=False)
class OrderKernel:
    r"""Overlap kernel up to order K, with all higher orders as *memory*.

    Two different inputs that share the set O of components have the similarity

    .. math:: \kappa_K(O) = \sum_{S \subseteq O,\; 0 < |S| \le K} \sigma_S,

    and every input is more similar to itself by the memory m, in units in which all weights
    and the memory add up to 1. Memory fits the training set and says nothing of any other
    combination.

    Parameters
    ----------
    n_components : int
        Number of components C, at least 1.
    order : int
        K, 0..C-1.
    weights : mapping from component sets to float
        :math:`\sigma_S \ge 0` for sets of 1..K components; those not named are 0.
    memory : float
        m, at least 0.

    Raises
    ------
    InputError
        When the order or a set is out of range, a share is negative or not finite, or all
        shares do not add up to 1.

    Notes
    -----
    Derived here. At K = C - 1 memory is the full conjunction's salience, and this is the
    overlap kernel itself (but for its constant, which a free intercept makes idle). Below it,
    memory is the share of all orders above K: this is the learner that an audit of order K
    speaks of, which generalizes by conjunctions of at most K components and memorizes with
    the rest. The whole kernel also generalizes by the orders between, where training has seen
    them.

    Examples
    --------
    >>> OrderKernel(2, 1, {(0,): 0.3, (1,): 0.2}, 0.5).salience
    (0.25,)
    """

    n_components: Count
    order: int
    weights: Mapping[tuple[int, ...], Real]
    memory: Real

    def __post_init__(self) -> None:
        n, order = self.n_components, self.order
        require(
            0 <= order < n,
            f"a kernel of {n} components is cut off at an order in 0..{n - 1}",
            order,
            "the full conjunction is memory",
        )
        strange = [
            subset
            for subset in self.weights
            if not (
                0 < len(subset) <= order
                and subset == tuple(sorted(set(subset)))
                and subset[0] >= 0
                and subset[-1] < n
            )
        ]
        require(
            not strange,
            f"a weight belongs to a sorted set of 1 to {order} components out of 0..{n - 1}",
            f"{strange[0] if strange else ()}",
            "count what lies above the order as memory",
        )
        shares = [*self.weights.values(), self.memory]
        require(
            all(isfinite(share) and share >= 0 for share in shares),
            "weights and memory are finite and at least 0",
            f"a smallest one of {min(shares):g}",
            "cut measured kernels off with OrderKernel.truncate",
        )
        require(
            abs(sum(shares) - 1.0) < 1e-9,
            "weights and memory add up to 1",
            f"{sum(shares):g}",
            "divide all by their sum",
        )

    @classmethod
    @door
    def from_salience(
        cls, salience: Annotated[Real, Bounds(at_least=0, at_most=0.5)]
    ) -> OrderKernel:
        """Return the kernel of two components with S(1; 2) = S, of order 1.

        Parameters
        ----------
        salience : float
            S, 0..1/2; memory is 1 - 2S.

        Returns
        -------
        OrderKernel

        Raises
        ------
        InputError
            When S is out of range.

        Examples
        --------
        >>> round(OrderKernel.from_salience(0.4).memory, 6)
        0.2
        """
        return cls(2, 1, {(0,): salience, (1,): salience}, 1.0 - 2.0 * salience)

    @classmethod
    @door
    def random_network(
        cls,
        n_components: int,
        order: int,
        depth: Index,
        nonlinearity: str | DualActivation = "relu",
        kind: Kind = "nngp",
    ) -> OrderKernel:
        r"""Return the kernel of an infinitely wide random network on one-hot components.

        Only overlaps of at most K components and identity are followed through the layers, so
        any number of components will do:

        .. math:: \sigma_k = \sum_{j \le k} (-1)^{k-j} \binom{k}{j} \kappa_j.

        Parameters
        ----------
        n_components : int
            C.
        order : int
            K, 0..C-1.
        depth : int
            Hidden layers, at least 0.
        nonlinearity : str or DualActivation, default "relu"
        kind : {"nngp", "ntk"}, default "nngp"
            These as in `OverlapKernel.random_network`.

        Returns
        -------
        OrderKernel

        Raises
        ------
        InputError
            When the order is out of range, and as `OverlapKernel.random_network`.

        Notes
        -----
        Lippl & Stachenfeld (ICLR 2025), proposition 4.1.

        Examples
        --------
        >>> kernel = OrderKernel.random_network(30, 2, depth=1)
        >>> [round(share, 6) for share in kernel.salience], round(kernel.memory, 6)
        ([0.024708, 0.000519], 0.032911)
        """
        _require_order(n_components, order)
        # K components of all, and the others as one: its absence or presence tells an overlap
        # of at most K from identity, and coefficients of sets need those of their subsets only.
        overlaps = set_sizes(order + 1) / n_components
        overlaps[-1] = 1.0
        sigma = network_sigma(nonlinearity, depth, kind, overlaps)
        shares = _cleared(sigma / float(sigma[1:].sum()))
        by_order = [float(shares[(1 << k) - 1]) for k in range(order + 1)]
        weights = {
            subset: by_order[len(subset)] for subset in conjunction_sets(n_components, order)[1:]
        }
        if order == n_components - 1:
            memory = float(shares[-1])
        else:
            memory = 1.0 - sum(comb(n_components, k) * by_order[k] for k in range(1, order + 1))
        return cls(n_components, order, weights, memory if memory > ROUNDING else 0.0)

    @classmethod
    @door
    def truncate(cls, kernel: OverlapKernel, order: int) -> OrderKernel:
        """Return an overlap kernel truncated at an order; negative (measured) saliences become 0.

        Parameters
        ----------
        kernel : OverlapKernel
        order : int
            K, 0..C-1.

        Returns
        -------
        OrderKernel

        Raises
        ------
        InputError
            When the order is out of range.

        Examples
        --------
        >>> whole = OverlapKernel.from_salience([0.1, 0.15])
        >>> round(OrderKernel.truncate(whole, 1).memory, 6)
        0.7
        """
        low_orders = kernel.nonnegative()
        shares = _cleared(low_orders.sigma / low_orders.range)
        sizes = set_sizes(kernel.n_components)
        below = np.flatnonzero((sizes > 0) & (sizes <= order))
        weights = {set_of(int(mask)): float(shares[mask]) for mask in below}
        return cls(kernel.n_components, order, weights, float(shares[sizes > order].sum()))

    @classmethod
    @door(missing=("similarity",))
    def from_similarity(cls, similarity: Sequence[Real], order: int) -> OrderKernel:
        r"""Return the kernel from the similarity of inputs that share 0..K or all components.

        :math:`\sigma_k = \sum_j (-1)^{k-j} \binom{k}{j} \kappa_j` needs those below k only.

        Parameters
        ----------
        similarity : sequence of float, length C + 1
            By the number of shared components; those between K and C are not used. Saliences
            below 0, as measured ones may be, become 0.
        order : int
            K, 0..C-1.

        Returns
        -------
        OrderKernel

        Raises
        ------
        InputError
            When the order is out of range, a similarity that is used is NaN, or identical
            inputs are no more similar than those that share nothing.

        Examples
        --------
        >>> round(OrderKernel.from_similarity([0.2, 0.5, 1.0], 1).salience[0], 6)
        0.375
        """
        n_components = len(similarity) - 1
        _require_order(n_components, order)
        kappa = np.array([*similarity[: order + 1], similarity[-1]], dtype=float)
        missing = [k for k in range(order + 1) if np.isnan(kappa[k])]
        require(
            not missing and not np.isnan(kappa[-1]),
            "a kernel needs the similarity of every number of shared components up to its order, "
            "and of all",
            f"none for {', '.join(map(str, missing or [n_components]))}",
            "add tuples",
        )
        require(
            kappa[-1] > kappa[0],
            "identical inputs must be more similar than inputs that share nothing",
            f"{kappa[-1]:g} and {kappa[0]:g}",
            "check the features",
        )
        by_order = [
            max(0.0, sum((-1) ** (k - j) * comb(k, j) * kappa[j] for j in range(k + 1)))
            for k in range(1, order + 1)
        ]
        shared = sum(comb(n_components, k) * values for k, values in enumerate(by_order, 1))
        # Where noise gives lower orders more than there is, nothing is left for memory.
        whole = max(float(kappa[-1] - kappa[0]), float(shared))
        weights = {
            subset: float(by_order[len(subset) - 1] / whole)
            for subset in conjunction_sets(n_components, order)[1:]
        }
        return cls(n_components, order, weights, float(1.0 - shared / whole))

    @property
    def salience(self) -> tuple[float, ...]:
        """Return S(1; C)..S(K; C), the salience by order; the mean if sets differ."""
        totals = [0.0] * (self.order + 1)
        for subset, share in self.weights.items():
            totals[len(subset)] += float(share)
        return tuple(totals[k] / comb(self.n_components, k) for k in range(1, self.order + 1))

    def as_overlap(self) -> OverlapKernel:
        """Return the overlap kernel that has the memory on the full conjunction.

        Returns
        -------
        OverlapKernel
            Of at most 16 components; it gives the same function on every task.

        Raises
        ------
        InputError
            For more components.

        Examples
        --------
        >>> OrderKernel.from_salience(0.4).as_overlap().sigma.round(2).tolist()
        [0.0, 0.4, 0.4, 0.2]
        """
        require(
            self.n_components <= MAX_COMPONENTS,
            f"an overlap kernel has 1 to {MAX_COMPONENTS} components",
            self.n_components,
            "use the kernel as it is",
        )
        sigma = np.zeros(1 << self.n_components)
        for subset, share in self.weights.items():
            sigma[mask_of(subset)] = share
        sigma[-1] = self.memory
        return OverlapKernel(self.n_components, sigma)


def _require_order(n_components: int, order: int) -> None:
    require(
        0 <= order < n_components,
        f"a kernel of {n_components} components is cut off at an order in 0..{n_components - 1}",
        order,
        "the full conjunction is memory",
    )


def _cleared(shares: Float[np.ndarray, " sets"]) -> Float[np.ndarray, " sets"]:
    """Return 0 for rounding errors: without memory the smallest weight would fit everything."""
    return np.where(np.abs(shares) <= ROUNDING, 0.0, shares)
