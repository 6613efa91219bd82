"""Which held-out combinations training settles, with an example of each kind drawn."""

from __future__ import annotations

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence
from partwhole.audit.page.cells import states
from partwhole.audit.page.grid import LABELLED, draw
from partwhole.audit.page.marks import added_up, mark, targets
from partwhole.audit.page.signed import Mark, drawing
from partwhole.audit.page.words import combination, conjunction, count, exact, listed, share
from partwhole.audit.wording import one_line, shown
from partwhole.limits.proofs.ambiguity import Ambiguity
from partwhole.limits.proofs.derivation import Derivation
from partwhole.page import Html, join, scroll, table, tag

# Conjunctions by which rows are sought that a null function adds to and takes from.
SOUGHT = 24


def settled(evidence: Evidence) -> Html:
    """Say which held-out combinations training settles, with an example of each kind."""
    found, case = evidence.determination, evidence.case
    if found is None:
        return tag("p", "Nothing is held out, so there is nothing to settle.")
    h = len(found.determined)
    open_ = ~found.determined & ~found.undecided
    no = int(open_.sum())
    if found.undecided.any() and not no:
        verdict = mark("open", "?", "Not decided")
        told = (
            f"{int(found.undecided.sum()):,} of {count(h, 'held-out combination')} may be or not; "
            "the others are determined."
        )
    elif not no:
        verdict = mark("holds", "✓", "Determined")
        told = f"All {h:,} held-out combinations are." if h > 1 else "The held-out combination is."
    else:
        verdict = mark("fails", "✗", "Not determined")
        unseen, rest = int(found.unseen.sum()), int((open_ & ~found.unseen).sum())
        why = []
        if unseen:
            of = "value" if found.order == 1 else f"conjunction of at most {found.order} components"
            why.append(f"{unseen:,} with a {of} that training lacks")
        if rest:
            why.append(f"{rest:,} though all that they are made of was seen")
        told = (
            f"{no:,} of {count(h, 'held-out combination')} ({share(no / h)}) "
            f"{'is' if no == 1 else 'are'} not: {' and '.join(why)}."
        )
        if found.undecided.any():
            told += f" {int(found.undecided.sum()):,} more are not decided."
        if found.free_dimensions:
            told += (
                f" It takes at least {count(found.free_dimensions, 'further combination')} in "
                "training to settle them all."
            )
    parts: list[Html | None] = []
    plain = np.flatnonzero(open_ & ~found.unseen)
    for which in (plain[:1], np.flatnonzero(found.unseen)[:1]):
        for i in which.tolist():
            ambiguity = found.ambiguity(i)
            parts.append(None if ambiguity is None else _ambiguity(case, i, ambiguity))
    parts.append(_blocks(evidence))
    for i in np.flatnonzero(found.determined)[:1].tolist():
        derivation = found.derivation(i)
        parts.append(None if derivation is None else _derivation(case, i, derivation))
    return join(
        tag(
            "p",
            "Do all sums of conjunctions that agree on training agree on the held-out "
            "combinations, too? Where they don't, what a learner answers is its own choice.",
            class_="question",
        ),
        tag("p", verdict, ". ", told, class_="answer"),
        parts,
        [tag("p", each, class_="quiet") for each in found.remarks],
    )


def _ambiguity(case: Case, i: int, found: Ambiguity) -> Html:
    task, row = case.task, int(case.held_out[i])
    name = combination(task.values, task.components[row])
    if len(found.terms) == 1:
        components, values, _ = found.terms[0]
        what = conjunction(task.names, task.values, components, values)
        return join(
            tag("h4", f"An example that is open: {name}"),
            tag(
                "p",
                f"No training combination has {what}. What it adds to an output can be any number "
                "at all: nothing in training changes with it.",
            ),
        )
    told = one_line(found.in_words(task))
    touched = np.zeros(len(task.components), dtype=int)
    for components, values, _ in found.terms[:SOUGHT]:
        touched += np.all(task.components[:, list(components)] == values, axis=1)
    train = np.flatnonzero(task.is_train)
    chosen = train[np.argsort(-touched[train], kind="stable")[:5]]
    lines = []
    for r in [row, *chosen.tolist()]:
        parts = [
            weight
            for components, values, weight in found.terms
            if np.all(task.components[r, list(components)] == values)
        ]
        added = " ".join(f"{'+' if w > 0 else '−'} {exact(abs(w))}" for w in parts) or "nothing"
        place = "held out" if r == row else "training"
        total = exact(round(sum(parts), 9) + 0.0)
        lines.append([combination(task.values, task.components[r]), place, added, total])
    return join(
        tag("h4", f"An example that is open: {name}"),
        tag("p", told[:1].upper() + told[1:] + "."),
        tag(
            "p",
            "So any answer there goes with the same training. The table does the sum for this "
            "combination and for a few of training; the others of training give 0 as well.",
        ),
        table(
            ["Combination", "Where", "Added and subtracted", "Together"],
            lines,
            caption="A change that training does not notice",
            numbers=(3,),
        ),
    )


