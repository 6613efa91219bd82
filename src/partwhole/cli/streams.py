"""What the command prints: read by people, by pipes that close and by build servers."""

from __future__ import annotations

import io
import os
import re
import sys

# Build servers obey a line that starts with ::name:: and, anywhere in it, ##[name] or ##name[ ].
ORDERS = re.compile(r"^(?P<start>\s*)::|##(?=[A-Za-z]*\[)", re.MULTILINE)


def inert(text: str) -> str:
    r"""Return text with a backslash in whatever a build server would take for an order.

    Examples
    --------
    >>> print(inert("  ::stop-commands::x and a::b"))
      \::stop-commands::x and a::b
    >>> print(inert("red ##vso[task.setvariable] # [1]"))
    red #\#vso[task.setvariable] # [1]
    """
    return ORDERS.sub(lambda m: "#\\#" if m["start"] is None else f"{m['start']}\\::", text)


def tell(text: str) -> None:
    """Print text; a reader that has gone away is no error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal may lack signs that a table has.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(inert(text), end="", flush=True)
    except BrokenPipeError:
        let_go()


def let_go() -> None:
    """Send what is left to print nowhere, so that leaving prints no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
