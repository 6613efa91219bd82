"""Overlap kernels: similarity that depends only on which components two inputs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import overload

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index, Real
from partwhole.features.random_networks import DualActivation, Kind, deep_sigma, network_sigma
from partwhole.features.subsets import (
    MAX_COMPONENTS,
    kernel_spectrum,
    mask_of,
    moebius,
    overlap_sets,
    set_of,
    set_sizes,
    zeta,
)


@door
@dataclass(frozen=True, eq=False)
class OverlapKernel:
    r"""Kernel :math:`\kappa(O)` on tuples, O the set of components two tuples share.

    It is stored in its Möbius form :math:`\kappa(O) = \sum_{S \subseteq O} \sigma_S`, that is
    as the weights of an explicit feature map: one-hot indicators of every conjunction S,
    scaled by :math:`\sqrt{\sigma_S}`. The *salience* of S is
    :math:`\sigma_S / (\kappa_{full} - \kappa_\emptyset)`.

    Parameters
    ----------
    n_components : int
        Number of components C, 1..16.
    sigma : float array, shape (2**C,)
        Möbius coefficients by bitmask (bit c stands for component c).

    Raises
    ------
    InputError
        When the length is not 2**C, a number is not finite, or identical inputs are no more
        similar than inputs that share nothing.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), definition 3.1, where the similarity depends on the number
    of shared components; here it may depend on the set.

    Examples
    --------
    >>> OverlapKernel.from_similarity([0.2, 0.5, 1.0]).salience.round(6).tolist()
    [0.375, 0.25]
    """

    n_components: int
    sigma: Float[np.ndarray, " sets"]

    def __post_init__(self) -> None:
        require(
            1 <= self.n_components <= MAX_COMPONENTS,
            f"an overlap kernel has 1 to {MAX_COMPONENTS} components",
            self.n_components,
            "it needs a number for every set of components",
        )
        require(
            len(self.sigma) == 1 << self.n_components,
            f"sigma needs {1 << self.n_components} numbers, one for each set of components",
            f"{len(self.sigma)}",
            "build the kernel with from_salience or from_similarity",
        )
        require(
            self.range > 0,
            "identical inputs must be more similar than inputs that share nothing",
            f"a difference of {self.range:g}",
            "check the similarities",
        )

    @classmethod
    @door
    def from_salience(
        cls,
        salience: Sequence[Real] | Mapping[tuple[int, ...], Real],
        n_components: int | None = None,
        *,
        offset: Real = 0.0,
        scale: Real = 1.0,
    ) -> OverlapKernel:
        r"""Return a kernel from saliences.

        Parameters
        ----------
        salience : sequence of float, or mapping from component sets to float
            A sequence gives S(k; C) for the orders k = 1..C-1; that of the full conjunction
            follows from :math:`\sum_k \binom{C}{k} S(k; C) = 1`. A mapping gives the salience
            of single sets, such as ``{(0,): 0.3, (1,): 0.45}``; the full conjunction gets what
            remains to 1, other sets not named are 0.
        n_components : int, optional
            C; by default one more than the sequence's length, or one more than the highest
            component named.
        offset : float, keyword-only, default 0
            Similarity :math:`\kappa_0` of inputs that share nothing.
        scale : float, keyword-only, default 1
            :math:`\kappa_C - \kappa_0`.

        Returns
        -------
        OverlapKernel

        Raises
        ------
        InputError
            When the number of saliences is not C - 1 or a set names an unknown component.

        Examples
        --------
        >>> kernel = OverlapKernel.from_salience([0.3], offset=0.1, scale=0.9)
        >>> kernel.similarity.round(2).tolist()
        [0.1, 0.37, 1.0]
        """
        if isinstance(salience, Mapping):
            highest = max((c for key in salience for c in key), default=0)
            n_components = n_components or highest + 1
            require(
                highest < n_components and all(key for key in salience),
                f"a salience belongs to a non-empty set of components 0..{n_components - 1}",
                f"sets {', '.join(str(tuple(key)) for key in salience)}",
                "use offset for the similarity of inputs that share nothing",
            )
            full = (1 << n_components) - 1
            shares = np.zeros(full + 1)
            for key, share in salience.items():
                shares[mask_of(key)] = share
            if not any(mask_of(key) == full for key in salience):
                shares[full] = 1.0 - shares.sum()
        else:
            n_components = n_components or len(salience) + 1
            require(
                len(salience) == n_components - 1,
                f"{n_components} components have {n_components - 1} free saliences, one for each "
                f"order 1..{n_components - 1}",
                f"{len(salience)}",
                "leave out that of the full conjunction; it is what remains to 1",
            )
            top = 1.0 - sum(comb(n_components, k + 1) * share for k, share in enumerate(salience))
            shares = np.array([0.0, *salience, top])[set_sizes(n_components)]
        require(
            abs(shares.sum() - 1.0) < 1e-9,
            "saliences of all sets add up to 1",
            f"{shares.sum():g}",
            "leave out that of the full conjunction; it is what remains",
        )
        sigma = scale * shares
        sigma[0] = offset
        return cls(n_components, sigma)

    @classmethod
    @door
    def from_similarity(
        cls, similarity: Sequence[Real] | Mapping[tuple[int, ...], Real]
    ) -> OverlapKernel:
        """Return a kernel from similarities.

        Parameters
        ----------
        similarity : sequence of float, or mapping from component sets to float
            A sequence gives the similarity for 0..C shared components; a mapping that for
            every set of shared components, the empty one too.

        Returns
        -------
        OverlapKernel

        Raises
        ------
        InputError
            When a set is missing from the mapping, or the sequence has fewer than 2 entries.

        Examples
        --------
        >>> OverlapKernel.from_similarity([0.0, 0.1, 0.35, 1.0]).salience.round(2).tolist()
        [0.1, 0.15, 0.25]
        """
        if isinstance(similarity, Mapping):
            n_components = 1 + max((c for key in similarity for c in key), default=0)
            by_mask = {mask_of(key): value for key, value in similarity.items()}
            missing = [set_of(m) for m in range(1 << n_components) if m not in by_mask]
            require(
                not missing,
                "similarities by set must name every set of shared components",
                f"none for {missing[0] if missing else ()}",
                "add it",
            )
            kappa = np.array([by_mask[m] for m in range(1 << n_components)], dtype=float)
        else:
            require(
                len(similarity) >= 2,
                "similarities by count start at 0 shared components and end at all",
                f"{len(similarity)} of them",
                "pass C + 1 numbers",
            )
            n_components = len(similarity) - 1
            kappa = np.asarray(similarity, dtype=float)[set_sizes(n_components)]
        return cls(n_components, moebius(kappa))

    @classmethod
    @door
    def random_network(
        cls,
        nonlinearity: str | DualActivation,
        n_components: int,
        depth: Index,
        kind: Kind = "nngp",
        *,
        inputs: OverlapKernel | None = None,
    ) -> OverlapKernel:
        """Return the kernel of an infinitely wide random network on compositional inputs.

        Parameters
        ----------
        nonlinearity : str or DualActivation
            "relu", "leaky_relu" (slope 0.1), "step", "rectified_quadratic", "gaussian", or a
            dual activation: of `partwhole.features.random_networks`, or of
            `partwhole.features.activations`, which has erf, GELU, tanh and any other.
        n_components : int
            C.
        depth : int
            Hidden layers, at least 0; 0 returns the inputs' kernel.
        kind : {"nngp", "ntk"}, default "nngp"
            Similarity of the last hidden layer, or neural tangent kernel: of all layers, each
            with one over the root of its width in front of its weights, and without biases
            ("NTK parametrisation"). Networks in the standard parametrisation, with one learning
            rate for all layers, follow "nngp" as their width grows, since their readout changes
            more than all other layers: for two components and one hidden ReLU layer parts have a
            salience of .426 then, and of .371 in the NTK parametrisation.
        inputs : OverlapKernel, keyword-only, optional
            Similarity of the inputs; by default each shared component adds 1/C, as one-hot
            inputs do.

        Returns
        -------
        OverlapKernel

        Notes
        -----
        Lippl & Stachenfeld (ICLR 2025), proposition 4.1.

        Examples
        --------
        >>> OverlapKernel.random_network("relu", 2, depth=1).salience.round(6).tolist()
        [0.426422, 0.147155]
        """
        kappa = _input_kappa(n_components, inputs)
        return cls(n_components, network_sigma(nonlinearity, depth, kind, kappa))

    def nonnegative(self) -> OverlapKernel:
        """Return this kernel with every salience, and the constant, below 0 set to 0.

        Measured saliences of sets that play no part scatter around 0; below it, no learner
        of a full grid has them.

        Returns
        -------
        OverlapKernel

        Examples
        --------
        >>> OverlapKernel(2, np.array([0.0, -0.01, 0.4, 0.6])).nonnegative().sigma.tolist()
        [0.0, 0.0, 0.4, 0.6]
        """
        return OverlapKernel(self.n_components, np.maximum(self.sigma, 0.0))

    @property
    def kappa(self) -> Float[np.ndarray, " sets"]:
        """Return the similarity for each overlap set, by bitmask."""
        return zeta(self.sigma)

    @property
    def range(self) -> float:
        """Return the similarity of identical inputs minus that of inputs that share nothing."""
        return float(self.sigma[1:].sum())

    @property
    def top(self) -> float:
        """Return the Möbius coefficient of the full conjunction, the memorization unit."""
        return float(self.sigma[-1])

    @property
    def saliences(self) -> dict[tuple[int, ...], float]:
        """Return the salience of every non-empty set of components."""
        return {
            set_of(mask): float(self.sigma[mask] / self.range) for mask in range(1, len(self.sigma))
        }

    @property
    def is_count_kernel(self) -> bool:
        """Return whether similarity depends only on how many components are shared."""
        spread = [np.ptp(self.sigma[set_sizes(self.n_components) == k]) for k in self._orders]
        return bool(max(spread) <= 1e-12 * np.abs(self.sigma[1:]).max())

    @property
    def _orders(self) -> list[int]:
        return list(range(1, self.n_components + 1))

    @property
    def salience(self) -> Float[np.ndarray, " C"]:
        """Return S(1; C)..S(C; C), the salience by order; the mean where sets differ."""
        sizes = set_sizes(self.n_components)
        return np.array([self.sigma[sizes == k].mean() for k in self._orders]) / self.range

    @property
    def similarity(self) -> Float[np.ndarray, " orders"]:
        """Return the similarity for 0..C shared components; the mean where sets differ."""
        sizes, kappa = set_sizes(self.n_components), self.kappa
        return np.array([kappa[sizes == k].mean() for k in [0, *self._orders]])

    @door
    def spectrum(self, n_values: Sequence[int]) -> dict[tuple[int, ...], tuple[float, int]]:
        r"""Return eigenvalue and multiplicity on the full grid, for each set T of components.

        Parameters
        ----------
        n_values : sequence of int, length C
            Values of each component.

        Returns
        -------
        dict
            ``{T: (eigenvalue, multiplicity)}``, see `kernel_spectrum`.

        Examples
        --------
        >>> kernel = OverlapKernel.from_salience([0.3], offset=0.1, scale=0.9)
        >>> {T: (round(value, 2), times) for T, (value, times) in kernel.spectrum((3, 4)).items()}
        {(): (3.45, 1), (0,): (1.44, 2), (1,): (1.17, 3), (0, 1): (0.36, 6)}
        """
        self._require_grid(n_values)
        eigenvalues = kernel_spectrum(self.sigma, n_values)
        times = [int(np.prod([n_values[c] - 1 for c in set_of(m)])) for m in range(len(self.sigma))]
        return {
            set_of(mask): (float(eigenvalues[mask]), times[mask]) for mask in range(len(self.sigma))
        }

    @door
    def is_positive_semidefinite(self, n_values: Sequence[int], tolerance: float = 1e-12) -> bool:
        """Return exactly whether the kernel is positive semidefinite on the full grid.

        Every eigenvalue of `spectrum` with positive multiplicity must be at least 0. Saliences
        slightly below 0 can pass for finite n; for all n at once they must be nonnegative.

        Parameters
        ----------
        n_values : sequence of int, length C
            Values of each component.
        tolerance : float, default 1e-12
            Rounding allowed, relative to the largest eigenvalue.

        Returns
        -------
        bool

        Examples
        --------
        >>> OverlapKernel.from_salience([0.51]).is_positive_semidefinite((3, 3))
        False
        """
        present = [value for value, times in self.spectrum(n_values).values() if times > 0]
        return bool(min(present) >= -tolerance * max(map(abs, present)))

    @door
    def gram(
        self, a: Int[np.ndarray, "n C"], b: Int[np.ndarray, "m C"] | None = None
    ) -> Float[np.ndarray, "n m"]:
        """Return the explicit kernel matrix between two lists of tuples.

        Parameters
        ----------
        a, b : int arrays, shapes (n, C) and (m, C)
            Value indices; `b` is `a` by default.

        Returns
        -------
        float array, shape (n, m)
            For checks and small tasks; the solvers of `partwhole.limits` never need it.
        """
        second = a if b is None else b
        return self.kappa[overlap_sets(a, second)]

    def _require_grid(self, n_values: Sequence[int]) -> None:
        require(
            len(n_values) == self.n_components and min(n_values) >= 1,
            "n_values needs a positive number of values for each component",
            f"{tuple(n_values)} for {self.n_components} components",
            "pass one number for each component",
        )


@door
def deep_limit(
    nonlinearity: str | DualActivation, n_components: int, *, inputs: OverlapKernel | None = None
) -> OverlapKernel:
    """Return the kernel whose saliences a random network's layers approach with depth.

    Parameters
    ----------
    nonlinearity : str or DualActivation
    n_components : int
        C.
    inputs : OverlapKernel, keyword-only, optional
        As in `OverlapKernel.random_network`.

    Returns
    -------
    OverlapKernel
        Normalised to similarity 0 for no overlap and 1 for identity; the lookup table, or a
        plateau, see `partwhole.features.random_networks.deep_sigma`.

    Examples
    --------
    >>> deep_limit("gaussian", 2).salience.round(4).tolist()
    [0.0625, 0.875]
    """
    return OverlapKernel(n_components, deep_sigma(nonlinearity, _input_kappa(n_components, inputs)))


def _input_kappa(n_components: int, inputs: OverlapKernel | None) -> Float[np.ndarray, " sets"]:
    if inputs is None:
        return set_sizes(n_components) / n_components
    require(
        inputs.n_components == n_components,
        "the inputs' kernel must have as many components as the network's inputs",
        f"{inputs.n_components} and {n_components}",
        "change n_components",
    )
    return inputs.kappa


@door
@dataclass(frozen=True, eq=False)
class OverlapKernels(Sequence[OverlapKernel]):
    """A grid of overlap kernels, kept as one array of their Möbius coefficients.

    Parameters
    ----------
    n_components : int
    sigma : float array, shape (B, 2**C)
        Möbius coefficients by bitmask, a row for each kernel.

    Examples
    --------
    >>> OverlapKernels(2, np.array([[0.0, 0.1, 0.1, 0.8], [0.0, 0.3, 0.3, 0.4]]))[1].salience
    array([0.3, 0.4])
    """

    n_components: int
    sigma: Float[np.ndarray, "B sets"]

    def __len__(self) -> int:
        return len(self.sigma)

    @overload
    def __getitem__(self, place: int) -> OverlapKernel: ...
    @overload
    def __getitem__(self, place: slice) -> OverlapKernels: ...
    def __getitem__(self, place: int | slice) -> OverlapKernel | OverlapKernels:
        if isinstance(place, slice):
            return OverlapKernels(self.n_components, self.sigma[place])
        return OverlapKernel(self.n_components, self.sigma[place])
