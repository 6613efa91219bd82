"""The report as plain text, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from partwhole.audit.case import AuditTable
from partwhole.audit.evidence import Additions, Evidence
from partwhole.audit.outputs.lines import one_line, wrapped
from partwhole.audit.predicted import Prediction, SalienceSweep
from partwhole.audit.predictions_in_words import (
    NO_SWEEP,
    learners,
    measured,
    representation_name,
    strictest,
    too_salient,
)
from partwhole.audit.remainder import without_unseen
from partwhole.audit.rules import Finding
from partwhole.audit.wording import (
    COLLECT,
    MOVE,
    OPEN,
    ORDERS,
    conjunction,
    count,
    determined_changes,
    determined_share,
    explained,
    further_orders,
    number,
    percent,
    printable,
    share_of,
    terms_of,
    tuple_of,
)

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport
    from partwhole.limits.proofs.solvability import Solvability

MOST_OF_A_RULE = 20
MOST_WORST = 3
WHO = (
    "The verdict is for learners whose features training does not change: a linear layer or a "
    "kernel on fixed features, or a very wide network. A network that learns its features may do "
    "better or worse: train it, and check its predictions with partwhole.measures.additivity."
)
LEGEND = (
    "(In training, in test: how many values (order 1), pairs of values (order 2) or larger sets "
    "training and the held-out combinations have; lacking: how many of the latter training lacks. "
    "Determined: held-out combinations to which all learners of the order that fit training give "
    "the same answer. Solvable: whether one of them can answer all. Fit: the share of training "
    "that they explain; it is not needed where training determines nothing. -: not computed.)"
)
# Conjunctions that are named below the ladder.
MOST_LACKING = 12


def to_text(report: AuditReport) -> str:
    """Return an audit as plain text of at most 100 columns.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
    """
    return "\n".join(_lines(report)) + "\n"


def _lines(report: AuditReport) -> Iterator[str]:
    table = report.table
    yield from wrapped(f"{report.headline}.")
    errors, warnings = (
        count(len(of), noun) if of else f"no {noun}s"
        for of, noun in ((report.errors, "error"), (report.warnings, "warning"))
    )
    yield f"{errors[:1].upper()}{errors[1:]}, {warnings}."
    names = ", ".join(
        f"{printable(name)} ({n:,})" for name, n in zip(table.names, table.n_values, strict=True)
    )
    target = "; ".join(dict.fromkeys(_target(of) for of in report.tables))
    yield from wrapped(
        f"{printable(table.source)}: {count(len(table.split), 'row')}; components with their "
        f"number of values: {names}; target {target}."
    )
    yield from wrapped(
        f"{ORDERS} A learner of order {report.order} adds up one number for each "
        f"{terms_of(report.order)}. {WHO}"
    )
    if report.order < table.n_components - 1:
        yield from wrapped(
            "In deep networks more values may interact: the table below has the verdict at higher "
            f"orders, and --require-order {report.order + 1} makes the next one count."
        )
    yield from _findings(report.findings)
    for evidence in report.evidence:
        yield ""
        yield from _split(evidence)
    if table.remarks:
        yield ""
        yield "Remarks"
        for remark in table.remarks:
            yield from _item(remark)
    yield ""
    yield f"Took {report.seconds:.1f} s."


def _target(table: AuditTable) -> str:
    """Return the target's columns, and its labels."""
    target = ", ".join(map(printable, table.target)) or "none"
    if table.labels is None:
        return target
    first_labels = ", ".join(printable(label, 20) for label in table.labels[:6])
    remaining = f" and {len(table.labels) - 6:,} more" if len(table.labels) > 6 else ""
    return f"{target} (labels {first_labels}{remaining})"


def _findings(findings: tuple[Finding, ...]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.rule] += 1
        if counts[finding.rule] > MOST_OF_A_RULE:
            continue
        sign = "silenced" if finding.silenced is not None else finding.severity
        yield ""
        # A finding of a whole split has no rows of its own.
        rows = f"; {count(len(finding.rows), 'row')}" if len(finding.rows) else ""
        yield f"{sign.upper()}  {finding.rule}  ({printable(finding.split)}{rows})"
        yield from wrapped(finding.message, "    ")
        if finding.silenced is not None:
            yield from wrapped(f"Silenced: {one_line(finding.silenced)}", "    ")
    for rule, n_findings in counts.items():
        if n_findings > MOST_OF_A_RULE:
            yield ""
            remaining = count(n_findings - MOST_OF_A_RULE, "more finding")
            yield from wrapped(
                f"{remaining} of {rule} not listed here; see the JSON or the HTML page."
            )


