"""Losses that are not known are told, and never win."""

from dataclasses import replace

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.recommendation import predict_losses
from partwhole.recommendation.advice import Advice
from partwhole.recommendation.methods import Method
from partwhole.recommendation.predicted import PredictedLosses
from partwhole.tasks import SparseTeachers

TASK = SparseTeachers(dimension=30, active_aux=6, active_main=6, overlap=3)
METHODS = (Method("single-task"), Method("finetuning"))


def predicted(losses, sizes=(8,)):
    losses = np.asarray(losses, dtype=float)
    return PredictedLosses(TASK, METHODS, sizes, tuple(range(losses.shape[-1])), losses)


def test_a_method_without_a_loss_is_not_compared():
    told = Advice(predicted([[[1e-3, np.nan, 1e-3]], [[1.0, 1.0, 1.1]]]))
    assert told.choice.name == "finetuning"
    assert "Not compared, without a solution: single-task (1 of 3 seeds)." in told.describe()


def test_nothing_to_choose_from():
    nothing = replace(predicted(np.full((2, 1, 3), np.nan)), notes=("seed 0: no solution",))
    with pytest.raises(InputError) as raised:
        Advice(nothing).describe()
    assert str(raised.value) == (
        "a choice needs a method whose loss is known for every seed; got seed 0: no solution; "
        "follow the notes, or pass other methods"
    )


def test_samples_needed_of_what_is_not_known_and_of_what_is_there_at_once():
    sizes = (8, 16)
    unknown = predicted([[[np.nan] * 3, [0.1] * 3], [[0.1, 0.1, 0.2], [0.01] * 3]], sizes)
    first, second = unknown.samples_needed(0.5)
    assert np.isnan(first.samples)
    assert second.samples == 8
    assert second.at_most


def test_sizes_and_seeds_are_named_once():
    with pytest.raises(InputError, match="sizes and seeds have no duplicates"):
        predict_losses(TASK, [8, 8], progress=False)
    with pytest.raises(InputError, match="sizes and seeds have no duplicates"):
        predict_losses(TASK, [8], seeds=[1, 1], progress=False)


def test_one_rescaling_needs_no_list():
    found = predict_losses(
        TASK, [8], methods=["finetuning"], rescalings=1.0, seeds=[0], progress=False
    )
    assert [method.label for method in found.methods] == ["finetuning, c = 1"]


def test_small_initial_weights_leave_linear_probing_a_solution():
    task = SparseTeachers(dimension=200, active_aux=20, active_main=20, overlap=10)
    found = predict_losses(
        task, [15, 40, 100], methods=["linear probing"], init_scale=1e-5, seeds=[0],
        progress=False,
    )  # fmt: skip
    assert found.notes == ()
    assert np.isfinite(found.losses).all()
