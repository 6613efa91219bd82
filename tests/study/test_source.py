"""A cell's key changes with the source that computes it, and with nothing else."""

from __future__ import annotations

import sys
import types

import pytest
import tiny_study

from partwhole import study as frame
from partwhole.study.source import NO_SOURCE, fingerprint

STUDY = '''
"""What a square is."""
import numpy as np
import helpers as others
from helpers import doubled
from partwhole.limits import memorization_leak
from partwhole.study import Claim

QUESTION, SOURCE = "How large?", "arithmetic"
PRESETS = {"quick": [{"n": 2}]}
FACTOR = 3.0

def cell(config):
    """Return a square."""
    return {"y": np.array(FACTOR * doubled(config["n"]) ** others.POWER)}

def gather(cells):
    import xarray as xr
    return xr.Dataset({"y": float(cells[0][1]["y"])})

def claims(data):
    return [Claim("It is.", "here", 48.0, float(data.y), 0.0)]

def figure(data):
    return memorization_leak(0.4, n_anchors=1)
'''
HELPERS = """
POWER = 2
UNUSED = 1

def doubled(n):
    return _twice(n)

def _twice(n):
    return 2 * n
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return what writes a study with some of its text replaced, and loads it afresh."""

    def write(**replaced: tuple[str, str]) -> types.ModuleType:
        for name, text in (("square", STUDY), ("helpers", HELPERS)):
            old, new = replaced.get(name, ("", ""))
            assert old in text
            (tmp_path / f"{name}.py").write_text(text.replace(old, new))
            sys.modules.pop(name, None)
        monkeypatch.syspath_prepend(str(tmp_path))
        return frame.find(tmp_path / "square.py")

    yield write
    for name in ("square", "helpers"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("square", "FACTOR = 3.0", "FACTOR = 3.5"),
        ("square", 'config["n"])', 'config["n"] + 1)'),
        ("helpers", "POWER = 2", "POWER = 3"),
        ("helpers", "2 * n", "n + n"),
    ],
)
def test_what_the_cell_stands_on_changes_the_key(written, file, old, new):
    before = fingerprint(written())
    assert fingerprint(written(**{file: (old, new)})) != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("square", "What a square is", "What a square may be"),
        ("square", "Return a square.", "Return one."),
        ("square", '"How large?"', '"How small?"'),
        ("square", '"It is.", "here"', '"It was.", "there"'),
        ("square", "n_anchors=1", "n_anchors=2"),
        ("square", 'return {"y"', '# A comment.\n    return {  "y"'),
        ("helpers", "UNUSED = 1", "UNUSED = 2"),
    ],
)
def test_nothing_else_does(written, file, old, new):
    before = fingerprint(written())
    assert fingerprint(written(**{file: (old, new)})) == before


def test_an_edited_cell_is_computed_and_an_edited_sentence_is_not(written, tmp_path):
    root = tmp_path / "store"
    first = frame.run(written(), store=root, progress=False)
    assert (first.computed, first.claims[0].found) == (1, 48.0)
    told = frame.run(written(square=("How large?", "How?")), store=root, progress=False)
    assert (told.computed, told.read, told.claims[0].found) == (0, 1, 48.0)
    other = frame.run(written(square=("FACTOR = 3.0", "FACTOR = 1.0")), store=root, progress=False)
    assert (other.computed, other.claims[0].found) == (1, 16.0)
    assert other.data.attrs["source"] != first.data.attrs["source"]


def test_partwhole_itself_is_looked_at(monkeypatch):
    import partwhole_studies.overlap.exposure as exposure
    from partwhole.study import source

    before = fingerprint(exposure)
    read = source._read

    def changed(path, module, time):
        if module != "partwhole.limits.solvers.minimum_norm":
            return read(path, module, time)
        text = path.read_text() + "\nimport_side_effect()\n"
        return source._Source(module, module.rpartition(".")[0], text)

    monkeypatch.setattr(source, "_read", changed)
    assert fingerprint(exposure) != before
    monkeypatch.undo()
    assert fingerprint(exposure) == before


def test_a_study_without_a_file_is_never_read_from_the_store(tmp_path):
    module = types.ModuleType("typed_in")
    shared = {name: value for name, value in vars(tiny_study).items() if name[:2] != "__"}
    vars(module).update(shared)
    assert fingerprint(module) == NO_SOURCE
    for _ in range(2):
        result = frame.run(module, store=tmp_path, progress=False)
        assert (result.computed, result.read) == (12, 0)
    assert not list(tmp_path.rglob("*.npz"))
