"""One gated unit with several numbers of hyperplanes: cells one by one, and gates of one shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partwhole.features import HalfspaceGates
from partwhole.study import Cells


def one_by_one(cells: Cells, names: Sequence[str]) -> Cells:
    """Return a cell of these numbers for each number of hyperplanes and each seed."""
    return [
        (config | {"hyperplanes": k, "seed": seed},
         {name: np.asarray(arrays[name][i, j]) for name in names})
        for config, arrays in cells
        for i, k in enumerate(config["hyperplanes"])
        for j, seed in enumerate(config["seeds"])
    ]  # fmt: skip


def padded(gates: HalfspaceGates, hyperplanes: int) -> HalfspaceGates:
    """Add hyperplanes that no input is beyond."""
    extra, d = hyperplanes - gates.normals.shape[1], gates.normals.shape[2]
    normals = np.concatenate([np.zeros((1, extra, d)), gates.normals], axis=1)
    return HalfspaceGates(normals, np.concatenate([np.ones((1, extra)), gates.thresholds], axis=1))
