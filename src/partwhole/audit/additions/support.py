r"""How far training supports held-out combinations: the eigenvalue that governs the leak.

Scale a combination's indicators of conjunctions S by :math:`\sqrt{\sigma_S}` to a row x. With the
scatter :math:`M = \sum_i (x_i - \bar x)(x_i - \bar x)^T` of training about its mean (the constant
is free) and the memory m, interpolation multiplies the weights of a sum of conjunctions by
:math:`M (M + m)^{-1}`: an eigenvector of M with eigenvalue e is shrunk by e/(e + m).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.order_kernel import OrderKernel

LEAST_MEMORY = 1e-9
# Of the largest eigenvalue of a scatter; what is smaller is rounding.
RANK_TOLERANCE = 1e-10
# Halvings of the interval that holds an eigenvalue: all digits of a double.
HALVINGS = 54


def scaled_columns(kernel: OrderKernel, design: ConjunctionDesign) -> Float[np.ndarray, " p"]:
    r"""Return :math:`\sqrt{\sigma_S}` for every column of a design."""
    roots = [kernel.weights.get(dictionary.components, 0.0) for dictionary in design.dictionaries]
    sizes = [dictionary.size for dictionary in design.dictionaries]
    return np.sqrt(np.repeat(np.asarray(roots, dtype=float), sizes))


def moments(
    design: ConjunctionDesign, scale: Float[np.ndarray, " p"], rows: Int[np.ndarray, " r"]
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """Return the mean of these rows' scaled indicators, and their scatter about it."""
    p = design.shape[1]
    gram = np.zeros((p, p))
    pairs = [
        (b, i[rows].astype(np.int64)) for b, i in zip(design.blocks, design.index, strict=True)
    ]
    for place, (one, i) in enumerate(pairs):
        for other, j in pairs[place:]:
            shape = one.stop - one.start, other.stop - other.start
            count = np.bincount(i * shape[1] + j, minlength=shape[0] * shape[1]).reshape(shape)
            gram[one.columns, other.columns] = count
            gram[other.columns, one.columns] = count.T
    mean = scale * gram.diagonal() / max(len(rows), 1)
    return mean, gram * scale[:, None] * scale - len(rows) * np.outer(mean, mean)


