"""Memory that a training took."""

from __future__ import annotations

import sys
from typing import NamedTuple

import jax


class PeakMemory(NamedTuple):
    """Most memory in use, in bytes, since the process or the device began.

    Parameters
    ----------
    process : int or None
        Resident memory of this process, with all that it did before; None where the system does
        not say it.
    device : int or None
        Memory of the device that trains; None on a CPU, whose memory is that of the process, and
        where the device does not say it.
    """

    process: int | None
    device: int | None


def peak_memory() -> PeakMemory:
    """Return the most memory that this process, and its device, have used."""
    try:
        import resource
    except ImportError:  # not a Unix
        process = None
    else:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        process = int(most) * (1 if sys.platform == "darwin" else 1024)
    device = jax.local_devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    return PeakMemory(process, (stats or {}).get("peak_bytes_in_use"))
