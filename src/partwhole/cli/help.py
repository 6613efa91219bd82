"""The help of commands, whose lines are those of the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc, unwrap
from typing import TypeVar

Command = TypeVar("Command", bound=Callable[..., None])


def unbroken(command: Command) -> Command:
    """Return a command whose arguments are each described in a single line of its docstring.

    tyro keeps the breaks of these lines, and breaks them again at the width of the terminal.

    Parameters
    ----------
    command : function
        With a section "Args:" at the end of its docstring, or without.

    Examples
    --------
    >>> @unbroken
    ... def draw(path: str) -> None:
    ...     '''Draw.
    ...
    ...     Args:
    ...         path: A file
    ...             that ends with .svg.
    ...     '''
    >>> print(draw.__doc__)
    Draw.
    <BLANKLINE>
    Args:
        path: A file that ends with .svg.
    """
    text, mark, arguments = cleandoc(command.__doc__ or "").partition("\nArgs:\n")
    # tyro reads that of the function inside, where one is wrapped.
    unwrap(command).__doc__ = command.__doc__ = text + mark + re.sub(r"\n {8,}", " ", arguments)
    return command
