"""Lower bound on the number of training combinations that determine held-out ones."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
from jaxtyping import Int

from partwhole.audit.designing.sums import codes, n_dimensions

# Numbers of a matrix whose rank is computed.
MOST_ENTRIES = 2_000_000
PRIME = 2**31 - 1


def lower_bound(
    test: Int[np.ndarray, "h C"],
    names: tuple[str, ...],
    n_values: tuple[int, ...],
    order: int,
    n_needed: int,
    weights: Int[np.ndarray, "g m"],
) -> tuple[int, str]:
    """Return a number of combinations below which no training set determines these, and why.

    Parameters
    ----------
    test : int array, shape (h, C)
    names : tuple of str, length C
    n_values : tuple of int, length C
    order : int
        K.
    n_needed : int
        Number of combinations of a basis, none held out, of which the held-out ones are sums.
    weights : int array, shape (g, m)
        Weights of a basis of which g of the held-out combinations are sums.

    Returns
    -------
    bound : int
    reason : str
        Training spans the held-out combinations, so it has at least their rank. It has every
        conjunction of K values that they have, so at least as many combinations as there are such
        of one set of factors. And weights under which all sums of conjunctions of at most K values
        add up to 0 are on 2**(K + 1) combinations or more, of which one may be held out.
    """
    bound, reason = (
        2 ** (order + 1) - 1,
        f"weights under which all sums of order {order} vanish are on at least {2 ** (order + 1)} "
        "combinations, of which one is held out",
    )
    for subset in combinations(range(len(n_values)), order):
        sizes = tuple(n_values[c] for c in subset)
        n = len(np.unique(codes(test[:, list(subset)], sizes)))
        if n > bound:
            bound = n
            reason = (
                f"training has each of the {n:,} {'values' if order == 1 else 'combinations'} of "
                f"{', '.join(names[c] for c in subset)} that held-out ones have"
            )
    dimensions = n_dimensions(n_values, order)
    if prod(n_values) - len(test) == dimensions:
        return n_needed, (
            f"the combinations that are not held out are as many as sums of order {order} have "
            "dimensions, so the weights are unique, and all of these have a weight that is not 0"
        )
    if bound < min(weights.shape):
        rank = rank_modulo(weights)
        if rank > bound:
            some = len(weights) < len(test)
            held_out = f"{len(weights):,} of the held-out" if some else "the held-out"
            everywhere = f", all that sums of order {order} have" if rank == dimensions else ""
            return rank, f"{held_out} combinations span {rank:,} dimensions{everywhere}"
    return bound, reason


def rank_modulo(matrix: Int[np.ndarray, "h m"]) -> int:
    """Return the rank of whole numbers modulo a prime: at most that of the numbers themselves."""
    rest = matrix % PRIME
    rank = 0
    for column in range(rest.shape[1]):
        below = rank + np.flatnonzero(rest[rank:, column])
        if len(below) == 0:
            continue
        # The lightest row keeps the others sparse.
        pivot = below[np.argmin(np.count_nonzero(rest[below], axis=1))]
        rest[[rank, pivot]] = rest[[pivot, rank]]
        row = rest[rank] * pow(int(rest[rank, column]), -1, PRIME) % PRIME
        rank += 1
        below = rank + np.flatnonzero(rest[rank:, column])
        block = np.ix_(below, np.flatnonzero(row))
        factors = rest[below, column][:, None]
        rest[block] = (rest[block] - factors * row[row != 0] % PRIME) % PRIME
    return rank
