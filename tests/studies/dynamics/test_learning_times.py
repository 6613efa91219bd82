"""When concepts are learned: recorded half times, the clocks, and what breaks them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics_oracles import crossing, rk4, two_concepts
from study_cells import computed
from study_rules import failed_checks, require_whole, verdicts

from partwhole.flows import flow, learning_clocks
from partwhole_studies.dynamics import learning_times as study
from partwhole_studies.dynamics import many_flows

# Half times integrated with a fixed step, strongest signal first.
RECORDED = {
    ("two concepts", 1): (2.2467, 3.5140),
    ("two concepts", 2): (1.8857, 7.3199),
    ("three concepts, as captioned", 1): (1.1931, 3.8579, 11.7096),
    ("three concepts, as captioned", 2): (0.7285, 5.1010, 35.0672),
    ("three concepts, as run", 1): (1.1159, 2.8515, 6.7031),
    ("three concepts, as run", 2): (0.6244, 2.7490, 11.5973),
    ("three concepts, the failure", 1): (0.6355, 2.9875, 23.8441),
    ("three concepts, the failure", 2): (0.2103, 3.0929, 144.0382),
    ("four concepts, as captioned", 1): (1.5047, 1.9503, 4.7565, 13.634),
    ("four concepts, as captioned", 2): (0.6765, 1.6760, 8.3605, 54.4878),
    ("four concepts, as run", 1): (1.7573, 1.8613, 4.7527, 13.6300),
    ("four concepts, as run", 2): (0.8891, 1.6597, 8.3508, 54.4763),
}
# The shorter formula ln(1/p)/2a, recorded for some of them; the pivots p follow from it.
CLOCKS = {
    ("two concepts", 2): (1.7959, 7.6849),
    ("three concepts, as run", 1): (1.0757, 2.8314, 6.8119),
    ("three concepts, as run", 2): (0.6147, 2.7601, 11.678),
    ("three concepts, the failure", 2): (0.2088, 3.1137, 144.49),
    ("four concepts, as run", 2): (0.8272, 1.7374, 8.4536, 54.684),
}


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_recorded_times(data):
    for (name, power), times in RECORDED.items():
        measured = data.published.sel(setting=name, power=power, what="flow").values[: len(times)]
        np.testing.assert_allclose(measured, times, rtol=3e-4)


def test_recorded_clocks(data):
    for (name, power), times in CLOCKS.items():
        signals = np.sort(np.diag(study.SETTINGS[name].second_moment))[::-1] ** power
        pace = 2 * signals[: len(times)]
        predicted = np.log(np.expm1(pace * np.array(times))) / pace
        measured = data.published.sel(setting=name, power=power, what="clock").values[: len(times)]
        np.testing.assert_allclose(measured, predicted, rtol=3e-4)


def test_recorded_times_of_the_runs(data):
    weak = data.run.sel(concept="weak").values
    np.testing.assert_allclose(weak, [7.1561, 8.5167, 10.7600], atol=0.003)


def test_the_map_is_what_a_fixed_step_gives(data):
    ratio, rho = data.ratio.values[-1], data.correlation.values[-2]
    states = rk4(np.linalg.cholesky(two_concepts(1e-3, rho)), np.array([1.0, ratio]), 0.01, 1500)
    measured = data.grid.sel(ratio=ratio, correlation=rho).values
    expected = [crossing(0.01 * np.arange(1501), states[:, k, k]) for k in (0, 1)]
    np.testing.assert_allclose(measured, expected, rtol=2e-4)


def test_clocks_follow_the_order_of_learning():
    # The weak signal starts so large that it is first; the strong one grows from what is left.
    w0 = np.array([[1e-6, 5e-5], [5e-5, 1e-2]])
    predicted = many_flows.clocks(w0, np.diag([1.0, 0.6]))
    left = 1e-6 - 25e-10 / 1e-2
    np.testing.assert_allclose(predicted, [np.log(1 / left - 1) / 2, np.log(99) / 1.2], rtol=1e-12)


def test_flows_do_not_depend_on_their_call():
    w0 = np.stack([two_concepts(1e-2, rho) for rho in (0.1, 0.5, 0.9)])
    moments = np.stack([np.diag([2.0, 0.5])] * 3)
    times = np.linspace(0.0, 4.0, 9)
    at_once = many_flows.integrate(w0, moments, times, batch=3, size=2)
    in_two = many_flows.integrate(w0, moments, times, batch=2, size=3)
    assert at_once.shape == in_two.shape == (3, 9, 2, 2)
    np.testing.assert_allclose(at_once, in_two, atol=1e-6)


def test_naive_clocks_are_noticed(cells, monkeypatch):
    def naive(w0, second_moment, **options):
        clock = learning_clocks(w0, second_moment, **options)
        entries = np.diag(w0)[clock.order]
        times = np.log(1 / entries - 1) / (2 * clock.signals)
        return replace(clock, pivots=entries, times=times)

    monkeypatch.setattr(many_flows, "learning_clocks", naive)
    changed = study.gather([(cells[0][0], study.cell(cells[0][0])), *cells[1:]])
    assert verdicts(study, changed)["clock_error"] == "does not hold"


def test_another_flow_is_noticed(cells, monkeypatch):
    def faster(system, times, **options):
        return flow(system, times, clock="gradient", **options)

    monkeypatch.setattr(many_flows, "flow", faster)
    changed = study.gather([*cells[:2], (cells[2][0], study.cell(cells[2][0]))])
    assert "delay_error" in failed_checks(study, changed)


def test_swapped_concepts_are_noticed(data):
    order = [*data.concept.values[::-1]]
    wrong = data.assign(grid=data.grid.sel(concept=order).assign_coords(concept=data.concept))
    assert verdicts(study, wrong)["in_order"] == "does not hold"


def test_a_turning_by_what_is_left_of_the_weak_entry_is_noticed(data, monkeypatch):
    left = study.ENTRY * (1 - 0.9**2)
    entry = 1 / (1 + np.exp(np.log(1 / left - 1) / study.WEAK))
    monkeypatch.setattr(study, "turning_entry", lambda: entry)
    assert "turning_error" in failed_checks(study, data)
