"""Whether held-out labels can be answered where a table has too many for an output each.

Each label is hashed to a few numbers. If sums of parts give these numbers they give the indicator
of every label; if none does, outputs whose largest is the right one may still exist. They are asked
of the labels that are held out, as the outputs of all others may be arbitrarily low. Derived here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.reading.targets import MOST_LABELS, MOST_SIGNS
from partwhole.limits.proofs.solvability import Solvability
from partwhole.tasks import Task


def of_largest_output(
    case: Case, exact: Solvability, ask: Callable[[Task], Solvability]
) -> Solvability:
    """Return whether some sums have the right label as their largest output.

    Parameters
    ----------
    case : Case
        Of a table whose labels are hashed.
    exact : Solvability
        Of the numbers, that no sum gives.
    ask : function of a Task
        The solvability of labels.

    Returns
    -------
    Solvability
        Not decided for more than 1,000 held-out labels.
    """
    table, rows = case.table, case.rows_of(case.held_out)
    assert table.label is not None
    labels, column = np.unique(table.label[rows], return_inverse=True)
    size = len(case.task.components)
    if len(labels) > MOST_LABELS or size * len(labels) > MOST_SIGNS:
        remark = (
            f"No sum of parts gives 1 for the right one of all {len(labels):,} held-out labels "
            "and 0 for the others; whether the largest of such outputs can be right is not asked "
            "of so many."
        )
        return replace(exact, solvable=None, certificate=None, remarks=(remark,))
    if len(labels) == 1:
        return replace(exact, solvable=True, certificate=None, kind="classification")
    counts = np.zeros((size, len(labels)))
    np.add.at(counts, (case.row_combination[rows], column), table.weights[rows])
    # Of training only its combinations matter.
    counts[case.task.is_train, 0] = 1.0
    targets = 2.0 * counts / counts.sum(axis=1, keepdims=True) - 1.0
    solved = ask(replace(case.task, targets=targets))
    proof = solved.certificate
    if proof is None:
        return solved
    pairs = tuple((int(labels[i]), int(labels[j])) for i, j in proof.rivals)
    two = proof.labels and (int(labels[proof.labels[0]]), int(labels[proof.labels[1]]))
    return replace(solved, certificate=replace(proof, labels=two, rivals=pairs))
