"""Finetuning of image networks on some classes after the others, rescaled: does it help?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.networks import image_network, layer_dimensions
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.tasks import cifar_images, digit_images, split_classes
from partwhole.training import Recipe, train_transfer
from partwhole_studies.reuse import _class_tables as tables
from partwhole_studies.reuse._class_claims import MULTI, PUBLISHED, SINGLE, tuned
from partwhole_studies.reuse._class_claims import claims as claims

QUESTION = (
    "An image network has learned some classes and is to learn others from few images. Does it "
    "help to make its weights smaller first, or to learn all at once?"
)
SOURCE = "Lippl & Lindsey (NeurIPS 2024), figure 5 and its published accuracies"
ANSWER = (
    "Digits that were learned help with new ones. Smaller weights before finetuning don't; after "
    "them a ResNet's last layers hold mostly what was pretrained, a vision transformer's what is "
    "new."
)
CAPTION = (
    "Test accuracy on the main classes against the images they are learned from, mean and standard "
    "error over networks. Top: finetuning of a network that has learned the other classes, "
    "learning from scratch, and learning both at once, corrected (both in each step, equal "
    "weights) and as published. Bottom: finetuning after all weights were multiplied by c. Grey "
    "is chance."
)

SMALL: Config = {
    "images": "digits",
    "main_classes": 5,  # two are told apart from ten images whatever the way
    "n_test": 300,
    "recipe": {"loss": "cross entropy", "learning_rate": 1e-3, "stop_loss": 0.01, "epochs": 300},
}
# All auxiliary images in each epoch: fewer epochs go as far.
FEWER = {"pretraining": 40, "multitask": 40}


def _cells(
    network: str,
    sizes: Sequence[int],
    rescalings: Sequence[Real],
    seeds: int,
    ways: Sequence[str],
    **changes: Any,
) -> list[Config]:
    return [
        SMALL
        | {"network": network, "sizes": list(sizes), "rescalings": list(rescalings)}
        | {"ways": list(ways), "fewer": FEWER, "seed": seed}
        | changes
        for seed in range(seeds)
    ]


READINGS = ("before", "after", "shared")
ALL = (SINGLE, MULTI, PUBLISHED)
C = tables.RESCALINGS
# Two layers of each whose features differ: of the ResNet-18 the last stage is what is flattened.
LAST = {
    "resnet-small": ("stage 2, block 1", "flat"),
    "vit-small": ("block 2", "first token"),
    "resnet-18": ("stage 3, block 2", "flat"),
    "vit-finetuning": ("block 7", "first token"),
}
CIFAR: Config = {"images": "cifar-100", "main_classes": 2, "n_test": 200, "fewer": {}}
PRESETS = {
    "quick": _cells("resnet-small", (20,), (0.125, 1.0), 1, (SINGLE,), fewer={"pretraining": 12}),
    "laptop": _cells("resnet-small", (10, 20, 50, 100), C, 5, ALL)
    + _cells("vit-small", (10, 20, 50, 100), C, 3, ALL),
    "paper": _cells("resnet-18", (10, 20, 50, 100, 200, 500, 1000), C, 20, ALL, **CIFAR)
    + _cells("vit-finetuning", (10, 20, 50, 100, 200, 500, 1000), C, 20, ALL, **CIFAR),
}


def cell(config: Config) -> Arrays:
    """Pretrain one network, finetune it in every way, and compare with learning from scratch."""
    network, seed = config["network"], config["seed"]
    recipe, told = _setting(config)
    splits = {n: split_classes(n_main=n, seed=seed, **told) for n in config["sizes"]}
    some = splits[config["sizes"][-1]]
    start = image_network(network, some.shape, outputs=some.n_outputs, seed=seed)

    def train(net: Any, n: int, mode: Any, **options: Any) -> Any:
        fewer = config["fewer"].get(mode)
        how = recipe if fewer is None else replace(recipe, epochs=fewer)
        return train_transfer(net, splits[n], how, mode=mode, seed=seed, progress=False, **options)

    pretrained = train(start, config["sizes"][-1], "pretraining")
    ways = _ways(config)
    score = np.full((len(ways), len(splits), 3), np.nan)
    dimensions: dict[Real, np.ndarray] = {}
    for j, n in enumerate(splits):
        for i, way in enumerate(ways):
            if way == SINGLE:
                run = train(start, n, "singletask")
            elif way == MULTI:
                run = train(start, n, "multitask")
            elif way == PUBLISHED:
                run = train(start, n, "multitask", protocol="published")
            else:
                c = config["rescalings"][i - len(config["ways"])]
                run = train(pretrained.network, n, "finetuning", rescale=c)
                if n == config["sizes"][-1]:
                    shown = some.samples("main")[0]
                    found = layer_dimensions(
                        run.start, run.network, shown, layers=LAST[network], statistics="batch"
                    )
                    dimensions[c] = np.array([found.before, found.after, found.shared])
            auxiliary = (
                run.scores["auxiliary"].task_accuracy[-1] if "auxiliary" in run.scores else np.nan
            )
            score[i, j] = (
                run.scores["test"].task_accuracy[-1],
                run.scores["main"].task_accuracy[-1],
                auxiliary,
            )
    return {
        "score": score,
        "pretrained": np.array(pretrained.scores["auxiliary"].task_accuracy[-1]),
        "dimensions": np.array([dimensions[c] for c in config["rescalings"]]),
    }


def _ways(config: Config) -> list[str]:
    return [*config["ways"], *map(tuned, config["rescalings"])]


def _setting(config: Config) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe, and what is split: pixels from -1 to 1, and test images if any."""
    told: dict[str, Any] = {name: config[name] for name in ("n_test", "main_classes")}
    if config["images"] == "digits":
        images, labels = digit_images()
        scaled = np.asarray(2.0 * images / images.max() - 1.0, np.float32)[..., None]
        return Recipe(**config["recipe"]), told | {"images": scaled, "labels": labels}
    (images, labels), (others, theirs) = (cifar_images(100, split=s) for s in ("train", "test"))
    told |= {"images": 2.0 * images - 1.0, "labels": labels}
    told |= {"test_images": 2.0 * others - 1.0, "test_labels": theirs}
    return Recipe.published_transfer(config["network"]), told


