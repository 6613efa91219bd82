"""Output of the command, safe for closed pipes and for build servers."""

from __future__ import annotations

import io
import os
import re
import sys

# Build servers execute a line that starts with ::name::, and ##[name] or ##name[ ] anywhere in it.
COMMANDS = re.compile(r"^(?P<start>\s*)::|##(?=[A-Za-z]*\[)", re.MULTILINE)


def inert(text: str) -> str:
    r"""Return text with a backslash in everything that a build server would execute.

    Examples
    --------
    >>> print(inert("  ::stop-commands::x and a::b"))
      \::stop-commands::x and a::b
    >>> print(inert("red ##vso[task.setvariable] # [1]"))
    red #\#vso[task.setvariable] # [1]
    """
    return COMMANDS.sub(lambda m: "#\\#" if m["start"] is None else f"{m['start']}\\::", text)


def print_inert(text: str) -> None:
    """Print text without commands for build servers; a closed output is no error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal may lack characters of a table.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(inert(text), end="", flush=True)
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Redirect the output to the null device, so that closing it at exit raises no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
