"""Readouts of held-out conditions against scikit-learn's, and against the prediction of one set."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import Ridge

from partwhole._checks import InputError
from partwhole.measures import salience
from partwhole.measures.readouts import by_saliences, held_out_readouts, predict_readout
from partwhole.measures.readouts.lda import LDA
from partwhole.measures.readouts.svm import SVM
from partwhole.recordings import Recording, from_trials


def recording(seed=0, shape=(3, 4), n_neurons=25, repeats=8, noise=2.0, cells=None):
    rng = np.random.default_rng(seed)
    rows = np.array(list(product(*map(range, shape))) if cells is None else cells)
    means = sum(rng.normal(size=(size, n_neurons))[rows[:, c]] for c, size in enumerate(shape))
    counts = rng.integers(repeats - 2, repeats + 3, len(rows))
    of_trial = rng.permutation(np.repeat(np.arange(len(rows)), counts))
    responses = means[of_trial] + noise * rng.normal(size=(len(of_trial), n_neurons))
    return from_trials(responses, rows[of_trial])


@pytest.mark.parametrize("n_neurons", [25, 150])
@pytest.mark.parametrize("held_out", ["each", "pairs"])
def test_measured_answers_are_those_of_readouts_without_the_set(n_neurons, held_out):
    measured = recording(n_neurons=n_neurons, shape=(2, 3))
    readouts = held_out_readouts(measured, held_out=held_out, ridge=3.0)
    index, conditions = measured.condition_of_trial, measured.conditions
    assert len(readouts.held_out) == (6 if held_out == "each" else 15)
    for row in range(len(readouts.condition)):
        left_out = readouts.held_out[readouts.set_of_row[row]][index]
        condition = readouts.condition[row]
        trials = measured.responses[index == condition]
        labels = [2.0 * measured.components[:, 0] - 1.0]
        labels += [2.0 * (measured.components[:, 1] == v) - 1.0 for v in range(3)]
        fit = Ridge(alpha=3.0).fit(measured.responses[~left_out], np.stack(labels, 1)[~left_out])
        answers = fit.predict(trials)
        np.testing.assert_allclose(readouts.measured[row], answers.mean(axis=0), atol=1e-9)
        right = [
            np.mean((answers[:, 0] > 0) == conditions[condition, 0]),
            np.mean(answers[:, 1:].argmax(axis=1) == conditions[condition, 1]),
        ]
        np.testing.assert_allclose(readouts.measured_accuracy[row], right)
    assert readouts.chance.tolist() == [1 / 2, 1 / 3]


@pytest.mark.parametrize(("n_neurons", "ridge"), [(2000, 1e-7), (60, 1e-7), (25, 1e-7)])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_left_out_answers_keep_their_digits_with_hardly_any_penalty(n_neurons, ridge, offset):
    # All trials are fitted but for a share of the penalty over their squared length, here 1e-12.
    measured = recording(n_neurons=n_neurons, shape=(2, 3))
    shifted = from_trials(measured.responses + offset, measured.components)
    readouts = held_out_readouts(shifted, held_out="pairs", ridge=ridge)
    index = measured.condition_of_trial
    for place, members in enumerate(readouts.held_out):
        left_out = members[index]
        x, y = measured.responses[~left_out], 2.0 * measured.components[~left_out, 0] - 1.0
        mean = x.mean(axis=0)
        singular = np.linalg.svd(x - mean, full_matrices=False)
        kept = singular[1] > 1e-9 * singular[1].max()
        u, s, v = singular[0][:, kept], singular[1][kept], singular[2][kept]
        weights = v.T @ (s / (s**2 + ridge) * (u.T @ (y - y.mean())))
        rows = np.flatnonzero(readouts.set_of_row == place)
        assert len(rows) == 2
        for row in rows:
            new = measured.responses[index == readouts.condition[row]] - mean
            answers = new @ weights + y.mean()
            assert readouts.measured[row, 0] == pytest.approx(answers.mean(), abs=1e-9)


@pytest.mark.parametrize("held_out", ["each", "pairs"])
def test_predictions_are_those_of_each_set_alone(held_out):
    # The start from another set's scalars leaves errors of its tolerance, 1e-9.
    measured = recording(shape=(2, 3))
    readouts = held_out_readouts(measured, held_out=held_out, ridge=3.0)
    index = measured.condition_of_trial
    targets = readouts.targets[np.unique(readouts.condition, return_index=True)[1]][index]
    singles = [
        predict_readout(
            measured.responses, measured.components, targets, ~members[index], ridge=3.0
        )
        for members in readouts.held_out
    ]  # fmt: skip
    for row in range(len(readouts.condition)):
        single = singles[readouts.set_of_row[row]]
        condition = readouts.condition[row]
        np.testing.assert_allclose(readouts.predicted[row], single.predicted[condition], atol=1e-7)
        spread = np.sqrt(
            np.diag(single.between[condition]) + np.diag(single.within) / single.n_trials[condition]
        )
        np.testing.assert_allclose(readouts.deviation[row], spread, atol=1e-7)
        ratio = single.predicted[condition, 0] / single.deviation[condition, 0]
        sign = 2 * measured.conditions[condition, 0] - 1
        expected = (
            norm.cdf(sign * ratio) if np.isfinite(ratio) else 0.5 * (1 + np.sign(sign * ratio))
        )
        np.testing.assert_allclose(readouts.accuracy[row, 0], expected, atol=1e-7)


@pytest.mark.parametrize("held_out", ["each", "pairs"])
def test_masks_of_trials_are_sets(held_out):
    measured = recording(shape=(2, 3))
    named = held_out_readouts(measured, held_out=held_out)
    by_mask = held_out_readouts(measured, held_out=named.held_out[:, measured.condition_of_trial])
    np.testing.assert_array_equal(by_mask.held_out, named.held_out)
    np.testing.assert_array_equal(by_mask.predicted, named.predicted)
    np.testing.assert_array_equal(by_mask.measured_accuracy, named.measured_accuracy)


def test_a_split_is_that_of_a_predicted_readout():
    measured = recording()
    corner = (measured.components >= [1, 2]).all(axis=1)
    readouts = held_out_readouts(measured, measured.components[:, 0] + 0.5, held_out=corner)
    direct = predict_readout(
        measured.responses, measured.components, measured.components[:, 0] + 0.5, ~corner
    )
    assert readouts.condition.tolist() == np.flatnonzero(direct.held_out).tolist()
    np.testing.assert_allclose(readouts.predicted, direct.predicted[direct.held_out], rtol=1e-7)
    np.testing.assert_allclose(readouts.measured, direct.trained[direct.held_out], rtol=1e-7)


def test_masks_of_several_sessions_mark_trials_as_recorded():
    measured = recording(shape=(2, 3), repeats=12)
    rng = np.random.default_rng(0)
    sessions = rng.integers(0, 2, measured.n_trials)
    responses = measured.responses.copy()
    responses[sessions == 0, :10] = responses[sessions == 1, 10:] = np.nan
    # A condition that one session lacks is left out.
    kept = (sessions == 0) | (measured.condition_of_trial != 2)
    parts = from_trials(responses, measured.components, sessions=sessions).select(kept)
    mask = np.isin(parts.condition_of_trial, [0, 5])
    readouts = held_out_readouts(parts, held_out=mask)
    assert readouts.recording.conditions[readouts.condition].tolist() == [[0, 0], [1, 2]]


def test_sentences_of_masks():
    measured = recording(shape=(2, 3))
    index = measured.condition_of_trial
    part = index == 1
    part[np.flatnonzero(part)[0]] = False
    for mask, sentence in (
        (part, f"got {part.sum()} of {part.sum() + 1} trials of 0, 1; mark all trials"),
        (index < 0, "got 0 of 6 conditions; mark others"),
        (index > 0, "got 5 of 6 conditions; mark others"),
        (index[1:] == 0, f"each of {len(index)} trials, a row for each of at most 20,000 sets"),
    ):
        with pytest.raises(InputError, match=re.escape(sentence)):
            held_out_readouts(measured, held_out=mask)


def test_targets_of_trials_are_answered():
    measured = recording(seed=3)
    target = measured.components @ [1.0, 2.0]
    readouts = held_out_readouts(measured, target, ridge=2.0)
    left_out = measured.condition_of_trial == 5
    fit = Ridge(alpha=2.0).fit(measured.responses[~left_out], target[~left_out])
    expected = fit.predict(measured.responses[left_out]).mean()
    assert readouts.measured[5, 0] == pytest.approx(expected)
    assert readouts.outputs == ("answer",)
    assert readouts.labels == ()
    assert list(readouts.to_frame().columns[-4:]) == [
        "answer, predicted", "answer, low", "answer, high", "answer, measured",
    ]  # fmt: skip


def test_a_component_is_named_in_place_of_all():
    measured = recording()
    both = held_out_readouts(measured, ridge=3.0)
    for name, columns, place in (("component 0", slice(3), 0), ("component 1", slice(3, 7), 1)):
        single = held_out_readouts(measured, name, ridge=3.0)
        assert (single.labels, single.outputs) == ((name,), both.outputs[columns])
        # Sums over columns are in another order.
        np.testing.assert_allclose(single.predicted, both.predicted[:, columns], atol=1e-12)
        np.testing.assert_allclose(single.measured, both.measured[:, columns], atol=1e-12)
        np.testing.assert_allclose(single.accuracy[:, 0], both.accuracy[:, place], atol=1e-12)


@pytest.mark.parametrize("held_out", ["each", "pairs"])
def test_determined_are_conditions_in_the_span_of_the_others(held_out):
    """Of two neurons, whose answers are in closed form."""
    rng = np.random.default_rng(5)
    for seed in range(4):
        cells = np.array(list(product(range(3), range(3), range(2))))
        cells = cells[np.sort(rng.choice(18, rng.integers(6, 12), replace=False))]
        measured = recording(seed, (3, 3, 2), 2, 3, cells=cells)
        readouts = held_out_readouts(measured, held_out=held_out)
        conditions = measured.conditions
        design = np.hstack([np.eye(3)[conditions[:, 0]], np.eye(3)[conditions[:, 1]],
                            np.eye(2)[conditions[:, 2]]])  # fmt: skip
        for row, determined in enumerate(readouts.determined):
            others = design[~readouts.held_out[readouts.set_of_row[row]]]
            added = np.vstack([others, design[readouts.condition[row]]])
            expected = np.linalg.matrix_rank(added) == np.linalg.matrix_rank(others)
            assert determined == expected


def test_saliences_predict_what_overlap_representations_answer():
    # Of features without structure of their own, 5,000 of them: the misfit is of chance.
    measured = recording(shape=(3, 3), n_neurons=5000, noise=3.0)
    readouts = held_out_readouts(measured, saliences=salience(measured))
    assert readouts.from_saliences is not None
    assert np.abs(readouts.from_saliences - readouts.predicted).max() < 0.1
    assert set(readouts.budget) == {"training trials", "test trials", "difference", "saliences"}
    assert readouts.budget["difference"] == pytest.approx(readouts.error)


def test_predictions_hold_over_experiments():
    # 16 experiments of 9 conditions: the standard error of the mean difference is .008. With few
    # neurons no larger penalty is looked for, which others test.
    predicted, measured, inside = [], [], []
    for seed in range(16):
        readouts = held_out_readouts(recording(seed, (3, 3), 30, 10, 3.0), ridge=1.0)
        predicted.append(readouts.accuracy.mean())
        measured.append(readouts.measured_accuracy.mean())
        inside.append(np.abs(readouts.predicted - readouts.measured) < 1.96 * readouts.deviation)
    assert np.mean(predicted) == pytest.approx(np.mean(measured), abs=0.03)
    # Prediction and readout rest on the same trials, so that they differ less than two fresh ones.
    assert np.mean(inside) > 0.95


def test_a_larger_penalty_is_that_of_readouts_with_it():
    measured = recording(n_neurons=100, repeats=8, noise=3.0)
    readouts = held_out_readouts(measured)
    is_open = (readouts.certainty > 0.025) & (readouts.certainty < 0.975)
    assert readouts.larger_ridge in (8 * readouts.ridge, 64 * readouts.ridge)
    assert readouts.larger_certainty is not None
    others = {
        factor: held_out_readouts(measured, ridge=factor * readouts.ridge) for factor in (8, 64)
    }
    # What predictions miss is that of the readouts at hand.
    others = {factor: replace(larger) for factor, larger in others.items()}
    for larger in others.values():
        vars(larger)["prediction_variance"] = readouts.prediction_variance
    means = {factor: larger.certainty[is_open].mean() for factor, larger in others.items()}
    best = others[max(means, key=lambda factor: means[factor])]
    assert best.ridge == readouts.larger_ridge
    rows = is_open.any(axis=1)
    # The fixed point is solved to 1e-9.
    np.testing.assert_allclose(readouts.larger_certainty[rows], best.certainty[rows], atol=1e-7)
    assert np.isnan(readouts.larger_certainty[~rows]).all()
    # Least squares are compared with penalties in units of the variance of a neuron.
    assert held_out_readouts(measured, ridge=0.0).larger_ridge == 64 * readouts.ridge


@pytest.mark.parametrize(("n_neurons", "noise"), [(35, 2.0), (230, 4.5), (100, 0.5)])
def test_no_penalty_is_named_where_it_matters_less(n_neurons, noise):
    # Less than half or more than twice the training trials, or no answer that is open.
    measured = recording(n_neurons=n_neurons, noise=noise)
    readouts = held_out_readouts(measured)
    assert (readouts.larger_ridge, readouts.larger_certainty) == (None, None)
    n_train = measured.n_trials * 11 / 12
    is_open = (readouts.certainty > 0.025) & (readouts.certainty < 0.975)
    assert (not 0.5 <= n_neurons / n_train <= 2.0) == is_open.any()


def test_verdicts_hold_in_other_recordings():
    """Of answers that are right with .975, no fewer are; without the error of predictions some."""
    sure, without = [], []
    for seed in range(20):
        for repeats, noise in ((4, 1.0), (16, 2.0)):
            rng = np.random.default_rng([seed, repeats])
            first, second, both = (rng.normal(size=(n, 20)) for n in (4, 4, 16))
            grid = np.array([[a, b] for a in range(4) for b in range(4)])
            means = np.sqrt(0.4) * (first[grid[:, 0]] + second[grid[:, 1]]) + np.sqrt(0.2) * both
            index = np.repeat(np.arange(16), repeats)
            x, again = (means[index] + noise * rng.normal(size=(len(index), 20)) for _ in range(2))
            here = held_out_readouts(from_trials(x, grid[index]))
            targets = np.hstack([np.eye(4)[grid[index, c]] for c in range(2)])
            answers = [
                Ridge(alpha=np.var(again, axis=0).mean())
                .fit(again[index != c], targets[index != c])
                .predict(again[index == c])
                .mean(axis=0)
                for c in range(16)
            ]
            right = np.reshape(answers, (16, 2, 4)).argmax(axis=2) == grid
            sure += right[here.certainty >= 0.975].tolist()
            exact = replace(here)
            vars(exact)["prediction_variance"] = 0.0
            without += right[exact.certainty >= 0.975].tolist()
    assert len(sure) > 15
    assert np.mean(sure) >= 0.975
    assert np.mean(without) < 0.95


def test_answers_with_a_larger_penalty_are_right():
    right, before = [], []
    for seed in range(6):
        measured = recording(seed, n_neurons=90, repeats=8, noise=2.5)
        readouts = held_out_readouts(measured)
        if readouts.larger_certainty is None:
            continue
        conditions, larger = measured.conditions[readouts.condition], []
        index = measured.condition_of_trial
        targets = readouts.targets[np.unique(readouts.condition, return_index=True)[1]][index]
        for condition in readouts.condition:
            of = index == condition
            fit = Ridge(alpha=readouts.larger_ridge).fit(measured.responses[~of], targets[~of])
            larger.append(fit.predict(measured.responses[of]).mean(axis=0))
        settled = (readouts.certainty < 0.975) & (readouts.larger_certainty >= 0.975)
        for answers, hits in ((np.array(larger), right), (readouts.measured, before)):
            decided = np.stack(
                [answers[:, :3].argmax(axis=1), answers[:, 3:].argmax(axis=1)], axis=1
            )
            hits += (decided == conditions)[settled].tolist()
    # 97.5 % or more; of some hundred and twenty answers all but one are.
    assert len(right) > 90
    assert np.mean(right) > 0.975
    assert np.mean(right) > np.mean(before)


def test_a_frame_names_conditions_by_their_labels():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"shape": np.repeat(["disc", "star"], 12), "colour": np.tile(["red", "blue"], 12)}
    )
    measured = from_trials(rng.normal(size=(24, 5)), table)
    frame = held_out_readouts(measured).to_frame()
    assert frame["shape"].tolist() == ["disc", "disc", "star", "star"]
    assert frame["colour"].tolist() == ["blue", "red", "blue", "red"]
    assert frame["trials"].tolist() == [6] * 4
    assert "shape = star, predicted" in frame
    assert "accuracy of colour, measured" in frame


def test_neurons_of_several_sessions_are_combined():
    rng = np.random.default_rng(1)
    rows = np.repeat(list(product(range(2), range(2))), 6, axis=0)
    responses = np.full((48, 7), np.nan)
    responses[:24, :4], responses[24:, 4:] = rng.normal(size=(24, 4)), rng.normal(size=(24, 3))
    measured = Recording(
        responses, np.tile(rows, (2, 1)), ("a", "b"), ((0, 1), (0, 1)),
        sessions=np.repeat([0, 1], 24),
    )  # fmt: skip
    readouts = held_out_readouts(measured)
    assert readouts.recording.responses.shape == (24, 7)
    # Of two values the labels are numbers, which are answered alike.
    numbers = held_out_readouts(measured, 2.0 * measured.components - 1.0)
    assert numbers.outputs == ("answer 0", "answer 1")
    for name in ("targets", "predicted", "measured", "deviation"):
        np.testing.assert_array_equal(getattr(numbers, name), getattr(readouts, name))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cells": [[0, 0], [1, 1]]}, "beside those that are held out; got 2 conditions; add"),
        ({"repeats": 1, "single": True}, "shows in conditions with several of them; got 12 trials"),
        ({"constant": True}, "trials of a condition differ; got the same features"),
        ({"held_out": "pairs", "shape": (15, 14)}, "at most 20,000 pairs; got 21,945 pairs of 210"),
        ({"targets": np.zeros(3)}, "targets have an entry for each trial; got 3 for "),
        ({"varied": True}, "all trials of a condition have one target; got "),
        ({"targets": "size"}, "targets are numbers, or name a component; got 'size'; choose from "),
    ],
)  # fmt: skip
def test_the_sentences_of_bad_input(changes, sentence):
    options = {"held_out": changes.pop("held_out", "each")}
    single, constant = changes.pop("single", False), changes.pop("constant", False)
    targets, varied = changes.pop("targets", None), changes.pop("varied", False)
    changes.pop("repeats", None)
    measured = recording(**changes)
    if single:
        measured = measured.select(np.unique(measured.condition_of_trial, return_index=True)[1])
    if constant:
        responses = measured.components @ np.ones((2, 25))
        measured = Recording(responses, measured.components, measured.names, measured.values)
    if varied:
        targets = np.arange(float(measured.n_trials))
    with pytest.raises(InputError, match=re.escape(sentence)):
        held_out_readouts(measured, targets, **options)


def test_pairs_are_all_of_them():
    readouts = held_out_readouts(recording(shape=(2, 2)), held_out="pairs")
    pairs = [tuple(np.flatnonzero(row).tolist()) for row in readouts.held_out]
    assert pairs == list(combinations(range(4), 2))


# The jackknife errs upwards (Efron and Stein, 1981), most where the neurons that are left are as
# many as trials, 160 of 200: there it was 1.5.
@pytest.mark.parametrize(("n_neurons", "noise", "most"), [(60, 1.0, 1.25), (200, 0.3, 2.0)])
def test_left_out_neurons_say_how_predictions_vary_over_populations(n_neurons, noise, most):
    # The deviation of 14 populations has a standard error of 20 %, less over 16 conditions: three
    # times 20 were within 5 % of one another. Estimates scatter by 20 %, so that a few suffice.
    # Of many neurons 8 conditions are held out, two of every value.
    rows = np.repeat(list(product(range(4), range(4))), 10, axis=0)
    target = (rows - 1.5).sum(axis=1)
    sets = np.array([(rows == r).all(axis=1) for r in rows[::10] if r[0] == r[1] or sum(r) == 3])
    held_out = "each" if n_neurons < 100 else sets
    predicted, estimates = [], []
    for seed in range(14):
        rng = np.random.default_rng(seed)
        means = sum(0.6 * rng.normal(size=(4, n_neurons))[rows[:, c]] for c in range(2))
        means = means + 0.45 * rng.normal(size=(16, n_neurons))[4 * rows[:, 0] + rows[:, 1]]
        trials = from_trials(means + noise * rng.normal(size=means.shape), rows)
        readouts = held_out_readouts(trials, target, held_out=held_out, over_neurons=seed < 4)
        predicted.append(readouts.predicted)
        if seed < 4:
            estimates.append(readouts.over_neurons)
            assert readouts.budget["neurons"] ** 2 == pytest.approx(readouts.over_neurons)
    across = np.sqrt(np.var(predicted, axis=0, ddof=1).mean())
    assert 0.8 < np.sqrt(np.mean(estimates)) / across < most
    few = from_trials(responses=np.asarray(trials.responses)[:, :8], conditions=rows)
    assert "neurons" not in held_out_readouts(few, over_neurons=True).budget
    assert "neurons" not in readouts.budget


@pytest.mark.parametrize("n_neurons", [5, 25, 80])
@pytest.mark.parametrize("classifier", [None, LDA(0.2), SVM(0.01, loss="squared_hinge")])
def test_neurons_that_are_silent_or_stuck_change_nothing(n_neurons, classifier):
    """Fewer neurons than training conditions, more, and more than trials."""
    plain = recording(n_neurons=n_neurons, shape=(2, 2, 2))
    stuck = np.full((plain.n_trials, 6), [0.0, 1e6 / 3, -2.5, 0.1, 1e-9, 7.0])
    more = from_trials(np.hstack([stuck, plain.responses]), plain.components)
    targets = plain.names[0] if isinstance(classifier, SVM) else None
    first, second = (held_out_readouts(of, targets, classifier=classifier) for of in (plain, more))
    for name in ("predicted", "measured", "accuracy", "certainty", "between", "within"):
        np.testing.assert_allclose(getattr(second, name), getattr(first, name), atol=1e-9)
    np.testing.assert_allclose(second.ridge, first.ridge, rtol=1e-12)
    is_train = np.arange(len(plain.conditions))[plain.condition_of_trial] > 2
    if classifier is None:
        size = plain.names[2]
        first, second = (
            predict_readout(of, targets=size, is_train=is_train) for of in (plain, more)
        )
        np.testing.assert_allclose(second.predicted, first.predicted, atol=1e-9)
        np.testing.assert_allclose(second.trained, first.trained, atol=1e-9)


def test_intervals_of_answers_of_lda_are_said_to_be_short():
    (note,) = held_out_readouts(recording(), classifier=LDA(0.2)).notes
    assert "intervals of answers of LDA are too short" in note


@pytest.mark.parametrize(
    ("n_neurons", "outnumber"), [(20, (False, False)), (70, (True, False)), (300, (True, True))]
)
def test_the_spread_over_neurons_is_the_jackknife_over_fifths_of_them(n_neurons, outnumber):
    """Neurons outnumber trials, all of them and four fifths, or do not."""
    measured = recording(n_neurons=n_neurons, shape=(2, 3), repeats=10)
    n = measured.n_trials
    assert (n_neurons > n, n_neurons - n_neurons // 5 > n) == outnumber
    readouts = held_out_readouts(measured, ridge=3.0, over_neurons=True, seed=4)
    answers = []
    for group in np.array_split(np.random.default_rng(4).permutation(n_neurons), 5):
        others = np.setdiff1d(np.arange(n_neurons), group)
        part = from_trials(measured.responses[:, others], measured.components)
        answers.append(held_out_readouts(part, ridge=3.0).predicted)
    expected = 4**2 / 5 * np.var(answers, axis=0, ddof=1).mean()
    assert readouts.over_neurons == pytest.approx(expected, rel=1e-7)


def test_single_trials_of_most_conditions_are_predicted_where_neurons_outnumber_them():
    """The repeats that show noise are fewer than the conditions, but not so the neurons."""
    rng = np.random.default_rng(0)
    conditions = np.array(list(product(range(10), range(10))))
    rows = np.vstack([conditions, conditions[rng.permutation(100)[:20]]])
    clean = sum(rng.normal(size=(10, 300))[rows[:, c]] for c in range(2))
    measured = from_trials(clean + 3.0 * rng.normal(size=clean.shape), rows)
    readouts = held_out_readouts(measured)
    # Shares of a hundred conditions have a standard error of .03.
    difference = readouts.accuracy.mean(axis=0) - readouts.measured_accuracy.mean(axis=0)
    assert np.abs(difference).max() < 0.1


@pytest.mark.parametrize("targets", [None, "component 1"])
def test_answers_from_saliences_are_those_of_each_set(monkeypatch, targets):
    """In a balanced grid they follow from those to one condition, by exchanging values."""
    rng = np.random.default_rng(5)
    rows = np.repeat(list(product(range(3), range(2), range(4))), 6, axis=0)
    means = sum(rng.normal(size=(4, 30))[column] for column in rows.T)
    whole = from_trials(means + 2.0 * rng.normal(size=means.shape), rows)
    saliences = salience(whole)
    quick = held_out_readouts(whole, targets, saliences=saliences).from_saliences
    monkeypatch.setattr(by_saliences, "_are_alike", lambda *of: False)
    each = held_out_readouts(whole, targets, saliences=saliences).from_saliences
    np.testing.assert_allclose(quick, each, atol=1e-8)
    assert np.ptp(each, axis=0).min() > 0.1
    # With fewer trials of a condition they are not alike.
    monkeypatch.undo()
    uneven = held_out_readouts(whole.select(np.arange(2, len(rows))), saliences=saliences)
    assert not np.allclose(np.abs(uneven.from_saliences[:, 3]), abs(uneven.from_saliences[0, 3]))
