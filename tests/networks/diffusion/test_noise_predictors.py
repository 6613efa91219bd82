"""Networks that predict noise: sizes, layers against plain NumPy, and what they depend on."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import primitives

from partwhole._checks import InputError
from partwhole.networks.diffusion import diffusion_model, unet
from partwhole.networks.diffusion.layers import Builder, GroupNorm
from partwhole.networks.images.layers import Conv, Pass


def drawn(module, seed=0, scale=0.3):
    """Return a module whose arrays are all random, so that nothing is 0 or 1 by design."""
    rng = np.random.default_rng(seed)
    # Rounded by NumPy: JAX compiles a program for each shape.
    return jax.tree.map(
        lambda leaf: jnp.asarray((scale * rng.normal(size=leaf.shape)).astype("f4")), module
    )


@eqx.filter_jit
def predicted(model, z, gamma, made):
    """Return the noise; as one program, which compiles much faster than layer by layer."""
    return model.noise(z, gamma, made)


@eqx.filter_jit
def answered(layer, x):
    """Return what one layer gives in inference, as one program too."""
    return layer(x, Pass())


def multiply_adds(network, side):
    """Count those of a U-Net's convolutions, its attention's matrices and its dense layers."""
    total = 0

    def count(equation):
        if equation.primitive.name == "conv_general_dilated":
            kernel = equation.invars[1].aval.shape
            return int(np.prod(equation.outvars[0].aval.shape) * np.prod(kernel[:3]))
        if equation.primitive.name == "dot_general":
            (over, _), _ = equation.params["dimension_numbers"]
            left = equation.invars[0].aval.shape
            return int(np.prod(equation.outvars[0].aval.shape) * np.prod([left[i] for i in over]))
        return 0

    def walk(jaxpr):
        nonlocal total
        for equation in jaxpr.eqns:
            total += count(equation)
            for value in equation.params.values():
                inner = getattr(value, "jaxpr", value)
                if hasattr(inner, "eqns"):
                    walk(inner)

    def whole(z, conditions):
        return network(z, jnp.zeros(1), network.embed(conditions), Pass())

    walk(jax.make_jaxpr(whole)(jnp.zeros((1, side, side, 3)), jnp.zeros((1, 11))).jaxpr)
    return total


def test_the_published_size():
    """10,913,859 parameters and 1,162.8 million multiply-adds, to the 2 % of a new writing."""
    network = unet((32, 32, 3), 11, seed=0)
    arrays = jax.tree.leaves(eqx.filter(network, eqx.is_array))
    assert sum(leaf.size for leaf in arrays) == pytest.approx(10_913_859, rel=0.02)
    assert multiply_adds(network, 32) == pytest.approx(1162.8e6, rel=0.02)
    assert len(network.blocks) == 14


@pytest.mark.parametrize(
    ("name", "told", "shape"),
    [
        ("vector", {"condition": 2, "size": 5}, (5,)),
        ("small16", {"condition": 4}, (16, 16, 3)),
        ("small32", {"vocabulary": 9}, (32, 32, 3)),
    ],
)
def test_presets_answer_in_the_shape_of_what_came_in(name, told, shape):
    model = diffusion_model(name, seed=0, **told)
    assert model.shape == shape
    rows = jnp.zeros((2, 3), jnp.int32) if "vocabulary" in told else jnp.zeros((2, model.condition))
    z = jnp.asarray(np.random.default_rng(0).normal(size=(2, *shape)), jnp.float32)
    made = model.embed(rows).parts
    # What ends a network is 0 at first, so that it predicts what came in.
    np.testing.assert_array_equal(predicted(model, z, jnp.zeros(2), made), z)
    awake = eqx.tree_at(lambda each: each.predictor, model, drawn(model.predictor))
    found = predicted(awake, z, jnp.zeros(2), awake.embed(rows).parts)
    assert found.shape == z.shape
    assert float(jnp.max(jnp.abs(found - z))) > 1e-3


@pytest.fixture(scope="module")
def awake():
    model = diffusion_model("small16", condition=4, seed=1)
    model = eqx.tree_at(lambda each: each.predictor, model, drawn(model.predictor, 2, 0.1))
    rng = np.random.default_rng(0)
    z, conditions = rng.normal(size=(2, 16, 16, 3)), rng.normal(size=(2, 4))
    return model, jnp.asarray(z, jnp.float32), jnp.asarray(conditions, jnp.float32)


def test_every_example_is_answered_for_itself(awake):
    model, z, c = awake
    gamma = jnp.array([-2.0, 3.0])
    there = predicted(model, z, gamma, model.embed(c).parts)
    for i in range(2):
        # The other one is another now.
        others = [jnp.where(jnp.arange(2) == i, each.T, 1.7).T for each in (z, gamma, c)]
        beside, at, told = others
        found = predicted(model, beside, at, model.embed(told).parts)
        np.testing.assert_allclose(found[i], there[i], rtol=1e-4, atol=1e-4)
        assert float(jnp.max(jnp.abs(found[1 - i] - there[1 - i]))) > 0.1


def test_time_and_condition_reach_every_block(awake):
    model, z, c = awake
    rng = np.random.default_rng(1)
    made = model.embed(c).parts
    assert len(made) == len(model.predictor.blocks) == 6
    there = predicted(model, z, jnp.zeros(2), made)
    for i, part in enumerate(made):
        # A shift of all channels alike is taken away again where they are normalised.
        shift = jnp.asarray(rng.normal(size=part.shape), jnp.float32)
        moved = (*made[:i], part + shift, *made[i + 1 :])
        assert float(jnp.max(jnp.abs(predicted(model, z, jnp.zeros(2), moved) - there))) > 1e-4
    assert float(jnp.max(jnp.abs(predicted(model, z, jnp.ones(2), made) - there))) > 1e-4


def test_group_norm_against_numpy():
    rng = np.random.default_rng(3)
    x = rng.normal(2.0, 3.0, size=(2, 4, 5, 6)).astype(np.float32)
    scale, shift = rng.normal(size=(2, 6)).astype(np.float32)
    layer = GroupNorm(jnp.asarray(scale), jnp.asarray(shift), 3)
    expected = np.empty_like(x)
    for i in range(2):
        for g in range(3):
            part = x[i, :, :, 2 * g : 2 * g + 2].astype(float)
            expected[i, :, :, 2 * g : 2 * g + 2] = (part - part.mean()) / np.sqrt(part.var() + 1e-5)
    found = answered(layer, jnp.asarray(x))
    np.testing.assert_allclose(found, expected * scale + shift, atol=1e-5)


def test_upsampling_is_a_transposed_convolution():
    build = Builder(0, 1, 0.0, 1, 1)
    layer = drawn(build.upsample(3, 2))
    x = jnp.asarray(np.random.default_rng(1).normal(size=(2, 4, 5, 3)), jnp.float32)
    # Rows of the matrix are the places of the window, row by row, and its channels.
    kernel = np.asarray(layer.dense.weight).reshape(2, 2, 2, 3)
    expected = np.zeros((2, 8, 10, 2))
    for r in range(2):
        for c in range(2):
            expected[:, r::2, c::2] = np.asarray(x, float) @ kernel[r, c].T.astype(float)
    found = np.asarray(answered(layer, x))
    np.testing.assert_allclose(found, expected + np.asarray(layer.bias), atol=1e-5)
    flipped = jnp.asarray(kernel.transpose(0, 1, 3, 2)[::-1, ::-1].copy())
    other = jax.lax.conv_general_dilated(
        x, flipped, (1, 1), [(1, 1), (1, 1)], lhs_dilation=(2, 2),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip
    np.testing.assert_allclose(found - np.asarray(layer.bias), other, atol=1e-5)


def test_attention_against_numpy():
    layer = drawn(Builder(0, 1, 0.0, 1, 1).attention(6, 2))
    x = np.random.default_rng(1).normal(size=(2, 2, 3, 6)).astype(np.float32)
    gathered = x.reshape(2, 6, 6).astype(float) @ np.asarray(layer.gathered.weight, float).T
    query, key, value = (gathered[..., 6 * i : 6 * i + 6] for i in range(3))
    seen = np.zeros((2, 6, 6))
    for head in (slice(0, 3), slice(3, 6)):
        for i in range(2):
            for q in range(6):
                score = np.exp(key[i][:, head] @ query[i, q, head] / np.sqrt(3.0))
                seen[i, q, head] = score / score.sum() @ value[i][:, head]
    expected = x + (seen @ np.asarray(layer.out.weight, float).T).reshape(x.shape)
    np.testing.assert_allclose(answered(layer, jnp.asarray(x)), expected, atol=1e-5)


def test_a_block_against_numpy():
    build = Builder(0, 2, 0.0, 3, 5)
    block = drawn(build.block(2, 4), 4)

    # With kernels that look at one place only, a block is a map of every place by itself.
    def point(conv):
        kernel = np.zeros_like(conv.kernel)
        kernel[1, 1] = np.asarray(conv.kernel)[1, 1]
        return Conv(jnp.asarray(kernel), conv.bias)

    ends = point(block.conv_1), point(block.conv_2)
    block = eqx.tree_at(lambda each: (each.conv_1, each.conv_2), block, ends)
    rng = np.random.default_rng(1)
    x, told, c = rng.normal(size=(1, 2, 2, 2)), rng.normal(size=(1, 5)), rng.normal(size=(1, 3))

    def gelu(v):  # the usual approximation by a hyperbolic tangent
        return 0.5 * v * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (v + 0.044715 * v**3)))

    def norm(v, layer):
        out = np.empty_like(v)
        size = v.shape[-1] // 2
        for g in range(2):
            part = v[..., size * g : size * g + size]
            out[..., size * g : size * g + size] = (part - part.mean()) / np.sqrt(part.var() + 1e-5)
        return out * np.asarray(layer.scale) + np.asarray(layer.shift)

    def two(v, layers):
        hidden = gelu(v @ np.asarray(layers.first.weight, float).T + np.asarray(layers.first.bias))
        return hidden @ np.asarray(layers.second.weight, float).T + np.asarray(layers.second.bias)

    def conv(v, layer, place):
        return v @ np.asarray(layer.kernel[place, place], float) + np.asarray(layer.bias)

    hidden = conv(gelu(norm(x, block.norm_1)), block.conv_1, 1)
    hidden = hidden + (two(told, block.time) + two(c, block.condition))[:, None, None]
    expected = conv(gelu(norm(hidden, block.norm_2)), block.conv_2, 1) + conv(x, block.skip, 0)
    x, told, c = (jnp.asarray(each, jnp.float32) for each in (x, told, c))
    whole = eqx.filter_jit(lambda block, x, told, c: block(x, told, block.embed(c), Pass()))
    np.testing.assert_allclose(whole(block, x, told, c), expected, atol=1e-4)


def test_dropout_drops_in_training_only():
    block = drawn(Builder(0, 2, 0.5, 3, 5).block(2, 4), 4)
    x, told, c = jnp.ones((1, 2, 2, 2)), jnp.ones((1, 5)), jnp.ones((1, 3))

    # Weights are passed to the program: as constants of it they take seconds to fold.
    @eqx.filter_jit
    def answer(block, key):
        return block(x, told, block.embed(c), Pass(key))

    np.testing.assert_array_equal(answer(block, None), answer(block, None))
    # Of the kind of keys whose bits are the quickest to compile.
    keys = [jax.random.key(i, impl="unsafe_rbg") for i in range(2)]
    once, again = (answer(block, key) for key in keys)
    assert float(jnp.max(jnp.abs(once - again))) > 1e-4


def test_every_block_of_a_network_drops_by_itself():
    network = unet((8, 8, 3), 2, channels=(8,), blocks=1, dropout=0.5, clock=8, seed=0)
    z, made = jnp.ones((1, 8, 8, 3)), network.embed(jnp.ones((1, 2)))

    def draws(key):
        program = jax.make_jaxpr(lambda z: network(z, jnp.zeros(1), made, Pass(key)))(z)
        return [name for name, _ in primitives(program.jaxpr)].count("random_bits")

    assert draws(None) == 0
    assert draws(jax.random.key(0)) == len(network.blocks) == 4


def test_words_add_up_whatever_their_order():
    model = diffusion_model("vector", vocabulary=6, seed=0)
    one, other = (model.embed(np.array([row])) for row in ([1, 4, 0], [4, 1, 0]))
    for a, b in zip(one.parts, other.parts, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    # A word that is not said adds nothing, however often.
    silent = model.embed(np.array([[0, 0]])), model.embed(model.nothing)
    for a, b in zip(*(each.parts for each in silent), strict=True):
        np.testing.assert_array_equal(a, b)
    apart = model.embed(np.array([[2, 4, 0]]))
    assert float(jnp.max(jnp.abs(apart.parts[0] - one.parts[0]))) > 1e-3


def test_embeddings_move_as_vectors_do():
    model = diffusion_model("vector", condition=3, seed=0)
    rng = np.random.default_rng(0)
    a, b = (model.embed(rng.normal(size=(4, 3)).astype(np.float32)) for _ in range(2))
    moved = a + 2.0 * (b - a)
    for here, x, y in zip(moved.parts, a.parts, b.parts, strict=True):
        np.testing.assert_allclose(here, 2.0 * y - x, atol=1e-5)
    centre = a.mean()
    assert len(centre) == 1
    assert len(a + centre) == 4
    with pytest.raises(InputError, match="embeddings of one model go together"):
        a + model.embed(np.zeros((3, 3), np.float32))


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (np.zeros((2, 3), np.float32), "conditions of this model are rows of 4 numbers; got"),
        (np.zeros((2, 4), int), "conditions of this model are rows of 4 numbers; got"),
        (np.full((2, 4), np.nan, np.float32), "conditions is an array of finite numbers of shape"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(given, rule):
    model = diffusion_model("small16", condition=4, seed=0)
    with pytest.raises(InputError, match=rule):
        model.checked(given)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (np.zeros((2, 3), np.float32), "conditions of this model are rows of tokens; got"),
        (np.array([[1, 7]]), "tokens are from 0 to 5; got 7"),
        (np.array([[-1, 2]]), "tokens are from 0 to 5; got -1"),
    ],
)
def test_words_that_do_not_fit_are_refused(given, rule):
    model = diffusion_model("vector", vocabulary=6, seed=0)
    with pytest.raises(InputError, match=rule):
        model.checked(given)


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        (
            {"name": "huge", "condition": 4},
            'name is "vector", "small16", "small32" or "paper"; got \'huge\'',
        ),
        ({"name": "small16"}, "conditions are either vectors or words; got neither"),
        ({"name": "small16", "condition": 4, "vocabulary": 4}, "vectors or words; got both"),
        (
            {"name": "small16", "condition": 4, "schedule": "bent"},
            'schedule is "fixed" or "learned"; got \'bent\'',
        ),
        ({"name": "small16", "vocabulary": 1}, "vocabulary"),
    ],
)
def test_models_that_are_none_are_refused(told, rule):
    with pytest.raises(InputError, match=rule):
        diffusion_model(seed=0, **told)


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ({"shape": (10, 16, 3), "channels": (8, 8, 8)}, "divisible by 4; got 10 x 16"),
        ({"shape": (16, 16, 3), "channels": (12,)}, "in 8 groups of one size"),
        ({"shape": (16, 16, 3), "channels": (8,), "heads": 3}, "shared by 3 heads; got 8"),
    ],
)
def test_networks_that_are_none_are_refused(told, rule):
    with pytest.raises(InputError, match=rule):
        unet(told.pop("shape"), 4, seed=0, **told)
