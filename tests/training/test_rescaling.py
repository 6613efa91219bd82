"""Rescaling of trees of weights against homogeneity and the diagonal network's own."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.networks import MLP, Architecture, mlp, outputs
from partwhole.training.rescaling import for_finetuning, rescale_after_pretraining

POINTS = np.random.default_rng(0).standard_normal((5, 3))


@eqx.filter_jit
def answer(network, point):
    """Return what a network answers; as one program, which compiles faster than layer by layer."""
    return network(point)


@pytest.mark.parametrize(
    ("which", "readout", "power"),
    [("hidden", None, 2), ("all", None, 3), ("hidden", "scale", 3), ("hidden", "keep", 2)],
)
def test_a_network_without_biases_is_homogeneous(which, readout, power):
    network = mlp(3, layers=3, width=8, seed=0, nonlinearity="relu", bias=False)
    scaled = rescale_after_pretraining(network, 0.5, which, readout)
    # Powers of two leave no rounding.
    np.testing.assert_array_equal(outputs(scaled, POINTS), 0.5**power * outputs(network, POINTS))

    key = jax.random.key(0, impl="unsafe_rbg")  # whose bits are the quickest to compile
    other = eqx.nn.MLP(3, 2, 8, 2, use_bias=False, use_final_bias=False, key=key)
    halved = rescale_after_pretraining(other, 0.5, which, readout)
    for point in POINTS.astype(np.float32):
        expected = 0.5**power * np.asarray(answer(other, point))
        np.testing.assert_array_equal(answer(halved, point), expected)


def test_the_last_layer_is_found_with_its_biases():
    network = mlp(3, layers=2, width=4, seed=0)
    scaled = rescale_after_pretraining(network, 3.0, readout=("reset", 0.25))
    assert network.biases is not None
    assert scaled.biases is not None
    np.testing.assert_allclose(scaled.weights[0], 3 * np.asarray(network.weights[0]), rtol=1e-6)
    np.testing.assert_allclose(scaled.biases[0], 3 * np.asarray(network.biases[0]), rtol=1e-6)
    assert (np.asarray(scaled.weights[1]) == 0.25).all()
    assert (np.asarray(scaled.biases[1]) == 0.25).all()


def test_diagonal_weights_are_rescaled_as_they_do_themselves():
    weights = DiagonalWeights.pretrained([1.0, -0.5, 0.0], init_scale=0.01)
    wanted = weights.for_finetuning(rescale=0.3, readout_scale=0.02)
    last = ["readout_plus", "readout_minus"]
    found = rescale_after_pretraining(weights, 0.3, readout=("reset", 0.02), last_layer=last)
    assert isinstance(found, DiagonalWeights)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    named = rescale_after_pretraining(weights, 0.3, lambda path: path.startswith("hidden"))
    np.testing.assert_array_equal(named.hidden_minus, wanted.hidden_minus)
    np.testing.assert_array_equal(named.readout_plus, weights.readout_plus)


def tree():
    return {
        "head": {"weight": np.full(2, 5.0), "bias": np.ones(1)},
        "body": [{"weight": np.full((2, 2), 3.0, np.float32)}, {"weight": np.full(2, 4.0)}],
        "steps": 7,
        "seen": np.arange(3),
    }


def test_leaves_are_chosen_by_name_in_nested_dictionaries():
    before = tree()
    found = rescale_after_pretraining(before, 2, ["body.0", "head.bias"])
    assert found["body"][0]["weight"].tolist() == [[6.0, 6.0], [6.0, 6.0]]
    assert found["body"][0]["weight"].dtype == np.float32
    assert found["body"][1]["weight"].tolist() == [4.0, 4.0]
    assert found["head"]["weight"].tolist() == [5.0, 5.0]
    assert found["head"]["bias"].tolist() == [2.0]
    assert found["steps"] == 7
    assert found["seen"].tolist() == [0, 1, 2]
    assert before["body"][0]["weight"].max() == 3.0  # left as it was
    by_head = rescale_after_pretraining(tree(), 2, readout=("reset", 0.5), last_layer=["head"])
    assert by_head["body"][1]["weight"].tolist() == [8.0, 8.0]
    assert by_head["head"]["weight"].tolist() == [0.5, 0.5]
    assert by_head["head"]["bias"].tolist() == [0.5]
    everything = rescale_after_pretraining(tree(), 2, "all")
    assert everything["head"]["weight"].tolist() == [10.0, 10.0]
    assert everything["body"][1]["weight"].tolist() == [8.0, 8.0]


def test_a_readout_is_drawn_where_there_is_a_seed():
    layers = [np.ones((40, 5)), np.ones((100, 40))]
    found = rescale_after_pretraining(layers, 1, readout=("reset", 0.2), seed=3)
    again = rescale_after_pretraining(layers, 1, readout=("reset", 0.2), seed=3)
    np.testing.assert_array_equal(found[1], again[1])
    # 4,000 entries: within 4 standard errors.
    assert abs(found[1].mean()) < 4 * 0.2 / np.sqrt(4000)
    assert found[1].std() == pytest.approx(0.2, rel=4 / np.sqrt(8000))


def test_batch_normalisation_sees_its_gains_alone():
    # Ahead of normalisation a factor is lost; behind it it counts.
    layers = [{"weight": POINTS.T.copy()}, {"gain": np.full(5, 1.5)}, {"weight": np.ones(5)}]

    def answer(layers, x):
        into = x @ layers[0]["weight"]
        into = (into - into.mean(axis=0)) / into.std(axis=0)
        return np.maximum(layers[1]["gain"] * into, 0) @ layers[2]["weight"]

    x = np.random.default_rng(1).standard_normal((20, 3))
    hidden = rescale_after_pretraining(layers, 0.5)
    everything = rescale_after_pretraining(layers, 0.5, "all")
    # Not a fourth and an eighth, as without normalisation.
    np.testing.assert_allclose(answer(hidden, x), 0.5 * answer(layers, x), rtol=1e-12)
    np.testing.assert_allclose(answer(everything, x), 0.25 * answer(layers, x), rtol=1e-12)


def test_one_layer_is_multiplied_with_all():
    (found,) = rescale_after_pretraining([np.array([1.0, 2.0])], 3.0, "all")
    assert found.tolist() == [3.0, 6.0]


def test_rescaling_within_a_transformation():
    layers = [jnp.array([1.0, 2.0]), jnp.array([3.0])]
    found = jax.jit(lambda given: rescale_after_pretraining(given, 2.0))(layers)
    assert [each.tolist() for each in found] == [[2.0, 4.0], [3.0]]


def test_finetuning_starts_from_rescaled_units_and_a_small_new_readout():
    built = Architecture(2, 400, "relu", bias=False)
    pretrained = built.networks(3, seeds=[0, 1], outputs=2)
    found = for_finetuning(pretrained, rescale=0.25, readout_scale=1e-3, seeds=[7, 8])
    np.testing.assert_array_equal(found.weights[0], 0.25 * np.asarray(pretrained.weights[0]))
    readout = np.asarray(found.weights[1])
    assert readout.shape == (2, 1, 400)
    # 800 entries: within 4 standard errors.
    assert readout.std() == pytest.approx(1e-3 * np.sqrt(2 / 400), rel=4 / np.sqrt(1600))
    alone = for_finetuning(jax.tree.map(lambda each: each[1:], pretrained), rescale=0.25, seeds=[8])
    np.testing.assert_array_equal(alone.weights[1][0], found.weights[1][1])


@pytest.mark.parametrize("c", [np.array(0.5), np.float32(0.5), jnp.asarray(0.5)])
def test_c_may_be_an_array_without_axes(c):
    free: Callable = rescale_after_pretraining
    found = free([np.array([3.0]), np.array([5.0])], c)
    assert [each.tolist() for each in found] == [[1.5], [5.0]]


@pytest.mark.parametrize("kind", [np.ones, jnp.ones])
@pytest.mark.parametrize(
    ("options", "dtype", "message"),
    [
        (
            {"c": 1e100},
            "float32",
            "float32; got infinity in a.0, with c = 1e\\+100; pass one nearer",
        ),
        (
            {"c": 1e-60},
            "float32",
            "float32; got 0 alone in a.0, with c = 1e-60; pass one nearer to 1",
        ),
        ({"c": 1e6}, "float16", "float16; got infinity in a.0, with c = 1e\\+06; pass"),
        (
            {"c": 1e-9},
            "float16",
            "float16; got 0 alone in a.0, with c = 1e-09; pass one nearer to 1",
        ),
        (
            {"c": 1, "readout": ("reset", 1e6)},
            "float16",
            "float16; got infinity in a.1, with gamma = 1e\\+06; pass another gamma, or weights of",
        ),
        (
            {"c": 1, "readout": ("reset", 1e-60), "seed": 1},
            "float32",
            "float32; got 0 alone in a.1, with gamma = 1e-60; pass another gamma",
        ),
    ],
)
def test_weights_beyond_their_precision_are_refused(kind, options, dtype, message):
    layers = {"a": [kind(2, dtype=dtype), kind(3, dtype=dtype)]}
    with pytest.raises(InputError, match=f"weights are numbers in their precision, {message}"):
        rescale_after_pretraining(layers, **options)
    # What is 0 already stays so, and a readout may be set to 0.
    nothing = {"a": [0 * layers["a"][0], layers["a"][1]]}
    found = rescale_after_pretraining(nothing, 0.5, readout=("reset", 0.0))
    assert not np.asarray(found["a"][1]).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c": 0}, "c is a finite number above 0; got 0; pass a number above 0"),
        ({"c": np.nan}, "c is a finite number above 0; got nan"),
        ({"which": "most"}, 'which is "hidden" or "all"; got .most.; choose one of them'),
        (
            {"which": ["tail"]},
            r"which names leaves of the tree; got \['tail'\]; the paths are",
        ),
        ({"which": []}, r"which names leaves of the tree; got \[\]; the paths are"),
        ({"which": lambda path: False}, "which picks some leaf; got none; the paths are body.0.we"),
        ({"readout": "drop"}, 'readout is "keep" or "scale"; got .drop.; choose one of them'),
        (
            {"readout": ("reset", -1)},
            r'"reset", gamma\) is at least 0; got -1; pass \("reset", 0.001',
        ),
        ({}, "the last layer is named where layers don't lie in one list; got body.0"),
        (
            {"last_layer": "head"},
            "last_layer is a sequence, each item text or a function or None; got 'head'; pass",
        ),
        ({"which": "all", "seed": 1}, 'a seed draws a readout that is reset; got readout="scale"'),
        (
            {"parameters": [np.ones(2), np.array([1.0, np.nan])]},
            "parameters are finite numbers; got NaN or infinity in 1; leave out runs that diverged",
        ),
        (
            {"parameters": {"a": jnp.array([jnp.inf], dtype=jnp.bfloat16)}},
            "parameters are finite numbers; got NaN or infinity in a; leave out",
        ),
        (
            {"parameters": [{"weight": np.ones(2), "bias": np.ones(1)}]},
            "the last layer is found in a list of two layers or more; got one entry, with 0.bias, "
            '0.weight; pass which="all" to multiply it, or last_layer=',
        ),
        ({"parameters": [np.ones(2)]}, "in a list of two layers or more; got one entry, with 0;"),
        ({"parameters": {"steps": 3}}, "parameters are a tree of arrays of floating-point numbers"),
    ],
)
def test_bad_rescaling_is_refused(change, message):
    rescale: Callable = rescale_after_pretraining  # as where types are not checked
    with pytest.raises(InputError, match=message):
        rescale(**{"parameters": tree(), "c": 2.0, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": [1]}, "a new readout takes a seed for each of 2 runs; got 1; pass seeds=range"),
        ({"readout_scale": -1.0}, "readout_scale is a finite number of at least 0; got -1.0"),
        ({"rescale": 0.0}, "c is a finite number above 0; got 0.0"),
        (
            {"networks": MLP((jnp.ones((4, 3)), jnp.ones((1, 4))), None, "relu")},
            r"a leading axis of runs; got 2 layers, a last one of shape \(1, 4\); pass runs",
        ),
    ],
)
def test_bad_finetuning_is_refused(change, message):
    begin: Callable = for_finetuning
    networks = Architecture(2, 4, "relu", bias=False).networks(3, seeds=[0, 1], outputs=1)
    with pytest.raises(InputError, match=message):
        begin(**{"networks": networks, "seeds": [0, 1], **change})
