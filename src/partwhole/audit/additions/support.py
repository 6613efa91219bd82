r"""Training's support of held-out combinations: the eigenvalue that governs the leak.

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
# Relative to the largest eigenvalue of a scatter; smaller eigenvalues are rounding.
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
    for place, (first_block, i) in enumerate(pairs):
        for second_block, j in pairs[place:]:
            shape = first_block.stop - first_block.start, second_block.stop - second_block.start
            count = np.bincount(i * shape[1] + j, minlength=shape[0] * shape[1]).reshape(shape)
            gram[first_block.columns, second_block.columns] = count
            gram[second_block.columns, first_block.columns] = count.T
    mean = scale * gram.diagonal() / max(len(rows), 1)
    return mean, gram * scale[:, None] * scale - len(rows) * np.outer(mean, mean)


@dataclass(eq=False)
class TrainingInverse:
    """Inverse of training's scatter plus memory, shared by the test splits.

    Parameters
    ----------
    matrix : float array, shape (s, s), or None
        Over the conjunctions of training alone; None until it is computed.
    """

    matrix: Float[np.ndarray, "s s"] | None = None

    def fill(self, scatter: Float[np.ndarray, "s s"], memory: float) -> None:
        """Compute the inverse."""
        inverse = np.linalg.inv(scatter + memory * np.eye(len(scatter)))
        self.matrix = (inverse + inverse.T) / 2.0

    def among(self, memory: float, seen: Bool[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        """Return the inverse over more conjunctions; `seen` marks those of training.

        An unseen conjunction is uncorrelated with the others: its entry is 1 / memory.
        """
        whole = np.diag(np.full(len(seen), 1.0 / memory))
        whole[np.ix_(seen, seen)] = self.matrix
        return whole


@dataclass(frozen=True, eq=False)
class Support:
    r"""Training's information on sums of conjunctions, and the held-out combinations.

    Parameters
    ----------
    design : ConjunctionDesign
        Conjunctions of 1..K components of training, of the held-out combinations and of the
        candidates; the rows are the held-out combinations, then the candidates.
    scale : float array, shape (p,)
        :math:`\sqrt{\sigma_S}`.
    memory : float
        m.
    n : int
        Number of training combinations.
    mean : float array, shape (p,)
        Their mean.
    reference : float array, shape (p,)
        The mean subtracted from held-out combinations: that of training before any addition.
    inverse : float array, shape (p, p)
        :math:`(M + m)^{-1}`.
    held_out : int array, shape (h,)
        The held-out combinations' rows.
    held_out_mean, held_out_scatter : float arrays, shapes (p,) and (p, p)
        Their moments.
    """

    design: ConjunctionDesign
    scale: Float[np.ndarray, " p"]
    memory: float
    n: int
    mean: Float[np.ndarray, " p"]
    reference: Float[np.ndarray, " p"]
    inverse: Float[np.ndarray, "p p"]
    held_out: Int[np.ndarray, " h"]
    held_out_mean: Float[np.ndarray, " p"]
    held_out_scatter: Float[np.ndarray, "p p"]

    @classmethod
    def of(
        cls,
        kernel: OrderKernel,
        design: ConjunctionDesign,
        n_train: int,
        n_held_out: int,
        shared: TrainingInverse,
    ) -> Support:
        """Return the support from a design of training, held-out combinations and candidates.

        Parameters
        ----------
        kernel : OrderKernel
        design : ConjunctionDesign
            At least one column; the rows of training come first, then the held-out ones.
        n_train, n_held_out : int
        shared : TrainingInverse
            Of this kernel and training set; filled if empty.
        """
        scale = scaled_columns(kernel, design)
        memory = max(float(kernel.memory), LEAST_MEMORY)
        train = np.arange(n_train)
        counts = design.adjoint((np.arange(design.n_rows) < n_train).astype(float))
        seen = counts > 0
        if shared.matrix is None:
            shared.fill(moments(design, scale, train)[1][np.ix_(seen, seen)], memory)
        mean = scale * counts / max(n_train, 1)
        design = _without_first(design, n_train)
        held_out = np.arange(n_held_out)
        held_out_mean, held_out_scatter = moments(design, scale, held_out)
        return cls(
            design,
            scale,
            memory,
            n_train,
            mean,
            mean,
            shared.among(memory, seen),
            held_out,
            held_out_mean,
            held_out_scatter,
        )

    def columns(self, places: Int[np.ndarray, " r"]) -> Int[np.ndarray, "r s"]:
        """Return the column of each set in these rows of the design."""
        return _columns(self.design, places)

    def _times(
        self, x: Int[np.ndarray, "c s"], matrix: Float[np.ndarray, "p k"]
    ) -> Float[np.ndarray, "c k"]:
        """Return the product of scaled, centred rows with a matrix."""
        out = np.broadcast_to(-self.mean @ matrix, (len(x), matrix.shape[1])).copy()
        for column in x.T:
            out += self.scale[column, None] * matrix[column]
        return out

    def _times_inverse(
        self, x: Int[np.ndarray, "c s"]
    ) -> tuple[Float[np.ndarray, "c p"], Float[np.ndarray, " c"]]:
        """Return the centred rows times the inverse, and their squared lengths under it."""
        product = self._times(x, self.inverse)
        square = -product @ self.mean
        for column in x.T:
            square += self.scale[column] * product[np.arange(len(x)), column]
        return product, square

    def span(self, mask: Bool[np.ndarray, " h"]) -> Float[np.ndarray, "p r"]:
        """Return an orthonormal basis of these held-out combinations minus the reference."""
        places, p = self.held_out[mask], len(self.scale)
        if 2 * len(places) <= p:
            rows = np.tile(-self.reference, (len(places), 1))
            for column in self.columns(places).T:
                rows[np.arange(len(places)), column] += self.scale[column]
            # The smaller matrix has the same nonzero eigenvalues.
            size, left = np.linalg.eigh(rows @ rows.T)
            positive = size > RANK_TOLERANCE * size.max(initial=0.0)
            return np.linalg.qr(rows.T @ left[:, positive])[0]
        else:
            mean, scatter = moments(self.design, self.scale, places)
            scatter += len(places) * np.outer(mean - self.reference, mean - self.reference)
            size, basis = np.linalg.eigh(scatter)
            return basis[:, size > RANK_TOLERANCE * size.max(initial=0.0)]

    def errors_with(self, x: Int[np.ndarray, "c s"]) -> Float[np.ndarray, " c"]:
        """Return the held-out sums' expected squared error after each of these rows is added.

        The expectation is over the kernel's own prior; all held-out combinations count equally.
        """
        n = self.n + 1
        product, square = self._times_inverse(x)
        share = _share(self.n, square)
        away = self.held_out_mean - self.mean
        total = np.sum(self.inverse * self.held_out_scatter)
        total = total - share * np.einsum("cp,cp->c", product @ self.held_out_scatter, product)
        level = away @ self.inverse @ away - 2.0 * (product @ away) / n + square / n**2
        level -= share * (product @ away - square / n) ** 2
        return self.memory * (total / len(self.held_out) + level + 1.0 / n)

    def unsupported(self, basis: Float[np.ndarray, "p r"]) -> Unsupported | None:
        """Return the unsupported part of a space of contrasts, diagonalised; None if it is empty.

        Parameters
        ----------
        basis : float array, shape (p, r)
            Orthonormal.
        """
        if basis.shape[1] == 0:
            return None
        product = self.inverse @ basis
        size, vectors = np.linalg.eigh(self.memory * basis.T @ product)
        return Unsupported(size, product @ vectors)

    def eigenvalue(self, left: Unsupported | None) -> float:
        r"""Return the eigenvalue e that governs the leak on a space of contrasts.

        On average over the kernel's own prior, the contrast v of this space that training supports
        least is predicted at the share :math:`v^T M (M + m)^{-1} v / v^T v = e/(e + m)` of its
        size. If M maps the space into itself, e is M's smallest eigenvalue there.
        """
        return float("nan") if left is None else self._from_left(float(left.size[-1]))

    def best_eigenvalue(
        self, x: Int[np.ndarray, "c s"], left: Unsupported | None, tie: float
    ) -> tuple[float, Bool[np.ndarray, " c"]]:
        """Return the largest eigenvalue after adding one of these rows, and the rows that reach it.

        Adding a row subtracts a matrix of rank one from the unsupported part, whose largest
        eigenvalue then solves a secular equation between the two largest previous eigenvalues.
        The sign of the secular function at a point shows, for all rows at once, on which side
        each root lies.

        Parameters
        ----------
        x : int array, shape (c, s)
            Columns of rows.
        left : Unsupported or None
            Of the space of contrasts, before the addition.
        tie : float
            Relative difference that counts as equal.

        Returns
        -------
        float
            Minus infinity if the space is empty.
        bool array, shape (c,)
        """
        if left is None:
            return -np.inf, np.ones(len(x), dtype=bool)
        size = left.size
        share = self.memory * _share(self.n, self._times_inverse(x)[1])
        weights = share[:, None] * self._times(x, left.products) ** 2

        def reached(point: float) -> Bool[np.ndarray, " c"]:
            gap = size - point
            # At a previous eigenvalue no root lies below it.
            gap[gap == 0.0] = -np.finfo(float).tiny
            return 1.0 - weights @ (1.0 / gap) <= 0.0

        low, high = float(size[-2]) if len(size) > 1 else 0.0, float(size[-1])
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if reached(middle).any() else (middle, high)
        eigenvalue = self._from_left(high)
        level = max(high, self.memory / (self.memory + eigenvalue * (1.0 - tie)))
        equal = reached(level) if level < size[-1] else np.ones(len(x), dtype=bool)
        return eigenvalue, equal

    def _from_left(self, left: float) -> float:
        """Turn the unsupported share m/(e + m) into e."""
        left = min(max(left, float(np.finfo(float).tiny)), 1.0)
        return self.memory * (1.0 - left) / left

    def add(self, x: Int[np.ndarray, " s"]) -> Support:
        """Return the support after a row is added to training."""
        product, square = self._times_inverse(x[None])
        d = -self.mean
        d[x] += self.scale[x]
        change = float(_share(self.n, square)[0]) * np.outer(product[0], product[0])
        return replace(
            self,
            n=self.n + 1,
            mean=self.mean + d / (self.n + 1),
            inverse=self.inverse - change,
        )


def _without_first(design: ConjunctionDesign, n: int) -> ConjunctionDesign:
    """Return the design of all rows but the first n."""
    index = tuple(index[n:].copy() for index in design.index)  # views would keep the first
    return ConjunctionDesign(design.dictionaries, index, design.n_rows - n)


def _columns(design: ConjunctionDesign, places: Int[np.ndarray, " r"]) -> Int[np.ndarray, "r s"]:
    blocks = zip(design.blocks, design.index, strict=True)
    return np.stack([block.start + index[places] for block, index in blocks], axis=1)


def _share(n: int, square: Float[np.ndarray, " c"]) -> Float[np.ndarray, " c"]:
    """Return the factor of the rank-one change that a row at this squared distance makes."""
    k = n / (n + 1.0)
    return k / (1.0 + k * square)


@dataclass(frozen=True, eq=False)
class Unsupported:
    r"""Unsupported part of a space of contrasts, diagonalised.

    Parameters
    ----------
    size : float array, shape (r,)
        Eigenvalues of :math:`P^T m (M + m)^{-1} P`, ascending, P being the space's basis.
    products : float array, shape (p, r)
        :math:`(M + m)^{-1} P` times their eigenvectors.
    """

    size: Float[np.ndarray, " r"]
    products: Float[np.ndarray, "p r"]


@dataclass(frozen=True, eq=False)
class CoarseSupport:
    r"""Support of each conjunction separately, for large numbers of conjunctions.

    A conjunction of weight s in n training combinations leaves :math:`s m / (m + s n)` of its
    prior variance s.
    """

    design: ConjunctionDesign
    weight: Float[np.ndarray, " p"]
    memory: float
    seen: Float[np.ndarray, " p"]
    held_out: Float[np.ndarray, " p"]
    first: int

    @classmethod
    def of(
        cls, kernel: OrderKernel, design: ConjunctionDesign, n_train: int, n_held_out: int
    ) -> CoarseSupport:
        """Return the support from the conjunctions of training and of held-out combinations."""
        is_train = np.zeros(design.n_rows)
        is_train[:n_train] = 1.0
        is_held_out = np.zeros(design.n_rows)
        is_held_out[n_train : n_train + n_held_out] = 1.0 / n_held_out
        return cls(
            _without_first(design, n_train),
            scaled_columns(kernel, design) ** 2,
            max(float(kernel.memory), LEAST_MEMORY),
            design.adjoint(is_train),
            design.adjoint(is_held_out),
            n_held_out,
        )

    def errors_with(self, places: Int[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """Return the change of the mean expected error after each of these is added."""
        left = [
            self.weight * self.memory / (self.memory + self.weight * (self.seen + k))
            for k in (0, 1)
        ]
        return ((left[1] - left[0]) * self.held_out)[
            _columns(self.design, self.first + places)
        ].sum(axis=1)

    def add(self, place: int) -> None:
        """Count the conjunctions of a candidate as those of training."""
        self.seen[_columns(self.design, np.array([self.first + place]))[0]] += 1.0
