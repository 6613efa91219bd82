"""Whether the held-out targets can be answered at all, with the proof drawn where they can't."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence
from partwhole.audit.outputs.machine import MOST_ITEMS
from partwhole.audit.page.marks import SHOWN, added_up, mark, targets
from partwhole.audit.page.signed import Mark, drawing
from partwhole.audit.page.words import combination, conjunction, count, exact
from partwhole.audit.wording import one_line, shown
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.limits.proofs.certificates import Certificate
from partwhole.page import Html, join, table, tag

MOST, SIGNS = 200, 30_000
# Combinations that a sum can still be done over by hand.
BY_HAND = 40
# Entries of training that are looked through for conjunctions that were seen.
LOOKED_UP = 1e7


def solvable(evidence: Evidence) -> Html:
    """Say whether any sum of seen conjunctions answers the held-out combinations, and prove it."""
    found = evidence.solvability
    if found is None:
        return tag("p", "Nothing is held out, so there is nothing to answer.")
    verdict = {
        True: mark("holds", "✓", "Solvable"),
        False: mark("fails", "✗", "Not solvable"),
        None: mark("open", "?", "Not decided"),
    }[found.solvable]
    question = (
        "Is there any sum of the conjunctions that training has, of at most "
        f"{count(found.order, 'component')} each, that gives every held-out combination its "
        + ("label?" if evidence.case.has_labels else "target?")
    )
    certificate = None
    if found.certificate is not None:
        certificate = proof(evidence.case, found.certificate, evidence.case.order)
    return join(
        tag("p", question, class_="question"),
        tag(
            "p", verdict, ". ", _without(found.explain(evidence.case.table.labels)), class_="answer"
        ),
        certificate,
        [tag("p", each, class_="quiet") for each in found.remarks],
    )


def _without(sentence: str) -> str:
    """Drop the verdict's first words, which stand before the sentence already."""
    for opening in ("Not solvable: ", "Solvable in principle: ", "Not decided "):
        if sentence.startswith(opening):
            rest = sentence.removeprefix(opening)
            words = one_line(rest)
            return words if words.startswith("f") else words[:1].upper() + words[1:]
    return one_line(sentence)


def proof(case: Case, certificate: Certificate, order: int) -> Html:
    """Draw a certificate, and set out the sum that anyone can do again."""
    task = case.task
    arranged = np.argsort(-certificate.weights, kind="stable")
    rows, weights = certificate.rows[arranged], certificate.weights[arranged]
    wanted = certificate.wanted
    if wanted is None:
        wanted = task.targets.reshape(len(task.targets), -1)[certificate.rows, certificate.output]
    values = wanted[arranged]
    names = targets(case, rows, values)
    rivals = [certificate.rivals[i] for i in arranged.tolist()] if certificate.rivals else []
    marks = [
        Mark(tuple(task.components[r].tolist()), float(w), text)
        for r, w, text in zip(rows, weights, names, strict=True)
    ]
    words = ", ".join(
        f"{'plus' if w > 0 else 'minus'} {exact(abs(w))} at "
        f"{combination(task.values, task.components[r])} with target {exact(v)}"
        for r, w, v in list(zip(rows, weights, values, strict=True))[:SHOWN]
    )
    # With rivals the signs are those of several outputs, which one picture would mix up.
    drawn = None
    if not rivals:
        drawn = drawing(
            task, marks, f"Held-out combinations with signs and targets: {words}", "The proof drawn"
        )
    told = tag(
        "p",
        f"Targets{_numbers(case, certificate)} of "
        f"{count(len(set(rows.tolist())), 'held-out combination')}{_constant(case, rows)}, added "
        f"up with the signs shown, give {exact(certificate.total)}. For every sum of seen "
        f"conjunctions{_output(case, certificate)}, outputs that are added up so give 0, because "
        f"each conjunction that training has is there{' for every label' if rivals else ''} as "
        "much with + as with −. ",
        "So not all of these labels can be right."
        if case.has_labels
        else "So no such sum can have these targets.",
        _by_hand(len(rows), bool(rivals)),
    )
    formula = None
    if len(rows) <= SHOWN:
        outputs = certificate.sum_in_words(task, labels=case.table.labels).replace(" - ", " − ")
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
            tag("figcaption", told),
            class_="certificate",
        ),
        _sum(case, certificate, rows, weights, values, names, rivals),
        None if rivals else _balance(case, rows, weights, order),
    )


