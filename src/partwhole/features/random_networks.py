r"""Random networks of infinite width: how depth changes the saliences.

With Gaussian weights, the similarity of two inputs after a layer is a function k of their
similarity before it (both of unit norm). So inputs whose similarity depends on their overlap
alone keep that property in every layer (Lippl & Stachenfeld, ICLR 2025, proposition 4.1).

Everything is computed in distances from identity, :math:`\delta = 1 - x`, so that deep layers,
where all similarities approach 1, lose no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, expm1, log
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index, Real
from partwhole.features.subsets import moebius

Kind = Literal["nngp", "ntk"]

# Below this distance k(1 - d) = 1 - chi d to rounding, even where the next term is d**1.5.
LINEAR = 1e-40
# Greatest similarity of identical inputs; their lead over others is at least 1/HUGE of it.
HUGE = 1e100
# Koenigs' function: layers until the expansion at identity takes over, and their greatest number.
KOENIGS_DISTANCE = 1e-18
KOENIGS_LAYERS = 100_000


@door
@dataclass(frozen=True)
class DualActivation:
    r"""Nonlinearity's dual map, normalised to k(1) = 1, in :math:`\delta = 1 - x`.

    Parameters
    ----------
    name : str
    fall : callable, (n,) -> (n,)
        :math:`1 - k(1 - \delta)`.
    slope : callable, (n,) -> (n,)
        :math:`k'(1 - \delta)`, the dual map of the nonlinearity's derivative.
    slope_fall : callable, (n,) -> (n,), optional
        :math:`k'(1) - k'(1 - \delta)`, by default the difference of two slopes. Tangent
        kernels whose similarities all approach 1 (chi below 1) need it free of cancellation.
    """

    name: str
    fall: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    slope_fall: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def chi(self) -> float:
        """Return the slope k'(1) at identity, which decides what depth does.

        Above 1 saliences approach the lookup table exponentially in depth, at 1 as 1/depth;
        below 1 they reach a plateau.
        """
        return float(self.slope(np.zeros(1))[0])

    @door
    def flattening(self, delta: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the slope at identity minus the slope at this distance."""
        return self.chi - self.slope(delta) if self.slope_fall is None else self.slope_fall(delta)


def _angle(delta: np.ndarray) -> np.ndarray:
    return 2.0 * np.arcsin(np.sqrt(delta / 2.0))


def _relu_fall(delta: np.ndarray) -> np.ndarray:
    theta = _angle(delta)
    return delta - (np.sin(theta) - theta * (1.0 - delta)) / np.pi


def _relu_slope(delta: np.ndarray) -> np.ndarray:
    return 1.0 - _angle(delta) / np.pi


def relu() -> DualActivation:
    r"""Return ReLU: :math:`k = (\sin\theta + (\pi - \theta)\cos\theta)/\pi`, chi = 1."""
    return DualActivation("relu", _relu_fall, _relu_slope, lambda delta: _angle(delta) / np.pi)


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
        lambda delta: bend * _angle(delta) / np.pi,
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
        remainder = 3.0 * np.sin(theta) * cosine - theta * (1.0 + 2.0 * cosine**2)
        return (2.0 * np.pi * delta * (2.0 - delta) - remainder) / (3.0 * np.pi)

    return DualActivation(
        "rectified_quadratic",
        fall,
        lambda delta: 4.0 / 3.0 * (1.0 - _relu_fall(delta)),
        lambda delta: 4.0 / 3.0 * _relu_fall(delta),
    )


