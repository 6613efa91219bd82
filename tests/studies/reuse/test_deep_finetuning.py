"""Reuse of pretrained features in deeper diagonal networks."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed, stored_data
from study_rules import failed_checks, require_whole, verdicts

from partwhole import solve
from partwhole.limits import HyperbolicEntropy
from partwhole.limits.penalties import finetuning_penalty
from partwhole_studies.reuse import deep_finetuning as study
from partwhole_studies.reuse import deep_penalty as penalty


def test_it_is_whole():
    require_whole(study, study.gather(computed(study)))


def test_the_order_of_two_layers_is_that_of_the_penalty():
    profile = finetuning_penalty(1.0, penalty.RATIOS)
    assert penalty.order(2) == pytest.approx(profile.order, abs=1e-6)


def test_the_order_of_three_layers_is_that_of_a_closed_form():
    """In units of the hidden weights b = tan(s): R = s b (1 + b^2) - b^2 / 2, derived here."""
    b = np.array([0.03, 0.3, 3.0, 30.0])
    coefficient = b * (1.0 + b**2)
    order = np.arctan(b) * coefficient / (np.arctan(b) * coefficient - b**2 / 2.0)
    measured = np.interp(-np.log(coefficient), np.log(penalty.RATIOS), penalty.order(3))
    # Between points of the grid, .1 decades apart, the order is not straight.
    assert measured == pytest.approx(order, abs=0.003)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_order_and_reuse_have_their_limits(depth):
    """From 2 to 1; for small weights of D layers the sum of both powers is 2 / D."""
    order = penalty.order(depth)
    assert np.all(np.diff(order) > -1e-6)
    assert order[-1] == pytest.approx(2.0, abs=1e-3)
    if depth > 2:
        # The price nears its bound with the power (D - 2) / D of the ratio, at 1e-8.
        slack = 2.0 * penalty.RATIOS[0] ** ((depth - 2) / depth)
        assert order[0] == pytest.approx(1.0, abs=slack)


def test_the_nested_regime_of_two_layers_has_the_width_of_the_closed_form():
    fine = np.logspace(-6.0, 2.0, 20_001)
    ends = np.interp(penalty.NESTED, finetuning_penalty(1.0, fine).order, np.log10(fine))
    # The order is interpolated over .1 decades.
    assert penalty.nested(2) == pytest.approx(np.diff(ends)[0], abs=0.02)
    assert penalty.nested(4) < penalty.nested(3) < penalty.nested(2)


def test_powers_are_those_of_the_samples():
    data = stored_data(study)
    spread = 1.0 + 0.1 * np.sin(data.seed)
    known = data.assign(needed=(3.0 * data.active ** (1.0 / data.depth) * spread + 0 * data.needed))
    for depth in study.DEPTHS:
        power = study.exponent(known, depth, 1.0)
        assert power.value == pytest.approx(1.0 / depth, abs=1e-9)
        assert power.n == data.sizes["seed"]


@pytest.mark.parametrize("depth", [2, 3])
def test_one_sample_less_is_not_enough(depth):
    config = {"depth": depth, "rescale": 0.1, "active": 3, "seed": 1}
    config |= {"dimension": 60, "pretrained": 8}
    arrays = study.cell(config)
    auxiliary, main, inputs = study.sample(60, 8, 3, 30, 1)
    n = int(arrays["needed"])
    cost = study.tuned(auxiliary, depth, 0.1)
    errors = [
        np.sum((solve((inputs[:m], inputs[:m] @ main), cost=cost, intercept="none").coefficients
                - main) ** 2)
        for m in (n - 1, n)
    ]  # fmt: skip
    assert errors[1] < study.LEVEL <= errors[0]
    assert arrays["unsolved"] == 0


def test_two_layers_are_tuned_as_hyperbolic_entropy():
    auxiliary, main, inputs = study.sample(30, 6, 2, 8, 0)
    scales = {"readout_scale": 1e-4, "init_scale": 1e-3, "rescale": 0.1}
    limits = [
        solve((inputs, inputs @ main), cost=cost, intercept="none").coefficients
        for cost in (
            study.tuned(auxiliary, 2, 0.1),
            HyperbolicEntropy.after_finetuning(auxiliary, **scales),
        )
    ]
    assert limits[0] == pytest.approx(limits[1], abs=1e-10)


def test_deep_networks_that_forget_are_noticed():
    data = stored_data(study)
    depth = data.depth > 2
    small = data.rescale < 1
    forgetful = data.assign(needed=data.needed * (1.0 + (depth & small)), off=data.off + 1e-3)
    assert verdicts(study, forgetful)["deep"] == "does not hold"
    assert verdicts(study, forgetful)["against"] == "does not hold"
    assert failed_checks(study, forgetful) == ["off"]
