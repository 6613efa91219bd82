"""Networks trained on squares, which stand as others beside those of the logistic loss."""

from __future__ import annotations

import xarray as xr

from partwhole.study import Cells

SQUARES = "{}, squares"  # name of a network that was trained on them


def by_loss(cells: Cells) -> Cells:
    """Name the loss in networks trained on squares."""
    return [
        (config | {"network": SQUARES.format(config["network"])}, arrays)
        if config["training"]["loss"] == "squared"
        else (config, arrays)
        for config, arrays in cells
    ]


def both_losses(data: xr.DataArray) -> xr.DataArray:
    """Return the first network after logistic and after squared loss, NaN if it was not trained."""
    first = str(data.network.values[0])
    return data.reindex(network=[first, SQUARES.format(first)])


def after_logistic(data: xr.Dataset) -> xr.Dataset:
    """Return the networks that were not trained on squares."""
    ending = SQUARES.format("")
    return data.sel(network=[name for name in data.network.values if not name.endswith(ending)])
