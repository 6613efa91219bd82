"""Recordings from what people hold their data in, and the sentences about what is none."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from partwhole._checks import InputError
from partwhole.recordings import Recording, from_trials

RNG = np.random.default_rng(0)
R = RNG.normal(size=(8, 5))
MOVIE = RNG.normal(size=(8, 5, 3))
SHAPES = list("ddss") * 2
COLOURS = list("rbrb") * 2
RUNS = [1] * 4 + [2] * 4
TABLE = pd.DataFrame({"shape": SHAPES, "colour": COLOURS, "run": RUNS})
ONE = pd.DataFrame({"shape": SHAPES})


class Frame:
    """A table of a library that Pandas' are made of by `to_pandas`, as those of polars are."""

    def __init__(self, frame):
        self.frame = frame

    def to_pandas(self):
        return self.frame


def refusal(*arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        from_trials(*arguments, **options)
    return str(caught.value)


def labels(recording: Recording) -> list[tuple]:
    """Return the labels of each trial."""
    return [
        tuple(values[i] for values, i in zip(recording.values, row, strict=True))
        for row in recording.components
    ]


RESPONSES = {
    "array": R,
    "list": R.tolist(),
    "rows": list(R),
    "objects": R.astype(object),
    "Fortran": np.asfortranarray(R),
    "table": pd.DataFrame(R),
    "table with another index": pd.DataFrame(R, index=list("hgfedcba")),
    "nullable": pd.DataFrame(R).astype("Float64"),
    "table of objects": pd.DataFrame(R).astype(object),
    "xarray": xr.DataArray(R, dims=("trial", "neuron")),
    "sparse": sparse.csr_array(R),
    "Arrow": pa.table(pd.DataFrame(R, columns=list("abcde"))),
    "polars": Frame(pd.DataFrame(R)),
    "unmasked": np.ma.MaskedArray(R, np.zeros(R.shape, dtype=bool)),
}


@pytest.mark.parametrize("form", RESPONSES.values(), ids=RESPONSES)
def test_responses_of_any_form(form):
    recording = from_trials(form, TABLE, groups="run")
    np.testing.assert_array_equal(recording.responses, R)
    assert recording.responses.dtype == np.float64
    assert recording.groups is not None
    assert recording.groups.tolist() == [0] * 4 + [1] * 4
    assert recording.group_values == (1, 2)
    assert recording.session_values == ()
    assert labels(recording) == list(zip(SHAPES, COLOURS, strict=True))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f2", "f4", "longdouble", ">f8"])
def test_numbers_of_any_type(dtype):
    counts = np.arange(40).reshape(8, 5)
    recording = from_trials(counts.astype(dtype), ONE)
    np.testing.assert_array_equal(recording.responses, counts)


CONDITIONS = {
    "table": TABLE[["shape", "colour"]],
    "table with another index": TABLE[["shape", "colour"]].set_index(np.arange(8)[::-1]),
    "text of NumPy": TABLE[["shape", "colour"]].astype(object),
    "mapping of lists": {"shape": SHAPES, "colour": COLOURS},
    "mapping of arrays": {"shape": np.array(SHAPES), "colour": np.array(COLOURS, dtype=object)},
    "mapping of series": {
        "shape": pd.Series(SHAPES, index=np.arange(8)[::-1]), "colour": pd.Series(COLOURS),
    },
    "mapping of columns of MATLAB": {
        "shape": np.array(SHAPES)[:, None], "colour": np.array(COLOURS)[None],
    },
    "bytes": {"shape": np.array(SHAPES, dtype="S"), "colour": np.array(COLOURS, dtype="S")},
    "records": [{"shape": s, "colour": c} for s, c in zip(SHAPES, COLOURS, strict=True)],
    "record array": np.rec.fromarrays(
        [np.array(SHAPES), np.array(COLOURS)], names=["shape", "colour"]
    ),
    "Arrow": pa.table({"shape": SHAPES, "colour": COLOURS}),
    "Arrow columns": {"shape": pa.chunked_array([SHAPES]), "colour": pa.array(COLOURS)},
    "polars": Frame(TABLE[["shape", "colour"]]),
    "xarray": xr.Dataset({"shape": ("trial", SHAPES), "colour": ("trial", COLOURS)}),
}  # fmt: skip


@pytest.mark.parametrize("form", CONDITIONS.values(), ids=CONDITIONS)
def test_conditions_of_any_form(form):
    recording = from_trials(R, form)
    assert recording.names == ("shape", "colour")
    assert recording.values == (("d", "s"), ("b", "r"))
    assert labels(recording) == list(zip(SHAPES, COLOURS, strict=True))


ROWS = {
    "list of lists": [[a, b] for a, b in zip(SHAPES, RUNS, strict=True)],
    "list of tuples": list(zip(SHAPES, RUNS, strict=True)),
    "array of objects": np.array(list(zip(SHAPES, RUNS, strict=True)), dtype=object),
    "rows of objects": [np.array([a, b], dtype=object) for a, b in zip(SHAPES, RUNS, strict=True)],
}


@pytest.mark.parametrize("form", ROWS.values(), ids=ROWS)
def test_rows_of_text_and_numbers_keep_both(form):
    recording = from_trials(R, form)
    assert recording.names == ("component 0", "component 1")
    assert recording.values == (("d", "s"), (1, 2))
    assert [type(value) for value in recording.values[1]] == [int, int]


VECTORS = {
    "list": SHAPES,
    "tuple": tuple(SHAPES),
    "array": np.array(SHAPES),
    "objects": np.array(SHAPES, dtype=object),
    "column": np.array(SHAPES)[:, None],
    "row": np.array(SHAPES)[None],
    "list of lists": [[shape] for shape in SHAPES],
    "series": pd.Series(SHAPES),
    "index": pd.Index(SHAPES),
    "Arrow": pa.array(SHAPES),
    "polars": Frame(pd.Series(SHAPES)),
    "xarray": xr.DataArray(SHAPES, dims="trial"),
}


@pytest.mark.parametrize("form", VECTORS.values(), ids=VECTORS)
def test_one_component_of_any_form(form):
    recording = from_trials(R, form)
    assert recording.names == ("condition",)
    assert labels(recording) == [(shape,) for shape in SHAPES]


def test_a_dataset_is_refused_as_one():
    dataset = xr.Dataset({"spikes": (("trial", "neuron"), R)})
    assert refusal(dataset, TABLE) == (
        "responses are a DataArray; got a Dataset; choose one of its variables"
    )
    assert from_trials(dataset["spikes"], TABLE).n_neurons == 5


def test_a_single_neuron_is_in_the_singular():
    assert repr(from_trials(R[:, :1], SHAPES)).startswith("Recording(8 trials of 1 neuron, ")
    assert "5 neurons at 1 time, " in repr(from_trials(R[:, :, None], SHAPES))


def test_a_series_and_a_coordinate_keep_their_names():
    assert from_trials(R, pd.Series(SHAPES, name="shape")).names == ("shape",)
    named = xr.DataArray(SHAPES, dims="trial", name="shape")
    assert from_trials(R, named).names == ("shape",)
    assert from_trials(R, TABLE.rename(columns={"shape": 7})).names == ("7", "colour", "run")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ([0.5, 0.25] * 4, (0.25, 0.5)),
        ([True, False] * 4, (False, True)),
        ([10, 2] * 4, (2, 10)),
        (["10", "2"] * 4, ("10", "2")),
        (np.array([3, 1] * 4, dtype="u1"), (1, 3)),
        (np.array([3, 1] * 4, dtype=">i4"), (1, 3)),
        (np.array([3, 0.5] * 4, dtype=">f8"), (0.5, 3.0)),
        (np.array([3, 0.5] * 4, dtype="f2"), (0.5, 3.0)),
        (np.array([3, 0.5] * 4, dtype="longdouble"), (0.5, 3.0)),
        (np.array(["é", "a"] * 4, dtype=">U1"), ("a", "é")),
        (pd.Categorical(["low", "high"] * 4, ["low", "high", "none"], ordered=True),
         ("low", "high")),
        (pd.Series(["low", "high"] * 4, dtype=pd.CategoricalDtype(["low", "high"])),
         ("low", "high")),
        (pd.Series([1, 2] * 4, dtype="Int64"), (1, 2)),
        (pd.array([True, False] * 4, dtype="boolean"), (False, True)),
        (["b", 1, "a", 2] * 2, (1, 2, "a", "b")),
        ([("a", 1), ("b", 2)] * 4, (("a", 1), ("b", 2))),
        (pd.to_datetime(["2024-05-01", "2023-01-01"] * 4), ("2023-01-01", "2024-05-01")),
        (pd.to_timedelta([1, 2] * 4, unit="h"), ("0 days 01:00:00", "0 days 02:00:00")),
    ],
)  # fmt: skip
def test_labels_stay_as_they_are_and_have_an_order(column, values):
    recording = from_trials(R, {"label": column, "shape": SHAPES})
    assert recording.values[0] == values
    assert [type(value) for value in recording.values[0]] == [type(value) for value in values]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA])
