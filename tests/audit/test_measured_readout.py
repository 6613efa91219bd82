"""The measured point of an audit against readouts that are trained on the features."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from noisy_recordings import grid, population
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

import partwhole as pw
from partwhole.audit.judging.judge import judge

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
    for seed in range(3):
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


def trained_ridge(frame, responses, target="sum", weights=None):
    """Return the answers of scikit-learn's ridge readout to the rows that are held out."""
    used = (frame["split"] == "train").to_numpy()
    y = frame[target].to_numpy() if isinstance(target, str) else target
    share = None if weights is None else weights[used] / weights[used].mean()
    ridge = Ridge(np.mean(np.var(responses, axis=0)), tol=1e-12)
    return ridge.fit(responses[used], y[used], sample_weight=share).predict(responses[~used])


def test_errors_are_those_of_single_rows():
    """Mean squared errors of fresh trials, beside those of readouts of other training sets."""
    ratios = []
    for seed in range(12):
        frame, responses, means = recording(seed)
        rng = np.random.default_rng(100 + seed)
        _, prediction = audited(frame, responses, "sum")
        index = np.repeat(np.arange(16), 20)
        used = (frame["split"] == "train").to_numpy()
        errors = []
        for _ in range(20):
            rows = means[index] + rng.normal(size=responses.shape)
            errors.append(np.mean((trained_ridge(frame, rows) - frame["sum"][~used]) ** 2))
        ratios.append(prediction.points[-1].error / np.mean(errors))
    # Means are estimated from 20 trials: the ratio varies between recordings, by standard errors.
    assert abs(np.mean(ratios) - 1.0) < 3.0 * np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    assert np.std(ratios) < 0.3


def at_limits(monkeypatch, **limits):
    for name, value in limits.items():
        monkeypatch.setattr(f"partwhole.audit.prediction.measured_readout.{name}", value)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"MOST_COMBINATIONS": 15}, "there are more than 15 combinations"),
        ({"MOST_SQUARES": 15}, "1 outputs are too many for a prediction"),
        ({"LARGEST": 64 * 20**2 - 1}, "64 rows of 20 features are too many for it"),
    ],
)
def test_beyond_the_limits_of_a_prediction_the_readout_is_trained(monkeypatch, limits, reason):
    frame, responses, _ = recording(0, m=4)
    assert audited(frame, responses, "sum")[1].readout == "predicted"
    at_limits(monkeypatch, **limits)
    report, prediction = audited(frame, responses, "sum")
    answers = trained_ridge(frame, responses)
    of_combination = answers.reshape(len(answers) // 4, 4).mean(axis=1)
    point = prediction.points[-1]
    np.testing.assert_allclose(point.outputs, of_combination, rtol=1e-8)
    held_out = frame["sum"][(frame["split"] == "test")]
    assert point.error == pytest.approx(np.mean((answers - held_out) ** 2))
    assert prediction.readout == "trained"
    assert np.isnan(prediction.from_readout)
    assert (
        "the measured point is the answers of a ridge readout that was trained on the training "
        f"rows, not a prediction, since {reason}; other samples of rows will give somewhat "
        "different ones"
    ) in prediction.remarks
    text = " ".join(report.to_text().split())
    words = "what a ridge readout of the features, trained on the training rows, answers to the "
    assert words in text
    assert "Errors and accuracies are those of answers to single rows" in text


def test_less_time_is_for_smaller_readouts(monkeypatch):
    """The cube of combinations, and the other sizes, are in proportion to the seconds."""
    frame, responses, _ = recording(0, m=4)
    # 16 combinations, 1 output, and 64 rows of 20 features.
    for limits, reason in (
        ({"MOST_COMBINATIONS": 30}, "there are more than 15 combinations"),
        ({"MOST_SQUARES": 127}, "1 outputs are too many for a prediction"),
        ({"LARGEST": 8 * 64 * 20**2 - 1}, "64 rows of 20 features are too many for it"),
    ):
        with monkeypatch.context() as limited:
            at_limits(limited, **limits)
            assert audited(frame, responses, "sum")[1].readout == "predicted"
            prediction = audited(frame, responses, "sum", time_limit=1.25)[1]
            assert prediction.readout == "trained"
            assert any(reason in remark for remark in prediction.remarks)


def test_more_features_than_rows_are_trained_the_same(monkeypatch):
    frame, responses, _ = recording(0, neurons=100, m=4)
    at_limits(monkeypatch, MOST_COMBINATIONS=15)
    point = audited(frame, responses, "sum")[1].points[-1]
    answers = trained_ridge(frame, responses)
    np.testing.assert_allclose(point.outputs, answers.reshape(-1, 4).mean(axis=1), rtol=1e-8)


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_unequal_weights_of_training_rows_are_those_of_a_trained_readout(unit):
    frame, responses, _ = recording(0, m=4)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, len(frame))
    frame["weight"] = unit * weights
    _, prediction = audited(frame, responses, "sum", weights="weight")
    used = (frame["split"] == "train").to_numpy()
    answers, of = trained_ridge(frame, responses, weights=weights), weights[~used]
    point = prediction.points[-1]
    means = np.average(answers.reshape(-1, 4), axis=1, weights=of.reshape(-1, 4))
    np.testing.assert_allclose(point.outputs, means, rtol=1e-8)
    assert point.error == pytest.approx(
        np.average((answers - frame["sum"][~used]) ** 2, weights=of)
    )
    assert "training rows have unequal weights" in prediction.remarks[-1]


