"""Weights that are exchanged with torchvision: the same outputs to 1e-5, in both directions.

Beside a ResNet and a Vision Transformer in plain torch, written from their papers with the names
of torchvision; and beside torchvision's own models where it is installed.
"""

from __future__ import annotations

import json
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import jax
import numpy as np
import pytest
import torch_models

from partwhole import networks
from partwhole._checks import InputError
from partwhole.networks.images.resnet import resnet
from partwhole.networks.images.transformer import vision_transformer
from partwhole.torch.weights import from_state_dict, to_state_dict

pytestmark = pytest.mark.torch
NAMES = json.loads((Path(torch_models.__file__).parent / "torchvision_names.json").read_text())
SOURCES = ["plain torch", *(["torchvision"] if find_spec("torchvision") else [])]
VIT = {"image": 32, "patch": 8, "depth": 2, "heads": 4, "width": 32, "hidden": 48, "outputs": 7}


def build_resnet(source, outputs=10, blocks=(2, 2, 2, 2)):
    if source == "plain torch":
        return torch_models.resnet(blocks, outputs)
    from torchvision.models.resnet import BasicBlock, ResNet  # pyright: ignore[reportMissingImports]

    return ResNet(BasicBlock, list(blocks), num_classes=outputs)


def build_vit(source, epsilon=1e-6, **changes):
    sizes = VIT | changes
    if source == "plain torch":
        return torch_models.vision_transformer(**sizes, epsilon=epsilon)
    from torch.nn import LayerNorm  # pyright: ignore[reportMissingImports]
    from torchvision.models import VisionTransformer  # pyright: ignore[reportMissingImports]

    return VisionTransformer(
        image_size=sizes["image"], patch_size=sizes["patch"], num_layers=sizes["depth"],
        num_heads=sizes["heads"], hidden_dim=sizes["width"], mlp_dim=sizes["hidden"],
        num_classes=sizes["outputs"], norm_layer=partial(LayerNorm, eps=epsilon),
    )  # fmt: skip


def pictures(side, n=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, side, side, 3)).astype(np.float32)


def answers(model, images, *, training=False):
    import torch

    model.train(training)
    with torch.no_grad():
        return model(torch.from_numpy(images.transpose(0, 3, 1, 2))).numpy()


def assert_close(outputs, expected, share=1e-5):
    """Compare to a share of the largest entry: single precision rounds sums by some 1e-6 of it."""
    largest = np.abs(expected).max()
    np.testing.assert_allclose(np.asarray(outputs), expected, rtol=0, atol=share * largest)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("side", [64, 50])
def test_a_resnet_of_torchvision_answers_here_as_there(source, side):
    model, images = torch_models.disturbed(build_resnet(source)), pictures(side)
    network = from_state_dict(model.state_dict(), (side, side, 3))
    preset = networks.image_network("resnet-18", (side, side, 3), outputs=10, seed=0)
    assert jax.tree.structure(network) == jax.tree.structure(preset)
    assert_close(network(images), answers(model, images))


@pytest.mark.parametrize("source", SOURCES)
def test_a_training_pass_has_the_same_outputs_and_running_statistics(source):
    model, images = torch_models.disturbed(build_resnet(source)), pictures(64, n=6)
    network = from_state_dict(model.state_dict(), (64, 64, 3))
    outputs, after = network.in_training(images, jax.random.key(0))
    assert_close(outputs, answers(model, images, training=True))
    state = to_state_dict(after)
    for name, values in model.state_dict().items():
        if "running" in name:
            assert_close(state[name].numpy(), values.numpy())


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("epsilon", "heads"), [(1e-6, 4), (1e-5, 2)])
def test_a_vision_transformer_of_torchvision_answers_here_as_there(source, epsilon, heads):
    model = torch_models.disturbed(build_vit(source, epsilon, heads=heads))
    # Tokens of a size at which the constant of the first normalisation counts.
    for name in ("class_token", "conv_proj.weight", "conv_proj.bias", "encoder.pos_embedding"):
        model.state_dict()[name].mul_(3e-3)
    images, state = pictures(32), model.state_dict()
    expected = answers(model, images)
    network = from_state_dict(state, heads=heads, epsilon=epsilon)
    assert network.shape == (32, 32, 3)
    assert_close(network(images), expected)
    for wrong in ({"heads": 8}, {"epsilon": 3e-6}):
        wrong_network = from_state_dict(state, **({"heads": heads, "epsilon": epsilon} | wrong))
        with pytest.raises(AssertionError):
            assert_close(wrong_network(images), expected, 1e-3)


