r"""Training of linear networks on the second moments of their batches.

A linear network is :math:`f(x) = E\,(x, 1)`. A batch enters its gradient through
:math:`M_b`, the mean of :math:`(x, 1)(x, 1)^\top` over the batch, alone. With :math:`H_l` the map
from (x, 1) to layer l and :math:`G = (E - [I\ 0]) M_b`,

.. math:: \nabla_{W_l} L = (W_L \cdots W_{l+1})^\top G H_{l-1}^\top ,

and the gradient of a bias is the last column of what stands before :math:`H_{l-1}^\top`. The
moments are computed once, so that no step touches a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole._device import on_device
from partwhole.networks import MLP
from partwhole.training.engines.recorded import Recorded


class Products(NamedTuple):
    """The products A B, A B' and A' B, for one memory layout of the networks."""

    plain: Callable[[Array, Array], Array]
    right: Callable[[Array, Array], Array]
    left: Callable[[Array, Array], Array]


MATRICES = Products(lambda a, b: a @ b, lambda a, b: a @ b.T, lambda a, b: a.T @ b)
# Many networks side by side along a third axis: with matrices of a few entries a CPU spends most
# time on call overhead, unless each entry is a long vector.
LANES = Products(
    lambda a, b: (a[:, :, None] * b[None]).sum(1),
    lambda a, b: (a[:, None] * b[None]).sum(2),
    lambda a, b: (a[:, :, None] * b[:, None]).sum(0),
)


@jax.jit
def _batch_moments(
    points: Float[Array, "n D"], order: Int[Array, "B batch"], weights: Float[Array, "B batch"]
) -> Float[Array, "B D D"]:
    def moment(batch: tuple[Array, Array]) -> Array:
        rows, weight = batch
        batch_points = points[rows]
        return (batch_points * weight[:, None]).T @ batch_points

    # One after another: batched matrix products of this size are slower, NumPy's 60 times.
    return jax.lax.map(moment, (order, weights))


@dataclass(frozen=True)
class Moments:
    """Training of linear networks on batch moments.

    Parameters
    ----------
    lanes : bool
        Whether networks lie side by side, entry by entry; False for matrix products.
    bias : bool
        Whether networks have biases, which depend on the inputs' mean.
    """

    lanes: bool
    bias: bool

    def data(
        self,
        inputs: Float[np.ndarray, "n d"],
        order: Int[np.ndarray, "B batch"],
        weights: Float[np.ndarray, "B batch"],
    ) -> tuple[np.ndarray, ...]:
        """Return the moments of the batches and that of all samples."""
        points = np.hstack([inputs, np.ones((len(inputs), 1))]) if self.bias else inputs
        moments = _batch_moments(on_device(points), on_device(order), on_device(weights))
        return np.asarray(moments), points.T @ points / len(points)

    def train(
        self,
        networks: MLP,
        data: tuple[np.ndarray, ...],
        rates: Float[np.ndarray, " runs"],
        gaps: Int[np.ndarray, " T"],
        probes: Float[np.ndarray, "runs k d"],
    ) -> Recorded:
        """Train, and record after each gap of steps; data and networks lead with the runs."""
        batches, whole = data
        dtype, steps = networks.weights[0].dtype, on_device(gaps, np.int32)
        arrays = networks, batches.astype(dtype), rates.astype(dtype)
        if self.lanes:
            # NumPy moves the axes, without compilation.
            run_last = jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), 0, -1), arrays)
            results = _lanes(*jax.tree.map(on_device, run_last), steps)
            maps, final = jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), -1, 0), results)
        else:
            maps, final = _matrices(*jax.tree.map(on_device, arrays), steps)
        return Recorded(*_read(np.asarray(maps, dtype=float), whole, probes), final)


def _read(
    maps: Float[np.ndarray, "runs T d D"],
    whole: Float[np.ndarray, "runs D D"],
    probes: Float[np.ndarray, "runs k d"],
) -> tuple[Float[np.ndarray, "runs T k d"], Float[np.ndarray, "runs T"]]:
    d, columns = maps.shape[-2:]
    points = np.concatenate([probes, np.ones((*probes.shape[:-1], 1))], axis=-1)[..., :columns]
    gap = maps - np.eye(d, columns)
    with np.errstate(all="ignore"):  # of runs that diverged
        answers = points[:, None] @ np.swapaxes(maps, -1, -2)
        return answers, 0.5 * ((gap @ whole[:, None]) * gap).sum(axis=(-2, -1))


def _maps(network: MLP, inputs: Array, products: Products) -> list[Array]:
    """Return the maps from the input, or from (x, 1), to every layer."""
    maps = [inputs]
    for place, weight in enumerate(network.weights):
        out = products.plain(weight, maps[-1])
        maps.append(out if network.biases is None else out.at[:, -1].add(network.biases[place]))
    return maps


def _stepped(network: MLP, inputs: Array, moment: Array, rate: Array, products: Products) -> MLP:
    """Return the network after a step down the gradient."""
    maps = _maps(network, inputs, products)
    back = products.plain(maps[-1] - inputs, moment)
    weights, biases = list(network.weights), list(network.biases or ())
    rate = rate[None]
    for place in reversed(range(network.n_layers)):
        weight = weights[place]
        weights[place] = weight - rate[None] * products.right(back, maps[place])
        if biases:
            biases[place] = biases[place] - rate * back[:, -1]
        back = products.left(weight, back) if place else back
    new_biases = None if network.biases is None else tuple(biases)
    return MLP(tuple(weights), new_biases, network.nonlinearity)


def _train(
    network: MLP, batches: Array, rate: Array, gaps: Array, products: Products
) -> tuple[Array, MLP]:
    d = network.weights[0].shape[1]
    shape = (d, *batches.shape[2:])
    inputs = jnp.eye(*shape[:2], dtype=batches.dtype)
    inputs = jnp.broadcast_to(inputs.reshape(*shape[:2], *[1] * (len(shape) - 2)), shape)

    def step(at: Array, current: MLP) -> MLP:
        moment = jax.lax.dynamic_index_in_dim(batches, at % len(batches), keepdims=False)
        return _stepped(current, inputs, moment, rate, products)

    def onward(carry: tuple[Array, MLP], gap: Array) -> tuple[tuple[Array, MLP], Array]:
        at, current = carry
        current = jax.lax.fori_loop(at, at + gap, step, current)
        return (at + gap, current), _maps(current, inputs, products)[-1]

    (_, final), maps = jax.lax.scan(onward, (jnp.zeros_like(gaps[0]), network), gaps)
    return maps, final


_lanes = jax.jit(partial(_train, products=LANES))
_matrices = jax.jit(jax.vmap(partial(_train, products=MATRICES), in_axes=(0, 0, 0, None)))
