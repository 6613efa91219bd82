"""The command: what it prints, what it leaves behind, and how it says no."""

from __future__ import annotations

import subprocess
import sys

import pytest
import tiny_study

from partwhole import studies
from partwhole.cli import main


@pytest.fixture
def registered(monkeypatch, tmp_path):
    monkeypatch.setattr(studies, "STUDIES", ("tiny_study",))
    monkeypatch.setenv("PARTWHOLE_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys, *argv: str) -> tuple[int, str]:
    """Return the exit status of a command that fails, and the error it prints."""
    with pytest.raises(SystemExit) as left:
        main(argv)
    assert isinstance(left.value.code, int)
    return left.value.code, capsys.readouterr().err


def test_list_shows_each_question(registered, capsys):
    main(["list"])
    out = capsys.readouterr().out
    assert "tiny_study" in out
    assert "How soon does a fair coin look fair?" in out


def test_run_prints_the_claims_and_writes_figure_and_data(registered, capsys):
    main(["run", "tiny_study", "--out", "figures", "--format", "png"])
    out = capsys.readouterr().out
    assert "does not hold" in out
    assert "12 cells computed, 0 read" in out
    assert (registered / "figures" / "tiny_study.png").stat().st_size > 1000
    assert (registered / "figures" / "tiny_study.nc").stat().st_size > 100
    main(["run", "tiny_study"])
    assert "0 cells computed, 12 read" in capsys.readouterr().out
    assert (registered / "report" / "tiny_study.svg").exists()


def test_the_store_flag_moves_the_store(registered, capsys):
    main(["run", "tiny_study", "--store", "elsewhere"])
    assert len(list((registered / "elsewhere" / "tiny_study").iterdir())) == 12
    assert not (registered / "store").exists()
    capsys.readouterr()
    main(["store", "list", "--store", "elsewhere"])
    assert "tiny_study: 12 cells" in capsys.readouterr().out
    main(["store", "clear", "--store", "elsewhere", "--study", "tiny_study"])
    assert "12 cells removed from elsewhere" in capsys.readouterr().out
    main(["store", "--store", "elsewhere"])
    assert capsys.readouterr().out == "0 cells in elsewhere\n"


def test_report_writes_the_page(registered, capsys):
    main(["report"])
    assert "report/index.html: 1 of 1 studies, 5 claims" in capsys.readouterr().out
    assert tiny_study.QUESTION in (registered / "report" / "index.html").read_text()


def test_report_on_two_processes(registered, capsys):
    main(["report", "--out", "two", "--workers", "2"])
    assert "1 of 1 studies" in capsys.readouterr().out


def test_a_failing_study_ends_the_report_with_one(registered, capsys, monkeypatch):
    monkeypatch.setattr(studies, "STUDIES", ("broken_study", "tiny_study"))
    status, error = refused(capsys, "report")
    assert status == 1
    assert "partwhole: broken_study failed. It was stopped by an error: ZeroDiv" in error
    assert tiny_study.QUESTION in (registered / "report" / "index.html").read_text()


def test_cite_prints_bibtex(capsys):
    main(["cite"])
    out = capsys.readouterr().out
    assert out.count("{") == out.count("}")
    assert "eprint    = {2405.16391}" in out
    assert "@software{partwhole," in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (
            ["run", "no_such"],
            "partwhole: a study's name is one that `partwhole list` shows; got 'no_such'; "
            "choose from tiny_study\n",
        ),
        (
            ["run", "tiny_study", "--preset", "paper"],
            "partwhole: a preset of tiny_study is one of its own; got 'paper'; "
            "choose from quick, laptop\n",
        ),
        (
            ["report", "--workers", "0"],
            "partwhole: the number of workers is at least 1; got 0; ask for one or more\n",
        ),
        (["report", "--out", "/dev/null/x"], "partwhole: Not a directory: /dev/null/x\n"),
        (["run", "tiny_study", "--store", "/dev/null/x"], None),
    ],
)
def test_bad_input_is_told_in_one_sentence(registered, capsys, argv, sentence):
    status, error = refused(capsys, *argv)
    assert status == 2
    last = error.splitlines(keepends=True)[-1]
    assert last.startswith("partwhole: ")
    assert sentence is None or last == sentence
    assert "Traceback" not in error


@pytest.mark.parametrize("argv", [["dance"], ["run"], ["run", "x", "--preset", "huge"]])
def test_words_that_are_no_command_end_with_two(capsys, argv):
    assert refused(capsys, *argv)[0] == 2


def test_help_starts_fast_and_names_every_command():
    probe = (
        "import sys, partwhole.cli as cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit as left: assert left.code == 0\n"
        "assert not {'pandas', 'matplotlib', 'xarray', 'sklearn'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for command in ("list", "run", "report", "store", "cite"):
        assert f"• {command} " in done.stdout


def test_a_reader_that_goes_away_is_no_error():
    code = "from partwhole.cli import main; main(['cite'])"
    done = subprocess.run(
        f'{sys.executable} -c "{code}" | head -c 1',
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
