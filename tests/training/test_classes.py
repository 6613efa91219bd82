"""Cross entropy of any network: softmax regression by hand, questions, batches and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.networks import Architecture
from partwhole.training import Training, train
from partwhole.training.outcome import Outcome

RNG = np.random.default_rng(0)
X, CLASSES = RNG.normal(size=(12, 3)), np.arange(12) % 4
DOUBLE = Training(
    steps=40, loss="cross entropy", learning_rate=0.5, precision="float64", record=20,
    weight_decay=0.01,
)  # fmt: skip


def linear(outputs, runs=2):
    return Architecture(1).networks(3, seeds=range(runs), outputs=outputs)


def by_hand(weight, bias, targets, training, batches=None):
    """Return weights and losses of softmax regression, a column of outputs for each class."""
    rows = np.column_stack([X, np.ones(len(X))])
    w = np.column_stack([weight, bias]).astype(float).T
    questions = targets.shape[1]

    def at(w, which):
        logits = (rows[which] @ w).reshape(len(which), questions, -1)
        p = np.exp(logits - logits.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        hit = np.eye(logits.shape[-1])[targets[which]]
        loss = -np.mean(np.sum(np.log(np.sum(p * hit, axis=-1)), axis=1))
        return loss, rows[which].T @ (p - hit).reshape(len(which), -1) / len(which)

    every = np.arange(len(X))
    losses = [at(w, every)[0]]
    for which in batches or [every] * training.steps:
        w = w - training.learning_rate * (at(w, which)[1] + 2.0 * training.weight_decay * w)
        losses.append(at(w, every)[0])
    return w, np.array(losses)


@pytest.mark.parametrize("questions", [1, 2])
def test_softmax_regression_by_hand(questions):
    targets = np.stack([CLASSES, CLASSES[::-1] // 2], axis=1)[:, :questions]
    start = linear(4 * questions)
    runs = train(start, (X, targets if questions > 1 else CLASSES), DOUBLE, read=X)
    for run in range(2):
        weight, bias = np.asarray(start.weights[0][run]), np.asarray(start.biases[0][run])
        w, losses = by_hand(weight, bias, targets, DOUBLE)
        np.testing.assert_allclose(runs.training_loss[run], losses[[0, 20, 40]], rtol=1e-10)
        answers = np.column_stack([X, np.ones(12)]) @ w
        np.testing.assert_allclose(runs.answers[run, -1], answers, rtol=1e-9, atol=1e-10)


def test_two_classes_are_labels():
    """Of two outputs the cross entropy is the logistic loss of their difference."""
    labels = np.where(CLASSES % 2, 1.0, -1.0)
    start = linear(2)
    runs = train(start, (X, CLASSES % 2), replace(DOUBLE, steps=1, record=1), test=(X, CLASSES % 2))
    outputs = np.column_stack([X, np.ones(12)]) @ np.concatenate(
        [np.asarray(start.weights[0][0]).T, np.asarray(start.biases[0][0])[None]]
    )
    expected = np.mean(np.log1p(np.exp(-labels * (outputs[:, 1] - outputs[:, 0]))))
    assert runs.training_loss[0, 0] == pytest.approx(expected, rel=1e-7)
    np.testing.assert_array_equal(runs.test_loss, runs.training_loss)


def test_batches_and_hidden_layers_learn_the_classes():
    start = Architecture(2, 30, "relu", initial="he", scale=1.0).networks(
        3, seeds=range(2), outputs=4
    )
    training = Training(
        epochs=400, batch=5, loss="cross entropy", optimiser="adam", learning_rate=0.01,
        threshold=0.01, record=500,
    )  # fmt: skip
    runs = train(start, (X, CLASSES), training, read=X)
    assert set(runs.outcomes) == {Outcome.REACHED_THRESHOLD}
    assert np.all(runs.answers[:, -1].argmax(axis=-1) == CLASSES)


@pytest.mark.parametrize(
    ("targets", "sentence"),
    [
        (
            CLASSES + 1,
            "with the loss 'cross entropy' targets are classes numbered from 0 to 3, one fewer "
            "than outputs for a question; got numbers from 1 to 4; recode the classes, or draw a "
            "network with an output for each",
        ),
        (
            CLASSES + 0.5,
            "with the loss 'cross entropy' targets are classes numbered from 0 to 3, one fewer "
            "than outputs for a question; got numbers from 0.5 to 3.5; recode the classes, or draw "
            "a network with an output for each",
        ),
        (
            np.zeros((12, 3)),
            "3 questions share the network's outputs evenly; got 4 outputs; draw a network with as "
            "many outputs for each question",
        ),
        (
            np.zeros(11),
            "targets are a class, or one for each question, to go with inputs of 12 samples; got "
            "shape (11,); pass one row for each sample",
        ),
    ],
)
def test_classes_that_do_not_fit(targets, sentence):
    with pytest.raises(InputError) as caught:
        train(linear(4), (X, targets), DOUBLE)
    assert str(caught.value) == sentence