def _split(evidence: Evidence) -> Iterator[str]:
    case = evidence.case
    n_held_out, train = len(case.held_out), case.task.n_train
    heading = f"Test split {printable(case.name)}"
    yield heading
    yield "-" * len(heading)
    if not n_held_out:
        yield "Nothing is held out: training contains every combination of this split."
        return
    line = f"{count(n_held_out, 'held-out combination')}; training has {train:,}."
    n_groups = evidence.coverage.n_graph_components
    if n_groups > 1:
        line += (
            f" Values that training links by its combinations form {n_groups:,} separate groups."
        )
    yield from wrapped(line)
    yield from _ladder(evidence)
    determination = evidence.determination
    if determination is not None:
        n, h = int(determination.determined.sum()), len(determination.determined)
        undecided = int(determination.undecided.sum())
        of_all = f"{n:,} of {h:,}"
        line = f"Determined: {share_of(determination)} of held-out combinations ({of_all}"
        if share_of(determination) == of_all:
            line = f"Determined: {of_all} held-out combinations"
        elif undecided:
            line += f"; {undecided:,} not decided)"
        else:
            line += ")"
        yield from wrapped(f"{line}.")
        yield from _remarks(determination.remarks)
    if evidence.solvability is not None and case.table.has_target:
        yield from wrapped(_solvable(evidence, evidence.solvability))
        yield from _remarks(evidence.solvability.remarks)
    if evidence.prediction is not None:
        yield from _prediction(evidence, evidence.prediction)
    if evidence.sweep is not None:
        yield from _saliences(evidence, evidence.sweep)
    elif case.has_labels and evidence.prediction is not None:
        yield from wrapped(NO_SWEEP)
    if evidence.additions is not None:
        yield from _additions(evidence, evidence.additions)


def _solvable(evidence: Evidence, solvability: Solvability) -> str:
    """Return whether held-out targets are solvable, or where a finding says why not."""
    if solvability.solvable is not False:
        return one_line(explained(evidence.case, solvability))
    # The finding is of what remains without values and labels that training lacks.
    rest = without_unseen(evidence, 1.0).solvability
    if rest is None or rest.solvable is False:
        content = "the proof" if rest and rest.certificate else "the unexplained share"
        return f"Not solvable; the finding not-solvable gives {content}."
    return (
        "Not solvable with the rows whose values or labels training lacks. Without them: "
        f"{one_line(explained(evidence.case, rest))}"
    )


def _ladder(evidence: Evidence) -> Iterator[str]:
    """Yield a line for each order: what training lacks, determines and can answer."""
    yield (
        "    order  in training   in test   lacking      determined  solvable  fit of training"
        "  seconds"
    )
    words = {True: "yes", False: "no", None: "-"}
    if not evidence.case.table.has_target:
        words[True] = "-"
    for rung in evidence.ladder:
        determined = determined_share(rung.share, 0, rung.held_out)
        determined = "not decided" if rung.undecided else determined
        has_fit = evidence.case.table.has_target and not np.isnan(rung.fitted)
        unknown = "-" if rung.possible or not evidence.case.table.has_target else "not needed"
        fitted = percent(rung.fitted) if has_fit else unknown
        yield (
            f"    {rung.order:>5}  {rung.seen:>11,}  {rung.in_test:>8,}  {rung.unseen:>8,}"
            f"  {determined:>14}  {words[rung.solvable]:>8}"
            f"  {fitted:>15}  {rung.seconds:>7.1f}"
        )
    yield from wrapped(LEGEND, "    ")
    if words := further_orders(evidence):
        yield from wrapped(words, "    ")
    lacking = next((rung for rung in evidence.ladder if rung.lacking), None)
    if lacking is not None:
        named = [conjunction(evidence.case, *one) for one in lacking.lacking[:MOST_LACKING]]
        left = lacking.unseen - len(named)
        more = f"; and {left:,} more" if left else ""
        yield from wrapped(f"Order {lacking.order} lacks {'; '.join(named)}{more}.")


def _prediction(evidence: Evidence, prediction: Prediction) -> Iterator[str]:
    if evidence.case.has_labels:
        yield from _accuracy(evidence, prediction)
    else:
        yield from _error(evidence, prediction)
    yield from _cautions(evidence, prediction)
    yield from _worst(evidence, prediction)
    yield from _remarks(prediction.remarks)


def _along(evidence: Evidence, prediction: Prediction) -> str:
    """Return the range of representations in words."""
    inside = [inner for inner in prediction.points if not np.isnan(inner.position)]
    if not inside:
        return ""
    last = f" to {inside[-1].label}" if len(inside) > 1 else ""
    learner = learners(evidence.case, prediction)
    return f" over {inside[0].label}{last}{learner}"


