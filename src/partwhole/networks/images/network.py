"""An image network: named layers one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole.networks.images.layers import Pass, trained, with_statistics

Layer = Callable[[Array, Pass], Array]


@door
class ImageNetwork(eqx.Module):
    """Map batches of images through layers, each with a name.

    Draw one by `convnet`, `resnet` or `vision_transformer`, or a named preset by `image_network`.

    Parameters
    ----------
    parts : tuple of layers
        Called one after another.
    names : tuple of str
        One for each.
    shape : tuple of int
        Height, width and channels of the images it is for.

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
        """Return nothing: layers need the layer before and no more."""
        return ()

    def layer(
        self, place: int, x: Float[Array, "n *_"], contexts: tuple[()] = (), /
    ) -> Float[Array, "n *_"]:
        """Return what one layer gives in inference."""
        return self.parts[place](x, Pass())

    def in_batch(
        self, place: int, x: Float[Array, "n *_"], contexts: tuple[()] = (), /
    ) -> Float[Array, "n *_"]:
        """Return what one layer gives without dropout, normalised by statistics of this batch."""
        return self.parts[place](x, Pass(in_batch=True))

    def partition(self) -> tuple[ImageNetwork, ImageNetwork]:
        """Return the parameters, which training changes by slopes, and running statistics."""
        return eqx.partition(self, trained(self))

    def in_training(
        self, images: Float[Array | np.ndarray, "n h w c"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "n k"], ImageNetwork]:
        """Return the outputs in training, and the network with its new running statistics."""
        at = Pass(key)
        outputs = self._pass(images, at)[-1]
        return outputs, with_statistics(self, at)

    @property
    def n_parameters(self) -> int:
        """Return the number of parameters, running statistics not counted."""
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
        found = []
        own = jax.tree.leaves(eqx.filter(self, eqx.is_inexact_array))[0].dtype
        x = jnp.asarray(images, own)
        for part in self.parts:
            x = part(x, at)
            found.append(x)
        return tuple(found)


def require_sizes(**sizes: int | Sequence[int]) -> None:
    """Require whole numbers of at least 1, each alone or in a sequence."""
    for name, given in sizes.items():
        for size in given if isinstance(given, Sequence) else (given,):
            whole(name, size, 1, "pass 1 or more")


def require_shape(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return the shape of an image, once it is seen to be one."""
    good = len(shape) == 3 and all(size > 0 for size in shape)
    require(
        good,
        "the shape of an image is its height, width and channels",
        repr(tuple(shape)),
        "pass composites.shape, say",
    )
    height, width, channels = shape
    return height, width, channels
