"""Processes that compute, are replaced when they die, and end with their parent."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from partwhole._door import door
from partwhole._lost import LostError
from partwhole._threads import cores
from partwhole._types import Count

ATTEMPTS = 2
# Options of glibc's mallopt: no block outside the heap, a heap that seldom shrinks, and only one.
_KEEP = {
    "M_MMAP_MAX": (-4, 0),
    "M_TRIM_THRESHOLD": (-1, 2**31 - 1),
    "M_TOP_PAD": (-2, 2**26),
    "M_ARENA_MAX": (-8, 1),
}
_SPAWN = get_context("spawn")
_STARTING = threading.Lock()


class WorkerLostError(LostError):
    """A computation whose process ended at every attempt."""


class _EndedError(Exception):
    """The end of a process: its cause, and whether the call had started."""

    def __init__(self, cause: str, *, started: bool) -> None:
        super().__init__(cause)
        self.started = started


class Workers(Executor):
    """An executor of spawned (never forked) processes, which share the cores.

    Linear algebra in each process uses its share of the cores, or OMP_NUM_THREADS of them if that
    is fewer. A process that dies is replaced, and its call is tried once more; the other processes
    continue. An interrupt from the terminal reaches only the parent; processes end when the parent
    ends, also when it is killed.

    Parameters
    ----------
    workers : int
        Number of processes; each is started when there is work for it.

    Raises
    ------
    InputError
        For fewer than one.
    """

    @door
    def __init__(self, workers: Count) -> None:
        share, threads = max(1, cores() // workers), os.environ.get("OMP_NUM_THREADS", "")
        if threads.isdecimal() and int(threads) > 0:
            share = min(share, int(threads))
        self._share = share
        self._n_workers = workers
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._processes: set[_Process] = set()
        self._lock = threading.Lock()
        self._closed = self._killed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a process; it and its arguments must be picklable."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("workers that are shut down accept no calls")
            self._tasks.put((future, partial(fn, *args, **kwargs)))
            if len(self._threads) < self._n_workers:
                # A daemon, so that an interpreter that ends does not wait for computations.
                self._threads.append(threading.Thread(target=self._work, daemon=True))
                self._threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls; the processes end after the calls already submitted."""
        with self._lock:
            self._closed = True
        if cancel_futures:
            self._cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """End the processes at once; their unfinished calls are lost."""
        with self._lock:
            self._closed = self._killed = True
            for process in self._processes:
                process.kill()
        self._cancel()

    def __exit__(self, kind: object, *_: object) -> None:
        """Wait for the submitted calls; after an error or an interrupt, end at once."""
        if kind is not None:
            self.kill()
        self.shutdown()

    def _cancel(self) -> None:
        try:
            while True:
                task = self._tasks.get_nowait()
                if task is not None:
                    task[0].cancel()
        except Empty:
            return

    def _work(self) -> None:
        """Give one task after another to this thread's process."""
        process = None
        while (task := self._tasks.get()) is not None:
            # After `kill`, which may not have come to this one yet.
            if self._killed:
                task[0].cancel()
            elif task[0].set_running_or_notify_cancel():
                process = self._attempt(process, *task)
            del task
        if process is not None:
            process.end()

    def _attempt(
        self, process: _Process | None, future: Future[Any], call: Callable[[], Any]
    ) -> _Process | None:
        ends: list[str] = []
        while len(ends) < ATTEMPTS and not self._killed:
            new = process is None or not process.is_alive()
            try:
                if process is None or new:
                    process = self._started(process)
                future.set_result(process.ask(call))
                return process
            except _EndedError as ended:
                if new or ended.started:  # else it ended while it waited for work
                    ends.append(str(ended))
            except BaseException as error:  # of the call itself, or of starting a process
                future.set_exception(error)
                return process
        future.set_exception(
            WorkerLostError(f"its process ended: {', then '.join(ends) or 'killed'}")
        )
        return process

    def _started(self, before: _Process | None) -> _Process:
        with _STARTING:
            # A process inherits the mask of signals of the thread that starts it. The tracker of
            # resources has to run before, because starting it resets the mask.
            resource_tracker.ensure_running()
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            process = _Process(self._share)
        with self._lock:
            if before is not None:
                self._processes.discard(before)
            self._processes.add(process)
            if self._killed:
                process.kill()
        return process


class _Process:
    """A process that answers one call after another."""

    def __init__(self, share: int) -> None:
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs, share), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns, or raise what it raises."""
        message, started = pickle.dumps(call), False
        try:
            self._pipe.send_bytes(message)
            self._pipe.recv_bytes()
            started = True
            answer = self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            self._process.join()
            code = self._process.exitcode or 0
            cause = f"status {code}" if code >= 0 else signal.Signals(-code).name
            raise _EndedError(cause, started=started) from error
        value, error = pickle.loads(answer)
        if error is not None:
            raise error
        return value

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Close the pipe, at which the process ends by itself."""
        self._pipe.close()
        self._process.join()


def _serve(pipe: Connection, share: int) -> None:
    """Answer calls until there are no more, in a process that ends with its parent."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_freed_memory()
    _use_threads(share)
    while True:
        try:
            message = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(b"started")
        pipe.send_bytes(_answer(message))


def _answer(message: bytes) -> bytes:
    try:
        return pickle.dumps((pickle.loads(message)(), None))
    except BaseException as error:
        trace = "".join(traceback.format_exception(error))
        error.add_note(trace)
        try:
            answer = pickle.dumps((None, error))
            pickle.loads(answer)
        except Exception:  # some errors can't be pickled, others can't be read back
            return pickle.dumps((None, RuntimeError(trace)))
        return answer


def _end_with_parent() -> None:
    """End this process at once when its parent has ended, even by a kill."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _use_threads(count: int) -> None:
    """Bound the threads of linear algebra; processes that each use every core are far slower."""
    from threadpoolctl import threadpool_limits

    # The variable is for libraries that are loaded later, the limit for those already loaded.
    os.environ["OMP_NUM_THREADS"] = str(count)
    threadpool_limits(count)


def keep_freed_memory() -> None:
    """Have the C library keep memory that is freed, for all that this process computes after.

    Each step of a network on images allocates the same hundreds of megabytes. Given back to the
    system and asked for again, up to half of the time goes into its page faults. Only glibc has
    these options, and no result depends on them.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is None:
        return
    for option, value in _KEEP.values():
        mallopt(option, value)
