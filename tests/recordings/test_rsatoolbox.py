"""Recordings as data sets of rsatoolbox: entry by entry, and through what that package computes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import rsatoolbox
from rsatoolbox.rdm import calc_rdm, calc_rdm_movie

from partwhole._checks import InputError
from partwhole.recordings import Recording, from_trials

RNG = np.random.default_rng(0)
ROWS = np.tile([[a, b] for a in range(2) for b in range(3)], (3, 1))
RUNS = np.repeat([0, 1, 2], 6)
NAMES, VALUES = ("shape", "size"), (("disc", "star"), (1, 2, 30))
R = RNG.normal(size=(18, 4))
# rsatoolbox fills descriptors that are whole numbers with NaN before it sets them.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")


def recording(responses=R, names=NAMES, values=VALUES, **options) -> Recording:
    return Recording(responses, ROWS, names, values, **options)


def test_a_data_set_has_the_responses_and_the_labels_as_they_are():
    days = np.repeat([4, 7], 9)
    dataset = recording(groups=np.arange(18), sessions=days).to_rsatoolbox()
    assert type(dataset) is rsatoolbox.data.Dataset
    np.testing.assert_array_equal(dataset.measurements, R)
    assert dataset.obs_descriptors == {
        "shape": [VALUES[0][a] for a, _ in ROWS],
        "size": [VALUES[1][b] for _, b in ROWS],
        "groups": list(range(18)),
        "sessions": days.tolist(),
        "condition": [f"{VALUES[0][a]}, {VALUES[1][b]}" for a, b in ROWS],
    }
    assert dataset.channel_descriptors == {"neuron": [0, 1, 2, 3]}
    assert "groups" not in recording().to_rsatoolbox().obs_descriptors


def test_groups_and_sessions_have_their_labels():
    table = {"shape": ROWS[:, 0], "size": ROWS[:, 1], "run": np.array(["x", "y", "z"])[RUNS]}
    whole = from_trials(R, table, groups="run", sessions=np.where(RUNS < 2, "mon", "tue"))
    words = whole.to_rsatoolbox().obs_descriptors
    assert words["groups"] == ["x"] * 6 + ["y"] * 6 + ["z"] * 6
    assert words["sessions"] == ["mon"] * 12 + ["tue"] * 6
    part = whole.select(RUNS != 1)
    assert part.to_rsatoolbox().obs_descriptors["groups"] == ["x"] * 6 + ["z"] * 6
    by_label = calc_rdm(whole.to_rsatoolbox(), "crossnobis", "condition", cv_descriptor="groups")
    numbers = replace(whole, group_values=(), session_values=()).to_rsatoolbox()
    by_number = calc_rdm(numbers, "crossnobis", "condition", cv_descriptor="groups")
    np.testing.assert_array_equal(by_label.dissimilarities, by_number.dissimilarities)


def test_times_make_a_temporal_data_set():
    movie = RNG.normal(size=(18, 4, 3))
    times = np.array([-0.1, 0.0, 0.3])
    dataset = recording(movie, times=times, groups=RUNS).to_rsatoolbox()
    assert type(dataset) is rsatoolbox.data.TemporalDataset
    np.testing.assert_array_equal(dataset.measurements, movie)
    assert dataset.time_descriptors == {"time": times.tolist()}
    assert recording(movie).to_rsatoolbox().time_descriptors == {"time": [0, 1, 2]}
    rdms = calc_rdm_movie(dataset, "euclidean", "condition")
    means = movie.reshape(3, 6, 4, 3).mean(axis=0)
    # Conditions are in the order of their words, here that of their values.
    expected = ((means[:, None] - means[None]) ** 2).mean(axis=2)
    np.testing.assert_allclose(rdms.get_matrices(), np.moveaxis(expected, 2, 0), atol=1e-12)


def test_neurons_of_several_sessions_are_a_data_set_for_each_block():
    parted = R.copy()
    sessions = np.repeat([0, 1], [12, 6])
    parted[:12, 0] = parted[12:, 2:] = np.nan
    datasets = recording(parted, sessions=sessions).to_rsatoolbox()
    by_channels = {tuple(each.channel_descriptors["neuron"]): each for each in datasets}
    assert set(by_channels) == {(0,), (1,), (2, 3)}
    np.testing.assert_array_equal(by_channels[0,].measurements, R[12:, :1])
    np.testing.assert_array_equal(by_channels[1,].measurements, R[:, 1:2])
    np.testing.assert_array_equal(by_channels[2, 3].measurements, R[:12, 2:])
    assert by_channels[2, 3].obs_descriptors["sessions"] == [0] * 12
    assert by_channels[0,].obs_descriptors["size"] == [VALUES[1][b] for _, b in ROWS[12:]]
    assert calc_rdm(datasets, "euclidean", "condition").n_rdm == 3


def test_two_conditions_with_the_same_words_stay_two():
    values = (("a", "a, b"), ("b, c", "c", "d"))
    words = recording(values=values).to_rsatoolbox().obs_descriptors["condition"]
    assert words[0] == "a, b, c (0)"
    assert words[4] == "a, b, c (4)"
    assert len({*words}) == 6


def test_a_single_component_of_the_name_condition_is_the_condition():
    one = from_trials(R, np.repeat([3, 1, 2], 6)).to_rsatoolbox()
    assert one.obs_descriptors == {"condition": [3] * 6 + [1] * 6 + [2] * 6}


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ("condition", "size"),
            "components have other names than what stands beside them: groups, condition; "
            "got 'condition'; rename these columns of the conditions",
        ),
        (
            ("condition", "groups"),
            "components have other names than what stands beside them: groups, condition; "
            "got 'condition', 'groups'; rename these columns of the conditions",
        ),
    ],
)
def test_names_that_descriptors_have_are_refused(names, sentence):
    with pytest.raises(InputError) as caught:
        recording(names=names, groups=RUNS).to_rsatoolbox()
    assert str(caught.value) == sentence
    assert recording(names=("groups", "size")).to_rsatoolbox().n_obs == 18


def test_the_package_is_imported_by_the_call_alone(monkeypatch):
    monkeypatch.setattr("partwhole.recordings._rsatoolbox.find_spec", lambda name: None)
    with pytest.raises(InputError) as caught:
        recording().to_rsatoolbox()
    assert str(caught.value) == (
        "to_rsatoolbox needs the package rsatoolbox; got an installation without it; "
        "install it: pip install rsatoolbox"
    )
    code = "import sys, partwhole.recordings; print('rsatoolbox' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
