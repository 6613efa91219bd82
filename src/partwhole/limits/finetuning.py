r"""Linear probing: where learning ends when only the readout is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.design import DenseDesign
from partwhole.limits.costs import Quadratic
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.limits.fits import Equal
from partwhole.limits.least_cost import least_cost
from partwhole.limits.limit import Limit


def linear_probing(
    inputs: Float[np.ndarray, "n d"] | Sequence[Sequence[Real]],
    targets: Float[np.ndarray, " n"] | Sequence[Real],
    weights: DiagonalWeights,
) -> Limit:
    r"""Return where gradient flow ends if a diagonal network's first layer stays as it is.

    Parameters
    ----------
    inputs : float array, shape (n, d)
    targets : float array, shape (n,)
    weights : DiagonalWeights
        The initial weights, of one task; ``DiagonalWeights.pretrained(...).for_finetuning(...)``
        after pretraining.

    Returns
    -------
    Limit
        Coefficients :math:`\beta`, and as value the cost below.

    Raises
    ------
    InputError
        For inputs and weights in different features, and as `least_cost`.

    Notes
    -----
    With :math:`D = w_+^2 + w_-^2` and :math:`\beta(0) = w_+ v_+ - w_- v_-`, the end minimises
    :math:`\tfrac12 \sum_d (\beta_d - \beta_d(0))^2 / D_d`, so that

    .. math:: \beta = \beta(0) + D X^T (X D X^T)^{-1} (y - X \beta(0)) .

    It is the lazy limit of finetuning for every feature at once. Derived here; the protocol is
    Lippl & Lindsey (NeurIPS 2024).

    Examples
    --------
    >>> start = DiagonalWeights.pretrained([1.0, 0.1], init_scale=1e-3)
    >>> limit = linear_probing([[1.0, 1.0]], [1.1], start.for_finetuning(readout_scale=0.0))
    >>> limit.coefficients.round(4).tolist()
    [1.0, 0.1]
    """
    features = np.atleast_2d(np.asarray(inputs, dtype=float))
    wanted = np.asarray(targets, dtype=float)
    plus, minus = (np.asarray(each, dtype=float) for each in (weights[0], weights[2]))
    begun = np.asarray(weights.coefficients, dtype=float)
    d = features.shape[1]
    require(
        plus.shape == minus.shape == begun.shape == (d,),
        "weights are of one task in the inputs' features",
        f"hidden layer {plus.shape} and coefficients {begun.shape} for {d} features",
        "pass DiagonalWeights.pretrained(...).for_finetuning(...) with d coefficients",
    )
    root = np.hypot(plus, minus)
    # In units of the hidden layer the cost is half the squared length.
    scaled = DenseDesign(features * root)
    found = least_cost(scaled, wanted - features @ begun, Quadratic(), Equal(), intercept="none")
    return replace(
        found,
        coefficients=begun + root * found.coefficients,
        assumptions=(*found.assumptions, "the first layer stays as it is"),
    )
