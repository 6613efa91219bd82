"""The command `partwhole audit`: what it prints, writes and refuses, and how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from split_tables import cross, rows, total

from partwhole.audit import audit_split
from partwhole.audit.outputs.files import write_all
from partwhole.audit.rules import RULES
from partwhole.cli import main

ROLES = ["--components", "first", "second", "--target", "target"]
ASKED = ["table.csv", *ROLES, "--split", "split"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cross(total).to_csv("table.csv", index=False)
    cross(total, lambda a, b: a * b).to_csv("bad.csv", index=False)
    (tmp_path / "folder").mkdir()
    np.save("folder/gaps.npy", np.where(np.eye(25), np.nan, 1.0))
    return tmp_path


def ended(*argv: str) -> int:
    """Return the exit status of a command."""
    code = 0
    try:
        main(["audit", *argv])
    except SystemExit as left:
        code = left.code
    assert isinstance(code, int)
    return code


def test_a_supported_split_ends_with_0(folder, capsys):
    assert ended(*ASKED) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        "Supported if parts add up (order 1).\nNo errors, 1 warning.\ntable.csv: 25 rows; "
    )
    assert err == ""
    # CSV values are text, sorted as numbers: the report is that of the function.
    report = audit_split("table.csv", ["first", "second"], "target", "split")
    # Without the seconds, which end the row of each order.
    texts = [re.sub(r"(?m)( %) +\d+\.\d$", r"\1", text) for text in (out, report.to_text())]
    assert "100 %\n" in texts[0]
    assert texts[0].split("Took")[0] == texts[1].split("Took")[0]


def test_an_unsupported_split_ends_with_1(folder, capsys):
    assert ended("bad.csv", *ASKED[1:]) == 1
    assert "ERROR  not-solvable" in capsys.readouterr().out


def test_the_process_ends_with_its_status_and_draws_nothing(folder):
    asked = [[*ASKED, "--html", "a.html"], ["bad.csv", *ASKED[1:]], ["none.csv", *ASKED[1:]]]
    # Two more in the process that the third status ends: its imports take 1.3 s.
    probe = (
        "import sys\nfrom partwhole.cli import main\n"
        f"for status, argv in enumerate({asked}):\n"
        "    try: main(['audit', *argv])\n"
        "    except SystemExit as left: assert left.code == status, left.code\n"
        "    else: assert status == 0\n"
        "    heavy = {'matplotlib', 'sklearn', 'xarray', 'jax', 'scipy.stats'} & set(sys.modules)\n"
        "    assert not heavy, heavy\n"
        "main(['audit', *argv])\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, timeout=60)
    assert b"Traceback" not in done.stderr, done.stderr
    assert done.returncode == 2


def test_every_form_is_written(folder, capsys):
    forms = ["--json", "a.json", "--html", "a.html", "--sarif", "a.sarif", "--junit", "a.xml"]
    assert ended("bad.csv", *ASKED[1:], *forms) == 1
    out = capsys.readouterr().out
    assert out.endswith("JSON: a.json\nHTML: a.html\nSARIF: a.sarif\nJUNIT: a.xml\n")
    assert json.loads(Path("a.json").read_text())["verdict"] == "unsupported"
    assert Path("a.html").read_text().lower().startswith("<!doctype html>")
    assert json.loads(Path("a.sarif").read_text())["version"] == "2.1.0"
    assert ElementTree.parse("a.xml").getroot().tag == "testsuites"
    names = ["a.html", "a.json", "a.sarif", "a.xml", "bad.csv", "folder", "table.csv"]
    assert sorted(os.listdir()) == names
    # A new file has the rights that any new file has, and one that was there keeps its own.
    Path("plain").write_text("")
    assert Path("a.json").stat().st_mode == Path("plain").stat().st_mode
    Path("a.json").chmod(0o640)
    assert ended(*ASKED, "--json", "a.json") == 0
    assert Path("a.json").stat().st_mode & 0o777 == 0o640
    assert json.loads(Path("a.json").read_text())["verdict"] == "supported"


def test_the_rules_are_printed(folder, capsys):
    assert ended("--rules") == 0
    out = capsys.readouterr().out
    assert all(f"{rule}  (" in out for rule in RULES)
    assert "coverage = 3" in out
    Path("audit.toml").write_text("[thresholds]\ncoverage = 9\n")
    assert ended("--rules", "--config", "audit.toml") == 0
    assert "coverage = 9" in capsys.readouterr().out


def test_settings_change_the_verdict(folder, capsys):
    Path("audit.toml").write_text('[silence]\nnot-solvable = "we test a network"\n')
    plain = ended("bad.csv", *ASKED[1:])
    capsys.readouterr()
    assert plain == 1
    ended("bad.csv", *ASKED[1:], "--config", "audit.toml")
    out = capsys.readouterr().out
    assert "SILENCED  not-solvable" in out
    assert "Silenced: we test a network" in out


def test_options_reach_the_audit(folder, capsys):
    grid = cross(total).assign(weight=2.0, fx=1.0, fy=2.0, where="a")
    grid.loc[grid["split"] == "test", "where"] = "b"
    grid.loc[:2, "where"] = "c"
    grid["fx"] = grid["first"]
    grid["label"] = ["up" if value > 0 else "down" for value in grid["target"]]
    grid.to_csv("wide.csv", index=False)
    argv = "wide.csv --components first second --target label --split where --train a --test b"
    argv += " --require-order 1 --noise 0.1 --weights weight --feature-columns fx fy --fit margin"
    argv += " --add 1 --seed 3"
    argv += " --duplicates refuse --time-limit 5 --target-kind labels --json a.json"
    assert ended(*argv.split()) in (0, 1)
    told = json.loads(Path("a.json").read_text())
    assert (told["fit"], told["train"], told["labels"]) == ("margin", "a", ["down", "up"])
    (split,) = told["splits"]
    assert split["name"] == "b"
    assert len(split["additions"]["steps"]) <= 1
    held = "table.csv --components first second --target target --hold-out combinations"
    assert ended(*held.split(), "--share", "0.4", "--json", "b.json") in (0, 1)
    (split,) = json.loads(Path("b.json").read_text())["splits"]
    assert split["held_out"] == 10


REFUSED = {
    "": "an audit needs a table; got none; name a .csv, .tsv, .txt, .jsonl or .parquet file, or "
    "one in --train and others in --test",
    "table.csv": "an audit needs the combined columns; got none; use --components",
    "table.csv --components first second --target target": (
        "an audit needs a split; got none; use --split or --hold-out; or name files in --train and "
        "--test, and no table"
    ),
    " ".join([*ASKED, "--hold-out", "rows"]): (
        "a split is a column or a rule; got both; leave out --split or --hold-out"
    ),
    " ".join([*ASKED, "--share", "0.5"]): (
        "--share applies only to --hold-out; got --share 0.5 and a split column; leave it out, or "
        "use --hold-out in place of --split"
    ),
    " ".join([*ASKED, "--features", "f.npy", "--feature-columns", "first"]): (
        "features are a file or columns; got both; leave out --features or --feature-columns"
    ),
    " ".join([*ASKED, "--json", "x", "--html", "x"]): (
        "--html is a separate file; got x, which is --json; name another file with --html"
    ),
    " ".join([*ASKED, "--json", "./folder/../table.csv"]): (
        "--json is a separate file; got folder/../table.csv, which is the table; name another file "
        "with --json"
    ),
    " ".join([*ASKED, "--config", "good.toml", "--sarif", "good.toml"]): (
        "--sarif is a separate file; got good.toml, which is --config; name another file with "
        "--sarif"
    ),
    " ".join([*ASKED, "--html", "folder"]): (
        "--html is a file; got the folder folder; name another file with --html"
    ),
    " ".join([*ASKED, "--json", "-"]): (
        "--json writes a file, not to the standard output; got --json -; name a file with --json, "
        "such as ./report"
    ),
    " ".join([*ASKED, "--junit", "/dev/null"]): (
        "--junit is a plain file; got the device /dev/null; name another file with --junit"
    ),
    " ".join([*ASKED, "--html", "none/a.html"]): (
        "--html lies in a folder that exists; got none/a.html; make the folder, or name another "
        "file with --html"
    ),
    " ".join([*ASKED, "--output", "page.HTML"]): (
        "--output writes CSV; got page.HTML; name a file such as page.csv"
    ),
    " ".join([*ASKED, "--sarif", "a.xml"]): (
        "--sarif writes SARIF; got a.xml; name a file such as a.sarif"
    ),
    " ".join([*ASKED, "--html", "/proc/a.html"]): (
        "--html must be writable; got /proc/a.html; name another file with --html"
    ),
    " ".join([*ASKED, "--config", "none.toml"]): (
        "the settings file must exist; got none.toml; name a TOML file with the "
        "tables [thresholds] and [silence]"
    ),
    " ".join([*ASKED, "--require-order", "2", "--json", "a.json"]): (
        "require_order is at least 1 and below the number of components; got 2 for 2 "
        "components; use 1"
    ),
    "--test table.csv --components first second": (
        "without a table, --train and --test name files; got --test table.csv without --train; "
        "name the file of the training rows in --train"
    ),
    "--train table.csv --components first second": (
        "without a table, --train and --test name files; got --train table.csv without --test; "
        "name a file for each test split in --test"
    ),
    "--train table.csv --test bad.csv --components first second --split split": (
        "files in --train and --test are the split; got table.csv and bad.csv, and --split; leave "
        "out --split, or name one table"
    ),
    "--train a.csv --test b.csv.gz --components first second --hold-out rows": (
        "files in --train and --test are the split; got a.csv and b.csv.gz, and --hold-out; leave "
        "out --hold-out, or name one table"
    ),
    "--train table.csv --test table.csv --components first second": (
        "a file has the rows of training or of one test split; got table.csv more than once; name "
        "it once"
    ),
    "--components first second --split split --test easy": (
        "an audit needs a table; got none; name a .csv, .tsv, .txt, .jsonl or .parquet file, or "
        "one in --train and others in --test"
    ),
    " ".join([*ASKED, "--kernel", "table.csv"]): (
        "a kernel file ends in .npy; got 'table.csv'; save it with numpy.save"
    ),
    " ".join([*ASKED, "--kernel", "none.npy"]): (
        "the kernel file must exist; got no file 'none.npy'; check the path"
    ),
    " ".join([*ASKED, "--kernel", "folder/gaps.npy"]): (
        "similarities are finite; got 25 entries that are not finite, the first in row 0 (counted "
        "from 0); measure them again, or drop those rows"
    ),
    " ".join([*ASKED, "--bins", "first=2", "first=3"]): (
        "--bins names each component once; got 'first' twice; leave out one of them"
    ),
    " ".join([*ASKED, "--ordered", "first", "second", "first=1,2"]): (
        "--ordered names each component once; got 'first' twice; leave out one of them"
    ),
    " ".join([*ASKED, "--salience", "first=2", "first=3"]): (
        "--salience names each component once; got 'first' twice; leave out one of them"
    ),
    " ".join([*ASKED, "--weights", "wait", "--json", "a.json"]): None,
    " ".join([*ASKED, "--test", "tset", "--html", "a.html"]): None,
}


@pytest.mark.parametrize("line", REFUSED)
def test_bad_input_ends_with_2_and_writes_nothing(folder, capsys, line):
    Path("good.toml").write_text("")
    before = {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}
    assert ended(*line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("partwhole: ")
    assert err.count("\n") == 1
    if REFUSED[line]:
        assert err == f"partwhole: {REFUSED[line]}\n"
    assert {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))} == before


def test_warnings_of_chosen_rules_end_with_1(folder, capsys):
    table = cross(total)
    pd.concat([table, table.iloc[:3].assign(split="test")]).to_csv("again.csv", index=False)
    argv = ["again.csv", *ASKED[1:], "--add", "0", "--json", "a.json"]
    assert ended(*argv) == 0
    assert "--fail-on" not in capsys.readouterr().out
    files = ["--junit", "a.xml", "--sarif", "a.sarif"]
    assert ended(*argv, *files) == 0
    assert 'failures="0"' in Path("a.xml").read_text()
    assert ended(*argv, *files, "--fail-on", "not-held-out", "shortcut") == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(
        "Fails (--fail-on not-held-out): 1 of 19 rows of test repeats a combination"
    )
    # Build servers say so too, of this rule and of no other.
    assert Path("a.xml").read_text().count('failures="1"') == 1
    failures = ElementTree.parse("a.xml").iter("failure")
    assert [failure.get("type") for failure in failures] == ["not-held-out"]
    results = json.loads(Path("a.sarif").read_text())["runs"][0]["results"]
    levels = {result["ruleId"]: result["level"] for result in results}
    assert levels.pop("not-held-out") == "error"
    assert set(levels.values()) == {"warning"}
    Path("a.json").unlink()
    assert ended(*argv, "--fail-on", "held-out") == 2
    assert "the nearest is not-held-out" in capsys.readouterr().err
    assert not Path("a.json").exists()


def test_noise_that_is_not_used_is_said(folder, capsys):
    """Noise is in targets: without one no part of an audit uses it."""
    remark = "--noise 0.5 is not used: it is the noise in targets, and there is none."
    for argv, is_unused in ((["table.csv", *ROLES[:3], "--split", "split"], True), (ASKED, False)):
        for noise in ("repeats", "0.5"):
            ended(*argv, "--add", "0", "--noise", noise, "--json", "a.json")
            printed = " ".join(capsys.readouterr().out.split())
            is_said = is_unused and noise == "0.5"
            assert (remark in printed) == is_said
            assert ("--noise" in Path("a.json").read_text()) == is_said


def test_a_failure_while_writing_leaves_nothing_behind(folder, monkeypatch):
    Path("old").write_text("old")
    with pytest.raises(OSError, match="No such file"):
        write_all({Path("new"): "1", Path("old"): "2", Path("none/x"): "3"})
    assert sorted(os.listdir()) == ["bad.csv", "folder", "old", "table.csv"]
    assert Path("old").read_text() == "old"


def test_an_interrupt_writes_nothing(folder, capsys, monkeypatch):
    def stop(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("partwhole.audit.audit_split", stop)
    assert ended(*ASKED, "--json", "a.json") == 130
    assert capsys.readouterr().err == "partwhole: interrupted; nothing was written\n"
    assert not Path("a.json").exists()


def test_a_link_is_written_through(folder):
    Path("folder/real.json").write_text("")
    Path("link.json").symlink_to("folder/real.json")
    assert ended(*ASKED, "--json", "link.json") == 0
    assert Path("link.json").is_symlink()
    assert json.loads(Path("folder/real.json").read_text())["verdict"] == "supported"


@pytest.mark.parametrize("style", [str, str.lower])
def test_a_column_of_booleans_says_what_it_is_taken_as(folder, capsys, style):
    frame = cross(total)
    frame["split"] = [style(str(one)) for one in frame["split"] == "test"]
    frame.to_csv("bool.csv", index=False)
    argv = ["bool.csv", *ASKED[1:], "--add", "0", "--json", "a.json"]
    ended(*argv)
    said = " ".join(capsys.readouterr().out.split())
    remark = (
        f"split: {style('True')} marks training (16 of 25 rows); if it marks the test split, pass "
        "train=False (--train False)."
    )
    assert remark in said
    for entry, held_out in (("True", 9), ("False", 16)):
        ended(*argv, "--train", entry)
        assert "is taken as training" not in capsys.readouterr().out
        (split,) = json.loads(Path("a.json").read_text())["splits"]
        assert split["held_out"] == held_out


def test_help_says_what_is_required_and_shows_an_example(capsys):
    assert ended("--help") == 0
    out = capsys.readouterr().out
    told = " ".join(out.replace("│", " ").split())
    assert "default: None" not in told
    assert "default: )" not in told
    assert "default: ''" not in told
    assert told.count("(required)") == 2
    assert "(required, or use --hold-out)" in told
    assert "(with --hold-out; default: 0.2)" in told
    assert "each also with .gz" in told
    assert "For example: partwhole audit table.csv --components shape colour --target " in told
    example = [line.strip("│ ") for line in out.splitlines()]
    place = example.index("[thresholds]")
    assert example[place : place + 4] == [
        "[thresholds]",
        "coverage = 5",
        "[silence]",
        'shortcut = "balanced by design"',
    ]


def test_a_terminal_without_the_signs_is_no_error(folder):
    frame = rows("a x 1 train", "b y 2 train", "a y 1 train", "é x 1 test", target=float)
    frame.to_csv("signs.csv", index=False)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import partwhole.cli as c; c.main()",
            "audit",
            "signs.csv",
            *ASKED[1:],
        ],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 1, done.stderr
    assert b"first = \\xe9 occurs" in done.stdout


def test_a_table_from_the_standard_input_has_no_file(tmp_path, capsys, monkeypatch):
    lines = "shape,colour,y,split\na,b,1,train\na,c,2,train\nd,b,2,train\nd,c,3,test\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    sarif = tmp_path / "log.sarif"
    main(["audit", "-", "--components", "shape", "colour", "--target", "y", "--split", "split",
          "--sarif", str(sarif)])  # fmt: skip
    assert "standard-input.csv: 4 rows" in capsys.readouterr().out
    assert "locations" not in sarif.read_text()
