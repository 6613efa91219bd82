"""Random networks: facts G-11 to G-13, and the kernels against sampled features."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.overlap import deep_limit
from partwhole.features.random_networks import (
    NONLINEARITIES,
    DualActivation,
    deep_sigma,
    gaussian,
    leaky_relu,
    network_sigma,
    rectified_quadratic,
    relu,
    step,
)
from partwhole.tasks._build import full_grid

# Tolerance of G: 1e-6, the digits stated.
G11 = [
    ("relu", 1, (0.270680, 0.055877, 0.020329)),
    ("relu", 5, (0.165519, 0.103761, 0.192160)),
    ("relu", 20, (0.072703, 0.079617, 0.543041)),
    ("leaky_relu", 1, (0.287340, 0.041019, 0.014924)),
    ("leaky_relu", 20, (0.091611, 0.086633, 0.465269)),
    ("step", 1, (0.216347, 0.031865, 0.255364)),
    ("step", 5, (0.019008, 0.008828, 0.916492)),
    ("rectified_quadratic", 1, (0.217371, 0.108338, 0.022871)),
    ("rectified_quadratic", 5, (0.049057, 0.100061, 0.552647)),
    ("gaussian", 1, (0.075065, 0.190323, 0.203835)),
    ("gaussian", 5, (0.033525, 0.114609, 0.555599)),
]
G12 = {
    "relu": (0.426422, 0.375639, 0.337326, 0.282169, 0.203256, 0.132471),
    "leaky_relu": (0.445986, 0.404587, 0.371285, 0.320285, 0.241009, 0.163362),
    "step": (0.333333, 0.196839, 0.109308, 0.031070, 0.001193, 0.000002),
    "rectified_quadratic": (0.365399, 0.267101, 0.194212, 0.101012, 0.018652, 0.000601),
    "gaussian": (0.177555, 0.128704, 0.105969, 0.084667, 0.068352, 0.063080),
}


@pytest.mark.parametrize(("nonlinearity", "depth", "salience"), G11)
def test_three_components(nonlinearity, depth, salience):
    found = OverlapKernel.random_network(nonlinearity, 3, depth).salience
    np.testing.assert_allclose(found, salience, atol=1e-6)


@pytest.mark.parametrize("nonlinearity", G12)
def test_two_components(nonlinearity):
    found = [
        OverlapKernel.random_network(nonlinearity, 2, depth).salience[0]
        for depth in (1, 2, 3, 5, 10, 20)
    ]
    np.testing.assert_allclose(found, G12[nonlinearity], atol=1e-6)


@pytest.mark.parametrize(
    ("n_components", "depth", "salience"),
    [
        (2, 1, (0.371068,)),
        (2, 2, (0.287678,)),
        (2, 3, (0.230458,)),
        (3, 1, (0.230271, 0.071849, 0.093640)),
    ],
)
def test_tangent_kernel(n_components, depth, salience):
    found = OverlapKernel.random_network("relu", n_components, depth, kind="ntk").salience
    np.testing.assert_allclose(found[: len(salience)], salience, atol=1e-6)


def test_unequal_inputs_and_biases():
    inputs = OverlapKernel.from_salience({(0,): 0.3, (1,): 0.7}, 2)
    found = OverlapKernel.random_network("relu", 2, 1, inputs=inputs).saliences
    np.testing.assert_allclose(list(found.values()), (0.241216, 0.633397, 0.125387), atol=1e-6)
    biased = OverlapKernel.from_similarity([1 / 54, 1 / 9 + 1 / 54, 2 / 9 + 1 / 54])
    found = OverlapKernel.random_network("relu", 2, 1, inputs=biased).salience
    assert abs(found[0] - 0.431582) < 1e-6


def test_depth_zero_is_the_input():
    found = OverlapKernel.random_network("relu", 3, 0).salience
    np.testing.assert_allclose(found, [1 / 3, 0, 0], atol=1e-15)


def test_deep_limits():
    np.testing.assert_allclose(deep_limit("gaussian", 2).salience, [1 / 16, 7 / 8], atol=1e-12)
    np.testing.assert_allclose(
        deep_limit("gaussian", 3).salience, [1 / 41, 0.089151, 0.659377], atol=1e-6
    )
    np.testing.assert_allclose(
        deep_limit("gaussian", 4).salience, [0.013158, 0.036184, 0.056519, 0.504186], atol=1e-6
    )
    for nonlinearity in ("relu", "leaky_relu", "step", "rectified_quadratic"):
        assert deep_limit(nonlinearity, 3).salience.tolist() == [0.0, 0.0, 1.0]


def test_deep_limit_is_where_deep_networks_go():
    deep = OverlapKernel.random_network("gaussian", 3, 60).salience
    # The distance to the plateau shrinks like chi**depth = .8**60 = 1.5e-6.
    np.testing.assert_allclose(deep, deep_limit("gaussian", 3).salience, atol=1e-5)


DEPTHS = [3, 150, 200, 1000, 3400]


@cache
def gaussian_by_values():
    """Return S(1; 2) at A = 1 by depth, from similarities themselves, in 500 decimal digits."""
    similarities, tangents = {}, {}
    with localcontext(prec=500):
        ratio = Decimal(4) / 5
        for start in (Decimal(0), Decimal("0.5"), Decimal(1)):
            similarity = tangent = start
            for depth in range(1, max(DEPTHS) + 1):
                growth = 1 + ratio * (1 - similarity**2)
                after = 1 / growth.sqrt()
                tangent = tangent * ratio * similarity * after / growth + after
                similarity = after
                if depth in DEPTHS:
                    similarities.setdefault(depth, []).append(similarity)
                    tangents.setdefault(depth, []).append(tangent)
        return {
            kind: {
                depth: float((one - none) / (both - none))
                for depth, (none, one, both) in values.items()
            }
            for kind, values in (("nngp", similarities), ("ntk", tangents))
        }


@pytest.mark.parametrize("kind", ["nngp", "ntk"])
@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_gaussian_networks_lose_no_digits(kind, depth):
    kernel = OverlapKernel.random_network("gaussian", 2, depth, kind=kind)
    single = gaussian_by_values()[kind][depth]
    np.testing.assert_allclose(kernel.salience, [single, 1 - 2 * single], atol=1e-12)


def test_scales_of_deep_networks_are_right_until_they_are_held():
    # Proportional to 1 - k and T - Theta; the tangent kernel at identity is (1 - .8**61)/.2.
    kernel = OverlapKernel.random_network("gaussian", 2, 60, kind="ntk")
    assert kernel.kappa[-1] == pytest.approx((1 - 0.8**61) / 0.2, rel=1e-12)
    # At A = 1, 1/(1 - x**2) = 1/u grows as 1/u' = (1/u + .8)/.8, from 1 at x = 0.
    inverse = 1.0
    for _ in range(600):
        inverse = (inverse + 0.8) / 0.8
    kernel = OverlapKernel.random_network("gaussian", 2, 600)
    assert kernel.range * inverse == pytest.approx(0.5, rel=1e-10)
    quadratic = OverlapKernel.random_network("rectified_quadratic", 2, 40, kind="ntk")
    assert quadratic.kappa[-1] == pytest.approx(((4 / 3) ** 41 - 1) * 3, rel=1e-12)
    deep = OverlapKernel.random_network("gaussian", 2, 5000, kind="ntk")
    assert deep.range / deep.kappa[-1] / 1e-100 == pytest.approx(1.0, rel=1e-2)
    deep = OverlapKernel.random_network("rectified_quadratic", 2, 5000, kind="ntk")
    assert deep.kappa[-1] / 1e100 == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize(
    ("nonlinearity", "depth", "error"),
    [
        # Below chi = 1 and at it the limit is neared as 1/depth, above it exponentially.
        ("gaussian", 10**6, 1e-5),
        ("relu", 4000, 2e-3),
        ("leaky_relu", 4000, 2e-3),
        ("rectified_quadratic", 3000, 1e-12),
        (leaky_relu(1.0), 100, 1e-12),
    ],
    ids=["gaussian", "relu", "leaky", "quadratic", "linear"],
)
def test_tangent_kernels_have_the_same_deep_limit(nonlinearity, depth, error):
    inputs = OverlapKernel.from_salience({(0,): 0.3, (1,): 0.5}, 2)
    deep = OverlapKernel.random_network(nonlinearity, 2, depth, kind="ntk", inputs=inputs)
    expected = deep_limit(nonlinearity, 2, inputs=inputs).saliences
    assert deep.saliences == pytest.approx(expected, abs=error)


def test_deep_relu_tangent_kernel_of_different_inputs_is_a_quarter():
    # Angles fall as 3 pi / l, so Theta' = (1 - 3/l) Theta + 1 has the solution l/4.
    for nonlinearity in ("relu", "leaky_relu"):
        kappa = OverlapKernel.random_network(nonlinearity, 2, 4000, kind="ntk").kappa
        np.testing.assert_allclose(kappa / kappa[-1], [0.25, 0.25, 0.25, 1.0], atol=5e-3)


@pytest.mark.parametrize("sharpness", [0.01, 0.3, 1.0, 1.2, 1.207, 1.20710678])
def test_deep_gaussian_limits_in_closed_form(sharpness):
    """The square q of the similarity follows q' = 1 / (1 + chi (1 - q)), a Möbius map.

    Its fixed points are 1 and 1/chi, so (1 - q)/(1/chi - q) shrinks by exactly chi a layer.
    """
    kappa = np.array([0.1, 0.5, 0.7, 1.0])
    chi = 4 * sharpness**2 / (4 * sharpness + 1)
    koenigs = (1 - kappa**2) / (1 - chi * kappa**2)
    first, second = 1 - koenigs[1:3] / koenigs[0]
    found = deep_sigma(gaussian(sharpness), kappa)
    np.testing.assert_allclose(found, [0, first, second, 1 - first - second], atol=1e-9)


def test_a_linear_network_keeps_its_inputs_for_ever():
    inputs = OverlapKernel.from_salience({(0,): 0.3, (1,): 0.5}, 2)
    for limit in (
        deep_limit(leaky_relu(1.0), 2, inputs=inputs),
        OverlapKernel.random_network(leaky_relu(1.0), 2, 10_000, inputs=inputs),
    ):
        assert limit.saliences == pytest.approx({(0,): 0.3, (1,): 0.5, (0, 1): 0.2})
    assert deep_limit(leaky_relu(0.99), 2, inputs=inputs).salience.tolist() == [0.0, 1.0]


def test_components_that_the_inputs_leave_out_stay_out():
    # The second component is invisible: the first alone identifies an input, at every depth.
    inputs = OverlapKernel.from_salience({(0,): 1 / 3, (1,): 0.0, (2,): 2 / 3}, 3)
    for nonlinearity in NONLINEARITIES:
        found = deep_limit(nonlinearity, 3, inputs=inputs).saliences
        assert found[0, 2] > 0.5
        assert [found[key] for key in ((1,), (0, 1), (1, 2), (0, 1, 2))] == [0.0] * 4
        deep = OverlapKernel.random_network(nonlinearity, 3, 3000, inputs=inputs).saliences
        # ReLU and leaky ReLU are still some 10/depth away from the lookup table.
        assert deep == pytest.approx(found, abs=20 / 3000)
        assert max(abs(deep[key]) for key in ((1,), (0, 1), (1, 2), (0, 1, 2))) < 1e-12


def test_a_nonlinearity_of_ones_own_works_without_its_slope_fall():
    own = DualActivation("own", gaussian(0.5).fall, gaussian(0.5).slope)
    for kind in ("nngp", "ntk"):
        found = OverlapKernel.random_network(own, 3, 20, kind=kind).salience
        expected = OverlapKernel.random_network(gaussian(0.5), 3, 20, kind=kind).salience
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_relu_approaches_the_lookup_table_as_one_over_depth():
    rest = [1 - OverlapKernel.random_network("relu", 2, n).salience[-1] for n in (500, 1000, 2000)]
    ratios = np.array(rest[:-1]) / np.array(rest[1:])
    # 1/(depth + const): doubling the depth halves it up to const/depth, a few hundredths.
    np.testing.assert_allclose(ratios, 2.0, atol=0.05)


@pytest.mark.parametrize(
    ("dual", "function"),
    [
        (relu(), lambda x: np.maximum(x, 0)),
        (leaky_relu(0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
        (step(), lambda x: (x > 0) * 1.0),
        (rectified_quadratic(), lambda x: np.maximum(x, 0) ** 2),
        (gaussian(1.0), lambda x: np.exp(-(x**2))),
        (gaussian(0.5), lambda x: np.exp(-0.5 * x**2)),
    ],
    ids=["relu", "leaky", "step", "quadratic", "gaussian", "wide gaussian"],
)
def test_dual_maps_are_gaussian_expectations(dual, function):
    """Compare with E[phi(u) phi(v)] over correlated Gaussians, by quadrature in polar form."""
    angle = (np.arange(20_000) + 0.5) / 20_000 * 2 * np.pi
    radius, weight = np.polynomial.laguerre.laggauss(60)
    radius = np.sqrt(2 * radius)[:, None]
    for delta in (0.0, 0.1, 0.5, 1.0):
        theta = np.arccos(1 - delta)
        u, v = radius * np.cos(angle), radius * np.cos(angle - theta)
        expected = weight @ (function(u) * function(v)).mean(axis=1)
        norm = weight @ (function(u) ** 2).mean(axis=1)
        found = 1.0 - dual.fall(np.array([delta]))[0]
        # The step's jump limits the angular rule to 1/20,000; the others are far closer.
        assert abs(found - expected / norm) < 1e-4


@pytest.mark.parametrize("name", [n for n in NONLINEARITIES if n != "step"])
def test_slopes_are_derivatives(name):
    dual = NONLINEARITIES[name]()
    delta, h = np.array([0.05, 0.3, 0.8]), 1e-6
    difference = (dual.fall(delta + h) - dual.fall(delta - h)) / (2 * h)
    np.testing.assert_allclose(dual.slope(delta), difference, rtol=1e-8)
    fall = dual.chi - dual.slope(delta)
    np.testing.assert_allclose(dual.flattening(delta), fall, rtol=1e-12)


def test_sampled_relu_features_have_the_predicted_salience():
    rng = np.random.default_rng(0)
    grid = full_grid((4, 4))
    one_hot = np.concatenate([np.eye(4)[grid[:, 0]], np.eye(4)[grid[:, 1]]], axis=1)
    width = 40_000
    features = np.maximum(one_hot @ rng.normal(size=(8, width)), 0)
    gram = features @ features.T / width
    overlap = (grid[:, None] == grid[None]).sum(axis=2)
    kappa = [gram[overlap == k].mean() for k in range(3)]
    found = OverlapKernel.from_similarity([float(k) for k in kappa]).salience[0]
    # Width 400,000 is stated to lie within .001; ten times fewer features, sqrt(10) wider.
    assert abs(found - 0.426422) < 0.001 * np.sqrt(10)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: OverlapKernel.random_network("tanh", 2, 1),
            "nonlinearity is one of relu, leaky_relu, step, rectified_quadratic, gaussian; got "
            "'tanh'; or pass a DualActivation",
        ),
        (
            lambda: OverlapKernel.random_network("relu", 2, -1),
            "depth is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            lambda: OverlapKernel.random_network("relu", 2, 1, kind="nngk"),
            'kind is "nngp" or "ntk"; got \'nngk\'; choose one of them',
        ),
        (
            lambda: gaussian(0.0),
            "sharpness is above 0; got 0; at 0 the layer is constant",
        ),
        (
            lambda: network_sigma("relu", 1, "nngp", np.array([1.0, 0.5])),
            "no two inputs can be more similar than identical ones; got 1 beside 0.5; check the "
            "inputs' similarities",
        ),
        (
            lambda: deep_sigma("relu", np.array([0.5, 0.5])),
            "identical inputs must be more similar than inputs that share nothing; got 0.5 and "
            "0.5; check the inputs' similarities",
        ),
        (
            lambda: OverlapKernel.random_network("step", 2, 1, kind="ntk"),
            "a neural tangent kernel needs a nonlinearity with a derivative; got step; use "
            "kind='nngp', or another nonlinearity",
        ),
        (
            lambda: OverlapKernel.random_network(
                "relu", 3, 1, inputs=OverlapKernel.from_salience([0.4])
            ),
            "the inputs' kernel must have as many components as the network's inputs; got 2 and "
            "3; change n_components",
        ),
        (
            lambda: OverlapKernel.random_network(
                "relu", 2, 1, inputs=OverlapKernel.from_similarity([0.0, 2.0, 1.0])
            ),
            "no two inputs can be more similar than identical ones; got 2 beside 1; check the "
            "inputs' similarities",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


def test_similarity_of_a_relu_layer_is_the_arc_cosine_kernel():
    """Cosines 0, 1/2, 1 of one-hot pairs; the constant counts, not only the saliences."""
    theta = np.arccos([0.0, 0.5, 1.0])
    expected = (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / np.pi
    found = OverlapKernel.random_network("relu", 2, 1).similarity
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_deep_limit_of_unequal_inputs_is_where_deep_networks_go():
    inputs = OverlapKernel.from_salience({(0,): 0.3, (1,): 0.6})
    limit = deep_limit("gaussian", 2, inputs=inputs)
    deep = OverlapKernel.random_network("gaussian", 2, 60, inputs=inputs)
    # .8**60 = 1.5e-6, as above.
    np.testing.assert_allclose(
        list(limit.saliences.values()), list(deep.saliences.values()), atol=1e-5
    )


def test_deep_limit_is_normalised_where_sharing_one_component_means_less_than_none():
    inputs = OverlapKernel.from_similarity([0.2, 0.1, 1.0])
    found = deep_limit("gaussian", 2, inputs=inputs).similarity
    np.testing.assert_allclose(found[[0, 2]], [0.0, 1.0], atol=1e-12)
    assert found[1] < 0