@pytest.mark.parametrize("labels_", [["a", "b"], [0.5, 1.5], [1, 2], [True, False]])
def test_missing_labels_are_refused_or_dropped(missing, labels_):
    column = [*labels_ * 3, labels_[0], missing]
    assert refusal(R, {"label": column}) == (
        "every trial has a label in the columns used; got 1 without one in component 'label'; "
        "pass missing='drop' to leave these trials out"
    )
    recording = from_trials(R, {"label": column}, missing="drop")
    np.testing.assert_array_equal(recording.responses, R[:7])
    assert labels(recording) == [(label,) for label in column[:7]]
    assert recording.notes == ("1 of 8 trials left out, with missing entries",)


def test_missing_entries_of_other_forms_are_dropped():
    masked = np.ma.MaskedArray(RUNS, [0] * 7 + [1])
    assert from_trials(R, masked, missing="drop").n_trials == 7
    category = pd.Categorical([*SHAPES[:7], None])
    assert from_trials(R, {"shape": category}, missing="drop").n_trials == 7
    late = pd.DataFrame(
        {"a": SHAPES, "day": [*pd.date_range("2024-01-01", periods=2)] * 3 + [None] * 2}
    )
    assert from_trials(R, late, missing="drop").n_trials == 6
    runs = [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, np.nan]
    assert from_trials(R, ONE, groups=runs, missing="drop").n_trials == 7
    assert "7 without one in groups" in refusal(R, ONE, groups=[1.0] + [np.nan] * 7)


