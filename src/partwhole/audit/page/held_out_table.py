"""The table of held-out combinations with their targets and predictions."""

from __future__ import annotations

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence
from partwhole.audit.page.marks import targets
from partwhole.audit.page.words import combination, exact, number
from partwhole.audit.predicted import Point
from partwhole.audit.predictions_in_words import representation_name
from partwhole.audit.wording import listed, printable
from partwhole.page import Html, join, table, tag

MOST, SIGNS, TIE = 200, 30_000, 1e-9


def margins(case: Case, at: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return the margin of the correct label's output, and the label, of each combination."""
    assert case.label is not None
    label = case.label[case.held_out]
    if at.outputs.ndim == 1:
        ahead = np.where(label == 1, 1.0, -1.0) * at.outputs
    else:
        right = np.maximum(label, 0)[:, None]
        other_outputs = at.outputs.copy()
        np.put_along_axis(other_outputs, right, -np.inf, axis=1)
        ahead = np.take_along_axis(at.outputs, right, axis=1)[:, 0] - other_outputs.max(axis=1)
    # The same ties as in the accuracy.
    return np.where(np.abs(ahead) <= TIE, 0.0, ahead), label


def held_out_table(evidence: Evidence, at: Point) -> Html:
    """Return the table of held-out combinations with target and prediction, worst first.

    Parameters
    ----------
    evidence : Evidence
    at : Point
        The representation of the predictions.

    Returns
    -------
    Html
    """
    case, task = evidence.case, evidence.case.task
    rows = case.held_out
    h = len(rows)
    y, f = task.targets[rows].reshape(h, -1), at.outputs.reshape(h, -1)
    error = np.mean((y - f) ** 2, axis=1)
    is_wrong = np.zeros(h, dtype=bool)
    if case.has_labels:
        ahead, label = margins(case, at)
        is_wrong = (ahead <= 0.0) & (label >= 0)
    arranged = np.lexsort((-error, ~is_wrong))
    limit = max(20, min(MOST, SIGNS // (40 * task.n_components)))
    lines = [
        [
            combination(task, task.components[rows[i]], 12),
            *_cells(case, at, i, f[i], bool(is_wrong[i])),
            number(float(case.weights[rows[i]])),
            _determined(evidence, i),
        ]
        for i in arranged[:limit].tolist()
    ]
    caption = f"Predictions at {representation_name(at)}, " + (
        "wrong ones first, then" if case.has_labels else "arranged"
    )
    caption += f" by squared error{_outputs(case)}"
    if h > limit:
        caption += f" (the first {limit} of {h:,})"
    return tag(
        "details",
        tag("summary", "All held-out combinations with their predictions"),
        table(
            [
                "Combination",
                "Target",
                "Prediction",
                *(["Output"] if case.has_labels else []),
                "Weight (rows)",
                "Determined",
            ],
            lines,
            caption=caption,
            numbers=(3, 4) if case.has_labels else (1, 2, 3),
        ),
        tag(
            "p",
            "In Python, ",
            tag("code", "to_frame()"),
            " of the evidence returns all of them; of the command, ",
            tag("code", "--output"),
            " writes a table of all test rows with their predictions.",
            class_="quiet",
        ),
    )


def _outputs(case: Case) -> str:
    """Return the meaning of the outputs for labels."""
    labels = case.table.labels
    if labels is None:
        return ""
    if case.task.targets.ndim == 1:
        return f"; outputs above 0 are for {printable(labels[1], 24)}"
    return f"; outputs are those for {listed([printable(label, 24) for label in labels], 6)}"


def _cells(case: Case, at: Point, i: int, f: np.ndarray, is_wrong: bool) -> list[object]:
    """Return the cells of target and prediction, and for labels that of the outputs."""
    row = case.held_out[i : i + 1]
    y = case.task.targets[row].reshape(-1)
    labels = case.table.labels
    if labels is None:
        return [", ".join(map(exact, y.tolist())), ", ".join(number(v) for v in f.tolist())]
    scores = f if len(f) > 1 else np.array([-f[0], f[0]])
    best = np.flatnonzero(scores >= scores.max() - TIE)
    name = printable(labels[best[0]], 24) if len(best) == 1 else "a tie"
    outputs = ", ".join(number(v, 3) for v in f[:6].tolist()) + (", …" if len(f) > 6 else "")
    return [
        targets(case, row, y[:1])[0] if len(y) == 1 else _label(case, int(row[0])),
        join(name, tag("small", "wrong")) if is_wrong and len(best) == 1 else name,
        outputs,
    ]


def _label(case: Case, row: int) -> str:
    assert case.label is not None
    assert case.table.labels is not None
    i = case.label[row]
    return printable(case.table.labels[i], 24) if i >= 0 else "evenly divided"


def _determined(evidence: Evidence, i: int) -> str:
    if evidence.determination is None:
        return "–"
    if evidence.determination.undecided[i]:
        return "not decided"
    return "yes" if evidence.determination.determined[i] else "no"
