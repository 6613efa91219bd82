"""Reports: studies are run one after another, and their pages written."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from types import ModuleType

from partwhole._checks import InputError
from partwhole._door import door
from partwhole._writing import naming, write_all
from partwhole.page import tag
from partwhole.study.bars import Bars
from partwhole.study.evidence import better, current
from partwhole.study.execution import Result, SubmittedStudy, submit
from partwhole.study.figure import render
from partwhole.study.missing import CellsMissingError
from partwhole.study.pages import FAILED, Entry, NotRun, site
from partwhole.study.registry import find, load, short_name


@dataclass(frozen=True)
class Report:
    """A report that was written, with its entries in order.

    `path` is its first page: `index.html`, or `incomplete/index.html` if the folder has a report
    with fewer failures.
    """

    path: Path
    entries: tuple[Entry, ...]
    seconds: float

    @property
    def results(self) -> tuple[Result, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, Result))

    @property
    def failures(self) -> tuple[NotRun, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, NotRun) and entry.failed)


@door
def write_report(
    studies: Iterable[str | Path | ModuleType],
    folder: Path,
    *,
    preset: str = "quick",
    executor: Executor | None = None,
    store: Path | None = None,
    progress: bool = True,
) -> Report:
    """Run studies in order and write the pages of a report.

    The pages are `index.html`, one for each paper and each study, and a ledger of all claims. A
    report with more failures than the one in the folder is written into the folder `incomplete`.

    However long it takes, every study is run that has the preset, but for those with a stored
    result, which is shown in place of the quick preset. A stored result of an earlier source is
    shown only if it decides more claims than the preset, which is then run. A study that can't be
    imported, or that an error stops, is named at the top of the first page, and the others run.

    Parameters
    ----------
    studies : iterable of str, paths or modules
        As for `run`, in the order of the report; each once.
    folder : Path
        Folder of the pages; created if it is absent.
    preset : str, default "quick"
        The preset to run.
    executor : concurrent.futures.Executor, default None
        Executor of the cells; None is this process.
    store : Path, default None
        Folder of the store; None is `partwhole.store.default_root()`.
    progress : bool, default True
        Whether to show bars of progress, with an estimate of the time left.
    """
    start = time.perf_counter()
    entries: list[Entry] = []
    figures: dict[str, bytes] = {}
    ahead: SubmittedStudy | Entry | None = None
    places = list(dict.fromkeys(studies))
    try:
        # The next study is submitted first, so that processes have work during gathering.
        with Bars(len(places) if progress else None) as bars:
            for place in places:
                following = _submitted(place, preset, executor, store)
                if ahead is not None:
                    entries.append(_finished(ahead, bars, figures))
                ahead = following
            if ahead is not None:
                entries.append(_finished(ahead, bars, figures))
    except BaseException:
        if isinstance(ahead, SubmittedStudy):
            ahead.cancel()
        raise
    seconds = time.perf_counter() - start
    report = Report(folder / "index.html", tuple(entries), seconds)
    worse = len(report.failures) > _failed(report.path)
    if worse:
        report = replace(report, path=folder / "incomplete" / "index.html")
    pages = site(entries, figures, preset=preset, seconds=seconds)
    with naming(folder):
        for place in {(report.path.parent / name).parent for name in pages}:
            place.mkdir(parents=True, exist_ok=True)
        write_all({report.path.parent / name: text.encode() for name, text in pages.items()})
        _remove_former(report.path.parent, pages)
        if not worse:
            rmtree(folder / "incomplete", ignore_errors=True)
    return report


def _remove_former(folder: Path, pages: Iterable[str]) -> None:
    """Remove pages of studies and papers that are no longer in the report."""
    current = {folder / name for name in pages}
    for place in ("studies", "papers"):
        for path in (folder / place).glob("*.html"):
            if path not in current:
                path.unlink()


def _submitted(
    place: str | Path | ModuleType, preset: str, executor: Executor | None, store: Path | None
) -> SubmittedStudy | Entry:
    study = None
    try:
        study = load(place) if isinstance(place, ModuleType) else find(place)
        if preset == "quick" and (shipped := current(study)) is not None:
            return shipped
        if preset not in study.PRESETS:
            return NotRun(short_name(study), study, f"It has no {preset} preset.")
        return submit(study, preset, executor=executor, store=store)
    except Exception as error:
        return _stopped(short_name(study) if study else str(place), study, error)


def _failed(path: Path) -> int | float:
    """Return the number of failed studies on an earlier page; infinity if there is none."""
    try:
        return path.read_text("utf-8").count(str(tag("strong", FAILED)))
    except (OSError, ValueError):
        return math.inf


def _finished(entry: SubmittedStudy | Entry, bars: Bars, figures: dict[str, bytes]) -> Entry:
    """Wait for a study and draw it; an error in one study leaves the others in the report."""
    try:
        if isinstance(entry, NotRun):
            return entry
        try:
            result = better(entry.result(bars)) if isinstance(entry, SubmittedStudy) else entry
            figures[result.name] = render(result)
            return result
        except Exception as error:
            study = entry.module if isinstance(entry, SubmittedStudy) else entry.study
            return _stopped(short_name(study), study, error)
    finally:
        bars.study_ended()


def _stopped(name: str, study: ModuleType | None, error: Exception) -> NotRun:
    text = " ".join(str(error).split())
    is_sentence = isinstance(error, InputError | CellsMissingError)
    reason = text if is_sentence else f"{type(error).__name__}: {text}"
    return NotRun(name, study, f"It was stopped by an error: {reason}", failed=True)
