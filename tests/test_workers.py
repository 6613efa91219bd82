"""Workers: a death costs one attempt of one computation, and nobody outlives the parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import worker_calls

from partwhole._checks import InputError
from partwhole._workers import WorkerLostError, Workers

WAITS = 40


def until(condition, what: str):
    """Return what a condition gives once it is true."""
    end = time.monotonic() + WAITS
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {WAITS} s: {what}")


@pytest.fixture(scope="module")
def two():
    with Workers(2) as workers:
        yield workers


def test_calls_are_answered_in_other_processes(two):
    assert list(two.map(worker_calls.square, range(20))) == [n * n for n in range(20)]
    pids = {two.submit(os.getpid).result() for _ in range(9)}
    assert os.getpid() not in pids
    assert len(pids) <= 2


def test_errors_come_back_as_they_were(two):
    with pytest.raises(ZeroDivisionError, match="a plain one") as caught:
        two.submit(worker_calls.fail, "plain").result()
    assert "in fail" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="AwkwardError: 1 and 2"):
        two.submit(worker_calls.fail, "awkward").result()
    with pytest.raises(Exception, match=r"pickle|local object"):
        two.submit(lambda: 1).result()
    assert two.submit(worker_calls.square, 3).result() == 9


def test_processes_keep_the_memory_that_they_free(two):
    # Pages of 4 KiB; given back each time, a block of 32 MiB has 8,192 faults each time.
    assert two.submit(worker_calls.page_faults, 32, 10).result() < 2.5 * 8192


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_call_whose_process_dies_once_is_tried_again(two, tmp_path, how):
    asked = [two.submit(worker_calls.square, n) for n in range(10)]
    mortal = two.submit(worker_calls.die, tmp_path, 1, how)
    asked += [two.submit(worker_calls.square, n) for n in range(10)]
    assert mortal.result() == "alive"
    assert [each.result() for each in asked] == [n * n for n in range(10)] * 2


def test_a_call_whose_process_dies_twice_is_given_up(two, tmp_path):
    deadly = two.submit(worker_calls.die, tmp_path, 9)
    leaving = two.submit(worker_calls.leave, 3)
    others = [two.submit(worker_calls.square, n) for n in range(10)]
    with pytest.raises(WorkerLostError, match="its process ended: SIGKILL, then SIGKILL"):
        deadly.result()
    with pytest.raises(WorkerLostError, match="its process ended: status 3, then status 3"):
        leaving.result()
    assert len(list(tmp_path.iterdir())) == 2
    assert [each.result() for each in others] == [n * n for n in range(10)]


def test_a_process_that_dies_at_rest_costs_no_attempt(tmp_path):
    with Workers(1) as one:
        pid = one.submit(os.getpid).result()
        os.kill(pid, signal.SIGKILL)
        assert one.submit(worker_calls.die, tmp_path, 1).result() == "alive"


def test_a_process_that_dies_before_it_begins_costs_no_attempt(tmp_path):
    with Workers(1) as one:
        pid = one.submit(os.getpid).result()
        os.kill(pid, signal.SIGSTOP)
        asked = one.submit(worker_calls.die, tmp_path, 1)
        until(lambda: asked.running(), "a call on its way")
        time.sleep(0.1)  # either way the call may come back; this makes the harder way likely
        os.kill(pid, signal.SIGKILL)
        assert asked.result() == "alive"


def test_leaving_with_an_error_waits_for_nothing(tmp_path):
    start = time.monotonic()
    one, calls = Workers(1), []

    def interrupted() -> str:
        with one:
            calls.extend(one.submit(worker_calls.wait, tmp_path) for _ in range(2))
            raise ZeroDivisionError(until(lambda: os.listdir(tmp_path), "a call that runs")[0])

    with pytest.raises(ZeroDivisionError) as caught:
        interrupted()
    running, waiting = calls
    name = str(caught.value)
    assert time.monotonic() - start < WAITS
    assert waiting.cancelled()
    assert isinstance(running.exception(), WorkerLostError)
    assert not psutil.pid_exists(int(name))
    with pytest.raises(RuntimeError, match="accept no calls"):
        one.submit(worker_calls.square, 1)


def test_calls_that_wait_are_cancelled_whichever_thread_is_first(tmp_path, monkeypatch):
    one = Workers(1)
    _, waiting = (one.submit(worker_calls.wait, tmp_path) for _ in range(2))
    until(lambda: os.listdir(tmp_path), "a call that runs")
    cancel = one._cancel
    # Until then the thread whose process was killed looks for another call.
    monkeypatch.setattr(one, "_cancel", lambda: (until(waiting.done, "its end"), cancel()))
    one.kill()
    one.shutdown()
    assert waiting.cancelled()


def test_processes_share_the_cores(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with Workers(1) as one:
        assert one.submit(worker_calls.threads).result() == ("1", 1)


def test_there_is_at_least_one():
    with pytest.raises(InputError) as caught:
        Workers(0)
    assert str(caught.value) == (
        "workers is a whole number of at least 1; got 0; pass a whole number of at least 1"
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nobody_outlives_the_parent(tmp_path, how):
    path = [str(Path(worker_calls.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    parent = subprocess.Popen(
        [sys.executable, worker_calls.__file__, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
        stderr=subprocess.PIPE,
    )
    until(lambda: len(list(tmp_path.iterdir())) == 2, "two calls that run")
    family = psutil.Process(parent.pid).children(recursive=True)
    assert len(family) >= 2
    parent.send_signal(how)
    assert parent.wait() == -how
    assert parent.stderr is not None
    assert parent.stderr.read() == b""  # which ends when nobody holds it any more
    parent.stderr.close()
    until(lambda: not any(each.is_running() for each in family), "an end of all")
