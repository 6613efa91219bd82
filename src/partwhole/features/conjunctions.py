"""The seen-conjunction design: an indicator column for every conjunction in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.design import Block, require_block_weights

# A table of all codes is quicker than sorting where it is not much longer than the rows.
TABLE_LEAST, TABLE_SHARE = 1 << 14, 16
CODE_LIMIT = 1 << 62


@door
def conjunction_sets(n_components: int, max_order: int) -> tuple[tuple[int, ...], ...]:
    """Return the sets of 0..max_order components, smaller sets first.

    Examples
    --------
    >>> conjunction_sets(3, 2)
    ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    """
    return tuple(
        subset for k in range(max_order + 1) for subset in combinations(range(n_components), k)
    )


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Seen value combinations of one set of components, with their numbers.

    Parameters
    ----------
    components : tuple of int
        The set S.
    radix : tuple of int
        Values of each of its components.
    codes : int array, shape (d,)
        Mixed-radix codes of the seen combinations, sorted.
    folds : mapping from int to int array
        Where codes would outgrow 62 bits, those of the first few components that were seen;
        their places among these stand for them from there on.
    """

    components: tuple[int, ...]
    radix: tuple[int, ...]
    codes: Int[np.ndarray, " d"]
    folds: Mapping[int, Int[np.ndarray, " f"]]

    @classmethod
    def of(
        cls, components: Int[np.ndarray, "n C"], subset: tuple[int, ...], n_values: Sequence[int]
    ) -> tuple[Dictionary, Int[np.ndarray, " n"]]:
        """Return the dictionary of the combinations in these rows, and each row's column."""
        radix = tuple(int(n_values[c]) for c in subset)
        whole = float(np.prod(np.array(radix, dtype=float)))
        coded = np.zeros(len(components), dtype=np.int32 if whole < 2.0**31 else np.int64)
        folds: dict[int, np.ndarray] = {}
        space = 1
        for position, (c, n) in enumerate(zip(subset, radix, strict=True)):
            if space * n >= CODE_LIMIT:
                folds[position], coded = np.unique(coded, return_inverse=True)
                space = len(folds[position])
            coded *= n
            coded += components[:, c].astype(coded.dtype, copy=False)
            space *= n
        if space <= max(TABLE_LEAST, TABLE_SHARE * len(components)):
            seen = np.zeros(space, dtype=bool)
            seen[coded] = True
            codes = np.flatnonzero(seen)
            table = np.cumsum(seen, dtype=np.int32) - np.int32(1)
            return cls(subset, radix, codes, folds), table[coded]
        codes, index = np.unique(coded, return_inverse=True)
        return cls(subset, radix, codes, folds), index.astype(np.int32)

    @property
    def size(self) -> int:
        """Return the number of seen combinations."""
        return len(self.codes)

    def columns(self, components: Int[np.ndarray, "n C"]) -> Int[np.ndarray, " n"]:
        """Return each row's column, -1 for an unseen combination."""
        coded = np.zeros(len(components), dtype=np.int64)
        unknown = np.zeros(len(components), dtype=bool)
        for position, (c, n) in enumerate(zip(self.components, self.radix, strict=True)):
            if position in self.folds:
                coded, missing = _places(self.folds[position], coded)
                unknown |= missing
            value = components[:, c]
            unknown |= (value < 0) | (value >= n)
            coded *= n
            coded += value
        place, missing = _places(self.codes, coded)
        place[missing | unknown] = -1
        return place.astype(np.int32)

    def values(self) -> Int[np.ndarray, "d S"]:
        """Return the value indices of each seen combination."""
        out = np.empty((self.size, len(self.radix)), dtype=np.int64)
        remainder = self.codes.astype(np.int64)
        for position in range(len(self.radix) - 1, -1, -1):
            remainder, out[:, position] = np.divmod(remainder, self.radix[position])
            if position in self.folds:
                remainder = self.folds[position].astype(np.int64)[remainder]
        return out


