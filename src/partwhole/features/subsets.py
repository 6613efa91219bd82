"""Sets of components as bitmasks, and sums over their subsets: the Möbius form of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door

MAX_COMPONENTS = 16


def set_of(mask: int) -> tuple[int, ...]:
    """Return the components of a conjunction set from its bitmask.

    Examples
    --------
    >>> set_of(0b101)
    (0, 2)
    """
    return tuple(c for c in range(mask.bit_length()) if mask >> c & 1)


def mask_of(components: Iterable[int]) -> int:
    """Return the bitmask of a conjunction set: bit c stands for component c.

    Examples
    --------
    >>> mask_of((0, 2))
    5
    """
    return sum(1 << c for c in set(components))


def set_sizes(n_components: int) -> Int[np.ndarray, " sets"]:
    """Return the number of components in each of the 2**C conjunction sets."""
    return np.array([mask.bit_count() for mask in range(1 << n_components)])


def overlap_sets(a: Int[np.ndarray, "n C"], b: Int[np.ndarray, "m C"]) -> Int[np.ndarray, "n m"]:
    """Return the bitmask of shared components for every pair of tuples."""
    overlap = np.zeros((len(a), len(b)), dtype=np.int64)
    for c in range(a.shape[1]):
        overlap |= (a[:, None, c] == b[None, :, c]).astype(np.int64) << c
    return overlap


@door
def zeta(sigma: Float[np.ndarray, "*batch sets"]) -> Float[np.ndarray, "*batch sets"]:
    r"""Return the sum over subsets: :math:`\kappa(O) = \sum_{S \subseteq O} \sigma_S`.

    Parameters
    ----------
    sigma : float array, shape (..., 2**C)
        A number for each conjunction set, by bitmask.

    Returns
    -------
    float array, shape (..., 2**C)

    Examples
    --------
    >>> zeta(np.array([0.1, 0.27, 0.27, 0.36])).round(2).tolist()
    [0.1, 0.37, 0.37, 1.0]
    """
    return over_subsets("sigma", sigma, 1.0)


@door
def moebius(kappa: Float[np.ndarray, "*batch sets"]) -> Float[np.ndarray, "*batch sets"]:
    r"""Return the inverse of the sum over subsets.

    .. math:: \sigma_S = \sum_{T \subseteq S} (-1)^{|S|-|T|} \kappa(T)

    Parameters
    ----------
    kappa : float array, shape (..., 2**C)
        The similarity for each overlap set, by bitmask.

    Returns
    -------
    float array, shape (..., 2**C)

    Examples
    --------
    >>> moebius(np.array([0.1, 0.37, 0.37, 1.0])).round(2).tolist()
    [0.1, 0.27, 0.27, 0.36]
    """
    return over_subsets("kappa", kappa, -1.0)


def require_sets(count: int, name: str) -> None:
    """Require a number for every set of components."""
    require(
        count > 0 and count & (count - 1) == 0,
        f"{name} has a number for every set of components, 2^C in all",
        count,
        "order the sets by bitmask, the empty one first",
    )


def over_subsets(name: str, numbers: np.ndarray, sign: float) -> np.ndarray:
    """Return the sum over subsets, or with sign -1 its inverse; what rests on a NaN is NaN."""
    require_sets(numbers.shape[-1], name)
    out = np.array(numbers, dtype=float)
    n_components = out.shape[-1].bit_length() - 1
    for c in range(n_components):
        cube = out.reshape(*out.shape[:-1], out.shape[-1] >> (c + 1), 2, 1 << c)
        cube[..., 1, :] += sign * cube[..., 0, :]
    return out


@door
def kernel_spectrum(
    sigma: Float[np.ndarray, "*batch sets"], n_values: Sequence[int]
) -> Float[np.ndarray, "*batch sets"]:
    r"""Return the kernel's eigenvalues on the full grid of combinations.

    .. math:: \lambda_T = \sum_{S \supseteq T} \sigma_S \prod_{c \notin S} n_c

    with multiplicity :math:`\prod_{c \in T} (n_c - 1)`; derived here.

    Parameters
    ----------
    sigma : float array, shape (..., 2**C)
        Möbius coefficients by bitmask, for one kernel or a batch.
    n_values : sequence of int, length C
        Values of each component.

    Returns
    -------
    float array, shape (..., 2**C)
        The eigenvalue that belongs to each set T, by bitmask.

    Examples
    --------
    >>> kernel_spectrum(np.array([0.1, 0.27, 0.27, 0.36]), (3, 4)).round(2).tolist()
    [3.45, 1.44, 1.17, 0.36]
    """
    n_sets = sigma.shape[-1]
    require(
        n_sets == 1 << len(n_values),
        "sigma has a number for every set of the components in n_values",
        f"{n_sets} for {len(n_values)} components",
        "pass 2^C numbers, the empty set first, and C counts",
    )
    out = np.array(sigma, dtype=float)
    for c, n in enumerate(n_values):
        cube = out.reshape(*out.shape[:-1], out.shape[-1] >> (c + 1), 2, 1 << c)
        cube[..., 0, :] = n * cube[..., 0, :] + cube[..., 1, :]
    return out
