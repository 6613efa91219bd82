"""Runs on several devices of a machine at once, a run on each."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from partwhole.training.results import Trace


def on_devices(train: Callable[[int], Trace]) -> Callable[[int], Trace]:
    """Return a function that trains a run on a device that is free.

    It is called in as many threads as there are devices. Networks are returned on the first device,
    where those of all runs meet.
    """
    free: SimpleQueue[Any] = SimpleQueue()
    for device in jax.local_devices():
        free.put(device)

    def train_run(run: int) -> Trace:
        device = free.get()
        try:
            with jax.default_device(device):
                trace = train(run)
        finally:
            free.put(device)
        of_diffusion = trace.of_diffusion
        if of_diffusion is not None:
            of_diffusion = of_diffusion._replace(averaged=_returned(of_diffusion.averaged))
        return trace._replace(network=_returned(trace.network), of_diffusion=of_diffusion)

    return train_run


def here(tree: Any) -> Any:
    """Return arrays in the memory of the device that trains this run, where there are several."""
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return tree if device is None else jax.device_put(tree, device)


def _returned(network: Any) -> Any:
    return jax.tree.map(
        lambda leaf: jnp.asarray(np.asarray(leaf)) if isinstance(leaf, jax.Array) else leaf, network
    )
