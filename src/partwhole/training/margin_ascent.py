r"""Ascent of the margin from a network's weights to a stationary point, to many digits.

Flows come within a hundredth of it and then slow down, as their steps must resolve the multiplier
of every input at the margin. An implicit step solves for these by a quadratic program.
"""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Count, NonNegative
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.active_set import solve_one_sided
from partwhole.limits.solvers.dual_newton import Border
from partwhole.networks import GatedNetwork
from partwhole.networks.gated import require_inputs
from partwhole.training.margins import require_two_classes

MEMORY_GIB = 4.0
FIRST, LONGER, SHORTER = 0.1, 2.0, 0.25  # step lengths, in units of the weights' own decay
LONGEST = 1e6
SHORTENINGS = 20
PATIENCE = 3
ROUNDING = 1e-14  # by which a step may raise the squared norm


@door
def ascend_margin(
    network: GatedNetwork,
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    max_steps: Count = 2000,
    tolerance: NonNegative = 1e-10,
) -> GatedNetwork:
    r"""Follow a network's normalised margin upward to a stationary point.

    Weights :math:`\theta` at margin 1 are replaced by those of

    .. math:: \min_{\theta'} \tfrac12 \|\theta'\|^2 + \tfrac{1}{2\tau} \|\theta' - \theta\|^2
              \quad\text{s.t.}\quad
              y_i \big(f(x_i; \theta) + \nabla f(x_i; \theta) \cdot (\theta' - \theta)\big) \ge 1,

    and are scaled to margin 1 again. It is an implicit step of length :math:`\tau` along the path
    that the normalised flow takes where margins are large, so that it ends in the same place; the
    step grows while the norm falls.

    Parameters
    ----------
    network : GatedNetwork
        Without a bias; it classifies all training inputs correctly, as after the normalised flow.
        Learned gates may change.
    inputs : float array, shape (n, d)
    labels : float array, shape (n,)
        -1 and +1.
    max_steps : int, keyword-only, default 2000
    tolerance : float, keyword-only, default 1e-10
        Ascent ends when three steps in a row lower the squared norm by at most this share of it.
        The distance from the stationary point is then about its root.

    Returns
    -------
    GatedNetwork
        In double precision, with margin 1. `stationarity` measures its distance.

    Raises
    ------
    InputError
        For a network with a bias or with training errors, labels that are not two classes, inputs
        that are not finite, gradients that take over 4 GiB, and a tolerance below 0.

    Notes
    -----
    Derived here. A unit of zeros stays so.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> from partwhole import solve
    >>> from partwhole.training import Training, train
    >>> from partwhole.training.stationarity import stationarity
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)])
    >>> y, gates = np.sign(x[:, 0] * x[:, 1]), HalfspaceGates.random(3, n_units=20)
    >>> start = GatedNetwork.draw(3, [gates, 1], seed=0)
    >>> training = Training(steps=500, loss="exponential", optimiser="normalised flow")
    >>> ended = ascend_margin(train([start], (x, y), training).networks[0], x, y)
    >>> limit = solve((x, y), gates, fit="margin", intercept="none")
    >>> told = stationarity(ended, x, y, limit)
    >>> bool(abs(told.fraction - 1) < 1e-6)
    True
    """
    require_inputs(inputs, network.dimension)
    require_two_classes(labels)
    y = labels
    outputs, gradients = margin_gradients(network, inputs, y)
    weights, n_layers = flat_weights(network), network.n_layers
    length, n_small_steps = FIRST, 0
    for _ in range(max_steps):
        # At margin 1 weights are smaller by the L-th root, gradients by its power L - 1.
        least = float((y * outputs).min())
        weights = weights / least ** (1.0 / n_layers)
        gradients = gradients / least ** (1.0 - 1.0 / n_layers)
        outputs = outputs / least
        size = float(weights @ weights)
        for _ in range(SHORTENINGS):
            aim = _implicit(weights, outputs, gradients, y, length, n_layers)
            margin = float((y * _with(network, aim).predict(inputs)).min())
            aim = aim / margin ** (1.0 / n_layers) if margin > 0 else np.full_like(aim, np.inf)
            if float(aim @ aim) <= size * (1.0 + ROUNDING):
                break
            length *= SHORTER
        else:
            break  # no step lowers the norm any more
        weights = aim
        # A short step lowers the norm only slightly at any point.
        n_small_steps = (
            n_small_steps + 1
            if size - float(aim @ aim) <= tolerance * min(1.0, length) * size
            else 0
        )
        if n_small_steps == PATIENCE:
            break
        length = min(length * LONGER, LONGEST)
        outputs, gradients = margin_gradients(_with(network, weights), inputs, y)
    return _with(network, weights)


