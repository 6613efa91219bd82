"""Studies by name, by file, and what is said of those that can't be imported."""

from __future__ import annotations

import sys

import pytest
import tiny_study
from study_variants import QUESTION, TOML

import partwhole_studies
from partwhole import study as frame
from partwhole._checks import InputError
from partwhole.cli import main
from partwhole.study import execution, registry
from partwhole.study.registry import short_name

GOOD = "from tiny_study import PRESETS, cell, figure, gather, numbers\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}

    def write(text: str, name: str = "my_study.py"):
        (tmp_path / name).write_text(text)
        (tmp_path / name).with_suffix(".toml").write_text(TOML)
        return tmp_path / name

    yield write
    for name in {*sys.modules} - before:
        del sys.modules[name]


def test_a_file_runs_from_any_folder(write, tmp_path, monkeypatch, capsys):
    path = write(GOOD)
    result = frame.run(path, store=tmp_path / "store", progress=False)
    assert (result.name, result.computed) == ("my_study", 12)
    with execution.spawned(1) as processes:
        other = frame.run(path, executor=processes, store=tmp_path / "other", progress=False)
    assert other.computed == 12
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    main(["run", "../my_study.py", "--store", "../store"])
    out = capsys.readouterr().out
    assert QUESTION in " ".join(out.split())
    assert "0 cells computed, 12 read" in out
    assert (tmp_path / "elsewhere" / "report" / "my_study.svg").is_file()


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        ("x = (\n", "open.py", "got SyntaxError in .*open.py, line 1: '.' was never closed"),
        (
            "import nothing_such",
            "lost.py",
            r"\(lost.py, line 1\): No module named 'nothing_such'",
        ),
        (
            "\n\n1 / 0",
            "fails.py",
            r"ZeroDivisionError .* \(fails.py, line 3\): division by zero",
        ),
        (GOOD.replace(", numbers", ""), "half.py", "got half without numbers; add what is missing"),
        (GOOD, "my-study.py", "got my-study.py; rename it, with letters, digits and underscores"),
        (
            GOOD,
            "json.py",
            r"does not share its name with another module; got json.py and .*; rename it",
        ),
    ],
)
def test_what_cannot_be_imported_is_named_with_its_line(write, text, name, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        registry.find(write(text, name))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there():
    with pytest.raises(InputError, match=r"a study's file exists; got nowhere.py; check its path"):
        registry.find("nowhere.py")


def test_names_leave_out_the_outermost_package(monkeypatch):
    assert short_name("partwhole_studies.overlap.leak_slope") == "overlap.leak_slope"
    assert short_name(tiny_study) == "tiny_study"
    monkeypatch.setattr(partwhole_studies, "STUDIES", ())
    with pytest.raises(InputError, match="none is registered; install partwhole-studies, or"):
        registry.find("leak_slope")
