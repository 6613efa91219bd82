"""Large JSON by parts against the whole of it; pickles of plain lists, and of nothing else."""

from __future__ import annotations

import json
import os
import pickle
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.atlas import files
from partwhole.atlas.files import json_items, read_pickle, walk

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@settings(max_examples=25)
@given(st.lists(VALUES), st.integers(1, 9), st.sampled_from([None, 1]))
def test_an_array_in_small_pieces_is_the_array(tmp_path_factory, entries, piece, indent):
    path = tmp_path_factory.mktemp("json") / "array.json"
    path.write_text(json.dumps(entries, indent=indent, ensure_ascii=False), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "PIECE", piece)
        assert [entry for _, entry in json_items(path)] == entries


@settings(max_examples=25)
@given(st.dictionaries(st.text(), st.lists(VALUES)), VALUES, st.integers(1, 9))
def test_arrays_under_a_key_come_with_their_names(tmp_path_factory, parts, other, piece):
    path = tmp_path_factory.mktemp("json") / "object.json"
    path.write_text(json.dumps({"first": other, "examples": parts, "last": other}), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "PIECE", piece)
        entries = list(json_items(path, "examples"))
    assert entries == [(name, entry) for name, rows in parts.items() for entry in rows]


@pytest.mark.parametrize("text", ["", "[1, 2", "{", '{"a": [1, }', "[1 2]", "[1, 2]]]"[:4], "no"])
def test_damaged_json_is_refused(tmp_path, text):
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"^broken.json is JSON; got other text, or a part of it"):
        list(json_items(path))


def test_a_pickle_that_would_run_something_is_refused_and_does_not_run(tmp_path):
    class Command:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    path = tmp_path / "bad.t7"
    path.write_bytes(pickle.dumps([Command()]))
    with pytest.raises(InputError, match=r"plain lists, dicts and text.*got an object of posix"):
        read_pickle(path)
    assert not (tmp_path / "made").exists()


def test_an_archive_without_objects_is_refused(tmp_path):
    path = tmp_path / "empty.t7"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/version", "3")
    with pytest.raises(InputError, match="got something else; use the lists of pairs"):
        read_pickle(path)


def test_only_a_folder_is_walked(tmp_path):
    with pytest.raises(InputError, match="an atlas is made of a folder"):
        walk(tmp_path / "absent")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.txt").touch()
    (tmp_path / "c.txt").touch()
    assert [path.name for path in walk(tmp_path)] == ["c.txt", "a.txt"]
