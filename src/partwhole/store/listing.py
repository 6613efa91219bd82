"""What is on disk: cells, the folders of unfinished ones, and their removal."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partwhole._writing import naming
from partwhole.store.cells import ARRAYS, META, default_root, require_name
from partwhole.store.locks import lock

JOURNAL = "journal.jsonl"
_OURS = re.compile(r"[0-9a-f]{20}(\.(partial|lock|scratch|damaged\d*))?").fullmatch


@dataclass(frozen=True)
class StoredCell:
    """A cell on disk: its folder, its key, the time when it was computed, and its size in bytes."""

    folder: Path
    study: str
    source: str
    config: dict[str, Any]
    time: str
    size: int


@dataclass(frozen=True)
class ScratchFolder:
    """The folder of a cell that is not finished: its study, the folder, its size in bytes."""

    folder: Path
    study: str
    size: int


def stored_cells(root: Path | None = None, study: str | None = None) -> list[StoredCell]:
    """List the cells on disk, of one study or of all, by study and then by time.

    Their arrays are not read, so that damaged cells are listed too.
    """
    if study is not None:
        require_name(study)
    root = default_root() if root is None else root
    cells = []
    for path in root.glob(f"{study or '*'}/*/{META}"):
        if "." in path.parent.name:
            continue
        try:
            meta = json.loads(path.read_text("utf-8"))
            size = path.stat().st_size + path.with_name(ARRAYS).stat().st_size
            fields = [meta[name] for name in ("study", "source", "config", "time")]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        cells.append(StoredCell(path.parent, *fields, size=size))
    return sorted(cells, key=lambda cell: (cell.study, cell.time, cell.folder))


def scratch_folders(root: Path | None = None, study: str | None = None) -> list[ScratchFolder]:
    """List the folders of cells that are not finished, of one study or of all."""
    if study is not None:
        require_name(study)
    root = default_root() if root is None else root
    return [
        ScratchFolder(folder, folder.parent.name, _size_of(folder))
        for folder in sorted(root.glob(f"{study or '*'}/*.scratch/"))
        if _OURS(folder.name)
    ]


def _size_of(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # removed meanwhile
            size += path.stat().st_size
    return size


def clear(root: Path | None = None, study: str | None = None) -> int:
    """Remove the cells of one study or of all, with damaged and unfinished ones; return a count.

    Cells that another process of this machine is computing are not removed.
    """
    if study is not None:
        require_name(study)
    root = default_root() if root is None else root
    removed = 0
    for folder in root.glob(f"{study or '*'}/"):
        for key in sorted({path.name[:20] for path in folder.iterdir() if _OURS(path.name)}):
            held = lock(folder / f"{key}.lock", wait=False)
            with naming(folder / key), suppress(BlockingIOError), held:
                removed += (folder / key).exists()
                for path in folder.glob(f"{key}*/"):
                    shutil.rmtree(path)
        with naming(folder):
            # What `partwhole status` reads is of cells that are gone.
            if [path.name for path in folder.iterdir()] == [JOURNAL]:
                (folder / JOURNAL).unlink()
            if not any(folder.iterdir()):
                folder.rmdir()
    return removed


def sweep(study: str, root: Path | None = None) -> None:
    """Remove the leftovers of killed processes: free locks, and half-written cells.

    The folder of an unfinished cell stays, for the next attempt, unless the cell is stored.
    """
    folder = (default_root() if root is None else root) / study
    # In a store that can only be read the leftovers stay, and do no harm.
    with suppress(OSError):
        for name in [*os.listdir(folder)]:
            key = name[:20]
            if _OURS(name) and name.endswith((".partial", ".lock")):
                with suppress(OSError), lock(folder / f"{key}.lock", wait=False):
                    shutil.rmtree(folder / f"{key}.partial", ignore_errors=True)
            elif _OURS(name) and name.endswith(".scratch") and (folder / key / META).exists():
                shutil.rmtree(folder / name, ignore_errors=True)
