r"""Hyperbolic entropy: the cost that gradient flow in a diagonal network minimises."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number, Real
from partwhole.features.design import Design
from partwhole.limits.costs.conjugate_cost import Conjugate, ConjugateCost
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.limits.penalties._widths import widths

# Coefficients grow as exp(2 u): beyond this change of u the quadratic model is useless.
TRUSTED = 3.0
LARGEST = 700.0  # largest argument at which cosh stays finite
LEAST, STEEPEST = 1e-250, 300.0  # smallest width, and largest tilt


@door
@dataclass(frozen=True, eq=False)
class HyperbolicEntropy(ConjugateCost):
    r"""Cost that gradient flow in a two-layer diagonal linear network minimises.

    .. math:: R(\beta) = \sum_d \int_{\beta_d(0)}^{\beta_d}
                         \tfrac12 \left[\operatorname{asinh}\frac{2 b}{k_d} - \delta_d\right] db,
              \qquad R^*(u) = \sum_d \tfrac{k_d}{4}
                         \left[\cosh(2 u_d + \delta_d) - \cosh \delta_d\right],

    which is the Bregman divergence of the hyperbolic entropy from the coefficients at the start,
    :math:`\beta_d(0) = \tfrac{k_d}{2} \sinh \delta_d`.

    Parameters
    ----------
    width : float or float array, shape (p,)
        k, above 0: a coefficient well below it costs its square (lazy learning), one well above
        it about its size (rich learning).
    tilt : float or float array, shape (p,), default 0
        :math:`\delta`: positive if a coefficient starts above 0, negative if below.

    Raises
    ------
    InputError
        For widths that are not above 0.

    Notes
    -----
    Exact for any initial weights, when gradient flow ends at a loss of zero: over time t a
    feature's coefficient is :math:`\beta_d = \tfrac{k_d}{2} \sinh(2 s_d + \delta_d)` with
    :math:`s = -\int_0^t \partial L / \partial \beta`, and s stays in the span of the training
    rows, so that :math:`s = A^T v` is the condition for a minimum of this cost. Derived here. For
    two pathways with equal initial weights it is the cost of Azulay et al. (ICML 2021), for
    coefficients that start from 0 that of Woodworth et al. (COLT 2020). If all weights start from
    alpha, :math:`k = 4 \alpha^2`. The minimum l2 norm (`Quadratic`) and the minimum l1 norm
    (`L1Norm`) are its limits for large and small k.

    Examples
    --------
    >>> from partwhole import solve
    >>> inputs, targets = np.array([[1.0, 2.0]]), np.array([2.0])
    >>> for width in (100.0, 1e-9):
    ...     cost = HyperbolicEntropy(width)
    ...     limit = solve((inputs, targets), cost=cost, intercept="none")
    ...     print(limit.coefficients.round(3))
    [0.4 0.8]
    [0. 1.]
    """

    width: Number
    tilt: Number = 0.0

    def __post_init__(self) -> None:
        width, tilt = np.asarray(self.width, dtype=float), np.asarray(self.tilt, dtype=float)
        positive = width > LEAST
        require(
            width.ndim <= 1 and bool(positive.all()),
            "widths are numbers above 0, one or one for each feature",
            f"{int(np.sum(~positive))} of {width.size} that are not, {width.ndim} axes"
            if width.ndim
            else f"{self.width}",
            "begin from weights above 0, or take the cost L1Norm, the limit of small widths",
        )
        require(
            tilt.ndim <= 1 and bool((np.abs(tilt) < STEEPEST).all()),
            f"tilts are numbers of a size below {STEEPEST:g}, one or one for each feature",
            f"{int(np.sum(~(np.abs(tilt) < STEEPEST)))} that are not, {tilt.ndim} axes",
            "0 begins from a coefficient of 0",
        )

    @classmethod
    @door
    def from_weights(cls, weights: DiagonalWeights) -> HyperbolicEntropy:
        r"""Return the cost that belongs to the initial weights of one network.

        Parameters
        ----------
        weights : DiagonalWeights
            Weights of one network on one task, shape (d,).

        Returns
        -------
        HyperbolicEntropy

        Raises
        ------
        InputError
            Where the width is 0, because the coefficient of a feature with these weights can
            have only one sign: :math:`v_+ = w_+` and :math:`v_- = -w_-`, or both reversed. Also
            for weights of several networks or tasks.

        Notes
        -----
        :math:`k = \sqrt{A B}` and :math:`\delta = \tfrac12 \ln(A / B)` with
        :math:`A = (w_+ + v_+)^2 + (w_- - v_-)^2` and :math:`B = (w_+ - v_+)^2 + (w_- + v_-)^2`.
        Derived here.
        """
        w, v, m, u = weights.checked()
        require(
            w.ndim == 1 and w.shape == v.shape,
            "a cost belongs to the weights of one network and one task",
            f"layers of shapes {w.shape}, {v.shape}, {m.shape} and {u.shape}",
            "make one for each, and pass a list of them to solve",
        )
        up, down = np.hypot(w + v, m - u), np.hypot(w - v, m + u)
        with np.errstate(divide="ignore"):
            tilt = np.log(up) - np.log(down)
        return cls(up * down, np.where(up * down > 0, tilt, 0.0))

    @classmethod
    @door
    def after_finetuning(
        cls,
        pretrained: Float[np.ndarray, " d"],
        *,
        readout_scale: Real,
        init_scale: Real,
        rescale: Real = 1.0,
        formula: Literal["exact", "published"] = "exact",
    ) -> HyperbolicEntropy:
        r"""Return the cost of finetuning a network whose pretraining ended at zero loss.

        Parameters
        ----------
        pretrained : float array, shape (d,)
            Coefficients of the auxiliary task, :math:`\beta_{aux}`.
        readout_scale : float, keyword-only
            :math:`\gamma`, the value to which the readout is reset, at least 0.
        init_scale : float, keyword-only
            :math:`\alpha`, the weights from which pretraining started, at least 0.
        rescale : float, keyword-only, default 1
            c, the factor of the first layer between pretraining and finetuning.
        formula : {"exact", "published"}, keyword-only, default "exact"
            "exact" for the network as it is trained; "published" for the penalty of the paper,
            :math:`k = 2(c^2 |\beta_{aux}| + \gamma^2)` without a tilt, which belongs to a
            network whose two pathways have equal weights.

        Returns
        -------
        HyperbolicEntropy

        Raises
        ------
        InputError
            For scales below 0, for two scales of 0 with a pretrained coefficient of 0, and for a
            rescaling that is not above 0.

        Notes
        -----
        .. math:: k^2 = c^4 \beta_{aux}^2 + 4 (\gamma^2 + c^2 \alpha^2)^2, \qquad
                  \sinh \delta = \frac{2 \gamma c\, \beta_{aux}}{k \sqrt{S + 2 \alpha^2}},
                  \qquad S = \sqrt{\beta_{aux}^2 + 4 \alpha^4},

        derived here; "published" is Lippl & Lindsey (NeurIPS 2024), the penalty of finetuning.
        """
        return cls(
            *widths(
                pretrained,
                readout_scale=readout_scale,
                init_scale=init_scale,
                rescale=rescale,
                formula=formula,
            )
        )

    @property
    def start(self) -> np.ndarray:
        """Return the coefficients from which learning starts; their cost is 0."""
        return 0.5 * np.asarray(self.width) * np.sinh(self.tilt)

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the cost of coefficients."""
        k, tilt = self._parameters(design)
        a = np.arcsinh(2.0 * coefficients / k)
        shift = a - tilt
        # Half of c (a - tilt) - k/2 (cosh a - cosh tilt); the difference of cosh, which cancels
        # near the start, is written as a product.
        rise = k * np.sinh(0.5 * (a + tilt)) * np.sinh(0.5 * shift)
        return float(np.sum(0.5 * (coefficients * shift - rise)))

    def conjugate(self, design: Design, u: Float[np.ndarray, " p"]) -> Conjugate:
        """Return the conjugate, and infinity where an exponential would overflow."""
        k, tilt = self._parameters(design)
        a = 2.0 * u + tilt
        inside = np.abs(a) <= LARGEST
        bounded = np.where(inside, a, 0.0)
        sinh = np.sinh(bounded)
        cosh = np.cosh(bounded)
        if not inside.all():
            gradient = np.where(inside, 0.5 * k * sinh, np.copysign(np.inf, a))
            return Conjugate(np.inf, gradient, k * cosh, TRUSTED)
        # cosh(a) - cosh(tilt), by the difference of their squares: it cancels near the start.
        sinh_start, cosh_start = self._at_start
        rise = (sinh - sinh_start) * ((sinh + sinh_start) / (cosh + cosh_start))
        return Conjugate(0.25 * float(np.sum(k * rise)), 0.5 * k * sinh, k * cosh, TRUSTED)

    def _parameters(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """Return the width and the tilt, one or one for each feature of a design."""
        p = design.shape[1]
        width, tilt = np.asarray(self.width, dtype=float), np.asarray(self.tilt, dtype=float)
        sizes = sorted({part.size for part in (width, tilt) if part.ndim} - {p})
        require(
            not sizes,
            "widths and tilts are one number or one for each feature",
            f"{sizes[0] if sizes else 0} for {p} features",
            "give as many as the design has columns",
        )
        return width, tilt

    @cached_property
    def _at_start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the hyperbolic sine and cosine of the tilt."""
        tilt = np.asarray(self.tilt)
        return np.asarray(np.sinh(tilt)), np.asarray(np.cosh(tilt))
