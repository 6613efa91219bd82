r"""Kernels to which neighbouring values of ordered components are more similar.

A value of an ordered component is replaced by a code of bits: is it at least the second, the third,
..., the last value? The bits span the same functions as the values, so that training determines the
same. With the component's weight :math:`\sigma` divided among them in the ratio of the gaps
between values, two inputs share of it

.. math:: \sigma (1 - |x - x'| / (x_{\max} - x_{\min})),

which falls in a straight line from :math:`\sigma` at equal values to 0 at the first and the last.
Least-norm learners then interpolate: a value that training lacks is answered between its
neighbours, in a straight line without other components, and beyond the outermost one as there.
Weights of conjunctions are products of such shares. Derived here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import comb

import numpy as np
from jaxtyping import Int

from partwhole.audit.case import Case
from partwhole.audit.wording import SETS
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.order_sweep import OrderProblem
from partwhole.tasks import Task

# Conjunctions of bits, for which a kernel is still computed at once.
MOST_CONJUNCTIONS = 3000


@dataclass(frozen=True, eq=False)
class Grading:
    """The bits of components, with their shares of the component's weight.

    Parameters
    ----------
    positions : sequence of (sequence of float, or None), length C
        The increasing positions of an ordered component's values; None for other components.
    """

    positions: Sequence[Sequence[float] | None]

    @property
    def shares(self) -> list[np.ndarray]:
        """Return the shares of each component's columns, which add up to 1."""
        shares = []
        for places in self.positions:
            gaps = np.ones(1) if places is None else np.diff(np.asarray(places, dtype=float))
            whole = gaps.sum()
            shares.append(gaps / whole if whole > 0 else np.full(len(gaps), 1 / len(gaps)))
        return shares

    def fits(self, order: int) -> bool:
        """Return whether conjunctions of so many bits can be enumerated."""
        n = sum(map(len, self.shares))
        return sum(comb(n, k) * 2**k for k in range(1, order + 1)) <= MOST_CONJUNCTIONS

    def components(self, components: Int[np.ndarray, "n C"]) -> Int[np.ndarray, "n B"]:
        """Return the columns of combinations: bits of ordered components, others as they are."""
        columns = []
        for values, places in zip(components.T, self.positions, strict=True):
            if places is None:
                columns.append(values[:, None])
            else:
                columns.append((values[:, None] >= np.arange(1, len(places))).astype(np.int64))
        return np.hstack(columns)

    def task(self, task: Task) -> Task:
        """Return a task with these columns as its components."""
        names, values = [], []
        for name, of, places in zip(task.names, task.values, self.positions, strict=True):
            later = [None] if places is None else of[1:]
            names += [name if value is None else f"{name} >= {value}" for value in later]
            values += [of if places is None else (False, True)] * len(later)
        return replace(
            task,
            components=self.components(task.components),
            names=tuple(f"{i} {name}" for i, name in enumerate(names)),
            values=tuple(values),
        )

    def problem(self, problem: OrderProblem) -> OrderProblem:
        """Return a problem with these columns as its components."""
        return OrderProblem.of(self.task(problem.task), problem.order)

    def kernel(self, kernel: OrderKernel) -> OrderKernel:
        """Return a kernel on these columns, of the same weights, memory and order.

        Examples
        --------
        >>> halves = Grading(((0.0, 1.0, 3.0), None)).kernel(OrderKernel.from_salience(0.3))
        >>> {bits: round(weight, 6) for bits, weight in halves.weights.items()}
        {(0,): 0.1, (1,): 0.2, (2,): 0.3}
        """
        shares = self.shares
        start = np.cumsum([0, *map(len, shares)])
        weights = {}
        for subset, weight in kernel.weights.items():
            for bits in product(*(range(len(shares[c])) for c in subset)):
                share = np.prod([shares[c][bit] for c, bit in zip(subset, bits, strict=True)])
                place = tuple(int(start[c]) + bit for c, bit in zip(subset, bits, strict=True))
                weights[place] = float(weight) * float(share)
        return OrderKernel(int(start[-1]), kernel.order, weights, kernel.memory)


def grading_of(case: Case) -> Grading | None:
    """Return the grading of ordered components; None without any, or where it is too large."""
    grading = Grading(case.table.positions)
    return grading if case.table.positions and grading.fits(case.order) else None


def grading_in_words(case: Case) -> str:
    """Return whether near values are alike in the predictions; empty without ordered components."""
    places = case.table.positions
    if not places:
        return ""
    names = ", ".join(
        name for name, of in zip(case.table.names, places, strict=True) if of is not None
    )
    if grading_of(case) is None:
        return (
            f"the order of {names} is not in the predictions: at order {case.order} it has more "
            f"than {MOST_CONJUNCTIONS:,} {SETS}; put the values in bins"
        )
    return (
        f"values of {names} are more alike the nearer they are, in a straight line from equal ones "
        "to the first and last; not so at a measured representation, while saliences change, and "
        "in what training determines"
    )
