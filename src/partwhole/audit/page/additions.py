"""Combinations to add to training first."""

from __future__ import annotations

import numpy as np

from partwhole.audit.additions.search import OBJECTIVE
from partwhole.audit.case import Case
from partwhole.audit.evidence import Addition, Additions, Evidence
from partwhole.audit.page.sections import remarks
from partwhole.audit.page.words import combination, number, share
from partwhole.audit.wording import count, determined_changes
from partwhole.page import Html, join, table, tag


def additions(evidence: Evidence, search: Additions) -> Html:
    """Return the combinations to add to training first, with the effect of each."""
    if not search.steps:
        return join(
            tag("p", "None is recommended.", class_="answer"), remarks(search.remarks, None)
        )
    starts = [(search.determined, search.eigenvalue)]
    starts += [(step.determined, step.eigenvalue) for step in search.steps[:-1]]
    changes = list(zip(starts, search.steps, strict=True))
    needed = sum(before[0] < 1.0 for before, _ in changes)
    settling, further_changes = changes[:needed], changes[needed:]
    return join(
        tag("p", _aim(settling != [])),
        tag("p", _further_additions(evidence, search), class_="answer")
        if search.steps[-1].determined < 1
        else None,
        _added(evidence.case, settling, 1, "Combinations to add to training first"),
        _added(
            evidence.case,
            further_changes,
            1 + len(settling),
            "Further combinations, so that more of what is learned carries over"
            if settling
            else "Combinations to add, so that more of what is learned carries over",
        ),
        tag(
            "details",
            tag("summary", "Criteria of the search"),
            tag("p", OBJECTIVE),
            tag(
                "p",
                "The eigenvalue can decrease when an addition determines more combinations, "
                "because it is then the smallest over more contrasts.",
            ),
        ),
        tag(
            "p",
            f"Tried at each step: {search.candidates:,} of {search.of:,} unseen combinations; "
            f"{search.evaluations:,} evaluations in {search.seconds:.2g} s.",
            class_="quiet",
        ),
        remarks(search.remarks),
    )


def _aim(settling: bool) -> str:
    words = (
        "Combinations are chosen one at a time, each given those before it. The choice does not "
        "use their targets; it maximises "
    )
    leak = (
        "how much of what is learned carries over to held-out combinations where it carries over "
        "least (the larger the smallest eigenvalue below, the more)."
    )
    if not settling:
        return f"{words}{leak} Training already determines every held-out combination."
    return (
        f"{words}the share of the test split's combinations that training then determines, and "
        f"second {leak}"
    )


def _further_additions(evidence: Evidence, search: Additions) -> str:
    """Return the number of additions that determine all, if those listed do not."""
    n_steps, free = len(search.steps), None
    if evidence.determination is not None:
        free = evidence.determination.free_dimensions
    if free is not None and free > n_steps:
        return f"To determine all takes at least {free:,} additions; {n_steps} are listed."
    are = "is" if n_steps == 1 else "are"
    return f"{count(n_steps, 'addition')} {are} listed; to determine all takes more."


def _added(
    case: Case,
    changes: list[tuple[tuple[float, float], Addition]],
    first: int,
    caption: str,
) -> Html | None:
    """Return a table of additions with the quantities that change."""
    if not changes:
        return None
    has_share = any(before[0] < 1.0 for before, _ in changes)
    shares = [changes[0][0][0], *(step.determined for _, step in changes)]
    of_shares = determined_changes(shares, len(case.held_out), share)
    has_eigenvalue = np.isfinite([[before[1], step.eigenvalue] for before, step in changes]).any()
    lines = []
    for i, (before, step) in enumerate(changes):
        name = f"{first + i}. {combination(case.task, step.values)}"
        lines.append(
            [
                join(name, tag("small", "held out: move it into training"))
                if step.held_out
                else name,
                *([" → ".join(of_shares[i])] if has_share else []),
                *(
                    [f"{number(before[1], 3)} → {number(step.eigenvalue, 3)}"]
                    if has_eigenvalue
                    else []
                ),
            ]
        )
    return table(
        [
            "Add",
            *(["Determined"] if has_share else []),
            *(["Smallest eigenvalue"] if has_eigenvalue else []),
        ],
        lines,
        caption=caption,
        numbers=(1, 2),
    )
