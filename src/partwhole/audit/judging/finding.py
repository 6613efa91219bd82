"""A finding about one test split."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from partwhole.audit.case import Case
from partwhole.audit.rules import RULES, Finding, Severity

NO_ROWS = np.zeros(0, dtype=np.int64)


def finding_of(
    rule: str,
    case: Case,
    message: str,
    rows: Int[np.ndarray, " r"] = NO_ROWS,
    subject: str = "",
    severity: Severity | None = None,
) -> Finding:
    """Return a finding of a rule, by default with the rule's severity, on a test split."""
    return Finding(rule, severity or RULES[rule].severity, message, rows, case.name, subject)
