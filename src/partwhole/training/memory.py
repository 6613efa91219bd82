"""Memory of a training of image networks or diffusion models, estimated before it starts.

A step holds parameters, gradient, update and the optimiser's state, and what the backward pass
reads again: the residuals of the loss, whose shapes are known without computing it. XLA fuses and
recomputes some of them: compiled steps took .5 to 1.3 of the estimate, U-Nets the least. Training
is refused where even half of it exceeds what is free.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from partwhole._checks import require

CERTAIN = 0.5  # the share of an estimate that a step takes at least
GIB = 2**30
_RESIDUALS: dict[Any, int] = {}  # bytes, by the kind of step


def size_of(tree: Any) -> int:
    """Return the bytes of all arrays of a tree, or of their shapes."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype")]
    arrays = [leaf for leaf in leaves if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)]
    return sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in arrays)


def step_memory(
    loss: Callable[..., Any], parameters: Any, inputs: Any, optimiser: Any, key: Any = None
) -> int:
    """Return the bytes of a step of gradient descent, by tracing it without computing anything.

    Parameters
    ----------
    loss : callable
        From parameters and inputs to a number.
    parameters : pytree of arrays
    inputs : pytree of jax.ShapeDtypeStruct
    optimiser : optax.GradientTransformation
    key : hashable, default None
        What the loss depends on beside the shapes of parameters and inputs: a trace takes .1 to
        .5 s, so it is kept for steps of one kind.
    """
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), parameters)
    leaves, tree = jax.tree.flatten((shapes, inputs))
    kinds = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
    kind = (kinds, str(tree), key)
    if kind not in _RESIDUALS:

        def backward(parameters: Any, inputs: Any) -> Any:
            return jax.vjp(lambda moved: loss(moved, inputs), parameters)[1]

        _RESIDUALS[kind] = size_of(jax.eval_shape(backward, shapes, inputs))
    state = size_of(jax.eval_shape(optimiser.init, shapes))
    return 3 * size_of(parameters) + state + _RESIDUALS[kind]


def free_memory() -> int | None:
    """Return the free bytes of the device that trains, or of this machine; None if unknown."""
    device = jax.local_devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0))
    if device.platform != "cpu":
        return None
    known = [free for free in (_of_machine(), _of_group()) if free is not None]
    return min(known) if known else None


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration):  # not Linux: all memory, of which some is taken
        names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
        return (
            int(np.prod([os.sysconf(name) for name in names])) if hasattr(os, "sysconf") else None
        )


def _of_group() -> int | None:
    """Return what the control group of a container leaves."""
    folder = Path("/sys/fs/cgroup")
    try:
        most, taken = ((folder / f"memory.{name}").read_text() for name in ("max", "current"))
        return int(most) - int(taken)
    except (OSError, ValueError):  # no such group, or no limit
        return None


def require_room(needed: int, kept: int, remedy: str) -> None:
    """Require that half of the memory of steps, and what is kept of them, is free.

    Parameters
    ----------
    needed : int
        The bytes of a step, estimated.
    kept : int
        The bytes of what is recorded, known.
    remedy : str
    """
    free = free_memory()
    require(
        free is None or CERTAIN * needed + kept <= free,
        "a training fits into the memory that is free",
        f"an estimate of {(needed + kept) / GIB:.1f} GiB, of which at least "
        f"{(CERTAIN * needed + kept) / GIB:.1f} are certain, for {(free or 0) / GIB:.1f}",
        remedy,
    )
