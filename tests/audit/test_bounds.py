"""Bounds on what a file unpacks to, and files that are damaged or hostile."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from audit_tables import read_table

from partwhole._checks import InputError
from partwhole.audit import audit_split
from partwhole.audit.reading import sources

FRAME = pd.DataFrame(
    {"a": list("ppqq"), "b": list("rsrs"), "y": [0, 1, 1, 2], "s": ["train"] * 3 + ["test"]}
)
ROLES = (["a", "b"], "y", "s")


def test_a_compressed_file_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    # Members of such a file follow one another; as many as unpack to 648 MB.
    rows = gzip.compress(b"p,r,1,train\n" * 900_000, 9)
    path.write_bytes(gzip.compress(b"a,b,y,s\n") + 60 * rows)
    assert path.stat().st_size < 3e6
    tracemalloc.start()
    with pytest.raises(InputError) as caught:
        read_table(path, *ROLES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value) == (
        "a table's file has at most 512 MiB, unpacked; got more in 'bomb.csv.gz'; audit a part of "
        "it, or give a DataFrame"
    )
    assert peak < 1.2 * sources.MOST_BYTES


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_rows_and_bytes_are_bounded_in_every_form(tmp_path, monkeypatch, name):
    path = tmp_path / name
    if name == "t.parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False)
    assert len(read_table(path, *ROLES).split) == 4
    monkeypatch.setattr(sources, "MOST_ROWS", 3)
    what = "rows" if name == "t.parquet" else "lines"
    with pytest.raises(InputError, match=f"^a table's file has at most 3 {what}; got 4 in '{name}"):
        read_table(path, *ROLES)
    monkeypatch.setattr(sources, "MOST_ROWS", 4)
    monkeypatch.setattr(sources, "MOST_COLUMNS", len(FRAME.columns) - 1)
    with pytest.raises(InputError, match=rf"at most \d columns; got \d in '{name}'; audit a part"):
        read_table(path, *ROLES)
    monkeypatch.setattr(sources, "MOST_COLUMNS", len(FRAME.columns))
    monkeypatch.setattr(sources, "MOST_BYTES", 40)
    with pytest.raises(InputError, match=f"MiB, unpacked; got more in '{name}'; audit a part"):
        read_table(path, *ROLES)


def test_a_parquet_file_of_one_row_repeated_is_refused_at_once(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    long = pa.array(["x" * 100_000] * 200).dictionary_encode().cast(pa.string())
    table = pa.table({"a": long, "b": long, "y": pa.array([1] * 200), "s": long})
    path = tmp_path / "bomb.parquet"
    parquet.write_table(table, path, compression="gzip")
    assert path.stat().st_size < 20_000
    batches = []
    plain = sources._require_size
    monkeypatch.setattr(sources, "BATCH", 10)
    monkeypatch.setattr(sources, "MOST_BYTES", 5_000_000)

    def noted(size, name):
        batches.append(size)
        plain(size, name)

    monkeypatch.setattr(sources, "_require_size", noted)
    with pytest.raises(InputError, match=r"MiB, unpacked; got more in 'bomb\.parquet'"):
        read_table(path, *ROLES)
    # 2 MB at a time, and no further than the bound.
    assert len(batches) <= 4


@pytest.mark.parametrize("seed", range(20))
def test_damaged_features_are_one_sentence(tmp_path, seed):
    rng = np.random.default_rng(seed)
    buffer = io.BytesIO()
    np.save(buffer, rng.normal(size=(4, 3)))
    whole = bytearray(buffer.getvalue())
    path = tmp_path / "f.npy"
    for _ in range(20):
        damaged = whole.copy()
        for _ in range(int(rng.integers(1, 5))):
            damaged[int(rng.integers(0, 128))] = int(rng.integers(0, 256))
        path.write_bytes(damaged[: int(rng.integers(1, len(damaged) + 1))])
        # What is still whole is read; any other error than a sentence fails here.
        with suppress(InputError):
            read_table(FRAME, *ROLES, features=path)


def header(text: str) -> bytes:
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 1000000000000)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4, -3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 40 + ")" * 40 + "}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3L)",
        "{'descr': '|O', 'fortran_order': False, 'shape': (4, 3)}",
        "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (4, 3)}",
        "no header",
    ],
)
def test_hostile_headers_are_one_sentence_and_no_memory(tmp_path, text):
    path = tmp_path / "f.npy"
    path.write_bytes(header(text) + bytes(96))
    with pytest.raises(InputError):
        read_table(FRAME, *ROLES, features=path)


def test_several_arrays_are_no_features(tmp_path):
    path = tmp_path / "f.npy"
    with path.open("wb") as file:
        np.savez_compressed(file, x=np.zeros((4, 100)))
    with pytest.raises(InputError, match=r"^a \.npy file holds one array; got several in "):
        read_table(FRAME, *ROLES, features=path)


def test_a_mask_is_not_lost():
    masked = np.ma.masked_array(np.arange(8.0).reshape(4, 2), mask=np.eye(4, 2, dtype=bool))
    with pytest.raises(
        InputError, match=r"^features are present in every row; got a masked array, "
    ):
        read_table(FRAME, *ROLES, features=masked)


@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_a_frame_of_nothing_held_out_is_empty(kind):
    frame = FRAME.assign(a="p", b=list("rrss"), s=["train", "test"] * 2)
    frame.loc[0, "a"] = frame.loc[1, "a"] = "q"
    frame["y"] = ["x", "x", "z", "z"] if kind == "labels" else [1.0, 1.0, 2.0, 2.0]
    report = audit_split(frame, *ROLES, target_kind=kind)
    assert report.headline == "No combination is held out: training has all of them"
    found = report.evidence[0].to_frame()
    assert len(found) == 0
    assert list(found.columns)[:4] == ["a", "b", "target", "prediction"]
