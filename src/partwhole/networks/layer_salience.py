"""What each layer of a network makes of parts and their conjunctions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Real
from partwhole.measures import Salience, salience
from partwhole.networks.images.network import ImageNetwork
from partwhole.networks.mlp import MLP
from partwhole.networks.reading import Inputs, activations
from partwhole.tasks.images.composites import Composites

if TYPE_CHECKING:
    import pandas as pd

INPUT, OUTPUT = "input", "output"


@dataclass(frozen=True, eq=False)
class LayerSaliences:
    """Hold the saliences of layers, by their names.

    Parameters
    ----------
    by_layer : dict from str to Salience
        In the order in which they were asked for.
    """

    by_layer: dict[str, Salience]

    def __getitem__(self, layer: str) -> Salience:
        """Return what was found in one layer."""
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
        for layer, found in self.by_layer.items():
            low, high = found.salience_interval.T
            columns = {
                "layer": layer,
                "order": np.arange(1, found.n_components + 1),
                "salience": found.salience,
                "low": low,
                "high": high,
                "structure": found.structure,
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)


@door(single=("inputs",))
def layer_saliences(
    network: MLP | ImageNetwork,
    inputs: Inputs,
    components: Int[np.ndarray, "n C"] | None = None,
    *,
    layers: Sequence[str] | None = None,
    centre: bool = False,
    self_pairs: bool = False,
    bootstrap: int = 0,
    confidence: Real = 0.95,
    seed: int = 0,
    progress: bool = True,
) -> LayerSaliences:
    """Measure the overlap saliences of what a network sees and of what each layer makes of it.

    Each layer's activations are laid in one row for each sample and given to
    `partwhole.measures.salience`. Take them before training and after it, by two calls, for what
    training changed.

    Parameters
    ----------
    network : MLP or ImageNetwork
        One.
    inputs : float array, shape (n, d), or (n, h, w, c) for images; or Composites
    components : int array, shape (n, C), default None
        Each sample's tuple, as value indices. Composites know theirs: leave it out.
    layers : sequence of str, keyword-only, default None
        Which; None for all. The inputs are "input"; layers of an ImageNetwork have its `names`,
        those of an MLP, after the nonlinearity, are "layer 1", "layer 2", ... and "output".
    centre, self_pairs, bootstrap, confidence, seed : keyword-only
        As `partwhole.measures.salience` has them. Inputs without repeats, as rows of an MLP
        often are, need ``self_pairs=True``.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    LayerSaliences

    Raises
    ------
    InputError
        For networks along a leading axis, layers that the network has not, components missing or
        given beside composites, inputs of another shape than the network is for, and what
        `partwhole.measures.salience` refuses.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), the analysis of trained networks, there with
    ``self_pairs=True``; their layer 11 of `convnet`, counted from the pixels, is "relu 4". An
    image network is read anew for each layer, so that one layer's activations are in memory at a
    time, in single precision and, while they are measured, two or three times in double: of
    1,000 images with 50,000 units about 1.5 GB.

    Examples
    --------
    A random layer keeps the structure of its inputs, and turns from parts to conjunctions:

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
    known = (INPUT, *layer_names(network))
    chosen = known if layers is None else tuple(layers)
    missing = [name for name in chosen if name not in known]
    require(
        not missing and len(chosen) > 0,
        f"a layer of this network is one of {', '.join(known)}",
        ", ".join(map(repr, missing)) if chosen else "none",
        "choose from them",
    )
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
        "centre": centre, "self_pairs": self_pairs, "bootstrap": bootstrap,
        "confidence": float(confidence), "seed": seed,
    }  # fmt: skip
    found: dict[str, Salience] = {}
    with bar("saliences", len(chosen), shown=progress) as advance:
        for name, features in _activations(network, inputs, chosen):
            found[name] = salience(features.reshape(len(features), -1), tuples, **options)
            advance(1)
    return LayerSaliences(found)


def layer_names(network: MLP | ImageNetwork) -> tuple[str, ...]:
    """Return what the layers of one network are called, from the first to the output."""
    if isinstance(network, ImageNetwork):
        return network.names
    require(
        network.weights[0].ndim == 2,
        "layers are those of one network",
        "networks along a leading axis",
        "take one of them",
    )
    return (*(f"layer {i}" for i in range(1, network.n_layers)), OUTPUT)


def _activations(
    network: MLP | ImageNetwork, inputs: Inputs, chosen: tuple[str, ...]
) -> Iterator[tuple[str, Float[np.ndarray, "n *_"]]]:
    """Read the layers one at a time: image networks anew for each, dense ones together."""
    dense = {}
    if isinstance(network, MLP):
        dense = dict(zip(layer_names(network), activations(network, inputs), strict=True))
    for name in chosen:
        if name == INPUT:
            yield name, inputs[:] if isinstance(inputs, Composites) else np.asarray(inputs)
        elif isinstance(network, MLP):
            yield name, dense[name]
        else:
            yield name, activations(network, inputs, layers=(name,))[0]
