"""Words of the report for readers in a hurry: counts, and why something is missing."""

from __future__ import annotations

import audit_samples
import numpy as np
import pandas as pd
import pytest

from partwhole.audit import audit_split
from partwhole.audit.wording import ORDERS, determined_share, explained


def flat(text: str) -> str:
    return " ".join(text.split())


def sums(n: int = 6, labels: bool = False) -> pd.DataFrame:
    """Return sums of two parts, the last quarter of their table held out."""
    frame = pd.DataFrame([(a, b) for a in range(n) for b in range(n)], columns=["a", "b"])
    total = frame["a"] + frame["b"]
    frame["y"] = np.where(total > n - 1, "more", "less") if labels else total
    held_out = (frame["a"] >= n // 2) & (frame["b"] >= n // 2)
    return frame.assign(split=np.where(held_out, "test", "train"))


def test_order_is_explained_before_findings_use_it():
    frame = sums()
    frame.loc[frame["a"] == 5, "split"] = "test"
    report = audit_split(frame, ["a", "b"], "y", "split")
    for text in (flat(report.to_text()), report.to_html()):
        assert text.index(ORDERS) < text.index("unseen-value")


@pytest.mark.parametrize(
    ("n", "words"),
    [(0, "0 %"), (1, "1 of 250"), (2, "2 of 250"), (3, "1 %"), (125, "50 %"),
     (249, "249 of 250"), (250, "100 %")],
)  # fmt: skip
def test_shares_next_to_none_and_all_are_counts(n, words):
    assert determined_share(n / 250, 0, 250) == words


def test_a_count_is_said_once():
    frame = pd.DataFrame([(a, b) for a in range(15) for b in range(15)], columns=["a", "b"])
    frame["y"] = frame.sum(axis=1)
    # Pairs of a value each, but for the first two, of which three pairs determine the fourth.
    is_joined = (frame["a"] == 0) & (frame["b"] == 1)
    frame["split"] = np.where((frame["a"] == frame["b"]) | is_joined, "train", "test")
    report = audit_split(frame, ["a", "b"], "y", "split", add=0)
    text = report.to_text()
    assert "\nDetermined: 1 of 209 held-out combinations.\n" in text
    (row,) = [line for line in text.splitlines() if line.startswith("        1  ")]
    assert "  1 of 209  " in row
    assert "1 of 209" in report.to_html()


def test_a_fit_that_does_not_matter_is_not_needed():
    frame = pd.DataFrame([(a, b, c) for a in range(3) for b in range(3) for c in range(3)],
                         columns=list("abc"))  # fmt: skip
    frame["y"] = frame.sum(axis=1)
    # Training has no pair of a held-out combination.
    frame["split"] = np.where((frame[list("abc")] == 2).sum(axis=1) > 1, "test", "train")
    report = audit_split(frame, list("abc"), "y", "split", add=0)
    ladder = report.evidence[0].ladder
    assert [rung.possible > 0 for rung in ladder] == [True, False]
    lines = report.to_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("    order"))
    assert ["not needed" in line for line in lines[place + 1 : place + 3]] == [False, True]
    assert (
        report.to_html().count("<td>not needed</td>") + report.to_html().count('">not needed</td>')
        == 1
    )


def test_a_test_that_is_too_small_says_so():
    frame = sums(4)
    frame["split"] = np.where((frame["a"] == 3) & (frame["b"] == 3), "test", "train")
    report = audit_split(frame, ["a", "b"], "y", "split", add=0)
    (one,) = report.evidence
    assert explained(one.case, one.solvability).endswith(
        "That says nothing of the targets here, as the test is small: training apart, such "
        "learners could give any on this one combination; hold out more combinations."
    )
    frame = sums(6)
    (one,) = audit_split(frame, ["a", "b"], "y", "split", add=0).evidence
    assert "too small" not in explained(one.case, one.solvability)


def test_solvable_without_unseen_values_is_said_beside_no():
    frame = sums(6, labels=False)
    # An unseen value in a square whose sums do not add up.
    lines = [(8, 0, 0, "test"), (8, 5, 0, "test"), (9, 0, 0, "test"), (9, 5, 1, "test")]
    frame = pd.concat([frame, pd.DataFrame(lines, columns=frame.columns)], ignore_index=True)
    report = audit_split(frame, ["a", "b"], "y", "split", add=0)
    (one,) = report.evidence
    page = report.to_html()
    assert (one.solvability.solvable, one.remainder.solvability.solvable) == (False, True)
    assert "<strong>no (yes without unseen values)</strong>" in page
    assert "unseen values)</strong>" not in audit_samples.faulty().to_html()
