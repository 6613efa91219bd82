"""Weights of residual networks of basic blocks, by the names that torchvision gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from partwhole._checks import require
from partwhole.networks.images.network import ImageNetwork
from partwhole.networks.images.resnet import Block, resnet
from partwhole.torch._entries import CONV, PLAIN, Entry

NAME = "a residual network of basic blocks"
STEMS: dict[int, Literal["ImageNet", "small images"]] = {7: "ImageNet", 3: "small images"}
NORM = {"weight": "scale", "bias": "shift", "running_mean": "mean", "running_var": "variance"}


def is_of_family(network: ImageNetwork) -> bool:
    """Return whether a network is one of `networks.images.resnet`."""
    return any(isinstance(part, Block) for part in network.parts)


def has_names(names: Mapping[str, object]) -> bool:
    """Return whether a state dict has the first names of such a network."""
    return "conv1.weight" in names and "layer1.0.conv1.weight" in names


def entries(network: ImageNetwork) -> Iterator[Entry]:
    """Yield every array, in the order of torchvision."""
    yield Entry("conv1.weight", (0, "kernel"), CONV)
    yield from _norm("bn1", 1)
    stage = block = 0
    for place, part in enumerate(network.parts):
        if not isinstance(part, Block):
            continue
        # All stages but the first begin by halving height and width.
        begins = stage == 0 or part.conv_1.stride == 2
        stage, block = (stage + 1, 0) if begins else (stage, block + 1)
        before = f"layer{stage}.{block}"
        for number in (1, 2):
            yield Entry(f"{before}.conv{number}.weight", (place, f"conv_{number}", "kernel"), CONV)
            yield from _norm(f"{before}.bn{number}", place, f"norm_{number}")
        if part.skip is not None:
            yield Entry(f"{before}.downsample.0.weight", (place, "skip", 0, "kernel"), CONV)
            yield from _norm(f"{before}.downsample.1", place, "skip", 1)
    last = len(network.parts) - 1
    yield Entry("fc.weight", (last, "weight"), PLAIN)
    yield Entry("fc.bias", (last, "bias"), PLAIN)


def _norm(name: str, *path: int | str) -> Iterator[Entry]:
    for theirs, ours in NORM.items():
        yield Entry(f"{name}.{theirs}", (*path, ours), PLAIN)


def network_for(state: Mapping[str, np.ndarray], shape: Sequence[int] | None) -> ImageNetwork:
    """Return a network of the sizes of a state dict."""
    stem = state["conv1.weight"]
    require(
        stem.ndim == 4 and stem.shape[2] == stem.shape[3] and stem.shape[2] in STEMS,
        "the first convolution is of 7 x 7, before a pool, or of 3 x 3",
        f"conv1.weight of shape {stem.shape}",
        "build the network yourself",
    )
    channels, blocks = [], []
    while (first := f"layer{len(blocks) + 1}.0.conv1.weight") in state:
        before = f"layer{len(blocks) + 1}."
        channels.append(len(state[first]))
        blocks.append(len({name.split(".")[1] for name in state if name.startswith(before)}))
    return resnet(
        (224, 224, stem.shape[1]) if shape is None else shape,
        outputs=len(state.get("fc.weight", stem)), channels=channels, blocks=blocks,
        stem=STEMS[stem.shape[2]], pool=None, seed=0,
    )  # fmt: skip


def require_torchvision(network: ImageNetwork) -> None:
    """Require that torchvision's network of these sizes computes the same."""
    last, channels = network.parts[-1], [p for p in network.parts if isinstance(p, Block)][-1]
    inputs, outputs = last.weight.shape[1], channels.conv_2.kernel.shape[3]  # pyright: ignore[reportAttributeAccessIssue,reportFunctionMemberAccess]
    require(
        inputs == outputs,
        "residual networks of torchvision average all places before the readout",
        f"a readout of {inputs} inputs after {outputs} channels",
        "draw the network with pool=None",
    )
