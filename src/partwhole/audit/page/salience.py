"""The saliences of components at which held-out labels are predicted right, as a picture."""

from __future__ import annotations

import math

from partwhole.audit.case import Case
from partwhole.audit.page.charts import drawing
from partwhole.audit.page.words import number, share
from partwhole.audit.predicted import SalienceSweep
from partwhole.audit.predictions_in_words import salience_range, strictest, too_salient
from partwhole.audit.wording import printable
from partwhole.page import Html, join, table, tag

WIDTH, LEFT, RIGHT, TOP = 620, 130, 14, 8
BAR, GAP, BETWEEN, BOTTOM = 7, 2, 12, 44
STYLES = ("first", "second", "third", "fourth")


def salience(case: Case, sweep: SalienceSweep) -> Html:
    """Return the sentence, the picture and the table of a sweep of saliences.

    Parameters
    ----------
    case : Case
    sweep : SalienceSweep
        Of this case.

    Returns
    -------
    Html
    """
    names = [printable(name, 20) for name in case.table.names]
    return join(
        tag("p", _summary(case, sweep), class_="answer"),
        _picture(names, sweep) if sweep.is_right else None,
        _accuracies(names, sweep),
    )


def _summary(case: Case, sweep: SalienceSweep) -> str:
    if not sweep.is_right:
        return too_salient(case, sweep) or "One of the learners could not be computed."
    return strictest(case, sweep)


def _picture(names: list[str], sweep: SalienceSweep) -> Html:
    low, high = (math.log2(factor) for factor in (sweep.factors[0], sweep.factors[-1]))

    def x(factor: float) -> float:
        place = min(max(math.log2(factor) if factor > 0 else low, low), high)
        return round(LEFT + (place - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    n_learners, (since, until) = len(sweep.learners), sweep.limits
    row = n_learners * (BAR + GAP) + BETWEEN
    bottom = TOP + row * len(names)
    ticks = [factor for factor in sweep.factors if math.log2(factor).is_integer()]
    marks: list[Html] = [
        tag("path", d=f"M{x(factor)} {TOP}V{bottom}", class_="grid") for factor in ticks
    ]
    marks += [
        tag("text", number(factor), x=x(factor), y=bottom + 16, text_anchor="middle")
        for factor in ticks
    ]
    marks.append(tag("path", d=f"M{x(1.0)} {TOP}V{bottom}", class_="axis"))
    for c, name in enumerate(names):
        top = TOP + c * row + BETWEEN / 2
        marks.append(
            tag("text", name, x=LEFT - 8, y=top + row / 2 - 2, text_anchor="end", class_="name")
        )
        for i in range(n_learners):
            start, end = x(float(since[i, c])), x(min(float(until[i, c]), 2.0**high))
            marks.append(
                tag(
                    "rect",
                    x=start,
                    y=top + i * (BAR + GAP),
                    width=round(max(end - start, 1.0), 1),
                    height=BAR,
                    class_=f"span {STYLES[i % len(STYLES)]}",
                )
            )
        if sweep.measured is not None and sweep.measured[c] > 0:
            at = x(float(sweep.measured[c]))
            marks.append(
                tag("path", d=f"M{at} {top - 3}V{top + row - BETWEEN + 1}", class_="measured")
            )
    title = "Saliences at which all held-out labels are predicted right"
    text = "; ".join(
        salience_range(name, low, high)
        for name, low, high in zip(names, *sweep.range_of_all, strict=True)
    )
    label = "salience of the component, relative to the others"
    middle = (LEFT + WIDTH - RIGHT) / 2
    marks.append(tag("text", label, x=middle, y=bottom + 36, text_anchor="middle", class_="name"))
    keys = [
        tag("li", tag("i", class_=f"span {STYLES[i % len(STYLES)]}"), f"{fit}, {kernel}")
        for i, (fit, kernel) in enumerate(sweep.learners)
    ]
    if sweep.measured is not None:
        keys.append(tag("li", tag("i", class_="measured"), "measured features"))
    return tag(
        "figure",
        drawing(
            marks,
            title=title,
            text=text,
            width=WIDTH,
            height=bottom + BOTTOM,
            style="chart wide",
        ),
        tag("ul", keys, class_="keys"),
        tag(
            "figcaption",
            f"{title}. Each bar ends where the first of them is predicted wrong, or where the "
            "trials end. Least squares is the interpolation of least norm, the largest margin that "
            "of cross-entropy; the Gaussian kernel counts whole combinations more than one hidden "
            f"ReLU layer does. Kernels generalise up to order {sweep.order}. Trained networks that "
            "learn their features may fail earlier.",
        ),
    )


def _accuracies(names: list[str], sweep: SalienceSweep) -> Html:
    lines = [
        [name, f"{fit}, {kernel}", *[share(float(value)) for value in curve[c]]]
        for c, name in enumerate(names)
        for (fit, kernel), curve in zip(sweep.learners, sweep.accuracy, strict=True)
    ]
    return tag(
        "details",
        tag("summary", "The accuracies as a table"),
        table(
            ["Component", "Learner", *[number(factor, 3) for factor in sweep.factors]],
            lines,
            caption="Predicted accuracy by rows, by the factor of the component's salience",
            numbers=range(2, 2 + len(sweep.factors)),
        ),
    )
