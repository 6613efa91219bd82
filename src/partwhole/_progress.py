"""A progress bar for work that takes longer than a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Protocol

PATIENCE = 2.0


class Advance(Protocol):
    """A function of the number of steps just completed and a note to show beside the bar."""

    def __call__(self, steps: int, note: str = "") -> None: ...


@contextmanager
def bar(title: str, total: int, *, shown: bool) -> Iterator[Advance]:
    """Show a bar on the error stream when it is a terminal and work takes over two seconds.

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
    if not (shown and sys.stderr.isatty()):
        yield lambda steps, note="": None
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
