"""Names and numbers from a table as they may be printed: on one line, and not too long."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Point, Prediction

LONGEST = 60
# Salience of one hidden ReLU layer on two components.
ONE_LAYER = 0.425
OPEN = (
    "Training leaves some of these answers open: the figures are what the least-norm learners "
    "choose; others that fit training as well may answer otherwise."
)
# Of the variance of similarity; below it the overlap is far from all that features tell apart.
LEAST_STRUCTURE = 0.95
LEFT_OUT = (
    "The predicted error leaves out what the overlap does not explain: readouts trained on such "
    "features have erred several times as much. Trust the slope and the order of outputs more."
)


def shown(value: Hashable, longest: int = LONGEST) -> str:
    r"""Write a name or value on one line: unprintable signs escaped, the middle of a long one cut.

    Parameters
    ----------
    value : hashable
    longest : int, default 60

    Returns
    -------
    str

    Examples
    --------
    >>> shown("dark\nred"), shown(""), shown("abcdefghij", 7)
    ('dark\\nred', "''", 'abc…hij')
    """
    text = one_line(str(value))
    if text != text.strip() or not text:
        text = repr(text)
    if len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[:half]}…{text[-half:]}"
    return text


def one_line(text: str) -> str:
    r"""Escape all signs that are not printable, such as line ends and terminal codes.

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


def combination(case: Case, index: int) -> str:
    """Write a combination as its values, such as ``(circle, red)``.

    Parameters
    ----------
    case : Case
    index : int
        Row of the case's task.

    Returns
    -------
    str
    """
    return tuple_of(case, case.task.components[index])


def tuple_of(case: Case, values: Iterable[int | np.integer]) -> str:
    """Write value indices, one for each component, as a combination.

    Parameters
    ----------
    case : Case
    values : iterable of int, length C

    Returns
    -------
    str
    """
    names = zip(case.table.values, values, strict=True)
    return f"({', '.join(shown(of[int(i)]) for of, i in names)})"


def conjunction(case: Case, components: Iterable[int], values: Iterable[int]) -> str:
    """Write values of some components, such as ``shape = circle, colour = red``.

    Parameters
    ----------
    case : Case
    components, values : iterables of int

    Returns
    -------
    str
    """
    table = case.table
    return ", ".join(
        f"{shown(table.names[c])} = {shown(table.values[c][v])}"
        for c, v in zip(components, values, strict=True)
    )


def where(point: Point, n_components: int) -> str:
    """Name a representation of the range in words.

    Parameters
    ----------
    point : Point
    n_components : int

    Returns
    -------
    str
        Such as ``one hidden ReLU layer (depth 1)`` or, for two components,
        ``S(1; 2) = 0.425, about one hidden ReLU layer``.
    """
    if np.isnan(point.position):
        return "the measured representation"
    if n_components == 2:
        about = ", about one hidden ReLU layer" if point.position == ONE_LAYER else ""
        return f"S(1; 2) = {point.position:g}{about}"
    if point.position == 1:
        return "one hidden ReLU layer (depth 1)"
    return f"{point.position:g} hidden ReLU layers (depth {point.position:g})"


def learners(case_or_order: Case | int, n_components: int) -> str:
    """Name the learners that the range of representations is of.

    Parameters
    ----------
    case_or_order : Case or int
        Whose order K they are cut off at.
    n_components : int

    Returns
    -------
    str

    Examples
    --------
    >>> learners(1, 2), learners(2, 3)
    ('a kernel with salience S(1; 2)', 'a random ReLU network')
    >>> print(learners(2, 5))
    a random ReLU network cut off at order 2 (its conjunctions of more than 2 components count as
    memory)
    """
    order = case_or_order.order if isinstance(case_or_order, Case) else case_or_order
    if n_components == 2:
        return "a kernel with salience S(1; 2)"
    name = "a random ReLU network"
    if order >= n_components - 1:
        return name
    return (
        f"{name} cut off at order {order} (its conjunctions of more than "
        f"{count(order, 'component')} count as memory)"
    )


def count(n: int, one: str, many: str | None = None) -> str:
    """Write a number of things.

    Parameters
    ----------
    n : int
    one : str
    many : str, optional
        By default with an s.

    Returns
    -------
    str

    Examples
    --------
    >>> count(1, "error"), count(1200, "row")
    ('1 error', '1,200 rows')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """Write a share in percent, so that only all is 100 % and only none is 0 %.

    Parameters
    ----------
    share : float

    Returns
    -------
    str

    Examples
    --------
    >>> percent(0.5), percent(0.9999), percent(1.0), percent(0.0001), percent(float("nan"))
    ('50 %', '>99 %', '100 %', '<1 %', 'not known')
    """
    if share != share:
        return "not known"
    if 0.995 <= share < 1.0:
        return ">99 %"
    if 0.0 < share < 0.005:
        return "<1 %"
    return f"{100.0 * share:.0f} %"


def number(value: float) -> str:
    """Write a number in three digits.

    Parameters
    ----------
    value : float

    Returns
    -------
    str

    Examples
    --------
    >>> number(0.12345), number(1234.5), number(float("nan"))
    ('0.123', '1.23e+03', 'not known')
    """
    return "not known" if value != value else f"{value:.3g}"


def measured(found: Prediction) -> str:
    """Say how well the overlap describes measured features; empty without a measured point.

    Parameters
    ----------
    found : Prediction

    Returns
    -------
    str
    """
    if np.isnan(found.structure) or not any(np.isnan(point.position) for point in found.points):
        return ""
    noise = "no noise of single rows is counted"
    if found.noise > 0:
        noise = (
            f"the noise of single rows is {found.noise:.2g} of the lead of identical combinations"
        )
    line = (
        f"the overlap explains {percent(found.structure)} of the variance of similarity; {noise}."
    )
    return f"{line} {LEFT_OUT}" if found.structure < LEAST_STRUCTURE else line
