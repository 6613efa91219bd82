"""Stages read off paths whose turns are known in closed form or recorded."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics_oracles import TRIPLE_CAPTION, TRIPLE_CODE, two_concepts, two_signals

from partwhole._checks import InputError
from partwhole.flows import FlowOutcome, OneLayer, Path, Tied, flow
from partwhole.flows.cholesky_path import cholesky_path
from partwhole.flows.field import tied_field
from partwhole.flows.stages import Phase, stages

TWO = np.diag(two_signals(3, 1))


@pytest.fixture(scope="module")
def two():
    return flow(Tied(two_concepts(1e-3, 0.5), TWO), np.linspace(0, 12, 2401))


@pytest.fixture(scope="module")
def triple():
    times = np.concatenate([[0.0], np.geomspace(0.05, 60, 2400)])
    return flow(Tied(TRIPLE_CAPTION.w0, np.diag(TRIPLE_CAPTION.a), 2), times)


def test_recorded_times_of_two_concepts(two):
    found = stages(two, TWO)
    np.testing.assert_allclose(found.learned, [0.7672, 7.1574], rtol=0, atol=0.002)
    assert found.turnovers[0] == pytest.approx(0.870, abs=0.005)
    assert found.peak_times[0, 1] == found.peak_times[1, 0] == found.turnovers[0]
    assert found.peak_heights[0, 1] == pytest.approx(0.01455, abs=5e-5)
    assert np.isnan(found.turnovers[1])
    assert found.order.tolist() == [0, 1]


def test_saturation_is_the_logistic_curve_s(two):
    # From a half to four fifths in ln(4) / 2a, while the minor entry is small.
    found = stages(two, TWO)
    told = np.log(4) / (2 * np.diagonal(TWO))
    np.testing.assert_allclose(found.saturated - found.learned, told, rtol=0.02)


def test_recorded_half_times_of_three_concepts(triple):
    found = stages(triple, np.diag(TRIPLE_CAPTION.a))
    np.testing.assert_allclose(found.learned, [35.0672, 5.1010, 0.7285], rtol=0, atol=0.01)
    assert found.order.tolist() == [2, 1, 0]
    names = [(stage.name, stage.concept) for stage in found.stages]
    assert names == [
        ("growth", 2),
        ("saturation", 2),
        ("suppression", 2),
        ("saturation", 1),
        ("suppression", 1),
        ("saturation", 0),
    ]
    for one, other in zip(found.stages, found.stages[1:], strict=False):
        assert one.stop == other.start
    assert found.stages[0].start == 0.0
    assert found.stages[-1].stop == 60.0


def test_the_published_peaks():
    # Of the recurrence with steps of 0.01, which is within 4 per cent of the flow here.
    times = np.linspace(0, 8, 4001)
    path = flow(Tied(TRIPLE_CODE.w0, np.diag(TRIPLE_CODE.a), 2), times)
    found = stages(path, np.diag(TRIPLE_CODE.a))
    for (i, j), when, height in [
        ((0, 2), 0.78, 0.090252),
        ((1, 2), 0.85, 0.107763),
        ((0, 1), 3.44, 0.089337),
    ]:
        assert found.peak_times[i, j] == pytest.approx(when, rel=0.05)
        assert found.peak_heights[i, j] == pytest.approx(height, rel=0.05)


def test_phases_have_the_sign_of_the_velocity(triple):
    a = np.diag(TRIPLE_CAPTION.a)
    phases = stages(triple, a).phases
    rate = tied_field(triple.states, a @ a) * np.sign(triple.states)
    # Where an entry moves by more than differences between neighbouring times can blur.
    moving = np.abs(rate) > 0.02 * np.abs(rate).max(axis=0)
    grows, falls = phases == Phase.GROWTH, phases == Phase.SUPPRESSION
    assert np.all(rate[grows & moving] > 0)
    assert np.all(rate[falls & moving] < 0)
    assert grows.any(axis=0).all()
    off = ~np.eye(3, dtype=bool)
    assert falls[:, off].any(axis=0).all()


def test_the_phases_of_two_concepts_one_after_another(two):
    phases = stages(two, TWO).phases

    def runs(entry):
        return [Phase(each).name for each in entry[np.r_[True, np.diff(entry) != 0]]]

    assert runs(phases[:, 0, 0]) == ["GROWTH", "SATURATION"]
    assert runs(phases[:, 0, 1]) == ["GROWTH", "SUPPRESSION", "REST"]
    assert (phases[:, 0, 1] == phases[:, 1, 0]).all()
    # At rest below a tenth of the peak.
    rest = two.states[phases[:, 0, 1] == Phase.REST, 0, 1]
    assert rest.max() <= 0.1 * two.states[:, 0, 1].max()
    held = two.states[phases[:, 0, 1] == Phase.SUPPRESSION, 0, 1]
    assert held.min() >= 0.1 * two.states[:, 0, 1].max()


def test_thresholds_are_used(two):
    found = stages(two, TWO, learned=0.2, saturated=0.95)
    usual = stages(two, TWO)
    told = np.log(4) / (2 * np.diagonal(TWO))  # from a fifth to a half
    np.testing.assert_allclose(usual.learned - found.learned, told, rtol=0.03)
    assert np.all(found.saturated > usual.saturated)


def test_one_layer_learns_without_turning_over():
    a = np.diag([2.0, 0.5])
    path = flow(OneLayer(np.zeros((2, 2)), a), np.linspace(0, 10, 1001))
    found = stages(path, a)
    np.testing.assert_allclose(found.learned, np.log(2) / np.diagonal(a), atol=1e-4)
    assert np.isnan(found.turnovers).all()
    assert (found.phases[:, 0, 1] == Phase.REST).all()
    assert [stage.name for stage in found.stages] == ["growth", "saturation", "saturation"]


def test_what_is_not_reached_has_no_time():
    early = cholesky_path(two_concepts(1e-3, 0.5), TWO, np.linspace(0, 3, 301))
    found = stages(early, TWO)
    assert np.isfinite(found.learned[0])
    assert np.isnan(found.learned[1])
    assert found.stages[-1].stop == 3.0
    none = stages(cholesky_path(two_concepts(1e-3, 0.5), TWO, np.linspace(0, 0.1, 11)), TWO)
    assert [(stage.name, stage.concept) for stage in none.stages] == [("growth", 0)]


def test_kinds_of_entries_and_the_table():
    w0 = two_concepts(1e-3, 0.5)
    padded = np.pad(w0, (0, 2)) + 1e-4 * np.eye(4)
    a = np.diag([*np.diagonal(TWO), 0.0, 0.0])
    table = stages(cholesky_path(padded, a, np.linspace(0, 12, 601)), a).to_frame()
    assert len(table) == 10
    kinds = {(row.row, row.column): row.kind for row in table.itertuples()}
    assert [kinds[0, 0], kinds[0, 1], kinds[1, 2]] == ["major", "minor", "minor"]
    assert [kinds[2, 2], kinds[2, 3]] == ["irrelevant", "irrelevant"]
    assert table[table.row != table.column].learned.isna().all()
    assert table[(table.row == table.column) & (table.row > 1)].learned.isna().all()


def test_peaks_lie_between_the_times():
    # An entry that is a parabola, on a coarse and uneven grid.
    times = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.2])
    states = np.ones((6, 1, 1)) * np.diag([0.1, 0.1])
    states[:, 0, 1] = states[:, 1, 0] = -(0.5 - 0.2 * (times - 1.1) ** 2)
    found = stages(Path(times, states, "gradient"), TWO)
    assert found.peak_times[0, 1] == pytest.approx(1.1, abs=1e-12)
    assert found.peak_heights[0, 1] == pytest.approx(-0.5, abs=1e-12)


def test_refusals(two):
    with pytest.raises(InputError, match=r"one path of three times or more; got states of shape"):
        stages(Path(two.times, two.states[None], "paper"), TWO)
    with pytest.raises(InputError, match=r"0 < learned <= saturated < 1; got 0.9, 0.8"):
        stages(two, TWO, learned=0.9)
    broken = two.states.copy()
    broken[-1] = np.nan
    with pytest.raises(InputError, match=r"states are finite; got ran out of steps"):
        stages(Path(two.times, broken, "paper", FlowOutcome.MAX_STEPS), TWO)
    with pytest.raises(InputError, match=r"concepts are read off a diagonal second moment"):
        stages(two, TWO + 0.1)
    with pytest.raises(InputError, match=r"there is a concept; got a second moment of 0"):
        stages(two, 0 * TWO)
