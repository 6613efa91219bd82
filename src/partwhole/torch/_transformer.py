"""Weights of Vision Transformers, by the names that torchvision gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from partwhole._checks import require
from partwhole.networks.images.layers import Dense, LayerNorm
from partwhole.networks.images.network import ImageNetwork
from partwhole.networks.images.transformer import (
    Attention,
    Embedding,
    TransformerBlock,
    vision_transformer,
)
from partwhole.torch._entries import PLAIN, Entry, patches

NAME = "a Vision Transformer"
HEADS = {768: 12, 1024: 16, 1280: 16}  # of torchvision's networks, by their width
BLOCK: dict[str, tuple[str, ...]] = {
    "ln_1.weight": ("norm_1", "scale"),
    "ln_1.bias": ("norm_1", "shift"),
    "self_attention.in_proj_weight": ("attention", "inward", "weight"),
    "self_attention.in_proj_bias": ("attention", "inward", "bias"),
    "self_attention.out_proj.weight": ("attention", "outward", "weight"),
    "self_attention.out_proj.bias": ("attention", "outward", "bias"),
    "ln_2.weight": ("norm_2", "scale"),
    "ln_2.bias": ("norm_2", "shift"),
    "mlp.0.weight": ("dense_1", "weight"),
    "mlp.0.bias": ("dense_1", "bias"),
    "mlp.3.weight": ("dense_2", "weight"),
    "mlp.3.bias": ("dense_2", "bias"),
}


def is_of_family(network: ImageNetwork) -> bool:
    """Return whether a network is one of `networks.images.transformer`."""
    return isinstance(network.parts[0], Embedding)


def has_names(names: Mapping[str, object]) -> bool:
    """Return whether a state dict has the first names of such a network."""
    return "class_token" in names and "conv_proj.weight" in names


def entries(network: ImageNetwork) -> Iterator[Entry]:
    """Yield every array, in the order of torchvision."""
    embedding, last = network.parts[0], len(network.parts) - 1
    assert isinstance(embedding, Embedding)
    yield Entry("class_token", (0, "whole"), PLAIN)
    yield Entry("conv_proj.weight", (0, "tokens", "weight"), patches(embedding.patch))
    yield Entry("conv_proj.bias", (0, "tokens", "bias"), PLAIN)
    yield Entry("encoder.pos_embedding", (0, "positions"), PLAIN)
    for block in range(last - 2):
        for theirs, ours in BLOCK.items():
            name = f"encoder.layers.encoder_layer_{block}.{theirs}"
            yield Entry(name, (block + 1, *ours), PLAIN)
    yield Entry("encoder.ln.weight", (last - 1, "norm", "scale"), PLAIN)
    yield Entry("encoder.ln.bias", (last - 1, "norm", "shift"), PLAIN)
    yield Entry("heads.head.weight", (last, "weight"), PLAIN)
    yield Entry("heads.head.bias", (last, "bias"), PLAIN)


def network_for(
    state: Mapping[str, np.ndarray],
    shape: Sequence[int] | None,
    heads: int | None,
    epsilon: float,
) -> ImageNetwork:
    """Return a network of the sizes of a state dict, with all that torchvision's has."""
    kernel, positions = state["conv_proj.weight"], state.get("encoder.pos_embedding")
    require(
        kernel.ndim == 4 and kernel.shape[2] == kernel.shape[3],
        "patches are squares", f"conv_proj.weight of shape {kernel.shape}", "pass one of those",
    )  # fmt: skip
    width, channels, patch, _ = kernel.shape
    heads = HEADS.get(width) if heads is None else heads
    require(
        heads is not None and width % heads == 0,
        f"heads divide the width of a token, {width}",
        heads,
        "pass heads, which weights do not tell",
    )
    assert heads is not None
    if shape is None:
        tokens = positions.shape[1] if positions is not None and positions.ndim == 3 else 2
        side = isqrt(max(tokens - 1, 1))
        shape = (side * patch, side * patch, channels)
    first = state.get("encoder.layers.encoder_layer_0.mlp.0.weight", kernel)
    layers = {name.split(".")[2] for name in state if name.startswith("encoder.layers.")}
    drawn = vision_transformer(
        shape, outputs=len(state.get("heads.head.weight", kernel)), patch=patch, width=width,
        depth=max(len(layers), 1), heads=heads, head_width=width // heads, hidden=len(first),
        dropout=0.0, seed=0,
    )  # fmt: skip

    def as_in_torchvision(node: Any) -> Any:
        if isinstance(node, LayerNorm):
            return replace(node, epsilon=epsilon)
        if isinstance(node, Attention):
            inward = Dense(node.inward.weight, jnp.zeros(3 * width, jnp.float32))
            return replace(node, inward=inward)
        return node

    kinds = (LayerNorm, Attention)
    return jax.tree.map(as_in_torchvision, drawn, is_leaf=lambda node: isinstance(node, kinds))


def require_torchvision(network: ImageNetwork) -> None:
    """Require that torchvision's network of these sizes computes the same."""
    width = network.parts[0].whole.shape[-1]  # pyright: ignore[reportFunctionMemberAccess]
    inner = {
        part.attention.outward.weight.shape[1]
        for part in network.parts
        if isinstance(part, TransformerBlock)
    }
    require(
        inner <= {width},
        "heads of torchvision's Vision Transformers share the width of a token",
        f"heads of {' and '.join(map(str, sorted(inner)))} entries for tokens of {width}",
        "draw the network with heads * head_width = width",
    )
