"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile

from partwhole._checks import require


def check_outputs(outputs: Sequence[tuple[str, Path]], inputs: Sequence[tuple[str, Path]]) -> None:
    """Refuse outputs that can't be written or would overwrite each other or an input.

    Parameters
    ----------
    outputs, inputs : sequences of (str, Path)
        What each is called, and where it is.

    Raises
    ------
    InputError
    """
    named = {path.resolve(): what for what, path in reversed(inputs)}
    for what, path in outputs:
        place = path.resolve()
        require(
            place not in named,
            f"{what} is a file of its own",
            f"{path}, which is {named.get(place)}",
            f"name another with {what}",
        )
        named[place] = what
        remedy = f"name another file with {what}"
        require(not place.is_dir(), f"{what} is a file", f"the folder {path}", remedy)
        require(
            place.is_file() or not os.path.lexists(place),
            f"{what} is a plain file",
            f"the device {path}",
            remedy,
        )
        require(
            place.parent.is_dir(),
            f"{what} lies in a folder that exists",
            path,
            f"make the folder, or {remedy}",
        )
        try:
            with TemporaryFile(dir=place.parent):  # what the system says of rights may be wrong
                fit = os.access(place, os.W_OK) or not place.exists()
        except OSError:
            fit = False
        require(fit, f"{what} must be writable", path, remedy)


def write_all(texts: Mapping[Path, str]) -> None:
    """Write files whole: all under temporary names first, which are then given up.

    Parameters
    ----------
    texts : mapping of Path to str
        UTF-8; what that can't hold is written as its escape.

    Raises
    ------
    OSError
        When one can't be written; then none is.
    """
    waiting: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            place = path.resolve()
            with NamedTemporaryFile(
                dir=place.parent, prefix=f".{place.name[:40]}.", delete=False
            ) as file:
                waiting.append((Path(file.name), place))
                file.write(text.encode("utf-8", "backslashreplace"))
            mode = place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask()
            os.chmod(file.name, mode)
        while waiting:
            temporary, place = waiting[0]
            os.replace(temporary, place)
            waiting.pop(0)
    finally:
        for temporary, _ in waiting:
            with suppress(OSError):
                temporary.unlink()


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
