"""Recordings from files of every kind, beside the arrays that were saved, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import time
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr
from pyarrow import parquet
from scipy import sparse
from scipy.io import savemat
from scipy.io.matlab import MatlabOpaque

from partwhole._checks import InputError
from partwhole.recordings import from_trials, read
from partwhole.recordings._matlab import Opaque, _variable

RNG = np.random.default_rng(0)
R = RNG.normal(size=(8, 5)).round(3)
MOVIE = RNG.normal(size=(8, 5, 3))
SHAPES = list("ddss") * 2
ANGLES = [0.0, 22.5] * 4
RUNS = [1] * 4 + [2] * 4
TABLE = pd.DataFrame({"shape": SHAPES, "angle": ANGLES, "run": RUNS})
EXPECTED = from_trials(R, TABLE, groups="run")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Have all files in a folder of their own, beside responses and conditions that are sound."""
    monkeypatch.chdir(tmp_path)
    np.save("responses.npy", R)
    TABLE.to_csv("conditions.csv", index=False)
    return tmp_path


def refusal(responses="responses.npy", conditions="conditions.csv", **options) -> str:
    with pytest.raises(InputError) as caught:
        read(responses, conditions, **options)
    return str(caught.value)


def assert_same(recording, expected=EXPECTED) -> None:
    np.testing.assert_array_equal(recording.responses, expected.responses)
    np.testing.assert_array_equal(recording.components, expected.components)
    np.testing.assert_array_equal(recording.groups, expected.groups)
    assert (recording.names, recording.values) == (expected.names, expected.values)


def cells(entries) -> np.ndarray:
    """Return a cell array with a row for each entry."""
    column = np.empty((len(entries), 1), dtype=object)
    column[:, 0] = entries
    return column


def saved(path: str, **arrays) -> str:
    savemat(path, arrays)
    return path


def written(path: str, text: str | bytes) -> str:
    Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


NAMED = pd.DataFrame(R, columns=[f"unit {i}" for i in range(5)])
RESPONSES = {
    "npy": lambda: "responses.npy",
    "path": lambda: Path("responses.npy"),
    "Fortran": lambda: np.save("a.npy", np.asfortranarray(R)) or "a.npy",
    "npz": lambda: np.savez("a.npz", R) or "a.npz",
    "compressed": lambda: np.savez_compressed("a.npz", spikes=R, lfp=R + 1) or "a.npz:spikes",
    "only matrix": lambda: np.savez("a.npz", spikes=R, dt=0.1, shapes=SHAPES) or "a.npz",
    "npz with objects": lambda: np.savez("a.npz", spikes=R, o=np.array([{}])) or "a.npz:spikes",
    "only matrix beside objects": lambda: np.savez("a.npz", spikes=R, o=np.array([{}])) or "a.npz",
    "csv": lambda: NAMED.to_csv("a.csv", index=False) or "a.csv",
    "csv with index": lambda: NAMED.to_csv("a.csv") or "a.csv",
    "csv with numbers of columns": lambda: pd.DataFrame(R).to_csv("a.csv", index=False) or "a.csv",
    "csv with both": lambda: pd.DataFrame(R).to_csv("a.csv") or "a.csv",
    "csv without names": lambda: np.savetxt("a.csv", R, delimiter=",") or "a.csv",
    "spaces": lambda: np.savetxt("a.csv", R) or "a.csv",
    "semicolons": lambda: np.savetxt("a.csv", R, delimiter=";") or "a.csv",
    "bars": lambda: NAMED.to_csv("a.tsv", sep="|", index=False) or "a.tsv",
    "tabs": lambda: np.savetxt("a.tsv", R, delimiter="\t") or "a.tsv",
    "tabs in csv": lambda: np.savetxt("A.CSV", R, delimiter="\t") or "A.CSV",
    "decimal commas": lambda: NAMED.to_csv("a.csv", sep=";", decimal=",", index=False) or "a.csv",
    "decimal commas without names": lambda: (
        NAMED.to_csv("a.csv", sep=";", decimal=",", index=False, header=False) or "a.csv"
    ),
    "zipped": lambda: NAMED.to_csv("a.csv.gz", index=False) or "a.csv.gz",
    "mark of byte order": lambda: (
        NAMED.to_csv("a.csv", index=False, encoding="utf-8-sig") or "a.csv"
    ),
    "line ends of Windows": lambda: (
        NAMED.to_csv("a.csv", index=False, lineterminator="\r\n") or "a.csv"
    ),
    "empty lines": lambda: written(
        "a.csv", "\n\n" + NAMED.to_csv(index=False).replace("\n", "\n\n")
    ),
    "parquet": lambda: NAMED.to_parquet("a.parquet") or "a.parquet",
    "mat": lambda: saved("a.mat", spikes=R),
    "mat with others": lambda: saved("a.mat", spikes=R, dt=0.1, shapes=cells(SHAPES)),
    "mat by name": lambda: saved("a.mat", spikes=R, lfp=R + 1) + ":spikes",
    "mat in a struct": lambda: saved("a.mat", data={"spikes": R, "lfp": R + 1}) + ":data.spikes",
    "only matrix in a struct": lambda: saved("a.mat", data={"spikes": R, "dt": 0.1}),
    "sparse": lambda: saved("a.mat", spikes=sparse.csc_array(R)),
    "nc": lambda: xr.Dataset({"r": (("trial", "unit"), R)}).to_netcdf("a.nc") or "a.nc",
    "nc by name": lambda: (
        xr.Dataset({"r": (("trial", "unit"), R), "s": (("trial", "unit"), R + 1)})
        .to_netcdf("a.nc") or "a.nc:r"
    ),
}  # fmt: skip


