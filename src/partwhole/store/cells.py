"""Cells on disk: read, or computed once and then kept."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
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
from partwhole.store.locks import lock

ARRAYS, META = "arrays.npz", "cell.json"


@dataclass(frozen=True)
class Cell:
    """A cell's arrays and their origin.

    Parameters
    ----------
    arrays : dict of str to numpy.ndarray
        As read back from disk.
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
    require_name(study)
    home, identity = _home(study, config, source, root), _identity(study, config, source)
    stored = _read(home, identity)
    if stored is not None:
        return stored
    with ExitStack() as stack:
        # Errors of the computation itself pass as they are.
        with naming(home):
            home.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock(home.with_name(f"{home.name}.lock")))
            stored = _read(home, identity)
            if stored is not None:
                return stored
        start = time.perf_counter()
        arrays = _checked(compute())
        origin = {
            "version": __version__,
            "commit": commit(),
            "seconds": round(time.perf_counter() - start, 3),
        }
        return _written(home, identity, arrays, config, origin)


def find(
    study: str, config: Mapping[str, Any], *, source: str, root: Path | None = None
) -> Cell | None:
    """Return a cell that is on disk and undamaged, or None; the arguments are those of `cell`."""
    return _read(_home(study, config, source, root), _identity(study, config, source))


def keep(
    study: str,
    config: Mapping[str, Any],
    computed: Cell,
    *,
    source: str,
    root: Path | None = None,
    seconds: float,
) -> Cell:
    """Write a cell that another process has computed, unless it is on disk, and return it.

    A process that reads with `find` and writes with `keep` needs no lock while others compute.
    Where the disk has locks, one is held while the files are written; where it has none, the
    renamed folder is still complete, and the store has to have a single writer.

    Parameters
    ----------
    study, config, source, root
        As of `cell`.
    computed : Cell
        The arrays, with the version and the commit that computed them.
    seconds : float, keyword-only
        Duration of the computation.

    Raises
    ------
    InputError
        If the name, the configuration or the arrays can't be stored.
    WriteError
        If the disk is full, or the store can't be written to.
    """
    require_name(study)
    home, identity = _home(study, config, source, root), _identity(study, config, source)
    arrays = _checked(computed.arrays)
    origin = {
        "version": computed.version,
        "commit": None if computed.commit == "none" else computed.commit,
        "seconds": round(seconds, 3),
    }
    with naming(home):
        home.parent.mkdir(parents=True, exist_ok=True)
        with lock(home.with_name(f"{home.name}.lock"), needed=False):
            stored = _read(home, identity)
            if stored is not None:
                return stored
            return _written(home, identity, arrays, config, origin)


def fresh(compute: Callable[[], Mapping[str, Any]]) -> Cell:
    """Compute a cell without the store."""
    return Cell(_checked(compute()), __version__, commit() or "none", computed=True)


def holds(study: str, config: Mapping[str, Any], *, source: str, root: Path | None = None) -> bool:
    """Return whether a cell is on disk and undamaged."""
    return find(study, config, source=source, root=root) is not None


def scratch_folder(
    study: str, config: Mapping[str, Any], *, source: str, root: Path | None = None
) -> Path:
    """Return the folder of a cell while it is not finished, which may not exist yet."""
    home = _home(study, config, source, root)
    return home.with_name(f"{home.name}.scratch")


def _written(
    home: Path,
    identity: dict[str, Any],
    arrays: dict[str, np.ndarray],
    config: Mapping[str, Any],
    origin: dict[str, Any],
) -> Cell:
    """Write a cell in the place of none, or of a damaged one, and read it back."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with naming(home):
        if home.exists():
            _set_aside(home)
        _write(home, arrays, identity | {"seed": config.get("seed"), "time": now} | origin)
    stored = _read(home, identity)
    if stored is None:
        raise OSError(f"the cell {home} was written but reads back damaged; check the disk")
    return replace(stored, computed=True)


def _identity(study: str, config: Mapping[str, Any], source: str) -> dict[str, Any]:
    return {"study": study, "source": source, "config": json.loads(canonical(config))}


def _home(study: str, config: Mapping[str, Any], source: str, root: Path | None) -> Path:
    root = default_root() if root is None else root
    return root / study / digest(study, config, source=source)


def require_name(study: str) -> None:
    require(
        re.fullmatch(r"\w[\w.-]*", study, flags=re.ASCII),
        "a study's name holds letters, digits, dots, dashes and underscores",
        repr(study),
        "rename the study",
    )


@cache
def commit() -> str | None:
    """Return the commit of the checkout this package runs from, or None outside one."""
    checkout = Path(__file__).parents[3]
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