def test_weights_of_test_rows_are_for_averages_alone():
    frame, responses, _ = recording(0, m=4)
    plain = audited(frame, responses, "sum")[1].points[-1]
    used = (frame["split"] == "train").to_numpy()
    frame["weight"] = np.where(used, 2.0, 1.0 + np.arange(len(frame)) % 3)
    _, prediction = audited(frame, responses, "sum", weights="weight")
    assert prediction.readout == "predicted"
    np.testing.assert_allclose(prediction.points[-1].outputs, plain.outputs, rtol=1e-12)


def test_where_labels_of_a_combination_differ_accuracies_are_those_of_a_trained_readout():
    frame, responses, _ = recording(0, m=10)
    labels = np.array(["low", "middle", "high"])
    odd = np.random.default_rng(0).random(len(frame)) < 0.2
    frame.loc[odd, "kind"] = "high"
    report, prediction = audited(frame, responses, "kind")
    assert report.table.labels is not None
    names = np.array(report.table.labels)
    assert set(names) == set(labels)
    signs = np.where(frame["kind"].to_numpy()[:, None] == names, 1.0, -1.0)
    answers = trained_ridge(frame, responses, signs)
    test = (frame["split"] == "test").to_numpy()
    right = names[answers.argmax(axis=1)] == frame["kind"][test]
    assert prediction.points[-1].accuracy == pytest.approx(right.mean())
    assert prediction.points[-1].balanced_accuracy == pytest.approx(
        right.groupby(frame["kind"][test]).mean().mean()
    )
    assert "rows of a combination differ in their targets" in prediction.remarks[-1]


def test_too_large_features_have_the_kernel_and_a_remark(monkeypatch):
    frame, responses, _ = recording(0, m=4)
    at_limits(monkeypatch, LARGEST=1.0, LARGEST_TRAINED=1.0)
    report, prediction = audited(frame, responses, "sum")
    assert prediction.readout == ""
    assert prediction.points[-1].label == "measured"
    (remark,) = prediction.remarks
    assert remark == (
        "the measured point takes the noise of single rows as a ridge, since 64 rows of 20 "
        "features are too many to predict or train a readout here; that holds only for far more "
        "features than rows, and trained readouts may answer much less: train one, or audit fewer "
        "rows or features"
    )
    assert "holds only for far more features than rows" in " ".join(report.to_text().split())


@pytest.mark.parametrize("m", [1, 4])
def test_without_noise_it_is_the_kernel(m):
    frame, _, means = recording(0, m=m)
    index = np.repeat(np.arange(16), m)
    _, prediction = audited(frame, means[index], "sum")
    assert prediction.readout == ""
    assert prediction.points[-1].label == "measured"


def two_labels(seed, *, noise=2.0):
    """Two labels, by the first component, of 30 neurons."""
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(2, 4, 30))
    means = parts[0, GRID[:, 0]] + parts[1, GRID[:, 1]] + 0.5 * rng.normal(size=(16, 30))
    index = np.repeat(np.arange(16), 20)
    frame = pd.DataFrame(GRID[index], columns=["shape", "colour"])
    frame["kind"] = np.where(GRID[index, 0] % 2, "odd", "even")
    frame["split"] = np.where(CORNER[index], "test", "train")
    return frame, means[index] + noise * rng.normal(size=(len(index), 30)), means


