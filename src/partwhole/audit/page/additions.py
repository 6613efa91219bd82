"""Combinations to add to training first."""

from __future__ import annotations

import numpy as np

from partwhole.audit.additions.search import OBJECTIVE
from partwhole.audit.case import Case
from partwhole.audit.evidence import Addition, Evidence
from partwhole.audit.page.sections import remarks
from partwhole.audit.page.words import combination, number, share
from partwhole.audit.wording import COLLECT, MOVE, count, determined_changes
from partwhole.page import Html, join, table, tag

AIM = (
    "Combinations are chosen one at a time, each given those before it. The choice does not use "
    "their targets; it maximises the share of the test split's combinations that training then "
    "determines, and second how much of what is learned carries over to held-out combinations "
    "where it carries over least (the larger the smallest eigenvalue below, the more)."
)


def none_is_needed(evidence: Evidence) -> bool:
    """Return whether training determines all that is held out."""
    return evidence.determination is not None and bool(evidence.determination.determined.all())


def additions(evidence: Evidence) -> Html:
    """Return the combinations to add to training first, with the effect of each."""
    search = evidence.additions
    if search is None or none_is_needed(evidence):
        return tag(
            "p",
            "None is needed: training determines all combinations of test.",
            class_="answer",
        )
    # At the end of the list are those that settle nothing more.
    shares = [search.determined, *(step.determined for step in search.steps)]
    n_settling = 1 + max(
        (i for i in range(len(search.steps)) if shares[i + 1] > shares[i]), default=-1
    )
    settling = search.steps[:n_settling]
    if not settling:
        return join(
            tag("p", "None is recommended.", class_="answer"), remarks(search.remarks, None)
        )
    starts = [(search.determined, search.eigenvalue)]
    starts += [(step.determined, step.eigenvalue) for step in settling[:-1]]
    return join(
        tag("p", AIM),
        tag("p", _further_additions(evidence, n_settling), class_="answer")
        if settling[-1].determined < 1
        else None,
        _added(evidence.case, list(zip(starts, settling, strict=True))),
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


def _further_additions(evidence: Evidence, n_steps: int) -> str:
    """Return the number of additions that determine all, if those listed do not."""
    free = None
    if evidence.determination is not None:
        free = evidence.determination.free_dimensions
    if free is not None and free > n_steps:
        return f"To determine all takes at least {free:,} additions; {n_steps} are listed."
    are = "is" if n_steps == 1 else "are"
    return f"{count(n_steps, 'addition')} {are} listed; to determine all takes more."


def _added(case: Case, changes: list[tuple[tuple[float, float], Addition]]) -> Html:
    """Return a table of additions with the quantities that change."""
    shares = [changes[0][0][0], *(step.determined for _, step in changes)]
    of_shares = determined_changes(shares, len(case.held_out), share)
    has_eigenvalue = np.isfinite([[before[1], step.eigenvalue] for before, step in changes]).any()
    lines = []
    for i, (before, step) in enumerate(changes, 1):
        name = f"{i}. {combination(case.task, step.values)}"
        lines.append(
            [
                join(name, tag("small", MOVE if step.held_out else COLLECT)),
                " → ".join(of_shares[i - 1]),
                *(
                    [f"{number(before[1], 3)} → {number(step.eigenvalue, 3)}"]
                    if has_eigenvalue
                    else []
                ),
            ]
        )
    return table(
        ["Add", "Determined", *(["Smallest eigenvalue"] if has_eigenvalue else [])],
        lines,
        caption="Combinations to add to training first",
        numbers=(1, 2),
    )
