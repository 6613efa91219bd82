"""A progress bar for work that takes longer than a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Timer
from time import monotonic
from typing import Protocol

PATIENCE = 2.0
# Between lines where there is no terminal, such as the log of a job.
PAUSE = 30.0


class Advance(Protocol):
    """A function of the number of steps just completed and a note to show beside the bar."""

    def __call__(self, steps: int, note: str = "") -> None: ...


class Lines:
    """Progress in plain lines, of which the first comes after half a minute.

    Parameters
    ----------
    title : str
    total : int
    """

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total, self._steps = title, total, 0
        self._start = self._last = monotonic()

    def __call__(self, steps: int, note: str = "") -> None:
        """Count steps, and print a line if the last one is half a minute ago."""
        self._steps += steps
        now = monotonic()
        if now - self._last < PAUSE:
            return
        self._last, passed = now, now - self._start
        name = f"{self._title} {note}".strip()
        line = f"{name}: {self._steps:,} of {self._total:,}, {_clock(passed)}"
        if 0 < self._steps <= self._total:
            line += f", about {_clock(passed * (self._total / self._steps - 1.0))} left"
        print(line, file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _is_notebook() -> bool:
    """Return whether this is a notebook in which rich can draw."""
    if "ipykernel" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from rich.console import Console

    return Console(stderr=True).is_jupyter


@contextmanager
def bar(title: str, total: int, *, shown: bool) -> Iterator[Advance]:
    """Show a bar on the error stream once work takes over two seconds.

    In a notebook with ipywidgets it stands below the cell. Where there is neither a terminal nor
    these, there is a line every half minute.

    Parameters
    ----------
    title : str
        Name of the work, beside the bar.
    total : int
        Number of steps.
    shown : bool, keyword-only
        False for no bar.

    Yields
    ------
    Advance
        Function that moves the bar.
    """
    if not shown:
        yield lambda steps, note="": None
        return
    if not (sys.stderr.isatty() or _is_notebook()):
        yield Lines(title, total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    progress = Progress(
        # Brackets in a name are no markup.
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = progress.add_task(title, total=total)
    timer = Timer(PATIENCE, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda steps, note="": progress.update(
            task, advance=steps, description=f"{title} {note}".strip()
        )
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