@pytest.mark.parametrize("save", RESPONSES.values(), ids=RESPONSES)
def test_responses_of_any_file(save):
    assert_same(read(save(), "conditions.csv", groups="run"))


def lines(frame: pd.DataFrame) -> str:
    return "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))


STRUCT = {"shape": cells(SHAPES), "angle": np.array(ANGLES)[:, None], "run": np.array(RUNS)}
CONDITIONS = {
    "csv": lambda: "conditions.csv",
    "path": lambda: Path("conditions.csv"),
    "index": lambda: TABLE.to_csv("a.csv") or "a.csv",
    "semicolons": lambda: TABLE.to_csv("a.csv", sep=";", index=False) or "a.csv",
    "tabs": lambda: TABLE.to_csv("a.tsv", sep="\t", index=False) or "a.tsv",
    "commas in tsv": lambda: TABLE.to_csv("a.tsv", index=False) or "a.tsv",
    "bars": lambda: TABLE.to_csv("a.csv", sep="|", index=False) or "a.csv",
    "zipped": lambda: TABLE.to_csv("a.csv.gz", index=False) or "a.csv.gz",
    "spaces": lambda: written(
        "a.csv", TABLE.to_csv(index=False).replace(",", " , ").replace("shape", " shape")
    ),
    "quotes": lambda: TABLE.to_csv("a.csv", index=False, quoting=1) or "a.csv",
    "columns without names": lambda: TABLE.assign(empty="").rename(
        columns={"empty": ""}
    ).to_csv("a.csv", index=False) or "a.csv",
    "parquet": lambda: TABLE.to_parquet("a.parquet") or "a.parquet",
    "jsonl": lambda: written("a.jsonl", lines(TABLE)),
    "zipped lines": lambda: written("a.ndjson.gz", gzip.compress(lines(TABLE).encode())),
    "lines with empty ones": lambda: written("a.ndjson", lines(TABLE).replace("\n", "\r\n\n")),
    "npz": lambda: np.savez(
        "a.npz", shape=SHAPES, angle=np.float32(ANGLES), run=np.int16(RUNS)
    ) or "a.npz",
    "npz of bytes": lambda: np.savez(
        "a.npz", shape=np.array(SHAPES, dtype="S"), angle=ANGLES, run=RUNS, responses=R
    ) or "a.npz",
    "mat struct": lambda: saved("a.mat", conditions=STRUCT),
    "mat struct by name": lambda: saved("a.mat", c=STRUCT, d={"x": 1.0}) + ":c",
    "mat struct in a struct": lambda: saved("a.mat", s={"c": STRUCT, "spikes": R}) + ":s.c",
    "mat columns": lambda: saved("a.mat", **STRUCT, spikes=R, dt=0.1),
    "mat rows": lambda: saved("a.mat", shape=cells(SHAPES).T, angle=ANGLES, run=RUNS),
    "mat text by rows": lambda: saved("a.mat", shape=np.array(SHAPES), angle=ANGLES, run=RUNS),
    "mat array of structs": lambda: saved(
        "a.mat", c=np.array([tuple(row) for row in TABLE.to_numpy(dtype=object)],
                            dtype=[(name, object) for name in TABLE]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("save", CONDITIONS.values(), ids=CONDITIONS)
def test_conditions_of_any_file(save):
    recording = read("responses.npy", save(), groups="run")
    assert_same(recording)


VECTORS = {
    "npy": lambda: np.save("a.npy", np.array(SHAPES)) or "a.npy",
    "row": lambda: np.save("a.npy", np.array(SHAPES)[None]) or "a.npy",
    "column": lambda: np.save("a.npy", np.array(SHAPES)[:, None]) or "a.npy",
    "npz": lambda: np.savez("a.npz", np.array(SHAPES)) or "a.npz",
    "npz by name": lambda: np.savez("a.npz", a=SHAPES, b=RUNS) or "a.npz:a",
    "mat cells": lambda: saved("a.mat", a=cells(SHAPES)),
    "mat cells by name": lambda: saved("a.mat", a=cells(SHAPES), b=RUNS) + ":a",
    "mat field": lambda: saved("a.mat", c={"a": cells(SHAPES), "b": RUNS}) + ":c.a",
}


@pytest.mark.parametrize("save", VECTORS.values(), ids=VECTORS)
def test_a_single_vector_of_labels(save):
    assert_same(read("responses.npy", save()), from_trials(R, SHAPES))


def test_text_by_rows_loses_the_blanks_that_fill_it():
    saved("a.mat", shape=np.array(["disc ", "star ", "pentagon", "disc "] * 2))
    assert read("responses.npy", "a.mat").values == (("disc", "pentagon", "star"),)


def test_a_matrix_of_labels():
    np.save("a.npy", np.column_stack([RUNS, ANGLES]))
    assert_same(read("responses.npy", "a.npy"), from_trials(R, np.column_stack([RUNS, ANGLES])))


def test_one_file_of_matlab_holds_both():
    saved("session.mat", spikes=R.T, conditions=STRUCT, dt=0.1)
    assert_same(read("session.mat", "session.mat", groups="run", trial_axis=1))
    saved("flat.mat", spikes=R, **STRUCT)
    assert_same(read("flat.mat:spikes", "flat.mat", groups="run"))


def test_matlab_puts_trials_on_the_last_axis():
    saved("movie.mat", spikes=np.moveaxis(MOVIE, 0, 2), times=[[0.0, 0.1, 0.2]])
    recording = read("movie.mat", "conditions.csv", groups="run", trial_axis=-1, times=[0, 1, 2])
    np.testing.assert_array_equal(recording.responses, MOVIE)
    assert refusal("movie.mat") == (
        "responses and conditions have a row for each trial; got 5 trials along axis 0 of "
        "responses of shape (5, 3, 8), and 8 conditions; pass trial_axis=2, which has 8"
    )


def test_coordinates_of_xarray_are_times():
    xr.Dataset(
        {"r": (("trial", "unit", "time"), MOVIE)}, coords={"time": [0.0, 0.1, 0.4]}
    ).to_netcdf("movie.nc")
    times = read("movie.nc", "conditions.csv").times
    assert times is not None
    assert times.tolist() == [0.0, 0.1, 0.4]


@pytest.mark.parametrize(
    ("cells_", "values"),
    [
        (["01", "1", "10"], ("01", "1", "10")),
        (["1", "10", "2"], (1, 2, 10)),
        (["-0.5", "1e1", ".25"], (-0.5, 0.25, 10.0)),
        (["1", "2", "2.5"], (1.0, 2.0, 2.5)),
        (["1", "b", "a"], ("1", "a", "b")),
        (["True", "False"], ("False", "True")),
        (["NA", "None", "a"], ("NA", "None", "a")),
        (["123456789012345678901", "1", "2"], (1.0, 2.0, 123456789012345678901.0)),
        (["'a, b'", "c"], ("'a, b'", "c")),
        (["année", "ß"], ("année", "ß")),
    ],
)
def test_labels_of_text_files_are_as_they_are_written(cells_, values):
    rows = [cells_[i % len(cells_)] for i in range(8)]
    pd.DataFrame({"label": rows, "run": RUNS}).to_csv("a.csv", index=False)
    recording = read("responses.npy", "a.csv", groups="run")
    assert recording.values == (values,)
    assert [type(value) for value in recording.values[0]] == [type(value) for value in values]


@pytest.mark.parametrize("empty", ["", "NaN", "NA"])
def test_missing_cells(empty):
    rows = ["0.5", "1.5"] * 3 + ["0.5", empty]
    written("a.csv", "angle,run\n" + "".join(f"{row},1\n" for row in rows))
    assert "got 1 without one in component 'angle'" in refusal(conditions="a.csv")
    recording = read("responses.npy", "a.csv", missing="drop", components=["angle"])
    np.testing.assert_array_equal(recording.responses, R[:7])
    with_hole = [[*map(str, row)] for row in R]
    with_hole[2][3] = empty
    written("r.csv", "".join(",".join(row) + "\n" for row in with_hole))
    assert "NaN in trial 2, neuron 3" in refusal("r.csv")
    dropped = read("r.csv", "conditions.csv", missing="drop")
    np.testing.assert_array_equal(dropped.responses, np.delete(R, 2, axis=0))
    with_hole[0][0] = empty
    written("r.csv", "".join(",".join(row) + "\n" for row in with_hole))
    assert read("r.csv", "conditions.csv", missing="drop").n_trials == 6


def test_a_single_neuron_with_an_empty_line():
    rows = [str(row[0]) for row in R]
    rows[3] = ""
    written("a.csv", "\n".join(rows))
    recording = read("a.csv", "conditions.csv", missing="drop")
    np.testing.assert_array_equal(recording.responses[:, 0], np.delete(R[:, 0], 3))


def test_missing_cells_of_matlab_and_of_lines():
    saved("a.mat", shape=cells([*SHAPES[:7], np.zeros((0, 0))]))
    assert read("responses.npy", "a.mat", missing="drop").n_trials == 7
    rows = [{"shape": shape} for shape in SHAPES[:6]] + [{"shape": None}, {}]
    written("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert read("responses.npy", "a.jsonl", missing="drop").n_trials == 6


def test_a_first_line_that_numbers_the_columns_is_a_trial_where_one_would_lack():
    counts = np.vstack([np.arange(5), RNG.integers(0, 9, size=(7, 5))])
    np.savetxt("a.csv", counts, fmt="%d", delimiter=",")
    np.testing.assert_array_equal(read("a.csv", "conditions.csv").responses, counts)
    pd.DataFrame(counts).to_csv("a.csv", index=False)
    np.testing.assert_array_equal(read("a.csv", "conditions.csv").responses, counts)


def test_categories_of_parquet_keep_their_order():
    levels = pd.Categorical(["low", "high"] * 4, ["low", "high"], ordered=True)
    pd.DataFrame({"level": levels}).to_parquet("a.parquet")
    assert read("responses.npy", "a.parquet").values == (("low", "high"),)


def test_options_are_those_of_arrays():
    recording = read(
        "responses.npy", "conditions.csv", components=["shape"], groups=RUNS,
        sessions=["mon"] * 4 + ["tue"] * 4,
    )  # fmt: skip
    expected = from_trials(
        R, TABLE, components=["shape"], groups=RUNS, sessions=["mon"] * 4 + ["tue"] * 4
    )
    assert_same(recording, expected)
    np.testing.assert_array_equal(recording.sessions, expected.sessions)


def test_pickles_are_never_executed():
    class Trap:
        def __reduce__(self):
            return Path("sprung").touch, ()

    np.save("a.npy", np.array([Trap()]), allow_pickle=True)
    np.savez("a.npz", o=np.array([Trap()]), allow_pickle=True)
    written("b.npy", pickle.dumps(Trap()))
    for file in ("a.npy", "a.npz", "a.npz:o", "b.npy"):
        refusal(file)
        refusal(conditions=file)
    assert not Path("sprung").exists()


def v73(*, in_order: bool = True) -> str:
    """Write variables as MATLAB does with the option -v7.3: axes reversed, cells by reference."""
    with h5py.File("new.mat", "w", userblock_size=512) as file:
        stored = file.create_group("#refs#")

        def put(group, name, data, kind, **attributes):
            dataset = group.create_dataset(name, data=data)
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
            for key, value in attributes.items():
                dataset.attrs[f"MATLAB_{key}"] = value
            return dataset

        def text(words):
            return np.array([[ord(letter) for letter in word] for word in words], dtype="u2").T

        def put_cells(group, name, entries):
            references = []
            for i, entry in enumerate(entries):
                if entry is None:
                    item = put(stored, f"{name}{i}", np.zeros(2, dtype="u8"), "double", empty=1)
                elif isinstance(entry, str):
                    item = put(stored, f"{name}{i}", text([entry]), "char", int_decode=2)
                else:
                    item = put(stored, f"{name}{i}", np.array([[float(entry)]]), "double")
                references.append(item.ref)
            array = np.array([references], dtype=h5py.ref_dtype)
            cell = group.create_dataset(name, data=array, dtype=h5py.ref_dtype)
            cell.attrs["MATLAB_class"] = np.bytes_("cell")

        put(file, "spikes", R.T, "double")
        put(file, "movie", MOVIE.T, "double")
        put(file, "correct", np.array([[1, 0] * 4], dtype="u1").T, "logical", int_decode=1)
        put(file, "letters", text(["disc", "star"] * 4), "char", int_decode=2)
        put_cells(file, "angles", [*ANGLES[:7], None])
        conditions = file.create_group("conditions")
        conditions.attrs["MATLAB_class"] = np.bytes_("struct")
        fields = np.empty(3, dtype=h5py.vlen_dtype(np.dtype("S1")))
        fields[:] = [np.array([*name], dtype="S1") for name in TABLE]
        if in_order:
            conditions.attrs["MATLAB_fields"] = fields
        put_cells(conditions, "shape", SHAPES)
        put(conditions, "angle", np.array([ANGLES]), "double")
        put(conditions, "run", np.array([RUNS], dtype=float), "double")
        columns = sparse.csc_array(R)
        matrix = file.create_group("sparse")
        matrix.attrs["MATLAB_class"] = np.bytes_("double")
        matrix.attrs["MATLAB_sparse"] = np.uint64(8)
        matrix.create_dataset("data", data=columns.data)
        matrix.create_dataset("ir", data=columns.indices.astype("u8"))
        matrix.create_dataset("jc", data=columns.indptr.astype("u8"))
        complex_ = np.array(R.T, dtype=[("real", "f8"), ("imag", "f8")])
        put(file, "complex", complex_, "double")
        table = np.array([[0xDD000000, 2, 1, 1, 1, 1]], dtype="u4")
        put(file, "table", table, "table", object_decode=3)
    return "new.mat"


def test_files_of_version_7_3():
    path = v73()
    assert_same(read(f"{path}:spikes", f"{path}:conditions", groups="run"))
    assert_same(read(f"{path}:sparse", f"{path}:conditions", groups="run"))
    movie = read(f"{path}:movie", f"{path}:conditions")
    np.testing.assert_array_equal(movie.responses, MOVIE)
    for name, values in (
        ("correct", (0, 1)), ("letters", ("disc", "star")), ("conditions.shape", ("d", "s")),
    ):  # fmt: skip
        assert read(f"{path}:spikes", f"{path}:{name}").values == (values,)
    angles = read(f"{path}:spikes", f"{path}:angles", missing="drop")
    assert angles.values == ((0.0, 22.5),)
    assert angles.n_trials == 7
    assert "got complex numbers" in refusal(f"{path}:complex", f"{path}:conditions")
    assert refusal(f"{path}:spikes", f"{path}:table") == (
        "a variable is an array, a cell array or a struct; got 'table', of the kind table; in "
        "MATLAB save table2struct(t, 'ToScalar', true), cellstr(s) or double(x) in its place, or "
        "name another variable behind a colon"
    )
    assert refusal(path, f"{path}:conditions") == (
        "a file holds a single matrix of numbers, or one is named; got angles (8 x 1), complex "
        "(8 x 5), conditions.shape (8 x 1), conditions.angle (8 x 1), conditions.run (8 x 1), "
        "correct (1 x 8), letters (8), movie (8 x 5 x 3), sparse (8 x 5), spikes (8 x 5), table "
        "(table) in 'new.mat'; name it, as in new.mat:complex"
    )


def test_fields_in_the_order_of_a_file_that_has_no_other():
    path = v73(in_order=False)
    recording = read(f"{path}:spikes", f"{path}:conditions", groups="run")
    assert_same(recording, from_trials(R, TABLE[["angle", "run", "shape"]], groups="run"))


def test_version_7_3_without_h5py(monkeypatch):
    written("new.mat", b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n" + bytes(100))
    monkeypatch.setattr(
        "partwhole.recordings._matlab.find_spec", lambda name: None if name == "h5py" else name
    )
    assert refusal("new.mat") == (
        ".mat files of version 7.3 are read with the package h5py; got an installation without it, "
        "and 'new.mat'; install h5py, or save with the option -v7 in MATLAB"
    )


def test_damaged_files_of_version_7_3():
    written("new.mat", bytes(512) + b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert refusal("new.mat") == (
        "a .mat file holds variables that MATLAB saved; got a damaged file or one of another kind, "
        "'new.mat'; save it again"
    )


def test_xarray_may_not_be_installed(monkeypatch):
    written("a.nc", "x")
    monkeypatch.setattr("partwhole.recordings._containers.find_spec", lambda name: None)
    assert refusal("a.nc") == (
        ".nc files are read with the package xarray; got an installation without it, and 'a.nc'; "
        "install xarray, or save an .npy file"
    )


def test_objects_of_matlab_in_files_of_version_5():
    opaque = MatlabOpaque(np.zeros(1, dtype=[(f"s{i}", object) for i in range(3)]))
    assert _variable(opaque) == Opaque("object")
    assert _variable(cells([opaque]))[0, 0] == Opaque("object")


ENDS = ".npy, .npz, .mat, .nc, .parquet, .csv or .tsv"
SENTENCES = {
    "missing": (
        lambda: "none.npy",
        "the file of responses exists; got no file 'none.npy'; check the path",
    ),
    "missing by name": (
        lambda: "none.npz:a",
        "the file of responses exists; got no file 'none.npz'; check the path",
    ),
    "ending": (
        lambda: written("a.xlsx", "x"),
        f"the file of responses ends in {ENDS}; got 'a.xlsx'; save it in one of these forms",
    ),
    "no ending": (
        lambda: written("a", "x"),
        f"the file of responses ends in {ENDS}; got 'a'; save it in one of these forms",
    ),
    "zipped array": (
        lambda: written("a.npy.gz", "x"),
        f"the file of responses ends in {ENDS}; got 'a.npy.gz'; save it in one of these forms",
    ),
    "folder": (
        lambda: os.mkdir("a.npy") or "a.npy",
        "responses are in a file; got the folder 'a.npy'; name a file in it",
    ),
    "empty": (
        lambda: written("a.csv", ""),
        "the file of responses has entries; got 'a.csv', empty; save it again",
    ),
    "empty npy": (
        lambda: written("a.npy", ""),
        "the file of responses has entries; got 'a.npy', empty; save it again",
    ),
    "empty lines": (
        lambda: written("a.csv", "\n\n"),
        "a table has rows; got nothing in 'a.csv'; check the file",
    ),
    "names alone": (
        lambda: written("a.csv", "a,b\n"),
        "a table has rows below its first line, with names; got none in 'a.csv'; check the file",
    ),
    "text": (
        lambda: NAMED.assign(note="late").to_csv("a.csv", index=False) or "a.csv",
        "responses are numbers; got 'late' in column 5, row 0 (counted from 0, below the names if "
        "there are some) of 'a.csv'; leave columns of text out, or move them to the conditions",
    ),
    "text in one cell": (
        lambda: written("a.csv", "1,2\n3,4\n5,six\n"),
        "responses are numbers; got 'six' in column 1, row 2 (counted from 0, below the names if "
        "there are some) of 'a.csv'; leave columns of text out, or move them to the conditions",
    ),
    "text beside decimal commas": (
        lambda: written("a.csv", "1,5;2,5\n3,5;four\n"),
        "responses are numbers; got 'four' in column 1, row 1 (counted from 0, below the names if "
        "there are some) of 'a.csv'; leave columns of text out, or move them to the conditions",
    ),
    "thousands": (
        lambda: written("a.csv", "1,500;2,500\n3,500;4,500\n"),
        "numbers are written with a point, or a comma that can't be one of thousands; got commas "
        "before three digits in all of 'a.csv'; write decimals with a point, and thousands without "
        "a mark",
    ),
    "ragged": (
        lambda: written("a.csv", "1,2\n3,4\n5\n"),
        "every line has as many cells as the first; got 1 for 2 in line 3 of 'a.csv'; correct the "
        "line, or quote cells that contain a comma",
    ),
    "other bytes": (
        lambda: written("a.csv", b"\xff\xfe\x00" * 9),
        "a table of cells is text in UTF-8; got other bytes in 'a.csv'; save it again as UTF-8",
    ),
    "objects": (
        lambda: np.save("a.npy", np.array([{}]), allow_pickle=True) or "a.npy",
        "a file holds numbers, booleans or text; got an array that is not of numbers, booleans or "
        "text, in 'a.npy'; save arrays of floats, not of objects",
    ),
    "objects in an archive": (
        lambda: np.savez("a.npz", np.array([{}])) or "a.npz",
        "a file holds numbers, booleans or text; got an array that is not of numbers, booleans or "
        "text, in 'a.npz'; save arrays of floats, not of objects",
    ),
    "complex": (
        lambda: np.save("a.npy", R + 0j) or "a.npy",
        "responses are real numbers; got complex numbers; pass absolute values, or real and "
        "imaginary parts as neurons of their own",
    ),
    "complex in mat": (
        lambda: saved("a.mat", spikes=R + 1j),
        "responses are real numbers; got complex numbers; pass absolute values, or real and "
        "imaginary parts as neurons of their own",
    ),
    "several arrays": (
        lambda: np.savez("a.npz", a=R, b=R, dt=0.1) or "a.npz",
        "a file holds a single matrix of numbers, or one is named; got a (8 x 5), b (8 x 5), dt "
        "(a number) in 'a.npz'; name it, as in a.npz:a",
    ),
    "several arrays beside objects": (
        lambda: np.savez("a.npz", a=R, b=R, o=np.array([{}])) or "a.npz",
        "a file holds a single matrix of numbers, or one is named; got a (8 x 5), b (8 x 5), o (an "
        "array that is not of numbers, booleans or text) in 'a.npz'; name it, as in a.npz:a",
    ),
    "several variables": (
        lambda: saved("a.mat", a=R, s={"b": R, "c": "x"}),
        "a file holds a single matrix of numbers, or one is named; got a (8 x 5), s.b (8 x 5), s.c "
        "(1) in 'a.mat'; name it, as in a.mat:a",
    ),
    "unknown name": (
        lambda: np.savez("a.npz", a=R, b=R) or "a.npz:c",
        "the name behind the colon is that of an array of the file; got 'c', of a (8 x 5), b (8 x "
        "5) in 'a.npz'; choose one of these",
    ),
    "unknown name of a single array": (
        lambda: np.savez("a.npz", a=R) or "a.npz:c",
        "the name behind the colon is that of an array of the file; got 'c', of a (8 x 5) in "
        "'a.npz'; choose one of these",
    ),
    "unknown variable": (
        lambda: saved("a.mat", a=R) + ":b",
        "the name behind the colon is that of an array of the file; got 'b', of a (8 x 5) in "
        "'a.mat'; choose one of these",
    ),
    "damaged npy": (
        lambda: written("a.npy", "x" * 99),
        "a file holds numbers, booleans or text; got no array, in 'a.npy'; save it again",
    ),
    "damaged npz": (
        lambda: written("a.npz", "x" * 99),
        "a file holds numbers, booleans or text; got a damaged file or one of another kind, in "
        "'a.npz'; save it again",
    ),
    "damaged mat": (
        lambda: written("a.mat", "x" * 999),
        "a .mat file holds variables that MATLAB saved; got a damaged file or one of another kind, "
        "'a.mat'; save it again",
    ),
    "damaged parquet": (
        lambda: written("a.parquet", "x" * 99),
        "a .parquet file holds a table of plain columns; got something else in 'a.parquet' "
        "(ArrowInvalid); write it again",
    ),
    "damaged gzip": (
        lambda: written("a.csv.gz", "x" * 99),
        "a file holds numbers, booleans or text; got a damaged file or one of another kind, in "
        "'a.csv.gz'; save it again",
    ),
    "text in parquet": (
        lambda: TABLE.to_parquet("a.parquet") or "a.parquet",
        "responses are real numbers; got string in column 'shape'; leave it out, or move it to the "
        "conditions",
    ),
    "text in npy": (
        lambda: np.save("a.npy", np.array([SHAPES])) or "a.npy",
        "responses are real numbers; got text; convert them to an array of floats",
    ),
    "lengths": (
        lambda: np.save("a.npy", R[:6]) or "a.npy",
        "responses and conditions have a row for each trial; got 6 trials along axis 0 of "
        "responses of shape (6, 5), and 8 conditions; pass both in the same order of trials",
    ),
    "axes": (
        lambda: np.save("a.npy", R.T) or "a.npy",
        "responses and conditions have a row for each trial; got 5 trials along axis 0 of "
        "responses of shape (5, 8), and 8 conditions; pass trial_axis=1, which has 8",
    ),
    "no path": (lambda: 3, "responses is text or a PathLike; got 3; pass one of these"),
}


@pytest.mark.parametrize(("save", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_sentences_of_responses(save, sentence):
    assert refusal(save()) == sentence


def repeated_names() -> str:
    columns = [pa.array(SHAPES), pa.array(RUNS)]
    parquet.write_table(pa.Table.from_arrays(columns, names=["a", "a"]), "a.parquet")
    return "a.parquet"


TABLES = {
    "missing": (
        lambda: "none.csv",
        "the file of conditions exists; got no file 'none.csv'; check the path",
    ),
    "ending": (
        lambda: written("a.nc", "x"),
        "the file of conditions ends in .csv, .tsv, .parquet, .jsonl, .ndjson, .mat, .npy or .npz; "
        "got 'a.nc'; save it in one of these forms",
    ),
    "repeated names": (
        lambda: written("a.csv", "a,b,a\n" + "1,2,3\n" * 8),
        "columns of a table have names of their own; got 'a' 2 times in 'a.csv'; rename them in "
        "its first line",
    ),
    "repeated names in parquet": (
        repeated_names,
        "the columns of a table have names of their own; got several 'a' in 'a.parquet'; rename "
        "them",
    ),
    "names alone": (
        lambda: written("a.csv", "a,b\n"),
        "a table has rows below its first line, with names; got none in 'a.csv'; check the file",
    ),
    "empty cells": (
        lambda: written("a.csv", ",\n,\n"),
        "a table has columns; got empty cells in 'a.csv'; check the file",
    ),
    "lengths": (
        lambda: TABLE[:6].to_csv("a.csv", index=False) or "a.csv",
        "responses and conditions have a row for each trial; got 8 trials along axis 0 of "
        "responses of shape (8, 5), and 6 conditions; pass both in the same order of trials",
    ),
    "ragged": (
        lambda: written("a.csv", "a;b\n1;2\n3;4;5\n"),
        "every line has as many cells as the first; got 3 for 2 in line 3 of 'a.csv'; correct the "
        "line, or quote cells that contain a semicolon",
    ),
    "uneven arrays": (
        lambda: np.savez("a.npz", a=[1, 2], b=[1, 2, 3]) or "a.npz",
        "columns of conditions have one length; got a (2), b (3) in 'a.npz'; put them in a struct, "
        "or name an array behind a colon",
    ),
    "uneven variables": (
        lambda: saved("a.mat", a=[1, 2], b=[1, 2, 3]),
        "columns of conditions have one length; got a (1 x 2), b (1 x 3) in 'a.mat'; put them in a "
        "struct, or name an array behind a colon",
    ),
    "cells of several": (
        lambda: saved("a.mat", a=cells([np.array([1.0, 2.0])] * 8)),
        "every cell holds a single value; got a ndarray in 'condition'; spread it "
        "over columns, or turn it into text",
    ),
    "no objects in lines": (
        lambda: written("a.jsonl", '{"a": 1}\n[2]\n'),
        "a .jsonl file holds an object in each line; got something else in line 2 of 'a.jsonl'; "
        'write lines such as {"shape": "disc", "colour": "red"}',
    ),
    "no JSON in lines": (
        lambda: written("a.jsonl", '{"a": 1}\n\n{"a": \n'),
        "a .jsonl file holds an object in each line; got something else in line 3 of 'a.jsonl'; "
        'write lines such as {"shape": "disc", "colour": "red"}',
    ),
    "no lines": (
        lambda: written("a.jsonl", "\n"),
        "a table has rows; got none in 'a.jsonl'; check the file",
    ),
    "objects": (
        lambda: np.save("a.npy", np.array([{}]), allow_pickle=True) or "a.npy",
        "a file holds numbers, booleans or text; got an array that is not of numbers, booleans or "
        "text, in 'a.npy'; save arrays of floats, not of objects",
    ),
    "unknown variable": (
        lambda: saved("a.mat", c=STRUCT) + ":c.size",
        "the name behind the colon is that of an array of the file; got 'c.size', of c.shape (8 x "
        "1), c.angle (8 x 1), c.run (1 x 8) in 'a.mat'; choose one of these",
    ),
}


@pytest.mark.parametrize(("save", "sentence"), TABLES.values(), ids=TABLES)
def test_sentences_of_conditions(save, sentence):
    assert refusal(conditions=save()) == sentence


def test_files_are_bounded(monkeypatch):
    monkeypatch.setattr("partwhole._tables.MOST_TEXT", 10)
    assert refusal() == (
        f"a file holds numbers, booleans or text; got {os.path.getsize('conditions.csv')} bytes "
        "unpacked, of at most 10, in 'conditions.csv'; save it again"
    )
    np.savez_compressed("a.npz", np.zeros((1000, 10)))
    np.savez("c.npz", TABLE["run"])
    monkeypatch.setattr("partwhole.recordings._containers.MOST_UNPACKED", 1000)
    assert "80,128 bytes unpacked, of at most 1,000" in refusal("a.npz", "c.npz")


def test_many_trials():
    """Columns that number the trials are refused, and read in 20 microseconds a trial."""
    n = 200_000
    pd.DataFrame({"trial": np.arange(n), "shape": np.arange(n) % 4}).to_csv("a.csv", index=False)
    np.save("a.npy", np.arange(2.0 * n, dtype=np.float32).reshape(n, 2))
    begin = time.process_time()
    assert refusal("a.npy", "a.csv") == (
        "a condition has two trials or more; got column 'trial' with a value of its own in nearly "
        "every trial; leave it out of components=, or bin its numbers first"
    )
    assert read("a.npy", "a.csv", components=["shape"]).n_conditions == 4
    assert time.process_time() - begin < 4
