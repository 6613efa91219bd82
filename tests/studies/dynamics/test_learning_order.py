"""Learning order of one-layer networks: exact theory beside training, and what would break it."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm
from scipy.optimize import brentq
from study_cells import computed

from partwhole.networks import Architecture
from partwhole_studies.dynamics import _order_numbers as numbers
from partwhole_studies.dynamics import _wide as wide
from partwhole_studies.dynamics import learning_order as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def others(data):
    found = {claim.statement: claim.verdict.value for claim in study.claims(data)}
    return {words: verdict for words, verdict in found.items() if verdict != "holds"}


def failing(data):
    return [words for words, verdict in others(data).items() if verdict == "does not hold"]


def test_verdicts(data):
    assert len(study.claims(data)) == 31
    (text, near), verdicts = zip(*others(data).items(), strict=True)
    assert text.startswith("Were the signal as the text has it")
    assert near.startswith("Means 1 and 2, variances 1 and 0.05")
    assert verdicts == ("does not hold", "outside its assumptions")


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


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
    found = data.theory.sel(setting=wide.MAIN, seed=2, epoch=epochs)
    np.testing.assert_allclose(found, (seen @ turn.T)[:, :2], atol=1e-9)


def test_recorded_answers_from_zero_weights(data):
    moment, mean = np.diag([0.05 + 1 / 3, 0.05 + 4 / 3]), np.array([1 / 3, 2 / 3])
    times = 0.36875 * np.array([10, 40])
    found = exact(np.zeros((2, 2)), moment, mean, np.zeros(2), times, np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, [[0.6252, 1.8621], [0.9323, 1.9747]], atol=1e-4)
    ours = data.answers.sel(bias="with", whole_epoch=[10, 40])
    np.testing.assert_allclose(ours, found, atol=1e-12)
    # Without a bias, in closed form.
    closed = np.array([1.0, 2.0]) * (1 - np.exp(-np.outer(times, np.diagonal(moment))))
    np.testing.assert_allclose(data.answers.sel(bias="without")[[10, 40]], closed, atol=1e-12)


def test_records_of_short_training_are_the_first_of_long():
    short, long = wide.records(14), wide.records(40)
    np.testing.assert_array_equal(long[: len(short)], short)
    assert set(118 * np.arange(41)) <= set(long.tolist())
    np.testing.assert_allclose(wide.EPOCH, 0.36875, atol=1e-12)


def test_share_and_distance():
    found, (low, high) = wide.share(np.ones(4, dtype=bool))
    z = stats.norm.ppf(0.975)
    assert (found, high) == (1.0, pytest.approx(1.0))
    assert low == pytest.approx(4 / (4 + z**2), abs=1e-12)
    ours = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 3.0]])
    half = stats.t.ppf(1 - 0.05 / 4, 2) * np.sqrt(4 / 3)
    assert wide.apart(np.array([2 + half, 1.0]), ours) == pytest.approx(1.0, abs=1e-12)
    # A whole epoch at 6 means a time from 5 on.
    assert wide.apart(np.array([3.0, 1.5]), ours, uncertain=1.0) == pytest.approx(0.0, abs=1e-12)
    assert wide.apart(np.array([0.0, 1.5]), ours, uncertain=1.0) == pytest.approx(2 / half)
    assert wide.within(np.array([0.9, 1.5]), ours).startswith("1 of its 2 numbers lies outside")
    assert wide.within(np.array([3.9, 1.5]), ours, uncertain=1.0).startswith("0 of its 2")


def test_settings_left_out():
    assert wide.left_out(list(wide.SETTINGS)) == ""
    assert wide.left_out(list(wide.SETTINGS)[2:]).endswith(
        "preset: means 1 and 2, variance 0.05; means 1 and 2, variance 0.1."
    )
    assert wide.left_out(list(wide.SETTINGS)[:-1]).endswith(
        "preset: means 3 and 2, deviation 0.05."
    )


def test_settings_say_how_their_spreads_are_read():
    run, captioned = wide.SETTINGS[wide.MAIN], wide.SETTINGS[wide.CAPTIONED]
    assert (run.words, captioned.words) == (
        "means 1 and 2, variances 0.05 and 0.05",
        "means 1 and 2, deviations 0.05 and 0.05",
    )
    assert (run.variance, captioned.variance) == (0.05, pytest.approx(0.0025, abs=1e-15))
    # Squared means over three clusters, one of them at the origin in either reading.
    for name, variance in ((wide.MAIN, 0.05), (wide.CAPTIONED, 0.0025)):
        np.testing.assert_allclose(
            wide.task(name).signals[:2], [variance + 1 / 3, variance + 4 / 3], atol=1e-12
        )
    for run_name, captioned_name in zip(wide.AS_RUN, wide.AS_CAPTIONED, strict=True):
        assert captioned_name == run_name.replace("variance", "deviation")


def test_the_order_flips_where_signals_are_equal(data):
    """Half learned at once: closed form without a bias, by the exponential with one."""

    def lead(spread, power, bias):
        signals = np.array([spread**power + 1 / 3, 0.05**power + 4 / 3])
        if not bias:
            return np.subtract(*(np.log(2) / signals))
        mean = np.array([1 / 3, 2 / 3])

        def short(t, concept):
            answer = exact(np.zeros((2, 2)), np.diag(signals), mean, np.zeros(2), [t], [1.0, 2.0])
            return answer[0, concept] - (0.5, 1.0)[concept]

        first, second = (np.asarray(brentq(short, 0, 20, args=(k,))) for k in (0, 1))
        return first - second

    for power, reading in ((1, "variances"), (2, "deviations")):
        for bias in (True, False):
            found = data.flip.sel(
                reading=reading, bias="with" if bias else "without", threshold=0.5
            )
            expected = brentq(lead, 0.3, 1.9, args=(power, bias))
            # Half-times are read off steps of 0.005 epochs, the root to 1e-6.
            assert float(found) == pytest.approx(expected, abs=1e-5)
    assert expected == pytest.approx(numbers.FLIP_DEVIATION, abs=1e-9)


def test_deviations_run_as_variances_are_noticed(cells, monkeypatch):
    task = wide.task

    def run_as_variances(setting):
        return task(setting.replace("deviation", "variance"))

    monkeypatch.setattr(wide, "task", run_as_variances)
    wrong = failing(study.gather(again(cells, wide.CAPTIONED)))
    assert any(words.startswith("Means 1 and 2: the weak concept is half") for words in wrong)


def again(cells, setting):
    """Compute the cells of a setting anew."""
    return [
        (config, study.cell(config) if config.get("setting") == setting else arrays)
        for config, arrays in cells
    ]


def test_theory_without_the_origin_is_noticed(cells, monkeypatch):
    flow = study.one_layer_flow

    def two_clusters(w0, second_moment, times, *, mean=None, bias=None):
        return flow(w0, 1.5 * second_moment, times, mean=mean, bias=bias)

    monkeypatch.setattr(study, "one_layer_flow", two_clusters)
    wrong = failing(study.gather(again(cells, wide.MAIN)))
    assert any(words.startswith("Exact theory from a network's own") for words in wrong)
    assert any(words.startswith("After 40 epochs") for words in wrong)


def test_a_flow_without_a_bias_is_noticed(cells, monkeypatch):
    flow = study.one_layer_flow

    def unbiased(w0, second_moment, times, *, mean=None, bias=None):
        return flow(w0, second_moment, times)

    monkeypatch.setattr(study, "one_layer_flow", unbiased)
    changed = [
        (config, study.cell(config) if config["part"] == "population" else arrays)
        for config, arrays in cells
    ]
    wrong = failing(study.gather(changed))
    assert sum("with a bias" in words for words in wrong) == 3
    assert any(words.startswith("First epochs") for words in wrong)


def test_swapped_concepts_are_noticed(data):
    swapped = data.assign(learned=data.learned.copy(data=data.learned.values[..., ::-1]))
    wrong = failing(swapped)
    assert sum("whose signal is larger" in words for words in wrong) == 7
    assert any(words.startswith("A bias doubles") for words in wrong)


def test_another_published_seed_is_noticed(data, monkeypatch):
    monkeypatch.setattr(numbers, "SEED_END", 2 * numbers.SEED_END)
    monkeypatch.setattr(numbers, "SEED_SPEEDS", (0.855, 0.0021))
    epochs = tuple((half, (first + 12, then)) for half, (first, then) in numbers.SEED_EPOCHS)
    monkeypatch.setattr(numbers, "SEED_EPOCHS", epochs)
    wrong = failing(data)
    assert len([words for words in wrong if words.startswith("The published network")]) == 3


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
