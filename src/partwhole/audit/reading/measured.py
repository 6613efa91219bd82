"""What is measured beside the table: features of each row, and sample weights."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole.audit.reading.columns import Column
from partwhole.audit.reading.numeric import LARGEST, numbers
from partwhole.audit.reading.sources import existing_file


def read_weights(
    columns: Sequence[tuple[Column, Hashable]], n_rows: int
) -> Float[np.ndarray, " n"]:
    """Return positive sample weights, ones where no column is named."""
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
        The columns, where `features` names some.
    n_rows : int

    Raises
    ------
    InputError
        When the file cannot be read, or the matrix is not one of finite real numbers that differ,
        with a row for each row of the table.

    Examples
    --------
    >>> read_features(np.arange(6).reshape(3, 2), [], 3)[2].tolist()
    [4.0, 5.0]
    """
    if features is None:
        return None
    if isinstance(features, list | tuple):
        require(columns, "features name a column or more", "an empty list", "leave features out")
        found = np.column_stack([numbers(column, name, "feature") for column, name in columns])
        return _varied(found)
    found = _loaded(features) if isinstance(features, str | Path) else features
    require(
        isinstance(found, np.ndarray),
        "features are a .npy file, a numpy array or a list of columns",
        type(found).__name__,
        "save them with numpy.save",
    )
    require(
        not isinstance(found, np.ma.MaskedArray),
        "features are known in every row",
        "a masked array, whose mask would be lost",
        "fill it, or drop those rows",
    )
    require(
        (
            np.issubdtype(found.dtype, np.number)
            and not np.issubdtype(found.dtype, np.complexfloating)
        )
        or found.dtype == np.bool_,
        "features are real numbers",
        f"an array of {found.dtype}",
        "convert them first",
    )
    require(
        found.ndim == 2 and found.shape[1] > 0,
        "features are a matrix, a row for each row of the table",
        f"shape {found.shape}",
        "flatten each row's features",
    )
    require(
        len(found) == n_rows,
        "features have as many rows as the table",
        f"{len(found):,} for {n_rows:,}",
        "measure every row, in the table's order",
    )
    found = found.astype(float)
    finite = np.isfinite(found)
    require(
        finite.all(),
        "features are finite",
        f"{int((~finite).sum()):,} entries that are not, the first in row "
        f"{int((~finite.all(axis=1)).argmax())} (counted from 0)",
        "measure them again, or drop those rows",
    )
    largest = np.abs(found).max()
    require(
        largest <= LARGEST,
        "features lie between -1e100 and 1e100",
        f"{largest:.3g} among them",
        "scale them down",
    )
    return _varied(found)


def _varied(features: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    require(
        bool((np.ptp(features, axis=0) >= 1.0 / LARGEST).any()),
        "features differ between rows",
        "the same features in every row",
        "check what was measured",
    )
    return features


def _loaded(features: str | Path) -> Any:
    path = existing_file(Path(features), "the features file")
    require(
        path.suffix.lower() == ".npy",
        "a features file ends in .npy",
        repr(path.name),
        "save it with numpy.save, or give a list to name columns",
    )
    try:
        # Mapped, so that no more is allocated than the file has, whatever its header says.
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header is read as Python, and fails in a dozen ways
        objects = any(word in str(error).lower() for word in ("pickle", "python objects"))
        why = "pickled objects" if objects else "something else"
        raise InputError(
            f"a .npy file holds an array of numbers; got {why} in {path.name!r}; save it with "
            "numpy.save"
        ) from error
    if isinstance(found, np.lib.npyio.NpzFile):
        found.close()
        require(False, "a .npy file holds one array", f"several in {path.name!r}", "save one")
    return found