def test_a_margin_of_two_labels_is_that_of_a_support_vector_machine_of_noisy_rows():
    gaps, accuracies = [], []
    for seed in range(8):
        frame, responses, means = two_labels(seed)
        _, prediction = audited(frame, responses, "kind", fit="margin")
        point = prediction.points[-1]
        rng = np.random.default_rng(seed)
        used, y = (frame["split"] == "train").to_numpy(), (frame["kind"] == "odd").to_numpy()
        C = 1.0 / np.mean(np.var(responses, axis=0))
        fresh = means[CORNER].repeat(500, axis=0) + 2.0 * rng.normal(size=(2000, 30))
        trained = LinearSVC(C=C, intercept_scaling=100).fit(responses[used], y[used])
        accuracies.append(trained.score(fresh, (GRID[CORNER, 0] % 2).repeat(500)))
        gaps.append(point.accuracy - accuracies[-1])
        assert prediction.trained_accuracy == pytest.approx(
            trained.score(responses[~used], y[~used]), abs=1.5 / 80
        )
        assert prediction.readout == "predicted"
        # All are right without noise.
        assert point.label == "measured"
    assert abs(np.mean(gaps)) < 3.0 * np.std(gaps, ddof=1) / np.sqrt(len(gaps))
    # A condition's mean is known from 20 trials, which alone makes 0.4 / sqrt(20) at most.
    assert np.abs(gaps).max() < 0.4 / np.sqrt(20)
    assert np.mean(accuracies) < 0.85


def test_what_a_margin_with_noise_is_called():
    frame, responses, _ = two_labels(0)
    report, prediction = audited(frame, responses, "kind", fit="margin")
    text = " ".join(report.to_text().split())
    assert (
        "Measured features: what a linear support vector machine of the features answers, with the "
        "noise of their rows. The readout that was trained on the training rows is right in "
        f"{100 * prediction.trained_accuracy:.0f} % of held-out rows, and answers"
    ) in text
    assert "ignored" not in text
    used = (frame["split"] == "train").to_numpy()
    frame["weight"] = np.where(used, 1.0 + np.arange(len(frame)) % 2, 1.0)
    _, weighted = audited(frame, responses, "kind", fit="margin", weights="weight")
    assert weighted.points[-1].accuracy == pytest.approx(prediction.points[-1].accuracy)
    assert weighted.remarks[-1] == (
        "a support vector machine gives all training rows the same weight"
    )


def test_a_support_vector_machine_is_trained_where_labels_of_training_rows_differ():
    frame, responses, _ = two_labels(0)
    used = (frame["split"] == "train").to_numpy()
    odd = used & (np.random.default_rng(0).random(len(frame)) < 0.2)
    frame.loc[odd, "kind"] = np.where(frame.loc[odd, "kind"] == "odd", "even", "odd")
    _, prediction = audited(frame, responses, "kind", fit="margin")
    y, C = (frame["kind"] == "odd").to_numpy(), 1.0 / np.mean(np.var(responses, axis=0))
    trained = LinearSVC(C=C, intercept_scaling=1000, max_iter=100_000, tol=1e-8)
    right = trained.fit(responses[used], y[used]).score(responses[~used], y[~used])
    # A row or so may lie on the border, since the intercept is penalised there.
    assert prediction.points[-1].accuracy == pytest.approx(right, abs=1.5 / 80)
    assert "training rows of a combination differ in their labels" in prediction.remarks[-1]


@pytest.mark.parametrize("reason", ["several labels", "too large", "one label"])
def test_a_margin_that_ignores_noise_is_left_out(monkeypatch, reason):
    frame, responses, _ = two_labels(0)
    if reason == "several labels":
        frame["kind"] = recording(0)[0]["kind"]
        words = (
            "the measured point is left out: a margin of several labels ignores the noise of "
            "single rows, with which classifiers may answer much worse; use fit 'regression', "
            "which counts it"
        )
    if reason == "too large":
        at_limits(monkeypatch, LARGEST=1.0)
        words = (
            "the measured point is left out: 320 rows of 30 features are too many to predict or "
            "train a linear support vector machine here, and a margin ignores the noise of single "
            "rows, with which classifiers may answer much worse; train one, or audit fewer rows or "
            "features"
        )
    if reason == "one label":
        frame.loc[frame["split"] == "train", "kind"] = "odd"
        words = (
            "the measured point is left out: a linear support vector machine is trained on rows of "
            "both labels, and training has one alone"
        )
    report, prediction = audited(frame, responses, "kind", fit="margin")
    assert words in prediction.remarks
    assert prediction.measured is None
    assert prediction.points[prediction.reference].position == 0.425
    # Where the verdict is "supported", it says that it is not one at the features.
    without = ", without the measured representation" in report.headline
    assert without == (report.verdict == "supported")
    assert without == (reason == "too large")


