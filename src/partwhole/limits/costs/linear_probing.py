r"""Linear probing: the cost of training only the readout, on a fixed first layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.design import Design, weighted_gram
from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.diagonal import DiagonalWeights


@door
@dataclass(frozen=True, eq=False)
class LinearProbing:
    r"""Squared distance from the initial coefficients, in units of the first layer's weights.

    .. math:: R(\beta) = \tfrac12 \sum_d (\beta_d - \beta_d(0))^2 / D_d,
              \qquad R^*(A^T v) = \langle A \beta(0), v\rangle + \tfrac12 v^T A D A^T v .

    Parameters
    ----------
    start : float array, shape (d,)
        :math:`\beta(0)`, the network's coefficients before training.
    scales : float array, shape (d,)
        :math:`\sqrt{D}`, at least 0; a feature of 0 keeps its initial coefficient.

    Raises
    ------
    InputError
        For a design with a different number of features, and scales below 0.

    Notes
    -----
    Gradient flow on the readout of a diagonal network ends at its minimum: with
    :math:`D = w_+^2 + w_-^2` and :math:`\beta(0) = w_+ v_+ - w_- v_-` of its initial weights,

    .. math:: \beta = \beta(0) + D X^T (X D X^T)^{-1} (y - X \beta(0)) .

    It is the lazy limit of finetuning for every feature at once. Derived here; the protocol is
    that of Lippl & Lindsey (NeurIPS 2024). With the fit `Equal` the coefficients are accurate
    however small the weights of unlearned features are. The multipliers, however, range over the
    squares of these sizes: for initial weights below about 1e-13 double precision cannot represent
    them, so that they prove nothing and the outcome is INACCURATE.

    Examples
    --------
    >>> from partwhole import solve
    >>> from partwhole.limits import DiagonalWeights
    >>> weights = DiagonalWeights.pretrained([1.0, 0.1], init_scale=1e-3)
    >>> cost = LinearProbing.of(weights.for_finetuning(readout_scale=0.0))
    >>> solve(([[1.0, 1.0]], [1.1]), cost=cost, intercept="none").coefficients.round(4).tolist()
    [1.0, 0.1]
    """

    start: Float[np.ndarray, " d"]
    scales: Float[np.ndarray, " d"]

    def __post_init__(self) -> None:
        require(
            bool(np.all(self.scales >= 0)),
            "scales are at least 0",
            f"{self.scales.min(initial=np.inf):g}",
            "pass the lengths of the first layer's weights",
        )

    @classmethod
    @door
    def of(cls, weights: DiagonalWeights) -> LinearProbing:
        """Return the cost for a diagonal network's initial weights.

        Parameters
        ----------
        weights : DiagonalWeights
            Weights of one network on one task; after pretraining
            ``DiagonalWeights.pretrained(...).for_finetuning(...)``.

        Returns
        -------
        LinearProbing

        Raises
        ------
        InputError
            For weights of several tasks or networks, and weights that are not finite.
        """
        weights = weights.checked()
        hidden, start = (weights.hidden_plus, weights.hidden_minus), weights.coefficients
        require(
            start.ndim == 1 and hidden[0].shape == start.shape,
            "linear probing takes the weights of one task in one network",
            f"a hidden layer of shape {hidden[0].shape} and coefficients {start.shape}",
            "pass DiagonalWeights.pretrained(...).for_finetuning(...)",
        )
        scales = np.hypot(*hidden)
        require(
            bool(np.isfinite(scales).all() and np.isfinite(start).all()),
            "weights are finite",
            "some that are not",
            "train with a smaller learning rate",
        )
        return cls(start, scales)

    def value(self, design: Design, coefficients: Float[np.ndarray, " d"]) -> float:
        """Return the cost; infinite where the coefficient of a feature of scale 0 has changed."""
        self.require_features(design)
        change, free = coefficients - self.start, self.scales > 0
        if (change[~free] != 0).any():
            return float("inf")
        return 0.5 * float(np.sum((change[free] / self.scales[free]) ** 2))

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return the conjugate: a quadratic form plus the linear term of the start."""
        self.require_features(design)
        pulled = design.adjoint(multipliers)
        value = float(pulled @ self.start) + 0.5 * float(np.sum((self.scales * pulled) ** 2))
        gradient = design @ (self.start + self.scales**2 * pulled)
        return DualTerm(value, gradient, lambda: weighted_gram(design, self.scales**2))

    def primal(
        self,
        design: Design,
        multipliers: Float[np.ndarray, " n"],
        prices: np.ndarray | None = None,
    ) -> Float[np.ndarray, " d"]:
        r"""Return :math:`\beta(0) + D A^T v`."""
        return self.start + self.scales**2 * design.adjoint(multipliers)

    def require_features(self, design: Design) -> None:
        """Refuse a design with a different number of features."""
        d = design.shape[1]
        require(
            len(self.start) == d,
            f"linear probing of {len(self.start)} features takes inputs in as many",
            d,
            "pass the inputs in the network's features",
        )
