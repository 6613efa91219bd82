"""Whether all targets of a test split lie beyond those of training."""

from __future__ import annotations

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.wording import number, printable


def beyond_training(case: Case) -> str:
    """Return that all numbers of test are above, or below, those of training; else empty.

    Then what goes with the target in training fails in test, whatever it is.

    Examples
    --------
    >>> import numpy as np
    >>> from partwhole.audit.case import AuditTable
    >>> table = AuditTable(
    ...     np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[1.0], [2.0], [2.0], [4.0]]),
    ...     None, np.array([0, 0, 0, 1]), np.ones(4), ("a", "b"), (("a", "A"), ("b", "B")), ("y",),
    ...     None, ("train", "test"))
    >>> beyond_training(table.case(1, 1))
    'all targets of test are above those of training, which are at most 2'
    """
    table = case.table
    if table.label is not None or table.targets.shape[1] != 1:
        return ""
    train, test = (table.targets[table.split == part, 0] for part in (TRAIN, case.split))
    least, most = float(train.min()), float(train.max())
    name = f"all targets of {printable(case.name)} are"
    if test.min() > most:
        return f"{name} above those of training, which are at most {number(most)}"
    if test.max() < least:
        return f"{name} below those of training, which are at least {number(least)}"
    return ""
