"""The verdict without rows whose values or labels training lacks."""

from __future__ import annotations

import pandas as pd
import pytest

from partwhole import audit_split
from partwhole.audit import Settings

COLUMNS = ["shape", "colour"]


def table(product=False):
    """Return sums of parts on a 5 x 5 grid, and a tested shape that training lacks."""
    rows = [
        (f"s{a}", f"c{b}", float(a * b if product else a + b),
         "test" if a > 2 and b > 2 else "train")
        for a in range(5) for b in range(5)
    ]  # fmt: skip
    rows += [("new", f"c{b}", 9.0, "test") for b in range(2)]
    return pd.DataFrame(rows, columns=[*COLUMNS, "y", "split"])


def test_the_rest_is_judged_by_itself():
    report = audit_split(table(), COLUMNS, "y", "split", add=0)
    assert report.verdict == "unsupported"
    assert report.headline == (
        "Not supported if parts add up (order 1): training lacks shape = new. Supported "
        "without the 2 of 6 held-out rows with values or labels training lacks"
    )
    (evidence,) = report.evidence
    rest = evidence.remainder
    assert rest.left_out.tolist() == [25, 26]
    assert rest.share == 2 / 6
    assert rest.kept.tolist() == [True] * 4 + [False] * 2
    summary = report.to_dict()["splits"][0]["remainder"]
    assert summary == {
        "rows_left_out": 2, "share_left_out": 2 / 6, "determined": 1.0, "solvable": True
    }  # fmt: skip


def test_a_share_of_unseen_rows_may_be_allowed():
    report = audit_split(table(), COLUMNS, "y", "split", add=0, settings=Settings(unseen=0.4))
    assert report.verdict == "supported"
    assert report.headline == (
        "Supported if parts add up (order 1), but for 2 rows with values or labels training lacks"
    )
    (finding,) = [one for one in report.findings if one.rule == "unseen-value"]
    assert finding.severity == "warning"
    strict = audit_split(table(), COLUMNS, "y", "split", add=0, settings=Settings(unseen=0.3))
    assert strict.verdict == "unsupported"


def test_what_is_wrong_with_the_rest_stays_wrong():
    report = audit_split(
        table(product=True), COLUMNS, "y", "split", add=0, settings=Settings(unseen=0.4)
    )
    assert "not-solvable" in {one.rule for one in report.errors}
    plain = audit_split(table(product=True), COLUMNS, "y", "split", add=0)
    assert (
        "Nor without the 2 of 6 held-out rows with values or labels training lacks: parts do not"
        in (plain.headline)
    )
    # The share is that of the same combinations.
    (finding,) = [one for one in plain.errors if one.rule == "not-solvable"]
    assert finding.message.startswith(
        "No learner of order 1 can answer all 4 held-out combinations of test whose values and "
        "labels training has."
    )


def test_rows_of_the_rest_that_are_left_open_are_counted():
    """Two shapes and two colours that training has in two combinations of their own."""
    alone = [("s8", "c8", 0.0, "train"), ("s9", "c9", 0.0, "train"), ("s8", "c9", 0.0, "test")]
    rows = pd.DataFrame([*alone, alone[-1]], columns=[*COLUMNS, "y", "split"])
    frame = pd.concat([table(), rows], ignore_index=True)
    report = audit_split(frame, COLUMNS, "y", "split", add=0)
    # Two rows are of the new shape, two join combinations that nothing else joins.
    n_left = (frame["split"] == "test").sum() - 2
    assert report.headline.endswith(
        "training lacks shape = new. Without the 2 of "
        f"{n_left + 2} held-out rows with values or labels training lacks, "
        f"{n_left - 2} of the {n_left} rows left are determined"
    )


def test_labels_that_training_lacks_are_left_out_too():
    frame = table().iloc[:25]
    frame["y"] = ["odd" if shape in ("s1", "s3") else "even" for shape in frame["shape"]]
    frame.loc[24, "y"] = "neither"
    report = audit_split(frame, COLUMNS, "y", "split", add=0)
    assert report.evidence[0].remainder.left_out.tolist() == [24]
    assert report.headline.startswith(
        "Not supported if parts add up (order 1): training lacks the label 'neither'. Supported "
        "without the 1 of 4 held-out rows with values or labels training lacks"
    )


@pytest.mark.parametrize("frame", [table().iloc[:25], table().query("split == 'train'").assign(
    split=["train"] * 20 + ["test"])])  # fmt: skip
def test_nothing_is_left_out_where_training_has_all(frame):
    report = audit_split(frame, COLUMNS, "y", "split", add=0)
    assert report.evidence[0].remainder is None


def test_the_text_names_no_finding_that_is_not_there():
    frame = table().iloc[:25]
    extra = [("new", "c3", 0.0, "test"), ("new", "c4", 50.0, "test")]
    frame = pd.concat([frame, pd.DataFrame(extra, columns=frame.columns)], ignore_index=True)
    report = audit_split(frame, COLUMNS, "y", "split", add=0)
    assert report.evidence[0].solvability.solvable is False
    assert not [finding for finding in report.findings if finding.rule == "not-solvable"]
    text = " ".join(report.to_text().split())
    assert "the finding not-solvable" not in text
    assert (
        "Not solvable with the rows whose values or labels training lacks. Without them: "
        "Solvable in principle: a learner of order 1 can give the held-out targets"
    ) in text
    product = audit_split(table(product=True), COLUMNS, "y", "split", add=0)
    assert "Not solvable; the finding not-solvable gives the proof." in product.to_text()


def test_a_proof_about_the_rest_names_rows_of_the_table():
    frame = table(product=True)
    # Rows of the value that training lacks come first, so that combinations are numbered otherwise.
    frame = pd.concat([frame[frame["shape"] == "new"], frame[frame["shape"] != "new"]])
    frame = frame.reset_index(drop=True)
    report = audit_split(frame, COLUMNS, "y", "split", add=0)
    (finding,) = [finding for finding in report.findings if finding.rule == "not-solvable"]
    named = frame.loc[list(finding.rows), COLUMNS]
    assert set(map(tuple, named.to_numpy())) == {(a, b) for a in ("s3", "s4") for b in ("c3", "c4")}
    for shape, colour in named.to_numpy():
        assert f"f({shape}, {colour})" in finding.message