def gaussian(sharpness: Real = 1.0) -> DualActivation:
    r"""Return the Gaussian :math:`\exp(-A x^2)`: :math:`k \propto ((2A+1)^2 - (2Ax)^2)^{-1/2}`.

    Parameters
    ----------
    sharpness : float, default 1
        A, above 0; chi = 4A²/(4A + 1), so 4/5 at A = 1 and 1 at A = (1 + √2)/2.
    """
    require(sharpness > 0, "sharpness is above 0", f"{sharpness:g}", "at 0 the layer is constant")
    ratio = 4.0 * sharpness**2 / (4.0 * sharpness + 1.0)

    def log_growth(delta: np.ndarray) -> np.ndarray:
        return np.log1p(ratio * delta * (2.0 - delta))

    def slope_fall(delta: np.ndarray) -> np.ndarray:
        steep = -1.5 * log_growth(delta)
        return ratio * (delta * np.exp(steep) - np.expm1(steep))

    return DualActivation(
        "gaussian",
        lambda delta: -np.expm1(-0.5 * log_growth(delta)),
        lambda delta: ratio * (1.0 - delta) * np.exp(-1.5 * log_growth(delta)),
        slope_fall,
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
        bool(kappa[-1] > 0 and np.all(np.abs(kappa) <= kappa[-1] * (1.0 + 1e-12))),
        "no two inputs can be more similar than identical ones",
        f"{np.abs(kappa).max():g} beside {kappa[-1]:g}",
        "check the inputs' similarities",
    )
    delta = np.clip(1.0 - kappa / kappa[-1], 0.0, 2.0)
    # What rounding leaves between equal inputs must not grow through the layers.
    return np.where(delta < 1e-14, 0.0, delta)


