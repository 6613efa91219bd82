"""Weights of diagonal networks against what they must compute, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.limits.diagonal import DiagonalWeights, require_rescale


@pytest.mark.parametrize("init_scale", [1e-150, 1e-80, 0.1, 1e150])
def test_pretrained_weights_are_finite_and_conserve_their_product(init_scale):
    weights = DiagonalWeights.pretrained([0.0, 1.0, -2.0, 1e-300], init_scale)
    assert all(np.isfinite(layer).all() for layer in weights)
    np.testing.assert_array_equal(weights.hidden_plus, weights.readout_plus)
    product = weights.hidden_plus * weights.hidden_minus
    np.testing.assert_allclose(product, init_scale**2, rtol=1e-14)
    if init_scale < 1:
        np.testing.assert_allclose(weights.coefficients[:3], [0, 1, -2], rtol=1e-14)


@pytest.mark.parametrize(
    ("init_scale", "text"),
    [
        *((low, f"init_scale is at least 1e-150, so that its square is a number; got {low}; take a "
           "small one, such as 0.001") for low in (1e-151, 1e-160, 5e-324)),
        (1e151, "the size of init_scale is at most 1e150; got 1e+151; pass one number"),
        (1e308, "the size of init_scale is at most 1e150; got 1e+308; pass one number"),
    ],
)  # fmt: skip
def test_scales_whose_square_is_no_number_are_refused(init_scale, text):
    with pytest.raises(InputError, match=re.escape(text)):
        DiagonalWeights.pretrained([0.0], init_scale)


@pytest.mark.parametrize("n_tasks", [0, -1])
def test_tasks_are_a_whole_number(n_tasks):
    text = (
        f"n_tasks is a whole number of at least 1; got {n_tasks}; pass a whole number of at least 1"
    )
    with pytest.raises(InputError, match=re.escape(text)):
        DiagonalWeights.constant(3, 0.1, n_tasks=n_tasks)


def test_one_task_may_have_an_axis_of_its_own():
    assert DiagonalWeights.constant(3, 0.1, n_tasks=1).readout_plus.shape == (1, 3)


@pytest.mark.parametrize("rescale", [1e-150, 1e-61, 1e61])
def test_rescalings_whose_powers_are_no_numbers_are_refused(rescale):
    text = (
        f"a rescaling lies from 1e-60 to 1e60, so that its powers are numbers; got {rescale}; "
        "take 1e-4, say; beyond, what is learned hardly changes"
    )
    with pytest.raises(InputError, match=re.escape(text)):
        DiagonalWeights.pretrained([1.0], 1e-3).for_finetuning(rescale=rescale, readout_scale=0.0)
    with pytest.raises(InputError, match=re.escape(text)):
        require_rescale(rescale)


def test_fields_stand_in_the_order_that_is_documented():
    """Of both pathways: what the network computes is its first layer times its readout."""
    weights = DiagonalWeights(
        hidden_plus=np.array([2.0]), readout_plus=np.array([5.0]),
        hidden_minus=np.array([3.0]), readout_minus=np.array([5.0]),
    )  # fmt: skip
    assert weights.coefficients.tolist() == [-5.0]
    documented = re.findall(r"[a-z]+_(?:plus|minus)(?=[ ,])", DiagonalWeights.__doc__ or "")
    assert tuple(dict.fromkeys(documented)) == DiagonalWeights._fields
    assert DiagonalWeights(*(layer.tolist() for layer in weights)).coefficients.tolist() == [-5.0]


def test_each_network_has_a_readout_for_each_task():
    """As many networks as tasks: the axes are not taken for each other."""
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(2, 3, 4))
    v, y = rng.normal(size=(2, 3, 3, 4))
    coefficients = DiagonalWeights(w, v, x, y).coefficients
    for run in range(3):
        alone = DiagonalWeights(w[run], v[run], x[run], y[run]).coefficients
        np.testing.assert_array_equal(coefficients[run], alone)


@pytest.mark.parametrize("call", ["coefficients", "for_finetuning"])
def test_layers_that_do_not_fit_are_refused(call):
    """As where both first layers are passed before both readouts of two tasks."""
    layer, layers = np.ones(3), np.ones((2, 3))
    text = (
        "both pathways have a hidden layer of shape (..., d) and a readout of that shape, or of "
        "shape (..., k, d) for k tasks; got hidden_plus (3,), readout_plus (3,), hidden_minus "
        "(2, 3), readout_minus (2, 3); name the fields, or pass them in that order"
    )
    weights = DiagonalWeights(layer, layer, layers, layers)
    with pytest.raises(InputError, match=re.escape(text)):
        _ = (
            weights.coefficients
            if call == "coefficients"
            else weights.for_finetuning(readout_scale=0)
        )
