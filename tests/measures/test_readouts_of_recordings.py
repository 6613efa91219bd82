"""Predicted readouts of recordings, against those of the arrays that recordings stand for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.measures import predict_readout
from partwhole.measures.readouts import LDA, SVM, Readout
from partwhole.recordings import Recording

NAMES, VALUES = ("shape", "colour"), (("disc", "star"), ("red", "green", "blue"))
ROWS = np.repeat(list(product(range(2), range(3))), 8, axis=0)
CORNER = (ROWS == [1, 2]).all(axis=1)
MEANS = np.random.default_rng(0).normal(size=(5, 20))
ARRAYS = ("conditions", "n_train", "n_trials", "targets", "predicted", "between", "within",
          "trained", "trained_accuracy")  # fmt: skip


def responses(seed=0, *times):
    clean = MEANS[ROWS[:, 0]] + MEANS[2 + ROWS[:, 1]]
    noise = np.random.default_rng(seed).normal(size=(*clean.shape, *times))
    return clean.reshape(*clean.shape, *(1 for _ in times)) + 2.0 * noise


def recording(x=None, **options) -> Recording:
    return Recording(responses() if x is None else x, ROWS, NAMES, VALUES, **options)


def parted() -> Recording:
    """Return neurons of two days, of which the second lacks a condition."""
    x = responses()
    day = np.tile([0, 1], len(x) // 2)
    x[day == 0, :6] = x[day == 1, 14:] = np.nan
    kept = (day == 0) | (ROWS != [0, 1]).any(axis=1)
    return recording(x, sessions=day).select(kept)


def assert_equal(first: Readout, second: Readout) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


SIGNS = 2.0 * ROWS[:, :1] - 1.0
CLASSES = 2.0 * (ROWS[:, 1:] == [0, 1, 2]) - 1.0
SUM = ROWS.sum(axis=1).astype(float)


@pytest.mark.parametrize(
    ("targets", "columns"),
    [
        ("shape", SIGNS), ("colour", CLASSES), (None, np.hstack([SIGNS, CLASSES])), (SUM, SUM),
    ],
)  # fmt: skip
@pytest.mark.parametrize("split", ["a condition", "trials"])
def test_readouts_are_those_of_arrays(targets, columns, split):
    is_train = ~CORNER if split == "a condition" else np.arange(len(ROWS)) % 4 > 0
    readout = predict_readout(recording(), targets=targets, is_train=is_train, ridge=3.0)
    assert_equal(readout, predict_readout(responses(), ROWS, columns, is_train, ridge=3.0))


@pytest.mark.parametrize("classifier", [LDA(), SVM(0.01)])
def test_classifiers_are_those_of_arrays(classifier):
    options = {"is_train": ~CORNER, "classifier": classifier}
    of_recording = predict_readout(recording(), targets="shape", **options)
    assert_equal(of_recording, predict_readout(responses(), ROWS, SIGNS[:, 0], **options))


def test_times_are_averaged():
    movie = responses(1, 3)
    readout = predict_readout(recording(movie), targets=SUM, is_train=~CORNER)
    assert_equal(readout, predict_readout(movie.mean(axis=2), ROWS, SUM, ~CORNER))


@pytest.mark.parametrize("seed", [0, 3])
def test_neurons_of_several_sessions_are_combined(seed):
    whole = parted().pseudo_trials(seed)
    assert whole.conditions.tolist() == [[0, 0], [0, 2], [1, 0], [1, 1], [1, 2]]
    held_out = (whole.components == [1, 2]).all(axis=1)
    total = whole.components.sum(axis=1).astype(float)
    expected = predict_readout(whole.responses, whole.components, total, ~held_out)
    of_trials = parted()
    masks = ~(of_trials.components == [1, 2]).all(axis=1)
    readout = predict_readout(
        of_trials, targets=of_trials.components.sum(axis=1), is_train=masks, seed=seed
    )
    assert_equal(readout, expected)


def test_frames_and_tasks_have_the_labels():
    readout = predict_readout(recording(), targets="colour", is_train=~CORNER)
    assert readout.outputs == ("colour = red", "colour = green", "colour = blue")
    frame = readout.to_frame()
    assert frame["shape"].tolist() == ["disc"] * 3 + ["star"] * 3
    assert frame["colour"].tolist() == ["red", "green", "blue"] * 2
    np.testing.assert_array_equal(frame["predicted colour = blue"], readout.predicted[:, 2])
    assert "accuracy" in frame
    assert (readout.task.names, readout.task.values) == (NAMES, VALUES)
    plain = predict_readout(responses(), ROWS, SUM, ~CORNER)
    assert list(plain.to_frame().columns[:2]) == ["component 0", "component 1"]
    assert plain.task.values == ((0, 1), (0, 1, 2))


PART = ~CORNER
PART_TRAINED = np.ones(parted().n_trials, dtype=bool)
PART_TRAINED[-1] = False


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (
            (recording(), ROWS), {"targets": SUM, "is_train": PART},
            "a recording has its own conditions; got components beside it; leave them out",
        ),
        (
            (recording(),), {"targets": SUM},
            "is_train marks those of the recording's 48 trials that are for training; got none; "
            "pass an entry for each trial, or use held_out_readouts to hold out every condition",
        ),
        (
            (recording(),), {"targets": SUM[:9], "is_train": PART[:9]},
            "is_train marks those of the recording's 48 trials that are for training; got 9 "
            "entries; pass an entry for each trial, or use held_out_readouts to hold out every "
            "condition",
        ),
        (
            (recording(),), {"targets": "size", "is_train": PART},
            "targets are numbers, or name a component; got 'size'; choose from 'shape', 'colour'",
        ),
        (
            (parted(),), {"targets": "shape", "is_train": PART_TRAINED},
            "a condition is held out with all of its trials; got 1 of 8 trials of star, blue; "
            "mark all trials of a condition, or none",
        ),
        (
            (responses(),), {"targets": SUM, "is_train": PART},
            "features in an array come with components, numbers as targets, and is_train; got no "
            "components; pass all of them, or a Recording",
        ),
        (
            (responses(), ROWS), {"targets": "shape", "is_train": PART},
            "features in an array come with components, numbers as targets, and is_train; got no "
            "targets; pass all of them, or a Recording",
        ),
    ],
)  # fmt: skip
def test_the_sentences_of_bad_input(arguments, options, sentence):
    with pytest.raises(InputError) as caught:
        predict_readout(*arguments, **options)
    assert str(caught.value) == sentence
