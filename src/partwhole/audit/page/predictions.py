"""Predictions for held-out combinations over the range of representations."""

from __future__ import annotations

import math

import numpy as np

from partwhole._types import Real
from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence
from partwhole.audit.page.charts import Line, lines, scatter, strips
from partwhole.audit.page.held_out_table import held_out_table, margins
from partwhole.audit.page.sections import remarks
from partwhole.audit.page.words import conjunction, number, share
from partwhole.audit.predicted import Point, Prediction
from partwhole.audit.predictions_in_words import measured, representation_name
from partwhole.audit.wording import OPEN, count, printable
from partwhole.page import Html, join, table, tag

DOTS, STRIPS = 2000, 10


def predictions(evidence: Evidence, prediction: Prediction) -> Html:
    """Return charts and tables of the predictions: scores over the range, predicted against true.

    Parameters
    ----------
    evidence : Evidence
    prediction : Prediction
        The prediction of this evidence.

    Returns
    -------
    Html
    """
    case, determination = evidence.case, evidence.determination
    at = prediction.points[prediction.reference]
    return join(
        tag("p", _summary(case, prediction), class_="answer"),
        tag("p", OPEN) if determination is not None and determination.share < 1.0 else None,
        tag("div", _range(case, prediction), _fit(case, at), class_="pair"),
        tag("p", tag("strong", "Measured features: "), description)
        if (description := measured(prediction))
        else None,
        _table(case, prediction),
        tag("p", _leak(case, at)),
        _worst(case, prediction, at),
        held_out_table(evidence, at),
        remarks(prediction.remarks),
    )


def _summary(case: Case, prediction: Prediction) -> str:
    at = prediction.points[prediction.reference]
    if case.has_labels:
        scores = np.array([point.accuracy for point in prediction.points])
        limit = (
            f" At most {share(prediction.ceiling)} is possible: the other rows have labels that "
            "training lacks, or differ from those of the same combination."
            if prediction.ceiling < 1.0
            else ""
        )
        ties = (
            f" {count(prediction.ties, 'combination')} with a tie for the highest output "
            f"{'counts' if prediction.ties == 1 else 'count'} in part."
            if prediction.ties
            else ""
        )
        return (
            f"Predicted accuracy, by rows: {_span(scores, True)} over the range, "
            f"{share(at.accuracy)} at {_representation(case, at)}. Always answering the commonest "
            f"label is right in {share(prediction.commonest)}.{limit} The mean over labels is "
            f"{share(at.balanced_accuracy)} (balanced accuracy; guessing has "
            f"{share(prediction.chance)}).{ties}{_one_label(case)}"
        )
    errors = np.array([_error(point.error, prediction) for point in prediction.points])
    return (
        f"Predicted mean squared error: {_span(errors, False)} over the range, "
        f"{number(_error(at.error, prediction), 3)} at {_representation(case, at)}. The mean of "
        f"training, as a constant prediction, has {number(prediction.constant_error, 3)}."
    )


def _error(error: Real, prediction: Prediction) -> float:
    """Return the error, or 0 if it is rounding relative to the constant prediction's error."""
    return 0.0 if error < 1e-12 * prediction.constant_error else error


def _span(values: np.ndarray, of_labels: bool) -> str:
    write = share if of_labels else lambda value: number(value, 3)
    low, high = write(float(np.nanmin(values))), write(float(np.nanmax(values)))
    return low if low == high else f"{low} to {high}"


def _one_label(case: Case) -> str:
    label = case.label[case.held_out] if case.label is not None else np.zeros(0)
    if len(np.unique(label[label >= 0])) != 1:
        return ""
    return " The test split has only one label, so accuracy alone is not informative."


def _representation(case: Case, at: Point) -> str:
    return representation_name(at)


def _axis(case: Case, prediction: Prediction) -> str:
    """Return the variable of the range, and the order up to which learners generalise."""
    if prediction.axis.startswith("salience"):
        return "salience S, the share of each component in how similar two inputs are"
    if case.order >= case.task.n_components - 1:
        return prediction.axis
    return f"{prediction.axis}, generalising up to order {case.order}"


def _range(case: Case, prediction: Prediction) -> Html:
    along = [item for item in prediction.points if math.isfinite(item.position)]
    measured = [item for item in prediction.points if not math.isfinite(item.position)]
    x = np.array([item.position for item in along])
    if case.has_labels:
        series = [
            Line("accuracy by rows", x, np.array([item.accuracy for item in along])),
            Line("balanced", x, np.array([item.balanced_accuracy for item in along]), "second"),
        ]
        reference = ("always the commonest label", prediction.commonest)
        score, title = "accuracy", "Predicted accuracy over the range"
    else:
        errors = np.array([_error(item.error, prediction) for item in along])
        series = [Line("squared error", x, errors)]
        reference = ("the mean of training", prediction.constant_error)
        score, title = "error", "Predicted error over the range"
    point = ("measured", float(getattr(measured[0], score))) if measured else None
    key = [(f"key {item.style}", item.name) for item in series] + [("key level", reference[0])]
    if point:
        key.append(("key point", "measured features"))
    listed = ", ".join(
        f"{number(a, 3)}: {number(b, 3)}" for a, b in zip(x, series[0].y, strict=True)
    )
    text = (
        f"By {_axis(case, prediction)}, {series[0].name} is {listed}; {reference[0]} gets "
        f"{number(reference[1], 3)}" + (f"; measured {number(point[1], 3)}" if point else "")
    )
    whole = bool(np.all(x == np.round(x))) and len(x) > 1
    return tag(
        "figure",
        lines(
            series,
            reference=reference,
            point=point,
            # The whole name would be cut off; the caption has it.
            labels=(
                "salience S" if prediction.axis.startswith("salience") else prediction.axis,
                "accuracy" if case.has_labels else "mean squared error",
            ),
            title=title,
            text=text,
            whole=whole,
            share=case.has_labels,
        ),
        tag("ul", [tag("li", tag("i", class_=kind), name) for kind, name in key], class_="keys"),
        tag(
            "figcaption",
            f"{title}: {_axis(case, prediction)}. Each held-out combination counts by its rows' "
            "weights.",
        ),
    )


