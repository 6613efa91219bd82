r"""Deep linear networks whose layers are free, trained on the whole population.

A network :math:`f(x) = W_L (\cdots (W_1 x + b_1) \cdots) + b_L` is the affine map
:math:`f(x) = W x + b`. Its loss :math:`\frac12 E\|f(x) - y\|^2` needs of inputs and targets no
more than A = E[x x'] and C = E[y x'], and the means where there are biases; so do its gradients,
which are exact here: no sample is drawn. With :math:`H_l` the map from the input to layer l and
:math:`G = W A - C` (all on :math:`(x, 1)` where there are biases),

.. math:: \nabla_{W_l} L = (W_L \cdots W_{l+1})^\top \, G \, H_{l-1}^\top .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from partwhole._checks import require
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows._inputs import grid
from partwhole.flows._integrate import integrate, padded
from partwhole.flows._layers import (
    Layers,
    bottleneck_notes,
    end_to_end,
    gradients,
    without_rounding,
)
from partwhole.flows._path import FlowOutcome, Path
from partwhole.flows._population import Population
from partwhole.flows._precision import in_float64


@door
@dataclass(frozen=True, eq=False)
class Deep:
    r"""A deep linear network, which learns the identity or another linear map.

    .. math:: \dot W_l = -\nabla_{W_l} L, \qquad
        L = \tfrac12 E\|f(x) - y\|^2 = \tfrac12 \mathrm{tr}[(W - W_*) A (W - W_*)^\top] + L_0

    where :math:`W_* A = C`, and the last form is that of networks without biases.

    Parameters
    ----------
    weights : sequence of float arrays, shapes (h_l, h_{l-1})
        Initial weights from the first layer to the last; the first takes d inputs, the last gives
        e outputs. With the same leading axes on all of them, many networks at once.
    second_moment : float array, shape (d, d)
        A = E[x x'].
    cross_covariance : float array, shape (e, d), default None
        C = E[y x'], of targets y: those of a linear teacher B are C = B A, whatever noise there is
        on its answers. None is the identity: y = x, C = A.
    biases : sequence of float arrays, shapes (h_l,), keyword-only, default None
        Initial biases, one for each layer, with the leading axes of the weights. All are trained.
    mean : float array, shape (d,), keyword-only, default None
        E[x]; for networks with biases, and only for them.
    target_mean : float array, shape (e,), keyword-only, default None
        E[y]; for networks with biases on a cross covariance, and only for them.

    Raises
    ------
    InputError
        For layers that don't fit onto each other or onto the moments, biases without a mean or a
        mean without biases, and a cross covariance along directions in which the inputs do not
        vary.

    Notes
    -----
    Derived here. One layer relaxes as `OneLayer`. Without biases the flow conserves
    :math:`W_{l+1}^\top W_{l+1} - W_l W_l^\top` for each pair of layers. Where A is the identity
    and the layers start balanced and along the singular vectors of C, each mode of strength s
    moves by itself, :math:`\dot u = L u^{2 - 2/L} (s - u)`, in gradient time; for two layers

    .. math:: u(t) = \frac{s\, e^{2 s t}}{e^{2 s t} - 1 + s/u_0}

    (Saxe, McClelland & Ganguli, ICLR 2014, with their time constant as the unit). The tied
    network is none of these: its two layers share their gradients.

    Examples
    --------
    >>> from partwhole.flows import flow
    >>> w1, w2 = np.array([[0.2, 0.1], [0.1, 0.2]]), np.array([[0.2, 0.0], [0.1, 0.3]])
    >>> path = flow(Deep([w1, w2], np.diag([0.5, 2.0])), np.array([0.0, 2.0, 20.0]))
    >>> path.states[0].round(4).tolist()
    [[0.04, 0.02], [0.05, 0.07]]
    >>> path.probe_losses(np.array([1.0, 2.0])).round(3)
    array([2.061, 0.288, 0.   ])
    >>> teacher = np.array([[2.0, -1.0]])
    >>> one_output = Deep([w1, w2[:1]], np.eye(2), teacher)
    >>> flow(one_output, np.array([20.0])).states.round(3).tolist()
    [[[2.0, -1.0]]]
    """

    weights: Sequence[Float[np.ndarray, "..."]]
    second_moment: Float[np.ndarray, "d d"]
    cross_covariance: Float[np.ndarray, "e d"] | None = None
    _: KW_ONLY
    biases: Sequence[Float[np.ndarray, "..."]] | None = None
    mean: Float[np.ndarray, " d"] | None = None
    target_mean: Float[np.ndarray, " e"] | None = None

    def __post_init__(self) -> None:
        weights, biases, d = self.weights, self.biases, len(self.second_moment)
        outputs = d if self.cross_covariance is None else len(self.cross_covariance)
        shapes = ", ".join(str(layer.shape) for layer in weights) or "none"
        require(
            len(weights) > 0 and all(layer.ndim >= 2 for layer in weights),
            "weights are matrices, one for each layer",
            f"shapes {shapes}",
            "pass a list of arrays (outputs, inputs), the first layer first",
        )
        sizes = [d, *(layer.shape[-2] for layer in weights)]
        fitting = [(*self.batch, *pair) for pair in zip(sizes[1:], sizes[:-1], strict=True)]
        require(
            [layer.shape for layer in weights] == fitting and sizes[-1] == outputs,
            f"each layer takes what the one before it gives, from {d} inputs to {outputs} outputs",
            f"shapes {shapes}",
            "order them from first to last, with the same leading axes",
        )
        require(
            (biases is None) == (self.mean is None),
            "biases move by the inputs' mean, so they are passed together",
            "biases without a mean" if self.mean is None else "a mean without biases",
            "pass identity.mean() with biases, or neither",
        )
        if biases is not None:
            require(
                [bias.shape for bias in biases] == [(*self.batch, size) for size in sizes[1:]],
                "each layer has a bias with an entry for each of its outputs",
                f"shapes {', '.join(str(bias.shape) for bias in biases)} for weights of shapes "
                f"{shapes}",
                "pass zeros of those shapes to start from none",
            )
        _ = self.population

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of the weights: how many networks."""
        return self.weights[0].shape[:-2]

    @cached_property
    def population(self) -> Population:
        """The moments of inputs and targets, and the best linear map."""
        return Population.read(
            self.second_moment, self.cross_covariance, self.mean, self.target_mean
        )

    def losses(self, states: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the training loss of each state; see `Path.losses`."""
        return self.population.losses(states, offsets)

    def best_answers(self, probes: np.ndarray) -> np.ndarray:
        """Return what the best linear map answers to each probe."""
        return self.population.best_answers(probes)


@in_float64
def follow_deep(
    system: Deep,
    times: Float[np.ndarray, " T"],
    *,
    rtol: Real = 1e-9,
    atol: Real = 1e-12,
    max_steps: int = 65_536,
) -> Path:
    """Return the path of deep linear networks, in gradient time."""
    times = grid(times)
    layers, m, best = _on_one_axis(system)
    tolerances = on_device([rtol, atol], float)
    reached, complete = _flows(layers, m, best, on_device(padded(times)), tolerances, max_steps)
    finished = np.asarray(complete)
    outcome = FlowOutcome.REACHED if finished.all() else FlowOutcome.MAX_STEPS
    notes = bottleneck_notes(layers, system.population)
    notes += _failure_notes(finished, system.batch, "ran out of steps")
    return _path(system, times, reached, outcome, notes)


@in_float64
def descend_deep(system: Deep, step_size: float, record: Int[np.ndarray, " T"]) -> Path:
    """Return the path of deep linear networks in steps of gradient descent."""
    layers, m, best = _on_one_axis(system)
    gaps = on_device(np.diff(padded(record), prepend=0))
    reached = _descents(layers, m, best, gaps, jnp.asarray(step_size))
    states = [np.asarray(part)[:, -len(record) :] for part in reached]
    finite = np.all([np.isfinite(s).reshape(len(s), -1).all(axis=1) for s in states], axis=0)
    outcome = FlowOutcome.REACHED if finite.all() else FlowOutcome.DIVERGED
    notes = bottleneck_notes(layers, system.population)
    notes += _failure_notes(finite, system.batch, "diverged")
    return _path(system, step_size * record, reached, outcome, notes)


def _on_one_axis(system: Deep) -> tuple[Layers, Float[Array, "m m"], Float[Array, "e m"] | None]:
    """Return networks along one axis, the moment that moves them, and their best map."""
    weights = [layer.reshape(-1, *layer.shape[-2:]) for layer in system.weights]
    biases = system.biases
    if biases is not None:
        biases = [bias.reshape(-1, bias.shape[-1]) for bias in biases]
    population = system.population
    best = None if population.is_identity else on_device(population.best)
    return without_rounding(weights, biases), on_device(population.moment), best


def _failure_notes(fine: np.ndarray, batch: tuple[int, ...], failure: str) -> tuple[str, ...]:
    """Note for which networks of a batch something went wrong, by their place in it."""
    if not batch or fine.all():
        return ()
    places = [tuple(int(i) for i in place) for place in np.argwhere(~fine.reshape(batch))]
    listed = ", ".join(str(place[0] if len(place) == 1 else place) for place in places[:8])
    remaining = f" and {len(places) - 8} more" if len(places) > 8 else ""
    return (
        f"{len(places)} of {fine.size} networks {failure}: {listed}{remaining} (counted from 0)",
    )


def _path(
    system: Deep,
    times: np.ndarray,
    reached: tuple[Array, ...],
    outcome: FlowOutcome,
    notes: tuple[str, ...],
) -> Path:
    """Return the path of networks along one axis, whose first records are padding."""
    states, *offsets = (
        np.asarray(part)[:, -len(times) :].reshape(*system.batch, len(times), *part.shape[2:])
        for part in reached
    )
    return Path(
        times, states, "gradient", outcome, offsets[0] if offsets else None, notes, system=system
    )


def _flow(
    layers: Layers, m: Array, best: Array | None, times: Array, tolerances: Array, max_steps: int
) -> tuple[Layers, Array]:
    """Return the layers at every time, and whether the last time was reached."""
    start, unravel = ravel_pytree(layers)  # one vector compiles in half the time of many matrices

    def velocity(weights: Array, m: Array) -> Array:
        return -ravel_pytree(gradients(unravel(weights), m, best))[0]

    norms = jnp.stack([jnp.sqrt(sum((part**2).sum() for part in layer)) for layer in layers])
    pace = jnp.abs(m).sum(axis=-1).max() * jnp.maximum(1.0, norms.max()) ** (2 * len(layers) - 2)
    reached, complete = integrate(velocity, start, m, times, pace, tolerances, max_steps)
    return jax.vmap(unravel)(reached), complete


def _flow_of_maps(
    layers: Layers, m: Array, best: Array | None, times: Array, tolerances: Array, max_steps: int
) -> tuple[tuple[Array, ...], Array]:
    reached, complete = _flow(layers, m, best, times, tolerances, max_steps)
    return jax.vmap(end_to_end, in_axes=(0, None))(reached, m), complete


_flows = jax.jit(jax.vmap(_flow_of_maps, in_axes=(0, *[None] * 5)), static_argnums=5)


def _descent(
    layers: Layers, m: Array, best: Array | None, gaps: Array, step_size: Array
) -> tuple[Array, ...]:
    def step(_: Array, layers: Layers) -> Layers:
        return jax.tree.map(lambda w, g: w - step_size * g, layers, gradients(layers, m, best))

    def onward(layers: Layers, gap: Array) -> tuple[Layers, tuple[Array, ...]]:
        layers = jax.lax.fori_loop(jnp.zeros_like(gap), gap, step, layers)
        return layers, end_to_end(layers, m)

    _, reached = jax.lax.scan(onward, layers, gaps)
    return reached


_descents = jax.jit(jax.vmap(_descent, in_axes=(0, *[None] * 4)))
