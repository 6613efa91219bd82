r"""The one-layer network :math:`f(x) = W x (+ b)`, solved exactly.

No concept waits for another: along every eigenvector of the second moment the error decays at the
rate of its eigenvalue. A bias ties the coordinates together through the mean of the inputs.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number, Real
from partwhole.flows._inputs import SYMMETRY, grid, moment
from partwhole.flows._path import Path
from partwhole.limits.penalties._inputs import together


@door
def one_layer_flow(
    w0: Float[np.ndarray, "d d"],
    second_moment: Float[np.ndarray, "d d"],
    times: Float[np.ndarray, " T"],
    *,
    mean: Float[np.ndarray, " d"] | None = None,
    bias: Float[np.ndarray, " d"] | None = None,
) -> Path:
    r"""Solve gradient flow of a one-layer linear network that learns the identity.

    .. math:: W(t) = I - (I - W_0) e^{-A t}

    With a bias, the same holds for :math:`[W\ b]` and the second moment of (x, 1),

    .. math::
        [W\ b](t) = [I\ 0] + ([W_0\ b_0] - [I\ 0])\, e^{-M t}, \qquad
        M = \begin{pmatrix} A & m \\ m^\top & 1 \end{pmatrix}.

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Initial weights, any.
    second_moment : float array, shape (d, d)
        A = E[x x'], diagonal or not.
    times : float array, shape (T,)
        Increasing, from 0 or later, in units of gradient flow on
        :math:`L = \frac12 E \|f(x) - x\|^2`.
    mean : float array, shape (d,), keyword-only, default None
        m = E[x]. Given, the network has a bias.
    bias : float array, shape (d,), keyword-only, default None
        Its initial bias; 0 if not given.

    Returns
    -------
    Path
        In gradient time, with offsets if there is a bias. A direction in which the inputs do
        not vary keeps its initial weights.

    Raises
    ------
    InputError
        For shapes that differ, times that do not increase, a bias without a mean, or a mean that
        is too large for the second moment.

    Notes
    -----
    Yang et al. (ICLR 2025), theorem on the one-layer model; its sum over concepts is extended
    here to probes that reach beyond them. The form with a bias is derived here.

    Examples
    --------
    >>> path = one_layer_flow(np.zeros((2, 2)), np.diag([0.5, 2.0]), np.array([1.0]))
    >>> path.outputs(np.array([1.0, 2.0])).round(4)
    array([[0.3935, 1.7293]])
    """
    d = len(w0)
    asked = grid(times)
    a = moment(second_moment, d)
    if mean is None:
        require(
            bias is None,
            "a bias learns through the mean of the inputs",
            "a bias and no mean",
            "pass mean=identity.mean()",
        )
        return Path(asked, np.eye(d) + _decay(w0 - np.eye(d), a, asked), "gradient")
    start = np.zeros(d) if bias is None else bias
    gap = _decay(np.column_stack([w0 - np.eye(d), start]), moment_with_constant(a, mean), asked)
    return Path(asked, np.eye(d) + gap[..., :d], "gradient", offsets=gap[..., d])


def moment_with_constant(a: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the second moment of (x, 1), once mean and second moment are seen to agree."""
    both = np.block([[a, mean[:, None]], [mean[None, :], np.ones((1, 1))]])
    largest = max(float(np.abs(a).max()), float(mean @ mean))
    require(
        np.linalg.eigvalsh(a - np.outer(mean, mean))[0] >= -SYMMETRY * largest,
        "the mean goes with the second moment: A - m m' has no negative eigenvalue",
        str(mean.tolist()),
        "pass E[x] and E[x x'] of the same inputs",
    )
    return both


def _decay(
    gap: Float[np.ndarray, "d e"], a: Float[np.ndarray, "e e"], times: Float[np.ndarray, " T"]
) -> Float[np.ndarray, "T d e"]:
    rates, basis = np.linalg.eigh(a)
    # Rounding must not make a direction without a signal grow.
    left = np.exp(-np.outer(times, np.maximum(rates, 0.0)))
    return ((gap @ basis) * left[:, None, :]) @ basis.T


@overload
def relaxation_time(signal: Real, fraction: Real) -> float: ...
@overload
def relaxation_time(signal: np.ndarray, fraction: Number) -> np.ndarray: ...
@door
def relaxation_time(signal: Number, fraction: Number) -> Number:
    r"""Return when a one-layer network that starts from 0 has learned a fraction of a concept.

    .. math:: t = -\ln(1 - q) / a

    Parameters
    ----------
    signal : float or float array
        a, the concept's entry in the second moment; at least 0.
    fraction : float or float array
        q, in [0, 1).

    Returns
    -------
    float or float array
        In gradient time; infinite for a concept without a signal.

    Raises
    ------
    InputError
        For a negative signal or a fraction out of range.

    Notes
    -----
    Follows from Yang et al. (ICLR 2025), theorem on the one-layer model.

    Examples
    --------
    >>> round(relaxation_time(0.5025, 0.9), 4)
    4.5823
    """
    a, q = together(signal, fraction)
    require(
        bool((a >= 0).all()),
        "a signal is at least 0",
        f"{a.min(initial=np.inf):g}",
        "pass E[x_k^2]",
    )
    require(
        bool(((q >= 0) & (q < 1)).all()),
        "a fraction lies in [0, 1), since the whole is never reached",
        f"{q.min(initial=np.inf):g}..{q.max(initial=-np.inf):g}" if q.ndim else f"{q:g}",
        "ask for 0.9, say",
    )
    needed = -np.log1p(-q)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(needed == 0, 0.0, needed / a)
    return float(found) if found.ndim == 0 else found
