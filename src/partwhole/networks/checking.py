"""The contract of a network, checked."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from partwhole._contract import Contract
from partwhole._door import door
from partwhole.networks.network import Network, answers
from partwhole.networks.saving import load_network, save_network

SINGLE = 1e-4  # of the largest output: tolerance for another order of sums in single precision
STEP = 1e-8
SLOPE = 1e-5  # of a slope, by a central difference over STEP in double precision


@door
def check_network(network: Network, inputs: Float[np.ndarray, "n *d"]) -> None:
    """Check that a network maps inputs one by one and can be trained.

    Parameters
    ----------
    network : Network
        Of the library, or a module of equinox of your own.
    inputs : float array, shape (n, ...) with the network's `shape`
        At least two that differ.

    Raises
    ------
    CheckFailed
        With a sentence for each rule that is broken.

    Notes
    -----
    The checks: names of layers differ; compiled outputs are finite and the same at each call; an
    input's output depends neither on the other inputs of its batch nor on their order; there are
    parameters, and a partition combines to the network; the slope of the outputs along random
    parameters agrees with finite differences in double precision; a saved network is read back bit
    by bit. Dropout and running statistics belong to training and are off.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> check_network(mlp(3, layers=2, width=5, nonlinearity="relu", seed=0), np.eye(3))
    """
    contract = Contract(f"the network {type(network).__name__}")
    with contract.trying("a network maps inputs to outputs"):
        points = np.asarray(inputs, dtype=np.float32)
        values = np.asarray(_outputs(network, points))
        n = len(points)
        if not contract.keeps(
            values.ndim == 2 and len(values) == n and np.isfinite(values).all(),
            "outputs are finite arrays of shape (n, e)", f"shape {values.shape}",
        ):  # fmt: skip
            contract.close()
        second_values = np.asarray(_outputs(network, points))
        contract.keeps(np.array_equal(values, second_values), "two calls return the same", "others")
        alone = np.concatenate([np.asarray(_outputs(network, points[i : i + 1])) for i in range(n)])
        contract.agrees("an output depends on its own input alone", alone, values, SINGLE)
        contract.agrees(
            "outputs follow the order of inputs", _outputs(network, points[::-1]), values[::-1],
            SINGLE,
        )  # fmt: skip
        names = network.names
        contract.keeps(len({*names}) == len(names), "names of layers differ", ", ".join(names))
        parameters, rest = network.partition()
        combined = eqx.combine(parameters, rest)
        contract.keeps(
            eqx.tree_equal(combined, network), "a partition combines to the network", "another one"
        )
        count = sum(leaf.size for leaf in jax.tree.leaves(parameters))
        if contract.keeps(count > 0, "a network has parameters", "no array of real numbers"):
            _check_slope(contract, network, points)
    with contract.trying("a network is saved and loaded"), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.npz"
        save_network(cast(Any, network), path)
        identical = eqx.tree_equal(load_network(path, kinds=[type(network)]), network)
        contract.keeps(identical, "a saved network is read back bit by bit", "another one")
    contract.close()


def _outputs(network: Network, points: np.ndarray) -> Array:
    return _compiled(network, jnp.asarray(points), network.contexts(points.astype(float)))


_compiled = eqx.filter_jit(answers)


def _check_slope(contract: Contract, network: Network, points: np.ndarray) -> None:
    """Compare the slope along random parameters with finite differences, in double precision."""
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        parameters, rest = network.partition()
        rest = jax.tree.map(  # running statistics
            lambda leaf: jnp.asarray(leaf, float) if eqx.is_inexact_array(leaf) else leaf, rest
        )
        leaves, structure = jax.tree.flatten(parameters)
        doubles = [np.asarray(leaf, dtype=float) for leaf in leaves]
        points = points.astype(float)
        contexts = network.contexts(points)
        direction = [rng.normal(size=leaf.shape) for leaf in doubles]

        def total(leaves: list[Array]) -> Array:
            shifted = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
            return _compiled(shifted, jnp.asarray(points), contexts).sum()

        def beside(share: float) -> float:
            shifted = (jnp.asarray(w + share * d) for w, d in zip(doubles, direction, strict=True))
            return float(total(list(shifted)))

        slope = jax.grad(total)([jnp.asarray(array) for array in doubles])
        along = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(slope, direction, strict=True))
        finite = all(np.isfinite(np.asarray(leaf)).all() for leaf in slope)
        contract.keeps(finite, "slopes are finite", "NaN or infinity")
        contract.agrees(
            "the slope of the outputs is the one that differences give",
            along, (beside(STEP) - beside(-STEP)) / (2.0 * STEP), SLOPE,
        )  # fmt: skip
