"""The lazy regime: predictions of a network whose kernel stays constant, without training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from partwhole._checks import InputError, require
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Real
from partwhole.features.dense_kernels import dense_kernel
from partwhole.limits import Equal, Limit, Margin
from partwhole.limits.solve import solve
from partwhole.networks import MLP, activations, outputs, tangent_kernel
from partwhole.networks.network import Inputs, Network, require_fit
from partwhole.networks.tangent import Parametrisation, require_output
from partwhole.tasks.images.composites import Composites

Kind = Literal["tangent", "readout", "nngp", "ntk"]


@dataclass(frozen=True, eq=False)
class KernelRegime:
    """Predictions of a network's kernel, and the limit that they come from.

    Parameters
    ----------
    predictions : float array, shape (n,)
        For every input. For the squared loss they include the network's initial outputs, which
        are 0 on average over wide networks; for the logistic loss they are those of the largest
        margin, scaled so that the smallest training margin is 1.
    kernel : float array, shape (n, n)
    limit : Limit
        Of the training inputs, with its certificate.
    """

    predictions: Float[np.ndarray, " n"]
    kernel: Float[np.ndarray, "n n"]
    limit: Limit


@door(missing=("targets",), single=("inputs",))
def kernel_regime(
    network: Network,
    inputs: Inputs,
    targets: Float[np.ndarray, " n"],
    is_train: Bool[np.ndarray, " n"],
    *,
    kind: Kind = "tangent",
    loss: Literal["squared", "logistic"] = "squared",
    output: int = 0,
    parametrisation: Parametrisation = "standard",
    memory_gib: Real = 2.0,
) -> KernelRegime:
    r"""Predict the result of training a network to convergence if its kernel stays constant.

    .. math:: f(x) = f_0(x) + \Theta(x, X)\, \Theta(X, X)^{-1} (y - f_0(X))

    for the squared loss, and the kernel machine of the largest margin for the logistic one.

    Parameters
    ----------
    network : Network
        Before training, or at any time.
    inputs : float array, shape (n, ...) with the network's `shape`; or Composites
    targets : float array, shape (n,)
        Only those of training inputs are used; labels -1 and +1 for the logistic loss.
    is_train : bool array, shape (n,)
        Which inputs are training inputs.
    kind : {"tangent", "readout", "nngp", "ntk"}, keyword-only, default "tangent"
        "tangent" trains all parameters, "readout" those of the last layer. The other two describe
        infinitely wide dense ReLU networks whose weights and biases have the same mean squares
        as this network's, layer by layer: "nngp" trains the readout, "ntk" all parameters in the
        tangent parametrisation; see `dense_kernel`.
    loss : {"squared", "logistic"}, keyword-only, default "squared"
    output : int, keyword-only, default 0
    parametrisation, memory_gib : keyword-only
        As in `tangent_kernel`, of the kind "tangent".

    Returns
    -------
    KernelRegime

    Raises
    ------
    InputError
        As `tangent_kernel`, for arrays that don't fit together, and for kinds that the network
        does not have: a readout without a layer below it, wide networks of images.

    Notes
    -----
    Jacot, Gabriel & Hongler (NeurIPS 2018) for the squared loss; Lippl & Stachenfeld (ICLR 2025)
    take networks in the lazy regime for such kernel machines.

    Examples
    --------
    >>> from partwhole.networks import mlp
    >>> network = mlp(2, layers=1, seed=0, bias=False)
    >>> x, seen = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([True, True, False])
    >>> kernel_regime(network, x, np.array([1.0, 2.0, 0.0]), seen).predictions.round(4).tolist()
    [1.0, 2.0, 3.0]

    Wide networks like one with 20 units leak as the theory of random features predicts:

    >>> from partwhole import measures, tasks
    >>> from partwhole.networks import Architecture
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> built = Architecture(2, 20, "relu", bias=False, initial="he", scale=1.0)
    >>> start, rows = built.network(18, seed=0, outputs=1), task.one_hot()
    >>> wide = kernel_regime(start, rows, task.targets, task.is_train, kind="nngp")
    >>> round(measures.slope(task, wide.predictions).value, 3)
    0.743
    """
    n = len(inputs)
    require(
        len(targets) == len(is_train) == n and bool(is_train.any()),
        "targets and is_train have one entry for each input, and some input is trained on",
        f"{len(targets)} and {len(is_train)} for {n}, {int(is_train.sum())} of them trained on",
        "pass arrays of equal length",
    )
    n_not_finite = int((~np.isfinite(targets[is_train])).sum())
    require(
        n_not_finite == 0,
        "training targets are finite",
        f"{n_not_finite} that are not",
        "hold those rows out",
    )
    require_output(network, output)
    require_fit(network, inputs)
    infinite_width = kind in ("nngp", "ntk")
    if infinite_width:
        kernel = _wide_kernel(network, inputs, kind)
    elif kind == "tangent":
        kernel = tangent_kernel(
            network, inputs, output=output, parametrisation=parametrisation, memory_gib=memory_gib
        )
    else:
        gradients = _readout_gradients(network, inputs, output)
        kernel = gradients @ gradients.T
    start = np.zeros(n)
    if loss == "squared" and not infinite_width:
        start = outputs(network, inputs)[:, output].astype(float)
    fit = Equal() if loss == "squared" else Margin()
    # A network cannot learn directions below the rounding of single precision.
    rounding = 1e-12 if infinite_width else 1e-7
    limit = solve(
        (None, targets - start), kernel, fit=fit, intercept="none", is_train=is_train,
        rounding=rounding,
    )  # fmt: skip
    return KernelRegime(start + limit.predictions, kernel, limit)


def _wide_kernel(
    network: Network, inputs: Inputs, kind: Literal["nngp", "ntk"]
) -> Float[np.ndarray, "n n"]:
    """Return the kernel of wide networks with weights and biases of this one's mean squares."""
    rule = "kernels of wide networks are those of dense ReLU networks"
    if not isinstance(network, MLP) or isinstance(inputs, Composites):
        raise InputError(f'{rule}; got {type(network).__name__}; take kind="tangent"')
    require(network.nonlinearity == "relu", rule, network.nonlinearity, 'take kind="tangent"')
    weights = [w.shape[1] * _mean_square(w) for w in network.weights]
    biases = [0.0] * len(weights) if network.biases is None else map(_mean_square, network.biases)
    return dense_kernel(
        np.asarray(inputs, dtype=float), network.n_layers - 1, kind,
        weight_variance=weights, bias_variance=list(biases),
    )  # fmt: skip


