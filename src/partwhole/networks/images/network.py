"""An image network: named layers one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from partwhole._checks import require
from partwhole._door import door
from partwhole.networks.images.layers import Pass, trained, with_statistics

Layer = Callable[[Array, Pass], Array]


@door
class ImageNetwork(eqx.Module):
    """Network of named layers on batches of images.

    `convnet`, `resnet`, `vision_transformer` and, by a preset's name, `image_network` draw one.

    Parameters
    ----------
    parts : tuple of layers
        Called one after another.
    names : tuple of str
        One for each layer.
    shape : tuple of int
        Height, width and channels of its images.

    Examples
    --------
    >>> import numpy as np
    >>> from partwhole.networks import image_network
    >>> network = image_network("convnet-small", (8, 12, 2), seed=0)
    >>> network(np.zeros((5, 8, 12, 2), np.float32)).shape, network.n_parameters
    ((5, 1), 65985)
    """

    parts: tuple[Layer, ...]
    names: tuple[str, ...] = eqx.field(static=True)
    shape: tuple[int, int, int] = eqx.field(static=True)

    def __check_init__(self) -> None:
        require(
            len(self.parts) == len(self.names) > 0,
            "a network has at least one layer, and a name for each",
            f"{len(self.parts)} layers and {len(self.names)} names",
            "pass as many of both",
        )

    def __call__(self, images: Float[Array | np.ndarray, "n h w c"]) -> Float[Array, "n k"]:
        """Return the outputs in inference: no dropout, running statistics."""
        return self._pass(images, Pass())[-1]

    def contexts(self, inputs: Float[Array | np.ndarray, "n h w c"]) -> tuple[()]:
        """Return (): a layer depends only on the layer before."""
        return ()

    def layer(
        self, place: int, x: Float[Array, "n *_"], contexts: tuple[()] = (), /
    ) -> Float[Array, "n *_"]:
        """Return the outputs of one layer in inference."""
        return self.parts[place](x, Pass())

    def in_batch(
        self, place: int, x: Float[Array, "n *_"], contexts: tuple[()] = (), /
    ) -> Float[Array, "n *_"]:
        """Return the outputs of one layer without dropout, by batch statistics."""
        return self.parts[place](x, Pass(in_batch=True))

    def partition(self) -> tuple[ImageNetwork, ImageNetwork]:
        """Return the parameters, which gradient descent changes, and the running statistics."""
        return eqx.partition(self, trained(self))

    def in_training(
        self,
        images: Float[Array | np.ndarray, "n h w c"],
        key: PRNGKeyArray,
        *,
        short: bool = False,
    ) -> tuple[Float[Array, "n k"], ImageNetwork]:
        """Return the outputs in training, and the network with its new running statistics.

        With products in bfloat16 if they are short; outputs and statistics are as ever.
        """
        at = Pass(key, short=short)
        outputs = self._pass(images, at)[-1]
        return outputs.astype(self.dtype), with_statistics(self, at)

    @property
    def dtype(self) -> np.dtype:
        """Return the precision of the parameters."""
        return jax.tree.leaves(eqx.filter(self, eqx.is_inexact_array))[0].dtype

    @property
    def n_parameters(self) -> int:
        """Return the number of parameters, without running statistics."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.partition()[0]))

    def _pass(self, images: Float[Array | np.ndarray, "n h w c"], at: Pass) -> tuple[Array, ...]:
        require(
            images.shape[1:] == self.shape and len(images) > 0,
            f"images for this network have shape (n, {', '.join(map(str, self.shape))})",
            f"shape {images.shape}",
            "draw a network for their shape" if len(images) else "pass some images",
        )
        require(
            jnp.issubdtype(images.dtype, jnp.floating),
            "images are floating-point",
            f"{images.dtype}",
            "divide grey levels by their largest, say",
        )
        outputs = []
        x = jnp.asarray(images, self.dtype)
        for part in self.parts:
            x = part(x, at)
            outputs.append(x)
        return tuple(outputs)


def require_shape(shape: Sequence[int]) -> tuple[int, int, int]:
    """Validate the shape of an image and return it."""
    valid = len(shape) == 3 and all(size > 0 for size in shape)
    require(
        valid,
        "the shape of an image is its height, width and channels",
        repr(tuple(shape)),
        "pass composites.shape, say",
    )
    height, width, channels = shape
    return height, width, channels