def _by_hand(n: int, rivals: bool) -> str | None:
    if n <= BY_HAND:
        return None
    # The JSON output does not name the rivals.
    where = f"the JSON output has all {n:,}"
    if rivals or n > MOST_ITEMS:
        where = f"in Python, the certificate in the evidence's solvability has all {n:,}"
    return (
        f" With {n:,} terms this cannot be checked by hand in comfort; {where} with every digit, "
        "for a program to check."
    )


def _numbers(case: Case, certificate: Certificate) -> str:
    """Say which numbers stand for labels, or which of several targets it is about."""
    labels, names = case.table.labels, case.table.target
    if certificate.rivals:
        return " (+1: the right label ahead of its rival)"
    if labels is None:
        return f" in {shown(names[certificate.output])}" if len(names) > 1 else ""
    pair = certificate.labels or (1, 0)
    one, other = (shown(labels[i], 24) for i in pair)
    return f" (+1 for {one}, −1 for {other})"


def _output(case: Case, certificate: Certificate) -> str:
    """Say which output f is, where there are several."""
    labels = case.table.labels
    if certificate.labels is not None and labels is not None:
        one, other = (shown(labels[i], 24) for i in certificate.labels)
        return f", with f the output for {one} minus that for {other}"
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
    task, labels = case.task, case.table.labels
    headings = ["Held-out combination", "Weight"]
    columns = [
        [combination(task.values, task.components[r]) for r in rows],
        [exact(w) for w in weights.tolist()],
    ]
    if case.has_labels:
        headings.append("Label")
        columns.append(names)
    if rivals and labels is not None:
        headings.append("Compared")
        columns.append([f"{shown(labels[a], 24)} − {shown(labels[b], 24)}" for a, b in rivals])
    headings += ["As a number" if case.has_labels else "Target", "Weight × number"]
    columns += [
        [exact(v) for v in values.tolist()],
        [exact(p) for p in (weights * values).tolist()],
    ]
    n = len(headings)
    return _folded(
        "The sum as a table",
        headings,
        [list(line) for line in zip(*columns, strict=True)],
        "The sum of the targets, to be done again by hand",
        (1, n - 2, n - 1),
        ["Total", *[""] * (n - 2), exact(certificate.total)],
        len(rows) <= 8,
    )


def _constant(case: Case, rows: np.ndarray) -> str:
    """Name the values that all these combinations share."""
    task = case.task
    same = np.flatnonzero(np.all(task.components[rows] == task.components[rows[0]], axis=0))
    if not len(same):
        return ""
    return " with " + conjunction(
        task.names, task.values, same.tolist(), task.components[rows[0], same].tolist()
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
    # Long tables of wide combinations would make the page too large to open.
    most = max(20, min(MOST, SIGNS // max(1, len(lines[0][0]))))
    if len(lines) > most:
        caption += f" (the first {most} of {len(lines):,} lines; what is said is of all)"
    body = table(headings, lines[:most], caption=caption, numbers=numbers, foot=foot)
    return tag("details", tag("summary", summary), body, open=opened)


def _balance(case: Case, rows: np.ndarray, weights: np.ndarray, order: int) -> Html | None:
    """List each conjunction of the certificate: with plus, with minus, and whether it was seen."""
    task = case.task
    sets = conjunction_sets(task.n_components, order)[1:]
    train = task.train_components
    if float(len(train)) * len(sets) > LOOKED_UP or len(rows) > MOST:
        return None
    own = task.components[rows]
    design = ConjunctionDesign.seen(train, sets, task.n_values).at(own)
    lines = []
    for chosen, index in zip(sets, design.index, strict=True):
        settings, inverse = np.unique(own[:, list(chosen)], axis=0, return_inverse=True)
        inverse = inverse.ravel()
        for k, setting in enumerate(settings):
            w = weights[inverse == k]
            seen = index[np.flatnonzero(inverse == k)[0]] >= 0
            plus, minus = float(w[w > 0].sum()), float(-w[w < 0].sum())
            lines.append(
                [
                    conjunction(task.names, task.values, chosen, setting.tolist()),
                    "seen" if seen else "never seen",
                    exact(plus),
                    exact(minus),
                    exact(plus - minus) if seen else "adds nothing",
                ]
            )
    return _folded(
        "Why the outputs give 0",
        ["Conjunction", "In training", "With +", "With −", "Left over"],
        lines,
        "Every conjunction of these combinations: what was never seen adds nothing, and what was "
        "seen cancels",
        (2, 3, 4),
        None,
        False,
    )
