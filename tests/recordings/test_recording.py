"""A recording's fields, parts and pseudo-trials, beside loops over its trials and neurons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.recordings import Recording

RNG = np.random.default_rng(0)
GRID = np.array([[a, b] for a in range(2) for b in range(3)])
ROWS = np.repeat(GRID, 2, axis=0)
VALUES = (("disc", "star"), ("red", "green", "blue"))
NAMES = ("shape", "colour")
R = RNG.normal(size=(12, 4))
MOVIE = RNG.normal(size=(12, 4, 5))
TIMES = np.array([-0.1, 0.0, 0.1, 0.3, 0.7])


def recording(responses=R, components=ROWS, names=NAMES, values=VALUES, **options) -> Recording:
    return Recording(responses, components, names, values, **options)


def refusal(function, *arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        function(*arguments, **options)
    return str(caught.value)


def parted(seed: int, n_sessions: int, times: bool = False) -> Recording:
    """Return a recording of sessions that share some neurons, each response a number of its own."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, size=(n_sessions, len(GRID)))
    counts *= rng.random(counts.shape) < 0.8
    counts[:, :2] += counts[:, :2] == 0  # two conditions are in all sessions
    sessions = np.repeat(np.arange(n_sessions), counts.sum(axis=1)) * 3 + 2
    rows = np.concatenate([np.repeat(GRID, count, axis=0) for count in counts])
    order = rng.permutation(len(rows))
    shape = (len(rows), 6, 3) if times else (len(rows), 6)
    responses = rng.permutation(np.prod(shape)).reshape(shape).astype(float)
    present = rng.random((n_sessions, 6)) < 0.6
    present[rng.integers(n_sessions, size=6), np.arange(6)] = True
    responses[~np.repeat(present, counts.sum(axis=1), axis=0)] = np.nan
    return recording(responses[order], rows[order], sessions=sessions[order])


def test_what_a_recording_counts():
    whole = recording(MOVIE, groups=np.tile([0, 1], 6), sessions=np.zeros(12, int), times=TIMES)
    assert (whole.n_trials, whole.n_neurons, whole.n_components, whole.n_conditions) == (
        12,
        4,
        2,
        6,
    )
    np.testing.assert_array_equal(whole.conditions, GRID)
    np.testing.assert_array_equal(whole.conditions[whole.condition_of_trial], ROWS)
    assert [whole.label(i) for i in (0, 5)] == ["disc, red", "star, blue"]
    assert repr(whole) == (
        "Recording(12 trials of 4 neurons at 5 times, 2 groups, 1 session, "
        "6 conditions: shape (2) x colour (3))"
    )
    assert repr(recording()) == (
        "Recording(12 trials of 4 neurons, 6 conditions: shape (2) x colour (3))"
    )


def test_a_component_is_split_off():
    whole = recording(groups=np.tile([0, 1], 6))
    rest, values = whole.split_off("shape")
    assert values == tuple(whole.values[0][index] for index in ROWS[:, 0])
    assert (rest.names, rest.values) == (("colour",), (whole.values[1],))
    np.testing.assert_array_equal(rest.components, ROWS[:, 1:])
    np.testing.assert_array_equal(rest.groups, whole.groups)


def test_lists_are_taken_as_arrays():
    whole = recording(R.tolist(), ROWS.tolist(), groups=[0, 1] * 6)
    np.testing.assert_array_equal(whole.responses, R)
    assert whole.groups is not None
    assert whole.groups.dtype == np.int64


@pytest.mark.parametrize(
    ("start", "stop", "inside"),
    [(-np.inf, np.inf, range(5)), (0.0, 0.3, (1, 2, 3)), (0.05, 0.2, (2,)), (-1, 0, (0, 1))],
)
def test_averages_over_a_window(start, stop, inside):
    averaged = recording(MOVIE, times=TIMES, groups=[0, 1] * 6).averaged(start, stop)
    expected = sum(MOVIE[:, :, i] for i in inside) / len(inside)
    # Sums of at most five numbers, in another order.
    np.testing.assert_allclose(averaged.responses, expected, rtol=0, atol=1e-14)
    assert averaged.times is None
    assert averaged.groups is not None


def test_averages_without_times_count_from_0():
    averaged = recording(MOVIE).averaged(1, 2)
    np.testing.assert_allclose(
        averaged.responses, (MOVIE[..., 1] + MOVIE[..., 2]) / 2, rtol=0, atol=1e-14
    )
    static = recording()
    assert static.averaged(0, 1) is static


