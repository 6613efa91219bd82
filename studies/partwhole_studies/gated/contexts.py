"""One gated unit with more and more contexts: what it gains, and where it has seen nothing."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import HalfspaceGates
from partwhole.features.gates.joint import JointGates
from partwhole.limits import Outcome, Quadratic
from partwhole.measures import accuracy
from partwhole.measures.agreement import inconsistency
from partwhole.networks import GatedNetwork
from partwhole.study import Arrays, Cells, Config, key, layout, mean, published, series
from partwhole.study.declaration import Number
from partwhole.study.estimates import by_seed, finite_values
from partwhole.study.plots import mosaic
from partwhole_studies.gated.descent import trained
from partwhole_studies.gated.digits import Digits, answers, gates_of
from partwhole_studies.gated.grids import one_by_one, padded
from partwhole_studies.gated.mnist import VALIDATION, images_of, split_of
from partwhole_studies.gated.reference_implementation import reloaded

THRESHOLDS = {"median": "Thresholds at the median", "zero": "Thresholds 0"}
HYPERPLANES = tuple(range(16))
FEW = ([0, 1, 2, 3, 4], [5, 6])
MANY = range(10, 16)  # more contexts than there are digits
AXES = ("n", "thresholds", "hyperplanes", "seed")
NUMBERS = ("limit", "limit_strict", "tied", "unseen", "largest", "network", "network_momentum",
           "apart", "apart_momentum", "apart_reloaded")  # fmt: skip
TRAINED = ["network", "network_momentum"]


def _cell(thresholds: str, hyperplanes: list[int], seeds: int, **options: int) -> Config:
    """Return a configuration; without steps no network is trained."""
    place = {"thresholds": thresholds, "hyperplanes": hyperplanes, "seeds": list(range(seeds))}
    return {"n": 200, "max_steps": 3200} | place | options


PRESETS: dict[str, list[Config]] = {
    "quick": [
        _cell("median", [0, 2, 4, 6], 6),
        _cell("median", [1, 3, 5, 7, 8, 9, 10, 12, 15], 6, max_steps=0),
        _cell("zero", [1, 2, 4, 6, 9, 12, 15], 6, max_steps=0),
    ],
    "laptop": [
        *(_cell("median", ks, 6) for ks in (*FEW, [7], [8], [10])),
        _cell("median", [9, *MANY[1:]], 6, max_steps=0),
        *(_cell("zero", ks, 6) for ks in ([1, 2, 3, 4], [5, 6])),
        _cell("zero", [7, 8, 9, *MANY], 6, max_steps=0),
        *(_cell("median", ks, 3, n=800) for ks in FEW),
        _cell("median", [7, 8, 9, *MANY], 3, n=800, max_steps=0),
    ],
    "paper": [
        _cell(kind, ks, 10, n=n)
        for n in (200, 800)
        for kind in THRESHOLDS
        for ks in (*FEW, *([k] for k in HYPERPLANES[7:]))
    ],
    "mnist": [
        _cell(kind, [k], 1, n=n, n_test=VALIDATION) | {"images": "mnist", "seeds": [seed]}
        for n in (500, 1000, 2000)
        for kind in THRESHOLDS
        for k in HYPERPLANES
        for seed in (1, 2, 3)
        if k or kind == "median"  # without hyperplanes there are no thresholds
    ],
}


def cell(config: Config) -> Arrays:
    """Return errors of limits and networks, by hyperplanes and seed; of MNIST also its mark."""
    ks, seeds = config["hyperplanes"], config["seeds"]
    arrays = {name: np.full((len(ks), len(seeds)), np.nan) for name in NUMBERS}
    marks: Arrays = {}
    for i, j in np.ndindex(len(ks), len(seeds)):
        k, seed = ks[i], seeds[j]
        data = split_of(config, seed, config["n"])
        marks = {"mark": np.asarray(data.every.mean())}
        gates = gates_of(data, 1, k, config["thresholds"])
        values, limit = _limit(data, gates)
        if config["max_steps"]:
            # Contexts that never occur give all of a cell the same shape, compiled once.
            values |= _network(data, padded(gates, max(ks)), limit, seed, config["max_steps"])
        for name, value in values.items():
            arrays[name][i, j] = value
    return arrays | marks


def _limit(data: Digits, gates: HalfspaceGates) -> tuple[dict[str, float], np.ndarray | None]:
    """Solve for the largest margin, a support vector machine in each joint context."""
    joint, sample = JointGates.of(gates, data.inputs), (data.inputs, data.labels)
    limit = solve(sample, joint, cost=Quadratic(), fit="margin", intercept="none")
    largest = np.bincount(gates.contexts(data.every)[:, 0]).max() / len(data.every)
    unseen = np.mean(joint.contexts(data.test_inputs) < 0)
    values = {"largest": float(largest), "unseen": float(unseen)}
    if limit.outcome is not Outcome.SOLVED:
        return values, None
    outputs = limit.predict(data.test_inputs)
    score = accuracy(data.test_labels, outputs)
    scores = {"limit": 1.0 - score.value, "limit_strict": 1.0 - score.strict}
    return values | scores | {"tied": score.ties / len(outputs)}, outputs


def _network(
    data: Digits, gates: HalfspaceGates, limit: np.ndarray | None, seed: int, steps: int
) -> dict[str, float]:
    """Train without and with momentum; read also as if thresholds had not been saved."""
    start = GatedNetwork.draw(gates.normals.shape[2], [gates], seed=seed)
    options = {"steps": steps, "record": [steps], "seed": [seed]}
    plain, fast = (
        trained([start], data.inputs, data.labels, momentum=m, **options).networks[0]
        for m in (0.0, 0.9)
    )
    networks = {"": plain, "_momentum": fast, "_reloaded": reloaded(plain, seed)}
    outputs = {name: answers(network, data.test_inputs) for name, network in networks.items()}
    values = {f"network{name}": 1.0 - accuracy(data.test_labels, outputs[name]).value
              for name in ("", "_momentum")}  # fmt: skip
    if limit is None:
        return values
    return values | {f"apart{name}": inconsistency(out, limit) for name, out in outputs.items()}


def gather(cells: Cells) -> xr.Dataset:
    data = layout(one_by_one(cells, NUMBERS), dict.fromkeys(NUMBERS, ""), over=AXES)
    data = data.sortby(["n", "seed"]).reindex(thresholds=[*THRESHOLDS], hyperplanes=HYPERPLANES)
    return data.assign_attrs(images=images_of(cells, "gated.contexts"))


def comparable(data: xr.Dataset) -> xr.Dataset:
    """Return the training size of the answer: 200 digits, or the most images of MNIST."""
    return data.isel(n=-1 if data.attrs["images"] == "MNIST" else 0)


def numbers(data: xr.Dataset) -> dict[str, Number]:
    median = comparable(data).sel(thresholds="median")
    solved = median.limit.dropna("seed", how="all").dropna("hyperplanes")
    best = int(solved.hyperplanes[np.argmin(solved.mean("seed").values)])
    four, nine = median.sel(hyperplanes=4), median.sel(hyperplanes=9)
    missed = np.concatenate([*misses(data).values()])
    return {
        "images": f"{int(median.n):,} images of {data.attrs['images']}",
        "best": f"{2**best} contexts" if best else "1 context",
        "least": mean(median.limit.sel(hyperplanes=best), within=(0.0, 1.0)),
        "unseen": mean(nine.unseen, within=(0.0, 1.0)),
        "half": mean(nine.limit, within=(0.0, 1.0)),
        "ties": mean(nine.limit_strict - nine.limit),
        "reloaded": mean(four.apart_reloaded - four.apart),
        "apart": mean(by_seed(median.apart), within=(0.0, 1.0)),
        "momentum": mean(by_seed(median.apart_momentum), within=(0.0, 1.0)),
        "published": mean(np.abs(missed)) if len(missed) else np.nan,
        "tied": finite_values(data.tied - data.unseen),
    }


def misses(data: xr.Dataset) -> dict[str, np.ndarray]:
    """Return differences from the published means, and from the published lowest errors."""
    best = data[[*TRAINED, "limit_strict"]].min(["thresholds", "hyperplanes"])
    best["network"] = best[TRAINED].to_dataarray("momentum").min("momentum")
    tables = [published(__file__, ["thresholds", "n", "hyperplanes"], table="mean"),
              published(__file__, ["n"], table="best")]  # fmt: skip
    pairs = zip(("mean", "best"), (data, best), tables, strict=True)
    return {name: finite_values((ours.mean("seed")[list(table)] - table).to_dataarray())
            for name, ours, table in pairs}  # fmt: skip


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD", 6.6)
    data = comparable(data)
    words = {"limit": "limit, ties half", "limit_strict": "limit, ties wrong",
             "network": "trained network", "network_momentum": "with momentum .9"}  # fmt: skip
    for letter, kind in zip("AB", THRESHOLDS, strict=True):
        errors = data.sel(thresholds=kind)
        limits = errors[["limit", "limit_strict"]].to_dataarray("learner").mean("seed")
        series(axes[letter], "hyperplanes", by="learner", theory=limits.dropna("hyperplanes"),
               names=words, words={"theory": "mean"})  # fmt: skip
        for i, name in enumerate(TRAINED):
            network = errors[[name]].to_dataarray("learner").dropna("hyperplanes", how="all")
            network = network.assign_coords(hyperplanes=network.hyperplanes + 0.5 * i - 0.25)
            if network.size:
                series(axes[letter], "hyperplanes", by="learner", measured=network, names=words,
                       shift=2 + i, within=(0, 1), words={"measured": "95 % interval"})  # fmt: skip
        axes[letter].set(title=THRESHOLDS[kind], ylabel="test error", ylim=(0, 0.9))
    titles = {"unseen": "Test images in unseen contexts", "largest": "Largest context"}
    for shift, kind in enumerate(THRESHOLDS, start=4):
        for letter, (name, title) in zip("CD", titles.items(), strict=True):
            share = data[name].sel(thresholds=[kind]).mean("seed").dropna("hyperplanes")
            series(axes[letter], "hyperplanes", by="thresholds", theory=share, shift=shift,
                   names={"median": "median thresholds", "zero": "thresholds 0"},
                   words={"theory": "mean"})  # fmt: skip
            axes[letter].set(ylim=(0, None), ylabel="share", title=title)
    for letter, ax in axes.items():
        label = "hyperplanes k (contexts: $2^k$)" if letter in "CD" else ""
        ax.set(xticks=HYPERPLANES[::3], xlim=(-0.7, HYPERPLANES[-1] + 0.7), xlabel=label)
    return key(drawn)
