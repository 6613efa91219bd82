r"""Training of the tied two-layer network :math:`f(x) = U U^\top x`, as a flow and in steps.

The factor U is what moves, so that W = UU' stays positive semidefinite whatever the step: on W
itself the boundary of the semidefinite matrices repels like :math:`e^{2at}`, and one rounding on
its wrong side ends in a divergence that no network has.
"""

from __future__ import annotations

import warnings
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows._inputs import factor, grid, moment
from partwhole.flows._integrate import integrate, padded
from partwhole.flows._path import PACE, Outcome, Path
from partwhole.flows._precision import in_float64
from partwhole.flows.clocks import never_learned
from partwhole.flows.field import drive, require_stack


class PositivityWarning(UserWarning):
    """A matrix that a network can't have: no longer positive semidefinite."""


@door
@in_float64
def tied_flow(
    w0: Float[np.ndarray, "*batch d d"],
    second_moment: Float[np.ndarray, "*#batch d d"],
    times: Float[np.ndarray, " T"],
    *,
    clock: Literal["paper", "gradient"] = "paper",
    power: int = 1,
    rtol: Real = 1e-9,
    atol: Real = 1e-12,
    max_steps: int = 65_536,
) -> Path:
    r"""Integrate the training of a tied two-layer network from an initial matrix.

    .. math:: \dot U = c\,[A - \tfrac12 (A W + W A)]\,U, \qquad W = U U^\top

    with c = 1 in paper time and c = 2 for gradient flow. Any factor of the same initial W gives
    the same path.

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Initial input-output matrix, symmetric and positive semidefinite. With leading axes, many
        flows at once.
    second_moment : float array, shape (d, d)
        A = E[x x'].
    times : float array, shape (T,)
        Increasing, from 0 or later, in units of `clock`. Stages are spaced logarithmically: a
        geometric grid shows them best.
    clock : {"paper", "gradient"}, keyword-only, default "paper"
    power : {1, 2}, keyword-only, default 1
        2 puts the square of A in its place, as the published matrix figures do.
    rtol, atol : float, keyword-only, defaults 1e-9 and 1e-12
        Tolerances on U; `atol` is less in proportion for starts whose largest entry is below 1e-3.
    max_steps : int, keyword-only, default 65536

    Returns
    -------
    Path
        Its notes name the concepts that are never learned, if the initial matrix lacks rank.

    Raises
    ------
    InputError
        For an initial matrix that is not symmetric and positive semidefinite, a second moment of
        another shape, or times that do not increase from 0.

    Notes
    -----
    Yang et al. (ICLR 2025), section 4.2, whose equation is c = 1. An adaptive explicit method of
    order 5 is used.

    Examples
    --------
    >>> w0 = 0.01 * np.array([[1, 0.5], [0.5, 1]])
    >>> path = tied_flow(w0, np.diag([4.5025, 0.5025]), np.array([0.5, 5.0]))
    >>> path.states[0].round(5).tolist()
    [[0.47467, 0.03655], [0.03655, 0.01522]]
    >>> path.loss(np.array([3.0, 1.0])).round(4)
    array([1.5678, 0.1071])
    """
    require(rtol > 0 and atol > 0, "rtol and atol are positive", f"{rtol}, {atol}", "use 1e-9")
    whole("max_steps", max_steps, 1, "leave it out, or pass more")
    asked = grid(times)
    u0 = factor(w0)
    batch, d = u0.shape[:-2], u0.shape[-1]
    require_stack(w0, second_moment)
    a = np.broadcast_to(moment(second_moment, d, power), (*batch, d, d)).reshape(-1, d, d)
    found, done = _solve(
        jnp.asarray(u0.reshape(-1, d, d)),
        jnp.asarray(a),
        jnp.asarray(PACE[clock] * padded(asked)),
        jnp.asarray([rtol, atol], dtype=float),
        max_steps,
    )
    states = np.asarray(found)[:, -len(asked) :].reshape(*batch, len(asked), d, d)
    outcome = Outcome.REACHED if bool(np.asarray(done).all()) else Outcome.MAX_STEPS
    return Path(asked, states, clock, outcome, notes=_notes(u0, a, np.asarray(done)))


def _notes(u0: np.ndarray, a: np.ndarray, done: np.ndarray) -> tuple[str, ...]:
    """Say what the initial matrices lack, and which of several flows ran out of steps."""
    d = u0.shape[-1]
    starts = u0.reshape(-1, d, d)
    thin = np.flatnonzero((starts == 0).all(axis=1).any(axis=1))  # a column of zeros
    lacking = {int(i): never_learned(starts[i] @ starts[i].T, a[i]) for i in thin}
    if len(starts) == 1:
        return lacking.get(0, ())
    notes = []
    short = [i for i, each in lacking.items() if each]
    if short:
        what = lacking[short[0]][0].partition(": ")[2]
        notes.append(
            f"{len(short)} of {len(starts)} initial matrices lack rank, the first at index "
            f"{short[0]}: {what}"
        )
    if not done.all():
        late = np.flatnonzero(~done)
        notes.append(f"{len(late)} of {len(done)} flows ran out of steps, the first at {late[0]}")
    return tuple(notes)


def _solve(
    u0: Float[Array, "n d d"],
    a: Float[Array, "n d d"],
    times: Float[Array, " T"],
    tolerances: Float[Array, " 2"],
    max_steps: int,
) -> tuple[Float[Array, "n T d d"], Array]:
    if len(u0) == 1:  # twice as fast as a batch of one
        states, done = _one(u0[0], a[0], times, tolerances, max_steps)
        return states[None], done[None]
    return _many(u0, a, times, tolerances, max_steps)


