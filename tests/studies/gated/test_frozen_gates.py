"""When gates stop mattering: readings along training, and what the study makes of them."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from study_cells import computed, stored_data
from study_rules import failed_checks, require_whole, verdicts

from partwhole.networks import GatedNetwork, LearnedGates
from partwhole_studies.gated import frozen_gates as study
from partwhole_studies.gated import gate_freezing as freezing

RATIOS = np.array([0.0, 0.5, 1.0, 4.0])


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


@pytest.fixture(scope="module")
def points():
    return freezing.sample("product", 30, 0)


def drawn_network(seed):
    return GatedNetwork.draw(7, [LearnedGates(12), 1], seed=seed, initial="he")


def descent(network, drawn, steps, momentum=0.9):
    """Yield the hidden weights, readout and training errors of a ReLU network by NumPy alone."""
    hidden, readout = (np.asarray(layer, float)[:, 0] for layer in network.weights)
    readout = readout[0]
    speeds = np.zeros_like(hidden), np.zeros_like(readout)
    for _ in range(steps + 1):
        sums = drawn.inputs @ hidden.T
        units = np.maximum(sums, 0.0)
        outputs = units @ readout
        yield hidden, readout, float(np.mean(np.sign(outputs) != drawn.labels))
        pull = -drawn.labels / (1.0 + np.exp(drawn.labels * outputs)) / len(outputs)
        slopes = ((pull[:, None] * (sums >= 0) * readout).T @ drawn.inputs, pull @ units)
        speeds = tuple(momentum * v + g for v, g in zip(speeds, slopes, strict=True))
        hidden, readout = hidden - 0.04 * speeds[0], readout - 0.04 * speeds[1]


def largest_margin(open_gates, drawn):
    """Return each unit's weights of least summed norm with margins of at least 1, by Clarabel."""
    weights = cp.Variable((open_gates.shape[1], drawn.inputs.shape[1]))
    outputs = cp.sum(cp.multiply(open_gates, drawn.inputs @ weights.T), axis=1)
    cost = cp.sum(cp.norm(weights, 2, axis=1))
    cp.Problem(cp.Minimize(cost), [cp.multiply(drawn.labels, outputs) >= 1]).solve(cp.CLARABEL)
    assert weights.value is not None
    return weights.value


def beyond_chance(first, second, labels):
    p, q = (np.mean(np.sign(outputs) != labels) for outputs in (first, second))
    return 1 - np.mean(np.sign(first) != np.sign(second)) / (p * (1 - q) + q * (1 - p))


def test_it_is_whole(data):
    require_whole(study, data)


def test_readings_are_those_of_descent_by_hand(points):
    """Train by NumPy, count gates, and let another solver find the limits."""
    start = drawn_network(1)
    arrays = freezing.along_training(start, points, RATIOS, 0.9)
    path = list(descent(start, points, int(4 * arrays["separated"])))
    separated = int(arrays["separated"])
    first = 1 + max(step for step, (_, _, error) in enumerate(path) if error > 0)
    # Only some of the steps are recorded: in distances of some 3 %.
    assert first <= separated <= 1.05 * first + 1
    steps = [int(np.round(ratio * separated)) for ratio in RATIOS]
    gates = [points.inputs @ path[step][0].T >= 0 for step in steps]
    differ = [np.mean(some != gates[-1]) for some in gates]
    assert differ[0] > 0.05
    assert arrays["differ"] == pytest.approx(differ, abs=1e-12)
    assert arrays["error"] == pytest.approx([path[step][2] for step in steps], abs=1e-12)
    tests, labels = points.test_inputs, points.test_labels
    hidden, readout, _ = path[-1]
    final = np.maximum(tests @ hidden.T, 0.0) @ readout
    limits = [
        ((tests @ path[step][0].T >= 0) * (tests @ largest_margin(some, points).T)).sum(axis=1)
        for step, some in zip(steps, gates, strict=True)
    ]
    # Both solve to a millionth: one of 1,400 points may lie that near to a boundary.
    expected = [beyond_chance(final, limit, labels) for limit in limits]
    assert arrays["limit"] == pytest.approx(expected, abs=3 / 1400)
    expected = [beyond_chance(limits[-1], limit, labels) for limit in limits]
    assert arrays["final_limit"] == pytest.approx(expected, abs=3 / 1400)
    assert (arrays["exists"] == 1).all()
    assert arrays["frozen"][-1] == 1 > arrays["frozen"][0]


def test_gates_that_never_change_give_one_limit_and_one_network(points):
    fixed = drawn_network(1).with_frozen_gates()
    arrays = freezing.along_training(fixed, points, RATIOS, 0.0)
    assert (arrays["differ"] == 0).all()
    assert arrays["frozen"] == pytest.approx(1.0, abs=1e-12)
    assert arrays["final_limit"] == pytest.approx(1.0, abs=1e-12)
    assert np.ptp(arrays["limit"]) < 1e-12
    assert arrays["limit"][0] > 0


def test_a_network_too_small_to_separate_reads_as_nothing(points, monkeypatch):
    monkeypatch.setattr(freezing, "MOST", 400)
    small = GatedNetwork.draw(7, [LearnedGates(1), 1], seed=0, initial="he")
    arrays = freezing.along_training(small, points, RATIOS, 0.9)
    assert all(np.isnan(values).all() for values in arrays.values())
    assert arrays["limit"].shape == RATIOS.shape


