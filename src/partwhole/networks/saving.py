"""Networks on disk: a file of arrays with a description of the network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from partwhole._checks import InputError, require
from partwhole._device import on_device
from partwhole._door import door
from partwhole._reading import read_npz
from partwhole._writing import npz, write_all
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.networks._gates_as_pytrees import FIELDS

FORMAT = 2
HOMES = ("partwhole.networks.", "partwhole.features.", "partwhole.limits.diagonal.")
NAMES = FIELDS  # of the gates, which are no modules of equinox


class UnknownKindError(InputError):
    """A saved network has a class that is not the library's and was not passed."""


@door
def save_network(network: eqx.Module | DiagonalWeights, path: str | Path) -> None:
    """Write a network to a file: weights, biases and gates, bit by bit.

    Parameters
    ----------
    network : Network or equinox.Module
        One, or many along leading axes; a diffusion model, or a network of your own.
    path : str or Path
        Its folder exists; a file of that name is replaced, once the new one is whole.

    Raises
    ------
    InputError
        For anything but modules of equinox, the library's gates, named tuples and arrays, and a
        folder that doesn't exist.

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.features import HalfspaceGates
    >>> from partwhole.networks import GatedNetwork
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
    described = {"format": FORMAT, "network": _described(network, arrays)}
    write_all({place: npz({"described": np.array(json.dumps(described)), **arrays})})


@door
def load_network(path: str | Path, *, kinds: Sequence[type] = ()) -> Any:
    """Read a network that `save_network` wrote.

    Parameters
    ----------
    path : str or Path
    kinds : sequence of type, keyword-only, default ()
        The classes of a network of your own; classes outside the library and `kinds` are not
        imported.

    Returns
    -------
    Network or equinox.Module

    Raises
    ------
    InputError
        For a file that doesn't exist, that holds no network, or a network of other classes.

    Examples
    --------
    A class of your own is passed in `kinds`:

    >>> import tempfile
    >>> class Scaling(eqx.Module):
    ...     factors: jax.Array
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(Scaling(jax.numpy.array([0.5, 2.0])), f"{folder}/network.npz")
    ...     network = load_network(f"{folder}/network.npz", kinds=[Scaling])
    >>> network.factors.tolist()
    [0.5, 2.0]
    """
    place = Path(path)
    rule, remedy = "a network is read from a file of save_network", "pass the path of one"
    require(place.is_file(), rule, f"no file {place}", remedy)
    try:
        arrays = read_npz(place)
        described = json.loads(str(arrays["described"]))
        if described["format"] == FORMAT:
            return _rebuilt(described["network"], arrays, {_title(kind): kind for kind in kinds})
    except UnknownKindError:
        raise
    except (ImportError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{rule}; got {place.name}, which is none; {remedy}") from error
    version = described["format"]
    raise InputError(f"{rule}; got one of format {version}; read it by the version it is of")


def _described(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a description of a value in plain data, and add its arrays to `arrays`."""
    kind = type(value)
    if _has_fields(kind):
        fields = {name: _described(getattr(value, name), arrays) for name in _fields(kind)}
        return {"kind": _title(kind), "fields": fields}
    if isinstance(value, tuple):
        return [_described(part, arrays) for part in value]
    if isinstance(value, np.ndarray | jax.Array):
        key = f"array_{len(arrays)}"
        arrays[key] = np.asarray(value)
        return {"array": key, "jax": isinstance(value, jax.Array)}
    require(
        value is None or isinstance(value, bool | int | float | str),
        "what is saved is made of modules of equinox, the library's gates, and arrays",
        kind.__name__,
        "save by pickle, or use what the library has",
    )
    return value


def _rebuilt(described: Any, arrays: Any, kinds: dict[str, type]) -> Any:
    if isinstance(described, list):
        return tuple(_rebuilt(part, arrays, kinds) for part in described)
    if not isinstance(described, dict):
        return described
    if "array" in described:
        array = arrays[described["array"]]
        if not described["jax"]:
            return array
        with jax.enable_x64(array.dtype == np.float64):
            return on_device(array)
    title = described["kind"]
    kind = kinds.get(title) or _kind(title)
    fields = described["fields"].items()
    return kind(**{name: _rebuilt(part, arrays, kinds) for name, part in fields})


def _title(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _has_fields(kind: type) -> bool:
    """Return whether a class is a module, a gate or a named tuple; its fields are saved by name."""
    is_named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return issubclass(kind, eqx.Module) or kind in NAMES or is_named


def _fields(kind: type) -> tuple[str, ...]:
    names = NAMES.get(kind) or getattr(kind, "_fields", None)
    return names or tuple(field.name for field in fields(kind) if field.init)


def _kind(title: str) -> type:
    """Return a class of the library; others are refused, so that a file can't run code."""
    module, _, name = title.rpartition(".")
    kind = getattr(import_module(module), name) if title.startswith(HOMES) else None
    if isinstance(kind, type) and _has_fields(kind):
        return kind
    rule = "a network is made of the library's classes, or of those in kinds"
    raise UnknownKindError(f"{rule}; got {title}; pass kinds=[{name}]")
