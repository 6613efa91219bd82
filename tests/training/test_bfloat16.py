"""Training with products in bfloat16, whose numbers have 8 bits: they are rounded by up to .4 %."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from vector_models import vector_model

from partwhole._checks import InputError
from partwhole.networks import image_network, mlp
from partwhole.networks.diffusion import (
    DiffusionModel,
    linear_schedule,
    unet,
)
from partwhole.networks.images.convnet import convnet
from partwhole.networks.images.layers import Pass
from partwhole.networks.images.resnet import resnet
from partwhole.networks.images.transformer import vision_transformer
from partwhole.tasks import StructuredIdentity
from partwhole.training import Training, train
from partwhole.training.diffusion.bits import terms

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(64, 8, 12, 2)).astype(np.float32)
MEANS = 10.0 * IMAGES.mean(axis=(1, 2, 3))[:, None]
# One block of each kind: compiling their steps takes longer than all steps.
NETWORKS = {
    "convnet": convnet((8, 12, 2), channels=(16,), kernel=3, dense=(64,), seed=0),
    "resnet": resnet((8, 12, 2), channels=(16,), blocks=(1,), seed=0),
    "vit": vision_transformer(
        (8, 12, 2), patch=4, width=32, depth=1, heads=2, head_width=16, hidden=64, dropout=0.0,
        seed=0,
    ),
}  # fmt: skip


def of_images(name, precision):
    training = Training(
        epochs=12, optimiser="adam", learning_rate=1e-3, batch=32, precision=precision
    )
    return train(NETWORKS[name], (IMAGES, MEANS), training, progress=False)


@pytest.mark.parametrize("name", NETWORKS)
def test_image_networks_learn_as_in_single_precision(name):
    """To a tenth of the loss, ten times the rounding of a product."""
    single, short = of_images(name, None), of_images(name, "bfloat16")
    losses = [runs.epoch_loss[0] for runs in (single, short)]
    assert losses[0][-1] < 0.3 * losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.1)
    assert not np.array_equal(*losses)
    leaves = jax.tree.leaves(short.network(0))
    assert {leaf.dtype for leaf in leaves if hasattr(leaf, "dtype")} == {np.dtype(np.float32)}


def test_diffusion_models_do_too():
    model, data = vector_model(), [RNG.random((32, 2)).astype(np.float32) for _ in range(2)]
    bits = []
    for precision in (None, "bfloat16"):
        training = Training.published("diffusion", steps=10, batch=8, clip=1.0, precision=precision)
        runs = train(model, tuple(data), training, progress=False)
        bits.append(runs.diffusion.bits[0, :, 0])
        dtypes = {leaf.dtype for leaf in jax.tree.leaves(runs.network(0)) if hasattr(leaf, "dtype")}
        assert dtypes == {np.dtype(np.float32)}
    np.testing.assert_allclose(bits[1], bits[0], rtol=0.02)
    assert not np.array_equal(*bits)


def test_a_unet_has_short_products_and_nearly_the_same_loss():
    """Training it is that of vectors: its slopes are traced alone, as they take long to compile."""
    options = {"blocks": 1, "groups": 4, "heads": 2, "dropout": 0.0, "clock": 16}
    network = unet((8, 8, 3), 3, channels=(8,), seed=0, **options)
    model = DiffusionModel(network, linear_schedule(), None, (8, 8, 3), 3)
    x, c = (jnp.asarray(RNG.random((8, *shape)), jnp.float32) for shape in ((8, 8, 3), (3,)))
    kept, rest = eqx.partition(model, eqx.is_inexact_array)
    # Its last layer begins at zero, where no product before it counts.
    kept = jax.tree.map(
        lambda leaf: jnp.asarray(np.add(leaf, RNG.normal(0, 0.1, leaf.shape)).astype("f4")), kept
    )
    key = jax.random.key(0)

    def loss(kept, short):
        parts = terms(eqx.combine(kept, rest), x, c, key, Pass(key, short=short))
        return parts.diffusion.mean()

    losses = [float(jax.jit(loss, static_argnums=1)(kept, short)) for short in (False, True)]
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.02)
    assert losses[0] != losses[1]
    slopes = jax.make_jaxpr(jax.grad(partial(loss, short=True)), return_shape=True)
    program, shapes = slopes(kept)
    assert {leaf.dtype for leaf in jax.tree.leaves(shapes)} == {np.dtype(np.float32)}
    lines = str(program).splitlines()
    convolutions = [line for line in lines if " conv_general_dilated[" in line]
    assert len(convolutions) > 20
    assert all(":bf16[" in line for line in convolutions)


def test_products_alone_are_short():
    """Convolutions and products return bfloat16; normalisation keeps what it is given."""
    network = image_network("resnet-small", (8, 12, 2), seed=0)
    at = Pass(jax.random.key(0), short=True)

    def types(x):
        layers = [x := part(x, at) for part in network.parts]
        return layers, [mean for mean, _ in at.seen.values()]

    layers, means = jax.eval_shape(types, jax.ShapeDtypeStruct(IMAGES.shape, np.float32))
    assert {str(layer.dtype) for layer in layers} == {"bfloat16"}
    assert {str(mean.dtype) for mean in means} == {"float32"}


def test_others_have_no_bfloat16():
    task = StructuredIdentity(means=[1.0, 2.0], scales=[0.1, 0.1])
    training = Training(steps=3, precision="bfloat16")
    for data in (task, (np.ones((3, 2)), np.ones((3, 2)))):
        with pytest.raises(InputError, match="a precision of image networks and diffusion models"):
            train(mlp(2, seed=0), data, training, progress=False)
