"""Small charts as inline SVG: real text, colours of the page's style sheet, no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._types import Real
from partwhole.audit.page.words import number
from partwhole.audit.wording import printable
from partwhole.page import Html, tag

WIDTH, HEIGHT = 460, 310
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 14, 50


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Parameters
    ----------
    name : str
    x, y : float array, shape (n,)
    style : str
        A class of the style sheet: "first" or "second".
    """

    name: str
    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    style: str = "first"


@dataclass(frozen=True)
class Axis:
    """Linear map of an interval of numbers onto an interval of the picture."""

    low: Real
    high: Real
    start: Real
    end: Real

    def __call__(self, value: Real) -> float:
        """Return the position of a number, rounded to a tenth of a unit."""
        span = (self.high - self.low) or 1.0
        return round(self.start + (value - self.low) / span * (self.end - self.start), 1)

    def ticks(self, limit: int = 6) -> list[float]:
        """Return round numbers within the interval.

        Examples
        --------
        >>> Axis(0.0, 0.5, 0.0, 100.0).ticks()
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
        """
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        raw = span / (limit - 1)
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{i * step:.15g}") for i in range(first, last + 1)]

    def marks(self, ticks: Sequence[Real]) -> list[tuple[Real, str]]:
        """Return the positions and labels of ticks, with enough digits to distinguish them.

        Examples
        --------
        >>> Axis(1000.0, 1000.4, 0.0, 100.0).marks([1000.1, 1000.2])
        [(25.0, '1000.1'), (50.0, '1000.2')]
        """
        step = min(np.diff(ticks), default=1.0)
        largest = max((abs(t) for t in ticks), default=1.0)
        digits = max(4, 1 + math.ceil(math.log10(largest / step))) if step and largest else 4
        return [(self(t), number(t, digits)) for t in ticks]


