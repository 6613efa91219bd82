"""The journal of a run on a cluster: a plain file in the store, from which its state is read."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from partwhole._writing import naming, write_all
from partwhole.store.listing import JOURNAL

BEAT = 5.0  # seconds between signs of life
SILENCE = 180.0  # seconds without one, after which a run on another machine counts as ended


class Journal:
    """Events of one run, a line of JSON for each, written by the process that writes the store.

    It replaces the journal of the run before. A full disk costs lines of the journal, not the run.

    Parameters
    ----------
    root : Path
        Folder of the store.
    study : str
    heading : dict
        What is known before cells are sent: preset, address, number of cells and of those stored.
    workers : callable () -> int
        Number of workers at present.

    Raises
    ------
    WriteError
        If the file can't be written.
    """

    def __init__(
        self, root: Path, study: str, heading: dict[str, Any], workers: Callable[[], int]
    ) -> None:
        self._path, self._lock, self._workers = root / study / JOURNAL, threading.Lock(), workers
        heading = heading | {"host": socket.gethostname(), "process": os.getpid()}
        with naming(self._path):
            write_all({self._path: _line("begun", heading).encode()})
            # A later run replaces the file, and the lines of this one then go nowhere.
            self._file: TextIO | None = self._path.open("a", encoding="utf-8")
        self._stop = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def computing(self, cell: str, config: dict[str, Any], worker: str) -> None:
        """Note that a worker begins a cell."""
        self._write("computing", {"cell": cell, "config": config, "worker": worker})

    def done(self, cell: str, seconds: float) -> None:
        """Note that the result of a cell is in the store."""
        self._write("done", {"cell": cell, "seconds": round(seconds, 1)})

    def failed(self, cell: str, config: dict[str, Any], lines: Sequence[str]) -> None:
        """Note that a cell has failed, with the last lines of its error."""
        self._write("failed", {"cell": cell, "config": config, "lines": list(lines)})

    def ended(self, outcome: str) -> None:
        """Note the end of the run, and close the file."""
        self._write("ended", {"outcome": outcome})
        self._stop.set()
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None

    def _write(self, event: str, facts: dict[str, Any]) -> None:
        with self._lock, suppress(OSError):
            if self._file is not None:
                self._file.write(_line(event, facts))
                self._file.flush()

    def _beat(self) -> None:
        before = None
        while not self._stop.wait(0.0 if before is None else BEAT):
            count = self._workers()
            if count != before:
                self._write("workers", {"count": count})
            before = count
            with self._lock, suppress(OSError):
                if self._file is not None:
                    os.utime(self._file.fileno())


@dataclass
class State:
    """State of the last run of a study on a cluster.

    Parameters
    ----------
    study, preset, address : str
    host : str
        The machine of the process that writes the store.
    process : int
    cells, stored : int
        Number of cells, and of those that were in the store before.
    begun : float
        Time in seconds since 1970.
    done : set of str
        Keys of the cells that were computed and stored.
    running : dict
        Of each cell that is being computed: configuration, worker, time.
    failed : dict
        Of each cell that failed: configuration and last lines of its error.
    workers : int
    ended : str
        How the run ended; empty while it is at work.
    """

    study: str
    preset: str
    address: str
    host: str
    process: int
    cells: int
    stored: int
    begun: float
    done: set[str] = field(default_factory=set)
    running: dict[str, tuple[str, str, float]] = field(default_factory=dict)
    failed: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    workers: int = 0
    ended: str = ""

    def describe(self) -> str:
        """Return the state in lines: counts, then the cells that are computed and that failed."""
        done = self.stored + len(self.done)
        waiting = self.cells - done - len(self.running) - len(self.failed)
        now = time.time()
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.begun))
        state = self.ended or f"at work, {self.workers} worker{'s' * (self.workers != 1)}"
        lines = [
            f"{self.study}, preset {self.preset}, on {self.address} since {since}: {state}",
            f"    {done} of {self.cells} cells done, {len(self.running)} "
            f"running, {max(waiting, 0)} waiting, {len(self.failed)} failed",
        ]
        for config, worker, start in self.running.values():
            lines.append(f"    running for {_clock(now - start)} at {worker}: {config}")
        for config, last in self.failed.values():
            lines += [f"    failed: {config}", *(f"        {line}" for line in last)]
        return "\n".join(lines)


def states(root: Path, study: str | None = None) -> list[State]:
    """Return the state of the last run on a cluster of one study or of all, in order of names.

    Parameters
    ----------
    root : Path
        Folder of the store.
    study : str, default None
        None is all of them.
    """
    read = [_state(path) for path in sorted(root.glob(f"{study or '*'}/{JOURNAL}"))]
    return [state for state in read if state is not None]


def _state(path: Path) -> State | None:
    """Read a journal; lines that are cut off, and files that are none, count for nothing."""
    state = None
    with suppress(OSError, ValueError, KeyError, TypeError):
        beat = path.stat().st_mtime
        for line in path.read_text("utf-8").splitlines():
            with suppress(json.JSONDecodeError):
                facts = json.loads(line)
                event, at = facts.pop("event"), facts.pop("time")
                if event == "begun":
                    state = State(path.parent.name, **facts, begun=at)
                elif state is not None:
                    _follow(state, event, at, facts)
        if state is not None and not state.ended and not _is_alive(state, beat):
            state.ended = "interrupted; run it again, and it goes on from what is stored"
        if state is not None and state.ended:
            state.running.clear()
    return state


def _follow(state: State, event: str, at: float, facts: dict[str, Any]) -> None:
    cell = facts.get("cell", "")
    if event == "computing" and cell not in state.done:
        state.running[cell] = (json.dumps(facts["config"]), facts["worker"], at)
    elif event == "done":
        state.running.pop(cell, None)
        state.done.add(cell)
    elif event == "failed":
        state.running.pop(cell, None)
        state.failed[cell] = (json.dumps(facts["config"]), tuple(facts["lines"]))
    elif event == "workers":
        state.workers = int(facts["count"])
    elif event == "ended":
        state.ended = facts["outcome"]


def _is_alive(state: State, beat: float) -> bool:
    """Return whether the process of a run is there; of another machine, by its signs of life."""
    if state.host != socket.gethostname():
        return time.time() - beat < SILENCE
    try:
        os.kill(state.process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of somebody else
        pass
    return True


def _line(event: str, facts: dict[str, Any]) -> str:
    return json.dumps({"event": event, "time": round(time.time(), 2)} | facts) + "\n"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0.0)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
