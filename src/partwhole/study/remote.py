"""Cells that are computed on other machines, and kept by the process that sends them.

The sender alone writes the store: it looks for each cell, sends those that are missing, and keeps
each result the moment it arrives. So the store may lie on NFS or on a disk that no worker sees, and
no lock between machines matters. A worker writes one folder only, that of the cell it computes, and
only where it finds the store.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from partwhole import store
from partwhole._checks import InputError, require
from partwhole._lost import LostError
from partwhole._writing import naming
from partwhole.study.compiled import keep_compiled
from partwhole.study.hooks import called, on_gpu, seconds_of, takes_scratch
from partwhole.study.journal import Journal
from partwhole.study.registry import load, place_of, short_name
from partwhole.study.source import NO_SOURCE, source_of
from partwhole.tasks.images._files import VARIABLE

LINES = 8  # of an error, in the journal
# A worker may have several threads, and a study is there only once it is imported to its end.
_LOADING = threading.Lock()


class Remote(Executor):
    """An executor whose calls may run on machines that don't see the store.

    Attributes
    ----------
    address : str
    here : bool
        Whether all calls run on this machine.
    """

    address: str
    here: bool

    @abstractmethod
    def send(
        self,
        call: Callable[[], Any],
        *,
        seconds: float = 0.0,
        gpu: bool = False,
        started: Callable[[str], None] | None = None,
        progress: Callable[[], Any] | None = None,
    ) -> Future[Any]:
        """Submit a call.

        Parameters
        ----------
        call : callable () -> value
        seconds : float, keyword-only
            Expected duration; long calls go first.
        gpu : bool, keyword-only
            Whether it needs a GPU of its own.
        started : callable (str), keyword-only
            Called with the address of the worker whenever one begins the call.
        progress : callable () -> value, keyword-only
            Returns another value whenever the call has come further. A call that ends its workers
            is tried again without limit while it comes further between them.
        """

    @abstractmethod
    def n_workers(self) -> int:
        """Return the number of workers at present."""


@dataclass
class _Run:
    """What the cells of one study have in common while they are away."""

    study: ModuleType
    source: str
    root: Path
    journal: Journal
    open: set[str] = field(default_factory=set)
    failures: int = 0

    def name(self) -> str:
        return short_name(self.study)

    def closed(self, digest: str, *, failed: bool) -> None:
        """Count a cell that came back, the last of which ends the run."""
        self.failures += failed
        self.open.discard(digest)
        if not self.open:
            missing = f"{self.failures} cell{'s' * (self.failures != 1)} missing"
            self.journal.ended(missing if self.failures else "finished")


def send_cells(
    study: ModuleType,
    preset: str,
    configs: list[dict[str, Any]],
    executor: Remote,
    *,
    root: Path,
) -> list[Future[store.Cell]]:
    """Send the cells of a study that are not in the store, and return a future for each cell.

    A future has its result once the cell is in the store.

    Raises
    ------
    InputError
        If the study asks for GPUs where the executor has none, or states no valid duration.
    WriteError
        If the store can't be written to.
    """
    name, source = short_name(study), source_of(study).digest
    require(
        source != NO_SOURCE,
        "cells that are computed elsewhere are those of a study with a file",
        f"{name}, which has none",
        "save it as a file that ends with .py",
    )
    digests = [store.digest(name, config, source=source) for config in configs]
    cells = dict(zip(digests, configs, strict=True))
    expected = {digest: seconds_of(study, config) for digest, config in cells.items()}
    gpu = on_gpu(study)
    futures: dict[str, Future[store.Cell]] = {digest: Future() for digest in cells}
    for digest, config in cells.items():
        stored = store.find(name, config, source=source, root=root)
        if stored is not None:
            futures[digest].set_result(stored)
    away = {digest for digest in cells if not futures[digest].done()}
    if away:
        with naming(root / name):
            (root / name).mkdir(parents=True, exist_ok=True)
        heading = {"preset": preset, "address": executor.address, "cells": len(cells)}
        heading |= {"stored": len(cells) - len(away)}
        journal = Journal(root, name, heading, executor.n_workers)
        run = _Run(study, source, root, journal, away)
        try:
            for digest in sorted(away, key=lambda digest: -expected[digest]):
                _send(run, executor, digest, cells[digest], expected[digest], gpu, futures[digest])
        except BaseException:
            journal.ended("stopped before its cells were sent")
            for future in futures.values():
                future.cancel()
            raise
    return [futures[digest] for digest in digests]


def _send(
    run: _Run, executor: Remote, digest: str, config: dict[str, Any], seconds: float, gpu: bool,
    future: Future[store.Cell],
) -> None:  # fmt: skip
    scratch = None
    if takes_scratch(run.study):
        scratch = store.scratch_folder(run.name(), config, source=run.source, root=run.root)
    variables = {name: os.environ[name] for name in (VARIABLE,) if name in os.environ}
    call = partial(
        computed, place_of(run.study), config, source=run.source, scratch=scratch,
        compiled=run.root if executor.here else None, variables=variables,
    )  # fmt: skip
    sent = executor.send(
        call,
        seconds=seconds,
        gpu=gpu,
        started=partial(run.journal.computing, digest, config),
        progress=None if scratch is None else partial(_progress, scratch),
    )
    future.add_done_callback(lambda future: future.cancelled() and sent.cancel())
    sent.add_done_callback(partial(_arrived, run, digest, config, scratch, future))


def _arrived(
    run: _Run, digest: str, config: dict[str, Any], scratch: Path | None,
    future: Future[store.Cell], sent: Future[Any],
) -> None:  # fmt: skip
    """Keep a cell that came back, also where nobody waits for it any more."""
    try:
        cell, seconds = sent.result()
        kept = store.keep(
            run.name(), config, cell, source=run.source, root=run.root, seconds=seconds
        )
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
        run.journal.done(digest, seconds)
    except CancelledError:
        run.closed(digest, failed=True)
        future.cancel()
    except BaseException as error:
        run.journal.failed(digest, config, last_lines(error))
        run.closed(digest, failed=True)
        if future.set_running_or_notify_cancel():
            future.set_exception(error)
    else:
        run.closed(digest, failed=False)
        if future.set_running_or_notify_cancel():
            future.set_result(kept)


def computed(
    place: str,
    config: dict[str, Any],
    *,
    source: str,
    scratch: Path | None,
    compiled: Path | None,
    variables: dict[str, str],
) -> tuple[store.Cell, float]:
    """Compute a cell on a worker; return it with the seconds that it took.

    Parameters
    ----------
    place : str
        The full name of the study's module, or its file.
    config : dict
    source : str, keyword-only
        Hash of the source that the sender's study depends on.
    scratch : Path or None, keyword-only
        The cell's own folder beside the store, if it takes one.
    compiled : Path or None, keyword-only
        The store, if what JAX compiles is to be kept there.
    variables : dict, keyword-only
        Variables of the environment.

    Raises
    ------
    InputError
        If the worker has another version of the study.
    """
    os.environ.update(variables)
    with _LOADING:
        study = load(place)
        present = source_of(study).digest
    require(
        present == source,
        "workers compute with the source, and the Python, of the process that sends cells",
        f"{short_name(study)} of source {present} in place of {source}",
        "install the same versions on the workers, and start them again",
    )
    if compiled is not None:
        keep_compiled(compiled)
    start = time.perf_counter()
    with _folder(scratch) as folder:
        cell = store.fresh(partial(called, study, config, folder))
    return cell, time.perf_counter() - start


@contextmanager
def _folder(scratch: Path | None) -> Iterator[Path | None]:
    """Make the folder of a cell beside the store, or, where a worker sees no store, for now."""
    if scratch is not None and scratch.parent.is_dir():
        with suppress(OSError):
            scratch.mkdir(exist_ok=True)
    if scratch is None or scratch.is_dir():
        yield scratch
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


def _progress(scratch: Path) -> list[tuple[str, int]]:
    """Return the files of a cell and their times, which change with every checkpoint."""
    files = []
    with suppress(OSError):
        for path in scratch.rglob("*"):
            with suppress(OSError):
                files.append((path.name, path.stat().st_mtime_ns))
    return sorted(files)


def last_lines(error: BaseException) -> list[str]:
    """Return the last lines of an error: its sentence, or the end of the worker's traceback."""
    if isinstance(error, InputError | LostError | OSError):
        return [str(error)]
    text = (getattr(error, "__notes__", None) or [str(error)])[-1]
    return [line for line in text.splitlines() if line.strip()][-LINES:]
