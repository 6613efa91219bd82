r"""The tangent kernel of a network as it is: inner products of its slopes in its parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Real
from partwhole.networks.images.layers import trained
from partwhole.networks.images.network import ImageNetwork
from partwhole.networks.mlp import MLP
from partwhole.tasks.images.composites import Composites

Inputs = Composites | Float[np.ndarray, "n d"] | Float[np.ndarray, "n h w c"]
Others = Composites | Float[np.ndarray, "m d"] | Float[np.ndarray, "m h w c"]
Parametrisation = Literal["standard", "ntk"]


@door(single=("inputs", "other"))
def tangent_kernel(
    network: MLP | ImageNetwork,
    inputs: Inputs,
    other: Others | None = None,
    *,
    output: int = 0,
    parametrisation: Parametrisation = "standard",
    memory_gib: Real = 2.0,
    progress: bool = True,
) -> Float[np.ndarray, "n m"]:
    r"""Compute the empirical neural tangent kernel of a network.

    .. math:: \Theta(x, x') = \sum_p s_p \,
              \frac{\partial f(x)}{\partial \theta_p} \frac{\partial f(x')}{\partial \theta_p}

    with the rate shares s of `parametrisation`, 1 in the standard one.

    Parameters
    ----------
    network : MLP or ImageNetwork
        One; image networks in inference, with running statistics held.
    inputs : float array, shape (n, d), or (n, h, w, c) for images; or Composites
    other : as inputs, default None
        The second argument of the kernel; None for the inputs themselves.
    output : int, keyword-only, default 0
        Which output's slopes.
    parametrisation : {"standard", "ntk"}, keyword-only, default "standard"
        "ntk", of an MLP, weighs slopes as `training.train_dense` does: 2 / n for weights of a
        layer with n inputs, 1 / (3 n) for biases.
    memory_gib : float, keyword-only, default 2
        GiB that slopes and kernel may take together, estimated before any is taken. Slopes of
        all inputs at once where that is enough, else in blocks of rows, each computed anew for
        every other block.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    float array, shape (n, m)
        Symmetric without `other`.

    Raises
    ------
    InputError
        For inputs of another shape than the network is for, an output that it has not, and a
        kernel that does not fit into the memory.

    Notes
    -----
    Jacot, Gabriel & Hongler (NeurIPS 2018). Slopes are in the network's precision, sums over
    parameters of a layer too; layers are added in double precision.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> network = mlp(2, layers=1, seed=0, bias=False)  # f = W x: its slopes are the inputs
    >>> tangent_kernel(network, np.array([[1.0, 0.0], [3.0, 4.0]])).round(5).tolist()
    [[1.0, 3.0], [3.0, 25.0]]
    """
    require(
        parametrisation == "standard" or isinstance(network, MLP),
        "rates of the tangent parametrisation are those of dense networks",
        type(network).__name__,
        "leave parametrisation out",
    )
    require(memory_gib > 0, "memory_gib is above 0", memory_gib, "pass 2, say")
    for given in (inputs,) if other is None else (inputs, other):
        require_fit(network, given, output)
    slopes, parameters = _slopes_of(network, output, parametrisation)
    n, m = len(inputs), len(inputs if other is None else other)
    itemsize = _itemsize(network)
    block = _block(n, m, parameters * itemsize, memory_gib)
    found = np.zeros((n, m))
    same = other is None
    spans = [(a, min(a + block, n)) for a in range(0, n, block)]
    across = spans if same else [(a, min(a + block, m)) for a in range(0, m, block)]
    pairs = sum(1 for i in range(len(spans)) for j in range(len(across)) if not same or j >= i)
    with bar("tangent kernel", pairs, shown=progress) as advance:
        for i, (a, b) in enumerate(spans):
            left = slopes(inputs, a, b)
            for j, (c, d) in enumerate(across):
                if same and j < i:
                    continue
                right = (
                    left if same and i == j else slopes(inputs if other is None else other, c, d)
                )
                part = found[a:b, c:d]
                for x, y in zip(left, right, strict=True):
                    part += x @ y.T
                if same and i == j:
                    part += part.T
                    part *= 0.5
                elif same:
                    found[c:d, a:b] = part.T
                # The next block of slopes is made when this one has gone.
                del right
                advance(1)
            del left
    return found


def _block(n: int, m: int, row: int, memory_gib: float) -> int:
    """Return how many rows of slopes to hold at a time, two blocks of them and their product."""
    budget = max(memory_gib * 2**30 - 8.0 * n * m, 0.0)
    # The largest whole number with 2 row block + 8 block**2 in the budget.
    block = int(2.0 * budget / (2.0 * row + sqrt(4.0 * row**2 + 32.0 * budget)))
    least = (8.0 * n * m + 2.0 * row + 8.0) / 2**30
    require(
        block >= 1,
        f"the tangent kernel of {n} and {m} inputs and two rows of slopes fit into memory_gib",
        f"{memory_gib:g}, but they take {least:.2g}",
        "pass fewer inputs, or more memory_gib if the machine has it",
    )
    return min(block, max(n, m))


def _itemsize(network: MLP | ImageNetwork) -> int:
    leaves = [leaf for leaf in jax.tree.leaves(network) if eqx.is_inexact_array(leaf)]
    return int(leaves[0].dtype.itemsize)


def require_fit(network: MLP | ImageNetwork, inputs: Inputs, output: int) -> None:
    """Require one network, inputs of its shape, and one of its outputs."""
    shape = network.shape if isinstance(network, ImageNetwork) else (network.weights[0].shape[-1],)
    single = isinstance(network, ImageNetwork) or network.weights[0].ndim == 2
    require(
        single, "a kernel is that of one network", "networks along a leading axis",
        "take one of them",
    )  # fmt: skip
    given = inputs.shape if isinstance(inputs, Composites) else inputs.shape[1:]
    require(
        tuple(given) == shape and len(inputs) > 0,
        f"inputs for this network have shape (n, {', '.join(map(str, shape))})",
        f"{len(inputs)} of shape {tuple(given)}",
        "pass one row for each",
    )
    n_outputs = _outputs_of(network)
    whole("output", output, 0, "pass 0 for the first")
    require(
        output < n_outputs, f"output is one of the network's {n_outputs}, from 0", output, "pass 0"
    )


def _slopes_of(
    network: MLP | ImageNetwork, output: int, parametrisation: str
) -> tuple[Callable[[Inputs, int, int], list[np.ndarray]], int]:
    """Return what computes slopes of some inputs, a matrix for each array of parameters."""
    if isinstance(network, MLP):
        read = _of_dense(network, output, parametrisation)
    else:
        read = _of_images(network, output)
    leaves = jax.tree.leaves(eqx.filter(network, trained(network)))

    def slopes(inputs: Inputs, start: int, stop: int) -> list[np.ndarray]:
        return read(jnp.asarray(inputs[start:stop], leaves[0].dtype))

    return slopes, sum(leaf.size for leaf in leaves)


def _of_dense(
    network: MLP, output: int, parametrisation: str
) -> Callable[[Array], list[np.ndarray]]:
    roots = _roots(network, parametrisation)

    def read(rows: Array) -> list[np.ndarray]:
        found = _dense_slopes(network, rows, roots, output)
        return [np.asarray(leaf).reshape(len(rows), -1) for leaf in found]

    return read


def _of_images(network: ImageNetwork, output: int) -> Callable[[Array], list[np.ndarray]]:
    kept, rest = eqx.partition(network, trained(network))

    def read(rows: Array) -> list[np.ndarray]:
        leaves = jax.tree.leaves(kept)
        found = [np.empty((len(rows), leaf.size), leaf.dtype) for leaf in leaves]
        # One by one: together they are convolutions in groups, which are slow on a CPU.
        for place, row in enumerate(rows):
            slopes = jax.tree.leaves(_image_slopes(kept, rest, row[None], output))
            for array, part in zip(found, slopes, strict=True):
                array[place] = np.asarray(part).ravel()
        return found

    return read


def _outputs_of(network: MLP | ImageNetwork) -> int:
    if isinstance(network, MLP):
        return int(network.weights[-1].shape[-2])
    shape = jax.ShapeDtypeStruct((1, *network.shape), jnp.float32)
    return int(jax.eval_shape(ImageNetwork.__call__, network, shape).shape[1])


def _roots(network: MLP, parametrisation: str) -> tuple[float, ...]:
    """Return the square root of each array's share of the rate, in the order of its leaves."""
    fan_in = [weight.shape[-1] for weight in network.weights]
    weights, biases = ([(2.0 / n) ** 0.5 for n in fan_in], [(3.0 * n) ** -0.5 for n in fan_in])
    found = weights + (biases if network.biases is not None else [])
    return tuple(found) if parametrisation == "ntk" else (1.0,) * len(found)


@partial(jax.jit, static_argnames=("roots", "output"))
def _dense_slopes(
    network: MLP, rows: Float[Array, "b d"], roots: tuple[float, ...], output: int
) -> list[Array]:
    slopes = jax.vmap(jax.grad(lambda net, x: net(x)[output]), in_axes=(None, 0))(network, rows)
    return [leaf * root for leaf, root in zip(jax.tree.leaves(slopes), roots, strict=True)]


@eqx.filter_jit
def _image_slopes(
    kept: ImageNetwork, rest: ImageNetwork, image: Float[Array, "1 h w c"], output: int
) -> ImageNetwork:
    return jax.grad(lambda net: eqx.combine(net, rest)(image)[0, output])(kept)
