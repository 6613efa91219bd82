"""A cell's key changes with the source that computes it, and with nothing else."""

from __future__ import annotations

import ast
import os
import sys
import types
from pathlib import Path

import pytest
import tiny_study

from partwhole import study as frame
from partwhole._checks import InputError
from partwhole.study import declaration, execution, registry
from partwhole.study.source import NO_SOURCE, _written, fingerprint, source_of

STUDY = '''
"""What a square is."""
import numpy as np
import helpers as others
from helpers import doubled
from partwhole.limits import memorization_leak
from partwhole.study import layout, mean

PRESETS = {"quick": [{"n": n} for n in (2,)]}
FACTOR = 3.0
HALF = 0.5
SHOWN = 0.4

def _once():
    return HALF + HALF

def _drawn():
    return memorization_leak(SHOWN, n_anchors=1)

def cell(config):
    """Return a square."""
    return {"y": np.array(FACTOR * _once() * doubled(config["n"]) ** others.POWER)}

def gather(cells):
    return layout(cells, {"y": ""})

def numbers(data):
    return {"square": float(data.y)}

def figure(data):
    return _drawn()
'''
TOML = """
question = "How large?"
paper = "arithmetic"
answer = "It is {square}."

[[claims]]
number = "square"
says = "It is."
reference = 48
"""
HELPERS = """
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import ndarray
POWER = 2
UNUSED = 1

def doubled(n):
    return _twice(n)

def _twice(n):
    return 2 * n

class Square:
    def area(self):
        return 4.0

    def plot(self):
        from drawing import square
        return square(self)

    def __repr__(self):
        return "Square"
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return what writes a study with some of its text replaced, and loads it afresh."""

    monkeypatch.setenv("PARTWHOLE_STORE", str(tmp_path / "kept"))

    def write(**replaced: tuple[str, str]) -> types.ModuleType:
        for name, text in (("square", STUDY), ("helpers", HELPERS)):
            old, new = replaced.get(name, ("", ""))
            assert old in text
            (tmp_path / f"{name}.py").write_text(text.replace(old, new))
            sys.modules.pop(name, None)
        old, new = replaced.get("toml", ("", ""))
        assert old in TOML
        (tmp_path / "square.toml").write_text(TOML.replace(old, new))
        monkeypatch.syspath_prepend(str(tmp_path))
        return registry.find(tmp_path / "square.py")

    yield write
    for name in ("square", "helpers"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("square", "FACTOR = 3.0", "FACTOR = 3.5"),
        ("square", 'config["n"])', 'config["n"] + 1)'),
        ("square", "return HALF + HALF", "return 2 * HALF"),
        ("square", "HALF = 0.5", "HALF = 0.25"),
        ("square", "import numpy as np", "import numpy as np\nimport gated_data"),
        ("helpers", "POWER = 2", "POWER = 3"),
        ("helpers", "2 * n", "n + n"),
        ("helpers", "UNUSED = 1", "UNUSED = 2"),
        ("helpers", "CHECKING, Any", "CHECKING, cast"),
        ("helpers", "return 4.0", "return 5.0"),
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
        ("toml", "How large?", "How small?"),
        ("helpers", "import ndarray", "import generic"),
        (
            "helpers",
            "import TYPE_CHECKING, Any\n\nif TYPE_CHECKING:\n    from numpy import ndarray",
            "import Any\n",
        ),
        ("helpers", "square(self)", "square(self, 2)"),
        ("helpers", "def plot", "def _repr_html_"),
        ("helpers", '"Square"', '"A square"'),
        ("square", '"square": float', '"square": 1 * float'),
        ("square", "import layout, mean", "import layout, proportion"),
        ("square", "n_anchors=1", "n_anchors=2"),
        ("square", "SHOWN = 0.4", "SHOWN = 0.3"),
        ("square", "return _drawn()", "return SHOWN"),
        ("square", "n in (2,)", "n in [2]"),
        ("square", 'return {"y"', '# A comment.\n    return {  "y"'),
        ("helpers", "POWER = 2", "# Of two.\nPOWER = 2"),
    ],
)
def test_nothing_else_does(written, file, old, new):
    before = fingerprint(written())
    assert fingerprint(written(**{file: (old, new)})) == before


def test_an_edited_cell_is_computed_and_an_edited_sentence_is_not(written, tmp_path):
    root = tmp_path / "store"
    first = frame.run(written(), store=root, progress=False)
    assert (first.computed, first.claims[0].value) == (1, 48.0)
    told = frame.run(written(toml=("How large?", "How?")), store=root, progress=False)
    assert (told.computed, told.read, told.claims[0].value) == (0, 1, 48.0)
    other = frame.run(written(square=("FACTOR = 3.0", "FACTOR = 1.0")), store=root, progress=False)
    assert (other.computed, other.claims[0].value) == (1, 16.0)
    assert other.data.attrs["source"] != first.data.attrs["source"]


