"""Lines of text for the terminal."""

from __future__ import annotations

from textwrap import wrap

WIDTH = 100


def one_line(text: str) -> str:
    r"""Return the text with unprintable characters escaped, such as line ends and terminal codes.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> one_line("a\tb")
    'a\\tb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def wrapped(text: str, indent: str = "", first: str | None = None) -> list[str]:
    """Return the text in lines, all indented but, if one is given, for the start of the first.

    Parameters
    ----------
    text : str
    indent : str, default ""
    first : str, optional
        The start of the first line.

    Returns
    -------
    list of str
    """
    return wrap(
        one_line(text),
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
    )
