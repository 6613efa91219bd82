"""Tensors of torch as arrays of NumPy. Torch is never imported: without it there are no tensors."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from partwhole._checks import require


def loaded(package: str) -> Any:
    """Return a package that the user has imported, or None.

    An object of a class exists only once the package of the class has been imported.
    """
    return sys.modules.get(package)


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor of torch."""
    kind = getattr(loaded("torch"), "Tensor", None)
    return kind is not None and isinstance(value, kind)


def tensor_to_numpy(tensor: Any) -> np.ndarray:
    """Return a tensor's numbers, on any device, with gradients, sparse or of half precision.

    The array may share the memory of the tensor.

    Raises
    ------
    InputError
        If the tensor has no numbers, being on the device "meta".
    """
    torch = loaded("torch")
    require(
        not tensor.is_meta,
        "a tensor holds numbers",
        "one of the device 'meta', which has a shape alone",
        "move the model and its inputs to a device with memory, 'cpu' say",
    )
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    # NumPy has no numbers of 16 bits with 8 bits of exponent, nor of 8 bits.
    if tensor.is_floating_point() and tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.float()
    return tensor.numpy(force=True)
