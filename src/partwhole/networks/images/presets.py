"""Image networks by name: those of the papers, and small ones for 8 x 8 digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from partwhole._checks import require
from partwhole._door import door
from partwhole.networks.images.convnet import convnet
from partwhole.networks.images.network import ImageNetwork
from partwhole.networks.images.resnet import resnet
from partwhole.networks.images.transformer import vision_transformer

NETWORKS: dict[str, Callable[..., ImageNetwork]] = {
    "convnet": convnet,
    "resnet": resnet,
    "vit": vision_transformer,
    "convnet-small": partial(
        convnet, channels=(16, 16, 32, 32), kernel=3, padding="SAME", dense=(64,)
    ),
    "resnet-small": partial(resnet, channels=(16, 32), blocks=(1, 1)),
    "vit-small": partial(
        vision_transformer, patch=2, width=64, depth=2, heads=2, head_width=32, hidden=128,
        dropout=0.0,
    ),
    "resnet-18": partial(resnet, channels=(64, 128, 256, 512), stem="ImageNet", pool=None),
    "vit-finetuning": partial(
        vision_transformer, patch=4, width=384, depth=7, heads=8, head_width=48, hidden=1536,
        dropout=0.0,
    ),
}  # fmt: skip


@door
def image_network(name: str, shape: Sequence[int], *, outputs: int = 1, seed: int) -> ImageNetwork:
    """Draw an image network by its name.

    Parameters
    ----------
    name : str
        Of Lippl & Stachenfeld (ICLR 2025): "convnet" (MNIST), "resnet" (16 to 128 channels) and
        "vit" (256 wide, 4 deep; CIFAR). Of Lippl & Lindsey (NeurIPS 2024): "resnet-18" (64 to 512
        channels) and "vit-finetuning" (384 wide, 7 deep; CIFAR-100). For 8 x 8 digits:
        "convnet-small", "resnet-small" and "vit-small", the last without dropout.
    shape : sequence of int
        Height, width and channels of an image.
    outputs : int, keyword-only, default 1
    seed : int, keyword-only
        Fixes the weights.

    Returns
    -------
    ImageNetwork

    Raises
    ------
    InputError
        For an unknown name, images too small for the network, outputs below 1, or a seed below 0.

    Examples
    --------
    >>> image_network("resnet-18", (32, 32, 3), outputs=100, seed=0).n_parameters
    11227812
    """
    require(
        name in NETWORKS,
        f"a network is one of {', '.join(NETWORKS)}",
        repr(name),
        "or draw one by convnet, resnet or vision_transformer",
    )
    return NETWORKS[name](shape, outputs=outputs, seed=seed)
