"""The help of commands, and errors in the words of their options."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc, signature, unwrap
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])


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


def in_options(sentence: str, command: Callable[..., None]) -> str:
    """Return the sentence of an error, the remedy in options in place of arguments.

    Parameters
    ----------
    sentence : str
        Its remedy is what follows the last semicolon.
    command : function
        Whose arguments are the options.

    Examples
    --------
    >>> def draw(trial_axis: int = 0, name: str = "", keep: bool = False) -> None: ...
    >>> in_options("a rule; got name='b'; pass trial_axis=2, name='a' or keep=True", draw)
    "a rule; got name='b'; pass --trial-axis 2, --name a or --keep"
    """
    rest, mark, remedy = sentence.rpartition("; ")
    names = "|".join(signature(command).parameters)

    def option(match: re.Match[str]) -> str:
        name, value = match[1].replace("_", "-"), match[2].strip("'")
        return f"--{name}" if value in ("", "True") else f"--{name} {value}"

    return rest + mark + re.sub(rf"\b({names})=('[^']*'|[\w.+-]*)", option, remedy)