def noisy(seed, *, noise, memory, m=3):
    """Sums on 6 x 6, of 20 neurons with memory of combinations."""
    rng = np.random.default_rng(seed)
    cells = grid(6, 6)
    parts = rng.normal(size=(2, 6, 20))
    means = parts[0, cells[:, 0]] + parts[1, cells[:, 1]] + memory * rng.normal(size=(36, 20))
    index = np.repeat(np.arange(36), m)
    frame = pd.DataFrame(cells[index], columns=["shape", "colour"])
    frame["sum"] = cells[index].sum(axis=1) - 5.0
    frame["split"] = np.where((cells[index] >= 3).all(axis=1), "test", "train")
    return frame, means[index] + noise * rng.normal(size=(len(index), 20))


def test_a_split_is_not_supported_where_the_measured_readout_does_worse_than_the_mean():
    frame, responses = noisy(0, noise=4.0, memory=3.0)
    plain = pw.audit_split(frame, ["shape", "colour"], "sum", "split", add=0)
    assert plain.verdict == "supported"
    assert plain.headline == "Supported if parts add up (order 1)"
    report, prediction = audited(frame, responses, "sum")
    answers, used = trained_ridge(frame, responses), (frame["split"] == "train").to_numpy()
    assert np.mean((answers - frame["sum"][~used]) ** 2) > prediction.constant_error
    assert report.verdict == "unsupported"
    assert report.headline == (
        "Not supported if parts add up (order 1): targets are predicted no better than by their "
        "mean, at the measured representation"
    )
    (error,) = report.errors
    point = prediction.points[-1]
    assert error.message == (
        f"At the measured representation, a squared error of {point.error:.3g} is predicted for "
        f"single rows of test; the mean of training has {prediction.constant_error:.3g}. Add "
        "training combinations with the same values, train on more rows of each combination, or "
        "use another representation."
    )
    silent = pw.audit.Settings(silence={"no-better-than-constant": "more trials will follow"})
    report, _ = audited(frame, responses, "sum", settings=silent)
    assert report.verdict == "supported"
    assert report.headline.startswith("Supported if parts add up (order 1), with 1 error silenced")


def test_labels_at_chance_at_the_measured_point_are_an_error():
    frame, responses = noisy(0, noise=30.0, memory=0.0)
    frame["sum"] = np.where(frame["shape"] % 2, "odd", "even")
    report, prediction = audited(frame, responses, "sum")
    point = replace(prediction.points[-1], balanced_accuracy=0.48)
    changed = replace(prediction, points=(*prediction.points[:-1], point))
    (evidence,) = report.evidence
    errors = [
        found
        for found in judge([replace(evidence, prediction=changed)], report.settings)
        if found.severity == "error"
    ]
    assert [found.rule for found in errors] == ["at-chance"]
    assert errors[0].message.startswith(
        "At the measured representation, a balanced accuracy of 48 % is predicted for single rows "
        "of test; guessing among the labels reaches 50 %. "
    )


@pytest.mark.parametrize("target", ["sum", "kind"])
def test_supported_is_not_plain_beside_a_strong_leak_at_the_measured_point(target):
    frame, responses = noisy(0, noise=3.0, memory=1.0, m=6)
    frame["kind"] = np.where(frame["shape"] % 2, "odd", "even")
    report, prediction = audited(frame, responses, target)
    point = prediction.points[-1]
    assert report.verdict == "supported"
    assert [found.rule for found in report.warnings] == ["strong-leak"]
    words = f"predictions change by {point.leak_slope:.3g} where targets change by 1"
    if target == "kind":
        words = (
            f"{100 * point.accuracy:.0f} % of rows are predicted right (the commonest label: "
            f"{100 * prediction.commonest:.0f} %)"
        )
        share = (point.balanced_accuracy - 0.5) / 0.5
        assert (
            f"single rows of test are answered with a balanced accuracy of "
            f"{100 * point.balanced_accuracy:.0f} %, where guessing has 50 %: {share:.3g} of the "
            "possible gain (the threshold, leak_slope, is 0.5)"
        ) in report.warnings[0].message
    assert report.headline == (
        f"Supported if parts add up (order 1), but at the measured representation {words}"
    )
    page = report.to_html()
    assert "✓" not in page.partition("<nav")[0]
    assert "but see strong-leak at the measured representation." in page
    silent = pw.audit.Settings(silence={"strong-leak": "more trials will follow"})
    report, _ = audited(frame, responses, target, settings=silent)
    assert report.headline == "Supported if parts add up (order 1)"


