"""Scorer what was found: every rule that it breaks, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Int

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import Evidence, Prediction, Shortcut
from partwhole.audit.rules import RULES, Finding
from partwhole.audit.settings import Settings
from partwhole.audit.wording import (
    combination,
    conjunction,
    count,
    number,
    one_line,
    percent,
    shown,
    tuple_of,
)

MOST_SHORTCUTS = 20
# Candidates that the search returns at most.
LISTED = 200
ROUNDING = 1e-9
EMPTY = np.zeros(0, dtype=np.int64)


def judge(evidence: Sequence[Evidence], settings: Settings) -> tuple[Finding, ...]:
    """Return a finding for everything that breaks a rule, errors first.

    Parameters
    ----------
    evidence : sequence of Evidence
        One for each test split.
    settings : Settings
        Thresholds, and rules that are silenced.

    Returns
    -------
    tuple of Finding
        In the order of `RULES`, within a rule in the order of the splits. Findings of silenced
        rules are among them, with the reason.
    """
    found = [finding for one in evidence for finding in _judge_split(one, settings)]
    if evidence:
        found.extend(_conflicts(evidence[0].case, training=True))
    place = {rule: i for i, rule in enumerate(RULES)}
    silenced = [
        Finding(
            one.rule,
            one.severity,
            one.message,
            one.rows,
            one.split,
            one.subject,
            settings.silence.get(one.rule),
        )
        for one in found
    ]
    return tuple(sorted(silenced, key=lambda one: place[one.rule]))


def _judge_split(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    yield from _unseen_values(evidence)
    yield from _solvable(evidence)
    yield from _determined(evidence, settings)
    yield from _predicted(evidence, settings)
    yield from _shortcuts(evidence)
    yield from _not_held_out(evidence.case)
    yield from _thin(evidence, settings)
    yield from _conflicts(evidence.case, training=False)


def _finding(
    rule: str, case: Case, message: str, rows: Int[np.ndarray, " r"] = EMPTY, subject: str = ""
) -> Finding:
    return Finding(rule, RULES[rule].severity, message, rows, case.name, subject)


def _who(case: Case) -> str:
    return f"learners of order {case.order}"


def _unseen_values(evidence: Evidence) -> Iterator[Finding]:
    case = evidence.case
    held_out = {(one.component, one.value): one.n_test for one in evidence.coverage.values}
    for one in evidence.coverage.unseen_values:
        subject = conjunction(case, [one.component], [one.value])
        many = held_out[one.component, one.value]
        yield _finding(
            "unseen-value",
            case,
            f"{subject} occurs in {count(many, 'held-out combination')} of {shown(case.name)} "
            f"({count(len(one.rows), 'row')}) and never in training, so nothing learned about it "
            "can carry over. Add training rows with it, or take its rows out of the test split.",
            one.rows,
            subject,
        )


def _solvable(evidence: Evidence) -> Iterator[Finding]:
    case, found = evidence.case, evidence.solvability
    if found is None or found.solvable:
        return
    if found.solvable is None:
        yield _finding(
            "not-decided",
            case,
            f"Whether {_who(case)} can answer {shown(case.name)} at all was not decided in "
            f"{found.seconds:.1f} s. Allow more time.",
        )
        return
    proof = found.certificate
    yield _finding(
        "not-solvable",
        case,
        f"No learner of order {case.order} can answer all "
        f"{count(len(case.held_out), 'held-out combination')} of {shown(case.name)}. "
        f"{one_line(found.explain(case.table.labels))} {_elsewhere(case)}",
        EMPTY if proof is None else case.rows_of(proof.rows),
    )


def _elsewhere(case: Case) -> str:
    higher = "raise the order, " if case.order < case.table.n_components - 1 else ""
    return (
        f"Test another rule, {higher}or train a learner that learns its features and check its "
        "predictions."
    )


def _determined(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    case, found = evidence.case, evidence.determination
    if found is None or found.share >= settings.determined:
        return
    open_ = ~found.determined
    unseen = open_ & found.unseen
    plain = np.flatnonzero(open_ & ~found.unseen)
    example = int(plain[0]) if len(plain) else int(np.flatnonzero(open_)[0])
    total, many = len(open_), int(open_.sum())
    message = (
        f"{many:,} of {count(total, 'held-out combination')} of {shown(case.name)} "
        f"({percent(many / total)}) {'is' if many == 1 else 'are'} not determined by training for "
        f"{_who(case)}, such as {combination(case, int(case.held_out[example]))}: "
    )
    lacks = "a value"
    if case.order > 1:
        lacks += f" or a conjunction of at most {case.order} components"
    if not len(plain):
        message += f"{'it' if many == 1 else 'each'} has {lacks} that training lacks."
    else:
        rest = "no weighted sum of training combinations equals " + ("it" if many == 1 else "them")
        if unseen.any():
            message += (
                f"{int(unseen.sum()):,} with {lacks} that training lacks; for the others {rest}."
            )
        else:
            message += f"{_every(case, many)} in training, but {rest}."
    if settings.determined < 1:
        message += f" At least {percent(float(settings.determined))} must be determined."
    steps = evidence.additions.steps if evidence.additions else ()
    if steps and steps[0].determined > found.share:
        message += (
            f" Adding {tuple_of(case, steps[0].values)} to training first would determine "
            f"{percent(steps[0].determined)}."
        )
    else:
        message += " Add more combinations to training"
        message += ", or lower the order." if case.order > 1 else "."
    yield _finding("not-determined", case, message, case.rows_of(case.held_out[open_]))


def _every(case: Case, many: int) -> str:
    whose = "its" if many == 1 else "their"
    if case.order == 1:
        return f"all {whose} values occur"
    return f"all {whose} conjunctions of at most {case.order} components occur"


def _predicted(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    found, case = evidence.prediction, evidence.case
    if found is None or not found.points:
        return
    if case.has_labels:
        best = max(_known([point.balanced_accuracy for point in found.points]), default=np.inf)
        if best <= found.chance + ROUNDING:
            yield _finding(
                "at-chance",
                case,
                f"{_who(case).capitalize()} are predicted to reach a balanced accuracy of at most "
                f"{percent(best)} on {shown(case.name)} over {_range(found)}; a constant answer "
                f"has {percent(found.chance)}. Add training combinations that contradict what "
                "misleads them, or hold out others.",
                case.rows_of(case.held_out),
            )
    else:
        least = min(_known([point.error for point in found.points]), default=-np.inf)
        scale = float(np.mean(case.task.targets**2))
        # Where even the constant is right there is nothing to do better.
        if least >= found.constant_error * (1.0 - ROUNDING) and least > 1e-12 * scale:
            yield _finding(
                "no-better-than-constant",
                case,
                f"{_who(case).capitalize()} are predicted to have a squared error of at least "
                f"{number(least)} on {shown(case.name)} over {_range(found)}; the mean of training "
                f"has {number(found.constant_error)}. Add training combinations with the same "
                "values, or hold out others.",
                case.rows_of(case.held_out),
            )
    yield from _leak(evidence, found, settings)


def _leak(evidence: Evidence, found: Prediction, settings: Settings) -> Iterator[Finding]:
    case, point = evidence.case, found.points[found.reference]
    if not point.leak_slope < settings.leak_slope:
        return
    slope = point.leak_slope if abs(point.leak_slope) > ROUNDING else 0.0
    # Labels need the sign alone: a leak that leaves all of them right costs nothing.
    if case.has_labels and not point.accuracy < 1.0 - ROUNDING:
        return
    why = (
        "the rest of what training shows is stored by combination"
        if slope > 0
        else "what carries over from training does not follow them"
    )
    yield _finding(
        "strong-leak",
        case,
        f"At {shown(point.label)} predictions for {shown(case.name)} change by "
        f"{number(slope)} where the targets change by 1 (below "
        f"{settings.leak_slope:g}): {why}. Show the values in more training combinations, or use "
        "a representation with a smaller share for the full combination.",
        case.rows_of(case.held_out),
    )


def _known(values: list[float]) -> list[float]:
    return [value for value in values if not np.isnan(value)]


def _range(found: Prediction) -> str:
    points = [point for point in found.points if not np.isnan(point.position)]
    if not points:
        return f"the point {shown(found.points[0].label)}"
    words = f"{points[0].label} to {points[-1].label}" if len(points) > 1 else points[0].label
    return words + (" and as measured" if len(points) < len(found.points) else "")


def _shortcuts(evidence: Evidence) -> Iterator[Finding]:
    case = evidence.case
    for one in evidence.shortcuts[:MOST_SHORTCUTS]:
        subject = conjunction(case, one.components, one.values)
        yield _finding(
            "shortcut",
            case,
            f"{subject}: {_shift(case, one)}. A learner that relies on it is misled; balance its "
            "targets between training and test.",
            _held_out_rows(case, [one]),
            subject,
        )
    rest = evidence.shortcuts[MOST_SHORTCUTS:]
    if rest:
        cut = f" (no more than {LISTED} candidates are kept)"
        yield _finding(
            "shortcut",
            case,
            f"{count(len(rest), 'more value or pair', 'more values and pairs')} of "
            f"{shown(case.name)} {'has' if len(rest) == 1 else 'have'} other targets in test than "
            f"in training, with effects from {number(rest[0].effect)} to "
            f"{number(rest[-1].effect)}; the strongest {MOST_SHORTCUTS} have a finding "
            f"each{cut if len(evidence.shortcuts) >= LISTED else ''}. "
            "Balance their targets between training and test.",
            _held_out_rows(case, rest),
            "weaker candidates",
        )


def _shift(case: Case, one: Shortcut) -> str:
    p = f"p = {one.p_value:.1g}"
    if one.label is None:
        of = shown(case.table.target[0]) if len(case.table.target) == 1 else "the target"
        return (
            f"the mean of {of} is {number(one.train)} in training and {number(one.test)} in "
            f"{shown(case.name)} (effect {number(one.effect)} standard deviations, {p})"
        )
    return (
        f"{percent(one.train)} of combinations are '{shown(one.label)}' in training, "
        f"{percent(one.test)} in {shown(case.name)} (effect {number(one.effect)}, {p})"
    )


def _held_out_rows(case: Case, found: Sequence[Shortcut]) -> Int[np.ndarray, " r"]:
    components = case.task.components[case.held_out]
    has = np.zeros(len(components), dtype=bool)
    for one in found:
        has |= np.all(components[:, list(one.components)] == np.array(one.values), axis=1)
    return case.rows_of(case.held_out[has])


def _not_held_out(case: Case) -> Iterator[Finding]:
    rows, total = case.also_seen, int(np.sum(case.table.split == case.split))
    if not len(rows):
        return
    message = (
        f"{len(rows):,} of {count(total, 'row')} of {shown(case.name)} have a combination that "
        f"training has too, such as {combination(case, int(case.row_combination[rows[0]]))}. "
    )
    message += (
        "So nothing is held out, and nothing else was asked of this split; hold out whole "
        "combinations."
        if len(rows) == total
        else "They say nothing of unseen combinations and no other number counts them; take them "
        "out of the test split."
    )
    yield _finding("not-held-out", case, message, rows)


def _thin(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    case = evidence.case
    thin = [
        one
        for one in evidence.coverage.values
        if one.n_test and 0 < one.n_train < settings.coverage
    ]
    if not thin:
        return
    named = "; ".join(
        f"{conjunction(case, [one.component], [one.value])} ({one.n_train})" for one in thin[:5]
    )
    more = f"; and {len(thin) - 5:,} more" if len(thin) > 5 else ""
    components = case.task.components[case.held_out]
    has: Bool[np.ndarray, " h"] = np.zeros(len(components), dtype=bool)
    for component, values in enumerate(case.table.values):
        poor = np.zeros(len(values), dtype=bool)
        poor[[one.value for one in thin if one.component == component]] = True
        has |= poor[components[:, component]]
    yield _finding(
        "thin-coverage",
        case,
        f"{count(len(thin), 'value')} of {shown(case.name)} {'is' if len(thin) == 1 else 'are'} "
        f"met in fewer than {settings.coverage:g} distinct training combinations: {named}{more}. "
        "Add training combinations with them.",
        case.rows_of(case.held_out[has]),
    )


def _conflicts(case: Case, *, training: bool) -> Iterator[Finding]:
    part = case.task.is_train if training else ~case.task.is_train
    places = np.flatnonzero(case.conflict & part)
    if not len(places):
        return
    split = TRAIN if training else case.split
    inside = np.flatnonzero(case.table.split == split)
    wanted = np.zeros(len(part), dtype=bool)
    wanted[places] = True
    rows = inside[wanted[case.row_combination[inside]]]
    name = case.table.split_names[split]
    message = (
        f"{count(len(places), 'combination')} of {shown(name)} "
        f"{'has' if len(places) == 1 else 'have'} rows with different targets, such as "
        f"{combination(case, int(places[0]))}; their weighted mean is used. Check these rows."
    )
    rule = RULES["conflicting-duplicates"]
    yield Finding(rule.id, rule.severity, message, rows, name, "")
