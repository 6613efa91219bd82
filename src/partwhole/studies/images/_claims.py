"""What the claims of all studies of composed images share."""

from __future__ import annotations

import xarray as xr

from partwhole.studies import Claim

PAPER = "Lippl & Stachenfeld (ICLR 2025)"


def title(network: str) -> str:
    """Return a network's name as it stands in a sentence."""
    short = network.removesuffix("-small")
    return {"convnet": "ConvNet", "resnet": "ResNet", "vit": "Vision transformer"}[short]


def all_learned(data: xr.Dataset) -> Claim:
    """Weigh the share of networks that did not learn."""
    return Claim(
        "Networks learn their training images: share that does not, and is left out below.",
        "derived here",
        0.1,
        data.attrs["not_learned"] / data.attrs["networks"],
        0.0,
        relation="at most",
        note=f"{data.attrs['not_learned']} of {data.attrs['networks']}: a square error above .05 "
        "of the variance, or less than 99 % of the labels right.",
    )