def _flow(
    u0: Float[Array, "d d"],
    a: Float[Array, "d d"],
    times: Float[Array, " T"],
    tolerances: Float[Array, " 2"],
    max_steps: int,
) -> tuple[Float[Array, "T d d"], Array]:
    # The largest signal, faster by what the field's second term adds where W starts large.
    pace = jnp.abs(a).sum(axis=-1).max() * (1.0 + 2.0 * (u0**2).sum())
    u, done = integrate(
        lambda u, a: drive(u @ u.T, a) @ u, u0, a, times, pace, tolerances, max_steps
    )
    return u @ u.swapaxes(-1, -2), done


_one = jax.jit(_flow, static_argnums=4)
_many = jax.jit(jax.vmap(_flow, in_axes=(0, 0, None, None, None)), static_argnums=4)


@door
def stability_limit(second_moment: Float[np.ndarray, "d d"], power: int = 1) -> float:
    r"""Return the largest step of `tied_descent` at which the learned state is stable.

    Near W = I a deviation decays at rates :math:`a_i + a_j`, so steps must stay under
    :math:`1 / a_{\max}` in paper time.

    Parameters
    ----------
    second_moment : float array, shape (d, d)
    power : {1, 2}, default 1

    Returns
    -------
    float
        In paper time.

    Raises
    ------
    InputError
        For a second moment that is none.

    Notes
    -----
    Derived here, by linearising the field at W = I.

    Examples
    --------
    >>> stability_limit(np.diag([4.0, 0.5]))
    0.25
    """
    a = moment(second_moment, len(second_moment), power)
    return float(1.0 / max(np.linalg.eigvalsh(a)[-1], 1e-300))


@door
@in_float64
def tied_descent(
    w0: Float[np.ndarray, "d d"],
    second_moment: Float[np.ndarray, "d d"],
    *,
    steps: int,
    step_size: Real,
    on: Literal["factor", "matrix"] = "factor",
    power: int = 1,
) -> Path:
    r"""Train a tied two-layer network in steps of paper time.

    On the factor this is gradient descent, :math:`U \leftarrow U - \tfrac{\eta}{2} \nabla_U L`.
    On the matrix it is the published recurrence :math:`W \leftarrow W + \eta V(W)`, which no
    network follows: each step takes :math:`\eta^2 X W X` too much away, so that W can lose its
    positive semidefiniteness and then diverge. It is here to reproduce published figures.

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Symmetric, positive semidefinite.
    second_moment : float array, shape (d, d)
    steps : int, keyword-only
    step_size : float, keyword-only
        In paper time; below `stability_limit(second_moment, power)`.
    on : {"factor", "matrix"}, keyword-only, default "factor"
    power : {1, 2}, keyword-only, default 1

    Returns
    -------
    Path
        Of steps + 1 states in paper time, the first of them `w0`. Its outcome is `NOT_POSITIVE`
        or `DIVERGED` where the recurrence left what networks can do.

    Raises
    ------
    InputError
        As `tied_flow`, and for a step size at or beyond the stability limit.

    Warns
    -----
    PositivityWarning
        When W lost its positive semidefiniteness, with the step at which it did.

    Notes
    -----
    Yang et al. (ICLR 2025), appendix D, for the recurrence; what it lacks is derived here.

    Examples
    --------
    >>> w0 = 0.01 * np.array([[1, 0.5], [0.5, 1]])
    >>> path = tied_descent(w0, np.diag([4.5, 0.5]), steps=400, step_size=0.01)
    >>> len(path.times), path.states[-1][0, 0].round(4)
    (401, np.float64(1.0))
    """
    whole("steps", steps, 1, "ask for one or more")
    u0 = factor(w0)
    a = moment(second_moment, len(u0), power)
    limit = stability_limit(a)
    require(
        0 < step_size < limit,
        f"a step size lies between 0 and the stability limit 1/max(a) = {limit:.4g}",
        f"{step_size:g}",
        "take a smaller step",
    )
    start = jnp.asarray(u0 if on == "factor" else w0)
    states = np.asarray(_steps(start, jnp.asarray(a), jnp.asarray(float(step_size)), steps, on))
    times = float(step_size) * np.arange(steps + 1)
    return _watched(Path(times, states, "paper", notes=never_learned(w0, a)), on)


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

    _, found = jax.lax.scan(on_factor if on == "factor" else on_matrix, start, length=steps)
    first = start @ start.T if on == "factor" else start
    return jnp.concatenate([first[None], found])


_steps = jax.jit(_descend, static_argnums=(3, 4))


def _watched(path: Path, on: str) -> Path:
    """Say where a recurrence left all numbers or, on W, the positive semidefinite matrices."""
    finite = np.asarray(np.isfinite(path.states).all(axis=(1, 2)))
    stop = len(finite) if finite.all() else int(np.argmin(finite))
    least = np.linalg.eigvalsh(path.states[:stop])[:, 0]
    # A matrix that starts without full rank has eigenvalues of 0 that rounding may make negative.
    below = (on == "matrix") & (least < -1e-15 * np.abs(path.states[:stop]).max(axis=(1, 2)))
    if not below.any() and finite.all():
        return path
    told = list(path.notes)
    if below.any():
        step = int(np.argmax(below))
        told.append(f"W is not positive semidefinite from update {step} on: {least[step]:.3g}")
        warnings.warn(
            f"W lost its positive semidefiniteness at update {step}, so what follows is an "
            "artefact of the step; integrate the factor with tied_flow",
            PositivityWarning,
            stacklevel=5,
        )
    if not finite.all():
        told.append(f"W is not finite from update {stop} on")
    outcome = Outcome.NOT_POSITIVE if finite.all() else Outcome.DIVERGED
    return Path(path.times, path.states, path.clock, outcome, notes=tuple(told))
