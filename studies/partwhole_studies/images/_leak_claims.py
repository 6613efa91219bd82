"""What is claimed of networks that learn sums of composed images, and what was found."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole.limits import effective_salience
from partwhole.study import Claim
from partwhole.study.estimates import average, estimate, estimate_by_seed, known
from partwhole_studies._trained import all_learned
from partwhole_studies.images import _tables as tables
from partwhole_studies.images._claims import NOT_LEARNED, PAPER, title

VISION = f"{PAPER}, figure 5"
SOURCES = {
    "convnet": f"{VISION}c",
    "resnet": "derived here",
    "vit": f"{PAPER}, text, where the effect is much weaker",
}


def claims(data: xr.Dataset) -> list[Claim]:
    found = [all_learned(data, NOT_LEARNED)]
    for network in map(str, data.network.values):
        found += _by_network(data.sel(network=network), network)
    found += _predicted(data)
    if data.attrs["images"] == "mnist":
        found += _published(data)
    return found


def _by_network(data: xr.Dataset, network: str) -> list[Claim]:
    found = []
    name = network.removesuffix("-small")
    run = data.slope.dropna("task", how="all").dropna("distance", how="all")
    if run.sizes["distance"] > 1:
        near, far = int(run.distance.min()), int(run.distance.max())
        gain = run.sel(distance=far) - run.sel(distance=near)
        mean, ends = estimate_by_seed(gain)
        found.append(
            Claim(
                f"{title(network)}s leak less where components lie apart: slope at distance {far} "
                f"less that at {near}, same seeds and layouts.",
                SOURCES[name],
                0.0,
                mean,
                0.0,
                ends,
                relation="at least",
                note=", ".join(
                    f"{float(run.sel(distance=d).mean()):.3f} at {d}" for d in run.distance.values
                )
                + f"; {len(known(gain))} pairs.",
            )
        )
    share, ends = estimate_by_seed(data.additivity)
    found.append(
        Claim(
            f"{title(network)}s answer unseen sums additively: share of the variance of mean "
            "answers.",
            f"{PAPER}, appendix on vision networks (.95 to .99)",
            0.9,
            share,
            0.0,
            ends,
            relation="at least",
            note=f"{len(known(data.additivity))} networks; least "
            f"{float(data.additivity.min()):.3f}.",
        )
    )
    return found


def _predicted(data: xr.Dataset) -> list[Claim]:
    """Weigh slopes that measured saliences say against those of trained networks."""
    found = []
    before = data.theory.sel(stage="before", place="late")
    after = data.theory.sel(stage="after", place="last")
    routes = (
        ("the salience of the late layer before training", "Slopes", before, data.slope),
        ("the salience of the last layer after training", "Slopes", after, data.slope),
        ("a readout of the last layer before training", "Slopes", data.regime, data.slope),
        (
            "the salience of the late layer before training",
            "Slopes of unseen sums over those of seen ones",
            before,
            data.relative,
        ),
    )
    for words, quantity, said, slopes in routes:
        gap, ends = estimate_by_seed(said - slopes)
        apart = known(said - slopes)
        found.append(
            Claim(
                f"{quantity} are what {words} says: mean difference, over all networks.",
                "derived here from proposition 5.1",
                0.0,
                gap,
                0.1,
                ends,
                note=f"{len(apart)} networks, layouts and distances together, the interval over "
                f"seeds; mean absolute difference {average(np.abs(apart)):.3f}.",
            )
        )
        r, interval = _correlation(*_within(slopes, said))
        found.append(
            Claim(
                f"{quantity} are larger where {words} says so: correlation among networks of one "
                "kind and layout, of different distances and seeds.",
                "derived here from proposition 5.1",
                0.0,
                r,
                0.0,
                interval,
                relation="at least",
                note=_each(data, said, slopes) + "The interval is that of Fisher's transform, "
                "which takes networks as independent. Means of each kind and layout are taken off.",
            )
        )
    return found + _one_salience(data)


def _within(slopes: xr.DataArray, said: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Return both less their means over distances and seeds, where both are known."""
    both = slopes.notnull() & said.notnull()
    x, y = (each.where(both) for each in (slopes, said))
    x, y = (each - each.mean(("distance", "seed")) for each in (x, y))
    return x.values[both.values], y.values[both.values]


def _each(data: xr.Dataset, said: xr.DataArray, slopes: xr.DataArray) -> str:
    """Tell the correlation within each kind of network, if there are several."""
    told = []
    for network in map(str, data.network.values) if data.sizes["network"] > 1 else ():
        parts = (each.sel(network=network) for each in (slopes, said))
        told.append(f"{network} {_correlation(*_within(*parts))[0]:.2f}")
    return f"Within each kind: {', '.join(told)}. " if told else ""


def _correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, tuple[float, float] | None]:
    """Return Pearson's correlation with its 95 % interval."""
    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan, None
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1.0 + 1e-12, 1.0 - 1e-12))
    half = 1.96 / np.sqrt(len(x) - 3)
    return r, (float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half)))


def _one_salience(data: xr.Dataset) -> list[Claim]:
    """Weigh whether one and two anchors tell of the same salience, as theory has it."""
    if not {"extrapolation", "both"} <= set(map(str, data.task.values)):
        return []
    found = []
    for network in map(str, data.network.values):
        means = data.slope.sel(network=network).mean("seed")
        one, two = (means.sel(task=task).values for task in ("extrapolation", "both"))
        # Theory has no salience for slopes below 0 or above 1.
        told = (one >= 0) & (one <= 1) & (two >= 0) & (two <= 1)
        gap = np.abs(effective_salience(one[told], 1) - effective_salience(two[told], 2))
        if len(gap):
            found.append(
                Claim(
                    f"One salience explains slopes with one and with two anchors: largest "
                    f"difference over distances, {network}.",
                    "derived here; published slopes of ConvNets agree within .03",
                    0.03,
                    float(gap.max()),
                    0.005,
                    relation="at most",
                )
            )
    return found


def _published(data: xr.Dataset) -> list[Claim]:
    found = []
    for network, slope in tables.OTHERS.items():
        part = data.slope.sel(network=network, task="extrapolation", distance=0)
        mean, ends = estimate(known(part))
        statement = f"The published slope comes out again: {network}, extrapolation, CIFAR."
        found.append(Claim(statement, f"{VISION}a", slope, mean, 0.05, ends))
    for layout, slopes in tables.SLOPES.items():
        for distance, wanted in zip(tables.DISTANCES, slopes, strict=True):
            part = data.slope.sel(network="convnet", task=layout, distance=distance)
            mean, ends = estimate(known(part))
            found.append(
                Claim(
                    f"The published slope comes out again: ConvNet, {layout}, distance {distance}.",
                    f"{VISION} and appendix",
                    wanted,
                    mean,
                    0.05,
                    ends,
                )
            )
    return found