def interval(*values: Float[np.ndarray, "..."], zero: bool = False) -> tuple[float, float]:
    """Return the interval of all finite values, widened for a single value."""
    together = np.concatenate([np.ravel(array) for array in values])
    together = together[np.isfinite(together)]
    if zero or len(together) == 0:
        together = np.append(together, 0.0)
    low, high = float(together.min()), float(together.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.1 * max(abs(low), abs(high)) or 1.0
        return (low if zero and low == 0.0 else low - room), high + room
    room = 0.04 * (high - low)
    return (low if zero and low == 0.0 else low - room), high + room


def lines(
    series: Sequence[Line],
    *,
    reference: tuple[str, Real],
    point: tuple[str, Real] | None,
    labels: tuple[str, str],
    title: str,
    text: str,
    whole: bool,
    share: bool,
) -> Html:
    """Return a chart of lines over a range, with a reference level and one further point.

    Parameters
    ----------
    series : sequence of Line
    reference : (str, float)
        Name and height of a dashed level.
    point : (str, float) or None
        Name and height of a point outside the range, drawn to its right.
    labels : (str, str)
        Labels of the axes.
    title, text : str
        Title, and a description of the picture.
    whole : bool
        Whether positions are whole numbers.
    share : bool
        Whether heights are shares from 0 to 1.

    Returns
    -------
    Html
    """
    right = WIDTH - RIGHT - (74 if point else 0)
    xs = np.concatenate([line.x for line in series])
    x = Axis(float(xs.min()), float(xs.max()), LEFT + 8, right - 8)
    heights = [line.y for line in series] + [np.array([reference[1]])]
    if point:
        heights.append(np.array([point[1]]))
    low, high = (0.0, 1.04) if share else interval(*heights, zero=True)
    y = Axis(low, high, HEIGHT - BOTTOM, TOP)
    ticks = [t for t in x.ticks() if not whole or t.is_integer()]
    marks = []
    for line in series:
        finite = np.isfinite(line.y)
        places = [(x(a), y(b)) for a, b in zip(line.x[finite], line.y[finite], strict=True)]
        marks.append(tag("path", d=_path(places), class_=f"line {line.style}"))
        if len(places) <= 30:
            marks += [_dot(a, b, line.style) for a, b in places]
    level = y(reference[1])
    marks.append(tag("path", d=f"M{LEFT} {level}H{WIDTH - RIGHT}", class_="level"))
    if point:
        at = (right + WIDTH - RIGHT) / 2
        marks.append(tag("path", d=f"M{right} {TOP}V{HEIGHT - BOTTOM}", class_="axis"))
        if math.isfinite(point[1]):
            h = y(point[1])
            shape = f"M{at} {h - 7}L{at + 7} {h}L{at} {h + 7}L{at - 7} {h}Z"
            marks.append(tag("path", d=shape, class_="point"))
        marks.append(_label(at, HEIGHT - BOTTOM + 18, point[0], "middle"))
    up = [0.0, 0.25, 0.5, 0.75, 1.0] if share else y.ticks()
    return drawing([_frame(x, y, ticks, up, right, labels), marks], title=title, text=text)


def scatter(
    truth: Float[np.ndarray, " n"],
    outputs: Float[np.ndarray, " n"],
    *,
    labels: tuple[str, str],
    title: str,
    text: str,
) -> Html:
    """Return a chart of predicted against true values, with the line of equality."""
    low, high = interval(truth, outputs)
    x = Axis(low, high, LEFT, WIDTH - RIGHT)
    y = Axis(low, high, HEIGHT - BOTTOM, TOP)
    equal = f"M{x(low)} {y(low)}L{x(high)} {y(high)}"
    # Dots at the same position are drawn once, in one path, to keep the page small.
    places = sorted({(x(a), y(b)) for a, b in zip(truth, outputs, strict=True)})
    dots = "".join(f"M{a} {b}h0" for a, b in places)
    size_class = " few" if len(places) <= 200 else ""
    return drawing(
        [
            _frame(x, y, x.ticks(), y.ticks(), WIDTH - RIGHT, labels),
            tag("path", d=equal, class_="level"),
            tag("path", d=dots, class_=f"dots{size_class}"),
        ],
        title=title,
        text=text,
    )


def strips(
    rows: Sequence[tuple[str, Float[np.ndarray, "..."]]], *, label: str, title: str, text: str
) -> Html:
    """Return histograms, one below the other for each name; bars left of 0 are hollow.

    Values of 0, which are neither correct nor wrong, have a separate grey bar.
    """
    low, high = interval(*[values for _, values in rows], np.zeros(1))
    # An edge at 0, so that no bar covers both sides.
    step = (high - low) / 30
    edges = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1)
    left, row_height, bottom = 110, 46 if len(rows) > 3 else 62, 50
    height = TOP + row_height * len(rows) + bottom
    x = Axis(float(edges[0]), float(edges[-1]), left, WIDTH - RIGHT)
    marks = []
    for i, (name, values) in enumerate(rows):
        base = TOP + row_height * (i + 1)
        ties = int(np.sum(values == 0.0))
        counts, _ = np.histogram(values[values != 0.0], edges)
        tallest = max(1, int(counts.max()), ties)
        for sign, style in ((-1, "wrong"), (1, "right")):
            d = "".join(
                f"M{x(a)} {base}V{round(base - (row_height - 10) * c / tallest, 1)}H{x(b)}V{base}Z"
                for a, b, c in zip(edges[:-1], edges[1:], counts, strict=True)
                if c and (a + b) * sign > 0
            )
            marks.append(tag("path", d=d, class_=f"bar {style}") if d else None)
        if ties:
            up = round(base - (row_height - 10) * ties / tallest, 1)
            d = f"M{x(0) - 3} {base}V{up}H{x(0) + 3}V{base}Z"
            marks.append(tag("path", d=d, class_="bar tie"))
        marks.append(tag("path", d=f"M{left} {base}H{WIDTH - RIGHT}", class_="axis"))
        marks.append(_label(left - 8, base - row_height / 2 + 8, printable(name, 14), "end"))
    marks.append(tag("path", d=f"M{x(0)} {TOP - 6}V{height - bottom}", class_="level"))
    for at, name in x.marks(x.ticks()):
        marks.append(_label(at, height - bottom + 18, name, "middle"))
    marks.append(_label((left + WIDTH - RIGHT) / 2, height - 10, label, "middle", "name"))
    return drawing(marks, title=title, text=text, height=height)


def drawing(
    children: object,
    *,
    title: str,
    text: str,
    width: Real = WIDTH,
    height: Real = HEIGHT,
    style: str = "chart",
) -> Html:
    """Return a picture with its title, and a description for those who cannot see it."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", text),
        children,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=f"{title}. {text}",
        class_=style,
    )


def _frame(
    x: Axis, y: Axis, across: list[float], up: list[float], right: Real, labels: tuple[str, str]
) -> list[Html]:
    grid = "".join(f"M{LEFT} {y(t)}H{WIDTH - RIGHT}" for t in up)
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return [
        tag("path", d=grid, class_="grid"),
        tag("path", d=f"M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}", class_="axis"),
        *[_label(LEFT - 7, at + 4, text, "end") for at, text in y.marks(up)],
        *[_label(at, HEIGHT - BOTTOM + 18, text, "middle") for at, text in x.marks(across)],
        _label((LEFT + right) / 2, HEIGHT - 10, labels[0], "middle", "name"),
        tag(
            "text",
            labels[1],
            transform=f"translate(15 {middle}) rotate(-90)",
            text_anchor="middle",
            class_="name",
        ),
    ]


def _label(x: Real, y: Real, text: str, anchor: str, style: str | None = None) -> Html:
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_=style)


def _dot(x: Real, y: Real, style: str) -> Html:
    # The second line has squares, so that lines differ without colour.
    if style == "first":
        return tag("circle", cx=x, cy=y, r=3, class_="mark first")
    return tag("rect", x=x - 2.8, y=y - 2.8, width=5.6, height=5.6, class_=f"mark {style}")


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{a} {b}" for a, b in places) if places else "M0 0"
