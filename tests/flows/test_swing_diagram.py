"""The swing diagram against the recorded table, and against flows integrated one by one."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from dynamics_oracles import drawup, extrema, probe_loss, rk4, two_concepts

from partwhole._checks import InputError
from partwhole.flows import Tied, flow
from partwhole.flows.swing_diagram import swing_diagram

RATIOS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7])
SCALES, CORRELATIONS = np.array([0.001, 0.01, 0.1]), np.array([0.3, 0.7, 0.95, 0.999])
TOLD = {  # (correlation, scale): amplitudes, one for each ratio
    (0.3, 0.1): (0.1492, 0.0413, 0, 0, 0, 0, 0),
    (0.3, 0.001): (0.0279, 0.0187, 0.0034, 0, 0, 0, 0),
    (0.7, 0.1): (0.5056, 0.3118, 0.1039, 0.0147, 0, 0, 0),
    (0.7, 0.01): (0.2441, 0.1763, 0.0834, 0.0178, 0, 0, 0),
    (0.7, 0.001): (0.0803, 0.0675, 0.0470, 0.0201, 0, 0, 0),
    (0.95, 0.1): (0.8054, 0.6504, 0.4067, 0.2286, 0.1107, 0.0414, 0),
    (0.95, 0.01): (0.3650, 0.3091, 0.2444, 0.1739, 0.1012, 0.0398, 0),
    (0.999, 0.1): (0.9081, 0.8364, 0.7411, 0.6270, 0.4840, 0.3328, 0.0957),
    (0.999, 0.01): (0.3934, 0.3534, 0.3508, 0.3551, 0.3357, 0.2848, 0.1185),
}


@pytest.fixture(scope="module")
def diagram():
    return swing_diagram(RATIOS, SCALES, CORRELATIONS)


@pytest.mark.parametrize(("correlation", "scale"), TOLD)
def test_recorded_table(diagram, correlation, scale):
    found = diagram.amplitude.sel(correlation=correlation, scale=scale).values
    told = np.array(TOLD[correlation, scale])
    np.testing.assert_allclose(found, told, rtol=0, atol=0.002)
    np.testing.assert_array_equal(found[told == 0], 0.0)


def test_recorded_zero_between_rows(diagram):
    assert diagram.amplitude.sel(correlation=0.3, scale=0.01, ratio=0.2) <= 0.002


def test_times_and_amplitude_are_those_of_one_flow(diagram):
    point = diagram.sel(ratio=0.1, scale=0.1, correlation=0.95)
    a, mu = np.array([1.0, 0.1]), np.array([1.0, np.sqrt(0.1)])
    u0 = np.linalg.cholesky(two_concepts(0.1, 0.95))
    loss = probe_loss(rk4(u0, a, 0.02, 2000), mu)
    (_, lowest, _), (_, highest, _) = extrema(0.02 * np.arange(2001), loss)
    # The 800 times lie 1.2 % apart.
    assert point.minimum_time == pytest.approx(lowest, rel=0.012)
    assert point.maximum_time == pytest.approx(highest, rel=0.012)
    assert point.amplitude == pytest.approx(drawup(loss) / 0.05, abs=2e-4)


@pytest.mark.parametrize(("ratio", "scale", "correlation"), [(5e-4, 0.01, 0.5), (1e-3, 0.1, 0.95)])
def test_signals_far_apart(ratio, scale, correlation):
    """All of the swing lies within some strong relaxation times, a thousandth of the path."""
    told = swing_diagram(np.array([ratio]), np.array([scale]), np.array([correlation]))
    near = np.linspace(0.0, 60.0, 40_001)  # as many as below, for which a flow is compiled
    mu = np.array([1.0, np.sqrt(ratio)])
    states = flow(Tied(two_concepts(scale, correlation), np.diag([1.0, ratio])), near).states
    loss = 0.5 * ((states @ mu - mu) ** 2).sum(axis=-1)
    assert told.amplitude.item() == pytest.approx(drawup(loss) / (0.5 * ratio), abs=2e-4)


def test_the_formula_sees_signals_still_further_apart():
    found = swing_diagram(
        np.array([1e-6, 1e-5, 1e-4]), np.array([0.01]), np.array([0.5]), method="formula"
    )
    # The error falls to nothing as the answer passes the weak mean, and rises to the plateau of a
    # learner that knows of the weak concept what was left of it at the start, its pivot.
    pivot = 0.01 * (1 - 0.5**2)
    assert (np.diff(found.amplitude.values.ravel()) < 0).all()
    assert found.amplitude.values.ravel()[0] == pytest.approx((1 - pivot) ** 2, abs=2e-4)
    with pytest.raises(InputError, match=r"within its steps; got ran out .* larger ratios, or use"):
        swing_diagram(np.array([1e-6]), np.array([0.01]), np.array([0.5]))


def test_without_a_common_direction_nothing_swings():
    # As many as in the diagram, for which the flow is compiled.
    found = swing_diagram(RATIOS, SCALES, np.array([-0.9, -0.5, -0.2, 0.0]))
    np.testing.assert_array_equal(found.amplitude, 0.0)
    assert found.minimum_time.isnull().all()
    assert found.maximum_time.isnull().all()


def test_small_starts_swing_less_by_a_power_of_their_scale():
    # To leading order; the table's formulas for the minor entry at the minimum give the power.
    found = swing_diagram(np.array([0.1, 0.2, 0.3]), np.array([1e-9, 1e-8]), np.array([0.9999]))
    r, (low, high) = found.ratio.values, found.amplitude.values[:, :, 0].T
    np.testing.assert_allclose(np.log10(high / low), 4 * (1 - r) / (7 + r), rtol=0.01)


def test_larger_diagrams_are_worked_off_in_parts(diagram, monkeypatch):
    monkeypatch.setattr(sys.modules[swing_diagram.__module__], "AT_ONCE", 6)  # as above
    parts = swing_diagram(RATIOS, SCALES, CORRELATIONS)
    np.testing.assert_allclose(parts.amplitude, diagram.amplitude, rtol=0, atol=1e-6)


def test_times_may_be_chosen():
    args = (np.array([0.3]), np.array([0.1]), np.array([0.95]))
    even = swing_diagram(*args, times=np.linspace(0.0, 20.0, 800))
    assert float(even.amplitude[0, 0, 0]) == pytest.approx(0.2286, abs=1e-4)
    early = swing_diagram(*args, times=np.linspace(0.0, 1.0, 800))
    assert float(early.amplitude[0, 0, 0]) == 0.0


def test_the_formula_tells_the_same_where_it_is_accurate(diagram):
    # Recorded: the formula's extrema have values within 1 to 4 % of the flow's, most at 1 plateau.
    formula = swing_diagram(RATIOS, SCALES, CORRELATIONS, method="formula")
    assert formula.attrs["method"] == "formula"
    apart = np.abs(formula.amplitude - diagram.amplitude)
    assert float(apart.where(formula.valid).max()) < 0.04
    assert float(apart.where(~formula.valid).max()) > 0.1
    assert diagram.valid.all()
    assert not formula.valid.sel(scale=0.1).any()
    assert formula.valid.sel(scale=0.001).all()
    assert not formula.valid.sel(scale=0.01, ratio=0.7, correlation=[0.95, 0.999]).any()
    for name in ("amplitude", "minimum_time", "maximum_time"):
        assert formula[name].dims == formula.valid.dims


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"ratios": np.array([0.5, 1.0])},
            r"ratios are a list of numbers that lie between 0 and 1",
        ),
        (
            {"scales": np.array([0.0])},
            r"scales are a list of numbers that lie above 0.*; got 0; ta",
        ),
        ({"correlations": np.array([0.5, -1.0])}, r"lie between -1 and 1.*; got -1; take 0\.999"),
        ({"method": "guess"}, r'method is "flow" or "formula"; got .guess.; choose one of them'),
        ({"times": np.array([1.0, 0.0])}, r"times start at 0 or later and increase"),
    ],
)
def test_refusals(changed, sentence):
    asked = {"ratios": RATIOS, "scales": SCALES, "correlations": CORRELATIONS, **changed}
    with pytest.raises(InputError, match=sentence):
        swing_diagram(**asked)


@pytest.mark.parametrize(("ratio", "scale", "correlation"), [(0.05, 0.1, 0.7), (0.3, 0.01, 0.99)])
def test_turns_are_read_between_the_records(ratio, scale, correlation):
    """Against 40,001 records of the same flow. Spaced by 1.2 %, the diagram's own leave an error of
    some (.012)^3 to a parabola, and one of 1e-4 to none.
    """
    found = swing_diagram(np.array([ratio]), np.array([scale]), np.array([correlation]))
    found = found.isel(ratio=0, scale=0, correlation=0)
    w0 = scale * np.array([[1.0, correlation], [correlation, 1.0]])
    first, last = float(found.minimum_time), float(found.maximum_time)
    times = np.linspace(0.8 * first, 1.2 * last, 40_001)
    times = np.concatenate([[0.0], times])
    path = flow(Tied(w0, np.diag([1.0, ratio])), times, rtol=1e-10, atol=1e-13)
    loss = path.probe_losses(np.array([1.0, np.sqrt(ratio)]))
    bottom = loss[times <= 0.5 * (first + last)].argmin()
    top = bottom + loss[bottom:].argmax()
    amplitude = (loss[top] - loss[bottom]) / (0.5 * ratio)
    assert abs(float(found.amplitude) - amplitude) < 1e-5
    assert abs(first / times[bottom] - 1) < 1e-3
    assert abs(last / times[top] - 1) < 1e-3
