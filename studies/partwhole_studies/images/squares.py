"""Networks trained on squares, which stand as others beside those of the logistic loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.study import Arrays, Cells, Config
from partwhole_studies.network_tasks import make_task

Read = Callable[[Config, Arrays], dict[str, Any]]
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


def beside_regression(read: Read) -> Read:
    """Add the share of unseen tuples that are right, and what theory says after squared loss."""

    def readings(config: Config, arrays: Arrays) -> dict[str, Any]:
        values = read(config, arrays) | {"tuples": right_tuples(config, arrays)[1]}
        if config["training"]["loss"] == "squared":
            values["theory"] = [
                [regression_margin(config["task"], *place[:2]) for place in stage]
                for stage in arrays["salience"]
            ]
        return values

    return readings


def both_losses(data: xr.DataArray) -> xr.DataArray:
    """Return the first network after logistic and after squared loss, NaN if it was not trained."""
    first = str(data.network.values[0])
    return data.reindex(network=[first, SQUARES.format(first)])


def after_logistic(data: xr.Dataset) -> xr.Dataset:
    """Return the networks that were not trained on squares."""
    ending = SQUARES.format("")
    return data.sel(network=[name for name in data.network.values if not name.endswith(ending)])


@cache
def regression_margin(name: str, order_1: float, order_2: float) -> float:
    """Return the mean margin on unseen tuples of kernel regression at two saliences.

    Those a hair below 0, by noise, are 0.
    """
    order_1, order_2 = max(float(order_1), 0.0), max(float(order_2), 0.0)
    total = 3.0 * (order_1 + order_2)
    shrink = min(1.0, 0.995 / total) if total > 0 else 1.0
    kernel = OverlapKernel.from_salience((order_1 * shrink, order_2 * shrink))
    return float(solve(make_task(name), kernel, intercept="free").test_margins.mean())
