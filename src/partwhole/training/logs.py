"""Logs of a training: CSV, JSON Lines, and events for TensorBoard.

A log is written line by line, and no line waits in memory. A training that resumes, or is repeated,
continues its log: what the log has of the steps that come again is removed, so that no step is
twice in it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import time
from abc import abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._writing import naming, write_all
from partwhole.tasks.shapes.pictures import image_grid, picture_png
from partwhole.training.following import Log, StepRecord

FIELDS = ("training", "run", "step", "loss", "seconds")
IN_ROW = 8  # samples of each prompt that TensorBoard shows
ANEW = "remove it, or name another file"

Row = dict[str, Any]


class _Lines(Log):
    """A file with a line for each record."""

    kind: ClassVar[str]

    def __init__(self, path: Path) -> None:
        require(
            path.parent.is_dir() and not path.is_dir(),
            "a log is a file in a folder that exists",
            f"the folder {path}" if path.is_dir() else f"{path}",
            "add a name" if path.is_dir() else "make the folder first",
        )
        require(
            os.access(path if path.exists() else path.parent, os.W_OK),
            "a log is a file that may be written to",
            f"{path}, which may not",
            "name a file in another folder",
        )
        self.path = path
        self._file: FileIO | None = None  # without a buffer
        self._last: dict[int, int] = {}  # step of each run
        self._names: dict[str, None] = dict.fromkeys(FIELDS)  # in order

    def _begin(self, training: str) -> None:
        others = {row["training"] for row in self._rows()} - {training}
        require(
            not others,
            "a log is of one training: of its settings, initial networks, samples and seeds",
            f"{self.path} of another one",
            ANEW,
        )

    def __call__(self, record: StepRecord) -> None:
        """Write a record."""
        row = {
            "training": record.training, "run": record.run, "step": record.step,
            "loss": record.loss, "seconds": round(record.seconds, 3), **record.scores,
        }  # fmt: skip
        repeats = record.step <= self._last.get(record.run, -1)
        with naming(self.path):
            if self._file is None or repeats or not row.keys() <= self._names.keys():
                self._file = self._opened(record, row)
            self._file.write(self._lines([row]).encode())
        self._last[record.run] = record.step

    def close(self) -> None:
        """Close the file; a record that is written later opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self, record: StepRecord, row: Row) -> FileIO:
        """Write the file anew, without the steps that a record repeats; open it for more."""
        self.close()
        rows = [
            kept for kept in self._rows() if kept["run"] != record.run or kept["step"] < record.step
        ]
        self._names = dict.fromkeys(name for part in (FIELDS, *rows, row) for name in part)
        self._last = {kept["run"]: kept["step"] for kept in rows}
        write_all({self.path: (self._head() + self._lines(rows)).encode()})
        return self.path.open("ab", buffering=0)

    def _rows(self) -> list[Row]:
        """Return the rows of the file, without a last one that a killed process left half."""
        if not self.path.exists():
            return []
        with naming(self.path):
            text = self.path.read_text("utf-8", errors="replace")
        try:
            # Splits off the half; a file without a whole line is none of training's.
            whole, _ = text.rsplit("\n", 1) if text else ("", "")
            rows = self._parsed(whole)
            return [
                row
                | {"training": row["training"], "run": int(row["run"]), "step": int(row["step"])}
                for row in rows
            ]
        except (ValueError, KeyError, TypeError) as error:
            rule = f"a log is a file of {self.kind} that training wrote"
            raise InputError(f"{rule}; got {self.path}, which is not; {ANEW}") from error

    @abstractmethod
    def _head(self) -> str:
        """Return what stands before the rows."""

    @abstractmethod
    def _lines(self, rows: Sequence[Row]) -> str:
        """Return rows as lines."""

    @abstractmethod
    def _parsed(self, text: str) -> list[Row]:
        """Return the rows of a whole file."""


@door
class CSVLog(_Lines):
    """A log of a training as a table of comma-separated values, a row for each record.

    Parameters
    ----------
    path : Path or str
        Its columns are training, run, step, loss and seconds, as in `StepRecord`, and one for each
        score, empty where it was not measured; a score that comes later adds its column.

    Raises
    ------
    InputError
        For a folder that does not exist or may not be written to, and at the start of training for
        a file that is no log, or that of another training.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from partwhole.networks import mlp
    >>> from partwhole.training import Training, train
    >>> x, path = np.eye(3), Path(tempfile.mkdtemp()) / "run.csv"
    >>> training = Training(steps=200, learning_rate=0.1, record=100)
    >>> runs = train(mlp(3, 2, 8, seed=0), (x, x), training, follow=CSVLog(path))
    >>> pd.read_csv(path).step.tolist()
    [0, 100, 200]
    """

    kind = "comma-separated values"

    def __init__(self, path: Path | str) -> None:
        super().__init__(Path(path))

    def _head(self) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(self._names)
        return text.getvalue()

    def _lines(self, rows: Sequence[Row]) -> str:
        # Letters and numbers, which need no quotes.
        return "".join(
            ",".join(str(row.get(name, "")) for name in self._names) + "\n" for row in rows
        )

    def _parsed(self, text: str) -> list[Row]:
        rows = csv.DictReader(io.StringIO(text, newline=""))
        if text and tuple(rows.fieldnames or ())[: len(FIELDS)] != FIELDS:
            raise ValueError
        return [{name: value for name, value in row.items() if value != ""} for row in rows]


