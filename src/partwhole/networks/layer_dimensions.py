"""How many dimensions each layer of a network uses before and after training, and how many both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole.measures import shared_dimensions
from partwhole.networks.images.layers import Dropout, Pass
from partwhole.networks.images.network import ImageNetwork, Layer
from partwhole.networks.layer_salience import layer_names
from partwhole.networks.mlp import MLP
from partwhole.networks.reading import Inputs, activations
from partwhole.tasks.images.composites import Composites

if TYPE_CHECKING:
    import pandas as pd

AT_ONCE = 256  # images read in one call, in inference
Statistics = Literal["inference", "batch"]
Pair = tuple[Float[np.ndarray, "n *_"], Float[np.ndarray, "n *_"]]


@dataclass(frozen=True, eq=False)
class LayerDimensions:
    """Hold the dimensions that layers use before and after training, and those they share.

    Parameters
    ----------
    layers : tuple of str
    before : float array, shape (layers,)
        Participation ratio of each layer before.
    after : float array, shape (layers,)
        The same after.
    shared : float array, shape (layers,)
        Effective number of shared dimensions, ENSD, in feature space.
    """

    layers: tuple[str, ...]
    before: Float[np.ndarray, " layers"]
    after: Float[np.ndarray, " layers"]
    shared: Float[np.ndarray, " layers"]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each layer: layer, before, after and shared."""
        import pandas as pd

        return pd.DataFrame({
            "layer": self.layers, "before": self.before, "after": self.after, "shared": self.shared
        })  # fmt: skip


@door(single=("inputs",))
def layer_dimensions(
    before: MLP | ImageNetwork,
    after: MLP | ImageNetwork,
    inputs: Inputs,
    *,
    layers: Sequence[str] | None = None,
    center: bool = False,
    statistics: Statistics = "inference",
) -> LayerDimensions:
    """Count the dimensions of each layer before and after training, and those shared.

    All places of a layer of images are features of their own. Such layers are computed one after
    another, so that two of either network are held at a time.

    Parameters
    ----------
    before, after : MLP or ImageNetwork
        One network at two times, whose units correspond. Dropout is off.
    inputs : float array, shape (n, d), or (n, h, w, c) for images; or Composites
    layers : sequence of str, keyword-only, default None
        Which layers, in this order; None for all. Those of an ImageNetwork have its `names`, those
        of an MLP, after the nonlinearity, are "layer 1", "layer 2", ... and "output".
    center : bool, keyword-only, default False
        Subtract every feature's mean over the inputs first.
    statistics : {"inference", "batch"}, keyword-only, default "inference"
        What batch normalisation normalises by: its running statistics, or those of all these
        images, which then pass through each layer in one call. The same for other networks.

    Returns
    -------
    LayerDimensions

    Raises
    ------
    InputError
        For networks that are not alike or many at once, inputs of another shape, layers that are
        not the network's, and a layer that is 0 for all inputs.

    See Also
    --------
    measures.shared_dimensions : for what is counted.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024) take the rescaled pretrained network before and the finetuned one
    after, on the main training images, and normalise by their statistics: "batch". The running
    statistics of a network that was just rescaled are those of before, so in inference rescaling
    alone changes what it computes. Layers of their Vision Transformer are cut in blocks of 4000
    units there, the counts being means over blocks; here they are whole.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.networks import image_network
    >>> from partwhole.tasks.images.digits import digit_images
    >>> images = digit_images()[0][:50, :, :, None]
    >>> network = image_network("resnet-small", (8, 8, 1), outputs=10, seed=0)
    >>> found = layer_dimensions(network, network, images, layers=["mean", "out"])
    >>> bool(np.allclose(found.shared, found.before))
    True
    """
    require(
        _kind(before) == _kind(after),
        "before and after are one network at two times",
        "networks of different layers or sizes",
        "pass a network and what training made of it",
    )
    names = layer_names(before)
    chosen = names if layers is None else tuple(layers)
    missing = [name for name in chosen if name not in names]
    require(
        chosen and not missing,
        f"a layer of this network is one of {', '.join(names)}",
        ", ".join(map(repr, missing)) or "none",
        "choose from them",
    )
    if isinstance(before, ImageNetwork) and isinstance(after, ImageNetwork):
        pairs = _of_images(before, after, inputs, statistics)
    else:
        pairs = iter(zip(activations(before, inputs), activations(after, inputs), strict=True))
    # Names first, so that no layer is computed beyond the last that is asked for.
    last = max(names.index(name) for name in chosen)
    each = zip(names[: last + 1], pairs, strict=False)
    found = {name: _counted(name, *pair, center) for name, pair in each if name in chosen}
    table = np.array([found[name] for name in chosen])
    return LayerDimensions(chosen, table[:, 0], table[:, 1], table[:, 2])


def _of_images(
    before: ImageNetwork, after: ImageNetwork, images: Inputs, statistics: Statistics
) -> Iterator[Pair]:
    shape = images.shape if isinstance(images, Composites) else images.shape[1:]
    require(
        tuple(shape) == before.shape and len(images) > 0,
        f"images for this network have height, width and channels {before.shape}",
        f"{tuple(shape)}" if len(images) else "no images",
        "draw a network for their shape",
    )
    one, other = (_without_dropout(each) for each in (before, after))
    a = b = np.asarray(images[:], np.float32)
    for part, changed in zip(one.parts, other.parts, strict=True):
        a, b = _through(part, a, statistics), _through(changed, b, statistics)
        yield a, b


def _counted(
    name: str, a: Float[np.ndarray, "n *_"], b: Float[np.ndarray, "n *_"], center: bool
) -> tuple[float, float, float]:
    try:
        both = shared_dimensions(a.reshape(len(a), -1), b.reshape(len(b), -1), center=center)
    except InputError as error:
        raise InputError(f"in layer {name!r}, before (a) and after (b), {error}") from error
    return *both.participation, both.value


@eqx.filter_jit
def _read(part: Layer, x: Array, in_batch: bool) -> Array:
    # The key is of noise that nothing here draws; with one, batches normalise themselves.
    return part(x, Pass(jax.random.key(0) if in_batch else None))


def _through(
    part: Layer, x: Float[np.ndarray, "n *_"], statistics: Statistics
) -> Float[np.ndarray, "n *_"]:
    """Return what a layer makes of all images; in inference in chunks of one size."""
    n = len(x)
    if statistics == "batch":
        return np.asarray(_read(part, jnp.asarray(x), True))
    size = min(n, AT_ONCE)
    parts = []
    for first in range(0, n, size):
        which = np.minimum(np.arange(first, first + size), n - 1)
        parts.append(np.asarray(_read(part, jnp.asarray(x[which]), False)))
    return np.concatenate(parts)[:n]


def _without_dropout(network: ImageNetwork) -> ImageNetwork:
    def off(node: object) -> object:
        return Dropout(0.0) if isinstance(node, Dropout) else node

    return jax.tree.map(off, network, is_leaf=lambda node: isinstance(node, Dropout))


def _kind(network: MLP | ImageNetwork) -> object:
    leaves, form = jax.tree.flatten(network)
    return form, [leaf.shape for leaf in leaves]
