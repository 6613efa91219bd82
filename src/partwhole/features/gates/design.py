"""Features of gated units: the input, once for each unit, in the columns of its context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count
from partwhole.features.design import Block, DenseDesign, require_block_weights

# Columns of a product that is made at once: inputs stay in the cache, memory within bounds.
WIDTH = 1024
ENTRIES_KEPT = 4_000_000  # of memberships, 32 MB; those of larger designs are computed anew


@door(empty=("inputs", "contexts"))
@dataclass(frozen=True, eq=False)
class GatedDesign:
    r"""Design of gated units: inputs in the columns of the weights that apply to them.

    Unit h has a weight vector for each of its C contexts and applies the one of the input's
    context: :math:`\Phi_h(x) = e_{c_h(x)} \otimes x`, nothing where the unit is off. The p =
    H C d columns are never formed.

    Parameters
    ----------
    inputs : float array, shape (n, d)
    contexts : int array, shape (n, H)
        :math:`c_h(x)` from 0 to C - 1; -1 where a unit is off.
    n_contexts : int
        C, the same for all units.

    Raises
    ------
    InputError
        For inputs that are not finite, and contexts of another number of inputs or out of range.

    Notes
    -----
    Columns are ordered by unit, then context, then input; block h is unit h. Lippl, Abbott &
    Chung (2022) for the features.

    Examples
    --------
    >>> design = GatedDesign(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0, 1], [1, -1]]), 2)
    >>> design.shape
    (2, 8)
    >>> (design @ np.arange(8.0)).tolist()
    [22.0, 18.0]
    """

    inputs: Float[np.ndarray, "n d"]
    contexts: Int[np.ndarray, "n H"]
    n_contexts: Count

    def __post_init__(self) -> None:
        require(
            self.contexts.ndim == 2 and len(self.contexts) == len(self.inputs),
            "contexts have a row for each input and a column for each unit",
            f"shape {self.contexts.shape} for {len(self.inputs)} inputs",
            "pass gates.contexts(inputs)",
        )
        low, high = int(self.contexts.min(initial=0)), int(self.contexts.max(initial=0))
        require(
            low >= -1 and high < self.n_contexts,
            f"contexts lie between -1 (off) and {self.n_contexts - 1}",
            f"{low}..{high}",
            "pass the number of contexts that the gates have",
        )

    @property
    def n_units(self) -> int:
        """Return H."""
        return self.contexts.shape[1]

    @property
    def occupied(self) -> Int[np.ndarray, "H C"]:
        """Return how many inputs each unit has in each context.

        What is learned in a context without any is nothing: the weights there are 0.
        """
        matches = self.contexts[:, :, None] == np.arange(self.n_contexts)
        return matches.sum(axis=0)

    @door(shape="n p")
    def unit_weights(self, coefficients: Float[np.ndarray, " p"]) -> Float[np.ndarray, "H C d"]:
        """Return coefficients as each unit's weights in each of its contexts."""
        return coefficients.reshape(self.n_units, self.n_contexts, -1)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, H C d)."""
        n, d = self.inputs.shape
        return n, self.n_units * self.n_contexts * d

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return a block for each unit, labelled 0 to H - 1."""
        return self._blocks

    @cached_property  # asked for whenever types are checked
    def _blocks(self) -> tuple[Block, ...]:
        size = self.n_contexts * self.inputs.shape[1]
        return tuple(Block(h, h * size, (h + 1) * size) for h in range(self.n_units))

    @cached_property
    def products(self) -> Float[np.ndarray, "n n"]:
        """Return the inner products of the inputs."""
        return self.inputs @ self.inputs.T

    def __matmul__(self, coefficients: Float[np.ndarray, "p *k"]) -> Float[np.ndarray, "n *k"]:
        """Return the outputs."""
        columns = coefficients.reshape(len(coefficients), -1)
        outputs = np.stack([self.block_outputs(unit).sum(axis=1) for unit in columns.T], axis=1)
        return outputs.reshape(len(self.inputs), *coefficients.shape[1:])

    @door(missing=("coefficients",), any_size=("coefficients",), shape="n p")
    def block_outputs(self, coefficients: Float[np.ndarray, " p"]) -> Float[np.ndarray, "n H"]:
        """Return each unit's share of the outputs."""
        n, d = self.inputs.shape
        weights = coefficients.reshape(self.n_units, self.n_contexts, d)
        outputs = np.zeros((n, self.n_units))
        for units in self._chunks():
            part = self.contexts[:, units]
            answers = self.inputs @ weights[units].reshape(-1, d).T
            answers = answers.reshape(n, part.shape[1], self.n_contexts)
            picked = np.take_along_axis(answers, np.maximum(part, 0)[:, :, None], axis=2)[:, :, 0]
            outputs[:, units] = np.where(part >= 0, picked, 0.0)
        return outputs

    @door(missing=("multipliers",), empty=("multipliers",), any_size=("multipliers",), shape="n p")
    def adjoint(self, multipliers: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "p *k"]:
        """Return the transposed features times the multipliers."""
        columns = multipliers.reshape(len(multipliers), int(np.prod(multipliers.shape[1:])))
        out = np.empty((self.shape[1], columns.shape[1]))
        size = self.n_contexts * self.inputs.shape[1]
        for units in self._chunks():
            at = slice(units.start * size, units.stop * size)
            membership = self._membership(units)
            for k, unit in enumerate(columns.T):
                out[at, k] = (membership.T @ (unit[:, None] * self.inputs)).ravel()
        return out.reshape(-1, *multipliers.shape[1:])

    @door(missing=("weights",), empty=("weights",), any_size=("weights",))
    def gram(
        self, block: Block, weights: Float[np.ndarray, " b"] | None = None
    ) -> Float[np.ndarray, "n n"]:
        """Return the inner products of one unit's features, their columns weighted."""
        require_block_weights(block, weights)
        contexts = self.contexts[:, block.start // (self.n_contexts * self.inputs.shape[1])]
        if weights is None:
            return np.where((contexts[:, None] == contexts) & (contexts >= 0), self.products, 0.0)
        gram = np.zeros((len(contexts), len(contexts)))
        for context, weight in enumerate(weights.reshape(self.n_contexts, -1)):
            rows = np.flatnonzero(contexts == context)
            part = self.inputs[rows]
            gram[np.ix_(rows, rows)] = (part * weight) @ part.T
        return gram

    @door(missing=("weights",), empty=("weights",), any_size=("weights",), shape="n p")
    def weighted_gram(self, weights: Float[np.ndarray, " p"]) -> Float[np.ndarray, "n n"]:
        """Return the inner products of all features, their columns weighted."""
        unit = weights.reshape(self.n_units, self.n_contexts, -1)
        if np.all(unit == unit[:, :, :1]):
            return self.agreement(unit[:, :, 0]) * self.products
        parts = (self.gram(block, weights[block.columns]) for block in self.blocks)
        return sum(parts, np.zeros((len(self.inputs),) * 2))

    @door
    def agreement(
        self, weights: Float[np.ndarray, "H C"] | None = None
    ) -> Float[np.ndarray, "n n"]:
        """Return the weighted number of units with two inputs in the same context."""
        shape = (self.n_units, self.n_contexts)
        weights_of_units = shape if weights is None else weights.shape
        rule = "weights are one number for each context of each unit"
        require(weights_of_units == shape, rule, f"shape {weights_of_units}", f"pass shape {shape}")
        agreement = np.zeros((len(self.inputs),) * 2)
        for units in self._chunks():
            membership = self._membership(units)
            weighted = membership if weights is None else membership * weights[units].ravel()
            agreement += weighted @ membership.T
        return agreement

    def dense(self) -> DenseDesign:
        """Return the features as a matrix, shape (n, p)."""
        n, d = self.inputs.shape
        matrix = np.zeros((n, self.n_units, self.n_contexts, d))
        rows, units = np.nonzero(self.contexts >= 0)
        matrix[rows, units, self.contexts[rows, units]] = self.inputs[rows]
        return DenseDesign(matrix.reshape(n, -1), self.blocks)

    def _chunks(self) -> Iterator[slice]:
        step = max(1, WIDTH // self.n_contexts)
        return (
            slice(start, min(start + step, self.n_units)) for start in range(0, self.n_units, step)
        )

    def _membership(self, units: slice) -> Float[np.ndarray, "n UC"]:
        """Return 1 for inputs in a unit's context, otherwise 0."""
        place = units.start, units.stop
        if place in self._memberships:
            return self._memberships[place]
        part = self.contexts[:, units]
        is_on = part[:, :, None] == np.arange(self.n_contexts)
        membership = is_on.astype(float).reshape(len(part), part.shape[1] * self.n_contexts)
        if self.contexts.size * self.n_contexts <= ENTRIES_KEPT:
            self._memberships[place] = membership
        return membership

    @cached_property  # a solver asks for them hundreds of times
    def _memberships(self) -> dict[tuple[int, int], np.ndarray]:
        return {}
