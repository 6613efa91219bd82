"""A gate for your own test suite: it fails, with the findings, when a split is not supported."""

from __future__ import annotations

from pathlib import Path

import partwhole as pw

TABLE = Path(__file__).with_name("combinations.csv")


def test_the_split_supports_its_test():
    report = pw.audit_split(TABLE, ["shape", "colour"], target="label", split="split")
    report.raise_if_unsupported()
