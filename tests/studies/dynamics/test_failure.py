"""The published failure of learning: an effect of the step size."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.flows import FlowOutcome, Tied, descend
from partwhole.flows.field import tied_field
from partwhole_studies.dynamics import failure as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


# Computed independently of this package: Runge-Kutta on the map, and the recurrence, in NumPy.
def test_facts(data):
    numbers = study.numbers(data)
    assert numbers["flow"] == pytest.approx(144.038, abs=0.05)
    first_power = study.learned(data.time.values, data.weak.sel(power=1).values)
    assert first_power == pytest.approx(23.844, abs=0.05)
    assert numbers["factor"] == pytest.approx(144.06 / 144.038, abs=7e-4)
    np.testing.assert_allclose(data.learned, [157.3, 147.9, 145.9], atol=0.051)
    recurrence = data.sel(route="matrix")
    np.testing.assert_allclose(recurrence.stepped_weak[[10_000, 17_000]], [-0.018943, -6.80], 0.02)
    assert not np.isfinite(recurrence.stepped_weak[17_500])
    # The state after 32 updates is record 31 in the published counting.
    assert recurrence.stepped_least[31] > 0 > recurrence.stepped_least[32]
    assert float(data.least.min()) > 0


def test_the_published_failure_is_an_artefact(data):
    verdict = verdicts(study, data)
    assert verdict.pop("entry") == verdict.pop("speed") == "does not hold"
    assert set(verdict.values()) == {"holds"}


def test_gradient_flow_has_the_path_of_the_published_update_at_twice_its_speed(monkeypatch):
    # By hand: the gradient of the loss is ((W - I) A + A (W - I)) U.
    np.testing.assert_allclose(study.speed(), 2.0, rtol=1e-6)
    monkeypatch.setattr(study, "tied_field", lambda w, a: 2 * tied_field(w, a))
    np.testing.assert_allclose(study.speed(), 1.0, rtol=1e-6)


def test_the_predicted_step_grows_as_signals_approach():
    w0 = 1e-3 * np.array([[1, 0.8], [0.8, 1]])
    steps = [study.predicted_step(w0, np.array([1.0, weak])) for weak in (0.05, 0.1, 0.2)]
    assert steps == sorted(set(steps))
    assert steps[-1] < 1
    # Nothing is lost where no entry joins the concepts.
    assert study.predicted_step(np.diag(np.diag(w0)), np.array([1.0, 0.1])) == 1
    # In units of time: four times the signals, a quarter of the step.
    assert study.predicted_step(w0, np.array([4.0, 0.4])) == pytest.approx(steps[1] / 4, rel=1e-9)


@pytest.mark.filterwarnings("ignore::partwhole.flows.tied.PositivityWarning")
@pytest.mark.parametrize(("size", "correlation", "weak"), [(1e-2, 0.95, 0.1), (1e-4, 0.8, 0.05)])
def test_the_predicted_step_is_that_of_the_recurrence(size, correlation, weak):
    w0 = size * np.array([[1, correlation], [correlation, 1]])
    a = np.array([1.0, weak])
    predicted = study.predicted_step(w0, a)

    def stays(step):
        path = descend(Tied(w0, np.diag(a)), 3000, step, on="matrix")
        return path.outcome is FlowOutcome.REACHED

    assert stays(predicted / 1.1)
    assert not stays(predicted * 1.1)


def test_a_flow_that_follows_the_recurrence_is_noticed(data):
    wrong = data.copy(deep=True)
    shown = data.stepped_weak.sel(route="matrix")[: study.SHOWN]
    wrong.weak.loc[{"power": 2}] = np.interp(data.time, study.STEP * shown["update"], shown)
    assert verdicts(study, wrong)["entry"] == "holds"
    assert study.numbers(wrong)["answer"] == "Yes"
    assert "does not learn" in study.numbers(wrong)["outcome"]


def test_swapped_routes_are_noticed(data):
    wrong = data.assign(stepped_weak=data.stepped_weak.copy(data=data.stepped_weak[::-1]))
    with pytest.raises(Exception, match="finite"):
        study.numbers(wrong)
