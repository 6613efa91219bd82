"""Two-layer gated networks beside their limits by three norms, and the published programs."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.limits import GroupNorm, Outcome, Quadratic
from partwhole.limits.costs import FunctionSpaceL2
from partwhole.measures.agreement import inconsistency
from partwhole.networks import GatedNetwork
from partwhole.study import Arrays, Cells, Config, key, layout, mean, published, series
from partwhole.study.declaration import Number
from partwhole.study.estimates import finite_values, geometric_mean
from partwhole.study.plots import COLOURS, QUIET, look, mosaic
from partwhole_studies.gated.descent import FLOW, trained
from partwhole_studies.gated.digits import Digits, answers, gates_of, linear_baseline
from partwhole_studies.gated.mnist import VALIDATION, images_of, split_of
from partwhole_studies.gated.reference_implementation import published_programs

NORMS = {"group": GroupNorm(), "units": Quadratic(), "function": FunctionSpaceL2()}
# After descent as published, without and with momentum, and after the normalised flow.
ENDS = ("network", "momentum", "longer")
FILLED = {"network": "white", "momentum": "0.75"}
LEARNERS = (*ENDS, *NORMS, "linear", "scrambled", "coded")
NAMES = {"network": "trained network", "momentum": "with momentum .9", "group": "group norm",
         "units": "l2 of weights", "function": "function-space l2",
         "coded": "function-space, as coded"}  # fmt: skip
SHARES = ("share", "share_momentum", "share_longer")  # of the largest margin, at the ends
NUMBERS = {"errors": "learner", "apart": "learner end"} | dict.fromkeys(
    ("group_value", "function_value", "whitened_value", "scrambled_true", "largest_pull",
     *SHARES), "",
)  # fmt: skip
AXES = ("n", "thresholds", "n_units", "hyperplanes", "seed")


def _cell(n_units: int, k: int, seeds: int, *, steps: int = 3200, more: int = 4000) -> Config:
    return {
        "n_train": 200, "n_units": n_units, "hyperplanes": k, "thresholds": "median",
        "seeds": list(range(seeds)), "max_steps": steps, "flow_steps": more, "coded": 1,
    }  # fmt: skip


PRESETS: dict[str, list[Config]] = {
    "quick": [_cell(10, 1, 6), _cell(20, 1, 6, steps=0, more=0)],
    "laptop": [
        _cell(10, 1, 8), _cell(20, 1, 8), _cell(50, 1, 6, more=0),
        _cell(10, 2, 6), _cell(20, 2, 6, more=0),
    ],
    "paper": [_cell(h, k, 12) for h in (10, 20, 50) for k in (1, 2)],
    "mnist": [  # the published programs take dense matrices, too large for MNIST
        _cell(h, k, 1, more=0)
        | {"images": "mnist", "n_train": n, "n_test": VALIDATION, "thresholds": kind}
        | {"seeds": [seed], "coded": 0}
        for n in (500, 1000, 2000) for h in (10, 20, 50, 100) for k in (1, 2)
        for kind in ("median", "zero") for seed in (1, 2, 3)
    ],
}  # fmt: skip


def cell(config: Config) -> Arrays:
    """Return errors, inconsistencies and norms of all splits; of MNIST also its mark."""
    data = [split_of(config, seed, config["n_train"]) for seed in config["seeds"]]
    splits = [_split(*pair, config) for pair in zip(data, config["seeds"], strict=True)]
    arrays = {name: np.array([split[name] for split in splits]) for name in NUMBERS}
    return arrays | {"mark": np.asarray(data[0].every.mean())}


def _split(data: Digits, seed: int, config: Config) -> dict[str, np.ndarray | float]:
    """Solve for the limits; train, and solve the published programs, as the configuration says.

    NaN stands for limits without a solution, as when no weights separate the training set.
    """
    gates = gates_of(data, config["n_units"], config["hyperplanes"], config["thresholds"])
    tests = np.concatenate([data.test_inputs, data.selection_inputs])
    labels = np.concatenate([data.test_labels, data.selection_labels])
    outputs = np.full((len(LEARNERS), len(tests)), np.nan)
    values: dict[str, np.ndarray | float] = dict.fromkeys(NUMBERS, np.nan)
    limits = {name: solve((data.inputs, data.labels), gates, cost=cost, fit="margin",
                          intercept="none") for name, cost in NORMS.items()}  # fmt: skip
    for name, limit in limits.items():
        if limit.outcome is Outcome.SOLVED:
            outputs[LEARNERS.index(name)] = limit.predict(tests)
    outputs[LEARNERS.index("linear")] = tests @ linear_baseline(data).coefficients
    group, solved = limits["group"], limits["group"].outcome is Outcome.SOLVED
    scale = 2.0 * float(gates.n_contexts) ** (3 - gates.n_units)
    values |= {"group_value": group.value,
               "function_value": scale * limits["function"].value,
               "largest_pull": float(group.pulls.max()) if solved else np.nan}  # fmt: skip
    if config["coded"]:
        programs = published_programs(gates, data.inputs, data.labels, tests)
        outputs[-2:], values["scrambled_true"], values["whitened_value"] = programs
    if config["max_steps"]:
        start = GatedNetwork.draw(data.inputs.shape[1], [gates, 1], seed=seed)
        sample, steps = (data.inputs, data.labels), config["max_steps"]
        runs = [trained([start], *sample, steps=steps, record=[steps], seed=[seed], momentum=m)
                for m in (0.0, 0.9)]  # fmt: skip
        if config["flow_steps"] and solved:
            steps = config["flow_steps"]
            runs.append(trained(runs[0].networks, *sample, FLOW, steps=steps, record=[steps]))
        for i, (name, run) in enumerate(zip(SHARES, runs, strict=False)):
            outputs[i] = answers(run.networks[0], tests)
            values[name] = float(run.fraction_of(group)[0, -1]) if solved else np.nan
    disagreement = [
        [inconsistency(end, answer) if np.isfinite(end + answer).all() else np.nan
         for end in outputs[: len(ENDS)]]
        for answer in outputs
    ]  # fmt: skip
    errors = 0.5 * (1.0 - np.sign(outputs) * labels).mean(axis=1)
    return values | {"errors": errors, "apart": np.array(disagreement)}


def gather(cells: Cells) -> xr.Dataset:
    places = [
        (config | {"n": config["n_train"], "seed": seed},
         {name: np.asarray(arrays[name][i]) for name in NUMBERS})
        for config, arrays in cells for i, seed in enumerate(config["seeds"])
    ]  # fmt: skip
    coords = {"learner": list(LEARNERS), "end": list(ENDS)}
    data = layout(places, NUMBERS, over=AXES, coords=coords, labels={"errors": "test error"})
    p, q = data.errors.sel(learner=list(ENDS)).rename(learner="end"), data.errors
    data["agreement"] = 1.0 - data.apart / (p * (1 - q) + q * (1 - p))
    images = images_of(cells, "gated.two_layers")
    return data.sortby(list(AXES)).assign_attrs(images=images)


def numbers(data: xr.Dataset) -> dict[str, Number]:
    median = data.isel(n=0).sel(n_units=10, hyperplanes=1, thresholds="median")
    errors, agreement = median.errors, median.agreement.sel(end="network")
    group, function = (agreement.sel(learner=name) for name in ("group", "function"))
    missed = np.concatenate([*misses(data.errors).values()])
    mixed = finite_values(data.scrambled_true / data.group_value)
    return {
        "images": f"{int(median.n)} images of {data.attrs['images']}",
        "group": mean(group),
        "function": mean(function),
        "momentum": mean(median.agreement.sel(end="momentum", learner="group")),
        "better": mean(group - function),
        "gap": mean(errors.sel(learner="function") - errors.sel(learner="group")),
        "mixed": geometric_mean(mixed) if len(mixed) else np.nan,
        "published": mean(np.abs(missed)) if len(missed) else np.nan,
        "limits": np.append(
            finite_values(data.whitened_value / data.function_value) - 1.0,
            np.maximum(finite_values(data.largest_pull) - 1.0, 0.0),
        ),
    }


def misses(errors: xr.DataArray) -> dict[str, np.ndarray]:
    """Return differences from the published means, and from the published lowest errors."""
    lowest = errors.min(["thresholds", "hyperplanes", "n_units"])
    lowest.loc[{"learner": "network"}] = lowest.sel(learner=["network", "momentum"]).min("learner")
    places = {"mean": ["thresholds", "n", "hyperplanes", "n_units"], "best": ["n"]}
    tables = {name: published(__file__, over, table=name) for name, over in places.items()}
    return {
        name: np.concatenate([
            finite_values(ours.mean("seed").sel(learner=kind) - tables[name][kind])
            for kind in ("network", "group")
        ])
        for name, ours in {"mean": errors, "best": lowest}.items()
    }  # fmt: skip


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CC", 6.6)
    largest = data.isel(n=-1).sel(thresholds="median")
    ends = largest.errors.sel(learner=list(ENDS)).values
    p = np.linspace(0.9 * np.nanmin(ends), 1.1 * np.nanmax(ends))
    axes["A"].plot(p, p, color=QUIET, linewidth=1, label="equal errors, or chance")
    axes["B"].plot(p, 2 * p * (1 - p), color=QUIET, linewidth=1)
    for (i, name), end in product(enumerate(NORMS), ENDS):
        style = look(i, line=False, markerfacecolor=FILLED.get(end, COLOURS[i]))
        x = largest.errors.sel(learner=end).values.ravel()
        if end == "network":
            y = largest.errors.sel(learner=name).values.ravel()
            axes["A"].plot(x, y, **style, label=NAMES[name])
        axes["B"].plot(x, largest.apart.sel(learner=name, end=end).values.ravel(), **style)
    axes["A"].set(title="Test error", xlabel="network error", ylabel="limit error")
    axes["B"].set(title="Different decisions", xlabel="network error", ylabel="share of images")
    for i, name in {0: "group", 2: "function", 3: "network", 4: "coded", 5: "momentum"}.items():
        errors = largest.errors.sel(learner=[name], hyperplanes=1).dropna("n_units", how="all")
        if errors.size:
            errors = errors.assign_coords(n_units=errors.n_units * 1.04 ** (i - 2))
            series(axes["C"], "n_units", by="learner", measured=errors, names=NAMES, shift=i,
                   within=(0.0, 1.0), words={"measured": "mean, 95 % interval"})  # fmt: skip
    axes["C"].set(
        xscale="log", ylim=(0, None), xlabel="gated units", title="Error by width, one hyperplane"
    )
    axes["C"].minorticks_off()
    axes["C"].set_xticks(data.n_units.values, labels=data.n_units.values)
    return key(drawn, 3)
