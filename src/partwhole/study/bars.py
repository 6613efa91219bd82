"""Progress bars of studies and their cells, with an estimate of the time left."""

from __future__ import annotations

from typing import Any

from partwhole._progress import Lines


class Bars:
    """Progress bars: one for all studies, if there are several, and one for the cells of each.

    Where the error stream is no terminal, a line every half minute.

    Parameters
    ----------
    studies : int, or None
        Number of studies; 0 for a single one without a bar of studies, None to show nothing.
    """

    def __init__(self, studies: int | None) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        self._advance: Lines | None = None
        self._plain = studies is not None and not console.is_terminal
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            # Studies differ in length, so the rate is the mean over all of them so far.
            TimeRemainingColumn(elapsed_when_finished=False),
            TextColumn("left"),
            console=console,
            disable=studies is None or not console.is_terminal,
            speed_estimate_period=3600.0,
        )
        self.all: Any = self.bars.add_task("all studies", total=studies) if studies else None
        self.cells: Any = None

    def __enter__(self) -> Bars:
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def study_begins(self, name: str, cells: int) -> None:
        """Add a bar for the cells of a study."""
        self.cells = self.bars.add_task(name, total=cells)
        self._advance = Lines(name, cells) if self._plain else None

    def cell_ended(self) -> None:
        """Advance the bar of the running study."""
        self.bars.advance(self.cells)
        if self._advance is not None:
            self._advance(1)

    def study_ended(self) -> None:
        """Advance the bar of studies, and print the finished study in a line that stays."""
        if self.all is None:
            return
        if self.cells is not None:
            task = next(task for task in self.bars.tasks if task.id == self.cells)
            self.bars.print(f"{task.description}: {task.total:g} cells, {task.elapsed or 0:.1f} s")
            self.bars.remove_task(self.cells)
            self.cells = None
        self.bars.advance(self.all)
