r"""The one-layer network :math:`f(x) = W x (+ b)`, solved exactly.

No concept waits for another: along every eigenvector of the second moment the error decays at the
rate of its eigenvalue. A bias ties the coordinates together through the mean of the inputs.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import overload

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number, Real
from partwhole.flows._inputs import grid
from partwhole.flows._path import Path
from partwhole.flows._population import Population
from partwhole.limits.penalties._inputs import together


@door
@dataclass(frozen=True, eq=False)
class OneLayer:
    r"""A one-layer linear network, which learns the identity or another linear map.

    .. math:: \dot W = C - W A, \qquad W(t) = W_* - (W_* - W_0)\, e^{-A t}, \qquad W_* A = C

    is gradient flow on :math:`L = \frac12 E |W x - y|^2`. With a bias, the same holds for
    :math:`[W\ b]`, the second moment M of (x, 1) and :math:`[C\ E[y]]`,

    .. math:: M = \begin{pmatrix} A & m \\ m^\top & 1 \end{pmatrix}.

    Parameters
    ----------
    w0 : float array, shape (e, d)
        Initial weights, any.
    second_moment : float array, shape (d, d)
        A = E[x x'], diagonal or not.
    cross_covariance : float array, shape (e, d), default None
        C = E[y x'], of targets y. None is the identity: y = x, C = A.
    mean : float array, shape (d,), keyword-only, default None
        m = E[x]. Given, the network has a bias.
    bias : float array, shape (e,), keyword-only, default None
        Its initial bias; 0 if not given.
    target_mean : float array, shape (e,), keyword-only, default None
        E[y]; for networks with a bias on a cross covariance, and only for them.

    Raises
    ------
    InputError
        For shapes that differ, a bias without a mean, a mean that is too large for the second
        moment, and a cross covariance along directions in which the inputs do not vary.

    Notes
    -----
    Yang et al. (ICLR 2025), theorem on the one-layer model, for the identity; its sum over
    concepts is extended here to probes that reach beyond them. The forms with a bias and with
    a cross covariance are derived here. A direction in which the inputs do not vary keeps its
    initial weights.

    Examples
    --------
    >>> from partwhole.flows import flow
    >>> path = flow(OneLayer(np.zeros((2, 2)), np.diag([0.5, 2.0])), np.array([1.0]))
    >>> path.outputs(np.array([1.0, 2.0])).round(4)
    array([[0.3935, 1.7293]])
    """

    w0: Float[np.ndarray, "e d"]
    second_moment: Float[np.ndarray, "d d"]
    cross_covariance: Float[np.ndarray, "e d"] | None = None
    _: KW_ONLY
    mean: Float[np.ndarray, " d"] | None = None
    bias: Float[np.ndarray, " e"] | None = None
    target_mean: Float[np.ndarray, " e"] | None = None

    def __post_init__(self) -> None:
        require(
            self.bias is None or self.mean is not None,
            "a bias learns through the mean of the inputs",
            "a bias and no mean",
            "pass mean=identity.mean()",
        )
        require(
            self.cross_covariance is not None or self.w0.shape[0] == self.w0.shape[1],
            "a network that learns the identity has as many outputs as inputs",
            f"initial weights of shape {self.w0.shape}",
            "pass square weights, or the cross covariance E[y x'] of other targets",
        )
        _ = self.population

    @cached_property
    def population(self) -> Population:
        """The moments of inputs and targets, and the best linear map."""
        return Population.read(
            self.second_moment, self.cross_covariance, self.mean, self.target_mean
        )

    def losses(self, states: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the training loss of each state; see `Path.losses`."""
        return self.population.losses(states, offsets)

    def best_answers(self, probes: np.ndarray) -> np.ndarray:
        """Return what the best linear map answers to each probe."""
        return self.population.best_answers(probes)


def follow_one_layer(system: OneLayer, times: Float[np.ndarray, " T"]) -> Path:
    """Return the path of a one-layer network, in gradient time."""
    times = grid(times)
    population, d = system.population, system.population.n_inputs
    best = population.best
    if not population.has_bias:
        gap = _decay(system.w0 - best, population.moment, times)
        return Path(times, best + gap, "gradient", system=system)
    bias = np.zeros(len(best)) if system.bias is None else system.bias
    gap = _decay(np.column_stack([system.w0, bias]) - best, population.moment, times)
    offsets = best[:, d] + gap[..., d]
    return Path(times, best[:, :d] + gap[..., :d], "gradient", offsets=offsets, system=system)


def _decay(
    gap: Float[np.ndarray, "e m"], a: Float[np.ndarray, "m m"], times: Float[np.ndarray, " T"]
) -> Float[np.ndarray, "T e m"]:
    rates, basis = np.linalg.eigh(a)
    # Rounding must not make a direction without a signal grow.
    remainder = np.exp(-np.outer(times, np.maximum(rates, 0.0)))
    return ((gap @ basis) * remainder[:, None, :]) @ basis.T


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
        times = np.where(needed == 0, 0.0, needed / a)
    return float(times) if times.ndim == 0 else times
