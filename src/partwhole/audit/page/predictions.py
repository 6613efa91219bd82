"""What learners of a range of representations will do with the held-out combinations."""

from __future__ import annotations

import math

import numpy as np

from partwhole._types import Real
from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence, Point, Prediction
from partwhole.audit.page.charts import Line, lines, scatter, strips
from partwhole.audit.page.every import every, margins
from partwhole.audit.page.sections import remarks
from partwhole.audit.page.words import conjunction, count, number, share
from partwhole.audit.wording import OPEN, measured, shown, where
from partwhole.page import Html, join, table, tag

DOTS, STRIPS = 2000, 10


def predictions(evidence: Evidence, found: Prediction) -> Html:
    """Draw error or accuracy over the range, and predicted against true values.

    Parameters
    ----------
    evidence : Evidence
    found : Prediction
        That of the evidence.

    Returns
    -------
    Html
    """
    case, settled = evidence.case, evidence.determination
    at = found.points[found.reference]
    return join(
        tag("p", _summary(case, found), class_="answer"),
        tag("p", OPEN) if settled is not None and settled.share < 1.0 else None,
        tag("div", _range(case, found), _fit(case, at), class_="pair"),
        tag("p", tag("strong", "Measured features: "), told) if (told := measured(found)) else None,
        _table(case, found),
        tag("p", _leak(case, at)),
        _worst(case, found, at),
        every(evidence, at),
        remarks(found.remarks),
    )


def _summary(case: Case, found: Prediction) -> str:
    at = found.points[found.reference]
    if case.has_labels:
        scores = np.array([each.balanced_accuracy for each in found.points])
        if np.isnan(scores).all():  # rows of one combination that have as many of either label
            return "No accuracy is predicted: no held-out combination has one label of its own."
        return (
            f"Predicted balanced accuracy: {_span(scores, True)} over the range, "
            f"{share(at.balanced_accuracy)} at {_where(case, at)}. Guessing among the labels "
            f"gets {share(found.chance)}.{_one_label(case)}"
        )
    errors = np.array([_told(each.error, found) for each in found.points])
    return (
        f"Predicted mean squared error: {_span(errors, False)} over the range, "
        f"{number(_told(at.error, found), 3)} at {_where(case, at)}. The mean of "
        f"training, as a constant answer, gets {number(found.constant_error, 3)}."
    )


def _told(error: Real, found: Prediction) -> float:
    """Take what is rounding beside the constant answer's error for 0."""
    return 0.0 if error < 1e-12 * found.constant_error else error


def _span(values: np.ndarray, of_labels: bool) -> str:
    told = share if of_labels else lambda value: number(value, 3)
    low, high = told(float(np.nanmin(values))), told(float(np.nanmax(values)))
    return low if low == high else f"{low} to {high}"


def _one_label(case: Case) -> str:
    own = case.label[case.held_out] if case.label is not None else np.zeros(0)
    if len(np.unique(own[own >= 0])) != 1:
        return ""
    return " The test split has one label, so accuracy alone says little."


def _where(case: Case, at: Point) -> str:
    return where(at, case.task.n_components)


def _axis(case: Case, found: Prediction) -> str:
    """Say what the range varies, and where its learners are cut off."""
    if case.order >= case.task.n_components - 1:
        return found.axis
    return f"{found.axis}, cut off at order {case.order}"


def _range(case: Case, found: Prediction) -> Html:
    along = [each for each in found.points if math.isfinite(each.position)]
    measured = [each for each in found.points if not math.isfinite(each.position)]
    x = np.array([each.position for each in along])
    if case.has_labels:
        series = [
            Line("balanced accuracy", x, np.array([each.balanced_accuracy for each in along])),
            Line("accuracy", x, np.array([each.accuracy for each in along]), "second"),
        ]
        reference = ("guessing among the labels", found.chance)
        score, title = "balanced_accuracy", "Predicted accuracy over the range"
    else:
        errors = np.array([_told(each.error, found) for each in along])
        series = [Line("squared error", x, errors)]
        reference = ("the mean of training", found.constant_error)
        score, title = "error", "Predicted error over the range"
    point = ("measured", float(getattr(measured[0], score))) if measured else None
    key = [(f"key {each.style}", each.name) for each in series] + [("key level", reference[0])]
    if point:
        key.append(("key point", "measured features"))
    told = ", ".join(f"{number(a, 3)}: {number(b, 3)}" for a, b in zip(x, series[0].y, strict=True))
    text = (
        f"By {_axis(case, found)}, {series[0].name} is {told}; {reference[0]} gets "
        f"{number(reference[1], 3)}" + (f"; measured {number(point[1], 3)}" if point else "")
    )
    whole = bool(np.all(x == np.round(x))) and len(x) > 1
    return tag(
        "figure",
        lines(
            series,
            reference=reference,
            point=point,
            labels=(_axis(case, found), "accuracy" if case.has_labels else "mean squared error"),
            title=title,
            text=text,
            whole=whole,
            share=case.has_labels,
        ),
        tag("ul", [tag("li", tag("i", class_=kind), name) for kind, name in key], class_="keys"),
        tag(
            "figcaption",
            f"{title}: {_axis(case, found)}. Each held-out combination counts by its rows' "
            "weights.",
        ),
    )


