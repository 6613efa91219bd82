"""Calls on the workers of a Dask cluster."""

from __future__ import annotations

import heapq
import os
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import count
from typing import Any

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._extras import MissingExtraError
from partwhole._lost import LostError
from partwhole._workers import WorkerLostError, _answer
from partwhole.study.devices import use_devices
from partwhole.study.remote import Remote

PACKAGES = {"dask": "dask", "distributed": "distributed", "dask_jobqueue": "dask-jobqueue"}
GPU, TOPIC = "GPU", "partwhole"
ATTEMPTS, FALSE_STARTS = 4, 20
PATIENCE = 60.0  # seconds
PERIOD, ANSWERS_WITHIN = 0.5, 3.0
GPU_RULE = "a study that is computed on GPUs is sent to workers with the resource GPU"
GPU_REMEDY = "start them with `dask worker ADDRESS --resources GPU=1`, or set gpus for SLURM"


class ClusterLostError(LostError):
    """A cluster that can't be reached any more, or has no workers."""


@dataclass(eq=False)
class _Task:
    """A call, its future, and what is known of its attempts."""

    message: bytes
    future: Future[Any]
    seconds: float
    gpu: bool
    started: Callable[[str], None]
    progress: Callable[[], Any]
    key: str = ""
    sent: Any = None
    attempts: int = 0
    settled: bool = False
    before: Any = None  # how far it had come
    begun: str = ""  # the key under which a worker began it
    false_starts: int = 0


@dataclass
class Machines:
    """What a cluster consists of, beyond its client.

    Parameters
    ----------
    address : str
        As users name it.
    here : bool
        Whether all workers are processes of this machine.
    together : int
        Number of workers on a machine, which share its GPUs; 0 if that is their own affair.
    asks_for_gpus : bool
        Whether calls that need a GPU ask for Dask's resource of that name.
    watch : callable () -> str
        Called while no worker is there; returns a sentence once none is to be expected.
    renew : callable (set of str)
        Called now and then, with the names of the workers that were there since, to replace those
        that have ended.
    every : float
        Seconds between these calls.
    close : callable
    """

    address: str
    here: bool = False
    together: int = 0
    asks_for_gpus: bool = True
    watch: Callable[[], str] | None = None
    renew: Callable[[set[str]], object] = lambda names: None
    every: float = 5.0
    close: Callable[[], object] = lambda: None


