"""Clusters: whatever dies, nothing that was finished is lost or computed again."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from contextlib import contextmanager, suppress
from pathlib import Path

import cluster_study
import fake_slurm
import numpy as np
import pytest
import xarray as xr
from cluster_study import notes

from partwhole import store
from partwhole._checks import InputError
from partwhole.cli import main
from partwhole.study import calls, journal, run, slurm
from partwhole.study.calls import ClusterLostError
from partwhole.study.clusters import cluster_at
from partwhole.study.missing import CellsMissingError

NAME = "cluster_study"
PATIENCE = 20.0


@pytest.fixture(scope="module")
def two():
    with cluster_at("local:2", patience=PATIENCE) as cluster:
        yield cluster


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder where cells of the study leave their notes."""
    (tmp_path / "notes").mkdir()
    monkeypatch.setenv("PARTWHOLE_DATA", str(tmp_path / "notes"))
    monkeypatch.setenv("PARTWHOLE_STORE", str(tmp_path / "store"))
    path = [os.path.abspath(place) for place in sys.path if place]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    return tmp_path


def cells(monkeypatch, count: int, **options) -> list[dict]:
    configs = [{"throws": 1, "seed": seed, "wait": 0.0} | options for seed in range(count)]
    monkeypatch.setattr(cluster_study, "PRESETS", {"quick": configs})
    return configs


def computed(folder: Path, executor=None, preset: str = "quick"):
    return run(cluster_study, preset, store=folder / "store", executor=executor, progress=False)


def state(folder: Path) -> journal.State:
    (only,) = journal.states(folder / "store")
    return only


def stored_at(folder: Path) -> dict[tuple[int, int], float]:
    """Return the time, in seconds since 1970, at which each cell was stored."""
    return {
        (cell.config["throws"], cell.config["seed"]): (cell.folder / "cell.json").stat().st_mtime
        for cell in store.stored_cells(folder / "store", NAME)
    }


