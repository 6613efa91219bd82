"""What is claimed of networks that learn which images belong together."""

from __future__ import annotations

import xarray as xr

from partwhole.study import Claim
from partwhole.study.estimates import estimate, estimate_by_seed, known
from partwhole_studies._trained import all_learned
from partwhole_studies.images import _tables as tables
from partwhole_studies.images._claims import NOT_LEARNED, title

PAPER = "Lippl & Stachenfeld, first arXiv version, figures 4d and 5f"


def claims(data: xr.Dataset) -> list[Claim]:
    found = [all_learned(data, NOT_LEARNED)]
    network = str(data.network.values[0])
    part = data.isel(network=0)
    far = int(data.distance.max())
    for task in map(str, data.task.values):
        mean, ends = estimate(known(part.unseen.sel(task=task, distance=far)))
        found.append(
            Claim(
                f"{title(network)}s rise above chance on pairs they have not seen, which no "
                f"overlap kernel can on all: share that is right, {task}, distance {far}.",
                PAPER,
                0.5,
                mean,
                0.0,
                ends,
                relation="at least",
                note=f"{len(known(part.unseen.sel(task=task, distance=far)))} networks; seen "
                f"pairs of new images {float(part.seen.sel(task=task, distance=far).mean()):.2f}.",
            )
        )
    mean, ends = estimate_by_seed(part.contrast)
    found.append(
        Claim(
            f"{title(network)}s answer what no overlap kernel can: contrast of contradictory "
            "rectangles of unseen pairs, which is 0 for each of these, over the size of an answer.",
            "derived here from theorem 4.2",
            0.2,
            mean,
            0.0,
            ends,
            relation="at least",
            note="1 says that a rectangle's contrast is as large as an answer; 4 is the most.",
        )
    )
    if data.attrs["images"] == "mnist":
        found += _published(part)
    return found


def _published(data: xr.Dataset) -> list[Claim]:
    found = []
    for name, published in (
        ("unseen", tables.EQUIVALENCE),
        ("seen", tables.EQUIVALENCE_SEEN),
    ):
        for distance, wanted in zip(tables.DISTANCES, published, strict=True):
            pooled = data[name].sel(distance=distance).mean("task", skipna=False)
            mean, ends = estimate(known(pooled))
            found.append(
                Claim(
                    f"The published accuracy on {name} pairs comes out again: ConvNet, distance "
                    f"{distance}, one and four anchors pooled.",
                    PAPER,
                    wanted,
                    mean,
                    0.05,
                    ends,
                )
            )
    return found
