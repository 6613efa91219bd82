"""Output files, written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from partwhole import _writing
from partwhole._checks import require

# What options write, and the ending of such a file; a SARIF file may end as JSON does, which it is.
KINDS = {
    "--certificate": ("JSON", ".json"),
    "--html": ("a page", ".html"),
    "--json": ("JSON", ".json"),
    "--junit": ("XML", ".xml"),
    "--output": ("CSV", ".csv"),
    "--sarif": ("SARIF", ".sarif"),
}


def check_outputs(outputs: Sequence[tuple[str, Path]], inputs: Sequence[tuple[str, Path]]) -> None:
    """Raise for outputs that cannot be written or would overwrite each other or an input.

    Parameters
    ----------
    outputs, inputs : sequences of (str, Path)
        The option and the path of each file.

    Raises
    ------
    InputError
    """
    option_of = {path.resolve(): option for option, path in reversed(inputs)}
    for option, path in outputs:
        place = path.resolve()
        require(
            str(path) != "-",
            f"{option} writes a file, not to the standard output",
            f"{option} -",
            f"name a file with {option}, such as ./report",
        )
        require(
            place not in option_of,
            f"{option} is a separate file",
            f"{path}, which is {option_of.get(place)}",
            f"name another file with {option}",
        )
        option_of[place] = option
        remedy = f"name another file with {option}"
        require(not place.is_dir(), f"{option} is a file", f"the folder {path}", remedy)
        require(
            place.is_file() or not os.path.lexists(place),
            f"{option} is a plain file",
            f"the device {path}",
            remedy,
        )
        require(
            place.parent.is_dir(),
            f"{option} lies in a folder that exists",
            path,
            f"make the folder, or {remedy}",
        )
        kind, ending = KINDS[option]
        of_another = path.suffix.lower() in {known for _, known in KINDS.values()} - {ending}
        require(
            not of_another or (option == "--sarif" and path.suffix.lower() == ".json"),
            f"{option} writes {kind}",
            path,
            f"name a file such as {path.with_suffix(ending).name}",
        )
        try:
            with TemporaryFile(dir=place.parent):  # the reported permissions may be wrong
                fit = os.access(place, os.W_OK) or not place.exists()
        except OSError:
            fit = False
        require(fit, f"{option} must be writable", path, remedy)


def write_all(texts: Mapping[Path, str]) -> None:
    """Write texts completely or not at all, with `partwhole._writing.write_all`.

    Parameters
    ----------
    texts : mapping of Path to str
        Encoded in UTF-8; other characters are escaped.

    Raises
    ------
    WriteError
        If a file cannot be written; then no existing file has been replaced.
    """
    _writing.write_all(
        {path: text.encode("utf-8", "backslashreplace") for path, text in texts.items()}
    )
