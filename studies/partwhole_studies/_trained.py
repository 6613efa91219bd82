"""What studies of trained networks share: published layouts, and the claim that networks learn."""

from __future__ import annotations

import xarray as xr

from partwhole.study.claim import Claim

# Anchors of the published layouts of symbolic addition, -4..4.
LAYOUTS = {"extrapolation": (0,), "interpolation": (-4, 4), "both": (-2, 2), "asymmetric": (-4,)}
CONTEXTS = ("CD-1", "CD-2", "CD-3")


def all_learned(data: xr.Dataset, unless: str) -> Claim:
    """Weigh the share of networks that did not learn, and say what counts as that."""
    return Claim(
        "Networks learn what they are trained on: share that does not, and is left out below.",
        "derived here",
        0.1,
        data.attrs["not_learned"] / data.attrs["networks"],
        0.0,
        relation="at most",
        note=f"{data.attrs['not_learned']} of {data.attrs['networks']}: {unless}.",
    )
