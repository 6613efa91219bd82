"""Phase diagrams of context dependence: counts, boundaries, and what the study says of them."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import shortcut_margin
from partwhole.tasks import context_dependence
from partwhole_studies.overlap import phase_diagrams as study
from partwhole_studies.overlap import published_grid


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_regression_solves_what_the_margin_does_not(data):
    verdict = verdicts(study, data)
    assert verdict["rep_2"] == "holds"
    assert verdict["differing"] == "does not hold"


def test_accuracy_on_the_hardest_task_is_all_or_none(data):
    spread = data.spread.sel(left_out=3).where(data.valid, 0)
    assert float(spread.max(skipna=False)) < 1e-6


# Computed independently of this package, to four or six digits.
def test_margins_along_depth(data):
    layers = data.network_margin.sel(layer=[1, 2, 3, 5, 10, 20])
    relu = (-0.5589, -0.3436, -0.2167, -0.0775, 0.0478, 0.0309)
    quadratic = (-0.2153, 0.0784, 0.1875, 0.0938, -0.0369, -0.0024)
    np.testing.assert_allclose(layers.sel(nonlinearity="relu"), relu, atol=1e-4)
    np.testing.assert_allclose(layers.sel(nonlinearity="rectified_quadratic"), quadratic, atol=1e-4)
    np.testing.assert_allclose(
        data.network_margin.sel(nonlinearity="gaussian")[0], 0.3744, atol=1e-4
    )


def test_probes_and_boundaries(data):
    margins = [
        (0.187542, 0.353220),
        (-0.216690, 0.522309),
        (-0.093567, -0.093567),
        (-0.073998, -0.073998),
        (-0.119760, 0.0),
        (-0.151592, -0.151592),
        (-0.045165, 0.275899),
    ]
    np.testing.assert_allclose(data.probe, margins, atol=1e-4)
    boundaries = [(0.071636, 0.068879, 0.115872), (0.071636, 0.067617, 0.056399)]
    np.testing.assert_allclose(data.boundary, boundaries, atol=1e-6)
    assert float(data.corner) == pytest.approx(0.184351, abs=1e-6)


def test_swapped_saliences_are_noticed(data, monkeypatch):
    def swapped(order_1, order_2, **keywords):
        return shortcut_margin(order_2, order_1, **keywords)

    monkeypatch.setattr(study, "shortcut_margin", swapped)
    monkeypatch.setattr(published_grid, "shortcut_margin", swapped)
    numbers = study.numbers(data)
    for check in ("grid", "regressed", "networks", "probes"):
        assert not np.abs(np.asarray(numbers[check])).max() < 0.1


VARIABLES = {
    "margin": "grid",
    "regression": "regressed",
    "network_margin": "networks",
    "probe": "probes",
}


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_failed_solve_does_not_disappear(data, variable):
    lost = data.copy(deep=True)
    places = np.argwhere(~np.isnan(lost[variable].values))
    lost[variable].values[tuple(places[0])] = np.nan
    assert np.isnan(np.asarray(study.numbers(lost)[VARIABLES[variable]])).any()


def test_the_corner_that_can_not_be_fitted_is_no_failed_solve():
    """At S = (1/3, 0, 0) law and solve are both NaN; elsewhere a NaN solve stays inconclusive."""
    assert np.isnan(shortcut_margin(1 / 3, 0.0, fit="regression"))
    task, corner = context_dependence(3), OverlapKernel.from_salience([1 / 3, 0.0])
    assert np.isnan(solve(task, corner, intercept="free").test_margins).all()