def test_columns_that_are_not_used_may_lack_entries():
    table = TABLE.assign(reaction=[np.nan] * 8)
    assert from_trials(R, table, components=["shape", "colour"]).n_trials == 8


def test_responses_without_numbers_are_dropped():
    holes = R.copy()
    holes[2, 1] = holes[5, 4] = np.nan
    recording = from_trials(holes, ONE, missing="drop")
    np.testing.assert_array_equal(recording.responses, np.delete(R, [2, 5], axis=0))
    assert recording.notes == ("2 of 8 trials left out, with missing entries",)
    assert from_trials(R, ONE, missing="drop").notes == ()
    movie = MOVIE.copy()
    movie[3, 0, 2] = np.nan
    assert from_trials(movie, ONE, missing="drop").n_trials == 7


def test_masked_and_absent_responses_are_missing():
    hidden = np.ma.MaskedArray(R, np.arange(40).reshape(8, 5) == 11)
    expected = np.delete(R, 2, axis=0)
    nullable = pd.DataFrame(R).astype("Float64")
    nullable.iloc[2, 1] = pd.NA
    objects = R.astype(object)
    objects[2, 1] = None
    for form in (hidden, nullable, objects):
        np.testing.assert_array_equal(from_trials(form, ONE, missing="drop").responses, expected)
        assert "NaN in trial 2, neuron 1" in refusal(form, ONE)


