"""Stored results, shipped with a package of studies, for presets that take long to compute.

A report shows them in place of a run of the quick preset, with their date and the command that
reproduces them. Where the source has changed since, the preset is run, and the stored result shown
only if it decides more claims.
"""

from __future__ import annotations

import gzip
import sys
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import ModuleType

import xarray as xr

from partwhole._checks import InputError, require
from partwhole._writing import naming, write_all
from partwhole.study.claim import Verdict
from partwhole.study.declaration import declared
from partwhole.study.execution import Result, findings_of
from partwhole.study.registry import short_name
from partwhole.study.source import fingerprint

UNDECIDED = (Verdict.OPEN, Verdict.ILLUSTRATION)


def is_decided(result: Result) -> bool:
    """Return whether every claim of a result is decided."""
    return not any(claim.verdict in UNDECIDED for claim in result.claims)


def keep(result: Result) -> Path:
    """Write the data of a result into the package of its study, and return the file.

    Parameters
    ----------
    result : Result

    Returns
    -------
    Path
        The file: ``stored/NAME.nc.gz`` in the outermost package of the study.

    Raises
    ------
    InputError
        For a study that belongs to no package.
    WriteError
        If it can't be written; an earlier file is then unchanged.
    """
    path = _file(result.study)
    rule = "a stored result belongs to a package of studies"
    require(path, rule, f"{result.name}, a file of its own", "use `save_figure` for its data")
    assert path is not None
    today = datetime.now(UTC).strftime("%-d %B %Y")
    data = result.data.assign_attrs(stored=today, seconds=round(result.seconds, 1))
    with naming(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    # Without the time of writing, so that equal data give equal files.
    write_all({path: gzip.compress(bytes(data.to_netcdf(engine="scipy")), mtime=0)})
    return path


def stored(study: ModuleType) -> Result | None:
    """Return the stored result of a study, with the claims computed from the stored data.

    Returns
    -------
    Result or None
        None if no result is stored. The attribute ``outdated`` of its data is 1 if the source of
        its cells has changed since.
    """
    path = _file(study)
    if path is None or not path.is_file():
        return None
    try:
        with xr.open_dataset(BytesIO(gzip.decompress(path.read_bytes())), engine="scipy") as file:
            data = file.load()
    except Exception as error:  # a damaged file can cause any error
        rule = "a stored result is a compressed NetCDF file"
        raise InputError(f"{rule}; got {path}: {error}; write it again") from error
    data.attrs["outdated"] = int(data.attrs["source"] != fingerprint(study))
    declaration = declared(study)
    try:
        findings = findings_of(study, declaration, data)
    except Exception as error:
        if not data.attrs["outdated"]:
            raise
        raise InputError(
            f"a stored result has what its study weighs now; got {path}, of an earlier source: "
            f"{type(error).__name__}: {error}; compute it again"
        ) from error
    return Result(
        short_name(study), study, declaration, str(data.attrs["preset"]), data, findings,
        float(data.attrs["seconds"]), 0, 0,
    )  # fmt: skip


def current(study: ModuleType) -> Result | None:
    """Return the stored result of a study if its cells are of the source as it is now."""
    with suppress(InputError):
        shipped = stored(study)
        if shipped is not None and not shipped.data.attrs["outdated"]:
            return shipped
    return None


def better(result: Result) -> Result:
    """Return a result, or the stored result of its study if that decides more claims."""
    if is_decided(result):
        return result
    with suppress(InputError):
        shipped = stored(result.study)
        if shipped is not None and _undecided(shipped) < _undecided(result):
            return shipped
    return result


def _undecided(result: Result) -> int:
    return sum(claim.verdict in UNDECIDED for claim in result.claims)


def _file(study: ModuleType) -> Path | None:
    package, _, module = study.__name__.partition(".")
    file = getattr(sys.modules.get(package), "__file__", None)
    if not module or file is None:
        return None
    return Path(file).parent / "stored" / f"{short_name(study)}.nc.gz"