def test_one_time():
    whole = recording(MOVIE, times=TIMES)
    np.testing.assert_array_equal(whole.at(3).responses, MOVIE[..., 3])
    assert whole.at(3).times is None


@pytest.mark.parametrize("trials", [[0, 3, 11], np.isin(np.arange(12), [0, 3, 11])])
def test_some_trials(trials):
    whole = recording(groups=np.tile([0, 1], 6), sessions=np.arange(12) % 2)
    part = whole.select(trials)
    np.testing.assert_array_equal(part.responses, R[[0, 3, 11]])
    np.testing.assert_array_equal(part.components, ROWS[[0, 3, 11]])
    assert part.groups is not None
    assert part.sessions is not None
    assert part.groups.tolist() == [0, 1, 1]
    assert part.sessions.tolist() == [0, 1, 1]
    assert part.values == VALUES


@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_blocks_are_neurons_of_the_same_trials(seed, n_sessions, times):
    whole = parted(seed, n_sessions, times)
    recorded = ~np.isnan(whole.responses if not times else whole.responses[..., 0])
    neurons = np.concatenate([block.neurons for block in whole.blocks])
    assert sorted(neurons.tolist()) == list(range(6))
    trials = [tuple(block.trials.tolist()) for block in whole.blocks]
    assert len({*trials}) == len(trials)
    for block in whole.blocks:
        for neuron in block.neurons:
            assert np.flatnonzero(recorded[:, neuron]).tolist() == block.trials.tolist()


@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans(), st.integers(0, 3))
def test_pseudo_trials(seed, n_sessions, times, draw):
    """All responses differ, so that each says which trial and neuron it is of."""
    whole = parted(seed, n_sessions, times)
    pseudo = whole.pseudo_trials(draw)
    if len(whole.blocks) == 1:
        assert pseudo is whole
        return
    assert not np.isnan(pseudo.responses).any()
    assert pseudo.groups is None
    assert pseudo.sessions is None
    where = {
        value: (trial, neuron)
        for (trial, neuron, *_), value in np.ndenumerate(whole.responses)
        if not np.isnan(value)
    }
    used: list[set[int]] = [set() for _ in range(6)]
    for row, components in zip(pseudo.responses, pseudo.components, strict=True):
        of_block: dict[tuple[int, ...], set[int]] = {}
        for neuron, values in enumerate(row):
            places = {where[value] for value in np.atleast_1d(values)}
            assert len(places) == 1
            trial, source = places.pop()
            assert source == neuron
            assert whole.components[trial].tolist() == components.tolist()
            assert trial not in used[neuron]
            used[neuron].add(trial)
            block = next(b for b in whole.blocks if neuron in b.neurons)
            of_block.setdefault(tuple(block.neurons), set()).add(trial)
        # Neurons that were recorded together keep their noise together.
        assert all(len(trials) == 1 for trials in of_block.values())
    left_out = 0
    for condition in whole.conditions:
        rows = (whole.components == condition).all(axis=1)
        static = whole.responses if not times else whole.responses[..., 0]
        fewest = min(int(np.sum(rows & ~np.isnan(static[:, neuron]))) for neuron in range(6))
        assert (pseudo.components == condition).all(axis=1).sum() == fewest
        left_out += fewest == 0
    assert bool(pseudo.notes) == bool(left_out)


def test_pseudo_trials_have_no_labels_of_sessions():
    whole = parted(0, 2)
    days = np.unique(whole.sessions, return_inverse=True)[1]
    labelled = replace(whole, sessions=days, session_values=("monday", "tuesday"))
    pseudo = labelled.pseudo_trials(3)
    np.testing.assert_array_equal(pseudo.responses, whole.pseudo_trials(3).responses)
    assert (pseudo.sessions, pseudo.session_values) == (None, ())


def test_pseudo_trials_are_drawn_by_a_seed():
    whole = parted(1, 3)
    assert len(whole.blocks) > 1
    same = whole.pseudo_trials(5).responses, whole.pseudo_trials(5).responses
    np.testing.assert_array_equal(*same)
    draws = {whole.pseudo_trials(seed).responses.tobytes() for seed in range(10)}
    assert len(draws) > 1


