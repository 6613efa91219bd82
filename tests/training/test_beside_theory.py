"""What theory foresees from a network's own weights, by other routes and in the limit."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from identity_runs import trained

from partwhole._checks import InputError
from partwhole.flows import OneLayer, flow
from partwhole.networks import Architecture
from partwhole.tasks import StructuredIdentity
from partwhole.training import Training, beside_theory, train
from partwhole.training.outcome import Outcome

# The function hides the module of its name.
beside_theory_module = import_module("partwhole.training.beside_theory")

ROTATED = StructuredIdentity([2, 4], [0.2, 0.2], dimension=3, origin=True, rotation=5, samples=200)
# One shape of networks, seeds and records, so that flows are compiled once.
DEEP, RELU = Architecture(2, 4), Architecture(2, 4, "relu")
STEPS = [0, 5, 20, 60, 160]
LINEAR = Architecture()


@cache
def rotated(architecture, rate):
    """Return runs on the rotated task, with what theory foresees of them."""
    runs = trained(ROTATED, architecture, rate, seeds=[0, 1], record=STEPS)
    return runs, beside_theory(runs)


def test_one_layer_follows_the_closed_form():
    runs, comparison = rotated(LINEAR, 0.05)
    turn = ROTATED.rotation_matrix
    w, b = (np.asarray(part, dtype=float) for part in runs.start.end_to_end())
    for k in range(2):
        path = flow(
            OneLayer(
                turn @ w[k] @ turn.T, ROTATED.second_moment(), mean=ROTATED.mean(), bias=turn @ b[k]
            ),
            2 * runs.times[0],
        )
        # The integrator's tolerance.
        np.testing.assert_allclose(comparison.outputs[k], path.outputs(ROTATED.probe), atol=1e-6)


def test_it_starts_where_the_networks_start():
    _, comparison = rotated(DEEP, 0.01)
    # Weights are single precision, and so is what the networks answered.
    np.testing.assert_allclose(comparison.outputs[:, 0], comparison.trained[:, 0], atol=1e-5)


def test_all_samples_and_small_steps_are_the_flow():
    # Without variance every sample has the moments of the population; one batch holds them all.
    task = replace(ROTATED, scales=[0.0, 0.0], samples=20)
    gaps = []
    for rate, steps in ((0.01, 800), (0.005, 1600)):
        networks = DEEP.networks(3, seeds=[0, 1])
        training = Training(steps=steps, learning_rate=rate / 3, record=steps // 4)
        runs = train(networks, task, training, progress=False)
        comparison = beside_theory(runs)
        gaps.append(np.abs(comparison.outputs - comparison.trained).max())
    # Steps err in proportion to their size, with a remainder in proportion to its square.
    assert gaps[0] / gaps[1] == pytest.approx(2, abs=0.3)


def test_the_table_says_what_the_arrays_say():
    # As many coordinates and records as above; of the two networks one swings.
    task = StructuredIdentity(
        [2, 4], [0.05, 0.05], dimension=3, origin=True, scales_are="variances"
    )
    steps = np.union1d(0, np.geomspace(20, 4720, 15).round())
    runs = trained(task, DEEP, 0.02, seeds=[0, 19], record=steps)
    comparison = beside_theory(runs)
    table = comparison.to_frame().pivot(index="run", columns="quantity", values="trained")
    assert table["swing-by"].tolist() == [False, True]
    for run in range(2):
        loss = comparison.trained_losses[run]
        np.testing.assert_array_equal(loss, runs.concepts.losses[run, :, 0])
        rise = (loss - np.minimum.accumulate(loss)).max()
        row = table.loc[run]
        assert row["swing-by"] == (rise > 0.02 * 2)
        if row["swing-by"]:
            gain = row["error at its maximum"] - row["error at its minimum"]
            assert gain == pytest.approx(rise)
        passed = comparison.trained[run, :, 1] >= 2
        after = comparison.times[passed.argmax()]
        before = comparison.times[passed.argmax() - 1]
        assert before <= row["concept 2 half learned at"] <= after
    lines = comparison.describe().splitlines()
    assert lines[0] == "2-layer linear network, 2 runs,"
    assert f"{int(table['swing-by'].sum())} trained" in lines[-1]


def test_a_truncated_task_takes_the_samples_moments():
    task = replace(ROTATED, scales=[0.5, 0.5], truncation=1.0)
    runs = trained(task, LINEAR, 0.01, seeds=[0, 1], record=STEPS)
    comparison = beside_theory(runs)
    w, b = (np.asarray(part, dtype=float) for part in runs.start.end_to_end())
    turn, samples = task.rotation_matrix, [task.sample(seed) for seed in (0, 1)]
    second, mean = (
        np.mean([getattr(sample, moment)() for sample in samples], axis=0)
        for moment in ("second_moment", "mean")
    )
    path = flow(
        OneLayer(turn @ w[0] @ turn.T, second, mean=mean, bias=turn @ b[0]), comparison.times
    )
    np.testing.assert_allclose(comparison.outputs[0], path.outputs(task.probe), atol=1e-6)


def test_relu_networks_stand_beside_the_linear_one_and_say_so():
    _, comparison = rotated(RELU, 0.01)
    assert not comparison.exact
    assert "gradient flow of the linear network" in comparison.describe()


def test_runs_that_diverge_are_counted_and_left_out():
    runs, comparison = rotated(RELU, 10.0)
    assert runs.outcomes == (Outcome.DIVERGED, Outcome.DIVERGED)
    table = comparison.to_frame()
    assert table.trained.isna().all()
    assert table[table.quantity == "swing-by"].predicted.notna().all()
    text = comparison.describe()
    assert "2 of 2 networks diverged: the training loss grew out of bounds" in text
    assert text.endswith("to divide it by ten where needed.")


def test_a_run_that_overflows_does_not_stop_the_others():
    runs, alone = rotated(DEEP, 0.01)
    outputs = runs.concepts.outputs.copy()
    outputs[1, 2:] = [1e200, np.nan, np.inf]
    ends = (Outcome.RAN_ALL_STEPS, Outcome.DIVERGED)
    answers = replace(runs.concepts, outputs=outputs)
    comparison = beside_theory(replace(runs, concept_answers=answers, outcomes=ends))
    table = comparison.to_frame().set_index("run")
    assert table.trained[1].isna().all()
    whole = alone.to_frame().set_index("run")
    pd.testing.assert_frame_equal(table.loc[0], whole.loc[0])
    lines = comparison.describe().splitlines()
    assert "of 1 predicted" in lines[-2]
    assert lines[-1].startswith("Left out: 1 of 2 networks diverged: the training loss grew out")


def test_a_flow_that_runs_out_of_steps_is_noted(monkeypatch):
    # One layer, whose flow is the quickest to compile: other numbers of steps are another program.
    runs, whole = rotated(LINEAR, 0.05)
    assert whole.notes == ()
    short = partial(beside_theory_module.flow, max_steps=16)
    monkeypatch.setattr(beside_theory_module, "flow", short)
    comparison = beside_theory(runs)
    assert np.isnan(comparison.outputs[:, -1]).all()
    which, remedy = comparison.notes
    assert which.startswith("2 of 2 networks ran out of steps: 0, 1")
    assert remedy.startswith("flows end early; begin with smaller weights")
    table = comparison.to_frame()
    assert table.predicted.isna().all()
    assert table.trained[table.quantity == "swing-by"].notna().all()
    assert comparison.describe().endswith(f"Note: {which}.\nNote: {remedy}.")


def test_runs_that_theory_is_not_of_are_refused():
    probes = np.array([[1.0, 0.0, 0.0]])
    elsewhere = trained(ROTATED, DEEP, 0.01, seeds=[0, 1], record=STEPS, read=probes)
    with pytest.raises(InputError, match="read at the unseen combination; got 1 other probes"):
        beside_theory(elsewhere)
    networks, x = DEEP.networks(3, seeds=[0, 1]), np.eye(3)
    others = train(networks, (x, x), Training(steps=2), progress=False)
    with pytest.raises(InputError, match="on a structured identity task; got other samples"):
        beside_theory(others)
    by_adam = train(networks, ROTATED, Training(steps=2, optimiser="adam"), progress=False)
    with pytest.raises(InputError, match="the optimiser 'sgd'; got MLP and 'adam'; draw"):
        beside_theory(by_adam)
    rates = np.array([0.01, 0.02])
    with pytest.raises(InputError, match="at one learning rate; got rates from"):
        beside_theory(trained(ROTATED, DEEP, rates, seeds=[0, 1], record=STEPS))