def _accuracy(evidence: Evidence, prediction: Prediction) -> Iterator[str]:
    """Yield the share of rows that are predicted right, with its limit and its baselines."""
    inside = [inner for inner in prediction.points if not np.isnan(inner.position)]
    at = prediction.points[prediction.reference]
    line = ""
    if prediction.ceiling < 1.0:
        line = (
            f"At most {percent(prediction.ceiling)} of held-out rows can be answered right: the "
            "others have labels that training lacks, or differ from those of the same combination. "
        )
    line += f"Predicted share of held-out rows answered right{_along(evidence, prediction)}: "
    if inside:
        scores = [inner.accuracy for inner in inside]
        low, high = percent(min(scores)), percent(max(scores))
        line += f"{low} to {high}" if low != high else f"{low} throughout"
        line += "; "
    line += (
        f"{percent(at.accuracy)} at "
        f"{representation_name(at)}. Always answering the "
        f"commonest label: {percent(prediction.commonest)}."
    )
    line += (
        f" Mean over labels (balanced accuracy): {percent(at.balanced_accuracy)}; guessing: "
        f"{percent(prediction.chance)}"
    )
    if prediction.balanced_ceiling < 1.0 - 1e-9:
        line += (
            "; answering the commonest label of each combination: "
            f"{percent(prediction.balanced_ceiling)}"
        )
    line += "."
    if prediction.ties:
        line += (
            f" {count(prediction.ties, 'combination')} with a tie for the highest output "
            f"{'counts' if prediction.ties == 1 else 'count'} in part."
        )
    yield from wrapped(line)


def _error(evidence: Evidence, prediction: Prediction) -> Iterator[str]:
    inside = [inner for inner in prediction.points if not np.isnan(inner.position)]
    at = prediction.points[prediction.reference]
    tiny = 1e-12 * prediction.constant_error

    def score(value: float) -> str:
        # An exact answer has an error of rounding size, which is not reported.
        return number(value if value > tiny else 0.0)

    line = f"Predicted squared error of such learners{_along(evidence, prediction)}"
    if inside:
        scores = [inner.error for inner in inside]
        low, high = score(float(np.min(scores))), score(float(np.max(scores)))
        line += f": {low} to {high}" if low != high else f": {low} throughout"
    line += f" (the mean of training has {score(prediction.constant_error)})."
    slope = 0.0 if abs(at.leak_slope) < 1e-9 else at.leak_slope
    line += f" At {representation_name(at)}: {score(at.error)}"
    # Constant targets have no slope.
    line += "."
    if not np.isnan(slope):
        line += (
            f" Where held-out targets differ by 1, predictions differ by {number(slope)} (1 would "
            "be right)."
        )
    yield from wrapped(line)


def _worst(evidence: Evidence, prediction: Prediction) -> Iterator[str]:
    labels, tiny = evidence.case.has_labels, 1e-12 * prediction.constant_error
    worst = [
        f"{conjunction(evidence.case, [item.component], [item.value])} "
        f"({percent(item.accuracy) if labels else number(item.error)})"
        for item in prediction.worst[:MOST_WORST]
        if (item.accuracy < 1.0 if labels else item.error > tiny)
    ]
    if worst:
        kind = "accuracy" if labels else "error"
        yield from wrapped(f"Worst values there, with their {kind}: {', '.join(worst)}.")


def _cautions(evidence: Evidence, prediction: Prediction) -> Iterator[str]:
    """Yield the assumptions behind the predictions."""
    if evidence.determination is not None and evidence.determination.share < 1.0:
        yield from wrapped(OPEN)
    if description := measured(prediction):
        yield from wrapped(f"Measured features: {description}")


def _saliences(evidence: Evidence, sweep: SalienceSweep) -> Iterator[str]:
    """Yield between which saliences of each component all labels are predicted right."""
    if not sweep.is_right:
        # Equal saliences are nobody's choice: the page says what they do.
        if not sweep.are_equal and (words := too_salient(evidence.case, sweep)):
            yield from wrapped(words)
        return
    yield from wrapped(strictest(evidence.case, sweep))


def _additions(evidence: Evidence, additions: Additions) -> Iterator[str]:
    if additions.steps:
        # A remark says how many were tried where not all were.
        all_of = f" (all {additions.of:,} unseen combinations tried)"
        tried = all_of if additions.candidates == additions.of else ""
        yield f"Combinations to add to training first{tried}:"
        before = additions.determined
        shares = [before, *(step.determined for step in additions.steps)]
        changes_in_words = determined_changes(shares, len(evidence.case.held_out))
        for i, step in enumerate(additions.steps):
            changed = step.determined != before
            # What follows only strengthens what carries over.
            if before == 1.0:
                break
            # Alone it changes nothing, but a later one may build upon it.
            if not changed and all(later.determined == before for later in additions.steps[i:]):
                break
            changes = "no change by itself"
            if changed:
                changes = f"determined {' -> '.join(changes_in_words[i])}"
            addition = tuple_of(evidence.case, step.values)
            where = MOVE if step.held_out else COLLECT
            yield from _item(f"{addition} ({where}); {changes}")
            before = step.determined
    yield from _remarks(additions.remarks)


def _remarks(remarks: tuple[str, ...]) -> Iterator[str]:
    for remark in remarks:
        yield from _item(f"{remark[:1].upper()}{remark[1:]}")


def _item(text: str) -> list[str]:
    return wrapped(text, "    ", "  - ")