def margin_gradients(
    network: GatedNetwork, inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n P"]]:
    """Return outputs and their gradients in all weights, for a network without training errors."""
    require(
        network.bias is None, "a normalised margin is of a homogeneous network", "a bias",
        "feed units a constant input instead",
    )  # fmt: skip
    n, size = len(inputs), sum(weight.size for weight in network.weights)
    needed = 8.0 * n * size / 2**30
    require(
        needed <= MEMORY_GIB,
        f"gradients may take {MEMORY_GIB:g} GiB",
        f"{n} inputs and {size} weights, which need about {needed:.0f}",
        "pass some of the inputs, all that hold the margin among them",
    )
    with jax.enable_x64(True):
        weights = tuple(on_device(weight, np.float64) for weight in network.weights)
        contexts = tuple(
            None if context is None else on_device(context, np.int32)
            for context in network.contexts(inputs)
        )
        outputs, weight_gradients = _output_gradients(network, weights, on_device(inputs), contexts)
        gradients = np.concatenate(
            [np.asarray(gradient).reshape(n, -1) for gradient in weight_gradients], axis=1
        )
        answers = np.asarray(outputs)
    n_wrong = int((labels * answers <= 0).sum())
    require(
        not n_wrong,
        "a normalised margin is above 0 where all training inputs are decided right",
        f"{n_wrong} of {n} wrong",
        "train on, or take more units",
    )
    return answers, gradients


def flat_weights(network: GatedNetwork) -> Float[np.ndarray, " P"]:
    """Return all weights in one array, layer by layer."""
    return np.concatenate([np.asarray(weight, dtype=float).ravel() for weight in network.weights])


@eqx.filter_jit
def _output_gradients(
    network: GatedNetwork, weights: tuple[Array, ...], inputs: Array, contexts: tuple
) -> tuple[Array, tuple[Array, ...]]:
    def answer(weights: tuple[Array, ...], x: Array, context: tuple) -> Array:
        copy = GatedNetwork(weights, network.gates, None, network.parallel)
        return copy(x[None], tuple(None if gates is None else gates[None] for gates in context))[0]

    return jax.vmap(jax.value_and_grad(answer), in_axes=(None, 0, 0))(weights, inputs, contexts)


def _with(network: GatedNetwork, flat: Float[np.ndarray, " P"]) -> GatedNetwork:
    ends = np.cumsum([weight.size for weight in network.weights])[:-1]
    parts = zip(np.split(flat, ends), network.weights, strict=True)
    with jax.enable_x64(True):
        weights = tuple(on_device(part.reshape(template.shape)) for part, template in parts)
    return GatedNetwork(weights, network.gates, None, network.parallel)


def _implicit(
    weights: Float[np.ndarray, " P"],
    outputs: Float[np.ndarray, " n"],
    gradients: Float[np.ndarray, "n P"],
    labels: Float[np.ndarray, " n"],
    length: float,
    n_layers: int,
) -> Float[np.ndarray, " P"]:
    r"""Return the weights after an implicit step, by its dual in the n multipliers.

    With :math:`a = 1 + 1 / \tau` they are
    :math:`\theta + (\sum_i \lambda_i y_i \nabla f_i - \theta) / a`; by homogeneity
    :math:`\nabla f_i \cdot \theta = L f_i`.
    """
    scaling = 1.0 + 1.0 / length
    kernel = gradients @ gradients.T
    bounds = scaling - labels * outputs * (scaling - n_layers)
    scale, unit = float(np.trace(kernel)) / len(labels), float(np.abs(bounds).max())
    n = len(labels)
    solution = solve_one_sided(
        kernel[None] / scale,
        OneSided(np.arange(n), labels, bounds / unit),
        Border(np.zeros((n, 0))),
    )
    target = gradients.T @ solution.multipliers[0] * (unit / scale)
    return weights + (target - weights) / scaling
