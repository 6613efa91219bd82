"""Dimensions of each layer of a network before and after training, and those shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import jax
import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole.measures.dimensions import shared_dimensions
from partwhole.networks.network import Inputs, Network, require_layers, require_one
from partwhole.networks.reading import layer_by_layer

if TYPE_CHECKING:
    import pandas as pd

Statistics = Literal["inference", "batch"]


@dataclass(frozen=True, eq=False)
class LayerDimensions:
    """Dimensions of layers before and after training, and shared dimensions.

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
    before: Network,
    after: Network,
    inputs: Inputs,
    *,
    layers: Sequence[str] | None = None,
    center: bool = False,
    statistics: Statistics = "inference",
) -> LayerDimensions:
    """Count the dimensions of each layer before and after training, and those shared.

    Each place of a layer of images is a separate feature. Layers are computed one after another,
    so that two of each network are in memory at a time.

    Parameters
    ----------
    before, after : Network
        One network at two times, whose units correspond. Dropout is off.
    inputs : float array, shape (n, ...) with the networks' `shape`; or Composites
    layers : sequence of str, keyword-only, default None
        Names of layers, from the networks' `names`, in this order; None for all.
    center : bool, keyword-only, default False
        Subtract every feature's mean over the inputs first.
    statistics : {"inference", "batch"}, keyword-only, default "inference"
        Statistics of batch normalisation: running ones, or those of all these images, which then
        pass through each layer in one call. Of no effect in other networks.

    Returns
    -------
    LayerDimensions

    Raises
    ------
    InputError
        For networks of different architectures or many at once, inputs of another shape, layers
        that don't exist, and a layer that is 0 for all inputs.

    See Also
    --------
    measures.dimensions.shared_dimensions : defines the counts.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024) take the rescaled pretrained network before and the finetuned one
    after, on the main training images, and normalise by their statistics: "batch". The running
    statistics of a rescaled network are still those before rescaling, so that in inference
    rescaling alone changes its outputs. They cut the layers of their Vision Transformer into blocks
    of 4000 units and average the counts over blocks; here layers are whole.

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
    require_one(before, "layers are those of one network")
    names, in_batch = before.names, statistics == "batch"
    chosen = require_layers(names, layers)
    pairs = zip(
        layer_by_layer(before, inputs, in_batch=in_batch),
        layer_by_layer(after, inputs, in_batch=in_batch),
        strict=True,
    )
    # The range comes first in zip, so that no layer beyond the last chosen one is computed.
    last = max(names.index(name) for name in chosen)
    counts = {
        name: _counted(name, a, b, center)
        for _, ((name, a), (_, b)) in zip(range(last + 1), pairs, strict=False)
        if name in chosen
    }
    table = np.array([counts[name] for name in chosen])
    return LayerDimensions(chosen, table[:, 0], table[:, 1], table[:, 2])


def _counted(
    name: str, a: Float[np.ndarray, "n *_"], b: Float[np.ndarray, "n *_"], center: bool
) -> tuple[float, float, float]:
    try:
        dimensions = shared_dimensions(a.reshape(len(a), -1), b.reshape(len(b), -1), center=center)
    except InputError as error:
        raise InputError(f"in layer {name!r}, before (a) and after (b), {error}") from error
    return *dimensions.participation, dimensions.value


def _kind(network: Network) -> object:
    leaves, form = jax.tree.flatten(network)
    return form, [leaf.shape for leaf in leaves]
