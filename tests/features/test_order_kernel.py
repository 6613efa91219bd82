"""Kernels cut off at an order, against whole overlap kernels and closed forms.

Saliences are differences of at most 2^K similarities of order 1, each good to about 1e-15.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.order_kernel import OrderKernel

ROUNDING = 1e-12


def below(kernel: OverlapKernel, order: int) -> dict[tuple[int, ...], float]:
    return {chosen: share for chosen, share in kernel.saliences.items() if len(chosen) <= order}


@pytest.mark.parametrize("n_components", [1, 2, 3, 5, 12])
@pytest.mark.parametrize(
    ("nonlinearity", "kind"),
    [("relu", "nngp"), ("relu", "ntk"), ("gaussian", "nngp"), ("step", "nngp")],
)
@pytest.mark.parametrize("depth", [0, 1, 4, 20])
def test_random_networks_equal_those_of_all_sets(n_components, nonlinearity, kind, depth):
    whole = OverlapKernel.random_network(nonlinearity, n_components, depth, kind)
    for order in {0, 1, 2, n_components - 1} & set(range(min(n_components, 5))):
        found = OrderKernel.random_network(n_components, order, depth, nonlinearity, kind)
        expected = below(whole, order)
        assert found.weights.keys() == expected.keys()
        for chosen, share in expected.items():
            assert abs(found.weights[chosen] - share) <= ROUNDING
        rest = sum(s for chosen, s in whole.saliences.items() if len(chosen) > order)
        assert abs(found.memory - rest) <= ROUNDING
        np.testing.assert_allclose(found.salience, whole.salience[:order], rtol=0, atol=ROUNDING)


def arc_cosine(similarity: float) -> float:
    angle = np.arccos(similarity)
    return (np.sin(angle) + (np.pi - angle) * similarity) / np.pi


@pytest.mark.parametrize("n_components", [12, 30, 100])
def test_one_relu_layer_in_closed_form(n_components):
    none, one, two = (arc_cosine(j / n_components) for j in range(3))
    scale = 1.0 - none
    first, second = (one - none) / scale, (two - 2.0 * one + none) / scale
    found = OrderKernel.random_network(n_components, 2, depth=1)
    np.testing.assert_allclose(found.salience, (first, second), rtol=0, atol=ROUNDING)
    pairs = comb(n_components, 2)
    assert len(found.weights) == n_components + pairs
    assert abs(found.memory - (1.0 - n_components * first - pairs * second)) <= ROUNDING


def test_deep_networks_of_many_components_memorize():
    found = OrderKernel.random_network(30, 2, depth=2000)
    assert found.memory > 0.95
    assert abs(sum(found.weights.values()) + found.memory - 1.0) <= ROUNDING
    assert OrderKernel.random_network(30, 2, depth=0).memory == 0.0


def test_what_lies_above_the_order_is_memory():
    rng = np.random.default_rng(0)
    whole = OverlapKernel(4, rng.uniform(0.1, 1.0, 16))
    for order in range(4):
        cut = OrderKernel.truncate(whole, order)
        assert cut.weights.keys() == below(whole, order).keys()
        for chosen, share in below(whole, order).items():
            assert abs(cut.weights[chosen] - share) <= ROUNDING
    full = OrderKernel.truncate(whole, 3).as_overlap()
    np.testing.assert_allclose(full.sigma[1:], whole.sigma[1:] / whole.range, rtol=0, atol=ROUNDING)


def test_measured_saliences_below_zero_count_as_none():
    cut = OrderKernel.truncate(OverlapKernel(2, np.array([0.3, -0.1, 0.5, 1.5])), 1)
    assert cut.weights == {(0,): 0.0, (1,): 0.25}
    assert cut.memory == 0.75


def test_similarity_of_the_equivalent_overlap_kernel():
    cut = OrderKernel.random_network(4, 2, depth=3)
    rows = np.random.default_rng(1).integers(0, 3, (12, 4))
    gram = cut.as_overlap().gram(rows)
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            shared = {c for c in range(4) if a[c] == b[c]}
            expected = sum(w for chosen, w in cut.weights.items() if set(chosen) <= shared)
            expected += cut.memory * (len(shared) == 4)
            assert abs(gram[i, j] - expected) <= ROUNDING


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: OrderKernel(2, 2, {}, 1.0),
            "a kernel of 2 components is cut off at an order in 0..1; got 2; the full conjunction "
            "is memory",
        ),
        (
            lambda: OrderKernel.random_network(3, 3, 1),
            "a kernel of 3 components is cut off at an order in 0..2; got 3; the full conjunction "
            "is memory",
        ),
        (
            lambda: OrderKernel(0, 0, {}, 1.0),
            "n_components is a whole number of at least 1; got 0; pass a whole number of at "
            "least 1",
        ),
        (
            lambda: OrderKernel(3, 1, {(0, 1): 0.5}, 0.5),
            "a weight belongs to a sorted set of 1 to 1 components out of 0..2; got (0, 1); count "
            "what lies above the order as memory",
        ),
        (
            lambda: OrderKernel(2, 1, {(2,): 0.5}, 0.5),
            "a weight belongs to a sorted set of 1 to 1 components out of 0..1; got (2,); count "
            "what lies above the order as memory",
        ),
        (
            lambda: OrderKernel(2, 1, {(0,): -0.5}, 1.5),
            "weights and memory are finite and at least 0; got a smallest one of -0.5; cut "
            "measured kernels off with OrderKernel.truncate",
        ),
        (
            lambda: OrderKernel(2, 1, {(0,): 0.5}, 0.4),
            "weights and memory add up to 1; got 0.9; divide all by their sum",
        ),
        (
            lambda: OrderKernel.from_salience(0.6),
            "salience is a finite number from 0 to 0.5; got 0.6; pass a number from 0 to 0.5",
        ),
        (
            lambda: OrderKernel.random_network(30, 1, 1).as_overlap(),
            "an overlap kernel has 1 to 16 components; got 30; use the kernel as it is",
        ),
        (
            lambda: OrderKernel.random_network(3, 1, -1),
            "depth is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_similarities_give_the_kernel_that_is_cut_off(order):
    similarity = [0.1, 0.25, 0.45, 0.7, 1.3]
    whole = OverlapKernel.from_similarity(similarity)
    found = OrderKernel.from_similarity(similarity, order)
    cut = OrderKernel.truncate(whole, order)
    # A few sums of numbers of order 1.
    assert found.memory == pytest.approx(cut.memory, abs=1e-14)
    for chosen, weight in cut.weights.items():
        assert found.weights[chosen] == pytest.approx(weight, abs=1e-14)


def test_similarities_above_the_order_are_not_asked():
    similarity = [0.0, 1.0, 2.1] + [float("nan")] * 17 + [50.0]
    found = OrderKernel.from_similarity(similarity, 2)
    assert found.salience == pytest.approx((1 / 50, 0.1 / 50), rel=1e-12)
    assert found.memory == pytest.approx(1 - 20 / 50 - 190 * 0.1 / 50, rel=1e-12)


@pytest.mark.parametrize(
    ("similarity", "order", "sentence"),
    [
        ([0.0, float("nan"), 1.0], 1, "up to its order, and of all; got none for 1; add tuples"),
        ([0.0, 0.5, float("nan")], 1, "up to its order, and of all; got none for 2; add tuples"),
        ([0.5, 0.5, 0.5], 1, "more similar than inputs that share nothing; got 0.5 and 0.5"),
        ([0.0, 0.5, 1.0], 2, "cut off at an order in 0..1; got 2; the full conjunction is memory"),
    ],
)
def test_similarities_that_make_no_kernel(similarity, order, sentence):
    with pytest.raises(InputError, match=sentence):
        OrderKernel.from_similarity(similarity, order)
