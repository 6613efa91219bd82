"""Penalties by closed form and numerically, and what breaks the claims on them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from study_cells import computed
from study_rules import failed_checks, require_whole, verdicts

from partwhole.flows import Diagonal, flow
from partwhole.limits import DiagonalWeights
from partwhole.limits.penalties.finetuning import finetuning_price
from partwhole_studies.reuse import numerical_penalties as numerical
from partwhole_studies.reuse import penalties as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_transitions_are_as_wide_as_computed_elsewhere(data):
    np.testing.assert_allclose(data.decades, (1.3127, 4.5139, 2.0296), atol=1e-3)


def test_the_published_penalty_has_twice_the_width_and_misses_the_end(data):
    verdict = verdicts(study, data)
    assert verdict["width"] == verdict["half_shared"] == "does not hold"
    all_shared = data.sparse_distance.sel(formula="published", overlap=40)
    assert float(all_shared.mean()) < 0.05
    assert study.numbers(data)["width"] == pytest.approx(0.158113883 / (2 * 0.158114883), rel=1e-6)


@pytest.mark.parametrize(
    ("rescale", "pretrained", "new"),
    [(1.0, 0.8291, 6.1030), (0.1, 3.1132, 8.4056)],
)
def test_prices_are_what_gradients_add_up_to_in_a_network_of_one_feature(rescale, pretrained, new):
    scales = {"readout_scale": 1e-3 * rescale, "rescale": rescale}
    for before, listed in ((study.LEARNED, pretrained), (0.0, new)):
        start = DiagonalWeights.pretrained(np.array([before]), 1e-3).for_finetuning(**scales)
        w, v, x, y = start
        task = (np.ones((1, 1)), np.array([0.2]))
        system = Diagonal(DiagonalWeights(w, v[None], x, y[None]), tasks=[task])
        end = flow(system, until=1e-14, rtol=1e-7, atol=1e-12 * rescale).end
        grown = np.log((end.hidden_plus + end.readout_plus[0]) / (w + v))[0]
        price = finetuning_price(0.2, before, init_scale=1e-3, **scales)
        assert grown == pytest.approx(float(price), abs=1e-4)
        # The list leaves out the tilt, which takes up to .0025 off.
        assert grown == pytest.approx(listed, abs=0.003)


def test_sums_of_prices_are_integrals():
    for beta, width in ((0.3, 2.0), (5.0, 1e-3)):
        area, _ = quad(lambda x, k=width: 2 * np.arcsinh(2 * x / k), 0, beta, epsrel=1e-12)
        assert numerical.finetuning(np.array(beta), np.array(width)) == pytest.approx(
            area, rel=1e-10
        )


def test_decades_of_a_penalty_whose_order_is_known():
    # R = beta^2 / (b + beta) has order 1 + b/(b + beta): 1.1 at b = 1/9, 1.9 at b = 9.
    decades = numerical.decades(lambda beta, b: np.asarray(beta**2 / (b + beta)), 1.1, 1.9)
    assert decades == pytest.approx(np.log10(81.0), abs=1e-7)


def test_an_exact_penalty_that_is_off_is_noticed(data):
    # Shares of the exact formula and of the one without tilt exchanged.
    swapped = data.sel(formula=["without tilt", "exact", "published"])
    wrong = data.assign(distance=(data.distance.dims, swapped.distance.values))
    assert np.max(study.numbers(wrong)["ends"]) > 1e-3


def test_powers_that_do_not_add_up_are_noticed(data):
    wrong = data.assign(powers_again=data.powers_again + 0.01 * (data.power == "order"))
    assert "sum" in failed_checks(study, wrong)
