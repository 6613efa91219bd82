"""The table of what is predicted, row by row from the arrays it stands for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from partwhole.audit import audit_split


def table(labels):
    rng = np.random.default_rng(labels)
    rows = [(a, b) for a in "pqrs" for b in "tuvw"]
    frame = pd.DataFrame(rows, columns=["first", "second"])
    score = rng.normal(size=16)
    frame["y"] = score if not labels else np.array(list("xyz"))[rng.integers(0, labels, 16)]
    frame["w"] = rng.uniform(1.0, 2.0, 16)
    frame["split"] = np.where(rng.random(16) < 0.4, "test", "train")
    return frame


@pytest.mark.parametrize("labels", [0, 2, 3])
def test_the_frame_has_every_held_out_combination(labels):
    frame = table(labels)
    report = audit_split(frame, ["first", "second"], "y", "split", weights="w", add=0)
    (evidence,) = report.evidence
    found = evidence.to_frame().set_index(["first", "second"])
    held_out = frame[frame["split"] == "test"].set_index(["first", "second"])
    assert sorted(found.index) == sorted(held_out.index)
    found = found.loc[held_out.index]
    np.testing.assert_allclose(found["weight"], held_out["w"], rtol=1e-15)
    columns = [name for name in found if name.startswith("prediction")]
    assert len(columns) == (3 if labels == 3 else 1)
    case, prediction = evidence.case, evidence.prediction
    outputs = prediction.points[prediction.reference].outputs.reshape(len(held_out), -1)
    place = [
        tuple(case.task.values[c][i] for c, i in enumerate(row))
        for row in case.task.components[case.held_out]
    ]
    np.testing.assert_array_equal(found.loc[place, columns], outputs)
    if not labels:
        np.testing.assert_array_equal(found["target"], held_out["y"])
        assert "label" not in found
        return
    assert found["label"].tolist() == held_out["y"].tolist()
    if labels == 3:
        best = np.array(list("xyz"))[found[columns].to_numpy().argmax(axis=1)]
    else:
        best = np.where(found[columns[0]] > 0, "y", "x")
    assert found["predicted label"].tolist() == best.tolist()
    # The accuracy that is told, from the table alone.
    right = (found["label"] == found["predicted label"]).to_numpy()
    told = prediction.points[prediction.reference].accuracy
    assert np.average(right, weights=found["weight"]) == pytest.approx(told, rel=1e-12)


def test_what_is_printed_is_short():
    report = audit_split(table(0), ["first", "second"], "y", "split")
    (evidence,) = report.evidence
    things = [evidence, evidence.case, evidence.case.table, evidence.prediction]
    assert all(len(repr(thing)) < 200 for thing in [*things, *evidence.prediction.points])
    assert repr(evidence).startswith(f"Evidence(test: {len(evidence.case.held_out)} held out")


@pytest.mark.parametrize("zero", [0.0, 1e6, -273.15e5])
def test_a_verdict_does_not_depend_on_where_the_zero_of_targets_lies(zero):
    """Parities of two parts: sums of them say the opposite of what is held out."""
    frame = pd.DataFrame(
        [(f"a{a}", f"b{b}", float((a + b) % 2)) for a, b in product(range(4), range(4))]
    )
    frame.columns = ["a", "b", "y"]
    frame["split"] = np.where(frame.index.isin([5, 10]), "test", "train")
    frame["y"] += zero
    report = audit_split(frame, ["a", "b"], "y", "split", add=0)
    assert "no-better-than-constant" in {item.rule for item in report.errors}


@pytest.mark.parametrize("zero", [0.0, 1e6, 1e9])
def test_where_the_mean_of_training_is_right_no_prediction_is_poor(zero):
    frame = pd.DataFrame([(f"a{a}", f"b{b}", float(a + b)) for a, b in product(range(3), range(3))])
    frame.columns = ["a", "b", "y"]
    frame["split"] = np.where(frame.index == 4, "test", "train")
    frame["y"] += zero
    assert audit_split(frame, ["a", "b"], "y", "split", add=0).verdict == "supported"