def test_an_estimate_within_a_cell_is_part_of_its_source(written):
    estimated = written(square=("FACTOR * ", "FACTOR * mean(np.ones(2)).value * "))
    files = [module for module, _, _ in source_of(estimated).files]
    assert "partwhole.study.estimates" in files
    assert "partwhole.study.estimates" not in [m for m, _, _ in source_of(written()).files]


def test_partwhole_itself_is_looked_at(monkeypatch):
    import partwhole_studies.overlap.exposure as exposure
    from partwhole.study import source

    before, whole = source._read(exposure), source._whole

    def edited(path, time, module):
        text, names = whole(path, time, module)
        return text + "x" * (module == "partwhole.limits.solvers.minimum_norm"), names

    monkeypatch.setattr(source, "_whole", edited)
    assert source._read(exposure).digest != before.digest
    monkeypatch.undo()
    assert source._read(exposure) == before
    names = {module for module, _, _ in before.files}
    assert {"partwhole.tasks.toys", "partwhole.features.overlap", "partwhole_studies"} <= names
    assert not {name for name in names if name.startswith(("partwhole.study", "partwhole.cli"))}


@pytest.mark.parametrize(("imports", "covered", "left_out"), [
    # A name of partwhole itself, of a room, of a folder in a room, and a room as a whole.
    ("from partwhole import solve", "limits.solvers.minimum_norm", "limits.addition"),
    ("from partwhole import compare", "comparison", "atlas.overview"),
    ("from partwhole.measures import slope", "measures.slope", "measures.readouts.resolvent"),
    ("from partwhole.measures.readouts import SVM", "measures.readouts.svm", "measures.swing"),
    ("from partwhole import measures", "measures.readouts.resolvent", "atlas.overview"),
    ("import partwhole.measures as m", "measures.readouts.resolvent", "atlas.overview"),
    ("import partwhole as pw", "atlas.overview", "study.report"),
    ("from partwhole.training import train", "training.train", "_progress"),
    ("from partwhole.training import train", "training.train", "_extras"),
    # Lists of names compute nothing, also where they ask for packages.
    ("from partwhole.training import train", "training.train", "training"),
    ("from partwhole.training import Runs", "training.results", "training"),
    ("from partwhole import train", "training.train", "training"),
    ("from partwhole.flows import Tied", "flows.tied", "flows.deep"),
])  # fmt: skip
def test_of_a_room_those_modules_count_whose_names_are_imported(
    written, imports, covered, left_out
):
    study = written(square=("import numpy as np", f"import numpy as np\n{imports}"))
    names = {module for module, _, _ in source_of(study).files}
    assert f"partwhole.{covered}" in names
    assert ("partwhole" in names) == (imports == "import partwhole as pw")
    assert f"partwhole.{left_out}" not in names


def test_where_a_name_is_imported_from_does_not_matter(written):
    def digest(imports: str) -> str:
        return fingerprint(written(square=("import numpy as np", f"import numpy as np\n{imports}")))

    same = {
        digest("from partwhole import solve\nfrom partwhole.measures import slope"),
        digest("from partwhole.measures.slope import slope\nfrom partwhole.limits import solve"),
        digest("from partwhole.limits.solve import solve\nfrom partwhole.measures import slope"),
    }
    assert len(same) == 1
    for other in ("accuracy as slope", "slope as accuracy", "slope, swing"):
        assert (
            digest(f"from partwhole import solve\nfrom partwhole.measures import {other}")
            not in same
        )


LATE = """
import contextlib
from partwhole.study import layout
{imports}
PRESETS = {{"quick": [{{}}]}}

def cell(config):
    {first}
    return {{"y": np.array({value})}}

def gather(cells):
    return layout(cells, {{"y": ""}})

def numbers(data):
    return {{"square": float(data.y)}}

def figure(data):
    pass
"""


