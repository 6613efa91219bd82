"""Every held-out combination, and what is predicted of it."""

from __future__ import annotations

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence, Point
from partwhole.audit.outputs.machine import MOST_ITEMS
from partwhole.audit.page.marks import targets
from partwhole.audit.page.words import combination, exact, listed, number
from partwhole.audit.wording import shown, where
from partwhole.page import Html, join, table, tag

MOST, SIGNS, TIE = 200, 30_000, 1e-9


def margins(case: Case, at: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the right label's output is ahead, and each combination's label."""
    assert case.label is not None
    own = case.label[case.held_out]
    if at.outputs.ndim == 1:
        ahead = np.where(own == 1, 1.0, -1.0) * at.outputs
    else:
        right = np.maximum(own, 0)[:, None]
        others = at.outputs.copy()
        np.put_along_axis(others, right, -np.inf, axis=1)
        ahead = np.take_along_axis(at.outputs, right, axis=1)[:, 0] - others.max(axis=1)
    # What accuracy takes for a tie is one here, too.
    return np.where(np.abs(ahead) <= TIE, 0.0, ahead), own


def every(evidence: Evidence, at: Point) -> Html:
    """List held-out combinations with target and prediction, the worst first.

    Parameters
    ----------
    evidence : Evidence
    at : Point
        The representation that predictions are those of.

    Returns
    -------
    Html
    """
    case, task = evidence.case, evidence.case.task
    rows = case.held_out
    h = len(rows)
    y, f = task.targets[rows].reshape(h, -1), at.outputs.reshape(h, -1)
    error = np.mean((y - f) ** 2, axis=1)
    wrong = np.zeros(h, dtype=bool)
    if case.has_labels:
        ahead, own = margins(case, at)
        wrong = (ahead <= 0.0) & (own >= 0)
    arranged = np.lexsort((-error, ~wrong))
    most = max(20, min(MOST, SIGNS // (40 * task.n_components)))
    lines = [
        [
            combination(task.values, task.components[rows[i]], 12),
            *_told(case, at, i, f[i], bool(wrong[i])),
            number(float(case.weights[rows[i]])),
            _settled(evidence, i),
        ]
        for i in arranged[:most].tolist()
    ]
    n = case.task.n_components
    caption = f"Predictions at {where(at, n)}, " + (
        "wrong ones first, then" if case.has_labels else "arranged"
    )
    caption += f" by squared error{_outputs(case)}"
    if h > most:
        caption += f" (the first {most} of {h:,})"
    whole = "all" if h <= MOST_ITEMS else f"the first {MOST_ITEMS:,} in the table's order"
    return tag(
        "details",
        tag("summary", "Every held-out combination, and what is predicted"),
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
            f" of the evidence has all of them; the JSON output has {whole}.",
            class_="quiet",
        ),
    )


def _outputs(case: Case) -> str:
    """Say what the outputs of labels are."""
    labels = case.table.labels
    if labels is None:
        return ""
    if case.task.targets.ndim == 1:
        return f"; outputs above 0 are for {shown(labels[1], 24)}"
    return f"; outputs are those for {listed([shown(each, 24) for each in labels], 6)}"


def _told(case: Case, at: Point, i: int, f: np.ndarray, wrong: bool) -> list[object]:
    """Return the cells of target and prediction, for labels also that of the outputs."""
    row = case.held_out[i : i + 1]
    y = case.task.targets[row].reshape(-1)
    labels = case.table.labels
    if labels is None:
        return [", ".join(map(exact, y.tolist())), ", ".join(number(v) for v in f.tolist())]
    both = f if len(f) > 1 else np.array([-f[0], f[0]])
    best = np.flatnonzero(both >= both.max() - TIE)
    name = shown(labels[best[0]], 24) if len(best) == 1 else "a tie"
    outputs = ", ".join(number(v, 3) for v in f[:6].tolist()) + (", …" if len(f) > 6 else "")
    return [
        targets(case, row, y[:1])[0] if len(y) == 1 else _label(case, int(row[0])),
        join(name, tag("small", "wrong")) if wrong and len(best) == 1 else name,
        outputs,
    ]


def _label(case: Case, row: int) -> str:
    assert case.label is not None
    assert case.table.labels is not None
    i = case.label[row]
    return shown(case.table.labels[i], 24) if i >= 0 else "evenly divided"


def _settled(evidence: Evidence, i: int) -> str:
    if evidence.determination is None:
        return "–"
    if evidence.determination.undecided[i]:
        return "not decided"
    return "yes" if evidence.determination.determined[i] else "no"