def test_every_trial_is_drawn_equally_often():
    """Of 3 trials, of which a block with a single trial leaves 1: a third each, by 600 draws."""
    rows = np.array([[0], [0], [0], [0], [1], [1]])
    responses = np.array([[1.0, np.nan], [2, np.nan], [3, np.nan], [np.nan, 4], [5, np.nan],
                          [np.nan, 6]])  # fmt: skip
    sessions = np.array([0, 0, 0, 1, 0, 1])
    whole = recording(responses, rows, ("shape",), (("disc", "star"),), sessions=sessions)
    drawn = [whole.pseudo_trials(seed).responses[0, 0] for seed in range(600)]
    counts = [drawn.count(value) for value in (1.0, 2.0, 3.0)]
    assert sum(counts) == 600
    # Standard deviation of a count: 11.5; five of them.
    assert all(abs(count - 200) < 58 for count in counts)


def test_the_note_on_conditions_that_are_left_out():
    rows = np.array([[0], [0], [1], [1], [2]])
    responses = np.array([[1.0, np.nan], [np.nan, 2], [3, np.nan], [np.nan, 4], [5, np.nan]])
    whole = recording(
        responses, rows, ("shape",), (("a", "b", "c"),), sessions=[0, 1, 0, 1, 0], notes=("first",)
    )
    pseudo = whole.pseudo_trials()
    assert pseudo.notes == ("first", "1 condition that a session lacks left out")
    assert pseudo.components.tolist() == [[0], [1]]
    assert pseudo.values == (("a", "b", "c"),)
    few = whole.select([0, 1, 2, 4])
    assert refusal(few.pseudo_trials) == (
        "all neurons were recorded in two conditions or more; got 1; leave out the sessions that "
        "lack conditions"
    )


def test_a_recording_is_frozen_and_its_input_is_not_modified():
    before = R.copy()
    whole = recording()
    with pytest.raises(AttributeError):
        whole.notes = ("other",)  # type: ignore[misc]
    whole.select(np.arange(6)).averaged()
    np.testing.assert_array_equal(R, before)