@pytest.mark.parametrize("source", SOURCES)
def test_networks_of_partwhole_answer_there_as_here(source):
    images = pictures(32)
    ours = networks.image_network("resnet-18", (32, 32, 3), outputs=10, seed=1)
    ours = ours.in_training(images, jax.random.key(0))[1]
    model = build_resnet(source)
    model.load_state_dict(to_state_dict(ours))
    assert_close(answers(model, images), ours(images))

    ours = networks.image_network("vit-finetuning", (32, 32, 3), outputs=10, seed=1)
    sizes = {"patch": 4, "depth": 7, "heads": 8, "width": 384, "hidden": 1536, "outputs": 10}
    model = build_vit(source, 1e-5, **sizes)
    model.load_state_dict(to_state_dict(ours))
    assert_close(answers(model, images), ours(images))


@pytest.mark.parametrize("source", SOURCES)
def test_there_and_back_is_the_same_bit_by_bit(source):
    import torch

    for model, options in (
        (build_resnet(source, blocks=(1, 3, 1, 2)), {"shape": (32, 32, 3)}),
        (build_vit(source), {"heads": 4}),
    ):
        state = torch_models.disturbed(model).state_dict()
        again = to_state_dict(from_state_dict(state, **options))
        assert list(again) == list(state)
        for name, values in state.items():
            assert torch.equal(again[name], values), name
            assert again[name].dtype == values.dtype


def test_a_network_of_torchvision_is_saved_and_read(tmp_path):
    model = torch_models.disturbed(torch_models.vision_transformer(**VIT))
    network = from_state_dict(model.state_dict(), heads=4)
    networks.save_network(network, tmp_path / "network.npz")
    again = networks.load_network(tmp_path / "network.npz")
    images = pictures(32)
    np.testing.assert_array_equal(np.asarray(again(images)), np.asarray(network(images)))


def test_a_stem_of_small_images():
    model, images = torch_models.resnet((1, 1), 5, small=True), pictures(16)
    torch_models.disturbed(model)
    network = from_state_dict(model.state_dict(), (16, 16, 3))
    assert_close(network(images), answers(model, images))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_weights_of_any_precision_arrive_in_single(dtype):
    import torch

    model = torch_models.disturbed(torch_models.resnet((1,), 5))
    state = {
        name: values.to(getattr(torch, dtype)) if values.is_floating_point() else values
        for name, values in model.state_dict().items()
    }
    network = from_state_dict(state, (32, 32, 3))
    assert {leaf.dtype for leaf in jax.tree.leaves(network)} == {np.dtype(np.float32)}
    rounding = {"float64": 0.0, "bfloat16": 2.0**-8}[dtype]
    expected = model.fc.weight.detach().numpy()
    np.testing.assert_allclose(np.asarray(network.parts[-1].weight), expected, rtol=rounding)


@pytest.mark.parametrize("source", SOURCES)
def test_names_and_shapes_are_those_of_torchvision(source):
    import torch

    with torch.device("meta"):
        models = {
            "resnet18": build_resnet(source, 1000),
            "vit_b_16": build_vit(
                source, image=224, patch=16, depth=12, heads=12, width=768, hidden=3072,
                outputs=1000,
            ),
        }  # fmt: skip
    for name, model in models.items():
        shapes = {key: list(values.shape) for key, values in model.state_dict().items()}
        assert shapes == NAMES[name]
    network = networks.image_network("resnet-18", (224, 224, 3), outputs=1000, seed=0)
    state = to_state_dict(network)
    assert [(key, list(values.shape)) for key, values in state.items()] == [
        *NAMES["resnet18"].items()
    ]


def refusal(function, *given, **named):
    with pytest.raises(InputError) as caught:
        function(*given, **named)
    return str(caught.value)


