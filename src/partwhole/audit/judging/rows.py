"""Findings that the table's rows alone decide: values, labels, shortcuts, repeats and conflicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Int

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import Evidence, RareGroup, Shortcut, UnseenValue
from partwhole.audit.judging.finding import finding_of
from partwhole.audit.prediction.graded import grading_of
from partwhole.audit.reading.columns import as_number
from partwhole.audit.rules import RULES, Finding
from partwhole.audit.settings import Settings
from partwhole.audit.target_range import beyond_training
from partwhole.audit.wording import (
    alone,
    alone_predicts,
    by_itself,
    combination,
    conjunction,
    count,
    number,
    percent,
    printable,
    shifted,
)

# The strongest shortcuts have a finding each; those that overlap with them mostly say the same.
MOST_SHORTCUTS = 2
# Unseen values of a component that are all named; of more there are examples.
MOST_UNSEEN, N_EXAMPLES = 5, 3
# Columns of the target that are named.
MOST_TARGETS = 4
# Values of thin coverage that are named.
MOST_THIN = 5


def unseen_values(evidence: Evidence) -> Iterator[Finding]:
    """Report held-out values that no training row has."""
    case = evidence.case
    held_out = {(value.component, value.value): value.n_test for value in evidence.coverage.values}
    repeated = [value for value in evidence.coverage.unseen_values if _is_repeated(case, value)]
    if repeated:
        yield _repeated_values(case, repeated)
    others = [value for value in evidence.coverage.unseen_values if value not in repeated]
    for component in range(case.table.n_components):
        unseen = [value for value in others if value.component == component]
        if len(unseen) > 1:
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
                f"value, or remove its rows from {printable(case.name)}."
                f"{_of_its_order(case, value)}",
                value.rows,
                subject,
            )


def _is_repeated(case: Case, value: UnseenValue) -> bool:
    """Return whether a value says that a shared one occurs several times in a row."""
    if case.table.occurrences is None:
        return False
    text = case.table.names[value.component].rpartition(": ")[2]
    return str(case.table.values[value.component][value.value]).endswith(f" x {text}")


def _repeated_values(case: Case, unseen: Sequence[UnseenValue]) -> Finding:
    """Report shared values that occur more often in a held-out row than in any of training."""
    table = case.table
    named = [printable(table.values[value.component][value.value]) for value in unseen]
    if len(named) > MOST_UNSEEN:
        named = [*named[:N_EXAMPLES], f"{len(named) - N_EXAMPLES:,} more"]
    rows = np.unique(np.concatenate([value.rows for value in unseen]))
    places = np.unique(case.row_combination[rows])
    subject = conjunction(case, [unseen[0].component], [unseen[0].value])
    message = (
        f"{', '.join(named)}: {'this occurs' if len(unseen) == 1 else 'these occur'} in "
        f"{count(len(places), 'held-out combination')} of {printable(case.name)} "
        f"({count(len(rows), 'row')}) but in no training row, so training cannot show what a value "
        "contributes that stands in several of the columns. Add such rows to training, or remove "
        f"them from {printable(case.name)}."
    )
    by_counts = case.determined_by_counts
    n_determined = 0 if by_counts is None else int(by_counts[np.isin(case.held_out, places)].sum())
    if n_determined:
        message += (
            " If your learner adds up one embedding for each value, twice is two times once: "
            f"training then determines {n_determined:,} of these combinations."
        )
        if n_determined == len(places):
            message += " The finding does not apply to it; silence the rule with that reason."
    return finding_of("unseen-value", case, message, rows, subject)


def _many_unseen(case: Case, component: int, unseen: Sequence[UnseenValue]) -> Finding:
    name = printable(case.table.names[component])
    values = case.table.values[component]
    named = [printable(values[value.value]) for value in unseen]
    if len(named) <= MOST_UNSEEN:
        such_as = f": {', '.join(named)}"
    else:
        such_as = f", such as {', '.join(named[:N_EXAMPLES])}"
    rows = np.unique(np.concatenate([value.rows for value in unseen]))
    return finding_of(
        "unseen-value",
        case,
        f"{len(unseen):,} values of {name} occur in held-out combinations but in no training row"
        f"{such_as}. They occur in {count(len(rows), 'row')} of "
        f"{printable(case.name)}; training cannot show what they contribute. Add training rows "
        f"with these values, or remove their rows from {printable(case.name)}."
        f"{_of_their_order(case, unseen)}",
        rows,
        name,
    )


def _neighbours(case: Case, value: UnseenValue) -> tuple[Hashable | None, Hashable | None] | None:
    """Return the nearest values of training before and after one; None without an order."""
    positions, table = case.table.positions, case.table
    if not positions or positions[value.component] is None:
        return None
    seen = np.unique(table.components[table.split == TRAIN, value.component])
    before, after = seen[seen < value.value], seen[seen > value.value]
    values = table.values[value.component]
    return (
        values[before[-1]] if len(before) else None,
        values[after[0]] if len(after) else None,
    )


def _of_its_order(case: Case, value: UnseenValue) -> str:
    """Say between which values of training a value of an ordered component lies."""
    neighbours = _neighbours(case, value)
    if neighbours is None:
        return ""
    before, after = neighbours
    if before is None or after is None:
        word, end = ("before", after) if before is None else ("after", before)
        return (
            f" It comes {word} {printable(end)}, the {'first' if before is None else 'last'} value "
            "of training, so that there is nothing to interpolate."
        )
    return (
        f" It lies between {printable(before)} and {printable(after)}, which training has: "
        f"{_that_interpolates(case)} If yours does, "
        f"{_join(case, value.component)} to count it with one of them."
    )


def _of_their_order(case: Case, unseen: Sequence[UnseenValue]) -> str:
    neighbours = [_neighbours(case, value) for value in unseen]
    between = sum(pair is not None and None not in pair for pair in neighbours)
    if not between:
        return ""
    return (
        f" {between:,} of the {len(unseen):,} values lie between values of training: "
        f"{_that_interpolates(case)} If yours does, "
        f"{_join(case, unseen[0].component)} to count them with these."
    )


def _that_interpolates(case: Case) -> str:
    predicted = ", and the predictions are of one" * (
        case.table.has_target and grading_of(case) is not None
    )
    return f"a learner to which near values are alike interpolates{predicted}."


def _join(case: Case, component: int) -> str:
    """Return how values are joined with their neighbours."""
    name, values = printable(case.table.names[component]), case.table.values[component]
    if all(as_number(str(value)) is not None for value in values):
        return f"put {name} in bins (--bins {name}=10)"
    return f"rename values of {name}"


def unseen_labels(case: Case) -> Iterator[Finding]:
    """Report labels of held-out combinations that no training row has."""
    table = case.table
    label, names = table.label, table.label_names
    if label is None or names is None:
        return
    rows = case.rows_of(case.held_out)
    training_labels = np.unique(label[table.split == TRAIN])
    # Rows of values that training lacks have a finding already.
    seen = np.ones(len(rows), dtype=bool)
    train = table.components[table.split == TRAIN]
    for tested, values in zip(table.components[rows].T, train.T, strict=True):
        seen &= np.isin(tested, values)
    unseen = np.setdiff1d(label[rows[seen]], training_labels)
    if len(unseen) > MOST_UNSEEN:
        unseen_rows = rows[np.isin(label[rows], unseen)]
        examples = [f"'{printable(names[i])}'" for i in unseen[:N_EXAMPLES]]
        weights = table.weights
        lacking = rows[~np.isin(label[rows], training_labels)]
        most = max(1.0 - weights[lacking].sum() / weights[rows].sum(), 0.0)
        with_values = ", with those of unseen values," * (len(lacking) > len(unseen_rows))
        yield finding_of(
            "unseen-label",
            case,
            f"{len(unseen):,} labels occur in held-out combinations but in no training row, such "
            f"as {', '.join(examples)}. No learner can predict them in the "
            f"{count(len(unseen_rows), 'row')} of {printable(case.name)} that have them, so that"
            f"{with_values} at most {percent(most)} of held-out rows can be right. Add "
            "training rows with these labels, or remove their rows from the test split.",
            unseen_rows,
            printable(table.target[0]),
        )
        return
    for i in unseen:
        label_rows = rows[label[rows] == i]
        n_combinations = len(np.unique(case.row_combination[label_rows]))
        name = printable(names[i])
        yield finding_of(
            "unseen-label",
            case,
            f"label '{name}' occurs in {count(n_combinations, 'held-out combination')} of "
            f"{printable(case.name)} but in no training row, so no learner can predict it. Add "
            "training rows with this label, or remove its rows from the test split.",
            label_rows,
            f"{printable(table.target[0])} = {name}",
        )


def shortcuts(evidence: Evidence) -> Iterator[Finding]:
    """Report components that alone predict the targets of training, and fail in test."""
    case = evidence.case
    misleading = [item for item in evidence.shortcuts if item.misleads]
    beyond = beyond_training(case)
    for shortcut in misleading[:MOST_SHORTCUTS]:
        name = alone(case, shortcut)
        its, s = ("its", "s") if len(shortcut.components) == 1 else ("their", "")
        add = f"Add training rows in which {its} values have other targets"
        if beyond:
            add = (
                f"But {beyond}, so that whatever goes with these in training fails. Add training "
                "rows with such targets"
            )
        closely = "how closely the answers of your network follow"
        if case.has_labels:
            closely = "in how many test rows your network answers"
        examples = "".join(
            f" For example, {shifted(case, shortcut, item)}." for item in shortcut.examples[:1]
        )
        yield finding_of(
            "shortcut",
            case,
            f"{alone_predicts(case, shortcut)}.{_counted(case, shortcut)}{examples} A learner that "
            f"relies on {name} is misled. {add}; or, if the split is meant to test this, keep it "
            f"and report {closely} what {by_itself(case, shortcut)} predict{s}.",
            case.compared,
            name,
        )
    more = misleading[MOST_SHORTCUTS:]
    if more:
        does = "explains"
        listed = [f"{alone(case, item)} {percent(item.train)}" for item in more]
        if case.has_labels:
            does = "gives the right answer in, and of test"
            listed = [
                f"{words}, in test {percent(item.test)}"
                for words, item in zip(listed, more, strict=True)
            ]
        yield finding_of(
            "shortcut",
            case,
            f"{count(len(more), 'more shortcut')} in {printable(case.name)} (with the share of "
            f"training that each {does}): {'; '.join(listed)}.",
            case.compared,
            "more shortcuts",
        )
    left, n_sets = evidence.not_searched
    if left:
        yield finding_of(
            "not-decided",
            case,
            f"Whether {left:,} of {count(n_sets, 'set')} of components are shortcuts of "
            f"{printable(case.name)} is not known, because they were not looked at in time. Raise "
            "the time limit, or name fewer components.",
            severity="warning",
        )


def correlations(evidence: Evidence) -> Iterator[Finding]:
    """Report components that predict the targets though others suffice, and their rare groups."""
    case, table = evidence.case, evidence.case.table
    for shortcut in evidence.shortcuts:
        if not shortcut.superfluous:
            continue
        name = alone(case, shortcut)
        if shortcut.spurious:
            yield finding_of(
                "spurious-correlation",
                case,
                f"{alone_predicts(case, shortcut)}. The other components predict training as well "
                f"without it, so {printable(case.name)} cannot show whether a learner relies on "
                f"{name}. Test on rows in which it and the target are not correlated.",
                case.compared,
                name,
            )
        labels = table.labels or table.two_numbers
        if not shortcut.rare or labels is None:
            continue
        (component,) = shortcut.components
        groups = [
            f"{count(group.n_train, 'row')} of {conjunction(case, [component], [group.value])} "
            f"with '{_named(labels[group.label])}' ({number(group.expected)} expected "
            f"without a correlation; {group.n_test:,} in {printable(case.name)})"
            for group in shortcut.rare
        ]
        further = f"; and {len(groups) - N_EXAMPLES:,} more groups" * (len(groups) > N_EXAMPLES)
        yield finding_of(
            "group-imbalance",
            case,
            f"Training has {'; '.join(groups[:N_EXAMPLES])}{further}. Learners tend to fail on "
            "such groups. Add training rows of them, or give them larger weights.",
            _rows_of_groups(case, component, shortcut.rare),
            name,
        )


def _counted(case: Case, shortcut: Shortcut) -> str:
    """Return which rows a shortcut's shares are of, where these are not all; empty if they are."""
    table, rows, words = case.table, case.compared, ""
    if table.label is None or table.labels is None:
        return words
    name, train = printable(case.name), np.unique(table.label[table.split == TRAIN])
    known = np.isin(table.label[rows], train)
    some = len(rows) < np.count_nonzero(table.split == case.split)
    if some or not known.all():
        has = "" if known.all() else " whose label training has"
        counted = count(int(known.sum()), "held-out row" if some else "row")
        words = f" In {name} this counts the {counted}{has}."
    lacking = np.setdiff1d(train, table.label[rows])
    if len(lacking) and not shortcut.at_values:
        lack = "these rows lack" if words else f"{name} lacks"
        labels = f"labels that {lack}"
        if len(lacking) == 1:
            labels = f"'{printable(table.labels[lacking[0]])}', a label that {lack},"
        words += f" Training rows with {labels} do not count."
    return words


