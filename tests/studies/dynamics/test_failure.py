"""The published failure of learning: an artefact of the step, and claims that notice a mistake."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole.flows import Outcome, tied_descent, tied_field
from partwhole_studies.dynamics import _failure_runs as runs
from partwhole_studies.dynamics import failure as study
from partwhole_studies.dynamics._positivity import determinant_after, foretold_step

CONFIGS = study.PRESETS["quick"]


@pytest.fixture(scope="module")
def cells():
    return computed(study, CONFIGS)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def failing(data):
    return [claim for claim in study.claims(data) if claim.verdict.value != "holds"]


def test_verdicts(data):
    never, trains = failing(data)
    assert never.statement.startswith("The weakest concept is never learned")
    assert never.verdict.value == "does not hold"
    assert never.found > 0.95
    assert trains.statement.startswith("The published recurrence trains")
    assert trains.verdict.value == "does not hold"


# Computed independently of this package.
def test_facts(data):
    found = {claim.statement: claim.found for claim in study.claims(data)}
    at = next(value for text, value in found.items() if text.startswith("The flow learns"))
    assert at == pytest.approx(144.038, abs=0.05)
    wrong = data.stepped_major.sel(route="matrix").values[:, 0]
    assert wrong[10_000] == pytest.approx(-0.018943, rel=0.02)
    assert wrong[17_000] == pytest.approx(-6.80, rel=0.02)
    assert not np.isfinite(wrong[17_500])
    least = data.stepped_least.sel(route="matrix").values
    # The state after 32 updates is record 31 in the published counting.
    assert least[31] > 0 > least[32]
    np.testing.assert_allclose(data.learned, [157.3, 147.9, 145.9], atol=0.05)
    assert float(data.stays.min()) > 0
    np.testing.assert_allclose(data.error[:, 0], 5.713219, atol=1e-6)


def test_determinant_formula():
    rng = np.random.default_rng(0)
    u = rng.uniform(size=(2, 2))
    w, a, step = u @ u.T, np.array([3.0, 0.7]), 0.02
    # Small maps only grow; what is left of the field is of second order in them.
    small = 1e-9 * w
    after = small + step * tied_field(small, np.diag(a))
    expected = determinant_after(small, a, step)
    assert np.linalg.det(after) == pytest.approx(expected, rel=1e-6)
    fact = determinant_after(
        np.array([[0.02, 0.0195], [0.0195, 0.0195]]), np.array([9.0, 1.0]), 0.01
    )
    assert fact == pytest.approx(9.3015e-6, abs=1e-10)


def test_foretold_step_grows_as_signals_approach():
    w0 = 1e-3 * np.array([[1, 0.8], [0.8, 1]])
    steps = [foretold_step(w0, np.array([1.0, weak])) for weak in (0.05, 0.1, 0.2)]
    assert steps == sorted(set(steps))
    assert steps[-1] < 1
    # Nothing is lost where no entry joins the concepts.
    assert foretold_step(np.diag(np.diag(w0)), np.array([1.0, 0.1])) == 1
    # In units of time: four times the signals, a quarter of the step.
    assert foretold_step(w0, np.array([4.0, 0.4])) == pytest.approx(steps[1] / 4, rel=1e-9)


@pytest.mark.filterwarnings("ignore::partwhole.flows.PositivityWarning")
@pytest.mark.parametrize(("size", "correlation", "weak"), [(1e-2, 0.95, 0.1), (1e-4, 0.8, 0.05)])
def test_foretold_step_is_the_recurrences(size, correlation, weak):
    w0 = size * np.array([[1, correlation], [correlation, 1]])
    a = np.array([1.0, weak])
    foretold = foretold_step(w0, a)

    def stays(step):
        path = tied_descent(w0, np.diag(a), steps=3000, step_size=step, on="matrix")
        return path.outcome is Outcome.REACHED

    assert stays(foretold / 1.1)
    assert not stays(foretold * 1.1)


def test_recurrence_on_the_factor_in_its_place_is_noticed(cells, monkeypatch):
    def kept(*args, on, **options):
        return tied_descent(*args, on="factor", **options)

    with monkeypatch.context() as broken:
        broken.setattr(runs, "tied_descent", kept)
        wrong = study.cell({"run": "recurrence"})
    swapped = [(c, wrong if c["run"] == "recurrence" else a) for c, a in cells]
    found = [claim.statement for claim in failing(study.gather(swapped))]
    assert any("gets a negative eigenvalue" in statement for statement in found)
    assert any("has no finite numbers" in statement for statement in found)
    assert any("told to have learned" in statement for statement in found)


def test_wrong_criterion_is_noticed(data, monkeypatch):
    monkeypatch.setattr(study, "foretold_step", lambda w0, signals: 0.0141)
    found = [claim.statement for claim in failing(data)]
    assert any("follows from the initial map" in statement for statement in found)


def test_wrong_determinant_is_noticed(data, monkeypatch):
    def forgotten(w, signals, step):
        return float(np.prod(1 + 2 * step * signals) * np.linalg.det(w))

    monkeypatch.setattr(study, "determinant_after", forgotten)
    found = [claim.statement for claim in failing(data)]
    assert any("from the determinant" in statement for statement in found)


def test_cells_are_plain(cells):
    for _, arrays in cells:
        assert all(isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in arrays.values())


def test_it_draws(data):
    file = BytesIO()
    drawn = study.figure(data)
    drawn.savefig(file)
    assert file.tell() > 10_000
    assert len(drawn.axes) == 3