def brute_force_complete(responses, sessions):
    """Return trials that have all neurons that half of their session's have, and these alone."""
    complete, cut = [], responses.copy()
    for trial, row in enumerate(responses):
        fellows = [k for k, session in enumerate(sessions) if session == sessions[trial]]
        lacking = [sum(np.isnan(responses[k, i]) for k in fellows) / len(fellows)
                   for i in range(len(row))]  # fmt: skip
        recorded = [share <= 0.5 for share in lacking]
        complete.append(not any(np.isnan(row[i]) for i in range(len(row)) if recorded[i]))
        cut[trial, [not of for of in recorded]] = np.nan
    return np.array(complete), cut


@given(st.integers(0, 10**6))
def test_trials_lack_what_their_session_has_and_neurons_what_most_trials_lack(seed):
    rng = np.random.default_rng(seed)
    sessions = np.repeat(["mon", "tue"], 8)
    responses = rng.normal(size=(16, 4))
    responses[:8, 0] = responses[8:, 1] = np.nan
    responses[rng.random((16, 4)) < 0.05] = np.nan
    responses[rng.integers(16), rng.integers(4)] = 1.0
    shapes = np.array(list("ab") * 8)
    keep, cut = brute_force_complete(responses, sessions)
    never = np.isnan(cut[keep]).all(axis=0).any()
    if never or len({*shapes[keep]}) < 2:
        return
    recording = from_trials(responses, shapes, sessions=sessions, missing="drop")
    np.testing.assert_array_equal(recording.responses, cut[keep])
    n_cut = (np.isnan(cut) & ~np.isnan(responses))[keep].any(axis=0).sum()
    assert any(f"responses of {n_cut} neuron" in note for note in recording.notes) == (n_cut > 0)
    assert recording.sessions is not None
    assert recording.sessions.tolist() == (sessions[keep] == "tue").astype(int).tolist()
    assert recording.session_values == ("mon", "tue")


def test_of_a_session_where_most_trials_lack_a_neuron_its_responses_are_dropped():
    """Six of eight trials lack the first neuron on Tuesday: all of Tuesday's trials are kept."""
    rng = np.random.default_rng(0)
    responses, sessions = rng.normal(size=(16, 3)), np.repeat(["mon", "tue"], 8)
    responses[10:, 0] = np.nan
    shapes = np.array(list("ab") * 8)
    recording = from_trials(responses, shapes, sessions=sessions, missing="drop")
    assert recording.n_trials == 16
    assert np.isnan(recording.responses[8:, 0]).all()
    assert recording.notes == (
        "responses of 1 neuron left out, in sessions of which most trials lack them",
    )
    assert refusal(responses[6:], shapes[6:], missing="drop") == (
        "a neuron has responses in half of the trials of a session, or more; got 1 with fewer, "
        "the first number 0; leave these neurons out, or name the sessions"
    )


@pytest.mark.parametrize(
    "runs",
    [RUNS, np.array(RUNS), np.array(RUNS)[:, None], np.array(RUNS)[None], pd.Series(RUNS), "run",
     [f"run {run}" for run in RUNS], pd.Categorical(RUNS), np.array(RUNS) / 2],
)  # fmt: skip
def test_groups_and_sessions_by_name_or_array(runs):
    table = TABLE if isinstance(runs, str) else TABLE[["shape", "colour"]]
    for role in ("groups", "sessions"):
        recording = from_trials(R, table, **{role: runs})
        assert getattr(recording, role).tolist() == [0] * 4 + [1] * 4
        assert recording.names == ("shape", "colour")


def test_a_component_that_is_passed_as_groups_too_is_noted():
    note = "component 'run' is the same as the groups: if it is none, pass groups='run'"
    for groups in (TABLE["run"], TABLE["run"].to_numpy(), TABLE["run"].tolist()):
        assert from_trials(R, TABLE, groups=groups).notes == (note,)
    assert from_trials(R, TABLE, groups="run").notes == ()
    assert from_trials(R, TABLE, groups=TABLE["run"].to_numpy()[::-1]).notes == ()


