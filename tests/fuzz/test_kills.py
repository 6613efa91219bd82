"""Kills and interrupts at random moments: nothing is half-written, lost, or left running."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import tiny_study
import writing_program
import xarray as xr

from partwhole import store

FIXTURES = str(Path(writing_program.__file__).parent)
# A script's background jobs, tests among them, begin with interrupts ignored; so does what `nohup`
# runs with hang-ups.
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "import partwhole_studies; from partwhole.cli import main; "
    "partwhole_studies.STUDIES = ('slow_study',); main()"
)


def kills(few: int, many: int):
    """Run a few in the default run, and many among the slow tests."""
    return pytest.mark.parametrize(
        "count", [few, pytest.param(many, marks=pytest.mark.slow)], ids=["few", "many"]
    )


@kills(4, 200)
def test_kills_leave_whole_files_and_whole_cells(tmp_path, count):
    rng, done = random.Random(count), -1
    for _ in range(count):
        process = subprocess.Popen(
            [sys.executable, writing_program.__file__, str(tmp_path), str(done + 1)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        killer = threading.Timer(rng.uniform(0.0, 0.4), process.kill)
        killer.start()
        told = process.stdout.read().splitlines(keepends=True)
        assert process.wait() == -signal.SIGKILL
        process.stdout.close()
        done = max([done, *(int(line) for line in told if line.endswith("\n"))])
        for name in writing_program.NAMES:
            if (tmp_path / name).exists() or done >= 0:
                held = (tmp_path / name).read_text()
                number = int(held.partition("\n")[0].split()[1])
                assert held == writing_program.text(name, number)
                assert number >= done
    assert done >= 0
    for number in range(done + 1):
        cell = store.cell("killed", {"n": number}, pytest.fail, source="1", root=tmp_path / "store")
        np.testing.assert_array_equal(cell["values"], writing_program.arrays(number)["values"])
    writing_program.write(tmp_path, done + 1)
    assert sorted(os.listdir(tmp_path)) == sorted(["store", *writing_program.NAMES])
    store.sweep("killed", tmp_path / "store")
    assert {path.suffix for path in (tmp_path / "store" / "killed").iterdir()} <= {"", ".damaged"}


def start(folder: Path, slowly: float) -> subprocess.Popen[str]:
    """Run a study on two processes, in a group of its own as a terminal has it."""
    path = os.pathsep.join([FIXTURES, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "run", "slow_study", "--workers", "2"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "SLOWLY": str(slowly), "PARTWHOLE_STORE": "store"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def family(process: subprocess.Popen[str], least: int) -> list[psutil.Process]:
    """Wait until a run has started so many processes, or has ended."""
    parent, end = psutil.Process(process.pid), time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        processes = parent.children(recursive=True)
        if len(processes) >= least:
            return processes
        time.sleep(0.01)
    return []


def gone(processes: list[psutil.Process]) -> None:
    assert psutil.wait_procs(processes, timeout=30)[1] == []


@kills(1, 20)
def test_killed_runs_leave_nobody_behind_and_go_on_alike(tmp_path, count):
    rng = random.Random(count)
    for _ in range(count):
        process = start(tmp_path, 1.0)
        # The tracker of resources and a worker, which may have begun its first cell or not.
        children = family(process, rng.choice([2, 3]))
        time.sleep(rng.uniform(0.0, 3.0))
        process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP]))
        process.communicate(timeout=60)
        gone(children)
    process = start(tmp_path, 0.0)
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert "Figure: report/slow_study.svg" in out
    with xr.open_dataset(tmp_path / "report" / "slow_study.nc", engine="scipy") as data:
        for throws in (10, 100):
            for seed in range(3):
                expected = tiny_study.cell({"throws": throws, "seed": seed})["share"]
                assert data["share"].sel(throws=throws, seed=seed) == expected


@kills(2, 40)
def test_an_interrupt_is_one_sentence_and_leaves_nobody_behind(tmp_path, count):
    rng = random.Random(count)
    for _ in range(count):
        process = start(tmp_path, 30.0)
        children = family(process, rng.choice([1, 2, 3]))
        time.sleep(rng.uniform(0.0, 2.0))
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
        assert process.returncode == 130, error
        lines = [line for line in error.splitlines() if "slow_study" not in line]
        assert lines == [
            "partwhole: interrupted; finished cells are stored, "
            "and the next run continues from them"
        ]
        gone(children)