@dataclass(eq=False)
class TrainingInverse:
    """Keep the inverse of training's scatter and memory for the test splits that share it.

    Parameters
    ----------
    matrix : float array, shape (s, s), or None
        Over the conjunctions of training alone; None until it is computed.
    """

    matrix: Float[np.ndarray, "s s"] | None = None

    def fill(self, scatter: Float[np.ndarray, "s s"], memory: float) -> None:
        """Compute it."""
        inverse = np.linalg.inv(scatter + memory * np.eye(len(scatter)))
        self.matrix = (inverse + inverse.T) / 2.0

    def among(self, memory: float, seen: Bool[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        """Return the inverse over more conjunctions, of which training has seen these.

        One that it has not seen is by itself: its entry is 1 / memory.
        """
        whole = np.diag(np.full(len(seen), 1.0 / memory))
        whole[np.ix_(seen, seen)] = self.matrix
        return whole


@dataclass(frozen=True, eq=False)
class Support:
    r"""Hold what training tells about sums of conjunctions, and what is asked of it.

    Parameters
    ----------
    design : ConjunctionDesign
        Conjunctions of 1..K components of training, of the held-out combinations and of the
        candidates, which are its rows in this order.
    scale : float array, shape (p,)
        :math:`\sqrt{\sigma_S}`.
    memory : float
        m.
    n : int
        Training combinations.
    mean : float array, shape (p,)
        Their mean.
    reference : float array, shape (p,)
        The mean that held-out combinations are compared with: training's before any is added.
    inverse : float array, shape (p, p)
        :math:`(M + m)^{-1}`.
    asked : int array, shape (h,)
        The held-out combinations' rows.
    asked_mean, asked_scatter : float arrays, shapes (p,) and (p, p)
        Their moments.
    """

    design: ConjunctionDesign
    scale: Float[np.ndarray, " p"]
    memory: float
    n: int
    mean: Float[np.ndarray, " p"]
    reference: Float[np.ndarray, " p"]
    inverse: Float[np.ndarray, "p p"]
    asked: Int[np.ndarray, " h"]
    asked_mean: Float[np.ndarray, " p"]
    asked_scatter: Float[np.ndarray, "p p"]

    @classmethod
    def of(
        cls,
        kernel: OrderKernel,
        design: ConjunctionDesign,
        n_train: int,
        n_held_out: int,
        shared: TrainingInverse,
    ) -> Support:
        """Build it from a design of training, held-out combinations and candidates.

        Parameters
        ----------
        kernel : OrderKernel
        design : ConjunctionDesign
            At least one column; its first rows are training's, the next the held-out ones.
        n_train, n_held_out : int
        shared : TrainingInverse
            Of this kernel and training; filled where it is empty.
        """
        scale = scaled_columns(kernel, design)
        memory = max(float(kernel.memory), LEAST_MEMORY)
        train = np.arange(n_train)
        counts = design.adjoint((np.arange(design.n_rows) < n_train).astype(float))
        seen = counts > 0
        if shared.matrix is None:
            shared.fill(moments(design, scale, train)[1][np.ix_(seen, seen)], memory)
        mean = scale * counts / max(n_train, 1)
        asked = n_train + np.arange(n_held_out)
        asked_mean, asked_scatter = moments(design, scale, asked)
        return cls(
            design,
            scale,
            memory,
            n_train,
            mean,
            mean,
            shared.among(memory, seen),
            asked,
            asked_mean,
            asked_scatter,
        )

    def columns(self, places: Int[np.ndarray, " r"]) -> Int[np.ndarray, "r s"]:
        """Return which columns rows of the design have, one of each set."""
        return _columns(self.design, places)

    def _times(
        self, x: Int[np.ndarray, "c s"], matrix: Float[np.ndarray, "p k"]
    ) -> Float[np.ndarray, "c k"]:
        """Return the product of scaled rows, less the mean, with a matrix."""
        out = np.broadcast_to(-self.mean @ matrix, (len(x), matrix.shape[1])).copy()
        for column in x.T:
            out += self.scale[column, None] * matrix[column]
        return out

    def _known(
        self, x: Int[np.ndarray, "c s"]
    ) -> tuple[Float[np.ndarray, "c p"], Float[np.ndarray, " c"]]:
        """Return the rows, less the mean, times the inverse; and their squared lengths by it."""
        known = self._times(x, self.inverse)
        square = -known @ self.mean
        for column in x.T:
            square += self.scale[column] * known[np.arange(len(x)), column]
        return known, square

    def span(self, held_out: Bool[np.ndarray, " h"]) -> Float[np.ndarray, "p r"]:
        """Return an orthonormal basis of these held-out combinations, less the reference."""
        chosen, p = self.asked[held_out], len(self.scale)
        if 2 * len(chosen) <= p:
            rows = np.tile(-self.reference, (len(chosen), 1))
            for column in self.columns(chosen).T:
                rows[np.arange(len(chosen)), column] += self.scale[column]
            # Of the smaller matrix, which has the same eigenvalues.
            size, left = np.linalg.eigh(rows @ rows.T)
            kept = size > RANK_TOLERANCE * size.max(initial=0.0)
            return np.linalg.qr(rows.T @ left[:, kept])[0]
        else:
            mean, scatter = moments(self.design, self.scale, chosen)
            scatter += len(chosen) * np.outer(mean - self.reference, mean - self.reference)
            size, basis = np.linalg.eigh(scatter)
            return basis[:, size > RANK_TOLERANCE * size.max(initial=0.0)]

    def errors_with(self, x: Int[np.ndarray, "c s"]) -> Float[np.ndarray, " c"]:
        """Return the held-out sums' expected squared error once each of these rows is added.

        Under the kernel's own prior, with all rows of the design that are asked counted alike.
        """
        n = self.n + 1
        known, square = self._known(x)
        share = _share(self.n, square)
        away = self.asked_mean - self.mean
        total = np.sum(self.inverse * self.asked_scatter)
        total = total - share * np.einsum("cp,cp->c", known @ self.asked_scatter, known)
        level = away @ self.inverse @ away - 2.0 * (known @ away) / n + square / n**2
        level -= share * (known @ away - square / n) ** 2
        return self.memory * (total / len(self.asked) + level + 1.0 / n)

    def unsupported(self, basis: Float[np.ndarray, "p r"]) -> Unsupported | None:
        """Resolve what training leaves unsupported on a space of contrasts; None if it is empty.

        Parameters
        ----------
        basis : float array, shape (p, r)
            Orthonormal.
        """
        if basis.shape[1] == 0:
            return None
        told = self.inverse @ basis
        size, vectors = np.linalg.eigh(self.memory * basis.T @ told)
        return Unsupported(size, told @ vectors)

    def eigenvalue(self, left: Unsupported | None) -> float:
        r"""Return the eigenvalue e that governs the leak on a space of contrasts.

        The contrast v of this space that training supports least is predicted, on average over
        the kernel's own prior, at the share :math:`v^T M (M + m)^{-1} v / v^T v = e/(e + m)` of
        its size. Where M maps the space into itself, e is M's smallest eigenvalue there.
        """
        return float("nan") if left is None else self._from_left(float(left.size[-1]))

    def best_eigenvalue(
        self, x: Int[np.ndarray, "c s"], left: Unsupported | None, tie: float
    ) -> tuple[float, Bool[np.ndarray, " c"]]:
        """Return the largest eigenvalue that adding one of these rows gives, and which give it.

        An added row takes a matrix of rank one from what is left unsupported, whose largest
        eigenvalue then solves a secular equation between the two largest of before. That
        function's sign at a point says for every row at once on which side its own root lies.

        Parameters
        ----------
        x : int array, shape (c, s)
            Columns of rows.
        left : Unsupported or None
            Of the space of contrasts, as it stands.
        tie : float
            Relative difference that counts as equal.

        Returns
        -------
        float
            Minus infinity where the space is empty.
        bool array, shape (c,)
        """
        if left is None:
            return -np.inf, np.ones(len(x), dtype=bool)
        size = left.size
        share = self.memory * _share(self.n, self._known(x)[1])
        weights = share[:, None] * self._times(x, left.told) ** 2

        def reached(point: float) -> Bool[np.ndarray, " c"]:
            gap = size - point
            # At an eigenvalue of before no root lies below it.
            gap[gap == 0.0] = -np.finfo(float).tiny
            return 1.0 - weights @ (1.0 / gap) <= 0.0

        low, high = float(size[-2]) if len(size) > 1 else 0.0, float(size[-1])
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if reached(middle).any() else (middle, high)
        found = self._from_left(high)
        level = max(high, self.memory / (self.memory + found * (1.0 - tie)))
        equal = reached(level) if level < size[-1] else np.ones(len(x), dtype=bool)
        return found, equal

    def _from_left(self, left: float) -> float:
        """Turn the unsupported share m/(e + m) into e."""
        left = min(max(left, float(np.finfo(float).tiny)), 1.0)
        return self.memory * (1.0 - left) / left

    def add(self, x: Int[np.ndarray, " s"]) -> Support:
        """Return the support once a row is added to training."""
        known, square = self._known(x[None])
        d = -self.mean
        d[x] += self.scale[x]
        change = float(_share(self.n, square)[0]) * np.outer(known[0], known[0])
        return replace(
            self,
            n=self.n + 1,
            mean=self.mean + d / (self.n + 1),
            inverse=self.inverse - change,
        )


def _columns(design: ConjunctionDesign, places: Int[np.ndarray, " r"]) -> Int[np.ndarray, "r s"]:
    blocks = zip(design.blocks, design.index, strict=True)
    return np.stack([block.start + index[places] for block, index in blocks], axis=1)


def _share(n: int, square: Float[np.ndarray, " c"]) -> Float[np.ndarray, " c"]:
    """Return the factor of the rank-one change that a row at this squared distance makes."""
    k = n / (n + 1.0)
    return k / (1.0 + k * square)


@dataclass(frozen=True, eq=False)
class Unsupported:
    r"""Hold the unsupported part of a space of contrasts, resolved.

    Parameters
    ----------
    size : float array, shape (r,)
        Eigenvalues of :math:`P^T m (M + m)^{-1} P`, ascending, P being the space's basis.
    told : float array, shape (p, r)
        :math:`(M + m)^{-1} P` times their eigenvectors.
    """

    size: Float[np.ndarray, " r"]
    told: Float[np.ndarray, "p r"]


@dataclass(frozen=True, eq=False)
class CoarseSupport:
    r"""Hold what is known of each conjunction by itself, where there are many.

    A conjunction of weight s in n training combinations leaves :math:`s m / (m + s n)` of its
    prior variance s.
    """

    design: ConjunctionDesign
    weight: Float[np.ndarray, " p"]
    memory: float
    seen: Float[np.ndarray, " p"]
    asked: Float[np.ndarray, " p"]
    first: int

    @classmethod
    def of(
        cls, kernel: OrderKernel, design: ConjunctionDesign, n_train: int, n_held_out: int
    ) -> CoarseSupport:
        """Count training's and the held-out combinations' conjunctions."""
        is_train = np.zeros(design.n_rows)
        is_train[:n_train] = 1.0
        is_asked = np.zeros(design.n_rows)
        is_asked[n_train : n_train + n_held_out] = 1.0 / n_held_out
        return cls(
            design,
            scaled_columns(kernel, design) ** 2,
            max(float(kernel.memory), LEAST_MEMORY),
            design.adjoint(is_train),
            design.adjoint(is_asked),
            n_train + n_held_out,
        )

    def errors_with(self, places: Int[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """Return the change of the mean expected error, once each of these is added."""
        left = [
            self.weight * self.memory / (self.memory + self.weight * (self.seen + k))
            for k in (0, 1)
        ]
        return ((left[1] - left[0]) * self.asked)[_columns(self.design, self.first + places)].sum(
            axis=1
        )

    def add(self, place: int) -> None:
        """Count a candidate as training's."""
        self.seen[_columns(self.design, np.array([self.first + place]))[0]] += 1.0
