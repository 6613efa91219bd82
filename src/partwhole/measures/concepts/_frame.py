"""Coordinates at recorded steps as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

if TYPE_CHECKING:
    import pandas as pd

NAMES = ["run", "prompt", "step", "sample", "concept"]


def coordinates_frame(
    steps: Int[np.ndarray, " T"], coordinates: Mapping[str, Float[np.ndarray, "_ _ _ _"]]
) -> pd.DataFrame:
    """Return coordinates of shape (runs, T, n, C) for each prompt as rows, one for each number."""
    import pandas as pd

    parts = [pd.DataFrame(columns=[*NAMES, "coordinate"])] if not coordinates else []
    for name, of_prompt in coordinates.items():
        runs, _, n, concepts = of_prompt.shape
        index = pd.MultiIndex.from_product(
            [range(runs), [name], steps, range(n), range(concepts)], names=NAMES
        )
        rows = pd.DataFrame({"coordinate": of_prompt.reshape(-1)}, index=index)
        parts.append(rows.reset_index())
    return pd.concat(parts, ignore_index=True)