def _blocks(evidence: Evidence) -> Html | None:
    """Draw two components in blocks of values that hang together, where there are several."""
    case, coverage = evidence.case, evidence.coverage
    task = case.task
    if task.n_components != 2 or max(task.n_values) > LABELLED or coverage.n_graph_components < 2:
        return None
    part = [
        np.array([v.graph_component for v in coverage.values if v.component == c]) for c in (0, 1)
    ]
    # Values that were never seen come last.
    order = [
        np.argsort(np.where(p < 0, len(p) + max(map(len, part)), p), kind="stable") for p in part
    ]
    shape = task.n_values
    seen, held = (
        np.bincount(
            np.ravel_multi_index(tuple(task.components[which].T), shape),
            minlength=shape[0] * shape[1],
        ).reshape(shape)
        for which in (task.is_train, ~task.is_train)
    )
    cell = states(seen, held)[np.ix_(*order)]
    rows, columns = ([shown(task.values[c][v], 40) for v in order[c]] for c in (0, 1))
    blocks = [
        listed(
            [shown(task.values[c][v], 30) for c in (0, 1) for v in order[c] if part[c][v] == g], 10
        )
        for g in range(min(coverage.n_graph_components, 6))
    ]
    text = "; ".join(f"block {g + 1}: {words}" for g, words in enumerate(blocks))
    return tag(
        "figure",
        scroll(
            draw(cell, rows, columns),
            label="Grid of cells, in blocks of values that hang together",
        ),
        tag(
            "figcaption",
            "The same grid, sorted into blocks of values that training joins, directly or by way "
            f"of others: there are {coverage.n_graph_components:,}. A held-out cell in a block is "
            f"determined; one that lies between two blocks is not. {text[:1].upper()}{text[1:]}.",
        ),
        class_="blocks",
    )


def _derivation(case: Case, i: int, found: Derivation) -> Html:
    task, row = case.task, int(case.held_out[i])
    name = combination(task.values, task.components[row])
    y = task.targets.reshape(len(task.targets), -1)
    terms = list(zip(found.rows.tolist(), found.weights.tolist(), strict=True))
    names = targets(case, found.rows, y[found.rows, 0])
    marks = [
        Mark(tuple(task.components[r].tolist()), w, text)
        for (r, w), text in zip(terms, names, strict=True)
    ]
    marks.append(Mark(tuple(task.components[row].tolist()), None, "held out"))
    told = one_line(found.in_words(task)).replace(" - ", " − ")
    drawn = drawing(
        task, marks, f"Training combinations that settle {name}: {told}", "The derivation drawn"
    )
    single = y.shape[1] == 1
    total = float(found.weights @ y[found.rows, 0])
    check = None
    if single:
        sums = added_up(found.weights.tolist(), y[found.rows, 0].tolist(), total)
        check = tag("p", tag("code", sums), class_="sum")
    caption = (
        f"Every sum of conjunctions of at most {count(case.order, 'component')} obeys this, so "
        f"training settles {name}."
    )
    if single:
        caption += (
            f" One that has the targets shown gives {exact(total)} there; its true target is "
            f"{exact(y[row, 0])}. A learner that stores part of training by combination carries "
            "less over: see the leak slope."
        )
    return join(
        tag("h4", f"An example that is settled: {name}"),
        tag(
            "figure",
            tag("p", tag("code", told), class_="sum"),
            drawn,
            check,
            tag("figcaption", caption),
            class_="derivation",
        ),
    )
