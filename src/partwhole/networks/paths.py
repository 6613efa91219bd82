r"""Paths of a gated network's weights, their cost, and the quantities that training conserves.

In terms of :math:`\zeta`, the products of weights along paths, a gated network is linear. The
cost of :math:`\zeta` is the least squared norm of weights whose products it is.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.gates.joint import Gates
from partwhole.limits import GroupNorm, Limit, Quadratic
from partwhole.limits.costs import ChainNorm, Concave, Cost, NuclearNorm, SchattenNorm
from partwhole.limits.solve import solve
from partwhole.networks.gated import GatedNetwork, LearnedGates


@door
def architecture_cost(network: GatedNetwork) -> tuple[Gates, Cost | Concave]:
    r"""Return the gates and the cost that training of such a network minimises in the limit.

    With :math:`\zeta` the products of weights along paths, training without end on separable data
    keeps :math:`\min \|\theta\|^2 / L` over weights :math:`\theta` that give :math:`\zeta` small:

    =====================================  ======================================
    layers                                 cost, but for a monotone function
    =====================================  ======================================
    ``[gates]``                            `Quadratic`
    ``[gates, 1]``, ``[gates, 5, 1]``...   `GroupNorm`: linear layers change nothing
    ``[gates, H, 1]`` in parallel chains   `ChainNorm` of L layers
    ``[width, gates]``                     `NuclearNorm`, one row for each context
    ``[width, width, gates]``...           `SchattenNorm` of L layers
    =====================================  ======================================

    Parameters
    ----------
    network : GatedNetwork

    Returns
    -------
    gates : Gates
        Of the one gated layer.
    cost : Cost
        To be passed with the gates to `solve`.

    Raises
    ------
    InputError
        For architectures without a known cost, and for gates that are learned.

    Notes
    -----
    Derived here, and checked by minimising over weights; the idea is that of Lippl, Abbott &
    Chung (2022).

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> gates = HalfspaceGates.random(3, n_units=4)
    >>> for layers, parallel in (([gates, 1], False), ([gates, 4, 1], True)):
    ...     network = GatedNetwork.draw(3, layers, seed=0, parallel=parallel)
    ...     print(architecture_cost(network)[1])
    GroupNorm(weights=None)
    ChainNorm(n_layers=3)
    """
    require(
        network.bias is None,
        "a cost in terms of paths is of a homogeneous network",
        "a bias",
        "feed units a constant input instead",
    )
    gated = [
        place for place, gates_of_layer in enumerate(network.gates) if gates_of_layer is not None
    ]
    require(
        not any(isinstance(network.gates[place], LearnedGates) for place in gated),
        "a cost in terms of paths is of frozen gates",
        "gates that are learned",
        "pass network.with_frozen_gates()",
    )
    n_layers, units = network.n_layers, [weight.shape[0] for weight in network.weights]
    if gated == [0] and (n_layers == 1 or units[-1] == 1):
        if n_layers == 1:
            return network.gates[0], Quadratic()
        chained = network.parallel and n_layers > 2
        return network.gates[0], ChainNorm(n_layers) if chained else GroupNorm()
    if gated == [n_layers - 1] and units[-1] == 1 and not network.parallel:
        gates = network.gates[-1]
        rank = min(gates.n_contexts, network.dimension)
        require(
            min(units[:-1]) >= rank,
            f"the cost of a gated readout is known with at least {rank} units in every layer",
            f"{min(units[:-1])}",
            "take wider layers",
        )
        rows = gates.n_contexts
        return gates, NuclearNorm(rows) if n_layers == 2 else SchattenNorm(rows, n_layers)
    require(
        False,
        "a cost in terms of paths is known with gates in the first layer, or in a readout of one "
        "unit",
        f"gates in layers {', '.join(str(place + 1) for place in gated) or 'none'} of {n_layers}, "
        f"{units[-1]} units in the last",
        "follow the normalised flow from several starts instead",
    )
    raise AssertionError  # unreachable: `require` has raised


@door
def network_limit(
    network: GatedNetwork, inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> Limit:
    """Solve for the limit of a network's training, by its gates and cost.

    Parameters
    ----------
    network : GatedNetwork
        Of an architecture known to `architecture_cost`. Its weights matter only if the cost is not
        convex: the stationary point is then one near them.
    inputs : float array, shape (n, d)
    labels : float array, shape (n,)
        -1 and +1.

    Returns
    -------
    Limit

    Raises
    ------
    InputError
        As `architecture_cost` and `solve`.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> x = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, 1.0]])
    >>> gates = HalfspaceGates(np.array([[[1.0, 0.0, 0.0]]]), np.zeros((1, 1)))
    >>> network = GatedNetwork.draw(3, [gates, 1], seed=0)
    >>> limit = network_limit(network, x, np.array([1.0, -1.0, 1.0, -1.0]))  # exclusive or
    >>> round(limit.normalised_margin, 6)
    0.707107
    """
    gates, cost = architecture_cost(network)
    start = None if isinstance(cost, Cost) else path_weights(network)
    return solve((inputs, labels), gates, cost=cost, fit="margin", intercept="none", start=start)


@door
def path_weights(network: GatedNetwork) -> Float[np.ndarray, "H C d"]:
    r"""Return :math:`\zeta`: the path weights of each unit of the gated layer in each context.

    Parameters
    ----------
    network : GatedNetwork
        With a cost known to `architecture_cost`.

    Returns
    -------
    float array, shape (H, C, d)
        In the order of the columns of `gates.design`.

    Raises
    ------
    InputError
        As `architecture_cost`.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> gates = HalfspaceGates.random(3, n_units=4)
    >>> network = GatedNetwork.draw(3, [gates, 5, 1], seed=0)
    >>> x = np.random.default_rng(0).normal(size=(6, 3))
    >>> told = gates.design(x) @ path_weights(network).ravel()
    >>> bool(np.abs(told - network.predict(x)).max() < 1e-6)
    True
    """
    architecture_cost(network)
    weights = [np.asarray(weight, dtype=float) for weight in network.weights]
    if network.gates[0] is not None:
        first, top = weights[0], np.ones(len(weights[0]))
        if len(weights) > 1:
            between = weights[1:-1]
            top = weights[-1][0, 0]
            for weight in reversed(between):
                top = top * weight[:, 0, 0] if network.parallel else top @ weight[:, 0]
        return first * top[:, None, None]
    readout, below = weights[-1][0], weights[0][:, 0]
    for weight in weights[1:-1]:
        below = weight[:, 0] @ below
    return (readout @ below)[None]


@door
def conserved(network: GatedNetwork) -> tuple[Float[np.ndarray, " H"], ...]:
    r"""Return the conserved quantities of gradient flow: squared weights out minus in, by unit.

    .. math:: \sum_{j, c} w_{l+1, j, c, i}^2 - \sum_c \|w_{l, i, c}\|^2

    for unit i of layer l: the initial weights decide how a network is scaled between layers.
    Descent with steps :math:`\eta` drifts by :math:`O(\eta)`.

    Parameters
    ----------
    network : GatedNetwork
        With any gates.

    Returns
    -------
    tuple of float arrays, shapes (H_l,)
        For each layer but the last.

    Notes
    -----
    Scaling a unit's incoming weights up and its outgoing weights down changes nothing; Du, Hu & Lee
    (NeurIPS 2018) for layers without gates.

    Examples
    --------
    >>> readout_less_hidden = conserved(GatedNetwork.draw(2, [3, 1], seed=0))[0]
    >>> readout_less_hidden.shape, round(float(readout_less_hidden.sum()), 6)  # 1 row, 2 columns
    ((3,), -1.0)
    """
    squares = [np.asarray(weight, dtype=float) ** 2 for weight in network.weights]
    differences = []
    for place, (below, above) in enumerate(pairwise(squares)):
        chained = network.parallel and place + 1 < network.n_layers - 1
        outward = above.sum(axis=(1, 2)) if chained else above.sum(axis=(0, 1))
        differences.append(outward - below.sum(axis=(1, 2)))
    return tuple(differences)
