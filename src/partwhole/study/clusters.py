"""Clusters by their address: processes of this machine, a scheduler of Dask, or jobs of SLURM."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from partwhole._checks import InputError, require
from partwhole._threads import cores
from partwhole.study.calls import PATIENCE, Cluster, Machines, needs_cluster

ABSENT = 5.0  # seconds
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# A worker whose cell keeps the interpreter busy sends no sign of life; one that is full of data
# would compute nothing, and wait.
SETTINGS = {
    # Attempts are counted here: Dask counts the end of a worker for all calls that wait there.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-ttl": "1 hour",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
}


def cluster_at(address: str, *, patience: float = PATIENCE) -> Cluster:
    """Return an executor on the cluster of an address.

    Parameters
    ----------
    address : str
        "local:N" for N processes of this machine, "dask://HOST:PORT" for the scheduler of a Dask
        cluster, or "slurm:FILE.toml" for jobs of SLURM; see `slurm.Jobs`.
    patience : float, keyword-only, default 60
        As of `Cluster`.

    Returns
    -------
    Cluster
        To be used in a `with` statement: what was started for it ends with it.

    Raises
    ------
    InputError
        For another address, one where no scheduler answers, and a file or a partition of SLURM
        that is none.
    MissingExtraError
        If the packages of the extra "cluster" are not installed.

    Examples
    --------
    >>> with cluster_at("local:1") as cluster:
    ...     cluster.submit(pow, 2, 10).result()
    1024
    """
    kind, place = parts_of(address)
    needs_cluster(f"partwhole on {address}")
    if kind == "local":
        return _local(int(place), address, patience)
    if kind == "dask":
        return _scheduler_at(place, address, patience)
    from partwhole.study.slurm import started

    return started(Path(place), address, patience)


def parts_of(address: str) -> tuple[str, str]:
    """Return the kind of an address and the rest of it.

    Raises
    ------
    InputError

    Examples
    --------
    >>> parts_of("local:2"), parts_of("dask://login1:8786")
    (('local', '2'), ('dask', 'login1:8786'))
    """
    match = re.fullmatch(r"(local):([1-9]\d{0,3})|(dask)://(.+:\d+)|(slurm):(.+\.toml)", address)
    require(
        match is not None,
        "cells are computed on local:N, dask://HOST:PORT or slurm:FILE.toml",
        repr(address),
        "name one of them, local:2 say",
    )
    assert match is not None
    kind, place = (part for part in match.groups() if part is not None)
    return kind, place


def _local(workers: int, address: str, patience: float) -> Cluster:
    import dask.config
    from distributed import Client, LocalCluster

    share = str(max(1, cores() // workers))
    if os.environ.get("OMP_NUM_THREADS", "").isdecimal():
        share = str(min(int(share), int(os.environ["OMP_NUM_THREADS"])))
    options: dict[str, Any] = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "memory_limit": 0,
        "dashboard_address": ":0",
        "silence_logs": logging.CRITICAL,
        "host": "127.0.0.1",
        "env": dict.fromkeys(THREADS, share),
    }
    with dask.config.set(SETTINGS), _without_interrupts():
        processes = LocalCluster(processes=True, **options)
    quiet()
    client = Client(processes, set_as_default=False, timeout=patience)
    machines = Machines(
        address,
        here=True,
        together=workers,
        asks_for_gpus=False,
        renew=_Renewal(processes, workers).renew,
        every=1.0,
        close=processes.close,
    )
    return Cluster(client, machines, patience=patience)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Leave an interrupt from the terminal to this process; those that start now don't see it.

    They inherit the mask of signals. The tracker of resources runs before, because starting it
    resets the mask.
    """
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Renewal:
    """Replacement of processes whose guard, Dask's Nanny, has not noticed their end.

    It doesn't for those that end while it starts them.
    """

    def __init__(self, cluster: Any, workers: int) -> None:
        self._cluster, self._workers = cluster, workers
        self._absent: dict[Any, float] = {}

    def renew(self, names: set[str]) -> None:
        """Replace the guards that have been without a process for some seconds."""
        now = time.monotonic()
        for name, guard in dict(self._cluster.workers).items():
            if guard.pid is not None:
                self._absent.pop(name, None)
            elif now - self._absent.setdefault(name, now) > ABSENT:
                del self._absent[name]
                self._cluster.workers.pop(name, None)
                self._cluster.loop.add_callback(guard.close)
        self._cluster.scale(self._workers)


def _scheduler_at(place: str, address: str, patience: float) -> Cluster:
    from distributed import Client

    host, _, port = place.rpartition(":")
    try:
        # Dask would try for as long as it waits for one that it has lost.
        socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
        quiet()
        client = Client(f"tcp://{place}", set_as_default=False, timeout=patience)
    except Exception as error:
        raise InputError(
            f"a scheduler of Dask answers at its address; got none at {address}; start it, "
            "`dask scheduler` there, or correct the address"
        ) from error
    return Cluster(client, Machines(address), patience=patience)


def quiet() -> None:
    """Leave what is said of lost workers to the sentences of this module."""
    for name in ["distributed", *logging.root.manager.loggerDict]:
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
