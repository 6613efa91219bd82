"""The reference implementation where it differs from the formulas: groups, sizes, reloading."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole import solve
from partwhole._types import Real
from partwhole.features import DenseDesign, HalfspaceGates
from partwhole.features.design import Block
from partwhole.limits import GroupNorm, Limit, Quadratic
from partwhole.networks import GatedNetwork

RELOADED = 9.0 / 36.0  # spread of drawn thresholds, where normals have entries of spread 1
FREE = 1e-9  # of the largest eigenvalue: what a direction without cost is given


def groups(n_units: int, n_contexts: int, *, scrambled: bool) -> np.ndarray:
    """Return the group of each unit's weights in each context, unit after unit.

    Read column by column, an array that was laid out row by row groups contexts of different
    units: those whose place is the same modulo the number of units.
    """
    place = np.arange(n_units * n_contexts)
    return place % n_units if scrambled else place // n_contexts


def scrambled_group_limit(
    gates: HalfspaceGates, inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> tuple[Limit, Float[np.ndarray, " p"], float]:
    """Minimise the group norm with scrambled groups; return also weights and their true norm."""
    design = gates.design(inputs)
    n, d = inputs.shape
    order = np.argsort(groups(gates.n_units, gates.n_contexts, scrambled=True), kind="stable")
    columns = design.dense().matrix.reshape(n, len(order), d)[:, order].reshape(n, -1)
    size = gates.n_contexts * d
    blocks = tuple(Block(h, h * size, (h + 1) * size) for h in range(gates.n_units))
    limit = solve(
        (DenseDesign(columns, blocks), labels), cost=GroupNorm(), fit="margin", intercept="none"
    )
    weights = np.empty((len(order), d))
    weights[order] = limit.coefficients.reshape(len(order), d)
    return limit, weights.ravel(), GroupNorm().value(design, weights.ravel())


def whitening(
    n_units: int, n_contexts: int, *, coefficient: Real, scrambled: bool
) -> Float[np.ndarray, "u u"]:
    r"""Return the map to :math:`\tilde\zeta_{h,c} = a S + C \zeta_{h,c} - S_h`.

    With :math:`a = 1/\sqrt{H}` its sum of squares is :math:`C^{3-H}` times that over all joint
    contexts; the published program has :math:`a = 1/(H C)`.
    """
    group = groups(n_units, n_contexts, scrambled=scrambled)
    same = (group[:, None] == group).astype(float)
    return float(coefficient) + n_contexts * np.eye(len(group)) - same


def whitened_limit(
    gates: HalfspaceGates,
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    coefficient: Real,
    scrambled: bool,
) -> tuple[Float[np.ndarray, " p"], float]:
    r"""Minimise the sum of squares of the whitened weights; return weights and that sum.

    Some directions are free. With the right groups they leave the function as it is; with
    scrambled ones they don't, and the program has many optima. This takes the smallest.
    """
    size = gates.n_units * gates.n_contexts
    matrix = whitening(
        gates.n_units, gates.n_contexts, coefficient=coefficient, scrambled=scrambled
    )
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    half = vectors / np.sqrt(np.maximum(values, FREE * values.max()))
    contexts = gates.contexts(inputs)[:, :, None] == np.arange(gates.n_contexts)
    selected = contexts.reshape(len(inputs), size).astype(float) @ half
    features = (selected[:, :, None] * inputs[:, None, :]).reshape(len(inputs), -1)
    limit = solve((DenseDesign(features), labels), cost=Quadratic(), fit="margin", intercept="none")
    weights = half @ limit.coefficients.reshape(size, -1)
    return weights.ravel(), float(np.sum((matrix @ weights) ** 2))


def published_programs(
    gates: HalfspaceGates,
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    tests: Float[np.ndarray, "m d"],
) -> tuple[Float[np.ndarray, "2 m"], float, float]:
    """Solve the published programs of the group norm and of the function-space norm.

    Returns
    -------
    outputs : float array, shape (2, m)
        What the two programs answer on other inputs.
    true_norm : float
        Group norm of the first program's weights, with each unit's contexts in one group.
    whitened : float
        Least sum of squares of the function-space norm, with the right groups and coefficient.
    """
    design, units = gates.design(tests), gates.n_units
    _, mixed, true_norm = scrambled_group_limit(gates, inputs, labels)
    coded, _ = whitened_limit(
        gates, inputs, labels, coefficient=1.0 / (units * gates.n_contexts), scrambled=True
    )
    _, whitened = whitened_limit(gates, inputs, labels, coefficient=units**-0.5, scrambled=False)
    return np.stack([design @ mixed, design @ coded]), true_norm, whitened


def reloaded(network: GatedNetwork, seed: int) -> GatedNetwork:
    """Return the network as the published code reads it back: with thresholds drawn anew."""
    gates = network.gates[0]
    assert isinstance(gates, HalfspaceGates)
    anew = RELOADED * np.random.RandomState(seed).randn(*gates.thresholds.shape)
    real = np.any(gates.normals != 0.0, axis=2)
    drawn = HalfspaceGates(gates.normals, np.where(real, anew, gates.thresholds))
    return GatedNetwork(
        network.weights, (drawn, *network.gates[1:]), network.bias, network.parallel
    )
