"""The image networks and U-Nets of this package as modules of torch, with the same weights.

For benchmarks only: torch is no dependency. Modules take batches (n, channels, height, width) in
the memory format channels_last, with which torch is fastest on a CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional as F  # pyright: ignore[reportMissingImports]

from partwhole.networks import ImageNetwork
from partwhole.networks.diffusion import layers as unet_layers
from partwhole.networks.diffusion.unet import UNet
from partwhole.networks.images import layers, resnet, transformer

Tensor = Any  # type checkers don't see torch


def tensor(values: Any) -> Tensor:
    """Return an array as a tensor."""
    return torch.from_numpy(np.array(values, np.float32))


def images(batch: np.ndarray) -> Tensor:
    """Return images (n, height, width, channels) as torch has them."""
    return tensor(batch).permute(0, 3, 1, 2)  # this is channels_last


def conv(layer: layers.Conv) -> nn.Module:
    """Return a convolution."""
    height, _, inputs, units = layer.kernel.shape
    padding = layer.padding
    side = padding if isinstance(padding, str) else padding[0][0]
    sides = {"SAME": height // 2, "VALID": 0}.get(side, side) if isinstance(side, str) else side
    module = nn.Conv2d(
        inputs, units, height, layer.stride, sides, bias=layer.bias is not None
    )  # fmt: skip
    module.weight.data = tensor(np.transpose(layer.kernel, (3, 2, 0, 1)))
    if layer.bias is not None:
        assert module.bias is not None
        module.bias.data = tensor(layer.bias)
    return module


def dense(layer: layers.Dense) -> nn.Module:
    """Return a dense layer."""
    units, inputs = layer.weight.shape
    module = nn.Linear(inputs, units, bias=layer.bias is not None)
    module.weight.data = tensor(layer.weight)
    if layer.bias is not None:
        module.bias.data = tensor(layer.bias)
    return module


def norm(layer: Any) -> nn.Module:
    """Return a normalisation by batches, layers or groups."""
    units = len(layer.scale)
    if isinstance(layer, layers.BatchNorm):
        module: Any = nn.BatchNorm2d(units)
    elif isinstance(layer, layers.LayerNorm):
        module = nn.LayerNorm(units)
    else:
        module = nn.GroupNorm(layer.groups, units)
    module.weight.data, module.bias.data = tensor(layer.scale), tensor(layer.shift)
    return module


class Rows(nn.Module):
    """One row for each image, places before channels as in this package."""

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).flatten(1)


class Residual(nn.Module):
    """Residual block of two convolutions."""

    def __init__(self, block: resnet.Block) -> None:
        super().__init__()
        self.conv_1, self.norm_1 = conv(block.conv_1), norm(block.norm_1)
        self.conv_2, self.norm_2 = conv(block.conv_2), norm(block.norm_2)
        self.skip = nn.Identity()
        if block.skip is not None:
            self.skip = nn.Sequential(conv(block.skip[0]), norm(block.skip[1]))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm_2(self.conv_2(F.relu(self.norm_1(self.conv_1(x)))))
        return F.relu(hidden + self.skip(x))


class Embedding(nn.Module):
    """Tokens of the patches of an image."""

    def __init__(self, layer: transformer.Embedding) -> None:
        super().__init__()
        self.patch, self.tokens, self.share = (
            layer.patch,
            dense(layer.tokens),
            layer.dropout.share,
        )
        self.whole = nn.Parameter(tensor(layer.whole))
        self.positions = nn.Parameter(tensor(layer.positions))

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        p = self.patch
        cut = x.permute(0, 2, 3, 1).reshape(n, h // p, p, w // p, p, c).transpose(2, 3)
        tokens = self.tokens(cut.reshape(n, -1, p * p * c))
        joined = torch.cat([self.whole.expand(n, 1, -1), tokens], 1) + self.positions
        return F.dropout(joined, self.share, self.training)


class TransformerBlock(nn.Module):
    """Self-attention and a small network."""

    def __init__(self, block: transformer.TransformerBlock) -> None:
        super().__init__()
        attention = block.attention
        self.norm_1, self.norm_2 = norm(block.norm_1), norm(block.norm_2)
        self.inward, self.outward = dense(attention.inward), dense(attention.outward)
        self.dense_1, self.dense_2 = dense(block.dense_1), dense(block.dense_2)
        self.heads, self.share = attention.heads, block.dropout.share

    def forward(self, x: Tensor) -> Tensor:
        n, t, _ = x.shape
        share = self.share if self.training else 0.0
        projected = self.inward(self.norm_1(x)).reshape(n, t, 3, self.heads, -1)
        attended = F.scaled_dot_product_attention(
            *projected.permute(2, 0, 3, 1, 4), dropout_p=share
        )
        joined = attended.transpose(1, 2).reshape(n, t, -1)
        x = x + F.dropout(self.outward(joined), share)
        hidden = F.dropout(F.gelu(self.dense_1(self.norm_2(x))), share)
        return x + F.dropout(self.dense_2(hidden), share)


class FirstToken(nn.Module):
    """Normalised token of the image."""

    def __init__(self, layer: transformer.FirstToken) -> None:
        super().__init__()
        self.norm = norm(layer.norm)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x[:, 0])


def part(layer: Any) -> nn.Module:
    """Return a layer of an image network."""
    if isinstance(layer, layers.MaxPool):
        return nn.MaxPool2d(layer.size, layer.stride, layer.padding)
    if isinstance(layer, layers.MeanPool):
        return nn.AdaptiveAvgPool2d(1) if layer.size is None else nn.AvgPool2d(layer.size)
    kinds: dict[type, Any] = {
        layers.Conv: conv, layers.Dense: dense, layers.BatchNorm: norm, resnet.Block: Residual,
        transformer.Embedding: Embedding, transformer.TransformerBlock: TransformerBlock,
        transformer.FirstToken: FirstToken, layers.ReLU: lambda _: nn.ReLU(),
        layers.Flatten: lambda _: Rows(),
    }  # fmt: skip
    return kinds[type(layer)](layer)


def image_network(network: ImageNetwork) -> nn.Module:
    """Return an image network."""
    return nn.Sequential(*map(part, network.parts)).to(memory_format=torch.channels_last)


class Two(nn.Module):
    """Two dense layers with a GELU between them."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.first, self.second = dense(layer.first), dense(layer.second)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.gelu(self.first(x), approximate="tanh"))


