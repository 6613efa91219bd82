"""Solvability of the held-out targets, with the proof drawn if they are not solvable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence
from partwhole.audit.outputs.lines import one_line
from partwhole.audit.outputs.machine import MOST_ITEMS
from partwhole.audit.page.marks import SHOWN, added_up, mark, targets
from partwhole.audit.page.signed import Mark, drawing
from partwhole.audit.page.words import combination, conjunction, exact
from partwhole.audit.remainder import without_unseen
from partwhole.audit.wording import count, explained, printable, terms_of
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.limits.proofs.certificates import Certificate
from partwhole.limits.proofs.solvability import Solvability
from partwhole.page import Html, join, table, tag

MOST, SIGNS = 200, 30_000
# Largest number of terms of a sum that can be checked by hand.
BY_HAND = 40
# Largest number of training entries that are searched for seen conjunctions.
LOOKED_UP = 1e7


def solvable(evidence: Evidence) -> Html:
    """Return whether a sum of seen conjunctions answers the held-out combinations, with proof."""
    solvability = evidence.solvability
    if solvability is None:
        return tag("p", "Nothing is held out, so solvability was not tested.")
    verdict = {
        True: mark("holds", "✓", "Solvable"),
        False: mark("fails", "✗", "Not solvable"),
        None: mark("open", "?", "Not decided"),
    }[solvability.solvable]
    question = (
        "Can a learner that adds up one number for each "
        f"{terms_of(solvability.order)} of training give every held-out combination its "
        + ("label?" if evidence.case.table.label_names is not None else "target?")
    )
    certificate = None
    if solvability.certificate is not None:
        certificate = proof(evidence.case, solvability.certificate, evidence.case.order)
    return join(
        tag("p", question, class_="question"),
        tag(
            "p",
            verdict,
            ". ",
            _without(explained(evidence.case, solvability)),
            class_="answer",
        ),
        tag("p", rest) if (rest := _rest(evidence, solvability)) else None,
        certificate,
        [tag("p", remark, class_="quiet") for remark in solvability.remarks],
    )


def _rest(evidence: Evidence, solvability: Solvability) -> str:
    """Return what remains where values and labels that training lacks are the reason."""
    rest = without_unseen(evidence, 1.0).solvability if solvability.solvable is False else None
    if rest is None or rest.solvable is False:
        return ""
    return (
        "This is for rows whose values or labels training lacks. Without them: "
        f"{one_line(explained(evidence.case, rest))}"
    )


def _without(sentence: str) -> str:
    """Return the sentence without the words that repeat the verdict."""
    for opening in ("Not solvable: ", "Solvable in principle: ", "Not decided "):
        if sentence.startswith(opening):
            remainder = sentence.removeprefix(opening)
            words = one_line(remainder)
            return words if words.startswith("f") else words[:1].upper() + words[1:]
    return one_line(sentence)


def proof(case: Case, certificate: Certificate, order: int) -> Html:
    """Return a drawing of a certificate, with the sum in full for checking."""
    task = case.task
    arranged = np.argsort(-certificate.weights, kind="stable")
    rows, weights = certificate.rows[arranged], certificate.weights[arranged]
    target_numbers = certificate.wanted
    if target_numbers is None:
        target_numbers = task.targets.reshape(len(task.targets), -1)[
            certificate.rows, certificate.output
        ]
    values = target_numbers[arranged]
    names = targets(case, rows, values)
    rivals = [certificate.rivals[i] for i in arranged.tolist()] if certificate.rivals else []
    marks = [
        Mark(tuple(task.components[r].tolist()), float(w), text)
        for r, w, text in zip(rows, weights, names, strict=True)
    ]
    words = ", ".join(
        f"{'plus' if w > 0 else 'minus'} {exact(abs(w))} at "
        f"{combination(task, task.components[r])} with target {exact(v)}"
        for r, w, v in list(zip(rows, weights, values, strict=True))[:SHOWN]
    )
    # With rivals the signs refer to several outputs, which one picture would mix.
    drawn = None
    if not rivals:
        drawn = drawing(
            task, marks, f"Held-out combinations with signs and targets: {words}", "The proof drawn"
        )
    explanation = tag(
        "p",
        f"Targets{_numbers(case, certificate)} of "
        f"{count(len(set(rows.tolist())), 'held-out combination')}{_constant(case, rows)}, summed "
        f"with the signs above, give {exact(certificate.total)}. For every such learner"
        f"{_output(case, certificate)}, its outputs summed in the same way give 0, because each "
        f"{terms_of(order)} of training occurs{' for every label' if rivals else ''} equally "
        "often with + and with −. ",
        "Therefore these labels cannot all be correct."
        if case.table.label_names is not None
        else "Therefore no such learner can give these targets.",
        _by_hand(len(rows), bool(rivals)),
    )
    formula = None
    if len(rows) <= SHOWN:
        outputs = certificate.sum_in_words(task, labels=case.table.label_names).replace(
            " - ", " − "
        )
        formula = [
            tag("p", tag("code", f"{one_line(outputs)} = 0"), " for every such learner"),
            tag(
                "p",
                tag("code", added_up(weights.tolist(), values.tolist(), certificate.total)),
                " by the targets, in the same order",
            ),
        ]
    return join(
        tag(
            "figure",
            drawn,
            tag("div", formula, class_="sum") if formula else None,
            tag("figcaption", explanation),
            class_="certificate",
        ),
        _sum(case, certificate, rows, weights, values, names, rivals),
        None if rivals else _balance(case, rows, weights, order),
    )


def _by_hand(n: int, rivals: bool) -> str | None:
    if n <= BY_HAND:
        return None
    # The JSON output does not contain the rivals.
    source = f"the JSON output contains all {n:,}"
    if rivals or n > MOST_ITEMS:
        source = f"in Python, evidence.solvability.certificate contains all {n:,}"
    return (
        f" With {n:,} terms this is tedious to check by hand; {source} with all digits, for a "
        "check by program."
    )


def _numbers(case: Case, certificate: Certificate) -> str:
    """Return the numbers that represent labels, or the name of the target if there are several."""
    labels, names = case.table.label_names, case.table.target
    if certificate.rivals:
        return " (+1: the correct label has a larger output than its rival)"
    if labels is None:
        return f" in {printable(names[certificate.output])}" if len(names) > 1 else ""
    pair = certificate.labels or (1, 0)
    positive, negative = (printable(labels[i], 24) for i in pair)
    return f" (+1 for {positive}, −1 for {negative})"


def _output(case: Case, certificate: Certificate) -> str:
    """Return the meaning of the output f if there are several outputs."""
    labels = case.table.label_names
    if certificate.labels is not None and labels is not None:
        positive, negative = (printable(labels[i], 24) for i in certificate.labels)
        return f", with f the output for {positive} minus that for {negative}"
    if certificate.rivals:
        return ", with f[a − b] the output for a minus that for b"
    return ""


def _sum(
    case: Case,
    certificate: Certificate,
    rows: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
    names: list[str],
    rivals: list[tuple[int, int]],
) -> Html:
    task, labels = case.task, case.table.label_names
    headings = ["Held-out combination", "Weight"]
    columns = [
        [combination(task, task.components[r]) for r in rows],
        [exact(w) for w in weights.tolist()],
    ]
    if case.has_labels:
        headings.append("Label")
        columns.append(names)
    if rivals and labels is not None:
        headings.append("Compared")
        columns.append(
            [f"{printable(labels[a], 24)} − {printable(labels[b], 24)}" for a, b in rivals]
        )
    headings += ["As a number" if labels is not None else "Target", "Weight × number"]
    columns += [
        [exact(v) for v in values.tolist()],
        [exact(p) for p in (weights * values).tolist()],
    ]
    n = len(headings)
    return _folded(
        "The sum as a table",
        headings,
        [list(line) for line in zip(*columns, strict=True)],
        "The sum of the targets, for checking by hand",
        (1, n - 2, n - 1),
        ["Total", *[""] * (n - 2), exact(certificate.total)],
        len(rows) <= 8,
    )


def _constant(case: Case, rows: np.ndarray) -> str:
    """Return the values that all these combinations share, in words."""
    task = case.task
    shared = np.flatnonzero(np.all(task.components[rows] == task.components[rows[0]], axis=0))
    if not len(shared):
        return ""
    return " with " + conjunction(
        task.names, task.values, shared.tolist(), task.components[rows[0], shared].tolist()
    )


def _folded(
    summary: str,
    headings: Sequence[str],
    lines: list[list[str]],
    caption: str,
    numbers: Sequence[int],
    foot: Sequence[str] | None,
    opened: bool,
) -> Html:
    # Long tables of wide combinations would make the page too large.
    limit = max(20, min(MOST, SIGNS // max(1, len(lines[0][0]))))
    if len(lines) > limit:
        caption += f" (the first {limit} of {len(lines):,} lines; the total is over all)"
    body = table(headings, lines[:limit], caption=caption, numbers=numbers, foot=foot)
    return tag("details", tag("summary", summary), body, open=opened)


def _balance(case: Case, rows: np.ndarray, weights: np.ndarray, order: int) -> Html | None:
    """Return each conjunction's weights with plus and with minus, and whether it was seen."""
    task = case.task
    sets = conjunction_sets(task.n_components, order)[1:]
    train = task.train_components
    if float(len(train)) * len(sets) > LOOKED_UP or len(rows) > MOST:
        return None
    combinations = task.components[rows]
    design = ConjunctionDesign.seen(train, sets, task.n_values).at(combinations)
    lines = []
    for subset, index in zip(sets, design.index, strict=True):
        settings, inverse = np.unique(combinations[:, list(subset)], axis=0, return_inverse=True)
        inverse = inverse.ravel()
        for k, setting in enumerate(settings):
            w = weights[inverse == k]
            seen = index[np.flatnonzero(inverse == k)[0]] >= 0
            plus, minus = float(w[w > 0].sum()), float(-w[w < 0].sum())
            lines.append(
                [
                    conjunction(task.names, task.values, subset, setting.tolist()),
                    "seen" if seen else "never seen",
                    exact(plus),
                    exact(minus),
                    exact(plus - minus) if seen else "contributes nothing",
                ]
            )
    return _folded(
        "Why the outputs sum to 0",
        ["Values", "In training", "With +", "With −", "Left over"],
        lines,
        "All numbers that such a learner adds up here: unseen ones contribute nothing, and seen "
        "ones cancel",
        (2, 3, 4),
        None,
        False,
    )
