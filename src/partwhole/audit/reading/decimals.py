"""Decimal commas in files of text, in quotes where commas separate the cells too."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace

from partwhole._checks import require
from partwhole.audit.reading.columns import Column, Texts, as_number, listing, quoted

QUOTED = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
DECIMAL = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}((,\d{3})+(\.\d*)?|(\.\d{3})+,\d*)\s*")


def decimal_mark(texts: Collection[str]) -> str:
    """Return what marks decimals in the texts of a column.

    Returns
    -------
    str
        "," if every text with a comma is a number with a decimal comma, and the others are whole
        numbers; empty if all are numbers, but commas or points may separate thousands; else ".".

    Examples
    --------
    >>> decimal_mark(["0,5", "10,25", "3"]), decimal_mark(["0.5", "a,b"]), decimal_mark(["1,250"])
    (',', '.', '')
    """
    with_comma = [text for text in texts if "," in text]
    plain = [text for text in texts if "," not in text]
    are_numbers = all(DECIMAL.fullmatch(text) or THOUSANDS.fullmatch(text) for text in with_comma)
    if not (with_comma and are_numbers) or any(as_number(text) is None for text in plain):
        return "."
    is_plain = all(DECIMAL.fullmatch(text) for text in with_comma)
    has_points = any("." in text for text in plain)
    may_be_thousands = all(THOUSANDS.fullmatch(text) for text in with_comma)
    return "" if has_points or may_be_thousands or not is_plain else ","


def with_decimal_mark(column: Column, *, in_quotes: bool = False) -> Column:
    """Return a column with the mark of its decimals, if it is text.

    Parameters
    ----------
    column : Column
    in_quotes : bool, keyword-only, default False
        Whether commas separate cells, so that a comma in a cell is one in quotes. It marks decimals
        if every cell has one between digits, and none could separate thousands instead.
    """
    if not isinstance(column, Texts):
        return column
    mark = decimal_mark(column.texts)
    if in_quotes and not (mark == "," and all(map(QUOTED.fullmatch, column.texts))):
        mark = "."
    return replace(column, decimal=mark)


def require_clear_commas(
    columns: Iterable[tuple[Column, Hashable]], otherwise: str = ""
) -> tuple[str, ...]:
    """Return remarks on columns in which commas mark decimals.

    Parameters
    ----------
    columns : iterable of (column, name)
        That are asked for numbers.
    otherwise : str
        A remedy beside that of writing numbers without separators.

    Raises
    ------
    InputError
        If commas may mark decimals or thousands.
    """
    names, example = [], ""
    for column, name in columns:
        if not isinstance(column, Texts):
            continue
        comma = max((text for text in column.texts if "," in text), key=len, default="")
        require(
            column.decimal != "",
            "a comma in a number marks its decimals",
            f"{quoted(comma)} in {name!r}, whose commas or points may separate thousands",
            f"write numbers without separators of thousands{otherwise}",
        )
        if column.decimal == ",":
            names, example = [*names, str(name)], example or comma
    if not names:
        return ()
    number = as_number(example.replace(",", "."))
    return (f"Commas in {listing(names)} mark decimals: {quoted(example)} is {number:g}.",)
