"""Where the error rises again: turns and rises by slow routes, and mistakes that are noticed."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics_oracles import drawup, probe_loss, rk4, two_concepts
from study_cells import computed
from study_rules import failed_checks, require_whole, verdicts

from partwhole.measures import extrema
from partwhole_studies.dynamics import random_starts
from partwhole_studies.dynamics import swing_table as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_the_map_is_the_drawup_of_a_flow(data):
    ratio, rho = float(data.map_ratio[5]), float(data.map_correlation[17])
    u0 = np.linalg.cholesky(two_concepts(0.1, rho))
    loss = probe_loss(rk4(u0, np.array([1.0, ratio]), 0.02, 3000), np.array([1.0, np.sqrt(ratio)]))
    rise = float(data["map"].sel(map_ratio=ratio, map_scale=0.1, map_correlation=rho))
    assert rise == pytest.approx(drawup(loss) / (0.5 * ratio), abs=2e-4)


# By Runge-Kutta outside this package: time and error at the minimum and the maximum.
@pytest.mark.parametrize(
    ("rho", "times", "errors"),
    [
        (0.5, (2.535, 3.225), (0.453752, 0.458303)),
        (0.9, (2.405, 4.335), (0.426489, 0.467114)),
        (0.99, (2.390, 5.660), (0.420320, 0.486456)),
        (-0.5, (), ()),
    ],
)
def test_recorded_turns(data, rho, times, errors):
    turns = extrema(study.TIMES, data.loss.sel(run=rho).values)
    np.testing.assert_allclose(turns.times, times, atol=0.01)
    np.testing.assert_allclose(turns.values, errors, atol=5e-5)


# Of the plateau, integrated with a fixed step outside this package.
@pytest.mark.parametrize(
    ("rho", "scale", "ratio", "rise"),
    [
        (0.7, 0.1, 0.05, 0.5056),
        (0.7, 0.01, 0.2, 0.0834),
        (0.95, 0.01, 0.3, 0.1739),
        (0.999, 0.1, 0.5, 0.3328),
        (0.3, 0.1, 0.2, 0),
    ],
)
def test_recorded_rises(data, rho, scale, ratio, rise):
    measured = float(data.table.sel(correlation=rho, scale=scale, ratio=ratio))
    assert measured == pytest.approx(rise, abs=2e-4)


def test_the_mean_correlation_by_another_integral():
    # Of three coordinates in polar form: E[u_1 / |u|] over the cube, by the midpoint rule.
    x = (np.arange(120) + 0.5) / 120
    a, b, c = np.meshgrid(x, x, x, indexing="ij")
    m = (a / np.sqrt(a**2 + b**2 + c**2)).mean()
    assert random_starts.mean_correlation("uniform", 3) == pytest.approx(3 * m**2, abs=1e-4)
    assert random_starts.mean_correlation("uniform", 10_000) == pytest.approx(0.75, abs=1e-4)
    assert random_starts.mean_correlation("Gaussian", 3) == pytest.approx(0.5, abs=1e-12)


def test_uniform_factors_have_the_entries_of_their_law(data):
    entries = data.starts.sel(law="uniform", width=16, statistic="mean")
    np.testing.assert_allclose(
        entries.sel(quantity=["diagonal", "off-diagonal"]), (1 / 3, 1 / 4), atol=0.005
    )


def test_swapped_laws_are_noticed(data):
    wrong = data.assign(starts=data.starts.copy(data=data.starts.values[::-1]))
    verdict = verdicts(study, wrong)
    assert verdict["positive_wide"] == "does not hold"
    away = study.numbers(wrong)["correlations"]
    assert isinstance(away, np.ndarray)
    assert np.abs(away).max() > 0.2


def test_the_forecast_knows_where_the_error_rises(data):
    # Its formulas are for small initial entries.
    assert float((data.forecast == (data.table > 0)).mean()) >= 0.95


def test_a_wrong_exponent_is_noticed(data, monkeypatch):
    # The power with which the joining entry itself shrinks.
    monkeypatch.setattr(study, "exponent", lambda ratio: (1 - ratio) / 2)
    assert "exponent" in failed_checks(study, data)


def test_a_rise_without_correlation_is_noticed(data):
    wrong = data.assign(opposed=data.opposed + 0.01)
    assert verdicts(study, wrong)["opposed"] == "does not hold"
