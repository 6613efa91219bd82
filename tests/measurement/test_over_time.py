"""What a measurement says of responses over time, where their mean over time says little."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from quick_measures import few_repetitions, quick

import partwhole as pw
from partwhole._checks import InputError
from partwhole.cli import main
from partwhole.measurement.charts import over_time
from partwhole.measurement.time_course import time_course_of
from partwhole.measurement.verdicts import headline

ROWS = np.repeat(list(product(range(2), range(2))), 10, axis=0)


def movie(seed, signal=(), groups=None):
    """Return noise at 20 times, with values of shape apart at some of them."""
    rng = np.random.default_rng(seed)
    responses = rng.normal(size=(len(ROWS), 30, 20))
    of_shape = rng.normal(size=(2, 30))[ROWS[:, 0]]
    for time, size in dict(signal).items():
        responses[:, :, time] += size * of_shape
    table = {"shape": ROWS[:, 0], "colour": ROWS[:, 1]}
    return pw.recordings.from_trials(responses, table, groups=groups)


@cache
def measured(signal=(), window=None):
    return quick(movie(3, signal), bootstrap=100, held_out="none", window=window)


def words(result):
    return " ".join(result.describe().split())


@pytest.mark.parametrize(("signal", "window", "averaged", "when"), [
    (((17, 0.7),), None, "all times", "17"),
    (((17, 3.0), (3, -2.0)), (4.0, 9.0), "times from 4 to 9", "17 and 1 other time"),
    # Opposite signals: their mean is noise.
    (((17, 2.0), (3, -1.0), (4, -1.0)), None, "all times", "17 and 2 other times"),
])  # fmt: skip
def test_a_time_that_the_mean_hides_is_in_the_headline(signal, window, averaged, when):
    result = measured(signal, window)
    assert headline(result) == (
        f"Averaged over {averaged} these trials do not show that conditions differ; at {when} they "
        "do: see the time course."
    )
    assert headline(result) in words(result)


def test_noise_has_no_time_at_which_conditions_differ():
    assert headline(measured()).startswith("These trials do not show that conditions differ: ")
    assert words(measured()).count("no part is above 0 at any time") == 1
    assert "largest" not in words(measured())
    # Of 12 recordings, where most have an interval above 0 among sixty that hold by themselves;
    # of those of all times together more than 3 have a chance of .002.
    courses = [time_course_of(movie(seed), "none", 60, 0, False) for seed in range(12)]
    assert sum((course.low > 0.0).any() for course in courses) > 4
    assert sum(course.is_above.any() for course in courses) <= 3


def test_the_largest_part_is_printed_with_its_interval():
    result = measured(((17, 0.7),))
    course = result.time_course
    assert course is not None
    (peak,) = re.findall(r"(\S+): largest, (\S+) \((\S+) to (\S+)\), at (\d+)", words(result))
    assert (peak[0], peak[4]) == ("shape", "17")
    value, low, high = map(float, peak[1:4])
    assert 0.0 < low < value < high
    # All times and sets together: wider than the interval of this one.
    assert low < course.low[17, 0] < course.high[17, 0] < high
    page = " ".join(re.sub(r"<[^>]*>", " ", result.to_html()).split())
    assert f"shape: largest, {peak[1]} ({peak[2]} to {peak[3]}), at 17" in page
    saved = json.loads(result.to_json())["time_course"]["parts_of_squared_distance"][0]
    assert saved["part"][17] - saved["margin"][17] == pytest.approx(low, rel=0.01)


def test_intervals_of_all_times_hold_the_truth():
    """Of 40 recordings at five times, in 38 on average, as of single intervals."""
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        of_shape = np.array([[-1.0], [1.0]]) * np.ones(20)
        responses = of_shape[ROWS[:, 0], :, None] + 2.0 * rng.normal(size=(len(ROWS), 20, 5))
        recording = pw.recordings.from_trials(responses, ROWS)
        course = time_course_of(recording, "none", 300, 0, False)
        # Half the squared distance of conditions that share nothing, 20 neurons apart by 2.
        truth = [40.0, 0.0, 0.0]
        covered.append((np.abs(course.parts - truth) <= course.margin).all())
    # Less three standard errors.
    assert np.mean(covered) > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 40)


def test_without_intervals_nothing_is_said_to_be_above_0():
    few = quick(movie(2, ((17, 2.0),), np.tile([0, 1], 20)), bootstrap=20, held_out="none")
    assert "together): no intervals" in words(few)


def test_that_all_else_is_an_average_is_noted():
    note = "all but the time course is an average over {}; choose others with window=(start, stop)"
    assert note.format("20 times (0 to 19)") in measured().notes
    windowed = measured(((17, 3.0), (3, -2.0)), (4.0, 9.0))
    counted = "6 times (4 to 9, counted from 0 to 19, as responses came without times)"
    assert note.format(counted) in windowed.notes
    responses, times = measured().recording.responses, np.arange(20.0)
    single = quick(pw.recordings.from_trials(responses, ROWS, times=times), window=(4.0, 4.5),
                   bootstrap=20, held_out="none")  # fmt: skip
    assert not any("all but the time course" in note for note in single.notes)


def test_a_window_of_counted_times_says_how_they_are_counted():
    # A window in seconds, for responses that came without times.
    rng = np.random.default_rng(0)
    counted = pw.recordings.from_trials(rng.normal(size=(len(ROWS), 5, 12)), ROWS)
    notes = quick(counted, window=(0.0, 0.9), bootstrap=20, held_out="none").notes
    assert (
        "all but the time course is of one of 12 times (0, counted from 0 to 11, as responses came "
        "without times); choose others with window=(start, stop)"
    ) in notes


def test_times_of_a_file(tmp_path, capsys):
    rng = np.random.default_rng(0)
    times, responses = np.linspace(-0.2, 0.9, 12), rng.normal(size=(len(ROWS), 5, 12))
    np.savez(tmp_path / "session.npz", spikes=responses, time=times)
    np.save(tmp_path / "times.npy", times)
    pd.DataFrame(ROWS, columns=["a", "b"]).to_csv(tmp_path / "table.csv", index=False)
    files = [f"{tmp_path}/session.npz:spikes", f"{tmp_path}/table.csv"]
    for file in (f"{tmp_path}/session.npz:time", f"{tmp_path}/times.npy"):
        options = ["--times", file, "--window", "0", "0.9", "--bootstrap", "20"]
        with few_repetitions():
            main(["measure", *files, *options, "--held-out", "none"])
        text = " ".join(capsys.readouterr().out.split())
        assert "is an average over 10 times (0 to 0.9); choose" in text
    recording = pw.recordings.read(*files, times=tmp_path / "times.npy")
    np.testing.assert_array_equal(recording.times, times)
    with pytest.raises(InputError, match="times are a named array of a file of arrays; got ses"):
        pw.recordings.read(*files, times=tmp_path / "session.npz")
    with pytest.raises(InputError, match="nowhere"):
        pw.recordings.read(*files, times=tmp_path / "nowhere.npy")


@pytest.mark.parametrize("unit", [1.0, 30.0, 1e4])
def test_numbers_of_the_axis_leave_room_for_its_name(unit):
    parts = unit * np.linspace(-1.0, 1.0, 5)[:, None]
    picture = str(over_time(["shape"], np.arange(5.0), parts, parts - unit, parts + unit))
    pairs = re.findall(r'<text x="([^"]+)"[^>]*text-anchor="end"[^>]*>([^<]+)<', picture)
    # Letters are at most 7.5 wide; the name is centred on 16, and 12 high.
    assert pairs
    assert min(float(x) - 7.5 * len(label) for x, label in pairs) >= 16 + 6 - 1
