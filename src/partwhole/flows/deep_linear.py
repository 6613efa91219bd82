r"""Training of deep linear networks whose layers are free, over the population, as flow or steps.

A network :math:`f(x) = W_L (\cdots (W_1 x + b_1) \cdots) + b_L` is the affine map
:math:`f(x) = W x + b`. Its loss :math:`\frac12 E\|f(x) - x\|^2` needs of the inputs no more than
their second moment A, and their mean m where there are biases; so do its gradients, which are
exact here: no sample is drawn. With :math:`H_l` the map from the input to layer l and
:math:`G = (W - I) A` (all on :math:`(x, 1)` where there are biases),

.. math:: \nabla_{W_l} L = (W_L \cdots W_{l+1})^\top \, G \, H_{l-1}^\top .
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows._inputs import SYMMETRY, grid, moment, recorded_steps
from partwhole.flows._integrate import integrate, padded
from partwhole.flows._path import Outcome, Path
from partwhole.flows._precision import in_float64
from partwhole.flows.one_layer import moment_with_constant

# A layer is its matrix and, for networks with biases, its bias.
Layer = tuple[Array, ...]
Layers = tuple[Layer, ...]


@door
@in_float64
def deep_linear_flow(
    weights: Sequence[Float[np.ndarray, "..."]],
    second_moment: Float[np.ndarray, "d d"],
    times: Float[np.ndarray, " T"],
    *,
    biases: Sequence[Float[np.ndarray, "..."]] | None = None,
    mean: Float[np.ndarray, " d"] | None = None,
    rtol: Real = 1e-9,
    atol: Real = 1e-12,
    max_steps: int = 65_536,
) -> Path:
    r"""Integrate gradient flow of a deep linear network that learns the identity.

    .. math:: \dot W_l = -\nabla_{W_l} L, \qquad
        L = \tfrac12 E\|f(x) - x\|^2 = \tfrac12 \mathrm{tr}[(W - I) A (W - I)^\top]

    where the last form is that of networks without biases.

    Parameters
    ----------
    weights : sequence of float arrays, shapes (h_l, h_{l-1})
        From the first layer to the last; the first takes d inputs, the last gives d outputs. With
        the same leading axes on all of them, many networks at once.
    second_moment : float array, shape (d, d)
        A = E[x x'].
    times : float array, shape (T,)
        Increasing, from 0 or later, in gradient time.
    biases : sequence of float arrays, shapes (h_l,), keyword-only, default None
        One for each layer, with the leading axes of the weights. All are trained.
    mean : float array, shape (d,), keyword-only, default None
        E[x]; for networks with biases, and only for them.
    rtol, atol : float, keyword-only, defaults 1e-9 and 1e-12
        Tolerances on the weights; `atol` is less in proportion where the largest entry of a layer
        is below 1e-3 at the start.
    max_steps : int, keyword-only, default 65536

    Returns
    -------
    Path
        Of the end-to-end map, in gradient time; `offsets` holds b where there are biases. Its
        notes say which networks ran out of steps, and how many directions are never learned
        where a layer is narrower than the inputs, or is so by its initial weights.

    Raises
    ------
    InputError
        For layers that don't fit onto each other or onto the second moment, biases without a
        mean or a mean without biases, or times that do not increase from 0.

    Notes
    -----
    Derived here. One layer relaxes as :math:`W(t) = I - (I - W_0) e^{-At}`. Without biases the
    flow conserves :math:`W_{l+1}^\top W_{l+1} - W_l W_l^\top` for each pair of layers. The tied
    network is none of these: its two layers share their gradients.

    Examples
    --------
    >>> w1, w2 = np.array([[0.2, 0.1], [0.1, 0.2]]), np.array([[0.2, 0.0], [0.1, 0.3]])
    >>> path = deep_linear_flow([w1, w2], np.diag([0.5, 2.0]), np.array([0.0, 2.0, 20.0]))
    >>> path.states[0].round(4).tolist()
    [[0.04, 0.02], [0.05, 0.07]]
    >>> path.loss(np.array([1.0, 2.0])).round(3)
    array([2.061, 0.288, 0.   ])
    """
    require(rtol > 0 and atol > 0, "rtol and atol are positive", f"{rtol}, {atol}", "use 1e-9")
    whole("max_steps", max_steps, 1, "leave it out, or pass more")
    asked = grid(times)
    layers, m, batch = _checked(weights, second_moment, biases, mean)
    found, done = _flows(
        layers, m, jnp.asarray(padded(asked)), jnp.asarray([rtol, atol], dtype=float), max_steps
    )
    ended = np.asarray(done)
    outcome = Outcome.REACHED if ended.all() else Outcome.MAX_STEPS
    notes = _bottleneck(layers, m) + _members(ended, batch, "ran out of steps")
    return _path(asked, found, batch, outcome, notes)


@door
@in_float64
def deep_linear_descent(
    weights: Sequence[Float[np.ndarray, "..."]],
    second_moment: Float[np.ndarray, "d d"],
    *,
    steps: int,
    step_size: Real,
    biases: Sequence[Float[np.ndarray, "..."]] | None = None,
    mean: Float[np.ndarray, " d"] | None = None,
    record: Sequence[int] | Int[np.ndarray, " T"] | None = None,
) -> Path:
    r"""Train a deep linear network that learns the identity by gradient descent on all inputs.

    Parameters
    ----------
    weights : sequence of float arrays, shapes (h_l, h_{l-1})
        As in `deep_linear_flow`.
    second_moment : float array, shape (d, d)
    steps : int, keyword-only
    step_size : float, keyword-only
        Below `deep_stability_limit`.
    biases, mean : keyword-only, default None
        As in `deep_linear_flow`.
    record : sequence of int, keyword-only, default all
        The steps to keep, increasing, from 0 (the start) to `steps`.

    Returns
    -------
    Path
        In gradient time, step k at k times `step_size`. Its outcome is `DIVERGED` where the
        numbers are no longer finite; notes as of `deep_linear_flow`.

    Raises
    ------
    InputError
        As `deep_linear_flow`, for a step size at or beyond the stability limit, and for steps to
        record that don't increase or don't exist.

    Notes
    -----
    Derived here: on linear networks a batch enters its gradient through its second moment
    alone, so that this is training on the whole population.

    Examples
    --------
    >>> w = 0.3 * np.array([[1, 0.5], [0.5, 1]])
    >>> path = deep_linear_descent(
    ...     [w, w, w], np.diag([0.5, 2.0]), steps=4000, step_size=0.01, record=[0, 400, 4000]
    ... )
    >>> path.times.tolist(), path.loss(np.array([1.0, 2.0])).round(4)
    ([0.0, 4.0, 40.0], array([2.1069, 0.4027, 0.    ]))
    """
    whole("steps", steps, 1, "ask for one or more")
    layers, m, batch = _checked(weights, second_moment, biases, mean)
    limit = deep_stability_limit(second_moment, len(layers), mean=mean)
    require(
        0 < step_size < limit,
        f"a step size lies between 0 and the stability limit {limit:.4g} of {len(layers)} layer(s)",
        f"{step_size:g}",
        "take a smaller step",
    )
    kept = recorded_steps(range(steps + 1) if record is None else record, steps)
    gaps = jnp.asarray(np.diff(padded(kept), prepend=0))
    found = _descents(layers, m, gaps, jnp.asarray(float(step_size)))
    states = [np.asarray(each)[:, -len(kept) :] for each in found]
    finite = np.all([np.isfinite(s).reshape(len(s), -1).all(axis=1) for s in states], axis=0)
    outcome = Outcome.REACHED if finite.all() else Outcome.DIVERGED
    notes = _bottleneck(layers, m) + _members(finite, batch, "diverged")
    return _path(float(step_size) * kept, found, batch, outcome, notes)


@door
def deep_stability_limit(
    second_moment: Float[np.ndarray, "d d"],
    n_layers: int,
    *,
    mean: Float[np.ndarray, " d"] | None = None,
) -> float:
    r"""Return the step size from which on no network that has learned the identity is stable.

    .. math:: \eta = \frac{2}{L \, \lambda_{\max}}

    for L layers and the largest eigenvalue of A. It is necessary, not sufficient: layers of
    unequal size are sharper, and at the start of training other limits may bind.

    Parameters
    ----------
    second_moment : float array, shape (d, d)
    n_layers : int
        L.
    mean : float array, shape (d,), keyword-only, default None
        For networks with biases. Then the eigenvalue is that of the covariance
        :math:`A - m m^\top`, since deep networks can centre their inputs on the way; for one
        layer, which can't, of the second moment of (x, 1).

    Returns
    -------
    float

    Raises
    ------
    InputError
        For fewer than one layer, a second moment that is none, or a mean that does not go with
        it.

    Notes
    -----
    Derived here. Where the loss is zero its Hessian is that of the linearised network. Along a
    residual :math:`v v^\top`, v the leading eigenvector of A, it is
    :math:`\lambda_{\max} \sum_l p_l^2 q_l^2` with :math:`p_l = |(W_L \cdots W_{l+1})^\top v|` and
    :math:`q_l = |W_{l-1} \cdots W_1 v|`. Since the product of all layers is the identity,
    :math:`p_l q_{l+1} \ge 1` and :math:`p_L = q_1 = 1`; hence :math:`\prod_l p_l q_l \ge 1`, and
    the sum is at least L. Layers that are all the identity reach it.

    Examples
    --------
    >>> deep_stability_limit(np.diag([4.0, 0.5]), 2)
    0.25
    """
    require(n_layers >= 1, "a network has at least one layer", n_layers, "pass 1 or more")
    spread = moment(second_moment, len(second_moment))
    if mean is not None:
        both = moment_with_constant(spread, mean)
        spread = both if n_layers == 1 else spread - np.outer(mean, mean)
    return float(2.0 / (n_layers * max(np.linalg.eigvalsh(spread)[-1], 1e-300)))


def _checked(
    w: Sequence[np.ndarray],
    second_moment: np.ndarray,
    biases: Sequence[np.ndarray] | None,
    mean: np.ndarray | None,
) -> tuple[Layers, Float[Array, "m m"], tuple[int, ...]]:
    """Check networks; return them along one axis, with the moment that moves them."""
    d = len(second_moment)
    a = moment(second_moment, d)
    shapes = ", ".join(str(each.shape) for each in w) or "none"
    require(
        len(w) > 0 and all(each.ndim >= 2 for each in w),
        "weights are matrices, one for each layer",
        f"shapes {shapes}",
        "pass a list of arrays (outputs, inputs), the first layer first",
    )
    batch = w[0].shape[:-2]
    sizes = [d, *(each.shape[-2] for each in w)]
    require(
        all(
            each.shape == (*batch, *pair)
            for each, pair in zip(w, zip(sizes[1:], sizes[:-1], strict=True), strict=True)
        )
        and sizes[-1] == d,
        f"each layer takes what the one before it gives, from {d} inputs to {d} outputs",
        f"shapes {shapes}",
        "order them from first to last, with the same leading axes",
    )
    require(
        (biases is None) == (mean is None),
        "biases move by the inputs' mean, so they are passed together",
        "biases without a mean" if mean is None else "a mean without biases",
        "pass identity.mean() with biases, or neither",
    )
    flat = [each.reshape(-1, *each.shape[-2:]) for each in w]
    if biases is None or mean is None:
        return _without_rounding(flat, None), jnp.asarray(a), batch
    require(
        [each.shape for each in biases] == [(*batch, size) for size in sizes[1:]],
        "each layer has a bias with an entry for each of its outputs",
        f"shapes {', '.join(str(each.shape) for each in biases)} for weights of shapes {shapes}",
        "pass zeros of those shapes to start from none",
    )
    shifts = [each.reshape(-1, each.shape[-1]) for each in biases]
    layers = _without_rounding(flat, shifts)
    return layers, jnp.asarray(moment_with_constant(a, mean)), batch


def _without_rounding(weights: list[np.ndarray], biases: list[np.ndarray] | None) -> Layers:
    """Turn hidden layers so that a direction in which nothing starts is a unit of zeros.

    The columns of W_l and b_l and the rows of W_{l+1} span what hidden layer l ever uses: no
    gradient leaves it. Were what lies outside rounding, it would grow and be learned in the end.
    """
    w, b = [each.copy() for each in weights], None if biases is None else list(biases)
    d = w[0].shape[-1]
    for k in range(len(w) - 1):
        parts = [w[k], w[k + 1].swapaxes(-1, -2)] + ([] if b is None else [b[k][..., None]])
        basis, size, _ = np.linalg.svd(np.concatenate(parts, axis=-1), full_matrices=True)
        rounding = 8.0 * sum(part.shape[-1] for part in parts) * np.finfo(float).eps
        kept = np.zeros((len(basis), basis.shape[-1]), dtype=bool)
        kept[:, : size.shape[-1]] = size > rounding * np.maximum(size[:, :1], 1e-300)
        # Layers that use at least as many directions as the inputs have hold nothing back.
        thin = kept.sum(axis=1) < min(d, kept.shape[1])
        turn = basis[thin] * kept[thin][:, None, :]
        w[k][thin] = turn.swapaxes(-1, -2) @ w[k][thin]
        w[k + 1][thin] = w[k + 1][thin] @ turn
        if b is not None:
            b[k] = b[k].copy()
            b[k][thin] = (turn.swapaxes(-1, -2) @ b[k][thin][..., None])[..., 0]
    if b is None:
        return tuple((jnp.asarray(each),) for each in w)
    return tuple((jnp.asarray(one), jnp.asarray(two)) for one, two in zip(w, b, strict=True))


def _bottleneck(layers: Layers, m: Array) -> tuple[str, ...]:
    """Note how many directions of the inputs narrow layers keep from being learned."""
    d, a = layers[0][0].shape[-1], np.asarray(m)
    # Biases learn the mean for themselves.
    spread = a if len(a) == d else a[:d, :d] - np.outer(a[:d, d], a[:d, d])
    needed = int(np.linalg.matrix_rank(spread, tol=SYMMETRY * a.max(), hermitian=True))
    width = min(layer[0].shape[-2] for layer in layers)
    if width < needed:
        return (
            f"a layer of {width} units bounds the rank of the end-to-end map: {needed - width} "
            "direction(s) of the inputs are never learned",
        )
    used = np.min([_used(one, two) for one, two in pairwise(layers)] or [[needed]], axis=0)
    thin = np.flatnonzero(used < needed)
    if not len(thin):
        return ()
    whose = "the initial weights lack" if len(used) == 1 else f"{len(thin)} of {len(used)} lack"
    first = "" if len(used) == 1 else f", for the first of them, at index {thin[0]}"
    return (
        f"{whose} rank: {needed - int(used[thin[0]])} direction(s) of the inputs are never "
        f"learned{first}",
    )


def _used(layer: Layer, above: Layer) -> np.ndarray:
    """Return for each network how many units of a hidden layer have any weight."""
    weight, *bias = (np.asarray(each) for each in layer)
    found = (weight != 0).any(axis=-1) | (np.asarray(above[0]) != 0).any(axis=-2)
    for each in bias:
        found |= each != 0
    return found.sum(axis=-1)


def _members(fine: np.ndarray, batch: tuple[int, ...], what: str) -> tuple[str, ...]:
    """Note for which networks of a batch something went wrong, by their place in it."""
    if not batch or fine.all():
        return ()
    places = [tuple(int(i) for i in at) for at in np.argwhere(~fine.reshape(batch))]
    named = ", ".join(str(at[0] if len(at) == 1 else at) for at in places[:8])
    more = f" and {len(places) - 8} more" if len(places) > 8 else ""
    return (f"{len(places)} of {fine.size} networks {what}: {named}{more} (counted from 0)",)


def _path(
    times: np.ndarray,
    found: tuple[Array, ...],
    batch: tuple[int, ...],
    outcome: Outcome,
    notes: tuple[str, ...],
) -> Path:
    """Return the path of networks found along one axis, at more times than were asked for."""
    states, *offsets = (
        np.asarray(each)[:, -len(times) :].reshape(*batch, len(times), *each.shape[2:])
        for each in found
    )
    return Path(times, states, "gradient", outcome, offsets[0] if offsets else None, notes)


def _maps(layers: Layers, inputs: Array) -> list[Array]:
    """Return the maps from the input, or from (x, 1), to every layer."""
    maps = [inputs]
    for weight, *bias in layers:
        out = weight @ maps[-1]
        maps.append(out.at[:, -1].add(bias[0]) if bias else out)
    return maps


def _inputs(layers: Layers, m: Array) -> Array:
    """Return the identity, on (x, 1) where there are biases."""
    return jnp.eye(layers[0][0].shape[1], m.shape[0], dtype=m.dtype)


def _end_to_end(layers: Layers, m: Array) -> tuple[Array, ...]:
    d = layers[0][0].shape[1]
    last = _maps(layers, _inputs(layers, m))[-1]
    return (last,) if len(layers[0]) == 1 else (last[:, :d], last[:, d])


def _gradients(layers: Layers, m: Array) -> Layers:
    inputs = _inputs(layers, m)
    maps = _maps(layers, inputs)
    back, found = (maps[-1] - inputs) @ m, []
    for (weight, *bias), below in zip(reversed(layers), reversed(maps[:-1]), strict=True):
        found.append((back @ below.T, back[:, -1]) if bias else (back @ below.T,))
        back = weight.T @ back
    return tuple(reversed(found))


def _flow(
    layers: Layers, m: Array, times: Array, tolerances: Array, max_steps: int
) -> tuple[Layers, Array]:
    """Return the layers at every time, and whether the last time was reached."""
    start, apart = ravel_pytree(layers)  # one vector compiles in half the time of many matrices

    def velocity(now: Array, m: Array) -> Array:
        return -ravel_pytree(_gradients(apart(now), m))[0]

    norms = jnp.stack([jnp.sqrt(sum((each**2).sum() for each in layer)) for layer in layers])
    pace = jnp.abs(m).sum(axis=-1).max() * jnp.maximum(1.0, norms.max()) ** (2 * len(layers) - 2)
    reached, done = integrate(velocity, start, m, times, pace, tolerances, max_steps)
    return jax.vmap(apart)(reached), done


def _flow_of_maps(
    layers: Layers, m: Array, times: Array, tolerances: Array, max_steps: int
) -> tuple[tuple[Array, ...], Array]:
    reached, done = _flow(layers, m, times, tolerances, max_steps)
    return jax.vmap(_end_to_end, in_axes=(0, None))(reached, m), done


_flows = jax.jit(jax.vmap(_flow_of_maps, in_axes=(0, None, None, None, None)), static_argnums=4)


def _descent(layers: Layers, m: Array, gaps: Array, step_size: Array) -> tuple[Array, ...]:
    def step(_: Array, now: Layers) -> Layers:
        return jax.tree.map(lambda w, g: w - step_size * g, now, _gradients(now, m))

    def onward(now: Layers, gap: Array) -> tuple[Layers, tuple[Array, ...]]:
        now = jax.lax.fori_loop(jnp.zeros_like(gap), gap, step, now)
        return now, _end_to_end(now, m)

    _, found = jax.lax.scan(onward, layers, gaps)
    return found


_descents = jax.jit(jax.vmap(_descent, in_axes=(0, None, None, None)))
