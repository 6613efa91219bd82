"""Findings that the table's rows alone decide: values, labels, shortcuts, repeats and conflicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Int

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import Evidence, Shortcut, UnseenValue
from partwhole.audit.judging.finding import finding_of
from partwhole.audit.rules import RULES, Finding
from partwhole.audit.settings import Settings
from partwhole.audit.wording import combination, conjunction, count, number, percent, printable

# The strongest shortcuts have a finding each; the search returns this many candidates at most.
MOST_SHORTCUTS, MOST_CANDIDATES = 20, 200
# Unseen values of one component that have a finding each; beyond it, examples in one finding.
MOST_UNSEEN, N_EXAMPLES = 5, 3
# Values of thin coverage that are named.
MOST_THIN = 5


def unseen_values(evidence: Evidence) -> Iterator[Finding]:
    """Report held-out values that no training row has."""
    case = evidence.case
    held_out = {(value.component, value.value): value.n_test for value in evidence.coverage.values}
    for component in range(case.table.n_components):
        unseen = [
            value for value in evidence.coverage.unseen_values if value.component == component
        ]
        if len(unseen) > MOST_UNSEEN:
            yield _many_unseen(case, component, unseen)
            continue
        for value in unseen:
            subject = conjunction(case, [component], [value.value])
            n_combinations = held_out[component, value.value]
            yield finding_of(
                "unseen-value",
                case,
                f"{subject} occurs in {count(n_combinations, 'held-out combination')} of "
                f"{printable(case.name)} ({count(len(value.rows), 'row')}) but in no training "
                "row, so training cannot show what it contributes. Add training rows with this "
                "value, or remove its rows from the test split.",
                value.rows,
                subject,
            )


def _many_unseen(case: Case, component: int, unseen: Sequence[UnseenValue]) -> Finding:
    name = printable(case.table.names[component])
    values = case.table.values[component]
    examples = [printable(values[value.value]) for value in unseen[:N_EXAMPLES]]
    rows = np.unique(np.concatenate([value.rows for value in unseen]))
    return finding_of(
        "unseen-value",
        case,
        f"{len(unseen):,} values of {name} occur in held-out combinations but in no training row, "
        f"such as {', '.join(examples)}. They occur in {count(len(rows), 'row')} of "
        f"{printable(case.name)}; training cannot show what they contribute. Add training rows "
        "with these values, or remove their rows from the test split.",
        rows,
        name,
    )


def unseen_labels(case: Case) -> Iterator[Finding]:
    """Report labels of held-out combinations that no training row has."""
    table = case.table
    if table.label is None or table.labels is None:
        return
    rows = case.rows_of(case.held_out)
    training_labels = np.unique(table.label[table.split == TRAIN])
    unseen = np.setdiff1d(table.label[rows], training_labels)
    if len(unseen) > MOST_UNSEEN:
        unseen_rows = rows[np.isin(table.label[rows], unseen)]
        examples = [f"'{printable(table.labels[i])}'" for i in unseen[:N_EXAMPLES]]
        yield finding_of(
            "unseen-label",
            case,
            f"{len(unseen):,} labels occur in held-out combinations but in no training row, such "
            f"as {', '.join(examples)}. No learner can predict them in the "
            f"{count(len(unseen_rows), 'row')} of {printable(case.name)} that have them. Add "
            "training rows with these labels, or remove their rows from the test split.",
            unseen_rows,
            printable(table.target[0]),
        )
        return
    for i in unseen:
        label_rows = rows[table.label[rows] == i]
        n_combinations = len(np.unique(case.row_combination[label_rows]))
        label = printable(table.labels[i])
        yield finding_of(
            "unseen-label",
            case,
            f"label '{label}' occurs in {count(n_combinations, 'held-out combination')} of "
            f"{printable(case.name)} but in no training row, so no learner can predict it. Add "
            "training rows with this label, or remove its rows from the test split.",
            label_rows,
            f"{printable(table.target[0])} = {label}",
        )


def shortcuts(evidence: Evidence) -> Iterator[Finding]:
    """Report values and pairs whose targets in training mislead about the test split."""
    case = evidence.case
    for shortcut in evidence.shortcuts[:MOST_SHORTCUTS]:
        subject = conjunction(case, shortcut.components, shortcut.values)
        yield finding_of(
            "shortcut",
            case,
            f"{subject}: {_shift(case, shortcut)}. A learner that relies on this association is "
            "misled. Balance the targets between training and test.",
            _held_out_rows(case, [shortcut]),
            subject,
        )
    weaker = evidence.shortcuts[MOST_SHORTCUTS:]
    if weaker:
        cut = f" (the search keeps at most {MOST_CANDIDATES} candidates)"
        yield finding_of(
            "shortcut",
            case,
            f"{count(len(weaker), 'more value or pair', 'more values and pairs')} of "
            f"{printable(case.name)} {'has' if len(weaker) == 1 else 'have'} different targets in "
            f"training and in test, with effects from {number(weaker[0].effect)} to "
            f"{number(weaker[-1].effect)}; the strongest {MOST_SHORTCUTS} have their own "
            f"findings{cut if len(evidence.shortcuts) >= MOST_CANDIDATES else ''}. "
            "Balance their targets between training and test.",
            _held_out_rows(case, weaker),
            "weaker candidates",
        )


def _shift(case: Case, shortcut: Shortcut) -> str:
    name, p = printable(case.name), f"p = {shortcut.p_value:.1g}"
    if shortcut.label is None:
        target = printable(case.table.target[0]) if len(case.table.target) == 1 else "the target"
        return (
            f"the mean of {target} is {number(shortcut.train)} in training and "
            f"{number(shortcut.test)} in {name} (effect {number(shortcut.effect)} standard "
            f"deviations, {p})"
        )
    return (
        f"{percent(shortcut.train)} of combinations are '{printable(shortcut.label)}' in training, "
        f"{percent(shortcut.test)} in {name} (effect {number(shortcut.effect)}, {p})"
    )


def _held_out_rows(case: Case, shortcuts: Sequence[Shortcut]) -> Int[np.ndarray, " r"]:
    components = case.task.components[case.held_out]
    has = np.zeros(len(components), dtype=bool)
    for shortcut in shortcuts:
        has |= np.all(components[:, list(shortcut.components)] == np.array(shortcut.values), axis=1)
    return case.rows_of(case.held_out[has])


def not_held_out(case: Case) -> Iterator[Finding]:
    """Report test rows that repeat combinations of training."""
    rows, total = case.also_seen, int(np.sum(case.table.split == case.split))
    if not len(rows):
        return
    name = printable(case.name)
    message = (
        f"{len(rows):,} of {count(total, 'row')} of {name} "
        f"{'repeats' if len(rows) == 1 else 'repeat'} a combination that training contains, such "
        f"as {combination(case, int(case.row_combination[rows[0]]))}"
    )
    n_changed = _with_another_target(case)
    if n_changed:
        message += f"; {n_changed:,} of them with a target that training does not give it"
    message += (
        ". Nothing in this split is held out, so nothing else was tested. Hold out whole "
        "combinations."
        if len(rows) == total
        else ". These rows do not test unseen combinations, and no other number in this report "
        f"counts them. Remove them from the test split. If {name} is an ordinary validation "
        "split, exclude it from the test splits."
    )
    yield finding_of("not-held-out", case, message, rows)


def _with_another_target(case: Case) -> int:
    """Count the repeated test rows whose target no training row of their combination has."""
    table, rows = case.table, case.also_seen
    if table.label is not None:
        target = table.label
    elif table.targets.shape[1] == 1:
        target = np.unique(table.targets[:, 0], return_inverse=True)[1]
    else:
        target = np.unique(table.targets, axis=0, return_inverse=True)[1].reshape(-1)
    pairs = case.row_combination * (int(target.max()) + 1) + target
    return int(np.sum(~np.isin(pairs[rows], pairs[table.split == TRAIN])))


def thin_coverage(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    """Report held-out values that few training combinations have."""
    case = evidence.case
    thin = [
        value
        for value in evidence.coverage.values
        if value.n_test and 0 < value.n_train < settings.coverage
    ]
    if not thin:
        return
    listed = "; ".join(
        f"{conjunction(case, [value.component], [value.value])} ({value.n_train})"
        for value in thin[:MOST_THIN]
    )
    remaining = f"; and {len(thin) - MOST_THIN:,} more" if len(thin) > MOST_THIN else ""
    components = case.task.components[case.held_out]
    has: Bool[np.ndarray, " h"] = np.zeros(len(components), dtype=bool)
    for component, values in enumerate(case.table.values):
        is_thin = np.zeros(len(values), dtype=bool)
        is_thin[[value.value for value in thin if value.component == component]] = True
        has |= is_thin[components[:, component]]
    single = len(thin) == 1
    yield finding_of(
        "thin-coverage",
        case,
        f"{count(len(thin), 'value')} of {printable(case.name)} "
        f"{'occurs' if single else 'occur'} in fewer than {settings.coverage:g} distinct training "
        f"combinations: {listed}{remaining}. Add training combinations with "
        f"{'this value' if single else 'these values'}.",
        case.rows_of(case.held_out[has]),
    )


def conflicting_duplicates(case: Case, *, training: bool) -> Iterator[Finding]:
    """Report combinations whose rows, in training or in the test split, differ in their targets."""
    part = case.task.is_train if training else ~case.task.is_train
    places = np.flatnonzero(case.conflict & part)
    if not len(places):
        return
    split = TRAIN if training else case.split
    inside = np.flatnonzero(case.table.split == split)
    is_conflict = np.zeros(len(part), dtype=bool)
    is_conflict[places] = True
    rows = inside[is_conflict[case.row_combination[inside]]]
    name = case.table.split_names[split]
    message = (
        f"{count(len(places), 'combination')} of {printable(name)} "
        f"{'has' if len(places) == 1 else 'have'} rows with different targets, such as "
        f"{combination(case, int(places[0]))}; the audit uses their weighted mean. Check these "
        "rows."
    )
    if not case.has_labels:
        message += (
            " If the rows are repeated noisy measurements, this is expected: silence the rule "
            "with that reason."
        )
    rule = RULES["conflicting-duplicates"]
    yield Finding(rule.id, rule.severity, message, rows, name, "")
