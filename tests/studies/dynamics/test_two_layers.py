"""Two layers in 64 dimensions: networks beside the flow, retreats and errors."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed, stored_data
from study_rules import failed_checks, require_whole, verdicts

from partwhole.networks import Architecture
from partwhole.training import beside_theory
from partwhole_studies.dynamics import two_layers as study
from partwhole_studies.dynamics import wide_networks as wide


@pytest.fixture(scope="module")
def data():
    return stored_data(study)


def test_it_is_whole(data):
    require_whole(study, data)


def test_the_quick_preset_trains_one_network_of_each_setting():
    data = study.gather(computed(study, optimised=True))
    study.figure(data)
    assert not failed_checks(study, data)
    for kind in study.NETWORKS:
        for setting in study.COMPARED:
            runs = study.runs_of(data, "trained", kind, setting)
            assert runs.sizes["seed"] == 1
            long = (kind, setting) == ("linear", wide.MAIN)
            assert float(runs.epoch[-1]) == (40 if long else 12)


def test_networks_that_were_not_trained_are_missing(data):
    for kind, n in (("linear", 24), ("relu", 80)):
        assert study.runs_of(data, "trained", kind).sizes["seed"] == n
        assert study.runs_of(data, "trained", kind, study.OTHER).sizes["seed"] == 24


def test_larger_presets_train_every_published_setting():
    for preset in ("laptop", "paper"):
        names = {(c["nonlinearity"], c["setting"]) for c in study.PRESETS[preset]}
        assert names == {(kind, name) for kind in ("linear", "relu") for name in wide.SETTINGS}


def test_the_flow_is_that_of_the_network_in_the_frame_it_sees(data):
    task = wide.task(wide.MAIN)
    network = Architecture(layers=2).network(64, seed=3)
    assert network.biases is not None
    state = [np.asarray(layer, dtype=float) for layer in (*network.weights, *network.biases)]
    turn = task.rotation_matrix
    moment, mean = turn.T @ np.diag(task.signals) @ turn, task.mean() @ turn

    def velocity(now):
        w1, w2, b1, b2 = now
        w, b = w2 @ w1 - np.eye(64), w2 @ b1 + b2
        # Mean of the residual, and of its product with the input.
        r, rx = w @ mean + b, w @ moment + np.outer(b, mean)
        return -(w2.T @ rx), -(rx @ w1.T + np.outer(r, b1)), -(w2.T @ r), -r

    def onward(now, slope, h):
        return [values + h * rate for values, rate in zip(now, slope, strict=True)]

    h = 0.36875 / 10
    for _ in range(60):  # of six epochs, by Runge and Kutta's fourth order
        a = velocity(state)
        b = velocity(onward(state, a, h / 2))
        c = velocity(onward(state, b, h / 2))
        d = velocity(onward(state, c, h))
        mixed = [(p + 2 * q + 2 * r + s) / 6 for p, q, r, s in zip(a, b, c, d, strict=True)]
        state = onward(state, mixed, h)
    w1, w2, b1, b2 = state
    answer = turn @ (w2 @ (w1 @ (task.probe @ turn) + b1) + b2)
    theory = data.theory.sel(nonlinearity="linear", setting=wide.MAIN, seed=3, epoch=6)
    np.testing.assert_allclose(theory, answer[:2], atol=1e-5)


def test_the_flow_is_the_public_one():
    runs = wide.trained(wide.task(wide.CAPTIONED), Architecture(layers=2), 4, 1)
    public = beside_theory(runs).outputs[0, :, :2]
    # The public one keeps to 1e-7 in every step, of which there are tens.
    np.testing.assert_allclose(study.population_flow(runs), public, atol=5e-6)


def test_a_retreat_is_noticed(data):
    trained = data.trained.copy(deep=True)
    main = data.setting.values.tolist().index(wide.MAIN)
    linear = {"nonlinearity": 0, "setting": main, "concept": 0, "seed": slice(0, 5)}
    trained[linear] = np.arange(data.sizes["epoch"]) / 100.0
    trained[linear | {"epoch": slice(30, None), "seed": slice(0, 2)}] -= 0.1
    changed = data.assign(trained=trained)
    assert (study.retreats(changed, "linear") > study.RETREATS).sum() == 2


def test_a_flow_on_another_clock_is_noticed(data):
    late = data.theory.copy(deep=True)  # by two records
    axis = late.dims.index("epoch")
    late[{"epoch": slice(2, None)}] = np.moveaxis(
        np.moveaxis(data.theory.values, axis, 0)[:-2], 0, axis
    )
    assert failed_checks(study, data.assign(theory=late)) == ["gap"]


def test_errors_that_rise_are_noticed(data):
    error = data.error.copy(deep=True)
    error[{"epoch": slice(30, 34)}] += 0.5
    assert verdicts(study, data.assign(error=error))["rising_share"] == "does not hold"


def test_swapped_concepts_are_noticed(data):
    wrong = data.assign(learned=data.learned.copy(data=data.learned.values[..., ::-1]))
    assert verdicts(study, wrong)["order"] == "does not hold"