def test_a_measured_point_that_was_not_computed_leaves_the_comparison_open():
    frame, responses, _ = recording(0, m=1)
    report, prediction = audited(frame, responses, "sum")
    assert report.evidence[0].is_better_than_guesses
    without = replace(
        prediction,
        points=prediction.points[:-1],
        reference=len(prediction.points) - 5,
        unsolved=("measured",),
    )
    evidence = replace(report.evidence[0], prediction=without)
    assert evidence.is_better_than_guesses is None
    report = replace(report, evidence=(evidence,), findings=judge([evidence], report.settings))
    assert "as far as predictions finished" in report.headline


def test_values_whose_mean_answers_are_wrong_are_named_with_the_share_of_single_rows():
    frame = two_labels(0)[0]
    parts = np.eye(4)[frame["shape"]]
    # Held-out combinations of one value look like those of the other label.
    parts[(frame["shape"] == 3) & (frame["split"] == "test")] = np.eye(4)[2]
    rng = np.random.default_rng(0)
    features = np.hstack([parts, np.eye(4)[frame["colour"]]]) + 0.3 * rng.normal(size=(320, 8))
    report, prediction = audited(frame, features, "kind")
    (failed,) = [found for found in report.findings if found.rule == "failed-value"]
    (item,) = [i for i in prediction.worst if i.component == 0 and i.value == 3]
    assert 0.0 < item.accuracy < 0.5
    assert (
        "mean answers to all held-out combinations of test with shape = 3 are wrong (of single "
        f"rows at most {max(100 * item.accuracy, 0):.0f} % are right)"
    ) in failed.message
    assert "✓" not in report.to_html().partition("<nav")[0]


@pytest.mark.parametrize("fit", ["regression", "margin"])
def test_784_combinations_of_two_trials_are_predicted(fit):
    """Here the ridge of the kernel had a slope of .9, where trained readouts have .1."""
    cells = grid(28, 28)
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(2, 28, 20))
    means = parts[0, cells[:, 0]] + parts[1, cells[:, 1]] + 0.5 * rng.normal(size=(784, 20))
    index = np.repeat(np.arange(784), 2)
    frame = pd.DataFrame(cells[index], columns=["shape", "colour"])
    frame["sum"] = cells[index].sum(axis=1) - 27.0
    frame["kind"] = np.where(frame["sum"] > 0, "high", "low")
    frame["split"] = np.where(rng.random(784) < 0.3, "test", "train")[index]
    responses = means[index] + rng.normal(size=(len(index), 20))
    target = "sum" if fit == "regression" else "kind"
    report, prediction = audited(frame, responses, target, fit=fit)
    point, used = prediction.points[-1], (frame["split"] == "train").to_numpy()
    if fit == "regression":
        answers = trained_ridge(frame, responses)
        slope = np.polyfit(frame["sum"][~used], answers, 1)[0]
        assert prediction.trained_slope == pytest.approx(slope, rel=1e-6)
        assert prediction.readout == "predicted"
        # Of more conditions than features the readout of these trials is predicted.
        assert point.leak_slope == pytest.approx(slope, rel=1e-6)
        assert f"changes by {slope:.3g} where held-out targets change by 1, and" in " ".join(
            report.to_text().split()
        )
        assert "but at the measured representation predictions change by" in report.headline
    else:
        y, C = frame["kind"] == "high", 1.0 / np.mean(np.var(responses, axis=0))
        trained = LinearSVC(C=C, intercept_scaling=100).fit(responses[used], y[used])
        assert prediction.readout == "trained"
        right = trained.score(responses[~used], y[~used])
        assert point.accuracy == pytest.approx(right, abs=0.01)
