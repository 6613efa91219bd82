"""The command: what it prints, what it leaves behind, and how it says no."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from itertools import pairwise

import pytest
from faults import failing
from study_variants import QUESTION, TOML

import partwhole_studies
from partwhole._checks import InputError
from partwhole.cli import command as commands
from partwhole.cli import main
from partwhole.study import registry
from partwhole.tasks.images._files import VARIABLE


@pytest.fixture
def registered(monkeypatch, tmp_path):
    monkeypatch.setattr(partwhole_studies, "STUDIES", ("tiny_study",))
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


def test_list_never_cuts_a_name(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    main(["list"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(registry.registered())
    question = next(iter(registry.declarations().values())).question
    assert " ".join(lines[1].split()) == question[:72].rsplit(" ", 1)[0]


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
    (last,) = capsys.readouterr().out.splitlines()[-1:]
    assert last.startswith(
        "report/index.html: 6 claims: 2 hold, 1 does not, 1 inconclusive, "
        "1 illustration, 1 outside its assumptions; "
    )
    assert last.endswith(" s. Open it in a browser.")
    assert QUESTION in (registered / "report" / "index.html").read_text()


def test_a_failing_study_ends_the_report_with_one(registered, capsys, monkeypatch):
    monkeypatch.setattr(partwhole_studies, "STUDIES", ("broken_study", "tiny_study"))
    with pytest.raises(SystemExit) as left:
        main(["report"])
    assert left.value.code == 1
    told = capsys.readouterr()
    assert "partwhole: broken_study failed. It was stopped by an error: ZeroDiv" in told.err
    assert "; 1 study without a result; " in told.out
    assert QUESTION in (registered / "report" / "index.html").read_text()


def test_a_worse_page_replaces_no_better_one(registered, capsys, monkeypatch):
    main(["report"])
    good = (registered / "report" / "index.html").read_bytes()
    monkeypatch.setattr(partwhole_studies, "STUDIES", ("broken_study", "tiny_study"))
    with pytest.raises(SystemExit) as left:
        main(["report"])
    assert left.value.code == 1
    out = capsys.readouterr().out
    assert "report/incomplete/index.html: 6 claims" in out
    assert "report/index.html is unchanged: it has fewer failed studies." in out
    assert (registered / "report" / "index.html").read_bytes() == good
    assert "ZeroDivisionError" in (registered / "report" / "incomplete" / "index.html").read_text()
    monkeypatch.setattr(partwhole_studies, "STUDIES", ("tiny_study",))
    main(["report"])
    assert not (registered / "report" / "incomplete").exists()


def test_a_page_replaces_one_that_is_no_better(registered, capsys, monkeypatch):
    monkeypatch.setattr(partwhole_studies, "STUDIES", ("broken_study", "tiny_study"))
    for _ in range(2):
        with pytest.raises(SystemExit):
            main(["report"])
        assert "report/index.html: 6 claims" in capsys.readouterr().out
    assert not (registered / "report" / "incomplete").exists()


def test_a_store_that_is_only_read_serves_what_it_has(registered, capsys, monkeypatch):
    main(["run", "tiny_study"])
    home = registered / "store"
    folder = commands.TemporaryFile

    def refusing(dir):
        if home in (dir, *dir.parents):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return folder(dir=dir)

    monkeypatch.setattr(commands, "TemporaryFile", refusing)
    capsys.readouterr()
    with failing(home, 0, errno.EROFS, stays=True, descriptors=False) as disk:
        main(["run", "tiny_study"])
        main(["report"])
        main(["store", "list"])
    out = capsys.readouterr().out
    assert disk.done == []
    assert "0 cells computed, 12 read" in out
    assert "report/index.html: 6 claims" in out
    assert "tiny_study: 12 cells" in out
    sentence = f"partwhole: the store must be writable; got {home}; name another with --store\n"
    for argv in (["run", "tiny_study", "--preset", "laptop"], ["store", "clear"]):
        assert refused(capsys, *argv) == (2, sentence)
    next(home.rglob("arrays.npz")).unlink()
    assert refused(capsys, "run", "tiny_study") == (2, sentence)


def test_a_cell_that_kills_its_process_is_named_and_costs_no_other_study(
    registered, capsys, monkeypatch
):
    monkeypatch.setattr(partwhole_studies, "STUDIES", ("slow_study", "tiny_study"))
    monkeypatch.setenv("DEADLY", "101")
    with pytest.raises(SystemExit) as left:
        main(["report", "--workers", "2"])
    assert left.value.code == 1
    told = capsys.readouterr()
    assert (
        'a cell does not end its process; got {"seed": 1, "throws": 100}, for which its process '
        "ended: SIGKILL, then SIGKILL; use fewer workers, so that each has more memory"
    ) in told.err
    assert "report/index.html: 6 claims" in told.out
    assert "; 1 study without a result; " in told.out
    # What was finished is kept, and the next run goes on from there.
    monkeypatch.delenv("DEADLY")
    main(["report", "--out", "two", "--workers", "2"])
    out = capsys.readouterr().out
    assert "two/index.html: 12 claims" in out
    assert "without a result" not in out


@pytest.fixture
def told_study(registered, monkeypatch):
    """Register a study of which each cell writes down the folder that it is told of."""
    (registered / "told_study.py").write_text(
        "import os\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "from tiny_study import *\n"
        "PRESETS = PRESETS | {'mnist': [{'throws': n, 'seed': 9} for n in (5, 6)]}\n"
        "def cell(config):\n"
        f"    told = os.environ.get({VARIABLE!r}, 'nothing')\n"
        "    Path(__file__).with_name(f'told{config[\"throws\"]}').write_text(told)\n"
        "    return {'share': np.asarray(0.5)}\n"
    )
    (registered / "told_study.toml").write_text(TOML)
    monkeypatch.syspath_prepend(registered)
    monkeypatch.setattr(partwhole_studies, "STUDIES", ("told_study", "tiny_study"))
    monkeypatch.delitem(sys.modules, "told_study", raising=False)
    yield registered
    sys.modules.pop("told_study", None)


@pytest.mark.parametrize(
    ("command", "workers"),
    [(["run", "told_study"], "1"), (["run", "told_study"], "2"), (["report"], "1")],
)
def test_the_data_flag_names_the_folder_to_all_processes(
    told_study, capsys, monkeypatch, command, workers
):
    (told_study / "images").mkdir()
    argv = [*command, "--preset", "mnist", "--workers", workers]
    monkeypatch.setenv(VARIABLE, "before")
    main([*argv, "--data", "images"])
    assert (told_study / "told5").read_text() == str(told_study / "images")
    assert (told_study / "told6").read_text() == str(told_study / "images")
    # Only while it runs.
    assert os.environ[VARIABLE] == "before"
    if command == ["report"]:
        page = (told_study / "report" / "index.html").read_text()
        assert "It has no mnist preset." in page
        assert "1 study without a result" in capsys.readouterr().out


def test_without_the_data_flag_no_folder_is_named(told_study, monkeypatch):
    (told_study / "images").mkdir()
    argv = ["run", "told_study", "--preset", "mnist"]
    monkeypatch.delenv(VARIABLE, raising=False)
    main([*argv, "--data", "images"])
    assert VARIABLE not in os.environ
    main([*argv, "--store", "other"])
    assert (told_study / "told5").read_text() == "nothing"


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
            "the nearest is tiny_study\n",
        ),
        (
            ["store", "clear", "--study", "tiny"],
            "partwhole: a study's name is one that `partwhole list` shows; got 'tiny'; "
            "the nearest is tiny_study\n",
        ),
        (
            ["run", "tiny_study", "--out", "/proc/nope"],
            "partwhole: the folder for the figure must be writable; got /proc/nope; "
            "name another with --out\n",
        ),
        (
            ["run", "tiny_study", "--preset", "paper"],
            "partwhole: a preset of tiny_study is one of its own; got 'paper'; "
            "choose from quick, laptop\n",
        ),
        (
            ["run", "tiny_study", "--preset", "mnist"],
            "partwhole: a preset of tiny_study is one of its own; got 'mnist'; "
            "choose from quick, laptop\n",
        ),
        (
            ["run", "tiny_study", "--data", "no_folder"],
            "partwhole: the folder of data exists; got no_folder; name another with --data\n",
        ),
        (
            ["report", "--preset", "mnist", "--data", "a_file"],
            "partwhole: the folder of data exists; got a_file; name another with --data\n",
        ),
        (
            ["report", "--workers", "0"],
            "partwhole: workers is a whole number of at least 1; got 0; "
            "pass a whole number of at least 1\n",
        ),
        (
            ["report", "--out", "/dev/null/x"],
            "partwhole: the folder for the page must be writable; got /dev/null/x; "
            "name another with --out\n",
        ),
        (
            ["run", "tiny_study", "--store", "/dev/null/x"],
            "partwhole: the store must be writable; got /dev/null/x; name another with --store\n",
        ),
        (
            ["report", "--store", "a_file"],
            "partwhole: the store is a folder; got the file a_file; name another with --store\n",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(registered, capsys, argv, sentence):
    (registered / "a_file").write_text("")
    status, error = refused(capsys, *argv)
    assert status == 2
    assert error == sentence
    # Nothing was computed, and nothing left behind.
    assert [path.name for path in registered.iterdir()] == ["a_file"]


def test_a_study_is_found_by_the_last_part_of_its_name(monkeypatch):
    assert registry.full_name("leak_slope") == "overlap.leak_slope"
    assert registry.full_name("overlap.leak_slope") == "overlap.leak_slope"
    with pytest.raises(InputError, match=r"got 'leak_slop'; the nearest is overlap\.leak_slope"):
        registry.full_name("leak_slop")
    twice = ("partwhole_studies.a.leak", "partwhole_studies.b.leak")
    monkeypatch.setattr(partwhole_studies, "STUDIES", twice)
    with pytest.raises(InputError, match=r"got 'leak'; choose from a\.leak, b\.leak"):
        registry.full_name("leak")
    monkeypatch.setattr(partwhole_studies, "STUDIES", ())
    with pytest.raises(InputError, match="got 'leak'; none is registered; install"):
        registry.full_name("leak")


def test_help_names_what_is_wanted(capsys):
    for argv, words in (
        (["run"], ["STUDY", "--out PATH", "--store PATH", "--data FOLDER", "mnist"]),
        (["report"], ["--data FOLDER", "mnist"]),
        (["store"], ["--study STUDY"]),
    ):
        with pytest.raises(SystemExit):
            main([*argv, "--help"])
        out = capsys.readouterr().out
        assert all(word in out for word in words)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", ["audit", "measure", "design", "atlas", "run", "report"])
def test_help_fills_its_lines(capsys, monkeypatch, command, width):
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit):
        main([command, "--help"])
    out = capsys.readouterr().out
    # Boxes are drawn where the stream's encoding has their lines; else rows are indented.
    inside = width - 4 if "│" in out else width - 2
    lines = [line[2:].rstrip(" │") for line in out.splitlines() if line[:2] in ("│ ", "  ")]
    assert sum(line.startswith("-") for line in lines) > 2
    # The lines of a file of thresholds stand as they are.
    example = ("[thresholds]", "coverage = ", "[silence]", "shortcut = ")
    lines = [line for line in lines if not line.strip().startswith(example)]
    for line, following in pairwise(lines):
        place = len(following) - len(following.lstrip())
        # A description that goes on, below one that begins in the column of descriptions.
        if place > 8 and len(line) > place and line[place - 1] == " " != line[place]:
            assert len(line) + 1 + len(following.split()[0]) > inside, line


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
