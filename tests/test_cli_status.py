"""How the command ends: a status for each kind of ending, and no raw error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from split_tables import cross, total

from partwhole.cli import main
from partwhole.cli.streams import inert

ASKED = ["--components", "first", "second", "--target", "target", "--split", "split"]
COMMAND = f"{sys.executable} -m partwhole audit"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cross(total).to_csv("good.csv", index=False)
    cross(total, lambda a, b: a * b).to_csv("bad.csv", index=False)
    return tmp_path


def status(*argv: str) -> int:
    code = 0
    try:
        main(["audit", *argv])
    except SystemExit as left:
        code = left.code
    assert isinstance(code, int)
    return code


def shell(line: str) -> tuple[int, str]:
    """Return the status of a line of Bash, with that of a pipe's first part, and its errors."""
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ZeroDivisionError("division by\nzero"), "ZeroDivisionError: division by zero (test_cli"),
        (RecursionError("too deep"), "RecursionError: too deep (test_cli"),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), "UnicodeEncodeError: "),
        (MemoryError(), "the memory of this machine did not suffice, so nothing can be concluded"),
    ],
)
def test_a_fault_of_ours_has_a_status_of_its_own(folder, capsys, monkeypatch, error, sentence):
    def fail(*_args, **_options):
        raise error

    monkeypatch.setattr("partwhole.audit.audit_split", fail)
    assert status("good.csv", *ASKED, "--json", "a.json") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("partwhole: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert "nothing can be concluded" in err
    assert not Path("a.json").exists()


@pytest.mark.parametrize(("table", "code"), [("good.csv", 0), ("bad.csv", 1)])
def test_a_reader_that_leaves_changes_no_verdict(folder, table, code):
    line = f"{COMMAND} {table} {' '.join(ASKED)} --json a.json | true; exit ${{PIPESTATUS[0]}}"
    assert shell(line) == (code, "")
    assert Path("a.json").exists()


@pytest.mark.parametrize(
    ("closed", "table", "code"),
    [
        ("2>&-", "bad.csv", 1),
        ("2>&-", "none.csv", 2),
        (">&- 2>&-", "good.csv", 0),
        (">&- 2>&-", "none.csv", 2),
        ("2>/dev/full", "none.csv", 2),
    ],
)
def test_closed_streams_change_no_status(folder, table, code, closed):
    assert shell(f"{COMMAND} {table} {' '.join(ASKED)} {closed}")[0] == code


def test_words_that_are_no_option_end_with_2_where_nobody_listens(folder):
    assert shell(f"{COMMAND} good.csv --componets a 2>&-")[0] == 2


def test_output_that_can_not_be_written_is_no_verdict(folder):
    code, told = shell(f"{COMMAND} good.csv {' '.join(ASKED)} > /dev/full")
    assert code == 2
    assert told == "partwhole: No space left on device\n"


def test_other_commands_end_with_141_when_their_reader_leaves():
    line = f"{sys.executable} -m partwhole cite | true; exit ${{PIPESTATUS[0]}}"
    assert shell(line) == (141, "")


def test_file_names_that_are_not_utf_8(folder, capsys):
    name = os.fsdecode(b"t\xff\xe4.csv")
    os.rename("good.csv", name)
    assert status(name, *ASKED, "--sarif", "a.sarif", "--html", "a.html", "--json", "a.json") == 0
    assert '"uri": "t%FF%E4.csv"' in Path("a.sarif").read_text()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("coverage = 1" + "0" * 400, "coverage is a whole number of combinations, 0 or more; got "),
        ("determined = -1" + "0" * 400, "determined is a share from 0 to 1; got -1000"),
        (
            "leak_slope = 0x1" + "0" * 5000,
            "leak_slope is a number, 0 or more; got a whole number of over",
        ),
        ("coverage = 1" + "0" * 5000, "settings are short numbers and texts; got too many digits"),
        (
            f"coverage = {'[' * 5000}",
            "settings are short numbers and texts; got too many nested",
        ),
        ("coverage = inf", "coverage is a whole number of combinations, 0 or more; got inf; "),
        ("leak_slope = nan", "leak_slope is a number, 0 or more; got nan; "),
    ],
)
def test_numbers_and_brackets_without_end_in_a_configuration(folder, capsys, text, sentence):
    Path("audit.toml").write_text(f"[thresholds]\n{text}\n")
    assert status("good.csv", *ASKED, "--config", "audit.toml") == 2
    err = capsys.readouterr().err
    assert err.startswith(f"partwhole: {sentence}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("::stop-commands::x", "\\::stop-commands::x"),
        ("a\n  ::error::b", "a\n  \\::error::b"),
        ("a ##vso[task.x]", "a #\\#vso[task.x]"),
        ("##[group]b ##teamcity[x]", "#\\#[group]b #\\#teamcity[x]"),
        ("std::vector # [1]", "std::vector # [1]"),
    ],
)
def test_orders_to_build_servers_are_made_inert(text, safe):
    assert inert(text) == safe


def test_a_table_gives_no_orders_to_build_servers(folder, capsys):
    frame = cross(total)
    order = "::stop-commands::" + "x" * 30
    frame["first"] = [f"{order} ##vso[task.setvariable]{entry}" for entry in frame["first"]]
    frame["second"] = ["::set-env::" + str(entry) for entry in frame["second"]]
    frame.loc[24, "second"] = "::set-env::unseen"
    frame.to_csv("orders.csv", index=False)
    assert status("orders.csv", *ASKED, "--html", "::a.html") in (0, 1)
    out = capsys.readouterr().out
    assert "::stop-commands::" in out
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())
    assert "##vso" not in out
    assert status("::none.csv", *ASKED, "--test", "\n::error::x") == 2
    assert not any(line.startswith("::") for line in capsys.readouterr().err.splitlines())
