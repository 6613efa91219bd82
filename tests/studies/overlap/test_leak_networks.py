"""ReLU networks beside the closed form of the leak."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.limits import memorization_leak
from partwhole.study import mean
from partwhole_studies.overlap import leak_networks as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


# Computed independently of this package, to six digits.
def test_kernels_of_infinite_width(data):
    np.testing.assert_allclose(data.salience, (0.426422, 0.371068), atol=1e-6)
    table = [(0.743443, 0.852845), (0.589997, 0.742136)]
    np.testing.assert_allclose(data.kernel_slope, table, atol=1e-5)


def test_saliences_read_back(data):
    table = [
        (0.356, 0.377, 0.408, 0.428, 0.437),
        (0.327, 0.345, 0.382, 0.405, 0.418),
        (0.329, 0.350, 0.387, 0.411, 0.418),
    ]
    np.testing.assert_allclose(data.convnet_salience, table, atol=1e-3)


def test_published_networks_follow_their_random_features_and_not_the_tangent_kernel(data):
    verdict = verdicts(study, data)
    assert verdict["lazy_miss"] == "holds"
    assert verdict["tangent_miss"] == verdict["convnet_gap"] == "does not hold"


@pytest.mark.parametrize("anchors", [1, 2])
def test_sampled_features_leak_as_their_salience_predicts(data, anchors):
    slope = mean(data.slope.sel(anchors=anchors))
    predicted = memorization_leak(float(data.salience.sel(kernel="nngp")), anchors)
    other = memorization_leak(float(data.salience.sel(kernel="ntk")), anchors)
    assert slope.low <= predicted <= slope.high
    assert not slope.low <= other <= slope.high


def test_a_wrong_kernel_is_noticed(data):
    wrong = data.assign(kernel_slope=data.kernel_slope[::-1].assign_coords(kernel=data.kernel))
    assert verdicts(study, wrong)["lazy_miss"] == "does not hold"
