r"""The quadratic loss of one task, from a sample or from the population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._types import Count, NonNegative
from partwhole.flows._inputs import moment


@door
@dataclass(frozen=True, eq=False)
class QuadraticLoss:
    r"""Mean square error of a linear map with coefficients :math:`\beta`.

    .. math:: L(\beta) = |R \beta - t|^2 + L_0

    Make one by `from_sample` or `from_population`.

    Parameters
    ----------
    rows : float array, shape (m, d), or None
        R; None stands for the identity.
    targets : float array, shape (m,)
        t.
    floor : float, default 0
        :math:`L_0`, the least loss of any coefficients.
    n_samples : int, default None
        How many samples the loss is the mean over; None for a population.
    """

    rows: Float[np.ndarray, "m d"] | None
    targets: Float[np.ndarray, " m"]
    floor: NonNegative = 0.0
    n_samples: Count | None = None

    @classmethod
    @door
    def from_sample(
        cls, inputs: Float[np.ndarray, "n d"], targets: Float[np.ndarray, " n"]
    ) -> QuadraticLoss:
        r"""Return the mean square error over a sample, :math:`\frac1n |X \beta - y|^2`.

        Parameters
        ----------
        inputs : float array, shape (n, d)
            X. With more samples than features, or samples that depend on each other, it is
            replaced by as many rows as its rank, which give the same loss.
        targets : float array, shape (n,)
            y.

        Returns
        -------
        QuadraticLoss

        Raises
        ------
        InputError
            For inputs and targets of unequal number, or none at all.

        Examples
        --------
        >>> task = QuadraticLoss.from_sample(np.array([[1.0], [2.0], [2.0]]), np.array([1.0, 2, 5]))
        >>> round(task(np.array([1.0])), 12), task.n_samples
        (3.0, 3)
        """
        x, y = inputs, targets
        n, d = x.shape
        floor = 0.0
        if n > d:
            basis, x = np.linalg.qr(x)
            inside = basis.T @ y
            outside = y - basis @ inside
            floor, y = _square(outside, y) / n, inside
        if not _independent(x):
            x, inside, outside = _split(x, y)
            floor, y = floor + _square(outside, y) / n, inside
        return cls(x / np.sqrt(n), y / np.sqrt(n), floor, n)

    @classmethod
    @door
    def from_population(
        cls,
        coefficients: Float[np.ndarray, " d"],
        second_moment: Float[np.ndarray, "d d"] | None = None,
    ) -> QuadraticLoss:
        r"""Return the expected square error, :math:`(\beta - b)^\top M (\beta - b)`.

        Parameters
        ----------
        coefficients : float array, shape (d,)
            b, those of the targets.
        second_moment : float array, shape (d, d), default None
            M = E[x x']; None stands for the identity, and then costs no product of that size.

        Returns
        -------
        QuadraticLoss

        Raises
        ------
        InputError
            For a second moment that is none.

        Examples
        --------
        >>> QuadraticLoss.from_population(np.array([1.0, 2.0]))(np.zeros(2))
        5.0
        """
        if second_moment is None:
            return cls(None, coefficients)
        size, basis = np.linalg.eigh(moment(second_moment, len(coefficients)))
        rows = np.sqrt(np.maximum(size, 0.0))[:, None] * basis.T
        return cls(rows, rows @ coefficients)

    @property
    def dimension(self) -> int:
        """Return the number of features, d."""
        return len(self.targets) if self.rows is None else self.rows.shape[1]

    def residual(self, coefficients: np.ndarray) -> np.ndarray:
        r"""Return :math:`R \beta - t`; shape (..., m) for coefficients of shape (..., d)."""
        mapped = coefficients if self.rows is None else coefficients @ self.rows.T
        return mapped - self.targets

    def gradient(self, coefficients: np.ndarray) -> np.ndarray:
        r"""Return :math:`2 R^\top (R \beta - t)`; shape (..., d)."""
        gap = self.residual(coefficients)
        return 2.0 * (gap if self.rows is None else gap @ self.rows)

    def losses(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the loss of each of many coefficients; shape (...,)."""
        return np.asarray((self.residual(coefficients) ** 2).sum(axis=-1) + self.floor)

    @door
    def __call__(self, coefficients: Float[np.ndarray, " d"]) -> float:
        """Return the loss of these coefficients."""
        require(
            len(coefficients) == self.dimension,
            f"there is a coefficient for each of {self.dimension} features",
            len(coefficients),
            "pass those of one task",
        )
        return float(self.losses(coefficients))


def mean_shares(tasks: list[QuadraticLoss]) -> tuple[float, ...]:
    """Return each task's share of all samples."""
    counts = [task.n_samples for task in tasks]
    require(
        None not in counts,
        "by default the weight of a task is its number of samples, and a population has none",
        f"{counts.count(None)} of {len(counts)} tasks given by their population",
        "pass shares=(n_1 / n, n_2 / n, ...)",
    )
    whole("the number of tasks", len(counts), 1, "pass at least one task")
    total = sum(n or 0 for n in counts)
    return tuple((n or 0) / total for n in counts)


def _independent(rows: np.ndarray) -> bool:
    """Return whether no row depends on the others, by a wide margin.

    A Cholesky decomposition says so at a small part of the cost of one that finds the rank.
    """
    scale = np.abs(rows).max()
    if scale == 0.0:
        return False
    unit = rows / scale
    gram = unit @ unit.T
    # Far above the rounding of the product.
    gram[np.diag_indices_from(gram)] -= 1e-10 * np.trace(gram)
    try:
        np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return False
    return True


def _split(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return independent rows and their targets, and the part of y that no coefficients fit."""
    left, size, right = scipy.linalg.svd(x, full_matrices=False)
    rank = int(np.sum(size > np.finfo(float).eps * max(x.shape) * size[0]))
    rows = max(rank, 1)  # of inputs that are all 0, one row stays
    inside = left[:, :rows].T @ y
    inside[rank:] = 0.0
    outside = y - left[:, :rows] @ inside if rank < len(y) else np.zeros_like(y)
    return size[:rows, None] * right[:rows], inside, outside


def _square(outside: np.ndarray, y: np.ndarray) -> float:
    """Return the square of what lies outside, 0 where that is no more than rounding."""
    rounding = 8 * np.finfo(float).eps * len(y) * np.linalg.norm(y)
    return float(outside @ outside) if np.linalg.norm(outside) > rounding else 0.0
