"""A progress bar for audits that take longer than a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

PATIENCE = 2.0


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on the error stream if it is a terminal and the work takes over two seconds.

    Parameters
    ----------
    steps : int
        The number of calls of the yielded function.

    Yields
    ------
    function of str
        To be called with the name of the next stage.
    """
    if not sys.stderr.isatty():
        yield lambda stage: None
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
    completed_steps = 0

    def step(stage: str) -> None:
        nonlocal completed_steps
        bar.update(task, description=stage, completed=completed_steps)
        completed_steps += 1

    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield step
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
