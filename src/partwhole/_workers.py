"""Processes that compute, are replaced when they die, and leave with their parent."""

from __future__ import annotations

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
from partwhole._threads import cores
from partwhole._types import Count

ATTEMPTS = 2
_SPAWN = get_context("spawn")
_STARTING = threading.Lock()


class WorkerLostError(RuntimeError):
    """A computation whose process ended each time it was tried."""


class _EndedError(Exception):
    """A process that ended: by what, and whether it had begun with what it was asked."""

    def __init__(self, how: str, *, begun: bool) -> None:
        super().__init__(how)
        self.begun = begun


class Workers(Executor):
    """An executor of spawned (never forked) processes, which share the cores.

    Each does linear algebra on its share of them, or on as many as OMP_NUM_THREADS says if that
    is fewer. A process that dies is replaced, and what it computed is tried once more; the others
    go on. An interrupt from the terminal reaches the parent alone; processes end when the parent
    does, however it ends.

    Parameters
    ----------
    workers : int
        How many processes; each is started when there is work for it.

    Raises
    ------
    InputError
        For fewer than one.
    """

    @door
    def __init__(self, workers: Count) -> None:
        share, told = max(1, cores() // workers), os.environ.get("OMP_NUM_THREADS", "")
        self._share = min(share, int(told)) if told.isdecimal() and int(told) > 0 else share
        self._most = workers
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._processes: set[_Process] = set()
        self._lock = threading.Lock()
        self._closed = self._killed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called in a process; it and its arguments can be pickled."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("workers that are shut down take on nothing")
            self._tasks.put((future, partial(fn, *args, **kwargs)))
            if len(self._threads) < self._most:
                # A daemon: an interpreter that ends waits for no computation.
                self._threads.append(threading.Thread(target=self._work, daemon=True))
                self._threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take on nothing more, and let the processes end when they have done what is left."""
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
        """End the processes at once; what they were computing is lost."""
        with self._lock:
            self._closed = self._killed = True
            for process in self._processes:
                process.kill()
        self._cancel()

    def __exit__(self, kind: object, *rest: object) -> None:
        """Wait for what was submitted, but for nothing after an error or an interrupt."""
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
        """Give task after task to a process of this thread's own."""
        process = None
        while (task := self._tasks.get()) is not None:
            if task[0].set_running_or_notify_cancel():
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
                if new or ended.begun:  # else it ended while it waited for work
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
            # A thread's mask of signals passes on to what it starts. Starting the tracker of
            # resources, where it does not run yet, would lift it.
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
        held, begun = pickle.dumps(call), False
        try:
            self._pipe.send_bytes(held)
            self._pipe.recv_bytes()
            begun = True
            answer = self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            self._process.join()
            code = self._process.exitcode or 0
            how = f"status {code}" if code >= 0 else signal.Signals(-code).name
            raise _EndedError(how, begun=begun) from error
        value, error = pickle.loads(answer)
        if error is not None:
            raise error
        return value

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Let the process leave, which it does once its pipe is closed."""
        self._pipe.close()
        self._process.join()


def _serve(pipe: Connection, share: int) -> None:
    """Answer calls until there are no more, in a process that leaves with its parent."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _use_threads(share)
    while True:
        try:
            held = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(b"begun")
        pipe.send_bytes(_answer(held))


def _answer(held: bytes) -> bytes:
    try:
        return pickle.dumps((pickle.loads(held)(), None))
    except BaseException as error:
        told = "".join(traceback.format_exception(error))
        error.add_note(told)
        try:
            answer = pickle.dumps((None, error))
            pickle.loads(answer)
        except Exception:  # some errors can't be pickled, others not be read again
            return pickle.dumps((None, RuntimeError(told)))
        return answer


def _leave_with_parent() -> None:
    """End this process at once when its parent has ended, even by a kill."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _use_threads(most: int) -> None:
    """Bound the threads of linear algebra: processes that each use every core take far longer."""
    from threadpoolctl import threadpool_limits

    # Read by libraries that are loaded later; the limit is for those that are here.
    os.environ["OMP_NUM_THREADS"] = str(most)
    threadpool_limits(most)
