"""A line that says what an audit is at, once it takes longer than a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

PATIENCE = 2.0


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on the error stream when it is a terminal and work takes over two seconds.

    Parameters
    ----------
    steps : int
        How often the function that is given will be called.

    Yields
    ------
    function of str
        To call with what is done next.
    """
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=steps)
    done = 0

    def step(what: str) -> None:
        nonlocal done
        bar.update(task, description=what, completed=done)
        done += 1

    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield step
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
