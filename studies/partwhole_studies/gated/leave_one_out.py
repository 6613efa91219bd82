"""Rows left out of shallow gated networks: how many are wrong, and what bounds say beforehand."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features.gates.joint import JointGates
from partwhole.limits import Outcome, Quadratic
from partwhole.limits.leave_one_out import leave_one_out
from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Config, key, layout, mean, series
from partwhole.study.declaration import Number
from partwhole.study.plots import panels
from partwhole_studies.gated.digits import gates_of
from partwhole_studies.gated.grids import one_by_one
from partwhole_studies.gated.mnist import VALIDATION, images_of, split_of

HYPERPLANES = tuple(range(10))
BOUNDS = {"by_multiplier": "bound by multipliers", "by_support": "bound by support vectors",
          "by_radius": "bound by radius"}  # fmt: skip
NUMBERS = ("error", "test", *BOUNDS)
FEW, MANY = 2, 9


def _cell(thresholds: str, hyperplanes: list[int], seeds: int, n: int = 200) -> Config:
    return {"n": n, "thresholds": thresholds, "hyperplanes": hyperplanes,
            "seeds": list(range(seeds))}  # fmt: skip


PRESETS: dict[str, list[Config]] = {
    "quick": [_cell("median", [2], 12), _cell("median", [4, 6, 9], 12)],
    "laptop": [
        *(
            _cell(kind, ks, 20)
            for kind in ("median", "zero")
            for ks in ([0, 1], [2, 3, 4, 5, 7, 9])
        ),
        *(_cell("median", [k], 5, n=800) for k in (2, 4, 7)),
    ],
    "paper": [
        _cell(kind, [k], 50, n=n)
        for n in (200, 800)
        for kind in ("median", "zero")
        for k in HYPERPLANES
    ],
    "mnist": [
        _cell(kind, [k], 1, n=n)
        | {"images": "mnist", "n_test": VALIDATION, "seeds": [seed]}
        for n in (500, 1000, 2000)
        for kind in ("median", "zero")
        for k in HYPERPLANES
        for seed in (1, 2, 3)
        if k or kind == "median"  # without hyperplanes there are no thresholds
    ],
}  # fmt: skip


def cell(config: Config) -> Arrays:
    """Return errors and bounds by hyperplanes and seed, NaN where no limit fits, and a mark."""
    ks, seeds = config["hyperplanes"], config["seeds"]
    arrays = {name: np.full((len(ks), len(seeds)), np.nan) for name in NUMBERS}
    for i, j in np.ndindex(len(ks), len(seeds)):
        data = split_of(config, seeds[j], config["n"], n_selection=0)
        arrays["mark"] = np.asarray(data.every.mean())
        gates = JointGates.of(gates_of(data, 1, ks[i], config["thresholds"]), data.inputs)
        limit = solve(
            (data.inputs, data.labels), gates, cost=Quadratic(), fit="margin", intercept="none"
        )
        if limit.outcome is not Outcome.SOLVED:
            continue
        left_out = leave_one_out(limit)
        arrays["error"][i, j] = left_out.error
        for name in BOUNDS:
            arrays[name][i, j] = getattr(left_out, name)
        # Rows that no context of training holds are not answered, as left-out ones are not.
        arrays["test"][i, j] = (
            1.0 - accuracy(data.test_labels, limit.predict(data.test_inputs)).strict
        )
    return arrays


def gather(cells: Cells) -> xr.Dataset:
    over = ("n", "thresholds", "hyperplanes", "seed")
    data = layout(one_by_one(cells, NUMBERS), dict.fromkeys(NUMBERS, ""), over=over)
    data = data.sortby(["n", "hyperplanes", "seed"])
    return data.assign_attrs(images=images_of(cells, "gated.leave_one_out"))


def fewest(data: xr.Dataset) -> xr.Dataset:
    """Return the fewest training images of those that were solved for."""
    return data.isel(n=0).sel(thresholds="median").dropna("hyperplanes", how="all")


def numbers(data: xr.Dataset) -> dict[str, Number]:
    shown = fewest(data)
    few, many = shown.sel(hyperplanes=FEW), shown.sel(hyperplanes=MANY)
    below = shown.by_multiplier.mean("seed") < 0.5
    bounds = data[list(BOUNDS)].to_dataarray("bound")
    return {
        "left_out": mean(few.error, within=(0.0, 1.0)),
        "test": mean(few.test, within=(0.0, 1.0)),
        "apart": mean((shown.error - shown.test).mean("hyperplanes")),
        "last": int(2 ** shown.hyperplanes[below.values].max()) if below.any() else 0,
        "many": mean(many.by_multiplier, within=(0.0, 1.0)),
        "radius": mean(shown.by_radius.min("hyperplanes")),
        "holds": float(np.maximum(data.error - bounds, 0.0).max()),
        "order": float(np.maximum(data.by_multiplier - bounds, 0.0).max()),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(1, 1, 3.6)
    ax = axes[0, 0]
    shown = fewest(data)
    bounds = shown[list(BOUNDS)].to_dataarray("learner").mean("seed")
    errors = shown[["error", "test"]].to_dataarray("learner")
    names = BOUNDS | {"error": "rows left out", "test": "test images"}
    series(ax, "hyperplanes", by="learner", theory=bounds, names=names, words={"theory": "mean"})
    series(ax, "hyperplanes", by="learner", measured=errors, names=names, shift=3,
           within=(0.0, 1.0), words={"measured": "95 % interval"})  # fmt: skip
    ax.axhline(0.5, color="0.6", lw=0.8, ls=":")
    ax.set(yscale="log", xlabel="hyperplanes k (contexts: $2^k$)", ylabel="share of wrong answers")
    ax.set_xticks(shown.hyperplanes.values)
    return key(drawn)
