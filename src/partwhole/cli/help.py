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
    """Return the sentence of an error with options in place of arguments.

    In its rule and its remedy; in what was got only if these are arguments, as it can be text of
    the user.

    Parameters
    ----------
    sentence : str
        Its rule ends at "; got", and its remedy is what follows the last semicolon.
    command : function
        Whose arguments are the options.

    Examples
    --------
    >>> def draw(trial_axis: int = 0, name: str = "", keep: bool = False) -> None: ...
    >>> in_options("a rule; got 'name=b'; pass trial_axis=2, name='a' or keep=True", draw)
    "a rule; got 'name=b'; pass --trial-axis 2, --name a or --keep"
    >>> in_options("name is text; got name=7 with keep=True; leave keep out", draw)
    'name is text; got --name 7 with --keep; leave --keep out'
    """
    rest, mark, remedy = sentence.rpartition("; ")
    rule, got, value = rest.partition("; got ")
    argument = _argument(command)
    if re.fullmatch(rf"{argument}( with {argument})*", value):
        value = with_options(value, command)
    return with_options(rule, command) + got + value + mark + with_options(remedy, command)


def with_options(text: str, command: Callable[..., None]) -> str:
    """Return text with options in place of all arguments.

    Examples
    --------
    >>> def draw(window: tuple = (), keep: bool = False) -> None: ...
    >>> with_options("choose others with window=(start, stop), or leave keep out", draw)
    'choose others with --window START STOP, or leave --keep out'
    """

    def option(match: re.Match[str]) -> str:
        name, value = match[1].replace("_", "-"), match[2].strip("'\"")
        if value.startswith("("):
            value = value.strip("()").replace(",", "").upper()
        return f"--{name}" if value in ("", "True") else f"--{name} {value}"

    def name(match: re.Match[str]) -> str:
        return f"leave --{match[1].replace('_', '-')} out"

    text = re.sub(_argument(command), option, text)
    return re.sub(rf"\bleave ({_names(command)}) out\b", name, text)


def _names(command: Callable[..., None]) -> str:
    return "|".join(signature(command).parameters)


def _argument(command: Callable[..., None]) -> str:
    """Return the pattern of an argument and its value."""
    value = r"'[^']*'|\"[^\"]*\"|\([\w.+-]+, [\w.+-]+\)|[\w.+-]*"
    return rf"\b({_names(command)})=({value})"
