"""Pictures of a measurement as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from partwhole._types import Real
from partwhole.audit.page.charts import Axis, drawing, interval
from partwhole.audit.page.words import number
from partwhole.audit.wording import printable
from partwhole.measurement.readout_words import OPEN, Verdicts
from partwhole.measures.readouts import HeldOutReadouts
from partwhole.page import Html, tag

STYLES = ("first", "second", "third", "fourth")
MOST_BARS = 200
# Mean width of a letter of names, in the unit of pictures.
LETTER = 7.4


def style(index: int) -> str:
    """Return the class of the style sheet of a component, or of a set of them."""
    return STYLES[index % len(STYLES)]


def keys(entries: Sequence[tuple[str, str]]) -> Html:
    """Return a legend of (class, words)."""
    return tag("ul", [tag("li", tag("i", class_=kind), words) for kind, words in entries],
               class_="keys")  # fmt: skip


def trial_grid(
    counts: Int[np.ndarray, "a b"], names: Sequence[str], values: Sequence[Sequence[str]]
) -> Html:
    """Return how many trials there are for each pair of values of two components."""
    rows, columns = counts.shape
    left = 16 + LETTER * max(len(text) for text in (*values[0], names[0]))
    size, top = 42, 44
    largest = counts.max()
    marks = [
        tag("text", names[0], x=left - 8, y=top - 28, text_anchor="end", class_="name"),
        tag("text", names[1], x=left, y=top - 28, class_="name"),
    ]
    for j, value in enumerate(values[1]):
        marks.append(tag("text", value, x=left + (j + 0.5) * size, y=top - 8, text_anchor="middle"))
    for i, value in enumerate(values[0]):
        y = top + i * size
        marks.append(tag("text", value, x=left - 8, y=y + size / 2 + 4, text_anchor="end"))
        for j in range(columns):
            count = int(counts[i, j])
            strength = round(0.12 + 0.78 * count / int(largest), 2)
            marks.append(
                tag("rect", x=left + j * size + 1, y=y + 1, width=size - 2, height=size - 2, rx=3,
                    class_="cell" if count else "none",
                    fill_opacity=strength if count else None)
            )  # fmt: skip
            marks.append(
                tag("text", number(count), x=left + (j + 0.5) * size, y=y + size / 2 + 4,
                    text_anchor="middle", class_=f"count{' light' * (strength > 0.55)}")
            )  # fmt: skip
    text = (
        f"{int(counts.min())} to {int(largest)} trials; {int(np.sum(counts == 0))} cells without."
    )
    title = f"Trials by {names[0]} and {names[1]}"
    # As large on the page as other pictures, so that their letters have one size.
    return drawing(
        marks,
        title=title,
        text=text,
        width=max(left + columns * size + 8, 420),
        height=top + rows * size + 8,
    )


def dots(
    names: Sequence[str],
    values: Float[np.ndarray, " s"],
    narrow: Float[np.ndarray, "s 2"],
    broad: Float[np.ndarray, "s 2"],
    *,
    title: str,
    caption: str,
    width: int = 620,
) -> Html:
    """Return numbers with two intervals, a row for each name; intervals of NaN are left out.

    Intervals end at the edge where they reach far beyond the numbers.
    """
    row = 34
    left = 20 + LETTER * max(len(name) for name in names)
    low, high = interval(np.append(values, 1.0), zero=True)
    room = high - low
    narrow, broad = (np.clip(ends, low - room, high + room) for ends in (narrow, broad))
    low, high = interval(values, narrow, broad, zero=True)
    x = Axis(min(low, 0.0), max(high, 1.0), left, width - 18)
    bottom = 8 + row * len(names)
    marks = [
        mark
        for place, label in x.marks(x.ticks())
        for mark in (
            tag("path", d=f"M{place} 8V{bottom}", class_="grid"),
            tag("text", label, x=place, y=bottom + 17, text_anchor="middle"),
        )
    ]
    marks.append(tag("path", d=f"M{x(0.0)} 8V{bottom}", class_="axis"))
    for i, name in enumerate(names):
        y = 8 + row * (i + 0.5)
        marks.append(tag("text", name, x=left - 12, y=y + 4, text_anchor="end", class_="name"))
        for ends, kind in ((broad[i], "broad"), (narrow[i], "narrow")):
            if np.isfinite(ends).all():
                path = f"M{x(float(ends[0]))} {y}H{x(float(ends[1]))}"
                marks.append(tag("path", d=path, class_=kind))
        if np.isfinite(values[i]):
            marks.append(tag("circle", cx=x(float(values[i])), cy=y, r=5, class_="value"))
    text = "; ".join(f"{name} {number(v, 3)}" for name, v in zip(names, values, strict=True))
    # Under the axis, and moved to the left where it would leave the picture.
    middle = min((left + width) / 2, width - 4 - 0.5 * LETTER * len(caption))
    label = tag("text", caption, x=middle, y=bottom + 38, text_anchor="middle", class_="name")
    return drawing([*marks, label], title=title, text=text, width=width, height=bottom + 46)


def accuracies(readouts: HeldOutReadouts, verdicts: Verdicts) -> Html:
    """Return measured against predicted accuracies, a point for each held-out condition.

    Without values that training lacks.
    """
    size, left, bottom = 360, 58, 320
    answered = ~verdicts.lacking
    both = np.stack([readouts.accuracy, readouts.measured_accuracy])[:, answered]
    low = max(float(both.min()) - 0.05, 0.0)
    x, y = Axis(low, 1.02, left, size - 12), Axis(low, 1.02, bottom, 14)
    ticks = x.ticks()
    marks = _frame(x, y, ticks, ticks, bottom, size - 12)
    marks.append(tag("path", d=f"M{x(low)} {y(low)}L{x(1.0)} {y(1.0)}", class_="level"))
    for j in range(len(readouts.labels)):
        pairs = zip(
            readouts.accuracy[:, j], readouts.measured_accuracy[:, j], verdicts.of(j),
            answered[:, j], strict=True,
        )  # fmt: skip
        for predicted, measured, verdict, is_answered in pairs:
            if not is_answered:
                continue
            kind = f"{style(j)} {'open' if verdict == OPEN else 'dot'}"
            marks.append(
                tag("circle", cx=x(float(predicted)), cy=y(float(measured)), r=4.5, class_=kind)
            )
    labels = ("predicted share of right trials", "measured")
    marks += _labels(labels, (left + size) / 2, bottom + 40, bottom / 2)
    error = np.sqrt(np.mean((both[0] - both[1]) ** 2))
    text = f"They differ by {error:.2f}, root mean square over {both.shape[1]} points."
    return drawing(
        marks,
        title="Held-out conditions, predicted and measured",
        text=text,
        width=size,
        height=bottom + 50,
    )


def answers(readouts: HeldOutReadouts) -> Html:
    """Return measured against predicted mean answers, a point for each output and condition."""
    size, left, bottom = 360, 58, 320
    low, high = interval(readouts.predicted, readouts.measured)
    # Bars of few trials may be far longer than answers differ.
    room = 0.5 * (high - low)
    low, high = interval(np.clip(readouts.interval, low - room, high + room), readouts.measured)
    x, y = Axis(low, high, left, size - 12), Axis(low, high, bottom, 14)
    ticks = x.ticks()
    marks = _frame(x, y, ticks, ticks, bottom, size - 12)
    marks.append(tag("path", d=f"M{x(low)} {y(low)}L{x(high)} {y(high)}", class_="level"))
    arrays = (readouts.predicted, readouts.measured, readouts.targets)
    points = list(zip(*(array.ravel() for array in arrays), strict=True))
    if len(points) <= MOST_BARS:
        # Between the ends of the axis.
        bars = np.clip(readouts.interval.reshape(-1, 2), low, high)
        for (start, end), (_, measured, target) in zip(bars, points, strict=True):
            path = f"M{x(float(start))} {y(float(measured))}H{x(float(end))}"
            kind = style(0 if target > 0 else 1)
            marks.append(tag("path", d=path, class_=f"bar {kind}"))
    for predicted, measured, target in points:
        kind = f"{style(0 if target > 0 else 1)} dot"
        marks.append(tag("circle", cx=x(float(predicted)), cy=y(float(measured)), r=3.5,
                         class_=kind))  # fmt: skip
    marks += _labels(("predicted mean answer", "measured"), (left + size) / 2, bottom + 40,
                     bottom / 2)  # fmt: skip
    text = f"They differ by {readouts.error:.2f}, root mean square."
    return drawing(
        marks,
        title="Mean answers, predicted and measured",
        text=text,
        width=size,
        height=bottom + 50,
    )


def over_time(
    names: Sequence[str],
    times: Float[np.ndarray, " t"],
    values: Float[np.ndarray, "t s"],
    low: Float[np.ndarray, "t s"],
    high: Float[np.ndarray, "t s"],
) -> Html:
    """Return parts of the squared distance over time with bands of their intervals."""
    width, bottom = 620, 280
    ends = interval(values, low, high, zero=True)
    y = Axis(*ends, bottom, 14)
    # Beside the name of the axis there is room for its longest number.
    left = 34 + 8 * max(3, *(len(label) for _, label in y.marks(y.ticks())))
    x = Axis(float(times.min()), float(times.max()), left, width - 14)
    marks = _frame(x, y, x.ticks(8), y.ticks(), bottom, width - 14)
    for j in range(values.shape[1]):
        places = np.flatnonzero(np.isfinite(values[:, j]))
        if not len(places):
            continue
        clipped = np.clip(values[:, j], *ends)
        points = [f"{x(float(times[i]))} {y(float(clipped[i]))}" for i in places]
        bounded = [i for i in places if np.isfinite(low[i, j]) and np.isfinite(high[i, j])]
        if bounded:
            lower, upper = np.clip(low[:, j], *ends), np.clip(high[:, j], *ends)
            edge = [f"{x(float(times[i]))} {y(float(upper[i]))}" for i in bounded]
            edge += [f"{x(float(times[i]))} {y(float(lower[i]))}" for i in reversed(bounded)]
            marks.append(tag("path", d=f"M{'L'.join(edge)}Z", class_=f"band {style(j)}"))
        marks.append(tag("path", d=f"M{'L'.join(points)}", class_=f"line {style(j)}"))
    marks += _labels(
        ("time", "part of squared distance"), (left + width) / 2, bottom + 40, bottom / 2
    )
    text = f"{len(times)} times, from {number(float(times.min()))} to {number(float(times.max()))}."
    return drawing(
        marks,
        title="Squared distance between conditions over time",
        text=text,
        width=width,
        height=bottom + 50,
    )


def _frame(
    x: Axis,
    y: Axis,
    x_ticks: Sequence[Real],
    y_ticks: Sequence[Real],
    bottom: Real,
    right: Real,
) -> list[Html]:
    marks = []
    for place, label in x.marks(x_ticks):
        marks.append(tag("path", d=f"M{place} 14V{bottom}", class_="grid"))
        marks.append(tag("text", label, x=place, y=bottom + 17, text_anchor="middle"))
    for place, label in y.marks(y_ticks):
        marks.append(tag("path", d=f"M{x.start} {place}H{right}", class_="grid"))
        marks.append(tag("text", label, x=x.start - 8, y=place + 4, text_anchor="end"))
    return marks


def _labels(labels: tuple[str, str], x: Real, y: Real, middle: Real) -> list[Html]:
    return [
        tag("text", printable(labels[0]), x=x, y=y, text_anchor="middle", class_="name"),
        tag("text", printable(labels[1]), x=16, y=middle, text_anchor="middle", class_="name",
            transform=f"rotate(-90 16 {middle})"),
    ]  # fmt: skip