def test_columns_with_one_value_are_left_out_and_noted():
    table = pd.DataFrame({"subject": ["M1"] * 8, "shape": list("ddss") * 2, "day": [3] * 8})
    recording = from_trials(R, table)
    assert repr(recording) == "Recording(8 trials of 5 neurons, 2 conditions: shape (2))"
    np.testing.assert_array_equal(recording.components, from_trials(R, table[["shape"]]).components)
    assert recording.notes == (
        "subject has one value in all trials and was left out",
        "day has one value in all trials and was left out",
    )
    # Trials that are dropped can leave a single value.
    table["day"] = [None, *["sunday"] * 7]
    table.loc[0, "subject"] = "M2"
    recording = from_trials(R, table, missing="drop")
    assert recording.names == ("shape",)
    assert refusal(R, table[["subject"]].assign(subject="M1")) == (
        "a recording has two conditions or more; got the same condition in all trials; add trials "
        "of others"
    )
    # Groups and sessions are no components.
    assert from_trials(R, table[["shape", "subject"]], sessions=["monday"] * 8).sessions is not None


def test_groups_and_sessions_together():
    table = TABLE.assign(day=["mon"] * 8)
    recording = from_trials(R, table, groups="run", sessions="day", components=["colour"])
    assert recording.groups is not None
    assert recording.sessions is not None
    assert recording.sessions.tolist() == [0] * 8
    assert recording.names == ("colour",)
    assert from_trials(R, table, groups="run", sessions="day").names == ("shape", "colour")


def test_times_are_given_or_those_of_a_coordinate():
    given_times = [0.0, 0.1, 0.4]
    assert from_trials(MOVIE, ONE).times is None
    times = from_trials(MOVIE, ONE, times=given_times).times
    assert times is not None
    assert times.tolist() == given_times
    movie = xr.DataArray(
        MOVIE, dims=("trial", "neuron", "time"), coords={"time": given_times, "trial": range(8)}
    )
    times = from_trials(movie, ONE).times
    assert times is not None
    assert times.tolist() == given_times
    moved = movie.transpose("neuron", "time", "trial")
    recording = from_trials(moved, ONE, trial_axis=2)
    np.testing.assert_array_equal(recording.responses, MOVIE)
    assert recording.times is not None
    assert recording.times.tolist() == given_times
    named = movie.assign_coords(time=list("abc"))
    assert from_trials(named, ONE).times is None


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_trials_along_any_axis(axis):
    moved = np.moveaxis(MOVIE, 0, axis)
    np.testing.assert_array_equal(from_trials(moved, ONE, trial_axis=axis).responses, MOVIE)
    if axis in (0, 1, -1):
        flat = np.moveaxis(R, 0, axis)
        np.testing.assert_array_equal(from_trials(flat, ONE, trial_axis=axis).responses, R)


def test_nothing_that_is_passed_is_modified():
    responses, table = R.copy(), TABLE.copy()
    responses[0, 0] = np.nan
    before = responses.copy()
    from_trials(responses, table, groups="run", missing="drop")
    np.testing.assert_array_equal(responses, before)
    pd.testing.assert_frame_equal(table, TABLE)


@given(st.permutations(range(8)))
def test_the_order_of_trials_does_not_matter(order):
    whole = from_trials(R, TABLE, groups="run")
    moved = from_trials(R[order], TABLE.iloc[order], groups="run")
    np.testing.assert_array_equal(moved.responses, whole.responses[order])
    np.testing.assert_array_equal(moved.components, whole.components[order])
    assert moved.values == whole.values


def test_many_trials_of_few_conditions_are_quick():
    """In 5 microseconds each."""
    n = 200_000
    begin = time.process_time()
    recording = from_trials(np.arange(2.0 * n).reshape(n, 2), {"shape": np.arange(n) % 4})
    assert recording.n_conditions == 4
    assert time.process_time() - begin < 1


