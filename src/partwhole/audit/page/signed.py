"""Combinations with signs, drawn as the corners of a rectangle or a box, or along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from partwhole._types import Real
from partwhole.audit.page.words import exact
from partwhole.audit.wording import printable
from partwhole.page import Html, scroll, tag
from partwhole.tasks import Task

MOST_SIDE, MOST_PANELS = 8, 2


@dataclass(frozen=True)
class Mark:
    """One combination of a drawing.

    Parameters
    ----------
    row : tuple of int
        The combination's value indices.
    weight : float or None
        Its weight in the sum; None for the held-out combination.
    text : str
        Its target.
    """

    row: tuple[int, ...]
    weight: Real | None
    text: str


def groups_of(rows: Int[np.ndarray, "q C"]) -> tuple[tuple[int, ...], ...]:
    """Return the groups of components that vary together over rows, without constant ones.

    Examples
    --------
    >>> groups_of(np.array([[0, 5, 1, 2], [0, 6, 1, 2], [1, 5, 3, 2], [1, 6, 3, 2]]))
    ((0, 2), (1,))
    """
    kinds: dict[bytes, list[int]] = {}
    for c, column in enumerate(rows.T):
        values, first, kind = np.unique(column, return_index=True, return_inverse=True)
        if len(values) > 1:
            # Numbered by first occurrence, so that only the partition matters.
            rank = np.argsort(np.argsort(first))
            kinds.setdefault(rank[kind].astype(np.int64).tobytes(), []).append(c)
    return tuple(tuple(group) for group in kinds.values())


def drawing(task: Task, marks: Sequence[Mark], text: str, label: str) -> Html | None:
    """Return a board of combinations by two groups of components, a panel for each of a third.

    Parameters
    ----------
    task : Task
    marks : sequence of Mark
    text : str
        Description of the picture.
    label : str
        Its name for keyboard users.

    Returns
    -------
    Html or None
        None if they do not fit on a board.
    """
    rows = np.array([mark.row for mark in marks])
    groups = list(groups_of(rows)) if task.n_components > 2 else [(0,), (1,)]
    if len(groups) not in (2, 3):
        return None
    settings = []
    for group in groups:
        distinct: dict[tuple[int, ...], None] = {}
        for mark in marks:
            distinct.setdefault(tuple(mark.row[c] for c in group))
        # Two settings in order of occurrence, which puts a + in the corner; more in value order.
        settings.append(list(distinct) if len(distinct) < 3 else sorted(distinct))
    side = max(len(settings[0]), len(settings[1]))
    if side > MOST_SIDE or (len(groups) == 3 and len(settings[2]) > MOST_PANELS):
        return None
    boards = []
    for panel in settings[2] if len(groups) == 3 else [()]:
        places = {}
        for mark in marks:
            if len(groups) == 3 and tuple(mark.row[c] for c in groups[2]) != panel:
                continue
            at = tuple(settings[g].index(tuple(mark.row[c] for c in groups[g])) for g in range(2))
            places[at] = mark
        title = _setting(task, groups[2], panel, True) if panel else ""
        boards.append(
            _board(
                title,
                [_setting(task, groups[0], s, False) for s in settings[0]],
                [_setting(task, groups[1], s, False) for s in settings[1]],
                places,
            )
        )
    return scroll(tag("div", boards, class_="signed", role="img", aria_label=text), label=label)


def _setting(task: Task, group: tuple[int, ...], values: tuple[int, ...], with_names: bool) -> str:
    words = [printable(task.values[c][v], 24) for c, v in zip(group, values, strict=True)]
    if with_names:
        words = [f"{printable(task.names[c], 18)} = {w}" for c, w in zip(group, words, strict=True)]
    return ", ".join(words)


def _board(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    places: dict[tuple[int, ...], Mark],
) -> Html:
    is_small = max(len(rows), len(columns)) <= 3
    cell_width, cell_height = (132, 78) if is_small else (96, 60)
    cut = 17 if is_small else 12
    left = 16 + round(7.4 * min(cut, max(map(len, rows))))
    top = 52 if title else 30
    marks: list[Html] = []
    if title:
        marks.append(
            _text(left + cell_width * len(columns) / 2, 16, printable(title, 36), "middle", "name")
        )
    for i, name in enumerate(rows):
        marks.append(
            _text(left - 10, top + cell_height * (i + 0.5) + 4, printable(name, cut), "end")
        )
    for j, name in enumerate(columns):
        marks.append(_text(left + cell_width * (j + 0.5), top - 9, printable(name, cut), "middle"))
    for i in range(len(rows)):
        for j in range(len(columns)):
            marks += _cell(
                places.get((i, j)),
                left + cell_width * j,
                top + cell_height * i,
                cell_width,
                cell_height,
                cut,
            )
    width, height = left + cell_width * len(columns) + 4, top + cell_height * len(rows) + 4
    return tag(
        "svg",
        marks,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        aria_hidden="true",
        class_="corners",
    )


def _cell(
    mark: Mark | None, x: int, y: int, cell_width: int, cell_height: int, cut: int
) -> list[Html]:
    place = {"x": x + 3, "y": y + 3, "width": cell_width - 6, "height": cell_height - 6, "rx": 6}
    if mark is None:
        return [tag("rect", **place, class_="blank")]
    middle = x + cell_width / 2
    if mark.weight is None:
        sign, kind = "?", "held-out"
    else:
        size = "" if abs(mark.weight) == 1 else exact(abs(mark.weight))
        sign, kind = (
            ("+" if mark.weight > 0 else "−") + size,
            "plus" if mark.weight > 0 else "minus",
        )
    return [
        tag("rect", **place, class_=kind),
        _text(middle, y + cell_height / 2 - 3, sign, "middle", "sign"),
        _text(middle, y + cell_height / 2 + 20, printable(mark.text, cut), "middle"),
    ]


def _text(x: Real, y: Real, text: str, anchor: str, style: str | None = None) -> Html:
    return tag("text", text, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, class_=style)
