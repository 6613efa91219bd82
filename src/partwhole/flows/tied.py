r"""The tied two-layer network :math:`f(x) = U U^\top x`, followed as a flow and in steps.

The factor U is what moves, so that W = UU' stays positive semidefinite whatever the step: on W
itself the boundary of the semidefinite matrices repels like :math:`e^{2at}`, and one rounding on
its wrong side ends in a divergence that no network has.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows._inputs import Power, factor, grid, moment
from partwhole.flows._integrate import integrate, padded
from partwhole.flows._path import PACE, FlowOutcome, Path
from partwhole.flows._population import quadratic
from partwhole.flows._precision import in_float64
from partwhole.flows.clocks import never_learned
from partwhole.flows.field import drive, require_stack


class PositivityWarning(UserWarning):
    """A matrix that a network can't have: no longer positive semidefinite."""


@door
@dataclass(frozen=True, eq=False)
class Tied:
    r"""A tied two-layer linear network, which learns the identity.

    .. math:: \dot U = c\,[A - \tfrac12 (A W + W A)]\,U, \qquad W = U U^\top

    with c = 1 in paper time and c = 2 for gradient flow. Any factor of the same initial W gives
    the same path.

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Initial input-output matrix, symmetric and positive semidefinite. With leading axes, many
        networks at once.
    second_moment : float array, shape (d, d)
        A = E[x x'], diagonal or not; of many networks one for all, or one for each.
    power : {1, 2}, default 1
        2 puts the square of A in its place, as the published matrix figures do.

    Raises
    ------
    InputError
        For an initial matrix that is not symmetric and positive semidefinite, and a second moment
        of another shape.

    Notes
    -----
    Yang et al. (ICLR 2025), section 4.2, whose equation is c = 1.

    Examples
    --------
    >>> from partwhole.flows import flow
    >>> w0 = 0.01 * np.array([[1, 0.5], [0.5, 1]])
    >>> path = flow(Tied(w0, np.diag([4.5025, 0.5025])), np.array([0.5, 5.0]))
    >>> path.states[0].round(5).tolist()
    [[0.47467, 0.03655], [0.03655, 0.01522]]
    >>> path.probe_losses(np.array([3.0, 1.0])).round(4)
    array([1.5678, 0.1071])
    """

    w0: Float[np.ndarray, "*batch d d"]
    second_moment: Float[np.ndarray, "*#batch d d"]
    power: Power = 1

    def __post_init__(self) -> None:
        _ = self.initial_factor, self.driving_moment

    @cached_property
    def initial_factor(self) -> Float[np.ndarray, "*batch d d"]:
        """U, with UU' = w0; a direction that is missing from w0 is a column of zeros."""
        return factor(self.w0)

    @cached_property
    def driving_moment(self) -> Float[np.ndarray, "*#batch d d"]:
        """A, or its square where `power` is 2."""
        require_stack(self.w0, self.second_moment)
        return moment(self.second_moment, self.w0.shape[-1], self.power)

    def losses(self, states: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        r"""Return :math:`\frac12 \mathrm{tr}[(W-I) A (W-I)]` of each state W."""
        return identity_losses(states, self.driving_moment)

    def best_answers(self, probes: np.ndarray) -> np.ndarray:
        """Return the probes: the network learns the identity."""
        return probes


@door(missing=("states",), empty=("states",), any_size=("states",))
def identity_losses(
    states: Float[np.ndarray, "*batch T d d"], second_moment: Float[np.ndarray, "*#batch d d"]
) -> Float[np.ndarray, "*batch T"]:
    r"""Return :math:`\frac12 \mathrm{tr}[(W-I) A (W-I)^\top]` of maps W that learn the identity.

    Parameters
    ----------
    states : float array, shape (T, d, d)
        W, such as a path's states.
    second_moment : float array, shape (d, d)
        A of the inputs; another than a path's own gives its loss on other inputs.

    Returns
    -------
    float array, shape (T,)

    Raises
    ------
    InputError
        For a second moment of another dimension than the states.

    Examples
    --------
    >>> identity_losses(np.zeros((1, 2, 2)), np.diag([4.0, 0.5]))
    array([2.25])
    """
    a = moment(second_moment, states.shape[-1])
    return quadratic(states - np.eye(states.shape[-1]), a if a.ndim == 2 else a[..., None, :, :])


@in_float64
def follow_tied(
    system: Tied,
    times: Float[np.ndarray, " T"],
    *,
    clock: Literal["paper", "gradient"] = "paper",
    rtol: Real = 1e-9,
    atol: Real = 1e-12,
    max_steps: int = 65_536,
) -> Path:
    """Return the path of tied networks."""
    times, u0 = grid(times), system.initial_factor
    batch, d = u0.shape[:-2], u0.shape[-1]
    a = np.broadcast_to(system.driving_moment, (*batch, d, d)).reshape(-1, d, d)
    reached, complete = _solve(
        u0.reshape(-1, d, d),
        a,
        on_device(PACE[clock] * padded(times)),
        on_device([rtol, atol], float),
        max_steps,
    )
    states = reached[:, -len(times) :].reshape(*batch, len(times), d, d)
    outcome = FlowOutcome.REACHED if complete.all() else FlowOutcome.MAX_STEPS
    return Path(times, states, clock, outcome, notes=_notes(u0, a, complete), system=system)


def descend_tied(
    system: Tied,
    steps: int,
    step_size: float,
    record: Int[np.ndarray, " T"],
    *,
    on: Literal["factor", "matrix"] = "factor",
) -> Path:
    """Return the path of a tied network in steps of paper time."""
    states, notes, outcome = _descent(system, steps, step_size, on)
    notes = never_learned(system.w0, system.driving_moment) + notes
    return Path(step_size * record, states[record], "paper", outcome, notes=notes, system=system)


def _notes(u0: np.ndarray, a: np.ndarray, complete: np.ndarray) -> tuple[str, ...]:
    """Note what the initial matrices lack, and which of several flows ran out of steps."""
    d = u0.shape[-1]
    starts = u0.reshape(-1, d, d)
    thin = np.flatnonzero((starts == 0).all(axis=1).any(axis=1))  # a column of zeros
    lacking = {int(i): never_learned(starts[i] @ starts[i].T, a[i]) for i in thin}
    if len(starts) == 1:
        return lacking.get(0, ())
    notes = []
    deficient = [i for i, note in lacking.items() if note]
    if deficient:
        concepts = lacking[deficient[0]][0].partition(": ")[2]
        notes.append(
            f"{len(deficient)} of {len(starts)} initial matrices lack rank, the first at index "
            f"{deficient[0]}: {concepts}"
        )
    if not complete.all():
        late = np.flatnonzero(~complete)
        count = f"{len(late)} of {len(complete)}"
        notes.append(f"{count} flows ran out of steps, the first at {late[0]}")
    return tuple(notes)


def _solve(
    u0: Float[np.ndarray, "n d d"],
    a: Float[np.ndarray, "n d d"],
    times: Float[Array, " T"],
    tolerances: Float[Array, " 2"],
    max_steps: int,
) -> tuple[Float[np.ndarray, "n T d d"], Bool[np.ndarray, " n"]]:
    if len(u0) == 1:  # twice as fast as a batch of one
        single = _single(on_device(u0[0]), on_device(a[0]), times, tolerances, max_steps)
        states, complete = (np.asarray(part)[None] for part in single)
        return states, complete
    states, complete = _batch(on_device(u0), on_device(a), times, tolerances, max_steps)
    return np.asarray(states), np.asarray(complete)


def _flow(
    u0: Float[Array, "d d"],
    a: Float[Array, "d d"],
    times: Float[Array, " T"],
    tolerances: Float[Array, " 2"],
    max_steps: int,
) -> tuple[Float[Array, "T d d"], Array]:
    # The largest signal, faster by what the field's second term adds where W starts large.
    pace = jnp.abs(a).sum(axis=-1).max() * (1.0 + 2.0 * (u0**2).sum())
    u, complete = integrate(
        lambda u, a: drive(u @ u.T, a) @ u, u0, a, times, pace, tolerances, max_steps
    )
    return u @ u.swapaxes(-1, -2), complete


_single = jax.jit(_flow, static_argnums=4)
_batch = jax.jit(jax.vmap(_flow, in_axes=(0, 0, None, None, None)), static_argnums=4)


@in_float64
def _descent(
    system: Tied, steps: int, step_size: float, on: Literal["factor", "matrix"]
) -> tuple[Float[np.ndarray, "T d d"], tuple[str, ...], FlowOutcome]:
    """Return all states of a descent, what to note about them, and how it ended."""
    start = on_device(system.initial_factor if on == "factor" else system.w0)
    states = np.asarray(
        _steps(start, on_device(system.driving_moment), jnp.asarray(step_size), steps, on)
    )
    finite = np.asarray(np.isfinite(states).all(axis=(1, 2)))
    stop = len(finite) if finite.all() else int(np.argmin(finite))
    lowest = np.linalg.eigvalsh(states[:stop])[:, 0]
    # A matrix that starts without full rank has eigenvalues of 0 that rounding may make negative.
    below = (on == "matrix") & (lowest < -1e-15 * np.abs(states[:stop]).max(axis=(1, 2)))
    notes: list[str] = []
    if below.any():
        step = int(np.argmax(below))
        notes.append(f"W is not positive semidefinite from update {step} on: {lowest[step]:.3g}")
        warnings.warn(
            f"W lost its positive semidefiniteness at update {step}, so what follows is an "
            "artefact of the step; follow the system by flow, or descend on the factor",
            PositivityWarning,
            stacklevel=6,
        )
    if not finite.all():
        notes.append(f"W is not finite from update {stop} on")
        return states, tuple(notes), FlowOutcome.DIVERGED
    outcome = FlowOutcome.NOT_POSITIVE if below.any() else FlowOutcome.REACHED
    return states, tuple(notes), outcome


def _descend(
    start: Float[Array, "d d"], a: Float[Array, "d d"], step_size: Array, steps: int, on: str
) -> Float[Array, "T d d"]:
    def on_factor(u: Array, _: None) -> tuple[Array, Array]:
        u = u + step_size * (drive(u @ u.T, a) @ u)
        return u, u @ u.T

    def on_matrix(w: Array, _: None) -> tuple[Array, Array]:
        push = drive(w, a) @ w
        w = w + step_size * (push + push.T)
        return w, w

    _, reached = jax.lax.scan(on_factor if on == "factor" else on_matrix, start, length=steps)
    first = start @ start.T if on == "factor" else start
    return jnp.concatenate([first[None], reached])


_steps = jax.jit(_descend, static_argnums=(3, 4))
