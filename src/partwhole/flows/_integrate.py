"""The one integrator of all flows."""

from __future__ import annotations

from collections.abc import Callable

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped

FIRST_STEP = 1e-2
SMALL = 1e-3  # largest entry of a start: an absolute tolerance is for those that are not smaller
FEWEST = 16  # records for which a path is compiled


def integrate(
    velocity: Callable[[Array, Array], Array],
    start: Float[Array, "*y"],
    constants: Array,
    times: Float[Array, " T"],
    pace: Array,
    tolerances: Float[Array, " 2"],
    max_steps: int,
) -> tuple[Float[Array, "T *y"], Bool[Array, ""]]:
    """Follow a velocity of (state, constants) from time 0, by an adaptive explicit method.

    Returns the states at `times`, NaN where the steps ran out before, and whether they sufficed.
    Tolerances are relative and absolute, the latter in proportion to starts below `SMALL`. `pace`
    bounds the rates at which the flow starts: with the first step in its units, numbers in other
    units take the same steps. Of order 5: these flows are stiff only where signals differ greatly
    in size, and then small steps are cheap.
    """
    largest = [jnp.abs(leaf).max(initial=0.0) for leaf in jax.tree.leaves(start)]
    smallest = jnp.stack([jnp.where(size > 0, size, SMALL) for size in largest]).min()
    atol = tolerances[1] * jnp.minimum(1.0, smallest / SMALL)
    # No slope is taken through a flow: a loop that need not be reversed compiles in half the time.
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda _, state, constants: velocity(state, constants)),
        diffrax.Tsit5(),
        t0=jnp.zeros_like(times[-1]),
        t1=times[-1],
        dt0=FIRST_STEP / jnp.maximum(pace, 1.0 / jnp.finfo(times.dtype).max),
        y0=start,
        args=constants,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=tolerances[0], atol=atol, norm=_size),
        max_steps=max_steps,
        throw=False,
        adjoint=diffrax.ForwardMode(),
    )
    reached = jnp.asarray(solution.ys)  # infinite where the steps ran out
    states = jnp.where(jnp.isfinite(reached), reached, jnp.nan)
    return states, solution.result == diffrax.RESULTS.successful


def padded(records: Shaped[np.ndarray, " T"]) -> Shaped[np.ndarray, " P"]:
    """Return times or steps with zeros before them, up to a power of two.

    A path is compiled, for seconds, for each number of records; so few numbers are ever used. The
    records of the caller are the last T of the result. (Zeros at the end would be as good,
    but many flows at once, which end after different numbers of steps, would wait for one
    another.)
    """
    size = max(FEWEST, 1 << (len(records) - 1).bit_length())
    return np.pad(records, (size - len(records), 0))


def _size(error: Array) -> Array:
    """Return the root mean square; infinity where a step overflowed, so that it is made smaller.

    Of NaN the controller would make a step of NaN, and never move again.
    """
    size = jnp.sqrt(jnp.mean(error**2))
    return jnp.where(jnp.isnan(size), jnp.inf, size)
