"""The store of finished cells: each is computed once and kept on disk.

A cell is one independent unit of work. Its key is the study's name, a hash of the source that the
cell depends on, and the canonical form of its configuration. On disk a cell is a folder with two
files, `arrays.npz` and `cell.json`; the second has the checksum of the first. The folder is written
under a temporary name and renamed when it is complete, so that a cell on disk is always complete,
and an interrupted run continues with the cells that are missing. A lock, which the system releases
when its process dies, lets one process compute a cell while others wait and then read it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from partwhole import __version__
from partwhole._checks import InputError, require
from partwhole._reading import KINDS, read_npz
from partwhole._writing import naming, npz, sync

ARRAYS, META = "arrays.npz", "cell.json"
_OURS = re.compile(r"[0-9a-f]{20}(\.(partial|lock|damaged\d*))?").fullmatch


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
class Cell:
    """A cell's arrays and their origin.

    Parameters
    ----------

    version, commit : str
        The version and the commit of the package that computed them; "none" outside a checkout.
    computed : bool
        Whether this call computed them.
    """

    arrays: dict[str, np.ndarray]
    version: str
    commit: str
    computed: bool = False


def default_root() -> Path:
    """Return the default folder of the store: `$PARTWHOLE_STORE`, else `report/store`."""
    return Path(os.environ.get("PARTWHOLE_STORE") or Path("report", "store"))


def canonical(config: Mapping[str, Any]) -> str:
    """Write a configuration as one line of JSON, the same for equal configurations.

    Keys are sorted, floats are exact, tuples are lists and -0.0 is 0.0; 1 and 1.0 differ, since
    a cell may compute different results from them.

    Parameters
    ----------
    config : mapping of str to plain data
        Plain data is None, bool, int, finite float, str, and lists, tuples and str-keyed
        mappings of it.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If the configuration holds anything else.

    Examples
    --------
    >>> canonical({"seed": 1, "salience": (0.1, 0.30000000000000004)})
    '{"salience": [0.1, 0.30000000000000004], "seed": 1}'
    """
    return json.dumps(_plain(config, "config"), sort_keys=True, allow_nan=False)


def digest(study: str, config: Mapping[str, Any], *, source: str) -> str:
    """Return the key of a cell: 20 hexadecimal digits of a SHA-256 over study, source and config.

    Examples
    --------
    >>> digest("leak", {"a": 1, "b": 2}, source="") == digest("leak", {"b": 2, "a": 1}, source="")
    True
    """
    text = json.dumps([study, source, canonical(config)])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def cell(
    study: str,
    config: Mapping[str, Any],
    compute: Callable[[], Mapping[str, Any]],
    *,
    source: str,
    root: Path | None = None,
) -> dict[str, np.ndarray]:
    """Return a cell's arrays, from disk, or computed and then kept on disk.

    Of several processes that need the same cell, one computes it, and the others wait and read it.
    A cell that is damaged, or whose metadata contradict its key, is renamed to `*.damaged` and
    computed again. Reading a cell writes nothing.

    Parameters
    ----------
    study : str
        Name of the study: letters, digits, dots, dashes and underscores.
    config : mapping of str to plain data
        Configuration of the cell; see `canonical`. Its `seed`, if any, is noted beside the result.
    compute : callable () -> mapping of str to array
        Returns the arrays, of numbers, booleans or text.
    source : str
        Hash of the source that the computation depends on; part of the key.
    root : Path, default None
        Folder of the store; None is `default_root()`.

    Returns
    -------
    dict of str to numpy.ndarray
        The arrays, as read back from disk.

    Raises
    ------
    InputError
        If the name, the configuration or the arrays can't be stored.
    WriteError
        If the disk is full, or the store can't be written to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for _ in range(2):
    ...         arrays = cell("squares", {"n": 3}, lambda: print("computing") or {"y": [0, 1, 4]},
    ...                       source="v1", root=Path(folder))
    computing
    >>> arrays["y"]
    array([0, 1, 4])
    """
    return obtain(study, config, compute, source=source, root=root).arrays


def obtain(
    study: str,
    config: Mapping[str, Any],
    compute: Callable[[], Mapping[str, Any]],
    *,
    source: str,
    root: Path | None = None,
) -> Cell:
    """Return a cell with its origin; the arguments are those of `cell`."""
    _require_name(study)
    home = _home(study, config, source, root)
    identity = {"study": study, "source": source, "config": json.loads(canonical(config))}
    stored = _read(home, identity)
    if stored is not None:
        return stored
    with ExitStack() as stack:
        # Errors of the computation itself pass as they are.
        with naming(home):
            home.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_lock(home.with_name(f"{home.name}.lock")))
            stored = _read(home, identity)
            if stored is not None:
                return stored
            if home.exists():
                _set_aside(home)
        start = time.perf_counter()
        arrays = _checked(compute())
        meta = identity | {
            "seed": config.get("seed"),
            "version": __version__,
            "commit": commit(),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - start, 3),
        }
        with naming(home):
            _write(home, arrays, meta)
        stored = _read(home, identity)
    if stored is None:
        raise OSError(f"the cell {home} was written but reads back damaged; check the disk")
    return replace(stored, computed=True)


def fresh(compute: Callable[[], Mapping[str, Any]]) -> Cell:
    """Compute a cell without the store."""
    return Cell(_checked(compute()), __version__, commit() or "none", computed=True)


def holds(study: str, config: Mapping[str, Any], *, source: str, root: Path | None = None) -> bool:
    """Return whether a cell is on disk and undamaged."""
    identity = {"study": study, "source": source, "config": json.loads(canonical(config))}
    return _read(_home(study, config, source, root), identity) is not None


def _home(study: str, config: Mapping[str, Any], source: str, root: Path | None) -> Path:
    root = default_root() if root is None else root
    return root / study / digest(study, config, source=source)


def _require_name(study: str) -> None:
    require(
        re.fullmatch(r"\w[\w.-]*", study, flags=re.ASCII),
        "a study's name holds letters, digits, dots, dashes and underscores",
        repr(study),
        "rename the study",
    )


def stored_cells(root: Path | None = None, study: str | None = None) -> list[StoredCell]:
    """List the cells on disk, of one study or of all, by study and then by time.

    Their arrays are not read, so that damaged cells are listed too.
    """
    if study is not None:
        _require_name(study)
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


def clear(root: Path | None = None, study: str | None = None) -> int:
    """Remove the cells of one study or of all, with damaged and unfinished ones; return a count.

    Cells that another process is computing are not removed.
    """
    if study is not None:
        _require_name(study)
    root = default_root() if root is None else root
    removed = 0
    for folder in root.glob(f"{study or '*'}/"):
        for key in sorted({path.name[:20] for path in folder.iterdir() if _OURS(path.name)}):
            lock = _lock(folder / f"{key}.lock", wait=False)
            with naming(folder / key), suppress(BlockingIOError), lock:
                removed += (folder / key).exists()
                for path in folder.glob(f"{key}*/"):
                    shutil.rmtree(path)
        with naming(folder):
            if not any(folder.iterdir()):
                folder.rmdir()
    return removed


def sweep(study: str, root: Path | None = None) -> None:
    """Remove the leftovers of killed processes: free locks, and unfinished cells."""
    folder = (default_root() if root is None else root) / study
    # In a store that can only be read the leftovers stay, and do no harm.
    with suppress(OSError):
        for name in [*os.listdir(folder)]:
            if _OURS(name) and name.endswith((".partial", ".lock")):
                with suppress(OSError), _lock(folder / f"{name[:20]}.lock", wait=False):
                    shutil.rmtree(folder / f"{name[:20]}.partial", ignore_errors=True)


@cache
def commit() -> str | None:
    """Return the commit of the checkout this package runs from, or None outside one."""
    checkout = Path(__file__).parents[2]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        result = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()


def _plain(value: Any, place: str) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        require(
            np.isfinite(value),
            "numbers in a configuration are finite",
            f"{value} at {place}",
            "leave the entry out or use None",
        )
        return float(value) + 0.0
    if isinstance(value, list | tuple):
        return [_plain(entry, f"{place}[{i}]") for i, entry in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            require(
                isinstance(key, str),
                "keys in a configuration are strings",
                f"{key!r} in {place}",
                "use str(key)",
            )
        return {str(key): _plain(entry, f"{place}[{key!r}]") for key, entry in value.items()}
    raise InputError(
        "a configuration is plain data (None, bool, int, float, str, lists and mappings of them); "
        f"got {type(value).__name__} at {place}; convert it with .item(), .tolist() or str()"
    )


def _checked(result: Mapping[str, Any]) -> dict[str, np.ndarray]:
    require(
        isinstance(result, Mapping),
        "a cell's result maps names to arrays",
        type(result).__name__,
        "return a dict",
    )
    arrays = {}
    for name, value in result.items():
        require(
            isinstance(name, str) and name.isidentifier(),
            "names of arrays are identifiers",
            repr(name),
            "rename the array",
        )
        arrays[name] = np.asarray(value)
        dtype = arrays[name].dtype
        require(
            dtype.kind in KINDS,
            "arrays hold numbers, booleans or text",
            f"{'Python objects' if dtype.hasobject else dtype} in {name!r}",
            "convert them to a NumPy type first",
        )
    return arrays


def _read(home: Path, identity: dict[str, Any]) -> Cell | None:
    """Return the cell on disk; None if it is absent, damaged, or its metadata name another cell."""
    try:
        meta = json.loads((home / META).read_text("utf-8"))
        if any(canonical({"": meta[key]}) != canonical({"": identity[key]}) for key in identity):
            return None
        with (home / ARRAYS).open("rb") as file:
            if meta["checksum"] != hashlib.file_digest(file, "sha256").hexdigest():
                return None
            arrays = read_npz(file)
        return Cell(arrays, str(meta["version"]), str(meta["commit"] or "none"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _write(home: Path, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    partial = home.with_name(f"{home.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir()
        archive = npz(arrays)
        meta["checksum"] = hashlib.sha256(archive).hexdigest()
        metadata = json.dumps(meta, indent=2, allow_nan=False).encode()
        for name, data in ((ARRAYS, archive), (META, metadata)):
            with (partial / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        sync(partial)
        partial.rename(home)
    except BaseException:
        # Free the space, which a full disk lacks.
        shutil.rmtree(partial, ignore_errors=True)
        raise
    sync(home.parent)


def _set_aside(home: Path) -> None:
    number, aside = 1, home.with_name(f"{home.name}.damaged")
    while aside.exists():
        number, aside = number + 1, home.with_name(f"{home.name}.damaged{number + 1}")
    home.rename(aside)


@contextmanager
def _lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of one cell; the system releases it when the process ends or is killed."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BaseException:
            os.close(descriptor)
            raise
        if _is_at(descriptor, path):
            break
        os.close(descriptor)  # the previous holder removed the file: open the new one
    try:
        yield
    finally:
        with suppress(OSError):  # a lock file that stays does no harm
            path.unlink()
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
