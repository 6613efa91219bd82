"""Nested descriptions of the distances of values: constant, around a circle, in a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import factorial, nan
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole._checks import require
from partwhole._types import Seed

ORDERS = 2_000  # drawn, where there are more
# Of the covariance before subtraction, that noise has at least: half were right on average.
LEAST_NOISE = 2 / 3
FEW_DIGITS = 1e-20  # of the squares of distances: less is rounding

Model = Literal["flat", "circular", "ordered", "rest", "trend"]


def value_contrasts(
    conditions: Int[np.ndarray, "T C"],
    place: int,
    codes: Sequence[int],
    others: Literal["equal", "averaged"],
) -> tuple[sparse.csr_matrix, Int[np.ndarray, " k"]]:
    """Return differences of conditions by values of one component, and the pair that each is of.

    Pairs of values are numbered in the order of `itertools.combinations`.
    """
    at = _by_context(conditions, place, codes)
    n_contexts, n_values = at.shape
    first, second = np.triu_indices(n_values, 1)
    if others == "averaged":
        lack = int(np.sum(at < 0))
        require(
            not lack,
            "means over other components need all combinations of these with the values",
            f"{lack} of {at.size} that are not repeated",
            'pass others="equal", or leave out values that lack some',
        )
        mean = sparse.csr_matrix(
            (np.full(at.size, 1.0 / n_contexts), (np.tile(np.arange(n_values), n_contexts),
             at.ravel())), shape=(n_values, len(conditions)),
        )  # fmt: skip
        return sparse.csr_matrix(mean[first] - mean[second]), np.arange(len(first))
    contrasts, pair = coding_contrasts(conditions, place, codes)
    require(
        len(pair) > 0,
        "distances of values need conditions that differ in this component alone",
        "none that are repeated",
        "add conditions with equal values of the others",
    )
    return contrasts, pair


def coding_contrasts(
    conditions: Int[np.ndarray, "T C"], place: int, codes: Sequence[int]
) -> tuple[sparse.csr_matrix, Int[np.ndarray, " k"]]:
    """Return differences of conditions that differ in one component alone, and the pair of each."""
    at = _by_context(conditions, place, codes)
    first, second = np.triu_indices(len(codes), 1)
    both = (at[:, first] >= 0) & (at[:, second] >= 0)
    contexts, pair = np.nonzero(both)
    columns = np.stack([at[contexts, first[pair]], at[contexts, second[pair]]], axis=1)
    signs = np.tile([1.0, -1.0], len(pair))
    rows = np.repeat(np.arange(len(pair)), 2)
    shape = (len(pair), len(conditions))
    return sparse.csr_matrix((signs, (rows, columns.ravel())), shape=shape), pair


def _by_context(
    conditions: Int[np.ndarray, "T C"], place: int, codes: Sequence[int]
) -> Int[np.ndarray, "contexts V"]:
    """Return the condition of each value in each context of the others, -1 where there is none."""
    context = np.delete(conditions, place, axis=1)
    of_condition = np.unique(context, axis=0, return_inverse=True)[1].ravel()
    at = np.full((int(of_condition.max()) + 1, len(codes)), -1)
    for i, code in enumerate(codes):
        rows = np.flatnonzero(conditions[:, place] == code)
        at[of_condition[rows], i] = rows
    return at


@dataclass(frozen=True, eq=False)
class NestedShares:
    """Shares of the variance of distances that counts of steps explain, without noise.

    Parameters
    ----------
    y : float array, shape (P,)
        Distance of each pair of values.
    covariance : float array, shape (P, P)
        Of the errors of y, without bias: where there is no signal it may be near 0, or below.
    cautious : float array, shape (P, P)
        The same before its excess was subtracted: without signal about twice as large, but with no
        negative variance. p values take its degrees of freedom, and a part of it as the least size.
    pairs : int array, shape (P, 2)
        Places of both values.
    n_values : int
    degrees : int
        Degrees of freedom of the noise.
    """

    y: Float[np.ndarray, " P"]
    covariance: Float[np.ndarray, "P P"]
    cautious: Float[np.ndarray, "P P"]
    pairs: Int[np.ndarray, "P 2"]
    n_values: int
    degrees: int

    @cached_property
    def bases(self) -> dict[Model, Float[np.ndarray, "P d"]]:
        """Return orthonormal bases of what every description adds to a constant.

        "flat" is all that differs from a constant, "rest" what a line adds to a circle, "trend"
        what is proportional to steps in either.
        """
        steps = np.diff(self.pairs, axis=1).ravel()
        around = np.minimum(steps, self.n_values - steps)
        constant = np.ones((len(steps), 1))
        circular, ordered = (_indicators(count) for count in (around, steps))
        return {
            "flat": _added(np.eye(len(steps)), constant),
            "circular": _added(circular, constant),
            "ordered": _added(ordered, constant),
            "rest": _added(ordered, circular),
            "trend": _added(np.column_stack([steps, around]).astype(float), constant),
        }

    def explained(self, model: Model) -> float:
        """Return the noise-free sum of squares."""
        basis = self.bases[model]
        return float(np.sum((basis.T @ self.y) ** 2) - np.sum(basis * (self.covariance @ basis)))

    @property
    def variation(self) -> float:
        """Return the standard deviation of the distances over their mean."""
        mean = float(self.y.mean())
        return np.sqrt(max(self.explained("flat"), 0.0) / len(self.y)) / mean if mean > 0 else nan

    def share(self, model: Model) -> float:
        """Return the share of the variance that a description explains; NaN if there is none."""
        total = self.explained("flat")
        return self.explained(model) / total if total > self._rounding else nan

    def interval(self, model: Model, confidence: float) -> tuple[float, float]:
        """Return the interval of a share, from the covariance of the distances."""
        from scipy.stats import t

        share, basis, whole = self.share(model), self.bases[model], self.bases["flat"]
        error = self._error(basis @ basis.T - share * whole @ whole.T) / self.explained("flat")
        width = float(t.ppf(0.5 + 0.5 * confidence, self.degrees)) * error
        return share - width, share + width

    @property
    def precision(self) -> float:
        """Return the noise-free sum of squares of the distances over its standard error."""
        whole = self.bases["flat"]
        error = self._error(whole @ whole.T)
        return self.explained("flat") / error if error > 0 else np.inf

    def _error(self, form: Float[np.ndarray, "P P"]) -> float:
        """Return the standard error of a sum of squares of the distances, by a quadratic form."""
        slope, spread = form @ self.y, form @ self.covariance
        linear = 4.0 * float(slope @ self.covariance @ slope)
        return float(np.sqrt(max(linear + 2.0 * float(np.sum(spread * spread.T)), 0.0)))

    def p_value(self, model: Model) -> float:
        """Return the p value of distances that have no part in what a description adds."""
        from scipy.stats import f

        basis = self.bases[model]
        square = float(np.sum((basis.T @ self.y) ** 2))
        noise = basis.T @ self.cautious @ basis
        # Noise that is too small by chance would make any distances differ.
        size = max(
            float(np.sum(basis * (self.covariance @ basis))), LEAST_NOISE * float(np.trace(noise))
        )
        if basis.shape[1] == 0 or square <= self._rounding:
            return 1.0
        if size <= self._rounding:
            return 0.0
        dimension = float(np.trace(noise)) ** 2 / float(np.sum(noise**2))
        return float(f.sf(square / size, dimension, self.degrees))

    @property
    def _rounding(self) -> float:
        return FEW_DIGITS * float(np.sum(self.y**2))

    @property
    def rises(self) -> bool:
        """Return whether distances grow with the steps between values."""
        steps = np.diff(self.pairs, axis=1).ravel()
        return float((steps - steps.mean()) @ self.y) > 0

    def orders(self, seed: Seed) -> dict[str, float]:
        """Return the share of orders of the values in which steps explain as much."""
        counts = np.zeros(2)
        n_orders = 0
        actual = self._step_squares(np.arange(self.n_values))
        for order in _orders(self.n_values, seed):
            # Rounding may set the same sums apart.
            counts += self._step_squares(order) >= actual - 1e-9 * float(self.y @ self.y)
            n_orders += 1
        return dict(zip(("ordered", "circular"), (counts / n_orders).tolist(), strict=True))

    def _step_squares(self, order: np.ndarray) -> Float[np.ndarray, " 2"]:
        """Return sums of squares of means by steps, in a line and around a circle."""
        steps = np.abs(order[self.pairs[:, 0]] - order[self.pairs[:, 1]])
        values = []
        for count in (steps, np.minimum(steps, self.n_values - steps)):
            n = np.bincount(count, minlength=1)
            total = np.bincount(count, self.y)
            values.append(np.sum(total[n > 0] ** 2 / n[n > 0]))
        return np.array(values)


def _orders(n_values: int, seed: Seed) -> Iterator[np.ndarray]:
    """Yield all orders of some values, or the first and others that are drawn."""
    if factorial(n_values) <= ORDERS:
        yield from map(np.array, permutations(range(n_values)))
        return
    rng = np.random.default_rng(seed)
    yield np.arange(n_values)
    for _ in range(ORDERS):
        yield rng.permutation(n_values)


def _indicators(counts: np.ndarray) -> Float[np.ndarray, "P d"]:
    return (counts[:, None] == np.unique(counts)).astype(float)


def _added(columns: np.ndarray, without: np.ndarray) -> Float[np.ndarray, "P d"]:
    """Return an orthonormal basis of what columns add to others."""
    outer = np.linalg.qr(without)[0]
    left, sizes, _ = np.linalg.svd(columns - outer @ (outer.T @ columns), full_matrices=False)
    return left[:, sizes > 1e-9 * np.sqrt(len(columns))]
