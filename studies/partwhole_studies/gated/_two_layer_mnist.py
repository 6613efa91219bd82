"""Two-layer gated networks on MNIST: the published settings, one network a cell."""

from __future__ import annotations

import numpy as np

from partwhole.study import Config
from partwhole_studies.gated._digits import gates_of
from partwhole_studies.gated._mnist import VALIDATION, published_split
from partwhole_studies.gated._two_layer_runs import Split, compare

SIZES, WIDTHS, HYPERPLANES = (500, 1000, 2000), (10, 20, 50, 100), (1, 2)
THRESHOLDS = ("median", "zero")
# Of a configuration, in the order in which cells are laid out; a cell has one seed.
AXES = ("n_train", "thresholds", "n_units", "hyperplanes")


def configurations() -> list[Config]:
    # The published programs take dense matrices, too large here, and are left out.
    return [
        {
            "images": "mnist", "n_train": n, "n_units": h, "hyperplanes": k, "thresholds": kind,
            "seeds": [seed], "max_steps": 3200, "flow_steps": 0, "coded": 0, "n_test": VALIDATION,
        }
        for n in SIZES
        for h in WIDTHS
        for k in HYPERPLANES
        for kind in THRESHOLDS
        for seed in (1, 2, 3)
    ]  # fmt: skip


def run(config: Config) -> tuple[Split, float]:
    """Return what a network and its limits answer, and a mark of the images."""
    (seed,) = config["seeds"]
    data = published_split(seed, config["n_train"], config["n_test"])
    gates = gates_of(data, config["n_units"], config["hyperplanes"], config["thresholds"])
    found = compare(
        data, gates, seed, config["max_steps"], config["flow_steps"], bool(config["coded"])
    )
    return found, float(np.mean(data.every))