def test_sentences_of_state_dicts():
    whole = torch_models.resnet((1, 1), 5).state_dict()
    residual = "a state dict of a residual network of basic blocks has the names of torchvision's"
    remedy = "pass the state dict of the whole model, without any other part"
    bottleneck = dict(whole) | {"layer1.0.conv3.weight": whole["fc.weight"]}
    headless = {name: values for name, values in whole.items() if not name.startswith("fc")}
    of_family = "a state dict is one of torchvision's ResNet-18, ResNet-34 or Vision Transformers"
    for state, sentence in (
        ({}, f"{of_family}; got names such as none; pass one of these"),
        (
            {f"module.{name}": values for name, values in whole.items()},
            f"{of_family}; got names such as module.conv1.weight, module.bn1.weight, "
            "module.bn1.bias; pass one of these",
        ),
        (headless, f"{residual}; got one without fc.weight and 1 more; {remedy}"),
        (bottleneck, f"{residual}; got layer1.0.conv3.weight too; {remedy}"),
        (
            dict(whole) | {"bn1.bias": whole["fc.bias"]},
            "bn1.bias has 64 entries in a residual network of basic blocks of these sizes; got 5; "
            "pass the shape of the images that the model takes",
        ),
        (
            dict(whole) | {"fc.weight": whole["conv1.weight"], "fc.bias": whole["bn1.bias"]},
            "fc.weight has 64 x 128 entries in a residual network of basic blocks of these sizes; "
            "got 64 x 3 x 7 x 7; pass the shape of the images that the model takes",
        ),
        (
            dict(whole) | {"layer1.0.conv2.weight": whole["bn1.bias"]},
            "layer1.0.conv2.weight has 64 x 64 x 3 x 3 entries in a residual network of basic "
            "blocks of these sizes; got 64; pass the shape of the images that the model takes",
        ),
        (
            dict(whole) | {"fc.bias": "text"},
            "a state dict maps names to tensors or arrays; got 'fc.bias' of type str; "
            "pass model.state_dict()",
        ),
        (
            dict(whole) | {"conv1.weight": whole["conv1.weight"][..., :5, :5]},
            "the first convolution is of 7 x 7, before a pool, or of 3 x 3; "
            "got conv1.weight of shape (64, 3, 5, 5); build the network yourself",
        ),
    ):
        assert refusal(from_state_dict, state, (32, 32, 3)) == sentence
    state = torch_models.vision_transformer(**VIT).state_dict()
    for heads in (None, 5):
        assert refusal(from_state_dict, state, heads=heads) == (
            f"heads divide the width of a token, 32; got {heads}; "
            "pass heads, which weights do not tell"
        )
    assert refusal(from_state_dict, state, (64, 64, 3), heads=4) == (
        "encoder.pos_embedding has 1 x 65 x 32 entries in a Vision Transformer of these sizes; "
        "got 1 x 17 x 32; pass the shape of the images that the model takes"
    )
    assert "patches of 8 x 8 pixels divide an image" in refusal(
        from_state_dict, state, (33, 33, 3), heads=4
    )


def test_sentences_of_networks():
    assert refusal(to_state_dict, networks.image_network("convnet-small", (8, 8, 1), seed=0)) == (
        "torchvision's names are those of residual networks and Vision Transformers; got layers "
        "conv 1, relu 1, norm 1, ...; save others by networks.save_network"
    )
    assert refusal(to_state_dict, resnet((64, 64, 3), channels=(4,), blocks=(1,), seed=0)) == (
        "residual networks of torchvision average all places before the readout; got a readout of "
        "1024 inputs after 4 channels; draw the network with pool=None"
    )
    drawn = vision_transformer((8, 8, 3), patch=4, width=8, depth=1, heads=3, head_width=4, seed=0)
    assert refusal(to_state_dict, drawn) == (
        "heads of torchvision's Vision Transformers share the width of a token; got heads of 12 "
        "entries for tokens of 8; draw the network with heads * head_width = width"
    )
    assert "an ImageNetwork" in refusal(to_state_dict, networks.mlp(3, seed=0))
