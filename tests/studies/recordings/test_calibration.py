"""Calibration: simulated worlds, the regression they are compared with, and what is counted."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from sklearn.linear_model import Ridge
from study_cells import computed
from study_rules import failed_checks, require_whole, verdicts

from partwhole.measures import salience
from partwhole_studies.recordings import calibration as study
from partwhole_studies.recordings import estimates, worlds
from partwhole_studies.recordings.drawing import errors_of, farthest


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def with_seeds(data: xr.Dataset, n: int = 8) -> xr.Dataset:
    """Return data of the same settings that reach every goal, with n equal seeds."""
    whole = data.reindex(seed=range(n))
    fills = {"bias": 0.001, "coverage": 0.95, "expected": 0.4, "trained": 1e-12, "off": 0.0,
             "runs_bias": 0.001, "runs_coverage": 0.95, "runs_off": 0.0}  # fmt: skip
    whole = whole.assign({name: xr.full_like(whole[name], v) for name, v in fills.items()})
    whole["answer"] = xr.zeros_like(whole.answer) + 1.0
    whole["answer"][{"way": 0}] = 1.0 + xr.where(whole.setting == study.NEAR, 0.35, 0.15)
    return whole


def test_it_is_whole(data):
    require_whole(study, data)


def test_few_recordings_decide_nothing(data):
    assert set(verdicts(study, data).values()) == {"illustration"}


def test_one_setting_beyond_a_goal_is_enough(data):
    whole = with_seeds(data)
    assert set(verdicts(study, whole).values()) == {"holds"}
    changes = {
        "bias": ("bias", {"neurons": 0, "kind": 1}, -0.02),
        "coverage": ("coverage", {"neurons": 1, "interval": 2}, 0.9),
        "error": ("answer", {"setting": 2, "way": 0}, 1.3),
        "near": ("answer", {"setting": 5, "way": 0}, 0.5),
    }
    for claim, (name, place, value) in changes.items():
        other = whole.copy(deep=True)
        other[name][place] = value
        verdict = verdicts(study, other)
        assert verdict.pop(claim) == "does not hold"
        assert set(verdict.values()) == {"holds"}
    for claim, name, value in (("bias", "runs_bias", 0.02), ("coverage", "runs_coverage", 0.9)):
        other = whole.copy(deep=True)
        other[name][{"neurons": 1, "runs": 0}] = value
        assert [k for k, v in verdicts(study, other).items() if v != "holds"] == [claim]
        other["runs_off"][{"neurons": 1, "runs": 0}] = 0.6
        assert set(verdicts(study, other).values()) == {"holds"}
    # Bias that most results speak of is no bias without a warning.
    whole["bias"][{"neurons": 0, "kind": 1}] = -0.02
    whole["off"][{"neurons": 0, "interval": 1}] = 0.6
    assert set(verdicts(study, whole).values()) == {"holds"}
    assert study.numbers(whole)["off"] == pytest.approx(0.02)
    # What is not declared can't be known, and decides nothing.
    whole["bias"][{"kind": 6}] = -0.2
    assert set(verdicts(study, whole).values()) == {"holds"}
    assert study.numbers(whole)["undeclared"].value == pytest.approx(0.2)
    assert failed_checks(study, whole.assign(trained=whole.trained + 0.1)) == ["trained"]


def test_the_farthest_setting_is_that_of_the_largest_mean():
    samples = xr.DataArray(
        [[0.1, -0.1, 0.1], [-0.3, -0.4, -0.5], [np.nan] * 3],
        {"neurons": [1, 2, 3]}, ("neurons", "seed"),
    )  # fmt: skip
    assert farthest(samples, 0.0, ["neurons"]).value == pytest.approx(0.4)
    assert farthest(samples, -0.4, ["neurons"]).value == pytest.approx(0.1 / 3)


def test_errors_are_over_the_conditions_of_a_recording():
    answer = xr.DataArray(
        [[[1.0, 2.0], [1.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]]], dims=("seed", "way", "corner")
    ).assign_coords(way=["predicted", "trained"])
    expected = [np.sqrt(0.5), np.sqrt(12.5)]
    np.testing.assert_allclose(errors_of(xr.Dataset({"answer": answer})), expected)


@pytest.mark.parametrize("correlated", [False, True])
def test_worlds_have_the_shares_and_the_noise_that_they_state(correlated):
    # The standard error of a share of 1,000 neurons is near .01.
    rng = np.random.default_rng(0)
    world = worlds.World.of(rng, 1000, 2.0, correlated=correlated)
    shares = list(salience(world.means, worlds.GRID, self_pairs=True).saliences.values())
    np.testing.assert_allclose(shares, worlds.SHARES, atol=0.05)
    responses, index = world.trials(rng, 20)
    noise = responses - world.means[index]
    assert np.mean(noise**2) == pytest.approx(4.0, rel=0.05)
    # Half of the variance in 100 directions of 1,000 lies on average 5 times as dense there.
    variances = np.linalg.eigvalsh(noise @ noise.T)[::-1]
    assert (variances[:100].sum() > 0.6 * variances.sum()) == correlated
    shifted, _ = world.trials(rng, 20, 3.0)
    runs = worlds.runs_of(index)
    assert runs[:20].tolist() == list(range(20))
    of_runs = [np.mean((shifted - world.means[index])[runs == k], axis=0) for k in range(20)]
    assert np.mean(np.square(of_runs)) == pytest.approx(9.0 + 4.0 / 16.0, rel=0.1)


def test_counts_have_the_rates_and_the_noise_that_they_state():
    world = worlds.World.of(np.random.default_rng(0), 300, 2.0)
    responses, index = world.counts(np.random.default_rng(1), 60)
    noise = responses - world.rates[index]
    # 288,000 numbers: standard errors are .004 of the mean and .3 % of the variance.
    assert abs(noise.mean()) < 0.02
    assert np.mean(noise**2) == pytest.approx(4.0 * world.rates.mean() / worlds.LOWEST, rel=0.02)
    unit = worlds.LOWEST / 4.0
    np.testing.assert_allclose(responses * unit, np.round(responses * unit), atol=1e-9)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_the_regression_is_that_of_scikit_learn(shape):
    rng = np.random.default_rng(1)
    x, y, at = rng.normal(2, 1, shape), rng.normal(size=shape[0]), rng.normal(size=(5, shape[1]))
    expected = Ridge(alpha=estimates.RIDGE).fit(x, y).predict(at)
    np.testing.assert_allclose(estimates.ridge_answers(x, y, at), expected, atol=1e-6)


def test_coverage_counts_the_truth_within_and_leaves_warnings_out():
    world = worlds.World.of(np.random.default_rng(2), 60, 1.0)
    responses, index = world.trials(np.random.default_rng(3), 6)
    result = salience(worlds.recording(responses, index), bootstrap=100)
    low, high = np.array(list(result.saliences_interval.values())).T
    middle = (low + high) / 2
    assert estimates.coverage(result, middle) == 1.0
    assert estimates.coverage(result, np.where([True, False, False], middle, 2.0)) == 1 / 3
    # Of two runs intervals are missing or warned of.
    runs = worlds.runs_of(index)
    few = runs < 2
    result = salience(worlds.recording(responses[few], index[few], runs[few]), bootstrap=50)
    assert np.isnan(estimates.coverage(result, middle))


def test_a_wrong_truth_is_a_bias(monkeypatch):
    # 10 recordings of 60 neurons: errors deviate by .018 between those of drawn neurons, and by
    # .01 otherwise, so that standard errors of the bias are .006 and .003.
    monkeypatch.setattr(estimates, "SHARES", np.array([0.3, 0.3, 0.4]))
    rng = np.random.default_rng(4)
    errors = [estimates.salience_errors(rng, 60, 20, 1.0, 0)[0] for _ in range(10)]
    bias = dict(zip(study.KINDS, np.mean(errors, axis=0), strict=True))
    assert bias["neurons"] == pytest.approx(-0.2, abs=0.04)
    assert (
        max(abs(bias[kind]) for kind in ("trials", "correlated", "Poisson", "unequal", "runs"))
        < 0.02
    )
    assert bias["undeclared"] < -0.02


def test_runs_that_are_not_declared_are_noticed_and_independent_trials_are_not():
    errors, *_, noticed = estimates.salience_errors(np.random.default_rng(0), 60, 5, 1.0, 0)
    assert noticed
    assert abs(errors[-1]) > 0.05
    world = worlds.World.of(np.random.default_rng(0), 60, 1.0)
    plain = worlds.recording(*world.trials(np.random.default_rng(1), 5))
    assert not any("of their noise" in note for note in salience(plain).notes)
