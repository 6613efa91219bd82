"""When concepts are learned: recorded half times, the clocks, and what breaks them."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from dynamics_oracles import crossing, rk4, two_concepts
from study_cells import computed

from partwhole.flows import learning_clocks
from partwhole_studies.dynamics import learning_times as study

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


def others(data):
    return [claim for claim in study.claims(data) if claim.verdict.value != "holds"]


def test_verdicts(data):
    assert {claim.verdict.value for claim in others(data)} == {"outside its assumptions"}
    statements = [claim.statement for claim in others(data)]
    assert len([each for each in statements if "published setting" in each]) == 3
    assert len([each for each in statements if "even from a smaller initial entry" in each]) == 1
    assert len(statements) == 4
    assert len(study.claims(data)) == 26


def test_recorded_times(data):
    for (name, power), times in RECORDED.items():
        found = data.published.sel(setting=name, power=power, what="flow").values[: len(times)]
        np.testing.assert_allclose(found, times, rtol=3e-4)


def test_recorded_clocks(data):
    for (name, power), times in CLOCKS.items():
        signals = np.sort(np.diag(study.SETTINGS[name].second_moment))[::-1] ** power
        pace = 2 * signals[: len(times)]
        told = np.log(np.expm1(pace * np.array(times))) / pace
        found = data.published.sel(setting=name, power=power, what="clock").values[: len(times)]
        np.testing.assert_allclose(found, told, rtol=3e-4)


def test_recorded_times_of_the_runs(data):
    weak = data.run.sel(concept="weak").values
    np.testing.assert_allclose(weak, [7.1561, 8.5167, 10.7600], atol=0.003)


def test_the_map_is_what_a_fixed_step_gives(data):
    ratio, rho = data.ratio.values[-1], data.correlation.values[-2]
    states = rk4(np.linalg.cholesky(two_concepts(1e-3, rho)), np.array([1.0, ratio]), 0.01, 1500)
    found = data.grid.sel(ratio=ratio, correlation=rho).values
    told = [crossing(0.01 * np.arange(1501), states[:, k, k]) for k in (0, 1)]
    np.testing.assert_allclose(found, told, rtol=2e-4)


def test_clocks_in_the_order_of_signals_are_the_flows_own():
    w0 = np.array([[0.02, 0.004, 0.001], [0.004, 0.01, 0.003], [0.001, 0.003, 0.005]])
    second_moment = np.diag([0.5, 4.0, 1.5])
    told = learning_clocks(w0, second_moment)
    found = study.clocks(w0, second_moment)
    np.testing.assert_allclose(found[told.order], told.times, rtol=1e-12)


def test_clocks_follow_the_order_of_learning():
    # The weak signal starts so large that it is first; the strong one grows from what is left.
    w0 = np.array([[1e-6, 5e-5], [5e-5, 1e-2]])
    found = study.clocks(w0, np.diag([1.0, 0.6]))
    left = 1e-6 - 25e-10 / 1e-2
    np.testing.assert_allclose(found, [np.log(1 / left - 1) / 2, np.log(99) / 1.2], rtol=1e-12)


def test_naive_clocks_are_noticed(cells, data, monkeypatch):
    def naive(w0, second_moment, **options):
        told = learning_clocks(w0, second_moment, **options)
        own = np.diag(w0)[told.order]
        times = np.log(1 / own - 1) / (2 * told.signals)
        return replace(told, pivots=own, times=times)

    monkeypatch.setattr(study, "learning_clocks", naive)
    changed = study.gather([(config, study.cell(config)) for config, _ in cells])
    failing = [each.statement for each in others(changed) if each.verdict.value == "does not hold"]
    assert any("tells when the weak concept" in each for each in failing)
    assert any("published setting" in each for each in failing)


def test_another_flow_is_noticed(cells, monkeypatch):
    flow = study.tied_flow

    def faster(w0, second_moment, times, **options):
        return flow(w0, second_moment, times, clock="gradient", **options)

    monkeypatch.setattr(study, "tied_flow", faster)
    run = study.cell({"part": "runs"})
    changed = study.gather([*cells[:2], (cells[2][0], run)])
    failing = [each.statement for each in others(changed) if each.verdict.value == "does not hold"]
    assert any("determinant" in each for each in failing)
    assert len([each for each in failing if "later than its own entry" in each]) == 3


def test_the_crossing_by_pivots_is_noticed(data, monkeypatch):
    by = study.turning
    monkeypatch.setattr(study, "turning", lambda rho, own: by(rho, own=False))
    failing = [each for each in others(data) if each.verdict.value == "does not hold"]
    assert [each.statement[:15] for each in failing] == ["The order turns"] * 2


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
