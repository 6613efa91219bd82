"""Measurements beside the table: features of each row, and sample weights."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole.audit.reading.columns import Column
from partwhole.audit.reading.numeric import LARGEST, numbers
from partwhole.audit.reading.sources import existing_file
from partwhole.limits.gram import GramFeatures

MOST_SIMILARITIES = 4000
KERNEL_ROUNDING = 1e-7  # of similarities in single precision


def read_weights(
    columns: Sequence[tuple[Column, Hashable]], n_rows: int
) -> Float[np.ndarray, " n"]:
    """Return positive sample weights, ones if no column is named."""
    if not columns:
        return np.ones(n_rows)
    column, name = columns[0]
    weights = numbers(column, name, "weight")
    low = weights < 1.0 / LARGEST
    row = int(low.argmax())
    require(
        not low.any(),
        "weights are positive, 1e-100 or more",
        f"{weights[row]:.6g} in {name!r}, row {row} (counted from 0)",
        "drop rows that should not count",
    )
    return weights


def read_features(
    features: Any, columns: Sequence[tuple[Column, Hashable]], n_rows: int
) -> Float[np.ndarray, "n d"] | None:
    """Return a measured representation as floats, one row for each row of the table.

    Parameters
    ----------
    features : path of a .npy file, array, list of column names, or None
    columns : sequence of (column, name)
        The columns, if `features` names some.
    n_rows : int

    Raises
    ------
    InputError
        If the file cannot be read, or the matrix does not consist of finite real numbers that
        vary, with a row for each row of the table.

    Examples
    --------
    >>> read_features(np.arange(6).reshape(3, 2), [], 3)[2].tolist()
    [4.0, 5.0]
    """
    if features is None:
        return None
    if isinstance(features, list | tuple):
        require(columns, "features name at least one column", "an empty list", "leave features out")
        matrix = np.column_stack([numbers(column, name, "feature") for column, name in columns])
        return _varied(matrix, "features")
    matrix = _loaded(features) if isinstance(features, str | Path) else features
    require(
        isinstance(matrix, np.ndarray),
        "features are a .npy file, a numpy array or a list of columns",
        type(matrix).__name__,
        "save them with numpy.save",
    )
    _require_real(matrix, "features")
    require(
        matrix.ndim == 2 and matrix.shape[1] > 0,
        "features are a matrix, a row for each row of the table",
        f"shape {matrix.shape}",
        "flatten each row's features",
    )
    require(
        len(matrix) == n_rows,
        "features have as many rows as the table",
        f"{len(matrix):,} for {n_rows:,}",
        "measure every row, in the table's order",
    )
    return _finite(matrix, "features")


def features_of_kernel(kernel: str | Path | np.ndarray) -> Float[np.ndarray, "n d"]:
    """Return features whose inner products are the similarities of all rows of a table.

    Parameters
    ----------
    kernel : path of a .npy file, or array, shape (n, n)

    Raises
    ------
    InputError
        If the file cannot be read, or the similarities are not finite real numbers that vary, are
        not those of at most 4,000 rows with one another, or are those of no features.
    """
    is_file = isinstance(kernel, str | Path)
    matrix = _loaded(kernel, "kernel") if is_file else np.asarray(kernel)
    n = len(matrix) if matrix.ndim else 0
    require(
        matrix.shape == (n, n) and 0 < n <= MOST_SIMILARITIES,
        f"a kernel has a row and a column for each row of the table, at most {MOST_SIMILARITIES:,}",
        f"shape {matrix.shape}",
        "pass features of the rows instead",
    )
    _require_real(matrix, "similarities")
    similarities = _finite(matrix, "similarities")
    return GramFeatures.of(similarities, KERNEL_ROUNDING, np.asarray).matrix


def _require_real(matrix: np.ndarray, noun: str) -> None:
    require(
        not isinstance(matrix, np.ma.MaskedArray),
        f"{noun} are present in every row",
        "a masked array, whose mask would be lost",
        "fill it, or drop those rows",
    )
    require(
        (
            np.issubdtype(matrix.dtype, np.number)
            and not np.issubdtype(matrix.dtype, np.complexfloating)
        )
        or matrix.dtype == np.bool_,
        f"{noun} are real numbers",
        f"an array of {matrix.dtype}",
        "convert them first",
    )


def _finite(matrix: np.ndarray, noun: str) -> Float[np.ndarray, "n d"]:
    """Return a matrix as floats that are finite and vary between rows."""
    matrix = matrix.astype(float)
    finite = np.isfinite(matrix)
    require(
        finite.all(),
        f"{noun} are finite",
        f"{int((~finite).sum()):,} entries that are not finite, the first in row "
        f"{int((~finite.all(axis=1)).argmax())} (counted from 0)",
        "measure them again, or drop those rows",
    )
    largest = np.abs(matrix).max()
    require(
        largest <= LARGEST,
        f"{noun} lie between -1e100 and 1e100",
        f"a largest absolute value of {largest:.3g}",
        "scale them down",
    )
    return _varied(matrix, noun)


def _varied(matrix: Float[np.ndarray, "n d"], noun: str) -> Float[np.ndarray, "n d"]:
    require(
        bool((np.ptp(matrix, axis=0) >= 1.0 / LARGEST).any()),
        f"{noun} differ between rows",
        f"the same {noun} in every row",
        "check the measurement",
    )
    return matrix


def _loaded(file: str | Path, holds: Literal["features", "kernel"] = "features") -> Any:
    path = existing_file(Path(file), f"the {holds} file")
    otherwise = ", or name columns (--feature-columns)" if holds == "features" else ""
    require(
        path.suffix.lower() == ".npy",
        f"a {holds} file ends in .npy",
        repr(path.name),
        f"save it with numpy.save{otherwise}",
    )
    try:
        # Mapped, so that a wrong header cannot allocate more memory than the file has bytes.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header is parsed as Python and fails in many ways
        objects = any(word in str(error).lower() for word in ("pickle", "python objects"))
        content = "pickled objects" if objects else "something else"
        raise InputError(
            f"a .npy file holds an array of numbers; got {content} in {path.name!r}; save it with "
            "numpy.save"
        ) from error
    if isinstance(array, np.lib.npyio.NpzFile):
        array.close()
        require(False, "a .npy file holds one array", f"several in {path.name!r}", "save one")
    return array
