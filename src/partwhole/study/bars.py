"""What is running, what is left, and about how long."""

from __future__ import annotations

from typing import Any


class Bars:
    """Progress bars: one of studies, where there are several, and one of the cells of each.

    Parameters
    ----------
    studies : int, or None
        How many studies are run; 0 for one alone, None to show nothing.
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

        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            # Studies differ in length: their rate is that of all of them so far.
            TimeRemainingColumn(elapsed_when_finished=False),
            TextColumn("left"),
            console=Console(stderr=True),
            disable=studies is None,
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
        """Show a bar of a study's cells."""
        self.cells = self.bars.add_task(name, total=cells)

    def cell_ended(self) -> None:
        """Move the bar of the study that runs."""
        self.bars.advance(self.cells)

    def study_ended(self) -> None:
        """Move the bar of studies; print the line of the one that ran, so that it stays."""
        if self.all is None:
            return
        if self.cells is not None:
            task = next(task for task in self.bars.tasks if task.id == self.cells)
            self.bars.print(f"{task.description}: {task.total:g} cells, {task.elapsed or 0:.1f} s")
            self.bars.remove_task(self.cells)
            self.cells = None
        self.bars.advance(self.all)
