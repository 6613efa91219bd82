"""Finetuning of image networks on some classes after the others, rescaled: does it help?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.networks import image_network, load_network, save_network
from partwhole.networks.layer_dimensions import layer_dimensions
from partwhole.study import Arrays, Cells, Config, key, layout, mean, published, series
from partwhole.study.estimates import finite_values
from partwhole.study.parts import kept_part
from partwhole.study.plots import QUIET, panels
from partwhole.tasks.images import cifar_images, digit_images, split_classes
from partwhole.training import Training
from partwhole.training.images.transfer import train_transfer
from partwhole_studies.costs import of_finetuning, seconds_of

SINGLE, MULTI, PUBLISHED = METHODS = ("single-task", "multi-task", "multi-task as published")
MODES = (("singletask", {}), ("multitask", {}), ("multitask", {"protocol": "published"}))
RESCALINGS = (0.125, 0.25, 0.5, 1.0, 2.0)
PARTS = ("test", "main", "auxiliary")
READINGS = ("before", "after", "shared")
DEEPEST = 15  # layers of a ResNet-18
# Two layers of each whose features differ: of the ResNet-18 the last stage is what is flattened.
LAST = {
    "resnet-small": ("stage 2, block 1", "flat"),
    "vit-small": ("block 2", "first token"),
    "resnet-18": ("stage 3, block 2", "flat"),
    "vit-finetuning": ("block 7", "first token"),
}
ADAM = {"loss": "cross entropy", "optimiser": "adam", "learning_rate": 1e-3, "batch": 128}
# Every method separates two of ten digits. Epochs of all classes are longer, and fewer suffice.
DIGITS: Config = {
    "images": "digits", "main_classes": 5, "n_test": 300,
    "training": ADAM | {"threshold": 0.01, "epochs": 300},
    "fewer": {"pretraining": 40, "multitask": 40},
}  # fmt: skip
CIFAR = DIGITS | {"images": "cifar-100", "main_classes": 2, "n_test": 200, "fewer": {}}


def _cells(
    setting: Config, network: str, sizes: Sequence[int], seeds: int, **others: Any
) -> list[Config]:
    ways: Config = {"rescalings": list(RESCALINGS), "ways": list(METHODS)} | others
    ways |= {"network": network, "sizes": list(sizes)}
    return [setting | ways | {"seed": seed} for seed in range(seeds)]


FEW, MANY = (10, 20, 50, 100), (10, 20, 50, 100, 200, 500, 1000)
SHORT = DIGITS | {"fewer": {"pretraining": 12}}
PRESETS = {
    "quick": _cells(SHORT, "resnet-small", (20,), 1, rescalings=[0.125, 1.0], ways=[SINGLE]),
    "laptop": _cells(DIGITS, "resnet-small", FEW, 5) + _cells(DIGITS, "vit-small", FEW, 3),
    "paper": _cells(CIFAR, "resnet-18", MANY, 50) + _cells(CIFAR, "vit-finetuning", MANY, 50),
}
seconds = seconds_of(of_finetuning)
ON_GPU = True


def tuned(c: float) -> str:
    """Return the name of finetuning after rescaling by c."""
    return f"finetuning, c = {c:g}"


def cell(config: Config, scratch: Path | None = None) -> Arrays:
    """Pretrain a network, finetune it in every way, and compare with learning from scratch."""
    network, seed, (training, split) = config["network"], config["seed"], _setting(config)
    splits = {n: split_classes(n_main=n, seed=seed, **split) for n in config["sizes"]}
    images = splits[largest := config["sizes"][-1]]
    start = image_network(network, images.shape, outputs=images.n_outputs, seed=seed)

    def train(net: Any, n: int, mode: Any, **options: Any) -> Any:
        rule = replace(training, epochs=config["fewer"].get(mode, training.epochs), seed=seed)
        options |= {"mode": mode, "progress": False, "checkpoint": scratch and scratch / "run.npz"}
        return train_transfer(net, splits[n], rule, **options)

    def pretrain() -> dict[str, Any]:
        run = train(start, largest, "pretraining")
        networks.append(run.network(0))
        if scratch:
            save_network(run.network(0), scratch / "network.npz")
        return {"accuracy": _accuracy(run, "auxiliary")}

    def compute(net: Any, n: int, mode: Any, options: Config) -> dict[str, Any]:
        run = train(net, n, mode, **options)
        arrays: dict[str, Any] = {"score": [_accuracy(run, part) for part in PARTS]}
        if mode == "finetuning" and n == largest:
            ends, inputs = (run.start, run.network(0)), images.samples("main")[0]
            sizes = layer_dimensions(*ends, inputs, statistics="batch")
            table = arrays["by_layer"] = np.full((len(READINGS), DEEPEST), np.nan)
            table[:, : len(sizes.layers)] = sizes.before, sizes.after, sizes.shared
            arrays["dimensions"] = table[:, [sizes.layers.index(name) for name in LAST[network]]]
        return arrays

    networks: list[Any] = []
    accuracy = kept_part(scratch, "pretraining", pretrain)["accuracy"]
    base = networks[0] if networks else load_network(f"{scratch}/network.npz")
    modes = {way: (start, *MODES[METHODS.index(way)]) for way in config["ways"]}
    modes |= {tuned(c): (base, "finetuning", {"rescale": c}) for c in config["rescalings"]}
    runs = [
        [kept_part(scratch, f"{way}, {n}", partial(compute, net, n, *options)) for n in splits]
        for way, (net, *options) in modes.items()
    ]
    score = np.array([[run["score"] for run in group] for group in runs])
    last = [group[-1] for group in runs if "dimensions" in group[-1]]
    sizes = {name: np.array([run[name] for run in last]) for name in ("dimensions", "by_layer")}
    return {"score": score, "pretrained": accuracy} | sizes


def _accuracy(run: Any, part: str) -> float:
    return run.scores[part].task_accuracy[0, -1] if part in run.scores else np.nan


def _setting(config: Config) -> tuple[Training, dict[str, Any]]:
    """Return the training and the images to split: pixels from -1 to 1, and test images if any."""
    split: dict[str, Any] = {name: config[name] for name in ("n_test", "main_classes")}
    if config["images"] == "digits":
        images, labels = digit_images()
        scaled = np.asarray(2.0 * images / images.max() - 1.0, np.float32)[..., None]
        return Training(**config["training"]), split | {"images": scaled, "labels": labels}
    (images, labels), (tested, answers) = (cifar_images(100, split=s) for s in ("train", "test"))
    split |= {"images": 2.0 * images - 1.0, "labels": labels}
    split |= {"test_images": 2.0 * tested - 1.0, "test_labels": answers}
    return Training.published(config["network"]), split


def gather(cells: Cells) -> xr.Dataset:
    config = cells[0][0]
    dims = {"score": "way n part", "pretrained": "", "dimensions": "c reading layer",
            "by_layer": "c reading depth"}  # fmt: skip
    coords = {
        "way": [*config["ways"], *map(tuned, config["rescalings"])], "n": config["sizes"],
        "part": list(PARTS), "c": config["rescalings"], "reading": list(READINGS),
        "depth": range(1, DEEPEST + 1),
    }  # fmt: skip
    data = layout(cells, dims, over=["network", "seed"], coords=coords)
    return data.assign_attrs(classes=config["main_classes"])


def numbers(data: xr.Dataset) -> dict[str, Any]:
    # The ResNet, which every preset has, comes first.
    network = data.isel(network=0)
    test = network.score.sel(part="test").mean("n")
    usual, small, single = (test.sel(way=way) for way in (tuned(1.0), tuned(0.125), SINGLE))
    after, shared = (network.dimensions.sel(c=0.125, reading=r) for r in READINGS[1:])
    runs, sizes = int(usual.notnull().sum()), data.n.values
    return {
        "network": str(network.network.item()),
        "runs": f"{runs} network{'s' * (runs > 1)}",
        "images": f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0]),
        "usual": mean(usual, within=(0.0, 1.0)),
        "small": mean(small, within=(0.0, 1.0)),
        "single": mean(single, within=(0.0, 1.0)),
        "finetuning_gain": mean(usual - single, within=(-1.0, 1.0)),
        "rescaling_gain": mean(small - usual, within=(-1.0, 1.0)),
        "kept": mean((shared / after).mean("layer"), within=(0.0, np.inf)),
        "unlearned": finite_values(1 - data.pretrained),
    }


def figure(data: xr.Dataset) -> Figure:
    networks, sizes = data.network.values.tolist(), data.n.values
    drawn, axes = panels(3, len(networks), 7.2, sharey="row")
    kept = data.by_layer.sel(reading="shared") / data.by_layer.sel(reading="after")
    paper = published(__file__, ["network", "way", "n"]).accuracy.reindex(way=data.way, n=sizes)
    methods = [tuned(1.0), *(way for way in METHODS if way in data.way)]
    rescaled = {"way": [tuned(c) for c in data.c.values], "n": np.unique(sizes[[0, -1]])}
    for (above, below, last), network in zip(axes.T, networks, strict=True):
        kinds = {"measured": data.score.sel(part="test", network=network, drop=True)}
        if network in paper.network:
            kinds["published"] = paper.sel(network=network, drop=True)
        for i, way in enumerate(methods):
            places = np.arange(len(sizes)) + 0.15 * (i - (len(methods) - 1) / 2)
            part = {k: values.sel(way=[way]).assign_coords(n=places) for k, values in kinds.items()}
            series(above, "n", by="way", shift=i, **part)
        above.set_xticks(range(len(sizes)), labels=[str(n) for n in sizes])
        above.set(title=network, xlim=(-0.5, len(sizes) - 0.5), xlabel="main images")
        part = {k: values.sel(rescaled).rename(way="c").assign_coords(c=data.c.values)
                for k, values in kinds.items()}  # fmt: skip
        series(below, "c", by="n", names={n: f"{n} images" for n in sizes}, shift=4, **part)
        below.set(xscale="log", xlim=(data.c.min() / 1.4, data.c.max() * 1.4), xlabel="rescaling c")
        below.set_xticks([], minor=True)
        below.set_xticks(data.c.values, labels=[f"{c:g}" for c in data.c.values])
        for ax in (above, below):
            ax.axhline(1 / data.attrs["classes"], color=QUIET, linewidth=0.8)
            ax.set_ylabel("test accuracy" if network == networks[0] else "")
        share = kept.sel(network=network, c=[0.125, 1.0], drop=True).dropna("depth", how="all")
        names = {c: f"c = {c:g}" for c in share.c.values}
        series(last, "depth", by="c", names=names, shift=7, measured=share)
        last.set(xlabel="layer", ylabel="share kept", xticks=share.depth.values)
    return key(drawn, columns=3)
