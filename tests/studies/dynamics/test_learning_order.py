"""Learning order of one-layer networks: exact theory beside training, and mistakes noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.flows import flow
from partwhole.networks import Architecture
from partwhole.study.declaration import declared
from partwhole_studies.dynamics import learning_order as study
from partwhole_studies.dynamics import wide_networks as wide


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def again(cells, setting):
    """Compute the cells of a setting anew; those of the population without one."""
    return study.gather(
        [(c, study.cell(c) if c.get("setting") == setting else arrays) for c, arrays in cells]
    )


def test_it_is_whole(data):
    require_whole(study, data)


def exact(weights, moment, mean, bias, times, probe):
    """Return answers by the exponential of the moment of (x, 1)."""
    joint = np.block([[moment, mean[:, None]], [mean[None], np.ones((1, 1))]])
    target = np.eye(*np.shape(np.column_stack([weights, bias])))
    start = np.column_stack([weights, bias])
    points = np.append(probe, 1.0)
    return np.array([(target + (start - target) @ expm(-joint * t)) @ points for t in times])


def test_theory_is_that_of_the_network_in_the_frame_it_sees(data):
    task = wide.task(wide.MAIN)
    network = Architecture().network(64, seed=2)
    assert network.biases is not None
    weights = np.asarray(network.weights[0], dtype=float)
    bias = np.asarray(network.biases[0], dtype=float)
    turn = task.rotation_matrix
    moment = turn.T @ np.diag(task.signals) @ turn
    epochs = [0.0, 1.0, 10.0, 40.0]
    times = [epoch * 118 * 0.1 * 2 / 64 for epoch in epochs]
    seen = exact(weights, moment, task.mean() @ turn, bias, times, task.probe @ turn)
    theory = data.theory.sel(setting=wide.MAIN, seed=2, epoch=epochs)
    np.testing.assert_allclose(theory, (seen @ turn.T)[:, :2], atol=1e-9)


def test_recorded_answers_from_zero_weights(data):
    moment, mean = np.diag([0.05 + 1 / 3, 0.05 + 4 / 3]), np.array([1 / 3, 2 / 3])
    times = 0.36875 * np.array([10, 40])
    answers = exact(np.zeros((2, 2)), moment, mean, np.zeros(2), times, np.array([1.0, 2.0]))
    np.testing.assert_allclose(answers, [[0.6252, 1.8621], [0.9323, 1.9747]], atol=1e-4)
    ours = data.answers.sel(bias="with a bias", whole_epoch=[10, 40])
    np.testing.assert_allclose(ours, answers, atol=1e-12)
    # Without a bias, in closed form.
    closed = np.array([1.0, 2.0]) * (1 - np.exp(-np.outer(times, np.diagonal(moment))))
    ours = data.answers.sel(bias="without a bias", whole_epoch=[10, 40])
    np.testing.assert_allclose(ours, closed, atol=1e-12)


# Recorded outside this package: first whole epochs above one half and above 90 %.
def test_recorded_first_epochs(data):
    for bias, epochs in (
        ("with a bias", ((6, 2), (34, 6))),
        ("without a bias", ((5, 2), (17, 5))),
    ):
        fractions = data.answers.sel(bias=bias).values / [1.0, 2.0]
        first = [(fractions > share).argmax(axis=0).tolist() for share in (0.5, 0.9)]
        np.testing.assert_array_equal(first, epochs)


def test_exact_theory_gives_the_order_of_half_learning(data):
    trained = [name for name in data.setting.values if name in wide.SETTINGS]
    half = data.learned.sel(setting=trained, threshold=0.5)
    first_leads = half.sel(concept="first") < half.sel(concept="second")
    assert (first_leads.sel(route="trained") == first_leads.sel(route="theory")).all()


def test_a_bias_doubles_the_time_of_the_weak_concept(data):
    weak = data.learned.sel(route="trained", threshold=0.9, concept="first")
    ratio = weak.sel(setting=wide.MAIN) / weak.sel(setting=study.NO_BIAS)
    assert float(ratio.mean()) == pytest.approx(2, abs=0.25)  # 34 and 17 whole epochs in theory


def test_records_of_short_training_are_the_first_of_long():
    short, long = wide.records(14), wide.records(40)
    np.testing.assert_array_equal(long[: len(short)], short)
    assert set(118 * np.arange(41)) <= set(long.tolist())
    assert pytest.approx(0.36875, abs=1e-12) == wide.EPOCH


def test_signals_of_the_settings():
    # Squared means over three clusters, one of them at the origin in either reading.
    for name, variance in ((wide.MAIN, 0.05), (wide.CAPTIONED, 0.0025)):
        signals = wide.task(name).signals[:2]
        np.testing.assert_allclose(signals, [variance + 1 / 3, variance + 4 / 3], atol=1e-12)
    assert wide.stronger(wide.MAIN) == 1
    assert wide.stronger("means 3 and 2, variance 0.05") == 0
    assert wide.stronger("means 1 and 2, variance 1") is None


def test_larger_presets_train_every_published_setting():
    for preset in ("laptop", "paper"):
        names = {config.get("setting") for config in study.PRESETS[preset]}
        assert names == {None, study.NO_BIAS, *wide.SETTINGS}


def test_theory_without_the_origin_is_noticed(cells, monkeypatch):
    def two_clusters(system, times):
        return flow(replace(system, second_moment=1.5 * system.second_moment), times)

    monkeypatch.setattr(study, "flow", two_clusters)
    assert verdicts(study, again(cells, wide.MAIN))["gap"] == "does not hold"


def test_flips_with_the_spreads_misread_are_noticed(data):
    wrong = data.assign(flip=data.flip.copy(data=data.flip.values[::-1]))
    (check,) = declared(study).findings(study.numbers(wrong)).checks
    assert not check.passed


def test_swapped_concepts_are_noticed(data):
    wrong = data.assign(learned=data.learned.copy(data=data.learned.values[..., ::-1]))
    assert verdicts(study, wrong)["order"] == "does not hold"
