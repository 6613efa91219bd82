"""Every write, rename and fsync fails in turn: what is there is whole, and the user is told."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_study
import xarray as xr
from faults import failing

import partwhole_studies
from partwhole import store
from partwhole._writing import WriteError, write_all
from partwhole.audit.outputs import files
from partwhole.cli import main
from partwhole.study import declaration, report
from partwhole.study import figure as figures
from partwhole.study.declaration import Findings
from partwhole.study.execution import Result
from partwhole.study.figure import save_figure

# A disk is full and stays so, or fails once.
FAULTS = [(errno.ENOSPC, True), (errno.EIO, False)]


class Writes:
    """Write something, first in an older and then in a newer form."""

    def __init__(self, write: Callable[[Path, int], object], *names: str) -> None:
        self.write, self.names = write, names

    def there(self, folder: Path) -> list[bytes | None]:
        """Return what is under each of the final names."""
        paths = [folder / name for name in self.names]
        return [path.read_bytes() if path.exists() else None for path in paths]


def cell(folder: Path, age: int) -> None:
    cell = store.cell("s", {"a": age}, lambda: arrays(age), source="1", root=folder)
    np.testing.assert_array_equal(cell["y"], arrays(age)["y"])


def arrays(age: int) -> dict[str, np.ndarray]:
    return {"y": np.arange(4000.0) + age, "words": np.array(["a", "b"])}


def cell_for_a_damaged_one(folder: Path, age: int) -> None:
    home = folder / "s" / store.digest("s", {"a": 0}, source="1")
    if age and (home / "arrays.npz").exists():
        held = bytearray((home / "arrays.npz").read_bytes())
        held[-200] ^= 1
        with os.fdopen(os.open(home / "arrays.npz", os.O_WRONLY), "wb") as file:
            file.write(held)
    cell(folder, 0)


def figure(folder: Path, age: int) -> None:
    data = xr.Dataset({"y": ("n", np.arange(500.0) + age)})
    findings = Findings("", "", (), ())
    result = Result(
        "study", tiny_study, declaration.declared(tiny_study), "", data, findings, float(age), 0, 0
    )
    save_figure(result, folder)


def page(folder: Path, age: int) -> None:
    report.write_report([], folder, preset=f"age{age}" * 100, progress=False)


def outputs(folder: Path, age: int) -> None:
    names = ("audit.json", "audit.html", "audit.sarif", "audit.xml")
    files.write_all({folder / name: f"{name} {age}" * 500 for name in names})


KINDS = {
    "figure": Writes(figure, "study.svg", "study.nc"),
    "page": Writes(page, "index.html"),
    "audit": Writes(outputs, "audit.json", "audit.html", "audit.sarif", "audit.xml"),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Draw nothing: only what is written counts here."""
    monkeypatch.setattr(
        figures, "render", lambda result, format: f"<svg>{result.seconds}</svg>".encode() * 400
    )
    monkeypatch.setattr(report, "render", lambda result: b"<svg></svg>")
    monkeypatch.setattr(
        report, "site", lambda entries, figures, preset, seconds: {"index.html": f"<p>{preset}</p>"}
    )


def told(error: OSError, number: int, folder: Path) -> None:
    """Check that an error is one sentence that names the path and the remedy."""
    sentence = str(error)
    assert isinstance(error, WriteError), repr(error)
    assert sentence.startswith("a result is written whole or not at all; got ")
    assert f"{os.strerror(number)} at {folder}" in sentence
    assert sentence.endswith(" and try again")
    assert sentence.count("\n") == 0


@pytest.mark.parametrize(("number", "stays"), FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_old_or_new_whatever_fails(tmp_path, kind, number, stays):
    case = KINDS[kind]
    forms = []
    (tmp_path / "whole").mkdir()
    for age in (0, 1):
        case.write(tmp_path / "whole", age)
        forms.append(case.there(tmp_path / "whole"))
    (tmp_path / "count").mkdir()
    case.write(tmp_path / "count", 0)
    with failing(tmp_path / "count") as disk:
        case.write(tmp_path / "count", 1)
    assert disk.done.count("write") == disk.done.count("replace") == len(case.names)
    assert disk.done.count("fsync") == 2 * len(case.names)
    failures = 0
    for at in range(len(disk.done)):
        folder = tmp_path / str(at)
        folder.mkdir()
        case.write(folder, 0)
        try:
            with failing(folder, at, number, stays=stays):
                case.write(folder, 1)
        except OSError as error:
            failures += 1
            told(error, number, folder)
        for there, *either in zip(case.there(folder), *forms, strict=True):
            assert there in either, (at, disk.done[at])
        case.write(folder, 1)
        assert case.there(folder) == forms[1]
        assert sorted(os.listdir(folder)) == sorted(case.names), (at, disk.done[at])
    assert failures >= 3 * len(case.names)


@pytest.mark.parametrize(("number", "stays"), FAULTS)
@pytest.mark.parametrize("write", [cell, cell_for_a_damaged_one])
def test_cells_are_whole_or_absent_whatever_fails(tmp_path, write, number, stays):
    write(tmp_path / "count", 0)
    with failing(tmp_path / "count") as disk:
        write(tmp_path / "count", 1)
    assert {"open", "flock", "write", "fsync", "rename", "mkdir"} <= set(disk.done)
    failures = 0
    for at in range(len(disk.done)):
        folder = tmp_path / str(at)
        write(folder, 0)
        try:
            with failing(folder, at, number, stays=stays):
                write(folder, 1)
        except OSError as error:
            failures += 1
            told(error, number, folder)
        wanted = {"a": 0} if write is cell_for_a_damaged_one else {"a": 1}
        for found in store.stored_cells(folder):
            # A whole cell is read; one that is not, which only damage made, is set aside.
            age = found.config["a"]
            again = store.cell("s", {"a": age}, lambda n=age: arrays(n), source="1", root=folder)
            np.testing.assert_array_equal(again["y"], arrays(age)["y"])
        write(folder, 1)
        assert store.holds("s", wanted, source="1", root=folder)
        store.sweep("s", folder)
        assert not [name for name in os.listdir(folder / "s") if name.endswith("partial")]
    assert failures >= 8


def test_what_a_killed_process_left_is_swept_and_what_another_writes_is_not(tmp_path):
    from partwhole._writing import _temporary

    (tmp_path / ".page.html.0123abcd.partial").write_text("half")
    (tmp_path / ".other.html.0123abcd.partial").write_text("half")
    path, file = _temporary(tmp_path / "page.html")
    write_all({tmp_path / "page.html": b"whole"})
    assert sorted(os.listdir(tmp_path)) == sorted(
        [".other.html.0123abcd.partial", path.name, "page.html"]
    )
    file.close()


def test_rights_and_links_stay(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_all({tmp_path / "link": b"new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("command", ["run", "report"])
def test_a_full_disk_is_one_sentence_of_the_command(tmp_path, monkeypatch, capsys, command):
    monkeypatch.setattr(partwhole_studies, "STUDIES", ("tiny_study",))
    argv = ["run", "tiny_study"] if command == "run" else ["report"]
    argv += ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    with failing(tmp_path, 20, stays=True), pytest.raises(SystemExit) as left:
        main(argv)
    error = capsys.readouterr().err
    named = [line for line in error.splitlines() if line.startswith("partwhole: ")]
    assert len(named) == 1
    assert f"got No space left on device at {tmp_path}" in named[0]
    assert named[0].endswith("free space on its disk and try again")
    assert left.value.code == 2
