"""Activations of networks: modules of torch, and networks of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import Count
from partwhole.recordings._modules import of_module
from partwhole.recordings._tensors import is_tensor, loaded, tensor_to_numpy


@door
def activations(
    model: Any, inputs: Any, layers: Sequence[str] | None = None, *, batch: Count = 256
) -> dict[str, Float[np.ndarray, "n _"]]:
    """Return the activations of a network's layers, in inference, a row for each input.

    A model of torch runs without gradients and in evaluation mode, on the device of its first
    parameter. Afterwards every module is in the mode that it was in, and no hook is left, also
    after an error. Torch is not imported.

    Parameters
    ----------
    model : torch.nn.Module, or a network of `partwhole.networks`
    inputs : array or tensor, shape (n, ...); or a mapping of them
        Numbers with a fraction are converted to the type of the model's parameters, whole numbers
        to 64 bits. A mapping is passed by the names of arguments. The model gets a copy of them.
    layers : sequence of str, optional
        Names of modules, as `named_modules` has them, or of the network's layers; "output" is the
        answer of the whole model. By default all modules without modules in them that are called
        and answer with a row for each input, or all layers.
    batch : int, keyword-only, default 256
        The number of inputs of a pass.

    Returns
    -------
    dict of str to float array, shape (n, d)
        Flattened, in single precision unless the layer computes in double. Of a layer that answers
        with a tuple or a mapping, the first tensor. A module that is called several times in a pass
        has an entry for each call: "relu", "relu (call 2)", ...

    Raises
    ------
    InputError
        For other models, layers that do not exist, are not called or have no row for each input,
        and inputs that are not numbers. Errors of the model itself pass through.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> layers = activations(mlp(2, layers=3, width=4, seed=0), np.ones((5, 2)), ["layer 2"])
    >>> layers["layer 2"].shape
    (5, 4)
    """
    torch, networks = loaded("torch"), loaded("partwhole.networks")
    if torch is not None and isinstance(model, torch.nn.Module):
        return of_module(torch, model, inputs, layers, batch)
    if networks is not None and isinstance(model, networks.network.Network):
        return _of_network(networks, model, inputs, layers, batch)
    raise InputError(
        "model is a module of torch or a network of partwhole.networks; "
        f"got one of type {type(model).__name__}; "
        "compute its activations yourself, and pass them to from_trials"
    )


def _of_network(
    networks: Any, model: Any, inputs: Any, layers: Sequence[str] | None, batch: int
) -> dict[str, np.ndarray]:
    require(
        tuple(getattr(model, "lead", ())) == (),
        "activations are those of one network",
        "networks along a leading axis",
        "take one of them",
    )
    inputs = tensor_to_numpy(inputs) if is_tensor(inputs) else inputs
    n = len(inputs) if getattr(inputs, "shape", True) and hasattr(inputs, "__len__") else 0
    starts = range(0, n, batch)
    passes = [inputs] if n <= batch else [inputs[first : first + batch] for first in starts]
    parts = [networks.activations(model, rows, layers=layers) for rows in passes]
    names = model.names if layers is None else layers
    return {
        name: np.concatenate(rows).reshape(n, -1) for name, *rows in zip(names, *parts, strict=True)
    }
