"""Held-out combinations that training determines, with a drawn example of each kind."""

from __future__ import annotations

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence
from partwhole.audit.outputs.lines import one_line
from partwhole.audit.page.cells import states
from partwhole.audit.page.grid import LABELLED, draw
from partwhole.audit.page.marks import added_up, mark, targets
from partwhole.audit.page.signed import Mark, drawing
from partwhole.audit.page.words import combination, conjunction, exact, share
from partwhole.audit.wording import count, listed, printable, terms_of
from partwhole.limits.proofs.ambiguity import Ambiguity
from partwhole.limits.proofs.derivation import Derivation
from partwhole.limits.proofs.determination import Determination
from partwhole.page import Html, join, scroll, table, tag

# Largest number of a null function's terms in the search for rows that it affects.
SOUGHT = 24


def determined(evidence: Evidence) -> Html:
    """Return which held-out combinations training determines, with an example of each kind."""
    determination, case = evidence.determination, evidence.case
    if determination is None:
        return tag("p", "Nothing is held out, so determination was not tested.")
    verdict, sentence = _verdict(determination)
    is_open = ~determination.determined & ~determination.undecided
    parts: list[Html | None] = []
    plain = np.flatnonzero(is_open & ~determination.unseen)
    for places in (plain[:1], np.flatnonzero(determination.unseen)[:1]):
        for i in places.tolist():
            ambiguity = determination.ambiguity(i)
            parts.append(None if ambiguity is None else _ambiguity(case, i, ambiguity))
    parts.append(_blocks(evidence))
    for i in np.flatnonzero(determination.determined)[:1].tolist():
        derivation = determination.derivation(i)
        parts.append(None if derivation is None else _derivation(case, i, derivation))
    return join(
        tag(
            "p",
            "Do all such learners that agree on the training set also agree on the held-out "
            "combinations? If not, the answer depends on the learner, not on training.",
            class_="question",
        ),
        tag("p", verdict, ". ", sentence, class_="answer"),
        parts,
        [tag("p", remark, class_="quiet") for remark in determination.remarks],
    )


def _verdict(determination: Determination) -> tuple[Html, str]:
    """Return the verdict's mark, and the numbers of open and undecided combinations."""
    h, n_undecided = len(determination.determined), int(determination.undecided.sum())
    is_open = ~determination.determined & ~determination.undecided
    n_open = int(is_open.sum())
    all_combinations = count(h, "held-out combination")
    if not n_open and n_undecided:
        return mark("open", "?", "Not decided"), (
            f"It is not known whether training determines {n_undecided:,} of {all_combinations}; "
            "it determines the others."
        )
    if not n_open:
        target = f"all {all_combinations}" if h > 1 else "the held-out combination"
        return mark("holds", "✓", "Determined"), f"Training determines {target}."
    n_unseen = int(determination.unseen.sum())
    n_plain = int((is_open & ~determination.unseen).sum())
    reasons = []
    if n_unseen:
        part = "value"
        if determination.order > 1:
            part = f"set of at most {determination.order} values"
        reasons.append(f"{n_unseen:,} with a {part} that training lacks")
    if n_plain:
        reasons.append(f"{n_plain:,} although training has all of their parts")
    sentence = (
        f"Training does not determine {n_open:,} of {all_combinations} ({share(n_open / h)}): "
        f"{' and '.join(reasons)}."
    )
    if n_undecided:
        sentence += f" {n_undecided:,} more are not decided."
    if determination.free_dimensions:
        n_further = count(determination.free_dimensions, "further combination")
        sentence += f" At least {n_further} in training would be needed to determine them all."
    return mark("fails", "✗", "Not determined"), sentence


