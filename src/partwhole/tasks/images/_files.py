"""Local data files: where they are searched for, and reading them completely."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from partwhole import _reading
from partwhole._checks import InputError, require

VARIABLE = "PARTWHOLE_DATA"
# The largest file of images, the training set of CIFAR-100, has 155 million bytes.
MOST = 2**28


def data_folder() -> Path | None:
    """Return the folder that the environment names now, absolute; None if it names none."""
    folder = os.environ.get(VARIABLE)
    return Path(folder).absolute() if folder else None


def use_data_folder(folder: Path | None) -> None:
    """Let the environment of this process name a folder, where it is there or none is named.

    A process that was started before the folder was named, or elsewhere, then finds it.
    """
    if folder in (None, data_folder()):
        return
    if folder.is_dir() or not os.environ.get(VARIABLE):
        os.environ[VARIABLE] = str(folder)


def find_files(
    rule: str, folder: Path | str | None, layouts: Sequence[tuple[str, Sequence[str]]]
) -> list[Path]:
    """Return the files of the first layout that is whole, plain ones before packed ones.

    Parameters
    ----------
    rule : str
        Which files are read, for the sentence when they are not there.
    folder : Path or str, or None
        Where to look; None for what the environment variable names.
    layouts : sequence of (subfolder, names)
        Files may lie in the folder itself or in the layout's subfolder.

    Raises
    ------
    InputError
        When no layout is whole.
    """
    environment_folder = os.environ.get(VARIABLE) if folder is None else folder
    require(
        environment_folder, rule, f"no folder to look in ({VARIABLE} is not set)",
        f"name their folder in {VARIABLE}, or with --data on the command line",
    )  # fmt: skip
    root = Path(str(environment_folder))
    partial = None
    for subfolder, names in layouts:
        for place in (root, root / subfolder):
            paths = [
                next((p for p in (place / name, place / f"{name}.gz") if p.is_file()), None)
                for name in names
            ]
            whole = [path for path in paths if path is not None]
            if len(whole) == len(names):
                return whole
            if whole and partial is None:
                missing = [n for n, path in zip(names, paths, strict=True) if path is None]
                partial = f"{place} without {', '.join(missing)}"
    require(
        False, rule, partial or f"{root} without them", "download them once, and name their folder"
    )
    raise AssertionError


def read_whole(path: Path, remedy: str) -> bytes:
    """Return the bytes of a file, unpacked if it is a gzip file.

    Parameters
    ----------
    path : Path
    remedy : str
        What to do about a damaged one.

    Raises
    ------
    InputError
        For a damaged file, and one of more than 256 MiB unpacked.
    """
    try:
        return _reading.read_whole(path, limit=MOST)
    except _reading.UnreadableError as error:
        kind = "gzip file" if path.suffix == ".gz" else "file"
        rule = f"{path.name} is a whole {kind} of at most {MOST:,} bytes unpacked"
        raise InputError(f"{rule}; got {path}: {error}; {remedy}") from error