def _fit(case: Case, at: Point) -> Html:
    truth = case.task.targets[case.held_out]
    h = len(truth)
    if case.has_labels:
        ahead, label = margins(case, at)
        labels = case.table.labels or ()
        kinds = [i for i in range(len(labels)) if np.any(label == i)]
        rows = [(printable(labels[i], 14), ahead[label == i]) for i in kinds[:STRIPS]]
        counted = [
            f"{name}: {share(float(np.mean(values > 0)))} right of 0" for name, values in rows
        ]
        caption = (
            f"Margins of the held-out combinations at {_representation(case, at)}, by true label: "
            "the output for the correct label minus the largest other output. Answers right of 0 "
            "are correct"
        )
        ties = int(np.sum(ahead[label >= 0] == 0.0))
        caption += f"; the grey bar at 0 is {count(ties, 'tie')}." if ties else "."
        if len(kinds) > STRIPS:
            caption += f" The chart has the first {STRIPS} of {len(kinds)} labels."
        if np.any(label < 0):
            caption += " Combinations whose rows are evenly divided between labels are left out."
        if not rows:
            return tag("figure", tag("figcaption", caption))
        picture = strips(
            rows, label="margin", title="Predicted margins by true label", text="; ".join(counted)
        )
    else:
        y, f = truth.reshape(h, -1).ravel(), at.outputs.reshape(h, -1).ravel()
        caption = (
            f"Predicted against true values of the held-out combinations at "
            f"{_representation(case, at)}; on the dashed line both are equal."
        )
        if len(y) > DOTS:
            keep = np.sort(np.random.default_rng(0).choice(len(y), DOTS, replace=False))
            caption += f" A random sample of {DOTS:,} of {len(y):,} is drawn."
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


def _table(case: Case, prediction: Prediction) -> Html:
    orders = len(prediction.points[0].salience)
    labels = case.has_labels
    lines_ = [
        [
            printable(point.label),
            *[number(s, 3) for s in point.salience],
            number(point.memory, 3),
            number(_error(point.error, prediction), 3),
            *([share(point.accuracy), share(point.balanced_accuracy)] if labels else []),
            number(point.leak_slope, 3),
        ]
        for point in prediction.points
    ]
    names = ["single values", "pairs"]
    headings = [
        "Representation",
        *[f"Share of {names[k] if k < 2 else f'sets of {k + 1}'}" for k in range(orders)],
        "Share of the full combination",
        "Squared error",
        *(["Accuracy", "Balanced accuracy"] if labels else []),
        "Slope of predictions",
    ]
    return tag(
        "details",
        tag("summary", "The range as a table"),
        table(
            headings,
            lines_,
            caption="Predictions at each representation; shares of one value, pair or set each in "
            "how similar two inputs are",
            numbers=range(1, len(headings)),
        ),
    )


def _leak(case: Case, at: Point) -> str:
    if math.isnan(at.leak_slope):
        return "The held-out targets do not vary, so the slope of predictions is undefined."
    return (
        f"At {_representation(case, at)}, where held-out targets differ by 1, predictions differ "
        f"by {number(at.leak_slope, 3)} on average, their slope: 1 means that all that is learned "
        "carries over from training, and 0 that nothing does, since it is memorised."
    )


def _worst(case: Case, prediction: Prediction, at: Point) -> Html:
    task, labels = case.task, case.has_labels
    worst = [
        item
        for item in prediction.worst
        if (item.accuracy < 1.0 if labels else _error(item.error, prediction) > 0.0)
    ]
    if not worst:
        most = labels and prediction.ceiling < 1.0
        return tag("p", f"No value is predicted {'worse than is possible' if most else 'wrong'}.")
    lines_ = [
        [
            conjunction(task.names, task.values, [item.component], [item.value]),
            share(item.accuracy) if labels else number(_error(item.error, prediction), 3),
            f"{item.n_test:,}",
            f"{item.n_train:,}",
        ]
        for item in worst
    ]
    return table(
        [
            "Value",
            "Accuracy" if labels else "Squared error",
            "Held-out combinations",
            "Training combinations",
        ],
        lines_,
        caption=f"Values at which predictions are worst, at {_representation(case, at)}",
        numbers=(1, 2, 3),
    )
