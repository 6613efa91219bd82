"""Vision Transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Count, Seed
from partwhole.networks.images.layers import Dense, Drawn, Dropout, LayerNorm, Pass
from partwhole.networks.images.network import (
    ImageNetwork,
    Layer,
    require_shape,
)


class Embedding(eqx.Module):
    """Tokens of the square patches of an image, with their positions."""

    patch: int = eqx.field(static=True)
    tokens: Dense
    whole: Float[Array, "1 1 d"]  # a token for the image
    positions: Float[Array, "1 t d"]
    dropout: Dropout

    def __call__(self, x: Float[Array, "n h w c"], at: Pass) -> Float[Array, "n t d"]:
        """Return the token of the image, then those of its patches, row by row."""
        n, h, w, c = x.shape
        p = self.patch
        cut = x.reshape(n, h // p, p, w // p, p, c).transpose(0, 1, 3, 2, 4, 5)
        tokens = self.tokens(cut.reshape(n, -1, p * p * c), at)
        whole, positions = at.narrowed(self.whole, self.positions)
        whole = jnp.broadcast_to(whole, (n, 1, tokens.shape[-1]))
        tokens = jnp.concatenate([whole, tokens], axis=1) + positions
        return self.dropout(tokens, at)


class Attention(eqx.Module):
    r"""Self-attention between tokens, :math:`\mathrm{softmax}(q k^\top / \sqrt{e})\, v`."""

    heads: int = eqx.field(static=True)
    inward: Dense  # to queries, keys and values
    outward: Dense
    dropout: Dropout

    def __call__(self, x: Float[Array, "n t d"], at: Pass) -> Float[Array, "n t d"]:
        """Return the attended tokens."""
        n, t, _ = x.shape
        projected = self.inward(x, at).reshape(n, t, 3, self.heads, -1)
        # Heads go beside examples first: products then are of whole matrices, and faster on a CPU.
        q, k, v = jnp.transpose(projected, (2, 0, 3, 1, 4))
        weights = jax.nn.softmax(jnp.einsum("nhie,nhje->nhij", q, k) * q.shape[-1] ** -0.5)
        attended = jnp.einsum("nhij,nhje->nhie", self.dropout(weights, at), v)
        return self.outward(jnp.transpose(attended, (0, 2, 1, 3)).reshape(n, t, -1), at)


class TransformerBlock(eqx.Module):
    """Block of self-attention and a small network on each token, both with skips."""

    norm_1: LayerNorm
    attention: Attention
    norm_2: LayerNorm
    dense_1: Dense
    dense_2: Dense
    dropout: Dropout

    def __call__(self, x: Float[Array, "n t d"], at: Pass) -> Float[Array, "n t d"]:
        """Return the tokens after the block."""
        x = x + self.dropout(self.attention(self.norm_1(x, at), at), at)
        hidden = jax.nn.gelu(self.dense_1(self.norm_2(x, at), at), approximate=False)
        return x + self.dropout(self.dense_2(self.dropout(hidden, at), at), at)


class FirstToken(eqx.Module):
    """Normalised token of the image."""

    norm: LayerNorm

    def __call__(self, x: Float[Array, "n t d"], at: Pass) -> Float[Array, "n d"]:
        """Return one row for each image."""
        return self.norm(x[:, 0], at)


@door
def vision_transformer(
    shape: Sequence[int],
    *,
    outputs: Count = 1,
    patch: Count = 8,
    width: Count = 256,
    depth: Count = 4,
    heads: Count = 6,
    head_width: Count = 64,
    hidden: Count = 256,
    dropout: Annotated[float, Bounds(at_least=0, below=1)] = 0.1,
    initial: Literal["framework", "he"] = "framework",
    seed: Seed,
) -> ImageNetwork:
    """Draw a Vision Transformer, with normalisation before each step and a token for the image.

    Parameters
    ----------
    shape : sequence of int
        Height, width and channels of an image.
    outputs : int, keyword-only, default 1
    patch : int, keyword-only, default 8
        Side of a patch in pixels; it divides height and width.
    width : int, keyword-only, default 256
        Entries of a token.
    depth : int, keyword-only, default 4
        Blocks.
    heads, head_width : int, keyword-only, defaults 6 and 64
        Of attention.
    hidden : int, keyword-only, default 256
        Units of each block's small network.
    dropout : float, keyword-only, default 0.1
        Share of entries dropped after the embedding, in attention and in the small networks.
    initial : {"framework", "he"}, keyword-only, default "framework"
        Law of the weights.
    seed : int, keyword-only

    Returns
    -------
    ImageNetwork
        Its layers are "embedding", "block 1", ..., "first token", "out".

    Raises
    ------
    InputError
        For a patch that does not divide the image, a share of dropout outside 0..1, numbers below 1
        (below 0 for the seed), or another law.

    Notes
    -----
    Dosovitskiy et al. (ICLR 2021). The defaults are the network for composed CIFAR of Lippl &
    Stachenfeld (ICLR 2025).
    """
    height, width_px, depth_px = require_shape(shape)
    require(
        height % patch == 0 and width_px % patch == 0,
        f"patches of {patch} x {patch} pixels divide an image",
        f"{height} x {width_px}",
        "choose another distance, or another patch",
    )
    drawn = Drawn(np.random.default_rng([seed, 106]), initial)
    n_tokens = (height // patch) * (width_px // patch)
    drop = Dropout(dropout)
    embedding = Embedding(
        patch,
        drawn.dense(patch * patch * depth_px, width),
        drawn.normal((1, 1, width), 0.02),
        drawn.normal((1, n_tokens + 1, width), 0.02),
        drop,
    )
    inner = heads * head_width
    blocks = [
        TransformerBlock(
            drawn.layer_norm(width),
            Attention(
                heads,
                drawn.dense(width, 3 * inner, bias=False),
                drawn.dense(inner, width),
                drop,
            ),
            drawn.layer_norm(width),
            drawn.dense(width, hidden),
            drawn.dense(hidden, width),
            drop,
        )
        for _ in range(depth)
    ]
    parts: list[Layer] = [
        embedding, *blocks, FirstToken(drawn.layer_norm(width)), drawn.dense(width, outputs)
    ]  # fmt: skip
    names = ["embedding", *(f"block {i + 1}" for i in range(depth)), "first token", "out"]
    return ImageNetwork(tuple(parts), tuple(names), (height, width_px, depth_px))
