"""What a study may say of its cells, and the journal of those that are away."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cluster_study
import pytest
import tiny_study
from study_variants import variant

from partwhole._checks import InputError
from partwhole.study import calls, hooks, journal, registry, run
from partwhole.study.calls import Cluster
from partwhole.study.source import fingerprint


def with_hooks(**values) -> types.ModuleType:
    study = types.ModuleType("hooked_study")
    vars(study).update(values)
    return study


def test_durations_and_gpus_that_are_none_are_sentences():
    for value in (-1.0, float("nan"), "long", None):
        with pytest.raises(InputError) as caught:
            hooks.seconds_of(with_hooks(seconds=lambda config, value=value: value), {"seed": 1})
        assert str(caught.value) == (
            "a study's `seconds` returns the duration of a cell, a finite number of at least 0; "
            f"got {value!r} for {{'seed': 1}} in hooked_study; correct it, or leave it out"
        )
    assert hooks.seconds_of(with_hooks(), {}) == 0.0
    with pytest.raises(InputError) as caught:
        hooks.on_gpu(with_hooks(ON_GPU="yes"))
    assert str(caught.value) == (
        "a study's ON_GPU is True or False; got 'yes' in hooked_study; correct it, or leave it out"
    )
    assert not hooks.on_gpu(with_hooks())


def test_a_folder_is_for_cells_that_take_two_arguments():
    def keyword(config, *, option=1): ...

    for function in (tiny_study.cell, keyword):
        assert not hooks.takes_scratch(with_hooks(cell=function))
    assert hooks.takes_scratch(cluster_study)
    assert hooks.takes_scratch(registry.find("concept_diffusion"))
    assert hooks.takes_scratch(registry.find("class_finetuning"))


def test_durations_and_gpus_outdate_no_result(tmp_path):
    plain = fingerprint(registry.load(variant(tmp_path, "hooked")))
    before, after = "def gather(", "ON_GPU = True\n\n\ndef seconds(config):\n    return {}.0\n\n\n"
    for number in (1, 2):
        other = tmp_path / str(number)
        other.mkdir()
        file = variant(other, "hooked", {before: after.format(number) + before})
        study = registry.load(file)
        assert (fingerprint(study), hooks.on_gpu(study)) == (plain, True)
        assert hooks.seconds_of(study, {}) == number
    file = variant(tmp_path, "folder", {"def cell(config)": "def cell(config, scratch)"})
    assert fingerprint(registry.load(file)) != plain


def test_cells_that_take_longest_begin_first(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    monkeypatch.setenv("PARTWHOLE_DATA", str(tmp_path / "notes"))
    costs = [2.0, 5.0, 1.0, 4.0]
    configs = [{"throws": 1, "seed": i, "wait": 0.0, "cost": cost} for i, cost in enumerate(costs)]
    monkeypatch.setattr(cluster_study, "PRESETS", {"quick": configs})
    with ThreadPoolExecutor(1) as one:
        result = run(cluster_study, store=tmp_path / "store", executor=one, progress=False)
    begun = [seed for (_, seed), _, _ in cluster_study.notes(tmp_path / "notes", "begin")]
    assert begun == [1, 3, 0, 2]
    assert result.data.seed.values.tolist() == [0, 1, 2, 3]


class Scheduler:
    """A client of Dask, the scheduler and its workers, which never end a call."""

    def __init__(self, *gpus: int) -> None:
        self.status, self.sent, self.scheduler = "running", [], self
        self.address = "tcp://nowhere:1"
        self.gpus = list(gpus)

    def identity(self) -> None: ...

    def sync(self, function, **options):
        workers = {
            str(i): {"name": i, "nthreads": 1, "resources": {"GPU": gpus} if gpus else {}}
            for i, gpus in enumerate(self.gpus)
        }
        return {"id": "one", "workers": workers}

    def subscribe_topic(self, topic, handler) -> None: ...

    def submit(self, function, message, *others, **options):
        self.sent.append((message, options["resources"]))
        return types.SimpleNamespace(add_done_callback=lambda call: None, cancel=lambda: None)

    def names(self) -> list[str]:
        import pickle

        return [pickle.loads(message).args[0] for message, _ in self.sent]


def test_calls_fill_the_workers_the_longest_first_and_gpus_apart():
    client = Scheduler(1, 0)
    cluster = Cluster(client, patience=60.0)
    futures = [
        cluster.send(calls.partial(str, name), seconds=seconds, gpu=gpu)
        for name, seconds, gpu in (
            ("a", 1.0, False), ("b", 2.0, True), ("c", 9.0, True), ("d", 3.0, False),
            ("e", 5.0, False),
        )
    ]  # fmt: skip
    # Two threads: what came first was sent; of the others the longest waits for a GPU.
    assert client.names() == ["a", "b"]
    assert [resources for _, resources in client.sent] == [None, {"GPU": 1}]
    futures[0].cancel()
    assert client.names() == ["a", "b", "e"]
    futures[1].cancel()
    assert client.names() == ["a", "b", "e", "c"]
    futures[4].cancel()
    assert client.names() == ["a", "b", "e", "c", "d"]
    cluster.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="a cluster that is shut down accepts no calls"):
        cluster.submit(str)
    assert client.status == "running"  # it is not ours


def test_gpus_that_never_come_are_a_sentence(monkeypatch):
    monkeypatch.setattr(calls, "PERIOD", 0.01)
    client = Scheduler()
    cluster = Cluster(client, patience=0.2)
    waiting = cluster.send(calls.partial(str, "a"), gpu=True)
    client.gpus = [0, 0]
    with pytest.raises(calls.ClusterLostError) as caught:
        waiting.result(10)
    assert str(caught.value) == (
        "a study that is computed on GPUs is sent to workers with the resource GPU; got 2 without "
        "it; start them with `dask worker ADDRESS --resources GPU=1`, or set gpus for SLURM"
    )
    assert client.sent == []
    cluster.shutdown()


HEADING = {"preset": "quick", "address": "local:2", "cells": 5, "stored": 1}


def test_a_journal_says_what_runs_and_what_is_done(tmp_path):
    (tmp_path / "a").mkdir()
    written = journal.Journal(tmp_path, "a", HEADING, lambda: 2)
    written.computing("1", {"seed": 1}, "tcp://x:1")
    written.computing("2", {"seed": 2}, "tcp://x:2")
    written.done("1", 3.0)
    written.computing("1", {"seed": 1}, "tcp://x:1")  # an event that came late
    written.failed("3", {"seed": 3}, ["ValueError: no"])
    while not (state := journal.states(tmp_path)[0]).workers:
        time.sleep(0.01)
    lines = state.describe().splitlines()
    assert lines[0].endswith(": at work, 2 workers")
    assert lines[1:] == [
        "    2 of 5 cells done, 1 running, 1 waiting, 1 failed",
        '    running for 0:00:00 at tcp://x:2: {"seed": 2}',
        '    failed: {"seed": 3}',
        "        ValueError: no",
    ]
    # The journal of the next run takes its place; what the first still writes is lost.
    other = journal.Journal(tmp_path, "a", HEADING, lambda: 1)
    written.ended("finished")
    assert journal.states(tmp_path, "a")[0].ended == ""
    other.ended("finished")
    assert journal.states(tmp_path, "a")[0].ended == "finished"
    assert journal.states(tmp_path, "b") == []


def test_a_run_whose_process_has_gone_is_interrupted(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    heading = HEADING | {"event": "begun", "time": 0.0, "host": socket.gethostname()}
    file = tmp_path / "a" / "journal.jsonl"
    file.parent.mkdir()

    def state(process: int, host: str = socket.gethostname(), rest: str = "") -> journal.State:
        file.write_text(json.dumps(heading | {"process": process, "host": host}) + "\n" + rest)
        return journal.states(tmp_path)[0]

    assert state(os.getpid()).ended == ""
    assert state(gone.pid).ended == "interrupted; run it again, and it goes on from what is stored"
    # A line that was cut off counts for nothing.
    done = json.dumps({"event": "done", "time": 1.0, "cell": "1", "seconds": 1.0})
    assert len(state(os.getpid(), rest=f"{done}\n{done[:20]}").done) == 1
    assert state(1, "elsewhere").ended == ""
    os.utime(file, (0, 0))
    assert journal.states(tmp_path)[0].ended.startswith("interrupted")
    file.write_text("nothing")
    assert journal.states(tmp_path) == []
    assert Path(file).exists()