@door
def network_sigma(
    nonlinearity: str | DualActivation,
    depth: Index,
    kind: Kind,
    input_kappa: Float[np.ndarray, " sets"],
) -> Float[np.ndarray, " sets"]:
    r"""Return the Möbius coefficients of a random network's kernel.

    With the normalised dual map k, layer by layer for every overlap set,

    .. math:: \Sigma_{l+1} = k(\Sigma_l), \qquad
              \Theta_{l+1} = \Theta_l\, k'(\Sigma_l) + k(\Sigma_l), \qquad
              \Theta_0 = \Sigma_0,

    for the layer's similarity and the neural tangent kernel, without biases and renormalised
    to unit norm in every layer. Carried are :math:`\delta = 1 - \Sigma` and the tangent
    kernel's share :math:`t = 1 - \Theta/\Theta(\text{all})` below identity,

    .. math:: t_{l+1} = \frac{\chi - k'(\Sigma_l) + t_l k'(\Sigma_l) + u_l \delta_{l+1}}
              {\chi + u_l}, \qquad u_{l+1} = \frac{u_l}{\chi + u_l}, \qquad
              u_l = 1/\Theta_l(\text{all}),

    so that no depth loses digits; derived here.

    Parameters
    ----------
    nonlinearity, depth, kind
        As in `OverlapKernel.random_network`.
    input_kappa : float array, shape (2**C,)
        Similarity of the inputs for each overlap set, by bitmask.

    Returns
    -------
    float array, shape (2**C,)
        In very deep layers identical inputs' similarity is held at 1e100 at most, and its lead
        over others at 1e-100 of it at least; saliences stay right.

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
    require(
        kind == "nngp" or bool(np.isfinite(dual.chi)),
        "a neural tangent kernel needs a nonlinearity with a derivative",
        f"{dual.name}",
        "use kind='nngp', or another nonlinearity",
    )
    delta = _input_distances(input_kappa)
    chi, scale = dual.chi, 1.0
    # Shares of the tangent kernel below identity, and 1 over its value there.
    tangent, inverse = delta, 1.0
    for layer in range(depth):
        if 0.0 < chi < 1.0 and delta.max() < LINEAR:
            remainder = depth - layer
            tangent, inverse = _linear_layers(dual, delta, tangent, inverse, remainder)
            scale = exp(remainder * log(chi))
            break
        below = dual.fall(delta)
        if kind == "ntk":
            slope = dual.slope(delta)
            tangent = dual.flattening(delta) + tangent * slope + inverse * below
            tangent /= chi + inverse
            inverse /= chi + inverse
        delta = below
    distance, identity = delta, 1.0
    if kind == "ntk":
        distance, identity = tangent, 1.0 / max(inverse, 1.0 / HUGE)
    if distance.any():
        scale = max(scale, 1.0 / (HUGE * distance.max()))
    sigma = identity * moebius(-scale * distance)
    sigma[0] += identity
    return sigma


def _linear_layers(
    dual: DualActivation, delta: np.ndarray, tangent: np.ndarray, inverse: float, layers: int
) -> tuple[np.ndarray, float]:
    r"""Return the tangent kernel of the next layer for a linear map, in units of chi**layers.

    With distances :math:`\chi^j \delta` and slopes :math:`\chi - \chi^j s`, the tangent
    kernel's distance D = t T from its value T at identity grows by
    :math:`T_j s/\chi + \delta` a layer in these units, and
    :math:`T_j = T_\infty + (T_0 - T_\infty)\chi^j`.
    """
    chi = dual.chi
    start, end = 1.0 / inverse, 1.0 / (1.0 - chi)
    fade = -expm1(layers * log(chi))
    total = end * layers + (start - end) * fade * end
    distance = tangent * start + dual.flattening(delta) / chi * total + layers * delta
    identity = end + (start - end) * (1.0 - fade)
    return distance / identity, 1.0 / identity


def deep_sigma(
    nonlinearity: str | DualActivation, input_kappa: Float[np.ndarray, " sets"]
) -> Float[np.ndarray, " sets"]:
    r"""Return the saliences that a random network's layers approach with depth.

    When the slope k'(1) is at least 1 that is the lookup table: only the full conjunction is
    salient (or the smallest one that identifies an input, where the inputs leave components
    out). Below 1 distances shrink as :math:`\delta_O \to \chi^l h(\kappa_O)` with Koenigs'
    function h, so saliences approach a plateau. A linear network keeps its inputs' saliences.

    Parameters
    ----------
    nonlinearity : str or DualActivation
    input_kappa : float array, shape (2**C,)
        Similarity of the inputs for each overlap set, by bitmask.

    Returns
    -------
    float array, shape (2**C,)
        Saliences by bitmask, 0 for the empty set.

    Raises
    ------
    InputError
        For an unknown nonlinearity, or inputs of which identical ones are no more similar than
        those that share nothing.

    Notes
    -----
    Derived here. The neural tangent kernel has the same limit, so there is one function for
    both: below chi = 1 its distance from identity is :math:`\Theta(\text{all})\, l\,
    \chi^{l}\, h` times a constant, to leading order (for k'' finite at identity), so it nears
    the plateau as 1/l instead of :math:`\chi^l`; at chi = 1 and above it takes one value for
    all inputs that differ, 1/4 of that at identity for ReLU and leaky ReLU, 0 above 1.

    h is the limit of :math:`\delta_l/\chi^l`. It is read off after as many layers as bring
    distances below rounding, by :math:`h(\delta) \approx \delta / (1 + a \delta)`,
    :math:`a = k''(1) / (2\chi(1 - \chi))`, which has the map's first two terms; its ratios
    are exact to second order in the distance left. So chi close to 1, where distances shrink
    slowly, may stop after 100,000 layers, with saliences exact to about 1e-9.

    Examples
    --------
    >>> deep_sigma("gaussian", np.array([0.0, 0.5, 0.5, 1.0])).round(4).tolist()
    [0.0, 0.0625, 0.0625, 0.875]
    """
    dual = _resolve(nonlinearity)
    delta = _input_distances(input_kappa)
    require(
        delta[0] > 0,
        "identical inputs must be more similar than inputs that share nothing",
        f"{input_kappa[-1]:g} and {input_kappa[0]:g}",
        "check the inputs' similarities",
    )
    if np.array_equal(dual.fall(delta), delta):
        return moebius(1.0 - delta / delta[0])
    if dual.chi >= 1.0:
        return moebius((delta == 0).astype(float))
    for _ in range(KOENIGS_LAYERS):
        if delta.max() <= KOENIGS_DISTANCE:
            break
        delta = dual.fall(delta)
    curvature = dual.flattening(delta) / np.where(delta > 0, delta, 1.0)
    bend = 0.5 * curvature / (dual.chi * (1.0 - dual.chi))
    distance = delta / (1.0 + bend * delta)
    return moebius(1.0 - distance / distance[0])