def _places(
    sorted_codes: Int[np.ndarray, " d"], coded: Int[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Return each code's place among the sorted known ones, and which are not among them."""
    place = np.searchsorted(sorted_codes, coded)
    place[place == len(sorted_codes)] = 0
    return place, sorted_codes[place] != coded


@door(empty=("index",))
@dataclass(frozen=True, eq=False)
class ConjunctionDesign:
    """Indicators of seen conjunctions, stored as a column index for each row and block.

    Parameters
    ----------
    dictionaries : tuple of Dictionary
        The seen combinations of each set, which fix the columns.
    index : tuple of int arrays, each of shape (n,)
        For each block the row's column within it; -1 where the conjunction was not seen, so
        that it contributes nothing.
    n_rows : int

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), theorem 4.2: what was not seen in training contributes
    exactly 0.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 0]])
    >>> design = ConjunctionDesign.seen(rows, ((0,), (1,)), (2, 2))
    >>> (design.at(np.array([[1, 1]])) @ np.array([1.0, 2.0, 10.0, 20.0])).tolist()
    [22.0]
    """

    dictionaries: tuple[Dictionary, ...]
    index: tuple[Int[np.ndarray, " n"], ...]
    n_rows: int

    @classmethod
    @door
    def seen(
        cls,
        components: Int[np.ndarray, "n C"],
        sets: Sequence[tuple[int, ...]],
        n_values: Sequence[int],
    ) -> ConjunctionDesign:
        """Return the design of the conjunctions in seen rows.

        Parameters
        ----------
        components : int array, shape (n, C)
            Value indices of the seen tuples.
        sets : sequence of tuples of int
            The conjunction sets, one block each; () is the constant.
        n_values : sequence of int, length C
            Values of each component.
        """
        require(
            len(n_values) == components.shape[1],
            "n_values has a count for each column of components",
            f"{len(n_values)} for {components.shape[1]}",
            "pass the number of values of each component",
        )
        pairs = [Dictionary.of(components, tuple(subset), n_values) for subset in sets]
        return cls(
            tuple(dictionary for dictionary, _ in pairs),
            tuple(index for _, index in pairs),
            len(components),
        )

    @door(empty=("components",))
    def at(self, components: Int[np.ndarray, "n C"]) -> ConjunctionDesign:
        """Return the design of other tuples in the same columns."""
        members = [c for dictionary in self.dictionaries for c in dictionary.components]
        lowest = 1 + max(members, default=-1)
        require(
            components.shape[1] >= lowest,
            f"rows have the {lowest} components of the design or more",
            f"shape {components.shape}",
            "pass a column for each component",
        )
        index = tuple(dictionary.columns(components) for dictionary in self.dictionaries)
        return ConjunctionDesign(self.dictionaries, index, len(components))

    def with_constant(self) -> ConjunctionDesign:
        """Return the design with a column of ones, the empty conjunction, before the others."""
        constant = Dictionary((), (), np.zeros(1, dtype=np.int64), {})
        index = np.zeros(self.n_rows, dtype=np.int32)
        return ConjunctionDesign((constant, *self.dictionaries), (index, *self.index), self.n_rows)

    @door
    def without(self, place: int) -> ConjunctionDesign:
        """Leave out the block at one place."""
        dictionaries, index = list(self.dictionaries), list(self.index)
        del dictionaries[place], index[place]
        return ConjunctionDesign(tuple(dictionaries), tuple(index), self.n_rows)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return a block for each conjunction set, labelled by it."""
        return self._blocks

    @cached_property  # asked for whenever types are checked
    def _blocks(self) -> tuple[Block, ...]:
        stops = np.cumsum([dictionary.size for dictionary in self.dictionaries]).tolist()
        return tuple(
            Block(dictionary.components, stop - dictionary.size, stop)
            for dictionary, stop in zip(self.dictionaries, stops, strict=True)
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, p)."""
        return self.n_rows, sum(dictionary.size for dictionary in self.dictionaries)

    def __matmul__(self, coefficients: Float[np.ndarray, "p *k"]) -> Float[np.ndarray, "n *k"]:
        """Return the outputs: for each row the sum of its conjunctions' coefficients."""
        out = np.zeros((self.n_rows, *coefficients.shape[1:]))
        for block, index in zip(self.blocks, self.index, strict=True):
            out += self.part(block, index, coefficients)
        return out

    @door(missing=("coefficients",), empty=("index",), any_size=("coefficients",))
    def part(
        self, block: Block, index: Int[np.ndarray, " n"], coefficients: Float[np.ndarray, "p *k"]
    ) -> Float[np.ndarray, "n *k"]:
        """Return one block's share of the outputs."""
        # A column of zeros at the end is what index -1 meets.
        tail = np.zeros((1, *coefficients.shape[1:]))
        return np.concatenate([coefficients[block.columns], tail])[index]

    @door(missing=("multipliers",), empty=("multipliers",), any_size=("multipliers",), shape="n p")
    def adjoint(self, multipliers: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "p *k"]:
        """Return for each conjunction the sum of its rows' multipliers."""
        flat = multipliers.reshape(self.n_rows, -1)
        out = np.zeros((self.shape[1], flat.shape[1]))
        for block, index in zip(self.blocks, self.index, strict=True):
            size = block.stop - block.start
            for k in range(flat.shape[1]):
                sums = np.bincount(index + 1, weights=flat[:, k], minlength=size + 1)
                out[block.columns, k] = sums[1:]
        return out.reshape(self.shape[1], *multipliers.shape[1:])

    @door(missing=("weights",), empty=("weights",), any_size=("weights",))
    def gram(
        self, block: Block, weights: Float[np.ndarray, " b"] | None = None
    ) -> Float[np.ndarray, "n n"]:
        """Return 1, or the conjunction's weight, for pairs of rows that share one of this block."""
        require_block_weights(block, weights)
        index = self.index[self.blocks.index(block)]
        shared = ((index[:, None] == index[None, :]) & (index[:, None] >= 0)).astype(float)
        if weights is None:
            return shared
        # A zero at the end is what index -1 meets.
        return shared * np.append(weights, 0.0)[index]

    def toarray(self) -> Float[np.ndarray, "n p"]:
        """Return the indicators as a dense matrix, for checks and small tasks."""
        out = np.zeros(self.shape)
        for block, index in zip(self.blocks, self.index, strict=True):
            rows = np.flatnonzero(index >= 0)
            out[rows, block.start + index[rows]] = 1.0
        return out