def _fit(case: Case, at: Point) -> Html:
    truth = case.task.targets[case.held_out]
    h = len(truth)
    if case.has_labels:
        ahead, own = margins(case, at)
        labels = case.table.labels or ()
        kinds = [i for i in range(len(labels)) if np.any(own == i)]
        rows = [(shown(labels[i], 14), ahead[own == i]) for i in kinds[:STRIPS]]
        counted = [
            f"{name}: {share(float(np.mean(values > 0)))} right of 0" for name, values in rows
        ]
        caption = (
            f"Margins of the held-out combinations at {_where(case, at)}, by true label: how far "
            "the right label's output is ahead. Right of 0 is a right answer"
        )
        ties = int(np.sum(ahead[own >= 0] == 0.0))
        caption += f", at 0, in grey, is {count(ties, 'tie')}." if ties else "."
        if len(kinds) > STRIPS:
            caption += f" The first {STRIPS} of {len(kinds)} labels are shown."
        if np.any(own < 0):
            caption += " Combinations with evenly divided labels are left out."
        if not rows:
            return tag("figure", tag("figcaption", caption))
        picture = strips(
            rows, label="margin", title="Predicted margins by true label", text="; ".join(counted)
        )
    else:
        y, f = truth.reshape(h, -1).ravel(), at.outputs.reshape(h, -1).ravel()
        caption = (
            f"Predicted against true values of the held-out combinations at {_where(case, at)}; "
            "on the dashed line both are equal."
        )
        if len(y) > DOTS:
            keep = np.sort(np.random.default_rng(0).choice(len(y), DOTS, replace=False))
            caption += f" {DOTS:,} of {len(y):,} are drawn, chosen at random."
            y, f = y[keep], f[keep]
        picture = scatter(
            y,
            f,
            labels=("true", "predicted"),
            title="Predicted against true values",
            text=f"{count(len(y), 'value')}, true from {number(float(y.min()), 3)} to "
            f"{number(float(y.max()), 3)}, predicted from {number(float(f.min()), 3)} to "
            f"{number(float(f.max()), 3)}, slope {number(at.leak_slope, 3)}",
        )
    return tag("figure", picture, tag("figcaption", caption))


def _table(case: Case, found: Prediction) -> Html:
    orders = len(found.points[0].salience)
    labels = case.has_labels
    lines_ = [
        [
            shown(each.label),
            *[number(s, 3) for s in each.salience],
            number(each.memory, 3),
            number(_told(each.error, found), 3),
            *([share(each.accuracy), share(each.balanced_accuracy)] if labels else []),
            number(each.leak_slope, 3),
        ]
        for each in found.points
    ]
    names = ["single values", "pairs"]
    headings = [
        "Representation",
        *[f"Share of {names[k] if k < 2 else f'sets of {k + 1}'}" for k in range(orders)],
        "Share stored by combination",
        "Squared error",
        *(["Accuracy", "Balanced accuracy"] if labels else []),
        "Leak slope",
    ]
    return tag(
        "details",
        tag("summary", "The range as a table"),
        table(
            headings,
            lines_,
            caption="Predictions at each representation; shares are of one conjunction each",
            numbers=range(1, len(headings)),
        ),
    )


def _leak(case: Case, at: Point) -> str:
    if math.isnan(at.leak_slope):
        return "The held-out targets do not vary, so there is no leak slope."
    return (
        f"Leak slope at {_where(case, at)}: {number(at.leak_slope, 3)}. When held-out targets "
        f"differ by 1, predictions differ by {number(at.leak_slope, 3)} on average; 1 would be "
        "without leak, 0 means that nothing carries over."
    )


def _worst(case: Case, found: Prediction, at: Point) -> Html | None:
    if not found.worst:
        return None
    task, labels = case.task, case.has_labels
    worst = [
        each
        for each in found.worst
        if (each.accuracy < 1.0 if labels else _told(each.error, found) > 0.0)
    ]
    if not worst:
        return tag("p", "No value is predicted wrong.")
    lines_ = [
        [
            conjunction(task.names, task.values, [each.component], [each.value]),
            share(each.accuracy) if labels else number(_told(each.error, found), 3),
            f"{each.n_test:,}",
            f"{each.n_train:,}",
        ]
        for each in worst
    ]
    return table(
        [
            "Value",
            "Accuracy" if labels else "Squared error",
            "Held-out combinations",
            "Training combinations",
        ],
        lines_,
        caption=f"Values at which predictions are worst, at {_where(case, at)}",
        numbers=(1, 2, 3),
    )
