"""The measured point of an audit against readouts that are trained on the features."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from noisy_recordings import grid, population
from sklearn.linear_model import Ridge

import partwhole as pw

GRID = grid(4, 4)
CORNER = (GRID >= 2).all(axis=1)
SUMS = GRID.sum(axis=1) - 3.0


def recording(seed, *, neurons=20, m=20):
    """Responses with shares .4, .4 and .2 of parts and conjunctions, and noise as large."""
    rng = np.random.default_rng(seed)
    _, means = population(rng, neurons=neurons)
    index = np.repeat(np.arange(16), m)
    frame = pd.DataFrame(GRID[index], columns=["shape", "colour"])
    frame["sum"] = SUMS[index]
    frame["kind"] = np.array(["low", "middle", "high"])[GRID.sum(axis=1) * 3 // 7][index]
    frame["split"] = np.where(CORNER[index], "test", "train")
    return frame, means[index] + rng.normal(size=(len(index), neurons)), means


def audited(frame, responses, target, **options):
    report = pw.audit_split(
        frame, ["shape", "colour"], target, "split", features=responses, add=0, **options
    )
    (evidence,) = report.evidence
    return report, evidence.prediction


def test_the_measured_point_is_what_readouts_answer():
    """With many trials of few neurons, where the trace of the noise as a ridge is far off."""
    gaps, of_kernel = [], []
    for seed in range(6):
        frame, responses, means = recording(seed)
        _, prediction = audited(frame, responses, "sum")
        point = prediction.points[-1]
        direct = pw.measures.predict_readout(
            responses,
            frame[["shape", "colour"]].to_numpy(),
            frame["sum"].to_numpy(),
            (frame["split"] == "train").to_numpy(),
        )
        np.testing.assert_allclose(point.outputs, direct.predicted[CORNER, 0], rtol=1e-9)
        used = frame["split"] == "train"
        trained = Ridge(np.mean(np.var(responses, axis=0))).fit(responses[used], frame["sum"][used])
        answers = trained.predict(means[CORNER])
        gaps.append(point.outputs - answers)
        limit = pw.solve(
            pw.tasks.from_frame(frame.drop_duplicates(["shape", "colour"]), ["shape", "colour"],
                                target="sum", split="split"),
            point.kernel, fit=pw.limits.Equal(slack=float(np.max(point.ridge))), intercept="free",
        )  # fmt: skip
        of_kernel.append(limit.predictions[CORNER] - answers)
        rows = responses[~used], frame.loc[~used, ["shape", "colour"]].to_numpy()
        means_of_rows = [rows[0][(rows[1] == c).all(axis=1)].mean(axis=0) for c in GRID[CORNER]]
        difference = point.outputs - trained.predict(np.array(means_of_rows))
        assert prediction.from_readout == pytest.approx(np.sqrt(np.mean(difference**2)), rel=1e-6)
    assert np.sqrt(np.mean(np.square(gaps))) < 0.2
    assert np.sqrt(np.mean(np.square(of_kernel))) > 0.8


def test_accuracy_at_the_measured_point_is_on_single_rows():
    frame, responses, _ = recording(0)
    report, prediction = audited(frame, responses, "kind")
    labels = report.table.labels
    signs = np.where(frame["kind"].to_numpy()[:, None] == np.array(labels), 1.0, -1.0)
    direct = pw.measures.predict_readout(
        responses,
        frame[["shape", "colour"]].to_numpy(),
        signs,
        (frame["split"] == "train").to_numpy(),
    )
    point = prediction.points[-1]
    assert point.accuracy == pytest.approx(direct.accuracy[CORNER].mean())
    right = pd.Series(direct.accuracy[CORNER]).groupby(
        signs[:: len(signs) // 16].argmax(axis=1)[CORNER]
    )
    assert point.balanced_accuracy == pytest.approx(right.mean().mean())
    assert point.accuracy < 1.0


def test_outputs_say_that_it_is_a_readout():
    frame, responses, _ = recording(0)
    report, prediction = audited(frame, responses, "sum")
    words = (
        f"to held-out combinations differently by {prediction.from_readout:.3g} (root mean square)"
    )
    assert words in " ".join(report.to_text().split())
    assert words in report.to_html()
    content = json.loads(report.to_json())["splits"][0]["prediction"]
    assert content["difference_from_trained_readout"] == pytest.approx(prediction.from_readout)


def test_large_features_are_left_to_the_kernel(monkeypatch):
    frame, responses, _ = recording(0, m=4)
    assert not np.isnan(audited(frame, responses, "sum")[1].from_readout)
    monkeypatch.setattr("partwhole.audit.prediction.measured_readout.LARGEST", 64 * 20**2 - 1.0)
    assert np.isnan(audited(frame, responses, "sum")[1].from_readout)


@pytest.mark.parametrize("case", ["single rows", "weights", "margin"])
def test_without_repeats_or_with_weights_it_is_the_kernel(case):
    frame, responses, _ = recording(0, m=1 if case == "single rows" else 4)
    options = {}
    if case == "weights":
        frame["weight"] = np.arange(len(frame)) + 1.0
        options = {"weights": "weight"}
    if case == "margin":
        options = {"fit": "margin"}
    _, prediction = audited(frame, responses, "kind", **options)
    assert np.isnan(prediction.from_readout)
