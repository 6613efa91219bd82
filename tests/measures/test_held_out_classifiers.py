"""Classifiers of held-out conditions against those of one set, scikit-learn's, and fresh trials."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import SVC

from partwhole._checks import InputError
from partwhole.measures import salience
from partwhole.measures.readouts import LDA, SVM, held_out_readouts, predict_readout
from partwhole.measures.readouts.held_out import OF_SVM
from partwhole.recordings import from_trials


def recording(seed=0, shape=(2, 3), n_neurons=25, repeats=8, noise=2.0):
    rng = np.random.default_rng(seed)
    rows = np.array(list(product(*map(range, shape))))
    means = sum(rng.normal(size=(size, n_neurons))[rows[:, c]] for c, size in enumerate(shape))
    of_trial = rng.permutation(np.repeat(np.arange(len(rows)), repeats))
    responses = means[of_trial] + noise * rng.normal(size=(len(of_trial), n_neurons))
    return from_trials(responses, {"size": rows[of_trial, 0], "hue": rows[of_trial, 1]})


@pytest.mark.parametrize("held_out", ["each", "pairs"])
@pytest.mark.parametrize(
    ("classifier", "name", "n_neurons"),
    [
        (LDA(0.1), "hue", 25),
        (LDA(0.1), "hue", 3),
        (SVM(0.1), "size", 25),
        (SVM(0.1, "squared_hinge"), "size", 60),
    ],
)
def test_rows_are_those_of_each_set_alone(classifier, name, n_neurons, held_out):
    """Of few neurons, those in closed form."""
    measured = recording(shape=(2, 3) if name == "size" else (3, 3), n_neurons=n_neurons)
    readouts = held_out_readouts(measured, name, held_out=held_out, classifier=classifier)
    index = measured.condition_of_trial
    assert np.isnan(readouts.ridge)
    assert readouts.larger_ridge is None
    for row in range(0, len(readouts.condition), 3 if held_out == "each" else 7):
        left_out = readouts.held_out[readouts.set_of_row[row]][index]
        single = predict_readout(
            measured, targets=name, is_train=~left_out, classifier=classifier
        )  # fmt: skip
        condition = readouts.condition[row]
        for ours, other in (
            (readouts.predicted, single.predicted),
            (readouts.between, single.between),
            (readouts.measured, single.trained),
            (readouts.accuracy[:, 0], single.accuracy),
            (readouts.measured_accuracy[:, 0], single.trained_accuracy),
        ):
            np.testing.assert_allclose(ours[row], other[condition], rtol=1e-6, atol=1e-8)


def test_a_classifier_of_each_component_is_that_of_scikit_learn():
    measured = recording()
    readouts = held_out_readouts(measured, classifier=LDA(0.2))
    assert readouts.labels == ("size", "hue")
    index, x = measured.condition_of_trial, measured.responses
    for row, condition in enumerate(readouts.condition):
        of = index == condition
        for j, columns in enumerate((slice(0, 1), slice(1, 4))):
            y = measured.conditions[index, j]
            fit = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2).fit(x[~of], y[~of])
            answers = fit.decision_function(x[of]).reshape(of.sum(), -1).mean(axis=0)
            ours = readouts.measured[row, columns]
            # Discriminants of several labels have a common term that no label depends on.
            np.testing.assert_allclose(ours - ours[-1], answers - answers[-1], atol=1e-7)
            right = np.mean(fit.predict(x[of]) == y[of])
            assert readouts.measured_accuracy[row, j] == pytest.approx(right)
    # What components have in common between training sets is not known.
    assert not readouts.between[:, 0, 1:].any()
    assert not readouts.within[:, 1:, 0].any()
    frame = readouts.to_frame()
    assert (frame["accuracy of hue, low"] <= frame["accuracy of hue, predicted"]).all()


def test_labels_of_ones_own_are_those_of_a_component():
    measured = recording()
    signs = 2.0 * measured.components[:, 0] - 1.0
    for classifier in (None, SVM(0.1)):
        by_name = held_out_readouts(measured, "size", classifier=classifier)
        ours = held_out_readouts(measured, signs, classifier=classifier)
        assert (ours.labels, ours.outputs) == (("answer",), ("answer",))
        assert ours.notes == by_name.notes == (() if classifier is None else (OF_SVM,))
        np.testing.assert_array_equal(ours.accuracy, by_name.accuracy)
        np.testing.assert_array_equal(ours.measured_accuracy, by_name.measured_accuracy)
        np.testing.assert_array_equal(ours.accuracy_interval, by_name.accuracy_interval)


def test_labels_that_no_component_has():
    """The exclusive or of two components, by one against all, as scikit-learn has it."""
    measured = recording(shape=(2, 4), noise=0.5)
    signs = 2.0 * (measured.components.sum(axis=1) % 2) - 1.0
    readouts = held_out_readouts(measured, signs, held_out="each", classifier=SVM(1.0))
    of = measured.condition_of_trial == readouts.condition[2]
    fit = SVC(kernel="linear").fit(measured.responses[~of], signs[~of])
    answers = fit.decision_function(measured.responses[of])
    assert readouts.measured[2, 0] == pytest.approx(answers.mean(), abs=1e-3)


@pytest.mark.parametrize("classifier", [LDA(0.1), SVM(0.05)])
def test_accuracies_are_those_of_trained_classifiers(classifier):
    """Of 6 recordings of 8 conditions; the standard error of the mean difference is .02."""
    differences = []
    for seed in range(6):
        measured = recording(seed, shape=(2, 4), n_neurons=40, noise=2.5)
        readouts = held_out_readouts(measured, "size", classifier=classifier)
        differences.append(np.mean(readouts.accuracy - readouts.measured_accuracy))
    assert abs(np.mean(differences)) < 0.05


def test_saliences_predict_classifiers_too():
    measured = recording(shape=(3, 4), n_neurons=300, noise=1.0)
    readouts = held_out_readouts(
        measured, "hue", classifier=LDA(0.3), saliences=salience(measured, bootstrap=2)
    )  # fmt: skip
    assert readouts.from_saliences is not None
    # Additive means of many neurons are known by their overlap, to a tenth of the answers.
    scale = np.sqrt(np.mean(readouts.predicted**2))
    misfit = np.sqrt(np.mean((readouts.from_saliences - readouts.predicted) ** 2))
    assert 0.0 < misfit < 0.2 * scale


SENTENCES = [
    (
        {"classifier": LDA(0.1), "ridge": 1.0},
        "ridge is the penalty of a ridge readout, over_neurons the spread of its answers; got "
        "ridge=1.0 with LDA(shrinkage=0.1); leave one of them out",
    ),
    (
        {"classifier": LDA(0.1), "over_neurons": True},
        "ridge is the penalty of a ridge readout, over_neurons the spread of its answers; got "
        "over_neurons with LDA(shrinkage=0.1); leave one of them out",
    ),
    (
        {"classifier": SVM(), "targets": "hue"},
        "an SVM separates two labels, in one column; got 3 columns; pass one column of -1 and +1, "
        "or use LDA",
    ),
    (
        {"classifier": SVM(), "targets": np.arange(6.0)[np.repeat(np.arange(6), 8)]},
        "classifiers are for labels, targets of -1 and +1 with one +1 of several; got other "
        "targets; pass labels or the name of a component, or leave classifier out",
    ),
    (
        {"classifier": LDA(0.1), "held_out": "hue 1"},
        "a classifier is trained on trials of every label; got none of some label where set 0 is "
        "held out; hold out fewer conditions together, or leave classifier out",
    ),
]


@pytest.mark.parametrize(("changes", "sentence"), SENTENCES)
def test_the_sentences_of_bad_input(changes, sentence):
    measured = recording()
    arguments = dict(changes)
    if arguments.get("held_out") == "hue 1":
        arguments["held_out"] = measured.components[:, 1] == 1
    if isinstance(arguments.get("targets"), np.ndarray):
        arguments["targets"] = measured.components.sum(axis=1).astype(float)
    with pytest.raises(InputError) as caught:
        held_out_readouts(measured, **arguments)
    assert str(caught.value) == sentence
