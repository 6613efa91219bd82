"""The two-concept example: its numbers, what does not hold, and claims that notice a mistake."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole.flows import FieldParts, field_parts, tied_flow
from partwhole_studies.dynamics import central as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def failing(data):
    return [claim for claim in study.claims(data) if claim.verdict.value != "holds"]


def test_verdicts(data):
    bump, condition = failing(data)
    assert {bump.verdict.value, condition.verdict.value} == {"does not hold"}
    assert bump.statement.endswith("the flow with the second moment as the paper defines it.")
    assert bump.reference == pytest.approx(0.073674)
    assert bump.found == pytest.approx(0.032439 - 0.031715, abs=2e-6)
    assert "three times the weak one" in condition.statement
    assert condition.found == pytest.approx(1.1275 - 3 * 0.5025)
    assert len(study.claims(data)) == 40


# Computed independently of this package; times within .002, values within 1e-5.
@pytest.mark.parametrize(
    ("power", "times", "values"),
    [
        (2, (2.5344, 4.3507), (0.183454, 0.252828)),
        (1, (3.2518, 3.6171), (0.031715, 0.032439)),
    ],
)
def test_turns_of_the_flow(data, power, times, values):
    found = study.turns_of(data, "flow", power)
    np.testing.assert_allclose(found[0], times, atol=0.002)
    np.testing.assert_allclose(found[1], values, atol=1e-5)


def test_start_and_recurrence(data):
    np.testing.assert_allclose(data.error[:, :, 0], 1.469810, atol=5e-7)
    one = data.sel(power=2, route="matrix")
    np.testing.assert_allclose(one.training_error[[1, -1]], [0.770618, 0.001608], atol=1e-6)
    np.testing.assert_allclose(float(data.training_error[0, 0, 0]), 0.7710357939616975, rtol=1e-12)
    assert float(one.state[225, 0, 1]) == pytest.approx(0.198013, abs=1e-6)


def test_wrong_clock_is_noticed(cells, monkeypatch):
    def twice_as_fast(*args, **options):
        return tied_flow(*args, clock="gradient", **options)

    with monkeypatch.context() as broken:
        broken.setattr(study, "tied_flow", twice_as_fast)
        wrong = study.cell({"power": 2})
    found = failing(study.gather([({"power": 2}, wrong), *cells[1:]]))
    assert any(claim.statement.startswith("When the error turns: the flow") for claim in found)


def test_wrong_power_is_noticed(cells):
    (two, _), (one, second) = cells[:2]
    found = failing(study.gather([(two, second), (one, second), *cells[2:]]))
    assert len(found) > 10
    for claim, route in zip(
        found, ("the published recurrence on the map", "the flow"), strict=False
    ):
        assert claim.statement.endswith(f"{route} with the square of the second moment.")


def test_wrong_split_is_noticed(data, monkeypatch):
    def wrong(w, second_moment):
        parts = field_parts(w, second_moment)
        return FieldParts(parts.growth, parts.suppression, -parts.interaction)

    monkeypatch.setattr(study, "field_parts", wrong)
    found = failing(data)
    assert any(claim.statement.startswith("Growth less suppression") for claim in found)


def test_training_error_that_rises_is_noticed(data):
    wrong = data.copy(deep=True)
    wrong.training_error[0, 1, 500] += 0.1
    assert any("only falls" in claim.statement for claim in failing(wrong))


def test_curve_without_a_turn_makes_no_claim_hold(data):
    wrong = data.copy(deep=True)
    wrong.error[:] = np.exp(-data.time.values)
    found = {claim.statement: claim.verdict.value for claim in study.claims(wrong)}
    lost = [verdict for statement, verdict in found.items() if " falls to 0." in statement]
    assert lost == ["inconclusive"] * 2


def test_cells_are_plain(cells):
    for _, arrays in cells:
        assert all(isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in arrays.values())


def test_it_draws(data):
    file = BytesIO()
    drawn = study.figure(data)
    drawn.savefig(file)
    assert file.tell() > 10_000
    assert len(drawn.axes) == 6