def until(condition, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def require_nothing_twice(folder: Path, deaths: int) -> int:
    """Assert that deaths alone cost computations; return how many."""
    begun, kept = notes(folder / "notes", "begin"), stored_at(folder)
    late = [cell for cell, at, _ in begun if cell in kept and at > kept[cell]]
    assert late == [], "a cell was computed again after it was stored"
    extra = len(begun) - len({cell for cell, _, _ in begun})
    # A worker computes one cell, and the result of the one before may be on its way.
    assert extra <= 2 * deaths
    return extra


def test_the_result_is_that_of_one_process_and_each_cell_is_computed_once(two, folder, monkeypatch):
    configs = cells(monkeypatch, 8)
    result = computed(folder, two)
    assert (result.computed, result.read) == (8, 0)
    assert len(notes(folder / "notes", "begin")) == 8
    pids = {pid for _, _, pid in notes(folder / "notes", "begin")}
    assert os.getpid() not in pids
    assert not list((folder / "store").rglob("*.scratch"))
    again = computed(folder, two)
    assert (again.computed, again.read) == (0, 8)
    assert len(notes(folder / "notes", "begin")) == 8
    alone = run(cluster_study, store=folder / "alone", progress=False)
    xr.testing.assert_identical(result.data, alone.data)
    # What arrived is written as it is by a process that computes for itself.
    for cell in store.stored_cells(folder / "store"):
        here = json.loads((cell.folder / "cell.json").read_text())
        there = json.loads((folder / "alone" / NAME / cell.folder.name / "cell.json").read_text())
        assert {**here, "time": 0, "seconds": 0} == {**there, "time": 0, "seconds": 0}
    cells(monkeypatch, 1)
    assert computed(folder, two).read == 1
    assert len(configs) == 8


def test_ten_kills_of_workers_cost_what_they_computed(two, folder, monkeypatch):
    rng, kills, result = random.Random(26), 0, []
    configs = cells(monkeypatch, 40, wait=0.15, progress=True)
    # The last two wait until the kills are over.
    for config in configs[-2:]:
        config |= {"gate": True, "cost": 0.0}
    client = threading.Thread(target=lambda: result.append(computed(folder, two)))
    client.start()
    while kills < 10:
        ended = {cell for cell, _, _ in notes(folder / "notes", "end")}
        running = [pid for cell, _, pid in notes(folder / "notes", "begin") if cell not in ended]
        if running:
            time.sleep(rng.uniform(0.0, 0.3))
            with suppress(ProcessLookupError):
                os.kill(running[-1], signal.SIGKILL)
                kills += 1
        time.sleep(0.02)
    (folder / "notes" / "gate").touch()
    client.join(60)
    assert result[0].computed == 40
    shares = [cluster_study.share(config["seed"]) for config in configs]
    np.testing.assert_array_equal(result[0].data.share.squeeze(), shares)
    assert {cell for cell, _, _ in notes(folder / "notes", "end")} == set(stored_at(folder))
    assert require_nothing_twice(folder, kills) >= 5, "the kills missed the cells"


def test_cells_that_fail_are_missing_and_the_others_are_kept(two, folder, monkeypatch, capsys):
    configs = cells(monkeypatch, 4)
    configs[1]["fault"] = "error"
    configs[2]["fault"] = "sudden death"
    with pytest.raises(CellsMissingError) as caught:
        computed(folder, two)
    death, error = (json.dumps(configs[i], sort_keys=True) for i in (2, 1))
    assert caught.value.cells == 4
    sentence = str(caught.value)
    assert sentence.startswith(
        "cluster_study has a result once all its cells are computed; got 2 of 4, without "
    )
    assert f"{error} (ZeroDivisionError: division by nothing)" in sentence
    # Four began it; on a busy machine, one may also end before it begins.
    workers = (
        r"(\d+) workers ended while they computed it; give each worker more memory, or a longer"
    )
    lost = re.search(rf"{re.escape(death)} \(({workers} walltime)\)", sentence)
    assert lost is not None
    assert int(lost[2]) >= 4
    assert sentence.endswith(
        "; what was computed is stored: remove the cause, see `partwhole status`, and run it again"
    )
    assert len(stored_at(folder)) == 2
    assert [cell for cell, _, _ in notes(folder / "notes", "begin")].count((1, 2)) == 4
    main(["status", "--store", str(folder / "store")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cluster_study, preset quick, on local:2 since 20")
    assert lines[0].endswith(": 2 cells missing")
    assert lines[1] == "    2 of 4 cells done, 0 running, 0 waiting, 2 failed"
    assert "        ZeroDivisionError: division by nothing" in lines
    assert '    raise ZeroDivisionError("division by nothing")' in "\n".join(lines)
    assert f"        {lost[1]}" in lines
    # The next run computes those two alone.
    for config in configs:
        config.pop("fault", None)
    assert (computed(folder, two).computed, state(folder).stored) == (2, 2)


def test_a_cell_that_comes_further_between_its_deaths_goes_on_to_its_end(two, folder, monkeypatch):
    cells(monkeypatch, 1, steps=6, fault="slow death")
    assert computed(folder, two).computed == 1
    # It dies five times, where four deaths at one place are the end.
    assert len(notes(folder / "notes", "begin")) >= 6
    assert not list((folder / "store").rglob("*.scratch"))


def test_calls_that_are_no_cells(two):
    assert list(two.map(pow, [2, 3], [3, 2])) == [8, 9]
    with pytest.raises(ZeroDivisionError):
        two.submit(divmod, 1, 0).result()
    with pytest.raises(InputError, match="got none of the name no_such_module; install it on the"):
        two.submit(_Absent()).result()


class _Absent:
    """A call that no worker can read."""

    def __call__(self) -> None: ...

    def __reduce__(self):
        return (__import__, ("no_such_module",))


def test_a_worker_with_another_source_is_refused(two, folder, monkeypatch):
    cells(monkeypatch, 1)
    monkeypatch.setattr("partwhole.study.remote.source_of", lambda study: calls_source("0" * 16))
    with pytest.raises(CellsMissingError) as caught:
        computed(folder, two)
    assert "of the process that sends cells; got cluster_study of source" in str(caught.value)
    assert "install the same versions on the workers, and start them again" in str(caught.value)


def calls_source(digest: str):
    from partwhole.study.source import Source

    return Source(digest)


@contextmanager
def dask(name: str, *words: str):
    """Run a command of Dask in a process group of its own."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{name}", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1.0).close()
        return True
    return False


def test_a_scheduler_that_is_killed_and_started_again_loses_nothing(folder, monkeypatch):
    port, result = free_port(), []
    place = f"tcp://127.0.0.1:{port}"
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    worker = ("worker", place, "--nthreads", "2", "--no-nanny", "--no-dashboard")
    cells(monkeypatch, 12, wait=0.2)
    with dask(*scheduler) as first, dask(*worker):
        until(lambda: answers(port))
        with cluster_at(f"dask://127.0.0.1:{port}", patience=PATIENCE) as cluster:
            client = threading.Thread(target=lambda: result.append(computed(folder, cluster)))
            client.start()
            until(lambda: len(stored_at(folder)) >= 2)
            os.killpg(first.pid, signal.SIGKILL)
            until(lambda: not answers(port))
            with dask(*scheduler), dask(*worker):
                client.join(60)
                assert not client.is_alive()
    assert result[0].computed == 12
    require_nothing_twice(folder, 2)
    assert state(folder).ended == "finished"
    assert len(notes(folder / "notes", "begin")) <= 14


def test_a_scheduler_that_stays_away_is_a_sentence_and_what_arrived_is_kept(folder, monkeypatch):
    port = free_port()
    place = f"tcp://127.0.0.1:{port}"
    cells(monkeypatch, 4, wait=0.3)
    with dask("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard") as first:
        until(lambda: answers(port))
        with cluster_at(f"dask://127.0.0.1:{port}", patience=1.0) as cluster:
            lonely = cluster.submit(abs, -1)
            with pytest.raises(ClusterLostError) as caught:
                lonely.result()
            assert str(caught.value) == (
                f"a cluster has workers; got none at dask://127.0.0.1:{port} for 1 s; start some, "
                "`dask worker ADDRESS` say"
            )
            with dask("worker", place, "--nthreads", "1", "--no-nanny", "--no-dashboard"):
                until(lambda: cluster.n_workers() == 1)
                with pytest.raises(InputError) as refused:
                    cluster.send(print, gpu=True)
                assert str(refused.value) == (
                    "a study that is computed on GPUs is sent to workers with the resource GPU; "
                    f"got 1 without it at dask://127.0.0.1:{port}; start them with `dask worker "
                    "ADDRESS --resources GPU=1`, or set gpus for SLURM"
                )
                client = threading.Thread(target=first_stored_then_kill, args=(folder, first))
                client.start()
                with pytest.raises(CellsMissingError) as missing:
                    computed(folder, cluster)
                client.join()
    assert (
        f"a scheduler answers; got none at dask://127.0.0.1:{port} for 1 s; start it again, with "
        "its workers"
    ) in str(missing.value)
    assert 1 <= len(stored_at(folder)) < 4


def first_stored_then_kill(folder: Path, process: subprocess.Popen) -> None:
    until(lambda: len(stored_at(folder)) >= 1)
    os.killpg(process.pid, signal.SIGKILL)


JOBS = """\
partition = "cpu"
walltime = "00:00:{seconds:02}"
memory = "1GB"
cores = 1
jobs = {jobs}
interface = "lo"
environment = [{environment}]
"""


@pytest.fixture
def login(folder, monkeypatch):
    """Return the folder of a machine where jobs of SLURM can be submitted."""
    (folder / "bin").mkdir()
    fake_slurm.install(folder / "bin")
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    return folder


def write_jobs(folder: Path, seconds: int = 50, jobs: int = 1, environment: str = "") -> str:
    text = JOBS.format(seconds=seconds, jobs=jobs, environment=environment)
    (folder / "jobs.toml").write_text(text)
    return "slurm:jobs.toml"


def test_jobs_whose_walltime_ends_are_followed_by_others(login, monkeypatch):
    monkeypatch.setattr(slurm, "EVERY", 0.3)
    monkeypatch.setattr(slurm, "FRUITLESS", 99)  # a machine may be too busy for its first job
    address = write_jobs(login, seconds=5)
    cells(monkeypatch, 1, wait=0.25, steps=16, fault="slow", progress=True)
    with cluster_at(address, patience=PATIENCE) as cluster:
        assert computed(login, cluster).computed == 1
    scripts = fake_slurm.submitted(login / "bin")
    assert len(scripts) >= 2
    assert all("#SBATCH -t 00:00:05" in script for script in scripts)
    attempts = len(notes(login / "notes", "begin"))
    assert 2 <= attempts <= len(scripts)
    assert not list((login / "store").rglob("*.scratch"))
    # Nothing is left of the jobs.
    until(lambda: subprocess.run(["squeue"], capture_output=True, text=True).stdout == "")


def test_jobs_that_start_no_worker_say_why(login, monkeypatch):
    monkeypatch.setattr(slurm, "EVERY", 0.1)
    address = write_jobs(login, environment='"echo no module cuda >&2", "exit 3"')
    with cluster_at(address, patience=1.0) as cluster, pytest.raises(ClusterLostError) as caught:
        cluster.submit(abs, -1).result()
    assert str(caught.value) == (
        "a job of SLURM starts workers; got 3 that ended without, the last of which said "
        "'no module cuda'; correct `environment` in the file of the jobs, and see slurm-logs"
    )
    assert len(fake_slurm.submitted(login / "bin")) == 3


def test_a_dry_run_prints_the_script_and_submits_nothing(login, monkeypatch, capsys):
    cells(monkeypatch, 1)
    (login / "gpu.toml").write_text(
        'partition = "gpu"\naccount = "lab"\nwalltime = "1-04:00:00"\nmemory = "64 GB"\n'
        'cores = 8\ngpus = 2\njobs = 4\nenvironment = ["module load cuda"]\n'
        'directives = ["--constraint=a100"]\npython = "python3"\nlogs = "out"\n'
    )
    study = str(Path(str(cluster_study.__file__)))
    main(["run", study, "--on", "slurm:gpu.toml", "--dry-run"])
    script = capsys.readouterr().out
    for line in (
        "#SBATCH -p gpu",
        "#SBATCH -A lab",
        "#SBATCH -t 1-04:00:00",
        "#SBATCH --mem=60G",
        "#SBATCH --cpus-per-task=8",
        "#SBATCH --gres=gpu:2",
        "#SBATCH --constraint=a100",
        "#SBATCH -o out/partwhole-%j.log",
        "export OMP_NUM_THREADS=4",
        "export DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE=False",
        "module load cuda",
    ):
        assert line in script.splitlines()
    (command,) = (line for line in script.splitlines() if "dask_worker" in line)
    assert command.startswith("python3 -m distributed.cli.dask_worker tcp://")
    assert "--nthreads 1 " in command
    assert "--nworkers 2 " in command
    assert command.endswith("--no-dashboard --resources GPU=1")
    assert not fake_slurm.submitted(login / "bin")
    assert not (login / "out").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("walltime = ", "jobs of SLURM are described in a TOML file; got jobs.toml: Invalid value"),
        ("", "jobs of SLURM have the key walltime; got none in jobs.toml; add it"),
        ("cores = 0", "cores of jobs of SLURM is a whole number of at least 1; got 0 in jobs.toml; "
         "correct it"),
        ("gpus = true", "gpus of jobs of SLURM is a whole number of at least 0; got True in "),
        ('walltime = "4 hours"', 'walltime of jobs of SLURM is text such as "04:00:00"; got '
         "'4 hours' in jobs.toml; correct it"),
        ("memory = 32", 'memory of jobs of SLURM is text such as "32GB"; got 32 in jobs.toml; '),
        ('environment = "module load"', "environment of jobs of SLURM is a list of texts; got "
         "'module load' in jobs.toml; correct it"),
        ("queue = 1", "a key for jobs of SLURM is one of walltime, memory, cores, jobs, gpus, "
         "partition, account, environment, directives, interface, python, logs; got 'queue' in "
         "jobs.toml; remove it; other options of sbatch stand in `directives`"),
    ],
)  # fmt: skip
def test_a_file_of_jobs_that_is_wrong_is_a_sentence(login, monkeypatch, capsys, text, sentence):
    (login / "jobs.toml").write_text(text)
    assert refused(capsys, "slurm:jobs.toml").startswith(f"partwhole: {sentence}")
    assert not fake_slurm.submitted(login / "bin")


def test_what_slurm_would_refuse_is_refused_before_anything_is_submitted(
    login, monkeypatch, capsys
):
    write_jobs(login)
    text = (login / "jobs.toml").read_text()
    (login / "jobs.toml").write_text(text.replace('"cpu"', '"nowhere"'))
    assert refused(capsys, "slurm:jobs.toml") == (
        "partwhole: SLURM takes the jobs of a run; got 'invalid partition specified: nowhere' for "
        "jobs.toml; correct the file, or ask `sinfo` for the partitions and their limits\n"
    )
    monkeypatch.setenv("PATH", "/nowhere")
    assert refused(capsys, "slurm:jobs.toml") == (
        "partwhole: jobs are submitted where SLURM's sbatch is on the path; got none; run this on "
        "a login node\n"
    )
    assert not fake_slurm.submitted(login / "bin")
    assert not (login / "slurm-logs").exists()


def refused(capsys, address: str, *words: str) -> str:
    """Return the sentence of a run that is refused, of which nothing stays."""
    argv = ["run", str(Path(str(cluster_study.__file__))), "--on", address, *words]
    with pytest.raises(SystemExit) as left:
        main(argv)
    assert left.value.code == 2
    assert not list(Path.cwd().rglob("journal.jsonl"))
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "words", "sentence"),
    [
        ("gpu", (), "cells are computed on local:N, dask://HOST:PORT or slurm:FILE.toml; got "
         "'gpu'; name one of them, local:2 say"),
        ("local:0", (), "cells are computed on local:N, dask://HOST:PORT or slurm:FILE.toml; got "
         "'local:0'; name one of them, local:2 say"),
        ("dask://127.0.0.1:9", (), "a scheduler of Dask answers at its address; got none at "
         "dask://127.0.0.1:9; start it, `dask scheduler` there, or correct the address"),
        ("slurm:none.toml", (), "jobs of SLURM are described in a TOML file; got no none.toml; "
         "write it"),
        ("local:2", ("--workers", "2"), "cells are computed by workers of this command, or on a "
         "cluster; got --workers 2 and --on local:2; leave one of them out; --on local:N has "
         "processes of this machine"),
        ("local:2", ("--dry-run",), "--dry-run prints the job script of SLURM; got --on local:2; "
         "name its file, --on slurm:FILE.toml"),
    ],
)  # fmt: skip
def test_addresses_that_are_none_are_sentences(
    folder, monkeypatch, capsys, address, words, sentence
):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(cluster_study, "PRESETS", {"quick": [{}]})
    assert refused(capsys, address, *words) == f"partwhole: {sentence}\n"


def test_without_the_extra_a_sentence_names_it(folder):
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['dask', 'distributed', 'dask_jobqueue']))\n"
        "from partwhole.cli import main; main()"
    )
    study = str(Path(str(cluster_study.__file__)))
    command = [sys.executable, "-c", code, "run", study, "--on", "local:2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 2
    assert done.stderr == (
        "partwhole: partwhole on local:2 needs packages of the extra 'cluster'; got an "
        "installation without dask, distributed, dask-jobqueue; install them: pip install "
        "'partwhole[cluster]'\n"
    )
    packages = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    extra = packages["project"]["optional-dependencies"]["cluster"]
    assert [name.split(">=")[0] for name in extra] == list(calls.PACKAGES.values())
