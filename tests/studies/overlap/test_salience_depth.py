"""Random networks, sampled and by recursion, and what the study says of them."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.features import OverlapKernel
from partwhole_studies.overlap import random_networks as sampling
from partwhole_studies.overlap import salience_depth as study

THEORY = [c for c in study.PRESETS["quick"] if c["part"] == "theory"]
SAMPLED = [c for c in study.PRESETS["quick"] if c["part"] == "sampled"]


@pytest.fixture(scope="module")
def sampled():
    return computed(study, SAMPLED)


@pytest.fixture(scope="module")
def cells(sampled):
    return computed(study, THEORY) + sampled


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_gaussian_networks_stop_at_a_plateau(data):
    assert verdicts(study, data)["gaussian_full"] == "does not hold"
    others = data.deep.isel(depth=-1).sel(size=3, order=3).drop_sel(nonlinearity="gaussian")
    assert float(others.min(skipna=False)) >= 0.98


def test_what_is_drawn_is_not_chosen_by_rounding(monkeypatch):
    """Turn the eigenvectors of equal size, as another processor's rounding does."""
    eigh = np.linalg.eigh

    def turned(gram):
        size, basis = eigh(gram)
        for value in np.unique(size.round(9)):
            (equal,) = np.nonzero(size.round(9) == value)
            turn = np.linalg.qr(np.random.default_rng(1).normal(size=2 * (len(equal),)))[0]
            basis[:, equal] = basis[:, equal] @ turn
        return size, basis

    drawn = sampling.layers("relu", 500, 3, np.random.default_rng(0))
    monkeypatch.setattr(np.linalg, "eigh", turned)
    again = sampling.layers("relu", 500, 3, np.random.default_rng(0))
    np.testing.assert_allclose(again, drawn, atol=1e-6)


# Computed independently of this package, to six digits.
@pytest.mark.parametrize(
    ("network", "layer", "saliences"),
    [
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
    ],
)
def test_three_components(data, network, layer, saliences):
    recursion = data.equal.sel(nonlinearity=network, kind="nngp", size=3, layer=layer)
    np.testing.assert_allclose(recursion.values[:3], saliences, atol=1e-6)


@pytest.mark.parametrize(
    ("network", "saliences"),
    [
        ("relu", (0.426422, 0.375639, 0.337326, 0.282169, 0.203256, 0.132471)),
        ("leaky_relu", (0.445986, 0.404587, 0.371285, 0.320285, 0.241009, 0.163362)),
        ("step", (0.333333, 0.196839, 0.109308, 0.031070, 0.001193, 0.000002)),
        ("rectified_quadratic", (0.365399, 0.267101, 0.194212, 0.101012, 0.018652, 0.000601)),
        ("gaussian", (0.177555, 0.128704, 0.105969, 0.084667, 0.068352, 0.063080)),
    ],
)
def test_two_components(data, network, saliences):
    recursion = data.equal.sel(nonlinearity=network, kind="nngp", size=2, order=1)
    np.testing.assert_allclose(recursion.sel(layer=[1, 2, 3, 5, 10, 20]), saliences, atol=1e-6)


def test_unequal_inputs_and_tangent_kernel(data):
    unequal = data.unequal.sel(nonlinearity="relu", first=0.3, layer=1)
    np.testing.assert_allclose(unequal, (0.241216, 0.633397, 0.125387), atol=1e-6)
    tangent = data.equal.sel(nonlinearity="relu", kind="ntk")
    two = tangent.sel(size=2, order=1, layer=[1, 2, 3])
    np.testing.assert_allclose(two, (0.371068, 0.287678, 0.230458), atol=1e-6)
    three = tangent.sel(size=3, layer=1).values[:3]
    np.testing.assert_allclose(three, (0.230271, 0.071849, 0.093640), atol=1e-6)


def test_gaussian_plateau(data):
    limit = data.limit.sel(nonlinearity="gaussian")
    np.testing.assert_allclose(limit.sel(size=2).values[:2], (1 / 16, 7 / 8), atol=1e-6)
    three = (1 / 41, 0.089151, 0.659377)
    np.testing.assert_allclose(limit.sel(size=3).values[:3], three, atol=1e-6)
    four = (0.013158, 0.036184, 0.056519, 0.504186)
    np.testing.assert_allclose(limit.sel(size=4).values, four, atol=1e-6)


@pytest.mark.parametrize(("size", "plateau"), [(2, 7 / 8), (3, 0.659377), (4, 0.504186)])
def test_gaussian_plateau_in_closed_form(size, plateau):
    assert study.gaussian_plateau(size) == pytest.approx(plateau, abs=1e-6)


def test_a_wrong_fixed_point_is_noticed(data, monkeypatch):
    # Were saliences those of the inputs, and not of Koenigs' function of them, no plateau holds.
    inputs = OverlapKernel.from_similarity
    monkeypatch.setattr(study, "gaussian_plateau", lambda c: inputs([*range(c + 1)]).salience[-1])
    assert np.abs(np.asarray(study.numbers(data)["plateau"])).max() > 0.1


def test_swapped_nonlinearities_are_noticed(data):
    names = {"relu": "leaky_relu", "leaky_relu": "relu"}
    swapped = [names.get(name, name) for name in data.network.values]
    assert verdicts(study, data.assign_coords(network=swapped))["structure"] == "does not hold"
