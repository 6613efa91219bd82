"""Salience of parts and conjunctions in each layer of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Real
from partwhole.measures import salience
from partwhole.measures.salience import Salience
from partwhole.networks.network import Inputs, Network, require_layers, require_one
from partwhole.networks.reading import layer_by_layer
from partwhole.tasks.images.composites import Composites

if TYPE_CHECKING:
    import pandas as pd

INPUT = "input"


@dataclass(frozen=True, eq=False)
class LayerSaliences:
    """Saliences of layers, by their names.

    Parameters
    ----------
    by_layer : dict from str to Salience
        In the order in which layers were chosen.
    """

    by_layer: dict[str, Salience]

    def __getitem__(self, layer: str) -> Salience:
        """Return the saliences of one layer."""
        return self.by_layer[layer]

    @property
    def layers(self) -> tuple[str, ...]:
        """Return the names."""
        return tuple(self.by_layer)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each layer and order: layer, order, salience, low, high, structure.

        The ends of the interval are NaN without bootstrap.
        """
        import pandas as pd

        parts = []
        for layer, saliences in self.by_layer.items():
            low, high = saliences.salience_interval.T
            columns = {
                "layer": layer,
                "order": np.arange(1, saliences.n_components + 1),
                "salience": saliences.salience,
                "low": low,
                "high": high,
                "structure": saliences.structure,
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)


@door(single=("inputs",))
def layer_saliences(
    network: Network,
    inputs: Inputs,
    components: Int[np.ndarray, "n C"] | None = None,
    *,
    layers: Sequence[str] | None = None,
    self_pairs: bool = False,
    bootstrap: int = 0,
    confidence: Real = 0.95,
    seed: int = 0,
    progress: bool = True,
) -> LayerSaliences:
    """Measure the overlap saliences of a network's inputs and of each layer.

    Each layer's activations, one row for each sample, are passed to `partwhole.measures.salience`.
    Two calls, before and after training, show what training changed.

    Parameters
    ----------
    network : Network
        One.
    inputs : float array, shape (n, ...) with the network's `shape`; or Composites
    components : int array, shape (n, C), default None
        Each sample's tuple, as value indices. Leave it out for composites, which include theirs.
    layers : sequence of str, keyword-only, default None
        Names of layers; None for all. "input" is the inputs, the others are the network's `names`.
    self_pairs, bootstrap, confidence, seed : keyword-only
        As in `partwhole.measures.salience`. Inputs without repeats, as rows of an MLP
        often are, need ``self_pairs=True``.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    LayerSaliences

    Raises
    ------
    InputError
        For networks along a leading axis, layers that don't exist, components missing or passed
        with composites, inputs of another shape than the network's, and what
        `partwhole.measures.salience` refuses.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), the analysis of trained networks, there with
    ``self_pairs=True``; their layer 11 of `convnet`, counted from the pixels, is "relu 4". Layers
    are computed one after another, so that two are in memory at a time, in single precision and,
    while they are measured, two or three times in double: of 1,000 images with 50,000 units about
    1.5 GB.

    Examples
    --------
    A random layer keeps the structure of its inputs, but parts lose salience and conjunctions gain:

    >>> from partwhole.networks import mlp
    >>> rows = np.array([[a, b] for a in range(3) for b in range(3)])
    >>> one_hot = np.hstack([np.eye(3)[rows[:, 0]], np.eye(3)[rows[:, 1]]])
    >>> made = {"nonlinearity": "relu", "bias": False, "initial": "he", "scale": 1.0}
    >>> network = mlp(6, layers=2, width=4000, seed=0, **made)
    >>> found = layer_saliences(network, one_hot, rows, self_pairs=True)
    >>> found.layers
    ('input', 'layer 1', 'output')
    >>> found["input"].salience.round(1).tolist(), found["layer 1"].salience.round(1).tolist()
    ([0.5, 0.0], [0.4, 0.1])
    """
    require_one(network, "layers are those of one network")
    chosen = require_layers((INPUT, *network.names), layers)
    tuples = components
    if isinstance(inputs, Composites):
        require(
            components is None,
            "composites know their components",
            "components beside them",
            "leave components out",
        )
        tuples = inputs.components
    if tuples is None:
        rule, remedy = "components say which tuple each input shows", "pass a row for each input"
        raise InputError(f"{rule}; got none; {remedy}")
    options = {
        "self_pairs": self_pairs, "bootstrap": bootstrap,
        "confidence": float(confidence), "seed": seed,
    }  # fmt: skip
    measured: dict[str, Salience] = {}
    with bar("saliences", len(chosen), shown=progress) as advance:
        for name, features in chain([(INPUT, inputs)], layer_by_layer(network, inputs)):
            if name in chosen:
                rows = np.asarray(features[:]).reshape(len(features), -1)
                measured[name] = salience(rows, tuples, **options)
                advance(1)
            if len(measured) == len({*chosen}):
                break
    return LayerSaliences({name: measured[name] for name in chosen})
