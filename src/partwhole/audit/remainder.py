"""What remains of a test split without the values and labels that training lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from partwhole._types import Real
from partwhole.audit.case import LEFT_OUT, TRAIN, Case
from partwhole.audit.evidence import Evidence, Remainder
from partwhole.limits.proofs.solvability import Solvability


def remainder(
    case: Case, solved: Solvability, solve: Callable[[Case], Solvability]
) -> Remainder | None:
    """Return the held-out combinations whose values and labels training has.

    Parameters
    ----------
    case : Case
        With held-out combinations.
    solved : Solvability
        Of all of them.
    solve : function of a Case
        The solvability of a case, asked for only where that of all does not answer it.

    Returns
    -------
    Remainder or None
        None if training has all values and labels, or none of the combinations remains.
    """
    table, task, held_out = case.table, case.task, case.held_out
    kept = np.ones(len(held_out), dtype=bool)
    for seen, tested in zip(task.train_components.T, task.test_components.T, strict=True):
        kept &= np.isin(tested, seen)
    if table.label is not None:
        rows = case.rows_of(held_out)
        unknown = rows[~np.isin(table.label[rows], table.label[table.split == TRAIN])]
        kept &= ~np.isin(held_out, case.row_combination[unknown])
    if kept.all() or not kept.any():
        return None
    left_out = case.rows_of(held_out[~kept])
    if not solved.solvable:
        split = table.split.copy()
        split[left_out] = LEFT_OUT
        rest = replace(table, split=split).case(case.split, case.order)
        solved = _renumbered(solve(rest), rest, case)
    weights = table.weights
    share = weights[left_out].sum() / weights[case.rows_of(held_out)].sum()
    return Remainder(left_out, float(share), kept, solved)


def _renumbered(solved: Solvability, rest: Case, case: Case) -> Solvability:
    """Return the verdict on some combinations of a case with the numbers they have in the case."""
    if solved.certificate is None:
        return solved
    rows = np.flatnonzero(rest.row_combination >= 0)
    number = np.zeros(len(rest.weights), dtype=np.int64)
    number[rest.row_combination[rows]] = case.row_combination[rows]
    proof = replace(solved.certificate, rows=number[solved.certificate.rows])
    return replace(solved, task=case.task, certificate=proof)


def without_unseen(evidence: Evidence, allowed: Real) -> Evidence:
    """Return the evidence on the remainder, if what is left out is at most this share of rows.

    Parameters
    ----------
    evidence : Evidence
    allowed : float
        Share of the held-out rows.

    Returns
    -------
    Evidence
        Unchanged if there is no remainder, or more is left out.
    """
    rest, determination = evidence.remainder, evidence.determination
    if rest is None or determination is None or rest.share > allowed:
        return evidence
    # What is left out counts as determined, so that it is no reason for a finding.
    determination = replace(
        determination,
        determined=determination.determined | ~rest.kept,
        undecided=determination.undecided & rest.kept,
    )
    return replace(evidence, solvability=rest.solvability, determination=determination)
