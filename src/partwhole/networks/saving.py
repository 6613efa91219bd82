"""Networks on disk: a file of arrays that says what it holds."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._reading import read_npz
from partwhole._writing import npz, write_all
from partwhole.features import HalfspaceGates, JointGates, ReLUGates
from partwhole.networks._gates_as_pytrees import FIELDS
from partwhole.networks.gated import GatedNetwork, LearnedGates
from partwhole.networks.images import layers, resnet, transformer
from partwhole.networks.images.network import ImageNetwork
from partwhole.networks.mlp import MLP

FORMAT = 1
Network = MLP | GatedNetwork | ImageNetwork
IMAGE_KINDS = (
    ImageNetwork,
    layers.Conv,
    layers.Dense,
    layers.BatchNorm,
    layers.LayerNorm,
    layers.Dropout,
    layers.ReLU,
    layers.MaxPool,
    layers.MeanPool,
    layers.Flatten,
    resnet.Block,
    transformer.Embedding,
    transformer.Attention,
    transformer.TransformerBlock,
    transformer.FirstToken,
)
KINDS: dict[str, Any] = {
    "MLP": (MLP, ("weights", "biases", "nonlinearity")),
    "GatedNetwork": (GatedNetwork, ("weights", "gates", "bias", "parallel")),
    "LearnedGates": (LearnedGates, ("n_units",)),
    **{kind.__name__: (kind, FIELDS[kind]) for kind in (HalfspaceGates, ReLUGates, JointGates)},
    **{kind.__name__: (kind, tuple(f.name for f in fields(kind))) for kind in IMAGE_KINDS},
}


@door
def save_network(network: Network, path: str | Path) -> None:
    """Write a network to a file: weights, biases and gates, bit by bit.

    Parameters
    ----------
    network : MLP, GatedNetwork or ImageNetwork
        One, or many along leading axes.
    path : str or Path
        Its folder exists; a file of that name is replaced, once the new one is whole.

    Raises
    ------
    InputError
        For what is not such a network, or has gates of another kind than the library's, and a
        folder that doesn't exist.

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.features import HalfspaceGates
    >>> network = GatedNetwork.draw(2, [HalfspaceGates.random(2, n_units=3), 1], seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(network, f"{folder}/network.npz")
    ...     again = load_network(f"{folder}/network.npz")
    >>> bool((again.gates[0].normals == network.gates[0].normals).all())
    True
    """
    place = Path(path)
    require(
        place.parent.is_dir(),
        "a network is saved in a folder that exists",
        str(place.parent),
        "make it first",
    )
    require(
        not place.is_dir(),
        "a network is saved to a file",
        f"the folder {place}",
        "add a name, network.npz say",
    )
    arrays: dict[str, np.ndarray] = {}
    told = {"format": FORMAT, "network": _described(network, arrays)}
    write_all({place: npz({"described": np.array(json.dumps(told)), **arrays})})


@door
def load_network(path: str | Path) -> Network:
    """Read a network that `save_network` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    MLP, GatedNetwork or ImageNetwork

    Raises
    ------
    InputError
        For a file that is not there, or that holds something else.
    """
    place = Path(path)
    rule, remedy = "a network is read from a file of save_network", "pass the path of one"
    require(place.is_file(), rule, f"no file {place}", remedy)
    try:
        arrays = read_npz(place)
        told = json.loads(str(arrays["described"]))
        if told["format"] == FORMAT:
            return _rebuilt(told["network"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{rule}; got {place.name}, which is none; {remedy}") from error
    raise InputError(f"{rule}; got one of format {told['format']}; read it by the version it is of")


def _described(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Say in plain words what a value is, its arrays put beside."""
    name = type(value).__name__
    if name in KINDS:
        held = {field: getattr(value, field) for field in KINDS[name][1]}
        return {
            "kind": name,
            "fields": {field: _described(each, arrays) for field, each in held.items()},
        }
    if isinstance(value, tuple):
        return [_described(each, arrays) for each in value]
    if isinstance(value, np.ndarray | jax.Array):
        key = f"array_{len(arrays)}"
        arrays[key] = np.asarray(value)
        return {"array": key, "jax": isinstance(value, jax.Array)}
    require(
        value is None or isinstance(value, bool | int | float | str),
        "what is saved is made of the library's layers and gates, and arrays",
        name,
        "save by pickle, or use what the library has",
    )
    return value


def _rebuilt(told: Any, arrays: Any) -> Any:
    if isinstance(told, list):
        return tuple(_rebuilt(each, arrays) for each in told)
    if not isinstance(told, dict):
        return told
    if "array" in told:
        found = arrays[told["array"]]
        if not told["jax"]:
            return found
        with jax.enable_x64(found.dtype == np.float64):
            return jnp.asarray(found)
    kind = KINDS[told["kind"]][0]
    return kind(**{name: _rebuilt(each, arrays) for name, each in told["fields"].items()})