def test_separation_is_the_first_step_without_later_errors():
    steps = np.array([0, 1, 2, 4, 8])
    assert freezing.separation(np.array([0.5, 0.1, 0.0, 0.1, 0.0]), steps) == 8
    assert freezing.separation(np.array([0.5, 0.0, 0.0, 0.0, 0.0]), steps) == 1
    assert np.isnan(freezing.separation(np.array([0.5, 0.0, 0.0, 0.0, 0.1]), steps))


def test_the_samples_are_labelled_by_their_rules():
    product, square = (freezing.sample(name, 50, 2) for name in ("product", "square"))
    x, y = product.test_inputs, product.test_labels
    assert ((x[:, 0] > 0) == ((x[:, 1] > 0) == (y > 0))).all()
    assert (
        (np.abs(square.inputs[:, 0]) + np.abs(square.inputs[:, 1]) > 1) == (square.labels > 0)
    ).all()
    for drawn in (product, square):
        assert len(drawn.inputs) == 50
        assert len(drawn.test_inputs) == len(drawn.test_labels) == 1400
        assert (drawn.inputs[:, -1] == 1).all()


@pytest.fixture(scope="module")
def made_up():
    """Gather cells whose frozen networks agree by .8 half-way from 1/16 to 1 of separation."""
    rng, cells = np.random.default_rng(0), []
    for config in study._cells([*study.SETTINGS], 3, 6):
        arrays = {
            "separated": np.array(100.0 * (1 + config["seed"])), "exists": np.ones(4),
            "limit": np.array([0.4, 0.5, 0.6, 0.6]) + 0.01 * rng.normal(size=4),
            "final_limit": np.array([0.3, 0.3, 0.5, 1.0]),
            "differ": np.array([0.2, 0.16, 0.05, 0.0]), "error": np.array([0.5, 0.2, 0.0, 0.0]),
            "frozen": np.array([0.5, 0.7, 0.9 - 0.2 * (config["setting"] == "square"), 1.0]),
        }  # fmt: skip
        cells.append((config, arrays))
    return study.gather(cells)


def test_fixed_is_where_agreement_last_crosses_its_bound(made_up):
    digits, square = (made_up.sel(setting=name) for name in ("weights × 3", "square"))
    # From .7 to .9 in the four octaves before separation, or to 1 in those after it.
    assert digits.fixed.to_numpy() == pytest.approx(digits.separated.to_numpy() / 4)
    octave = 4.0 * (study.FIXED - 0.7) / 0.3
    assert square.fixed.to_numpy() == pytest.approx(square.separated.to_numpy() * 2.0**octave)


def test_numbers_are_those_of_the_readings(made_up):
    numbers = study.numbers(made_up)
    assert numbers["after"].value == pytest.approx(0.0, abs=0.01)
    assert numbers["before"].value == pytest.approx(0.2, abs=0.01)
    assert numbers["frozen"].value == pytest.approx(0.9)
    assert (numbers["weakest"], numbers["least"]) == ("square", pytest.approx(0.7))
    assert numbers["late"] == pytest.approx(0.25)
    assert numbers["when"] == "From"
    assert set(verdicts(study, made_up).values()) == {"holds"}


def test_what_breaks_the_claims_is_noticed(made_up):
    data = made_up
    later = data.assign(limit=data.limit + 0.2 * (data.ratio > 1))
    assert verdicts(study, later)["after"] == "does not hold"
    assert study.numbers(later)["when"] == "Not from"
    lazy = data.assign(limit=data.limit + 0.3 * (data.ratio < 1))
    assert verdicts(study, lazy)["before"] == "does not hold"
    changing = data.assign(frozen=data.frozen - 0.2 * (data.ratio == 1))
    assert verdicts(study, changing)["frozen"] == "does not hold"
    assert not failed_checks(study, data)
    absent = data.assign(exists=data.exists.where(data.ratio < 16, 0.0))
    assert failed_checks(study, absent) == ["missing"]
    assert failed_checks(study, data.assign(exists=np.nan * data.exists)) == ["missing"]
    earlier = data.assign(exists=data.exists.where(data.ratio > 0, 0.0))
    assert not failed_checks(study, earlier)
    wrong = data.assign(error=data.error + 0.01 * (data.ratio == 16))
    assert failed_checks(study, wrong) == ["wrong"]
    lost = data.assign(separated=data.separated.where(data.seed > 0))
    assert failed_checks(study, lost) == ["unseparated"]


def test_the_law_of_width_and_the_factors_are_those_of_the_steps(data):
    stored = stored_data(study)
    units = {"10 units": 10, study.WIDTHS[0]: 20, "50 units": 50, "100 units": 100}
    known = stored.assign(fixed=stored.fixed * np.nan)
    noise = np.random.default_rng(0).normal(size=stored.sizes["seed"])
    for setting, width in units.items():
        known.fixed.loc[{"setting": setting}] = 300.0 * width ** (-0.5 + 0.1 * noise)
    power = study.power_of_width(known)
    assert power.value == pytest.approx(-0.5 + 0.1 * noise.mean(), abs=1e-9)
    assert power.n == len(noise)
    known.fixed.loc[{"setting": "200 digits", "seed": 0}] = np.nan
    known.fixed.loc[{"setting": "200 digits"}] = 2.5 * known.fixed.sel(setting=study.WIDTHS[0])
    assert study.change(known, "200 digits").value == pytest.approx(2.5)
    assert np.isnan(study.power_of_width(data).value)  # one width