@pytest.mark.parametrize(
    ("imports", "first", "value"),
    [
        ("try:\n    import late as h\nexcept ImportError:\n    h = None", "", "h.V"),
        ("with contextlib.suppress(ImportError):\n    from late import V", "", "V"),
        ("try:\n    from late import *\nexcept ImportError:\n    V = 0", "", "V"),
        ("from late import T\nT['a'] = T['a'] + 1", "", "T['a']"),
        ("import late\nlate.V += 1", "", "late.V"),
        ("from folder import inner", "", "inner.V"),
        ("import folder.inner", "", "folder.inner.V"),
        ("import os\nimport folder.inner", "", "os.environ['OF_INNER']"),
        ("", "import late", "late.V"),
        ("", "from folder.inner import V", "V"),
    ],
)  # fmt: skip
def test_any_way_to_import_is_seen(tmp_path, monkeypatch, imports, first, value):
    """And a study that is edited while a process runs is imported anew, with what is beside it."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("OF_INNER", raising=False)
    (tmp_path / "folder").mkdir()
    path = tmp_path / "late_study.py"
    values = []
    for v in (1.0, 20.0):
        text = f"import os\nV = {v}\nT = {{'a': {v}}}\nos.environ['OF_INNER'] = '{v}'\n"
        (tmp_path / "late.py").write_text(text)
        (tmp_path / "folder" / "inner.py").write_text(text)
        given = LATE.format(imports="import numpy as np\n" + imports, first=first or "pass",
                            value=f"float({value})")  # fmt: skip
        path.write_text(given)
        path.with_suffix(".toml").write_text(TOML)
        result = frame.run(path, store=tmp_path / "store", progress=False)
        assert result.computed == 1
        values.append(result.claims[0].value)
    assert values[1] - values[0] == 19.0


def test_helpers_of_one_name_in_two_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    paths = []
    for v in (10.0, 20.0):
        folder = tmp_path / f"{v:g}"
        folder.mkdir()
        (folder / "common.py").write_text(f"V = {v}")
        text = LATE.format(
            imports="import numpy as np\nfrom common import V", first="pass", value="V"
        )
        paths.append(folder / f"study_{v:g}.py")
        paths[-1].write_text(text)
        paths[-1].with_suffix(".toml").write_text(TOML)
    for _ in range(2):
        found = [frame.run(each, store=tmp_path / "store", progress=False) for each in paths]
        assert [each.claims[0].value for each in found] == [10.0, 20.0]
    with execution.spawned(1) as processes:
        found = [
            frame.run(each, executor=processes, store=tmp_path / "other", progress=False)
            for each in paths
        ]
    assert [each.claims[0].value for each in found] == [10.0, 20.0]


def test_a_module_that_was_edited_since_is_refused(written):
    study = written()
    frame.run(study, progress=False)
    path = Path(study.__file__).with_name("helpers.py")
    path.write_text(path.read_text() + "MORE = 1\n")
    os.utime(path, ns=(1, 1))
    with pytest.raises(
        InputError, match=r"not edited after their import; got .*helpers.py, which was ed"
    ):
        frame.run(study, progress=False)
    assert frame.run(path.with_name("square.py"), progress=False).claims[0].value == 48.0


def test_an_edit_while_cells_wait_is_refused(written, tmp_path):
    study = written()
    path = Path(study.__file__)
    with execution.spawned(1) as processes:
        begun = execution.submit(study, executor=processes, store=tmp_path / "store")
        first = begun.futures[0].exception() or begun.futures[0].result()
        path.write_text(path.read_text() + "MORE = 1\n")
        os.utime(path, ns=(1, 1))
        again = processes.submit(begun.work, {"n": 3}).exception()
    assert first.computed
    assert "which was edited; import it again" in str(again)


def test_a_study_without_a_file_is_never_read_from_the_store(tmp_path):
    module = types.ModuleType("typed_in")
    shared = {name: value for name, value in vars(tiny_study).items() if name[:2] != "__"}
    vars(module).update(shared)
    assert fingerprint(module) == NO_SOURCE
    with pytest.raises(InputError, match="a Declaration; got none in typed_in; assign it to the n"):
        frame.run(module, store=tmp_path, progress=False)
    module.DECLARATION = declaration.declared(tiny_study)
    for _ in range(2):
        result = frame.run(module, store=tmp_path, progress=False)
        assert (result.computed, result.read) == (12, 0)
    assert not list(tmp_path.rglob("*.npz"))


def test_a_tree_is_written_alike_by_every_version_of_python():
    # Versions differ in quotes within strings, in empty fields, and in empty pieces of strings.
    written = "FormattedValue(value=Name(id='x', ctx=Load()), conversion=-1"
    for piece, spec in (("'{x}'", ""), ('"{x}"', ""), ("'{x:>{n}}'", ">{n}")):
        (statement,) = ast.parse(f"f{piece}").body
        text = f"Expr(value=JoinedStr([{written}"
        if spec:
            inner = "FormattedValue(value=Name(id='n', ctx=Load()), conversion=-1)"
            text += f", format_spec=JoinedStr([Constant(value='>'), {inner}])"
        assert _written(statement) == f"{text})]))"
    (function,) = ast.parse("def f():\n    pass").body
    assert _written(function) == "FunctionDef(name='f', args=arguments(), body=[Pass()])"
    string = ast.JoinedStr([ast.Constant("a"), ast.Constant("")])
    assert _written(string) == "JoinedStr([Constant(value='a')])"
