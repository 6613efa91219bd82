"""Parts of a cell, each kept in the cell's scratch folder once it is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._checks import require
from partwhole._reading import read_npz
from partwhole._writing import npz, write_all

CHECKPOINT = "run.npz"


def kept_part(
    scratch: Path | None, name: str, compute: Callable[[], Mapping[str, Any]]
) -> dict[str, np.ndarray]:
    """Return the arrays of a part of a cell, from an attempt that was interrupted, or computed.

    A cell of many trainings loses only the one that it was at, and not even that where the training
    has its checkpoint in ``run.npz`` in the same folder. That file is removed once the part is
    kept, so that the checkpoint of the next part can lie there.

    Parameters
    ----------
    scratch : Path, or None
        The folder that the cell is given; None computes, and keeps nothing.
    name : str
        Name of the part within its cell, as a name of a file.
    compute : callable () -> mapping of str to array
        Returns the arrays.

    Returns
    -------
    dict of str to numpy.ndarray

    Raises
    ------
    InputError
        If the name has a slash.
    WriteError
        If the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for _ in range(2):
    ...         arrays = kept_part(Path(folder), "first", lambda: print("computing") or {"y": 1.0})
    computing
    >>> arrays["y"]
    array(1.)
    """
    require("/" not in name, "a part is named as a file", repr(name), "leave out the slash")
    if scratch is None:
        return {key: np.asarray(value) for key, value in compute().items()}
    file = scratch / f"{name}.part.npz"
    try:
        return read_npz(file)
    except (OSError, ValueError):  # absent, or damaged
        arrays = {key: np.asarray(value) for key, value in compute().items()}
        write_all({file: npz(arrays)})
        (scratch / CHECKPOINT).unlink(missing_ok=True)
        return arrays
