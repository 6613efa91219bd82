r"""The tangent kernel of a network: inner products of its slopes in the current parameters."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole._device import on_device
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Index, Positive
from partwhole.networks.mlp import MLP
from partwhole.networks.network import (
    Inputs,
    Network,
    answers,
    n_outputs,
    precision,
    require_fit,
    require_one,
)
from partwhole.tasks.images.composites import Composites

Others = Composites | Float[np.ndarray, "m *shape"]
Parametrisation = Literal["standard", "ntk"]


@door(single=("inputs", "other"))
def tangent_kernel(
    network: Network,
    inputs: Inputs,
    other: Others | None = None,
    *,
    output: Index = 0,
    parametrisation: Parametrisation = "standard",
    memory_gib: Positive = 2.0,
    progress: bool = True,
) -> Float[np.ndarray, "n m"]:
    r"""Compute the empirical neural tangent kernel of a network.

    .. math:: \Theta(x, x') = \sum_p s_p \,
              \frac{\partial f(x)}{\partial \theta_p} \frac{\partial f(x')}{\partial \theta_p}

    with the rate shares s of `parametrisation`, 1 in the standard one.

    Parameters
    ----------
    network : Network
        One; image networks in inference, with fixed running statistics.
    inputs : float array, shape (n, ...) with the network's `shape`; or Composites
    other : as inputs, default None
        The second argument of the kernel; None for the inputs themselves.
    output : int, keyword-only, default 0
        The output whose slopes are taken.
    parametrisation : {"standard", "ntk"}, keyword-only, default "standard"
        "ntk", for an MLP, weights slopes as `training.Training` does: 2 / n for weights of a
        layer with n inputs, 1 / (3 n) for biases.
    memory_gib : float, keyword-only, default 2
        GiB that slopes and kernel may take together, estimated in advance. If they suffice, the
        slopes of all inputs are computed at once, else in blocks of rows, each of which is computed
        again for every other block.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    float array, shape (n, m)
        Symmetric without `other`.

    Raises
    ------
    InputError
        For inputs of another shape than the network's, an output that doesn't exist, and a kernel
        that does not fit into the memory.

    Notes
    -----
    Jacot, Gabriel & Hongler (NeurIPS 2018). Slopes, and their sums over the parameters of
    a layer, are in the network's precision; layers are added in double precision.

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
    require_output(network, output)
    for points in (inputs,) if other is None else (inputs, other):
        require_fit(network, points)
    slopes, parameters = _slopes_of(network, output, parametrisation)
    n, m = len(inputs), len(inputs if other is None else other)
    block = _block(n, m, parameters * precision(network).itemsize, memory_gib)
    kernel = np.zeros((n, m))
    symmetric = other is None
    spans = [(a, min(a + block, n)) for a in range(0, n, block)]
    across = spans if symmetric else [(a, min(a + block, m)) for a in range(0, m, block)]
    pairs = sum(1 for i in range(len(spans)) for j in range(len(across)) if not symmetric or j >= i)
    with bar("tangent kernel", pairs, shown=progress) as advance:
        for i, (a, b) in enumerate(spans):
            left = slopes(inputs, a, b)
            for j, (c, d) in enumerate(across):
                if symmetric and j < i:
                    continue
                right = (
                    left
                    if symmetric and i == j
                    else slopes(inputs if other is None else other, c, d)
                )
                part = kernel[a:b, c:d]
                for x, y in zip(left, right, strict=True):
                    part += x @ y.T
                if symmetric and i == j:
                    part += part.T
                    part *= 0.5
                elif symmetric:
                    kernel[c:d, a:b] = part.T
                # Free this block of slopes before the next is computed.
                del right
                advance(1)
            del left
    return kernel


def _block(n: int, m: int, row: int, memory_gib: float) -> int:
    """Return the number of rows in a block, so that two blocks and their product fit."""
    # Cap the budget above the memory of any machine.
    budget = max(min(memory_gib, 2.0**30) * 2**30 - 8.0 * n * m, 0.0)
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


def require_output(network: Network, output: int) -> None:
    """Require one network, and one of its outputs."""
    require_one(network, "a kernel is that of one network")
    count = n_outputs(network)
    rule = f"output is one of the network's {count}, from 0"
    require(0 <= output < count, rule, output, "pass 0")


def _slopes_of(
    network: Network, output: int, parametrisation: str
) -> tuple[Callable[[Inputs, int, int], list[np.ndarray]], int]:
    """Return a function for the slopes of inputs, a matrix for each array of parameters."""
    parameters, rest = network.partition()
    leaves = jax.tree.leaves(parameters)
    roots = _roots(network, parametrisation)
    # Images one by one: a batch would need grouped convolutions, which are slow on a CPU.
    size = 1 if len(network.shape) == 3 else None

    def slopes(inputs: Inputs, start: int, stop: int) -> list[np.ndarray]:
        rows = np.asarray(inputs[start:stop])
        contexts = network.contexts(rows.astype(float))
        arrays = [np.empty((len(rows), leaf.size), leaf.dtype) for leaf in leaves]
        for first in range(0, len(rows), size or len(rows)):
            part = slice(first, first + (size or len(rows)))
            x = on_device(rows[part], leaves[0].dtype)
            at = jax.tree.map(lambda array, part=part: array[part], contexts)
            for array, slope, root in zip(
                arrays,
                jax.tree.leaves(_slopes(parameters, rest, x, at, output)),
                roots,
                strict=True,
            ):
                np.multiply(np.asarray(slope).reshape(len(x), -1), root, out=array[part])
        return arrays

    def in_precision(inputs: Inputs, start: int, stop: int) -> list[np.ndarray]:
        with jax.enable_x64(leaves[0].dtype == np.float64):
            return slopes(inputs, start, stop)

    return in_precision, sum(leaf.size for leaf in leaves)


def _roots(network: Network, parametrisation: str) -> tuple[float, ...]:
    """Return the square root of each array's share of the rate, in the order of its leaves."""
    if parametrisation == "standard" or not isinstance(network, MLP):
        return (1.0,) * len(jax.tree.leaves(network.partition()[0]))
    fan_in = [weight.shape[-1] for weight in network.weights]
    biases = [(3.0 * n) ** -0.5 for n in fan_in] if network.biases is not None else []
    return (*((2.0 / n) ** 0.5 for n in fan_in), *biases)


@eqx.filter_jit
def _slopes(
    parameters: Any, rest: Any, x: Float[Array, "b *shape"], contexts: Any, output: int
) -> Any:
    def answer(parameters: Any, row: Array, at: Any) -> Array:
        alone = jax.tree.map(lambda values: values[None], (row, at))
        return answers(eqx.combine(parameters, rest), *alone)[0, output]

    slope = jax.grad(answer)
    if len(x) == 1:
        return slope(parameters, *jax.tree.map(lambda values: values[0], (x, contexts)))
    return jax.vmap(slope, in_axes=(None, 0, 0))(parameters, x, contexts)