def gather(cells: Cells) -> xr.Dataset:
    """Lay accuracies over networks, ways, main images and seeds."""
    first = cells[0][0]
    networks = list(dict.fromkeys(config["network"] for config, _ in cells))
    seeds = sorted({config["seed"] for config, _ in cells})
    sizes, c, ways = first["sizes"], first["rescalings"], _ways(first)
    score = np.full((len(networks), len(seeds), len(ways), len(sizes), 3), np.nan)
    dimensions = np.full((len(networks), len(seeds), len(c), 3, 2), np.nan)
    pretrained = np.full((len(networks), len(seeds)), np.nan)
    for config, found in cells:
        at = networks.index(config["network"]), seeds.index(config["seed"])
        score[at], pretrained[at] = found["score"], found["pretrained"]
        dimensions[at] = found["dimensions"]
    dims = ("network", "seed", "way", "n")
    return xr.Dataset(
        {
            name: (dims, score[..., k], {"long_name": words})
            for k, (name, words) in enumerate(
                (
                    ("test", "accuracy on new images of the main classes"),
                    ("main", "accuracy on the main images that were learned"),
                    ("auxiliary", "accuracy on the auxiliary images"),
                )
            )
        }
        | {
            "pretrained": (("network", "seed"), pretrained, {"long_name": "after pretraining"}),
            "dimensions": (
                ("network", "seed", "c", "reading", "layer"),
                dimensions,
                {"long_name": "dimensions of a layer"},
            ),
        },
        coords={
            "network": networks, "seed": seeds, "way": ways, "n": sizes, "c": c,
            "reading": list(READINGS), "layer": ["last but one", "last"],
        },
        attrs={
            "images": first["images"], "rescalings": list(c),
            "main": first["main_classes"],
            "others": (10 if first["images"] == "digits" else 100) - first["main_classes"],
        },
    )  # fmt: skip


def figure(data: xr.Dataset) -> Figure:
    """Draw test accuracy of each way, and of each rescaling, for each network."""
    networks = list(map(str, data.network.values))
    drawn, axes = plots.panels(2, len(networks), 5.6, sharey=True)
    for j, network in enumerate(networks):
        part = data.sel(network=network)
        plain = [way for way in map(str, data.way.values) if not way.startswith("finetuning")]
        _draw(axes[0, j], part, [tuned(1.0), *plain])
        _draw(axes[1, j], part, [tuned(c) for c in data.attrs["rescalings"]])
        for ax in axes[:, j] if j == 0 else ():
            ax.legend(fontsize=6.5, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.08))
        axes[0, j].set_title(network.removesuffix("-small"))
        axes[1, j].set_xlabel("main images")
    for row in axes:
        row[0].set_ylabel("test accuracy")
    return drawn


def _draw(ax: Axes, data: xr.Dataset, ways: Sequence[str]) -> None:
    for i, way in enumerate(ways):
        style = plots.look(i, line=False) | {"linestyle": plots.DASHES[i % 5], "linewidth": 1}
        each = data.test.sel(way=way)
        error = each.std("seed", ddof=1) / np.sqrt(each.notnull().sum("seed"))
        ax.errorbar(
            data.n * 1.03 ** (i - len(ways) / 2), each.mean("seed"), yerr=error, label=way, **style
        )
    chance = 1.0 / data.attrs["main"]
    ax.axhline(chance, color=plots.QUIET, linewidth=0.8)
    ax.set(xscale="log", ylim=(chance - 0.05, 1.02))
    ax.set_xticks(data.n.values, labels=[str(n) for n in data.n.values])
    ax.xaxis.set_ticks([], minor=True)
