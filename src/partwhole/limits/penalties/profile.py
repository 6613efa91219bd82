"""The description of a penalty: its value, its order, and its dependence on each quantity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class PenaltyProfile:
    r"""Penalty R on a coefficient, with the powers by which it changes.

    Parameters
    ----------
    penalty : float array
        R, the cost of the coefficient in addition to that of the pretrained feature; at least 0.
    order : float array
        :math:`\partial \ln R / \partial \ln |\beta|`: 1 for an L1 norm, which prefers few
        features, 2 for a squared L2 norm, which does not.
    feature_dependence : float array
        :math:`\partial \ln R / \partial \ln |\beta_{aux}|`: negative where pretraining makes a
        feature cheaper.
    readout_dependence : float array
        :math:`\partial \ln R / \partial \ln \gamma^2`, for readouts that start from gamma.
    init_dependence : float array
        :math:`\partial \ln R / \partial \ln \alpha^2`, for weights that started from alpha
        before pretraining.

    Notes
    -----
    All arrays have one shape and type float64; for plain numbers they have no axes.

    At :math:`\beta = 0` the powers are limits for small :math:`|\beta|`. If finetuning starts from
    a coefficient other than 0, they are NaN at that coefficient: R is 0 there, and its logarithm
    has no slope.
    """

    penalty: Float[np.ndarray, "*shape"]
    order: Float[np.ndarray, "*shape"]
    feature_dependence: Float[np.ndarray, "*shape"]
    readout_dependence: Float[np.ndarray, "*shape"]
    init_dependence: Float[np.ndarray, "*shape"]

    @property
    def degree(self) -> Float[np.ndarray, "*shape"]:
        r"""Return the sum of all powers, which is 1: a higher order means a stronger reuse.

        .. math:: R(t\beta, t\beta_{aux}, t\gamma^2, t\alpha^2) = t\, R

        By Euler's theorem on homogeneous functions the powers sum to 1. Where gamma and alpha are
        0, order + feature dependence = 1: the penalty falls with the pretrained coefficient only
        if its order is above 1. Derived here.
        """
        return np.asarray(
            self.order + self.feature_dependence + self.readout_dependence + self.init_dependence
        )
