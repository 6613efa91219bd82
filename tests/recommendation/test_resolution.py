"""What predictions resolve: where learning stops, and losses that are rounding alone."""

from inspect import unwrap

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from partwhole._checks import InputError
from partwhole.recommendation import predict_losses, recommend
from partwhole.recommendation.advice import Advice
from partwhole.recommendation.methods import Method
from partwhole.recommendation.predicted import PredictedLosses
from partwhole.tasks import SparseTeachers

METHODS = (Method("single-task"), Method("finetuning"), Method("multi-task"))
TASK = SparseTeachers(dimension=30, active_aux=6, active_main=6, overlap=3, main_scale=0.5)
VARIANCE = 6 * 0.25


def advised(*losses):
    """Return the advice from losses of each method and seed, in units of the variance."""
    table = VARIANCE * np.array(losses)[:, None]
    return Advice(
        PredictedLosses(TASK, METHODS[: len(losses)], (8,), tuple(range(table.shape[-1])), table)
    )


def test_losses_below_the_resolution_are_equal():
    found = advised([3e-12, 5e-9, 1e-20], [2e-16, 1e-17, 3e-16], [0.0, 2.9e-7, 0.0])
    assert found.predicted.resolution == pytest.approx(1e-7 * VARIANCE)
    assert found.ranking == METHODS
    assert found.learned == METHODS
    assert found.as_good == METHODS[1:]
    assert np.isnan(found.to_frame().transfer).all()
    assert found.to_frame().learned.all()
    said = found.describe()
    assert said.count("learned (below 1.5e-07)") == 3
    assert "times single-task" not in said


def test_losses_above_the_resolution_are_told_apart_as_ever():
    found = advised([1e-3, 1.1e-3, 0.9e-3], [2e-16, 1e-12, 3e-16], [2e-3, 2.1e-3, 1.9e-3])
    assert [m.name for m in found.ranking] == ["finetuning", "single-task", "multi-task"]
    assert found.as_good == ()
    table = found.to_frame()
    assert table.learned.tolist() == [True, False, False]
    assert np.isnan(table.transfer[0])
    assert table.transfer[2] == pytest.approx(2.0)
    assert "finetuning, c = 1: learned (below 1.5e-07)" in found.describe()
    assert found.to_frame().loss[0] < 1e-11  # as it was computed


def test_no_number_of_samples_for_what_is_not_resolved():
    losses = VARIANCE * np.array([[[1e-3] * 3, [1e-12] * 3]])
    curve = PredictedLosses(TASK, METHODS[:1], (8, 16), (0, 1, 2), losses)
    (found,) = curve.samples_needed(1e-9 * VARIANCE)
    assert np.isnan([found.samples, found.low, found.high]).all()
    assert not found.at_most
    (above,) = curve.samples_needed(1e-6 * VARIANCE)
    assert 8 < above.samples < 16


def test_multi_task_learning_is_followed_until_its_loss_is_known():
    """Against an integration of all weights to a late time; stopped at 1e-8 it is 87 % above."""
    task = SparseTeachers(dimension=40, active_aux=4, active_main=4, overlap=4)
    told = predict_losses(task, [10], methods=["multi-task"], n_aux=60, seeds=[0], progress=False)
    end = flowed(task.sample(0, 10, 60), 10 / 70)
    assert told.resolution < end < 1e-6
    # What is left of the training loss at the end, 1e-12, and the steps' errors.
    assert told.losses.item() == pytest.approx(end, rel=0.02)


def flowed(sample, share):
    """Flow in all weights; both pathways have readouts for the samples of both tasks."""
    d = len(sample.main)
    tasks = (
        (sample.aux_inputs, sample.aux_targets, 1 - share),
        (sample.inputs, sample.targets, share),
    )

    def beta(flat):
        w, m, v, u = flat[0], flat[1], flat[2:4], flat[4:6]
        return w * v - m * u

    def velocity(_, flat):
        flat = flat.reshape(6, d)
        push = np.array(
            [
                -2 * weight / len(y) * x.T @ (x @ b - y)
                for (x, y, weight), b in zip(tasks, beta(flat), strict=True)
            ]
        )
        w, m, v, u = flat[0], flat[1], flat[2:4], flat[4:6]
        slopes = [(push * v).sum(0), -(push * u).sum(0), *(push * w), *(-push * m)]
        return np.array(slopes).ravel()

    run = solve_ivp(
        velocity, (0, 1e6), np.full(6 * d, 1e-3), method="LSODA", rtol=1e-10, atol=1e-14
    )
    return float(((beta(run.y[:, -1].reshape(6, d))[1] - sample.main) ** 2).sum())


def test_a_flow_that_takes_too_long_ends_with_a_note():
    given = {
        "overlap": 3, "n_main": 20, "dimension": 100, "active_main": 5, "active_aux": 10,
        "aux_scale": 1e4, "methods": ["multi-task"], "seeds": [0], "progress": False,
    }  # fmt: skip
    (note,) = recommend(**given, max_gradients=1000).predicted.notes
    assert note.startswith("multi-task, n = 20, seed 0: At gradient time ")
    assert "ran out of gradient evaluations" in note


def test_one_size_needs_no_list():
    for size in (8, np.int64(8)):
        found = unwrap(predict_losses)(TASK, size, methods=["single-task"], seeds=[0])
        assert found.sizes == (8,)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: predict_losses("x", [64]),
            "task is a SparseTeachers; got 'x'; pass a SparseTeachers",
        ),
        (
            lambda: unwrap(predict_losses)(TASK, 6.5),
            "a sample size is a whole number of at least 1; got 6.5; pass the number of samples of "
            "the main task",
        ),
        (
            lambda: predict_losses(TASK, 8, max_gradients=0),
            "max_gradients is a whole number of at least 1; got 0; pass a whole number of at "
            "least 1, or leave it out for 100000",
        ),
        (
            lambda: advised([1.0]).predicted.samples_needed("x"),
            "error is a finite number above 0; got 'x'; pass a number above 0",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == sentence
