"""The step size from which on gradient descent is not stable where learning ends."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole._types import Count
from partwhole.flows._inputs import moment
from partwhole.flows._population import Population, moment_with_constant
from partwhole.flows.deep import Deep
from partwhole.flows.one_layer import OneLayer
from partwhole.flows.tied import Tied

LEAST = 1e-300  # of a rate, so that a step size without a limit is a number


@door
def stability_limit(system: Tied | OneLayer | Deep) -> float:
    r"""Return the step size of `descend` from which on the learned state is not stable.

    For a tied network :math:`1/\lambda_{\max}`, in paper time: near W = I a deviation decays at
    rates :math:`a_i + a_j`. For L layers that learn the identity
    :math:`2 / (L \lambda_{\max})` (see `deep_stability_limit`), and for L layers that learn
    :math:`W_*`

    .. math:: \eta = \frac{2}{L} \min_i \left[|A^{1/2} v_i|^2 s_i^{2(L - 1)}\right]^{-1/L},
        \qquad W_* A^{1/2} = \sum_i s_i u_i v_i^\top ,

    and :math:`2/\lambda_{\max}` for one layer.

    Parameters
    ----------
    system : Tied, OneLayer or Deep

    Returns
    -------
    float
        In the time of the system: paper time for `Tied`, gradient time for the others. For deep
        networks it is necessary, not sufficient: layers of unequal size are sharper, and at the
        start of training other limits may bind.

    Raises
    ------
    InputError
        For a system that is none of these.

    Notes
    -----
    Derived here, by linearising at the learned state. Along the residual :math:`u_i v_i^\top` the
    Hessian of L layers is :math:`\sum_l p_l^2 q_l^2` with
    :math:`p_l = |(W_L \cdots W_{l+1})^\top u_i|` and
    :math:`q_l = |W_{l-1} \cdots W_1 A^{1/2} v_i|`. Since :math:`p_l q_{l+1} \ge s_i`,
    :math:`p_L = 1` and :math:`q_1 = |A^{1/2} v_i|`, it is at least L times the geometric mean
    :math:`[q_1^2 s_i^{2(L-1)}]^{1/L}`; where A is a multiple of the identity, balanced layers
    reach it. With biases A is the covariance of the inputs, which deep networks can centre on the
    way; for one layer, which can't, it is the second moment of (x, 1).

    Examples
    --------
    >>> stability_limit(Tied(0.01 * np.eye(2), np.diag([4.0, 0.5])))
    0.25
    >>> layers = [0.1 * np.eye(2), 0.1 * np.eye(2)]
    >>> stability_limit(Deep(layers, np.diag([4.0, 0.5])))
    0.25
    >>> stability_limit(Deep(layers, np.eye(2), np.diag([4.0, 0.5])))
    0.25
    """
    if isinstance(system, Tied):
        return float(1.0 / max(np.linalg.eigvalsh(system.driving_moment)[..., -1].max(), LEAST))
    n_layers = len(system.weights) if isinstance(system, Deep) else 1
    population = system.population
    if population.is_identity:
        return deep_stability_limit(system.second_moment, n_layers, mean=system.mean)
    return 2.0 / max(n_layers * _sharpness(population, n_layers), LEAST)


def _sharpness(population: Population, n_layers: int) -> float:
    """Return the least sharpness of one layer of L at the best map; see `stability_limit`."""
    if n_layers == 1:
        return float(np.linalg.eigvalsh(population.moment)[-1])
    rates, basis = np.linalg.eigh(population.centred_moment)
    root = basis * np.sqrt(np.maximum(rates, 0.0))
    # W A^(1/2) up to a rotation of its inputs, which leaves |A^(1/2) v| as it is.
    _, strengths, right = np.linalg.svd(population.best[:, : population.n_inputs] @ root)
    lengths = np.linalg.norm(root @ right[: len(strengths)].T, axis=0)
    return float(((lengths**2 * strengths ** (2 * n_layers - 2)) ** (1.0 / n_layers)).max())


@door
def deep_stability_limit(
    second_moment: Float[np.ndarray, "d d"],
    n_layers: Count,
    *,
    mean: Float[np.ndarray, " d"] | None = None,
) -> float:
    r"""Return the step size from which on no network that has learned the identity is stable.

    .. math:: \eta = \frac{2}{L \, \lambda_{\max}}

    for L layers and the largest eigenvalue of A. It is necessary, not sufficient: layers of
    unequal size are sharper, and at the start of training other limits may bind.

    Parameters
    ----------
    second_moment : float array, shape (d, d)
    n_layers : int
        L.
    mean : float array, shape (d,), keyword-only, default None
        For networks with biases. Then the eigenvalue is that of the covariance
        :math:`A - m m^\top`, since deep networks can centre their inputs on the way; for one
        layer, which can't, of the second moment of (x, 1).

    Returns
    -------
    float

    Raises
    ------
    InputError
        For fewer than one layer, a second moment that is none, or a mean that does not go with
        it.

    Notes
    -----
    Derived here. Where the loss is zero its Hessian is that of the linearised network. Along a
    residual :math:`v v^\top`, v the leading eigenvector of A, it is
    :math:`\lambda_{\max} \sum_l p_l^2 q_l^2` with :math:`p_l = |(W_L \cdots W_{l+1})^\top v|` and
    :math:`q_l = |W_{l-1} \cdots W_1 v|`. Since the product of all layers is the identity,
    :math:`p_l q_{l+1} \ge 1` and :math:`p_L = q_1 = 1`; hence :math:`\prod_l p_l q_l \ge 1`, and
    the sum is at least L. Layers that are all the identity reach it.

    Examples
    --------
    >>> deep_stability_limit(np.diag([4.0, 0.5]), 2)
    0.25
    """
    spread = moment(second_moment, len(second_moment))
    if mean is not None:
        joint = moment_with_constant(spread, mean)
        spread = joint if n_layers == 1 else spread - np.outer(mean, mean)
    return float(2.0 / (n_layers * max(np.linalg.eigvalsh(spread)[-1], 1e-300)))