def _mean_square(parameters: Array) -> float:
    return float(np.mean(np.square(np.asarray(parameters, dtype=float))))


def _readout_gradients(network: Network, inputs: Inputs, output: int) -> Float[np.ndarray, "n p"]:
    """Return the gradients of an output in the last layer's parameters, for every input."""
    require(
        len(network.names) > 1, "a readout reads a layer below it", "one layer",
        'take kind="tangent"',
    )  # fmt: skip
    features = activations(network, inputs, layers=network.names[-2:-1])[0]
    contexts = network.contexts(np.asarray(inputs[:], dtype=float))
    parameters, rest = network.partition()
    leaves, shape = jax.tree.flatten(parameters)

    def answers(readout: dict[int, Array], x: Array, context: Any) -> Array:
        merged = jax.tree.unflatten(shape, [readout.get(i, leaf) for i, leaf in enumerate(leaves)])
        return eqx.combine(merged, rest).layer(len(network.names) - 1, x, context)[:, output]

    with jax.enable_x64(leaves[0].dtype == np.float64):
        x = on_device(features, leaves[0].dtype)
        leaf_gradients = jax.grad(lambda readout: jnp.mean(answers(readout, x, contexts)))(
            dict(enumerate(leaves))
        )
        readout = {
            i: leaf for i, leaf in enumerate(leaves) if np.any(np.asarray(leaf_gradients[i]))
        }
        require(
            len(readout) > 0, "the last layer has parameters",
            f"{network.names[-1]!r} without any that matter", 'take kind="tangent"',
        )  # fmt: skip
        single = jax.tree.map(lambda array: on_device(np.asarray(array)[:, None]), (x, contexts))
        gradients = jax.vmap(
            jax.grad(lambda *arguments: answers(*arguments)[0]), in_axes=(None, 0, 0)
        )(readout, *single)
    rows = [np.asarray(leaf, dtype=float).reshape(len(x), -1) for leaf in gradients.values()]
    return np.concatenate(rows, axis=1)
