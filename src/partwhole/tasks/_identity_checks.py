"""Validation of the structured identity task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole._checks import require, whole
from partwhole._types import Real

if TYPE_CHECKING:
    from partwhole.tasks.structured_identity import StructuredIdentity

Numbers = Sequence[Real] | np.ndarray


def check(task: StructuredIdentity) -> None:
    """Require consistent options."""
    s = len(task.means)
    require(s >= 1, "a task has at least one concept", "no means", "pass one mean for each concept")
    require(
        len(task.scales) == s,
        "every concept has a mean and a scale",
        f"{s} means and {len(task.scales)} scales",
        "pass one mean and one scale for each concept",
    )
    require(
        min(task.scales) >= 0,
        "scales are at least 0",
        f"{min(task.scales):g}",
        "pass standard deviations, or variances with scales_are='variances'",
    )
    whole("dimension", task.dimension, s, "leave it None for the number of concepts")
    require(
        task.noise == 0 or task.n_dimensions > s,
        "noise acts on the axes beyond the concepts",
        f"dimension {task.dimension} for {s} concepts",
        "raise dimension, or leave noise out",
    )


def numbers(name: str, entries: object) -> tuple[float, ...]:
    """Return a list of finite numbers as floats."""
    try:
        array = np.asarray(entries, dtype=float)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    require(
        array.ndim == 1 and bool(np.isfinite(array).all()),
        f"{name} are a list of finite numbers",
        repr(entries),
        "pass one number for each concept",
    )
    return tuple(array.tolist())


def coordinates(points: object, dimension: int) -> Float[np.ndarray, "*k d"]:
    """Return points, a row for each or one alone, as floats."""
    try:
        array = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        array = None
    require(
        array is not None and array.ndim >= 1 and array.shape[-1] == dimension,
        f"points lie in the task's {dimension} dimensions",
        repr(points) if array is None else f"shape {array.shape}",
        "pass one point, or one row for each",
    )
    return np.asarray(array)
