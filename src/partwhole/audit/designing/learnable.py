"""Whether learners are predicted to answer a design's test splits better than guesses."""

from __future__ import annotations

import numpy as np

from partwhole.audit.case import AuditTable
from partwhole.audit.designing.split_design import SplitDesign
from partwhole.audit.prediction.prediction import predict_splits

# Combinations of larger designs are many, and guesses as good as learners are rare.
MOST_COMBINATIONS = 600
ROUNDING = 1e-9


def is_learnable(design: SplitDesign) -> bool:
    """Return whether the audit predicts more than guesses for every test split; true of large ones.

    Determined answers may be predicted wrong: learners memorise a part of training answers, and
    long sums add up little of the rest.
    """
    rows = np.concatenate([design.train, design.test])
    if len(rows) > MOST_COMBINATIONS:
        return True
    target = design.names.index(design.target)
    of, label = np.unique(rows[:, target], return_inverse=True)
    targets = 2.0 * np.eye(len(of))[label] - 1.0
    n = len(design.train)
    table = AuditTable(
        rows,
        targets[:, 1:] if len(of) == 2 else targets,
        label,
        np.concatenate([np.zeros(n, dtype=np.int64), design.grade]),
        np.concatenate([design.copies, np.ones(len(design.test))]).astype(float),
        design.names,
        design.values,
        ("target",),
        tuple(design.values[target][i] for i in of.tolist()),
        ("train", *(f"test-{k + 1}" for k in range(int(design.grade.max())))),
    )
    cases = [table.case(k, design.order) for k in range(1, len(table.split_names))]
    return all(
        prediction is None
        or any(p.balanced_accuracy > prediction.chance + ROUNDING for p in prediction.points)
        for prediction in predict_splits(cases)
    )