def _rows_of_groups(
    case: Case, component: int, groups: Sequence[RareGroup]
) -> Int[np.ndarray, " r"]:
    table, rows = case.table, np.flatnonzero(case.table.split == case.split)
    label = table.label
    if label is None:
        assert table.two_numbers is not None
        label = table.targets[:, 0] == table.two_numbers[1]
    has = np.zeros(len(rows), dtype=bool)
    for group in groups:
        has |= (table.components[rows, component] == group.value) & (label[rows] == group.label)
    return rows[has]


def _named(label: Hashable) -> str:
    """Return a label, or one of two numbers, in words."""
    return number(label) if isinstance(label, float) else printable(label)


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
        ". This split has no new combination, so it says nothing of generalisation to them. Hold "
        "out whole combinations."
        if len(rows) == total
        else ". These rows do not test unseen combinations. Report rows with seen and with unseen "
        "combinations apart."
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
        f"{conjunction(case, [value.component], [value.value])} (in {value.n_train})"
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
        f"{'has' if len(places) == 1 else 'have'} rows that differ in "
        f"{', '.join(map(printable, case.table.target[:MOST_TARGETS]))}, such as "
        f"{combination(case, int(places[0]))}; the audit uses their weighted mean. Check these "
        "rows."
    )
    message += (
        " If the rows are repeated noisy measurements or answers, this is expected: say how noisy "
        "(--noise with a number, or estimate), or silence the rule with that reason."
    )
    rule = RULES["conflicting-duplicates"]
    yield Finding(rule.id, rule.severity, message, rows, name, "")