class Cluster(Remote):
    """An executor of calls on the workers of a Dask cluster.

    It sends as many calls as there are threads of workers, long ones first. A worker that dies
    costs the calls that it computes, which are sent again; one that ends four workers in turn,
    without coming further, is given up. After a restart of the scheduler everything that has not
    come back is sent again.

    Parameters
    ----------
    client : distributed.Client
    machines : Machines, default None
        None is a cluster that was started elsewhere: it and the client stay.
    patience : float, default 60
        Seconds without a scheduler, or without a worker, after which all calls are given up.

    Raises
    ------
    MissingExtraError
        If the packages of the extra "cluster" are not installed.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(processes=False, dashboard_address=None) as client, Cluster(client) as cluster:
    ...     cluster.submit(pow, 2, 10).result()
    1024
    """

    def __init__(
        self, client: Any, machines: Machines | None = None, *, patience: float = PATIENCE
    ) -> None:
        needs_cluster("partwhole.study.calls.Cluster")
        self._client, self._patience = client, patience
        self._is_ours = machines is not None
        self._machines = machines or Machines(str(client.scheduler.address))
        self.address, self.here = self._machines.address, self._machines.here
        self._lock = threading.RLock()
        self._waiting: list[tuple[float, int, _Task]] = []
        self._running: dict[str, _Task] = {}
        self._numbers = count()
        self._threads = self._gpus = 0
        self._workers: dict[str, Any] = {}
        self._scheduler = ""
        self._names: set[str] = set()
        self._seen = dict.fromkeys((False, True), time.monotonic())
        self._closed = threading.Event()
        self._arrivals = ThreadPoolExecutor(4, thread_name_prefix="partwhole-arrivals")
        self._look()
        self._thread = threading.Thread(target=self._tend, daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function on a worker; workers can import what it is made of."""
        return self.send(partial(fn, *args, **kwargs))

    @door
    def send(
        self,
        call: Callable[[], Any],
        *,
        seconds: float = 0.0,
        gpu: bool = False,
        started: Callable[[str], None] | None = None,
        progress: Callable[[], Any] | None = None,
    ) -> Future[Any]:
        import cloudpickle

        gpu = gpu and self._machines.asks_for_gpus
        if gpu:
            self._require_gpus()
        task = _Task(
            cloudpickle.dumps(call), Future(), seconds, gpu,
            started or (lambda worker: None), progress or (lambda: None),
        )  # fmt: skip
        task.before = task.progress()
        with self._lock:
            if self._closed.is_set():
                raise RuntimeError("a cluster that is shut down accepts no calls")
            self._wait(task)
        task.future.add_done_callback(partial(self._cancelled, task))
        self._fill()
        return task.future

    def n_workers(self) -> int:
        return len(self._workers)

    @door
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls, wait for those that were sent, and disconnect."""
        with self._lock:
            tasks = [task for _, _, task in self._waiting] + list(self._running.values())
        if cancel_futures or not wait:
            for task in tasks:
                task.future.cancel()
        _wait_for([task.future for task in tasks])
        if self._closed.is_set():
            return
        self._closed.set()
        self._thread.join()
        self._arrivals.shutdown()
        if self._is_ours:
            with suppress(Exception):
                self._client.close(timeout=5)
            with suppress(Exception):
                self._machines.close()

    def __exit__(self, kind: object, *_: object) -> None:
        """Wait for the calls; after an error or an interrupt, end at once."""
        self.shutdown(wait=kind is None)

    def _require_gpus(self) -> None:
        workers = self._workers
        require(
            not workers or self._gpus,
            GPU_RULE,
            f"{len(workers)} without it at {self.address}",
            GPU_REMEDY,
        )

    def _wait(self, task: _Task) -> None:
        heapq.heappush(self._waiting, (-task.seconds, next(self._numbers), task))

    def _fill(self) -> None:
        """Send the longest calls, one for each thread of a worker that has none."""
        with self._lock:
            if self._client.status != "running" or self._closed.is_set():
                return
            threads = self._threads - len(self._running)
            gpus = self._gpus - sum(task.gpu for task in self._running.values())
            later = []
            while self._waiting and threads > 0:
                entry = heapq.heappop(self._waiting)
                task = entry[2]
                if task.gpu and gpus <= 0:
                    later.append(entry)
                    continue
                threads, gpus = threads - 1, gpus - task.gpu
                self._start(task)
            for entry in later:
                heapq.heappush(self._waiting, entry)

    def _start(self, task: _Task) -> None:
        task.key = f"partwhole-{os.urandom(8).hex()}"
        self._running[task.key] = task
        task.sent = self._client.submit(
            _called, task.message, task.key, self._machines.together,
            key=task.key, pure=False, resources={GPU: 1} if task.gpu else None,
        )  # fmt: skip
        # Results are fetched in threads of our own, because one that is lost is computed again
        # while its thread waits.
        task.sent.add_done_callback(
            lambda sent: self._closed.is_set() or self._arrivals.submit(self._ended, task, sent)
        )

    def _ended(self, task: _Task, sent: Any) -> None:
        """Return the result of a call, or send the call again if its result is lost."""
        from distributed import KilledWorker

        if self._running.get(task.key) is not task or task.sent is not sent:
            return
        answer, error = None, None
        try:
            if sent.status == "finished":
                answer = sent.result()
            elif sent.status == "error":
                error = sent.exception()
        except Exception:
            pass  # the scheduler has gone, or a worker with the result
        if answer is None and (error is None or isinstance(error, KilledWorker)):
            self._send_again(task, getattr(error, "allowed_failures", -1) + 1)
            return
        with self._lock:
            self._running.pop(task.key, None)
        sent.release()
        self._fill()
        if self._claims(task):
            try:
                task.future.set_result(_value(answer, error))
            except BaseException as caught:
                task.future.set_exception(caught)

    def _send_again(self, task: _Task, ended: int) -> None:
        """Send a call again whose worker has ended, or whose scheduler has gone."""
        if ended:
            self._count(task, ended)
            if task.attempts >= ATTEMPTS or task.false_starts >= FALSE_STARTS:
                self._give_up(task)
                return
            with suppress(Exception):
                self._look()  # so that it is not sent to the worker of another call
        with self._lock:
            self._running.pop(task.key, None)
            task.sent = None
            if not task.future.done():
                self._wait(task)
        self._fill()

    def _count(self, task: _Task, ended: int) -> None:
        """Count the workers that ended with a call, unless it has come further.

        A worker that ended before it began the call is counted apart: it had causes of its own.
        """
        now = task.progress()
        if now != task.before:
            task.attempts = task.false_starts = 0
        task.before = now
        if task.begun == task.key:
            task.attempts += ended
        else:
            task.false_starts += ended

    def _claims(self, task: _Task) -> bool:
        """Return whether the caller is the first to settle the future of a call."""
        with self._lock:
            first, task.settled = not task.settled, True
        return first and task.future.set_running_or_notify_cancel()

    def _give_up(self, task: _Task) -> None:
        self._forget(task)
        if self._claims(task):
            task.future.set_exception(
                WorkerLostError(
                    f"{task.attempts + task.false_starts} workers ended while they computed it; "
                    "give each worker more memory, or a longer walltime"
                )
            )

    def _cancelled(self, task: _Task, future: Future[Any]) -> None:
        if future.cancelled():
            self._claims(task)  # without which whoever waits for the future is not notified
            self._forget(task)

    def _forget(self, task: _Task) -> None:
        with self._lock:
            self._running.pop(task.key, None)
            self._waiting = [entry for entry in self._waiting if entry[2] is not task]
            heapq.heapify(self._waiting)
            sent, task.sent = task.sent, None
        if sent is not None:
            with suppress(Exception):
                sent.cancel()
        self._fill()

    def _on_event(self, event: tuple[float, dict[str, str]]) -> None:
        task = self._running.get(event[1]["key"])
        if task is not None and not self._closed.is_set():
            task.begun = task.key
            self._arrivals.submit(task.started, event[1]["worker"])

    def _tend(self) -> None:
        """Follow the cluster until it is shut down."""
        renewed = time.monotonic()
        while not self._closed.wait(PERIOD):
            with suppress(Exception):  # of a scheduler that is going; the next look says more
                self._look()
                self._fill()
            if time.monotonic() - renewed > self._machines.every:
                renewed = time.monotonic()
                with suppress(Exception):
                    self._machines.renew(self._names)
                self._names = set()
            for gpu in (False, True):
                self._give_up_lost(gpu)

    def _look(self) -> None:
        """Count the workers, and subscribe to the events of a scheduler that is new."""
        if self._client.status != "running":
            self._workers = {}
            return
        facts = self._client.sync(
            self._client.scheduler.identity, n_workers=-1, callback_timeout=ANSWERS_WITHIN
        )
        self._workers = facts["workers"]
        self._names |= {str(worker["name"]) for worker in self._workers.values()}
        self._threads = sum(worker["nthreads"] for worker in self._workers.values())
        gpus = (worker["resources"].get(GPU, 0) for worker in self._workers.values())
        self._gpus = int(sum(gpus))
        if facts["id"] != self._scheduler:
            self._scheduler = facts["id"]
            self._client.subscribe_topic(TOPIC, self._on_event)

    def _give_up_lost(self, gpu: bool) -> None:
        """Give up the calls with a GPU, or those without, that no worker could compute for long."""
        with self._lock:
            tasks = [task for _, _, task in self._waiting] + list(self._running.values())
        tasks = [task for task in tasks if task.gpu is gpu]
        if not tasks or (self._workers and (self._gpus or not gpu)):
            self._seen[gpu] = time.monotonic()
        late = time.monotonic() - self._seen[gpu] >= self._patience
        if not tasks or not (late or self._client.status == "closed"):
            return
        reason = self._reason()
        for task in tasks if reason else ():
            self._forget(task)
            if self._claims(task):
                task.future.set_exception(ClusterLostError(reason))

    def _reason(self) -> str:
        """Return why no worker computes; nothing if one is still to be expected."""
        if self._client.status != "running":
            return (
                f"a scheduler answers; got none at {self.address} for {self._patience:.0f} s; "
                "start it again, with its workers"
            )
        if self._workers:
            return f"{GPU_RULE}; got {len(self._workers)} without it; {GPU_REMEDY}"
        if self._machines.watch is not None:
            return self._machines.watch()
        return (
            f"a cluster has workers; got none at {self.address} for {self._patience:.0f} s; "
            "start some, `dask worker ADDRESS` say"
        )


def _wait_for(futures: list[Future[Any]]) -> None:
    wait(futures)


def _value(answer: bytes | None, error: BaseException | None) -> Any:
    """Return what a call returned, or raise its error."""
    if error is None and answer is not None:
        value, error = pickle.loads(answer)
        if error is None:
            return value
    assert error is not None
    # Of a worker that can't read the call: without partwhole Dask says so, else the call itself.
    cause = error.__cause__ or error
    if isinstance(cause, ModuleNotFoundError) and not isinstance(cause, MissingExtraError):
        raise InputError(
            f"workers have the packages of the process that sends calls; got none of the name "
            f"{cause.name}; install it on the workers, and start them again"
        )
    raise error


def _called(message: bytes, key: str, together: int) -> bytes:
    """Answer a call on a worker, and say that it has begun."""
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(TOPIC, {"key": key, "worker": worker.address})
    if together:
        use_devices(str(worker.name), together)
    return _answer(message)


def needs_cluster(part: str) -> None:
    """Raise an error of one sentence unless the packages of the extra "cluster" are installed.

    Raises
    ------
    MissingExtraError
    """
    missing = [title for name, title in PACKAGES.items() if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"{part} needs packages of the extra 'cluster'; got an installation without "
            f"{', '.join(missing)}; install them: pip install 'partwhole[cluster]'",
            name=missing[0],
        )
