"""What a penalty is made of: its value, its order, and what it depends on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class PenaltyProfile:
    r"""Hold the penalty R on a coefficient, and by which powers it changes.

    Parameters
    ----------
    penalty : float array
        R, what the coefficient costs beyond the feature as learned before; at least 0.
    order : float array
        :math:`\partial \ln R / \partial \ln |\beta|`: 1 for an L1 norm, which prefers few
        features, 2 for a squared L2 norm, which does not.
    feature_dependence : float array
        :math:`\partial \ln R / \partial \ln |\beta_{aux}|`: negative where a feature becomes
        cheaper by having been learned before.
    readout_dependence : float array
        :math:`\partial \ln R / \partial \ln \gamma^2`, for readouts that start from gamma.
    init_dependence : float array
        :math:`\partial \ln R / \partial \ln \alpha^2`, for weights that started from alpha
        before pretraining.

    Notes
    -----
    All of one shape, float64, and without axes where plain numbers were given.

    Where :math:`\beta = 0` the powers are limits from :math:`|\beta| > 0`. They are NaN where
    finetuning starts from a coefficient other than 0, and just there: R is 0 and its logarithm
    has no slope.
    """

    penalty: Float[np.ndarray, "*shape"]
    order: Float[np.ndarray, "*shape"]
    feature_dependence: Float[np.ndarray, "*shape"]
    readout_dependence: Float[np.ndarray, "*shape"]
    init_dependence: Float[np.ndarray, "*shape"]

    @property
    def degree(self) -> Float[np.ndarray, "*shape"]:
        r"""Return the sum of all powers, which is 1: what order gains, reuse loses.

        .. math:: R(t\beta, t\beta_{aux}, t\gamma^2, t\alpha^2) = t\, R

        Euler's theorem on homogeneous functions makes the powers sum to 1. Where gamma and
        alpha are 0, order + feature dependence = 1: the penalty falls with what was learned
        before only if its order is above 1. Derived here.
        """
        return np.asarray(
            self.order + self.feature_dependence + self.readout_dependence + self.init_dependence
        )
