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
        Memory of the device that trains, the most of several; None on a CPU, whose memory is that
        of the process, and where the device does not say it.
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
    accelerators = [device for device in jax.local_devices() if device.platform != "cpu"]
    stats = [device.memory_stats() or {} for device in accelerators]
    name = "peak_bytes_in_use"
    peaks = [of_device[name] for of_device in stats if name in of_device]
    return PeakMemory(process, max(peaks, default=None))