def test_tables_with_their_trials_in_two_orders_are_refused():
    names = [f"trial {i}" for i in range(8)]
    responses, table = pd.DataFrame(R, index=names), TABLE.set_axis(names)
    same = from_trials(responses, table, groups="run")
    np.testing.assert_array_equal(same.components, from_trials(R, TABLE, groups="run").components)
    moved = table.iloc[::-1]
    assert refusal(responses, moved, groups="run") == (
        "responses and conditions have their trials in one order; got the same index in two "
        "orders; pass conditions.loc[responses.index], or reset both indices"
    )
    aligned = from_trials(responses, moved.loc[responses.index], groups="run")
    np.testing.assert_array_equal(aligned.components, same.components)
    # Numbers of their own say nothing of the order.
    assert from_trials(responses, TABLE, groups="run").n_trials == 8
    assert from_trials(pd.DataFrame(R), TABLE.set_axis(range(8, 16)), groups="run").n_trials == 8


def test_many_conditions_are_refused():
    n = 10**5
    table = {"trial": np.arange(n), "shape": np.arange(n) % 4}
    assert refusal(np.zeros((n, 1)), table) == (
        "a condition has two trials or more; got column 'trial' with a value of its own in nearly "
        "every trial; leave it out of components=, or bin its numbers first"
    )
    assert refusal(np.zeros((40, 1)), np.arange(400.0).reshape(40, 10)) == (
        "a condition has two trials or more; got only columns with a value of its own in nearly "
        "every trial; if these are the responses, pass them first, else name the columns of the "
        "condition with components="
    )
    grid = {"row": np.arange(n) // 300 % 200, "column": np.arange(n) % 300}
    assert refusal(np.zeros((n, 1)), grid) == (
        "a recording has at most 20,000 conditions; got 60,000 in 100,000 trials; name the columns "
        "of the condition with components=, or bin numbers first"
    )
    reaction = {"shape": [*SHAPES] * 5, "reaction": np.arange(40) / 7}
    both = reaction | {"start": np.arange(40) / 3}
    for table, columns in ((reaction, "column 'reaction'"), (both, "columns 'reaction', 'start'")):
        assert f"got {columns} with a value" in refusal(RNG.normal(size=(40, 2)), table)
    assert "got only column 'condition' with" in refusal(RNG.normal(size=(40, 2)), np.arange(40))
    # So few trials may be conditions of their own, without repeats.
    assert from_trials(R, list("abcdefgh")).n_conditions == 8


TEXT = np.array([["1", "2"]] * 8)
SENTENCES = {
    "lengths": (
        (R[:7], TABLE),
        "responses and conditions have a row for each trial; got 7 trials along axis 0 of "
        "responses of shape (7, 5), and 8 conditions; pass both in the same order of trials",
    ),
    "transposed": (
        (R.T, TABLE),
        "responses and conditions have a row for each trial; got 5 trials along axis 0 of "
        "responses of shape (5, 8), and 8 conditions; pass trial_axis=1, which has 8",
    ),
    "text": (
        (TEXT, TABLE),
        "responses are real numbers; got text; convert them to an array of floats",
    ),
    "complex": (
        (R + 0j, TABLE),
        "responses are real numbers; got complex numbers; pass absolute values, or real and "
        "imaginary parts as neurons of their own",
    ),
    "booleans": (
        (R > 0, TABLE),
        "responses are real numbers; got True and False; pass numbers, such as "
        "responses.astype(float)",
    ),
    "objects": (
        (np.array([[{}, 1.0]] * 8), TABLE),
        "responses are real numbers; got objects, such as a dict; convert them to an array of "
        "floats",
    ),
    "ragged": (
        ([[1.0], [1.0, 2.0]] * 4, TABLE),
        "responses are real numbers; got rows of different lengths; pass rows of one length",
    ),
    "huge": (
        ([[10**400, 1]] * 8, TABLE),
        "responses are real numbers; got a whole number too large for 64 bits; pass them in a "
        "larger unit",
    ),
    "dates": (
        (R.astype("M8[s]"), TABLE),
        "responses are real numbers; got dates; subtract a date and divide by a unit first",
    ),
    "records": (
        (np.zeros(8, dtype=[("a", "f8")]), TABLE),
        "responses are real numbers; got records of several fields; pass one field as numbers",
    ),
    "column of text": (
        (pd.DataFrame({"a": np.arange(8.0), "b": SHAPES}), TABLE),
        "responses are real numbers; got string in column 'b'; leave it out, or move it to the "
        "conditions",
    ),
    "name of a file": (
        ("responses.npy", TABLE),
        "responses are real numbers; got the text 'responses.npy'; pass the names of files to "
        "partwhole.recordings.read",
    ),
    "infinite": (
        (np.where(np.arange(40).reshape(8, 5) == 3, np.inf, R), TABLE),
        "responses are finite; got 1 infinite entry; set them to NaN, and pass missing='drop'",
    ),
    "NaN": (
        (np.where(np.arange(40).reshape(8, 5) == 13, np.nan, R), TABLE),
        "responses are numbers, unless sessions say which neurons were recorded when; got NaN in "
        "trial 2, neuron 3 (counted from 0); pass sessions, or missing='drop' to leave such trials "
        "out",
    ),
    "constant": (
        (np.ones((8, 5)), TABLE),
        "responses vary between trials; got the same in all of them; look whether the right array "
        "was passed",
    ),
    "four axes": (
        (R[..., None, None], TABLE),
        "responses are trials x neurons, or trials x neurons x times; got shape (8, 5, 1, 1); "
        "flatten what is measured in a trial into one axis",
    ),
    "name of a table": (
        (R, "conditions.csv"),
        "conditions are a table, or labels of shape (n,) or (n, C); got the text 'conditions.csv'; "
        "pass the names of files to partwhole.recordings.read",
    ),
    "number": (
        (R, 3),
        "conditions are a table, or labels of shape (n,) or (n, C); got shape (); pass a column "
        "for each component",
    ),
    "three axes of labels": (
        (R, np.zeros((8, 2, 2))),
        "conditions are a table, or labels of shape (n,) or (n, C); got shape (8, 2, 2); pass a "
        "column for each component",
    ),
    "three axes of xarray": (
        (R, xr.DataArray(np.zeros((8, 2, 2)))),
        "conditions are a table, or labels of shape (n,) or (n, C); got shape (8, 2, 2); pass a "
        "column for each component",
    ),
    "bytes without a type": (
        (R, np.zeros(8, dtype="V4")),
        "conditions are a table, or labels of shape (n,) or (n, C); got shape (8,); pass a column "
        "for each component",
    ),
    "ragged labels": (
        (R, [["a"], ["a", "b"]] * 4),
        "conditions are a table, or labels of shape (n,) or (n, C); got rows of 1 to 2 labels; "
        "pass a column for each component",
    ),
    "uneven columns": (
        (R, {"a": SHAPES, "b": SHAPES[:3], "c": 1}),
        "columns of conditions have one length; got 'a': 8, 'b': 3, 'c': no column; pass a label "
        "of each trial in each",
    ),
    "no columns": (
        (R, {}),
        "columns of conditions have one length; got no column; pass a label of each trial in each",
    ),
    "lists in cells": (
        (R, {"a": [["x", "y"]] * 8}),
        "every cell holds a single value; got a list in 'a'; spread it over columns, "
        "or turn it into text",
    ),
    "complex labels": (
        (R, {"a": [1j, 2j] * 4}),
        "labels are text, numbers, booleans or categories; got complex numbers in component 'a'; "
        "convert them to text",
    ),
    "infinite labels": (
        (R, {"a": [1.0, np.inf] * 4}),
        "labels are finite; got 4 infinite in component 'a'; set them to NaN, and pass "
        "missing='drop'",
    ),
    "several levels": (
        (R, pd.DataFrame({("a", "b"): SHAPES, ("a", "c"): SHAPES})),
        "a column of the conditions has a single name; got columns of 2 levels; flatten them first",
    ),
    "repeated names": (
        (R, TABLE.set_axis(["shape", "shape", "run"], axis=1)),
        "a column of the conditions is named by one of its names; got 'shape', which 2 columns "
        "have; columns are shape, shape, run; rename the column or the argument",
    ),
    "one condition": (
        (R, ["a"] * 8),
        "a recording has two conditions or more; got the same condition in all trials; add trials "
        "of others",
    ),
}


@pytest.mark.parametrize(("arguments", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_sentences(arguments, sentence):
    assert refusal(*arguments) == sentence


OPTIONS = {
    "misspelt groups": (
        {"groups": "runs"},
        "a column of the conditions is named by one of its names; got 'runs', which no columns "
        "have; columns are shape, colour, run; did you mean 'run'?",
    ),
    "components with commas": (
        {"components": ["shape,colour"]},
        "a column of the conditions is named by one of its names; got 'shape,colour', which no "
        "columns have; columns are shape, colour, run; name columns one by one, without commas",
    ),
    "unknown component": (
        {"components": ["shape", "size"]},
        "a column of the conditions is named by one of its names; got 'size', which no columns "
        "have; columns are shape, colour, run; rename the column or the argument",
    ),
    "no component": (
        {"components": []},
        "a condition has a component or more; got no column; name one or more",
    ),
    "component twice": (
        {"components": ["shape", "shape"]},
        "components are different columns; got 'shape', 'shape'; name a column once",
    ),
    "unknown groups": (
        {"groups": "block"},
        "a column of the conditions is named by one of its names; got 'block', which no columns "
        "have; columns are shape, colour, run; rename the column or the argument",
    ),
    "short groups": (
        {"groups": [1, 2]},
        "groups are the name of a column, or one entry for each trial; got 2 entries; pass one for "
        "each of 8 trials",
    ),
    "matrix of sessions": (
        {"sessions": np.zeros((8, 2))},
        "sessions are the name of a column, or one entry for each trial; got shape (8, 2); pass "
        "one for each of 8 trials",
    ),
    "one group": (
        {"groups": [1] * 8},
        "products across groups need two groups or more; got all trials in one; leave groups out "
        "if noise is independent between trials",
    ),
    "groups of two sessions": (
        {"groups": "run", "sessions": list("abababab")},
        "a group is in one session; got group 1 in 2; give the groups of each session names of "
        "their own, such as day and run together",
    ),
    "times without an axis": (
        {"times": [0.0, 1.0]},
        "times are those of the third axis of responses; got 2 for shape (8, 5); pass a time for "
        "each entry of that axis, or leave times out",
    ),
    "axis": (
        {"trial_axis": 2},
        "trial_axis is an axis of responses; got 2 for shape (8, 5); count axes from 0",
    ),
    "missing": (
        {"missing": "ignore"},
        'missing is "refuse" or "drop"; got \'ignore\'; choose one of them',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "sentence"), OPTIONS.values(), ids=OPTIONS)
def test_sentences_of_options(options, sentence):
    assert refusal(R, TABLE, **options) == sentence


def test_more_sentences():
    assert refusal(MOVIE, ONE, times=[0.0, 2.0, 1.0]) == (
        "times increase; got times in another order; sort them, and responses with them"
    )
    assert refusal(np.full((8, 5), np.nan), ONE, missing="drop") == (
        "a trial is complete; got none that is; look where responses are NaN"
    )
    assert refusal(R, TABLE[["run"]], groups="run") == (
        "a condition has a component or more; got no column; name one or more"
    )
    parted = R.copy()
    parted[:4, 0] = np.nan
    parted[5, 0] = np.nan
    assert refusal(parted, ONE, sessions=RUNS) == (
        "a neuron is recorded in all trials of a session, or in none; got trial 5 unlike others of "
        "session 2 at neuron 0 (counted from 0); pass missing='drop' to leave such trials out"
    )
    parted[:, 0] = np.nan
    assert refusal(parted, ONE, sessions=RUNS) == (
        "every neuron was recorded in a session; got 1 that never were, the first number 0; leave "
        "them out"
    )
    assert refusal(MOVIE[:, :2, :2], pd.concat([ONE, ONE])) == (
        "responses and conditions have a row for each trial; got 8 trials along axis 0 of "
        "responses of shape (8, 2, 2), and 16 conditions; pass both in the same order of trials"
    )
    assert refusal(MOVIE.T, list("ab") * 4, trial_axis=1) == (
        "responses and conditions have a row for each trial; got 5 trials along axis 1 of "
        "responses of shape (3, 5, 8), and 8 conditions; pass trial_axis=2, which has 8"
    )
