"""Products with the indicators of conjunctions, through partial sums that many rows share.

A row's sum over 126 conjunctions of five of nine components is the sum of what belongs to its
values of six larger sets of components, and so on down. Far fewer values of a larger set occur
than rows, so that a chain of matrices, one for each size of sets, has a fraction of the entries of
the indicators. Derived here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole.features.conjunctions import ConjunctionDesign, Dictionary

Subset = tuple[int, ...]
# Work of a product with a matrix that does not depend on its entries: the function call.
CALL = 20_000


class Product:
    """Product of sparse matrices, the one applied last first: A, B, C stand for C B A.

    Parameters
    ----------
    matrices : sequence of sparse arrays

    Attributes
    ----------
    n_entries : int
        Of all matrices, read by each product with a vector.
    """

    def __init__(self, matrices: Sequence[sparse.csr_array]):
        self._matrices = matrices
        self._transposed = [matrix.T for matrix in reversed(matrices)]
        self.n_entries = sum(matrix.nnz for matrix in matrices)

    def __matmul__(self, coefficients: Float[np.ndarray, " p"]) -> Float[np.ndarray, " n"]:
        """Return the product with a vector."""
        for matrix in self._matrices:
            coefficients = matrix @ coefficients
        return coefficients

    def adjoint(self, multipliers: Float[np.ndarray, " n"]) -> Float[np.ndarray, " p"]:
        """Return the product of the transpose with a vector."""
        for matrix in self._transposed:
            multipliers = matrix @ multipliers
        return multipliers


def partial_sums(
    design: ConjunctionDesign, components: Int[np.ndarray, "n C"], n_values: Sequence[int]
) -> Product:
    """Return the indicators of seen conjunctions as a product of sparse matrices.

    Parameters
    ----------
    design : ConjunctionDesign
        Of sets of the same size.
    components : int array, shape (n, C)
        Value indices of its rows, in which it has seen all conjunctions.
    n_values : sequence of int, length C

    Examples
    --------
    >>> from itertools import combinations, product
    >>> rows, n_values = np.array(list(product((0, 1), repeat=12))), (2,) * 12
    >>> design = ConjunctionDesign.seen(rows, tuple(combinations(range(12), 2)), n_values)
    >>> sums, v, w = partial_sums(design, rows, n_values), np.arange(264.0), np.arange(4096.0)
    >>> np.array_equal(sums @ v, design @ v), np.array_equal(sums.adjoint(w), design.adjoint(w))
    (True, True)
    >>> sums.n_entries < len(rows) * len(design.blocks)
    True
    """
    blocks = zip(design.dictionaries, design.index, strict=True)
    parts = {d.components: (d.size, index) for d, index in blocks}
    n, n_components = components.shape
    matrices = []
    for _ in range(len(next(iter(parts))) + 1, n_components):
        cover = _cover(list(parts), n_components)
        larger, entries = {}, n * len(cover)
        for subset, children in cover.items():
            dictionary, index = Dictionary.of(components, subset, n_values)
            larger[subset] = dictionary.size, index
            entries += dictionary.size * len(children)
        if entries + CALL >= n * len(parts):
            break
        matrices.append(_sums_of_parts(parts, larger, cover))
        parts = larger
    rows = {(): (n, np.arange(n))}
    return Product([*matrices, _sums_of_parts(parts, rows, {(): list(parts)})])


def _cover(subsets: Sequence[Subset], n_components: int) -> dict[Subset, list[Subset]]:
    """Return few sets with one component more that contain these, each with those it stands for."""
    left, cover = dict.fromkeys(subsets), {}
    while left:
        first = set(next(iter(left)))
        chosen: dict[Subset, list[Subset]] = {}
        for c in sorted({*range(n_components)} - first):
            larger = tuple(sorted({*first, c}))
            without = (tuple(m for m in larger if m != left_out) for left_out in larger)
            chosen[larger] = [subset for subset in without if subset in left]
        best = max(chosen, key=lambda larger: len(chosen[larger]))
        cover[best] = chosen[best]
        for subset in cover[best]:
            del left[subset]
    return cover


def _sums_of_parts(
    parts: dict[Subset, tuple[int, np.ndarray]],
    larger: dict[Subset, tuple[int, np.ndarray]],
    cover: dict[Subset, list[Subset]],
) -> sparse.csr_array:
    """Return the matrix that adds the entries of parts to those of the larger sets.

    Of each set the number of entries is given, and the entry of each row.
    """
    start = dict(zip(parts, np.cumsum([0, *(size for size, _ in parts.values())]), strict=False))
    columns, counts = [], []
    for subset, children in cover.items():
        size, index = larger[subset]
        row = np.empty(size, dtype=np.int64)
        row[index] = np.arange(len(index))  # any row with the entry
        entries = [parts[child][1][row] + start[child] for child in children]
        columns.append(np.stack(entries, axis=1).ravel())
        counts.append(np.full(size, len(children)))
    edges = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    column = np.concatenate(columns)
    shape = len(edges) - 1, sum(size for size, _ in parts.values())
    ones = np.ones(len(column))
    # 32 bits where they suffice: products read less memory.
    width = np.int64 if len(column) >= 1 << 31 else np.int32
    return sparse.csr_array((ones, column.astype(width), edges.astype(width)), shape)
