"""A forecast says what its parts say: the clocks, the flow and the turns of the error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics_oracles import CENTRAL

from partwhole._checks import InputError
from partwhole.flows import Tied, flow, forecast, learning_clocks
from partwhole.tasks import StructuredIdentity

W0 = 0.01 * np.array([[1.0, 0.5], [0.5, 1.0]])
TASK = StructuredIdentity(means=[3, 1], scales=[0.05, 0.05])


@pytest.fixture(scope="module")
def found():
    return forecast(TASK, W0)


def test_the_published_example(found):
    # Computed independently with a fixed-step integrator; tolerances those of its grid.
    assert found.order == (0, 1)
    assert found.extrema.kinds == ("minimum", "maximum")
    np.testing.assert_allclose(found.extrema.times, [0.8453, 1.660], atol=0.005)
    np.testing.assert_allclose(found.extrema.values, [0.400980, 0.444947], atol=2e-5)
    assert found.swing.amplitude == pytest.approx(0.0439678, abs=2e-5)
    assert found.swing.relative == pytest.approx(0.0879356, abs=4e-5)
    assert found.to_frame().loc[1, "flow"] == pytest.approx(4.8515, abs=0.002)


def test_the_closed_form_stands_beside_the_flow(found):
    # .842 and 1.662 by the closed form, evaluated independently on a grid of .002.
    np.testing.assert_allclose(found.formula.times, [0.842, 1.662], atol=0.002)
    np.testing.assert_allclose(found.formula.values, [0.4008, 0.4453], atol=1e-4)
    assert found.formula_valid


def test_its_parts_are_those_of_the_functions_it_stands_on(found):
    a = TASK.second_moment()
    np.testing.assert_array_equal(found.clocks.times, learning_clocks(W0, a).times)
    path = flow(Tied(W0, a), found.path.times)
    np.testing.assert_array_equal(found.path.states, path.states)
    np.testing.assert_array_equal(found.loss, path.probe_losses(np.array([3.0, 1.0])))


@pytest.mark.parametrize(
    ("means", "scales", "options"),
    [
        ([3, 0.03], [0, 0], {}),
        ([3, 0.45], [0.05, 0.05], {"power": 2}),
        ([3, 1], [0.05, 0.05], {"horizon": 1000.0}),
        ([255, 30], [5, 5], {}),
        ([3e-4, 1e-4], [5e-6, 5e-6], {}),
    ],
)
def test_signals_far_apart_and_numbers_of_any_size(means, scales, options):
    """Against the flow at even times about the turns; as near as a parabola between them is."""
    task = StructuredIdentity(means=means, scales=scales)
    told = forecast(task, W0, **options)
    power = options.get("power", 1)
    a = task.second_moment()
    strong = a[0, 0] ** power
    near = np.linspace(0.0, 40.0, 8001) / strong
    path = flow(Tied(W0, a, power), near)
    loss = path.probe_losses(task.probe)
    lowest = loss[near < 12.0 / strong].argmin()
    assert told.extrema.times[0] == pytest.approx(near[lowest], abs=0.01 / strong)
    rise = (loss - np.minimum.accumulate(loss)).max()
    assert told.swing.relative == pytest.approx(rise / (0.5 * task.means[1] ** 2), abs=1e-4)
    learned = near[np.argmax(path.states[:, 0, 0] > 0.5)]
    assert told.to_frame()["flow"][0] == pytest.approx(learned, abs=0.01 / strong)


def test_the_plateau_is_of_all_that_is_not_learned():
    task = StructuredIdentity([3, 2, 1], [0.05] * 3)
    found = forecast(task, 0.01 * np.ones((3, 3)))
    # It ends at the error of a learner of the first concept only, half of 4 + 1.
    assert found.swing.relative == pytest.approx(found.swing.amplitude / 2.5)
    assert found.loss[-1] == pytest.approx(2.5, rel=1e-3)
    assert "concepts 2, 3 (counted from 1) are never learned" in found.path.notes[0]


def test_an_axis_without_a_mean_is_no_concept_that_is_lost():
    task = StructuredIdentity([3, 1], [0.05] * 2, dimension=3, noise=0.1)
    axis = "the initial matrix has nothing on axis 3 (counted from 1), which has noise"
    assert forecast(task, np.diag([0.01, 0.01, 0])).path.notes == (axis,)
    gone = "the initial matrix lacks rank: concept 2 (counted from 1) is never learned"
    assert forecast(task, np.diag([0.01, 0, 0])).path.notes == (gone, axis)


def test_large_rises_are_told_in_whole_percent():
    found = forecast(StructuredIdentity([3, 1], [0.05] * 2), W0)
    for share, said in [(1.333, "133 %"), (0.996, "100 %"), (0.0879, "8.8 %")]:
        text = replace(found, swing=replace(found.swing, relative=share)).describe()
        assert f"a rise of {said} of the plateau" in " ".join(text.split())


def test_a_sample_of_a_truncated_task():
    task = StructuredIdentity([3, 1], [0.05] * 2, truncation=0.5, samples=4000)
    drawn = task.sample(0).second_moment()
    with pytest.raises(InputError, match=r"np\.diag\(np\.diag\(A\)\)"):
        forecast(task, W0, second_moment=drawn)
    found = forecast(task, W0, second_moment=np.diag(np.diag(drawn)))
    assert found.order == (0, 1)


def test_gradient_flow_takes_half_the_time(found):
    fast = forecast(TASK, W0, clock="gradient")
    # Both grids are geometric on the same ratios; the parabola leaves the grid's rounding.
    np.testing.assert_allclose(2 * fast.extrema.times, found.extrema.times, rtol=1e-6)
    np.testing.assert_allclose(2 * fast.clocks.times, found.clocks.times)
    assert fast.swing.amplitude == pytest.approx(found.swing.amplitude, rel=1e-6)
    assert "In gradient time" in fast.describe()


def test_no_swing_without_a_favourable_sign():
    found = forecast(TASK, 0.01 * np.array([[1.0, -0.5], [-0.5, 1.0]]))
    assert not found.swing.occurs
    assert "only falls: no swing-by" in " ".join(found.describe().split())


def test_a_concept_that_is_not_in_the_start_is_never_learned():
    found = forecast(TASK, 0.01 * np.ones((2, 2)))
    assert found.order == (0,)
    assert np.isinf(found.to_frame().loc[1, "predicted"])
    assert np.isnan(found.to_frame().loc[1, "flow"])
    text = " ".join(found.describe().split())
    assert "2 1 0.5025 never never" in text
    # Half the square of the mean that is never learned.
    assert "then rises to 0.5 at the end of the path and stays there: a rise of 3" in text
    assert "concept 2 (counted from 1) is never learned" in text


def test_a_path_that_ends_early_says_later():
    found = forecast(TASK, W0, horizon=2.0)
    assert np.isnan(found.to_frame().loc[1, "flow"])
    assert found.describe().splitlines()[3].endswith("later")


def test_a_path_that_ends_in_the_rise_says_so():
    text = " ".join(forecast(TASK, W0, horizon=1.2).describe().split())
    assert "and is still rising there: a rise of 6 % of the plateau, and no fall" in text


@pytest.mark.parametrize(
    ("power", "minimum", "maximum"),
    [(2, (2.5344, 0.183454), (4.3507, 0.252828)), (1, (3.2518, 0.031715), (3.6171, 0.032439))],
)
def test_an_axis_with_noise_and_no_mean_is_no_concept(power, minimum, maximum):
    task = StructuredIdentity([1, 1.5], [0.05, 0.05], dimension=3, noise=0.05)
    found = forecast(task, CENTRAL.w0, power=power)
    # The published example; extrema computed independently, at the tolerances of their grid.
    np.testing.assert_allclose(found.extrema.times, [minimum[0], maximum[0]], atol=0.002)
    np.testing.assert_allclose(found.extrema.values, [minimum[1], maximum[1]], atol=1e-5)
    assert found.to_frame()["concept"].tolist() == [1, 0]
    assert len(found.describe().splitlines()[2:4]) == 2


def test_a_concept_of_mean_zero_has_no_plateau():
    task = StructuredIdentity([2, 0], [0.1, 0.5])
    assert forecast(task, W0).swing.relative == forecast(task, W0).swing.amplitude / 2


def test_another_second_moment_may_be_given():
    task = StructuredIdentity([3, 1], [0.05, 0.05], truncation=0.1)
    told = forecast(task, W0, second_moment=TASK.second_moment())
    assert told.describe() == forecast(TASK, W0).describe()


def test_refusals():
    with pytest.raises(InputError, match="a horizon is given where no concept can be learned"):
        forecast(TASK, np.zeros((2, 2)))
    with pytest.raises(InputError, match="horizon is a finite number above 0; got -1"):
        forecast(TASK, W0, horizon=-1.0)
    with pytest.raises(InputError, match="in the task's 2 dimensions; got 3; pass one"):
        forecast(TASK, 0.01 * np.eye(3), second_moment=np.eye(3))
    with pytest.raises(InputError, match=r"semidefinite; got an eigenvalue of -0\.02"):
        forecast(TASK, 0.01 * np.array([[1.0, 3.0], [3.0, 1.0]]))
