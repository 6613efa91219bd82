"""The device that computes, and arrays of NumPy as JAX has them there."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def on_device(array: Any, dtype: Any = None) -> Array:
    """Return a copy as an array of JAX, of this type or of its own.

    NumPy copies, and converts the type. JAX compiles a conversion for each shape that it meets, a
    hundredth of a second each, unless it is told the type that an array has; and `jnp.zeros` and
    `jnp.full` likewise. Outside `in_float64`, types of 64 bits become those of 32.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # as JAX converts
        copy = np.array(array, dtype)
        kind = jax.dtypes.canonicalize_dtype(copy.dtype)
        return jnp.asarray(copy.astype(kind, copy=False), kind)


def has_accelerator() -> bool:
    """Return whether JAX computes on something other than a CPU.

    There convolutions run well in a compiled loop, which on a CPU makes them 25 times slower.
    """
    return jax.default_backend() != "cpu"
