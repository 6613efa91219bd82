"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from partwhole import _writing
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
    """Write texts whole, as `partwhole._writing.write_all` does.

    Parameters
    ----------
    texts : mapping of Path to str
        UTF-8; what that can't hold is written as its escape.

    Raises
    ------
    WriteError
        When one can't be written; before the first is replaced, none is.
    """
    _writing.write_all(
        {path: text.encode("utf-8", "backslashreplace") for path, text in texts.items()}
    )
