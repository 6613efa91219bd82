"""What the audit says of a design's rows: learners better than guesses, and shortcuts."""

from __future__ import annotations

import numpy as np

from partwhole.audit.case import AuditTable, Case
from partwhole.audit.designing.split_design import SplitDesign
from partwhole.audit.evidence import Shortcut
from partwhole.audit.prediction.prediction import predict_splits
from partwhole.audit.shortcuts import shortcuts

# Combinations of larger designs are many, and guesses as good as learners are rare.
MOST_COMBINATIONS = 600
ROUNDING = 1e-9


def is_learnable(design: SplitDesign) -> bool:
    """Return whether the audit predicts more than guesses for every test split; true of large ones.

    Determined answers may be predicted wrong: learners memorise a part of training answers, and
    long sums add up little of the rest.
    """
    if len(design.train) + len(design.test) > MOST_COMBINATIONS:
        return True
    return all(
        prediction is None
        or any(p.balanced_accuracy > prediction.chance + ROUNDING for p in prediction.points)
        for prediction in predict_splits(_cases(design, as_rows=False))
    )


def misleading(design: SplitDesign) -> tuple[tuple[Shortcut, ...], ...]:
    """Return what the audit names as shortcuts of each test split, its first first.

    Parameters
    ----------
    design : SplitDesign
    """
    return tuple(
        tuple(item for item in shortcuts(case) if item.misleads)
        for case in _cases(design, as_rows=True)
    )


def _cases(design: SplitDesign, *, as_rows: bool) -> list[Case]:
    """Return the cases of a design's test splits: of its rows, or of combinations with weights."""
    times = design.copies if as_rows else np.ones_like(design.copies)
    rows = np.concatenate([np.repeat(design.train, times, axis=0), design.test])
    weights = np.ones(len(rows))
    if not as_rows:
        weights[: len(design.train)] = design.copies
    target = design.names.index(design.target)
    of, label = np.unique(rows[:, target], return_inverse=True)
    targets = 2.0 * np.eye(len(of))[label] - 1.0
    n = len(rows) - len(design.test)
    table = AuditTable(
        rows,
        targets[:, 1:] if len(of) == 2 else targets,
        label,
        np.concatenate([np.zeros(n, dtype=np.int64), design.grade]),
        weights,
        design.names,
        design.values,
        ("target",),
        tuple(design.values[target][i] for i in of.tolist()),
        ("train", *(f"test-{k + 1}" for k in range(int(design.grade.max())))),
    )
    return [table.case(k, design.order) for k in range(1, len(table.split_names))]
