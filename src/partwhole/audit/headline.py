"""The verdict in a line: up to which order a split is supported, and what is missing beyond it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import ROUNDING, Evidence, Rung, Shortcut
from partwhole.audit.predictions_in_words import salience_range, too_salient
from partwhole.audit.remainder import without_unseen
from partwhole.audit.rules import Finding
from partwhole.audit.target_range import beyond_training
from partwhole.audit.wording import by_itself, conjunction, count, number, percent, printable

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport

# Values that say nothing without the name of their component.
ANSWERS = ("yes", "no", "true", "false")
# Largest difference of a label's shares in training and test that goes without saying.
MOST_SHIFT = 0.05
# Share of the possible gain over guessing below which accuracy is little more.
NEAR_GUESSING = 0.25
# Errors of predictions.
OF_GUESSES = ("at-chance", "no-better-than-constant")
# Errors that may be those of values and labels that training lacks.
OF_UNSEEN = ("unseen-value", "unseen-label", "not-determined", "not-solvable")


def if_order(order: int) -> str:
    """Return in words what is assumed of learners of an order.

    Examples
    --------
    >>> if_order(1), if_order(2)
    ('if parts add up (order 1)', 'if pairs interact (order 2)')
    >>> if_order(3)
    'if up to 3 parts interact (order 3)'
    """
    words = {1: "parts add up", 2: "pairs interact"}.get(order, f"up to {order} parts interact")
    return f"if {words} (order {order})"


def headline(report: AuditReport) -> tuple[str, ...]:
    """Return the verdict at the required order, where it changes, and the strongest shortcut.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    tuple of str
        Sentences without their stop, such as "Supported if parts add up (order 1)" and "Not if
        pairs interact (order 2): training lacks (cube, red) and 11 more".
    """
    tested = [item for item in report.evidence if len(item.case.held_out)]
    if not tested:
        return (
            "No combination is held out: training has all of them",
            *_misled(report),
            *_correlated(report),
        )
    return (
        _at_the_required_order(report),
        *_at_other_orders(report),
        *_misled(report),
        *_correlated(report),
    )


def _at_the_required_order(report: AuditReport) -> str:
    order = report.order
    if report.verdict == "unsupported":
        reason = next(item for item in report.errors if item.rule != "not-decided")
        return f"Not supported {if_order(order)}: {_reason(report, reason)}"
    if report.verdict == "undecided":
        return f"Not decided {if_order(order)}: {_undecided(report)}"
    sentence = f"Supported {if_order(order)}{_as_far_as_they_do(report)}"
    highest = _highest(report)
    if highest > order:
        sentence += f", and {if_order(highest)}"
    left_out = [
        item.remainder
        for item in report.evidence
        if item.remainder is not None and item.remainder.share <= report.settings.unseen
    ]
    if left_out:
        n_rows = sum(len(rest.left_out) for rest in left_out)
        sentence += f", but for {count(n_rows, 'row')} with values or labels training lacks"
    tested = (item for item in report.evidence if len(item.case.held_out))
    if any(item.is_better_than_guesses is None for item in tested):
        sentence += ", as far as predictions finished"
    if any(item.case.table.hashed is not None for item in report.evidence):
        sentence += "; so many labels are not predicted"
    silenced = sum(
        item.severity == "error" and item.silenced is not None for item in report.findings
    )
    if any(_lacks_the_measured(item) for item in report.evidence):
        sentence += ", without the measured representation"
    if silenced:
        sentence += f", with {count(silenced, 'error')} silenced"
    doubts = (
        _at_the_measured, _at_given_saliences, _beyond_the_range, _near_guessing, _all_wrong
    )  # fmt: skip
    return sentence + "".join(next(doubt(report), "") for doubt in doubts)


def _undecided(report: AuditReport) -> str:
    """Say what was not decided in time."""
    name = report.errors[0].split
    item = next(item for item in report.evidence if item.case.name == name)
    determination = item.determination
    of_split = _of_split(report, name)
    if determination is not None and determination.undecided.any():
        n, total = int(determination.undecided.sum()), len(item.case.held_out)
        return f"whether training determines {n:,} of {count(total, 'answer')}{of_split}"
    return f"whether such learners can give the held-out answers{of_split}"


def doubted_at_the_measured(report: AuditReport) -> Iterator[Evidence]:
    """Yield the test splits with a strong leak at a representation that was measured."""
    names = {item.split for item in report.warnings if item.rule == "strong-leak"}
    for item in report.evidence:
        if item.case.name in names and item.prediction is not None and item.prediction.measured:
            yield item


def _lacks_the_measured(item: Evidence) -> bool:
    """Return whether features were passed, and nothing is predicted at them."""
    has_features = item.case.table.features is not None
    return has_features and item.prediction is not None and item.prediction.measured is None


def _at_the_measured(report: AuditReport) -> Iterator[str]:
    """Say what is predicted at the measured representation where the leak is strong."""
    for item in doubted_at_the_measured(report):
        assert item.prediction is not None
        point = item.prediction.points[item.prediction.reference]
        where = f"at the measured representation{_of_split(report, item.case.name)}"
        if item.case.has_labels:
            yield (
                f", but {where} {percent(point.accuracy)} of rows are predicted right "
                f"(the commonest label: {percent(item.prediction.commonest)})"
            )
        else:
            slope = 0.0 if abs(point.leak_slope) < ROUNDING else point.leak_slope
            yield (f", but {where} predictions change by {number(slope)} where targets change by 1")


def _near_guessing(report: AuditReport) -> Iterator[str]:
    """Say how many rows are predicted right where that is little more than by guessing."""
    for item in report.evidence:
        prediction = item.prediction
        if not item.case.has_labels or prediction is None or prediction.measured is not None:
            continue
        point = prediction.points[prediction.reference]
        gain = point.balanced_accuracy - prediction.chance
        if gain < NEAR_GUESSING * (prediction.balanced_ceiling - prediction.chance):
            yield (
                f", but such learners are predicted right in {percent(point.accuracy)} of rows "
                f"(the commonest label: {percent(prediction.commonest)})"
                f"{_of_split(report, item.case.name)}"
            )


def _all_wrong(report: AuditReport) -> Iterator[str]:
    """Name a value whose held-out combinations are all predicted wrong."""
    for finding in report.warnings:
        if finding.rule == "failed-value":
            split = _of_split(report, finding.split)
            yield f", but held-out combinations with {finding.subject} are predicted wrong{split}"


def _at_given_saliences(report: AuditReport) -> Iterator[str]:
    """Say how many rows the worst learner predicts right with the saliences that are given."""
    for item in report.evidence:
        sweep = item.sweep
        if sweep is None or sweep.are_equal or not too_salient(item.case, sweep):
            continue
        worst = percent(float(np.nanmin(sweep.unchanged)))
        yield (
            f", but with the saliences that are given as little as {worst} of rows are predicted "
            f"right{_of_split(report, item.case.name)}"
        )


def _beyond_the_range(report: AuditReport) -> Iterator[str]:
    """Say which component is more (or less) salient in measured features than it may be."""
    for item in report.evidence:
        sweep = item.sweep
        if sweep is None or sweep.measured is None or not sweep.is_right:
            continue
        ranges = zip(item.case.table.names, sweep.measured, *sweep.range_of_all, strict=True)
        for name, at, since, until in ranges:
            if since <= at <= until:
                continue
            limits = salience_range("it", float(since), float(until))
            yield (
                f", but in the measured features {printable(name)} is {number(float(at))} times as "
                "salient as each other component, and learners other than a linear readout are "
                f"right only {limits.removesuffix(' as each other component')}"
                f"{_of_split(report, item.case.name)}"
            )


def _as_far_as_they_do(report: AuditReport) -> str:
    """Say how much of training such sums explain, if not all."""
    fits = [(rung.fitted, item.case) for item, rung in _rungs(report, report.order)]
    known = [pair for pair in fits if pair[0] == pair[0]]
    fit, case = min(known, key=lambda pair: pair[0], default=(1.0, None))
    if case is None or fit >= 1.0 - float(report.settings.unexplained):
        return ""
    if case.has_labels:
        return f", which is right in {percent(fit)} of training"
    return f", which explains {percent(fit)} of training (the rest is noise, or parts interact)"


def _highest(report: AuditReport) -> int:
    """Return the highest order up to which every order from the required one is supported."""
    highest = report.order
    while highest + 1 in orders(report) and supported_at(report, highest + 1):
        highest += 1
    return highest


def _at_other_orders(report: AuditReport) -> Iterator[str]:
    if report.errors:
        yield from _without_unseen(report)
        # Labels that training lacks are missing at every order.
        if any(item.rule == "unseen-label" for item in report.errors):
            return
        others = [k for k in orders(report) if k != report.order and supported_at(report, k)]
        if others:
            yield f"Supported {if_order(others[-1])}"
        else:
            yield from _at_no_order(report)
        return
    beyond = _highest(report) + 1
    if beyond not in orders(report):
        return
    if supported_at(report, beyond) is None:
        yield f"Not decided {if_order(beyond)}"
    else:
        yield f"Not {if_order(beyond)}: {_missing_at(report, beyond)}"


def _at_no_order(report: AuditReport) -> Iterator[str]:
    """Say why no higher order helps where targets are no sums at the required one."""
    higher = [k for k in orders(report) if k > report.order]
    rules = {item.rule for item in report.errors}
    refused = "not-solvable" in rules and not rules & {"unseen-value", "not-determined"}
    if not refused or not higher or any(supported_at(report, k) is not False for k in higher):
        return
    reasons: dict[str, str] = {}
    for order in higher:
        least = float(report.settings.determined)
        rungs = [(i, r) for i, r in _rungs(report, order) if r.is_supported(least) is False]
        item, rung = rungs[0]
        # What training lacks at an order it lacks at each higher one.
        if rung.lacking or rung.possible < rung.held_out:
            words = f"{missing(item.case, rung)}{_of_split(report, item.case.name)}"
            reasons[f"at order {order}"] = words
            break
        reasons[f"at order {order}"] = _not_a_sum(order)
    yield f"Nor at a higher order: {'; '.join(f'{at} {words}' for at, words in reasons.items())}"


def _without_unseen(report: AuditReport) -> Iterator[str]:
    """Return the verdict without the rows of values and labels that training lacks.

    None where there are other errors: these remain.
    """
    if not all(item.rule in OF_UNSEEN for item in report.errors):
        return
    rests = [without_unseen(item, 1.0) for item in report.evidence if len(item.case.held_out)]
    n_rows = sum(len(item.remainder.left_out) for item in rests if item.remainder is not None)
    if not n_rows:
        return
    of_all = " of all test splits" if len(rests) > 1 else ""
    total = sum(len(item.case.rows_of(item.case.held_out)) for item in rests)
    of_total = f"{n_rows:,} of {count(total, 'held-out row')}{of_all}"
    left_out = f"the {of_total} with values or labels training lacks"
    if any(item.solvability is not None and item.solvability.solvable is False for item in rests):
        parts = _not_a_sum(report.order).replace("they do", "parts do")
        yield f"Nor without {left_out}: {parts} of the others"
        return
    least = float(report.settings.determined)
    n_open, n_rest, is_supported = 0, -n_rows, True
    for item in rests:
        if item.solvability is None or item.determination is None or not item.solvability.solvable:
            return
        is_open = ~item.determination.determined
        n_open += len(item.case.rows_of(item.case.held_out[is_open]))
        n_rest += len(item.case.rows_of(item.case.held_out))
        is_supported &= item.determination.share >= least
    if is_supported:
        yield f"Supported without {left_out}"
        return
    n_known = n_rest - n_open
    known, are = f"{n_known:,}" if n_known else "none", "is" if n_known < 2 else "are"
    yield f"Without {left_out}, {known} of the {count(n_rest, 'row')} left {are} determined"


def orders(report: AuditReport) -> list[int]:
    """Return the orders at which every test split has a verdict."""
    ladders = [{rung.order for rung in item.ladder} for item in report.evidence if item.ladder]
    return sorted(set.intersection(*ladders)) if ladders else []


def supported_at(report: AuditReport, order: int) -> bool | None:
    """Return whether every test split is supported at an order; None if it was not decided."""
    least = float(report.settings.determined)
    verdicts = [rung.is_supported(least) for _, rung in _rungs(report, order)]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _rungs(report: AuditReport, order: int) -> list[tuple[Evidence, Rung]]:
    return [(item, rung) for item in report.evidence for rung in item.ladder if rung.order == order]


def _missing_at(report: AuditReport, order: int) -> str:
    """Say why the first test split without support at an order lacks it."""
    least = float(report.settings.determined)
    item, rung = next(
        (item, rung) for item, rung in _rungs(report, order) if rung.is_supported(least) is False
    )
    return missing(item.case, rung) + _of_split(report, item.case.name)


def missing(case: Case, rung: Rung) -> str:
    """Say what training lacks at an order, as shortly as it can be said."""
    if rung.lacking:
        left = rung.unseen - 1
        more = f" and {left:,} more" if left else ""
        return f"training lacks {_in_short(case, *rung.lacking[0])}{more}"
    if rung.possible < rung.held_out:
        n_open = rung.held_out - rung.possible
        return f"training leaves {n_open:,} of {count(rung.held_out, 'answer')} open"
    return _not_a_sum(rung.order)


def _not_a_sum(order: int) -> str:
    """Say that no learner of an order can have the targets as its outputs."""
    if order == 1:
        return "they do not add up to the targets"
    terms = "pairs" if order == 2 else f"sets of {order} parts"
    return f"parts and {terms} do not add up to the targets"


def _in_short(case: Case, components: tuple[int, ...], values: tuple[int, ...]) -> str:
    """Return the values of a conjunction alone where they are words, else with their names."""
    named = [case.table.values[c][v] for c, v in zip(components, values, strict=True)]
    if len(named) > 1 and all(isinstance(value, str) and _is_word(value) for value in named):
        return f"({', '.join(printable(value) for value in named)})"
    words = conjunction(case, components, values)
    return words if len(named) == 1 else f"({words})"


def _is_word(text: str) -> bool:
    """Return whether a value says what it is a value of: no number, letter, or yes or no."""
    return len(text) > 1 and text[0].isalpha() and text.casefold() not in ANSWERS


def _reason(report: AuditReport, finding: Finding) -> str:
    """Return an error in a few words."""
    rungs = _rungs(report, report.order)
    at = next(((i.case, r) for i, r in rungs if i.case.name == finding.split), None)
    same = sum(item.rule == finding.rule for item in report.errors) - 1
    more = f" and {count(same, 'more error')} of this kind" if same else ""
    if at is not None and finding.rule in ("unseen-value", "not-determined"):
        words = missing(*at)
    elif finding.rule == "not-solvable":
        words = _not_a_sum(report.order)
    elif finding.rule == "unseen-label":
        words = f"training lacks {_labels_lacked(report, finding)}{more}"
    else:
        is_single = at is not None and len(at[0].held_out) == 1
        only = "the only held-out combination is predicted"
        words = {
            "at-chance": f"{only} wrong"
            if is_single
            else "labels are predicted no better than by guessing",
            "no-better-than-constant": f"{only} no better than by the mean of training"
            if is_single
            else "targets are predicted no better than by their mean",
        }.get(finding.rule, finding.rule)
        if finding.rule in OF_GUESSES and _has_measured(report, finding.split):
            words += ", at the measured representation"
    return words + _of_split(report, finding.split)


def _labels_lacked(report: AuditReport, finding: Finding) -> str:
    """Name the label of an error, or count its labels."""
    case = next(item.case for item in report.evidence if item.case.name == finding.split)
    label, names = case.table.label, case.table.label_names
    assert label is not None
    assert names is not None
    lacked = np.unique(label[finding.rows])
    if len(lacked) > 1:
        return f"{len(lacked):,} labels"
    return f"the label '{printable(names[lacked[0]])}'"


def _has_measured(report: AuditReport, name: str) -> bool:
    predictions = [item.prediction for item in report.evidence if item.case.name == name]
    return any(of is not None and of.measured is not None for of in predictions)


def _of_split(report: AuditReport, name: str) -> str:
    return f" (split {printable(name)})" if len(report.evidence) > 1 else ""


def _misled(report: AuditReport) -> Iterator[str]:
    """Name the strongest shortcut."""
    finding = next((item for item in report.warnings if item.rule == "shortcut"), None)
    item = next(
        (i for i in report.evidence if finding and i.case.name == finding.split and i.shortcuts),
        None,
    )
    if finding is None or item is None:
        return
    if beyond := beyond_training(item.case):
        yield f"{beyond[:1].upper()}{beyond[1:]}: what goes with these in training fails"
        return
    shortcut = item.shortcuts[0]
    name, is_pair = by_itself(item.case, shortcut), len(shortcut.components) > 1
    if not item.case.has_labels:
        yield (
            f"Shortcut: {name} {'explain' if is_pair else 'explains'} {percent(shortcut.train)} of "
            "training"
            f"{_of_rows(item.case, shortcut)}, but not {_of_test(item.case)}"
        )
        return
    yield (
        f"Shortcut: {name} {'are' if is_pair else 'is'} right in {percent(shortcut.train)} of "
        "training"
        f"{_of_rows(item.case, shortcut)} and {percent(shortcut.test)} of {_of_test(item.case)}"
    )


def _of_test(case: Case) -> str:
    """Name the rows of test that shortcuts are compared in."""
    name, rows, has = printable(case.name), case.compared, ""
    if len(rows) == np.count_nonzero(case.table.split == case.split):
        return name
    label = case.table.label
    if label is not None:
        known = np.isin(label[rows], label[case.table.split == TRAIN])
        rows, has = rows[known], "" if known.all() else " whose label training has"
    return f"the {count(len(rows), 'held-out row')} of {name}{has}"


def _correlated(report: AuditReport) -> Iterator[str]:
    """Name the strongest spurious correlation."""
    rule = "spurious-correlation"
    for item in report.evidence:
        if not any(f.rule == rule and f.split == item.case.name for f in report.warnings):
            continue
        shortcut = next(candidate for candidate in item.shortcuts if candidate.spurious)
        name = by_itself(item.case, shortcut)
        does = "is right in" if item.case.has_labels else "explains"
        yield (
            f"Spurious correlation: {name} {does} {percent(shortcut.train)} of training"
            f"{_of_rows(item.case, shortcut)}, and {printable(item.case.name)} cannot show whether "
            "a learner relies on it"
        )
        return


def _of_rows(case: Case, shortcut: Shortcut) -> str:
    """Say of which training rows an accuracy is, or that labels are weighted, where it matters."""
    if shortcut.at_values:
        return f" (rows with values of {printable(case.name)})"
    table, label = case.table, case.table.label
    if label is None or table.labels is None:
        return ""
    shares = []
    for part in (TRAIN, case.split):
        rows = table.split == part
        counts = np.bincount(label[rows], table.weights[rows], minlength=len(table.labels))
        shares.append(counts / counts.sum())
    return (
        " (labels weighted as in test)" if np.abs(shares[0] - shares[1]).max() > MOST_SHIFT else ""
    )
