"""What to add to training first."""

from __future__ import annotations

import numpy as np

from partwhole.audit.additions.search import OBJECTIVE
from partwhole.audit.case import Case
from partwhole.audit.evidence import Addition, Additions, Evidence
from partwhole.audit.page.sections import remarks
from partwhole.audit.page.words import combination, count, number, share
from partwhole.page import Html, join, table, tag


def additions(evidence: Evidence, found: Additions) -> Html:
    """List which combinations to add to training first, and what each changes."""
    if not found.steps:
        return join(tag("p", "None is recommended.", class_="answer"), remarks(found.remarks, None))
    starts = [(found.determined, found.eigenvalue)]
    starts += [(each.determined, each.eigenvalue) for each in found.steps[:-1]]
    changes = list(zip(starts, found.steps, strict=True))
    needed = sum(before[0] < 1.0 for before, _ in changes)
    settling, further = changes[:needed], changes[needed:]
    return join(
        tag("p", _aim(settling != [])),
        tag("p", _more(evidence, found), class_="answer")
        if found.steps[-1].determined < 1
        else None,
        _added(evidence.case, settling, 1, "What to add to training first"),
        _added(
            evidence.case,
            further,
            1 + len(settling),
            "Further ones, to reduce the leak" if settling else "What to add, to reduce the leak",
        ),
        tag(
            "details",
            tag("summary", "What the search goes by"),
            tag("p", OBJECTIVE),
            tag(
                "p",
                "The eigenvalue can fall when an addition determines more: it is then the least "
                "over more contrasts.",
            ),
        ),
        tag(
            "p",
            f"Tried at each step: {found.candidates:,} of {found.of:,} unseen combinations; "
            f"{found.evaluations:,} evaluations in {found.seconds:.2g} s.",
            class_="quiet",
        ),
        remarks(found.remarks),
    )


def _aim(settling: bool) -> str:
    words = (
        "One combination at a time, each chosen given those before it. Their labels are not "
        "known, so what counts is "
    )
    leak = (
        "the smallest eigenvalue that governs the leak: the larger it is, the more of what "
        "training shows carries over."
    )
    if not settling:
        return f"{words}{leak} Training determines every held-out combination as it stands."
    return (
        f"{words}the share of the test split's combinations that training then settles, and next "
        f"{leak}"
    )


def _more(evidence: Evidence, found: Additions) -> str:
    """Say how many it takes to settle all, where those shown do not."""
    shown_, free = len(found.steps), None
    if evidence.determination is not None:
        free = evidence.determination.free_dimensions
    if free is not None and free > shown_:
        return f"{shown_} of at least {free:,} that it takes to settle all are shown."
    are = "is" if shown_ == 1 else "are"
    return f"{count(shown_, 'addition')} {are} shown; to settle all takes more."


def _added(
    case: Case,
    changes: list[tuple[tuple[float, float], Addition]],
    first: int,
    caption: str,
) -> Html | None:
    """Show additions, with what each changes of what changes at all."""
    if not changes:
        return None
    told = any(before[0] < 1.0 for before, _ in changes)
    low = np.isfinite([[before[1], step.eigenvalue] for before, step in changes]).any()
    lines = []
    for i, (before, step) in enumerate(changes, first):
        name = f"{i}. {combination(case.task.values, step.values)}"
        lines.append(
            [
                join(name, tag("small", "held out now: move it into training"))
                if step.held_out
                else name,
                *([f"{share(before[0])} → {share(step.determined)}"] if told else []),
                *([f"{number(before[1], 3)} → {number(step.eigenvalue, 3)}"] if low else []),
            ]
        )
    return table(
        ["Add", *(["Determined"] if told else []), *(["Smallest eigenvalue"] if low else [])],
        lines,
        caption=caption,
        numbers=(1, 2),
    )
