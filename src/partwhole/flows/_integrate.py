"""The one integrator of all flows."""

from __future__ import annotations

from collections.abc import Callable

import diffrax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def integrate(
    velocity: Callable[[Array, Array], Array],
    start: Float[Array, "*y"],
    constants: Array,
    times: Float[Array, " T"],
    tolerances: Float[Array, " 2"],
    max_steps: int,
) -> tuple[Float[Array, "T *y"], Bool[Array, ""]]:
    """Follow a velocity of (state, constants) from time 0, by an adaptive explicit method.

    Returns the states at `times`, NaN where the steps ran out before, and whether they sufficed.
    Tolerances are relative and absolute. Of order 5: these flows are stiff only where signals
    differ greatly in size, and then small steps are cheap.
    """
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda _, state, constants: velocity(state, constants)),
        diffrax.Tsit5(),
        t0=jnp.zeros_like(times[-1]),
        t1=times[-1],
        dt0=None,
        y0=start,
        args=constants,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=tolerances[0], atol=tolerances[1]),
        max_steps=max_steps,
        throw=False,
    )
    reached = jnp.asarray(found.ys)  # infinite where the steps ran out
    states = jnp.where(jnp.isfinite(reached), reached, jnp.nan)
    return states, found.result == diffrax.RESULTS.successful
