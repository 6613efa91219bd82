"""What theory foresees from a network's own weights, by other routes and in the limit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from partwhole._checks import InputError
from partwhole.flows import OneLayer, flow
from partwhole.networks import Architecture
from partwhole.tasks import StructuredIdentity
from partwhole.training import Outcome, Protocol, beside_theory, train_identity

# The function hides the module of its name.
beside_theory_module = import_module("partwhole.training.beside_theory")

ROTATED = StructuredIdentity([2, 4], [0.2, 0.2], dimension=3, origin=True, rotation=5, samples=200)
# One shape of networks, seeds and records, so that flows are compiled once.
DEEP, RELU = Architecture(2, 4), Architecture(2, 4, "relu")
STEPS = [0, 5, 20, 60, 160]


def test_one_layer_follows_the_closed_form():
    runs = train_identity(ROTATED, Architecture(), Protocol(0.05), seeds=[0, 1], record=STEPS)
    found = beside_theory(runs)
    turn = ROTATED.rotation_matrix
    w, b = (np.asarray(each, dtype=float) for each in runs.initial.end_to_end())
    for k in range(2):
        path = flow(
            OneLayer(
                turn @ w[k] @ turn.T, ROTATED.second_moment(), mean=ROTATED.mean(), bias=turn @ b[k]
            ),
            runs.times[0],
        )
        # The integrator's tolerance.
        np.testing.assert_allclose(found.outputs[0, k], path.outputs(ROTATED.probe), atol=1e-6)


def test_it_starts_where_the_networks_start():
    runs = train_identity(ROTATED, DEEP, Protocol(0.01), seeds=[0, 1], record=STEPS)
    found = beside_theory(runs)
    # Weights are single precision, and so is what the networks answered.
    np.testing.assert_allclose(found.outputs[:, :, 0], found.trained[:, :, 0], atol=1e-5)


def test_all_samples_and_small_steps_are_the_flow():
    # Without variance every sample has the moments of the population; one batch holds them all.
    task = replace(ROTATED, scales=[0.0, 0.0], samples=20)
    gaps = []
    for rate, steps in ((0.01, 800), (0.005, 1600)):
        runs = train_identity(
            task,
            DEEP,
            Protocol(rate, epochs=1600, batch=60),
            seeds=[0, 1],
            record=np.arange(0, steps + 1, steps // 4),
        )
        found = beside_theory(runs)
        gaps.append(np.abs(found.outputs - found.trained).max())
    # Steps err in proportion to their size, with a remainder in proportion to its square.
    assert gaps[0] / gaps[1] == pytest.approx(2, abs=0.3)


def test_the_table_says_what_the_arrays_say():
    runs = train_identity(
        StructuredIdentity([2, 4], [0.05, 0.05], origin=True, scales_are="variances"),
        Architecture(4, 4),
        Protocol(0.01),
        seeds=range(12),
    )
    found = beside_theory(runs)
    table = found.to_frame().pivot(index="seed", columns="quantity", values="trained")
    for k, seed in enumerate(runs.seeds):
        loss = found.trained_losses[0, k]
        np.testing.assert_array_equal(loss, runs.losses[0, k, :, 0])
        rise = (loss - np.minimum.accumulate(loss)).max()
        row = table.loc[seed]
        assert row["swing-by"] == (rise > 0.02 * 2)
        if row["swing-by"]:
            gain = row["error at its maximum"] - row["error at its minimum"]
            assert gain == pytest.approx(rise)
        passed = found.trained[0, k, :, 1] >= 2
        after = runs.times[0][passed.argmax()]
        before = runs.times[0][passed.argmax() - 1]
        assert before <= row["concept 2 half learned at"] <= after
    lines = found.describe().splitlines()
    assert lines[0] == "4-layer linear network, 12 seeds,"
    assert f"{int(table['swing-by'].sum())} trained" in lines[-1]


def test_a_truncated_task_takes_the_samples_moments():
    task = replace(ROTATED, scales=[0.5, 0.5], truncation=1.0)
    runs = train_identity(task, DEEP, Protocol(0.01), seeds=[0, 1], record=STEPS)
    np.testing.assert_allclose(
        runs.second_moments[0, 0], task.sample(0).second_moment(), rtol=1e-12
    )
    assert np.isfinite(beside_theory(runs).outputs).all()


def test_relu_networks_stand_beside_the_linear_one_and_say_so():
    runs = train_identity(ROTATED, RELU, Protocol(0.01), seeds=[0, 1], record=STEPS)
    found = beside_theory(runs)
    assert not found.exact
    assert "gradient flow of the linear network" in found.describe()


def test_runs_that_diverge_are_counted_and_left_out():
    protocols = [Protocol(0.01), Protocol(3.0)]
    runs = train_identity([ROTATED, ROTATED], RELU, protocols, seeds=[0, 1], record=STEPS)
    assert runs.diverged.tolist() == [[False, False], [True, True]]
    found = beside_theory(runs)
    table = found.to_frame().set_index(["setting", "seed"])
    assert table.trained[1].isna().all()
    swings = table[table.quantity == "swing-by"]
    assert swings.predicted.notna().all()
    assert swings.trained[0].notna().all()
    text = found.describe()
    assert "2 of 2 networks diverged: the training loss grew out of bounds" in text
    assert text.endswith("to divide it by ten where needed.")
    # The other setting is told as if it were alone.
    alone = beside_theory(train_identity(ROTATED, RELU, protocols[0], seeds=[0, 1], record=STEPS))
    assert text.startswith(alone.describe())


def test_a_run_that_overflows_does_not_stop_the_others():
    runs = train_identity(ROTATED, DEEP, Protocol(0.01), seeds=[0, 1], record=STEPS)
    outputs = runs.outputs.copy()
    outputs[0, 1, 2:] = [1e200, np.nan, np.inf]
    ends = ((Outcome.RAN_ALL_STEPS, Outcome.DIVERGED),)
    found = beside_theory(replace(runs, outputs=outputs, outcomes=ends))
    table = found.to_frame().set_index("seed")
    assert table.trained[1].isna().all()
    whole = beside_theory(runs).to_frame().set_index("seed")
    pd.testing.assert_frame_equal(table.loc[0], whole.loc[0])
    lines = found.describe().splitlines()
    assert "of 1 predicted" in lines[-2]
    assert lines[-1].startswith("Left out: 1 of 2 networks diverged: the training loss grew out")


def test_a_flow_that_runs_out_of_steps_is_noted(monkeypatch):
    # One layer, whose flow is the quickest to compile: other numbers of steps are another program.
    runs = train_identity(ROTATED, Architecture(), Protocol(0.05), seeds=[0, 1], record=STEPS)
    assert beside_theory(runs).notes == ()
    short = partial(beside_theory_module.flow, max_steps=16)
    monkeypatch.setattr(beside_theory_module, "flow", short)
    found = beside_theory(runs)
    assert np.isnan(found.outputs[..., -1, :]).all()
    which, remedy = found.notes
    assert which.startswith("setting 0: 2 of 2 networks ran out of steps: 0, 1")
    assert remedy.startswith("setting 0: flows end early; begin with smaller weights")
    table = found.to_frame()
    assert table.predicted.isna().all()
    assert table.trained[table.quantity == "swing-by"].notna().all()
    assert found.describe().endswith(f"Note: {which}.\nNote: {remedy}.")


def test_other_probes_are_refused():
    probes = np.array([[1.0, 0.0, 0.0]])
    runs = train_identity(
        ROTATED, Architecture(), Protocol(0.05), seeds=[0], record=STEPS, probes=probes
    )
    with pytest.raises(InputError, match="answers to the unseen combination; got runs read at 1"):
        beside_theory(runs)