class Clock(Two):
    """Embedding of the time."""

    def forward(self, x: Tensor) -> Tensor:
        half = unet_layers.SINUSOID // 2
        angles = (
            unet_layers.FINEST * x[:, None] / unet_layers.LONGEST ** (torch.arange(half) / half)
        )
        return super().forward(torch.cat([torch.sin(angles), torch.cos(angles)], 1))


class Block(nn.Module):
    """Residual block with inputs for the time and the condition."""

    def __init__(self, block: unet_layers.Block) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = norm(block.norm_1), norm(block.norm_2)
        self.conv_1, self.conv_2 = conv(block.conv_1), conv(block.conv_2)
        self.time, self.condition = Two(block.time), Two(block.condition)
        self.share = block.dropout.share
        self.skip = nn.Identity() if block.skip is None else conv(block.skip)

    def forward(self, x: Tensor, time: Tensor, conditions: Tensor) -> Tensor:
        hidden = self.conv_1(F.gelu(self.norm_1(x), approximate="tanh"))
        hidden = hidden + (self.time(time) + self.condition(conditions))[:, :, None, None]
        hidden = F.gelu(self.norm_2(hidden), approximate="tanh")
        if self.share:
            hidden = F.dropout(hidden, self.share, self.training)
        return self.conv_2(hidden) + self.skip(x)


class Attention(nn.Module):
    """Self-attention between all places of an image."""

    def __init__(self, layer: unet_layers.Attention) -> None:
        super().__init__()
        self.gathered, self.out, self.heads = dense(layer.gathered), dense(layer.out), layer.heads

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        rows = x.permute(0, 2, 3, 1).reshape(n, h * w, c)
        projected = self.gathered(rows).reshape(n, h * w, 3, self.heads, -1)
        attended = F.scaled_dot_product_attention(*projected.permute(2, 0, 3, 1, 4))
        out = self.out(attended.transpose(1, 2).reshape(n, h * w, c))
        return x + out.reshape(n, h, w, c).permute(0, 3, 1, 2)


def upsample(layer: unet_layers.Upsample) -> nn.Module:
    """Return a transposed convolution."""
    inputs, units = layer.dense.weight.shape[1], len(layer.bias)
    module = nn.ConvTranspose2d(inputs, units, 2, 2)
    weight = np.reshape(layer.dense.weight, (2, 2, units, inputs))
    module.weight.data = tensor(np.transpose(weight, (3, 2, 0, 1)))
    assert module.bias is not None
    module.bias.data = tensor(layer.bias)
    return module


class Net(nn.Module):
    """U-Net of times and conditions."""

    def __init__(self, net: UNet) -> None:
        super().__init__()
        self.stem, self.head, self.norm = conv(net.stem), conv(net.head), norm(net.norm)
        self.clock = Clock(net.clock)
        self.down = nn.ModuleList([nn.ModuleList(map(Block, level)) for level in net.down])
        self.up = nn.ModuleList([nn.ModuleList(map(Block, level)) for level in net.up])
        self.halve = nn.ModuleList(map(conv, net.halve))
        self.enlarge = nn.ModuleList(map(upsample, net.double))
        first, attention, second = net.bottom
        self.bottom = nn.ModuleList([Block(first), Attention(attention), Block(second)])

    def forward(self, z: Tensor, times: Tensor, conditions: Tensor) -> Tensor:
        time = self.clock(times)
        x, skips = self.stem(z), []
        for place, level in enumerate(self.down):
            for block in level:
                x = block(x, time, conditions)
            if place < len(self.halve):
                skips.append(x)
                x = self.halve[place](x)
        first, attention, second = self.bottom
        x = second(attention(first(x, time, conditions)), time, conditions)
        for place in reversed(range(len(self.up))):
            if place < len(self.enlarge):
                x = torch.cat([self.enlarge[place](x), skips.pop()], 1)
            for block in self.up[place]:
                x = block(x, time, conditions)
        return z + self.head(F.gelu(self.norm(x), approximate="tanh"))


def unet(net: UNet) -> nn.Module:
    """Return a U-Net."""
    return Net(net).to(memory_format=torch.channels_last)
