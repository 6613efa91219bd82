"""What is claimed of dense networks that learn which items belong together."""

from __future__ import annotations

import xarray as xr

from partwhole.study import Claim
from partwhole.study.estimates import average, estimate, known
from partwhole_studies._trained import all_learned
from partwhole_studies.dense import _tables as tables

PAPER = "Lippl & Stachenfeld, first arXiv version, figure 4"
RICH, LAZY = 1e-6, 1.0


def claims(data: xr.Dataset) -> list[Claim]:
    found = [all_learned(data, "a label wrong")]
    for loss in map(str, data.loss.values):
        found += _solved(data, loss) + _units(data, loss)
    found += [_deep(data, int(depth)) for depth in data.depth.values]
    return found


def _solved(data: xr.Dataset, loss: str) -> list[Claim]:
    rich, lazy = (known(data.accuracy.sel(loss=loss, scale=scale)) for scale in (RICH, LAZY))
    mean, interval = estimate(lazy)
    worst = known(data.worst.sel(loss=loss, scale=LAZY))
    return [
        Claim(
            "From small weights at least five networks in six get every unseen pair right, which "
            f"no overlap kernel can: their share, {loss} loss.",
            PAPER,
            5 / 6,
            average(rich == 1.0),
            1e-9,
            relation="at least",
            note=f"{len(rich)} networks from scale {RICH:g}; published: all six.",
        ),
        Claim(
            f"From large weights networks don't: share that gets every unseen pair right, {loss} "
            "loss.",
            PAPER,
            1 / 3,
            average(lazy == 1.0),
            0.0,
            relation="at most",
            note=f"{len(lazy)} networks from scale 1. Kernels answer 0 to each; a network of "
            "finite width answers by chance, so that one in 16 is right on all four.",
        ),
        Claim(
            f"From large weights accuracy on unseen pairs is near chance: {loss} loss.",
            PAPER,
            0.5,
            mean,
            0.2,
            interval,
            note=f"Published: {tables.LAZY_EQUIVALENCE} of six networks. Least margin of an unseen "
            f"pair, mean over networks: {average(worst):.2f}.",
        ),
    ]


def _units(data: xr.Dataset, loss: str) -> list[Claim]:
    rich, lazy = (data.sel(loss=loss, scale=scale) for scale in (RICH, LAZY))
    found = []
    for variable, reference, words in (
        ("sided", 1.0, "tell the classes apart as the sign of their readout asks: share of weight"),
        ("alike", 1.0, "weigh items of one class alike: cosine of their weights"),
        ("unlike", -1.0, "weigh items of two classes oppositely: cosine of their weights"),
    ):
        mean, interval = estimate(known(rich[variable]))
        found.append(
            Claim(
                f"Hidden units that grew from small weights {words}, {loss} loss.",
                f"{PAPER}b and c",
                reference,
                mean,
                0.05,
                interval,
                note=f"From large weights: {float(lazy[variable].mean()):.2f}.",
            )
        )
    return found


def _deep(data: xr.Dataset, depth: int) -> Claim:
    found = known(data.deep_accuracy.sel(depth=depth))
    return Claim(
        f"Networks of {depth} hidden layer{'s' * (depth > 1)} get every unseen pair right, at "
        "least five networks in six: their share.",
        "Lippl & Stachenfeld (ICLR 2025), appendix, deep dense networks",
        5 / 6,
        average(found == 1.0),
        1e-9,
        relation="at least",
        note=f"{len(found)} networks of 100 units a layer, from scale .1.",
    )
