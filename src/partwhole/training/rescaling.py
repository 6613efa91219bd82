"""Rescaling of weights between pretraining and finetuning, in any tree of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from partwhole._checks import require, seed_list
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import NonNegative, Positive, Real, Seed
from partwhole.networks import MLP

T = TypeVar("T")
Leaves = Sequence[str] | Callable[[str], bool]
READOUT = 104  # random stream of new readouts, separate from those of initial weights and batches


@door
def rescale_after_pretraining(
    parameters: T,
    c: Positive,
    which: Literal["hidden", "all"] | Leaves = "hidden",
    readout: Literal["keep", "scale"] | tuple[Literal["reset"], Real] | None = None,
    *,
    last_layer: Leaves | None = None,
    seed: Seed | None = None,
) -> T:
    r"""Multiply pretrained weights by c, once, before finetuning.

    Parameters
    ----------
    parameters : tree of arrays
        Dictionaries, lists, tuples, named tuples and `equinox.Module`, nested as you like, of
        NumPy or JAX arrays. Leaves that are not arrays of floating-point numbers stay.
    c : float
        Above 0. Below 1 the network learns more sparsely, above 1 it is closer to a kernel
        machine.
    which : {"hidden", "all"}, sequence of str, or function, default "hidden"
        What is multiplied besides the last layer: all other layers ("hidden" and "all" differ in
        the default of `readout`), or the named leaves. A name is a path with dots, such as
        "encoder.0.weight"; "encoder" names all beneath it. A function gets each path.
    readout : {"keep", "scale"} or ("reset", gamma), default None
        Treatment of the last layer: it stays, is multiplied too, or all its entries, biases
        included, are set to gamma. None is "scale" for "all" and "keep" otherwise.
    last_layer : sequence of str or function, keyword-only, default None
        The leaves of the last layer. None finds it in trees whose layers lie in a list or tuple:
        the last entry, or the last of each where weights and biases have a list each. Names in
        dictionaries and fields have no order to rely on.
    seed : int, keyword-only, default None
        With one, a reset draws from :math:`N(0, \gamma^2)` in place of setting to gamma.

    Returns
    -------
    tree of arrays
        Of the same types, shapes and precision; the one passed in stays unchanged.

    Raises
    ------
    InputError
        For a c that is not above 0, an option that does not exist, arrays that aren't finite,
        weights that overflow or vanish in their own precision, names that no leaf has, and a last
        layer that must be named.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024): the hidden layer of diagonal and ReLU networks, with a new
    readout; all parameters of image networks, whose readout is not reset. In a network without
    biases and normalisation, L layers times c multiply the output by :math:`c^L`, hidden layers
    alone by :math:`c^{L-1}`. With batch or layer normalisation this no longer holds: the scale
    of weights ahead of it does not affect the output, only how fast their direction changes, while
    its gains do. Running statistics are not parameters: leave them out of the tree, or of `which`.

    Examples
    --------
    >>> layers = [{"weight": np.array([2.0, 4.0])}, {"weight": np.array([1.0])}]
    >>> rescale_after_pretraining(layers, 0.5, readout=("reset", 0.001))
    [{'weight': array([1., 2.])}, {'weight': array([0.001])}]
    """
    custom = callable(which) or not isinstance(which, str)
    fate, gamma = _fate(readout or ("scale" if which == "all" else "keep"))
    require(
        seed is None or fate == "reset",
        "a seed draws a readout that is reset",
        f'readout="{fate}"',
        'pass readout=("reset", 0.001), or leave out seed',
    )
    leaves, form = jax.tree_util.tree_flatten_with_path(parameters)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    numbers = [_is_float_array(leaf) for _, leaf in leaves]
    require(
        any(numbers),
        "parameters are a tree of arrays of floating-point numbers",
        "none",
        "pass the trained weights",
    )
    not_finite = [
        name
        for name, (_, leaf), number in zip(names, leaves, numbers, strict=True)
        if number and not _is_finite_array(leaf)
    ]
    require(
        not not_finite,
        "parameters are finite numbers",
        f"NaN or infinity in {_some(not_finite)}",
        "leave out runs that diverged, and arrays that are no parameters",
    )
    if last_layer is not None:
        last = _chosen("last_layer", last_layer, names)
    elif fate == "scale" and which == "all":
        last = [False] * len(names)  # every layer is multiplied
    elif custom and fate == "keep":
        last = [False] * len(names)  # `which` names all that is multiplied
    else:
        last = _last_layer_mask([path for path, _ in leaves], numbers)
    multiplied = _chosen("which", which, names) if custom else [True] * len(names)
    rng = None if seed is None else np.random.default_rng([seed, READOUT])

    def new(name: str, leaf: Any, is_number: bool, is_last: bool, is_multiplied: bool) -> Any:
        if not is_number:
            return leaf
        if is_last and fate == "reset":
            rescaled = _reset(leaf, gamma, rng)
            _require_kept(name, rescaled, np.array(gamma), f"gamma = {gamma:g}")
            return rescaled
        if fate == "scale" if is_last else is_multiplied:
            rescaled = _times(leaf, float(c))
            _require_kept(name, rescaled, leaf, f"c = {float(c):g}")
            return rescaled
        return leaf

    kinds = zip(names, (leaf for _, leaf in leaves), numbers, last, multiplied, strict=True)
    return jax.tree_util.tree_unflatten(form, [new(*kind) for kind in kinds])


@door(single=("rescale", "readout_scale"))
def for_finetuning(
    networks: MLP,
    *,
    rescale: Real = 1.0,
    readout_scale: NonNegative = 1e-3,
    seeds: Sequence[int] | Int[np.ndarray, " runs"],
) -> MLP:
    r"""Multiply all layers but the last by c, and draw a new readout for one task.

    Parameters
    ----------
    networks : MLP
        Pretrained, one for each run along a leading axis, without biases.
    rescale : float, keyword-only, default 1
        c, above 0.
    readout_scale : float, keyword-only, default 0.001
        Gamma, at least 0; the readout is drawn from :math:`N(0, 2 \gamma^2 / h)` for h units.
    seeds : sequence of int, keyword-only
        One for each run.

    Returns
    -------
    MLP
        Of one output, also where several tasks were learned before.

    Raises
    ------
    InputError
        For a rescaling that is not above 0, a scale below 0, biases, and seeds that are not one
        for each run.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), published code.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> pretrained = Architecture(2, 8, "relu", bias=False).networks(3, seeds=[0], outputs=2)
    >>> start = for_finetuning(pretrained, rescale=0.1, seeds=[5])
    >>> [weight.shape for weight in start.weights]
    [(1, 8, 3), (1, 1, 8)]
    """
    last = networks.weights[-1]
    require(
        networks.biases is None and networks.n_layers > 1 and last.ndim == 3,
        "networks to finetune have a hidden layer, no biases and a leading axis of runs",
        f"{networks.n_layers} layers, a last one of shape {last.shape}"
        + ("" if networks.biases is None else ", biases"),
        "pass runs.networks",
    )
    runs, _, h = last.shape
    rule = f"a new readout takes a seed for each of {runs} runs"
    chosen = seed_list(seeds, rule)
    require(len(chosen) == runs, rule, f"{len(chosen)}", f"pass seeds=range({runs})")
    scaled = rescale_after_pretraining(networks, rescale)
    size = readout_scale * np.sqrt(2.0 / h)
    draws = [np.random.default_rng([seed, READOUT]).standard_normal((1, h)) for seed in chosen]
    with jax.enable_x64(last.dtype == np.float64):
        new_readout = on_device(size * np.stack(draws), last.dtype)
    return MLP((*scaled.weights[:-1], new_readout), None, networks.nonlinearity)


def _fate(
    readout: Literal["keep", "scale"] | tuple[Literal["reset"], Real],
) -> tuple[str, float]:
    if isinstance(readout, str):
        return readout, 0.0
    fate, gamma = readout
    rule = 'gamma of a readout ("reset", gamma) is at least 0'
    require(gamma >= 0, rule, gamma, 'pass ("reset", 0.001), say')
    return fate, float(gamma)


def _is_float_array(leaf: Any) -> bool:
    # By JAX's types, which include bfloat16.
    return isinstance(leaf, np.ndarray | jax.Array) and jnp.issubdtype(leaf.dtype, jnp.floating)


def _is_finite_array(leaf: Any) -> bool:
    numbers = _values_of(leaf)
    return numbers is None or bool(np.isfinite(numbers).all())


def _values_of(leaf: Any) -> np.ndarray | None:
    try:
        return np.asarray(leaf)
    except jax.errors.TracerArrayConversionError:
        return None  # within a JAX transformation, where an array has no values


def _require_kept(name: str, new_leaf: Any, reference: Any, by: str) -> None:
    """Require that weights neither overflow nor all vanish."""
    new_values, old_values = _values_of(new_leaf), _values_of(reference)
    if new_values is None or old_values is None:
        return
    vanished = new_values.size > 0 and not new_values.any() and bool(old_values.any())
    require(
        not vanished and bool(np.isfinite(new_values).all()),
        f"rescaled weights are numbers in their precision, {new_leaf.dtype}",
        f"{'0 alone' if vanished else 'infinity'} in {name}, with {by}",
        "pass one nearer to 1, or weights of double precision"
        if by.startswith("c")
        else "pass another gamma, or weights of double precision",
    )


def _times(leaf: Any, c: float) -> Any:
    with jax.enable_x64(leaf.dtype == np.float64), np.errstate(over="ignore", under="ignore"):
        product = leaf * c
        return np.asarray(product, leaf.dtype) if isinstance(leaf, np.ndarray) else product


def _chosen(name: str, selection: Any, names: list[str]) -> list[bool]:
    if callable(selection):
        matches = [bool(selection(path)) for path in names]
        require(any(matches), f"{name} picks some leaf", "none", f"the paths are {_some(names)}")
        return matches

    def under(path: str, head: str) -> bool:
        return path == head or path.startswith(f"{head}.")

    unmatched = [head for head in selection if not any(under(path, head) for path in names)]
    require(
        not unmatched and len(list(selection)) > 0,
        f"{name} names leaves of the tree",
        repr(unmatched or list(selection)),
        f"the paths are {_some(names)}",
    )
    return [any(under(path, head) for head in selection) for path in names]


def _last_layer_mask(paths: list[tuple], numbers: list[bool]) -> list[bool]:
    """Return which leaves belong to the last layer, if all layers lie in one list or tuple."""
    float_paths = [path for path, number in zip(paths, numbers, strict=True) if number]
    place = 0
    # Down to where the tree branches, past a pair of lists for weights and biases.
    while all(len(path) > place for path in float_paths) and (
        len({path[place] for path in float_paths}) == 1
        or {getattr(path[place], "name", getattr(path[place], "key", None)) for path in float_paths}
        == {"weights", "biases"}
    ):
        place += 1
    in_lists = all(
        len(path) > place and isinstance(path[place], jax.tree_util.SequenceKey)
        for path in float_paths
    )
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path in float_paths]
    in_one_entry = any(isinstance(key, jax.tree_util.SequenceKey) for key in float_paths[0][:place])
    require(
        in_lists or not in_one_entry,
        "the last layer is found in a list of two layers or more",
        f"one entry, with {_some(names)}",
        'pass which="all" to multiply it, or last_layer=[...] with the paths of the last layer',
    )
    require(
        in_lists,
        "the last layer is named where layers don't lie in one list",
        _some(names),
        "pass last_layer=[...] with its paths",
    )
    last_index = max(path[place].idx for path in float_paths)
    return [
        number and path[place].idx == last_index
        for path, number in zip(paths, numbers, strict=True)
    ]


def _reset(leaf: Any, gamma: float, rng: np.random.Generator | None) -> Any:
    filled = np.full(leaf.shape, gamma) if rng is None else gamma * rng.standard_normal(leaf.shape)
    with jax.enable_x64(leaf.dtype == np.float64), np.errstate(over="ignore", under="ignore"):
        if isinstance(leaf, np.ndarray):
            return filled.astype(leaf.dtype)
        return on_device(filled, leaf.dtype)


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
