"""Networks trained on squares, which stand as others beside those of the logistic loss."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole.study import Arrays, Cells, Config
from partwhole_studies.network_tasks import make_task

SQUARES = "{}, squares"  # name of a network that was trained on them


def by_loss(cells: Cells) -> Cells:
    """Name the loss in networks trained on squares, whose accuracies are of answers to tuples.

    Training records how large their errors are, and not on how many composites the sign is right.
    """
    return [
        (
            config | {"network": SQUARES.format(config["network"])},
            arrays | {"quality": np.append(arrays["quality"][:1], right_tuples(config, arrays))},
        )
        if config["training"]["loss"] == "squared"
        else (config, arrays)
        for config, arrays in cells
    ]


def right_tuples(config: Config, arrays: Arrays) -> tuple[float, float]:
    """Return the shares of seen and unseen tuples to which the mean answer has the right sign."""
    task = make_task(config["task"])
    right = np.sign(arrays["answered"]) == np.sign(task.targets)
    return float(right[task.is_train].mean()), float(right[~task.is_train].mean())


def both_losses(data: xr.DataArray) -> xr.DataArray:
    """Return the first network after logistic and after squared loss, NaN if it was not trained."""
    first = str(data.network.values[0])
    return data.reindex(network=[first, SQUARES.format(first)])


def after_logistic(data: xr.Dataset) -> xr.Dataset:
    """Return the networks that were not trained on squares."""
    ending = SQUARES.format("")
    return data.sel(network=[name for name in data.network.values if not name.endswith(ending)])
