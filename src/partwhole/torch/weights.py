"""Weights of torchvision's ResNet-18 and Vision Transformers, exchanged with networks here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import Count, Positive
from partwhole.recordings._tensors import is_tensor, tensor_to_numpy
from partwhole.torch._entries import COUNTER, Entry
from partwhole.torch._installed import torch_for

if TYPE_CHECKING:
    from partwhole.networks import ImageNetwork

RULE = "a state dict is one of torchvision's ResNet-18, ResNet-34 or Vision Transformers"


@door
def from_state_dict(
    state_dict: Mapping[str, Any],
    shape: Sequence[Count] | None = None,
    *,
    heads: Count | None = None,
    epsilon: Positive = 1e-6,
) -> ImageNetwork:
    """Return a network with the weights of a ResNet-18 or Vision Transformer of torchvision.

    Its outputs are those of the model in torch to the rounding of single precision, in inference
    and, for batch normalisation, in training. Images here have channels last.

    Parameters
    ----------
    state_dict : mapping of str to tensors or arrays
        ``model.state_dict()``; of 16 bits or on any device, too. Arrays are read without torch.
    shape : sequence of int, default None
        Height, width and channels of an image. None for 224 x 224 of a ResNet, and for the square
        that the positions of a Vision Transformer cover.
    heads : int, keyword-only, default None
        Heads of attention of a Vision Transformer; None for those of torchvision's models of this
        width.
    epsilon : float, keyword-only, default 1e-6
        Constant of layer normalisation of a Vision Transformer: torchvision's own.

    Returns
    -------
    ImageNetwork
        Of a ResNet the `resnet` of these sizes with pool None, so that the preset "resnet-18" is
        torchvision's. Of a Vision Transformer a `vision_transformer` without dropout, with biases
        of queries, keys and values.

    Raises
    ------
    MissingExtraError
        Without JAX.
    InputError
        For another state dict, one that lacks arrays or has others, and sizes that don't fit.

    Notes
    -----
    He et al. (CVPR 2016), Dosovitskiy et al. (ICLR 2021). A ResNet whose first convolution is of
    3 x 3, as is usual for small images, is read as one without a pool after it.

    Examples
    --------
    >>> from partwhole.networks import image_network
    >>> network = image_network("resnet-18", (32, 32, 3), outputs=10, seed=0)
    >>> state = to_state_dict(network)
    >>> again = from_state_dict(state, (32, 32, 3))
    >>> images = np.ones((1, 32, 32, 3), np.float32)
    >>> len(state), float(abs(again(images) - network(images)).max())
    (122, 0.0)
    """
    from partwhole.networks.images.network import require_shape
    from partwhole.torch import _residual, _transformer

    state = {name: _array(name, value) for name, value in state_dict.items()}
    if shape is not None:
        require_shape(shape)
    if _residual.has_names(state):
        drawn = _residual.network_for(state, shape)
        return _filled(drawn, state, list(_residual.entries(drawn)), _residual.NAME)
    names = ", ".join([*state][:3]) or "none"
    require(_transformer.has_names(state), RULE, f"names such as {names}", "pass one of these")
    drawn = _transformer.network_for(state, shape, heads, epsilon)
    return _filled(drawn, state, list(_transformer.entries(drawn)), _transformer.NAME)


@door
def to_state_dict(network: ImageNetwork) -> dict[str, Any]:
    """Return the weights of a residual network or Vision Transformer as torchvision names them.

    Parameters
    ----------
    network : ImageNetwork
        As `image_network("resnet-18", ...)`, "vit-finetuning", or any `resnet` with pool None and
        any `vision_transformer` whose heads share the width of a token; also from `from_state_dict`
        and after training.

    Returns
    -------
    dict of str to torch.Tensor
        For `load_state_dict` of torchvision's model of these sizes. The constant of layer
        normalisation is no weight: that of a drawn Vision Transformer is 1e-5, so that its model in
        torchvision is ``VisionTransformer(..., norm_layer=partial(torch.nn.LayerNorm, eps=1e-5))``.

    Raises
    ------
    MissingExtraError
        Without torch or JAX.
    InputError
        For other networks.

    Examples
    --------
    >>> from partwhole.networks import image_network
    >>> state = to_state_dict(image_network("vit-finetuning", (32, 32, 3), outputs=10, seed=0))
    >>> tuple(state["conv_proj.weight"].shape), tuple(state["encoder.pos_embedding"].shape)
    ((384, 3, 4, 4), (1, 65, 384))
    """
    torch = torch_for("to_state_dict")
    from partwhole.torch import _residual, _transformer

    for family in (_residual, _transformer):
        if family.is_of_family(network):
            break
    else:
        raise InputError(
            "torchvision's names are those of residual networks and Vision Transformers; got "
            f"layers {', '.join(network.names[:3])}, ...; save others by networks.save_network"
        )
    family.require_torchvision(network)
    state: dict[str, Any] = {}
    for entry in family.entries(network):
        values = entry.of(network)
        if values is None:  # a drawn Vision Transformer has no biases of queries, keys and values
            values = np.zeros(len(state[entry.name.replace("bias", "weight")]), np.float32)
        # Copied, since arrays of JAX can't be written to.
        array = np.array(entry.layout.to_torch(np.asarray(values)), order="C")
        state[entry.name] = torch.from_numpy(array)
        if entry.name.endswith("running_var"):
            state[entry.name.replace("running_var", COUNTER)] = torch.tensor(0)
    return state


def _array(name: str, value: Any) -> np.ndarray:
    array = tensor_to_numpy(value) if is_tensor(value) else np.asarray(value)
    require(
        array.dtype.kind in "fiu", "a state dict maps names to tensors or arrays",
        f"{name!r} of type {type(value).__name__}", "pass model.state_dict()",
    )  # fmt: skip
    return np.atleast_1d(array)


def _filled(
    network: ImageNetwork, state: Mapping[str, np.ndarray], entries: Sequence[Entry], family: str
) -> ImageNetwork:
    """Return the network with the arrays of a state dict in place of its own."""
    import equinox as eqx
    import jax.numpy as jnp

    names = [entry.name for entry in entries]
    missing = [name for name in names if name not in state]
    others = {*state} - {*names}
    others = [name for name in state if name in others and not name.endswith(COUNTER)]
    rule = f"a state dict of {family} has the names of torchvision's"
    remedy = "pass the state dict of the whole model, without any other part"
    require(not missing, rule, f"one without {_listed(missing)}", remedy)
    require(not others, rule, f"{_listed(others)} too", remedy)
    for entry in entries:
        array = state[entry.name]
        expected = entry.layout.to_torch(np.zeros(entry.of(network).shape, np.float32)).shape
        require(
            array.shape == expected,
            f"{entry.name} has {' x '.join(map(str, expected))} entries in {family} of these sizes",
            f"{' x '.join(map(str, array.shape))}",
            "pass the shape of the images that the model takes",
        )
    arrays = [entry.layout.to_ours(state[entry.name]) for entry in entries]
    values = [jnp.asarray(array, jnp.float32) for array in arrays]
    return eqx.tree_at(lambda tree: [entry.of(tree) for entry in entries], network, values)


def _listed(names: Sequence[str]) -> str:
    """Return the first name and how many more there are."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return "".join(names[:1]) + more
