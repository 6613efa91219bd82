"""Judge what was found: every rule that it breaks, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Int

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import ROUNDING, Evidence, Prediction, Shortcut, UnseenValue
from partwhole.audit.rules import RULES, Finding
from partwhole.audit.settings import Settings
from partwhole.audit.wording import (
    combination,
    conjunction,
    count,
    learners,
    number,
    one_line,
    percent,
    shown,
    tuple_of,
    where,
)
from partwhole.limits.proofs.solvability import Solvability

MOST_SHORTCUTS = 20
# Unseen values of one component that have a finding each.
MOST_UNSEEN = 5
NAMED = 3
# Candidates that the search returns at most.
LISTED = 200
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
    yield from _unseen_labels(evidence.case)
    yield from _solvable(evidence)
    yield from _determined(evidence, settings)
    yield from _not_decided(evidence)
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
    for component in range(case.table.n_components):
        unseen = [one for one in evidence.coverage.unseen_values if one.component == component]
        if len(unseen) > MOST_UNSEEN:
            yield _many_unseen(case, component, unseen)
            continue
        for one in unseen:
            subject = conjunction(case, [component], [one.value])
            many = held_out[component, one.value]
            yield _finding(
                "unseen-value",
                case,
                f"{subject} occurs in {count(many, 'held-out combination')} of "
                f"{shown(case.name)} ({count(len(one.rows), 'row')}) and never in training, so "
                "nothing learned about it can carry over. Add training rows with it, or take its "
                "rows out of the test split.",
                one.rows,
                subject,
            )


def _many_unseen(case: Case, component: int, unseen: Sequence[UnseenValue]) -> Finding:
    name = shown(case.table.names[component])
    such = [shown(case.table.values[component][one.value]) for one in unseen[:NAMED]]
    rows = np.unique(np.concatenate([one.rows for one in unseen]))
    return _finding(
        "unseen-value",
        case,
        f"{len(unseen):,} values of {name} are held out and never in training, such as "
        f"{', '.join(such)}. They occur in {count(len(rows), 'row')} of {shown(case.name)}; "
        "nothing learned about them can carry over. Add training rows with them, or take their "
        "rows out of the test split.",
        rows,
        name,
    )


def _unseen_labels(case: Case) -> Iterator[Finding]:
    table = case.table
    if table.label is None or table.labels is None:
        return
    rows = case.rows_of(case.held_out)
    known = np.unique(table.label[table.split == TRAIN])
    for i in np.setdiff1d(table.label[rows], known):
        own = rows[table.label[rows] == i]
        many = len(np.unique(case.row_combination[own]))
        label = shown(table.labels[i])
        yield _finding(
            "unseen-label",
            case,
            f"label '{label}' occurs in {count(many, 'held-out combination')} of "
            f"{shown(case.name)} and never in training, so no learner can know of it. Add "
            "training rows with it, or take its rows out of the test split.",
            own,
            f"{shown(table.target[0])} = {label}",
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
        f"{one_line(found.explain(case.table.labels))} {_left(found)}{_elsewhere(case)}",
        EMPTY if proof is None else case.rows_of(proof.rows),
    )


def _left(found: Solvability) -> str:
    """Say how much of the variance of numbers is left, and how much may be."""
    if found.kind != "regression" or np.isnan(found.r_squared):
        return ""
    allowed = f"up to {100.0 * found.tolerated:g} %" if found.tolerated > 0 else "none"
    # With none allowed the best sum need not have been found.
    best = "best sum" if found.tolerated > 0 else "best sum found"
    left = f"The {best} leaves {100.0 * found.unexplained:.3g} % of their variance; {allowed}"
    if found.certificate is None:  # and the explanation has said so
        left = allowed.capitalize()
    return f"{left} is allowed (threshold unexplained). If the rest is noise, raise the threshold. "


def _elsewhere(case: Case) -> str:
    higher = "raise the order, " if case.order < case.table.n_components - 1 else ""
    return (
        f"Test another rule, {higher}or train a learner that learns its features and check its "
        "predictions."
    )


def _determined(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    case, found = evidence.case, evidence.determination
    # What was not decided may be determined, so it is no reason for an error.
    if found is None or float((found.determined | found.undecided).mean()) >= settings.determined:
        return
    open_ = ~found.determined & ~found.undecided
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
        first = tuple_of(case, steps[0].values)
        adding = (
            f"Moving {first}, now held out, into training"
            if steps[0].held_out
            else f"Adding {first} to training"
        )
        message += f" {adding} first would determine {percent(steps[0].determined)}."
    else:
        message += " Add more combinations to training."
    yield _finding("not-determined", case, message, case.rows_of(case.held_out[open_]))


def _not_decided(evidence: Evidence) -> Iterator[Finding]:
    case, found = evidence.case, evidence.determination
    if found is None or not found.undecided.any():
        return
    rows = case.held_out[found.undecided]
    yield _finding(
        "not-decided",
        case,
        f"Whether training determines {len(rows):,} of "
        f"{count(len(case.held_out), 'held-out combination')} of {shown(case.name)} for "
        f"{_who(case)} was not decided in the steps allowed, such as "
        f"{combination(case, int(rows[0]))}. Ask about a smaller order, or about fewer rows.",
        case.rows_of(rows),
    )


def _every(case: Case, many: int) -> str:
    whose = "its" if many == 1 else "their"
    if case.order == 1:
        return f"all {whose} values occur"
    return f"all {whose} conjunctions of at most {case.order} components occur"


def _predicted(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    found, case = evidence.prediction, evidence.case
    if len(case.held_out) and evidence.is_better_than_guesses is None:
        base = "guessing among the labels" if case.has_labels else "the mean of training"
        over = "" if found is None else f" over {_range(case, found)}"
        yield _finding(
            "not-decided",
            case,
            f"Whether {_who(case)} do better on {shown(case.name)} than {base} was not "
            f"computed to the end{over}. Allow more time.",
        )
    if found is None:
        return
    if evidence.is_better_than_guesses is False and case.has_labels:
        best = max(point.balanced_accuracy for point in found.points)
        yield _finding(
            "at-chance",
            case,
            f"{_who(case).capitalize()} are predicted to reach a balanced accuracy of at most "
            f"{percent(best)} on {shown(case.name)} over {_range(case, found)}; guessing "
            f"among the labels has {percent(found.chance)}. Add training combinations that "
            "contradict what misleads them, or hold out others.",
            case.rows_of(case.held_out),
        )
    elif evidence.is_better_than_guesses is False:
        least = min(point.error for point in found.points)
        yield _finding(
            "no-better-than-constant",
            case,
            f"{_who(case).capitalize()} are predicted to have a squared error of at least "
            f"{number(least)} on {shown(case.name)} over {_range(case, found)}; the mean of "
            f"training has {number(found.constant_error)}. Add training combinations with the "
            "same values, or hold out others.",
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
        f"At {where(point, case.table.n_components)}, {_slope(case, slope)} (below "
        f"{settings.leak_slope:g}): {why}. Show the values in more training combinations, or use "
        "a representation with a smaller share for the full combination.",
        case.rows_of(case.held_out),
    )


def _slope(case: Case, slope: float) -> str:
    name = shown(case.name)
    if not case.has_labels:
        return f"predictions for {name} change by {number(slope)} where the targets change by 1"
    if slope < 0:
        return f"outputs for {name} are higher for wrong labels than for right ones"
    return (
        f"outputs for right and wrong labels of {name} lie {number(slope)} times as far apart as "
        "in training"
    )


def _range(case: Case, found: Prediction) -> str:
    n_components = case.table.n_components
    points = [point for point in found.points if not np.isnan(point.position)]
    if not points:
        return where(found.points[0], n_components)
    words = f"{points[0].label} to {points[-1].label}" if len(points) > 1 else points[0].label
    words += f" of {learners(case, n_components)}"
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
        f"{len(rows):,} of {count(total, 'row')} of {shown(case.name)} "
        f"{'has' if len(rows) == 1 else 'have'} a combination that training has too, such as "
        f"{combination(case, int(case.row_combination[rows[0]]))}"
    )
    other = _with_another_target(case)
    message += f"; {other:,} of them with another target than in training. " if other else ". "
    message += (
        "So nothing is held out, and nothing else was asked of this split; hold out whole "
        "combinations."
        if len(rows) == total
        else "They say nothing of unseen combinations and no other number counts them; take them "
        f"out of the test split. If {shown(case.name)} is meant as an ordinary validation split, "
        "leave it out of the test splits."
    )
    yield _finding("not-held-out", case, message, rows)


def _with_another_target(case: Case) -> int:
    """Count the repeated test rows whose target no training row of their combination has."""
    table, rows = case.table, case.also_seen
    if table.label is not None:
        target = table.label
    elif table.targets.shape[1] == 1:
        target = np.unique(table.targets[:, 0], return_inverse=True)[1]
    else:
        target = np.unique(table.targets, axis=0, return_inverse=True)[1].reshape(-1)
    both = case.row_combination * (int(target.max()) + 1) + target
    return int(np.sum(~np.isin(both[rows], both[table.split == TRAIN])))


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
    if not case.has_labels:
        message += (
            " If the rows are repeated measurements with noise this is expected: silence the rule "
            "with that reason."
        )
    rule = RULES["conflicting-duplicates"]
    yield Finding(rule.id, rule.severity, message, rows, name, "")
