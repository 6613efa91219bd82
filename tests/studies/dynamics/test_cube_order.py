"""The order of the cube: how often and why it is broken."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.networks import Architecture
from partwhole.study.declaration import declared
from partwhole_studies.dynamics import cube_order as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def checks(data):
    return declared(study).findings(study.numbers(data)).checks


def test_it_is_whole(data):
    require_whole(study, data)


def test_a_violation_is_a_larger_error_on_less(data):
    losses = data.loss.sel(network="captioned", epoch=4).isel(seed=0)
    names = losses.combination.values
    count, empty = 0, 0
    for lower in names:
        for upper in names:
            contained = lower != upper and all(a <= b for a, b in zip(lower, upper, strict=True))
            if contained and losses.sel(combination=lower) > losses.sel(combination=upper):
                count, empty = count + 1, empty + (lower == "0000")
    assert count == study.counts(data, "captioned")[0, 4]
    elsewhere = study.violations(data, "captioned").without_origin.violated[0, 4].sum()
    assert elsewhere == count - empty


# None at the published seed either.
def test_no_pair_breaks_the_order_before_training(data):
    assert not study.counts(data, "captioned")[:, 0].any()


def test_the_exact_solution_by_a_matrix_exponential(data):
    problem = study.task("as run")
    weights, biases = Architecture(layers=1).networks(64, seeds=[3]).end_to_end()
    turn = problem.rotation_matrix
    assert biases is not None
    start = np.column_stack([turn @ np.asarray(weights[0], float) @ turn.T, turn @ biases[0]])
    moment = np.zeros((65, 65))
    moment[:4, :4] = np.diag(np.array([1, 4, 9, 16]) / 4 + 0.5)
    moment[:4, 64] = moment[64, :4] = np.array([1, 2, 3, 4]) / 4
    moment[64, 64] = 1
    target = np.eye(64, 65)
    # Four epochs of 157 steps at a rate of .1, each worth 2/64 of it.
    now = target + (start - target) @ expm(-moment * 4 * 157 * 2 * 0.1 / 64)
    point = np.zeros(65)
    point[:4], point[64] = [1, 2, 3, 4], 1
    expected = now @ point
    run = data.sel(network="as run", seed=3, epoch=4)
    np.testing.assert_allclose(run.exact_answer, expected[:4], rtol=1e-5)
    error = 0.5 * ((expected - point[:64]) ** 2).sum()
    assert float(run.exact.sel(combination="1111")) == pytest.approx(error, rel=1e-5)


def test_without_a_bias_from_zero_errors_are_sums_over_concepts(data):
    a, mu = np.array([1, 4, 9, 16]) / 4 + 0.5, np.arange(1, 5)
    t = 2 * 157 * 2 * 0.1 / 64
    expected = 0.5 * (mu**2 * np.exp(-2 * a * t) * np.array([0, 1, 0, 1])).sum()
    neither = data.neither.sel(network="as run", epoch=2, combination="0101")
    np.testing.assert_allclose(neither, expected, rtol=1e-9)


def test_a_reversed_order_is_noticed(data, monkeypatch):
    right = study.order_violations
    monkeypatch.setattr(study, "order_violations", lambda losses, pairs: right(-losses, pairs))
    assert study.numbers(data)["after"].value > 0.5 * study.PAIRS[1]
    assert not checks(data)[0].passed


def test_the_solution_of_another_epoch_is_noticed(data):
    slower = data.assign(exact_answer=data.exact_answer.shift(epoch=1, fill_value=0.0))
    assert not checks(slower)[1].passed


def test_a_network_that_keeps_the_order_would_hold_the_claim(data):
    rank = np.array([name.count("1") for name in data.combination.values])
    kept = data.assign(loss=0 * data.loss + rank)
    assert verdicts(study, kept)["after"] == "holds"
    assert study.numbers(kept)["verdict"] == "Yes"
