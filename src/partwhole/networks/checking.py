"""The contract of a network, checked."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from partwhole._contract import Contract
from partwhole._door import door
from partwhole.networks.gated import GatedNetwork
from partwhole.networks.images.network import ImageNetwork
from partwhole.networks.mlp import MLP
from partwhole.networks.saving import KINDS, load_network, save_network

SINGLE = 1e-4  # of the largest output: what single precision may differ by in another order of sums
STEP = 1e-7
SLOPE = 1e-5  # of a slope, by a central difference over STEP in double precision


@door
def check_network(network: eqx.Module, inputs: Float[np.ndarray, "n *d"]) -> None:
    """Check that a network is a function of one input at a time that can be trained.

    Parameters
    ----------
    network : equinox.Module
        An `MLP`, `GatedNetwork` or `ImageNetwork`, or a module of your own that maps one input of
        shape (d, ...) to outputs of shape (e,).
    inputs : float array, shape (n, d, ...)
        At least two that differ.

    Raises
    ------
    CheckFailed
        With a sentence for each rule that is broken.

    Notes
    -----
    It is checked that compiled outputs are finite and the same at each call; that an
    input's output does not depend on the others in its batch, nor on their order; that there are
    parameters, and the slope of the outputs along random parameters is the one that differences
    give in double precision; and of the library's own kinds that a saved network is read back
    bit by bit. Dropout and running statistics belong to training and are off.

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
        again = np.asarray(_outputs(network, points))
        contract.keeps(np.array_equal(values, again), "two calls return the same", "others")
        alone = np.concatenate([np.asarray(_outputs(network, points[i : i + 1])) for i in range(n)])
        contract.agrees("an output depends on its own input alone", alone, values, SINGLE)
        contract.agrees(
            "outputs follow the order of inputs", _outputs(network, points[::-1]), values[::-1],
            SINGLE,
        )  # fmt: skip
        count = sum(each.size for each in jax.tree.leaves(_parameters(network)))
        if contract.keeps(count > 0, "a network has parameters", "no array of real numbers"):
            _check_slope(contract, network, points)
    if type(network).__name__ in KINDS and isinstance(network, MLP | GatedNetwork | ImageNetwork):
        with contract.trying("a network is saved and loaded"), tempfile.TemporaryDirectory() as at:
            path = Path(at) / "network.npz"
            save_network(network, path)
            same = eqx.tree_equal(load_network(path), network)
            contract.keeps(same, "a saved network is read back bit by bit", "another one")
    contract.close()


def _outputs(network: eqx.Module, points: np.ndarray) -> Array:
    return _compiled(network, jnp.asarray(points), _contexts(network, points))


def _contexts(network: eqx.Module, points: np.ndarray) -> Any:
    """Return what frozen gates say, which is no function of the parameters."""
    return network.contexts(points.astype(float)) if isinstance(network, GatedNetwork) else None


@eqx.filter_jit
def _compiled(network: eqx.Module, points: Array, contexts: Any) -> Array:
    if isinstance(network, ImageNetwork):
        return network(points)
    if isinstance(network, GatedNetwork):
        return network(points, contexts)[:, None]
    call: Any = network
    values = jax.vmap(call)(points)
    return values[:, None] if values.ndim == 1 else values


def _check_slope(contract: Contract, network: eqx.Module, points: np.ndarray) -> None:
    """Compare the slope along random parameters with differences, in double precision."""
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        doubles = [np.asarray(each, dtype=float) for each in jax.tree.leaves(_parameters(network))]
        structure = jax.tree.structure(_parameters(network))
        rest = eqx.filter(network, eqx.is_inexact_array, inverse=True)
        points, contexts = points.astype(float), _contexts(network, points)
        direction = [rng.normal(size=each.shape) for each in doubles]

        def total(leaves: list[Array]) -> Array:
            moved = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
            return _compiled(moved, jnp.asarray(points), contexts).sum()

        def beside(share: float) -> float:
            moved = (jnp.asarray(w + share * d) for w, d in zip(doubles, direction, strict=True))
            return float(total(list(moved)))

        slope = jax.grad(total)([jnp.asarray(each) for each in doubles])
        along = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(slope, direction, strict=True))
        finite = all(np.isfinite(np.asarray(each)).all() for each in slope)
        contract.keeps(finite, "slopes are finite", "NaN or infinity")
        contract.agrees(
            "the slope of the outputs is the one that differences give",
            along, (beside(STEP) - beside(-STEP)) / (2.0 * STEP), SLOPE,
        )  # fmt: skip


def _parameters(network: eqx.Module) -> eqx.Module:
    return eqx.filter(network, eqx.is_inexact_array)
