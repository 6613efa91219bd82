"""Margins of two classes."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.limits import Limit


def margin_of(limit: Limit) -> float:
    """Return a limit's margin, after checking that it has one."""
    margin = limit.normalised_margin
    require(
        bool(margin > 0.0),
        "shares are of the margin of a limit",
        f"{type(limit.problem.cost).__name__}, {limit.outcome.name.lower()}",
        "pass the limit of the networks' own cost on inputs that it separates",
    )
    return margin


def require_two_classes(labels: Float[np.ndarray, " n"]) -> None:
    """Require labels -1 and +1, and at least one of each."""
    classes = np.unique(labels)
    require(
        len(classes) == 2 and bool((np.abs(classes) == 1).all()),
        "labels are two classes, -1 and +1",
        ", ".join(f"{label:g}" for label in classes[:4]),
        "recode labels 0 and 1 as 2 y - 1",
    )