@door
class JSONLines(_Lines):
    """A log of a training as JSON Lines, an object for each record.

    Parameters
    ----------
    path : Path or str
        Each object has training, run, step, loss and seconds, as in `StepRecord`, and the scores
        that were measured; null stands for what is not a finite number.

    Raises
    ------
    InputError
        As for `CSVLog`.

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.networks import mlp
    >>> from partwhole.training import Training, train
    >>> x, path = np.eye(3), Path(tempfile.mkdtemp()) / "run.jsonl"
    >>> training = Training(steps=200, learning_rate=0.1, record=100)
    >>> runs = train(mlp(3, 2, 8, seed=0), (x, x), training, follow=JSONLines(path))
    >>> [json.loads(line)["step"] for line in path.read_text().splitlines()]
    [0, 100, 200]
    """

    kind = "JSON Lines"

    def __init__(self, path: Path | str) -> None:
        super().__init__(Path(path))

    def _head(self) -> str:
        return ""

    def _lines(self, rows: Sequence[Row]) -> str:
        return "".join(
            json.dumps({name: _in_json(value) for name, value in row.items()}) + "\n"
            for row in rows
        )

    def _parsed(self, text: str) -> list[Row]:
        return [json.loads(line) for line in text.splitlines()]


def _in_json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@door
class TensorBoard(Log):
    """Events of a training for TensorBoard, which is installed by `pip install tensorboard`.

    Parameters
    ----------
    folder : Path or str
        Made where it does not exist. Each training has a folder of its own in it, by its
        `StepRecord.training`, and each run of it one, such as `run_0`: losses, scores, and of
        diffusion models of images eight samples of each prompt. Look at them by
        ``tensorboard --logdir FOLDER``.

    Raises
    ------
    InputError
        At the start of training, without the package tensorboard, or for a folder that may not be
        written to.

    Examples
    --------
    Pass it to `train` as `follow`; only the training creates the folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     board = TensorBoard(f"{folder}/events")
    ...     board.folder.name, board.folder.exists()
    ('events', False)
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._writers: dict[int, Any] = {}
        self._last: dict[int, int] = {}

    def _begin(self, training: str) -> None:
        require(
            find_spec("tensorboard") is not None,
            "TensorBoard needs the package tensorboard",
            "an installation without it",
            "install it: pip install tensorboard, or pass CSVLog or JSONLines",
        )
        with naming(self.folder):
            (self.folder / training).mkdir(parents=True, exist_ok=True)
        require(
            os.access(self.folder / training, os.W_OK),
            "events are written to a folder that may be written to",
            f"{self.folder}, which may not",
            "name another folder",
        )

    def __call__(self, record: StepRecord) -> None:
        """Write a record."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # pyright: ignore[reportMissingImports]
        from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportMissingImports]
        from tensorboard.summary.writer.event_file_writer import EventFileWriter  # pyright: ignore[reportMissingImports]

        run = record.run
        if run not in self._writers:
            self._writers[run] = EventFileWriter(str(self.folder / record.training / f"run_{run}"))
        if record.step <= self._last.get(run, record.step):
            # At it TensorBoard forgets what earlier files have of this step and later ones.
            begun = Event(step=record.step, session_log=SessionLog(status=SessionLog.START))
            self._add(run, begun)
        values = [
            Summary.Value(tag=name, simple_value=value)
            for name, value in {"loss": record.loss, **record.scores}.items()
        ]
        for name, samples in record.samples.items():
            if samples.ndim == 4:
                page = image_grid(np.nan_to_num(samples[:IN_ROW]), IN_ROW)
                picture = Summary.Image(
                    height=4 * page.shape[0], width=4 * page.shape[1], colorspace=3,
                    encoded_image_string=picture_png(page),
                )  # fmt: skip
                values.append(Summary.Value(tag=f"samples/{name}", image=picture))
        self._add(run, Event(step=record.step, summary=Summary(value=values)))
        self._writers[run].flush()
        self._last[run] = record.step

    def close(self) -> None:
        """Close the files; a record that is written later begins new ones."""
        for writer in self._writers.values():
            writer.close()
        self._writers, self._last = {}, {}

    def _add(self, run: int, event: Any) -> None:
        event.wall_time = time.time()
        self._writers[run].add_event(event)
