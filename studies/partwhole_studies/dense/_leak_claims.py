"""What is claimed of dense networks that learn sums, and what was found."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole.study import Claim
from partwhole.study.estimates import average, by_seed, estimate, known, rms
from partwhole_studies._trained import all_learned
from partwhole_studies.dense import _tables as tables

PAPER = "Lippl & Stachenfeld (ICLR 2025)"
WIDE = f"{PAPER}, appendix, dense networks from rich to lazy"
DEEP = f"{PAPER}, appendix, dense networks of several layers"
READ = 0.01  # how well a figure can be read
LAZY, RICH = 1.0, 1e-3


def claims(data: xr.Dataset) -> list[Claim]:
    found = [
        all_learned(
            data, "a squared error above .05 of the variance, or a training loss above a thousandth"
        )
    ]
    for layout in map(str, data.layout.values):
        found += _lazy(data, layout) + _rich(data, layout)
    found += _beyond_kernels(data)
    if data.sizes["depth"]:
        found += _deep(data)
    return found


def _lazy(data: xr.Dataset, layout: str) -> list[Claim]:
    slopes = known(data.slope.sel(layout=layout, scale=LAZY))
    mean, interval = estimate(slopes)
    told = f"{len(slopes)} networks, whose slopes spread by {_spread(slopes):.3f}."
    found = [
        Claim(
            f"From large weights, scale 1, networks leak as random features do: {layout}.",
            f"{PAPER}, propositions 4.1 and 5.1",
            float(data.theory.sel(layout=layout)),
            mean,
            0.02,
            interval,
            note=f"{told} Theory is of layers without biases; with those drawn here it says .016 "
            "more for one anchor and .010 more for two.",
        )
    ]
    if layout in tables.LAZY_SLOPES:
        found.append(
            Claim(
                f"The published slope from large weights comes out again: {layout}.",
                WIDE,
                tables.LAZY_SLOPES[layout],
                mean,
                0.04,
                interval,
                note=f"{told} The published mean is of six, so that it has a standard error of "
                "about .015, and is read to .01.",
            )
        )
    gap = data.slope.sel(layout=layout, scale=LAZY) - data.regime.sel(layout=layout, scale=LAZY)
    found.append(
        Claim(
            "What a network's own tangent kernel says before training, it does after training from "
            f"scale 1: root mean square difference of slopes, {layout}.",
            "derived here",
            0.0,
            rms(known(gap)),
            0.01,
            note="The kernel of each network as it was drawn, of which the theory above is the "
            f"mean at infinite width. It moved by {float(data.drift.sel(layout=layout).mean()):.1g}"
            " (1 less the cosine).",
        )
    )
    return found


def _spread(samples: np.ndarray) -> float:
    return float(samples.std(ddof=1)) if len(samples) > 1 else float("nan")


def _rich(data: xr.Dataset, layout: str) -> list[Claim]:
    slopes = known(data.slope.sel(layout=layout, scale=RICH))
    mean, interval = estimate(slopes)
    found = []
    if layout in tables.RICH_SLOPES:
        found.append(
            Claim(
                f"The published slope from small weights comes out again: {layout}.",
                WIDE,
                tables.RICH_SLOPES[layout],
                mean,
                READ,
                interval,
                note=f"{len(slopes)} networks from scale {RICH:g}.",
            )
        )
    shares = known(data.additivity.sel(layout=layout, scale=RICH))
    # As published: the mean of that of seen sums, always 1, and that of unseen ones.
    pooled, ends = estimate((1.0 + shares) / 2.0)
    asymmetric = layout == "asymmetric"
    wanted = tables.ASYMMETRIC_ADDITIVITY[0] if asymmetric else tables.ADDITIVITY
    found.append(
        Claim(
            "From small weights answers are as additive as published: share of their variance, "
            f"pooled over seen and unseen sums, {layout}.",
            WIDE,
            wanted,
            pooled,
            READ,
            ends,
            note=f"On unseen sums alone, which is what theory speaks of, {average(shares):.3f}: on "
            "seen sums the share is 1 whatever is answered.",
        )
    )
    return found


def _beyond_kernels(data: xr.Dataset) -> list[Claim]:
    """Weigh whether features that were learned say by their salience what a network answers."""
    found = []
    for layout in map(str, data.layout.values):
        if layout == "asymmetric":
            continue
        rich = data.sel(layout=layout, scale=RICH)
        gap = known(rich.slope - rich.after)
        mean, ends = estimate(gap)
        found.append(
            Claim(
                "The salience that the hidden layer has learned says the slope of networks "
                f"trained from small weights: difference, {layout}.",
                "derived here",
                0.0,
                mean,
                0.05,
                ends,
                note=f"At that salience a new readout would have slope "
                f"{float(rich.after.mean()):.3f}; networks have {float(rich.slope.mean()):.3f}. "
                "Their readout was learned along with the layer, not after it.",
            )
        )
    return found


def _deep(data: xr.Dataset) -> list[Claim]:
    found = []
    ends = (int(data.depth.min()), int(data.depth.max()))
    for layout, published in tables.DEEP_SLOPES.items():
        for depth, wanted in zip(ends, published, strict=True):
            mean, interval = estimate(known(data.deep_slope.sel(layout=layout, depth=depth)))
            found.append(
                Claim(
                    f"The published slope of networks with {depth} hidden layer"
                    f"{'s' * (depth > 1)} comes out again: {layout}.",
                    DEEP,
                    wanted,
                    mean,
                    0.03,
                    interval,
                    note="Six networks of 100 units a layer, as published.",
                )
            )
        shares = by_seed(data.deep_additivity.sel(layout=layout))
        pooled, interval = estimate((1.0 + shares) / 2.0)
        found.append(
            Claim(
                f"Deep networks answer additively: share of the variance, pooled, {layout}.",
                DEEP,
                0.988,
                pooled,
                0.002,
                interval,
                relation="at least",
                note=f"Mean over depths 1 to 4; {average(shares):.3f} on unseen sums alone.",
            )
        )
    return found
