"""Training with products in bfloat16, whose numbers have 8 bits: they are rounded by up to .4 %."""

import jax
import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.networks import image_network, mlp
from partwhole.networks.diffusion import diffusion_model
from partwhole.networks.images.layers import Pass
from partwhole.tasks import StructuredIdentity
from partwhole.training import Training, train

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(64, 8, 12, 2)).astype(np.float32)
MEANS = 10.0 * IMAGES.mean(axis=(1, 2, 3))[:, None]


def of_images(name, precision):
    network = image_network(name, (8, 12, 2), outputs=1, seed=0)
    training = Training(
        epochs=12, optimiser="adam", learning_rate=1e-3, batch=32, precision=precision
    )
    return train(network, (IMAGES, MEANS), training, progress=False)


@pytest.mark.parametrize("name", ["convnet-small", "resnet-small", "vit-small"])
def test_image_networks_learn_as_in_single_precision(name):
    """To a tenth of the loss, ten times the rounding of a product."""
    single, short = of_images(name, None), of_images(name, "bfloat16")
    losses = [runs.epoch_loss[0] for runs in (single, short)]
    assert losses[0][-1] < 0.3 * losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.1)
    assert not np.array_equal(*losses)
    leaves = jax.tree.leaves(short.network(0))
    assert {leaf.dtype for leaf in leaves if hasattr(leaf, "dtype")} == {np.dtype(np.float32)}


@pytest.mark.parametrize("name", ["small16", "vector"])
def test_diffusion_models_do_too(name):
    model = diffusion_model(name, condition=3, seed=0)
    data = [RNG.random((32, *shape)).astype(np.float32) for shape in (model.shape, (3,))]
    bits = []
    for precision in (None, "bfloat16"):
        training = Training.published("diffusion", steps=10, batch=8, clip=1.0, precision=precision)
        runs = train(model, tuple(data), training, progress=False)
        bits.append(runs.diffusion.bits[0, :, 0])
        dtypes = {leaf.dtype for leaf in jax.tree.leaves(runs.network(0)) if hasattr(leaf, "dtype")}
        assert dtypes == {np.dtype(np.float32)}
    np.testing.assert_allclose(bits[1], bits[0], rtol=0.02)
    assert not np.array_equal(*bits)


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