def _ambiguity(case: Case, i: int, ambiguity: Ambiguity) -> Html:
    task, row = case.task, int(case.held_out[i])
    name = combination(task, task.components[row])
    if len(ambiguity.terms) == 1:
        components, values, _ = ambiguity.terms[0]
        conjunction_name = conjunction(task.names, task.values, components, values)
        return join(
            tag("h4", f"An example that is open: {name}"),
            tag(
                "p",
                f"No training combination has {conjunction_name}. Its contribution to an output "
                "can be any number, because no training output depends on it.",
            ),
        )
    sentence = one_line(ambiguity.in_words(task))
    touched = np.zeros(len(task.components), dtype=int)
    for components, values, _ in ambiguity.terms[:SOUGHT]:
        touched += np.all(task.components[:, list(components)] == values, axis=1)
    train = np.flatnonzero(task.is_train)
    most_touched = train[np.argsort(-touched[train], kind="stable")[:5]]
    lines = []
    for r in [row, *most_touched.tolist()]:
        parts = [
            weight
            for components, values, weight in ambiguity.terms
            if np.all(task.components[r, list(components)] == values)
        ]
        added = " ".join(f"{'+' if w > 0 else '−'} {exact(abs(w))}" for w in parts) or "nothing"
        place = "held out" if r == row else "training"
        total = exact(round(sum(parts), 9) + 0.0)
        lines.append([combination(task, task.components[r]), place, added, total])
    return join(
        tag("h4", f"An example that is open: {name}"),
        tag("p", sentence[:1].upper() + sentence[1:] + "."),
        tag(
            "p",
            "Therefore any answer there is consistent with the training set. The table has the sum "
            "for this combination and for a few training combinations; all others in training also "
            "give 0.",
        ),
        table(
            ["Combination", "Split", "Terms", "Sum"],
            lines,
            caption="A change of the learned function that leaves all training outputs as they are",
            numbers=(3,),
        ),
    )


def _blocks(evidence: Evidence) -> Html | None:
    """Return the grid of two components in blocks of linked values, if there are several."""
    case, coverage = evidence.case, evidence.coverage
    task = case.task
    if task.n_components != 2 or max(task.n_values) > LABELLED or coverage.n_graph_components < 2:
        return None
    part = [
        np.array([v.graph_component for v in coverage.values if v.component == c]) for c in (0, 1)
    ]
    # Unseen values come last.
    order = [
        np.argsort(np.where(p < 0, len(p) + max(map(len, part)), p), kind="stable") for p in part
    ]
    shape = task.n_values
    seen, held_out = (
        np.bincount(
            np.ravel_multi_index(tuple(task.components[mask].T), shape),
            minlength=shape[0] * shape[1],
        ).reshape(shape)
        for mask in (task.is_train, ~task.is_train)
    )
    cell = states(seen, held_out)[np.ix_(*order)]
    rows, columns = ([printable(task.values[c][v], 40) for v in order[c]] for c in (0, 1))
    blocks = [
        listed(
            [printable(task.values[c][v], 30) for c in (0, 1) for v in order[c] if part[c][v] == g],
            10,
        )
        for g in range(min(coverage.n_graph_components, 6))
    ]
    text = "; ".join(f"block {g + 1}: {words}" for g, words in enumerate(blocks))
    return tag(
        "figure",
        scroll(
            draw(cell, rows, columns),
            label="Grid of cells, in blocks of linked values",
        ),
        tag(
            "figcaption",
            "The same grid, sorted into blocks of values that training links directly or through "
            f"other values: there are {coverage.n_graph_components:,} blocks. A held-out cell "
            "within a block is determined; a cell between two blocks is not. "
            f"{text[:1].upper()}{text[1:]}.",
        ),
        class_="blocks",
    )


def _derivation(case: Case, i: int, derivation: Derivation) -> Html:
    task, row = case.task, int(case.held_out[i])
    name = combination(task, task.components[row])
    y = task.targets.reshape(len(task.targets), -1)
    terms = list(zip(derivation.rows.tolist(), derivation.weights.tolist(), strict=True))
    names = targets(case, derivation.rows, y[derivation.rows, 0])
    marks = [
        Mark(tuple(task.components[r].tolist()), w, text)
        for (r, w), text in zip(terms, names, strict=True)
    ]
    marks.append(Mark(tuple(task.components[row].tolist()), None, "held out"))
    equation = one_line(derivation.in_words(task)).replace(" - ", " − ")
    drawn = drawing(
        task,
        marks,
        f"Training combinations that determine {name}: {equation}",
        "The derivation drawn",
    )
    single = y.shape[1] == 1
    total = float(derivation.weights @ y[derivation.rows, 0])
    check = None
    if single:
        sums = added_up(derivation.weights.tolist(), y[derivation.rows, 0].tolist(), total)
        check = tag("p", tag("code", sums), class_="sum")
    caption = (
        f"This equation holds for every learner that adds up one number for each "
        f"{terms_of(case.order)}, with f its output, so training determines {name}."
    )
    if single:
        caption += (
            f" One with these training targets gives {exact(total)}; the true target is "
            f"{exact(y[row, 0])}. A learner that memorises part of the training set carries over "
            "less: see the slope of its predictions."
        )
    return join(
        tag("h4", f"A determined example: {name}"),
        tag(
            "figure",
            tag("p", tag("code", equation), class_="sum"),
            drawn,
            check,
            tag("figcaption", caption),
            class_="derivation",
        ),
    )
