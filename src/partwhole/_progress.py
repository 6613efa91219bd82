"""A bar that says how far training is, once it takes longer than a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Protocol

PATIENCE = 2.0


class Advance(Protocol):
    """Call it with the number of pieces that have just been done, and a note beside the bar."""

    def __call__(self, done: int, note: str = "") -> None: ...


@contextmanager
def bar(what: str, total: int, *, shown: bool) -> Iterator[Advance]:
    """Show a bar on the error stream when it is a terminal and work takes over two seconds.

    Parameters
    ----------
    what : str
        What is done.
    total : int
        In how many pieces.
    shown : bool, keyword-only
        False for no bar at all.

    Yields
    ------
    Advance
        To call with the number of pieces that have just been done.
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda done, note="": None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    drawn = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    told = drawn.add_task(what, total=total)
    timer = Timer(PATIENCE, drawn.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, note="": drawn.update(
            told, advance=done, description=f"{what} {note}".rstrip()
        )
    finally:
        timer.cancel()
        timer.join()
        drawn.stop()
