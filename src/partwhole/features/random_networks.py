r"""Random networks of infinite width: how depth changes the saliences.

With Gaussian weights, the similarity of two inputs after a layer is a function k of their
similarity before it (both of unit norm). So inputs whose similarity depends on their overlap
alone keep that property in every layer (Lippl & Stachenfeld, ICLR 2025, proposition 4.1).

Everything is computed in :math:`\delta = 1 - x`, the distance from identity, so that deep
layers, where all similarities approach 1, lose no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.subsets import moebius


@dataclass(frozen=True)
class DualActivation:
    r"""Hold a nonlinearity's dual map, normalised to k(1) = 1, in :math:`\delta = 1 - x`.

    Parameters
    ----------
    name : str
    fall : callable, (n,) -> (n,)
        :math:`1 - k(1 - \delta)`.
    slope : callable, (n,) -> (n,)
        :math:`k'(1 - \delta)`, the dual map of the nonlinearity's derivative.
    """

    name: str
    fall: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]

    @property
    def chi(self) -> float:
        """Return the slope k'(1) at identity, which decides what depth does.

        Above 1 saliences approach the lookup table exponentially in depth, at 1 as 1/depth;
        below 1 they reach a plateau.
        """
        return float(self.slope(np.zeros(1))[0])


def _angle(delta: np.ndarray) -> np.ndarray:
    return 2.0 * np.arcsin(np.sqrt(delta / 2.0))


def _relu_fall(delta: np.ndarray) -> np.ndarray:
    theta = _angle(delta)
    return delta - (np.sin(theta) - theta * (1.0 - delta)) / np.pi


def _relu_slope(delta: np.ndarray) -> np.ndarray:
    return 1.0 - _angle(delta) / np.pi


def relu() -> DualActivation:
    r"""Return ReLU: :math:`k = (\sin\theta + (\pi - \theta)\cos\theta)/\pi`, chi = 1."""
    return DualActivation("relu", _relu_fall, _relu_slope)


def leaky_relu(slope: Real = 0.1) -> DualActivation:
    r"""Return leaky ReLU: ReLU's map with weight :math:`(1-a)^2/(1+a^2)`, identity with the rest.

    Parameters
    ----------
    slope : float, default 0.1
        Slope a on the negative side.
    """
    bend = (1.0 - slope) ** 2 / (1.0 + slope**2)
    return DualActivation(
        "leaky_relu",
        lambda delta: bend * _relu_fall(delta) + (1.0 - bend) * delta,
        lambda delta: bend * _relu_slope(delta) + (1.0 - bend),
    )


def step() -> DualActivation:
    r"""Return the step function: :math:`k = (\pi - \theta)/\pi`; chi is infinite."""

    def slope(delta: np.ndarray) -> np.ndarray:
        sine = np.sin(_angle(delta))
        return np.divide(1.0, np.pi * sine, out=np.full_like(sine, np.inf), where=sine > 0)

    return DualActivation("step", lambda delta: _angle(delta) / np.pi, slope)


def rectified_quadratic() -> DualActivation:
    r"""Return the squared ReLU, chi = 4/3.

    :math:`k = (3 \sin\theta\cos\theta + (\pi-\theta)(1 + 2\cos^2\theta))/(3\pi)`.
    """

    def fall(delta: np.ndarray) -> np.ndarray:
        theta, cosine = _angle(delta), 1.0 - delta
        rest = 3.0 * np.sin(theta) * cosine - theta * (1.0 + 2.0 * cosine**2)
        return (2.0 * np.pi * delta * (2.0 - delta) - rest) / (3.0 * np.pi)

    return DualActivation(
        "rectified_quadratic", fall, lambda delta: 4.0 / 3.0 * (1.0 - _relu_fall(delta))
    )


def gaussian(sharpness: Real = 1.0) -> DualActivation:
    r"""Return the Gaussian :math:`\exp(-A x^2)`: :math:`k \propto ((2A+1)^2 - (2Ax)^2)^{-1/2}`.

    Parameters
    ----------
    sharpness : float, default 1
        A. At A = 1, chi = 4/5.
    """
    ratio = 4.0 * sharpness**2 / (4.0 * sharpness + 1.0)

    def log_growth(delta: np.ndarray) -> np.ndarray:
        return np.log1p(ratio * delta * (2.0 - delta))

    return DualActivation(
        "gaussian",
        lambda delta: -np.expm1(-0.5 * log_growth(delta)),
        lambda delta: ratio * (1.0 - delta) * np.exp(-1.5 * log_growth(delta)),
    )


NONLINEARITIES: dict[str, Callable[[], DualActivation]] = {
    "relu": relu,
    "leaky_relu": leaky_relu,
    "step": step,
    "rectified_quadratic": rectified_quadratic,
    "gaussian": gaussian,
}


def _resolve(nonlinearity: str | DualActivation) -> DualActivation:
    if isinstance(nonlinearity, DualActivation):
        return nonlinearity
    require(
        nonlinearity in NONLINEARITIES,
        f"nonlinearity is one of {', '.join(NONLINEARITIES)}",
        repr(nonlinearity),
        "or pass a DualActivation",
    )
    return NONLINEARITIES[nonlinearity]()


def _input_distances(kappa: Float[np.ndarray, " sets"]) -> Float[np.ndarray, " sets"]:
    require(
        bool(np.all(np.abs(kappa) <= kappa[-1] * (1.0 + 1e-12))),
        "no two inputs can be more similar than identical ones",
        f"{np.abs(kappa).max():g} beside {kappa[-1]:g}",
        "check the inputs' similarities",
    )
    return np.maximum(0.0, 1.0 - kappa / kappa[-1])


def network_sigma(
    nonlinearity: str | DualActivation,
    depth: int,
    kind: str,
    input_kappa: Float[np.ndarray, " sets"],
) -> Float[np.ndarray, " sets"]:
    r"""Compute the Möbius coefficients of a random network's kernel.

    With the normalised dual map k, layer by layer for every overlap set,

    .. math:: \Sigma_{l+1} = k(\Sigma_l), \qquad
              \Theta_{l+1} = \Theta_l\, k'(\Sigma_l) + k(\Sigma_l), \qquad
              \Theta_0 = \Sigma_0,

    for the layer's similarity and the neural tangent kernel, without biases and renormalised
    to unit norm in every layer.

    Parameters
    ----------
    nonlinearity, depth, kind
        As in `OverlapKernel.random_network`.
    input_kappa : float array, shape (2**C,)
        Similarity of the inputs for each overlap set, by bitmask.

    Returns
    -------
    float array, shape (2**C,)

    Raises
    ------
    InputError
        For an unknown nonlinearity or kind, a negative depth, or the tangent kernel of a
        nonlinearity without a derivative (step).

    Examples
    --------
    >>> sigma = network_sigma("relu", 1, "ntk", np.array([0.0, 0.5, 0.5, 1.0]))
    >>> round(float(sigma[1] / sigma[1:].sum()), 6)
    0.371068
    """
    dual = _resolve(nonlinearity)
    require(depth >= 0, "depth counts hidden layers from 0", depth, "pass a depth of at least 0")
    require(kind in ("nngp", "ntk"), "kind is 'nngp' or 'ntk'", repr(kind), "choose one of them")
    require(
        kind == "nngp" or bool(np.isfinite(dual.chi)),
        "a neural tangent kernel needs a nonlinearity with a derivative",
        f"{dual.name}",
        "use kind='nngp', or another nonlinearity",
    )
    delta = _input_distances(input_kappa)
    tangent = 1.0 - delta
    for _ in range(depth):
        slope = dual.slope(delta) if kind == "ntk" else None
        delta = dual.fall(delta)
        if slope is not None:
            tangent = tangent * slope + (1.0 - delta)
    if kind == "ntk":
        return moebius(tangent)
    sigma = moebius(-delta)
    sigma[0] += 1.0
    return sigma


def deep_sigma(
    nonlinearity: str | DualActivation, input_kappa: Float[np.ndarray, " sets"]
) -> Float[np.ndarray, " sets"]:
    r"""Compute the saliences that a random network's layers approach with depth.

    When the slope k'(1) is at least 1 that is the lookup table: only the full conjunction is
    salient. Below 1 distances shrink as :math:`\delta_O \to \chi^l h(\kappa_O)` with Koenigs'
    function h, so saliences approach a plateau; derived here.

    Parameters
    ----------
    nonlinearity : str or DualActivation
    input_kappa : float array, shape (2**C,)
        Similarity of the inputs for each overlap set, by bitmask.

    Returns
    -------
    float array, shape (2**C,)
        Saliences by bitmask, 0 for the empty set.

    Examples
    --------
    >>> deep_sigma("gaussian", np.array([0.0, 0.5, 0.5, 1.0])).round(4).tolist()
    [0.0, 0.0625, 0.0625, 0.875]
    """
    dual = _resolve(nonlinearity)
    delta = _input_distances(input_kappa)
    if dual.chi >= 1.0:
        sigma = np.zeros_like(delta)
        sigma[-1] = 1.0
        return sigma
    # The ratios still change by about the largest distance, so stop below rounding.
    while delta.max() > 1e-18:
        delta = dual.fall(delta)
    return moebius(1.0 - delta / delta[0])