SENTENCES = {
    "four axes": (
        {"responses": MOVIE[..., None]},
        "responses are trials x neurons, or trials x neurons x times; got shape (12, 4, 5, 1); "
        "flatten what is measured in a trial into one axis",
    ),
    "trials": (
        {"responses": R[:5]},
        "responses and components have equal length along n; got 5 and 12; pass both for the same "
        "n",
    ),
    "times": (
        {"responses": MOVIE, "times": TIMES[:2]},
        "times are those of the third axis of responses; got 2 for shape (12, 4, 5); pass a time "
        "for each entry of that axis, or leave times out",
    ),
    "order of times": (
        {"responses": MOVIE, "times": TIMES[::-1]},
        "times increase; got times in another order; sort them, and responses with them",
    ),
    "names": (
        {"names": ("shape",)},
        "every component has a name and its values; got 2 components, 1 names, 2 lists; pass one "
        "name and one list of values for each column of components",
    ),
    "same names": (
        {"names": ("shape", "shape")},
        "components have names of their own; got shape, shape; rename one of them",
    ),
    "indices": (
        {"values": (("disc",), VALUES[1])},
        "components are indices into the values of 'shape'; got indices 0..1 for 1 values; number "
        "the values from 0",
    ),
    "negative indices": (
        {"components": ROWS - 1},
        "components are indices into the values of 'shape'; got indices -1..0 for 2 values; number "
        "the values from 0",
    ),
    "same values": (
        {"values": (("disc", "disc"), VALUES[1])},
        "the values of a component differ; got 1 repeated of 'shape'; list every value once",
    ),
    "one condition": (
        {"components": ROWS * 0},
        "a recording has two conditions or more; got the same condition in all trials; add trials "
        "of others",
    ),
    "one group": (
        {"groups": [7] * 12},
        "products across groups need two groups or more; got all trials in one; leave groups out "
        "if noise is independent between trials",
    ),
    "a group of two sessions": (
        {"groups": [-3] * 6 + [4] * 6, "sessions": [1] * 5 + [2] * 7},
        "a group is in one session; got group -3 in 2; give the groups of each session "
        "names of their own, such as day and run together",
    ),
    "a labelled group of two sessions": (
        {"groups": [0] * 6 + [1] * 6, "sessions": [1] * 5 + [2] * 7, "group_values": ("one", "b")},
        "a group is in one session; got group 'one' in 2; give the groups of each session names of "
        "their own, such as day and run together",
    ),
    "labels of too few groups": (
        {"groups": [0, 1, 2] * 4, "group_values": ("first", "second")},
        "groups with labels are indices of these; got 2 labels for indices 0..2; number groups "
        "from 0, or leave their labels out",
    ),
    "labels of no sessions": (
        {"session_values": ("monday",)},
        "sessions with labels are indices of these; got 1 label for no sessions; number sessions "
        "from 0, or leave their labels out",
    ),
    "a label of two sessions": (
        {"sessions": [0, 1] * 6, "session_values": ("monday", "monday")},
        "labels of sessions differ; got 1 repeated; list each once",
    ),
    "NaN in a part of a labelled session": (
        {"responses": np.where(R[3, 2] == R, np.nan, R), "sessions": [0] * 6 + [1] * 6,
         "session_values": ("monday", "tuesday")},
        "a neuron is recorded in all trials of a session, or in none; got trial 3 unlike others of "
        "session 'monday' at neuron 2 (counted from 0); pass missing='drop' to leave such trials "
        "out",
    ),
    "infinite": (
        {"responses": np.where(R[3, 2] == R, -np.inf, R)},
        "responses are finite; got 1 infinite entry; set them to NaN, and pass missing='drop'",
    ),
    "NaN": (
        {"responses": np.where(R[3, 2] == R, np.nan, R)},
        "responses are numbers, unless sessions say which neurons were recorded when; got NaN in "
        "trial 3, neuron 2 (counted from 0); pass sessions, or missing='drop' to leave such trials "
        "out",
    ),
    "NaN in a part of a session": (
        {"responses": np.where(R[3, 2] == R, np.nan, R), "sessions": [0] * 6 + [1] * 6},
        "a neuron is recorded in all trials of a session, or in none; got trial 3 unlike others of "
        "session 0 at neuron 2 (counted from 0); pass missing='drop' to leave such trials out",
    ),
    "NaN at one time": (
        {"responses": np.where(MOVIE[0, 2, 3] == MOVIE, np.nan, MOVIE), "sessions": [0] * 12},
        "a neuron is recorded in all trials of a session, or in none; got trial 0 unlike others of "
        "session 0 at neuron 2 (counted from 0); pass missing='drop' to leave such trials out",
    ),
    "never recorded": (
        {"responses": np.where(np.arange(4) == 1, np.nan, R), "sessions": [0] * 12},
        "every neuron was recorded in a session; got 1 that never were, the first number 1; leave "
        "them out",
    ),
    "constant": (
        {"responses": R * 0 + [1, 2, 3, 4]},
        "responses vary between trials; got the same in all of them; look whether the right array "
        "was passed",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_sentences(changes, sentence):
    assert refusal(recording, **changes) == sentence


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: recording().label(6),
            "conditions are numbered from 0 to 5; got 6; choose one of them",
        ),
        (
            lambda: recording().split_off("size"),
            "one of several components is split off; got 'size' of 'shape', 'colour'; name another",
        ),
        (
            lambda: recording(MOVIE).at(5),
            "a time is a place on the third axis of responses, counted from 0; got 5 for 5 times; "
            "choose one of them",
        ),
        (
            lambda: recording().at(0),
            "a time is a place on the third axis of responses, counted from 0; got 0 for 0 times; "
            "leave it out: the recording has no times",
        ),
        (
            lambda: recording(MOVIE, times=TIMES).averaged(0.4, 0.6),
            "a window contains a time of the recording; got 0.4 to 0.6, of times from -0.1 to 0.7; "
            "choose a window between them",
        ),
        (
            lambda: recording().select(np.ones(3, dtype=bool)),
            "a mask has an entry for each trial; got 3 for 12 trials; pass a mask of all trials",
        ),
        (
            lambda: recording().select([0, 12]),
            "trials are numbers from 0 to 11; got numbers from 0 to 12; choose some of them",
        ),
        (
            lambda: recording().select([-1, 3]),
            "trials are numbers from 0 to 11; got numbers from -1 to 3; choose some of them",
        ),
        (
            lambda: recording().select(np.zeros(12, dtype=bool)),
            "trials are numbers from 0 to 11; got none; choose some of them",
        ),
        (
            lambda: recording().select([0, 1]),
            "a recording has two conditions or more; got the same condition in all trials; add "
            "trials of others",
        ),
    ],
)
def test_sentences_of_parts(call, sentence):
    assert refusal(call) == sentence
