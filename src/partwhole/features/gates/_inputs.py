"""Validation of the inputs of gates."""

from __future__ import annotations

import numpy as np

from partwhole._checks import require


def require_inputs(inputs: np.ndarray, dimension: int) -> None:
    """Raise for inputs of another dimension than the gates'."""
    require(
        np.ndim(inputs) == 2 and np.shape(inputs)[1] == dimension,
        f"these gates are for inputs of {dimension} numbers",
        f"shape {np.shape(inputs)}",
        "pass an array (n, d) with the columns for which the gates were made",
    )
