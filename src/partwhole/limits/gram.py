"""Features of any kernel: the eigenvectors of its Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import Real
from partwhole.features.design import DenseDesign, Design

if TYPE_CHECKING:
    from partwhole.limits.limit import Rows


@dataclass(frozen=True, eq=False)
class GramFeatures:
    r"""Features whose inner products are a Gram matrix: its eigenvectors.

    Each row is scaled so that its similarity to itself is 1. Otherwise rows of small similarity
    would count as rounding of others. With :math:`K = D U \Lambda U^T D` the features are
    :math:`D U \Lambda^{1/2}`, and those of another input with similarities k to the rows are
    :math:`k D^{-1} U \Lambda^{-1/2}`.

    Parameters
    ----------
    matrix : float array, shape (n, r)
        Features of the rows.
    back : float array, shape (n, r)
        The matrix that maps similarities to the rows to features.
    similarities : callable
        From inputs to their similarities to the rows, shape (m, n).
    """

    matrix: Float[np.ndarray, "n r"]
    back: Float[np.ndarray, "n r"]
    similarities: Callable[[Any], Float[np.ndarray, "m n"]]

    def __call__(self, inputs: Any) -> Design:
        """Return the features of other inputs, by their similarities to the rows."""
        return DenseDesign(_similarities(self.similarities(inputs), len(self.matrix)) @ self.back)

    @classmethod
    def of(
        cls,
        gram: Float[np.ndarray, "n n"],
        rounding: Real,
        similarities: Callable[[Any], Float[np.ndarray, "m n"]],
    ) -> GramFeatures:
        """Return the features of a Gram matrix.

        Eigenvalues up to the share `rounding` of the largest count as 0.
        """
        n, diagonal = len(gram), np.diagonal(gram)
        unit = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        cosines = gram / unit[:, None] / unit
        largest = float(np.abs(cosines).max())
        uneven = float(np.abs(cosines - cosines.T).max())
        share = max(float(rounding), 64.0 * np.finfo(float).eps)
        require(
            uneven <= share * largest * n,
            "similarities are symmetric",
            f"entries that differ by {float(np.abs(gram - gram.T).max()):.2g}",
            "pass the mean of the matrix and its transpose, or more rounding",
        )
        size, basis = np.linalg.eigh(0.5 * (cosines + cosines.T))
        require(
            size[0] >= -share * n * max(size[-1], 0.0) - 1e-300,
            "similarities have no negative eigenvalues",
            f"{size[0]:.2g} with a largest of {size[-1]:.2g}, for rows scaled to similarity 1",
            "check the kernel, or pass more rounding",
        )
        carried = size > share * size[-1]
        roots = np.sqrt(size[carried])
        matrix = unit[:, None] * basis[:, carried] * roots
        return cls(matrix, basis[:, carried] / roots / unit[:, None], similarities)


@door
def _similarities(rows: Float[np.ndarray, "m n"], n: int) -> Float[np.ndarray, "m n"]:
    require(
        rows.shape[1] == n,
        f"other inputs are given by their similarities to the {n} rows",
        f"shape {rows.shape}",
        "pass a column for each row that was solved with",
    )
    return rows


def gram_features(rows: Rows, learner: Any, rounding: Real) -> GramFeatures:
    """Return the features that a Gram matrix or a callable kernel gives all rows."""
    n = len(rows.targets)
    if callable(learner):
        inputs = kernel_inputs(rows.inputs)

        def similarities(new_inputs: Any) -> Any:
            return learner(kernel_inputs(new_inputs), inputs)

        gram = _gram(similarities(inputs))
    else:
        require(
            rows.task is not None or rows.inputs is None,
            "a Gram matrix takes the place of inputs",
            f"inputs of type {type(rows.inputs).__name__} beside it",
            "pass (None, targets)",
        )
        gram = _gram(learner)

        def similarities(new_inputs: Any) -> Any:
            return new_inputs

    require(
        gram.shape == (n, n),
        f"a Gram matrix has a row and a column for each of the {n} rows",
        f"shape {gram.shape}",
        "pass the similarities of all rows, held-out ones too",
    )
    return GramFeatures.of(gram, rounding, similarities)


def kernel_inputs(inputs: Any) -> np.ndarray:
    """Return inputs of a user's own kernel, of any kind that it takes, as an array."""
    rule = "inputs of a kernel are an array"
    masked = isinstance(inputs, np.ma.MaskedArray)
    require(not masked, rule, "a masked one", "drop or fill masked entries first")
    try:
        return np.asarray(inputs)
    except ValueError:
        raise InputError(
            f"{rule}; got rows of different lengths; pass rows of one length"
        ) from None


@door
def _gram(learner: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
    return learner
