"""The report as plain text: what the terminal shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from partwhole.audit.evidence import Additions, Evidence, Prediction
from partwhole.audit.rules import RULES, Finding
from partwhole.audit.settings import EXAMPLE, Settings
from partwhole.audit.wording import (
    OPEN,
    conjunction,
    count,
    learners,
    measured,
    number,
    one_line,
    percent,
    shown,
    tuple_of,
    where,
)

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport

WIDTH = 100
MOST_OF_A_RULE = 20
MOST_WORST = 3
WHO = (
    "It is meant for learners with a fixed representation: kernel machines, linear readouts, "
    "networks in the lazy regime. A network that learns its features may do better: train it, and "
    "check its predictions with partwhole.measures.additivity."
)


def to_text(report: AuditReport) -> str:
    """Tell an audit in plain text of at most 100 columns.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
    """
    return "\n".join(_lines(report)) + "\n"


def rule_table(settings: Settings | None = None) -> str:
    """Write the rules with their meaning, trigger and thresholds, and an example of settings.

    Parameters
    ----------
    settings : Settings, optional
        The thresholds to show; the defaults if not given.

    Returns
    -------
    str
    """
    settings = settings or Settings()
    lines = []
    for rule in RULES.values():
        lines += [f"{rule.id}  ({rule.severity})"]
        lines += _wrapped(rule.meaning, "    ")
        lines += _wrapped(f"When:  {rule.trigger}", "    ")
        if rule.threshold:
            lines += _wrapped(f"Threshold:  {rule.in_force(settings)}", "    ")
        lines += _wrapped(f"Do:  {rule.remedy}", "    ")
        if rule.id in settings.silence:
            lines += _wrapped(f"Silenced:  {one_line(settings.silence[rule.id])}", "    ")
        lines.append("")
    lines += ["A configuration (--config) sets thresholds, and silences rules with a reason:", ""]
    lines += [f"    {line}" for line in EXAMPLE.splitlines()]
    return "\n".join(lines) + "\n"


def _lines(report: AuditReport) -> Iterator[str]:
    table = report.table
    yield report.headline
    names = ", ".join(
        f"{shown(name)} ({n:,})" for name, n in zip(table.names, table.n_values, strict=True)
    )
    target = ", ".join(map(shown, table.target))
    if table.labels is not None:
        few = ", ".join(shown(label, 20) for label in table.labels[:6])
        more = f" and {len(table.labels) - 6:,} more" if len(table.labels) > 6 else ""
        target += f" (labels {few}{more})"
    yield from _wrapped(
        f"{shown(table.source)}: {count(len(table.split), 'row')}; components with their number "
        f"of values: {names}; target {target}."
    )
    yield from _wrapped(
        f"Order {report.order}: outputs are sums of conjunctions of at most "
        f"{count(report.order, 'component')}. {WHO}"
    )
    if report.order < table.n_components - 1:
        yield from _wrapped(
            f"Learners that use conjunctions of more than {count(report.order, 'component')}, as "
            f"deep networks and most kernels on {table.n_components} components do, are asked "
            f"about with order {table.n_components - 1}."
        )
    yield from _findings(report.findings)
    for one in report.evidence:
        yield ""
        yield from _split(one)
    if table.remarks:
        yield ""
        yield "Remarks"
        for remark in table.remarks:
            yield from _item(remark)
    yield ""
    yield f"Took {report.seconds:.1f} s."


def _findings(findings: tuple[Finding, ...]) -> Iterator[str]:
    told: Counter[str] = Counter()
    for one in findings:
        told[one.rule] += 1
        if told[one.rule] > MOST_OF_A_RULE:
            continue
        sign = "silenced" if one.silenced is not None else one.severity
        yield ""
        yield f"{sign.upper()}  {one.rule}  ({shown(one.split)}; {count(len(one.rows), 'row')})"
        yield from _wrapped(one.message, "    ")
        if one.silenced is not None:
            yield from _wrapped(f"Silenced: {one_line(one.silenced)}", "    ")
    for rule, many in told.items():
        if many > MOST_OF_A_RULE:
            yield ""
            rest = count(many - MOST_OF_A_RULE, "more finding")
            yield from _wrapped(
                f"{rest} of {rule} not shown here; the JSON and the page have them."
            )


def _split(evidence: Evidence) -> Iterator[str]:
    case = evidence.case
    many, train = len(case.held_out), case.task.n_train
    heading = f"Test split {shown(case.name)}"
    yield heading
    yield "-" * len(heading)
    if not many:
        yield "Nothing is held out: training has every combination of it."
        return
    yield from _wrapped(
        f"{count(many, 'held-out combination')}; training has {train:,}. The values seen in "
        f"training form {count(evidence.coverage.n_graph_components, 'connected group')}."
    )
    yield f"    {'order':>5}  {'seen in training':>16}  {'held out':>10}  {'of them unseen':>14}"
    for row in evidence.coverage.orders:
        yield f"    {row.order:>5}  {row.seen:>16,}  {row.in_test:>10,}  {row.unseen:>14,}"
    found = evidence.determination
    if found is not None:
        yield from _wrapped(
            f"Determined: {percent(found.share)} ({int(found.determined.sum()):,} of "
            f"{len(found.determined):,}"
            + (f"; {int(found.undecided.sum()):,} not decided)." if found.undecided.any() else ").")
        )
        yield from _remarks(found.remarks)
    if evidence.solvability is not None:
        if evidence.solvability.solvable is False:
            has = "has the proof" if evidence.solvability.certificate else "says how far"
            yield f"Not solvable; the finding not-solvable {has}."
        else:
            yield from _wrapped(one_line(evidence.solvability.explain(case.table.labels)))
        yield from _remarks(evidence.solvability.remarks)
    if evidence.prediction is not None:
        yield from _prediction(evidence, evidence.prediction)
    if evidence.additions is not None:
        yield from _additions(evidence, evidence.additions)


def _prediction(evidence: Evidence, found: Prediction) -> Iterator[str]:
    labels = evidence.case.has_labels
    inside = [point for point in found.points if not np.isnan(point.position)]
    here = found.points[found.reference]
    tiny = 1e-12 * found.constant_error
    what = "balanced accuracy" if labels else "squared error"

    def score(of: float) -> str:
        # Rounding of what is exact is not worth its digits.
        return percent(of) if labels else number(of if of > tiny else 0.0)

    scores = [point.balanced_accuracy if labels else point.error for point in inside]
    line = f"Predicted {what}"
    n_components = evidence.case.table.n_components
    if scores:
        low, high = score(float(np.min(scores))), score(float(np.max(scores)))
        last = f" to {inside[-1].label}" if len(inside) > 1 else ""
        line += f" over {inside[0].label}{last} of "
        line += f"{learners(evidence.case, n_components)}: "
        line += f"{low} to {high}" if low != high else f"{low} throughout"
    base = found.chance if labels else found.constant_error
    line += (
        f" ({'guessing among the labels' if labels else 'the mean of training'} has {score(base)})."
    )
    slope = 0.0 if abs(here.leak_slope) < 1e-9 else here.leak_slope
    own = here.balanced_accuracy if labels else here.error
    line += f" At {where(here, n_components)}: {score(own)}"
    # Of targets that do not vary there is no slope.
    line += "." if np.isnan(slope) else f", leak slope {number(slope)}."
    yield from _wrapped(line)
    yield from _cautions(evidence, found)
    worst = [
        f"{conjunction(evidence.case, [one.component], [one.value])} "
        f"({score(one.accuracy if labels else one.error)})"
        for one in found.worst[:MOST_WORST]
        if (one.accuracy < 1.0 if labels else one.error > tiny)
    ]
    if worst:
        kind = "accuracy" if labels else "error"
        yield from _wrapped(f"Worst values there, with their {kind}: {', '.join(worst)}.")
    yield from _remarks(found.remarks)


def _cautions(evidence: Evidence, found: Prediction) -> Iterator[str]:
    """Say what the figures take for granted."""
    if evidence.determination is not None and evidence.determination.share < 1.0:
        yield from _wrapped(OPEN)
    if told := measured(found):
        yield from _wrapped(f"Measured features: {told}")


def _additions(evidence: Evidence, found: Additions) -> Iterator[str]:
    if found.steps:
        yield (
            f"To add to training first ({found.candidates:,} of {found.of:,} unseen combinations "
            "tried):"
        )
        before = found.determined
        for step in found.steps:
            gains = []
            if step.determined != before:
                gains.append(f"determined {percent(before)} -> {percent(step.determined)}")
            if not np.isnan(step.eigenvalue):
                gains.append(f"least eigenvalue {number(step.eigenvalue)}")
            changes = ", ".join(gains) or "no change in what is determined"
            what = tuple_of(evidence.case, step.values)
            if step.held_out:
                what += ", now held out: move it into training"
            yield from _item(f"{what}{'; ' if step.held_out else ': '}{changes}")
            before = step.determined
    yield from _remarks(found.remarks)


def _remarks(remarks: tuple[str, ...]) -> Iterator[str]:
    for remark in remarks:
        yield from _item(f"{remark[:1].upper()}{remark[1:]}")


def _item(text: str) -> list[str]:
    return _wrapped(text, "    ", "  - ")


def _wrapped(text: str, indent: str = "", first: str | None = None) -> list[str]:
    return wrap(
        one_line(text),
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
    )
