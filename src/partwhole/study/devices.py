"""The GPUs of a machine, shared by the workers on it."""

from __future__ import annotations

import os
import re
from pathlib import Path


def use_devices(name: str, together: int) -> None:
    """Give a worker its GPUs, and its share of their memory, before JAX takes all of both."""
    given, variable = os.environ.get("CUDA_VISIBLE_DEVICES"), "PARTWHOLE_DEVICES"
    number = re.search(r"(\d+)$", name)
    if together == 1 or number is None or variable in os.environ:
        return
    devices = given.split(",") if given is not None else _devices()
    chosen = device_variables(int(number[1]), together, [device for device in devices if device])
    os.environ.update(chosen | {variable: "chosen"})


def device_variables(worker: int, together: int, devices: list[str]) -> dict[str, str]:
    """Return the variables by which workers of one machine share its GPUs in turn.

    Parameters
    ----------
    worker : int
        Number of the worker on its machine.
    together : int
        Number of workers there.
    devices : list of str
        Its GPUs, as CUDA_VISIBLE_DEVICES names them.

    Examples
    --------
    >>> device_variables(1, 2, ["0", "1"])
    {'CUDA_VISIBLE_DEVICES': '1'}
    >>> device_variables(2, 3, ["0", "1"])
    {'CUDA_VISIBLE_DEVICES': '0', 'XLA_PYTHON_CLIENT_MEM_FRACTION': '0.45'}
    """
    if not devices:
        return {}
    place = worker % together % len(devices)
    sharing = len(range(place, together, len(devices)))
    chosen = {"CUDA_VISIBLE_DEVICES": devices[place]}
    return chosen | (
        {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{0.9 / sharing:.2g}"} if sharing > 1 else {}
    )


def _devices() -> list[str]:
    return sorted(path.name[6:] for path in Path("/dev").glob("nvidia[0-9]*"))
